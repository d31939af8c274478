//! Shell scripts: Bash and what is like it.

use lore_model::SymbolKind;
use tree_sitter::Node;

use crate::{
    engine::{Found, Role, Sees, Shape, Source, Spec, define, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "bash",
    extensions: &["sh", "bash", "zsh", "ksh", "bats", "ebuild", "eclass", "command"],
    files: &[
        ".bash_aliases", ".bash_profile", ".bashrc", ".envrc", ".profile", ".zprofile", ".zshenv", ".zshrc", "APKBUILD",
        "PKGBUILD",
    ],
    programs: &["sh", "bash", "zsh", "dash", "ksh", "ash", "bats"],
    method: Method::Tree(&SPEC),
    ..Row::LINES
};

static SPEC: Spec = Spec {
    grammar: || tree_sitter_bash::LANGUAGE.into(),
    rules: &[RULES],
    markers: &["#", "()", "( )", "function ", "source ", ". "],
    // It asks `isdigit` about what follows a `{`.
    sees: Sees::Ascii,
    ..Spec::CODE
};

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("function_definition", define(SymbolKind::Function, Shape::Function)),
    ("declaration_command", Role::Wrap),
    ("variable_assignments", Role::Wrap),
    ("variable_assignment", Role::Hook(variable)),
    ("command", Role::Import(count_source)),
    // Parts of declarations, such as `-r`.
    ("word", Role::Ignore),
    ("variable_name", Role::Ignore),
    ("string", Role::Ignore),
    ("raw_string", Role::Ignore),
    ("heredoc_body", Role::Ignore),
];

fn variable(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = node.child_by_field_name("name").filter(|name| name.kind() == "variable_name")?.byte_range();
    let is_constant = !source.bytes[name.clone()].iter().any(u8::is_ascii_lowercase);
    let symbol = if is_constant { SymbolKind::Constant } else { SymbolKind::Variable };
    Some(Found { symbol, shape: Shape::Data, name, container: None })
}

/// `source x`, `. x`.
fn count_source(source: &Source<'_>, node: Node<'_>) -> u32 {
    u32::from(range(node, "name").is_some_and(|name| matches!(&source.bytes[name], b"source" | b".")))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::{Language, languages::testing::check};

    #[test]
    fn functions_have_their_comments() {
        let text = r#"#!/usr/bin/env bash
# Deploys things.
set -euo pipefail

source ./lib.sh
readonly LIMIT=10 OTHER="x"
declare -r name
names=(a b)
export PATH="$PATH:/x"

# Says hello.
# Twice.
hello() {
  local x=1 # inside
  cat <<EOF
# not a comment
EOF
}

function main {
  hello "$@"
}

if true; then
  late() {
    echo 1
  }
fi

main "$@"
"#;
        check("bash", text, &expect![[r#"
            definitions 1-5 prose #!/usr/bin/env bash # D…
            data 6-6 constant `LIMIT` names LIMIT OTHER
            data 7-9 names names PATH
            definitions 10-18 function `hello` prose # Says hello. # Twice. | # inside
            definitions 19-22 function `main`
            definitions 23-30 names late
              6-6 constant `LIMIT`: readonly LIMIT=10
              6-6 constant `OTHER`: OTHER="x"
              8-8 variable `names`: names=(a b)
              9-9 constant `PATH`: export PATH="$PATH:/x"
              13-18 function `hello`: hello()
              20-22 function `main`: function main
              25-27 function `late`: late()
            imports 1
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("bash", "a() {\n  if true; then\n    echo \"x\n}\n", &expect![[r#"
            definitions 1-4
        "#]]);
        check("bash", "b() {\n  x=$((1 + ))\n}\n\nc() {\n  echo 1\n  echo 2\n}\n", &expect![[r#"
            definitions 1-8 function `b` names b c
              1-8 function `b`: b()
              5-8 function `c` in `b`: c()
        "#]]);
    }

    #[test]
    fn scripts_are_known_by_their_first_line() {
        for first in ["#!/bin/sh\n", "#!/usr/bin/env bash\n", "#! /bin/bash -e\n"] {
            assert_eq!(Language::of("bin/run", first.as_bytes()).name(), "bash", "{first}");
        }
    }
}
