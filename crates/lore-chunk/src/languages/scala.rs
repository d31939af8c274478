//! Scala, 2 and 3.

use lore_model::SymbolKind;
use tree_sitter::Node;

use crate::{
    engine::{At, Found, Role, Shape, Source, Spec, children, count_one, define, field, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "scala",
    extensions: &["scala", "sc", "sbt", "mill"],
    programs: &["scala", "amm", "scala-cli"],
    method: Method::Tree(&SPEC),
    ..Row::LINES
};

static SPEC: Spec = Spec {
    grammar: || tree_sitter_scala::LANGUAGE.into(),
    rules: &[RULES],
    markers: &["//", "/*", "def ", "class ", "object ", "trait "],
    ..Spec::CODE
};

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("block_comment", Role::Comment),
    ("annotation", Role::Lead),
    ("package_clause", Role::Case(package)),
    ("import_declaration", Role::Import(count_one)),
    ("export_declaration", Role::Import(count_one)),
    ("class_definition", define(SymbolKind::Class, Shape::Container)),
    ("trait_definition", define(SymbolKind::Trait, Shape::Container)),
    ("object_definition", define(SymbolKind::Module, Shape::Container)),
    ("package_object", define(SymbolKind::Module, Shape::Container)),
    ("enum_definition", Role::Hook(enumeration)),
    ("enum_case_definitions", Role::Wrap),
    ("simple_enum_case", field()),
    ("full_enum_case", field()),
    ("template_body", Role::Body),
    ("with_template_body", Role::Body),
    ("enum_body", Role::Body),
    ("function_definition", define(SymbolKind::Function, Shape::Function)),
    ("function_declaration", define(SymbolKind::Function, Shape::Function)),
    ("given_definition", define(SymbolKind::Variable, Shape::Container)),
    ("extension_definition", Role::Open),
    ("parameters", Role::Ignore),
    ("type_parameters", Role::Ignore),
    ("type_definition", define(SymbolKind::Type, Shape::Leaf)),
    ("val_definition", Role::Hook(value)),
    ("var_definition", Role::Hook(value)),
    ("val_declaration", define(SymbolKind::Variable, Shape::Data)),
    ("var_declaration", define(SymbolKind::Variable, Shape::Data)),
    ("string", Role::Ignore),
];

/// `package a { … }` holds what is in it, `package a` stands before it.
fn package(_: &Source<'_>, node: Node<'_>) -> Role {
    if node.child_by_field_name("body").is_some() {
        define(SymbolKind::Module, Shape::Scope)
    } else {
        Role::Package(At::Field("name"))
    }
}

/// An enumeration of plain values is data.
fn enumeration(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let is_plain = node.child_by_field_name("body").is_none_or(|body| {
        children(body).filter(Node::is_named).all(|member| {
            member.kind().ends_with("comment")
                || (member.kind() == "enum_case_definitions" && children(member).all(|case| case.kind() != "full_enum_case"))
        })
    });
    let shape = if is_plain { Shape::Data } else { Shape::Container };
    Some(Found { symbol: SymbolKind::Enum, shape, name: range(node, "name")?, container: None })
}

/// A value whose name begins with a capital letter is a constant.
fn value(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = node.child_by_field_name("pattern").filter(|name| name.kind() == "identifier")?.byte_range();
    let is_constant = node.kind() == "val_definition" && source.bytes[name.start].is_ascii_uppercase();
    let symbol = if is_constant { SymbolKind::Constant } else { SymbolKind::Variable };
    Some(Found { symbol, shape: Shape::Data, name, container: None })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn definitions_have_their_comments_and_annotations() {
        let text = r#"// Licence.
package org.example
package shop

import scala.collection.mutable
import java.util.{List, Map => JMap}

/** A shop. */
@deprecated("old")
final case class Shop[T <: Item](name: String, items: Seq[T])(implicit ev: Ordering[T])
    extends Base(name)
    with Closeable {
  /** How many. */
  val size: Int = items.size
  private var cache: Option[T] = None
  type Key = String

  /** Finds an item. */
  @tailrec
  override def find[K](key: K, name: String = ""): Option[T] = {
    // Inside.
    def local(x: Int): Int = {
      val y = x
      y
    }
    None
  }

  def close(): Unit = ()
}

object Shop {
  val Limit = 10
  def apply(name: String): Shop[Item] =
    new Shop(name, Nil)
  implicit class Rich(val s: String) extends AnyVal {
    def shout: String = s.toUpperCase
  }
}

sealed trait Speaker {
  def speak(word: String): Unit
}

enum Colour {
  case Red, Green
}

enum Shape:
  case Round(radius: Double)
  case Square

extension (s: String)
  def twice: String = s + s

given ordering: Ordering[Item] with
  def compare(a: Item, b: Item): Int = 0

def top(x: Int): Int =
  val y = x
  y + 1
"#;
        check("scala", text, &expect![[r#"
            definitions 1-6 prose // Licence.
            definitions 7-30 class `Shop` names Shop size cache Key find local close prose /** A shop. */ | /** How many. */ | /** Finds an item. */ | // Inside.
            definitions 31-39 module `Shop` names Shop Limit apply Rich shout
            definitions 40-43 trait `Speaker` names Speaker speak
            data 44-47 enum `Colour` names Colour Red Green
            definitions 48-61 names Shape Round Square twice ordering compare top
              9-30 class `Shop`: final case class Shop[T <: Item](name: String, items: Seq[T])(implicit ev: Ordering[T]) extends Base(name) with Closeable
              16-16 type `Key` in `Shop`: type Key = String
              19-27 method `find` in `Shop`: override def find[K](key: K, name: String = ""): Option[T]
              22-25 function `local` in `Shop.find`: def local(x: Int): Int
              29-29 method `close` in `Shop`: def close(): Unit
              32-39 module `Shop`: object Shop
              33-33 constant `Limit` in `Shop`: val Limit = 10
              34-35 function `apply` in `Shop`: def apply(name: String): Shop[Item]
              36-38 class `Rich` in `Shop`: implicit class Rich(val s: String) extends AnyVal
              37-37 method `shout` in `Shop.Rich`: def shout: String
              41-43 trait `Speaker`: sealed trait Speaker
              42-42 method `speak` in `Speaker`: def speak(word: String): Unit
              45-47 enum `Colour`: enum Colour
              49-51 enum `Shape`: enum Shape
              54-54 function `twice`: def twice: String
              56-57 variable `ordering`: given ordering: Ordering[Item] with
              57-57 function `compare` in `ordering`: def compare(a: Item, b: Item): Int
              59-61 function `top`: def top(x: Int): Int
            package org.example
            imports 2
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("scala", "class A {\n  def b() = {\n    val x = \n    foo(\n  }\n\n  def c(): Int = {\n    val y = 1\n    y\n  }\n}\n\ntrait D\n", &expect![[r#"
            definitions 1-13 class `A` names A b c D
              1-13 class `A`: class A
              2-11 method `b` in `A`: def b()
              7-10 function `c` in `A.b`: def c(): Int
              13-13 trait `D` in `A`: trait D
        "#]]);
    }
}
