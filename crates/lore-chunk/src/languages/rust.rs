//! Rust.

use lore_model::SymbolKind;
use tree_sitter::Node;

use crate::{
    engine::{Found, Role, Shape, Source, Spec, children, count_one, define, field, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row =
    Row { name: "rust", extensions: &["rs"], programs: &["rust-script"], method: Method::Tree(&SPEC), ..Row::LINES };

static SPEC: Spec = Spec {
    grammar: || tree_sitter_rust::LANGUAGE.into(),
    rules: &[RULES],
    markers: &["//", "/*", "fn ", "struct ", "enum "],
    separator: "::",
    ..Spec::CODE
};

const RULES: &[(&str, Role)] = &[
    ("line_comment", Role::Comment),
    ("block_comment", Role::Comment),
    ("attribute_item", Role::Lead),
    ("use_declaration", Role::Import(count_one)),
    ("extern_crate_declaration", Role::Import(count_one)),
    ("function_item", define(SymbolKind::Function, Shape::Function)),
    ("function_signature_item", define(SymbolKind::Function, Shape::Function)),
    ("macro_definition", define(SymbolKind::Macro, Shape::Leaf)),
    ("struct_item", define(SymbolKind::Struct, Shape::Container)),
    ("union_item", define(SymbolKind::Union, Shape::Container)),
    ("enum_item", Role::Hook(enumeration)),
    ("trait_item", define(SymbolKind::Trait, Shape::Container)),
    ("impl_item", Role::Hook(implementation)),
    ("mod_item", Role::Hook(module)),
    ("type_item", define(SymbolKind::Type, Shape::Leaf)),
    ("associated_type", define(SymbolKind::Type, Shape::Leaf)),
    ("const_item", define(SymbolKind::Constant, Shape::Data)),
    ("static_item", define(SymbolKind::Constant, Shape::Data)),
    ("foreign_mod_item", Role::Open),
    ("declaration_list", Role::Body),
    ("field_declaration_list", Role::Body),
    ("enum_variant_list", Role::Body),
    ("field_declaration", field()),
    ("enum_variant", field()),
    ("string_literal", Role::Ignore),
    ("raw_string_literal", Role::Ignore),
];

/// An enumeration of plain values is data.
fn enumeration(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let variants = node.child_by_field_name("body")?;
    let is_plain = children(variants).all(|variant| variant.child_by_field_name("body").is_none());
    let shape = if is_plain { Shape::Data } else { Shape::Container };
    Some(Found { symbol: SymbolKind::Enum, shape, name: range(node, "name")?, container: None })
}

/// An implementation has the name of its type, without parameters.
fn implementation(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let mut of = node.child_by_field_name("type")?;
    while let Some(inner) = of.child_by_field_name("type") {
        of = inner;
    }
    Some(Found { symbol: SymbolKind::Impl, shape: Shape::Container, name: of.byte_range(), container: None })
}

/// `mod x;` declares a file, and is a statement.
fn module(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    node.child_by_field_name("body")?;
    Some(Found { symbol: SymbolKind::Module, shape: Shape::Scope, name: range(node, "name")?, container: None })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn definitions_have_their_comments_and_attributes() {
        let text = r#"//! Module docs.

use std::fmt;
use std::io::{self, Read};

mod other;

/// How many.
pub const LIMIT: usize = 10;
static NAME: &str = "x";

/// Two sides.
#[derive(Debug)]
pub struct Pair<T> {
    /// Left side.
    pub left: T,
    right: T,
}

impl<T: fmt::Debug> fmt::Display for Pair<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Inside.
        write!(f, "{:?}", self.left)
    }
}

pub enum Colour { Red, Green }

pub enum Shape {
    Round(f64),
    Square { side: f64 },
}

/// Does things.
#[inline]
pub(crate) async fn long_name<'a>(
    one: &'a str,
    two: u32,
) -> io::Result<()> {
    fn inner() -> u32 {
        /* deep */
        1
    }
    Ok(())
}

type Alias = u32;
fn tiny() {}
fn tiny_too() {}

macro_rules! mac {
    () => {
        1
    };
}

trait Speak {
    type Word;
    fn speak(&self) -> Self::Word;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works() {
        let a = 1;
        assert_eq!(a, 1);
    }
}
// The end.
"#;
        check("rust", text, &expect![[r#"
            data 1-10 names LIMIT NAME prose //! Module docs. | /// How many.
            definitions 11-18 struct `Pair` names Pair left right prose /// Two sides. | /// Left side.
            definitions 19-25 impl `Pair` names Pair fmt prose // Inside.
            data 26-27 enum `Colour` names Colour Red Green
            definitions 28-32 enum `Shape` names Shape Round Square
            definitions 33-45 function `long_name` names long_name inner prose /// Does things. | /* deep */
            definitions 46-49 names Alias tiny tiny_too
            definitions 50-55 macro `mac`
            definitions 56-60 trait `Speak` names Speak Word speak
            definitions 61-64 in `tests` names tests
            definitions 65-72 function `works` in `tests` prose // The end.
              9-9 constant `LIMIT`: pub const LIMIT: usize = 10;
              10-10 constant `NAME`: static NAME: &str = "x";
              14-18 struct `Pair`: pub struct Pair<T>
              20-25 impl `Pair`: impl<T: fmt::Debug> fmt::Display for Pair<T>
              21-24 method `fmt` in `Pair`: fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result
              27-27 enum `Colour`: pub enum Colour
              29-32 enum `Shape`: pub enum Shape
              36-45 function `long_name`: pub(crate) async fn long_name<'a>( one: &'a str, two: u32, ) -> io::Result<()>
              40-43 function `inner` in `long_name`: fn inner() -> u32
              47-47 type `Alias`: type Alias = u32;
              48-48 function `tiny`: fn tiny()
              49-49 function `tiny_too`: fn tiny_too()
              51-55 macro `mac`: macro_rules! mac { () => { 1 }; }
              57-60 trait `Speak`: trait Speak
              58-58 type `Word` in `Speak`: type Word;
              59-59 method `speak` in `Speak`: fn speak(&self) -> Self::Word;
              63-71 module `tests`: mod tests
              67-70 function `works` in `tests`: fn works()
            imports 3
        "#]]);
    }

    #[test]
    fn a_large_implementation_is_cut_into_its_methods() {
        let method = |name: &str| format!("    /// About {name}.\n    pub fn {name}(&self) -> u32 {{\n{}        1\n    }}\n\n", "        call();\n".repeat(10));
        let getter = |name: &str| format!("    pub fn {name}(&self) -> u32 {{ 1 }}\n");
        let text = format!("impl Large {{\n    const A: u32 = 1;\n\n{}{}{}{}{}}}\n", method("one"), getter("a"), getter("b"), method("two"), method("three"));
        check("rust", &text, &expect![[r#"
            definitions 1-17 method `one` in `Large` names Large A one prose /// About one.
            definitions 18-20 in `Large` names a b
            definitions 21-34 method `two` in `Large` prose /// About two.
            definitions 35-51 method `three` in `Large` prose /// About three.
              1-51 impl `Large`: impl Large
              2-2 constant `A` in `Large`: const A: u32 = 1;
              5-17 method `one` in `Large`: pub fn one(&self) -> u32
              19-19 method `a` in `Large`: pub fn a(&self) -> u32
              20-20 method `b` in `Large`: pub fn b(&self) -> u32
              22-34 method `two` in `Large`: pub fn two(&self) -> u32
              37-49 method `three` in `Large`: pub fn three(&self) -> u32
        "#]]);
    }

    #[test]
    fn a_large_function_is_cut_at_its_statements() {
        let block = "    match x {\n        // note\n        1 => {\n            call();\n        }\n        _ => other(),\n    }\n\n";
        check("rust", &format!("/// Docs.\nfn large(x: u32) {{\n{}}}\n", block.repeat(25)), &expect![[r#"
            definitions 1-50 function `large` part 1/4 prose /// Docs. | // note | // note | // note | // note | // note | // note
            definitions 51-98 function `large` part 2/4 names  prose // note | // note | // note | // note | // note | // note
            definitions 99-154 function `large` part 3/4 names  prose // note | // note | // note | // note | // note | // note | // note
            definitions 155-203 function `large` part 4/4 names  prose // note | // note | // note | // note | // note | // note
              2-203 function `large`: fn large(x: u32)
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("rust", "fn a( {\n    let x = ;\n}\n\nstruct B {\n    c: u32\n    d: u32,\n}\n\nfn e() {\n    let y = 1;\n    y\n}\n", &expect![[r#"
            definitions 1-3 function `a`
            definitions 4-8 struct `B` names B c
            definitions 9-13 function `e`
              1-3 function `a`: fn a(
              5-8 struct `B`: struct B
              10-13 function `e`: fn e()
        "#]]);
        check("rust", "this is not rust at all\n%%% $$$\n", &expect![[r#"
            definitions 1-2
        "#]]);
    }
}
