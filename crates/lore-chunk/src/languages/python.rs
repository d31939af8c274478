//! Python.

use lore_model::SymbolKind;
use tree_sitter::Node;

use crate::{
    engine::{At, Found, Role, Shape, Source, Spec, children, count_one, define, first_of, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "python",
    extensions: &["py", "pyi", "pyw", "pyx", "pxd"],
    files: &["SConstruct", "SConscript", "wscript"],
    programs: &["python", "pypy"],
    method: Method::Tree(&SPEC),
    ..Row::LINES
};

static SPEC: Spec = Spec {
    grammar: || tree_sitter_python::LANGUAGE.into(),
    rules: &[RULES],
    markers: &["#", "\"\"\"", "'''", "def ", "class "],
    ..Spec::CODE
};

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("expression_statement", Role::Docstring(is_string, assignment)),
    ("import_statement", Role::Import(count_names)),
    ("import_from_statement", Role::Import(count_one)),
    ("future_import_statement", Role::Import(count_one)),
    ("decorator", Role::Lead),
    ("decorated_definition", Role::Wrap),
    ("function_definition", define(SymbolKind::Function, Shape::Function)),
    ("class_definition", Role::Hook(class)),
    ("type_alias_statement", Role::Define(SymbolKind::Type, Shape::Leaf, At::Field("left"))),
    ("block", Role::Body),
    ("string", Role::Ignore),
];

fn count_names(_: &Source<'_>, node: Node<'_>) -> u32 {
    let names = children(node).filter(|child| matches!(child.kind(), "dotted_name" | "aliased_import"));
    u32::try_from(names.count()).unwrap_or(u32::MAX)
}

fn is_string(_: &Source<'_>, node: Node<'_>) -> bool {
    node.named_child_count() == 1 && first_of(node, "string").is_some()
}

/// `X = 1`, and `x: int` in a class.
fn assignment(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let left = first_of(node, "assignment")?.child_by_field_name("left").filter(|left| left.kind() == "identifier")?;
    let name = left.byte_range();
    let is_constant = !source.bytes[name.clone()].iter().any(u8::is_ascii_lowercase);
    let symbol = if is_constant { SymbolKind::Constant } else { SymbolKind::Variable };
    Some(Found { symbol, shape: Shape::Data, name, container: None })
}

/// A class that is an enumeration of plain values is data.
fn class(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = range(node, "name")?;
    let bases = node.child_by_field_name("superclasses").map(|bases| source.text(bases.byte_range()));
    let is_enum = bases.is_some_and(|bases| {
        bases.split(['(', ')', ',', '.', ' ']).any(|base| matches!(base, "Enum" | "IntEnum" | "StrEnum" | "Flag" | "IntFlag"))
    });
    let has_functions = node.child_by_field_name("body").is_some_and(|body| {
        children(body).any(|member| matches!(member.kind(), "function_definition" | "decorated_definition"))
    });
    let symbol = if is_enum { SymbolKind::Enum } else { SymbolKind::Class };
    let shape = if is_enum && !has_functions { Shape::Data } else { Shape::Container };
    Some(Found { symbol, shape, name, container: None })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn definitions_have_their_comments_and_decorators() {
        let text = r#""""Module docs."""
import os, sys
from a import (b, c)

LIMIT = 10  # why
names = []


# Says hello.
@decorated
@twice(1)
def hello(name: str,
          other=None) -> str:
    """Docs of hello."""
    # inside
    return name


class Small(Base):
    """Small docs."""

    x: int = 1

    def one(self): return 1

    async def two(self):
        pass


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class NotFound(Exception):
    pass


class Other(Exception): pass


def outer():
    def inner():
        # deep
        return 1
    return inner
"#;
        check("python", text, &expect![[r#"
            data 1-6 names LIMIT names prose """Module docs.""" | # why
            definitions 7-16 function `hello` prose # Says hello. | """Docs of hello.""" #…
            definitions 17-27 class `Small` names Small x one two prose """Small docs."""
            data 28-32 enum `Colour` names Colour RED GREEN
            definitions 33-39 names NotFound Other
            definitions 40-46 function `outer` names outer inner prose # deep
              5-5 constant `LIMIT`: LIMIT = 10
              6-6 variable `names`: names = []
              12-16 function `hello`: def hello(name: str, other=None) -> str
              19-27 class `Small`: class Small(Base)
              24-24 method `one` in `Small`: def one(self)
              26-27 method `two` in `Small`: async def two(self)
              30-32 enum `Colour`: class Colour(enum.Enum)
              31-31 constant `RED` in `Colour`: RED = 1
              32-32 constant `GREEN` in `Colour`: GREEN = 2
              35-36 class `NotFound`: class NotFound(Exception)
              39-39 class `Other`: class Other(Exception)
              42-46 function `outer`: def outer()
              43-45 function `inner` in `outer`: def inner(): # deep
            imports 3
        "#]]);
    }

    #[test]
    fn a_large_class_is_cut_into_its_head_and_its_methods() {
        let method = |name: &str| format!("    # About {name}.\n    @property\n    def {name}(self):\n{}\n", "        x = 1\n".repeat(12));
        let text = format!(
            "class Large:\n    \"\"\"Docs.\"\"\"\n\n    size = 1\n\n    class Meta:\n        a = 1\n        b = 2\n        c = 3\n\n{}{}{}\nX = 1\n",
            method("a"),
            method("b"),
            "    def tiny(self):\n        pass\n\n    def small(self):\n        pass\n"
        );
        check("python", &text, &expect![[r#"
            definitions 1-4 class `Large` names Large size prose """Docs."""
            definitions 5-9 class `Meta` in `Large` names Meta a b c
            definitions 10-25 method `a` in `Large` prose # About a.
            definitions 26-41 method `b` in `Large` prose # About b.
            definitions 42-47 in `Large` names tiny small
            data 48-49 constant `X`
              1-47 class `Large`: class Large
              6-9 class `Meta` in `Large`: class Meta
              13-25 method `a` in `Large`: def a(self)
              29-41 method `b` in `Large`: def b(self)
              43-44 method `tiny` in `Large`: def tiny(self)
              46-47 method `small` in `Large`: def small(self)
              49-49 constant `X`: X = 1
        "#]]);
    }

    #[test]
    fn a_large_function_is_cut_at_its_statements() {
        let block = "    if x:\n        # note\n        for y in x:\n            print(y)\n            print(x)\n\n";
        check("python", &format!("def large(x):\n{}\n    return 1\n\nlarge(1)\n", block.repeat(30)), &expect![[r#"
            definitions 1-43 function `large` part 1/4 prose # note | # note | # note | # note | # note | # note | # note
            definitions 44-91 function `large` part 2/4 names  prose # note | # note | # note | # note | # note | # note | # note | # note
            definitions 92-139 function `large` part 3/4 names  prose # note | # note | # note | # note | # note | # note | # note | # note
            definitions 140-185 function `large` part 4/4 names  prose # note | # note | # note | # note | # note | # note | # note
              1-183 function `large`: def large(x)
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("python", "def a():\n    return (1\n\nclass B:\n    def c(self):\n        x = [\n\ndef d():\n    y = 1\n    z = 2\n    return 1\n", &expect![[r#"
            definitions 1-6 function `a`
            definitions 7-11 function `d`
              1-6 function `a`: def a(): return (1 class B
              8-11 function `d`: def d()
        "#]]);
        check("python", "<<<<<<< HEAD\n%%%\n", &expect![[r#"
            definitions 1-2
        "#]]);
    }
}
