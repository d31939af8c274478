//! Java.

use lore_model::SymbolKind;
use tree_sitter::Node;

use crate::{
    engine::{At, Found, Role, Shape, Source, Spec, children, count_one, define, field, first_of, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row =
    Row { name: "java", extensions: &["java", "jav"], programs: &["java"], method: Method::Tree(&SPEC), ..Row::LINES };

static SPEC: Spec = Spec {
    grammar: || tree_sitter_java::LANGUAGE.into(),
    rules: &[RULES],
    markers: &["//", "/*", "class ", "record ", "enum ", "@Override"],
    ..Spec::CODE
};

const RULES: &[(&str, Role)] = &[
    ("line_comment", Role::Comment),
    ("block_comment", Role::Comment),
    ("package_declaration", Role::Package(At::Kinds(&["scoped_identifier", "identifier"]))),
    ("import_declaration", Role::Import(count_one)),
    ("module_declaration", define(SymbolKind::Module, Shape::Leaf)),
    ("class_declaration", define(SymbolKind::Class, Shape::Container)),
    ("interface_declaration", define(SymbolKind::Interface, Shape::Container)),
    ("annotation_type_declaration", define(SymbolKind::Interface, Shape::Container)),
    ("record_declaration", define(SymbolKind::Struct, Shape::Container)),
    ("enum_declaration", Role::Hook(enumeration)),
    ("class_body", Role::Body),
    ("interface_body", Role::Body),
    ("annotation_type_body", Role::Body),
    ("enum_body", Role::Body),
    ("enum_body_declarations", Role::Open),
    ("method_declaration", define(SymbolKind::Function, Shape::Function)),
    ("constructor_declaration", define(SymbolKind::Function, Shape::Function)),
    ("compact_constructor_declaration", define(SymbolKind::Function, Shape::Function)),
    ("annotation_type_element_declaration", define(SymbolKind::Function, Shape::Function)),
    ("enum_constant", field()),
    ("field_declaration", Role::Hook(variable)),
    ("constant_declaration", Role::Hook(variable)),
    ("string_literal", Role::Ignore),
];

/// An enumeration without methods is data.
fn enumeration(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let is_plain = node.child_by_field_name("body").is_none_or(|body| {
        children(body).all(|member| member.kind() != "enum_body_declarations" && member.child_by_field_name("body").is_none())
    });
    let shape = if is_plain { Shape::Data } else { Shape::Container };
    Some(Found { symbol: SymbolKind::Enum, shape, name: range(node, "name")?, container: None })
}

/// `static final` fields, and all of an interface's, are constants.
fn variable(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = range(node.child_by_field_name("declarator")?, "name")?;
    let modifiers = first_of(node, "modifiers");
    let is_fixed = modifiers.is_some_and(|it| first_of(it, "static").is_some() && first_of(it, "final").is_some());
    let is_constant = is_fixed || node.kind() == "constant_declaration";
    let symbol = if is_constant { SymbolKind::Constant } else { SymbolKind::Variable };
    Some(Found { symbol, shape: Shape::Data, name, container: None })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn definitions_have_their_comments_and_annotations() {
        let text = r#"/* Licence. */
package org.example.shop;

import java.util.*;
import static java.lang.Math.max;

/** A shop. */
@Service
@Table(name = "shops")
public final class Shop<T extends Item> extends Base implements Closeable {
  /** How many. */
  public static final int LIMIT = 10;
  private final List<T> items = new ArrayList<>(), other;

  static {
    load("// no comment");
  }

  /** Makes one. */
  public Shop(List<T> items) {
    this.items = items;
  }

  /**
   * Finds an item.
   *
   * @param name its name
   */
  @Override
  @Nullable
  public <K> T find(@NonNull String name, Map<K, T> map) throws NotFound {
    // Not found is ordinary.
    Comparator<T> c = new Comparator<>() {
      @Override
      public int compare(T a, T b) {
        return 0;
      }
    };
    return null;
  }

  @Override public void close() {}

  /** What it is. */
  enum Kind { SMALL, LARGE }

  static class Inner {
    class Deep {
      void run() { }
    }
  }
}

interface Item {
  String PREFIX = "item";
  String name();
  default int size() {
    return 1;
  }
}

/** A point. */
public record Point(int x, int y) {
  public Point {
    if (x < 0) throw new IllegalArgumentException();
  }
}

@interface Marker {
  String value() default "";
}

enum Planet {
  /** Nearest. */
  MERCURY(1),
  VENUS(2) { @Override int mass() { return 3; } };

  private final int mass;
  Planet(int mass) { this.mass = mass; }
  int mass() { return mass; }
}
"#;
        check("java", text, &expect![[r#"
            definitions 1-5 prose /* Licence. */
            definitions 6-13 class `Shop` names Shop LIMIT items prose /** A shop. */ | /** How many. */
            definitions 14-22 method `Shop` in `Shop` prose /** Makes one. */
            definitions 23-40 method `find` in `Shop` names find compare prose /** * Finds an item. *… | // Not found is ordinar…
            definitions 41-42 method `close` in `Shop`
            data 43-45 enum `Kind` in `Shop` names Kind SMALL LARGE prose /** What it is. */
            definitions 46-52 class `Inner` in `Shop` names Inner Deep run
            definitions 53-60 interface `Item` names Item PREFIX name size
            definitions 61-67 struct `Point` prose /** A point. */
            definitions 68-71 interface `Marker` names Marker value
            definitions 72-81 enum `Planet` names Planet MERCURY VENUS mass prose /** Nearest. */
              8-52 class `Shop`: public final class Shop<T extends Item> extends Base implements Closeable
              12-12 constant `LIMIT` in `Shop`: public static final int LIMIT = 10;
              20-22 method `Shop` in `Shop`: public Shop(List<T> items)
              29-40 method `find` in `Shop`: public <K> T find(@NonNull String name, Map<K, T> map) throws NotFound
              34-37 function `compare` in `Shop.find`: public int compare(T a, T b)
              42-42 method `close` in `Shop`: public void close()
              45-45 enum `Kind` in `Shop`: enum Kind
              47-51 class `Inner` in `Shop`: static class Inner
              48-50 class `Deep` in `Shop.Inner`: class Deep
              49-49 method `run` in `Shop.Inner.Deep`: void run()
              54-60 interface `Item`: interface Item
              55-55 constant `PREFIX` in `Item`: String PREFIX = "item";
              56-56 method `name` in `Item`: String name();
              57-59 method `size` in `Item`: default int size()
              63-67 struct `Point`: public record Point(int x, int y)
              64-66 method `Point` in `Point`: public Point
              69-71 interface `Marker`: @interface Marker
              70-70 method `value` in `Marker`: String value() default "";
              73-81 enum `Planet`: enum Planet
              79-79 method `Planet` in `Planet`: Planet(int mass)
              80-80 method `mass` in `Planet`: int mass()
            package org.example.shop
            imports 2
        "#]]);
    }

    #[test]
    fn a_large_class_is_cut_into_its_head_and_its_methods() {
        let method = |name: &str| format!("  /** About {name}. */\n  @Test\n  public void {name}() {{\n{}  }}\n\n", "    call();\n".repeat(12));
        let text = format!("package a;\n\nclass Large {{\n  int size;\n\n{}{}{}}}\n", method("one"), method("two"), method("three"));
        check("java", &text, &expect![[r#"
            definitions 1-4 class `Large` names Large size
            definitions 5-21 method `one` in `Large` prose /** About one. */
            definitions 22-38 method `two` in `Large` prose /** About two. */
            definitions 39-57 method `three` in `Large` prose /** About three. */
              3-57 class `Large`: class Large
              7-21 method `one` in `Large`: public void one()
              24-38 method `two` in `Large`: public void two()
              41-55 method `three` in `Large`: public void three()
            package a
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("java", "class A {\n  void b() {\n    int x = ;\n    foo(\n  }\n\n  int c() {\n    int y = 1;\n    return y;\n  }\n}\n\ninterface D {}\n", &expect![[r#"
            definitions 1-11 class `A` names A b
            definitions 12-13 interface `D`
              1-11 class `A`: class A
              2-10 method `b` in `A`: void b()
              13-13 interface `D`: interface D
        "#]]);
    }
}
