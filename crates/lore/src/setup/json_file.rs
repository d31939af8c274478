//! Servers in a JSON file with comments: finds where they are and changes only those bytes.
//!
//! The parser gives positions; what is written between them is [`super::json_text`]'s business.
//! Rewriting the parsed tree was rejected: nobody's comments, blanks and line ends survive it.

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Object, ObjectProp, Value as Node},
    common::Ranged as _,
    parse_to_ast,
};
use serde_json::{Map, Value};

pub(super) use super::json_text::inline;
use super::{
    document::{Emptied, Problem, Server},
    edit::{self, Edit},
    json_text::{self, Layout, Style},
};

/// Lists the servers under the key `container`.
pub(super) fn servers(text: &str, container: &str) -> Result<Option<Vec<Server>>, Problem> {
    let Some(root) = root(text)? else { return Ok(None) };
    let Some(list) = list(text, &root, container)? else { return Ok(None) };
    let servers = list.properties.iter().map(|prop| Server {
        name: prop.name.as_str().to_owned(),
        value: prop.value.clone().into(),
        raw: prop.value.as_object().map(|entry| raw_fields(text, entry)).unwrap_or_default(),
    });
    Ok(Some(servers.collect()))
}

fn raw_fields(text: &str, entry: &Object<'_>) -> Vec<(String, String)> {
    let fields = entry.properties.iter();
    fields.map(|prop| (prop.name.as_str().to_owned(), prop.value.text(text).to_owned())).collect()
}

/// Adds a server that is not there yet.
pub(super) fn add(text: &str, container: &str, name: &str, fields: &[(&str, Value)]) -> Result<String, Problem> {
    let entry = Value::Object(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect());
    let whole = Value::Object(Map::from_iter([(name.to_owned(), entry.clone())]));
    let Some(root) = root(text)? else {
        return Ok(json_text::new_file(text, &Value::Object(Map::from_iter([(container.to_owned(), whole)]))));
    };
    let style = Style::of(text, &root);
    let outer = style.layout(&root, Layout::Lines);
    let edits = match list(text, &root, container)? {
        None => style.append(&root, outer, container, &whole),
        Some(list) => style.append(list, style.layout(list, outer), name, &entry),
    };
    Ok(edit::apply(text, edits))
}

/// Gives a field a new text, or adds it.
pub(super) fn set(text: &str, container: &str, name: &str, key: &str, raw: &str) -> Result<String, Problem> {
    let root = root(text)?.ok_or_else(|| missing(text, name))?;
    let entry = entry(text, &root, container, name)?;
    let edits = if let Some(index) = find(entry, key) {
        let range = entry.properties[index].value.range();
        vec![Edit { range: range.start..range.end, with: raw.to_owned() }]
    } else {
        let style = Style::of(text, &root);
        style.append_raw(entry, style.layout(entry, Layout::Lines), key, raw)
    };
    Ok(edit::apply(text, edits))
}

/// Takes a field out.
pub(super) fn unset(text: &str, container: &str, name: &str, key: &str) -> Result<String, Problem> {
    let root = root(text)?.ok_or_else(|| missing(text, name))?;
    let entry = entry(text, &root, container, name)?;
    Ok(match find(entry, key) {
        Some(index) => edit::apply(text, json_text::cut(text, entry, index)),
        None => text.to_owned(),
    })
}

/// Takes a server out.
pub(super) fn remove(text: &str, container: &str, name: &str, emptied: Emptied) -> Result<String, Problem> {
    let Some(parsed) = root(text)? else { return Ok(text.to_owned()) };
    let Some(servers) = list(text, &parsed, container)? else { return Ok(text.to_owned()) };
    let Some(index) = find(servers, name) else { return Ok(text.to_owned()) };
    let text = edit::apply(text, json_text::cut(text, servers, index));
    if emptied == Emptied::Keep {
        return Ok(text);
    }
    let Some(parsed) = root(&text)? else { return Ok(text) };
    let Some(servers) = list(&text, &parsed, container)? else { return Ok(text) };
    let left = servers.text(&text);
    // A comment that somebody put in there is worth keeping.
    if left[1..left.len() - 1].trim().is_empty()
        && let Some(index) = find(&parsed, container)
    {
        return Ok(edit::apply(&text, json_text::cut(&text, &parsed, index)));
    }
    Ok(text)
}

/// The outermost object, `None` for a file without any value.
fn root(text: &str) -> Result<Option<Object<'_>>, Problem> {
    // The hosts accept comments and trailing commas at most. Whatever else is in the file is a
    // mistake that the host would stumble over too.
    let options = ParseOptions {
        allow_comments: true,
        allow_loose_object_property_names: false,
        allow_trailing_commas: true,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options)
        .map_err(|error| Problem::at(text, error.range().start, lower(&error.kind().to_string())))?;
    match parsed.value {
        None => Ok(None),
        Some(Node::Object(root)) => Ok(Some(root)),
        Some(other) => Err(Problem::at(text, other.start(), "the configuration is not an object")),
    }
}

fn list<'a, 't>(text: &str, root: &'a Object<'t>, container: &str) -> Result<Option<&'a Object<'t>>, Problem> {
    find(root, container).map(|index| object(text, &root.properties[index])).transpose()
}

fn entry<'a, 't>(text: &str, root: &'a Object<'t>, container: &str, name: &str) -> Result<&'a Object<'t>, Problem> {
    let list = list(text, root, container)?.ok_or_else(|| missing(text, name))?;
    let index = find(list, name).ok_or_else(|| missing(text, name))?;
    object(text, &list.properties[index])
}

fn object<'a, 't>(text: &str, prop: &'a ObjectProp<'t>) -> Result<&'a Object<'t>, Problem> {
    let what = || format!("`{}` is not an object", prop.name.as_str());
    prop.value.as_object().ok_or_else(|| Problem::at(text, prop.value.start(), what()))
}

/// Where a property is; of several with one name the last counts, as it does in every host.
fn find(object: &Object<'_>, name: &str) -> Option<usize> {
    object.properties.iter().rposition(|prop| prop.name.as_str() == name)
}

fn missing(text: &str, name: &str) -> Problem {
    Problem::at(text, text.len(), format!("there is no server `{name}`"))
}

fn lower(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
