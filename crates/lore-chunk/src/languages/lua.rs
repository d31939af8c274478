//! Lua.

use lore_model::SymbolKind;
use tree_sitter::Node;

use crate::{
    engine::{Found, Role, Shape, Source, Spec, children, first_of, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "lua",
    extensions: &["lua", "luau", "rockspec", "nse"],
    files: &[".luacheckrc", ".busted"],
    programs: &["lua", "luajit", "texlua"],
    method: Method::Tree(&SPEC),
    ..Row::LINES
};

static SPEC: Spec = Spec {
    grammar: || tree_sitter_lua::LANGUAGE.into(),
    rules: &[RULES],
    markers: &["--", "function", "require"],
    // Where anything may follow, the scanner looks for the end of a long string.
    cost_of_errors: |bytes| 1 + bytes / 250,
    ..Spec::CODE
};

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("hash_bang_line", Role::Lead),
    ("function_call", Role::Import(count_require)),
    ("function_declaration", Role::Hook(function)),
    ("variable_declaration", Role::Wrap),
    ("variable_list", Role::Ignore),
    ("assignment_statement", Role::Hook(assignment)),
    ("field", Role::Hook(table_field)),
    ("string", Role::Ignore),
];

fn count_require(source: &Source<'_>, node: Node<'_>) -> u32 {
    u32::from(range(node, "name").is_some_and(|name| &source.bytes[name] == b"require"))
}

/// A definition of `f`, `M.f` or `M:f`.
fn named(name: Node<'_>, symbol: SymbolKind, shape: Shape) -> Option<Found> {
    let (name, container) = match name.kind() {
        "identifier" => (name.byte_range(), None),
        "dot_index_expression" => (range(name, "field")?, range(name, "table")),
        "method_index_expression" => (range(name, "method")?, range(name, "table")),
        _ => return None,
    };
    Some(Found { symbol, shape, name, container })
}

fn function(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    named(node.child_by_field_name("name")?, SymbolKind::Function, Shape::Function)
}

/// `M.f = function …`, or data. What is required is an import.
fn assignment(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = first_of(node, "variable_list")?.child_by_field_name("name")?;
    let value = first_of(node, "expression_list").and_then(|values| children(values).find(Node::is_named));
    match value {
        Some(value) if value.kind() == "function_definition" => named(name, SymbolKind::Function, Shape::Function),
        Some(value) if value.kind() == "function_call" && count_require(source, value) > 0 => None,
        _ => {
            // `M` is what modules are called.
            let text = &source.bytes[name.byte_range()];
            let is_constant = text.len() > 1 && !text.iter().any(u8::is_ascii_lowercase);
            let symbol = if is_constant { SymbolKind::Constant } else { SymbolKind::Variable };
            named(name, symbol, Shape::Data)
        }
    }
}

/// Functions in tables.
fn table_field(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    node.child_by_field_name("value").filter(|value| value.kind() == "function_definition")?;
    named(node.child_by_field_name("name")?, SymbolKind::Function, Shape::Function)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn functions_have_their_comments() {
        let text = r#"#!/usr/bin/lua
-- A module.
local other = require "other"
local M = {}
local LIMIT, x = 1, 2

--- Says hello.
-- @param name who
function M.hello(name)
  -- inside
  return name
end

function M:greet() end
function M.a.b.deep() end

local function helper(x)
  local function inner()
    return x
  end
  return inner
end

--[[ Later. ]]
M.late = function(a)
  return a
end

return {
  run = function()
    return 1
  end,
}
"#;
        check("lua", text, &expect![[r#"
            data 1-5 names M LIMIT prose -- A module.
            definitions 6-12 method `hello` in `M` prose --- Says hello. -- @par… | -- inside
            definitions 13-15 names greet deep
            definitions 16-22 function `helper` names helper inner
            definitions 23-27 method `late` in `M` prose --[[ Later. ]]
            definitions 28-33 names run
              4-4 variable `M`: local M = {}
              5-5 constant `LIMIT`: local LIMIT, x = 1, 2
              9-12 method `hello` in `M`: function M.hello(name) -- inside
              14-14 method `greet` in `M`: function M:greet() end
              15-15 method `deep` in `M.a.b`: function M.a.b.deep() end
              17-22 function `helper`: local function helper(x)
              18-20 function `inner` in `helper`: local function inner()
              25-27 method `late` in `M`: M.late = function(a)
              30-32 function `run`: run = function()
            imports 1
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("lua", "function a()\n  local x = {\nend\n\nfunction b()\n  return 1\n  + 2\nend\n", &expect![[r#"
            definitions 1-8 function `a`
              1-8 function `a`: function a()
        "#]]);
    }
}
