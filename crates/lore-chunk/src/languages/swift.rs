//! Swift.

use lore_model::SymbolKind;
use tree_sitter::Node;

use crate::{
    engine::{At, Found, Role, Shape, Source, Spec, children, count_one, define, field, first_of, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row =
    Row { name: "swift", extensions: &["swift"], programs: &["swift"], method: Method::Tree(&SPEC), ..Row::LINES };

static SPEC: Spec = Spec {
    grammar: || tree_sitter_swift::LANGUAGE.into(),
    rules: &[RULES],
    markers: &["//", "/*", "func ", "struct ", "class ", "enum "],
    ..Spec::CODE
};

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("multiline_comment", Role::Comment),
    ("shebang_line", Role::Lead),
    ("attribute", Role::Lead),
    ("modifiers", Role::Lead),
    ("directive", Role::Lead),
    ("import_declaration", Role::Import(count_one)),
    ("class_declaration", Role::Hook(class)),
    ("protocol_declaration", define(SymbolKind::Trait, Shape::Container)),
    ("class_body", Role::Body),
    ("enum_class_body", Role::Body),
    ("protocol_body", Role::Body),
    ("enum_entry", field()),
    ("function_declaration", define(SymbolKind::Function, Shape::Function)),
    ("protocol_function_declaration", define(SymbolKind::Function, Shape::Function)),
    ("init_declaration", Role::Define(SymbolKind::Function, Shape::Function, At::Kind("init"))),
    ("deinit_declaration", Role::Define(SymbolKind::Function, Shape::Function, At::Kind("deinit"))),
    ("subscript_declaration", Role::Define(SymbolKind::Function, Shape::Function, At::Kind("subscript"))),
    ("macro_declaration", Role::Define(SymbolKind::Macro, Shape::Leaf, At::Kind("simple_identifier"))),
    ("property_declaration", Role::Hook(property)),
    ("protocol_property_declaration", Role::Hook(property)),
    ("typealias_declaration", define(SymbolKind::Type, Shape::Leaf)),
    ("associatedtype_declaration", define(SymbolKind::Type, Shape::Leaf)),
    ("line_string_literal", Role::Ignore),
    ("multi_line_string_literal", Role::Ignore),
];

/// Structures, enumerations, actors and extensions are classes to the grammar; an enumeration of plain values is data.
fn class(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let kind = source.text(range(node, "declaration_kind")?);
    let is_plain = || {
        let is_value = |member: Node<'_>| member.kind() == "enum_entry" && member.child_by_field_name("data_contents").is_none();
        let body = node.child_by_field_name("body");
        body.is_none_or(|body| {
            children(body).filter(Node::is_named).all(|member| member.kind().ends_with("comment") || is_value(member))
        })
    };
    let (symbol, shape) = match &*kind {
        "struct" => (SymbolKind::Struct, Shape::Container),
        "enum" if is_plain() => (SymbolKind::Enum, Shape::Data),
        "enum" => (SymbolKind::Enum, Shape::Container),
        "extension" => (SymbolKind::Impl, Shape::Container),
        _ => (SymbolKind::Class, Shape::Container),
    };
    Some(Found { symbol, shape, name: range(node, "name")?, container: None })
}

/// `let` at the top of a file, and `static let`, are constants.
fn property(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let pattern = node.child_by_field_name("name")?;
    let name = range(pattern, "bound_identifier").unwrap_or(pattern.byte_range());
    let is_let = first_of(node, "value_binding_pattern").is_some_and(|it| source.bytes[it.byte_range()].starts_with(b"let"));
    let modifiers = first_of(node, "modifiers").map(|it| source.text(it.byte_range()));
    let is_static = modifiers.is_some_and(|it| it.split_whitespace().any(|word| word == "static"));
    // To ask for the parents of deep nodes is slow.
    let is_top = || source.depth() == 1 && node.parent().is_some_and(|parent| parent.kind() == "source_file");
    let is_constant = is_let && (is_static || is_top());
    let symbol = if is_constant { SymbolKind::Constant } else { SymbolKind::Variable };
    Some(Found { symbol, shape: Shape::Data, name, container: None })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn definitions_have_their_comments_and_attributes() {
        let text = r#"// Licence.
import Foundation
@testable import Shop

/// Most.
let limit = 10
public typealias Names = [String]

/// A shop.
@available(macOS 12, *)
public final class Shop<T: Item>: Base, Closeable {
  static let shared = Shop()
  /// How many.
  private(set) var count: Int = 0
  var isEmpty: Bool {
    return count == 0
  }

  public init(name: String) throws {
    self.name = name
    print("// no comment")
  }

  deinit { close() }

  /// Finds an item.
  @discardableResult
  public func find<K>(
    _ key: K,
    name: String = ""
  ) async throws -> T? where K: Hashable {
    // Inside.
    func local(x: Int) -> Int {
      let y = x
      return y
    }
    return nil
  }

  subscript(index: Int) -> T { items[index] }
  static func == (a: Shop, b: Shop) -> Bool { true }

  struct Inner {
    let x: Int
  }
}

enum Colour: String { case red, green = "g" }

indirect enum Shape {
  /// Round.
  case round(Double)
  case square
  func area() -> Double { 1 }
}

protocol Speaker: AnyObject {
  associatedtype Word
  var name: String { get }
  func speak(_ word: Word)
}

#if os(Linux)
extension Shop: Speaker where T: Item {
  func speak(_ word: String) {}
}
#endif

actor Counter {
  func add() {}
}

func top() -> Int {
  let y = 1
  return y
}
"#;
        check("swift", text, &expect![[r#"
            data 1-6 constant `limit` prose // Licence. | /// Most.
            definitions 7-7 type `Names`
            definitions 8-46 class `Shop` names Shop shared count isEmpty init deinit find local subscript == Inner x prose /// A shop. | /// How many. | /// Finds an item. | // Inside.
            data 47-48 enum `Colour` names Colour red green
            definitions 49-55 enum `Shape` names Shape round square area prose /// Round.
            definitions 56-61 trait `Speaker` names Speaker Word name speak
            definitions 62-66 impl `Shop` names Shop speak
            definitions 67-71 class `Counter` names Counter add
            definitions 72-76 function `top`
              6-6 constant `limit`: let limit = 10
              7-7 type `Names`: public typealias Names = [String]
              10-46 class `Shop`: public final class Shop<T: Item>: Base, Closeable
              12-12 constant `shared` in `Shop`: static let shared = Shop()
              19-22 method `init` in `Shop`: public init(name: String) throws
              24-24 method `deinit` in `Shop`: deinit
              27-38 method `find` in `Shop`: public func find<K>( _ key: K, name: String = "" ) async throws -> T? where K: Hashable
              33-36 function `local` in `Shop.find`: func local(x: Int) -> Int
              40-40 method `subscript` in `Shop`: subscript(index: Int) -> T { items[index] }
              41-41 method `==` in `Shop`: static func == (a: Shop, b: Shop) -> Bool
              43-45 struct `Inner` in `Shop`: struct Inner
              48-48 enum `Colour`: enum Colour: String
              50-55 enum `Shape`: indirect enum Shape
              54-54 method `area` in `Shape`: func area() -> Double
              57-61 trait `Speaker`: protocol Speaker: AnyObject
              58-58 type `Word` in `Speaker`: associatedtype Word
              60-60 method `speak` in `Speaker`: func speak(_ word: Word)
              64-66 impl `Shop`: extension Shop: Speaker where T: Item
              65-65 method `speak` in `Shop`: func speak(_ word: String)
              69-71 class `Counter`: actor Counter
              70-70 method `add` in `Counter`: func add()
              73-76 function `top`: func top() -> Int
            imports 2
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("swift", "class A {\n  func b() {\n    let x = \n    foo(\n  }\n\n  func c() -> Int {\n    let y = 1\n    return y\n  }\n}\n\nprotocol D {}\n", &expect![[r#"
            definitions 1-11 class `A` names A b c
            definitions 12-13 trait `D`
              1-11 class `A`: class A
              2-5 method `b` in `A`: func b()
              7-10 method `c` in `A`: func c() -> Int
              13-13 trait `D`: protocol D
        "#]]);
    }
}
