//! The list `customCommands` of lazygit's file.
//!
//! `yaml-edit` changes the text and `serde-saphyr` reads it. A changed text is accepted only if it reads as intended, so a
//! mistake of either library is a refusal and never a damaged file.

use std::str::FromStr as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_saphyr::UserMessageFormatter;
use yaml_edit::{AsYaml as _, Document, Mapping, ScalarValue, Sequence, YamlFile, YamlNode};

use super::super::{
    document::Problem,
    text::{line_end, line_start, newline},
};

/// The key of the list.
const LIST: &str = "customCommands";

/// An entry in source form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Item {
    /// Lines, the first with a dash.
    Lines(String),
    /// An entry of a list in brackets.
    Bracketed(String),
}

impl Item {
    /// The source.
    pub(super) fn source(&self) -> &str {
        match self {
            Self::Lines(source) | Self::Bracketed(source) => source,
        }
    }

    fn list(&self) -> String {
        match self {
            Self::Lines(source) => source.clone(),
            Self::Bracketed(source) => format!("[{source}]"),
        }
    }

    fn node(&self) -> Option<YamlNode> {
        document(&self.list())?.as_sequence()?.get(0)
    }

    fn value(&self) -> Option<Value> {
        read(&self.list()).ok()?.get_mut(0).map(Value::take)
    }
}

/// lazygit's file and the list in it.
#[derive(Debug, Clone)]
pub(super) struct CommandList {
    text: String,
    file: Map<String, Value>,
}

