//! YAML: keys at the top are sections; in a file of several documents, the documents are.

use std::ops::Range;

use lore_model::{ChunkKind, SymbolKind};
use tree_sitter::Node;

use super::config::{Level, level, section};
use crate::{
    engine::{Found, Role, Shape, Source, Spec, children, first_of, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "yaml",
    extensions: &["yaml", "yml", "sls", "cff"],
    files: &[".clang-format", ".clang-tidy", ".clangd", ".gemrc", ".yamllint"],
    method: Method::Tree(&SPEC),
    ..Row::LINES
};

static SPEC: Spec = Spec {
    grammar: || tree_sitter_yaml::LANGUAGE.into(),
    rules: &[RULES],
    kind: ChunkKind::Data,
    ..Spec::CODE
};

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("document", Role::Hook(document)),
    ("block_node", Role::Open),
    ("block_mapping", Role::Body),
    ("block_mapping_pair", Role::Hook(pair)),
    ("block_scalar", Role::Ignore),
];

/// One of several documents has the name that Kubernetes gives it; a single one is the file.
#[expect(clippy::unnecessary_wraps, reason = "hooks may find nothing")]
fn document(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let others = [node.prev_sibling(), node.next_sibling()];
    if !others.iter().flatten().any(|other| other.kind() == "document") {
        return Some(Found { symbol: SymbolKind::Section, shape: Shape::Scope, name: 0..0, container: None });
    }
    let top = mapping(node);
    let key = |node: Option<Node<'_>>, name: &[u8]| value(source, node?, name).map(|value| value.byte_range());
    let kind = key(top, b"kind");
    let named = key(top.and_then(|top| mapping(value(source, top, b"metadata")?)), b"name");
    let container = kind.clone().filter(|_| named.is_some());
    let name = named.or(kind).or_else(|| key(top, b"name")).unwrap_or(0..0);
    Some(Found { symbol: SymbolKind::Section, shape: Shape::Function, name, container })
}

/// The mapping in a document or a value.
fn mapping(node: Node<'_>) -> Option<Node<'_>> {
    let node = if node.kind() == "document" { first_of(node, "block_node")? } else { node };
    first_of(node, "block_mapping")
}

fn value<'t>(source: &Source<'_>, mapping: Node<'t>, key: &[u8]) -> Option<Node<'t>> {
    let is_it = |pair: &Node<'_>| range(*pair, "key").is_some_and(|range: Range<usize>| &source.bytes[range] == key);
    children(mapping).find(is_it)?.child_by_field_name("value")
}

/// Mappings are members wherever they are, so short pairs below the top are left out here.
fn pair(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let level = level(source, node, "block_mapping_pair", "block_sequence");
    let found = section(source, node, range(node, "key")?, |_| level)?;
    (found.shape != Shape::Data || level == Level::Top).then_some(found)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn a_small_file_is_one_chunk() {
        check("yaml", "# About it.\nname: test\non:\n  push:\n    branches: [main]\n# Jobs.\njobs:\n  build:\n    # Deep.\n    runs-on: x\n    steps:\n      - uses: a\n        with:\n          b: 1\n          c: 1\n          d: 1\n", &expect![[r#"
            data 1-16 names name on jobs prose # About it. | # Jobs. | # Deep.
              2-2 section `name`: name: test
              3-5 section `on`: on
              7-16 section `jobs`: jobs
        "#]]);
        check("yaml", "- a: 1\n- b: 2\n", &expect![[r#"
            data 1-2
        "#]]);
    }

    #[test]
    fn keys_of_larger_files_are_chunks() {
        let service = |name: &str| format!("  # About {name}.\n  {name}:\n    image: x\n    environment:\n{}\n", "      A: 1\n".repeat(24));
        let text = format!("version: '3'\nx-common: &common\n  restart: always\n\nvolumes:\n  a: {{}}\n  b: {{}}\n  c: {{}}\n\n# Everything.\nservices:\n{}{}{}{}\n# Nets.\nnetworks:\n  default:\n    driver: bridge\n    x: 1\n", service("web"), service("db"), service("cache"), service("queue"));
        check("yaml", &text, &expect![[r#"
            data 1-3 names version x-common
            data 4-8 section `volumes`
            data 9-11 section `services` prose # Everything.
            data 12-39 section `web` in `services` prose # About web.
            data 40-68 section `db` in `services` prose # About db.
            data 69-97 section `cache` in `services` prose # About cache.
            data 98-126 section `queue` in `services` prose # About queue.
            data 127-133 section `networks` names networks default prose # Nets.
              1-1 section `version`: version: '3'
              2-3 section `x-common`: x-common: &common
              5-8 section `volumes`: volumes
              11-126 section `services`: services
              13-39 section `web` in `services`: web
              42-68 section `db` in `services`: db
              71-97 section `cache` in `services`: cache
              100-126 section `queue` in `services`: queue
              130-133 section `networks`: networks
              131-133 section `default` in `networks`: default
        "#]]);
    }

    #[test]
    fn documents_have_names() {
        check("yaml", "# First.\napiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n---\n# Second.\nkind: Deployment\nmetadata:\n  name: web\n  labels:\n    a: b\n    c: d\n    e: f\n---\nx: 1\n", &expect![[r#"
            data 1-8 section `web` in `Service` prose # First.
            data 9-19 section `web` in `Deployment` prose # Second.
              2-8 section `web` in `Service`: apiVersion: v1
              9-17 section `web` in `Deployment`: ---
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("yaml", "a: [1, 2\nb: 2\nc:\n  d: 1\n", &expect![[r#"
            data 1-4 names a b c
              1-1 section `a`: a
              2-2 section `b`: b: 2
              3-4 section `c`: c
        "#]]);
        check("yaml", "{{- if .Values.x }}\na: {{ .Values.y | quote }}\nb:\n  {{- toYaml . | nindent 2 }}\n{{- end }}\n", &expect![[r#"
            data 1-5
        "#]]);
    }
}
