//! SQL: what is created has a name.
//!
//! Dialects differ more than one grammar can know, and procedures are in none of it. What is created by a statement that
//! the grammar does not understand is found by its line; how the text is cut is left to the grammar.

use lore_model::{ChunkKind, SymbolKind};
use tree_sitter::Node;

use crate::{
    Chunker, Language, Symbol,
    encoding::one_line,
    engine::{At, Found, Outline, Role, Shape, Source, Spec, cut_lines, field, first_of, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "sql",
    extensions: &["sql", "ddl", "psql", "pgsql", "plsql", "mysql", "tsql"],
    method: Method::Own(outline),
    ..Row::LINES
};

/// The grammar's part of the work.
static TREE: Row = Row { name: "sql", method: Method::Tree(&SPEC), ..Row::LINES };

static SPEC: Spec = Spec { grammar: || tree_sitter_sequel::LANGUAGE.into(), rules: &[RULES], ..Spec::CODE };

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("marginalia", Role::Comment),
    ("statement", Role::Wrap),
    ("transaction", Role::Open),
    ("create_table", Role::Hook(table)),
    ("create_view", Role::Hook(leaf)),
    ("create_materialized_view", Role::Hook(leaf)),
    ("create_type", Role::Hook(leaf)),
    ("create_trigger", Role::Hook(leaf)),
    ("create_function", Role::Hook(function)),
    ("create_index", Role::Define(SymbolKind::Section, Shape::Data, At::Field("column"))),
    ("create_sequence", Role::Hook(data)),
    ("create_schema", Role::Define(SymbolKind::Section, Shape::Data, At::Kind("identifier"))),
    ("create_database", Role::Define(SymbolKind::Section, Shape::Data, At::Kind("identifier"))),
    ("create_role", Role::Define(SymbolKind::Section, Shape::Data, At::Kind("identifier"))),
    ("create_extension", Role::Define(SymbolKind::Section, Shape::Data, At::Kind("identifier"))),
    ("column_definitions", Role::Body),
    ("column_definition", field()),
];

/// The first name in a statement, without its schema.
fn named(node: Node<'_>, symbol: SymbolKind, shape: Shape) -> Option<Found> {
    Some(Found { symbol, shape, name: range(first_of(node, "object_reference")?, "name")?, container: None })
}

fn table(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    named(node, SymbolKind::Struct, Shape::Container)
}

fn leaf(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    named(node, SymbolKind::Type, Shape::Leaf)
}

fn function(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    named(node, SymbolKind::Function, Shape::Function)
}

fn data(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    named(node, SymbolKind::Section, Shape::Data)
}

#[expect(clippy::unnecessary_wraps, reason = "other languages leave files to lines")]
fn outline(chunker: &mut Chunker, source: &Source<'_>) -> Option<Outline> {
    let whole = 0..source.bytes.len();
    let mut outline = chunker.tree(Language(&TREE), source, whole.clone()).unwrap_or_else(|| Outline {
        drafts: cut_lines(source.bytes, whole, ChunkKind::Definitions),
        ..Outline::default()
    });
    outline.symbols.sort_by_key(|symbol| symbol.first_line);
    outline.prose.sort_by_key(|comment| comment.start);
    let mut known = std::mem::take(&mut outline.symbols).into_iter().peekable();
    let mut line = 0;
    while line < source.line_count() {
        let number = u32::try_from(line + 1).unwrap_or(u32::MAX);
        if let Some(symbol) = known.next_if(|symbol| symbol.first_line <= number) {
            // Statements inside of a function create nothing until it is called.
            line = line.max(symbol.last_line as usize);
            outline.symbols.push(symbol);
        } else if let Some(symbol) = created(source, line) {
            let start = source.line_start(line);
            line = symbol.last_line as usize;
            let comment = outline.prose.partition_point(|comment| comment.end <= start);
            if outline.prose.get(comment).is_none_or(|comment| comment.start > start) {
                outline.names.push((start, symbol.name.clone()));
                outline.symbols.push(symbol);
            }
        } else {
            line += 1;
        }
    }
    outline.symbols.extend(known);
    Some(outline)
}

