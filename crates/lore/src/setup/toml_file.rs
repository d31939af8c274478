//! Servers in a TOML file: finds where they are and changes only those bytes.
//!
//! The parser is asked for positions alone: printing its document again turns CRLF into LF. A
//! statement of TOML begins and ends a line, so most changes take or give whole lines.

use std::{fmt::Write as _, ops::Range};

use serde_json::{Map, Value as Json};
use toml_edit::{Array, Document, InlineTable, Item, Key, Table, TomlError, Value};

use super::{
    document::{Problem, Server},
    edit::{self, Edit},
};

/// Lists the servers under the table `container`.
pub(super) fn servers(text: &str, container: &str) -> Result<Option<Vec<Server>>, Problem> {
    let document = parse(text)?;
    let Some(item) = document.get(container) else { return Ok(None) };
    let list = item.as_table_like().ok_or_else(|| not_a_table(text, item, container))?;
    let servers = list.iter().map(|(name, entry)| Server {
        name: name.to_owned(),
        value: json(entry),
        raw: entry.as_table_like().map_or_else(Vec::new, |fields| {
            fields.iter().filter_map(|(key, item)| Some((key.to_owned(), simple(text, item)?))).collect()
        }),
    });
    Ok(Some(servers.collect()))
}

/// Adds a server that is not there yet: a table at the end, or one more in the inline table.
pub(super) fn add(text: &str, container: &str, name: &str, fields: &[(&str, Json)]) -> Result<String, Problem> {
    let document = parse(text)?;
    match document.get(container) {
        Some(Item::Value(Value::InlineTable(list))) => {
            let fields: Vec<String> = fields.iter().map(|(key, value)| format!("{key} = {}", render(value))).collect();
            put_inline(text, list, name, &format!("{{ {} }}", fields.join(", ")))
        }
        Some(item) if !item.is_table() => Err(not_a_table(text, item, container)),
        _ => {
            let fields: Vec<(&str, String)> = fields.iter().map(|(key, value)| (*key, render(value))).collect();
            Ok(append_table(text, container, name, &fields))
        }
    }
}

/// A value the way TOML writes it.
pub(super) fn render(value: &Json) -> String {
    match value {
        Json::Array(items) => {
            let items: Array = items.iter().filter_map(Json::as_str).collect();
            items.to_string()
        }
        Json::String(text) => Value::from(text.as_str()).to_string(),
        other => other.to_string(),
    }
}

/// Gives a field a new text, or adds it.
pub(super) fn set(text: &str, container: &str, name: &str, key: &str, raw: &str) -> Result<String, Problem> {
    let document = parse(text)?;
    let entry = entry(text, &document, container, name)?;
    match entry {
        Item::Value(Value::InlineTable(fields)) => match fields.get(key) {
            Some(value) => replace(text, value.span(), raw),
            None => put_inline(text, fields, key, raw),
        },
        Item::Table(fields) => match fields.get(key) {
            Some(Item::Value(value)) => replace(text, value.span(), raw),
            Some(other) => Err(Problem::at(text, start(other), format!("`{key}` is not a simple value"))),
            None if fields.is_implicit() && !fields.is_dotted() => {
                Ok(append_table(text, container, name, &[(key, raw.to_owned())]))
            }
            None => put_statement(text, fields, key, raw),
        },
        other => Err(not_a_table(text, other, name)),
    }
}

/// Takes a field out.
pub(super) fn unset(text: &str, container: &str, name: &str, key: &str) -> Result<String, Problem> {
    let document = parse(text)?;
    match entry(text, &document, container, name)? {
        Item::Value(Value::InlineTable(fields)) => cut_inline(text, fields, key),
        Item::Table(fields) => Ok(cut_statements(text, fields, key)),
        _ => Ok(text.to_owned()),
    }
}

/// Takes a server out, with its own sub-tables.
pub(super) fn remove(text: &str, container: &str, name: &str) -> Result<String, Problem> {
    let document = parse(text)?;
    match document.get(container) {
        Some(Item::Value(Value::InlineTable(list))) => cut_inline(text, list, name),
        Some(Item::Table(list)) => Ok(cut_statements(text, list, name)),
        _ => Ok(text.to_owned()),
    }
}

fn parse(text: &str) -> Result<Document<&str>, Problem> {
    Document::parse(text).map_err(|error: TomlError| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        Problem::at(text, at, error.message().trim().replace('\n', ", "))
    })
}

fn entry<'d>(text: &str, document: &'d Document<&str>, container: &str, name: &str) -> Result<&'d Item, Problem> {
    let found = document.get(container).and_then(Item::as_table_like).and_then(|list| list.get(name));
    found.ok_or_else(|| Problem::at(text, text.len(), format!("there is no server `{name}`")))
}

/// The text of a value; a table has none of its own.
fn simple(text: &str, item: &Item) -> Option<String> {
    Some(text.get(item.as_value()?.span()?)?.to_owned())
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

fn replace(text: &str, span: Option<Range<usize>>, raw: &str) -> Result<String, Problem> {
    let range = span.ok_or_else(|| unplaced(text))?;
    Ok(edit::apply(text, vec![Edit { range, with: raw.to_owned() }]))
}

/// A new table at the end of the file, a blank line away from what is there.
fn append_table(text: &str, container: &str, name: &str, fields: &[(&str, String)]) -> String {
    let newline = edit::newline(text);
    let mut out = text.to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(newline);
    }
    let apart = out.ends_with("\n\n") || out.ends_with("\n\r\n");
    if !out.trim().is_empty() && !apart {
        out.push_str(newline);
    }
    out.push_str(&table_text(container, name, fields, newline));
    out
}

