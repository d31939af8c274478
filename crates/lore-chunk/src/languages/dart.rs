//! Dart.

use std::ops::Range;

use lore_model::SymbolKind;
use tree_sitter::Node;

use crate::{
    engine::{At, Found, Role, Shape, Source, Spec, children, count_one, define, field, first_of, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row =
    Row { name: "dart", extensions: &["dart"], programs: &["dart"], method: Method::Tree(&SPEC), ..Row::LINES };

// There are no markers, because no keyword says that a function is local.
static SPEC: Spec = Spec { grammar: || tree_sitter_dart::LANGUAGE.into(), rules: &[RULES], ..Spec::CODE };

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("documentation_comment", Role::Comment),
    ("annotation", Role::Lead),
    ("library_name", Role::Package(At::Kind("dotted_identifier_list"))),
    ("import_or_export", Role::Import(count_one)),
    ("part_directive", Role::Import(count_one)),
    ("part_of_directive", Role::Import(count_one)),
    ("class_declaration", Role::Hook(class)),
    ("mixin_declaration", define(SymbolKind::Trait, Shape::Container)),
    ("extension_declaration", Role::Hook(class)),
    ("extension_type_declaration", Role::Hook(class)),
    ("enum_declaration", Role::Hook(enumeration)),
    ("class_body", Role::Body),
    ("extension_body", Role::Body),
    ("enum_body", Role::Body),
    ("enum_entry", field()),
    ("member_declaration", Role::Wrap),
    ("declaration", Role::Hook(declaration)),
    ("method_declaration", Role::Hook(function)),
    ("function_declaration", Role::Hook(function)),
    ("getter_declaration", Role::Hook(function)),
    ("setter_declaration", Role::Hook(function)),
    ("external_function_declaration", Role::Hook(function)),
    ("external_getter_declaration", Role::Hook(function)),
    ("external_setter_declaration", Role::Hook(function)),
    ("local_function_declaration", Role::Hook(function)),
    ("top_level_variable_declaration", Role::Hook(variable)),
    ("type_alias", Role::Define(SymbolKind::Type, Shape::Leaf, At::Kind("type_identifier"))),
    ("string_literal", Role::Ignore),
];

/// Classes, extensions and extension types; an extension without a name has that of its type.
fn class(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let named = node.child_by_field_name("name").or_else(|| node.child_by_field_name("class"));
    let mixed = || first_of(first_of(node, "mixin_application_class")?, "identifier");
    let name = named.or_else(mixed)?;
    let name = if name.kind() == "extension_type_name" { first_of(name, "identifier")? } else { name }.byte_range();
    let symbol = if node.kind() == "extension_declaration" { SymbolKind::Impl } else { SymbolKind::Class };
    Some(Found { symbol, shape: Shape::Container, name, container: None })
}

/// An enumeration without members is data.
fn enumeration(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let has_members = node.child_by_field_name("body").is_some_and(|body| first_of(body, "member_declaration").is_some());
    let shape = if has_members { Shape::Container } else { Shape::Data };
    Some(Found { symbol: SymbolKind::Enum, shape, name: range(node, "name")?, container: None })
}

/// The name in a signature: `name`, `Type.name`, `operator ==`.
fn signature_name(node: Node<'_>) -> Option<Range<usize>> {
    if let Some(operator) = node.child_by_field_name("operator") {
        let start = first_of(node, "operator").map_or(operator.start_byte(), |it| it.start_byte());
        return Some(start..operator.end_byte());
    }
    let mut cursor = node.walk();
    let names: Vec<Node<'_>> = node.children_by_field_name("name", &mut cursor).collect();
    Some(names.first()?.start_byte()..names.last()?.end_byte())
}

/// A function of any kind: its name is in its signature, or in the signature in that.
fn function(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let signature = children(node).find(|child| child.kind().ends_with("_signature"))?;
    let inner = || children(signature).find(|child| child.kind().ends_with("_signature")).and_then(signature_name);
    let name = signature_name(signature).or_else(inner)?;
    Some(Found { symbol: SymbolKind::Function, shape: Shape::Function, name, container: None })
}

/// A member without a body: a constructor, an abstract method, or fields.
fn declaration(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    function(source, node).or_else(|| variable(source, node))
}

/// `const` and `static final` are constants, and `final` at the top of a file.
fn variable(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let list = children(node).find(|child| child.kind().ends_with("_list"))?;
    let first = children(list).find(Node::is_named)?;
    let name = range(first, "name").unwrap_or(first.byte_range());
    let has = |kind| first_of(node, kind).is_some();
    let is_top = node.kind() == "top_level_variable_declaration";
    let is_constant = has("const") || (has("final") && (is_top || has("static")));
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
library shop.core;

import 'dart:io';
export 'src/item.dart' show Item;
part 'shop.g.dart';

/// Most.
const limit = 10;
final String name = 'shop';
int counter = 0;
typedef Compare<T> = int Function(T a, T b);

/// A shop.
@immutable
abstract class Shop<T extends Item> extends Base with Mixed implements Closeable {
  /// How many.
  final int count, other;
  static const most = 3;

  const Shop(this.count, {required this.other});

  /// Opens one.
  Shop.open(String path)
      : count = 1,
        other = 2 {
    load('// no comment');
  }

  factory Shop.fromJson(Map<String, dynamic> json) => Shop(1);

  int get size => count;
  set size(int value) {
    count = value;
  }

  /// Finds an item.
  @override
  Future<T?> find<K>(K key, {String name = ''}) async {
    // Inside.
    int local(int x) {
      final y = x;
      return y;
    }
    return null;
  }

  bool operator ==(Object other) => true;
  void close();
}

mixin Mixed on Base {
  void mix() {}
}

extension Shouting on String {
  String shout() => toUpperCase();
}

enum Colour { red, green }

enum Planet {
  /// Nearest.
  mercury(1),
  venus(2);

  const Planet(this.mass);
  final int mass;
}

void main(List<String> args) {
  print(args);
  print(limit);
}
"#;
        check("dart", text, &expect![[r#"
            definitions 1-6 prose // Licence.
            data 7-11 names limit name counter prose /// Most.
            definitions 12-12 type `Compare`
            definitions 13-50 class `Shop` names Shop count most Shop.open Shop.fromJson size find local operator == close prose /// A shop. | /// How many. | /// Opens one. | /// Finds an item. | // Inside.
            definitions 51-58 names Mixed mix Shouting shout
            data 59-60 enum `Colour` names Colour red green
            definitions 61-69 enum `Planet` names Planet mercury venus mass prose /// Nearest.
            definitions 70-74 function `main`
              9-9 constant `limit`: const limit = 10;
              10-10 constant `name`: final String name = 'shop';
              11-11 variable `counter`: int counter = 0;
              12-12 type `Compare`: typedef Compare<T> = int Function(T a, T b);
              15-50 class `Shop`: abstract class Shop<T extends Item> extends Base with Mixed implements Closeable
              19-19 constant `most` in `Shop`: static const most = 3
              21-21 method `Shop` in `Shop`: const Shop(this.count, {required this.other})
              24-28 method `Shop.open` in `Shop`: Shop.open(String path) : count = 1, other = 2
              30-30 method `Shop.fromJson` in `Shop`: factory Shop.fromJson(Map<String, dynamic> json)
              32-32 method `size` in `Shop`: int get size
              33-35 method `size` in `Shop`: set size(int value)
              38-46 method `find` in `Shop`: Future<T?> find<K>(K key, {String name = ''})
              41-44 function `local` in `Shop.find`: int local(int x)
              48-48 method `operator ==` in `Shop`: bool operator ==(Object other)
              49-49 method `close` in `Shop`: void close()
              52-54 trait `Mixed`: mixin Mixed on Base
              53-53 method `mix` in `Mixed`: void mix()
              56-58 impl `Shouting`: extension Shouting on String
              57-57 method `shout` in `Shouting`: String shout()
              60-60 enum `Colour`: enum Colour
              62-69 enum `Planet`: enum Planet
              67-67 method `Planet` in `Planet`: const Planet(this.mass)
              71-74 function `main`: void main(List<String> args)
            package shop.core
            imports 3
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("dart", "class A {\n  void b() {\n    var x = ;\n    foo(\n  }\n\n  int c() {\n    var y = 1;\n    return y;\n  }\n}\n\nmixin D {}\n", &expect![[r#"
            definitions 1-11 class `A` names A b c
            definitions 12-13 trait `D`
              1-11 class `A`: class A
              2-5 method `b` in `A`: void b()
              7-10 method `c` in `A`: int c()
              13-13 trait `D`: mixin D
        "#]]);
    }
}