/// What a line that begins with `CREATE` creates.
fn created(source: &Source<'_>, line: usize) -> Option<Symbol> {
    let bytes = source.line(line);
    bytes.get(..6).filter(|word| word.eq_ignore_ascii_case(b"create"))?;
    let text = source.encoding.decode(bytes);
    let mut words = text.split(|c: char| c.is_whitespace() || c == '(').filter(|word| !word.is_empty());
    let kind = words.by_ref().take(8).find_map(|word| match word.to_ascii_lowercase().as_str() {
        "table" => Some(SymbolKind::Struct),
        "view" | "type" | "domain" | "trigger" => Some(SymbolKind::Type),
        "function" | "procedure" | "proc" | "package" => Some(SymbolKind::Function),
        "index" | "sequence" | "schema" | "database" => Some(SymbolKind::Section),
        _ => None,
    })?;
    let is_filler = |word: &&str| ["if", "not", "exists", "concurrently", "body"].iter().any(|it| word.eq_ignore_ascii_case(it));
    let path = words.find(|word| !is_filler(word))?;
    let name = path.rsplit('.').next()?.trim_matches(['"', '`', '[', ']', ';', '\'']);
    if name.is_empty() || name.eq_ignore_ascii_case("on") {
        return None;
    }
    Some(Symbol {
        name: one_line(name, 120),
        kind,
        container: None,
        first_line: u32::try_from(line + 1).unwrap_or(u32::MAX),
        last_line: u32::try_from(last_line(source, line, kind) + 1).unwrap_or(u32::MAX),
        signature: one_line(text.trim_end_matches([' ', '(', ';']), 200),
    })
}

/// Where a statement ends: at a semicolon, for functions at an `END` that is not indented, and before the next one.
fn last_line(source: &Source<'_>, first: usize, kind: SymbolKind) -> usize {
    let begins = |line: &[u8], word: &[u8]| line.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    for number in first..source.line_count() {
        let line = source.line(number);
        let is_end = if kind == SymbolKind::Function { begins(line, b"end") } else { line.ends_with(b";") };
        if is_end {
            return number;
        }
        let is_next = [&b"create"[..], b"go", b"delimiter", b"alter", b"drop", b"grant", b"insert"];
        if number > first && is_next.iter().any(|word| begins(line, word)) {
            let text = (first..number).rev().find(|before| !source.line(*before).is_empty());
            return text.unwrap_or(first);
        }
    }
    source.line_count() - 1
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn what_is_created_has_its_comments() {
        let text = r#"-- The schema.
BEGIN;

-- Who may log in.
CREATE TABLE IF NOT EXISTS public.users (
  id INT PRIMARY KEY, -- the key
  name TEXT NOT NULL
);
CREATE UNIQUE INDEX idx_users ON users (name);

/* All of them. */
CREATE OR REPLACE VIEW everybody AS
SELECT *
FROM users
WHERE id > 0;

CREATE FUNCTION add_one(a int) RETURNS int AS $$
BEGIN
  -- inside
  RETURN a + 1;
END;
$$ LANGUAGE plpgsql;

CREATE TYPE mood AS ENUM ('a', 'b');

INSERT INTO users VALUES (1, 'x');
SELECT 1;
"#;
        check("sql", text, &expect![[r#"
            definitions 1-8 struct `users` names users id name prose -- The schema. | -- Who may log in. | -- the key
            data 9-9 section `idx_users`
            definitions 10-15 type `everybody` prose /* All of them. */
            definitions 16-22 function `add_one` prose -- inside
            definitions 23-27 type `mood`
              5-8 struct `users`: CREATE TABLE IF NOT EXISTS public.users
              9-9 section `idx_users`: CREATE UNIQUE INDEX idx_users ON users (name)
              12-15 type `everybody`: CREATE OR REPLACE VIEW everybody AS SELECT * FROM users WHERE id > 0
              17-22 function `add_one`: CREATE FUNCTION add_one(a int) RETURNS int
              24-24 type `mood`: CREATE TYPE mood AS ENUM ('a', 'b')
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("sql", "CREATE PROCEDURE p() MAGIC;\n\nCREATE TABLE b (\n  c INT,\n  d INT\n);\n", &expect![[r#"
            definitions 1-1 names p
            definitions 2-6 struct `b` names b c d
              1-1 function `p`: CREATE PROCEDURE p() MAGIC
              3-6 struct `b`: CREATE TABLE b
        "#]]);
        check("sql", "DELIMITER //\nCREATE PROCEDURE `app`.`pay` (IN a INT)\nBEGIN\n  CREATE TEMPORARY TABLE x (y INT);\n  UPDATE z SET q = a;\nEND //\nDELIMITER ;\n/*\nCREATE TABLE no (a int);\n*/\nCREATE VIEW [dbo].[v] AS\nSELECT 1;\nGO\nCREATE PROC dbo.sell @a INT AS\nBEGIN\n  SELECT @a\nEND\nGO\n", &expect![[r#"
            definitions 1-7 names pay
            definitions 8-12 type `v` prose /* CREATE TABLE no (a i…
            definitions 13-18 names sell
              2-6 function `pay`: CREATE PROCEDURE `app`.`pay` (IN a INT)
              11-12 type `v`: CREATE VIEW [dbo].[v] AS SELECT 1
              14-17 function `sell`: CREATE PROC dbo.sell @a INT AS
        "#]]);
        check("sql", "this is no SQL\n", &expect![[r#"
            definitions 1-1
        "#]]);
    }
}
