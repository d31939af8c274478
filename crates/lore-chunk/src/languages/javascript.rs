//! JavaScript, with JSX.

use lore_model::SymbolKind;
use tree_sitter::Node;

use crate::{
    engine::{Found, Role, Shape, Source, Spec, children, count_one, define, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "javascript",
    extensions: &["js", "mjs", "cjs", "jsx", "es6", "gs"],
    files: &["Jakefile"],
    programs: &["node", "nodejs", "deno", "bun"],
    method: Method::Tree(&SPEC),
    ..Row::LINES
};

// There are no markers, because no keyword says that something in an object is a method.
static SPEC: Spec = Spec { grammar: || tree_sitter_javascript::LANGUAGE.into(), rules: &[RULES], ..Spec::CODE };

/// TypeScript builds on these.
pub(crate) const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("html_comment", Role::Comment),
    ("hash_bang_line", Role::Lead),
    ("decorator", Role::Lead),
    ("import_statement", Role::Import(count_one)),
    ("call_expression", Role::Import(count_require)),
    ("export_statement", Role::Wrap),
    ("lexical_declaration", Role::Wrap),
    ("variable_declaration", Role::Wrap),
    ("expression_statement", Role::Wrap),
    ("function_declaration", define(SymbolKind::Function, Shape::Function)),
    ("generator_function_declaration", define(SymbolKind::Function, Shape::Function)),
    ("class_declaration", define(SymbolKind::Class, Shape::Container)),
    ("class_body", Role::Body),
    ("method_definition", define(SymbolKind::Function, Shape::Function)),
    ("field_definition", Role::Hook(class_field)),
    ("variable_declarator", Role::Hook(variable)),
    ("assignment_expression", Role::Hook(assignment)),
    ("pair", Role::Hook(pair)),
    ("function_expression", Role::Hook(expression)),
    ("generator_function", Role::Hook(expression)),
    ("string", Role::Ignore),
    ("regex", Role::Ignore),
];

fn count_require(source: &Source<'_>, node: Node<'_>) -> u32 {
    let called = node.child_by_field_name("function").filter(|called| called.kind() == "identifier");
    u32::from(called.is_some_and(|called| &source.bytes[called.byte_range()] == b"require"))
}

/// What a value is, if it is a function or a class: directly, or as what a call such as `memo(() => …)` is given.
fn callable(value: Option<Node<'_>>) -> Option<(SymbolKind, Shape)> {
    let direct = |kind: &str| match kind {
        "arrow_function" | "function_expression" | "generator_function" => Some((SymbolKind::Function, Shape::Function)),
        "class" => Some((SymbolKind::Class, Shape::Function)),
        _ => None,
    };
    let value = value?;
    direct(value.kind()).or_else(|| {
        let arguments = value.child_by_field_name("arguments").filter(|_| value.kind() == "call_expression")?;
        children(arguments).find_map(|argument| direct(argument.kind()))
    })
}

/// `const f = () => …`, or data.
fn variable(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = node.child_by_field_name("name").filter(|name| name.kind() == "identifier")?.byte_range();
    let value = node.child_by_field_name("value");
    if value.is_some_and(|value| value.kind() == "call_expression" && count_require(source, value) > 0) {
        return None;
    }
    let is_constant = !source.bytes[name.clone()].iter().any(u8::is_ascii_lowercase);
    let data = if is_constant { SymbolKind::Constant } else { SymbolKind::Variable };
    let (symbol, shape) = callable(value).unwrap_or((data, Shape::Data));
    Some(Found { symbol, shape, name, container: None })
}

/// `Type.prototype.name = function …`, `exports.name = …`.
fn assignment(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let (symbol, shape) = callable(node.child_by_field_name("right"))?;
    let left = node.child_by_field_name("left")?;
    if left.kind() != "member_expression" {
        return Some(Found { symbol, shape, name: left.byte_range(), container: None });
    }
    let mut object = left.child_by_field_name("object")?;
    if let Some(property) = object.child_by_field_name("property")
        && &source.bytes[property.byte_range()] == b"prototype"
    {
        object = object.child_by_field_name("object")?;
    }
    let is_module = matches!(&source.bytes[object.byte_range()], b"exports" | b"module" | b"module.exports" | b"this");
    let is_name = matches!(object.kind(), "identifier" | "member_expression") && !is_module;
    let container = is_name.then(|| object.byte_range());
    Some(Found { symbol, shape, name: range(left, "property")?, container })
}

/// A function with a name that is what a call is given: `on("x", function handle() { … })`.
fn expression(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = range(node, "name")?;
    Some(Found { symbol: SymbolKind::Function, shape: Shape::Function, name, container: None })
}

