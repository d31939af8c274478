//! Rust.

use std::ops::Range;

use lore_model::SymbolKind;
use memchr::memmem;
use tree_sitter::{Node, Tree};

use crate::{
    engine::{Change, Found, Role, Shape, Source, Spec, children, count_one, define, field, first_of, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row =
    Row { name: "rust", extensions: &["rs"], programs: &["rust-script"], method: Method::Tree(&SPEC), ..Row::LINES };

static SPEC: Spec = Spec {
    grammar: || tree_sitter_rust::LANGUAGE.into(),
    rules: &[RULES],
    markers: &["//", "/*", "fn ", "struct ", "enum "],
    separator: "::",
    hide: Some(open_macros),
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
    ("foreign_mod_item", Role::Wrap),
    ("declaration_list", Role::Body),
    ("field_declaration_list", Role::Body),
    ("enum_variant_list", Role::Body),
    ("field_declaration", field()),
    ("enum_variant", field()),
    ("string_literal", Role::Ignore),
    ("raw_string_literal", Role::Ignore),
];

/// What the call of a macro with items in it is read as: `cfg_rt! { … }` like `extern { … }`.
const OPENED: &[u8] = b"extern{";

/// Looks for items in the arguments of macros, in files and modules and blocks of methods.
fn open_macros(bytes: &[u8], part: Range<usize>, tree: &Tree) -> Vec<Change> {
    let mut changes = Vec::new();
    if memmem::find(&bytes[part], b"!").is_none() {
        return changes;
    }
    let mut cursor = tree.walk();
    if !cursor.goto_first_child() {
        return changes;
    }
    loop {
        let node = cursor.node();
        match node.kind() {
            "macro_invocation" => changes.extend(open_macro(bytes, node)),
            "expression_statement" => changes.extend(node.child(0).and_then(|call| open_macro(bytes, call))),
            "mod_item" | "impl_item" | "trait_item" | "declaration_list" if cursor.goto_first_child() => continue,
            _ => {}
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return changes;
            }
        }
    }
}

fn open_macro(bytes: &[u8], call: Node<'_>) -> Option<Change> {
    let arguments = first_of(call, "token_tree").filter(|it| call.kind() == "macro_invocation" && bytes[it.start_byte()] == b'{')?;
    let range = call.start_byte()..arguments.start_byte() + 1;
    let fits = range.len() >= OPENED.len() && !bytes[range.clone()].contains(&b'\n');
    (fits && begins_with_item(&bytes[arguments.start_byte() + 1..arguments.end_byte()]))
        .then(|| Change { range, with: OPENED, scope: call.byte_range() })
}

/// Whether the first word behind comments and attributes is one that an item begins with.
fn begins_with_item(mut text: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"pub", b"fn", b"struct", b"enum", b"union", b"trait", b"impl", b"mod", b"use", b"type", b"const", b"static",
        b"unsafe", b"async", b"extern", b"macro_rules",
    ];
    loop {
        text = text.trim_ascii_start();
        let skipped = match text {
            [b'/', b'/', ..] => memchr::memchr(b'\n', text),
            [b'/', b'*', ..] => memmem::find(text, b"*/").map(|length| length + 2),
            [b'#', b'[', ..] => attribute_end(text),
            _ => break,
        };
        match skipped {
            Some(length) => text = &text[length..],
            None => return false,
        }
    }
    let length = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(text.len());
    WORDS.contains(&&text[..length])
}

fn attribute_end(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' if depth == 1 => return Some(at + 1),
            b']' => depth -= 1,
            _ => {}
        }
    }
    None
}

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
    fn items_in_macros_are_items() {
        let text = r#"use a::b;

cfg_rt! {
    /// Spawns.
    #[track_caller]
    pub fn spawn<T>(future: T) -> u32 {
        let x = 1;
        x
    }

    mod inner {
        fn x() {}
    }
}

bitflags! {
    pub struct Flags: u32 {
        const A = 1;
    }
}

impl A {
    cfg_io! {
        /// Reads.
        pub fn read(&self) -> u32 {
            1
        }
    }
}

fn main() {
    select! { fn }
}
"#;
        check("rust", text, &expect![[r#"
            definitions 1-9 function `spawn` prose /// Spawns.
            definitions 10-14 function `x` in `inner` names inner x
            definitions 15-29 impl `A` names A read prose /// Reads.
            definitions 30-33 function `main`
              6-9 function `spawn`: pub fn spawn<T>(future: T) -> u32
              11-13 module `inner`: mod inner
              12-12 function `x` in `inner`: fn x()
              22-29 impl `A`: impl A
              25-27 method `read` in `A`: pub fn read(&self) -> u32
              31-33 function `main`: fn main()
            imports 1
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
