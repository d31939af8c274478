//! Makefiles: targets, variables and `define`s.

use lore_model::SymbolKind;
use tree_sitter::Node;

use crate::{
    engine::{Found, Role, Shape, Source, Spec, children, count_one, define, first_of},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "makefile",
    extensions: &["mk", "mak", "make"],
    files: &["GNUmakefile", "Kbuild", "Makefile", "Makefile.am", "Makefile.in", "makefile"],
    programs: &["make"],
    method: Method::Tree(&SPEC),
    ..Row::LINES
};

static SPEC: Spec = Spec { grammar: || tree_sitter_make::LANGUAGE.into(), rules: &[RULES], ..Spec::CODE };

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("include_directive", Role::Import(count_one)),
    ("rule", Role::Hook(rule)),
    ("variable_assignment", define(SymbolKind::Variable, Shape::Data)),
    ("shell_assignment", define(SymbolKind::Variable, Shape::Data)),
    ("define_directive", define(SymbolKind::Macro, Shape::Function)),
    ("export_directive", Role::Wrap),
    ("override_directive", Role::Wrap),
    ("private_directive", Role::Wrap),
    ("conditional", Role::Open),
    ("else_directive", Role::Open),
    ("elsif_directive", Role::Open),
    ("ifeq_directive", Role::Ignore),
    ("ifneq_directive", Role::Ignore),
    ("ifdef_directive", Role::Ignore),
    ("ifndef_directive", Role::Ignore),
];

/// A rule is called by its first target; `.PHONY` and the like are no targets.
fn rule(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = children(first_of(node, "targets")?).find(Node::is_named)?.byte_range();
    let text = &source.bytes[name.clone()];
    let is_special = text.first() == Some(&b'.') && text[1..].iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
    (!is_special).then_some(Found { symbol: SymbolKind::Section, shape: Shape::Function, name, container: None })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn targets_have_their_comments() {
        let text = "# Builds it.\nCC := gcc\nexport X = 1\ninclude a.mk\n\nifeq ($(A),1)\nB = 2\nelse\nC = 3\nendif\n\n.PHONY: all clean\n\n# Builds all.\nall: main.o other.o ## help\n\t$(CC) -o $@\n\techo x\n\n# Compiles.\n%.o: %.c\n\t$(CC) -c $<\n\ndefine foo\n  x\nendef\n\nclean:: tidy\n\t# inside\n\trm -f *.o\n\trm -f all\n\n# Last.\ntidy:\n";
        check("makefile", text, &expect![[r#"
            data 1-3 names CC X prose # Builds it.
            data 4-9 names B C
            definitions 10-17 section `all` prose # Builds all. | ## help
            definitions 18-25 names %.o foo prose # Compiles.
            definitions 26-30 section `clean`
            definitions 31-33 section `tidy` prose # Last.
              2-2 variable `CC`: CC := gcc
              3-3 variable `X`: export X = 1
              7-7 variable `B`: B = 2
              9-9 variable `C`: C = 3
              15-17 section `all`: all: main.o other.o ## help
              20-21 section `%.o`: %.o: %.c
              23-25 macro `foo`: define foo
              27-30 section `clean`: clean:: tidy
              33-33 section `tidy`: tidy
            imports 1
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("makefile", "a: b\n\techo 1\n\techo 2\n\techo 3\n\nifeq (x\n)))\n\nc:\n\techo 1\n", &expect![[r#"
            definitions 1-10 section `a`
              1-4 section `a`: a: b
        "#]]);
    }
}
