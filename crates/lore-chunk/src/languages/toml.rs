//! TOML: tables and keys at the top are sections.

use lore_model::{ChunkKind, SymbolKind};
use tree_sitter::Node;

use super::config::{Level, section};
use crate::{
    engine::{Found, Role, Shape, Source, Spec, children},
    language::{Method, Row},
};

pub(crate) static ROW: Row =
    Row { name: "toml", extensions: &["toml"], files: &["Pipfile"], method: Method::Tree(&SPEC), ..Row::LINES };

static SPEC: Spec = Spec {
    grammar: || tree_sitter_toml_ng::LANGUAGE.into(),
    rules: &[RULES],
    kind: ChunkKind::Data,
    ..Spec::CODE
};

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("table", Role::Hook(table)),
    ("table_array_element", Role::Hook(table)),
    ("pair", Role::Hook(pair)),
];

fn table(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = children(node).find(Node::is_named)?.byte_range();
    section(source, node, name, |_| Level::Top)
}

/// Data inside of a table is left to the table.
fn pair(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = children(node).find(Node::is_named)?.byte_range();
    Some(Found { symbol: SymbolKind::Section, shape: Shape::Data, name, container: None })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn a_small_file_is_one_chunk() {
        check("toml", "a = 1\nb.c = 2\n\n# About it.\n[x.\"y\"]\nz = { w = 1 } # why\n\n[[bin]]\nname = \"x\"\n", &expect![[r#"
            data 1-9 names a b.c x."y" bin prose # About it. | # why
              1-1 section `a`: a = 1
              2-2 section `b.c`: b.c = 2
              5-6 section `x."y"`: [x."y"] z = { w = 1 } # why
              8-9 section `bin`: [[bin]] name = "x"
        "#]]);
    }

    #[test]
    fn tables_of_larger_files_are_chunks() {
        let table = |name: &str, count: usize| format!("# About {name}.\n[{name}]\n{}\n", (0..count).map(|it| format!("key{it} = \"{it}\"\n")).collect::<Vec<_>>().concat());
        let text = format!("title = \"x\"\n\n{}{}{}{}", table("package", 8), table("dependencies", 30), table("features", 2), table("profile.release", 5));
        check("toml", &text, &expect![[r#"
            data 1-1 section `title`
            data 2-12 section `package` prose # About package.
            data 13-45 section `dependencies` prose # About dependencies.
            data 46-50 section `features` prose # About features.
            data 51-59 section `profile.release` prose # About profile.release.
              1-1 section `title`: title = "x"
              4-12 section `package`: [package]
              15-45 section `dependencies`: [dependencies]
              48-50 section `features`: [features]
              53-58 section `profile.release`: [profile.release]
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("toml", "[a]\nx = \ny = 1\n\n[b]\nz = 1\n", &expect![[r#"
            data 1-6 names a b
              1-3 section `a`: [a] x = y = 1
              5-6 section `b`: [b] z = 1
        "#]]);
        check("toml", "%%%\n", &expect![[r#"
            data 1-1
        "#]]);
    }
}
