//! XML: what is in the outermost element are sections, called by their `id` or `name`, or by their tag.

use lore_model::{ChunkKind, SymbolKind};
use tree_sitter::Node;

use crate::{
    engine::{Found, Role, Shape, Source, Spec, children, first_of},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "xml",
    extensions: &[
        "xml", "xsd", "xsl", "xslt", "svg", "plist", "csproj", "vbproj", "fsproj", "vcxproj", "props", "targets", "wsdl",
        "xaml", "axaml", "resx", "rss", "atom", "kml", "gpx", "iml", "storyboard", "xib", "nuspec", "pom", "ui", "qrc",
    ],
    method: Method::Tree(&SPEC),
    ..Row::LINES
};

static SPEC: Spec = Spec {
    grammar: || tree_sitter_xml::LANGUAGE_XML.into(),
    rules: &[RULES],
    kind: ChunkKind::Data,
    depth: depth_of_elements,
    ..Spec::CODE
};

/// The grammar's scanner copies the names of all open elements for every token.
fn depth_of_elements(bytes: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for at in memchr::memchr2_iter(b'<', b'>', bytes) {
        match (bytes[at], bytes.get(at + 1)) {
            (b'<', Some(b'/')) => depth = depth.saturating_sub(1),
            (b'<', Some(next)) if next.is_ascii_alphabetic() || *next == b'_' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (b'>', _) if at > 0 && bytes[at - 1] == b'/' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

const RULES: &[(&str, Role)] = &[
    ("Comment", Role::Comment),
    ("prolog", Role::Open),
    ("element", Role::Hook(element)),
    ("content", Role::Body),
    ("CharData", Role::Ignore),
    ("CDSect", Role::Ignore),
];

/// What is in the outermost element is no deeper in the tree than this.
const DEEPEST: usize = 6;

/// Sections of fewer lines stay with their neighbours.
const SHORT: usize = 4;

fn element(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    if source.depth() > DEEPEST {
        return None;
    }
    let parent = node.parent()?;
    let is_root = parent.kind() == "document";
    if !is_root && parent.parent()?.parent()?.kind() != "document" {
        return None;
    }
    let tag = first_of(node, "STag").or_else(|| first_of(node, "EmptyElemTag"))?;
    let value = |name: &[u8]| {
        let is_it = |it: &Node<'_>| first_of(*it, "Name").is_some_and(|it| &source.bytes[it.byte_range()] == name);
        let found = children(tag).filter(|child| child.kind() == "Attribute").find(is_it)?;
        first_of(found, "AttValue").filter(|value| value.byte_range().len() > 2)
    };
    let of_member = (!is_root).then(|| value(b"id").or_else(|| value(b"name"))).flatten();
    let name = of_member.or_else(|| first_of(tag, "Name"))?.byte_range();
    let lines = node.end_position().row - node.start_position().row + 1;
    let shape = match () {
        () if is_root => Shape::Container,
        () if lines < SHORT => Shape::Data,
        () => Shape::Function,
    };
    Some(Found { symbol: SymbolKind::Section, shape, name, container: None })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn a_small_file_is_one_chunk() {
        check("xml", "<?xml version=\"1.0\"?>\n<!-- A project. -->\n<project xmlns=\"x\">\n  <a>1</a>\n  <dependencies>\n    <!-- One. -->\n    <dependency id=\"x\"><b/></dependency>\n  </dependencies>\n  <string name=\"k\">v</string>\n  <empty id=\"z\"/>\n</project>\n", &expect![[r#"
            data 1-11 section `project` names project a dependencies k z prose <!-- A project. --> | <!-- One. -->
              3-11 section `project`: <project xmlns="x">
              4-4 section `a` in `project`: <a>
              5-8 section `dependencies` in `project`: <dependencies>
              9-9 section `k` in `project`: <string name="k">
              10-10 section `z` in `project`: <empty id="z"/>
        "#]]);
    }

    #[test]
    fn large_files_are_cut_between_elements() {
        let element = |tag: &str, count: usize| format!("  <!-- About {tag}. -->\n  <{tag}>\n{}  </{tag}>\n", "    <item>\n      <x>1</x>\n    </item>\n".repeat(count));
        let text = format!("<project>\n  <name>x</name>\n  <version>1</version>\n{}{}</project>\n", element("build", 10), element("dependencies", 40));
        check("xml", &text, &expect![[r#"
            data 1-3 section `project` names project name version
            data 4-36 section `build` in `project` prose <!-- About build. -->
            data 37-77 section `dependencies` in `project` part 1/3 prose <!-- About dependencies…
            data 78-119 section `dependencies` in `project` part 2/3 names 
            data 120-160 section `dependencies` in `project` part 3/3 names 
              1-160 section `project`: <project>
              2-2 section `name` in `project`: <name>
              3-3 section `version` in `project`: <version>
              5-36 section `build` in `project`: <build>
              38-159 section `dependencies` in `project`: <dependencies>
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("xml", "<a>\n  <b>\n  <c>1</c>\n</a>\n", &expect![[r#"
            data 1-4
        "#]]);
        check("xml", "no XML & more\n", &expect![[r#"
            data 1-1
        "#]]);
    }
}
