//! JSON, with comments where a file has them: keys at the top are sections.

use tree_sitter::Node;

use super::config::{level, section};
use crate::{
    engine::{Found, Role, Source, Spec, range},
    language::{Method, Row},
};
use lore_model::ChunkKind;

pub(crate) static ROW: Row = Row {
    name: "json",
    extensions: &["json", "jsonc", "json5", "geojson", "topojson", "webmanifest", "ipynb", "avsc", "har"],
    files: &[".babelrc", ".bowerrc", ".jshintrc", ".swcrc", ".watchmanconfig"],
    method: Method::Tree(&SPEC),
    ..Row::LINES
};

static SPEC: Spec = Spec {
    grammar: || tree_sitter_json::LANGUAGE.into(),
    rules: &[RULES],
    kind: ChunkKind::Data,
    ..Spec::CODE
};

const RULES: &[(&str, Role)] = &[("comment", Role::Comment), ("object", Role::Open), ("pair", Role::Hook(pair))];

fn pair(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    section(source, node, range(node, "key")?, |node| level(source, node, "pair", "array"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn a_small_file_is_one_chunk() {
        check("json", "{\n  \"name\": \"x\",\n  // Runs.\n  \"scripts\": {\n    \"a\": \"b\",\n    \"c\": {\n      \"d\": 1,\n      \"e\": 1\n    }\n  }\n}\n", &expect![[r#"
            data 1-11 names name scripts prose // Runs.
              2-2 section `name`: "name": "x"
              4-10 section `scripts`: "scripts": { "a": "b", "c": { "d": 1, "e": 1 } }
        "#]]);
        check("json", "[\n  {\"a\": 1},\n  {\"a\": 2}\n]\n", &expect![[r#"
            data 1-4
        "#]]);
    }

    #[test]
    fn keys_of_larger_files_are_chunks() {
        let pairs = |count: usize| (0..count).map(|it| format!("    \"key{it}\": \"^{it}.0\"")).collect::<Vec<_>>().join(",\n");
        let nested = (0..10).map(|it| format!("    \"/{it}\": {{\n      \"get\": {{\n{},\n        \"x\": [\n          {{\n            \"y\": 1\n          }}\n        ]\n      }}\n    }}", pairs(8))).collect::<Vec<_>>().join(",\n");
        let text = format!("{{\n  \"name\": \"x\",\n  \"version\": \"1\",\n  \"scripts\": {{\n{}\n  }},\n  \"private\": true,\n  \"dependencies\": {{\n{}\n  }},\n  \"paths\": {{\n{nested}\n  }}\n}}\n", pairs(6), pairs(30));
        check("json", &text, &expect![[r#"
            data 1-3 names name version
            data 4-11 section `scripts`
            data 12-12 section `private`
            data 13-44 section `dependencies`
            data 45-45 section `paths`
            data 46-62 section `/0` in `paths`
            data 63-79 section `/1` in `paths`
            data 80-96 section `/2` in `paths`
            data 97-113 section `/3` in `paths`
            data 114-130 section `/4` in `paths`
            data 131-147 section `/5` in `paths`
            data 148-164 section `/6` in `paths`
            data 165-181 section `/7` in `paths`
            data 182-198 section `/8` in `paths`
            data 199-217 section `/9` in `paths`
              2-2 section `name`: "name": "x"
              3-3 section `version`: "version": "1"
              4-11 section `scripts`: "scripts"
              12-12 section `private`: "private": true
              13-44 section `dependencies`: "dependencies"
              45-216 section `paths`: "paths"
              46-62 section `/0` in `paths`: "/0"
              63-79 section `/1` in `paths`: "/1"
              80-96 section `/2` in `paths`: "/2"
              97-113 section `/3` in `paths`: "/3"
              114-130 section `/4` in `paths`: "/4"
              131-147 section `/5` in `paths`: "/5"
              148-164 section `/6` in `paths`: "/6"
              165-181 section `/7` in `paths`: "/7"
              182-198 section `/8` in `paths`: "/8"
              199-215 section `/9` in `paths`: "/9"
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("json", "{\n  \"a\": 1,\n  \"b\": [1, 2,\n  \"c\": {\"d\": 1},\n}\n", &expect![[r#"
            data 1-5 names a b
              2-2 section `a`: "a": 1
              3-4 section `b`: "b": [1, 2, "c": {"d": 1}
        "#]]);
        check("json", "{{ template }}\n", &expect![[r#"
            data 1-1
        "#]]);
    }
}