impl CommandList {
    /// Reads a file.
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        let file = match read(text)? {
            Value::Null => Map::new(),
            Value::Object(file) => file,
            _ => return Err(Problem::at(text, 0, "lazygit's file is a list of `key: value`, and this is not")),
        };
        let root = document(text).and_then(|document| document.as_mapping());
        let start = root.map_or(0, |root| root.byte_range().start as usize);
        if text[line_start(text, start)..start].contains('\t') {
            let message = "a tab cannot indent YAML; lazygit does not read this file";
            return Err(Problem::at(text, line_start(text, start), message));
        }
        let list = Self { text: text.to_owned(), file };
        let is_alias = document(text).and_then(|document| document.get(LIST)).is_some_and(|list| list.is_alias());
        match list.file.get(LIST) {
            _ if is_alias => Err(list.problem(&format!("`{LIST}` is an alias; Lore leaves it alone"))),
            None | Some(Value::Null | Value::Array(_)) => Ok(list),
            _ => Err(list.problem(&format!("`{LIST}` is not a list"))),
        }
    }

    /// A problem with the list.
    fn problem(&self, message: &str) -> Problem {
        let root = document(&self.text).and_then(|document| document.as_mapping());
        let key = root.and_then(|root| root.find_entry_by_key(LIST)?.key_node());
        Problem::at(&self.text, key.map_or(0, |key| key.byte_range().start as usize), message)
    }

    /// The file.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The entries.
    pub(super) fn entries(&self) -> &[Value] {
        self.file.get(LIST).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// The list in source form; `None` if the file has none.
    pub(super) fn source(&self) -> Option<String> {
        self.file.get(LIST)?;
        Some(document(&self.text)?.get(LIST).map_or_else(String::new, |list| list.to_string()))
    }

    /// An entry in source form.
    pub(super) fn item(&self, index: usize) -> Option<Item> {
        let list = document(&self.text)?.get_sequence(LIST)?;
        let node = list.get(index)?;
        if list.is_flow_style() {
            return Some(Item::Bracketed(node.to_string()));
        }
        let entry = node.as_node()?.parent()?;
        let start = usize::from(entry.text_range().start());
        Some(Item::Lines(format!("{}{entry}", " ".repeat(start - line_start(&self.text, start)))))
    }

    /// A field of an entry in source form.
    pub(super) fn raw(&self, index: usize, field: &str) -> Option<String> {
        let raw = document(&self.text)?.get_sequence(LIST)?.get(index)?.get(field)?.to_string();
        // The last line ending of a block scalar.
        Some(raw.strip_suffix('\n').map_or(&*raw, |raw| raw.trim_end_matches('\r')).to_owned())
    }

    /// Sets a field of an entry to a value in source form.
    pub(super) fn set(&self, index: usize, field: &str, raw: &str) -> Result<Self, Problem> {
        let source = format!("{field}: {raw}\n");
        let mut entries = self.entries().to_vec();
        entries[index][field] = read(&source)?[field].take();
        self.edited(Some(entries.into()), |root| {
            let entry = root.get_sequence(LIST)?.get(index)?;
            entry.as_mapping()?.set(field, document(&source)?.get(field)?);
            Some(())
        })
    }

    /// Inserts entries before the first of those at `taken`, or at the end, and removes those.
    pub(super) fn put(&self, taken: &[usize], items: &[Item]) -> Result<Self, Problem> {
        let at = taken.first().copied().unwrap_or(self.entries().len());
        let mut entries = self.entries().to_vec();
        entries.splice(at..at, items.iter().filter_map(Item::value));
        for index in taken.iter().rev() {
            entries.remove(index + items.len());
        }
        self.edited(Some(entries.into()), |root| {
            if root.get_sequence(LIST).is_none() {
                // In place of a value the list is indented, as in most files of lazygit.
                root.set(LIST, ScalarValue::null());
                root.set(LIST, Sequence::new_pending_block());
            }
            let list = root.get_sequence(LIST)?;
            for (index, item) in items.iter().enumerate() {
                list.insert(at + index, item.node()?);
            }
            for index in taken.iter().rev() {
                list.remove(index + items.len());
            }
            Some(())
        })
    }

    /// Removes entries. A list that loses all its entries becomes `emptied`, its source form before, or is removed as well.
    pub(super) fn take(&self, taken: &[usize], emptied: Option<&str>) -> Result<Self, Problem> {
        if taken.len() < self.entries().len() {
            return self.put(taken, &[]);
        }
        let source = emptied.map(|source| format!("{LIST}: {source}\n"));
        let list = source.as_ref().map(|source| Ok(read(source)?[LIST].take())).transpose()?;
        self.edited(list, |root| {
            match &source {
                Some(source) => root.set(LIST, document(source)?.get(LIST)?),
                None => drop(root.remove(LIST)?),
            }
            Some(())
        })
    }

    /// Edits the syntax tree. The result must read as the same file with this list.
    fn edited(&self, list: Option<Value>, edit: impl FnOnce(&Mapping) -> Option<()>) -> Result<Self, Problem> {
        let mut wanted = self.file.clone();
        match list {
            Some(list) => drop(wanted.insert(LIST.to_owned(), list)),
            None => drop(wanted.shift_remove(LIST)),
        }
        let text = || {
            let mut text = self.text.clone();
            if document(&text).and_then(|document| document.as_mapping()).is_none() {
                // There is no tree in a file of comments.
                let newline = newline(&text);
                let gap = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
                text = format!("{text}{gap}{LIST}:{newline}");
            }
            let file = YamlFile::from_str(&text).ok()?;
            let root = file.documents().next()?.as_mapping()?;
            let is_flow = root.is_flow_style();
            edit(&root)?;
            text = file.to_string();
            if root.is_empty() && !is_flow {
                // The `{}` in place of the last key.
                let at = root.byte_range().start as usize;
                text.replace_range(at..line_end(&text, at), "");
            }
            let key = root.find_entry_by_key(LIST).and_then(|entry| entry.key_node());
            if let Some(end) = key.map(|key| key.byte_range().end as usize)
                && text[end..].starts_with(":  #")
            {
                // The blanks around a value that went.
                text.remove(end + 1);
            }
            Some(text)
        };
        let edited = text().and_then(|text| Self::read(&text).ok());
        let cannot = || self.problem(&format!("Lore cannot change `{LIST}` in a file written like this"));
        edited.filter(|edited| edited.file == wanted).ok_or_else(cannot)
    }
}

/// The first document of a text as a tree.
fn document(text: &str) -> Option<Document> {
    YamlFile::from_str(text).ok()?.documents().next()
}

/// A text as a value.
fn read(text: &str) -> Result<Value, Problem> {
    // `y` and `no` are strings, as lazygit reads them.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let (line, column) = error.location().map_or((1, 1), |at| (number(at.line()), number(at.column())));
        let message = error.without_snippet().render_with_formatter(&UserMessageFormatter);
        let message = [": limits", " at line "]
            .iter()
            .fold(&*message, |message, end| message.split_once(end).map_or(message, |(message, _)| message));
        Problem { line, column, message: format!("cannot read this as YAML: {message}") }
    })
}
