//! Server entries in TOML, edited at the positions that `toml_edit` gives.
//!
//! A statement of TOML begins and ends a line, so an edit adds or removes whole lines. Printing the document of `toml_edit`
//! after an edit would be shorter, but it changes other lines: it turns CRLF into LF, gathers dotted keys that others stand
//! between, and drops the comments above a removed table.

use std::ops::Range;

use serde_json::Value as Json;
use toml_edit::{Array, Document, InlineTable, Item, Key, Table, TomlError, Value};

use super::{
    document::{Problem, Server},
    text::{line_end, line_start, newline},
};

/// Lists the servers under the table `container`.
pub(super) fn servers(text: &str, container: &str) -> Result<Option<Vec<Server>>, Problem> {
    let document = parse(text)?;
    let Some(item) = document.get(container) else { return Ok(None) };
    let list = item.as_table_like().ok_or_else(|| not_a_table(text, item, container))?;
    let raw = |item: &Item| Some(text.get(item.as_value()?.span()?)?.to_owned());
    let servers = list.iter().map(|(name, entry)| Server {
        name: name.to_owned(),
        value: json(entry),
        raw: entry.as_table_like().map_or_else(Vec::new, |fields| {
            fields.iter().filter_map(|(key, item)| Some((key.to_owned(), raw(item)?))).collect()
        }),
    });
    Ok(Some(servers.collect()))
}

/// Adds a server: a table at the end, or a key of the inline table that holds the servers.
pub(super) fn add(text: &str, container: &str, name: &str, fields: &[(&str, Json)]) -> Result<String, Problem> {
    let fields: Vec<String> = fields.iter().map(|(key, value)| statement(key, &render(value))).collect();
    match parse(text)?.get(container) {
        Some(Item::Value(Value::InlineTable(list))) => {
            put_inline(text, list, &statement(name, &format!("{{ {} }}", fields.join(", "))))
        }
        Some(item) if !item.is_table() => Err(not_a_table(text, item, container)),
        _ => Ok(append_table(text, container, name, &fields)),
    }
}

/// A value in TOML.
pub(super) fn render(value: &Json) -> String {
    match value {
        Json::Array(items) => items.iter().filter_map(Json::as_str).collect::<Array>().to_string(),
        Json::String(text) => Value::from(text.as_str()).to_string(),
        other => other.to_string(),
    }
}

/// Sets a field of a server to a value in source form; `None` removes the field.
pub(super) fn set(text: &str, container: &str, name: &str, key: &str, raw: Option<&str>) -> Result<String, Problem> {
    let document = parse(text)?;
    let entry = document.get(container).and_then(Item::as_table_like).and_then(|list| list.get(name));
    let entry = entry.ok_or_else(|| Problem::at(text, text.len(), format!("there is no server `{name}`")))?;
    let Some(raw) = raw else { return cut(text, entry, key) };
    let fields = entry.as_table_like().ok_or_else(|| not_a_table(text, entry, name))?;
    match (fields.get(key), entry) {
        (Some(Item::Value(value)), _) => Ok(splice(text, value.span().ok_or_else(|| unplaced(text))?, raw)),
        (Some(other), _) => Err(Problem::at(text, start(other), format!("`{key}` is not a simple value"))),
        (None, Item::Value(Value::InlineTable(fields))) => put_inline(text, fields, &statement(key, raw)),
        (None, Item::Table(fields)) if fields.is_implicit() && !fields.is_dotted() => {
            Ok(append_table(text, container, name, &[statement(key, raw)]))
        }
        (None, Item::Table(fields)) => put_line(text, fields, &statement(key, raw)),
        (None, other) => Err(not_a_table(text, other, name)),
    }
}

/// Removes a server with its sub-tables.
pub(super) fn remove(text: &str, container: &str, name: &str) -> Result<String, Problem> {
    parse(text)?.get(container).map_or_else(|| Ok(text.to_owned()), |list| cut(text, list, name))
}

fn parse(text: &str) -> Result<Document<&str>, Problem> {
    Document::parse(text).map_err(|error: TomlError| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        Problem::at(text, at, error.message().trim().replace('\n', ", "))
    })
}

fn start(item: &Item) -> usize {
    item.span().map_or(0, |span| span.start)
}

fn not_a_table(text: &str, item: &Item, name: &str) -> Problem {
    Problem::at(text, start(item), format!("`{name}` is not a table"))
}

fn unplaced(text: &str) -> Problem {
    Problem::at(text, 0, "the server is written in a way Lore cannot change")
}

fn splice(text: &str, range: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..range.start], &text[range.end..])
}

fn statement(key: &str, raw: &str) -> String {
    format!("{} = {raw}", Key::new(key))
}

/// Adds a table at the end of the file, behind a blank line.
fn append_table(text: &str, container: &str, name: &str, statements: &[String]) -> String {
    let newline = newline(text);
    let mut out = text.to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(newline);
    }
    if !(out.trim().is_empty() || out.ends_with("\n\n") || out.ends_with("\n\r\n")) {
        out.push_str(newline);
    }
    out + &format!("[{container}.{}]{newline}{}{newline}", Key::new(name), statements.join(newline))
}