/// `name: function …` in an object.
fn pair(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let (symbol, shape) = callable(node.child_by_field_name("value"))?;
    Some(Found { symbol, shape, name: range(node, "key")?, container: None })
}

/// `name = () => …` in a class, or a field.
pub(crate) fn class_field(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = range(node, "property").or_else(|| range(node, "name"))?;
    let data = (SymbolKind::Variable, Shape::Data);
    let (symbol, shape) = callable(node.child_by_field_name("value")).unwrap_or(data);
    Some(Found { symbol, shape, name, container: None })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn functions_are_found_however_they_are_written() {
        let text = r#"'use strict';
// Imports.
import a from 'a';
const fs = require('fs');

const LIMIT = 10, other = { x: 1 };

/** Says hello. */
export async function hello(name) {
  // inside
  const local = () => {
    return name; // deep
  };
  return local();
}

export const arrow = async (a, b) => {
  await a;
  return b;
};

const Memo = memo(function Inner(props) {
  const x = 1;
  return <div>{/* shown */}</div>;
});

Foo.prototype.bar = function (x) {
  const y = x;
  return y;
};

exports.baz = () => {
  const y = 1;
  return y;
};

module.exports = {
  method(x) {
    const y = x;
    return y;
  },
  plain: function () {
    const y = 1;
    return y;
  },
};

export default class Shape extends Base {
  static count = 0;
  #secret = 1;
  handle = () => {
    this.x();
  };
  constructor() { super(); }
  get area() { return 1; }
}

describe('x', () => {
  it('works', () => {
    expect(1);
  });
});
"#;
        check("javascript", text, &expect![[r#"
            data 1-6 constant `LIMIT` names LIMIT other prose // Imports.
            definitions 7-15 function `hello` names hello local prose /** Says hello. */ | // inside | // deep
            definitions 16-20 function `arrow`
            definitions 21-25 function `Memo` names Memo Inner prose /* shown */
            definitions 26-30 method `bar` in `Foo`
            definitions 31-35 function `baz`
            definitions 36-46 names method plain
            definitions 47-62 class `Shape` names Shape count #secret handle constructor area
              6-6 constant `LIMIT`: const LIMIT = 10
              6-6 variable `other`: other = { x: 1 }
              9-15 function `hello`: export async function hello(name)
              11-13 function `local` in `hello`: const local = ()
              17-20 function `arrow`: export const arrow = async (a, b)
              22-25 function `Memo`: const Memo = memo(function Inner(props)
              22-25 function `Inner` in `Memo`: function Inner(props)
              27-30 method `bar` in `Foo`: Foo.prototype.bar = function (x)
              32-35 function `baz`: exports.baz = ()
              38-41 function `method`: method(x)
              42-45 function `plain`: plain: function ()
              48-56 class `Shape`: export default class Shape extends Base
              51-53 method `handle` in `Shape`: handle = ()
              54-54 method `constructor` in `Shape`: constructor()
              55-55 method `area` in `Shape`: get area()
            imports 2
        "#]]);
    }

    #[test]
    fn functions_in_a_large_wrapper_are_chunks() {
        let function = |name: &str| format!("  // About {name}.\n  function {name}() {{\n{}  }}\n\n", "    call();\n".repeat(30));
        let text = format!("(function () {{\n  var x = 1;\n\n{}{}{}  return x;\n}})();\n", function("a"), function("b"), function("c"));
        check("javascript", &text, &expect![[r#"
            definitions 1-36 function `a` prose // About a.
            definitions 37-70 function `b` prose // About b.
            definitions 71-107 function `c` prose // About c.
              5-36 function `a`: function a()
              39-70 function `b`: function b()
              73-104 function `c`: function c()
        "#]]);
    }

    #[test]
    fn functions_with_names_are_found_in_calls() {
        check("javascript", "app.init = function init() {\n  a();\n  b();\n};\n\ndefineGetter(req, 'secure', function secure() {\n  return this.x;\n});\n\non('x', function () {\n  a();\n  b();\n});\n", &expect![[r#"
            definitions 1-4 method `init` in `app`
            definitions 5-13 names secure
              1-4 method `init` in `app`: app.init = function init()
              6-8 function `secure`: function secure()
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("javascript", "function a( {\n  let x = ;\n}\n\nclass B {\n  c() {\n    return [\n  }\n}\n\nfunction d() {\n  let y = 1;\n  return y;\n}\n", &expect![[r#"
            definitions 1-9 function `c`
            definitions 10-14 function `d` names function d
              6-9 function `c`: c()
              11-11 variable `function`: function
              11-14 function `d`: function d()
        "#]]);
    }
}
