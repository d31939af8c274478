//! A host's configuration as text that can be changed in one place without touching the rest.
//!
//! Both syntaxes offer the same few operations; each changes the text, never a model of it.

use lore_model::{Code, Failure};
use serde_json::Value;

use super::{edit, hosts::Host, json_file, toml_file};

/// How a host writes its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// JSON, with comments and trailing commas where the host allows them.
    Json,
    /// TOML.
    Toml,
}

/// Why a file cannot be changed, and where.
#[derive(Debug)]
pub(super) struct Problem {
    position: Option<(usize, usize)>,
    what: String,
}

impl Problem {
    /// A problem at a byte of the text.
    pub(super) fn at(text: &str, at: usize, what: impl Into<String>) -> Self {
        Self { position: Some(edit::position(text, at)), what: what.into() }
    }

    /// The failure that people see.
    pub(super) fn failure(self, host: &str, file: &std::path::Path) -> Failure {
        let place = match self.position {
            Some((line, column)) => format!("{}:{line}:{column}", file.display()),
            None => file.display().to_string(),
        };
        Failure::new(Code::InvalidConfig, format!("{place}: {}", self.what)).hint(format!(
            "nothing was written; fix the file and try again, or paste what `lore setup {host} --print` shows"
        ))
    }
}

/// One server of a host's configuration.
#[derive(Debug)]
pub(super) struct Server {
    /// The name the host knows it by.
    pub(super) name: String,
    /// What is written about it.
    pub(super) value: Value,
    /// The exact text of each simple field.
    pub(super) raw: Vec<(String, String)>,
}

impl Server {
    /// The exact text of a field.
    pub(super) fn raw(&self, key: &str) -> Option<&str> {
        self.raw.iter().rfind(|(name, _)| name == key).map(|(_, raw)| raw.as_str())
    }
}

/// Whether an empty list of servers goes with its last server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Emptied {
    /// It stays: it was there before.
    Keep,
    /// It goes: it came with the server.
    Drop,
}

/// The text of a configuration, without its byte order mark.
#[derive(Debug, Clone)]
pub(super) struct Document {
    syntax: Syntax,
    container: &'static str,
    marked: bool,
    text: String,
}

/// The byte order mark that some editors put in front.
pub(super) const MARK: &str = "\u{feff}";

/// Whether a file begins with the mark, and the text after it.
pub(super) fn decode(bytes: &[u8]) -> Result<(bool, &str), Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        Problem::at(&good, good.len(), "the file is not UTF-8 text")
    })?;
    Ok(match text.strip_prefix(MARK) {
        Some(text) => (true, text),
        None => (false, text),
    })
}

impl Document {
    /// Reads a host's file; a missing one is an empty one.
    pub(super) fn read(host: Host, bytes: Option<&[u8]>) -> Result<Self, Problem> {
        let (marked, text) = decode(bytes.unwrap_or_default())?;
        Ok(Self { syntax: host.syntax(), container: host.container(), marked, text: text.to_owned() })
    }

    /// The file as it is written.
    pub(super) fn to_text(&self) -> String {
        format!("{}{}", if self.marked { MARK } else { "" }, self.text)
    }

    /// The servers, in their order; `None` when the file has no list of them yet.
    pub(super) fn servers(&self) -> Result<Option<Vec<Server>>, Problem> {
        match self.syntax {
            Syntax::Json => json_file::servers(&self.text, self.container),
            Syntax::Toml => toml_file::servers(&self.text, self.container),
        }
    }

    /// Adds a server, and the list of servers when there is none.
    pub(super) fn add(&mut self, name: &str, fields: &[(&str, Value)]) -> Result<(), Problem> {
        self.text = match self.syntax {
            Syntax::Json => json_file::add(&self.text, self.container, name, fields),
            Syntax::Toml => toml_file::add(&self.text, self.container, name, fields),
        }?;
        Ok(())
    }

    /// Writes a value the way this syntax does.
    pub(super) fn render(&self, value: &Value) -> String {
        match self.syntax {
            Syntax::Json => json_file::inline(value),
            Syntax::Toml => toml_file::render(value),
        }
    }

    /// Gives a field of an existing server a new text.
    pub(super) fn set(&mut self, name: &str, key: &str, raw: &str) -> Result<(), Problem> {
        self.text = match self.syntax {
            Syntax::Json => json_file::set(&self.text, self.container, name, key, raw),
            Syntax::Toml => toml_file::set(&self.text, self.container, name, key, raw),
        }?;
        Ok(())
    }

    /// Takes a field of a server out.
    pub(super) fn unset(&mut self, name: &str, key: &str) -> Result<(), Problem> {
        self.text = match self.syntax {
            Syntax::Json => json_file::unset(&self.text, self.container, name, key),
            Syntax::Toml => toml_file::unset(&self.text, self.container, name, key),
        }?;
        Ok(())
    }

    /// Takes a server out.
    pub(super) fn remove(&mut self, name: &str, emptied: Emptied) -> Result<(), Problem> {
        self.text = match self.syntax {
            Syntax::Json => json_file::remove(&self.text, self.container, name, emptied),
            Syntax::Toml => toml_file::remove(&self.text, self.container, name),
        }?;
        Ok(())
    }

    /// Whether nothing is left that anybody would miss.
    pub(super) fn is_empty(&self) -> bool {
        let text = self.text.trim();
        text.is_empty() || (self.syntax == Syntax::Json && text == "{}")
    }
}