/// Adds a line to a table, behind its last one and with the same start.
fn put_line(text: &str, table: &Table, statement: &str) -> Result<String, Problem> {
    let own = table.iter().filter(|(_, item)| item.is_value());
    let own = own.filter_map(|(key, item)| Some(table.key(key)?.span()?.start..item.span()?.end));
    let (prefix, at) = match (own.max_by_key(|statement| statement.end), table.span()) {
        (Some(last), _) => (&text[line_start(text, last.start)..last.start], last.end),
        (None, Some(header)) => ("", header.end),
        (None, None) => return Err(unplaced(text)),
    };
    let at = line_end(text, at);
    let before = if text[..at].ends_with('\n') { "" } else { newline(text) };
    Ok(splice(text, at..at, &format!("{before}{prefix}{statement}{}", newline(text))))
}

/// Adds a key to an inline table.
fn put_inline(text: &str, table: &InlineTable, statement: &str) -> Result<String, Problem> {
    let span = table.span().ok_or_else(|| unplaced(text))?;
    Ok(match table.iter().filter_map(|(_, value)| value.span()).map(|span| span.end).max() {
        Some(last) => splice(text, last..last, &format!(", {statement}")),
        None => splice(text, span.start + 1..span.end - 1, &format!(" {statement} ")),
    })
}

/// Removes a key from a table of either kind.
fn cut(text: &str, table: &Item, key: &str) -> Result<String, Problem> {
    match table {
        Item::Value(Value::InlineTable(table)) => cut_inline(text, table, key),
        Item::Table(table) => Ok(cut_lines(text, table, key)),
        _ => Ok(text.to_owned()),
    }
}

/// Removes the lines of a key, and the blank line that would be left over.
fn cut_lines(text: &str, table: &Table, key: &str) -> String {
    let mut statements = Vec::new();
    if let Some(item) = table.get(key) {
        collect(table, key, item, &mut statements);
    }
    let mut lines: Vec<Range<usize>> = statements
        .into_iter()
        .map(|statement| line_start(text, statement.start)..line_end(text, statement.end))
        .collect();
    lines.sort_by_key(|line| line.start);
    lines.dedup();
    if let (Some(first), Some(last)) = (lines.first().cloned(), lines.last()) {
        let ends_paragraph = last.end == text.len() || text[last.end..].starts_with(['\r', '\n']);
        let blank = line_start(text, first.start.saturating_sub(1));
        if ends_paragraph
            && text[first.start..].trim_start().starts_with('[')
            && text[blank..first.start].trim().is_empty()
        {
            lines[0].start = blank;
        }
    }
    lines.into_iter().rev().fold(text.to_owned(), |text, line| splice(&text, line, ""))
}

/// Collects the statements of an item: keys with their values, and headers of tables.
fn collect(parent: &Table, name: &str, item: &Item, found: &mut Vec<Range<usize>>) {
    let mut table = |table: &Table| {
        if !table.is_implicit() && !table.is_dotted() {
            found.extend(table.span());
        }
        for (name, item) in table {
            collect(table, name, item, found);
        }
    };
    match item {
        Item::Table(inner) => table(inner),
        Item::ArrayOfTables(tables) => tables.iter().for_each(table),
        Item::Value(value) => {
            if let (Some(key), Some(value)) = (parent.key(name).and_then(Key::span), value.span()) {
                found.push(key.start..value.end);
            }
        }
        Item::None => {}
    }
}

/// Removes a key from an inline table, with a comma.
fn cut_inline(text: &str, table: &InlineTable, key: &str) -> Result<String, Problem> {
    let span =
        |(name, value): (&str, &Value)| Some((name.to_owned(), table.key(name)?.span()?.start..value.span()?.end));
    let spans: Vec<_> = table.iter().map(span).collect::<Option<_>>().ok_or_else(|| unplaced(text))?;
    let Some(index) = spans.iter().position(|(name, _)| name == key) else { return Ok(text.to_owned()) };
    let (whole, own) = (table.span().ok_or_else(|| unplaced(text))?, &spans[index].1);
    let range = match (index.checked_sub(1).and_then(|before| spans.get(before)), spans.get(index + 1)) {
        (Some((_, before)), _) => before.end..own.end,
        (None, Some((_, after))) => own.start..after.start,
        (None, None) => whole.start + 1..whole.end - 1,
    };
    Ok(splice(text, range, ""))
}

/// An item as JSON.
fn json(item: &Item) -> Json {
    match item {
        Item::Value(Value::String(text)) => text.value().as_str().into(),
        Item::Value(Value::Integer(number)) => (*number.value()).into(),
        Item::Value(Value::Float(number)) => (*number.value()).into(),
        Item::Value(Value::Boolean(flag)) => (*flag.value()).into(),
        Item::Value(Value::Datetime(time)) => time.value().to_string().into(),
        Item::Value(Value::Array(items)) => items.iter().map(|item| json(&Item::Value(item.clone()))).collect(),
        _ => item
            .as_table_like()
            .map_or(Json::Null, |table| table.iter().map(|(key, item)| (key.to_owned(), json(item))).collect()),
    }
}