fn table_text(container: &str, name: &str, fields: &[(&str, String)], newline: &str) -> String {
    let header = format!("[{container}.{}]{newline}", quoted(name));
    fields.iter().fold(header, |mut text, (key, raw)| {
        write!(text, "{} = {raw}{newline}", quoted(key)).expect("writing to a string cannot fail");
        text
    })
}

fn quoted(key: &str) -> String {
    Key::new(key).to_string()
}

/// One more line in a table, after its last one.
fn put_statement(text: &str, table: &Table, key: &str, raw: &str) -> Result<String, Problem> {
    let last = own_statements(table).into_iter().max_by_key(|statement| statement.end);
    let (prefix, at) = match (&last, table.span()) {
        (Some(last), _) => (&text[edit::line_start(text, last.start)..last.start], last.end),
        (None, Some(header)) => ("", header.end),
        (None, None) => return Err(unplaced(text)),
    };
    let newline = edit::newline(text);
    let at = edit::line_end(text, at);
    let before = if text[..at].ends_with('\n') { "" } else { newline };
    Ok(edit::apply(text, vec![Edit::insert(at, format!("{before}{prefix}{} = {raw}{newline}", quoted(key)))]))
}

/// The statements that stand directly in a table: from the key's last part to the value's end.
fn own_statements(table: &Table) -> Vec<Range<usize>> {
    let values = table.iter().filter(|(_, item)| item.is_value());
    values.filter_map(|(key, item)| Some(table.key(key)?.span()?.start..item.span()?.end)).collect()
}

/// Every statement of an item, headers and sub-tables included.
fn all_statements(key: Option<&Key>, item: &Item, found: &mut Vec<Range<usize>>) {
    let mut whole = |table: &Table| {
        if !table.is_implicit() && !table.is_dotted() {
            found.extend(table.span());
        }
        for (name, item) in table {
            all_statements(table.key(name), item, found);
        }
    };
    match item {
        Item::Table(table) => whole(table),
        Item::ArrayOfTables(tables) => tables.iter().for_each(whole),
        Item::Value(value) => {
            if let (Some(key), Some(value)) = (key.and_then(Key::span), value.span()) {
                found.push(key.start..value.end);
            }
        }
        Item::None => {}
    }
}

/// Cuts the lines of one key out, and the blank line that would be left over.
fn cut_statements(text: &str, table: &Table, key: &str) -> String {
    let mut found = Vec::new();
    if let Some(item) = table.get(key) {
        all_statements(table.key(key), item, &mut found);
    }
    let mut lines: Vec<Range<usize>> = found
        .into_iter()
        .map(|statement| edit::line_start(text, statement.start)..edit::line_end(text, statement.end))
        .collect();
    lines.sort_by_key(|line| line.start);
    lines.dedup();
    if let (Some(first), Some(last)) = (lines.first().cloned(), lines.last().cloned()) {
        let rest = &text[last.end..];
        let header = text[first.start..].trim_start().starts_with('[');
        if header && (rest.is_empty() || rest.starts_with(['\r', '\n'])) {
            let blank = edit::line_start(text, first.start.saturating_sub(1));
            if first.start > 0 && text[blank..first.start].trim().is_empty() {
                lines[0].start = blank;
            }
        }
    }
    edit::apply(text, lines.into_iter().map(Edit::delete).collect())
}

/// One more key in an inline table.
fn put_inline(text: &str, table: &InlineTable, key: &str, raw: &str) -> Result<String, Problem> {
    let span = table.span().ok_or_else(|| unplaced(text))?;
    let property = format!("{} = {raw}", quoted(key));
    let change = match table.iter().filter_map(|(_, value)| value.span()).map(|span| span.end).max() {
        Some(last) => Edit::insert(last, format!(", {property}")),
        None => Edit { range: span.start + 1..span.end - 1, with: format!(" {property} ") },
    };
    Ok(edit::apply(text, vec![change]))
}

/// Cuts a key out of an inline table, with a comma.
fn cut_inline(text: &str, table: &InlineTable, key: &str) -> Result<String, Problem> {
    let mut spans = Vec::new();
    for (name, value) in table {
        let begin = table.key(name).and_then(Key::span).ok_or_else(|| unplaced(text))?.start;
        spans.push((name, begin..value.span().ok_or_else(|| unplaced(text))?.end));
    }
    let Some(index) = spans.iter().position(|(name, _)| *name == key) else { return Ok(text.to_owned()) };
    let whole = table.span().ok_or_else(|| unplaced(text))?;
    let range = match (index.checked_sub(1).map(|before| &spans[before].1), spans.get(index + 1)) {
        (Some(before), _) => before.end..spans[index].1.end,
        (None, Some((_, after))) => spans[index].1.start..after.start,
        (None, None) => whole.start + 1..whole.end - 1,
    };
    Ok(edit::apply(text, vec![Edit::delete(range)]))
}

/// What is written about a server, in the terms of JSON.
fn json(item: &Item) -> Json {
    match item {
        Item::Value(value) => json_value(value),
        Item::Table(table) => Json::Object(table.iter().map(|(key, item)| (key.to_owned(), json(item))).collect()),
        Item::ArrayOfTables(_) | Item::None => Json::Null,
    }
}

fn json_value(value: &Value) -> Json {
    match value {
        Value::String(text) => Json::from(text.value().as_str()),
        Value::Integer(number) => Json::from(*number.value()),
        Value::Float(number) => Json::from(*number.value()),
        Value::Boolean(flag) => Json::from(*flag.value()),
        Value::Datetime(time) => Json::from(time.value().to_string()),
        Value::Array(items) => items.iter().map(json_value).collect(),
        Value::InlineTable(table) => {
            Json::Object(table.iter().map(|(key, value)| (key.to_owned(), json_value(value))).collect::<Map<_, _>>())
        }
    }
}
