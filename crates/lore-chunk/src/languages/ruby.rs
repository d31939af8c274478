//! Ruby.

use lore_model::SymbolKind;
use tree_sitter::Node;

use crate::{
    engine::{At, Found, Role, Shape, Source, Spec, children, define, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "ruby",
    extensions: &["rb", "rake", "gemspec", "ru", "podspec", "jbuilder", "thor", "rbi", "rabl"],
    files: &[
        ".irbrc", ".pryrc", "Appraisals", "Berksfile", "Brewfile", "Capfile", "Dangerfile", "Fastfile", "Gemfile",
        "Guardfile", "Podfile", "Rakefile", "Thorfile", "Vagrantfile",
    ],
    programs: &["ruby", "jruby", "rake"],
    method: Method::Tree(&SPEC),
    ..Row::LINES
};

static SPEC: Spec = Spec {
    grammar: || tree_sitter_ruby::LANGUAGE.into(),
    rules: &[RULES],
    markers: &["#", "=begin", "def ", "class ", "module ", "define_method", "require"],
    separator: "::",
    ..Spec::CODE
};

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("identifier", Role::Import(count_require)),
    ("module", define(SymbolKind::Module, Shape::Scope)),
    ("class", define(SymbolKind::Class, Shape::Container)),
    ("singleton_class", Role::Open),
    ("self", Role::Ignore),
    ("body_statement", Role::Body),
    ("method", Role::Hook(method)),
    ("singleton_method", Role::Hook(method)),
    ("call", Role::Hook(call)),
    ("assignment", Role::Hook(assignment)),
    ("alias", Role::Field(At::Field("name"))),
    ("string", Role::Ignore),
    ("superclass", Role::Ignore),
];

/// `require "x"` is a call like any other.
fn count_require(source: &Source<'_>, node: Node<'_>) -> u32 {
    let is_require = matches!(&source.bytes[node.byte_range()], b"require" | b"require_relative");
    let is_called = || node.next_sibling().is_some_and(|next| next.kind() == "argument_list");
    u32::from(is_require && source.depth() <= DEEPEST && is_called())
}

/// To ask for what is around or beside deeper nodes is slow.
const DEEPEST: usize = 64;

/// A method belongs to the class or module around it, `def Other.name` to another one. What stands at the start of a
/// line is in neither.
fn method(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    if source.depth() <= DEEPEST && node.parent().is_some_and(|parent| parent.kind() == "argument_list") {
        return None;
    }
    definition(node)
}

fn definition(node: Node<'_>) -> Option<Found> {
    let symbol = if node.start_position().column == 0 { SymbolKind::Function } else { SymbolKind::Method };
    let of = node.child_by_field_name("object").filter(|object| object.kind() != "self");
    let container = of.map(|of| of.byte_range());
    Some(Found { symbol, shape: Shape::Function, name: range(node, "name")?, container })
}

/// Calls that define something: `private def …`, `attr_reader :x`, `define_method(:x) { … }`.
fn call(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let first = children(node.child_by_field_name("arguments")?).find(Node::is_named)?;
    if matches!(first.kind(), "method" | "singleton_method") {
        return definition(first);
    }
    let symbol = Some(first).filter(|first| first.kind() == "simple_symbol")?.byte_range();
    let name = symbol.start + 1..symbol.end;
    match &source.bytes[range(node, "method")?] {
        b"attr_reader" | b"attr_writer" | b"attr_accessor" | b"attr" | b"cattr_accessor" | b"mattr_accessor"
        | b"class_attribute" => {
            Some(Found { symbol: SymbolKind::Variable, shape: Shape::Data, name, container: None })
        }
        b"define_method" => Some(Found { symbol: SymbolKind::Method, shape: Shape::Function, name, container: None }),
        _ => None,
    }
}

/// A constant is data, or a class: `Point = Struct.new(:x) do … end`.
fn assignment(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let left = node.child_by_field_name("left").filter(|left| matches!(left.kind(), "constant" | "scope_resolution"))?;
    let right = node.child_by_field_name("right").filter(|right| right.kind() == "call");
    let made_by = right.and_then(|call| range(call, "receiver")).map(|of| &source.bytes[of]);
    let (symbol, shape) = match made_by {
        Some(b"Class" | b"Struct" | b"Data") => (SymbolKind::Class, Shape::Function),
        Some(b"Module") => (SymbolKind::Module, Shape::Function),
        _ => (SymbolKind::Constant, Shape::Data),
    };
    Some(Found { symbol, shape, name: left.byte_range(), container: None })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn definitions_have_their_comments() {
        let text = r#"# frozen_string_literal: true

require "set"
require_relative "other"

LIMIT = 10

# A shop.
module Shop
  # Sells things.
  class Seller < Base::Person
    include Comparable
    NAMES = %w[a b].freeze
    attr_reader :name, :age

    class << self
      # Finds one.
      def find(id)
        new(id)
      end
    end

    # Makes one.
    #
    # @param name [String]
    def initialize(name)
      @name = name # kept
    end

    def self.build; end

    def ==(other) = other.name == name

    private def secret(a,
                       b)
      a + b
    end

    define_method(:late) do |x|
      x
    end
  end

  Point = Struct.new(:x, :y) do
    def length
      x + y
    end
  end
end

class Shop::Error < StandardError; end

def helper(x)
  y = x
  y + 1
end
"#;
        check("ruby", text, &expect![[r#"
            definitions 1-4 prose # frozen_string_literal…
            data 5-6 constant `LIMIT`
            definitions 7-42 class `Seller` in `Shop` names Shop Seller NAMES name find initialize build == secret late prose # A shop. | # Sells things. | # Finds one. | # Makes one. # # @param… | # kept
            definitions 43-49 class `Point` in `Shop` names Point length
            definitions 50-51 class `Shop::Error`
            definitions 52-56 function `helper`
              6-6 constant `LIMIT`: LIMIT = 10
              9-49 module `Shop`: module Shop
              11-42 class `Seller` in `Shop`: class Seller < Base::Person
              13-13 constant `NAMES` in `Shop::Seller`: NAMES = %w[a b].freeze
              18-20 method `find` in `Shop::Seller`: def find(id)
              26-28 method `initialize` in `Shop::Seller`: def initialize(name)
              30-30 method `build` in `Shop::Seller`: def self.build; end
              32-32 method `==` in `Shop::Seller`: def ==(other)
              34-37 method `secret` in `Shop::Seller`: private def secret(a,
              39-41 method `late` in `Shop::Seller`: define_method(:late) do |x|
              44-48 class `Point` in `Shop`: Point = Struct.new(:x, :y) do
              45-47 method `length` in `Shop::Point`: def length
              51-51 class `Shop::Error`: class Shop::Error < StandardError; end
              53-56 function `helper`: def helper(x)
            imports 2
        "#]]);
    }

    #[test]
    fn a_large_class_is_cut_into_its_head_and_its_methods() {
        let method = |name: &str| format!("    # About {name}.\n    def {name}\n{}    end\n\n", "      x = 1\n".repeat(20));
        let text = format!("module Outer\n  # Docs.\n  class Large < Base\n    LIMIT = 1\n    attr_accessor :size\n\n{}{}  end\nend\n", method("a"), method("b?"));
        check("ruby", &text, &expect![[r#"
            definitions 1-5 class `Large` in `Outer` names Outer Large LIMIT size prose # Docs.
            definitions 6-29 method `a` in `Outer::Large` prose # About a.
            definitions 30-56 method `b?` in `Outer::Large` prose # About b?.
              1-56 module `Outer`: module Outer
              3-55 class `Large` in `Outer`: class Large < Base
              4-4 constant `LIMIT` in `Outer::Large`: LIMIT = 1
              8-29 method `a` in `Outer::Large`: def a
              32-53 method `b?` in `Outer::Large`: def b?
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("ruby", "class A\n  def b\n    x = [1,\n  end\n\n  def c\n    1\n    2\n  end\nend\n", &expect![[r#"
            definitions 1-10 method `c`
              6-9 method `c`: def c
        "#]]);
    }
}
