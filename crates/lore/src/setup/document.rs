//! The text of a host's file and the server entries in it, in either syntax.
//!
//! Every operation parses the text and returns a new one; there is no model that could lose comments.

use std::path::Path;

use lore_model::{Code, Failure};
use serde_json::Value;

use super::{hosts::Host, json, text, toml};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// With comments and trailing commas where the host allows them.
    Json,
    Toml,
}

/// Why a file cannot be changed, and where.
#[derive(Debug)]
pub(super) struct Problem {
    /// From 1.
    pub(super) line: usize,
    /// From 1, in characters.
    pub(super) column: usize,
    pub(super) message: String,
}

impl Problem {
    /// A problem at a byte of the text.
    pub(super) fn at(text: &str, at: usize, message: impl Into<String>) -> Self {
        let start = text::line_start(text, at);
        let line = text[..start].matches('\n').count() + 1;
        Self { line, column: text[start..at].chars().count() + 1, message: message.into() }
    }

    /// The failure for the user.
    pub(super) fn failure(self, host: &str, file: &Path) -> Failure {
        let Self { line, column, message } = self;
        Failure::new(Code::InvalidConfig, format!("{}:{line}:{column}: {message}", file.display())).hint(format!(
            "nothing was written; fix the file and try again, or paste what `lore setup {host} --print` shows"
        ))
    }
}

/// One server in a host's file.
#[derive(Debug)]
pub(super) struct Server {
    /// The name under which the host lists it.
    pub(super) name: String,
    /// Its entry.
    pub(super) value: Value,
    /// The source form of each simple field.
    pub(super) raw: Vec<(String, String)>,
}

impl Server {
    /// The source form of a field.
    pub(super) fn raw(&self, key: &str) -> Option<String> {
        self.raw.iter().rfind(|(name, _)| name == key).map(|(_, raw)| raw.clone())
    }
}

/// Whether an empty list of servers is removed with its last server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Emptied {
    /// It stays: it was there before.
    Keep,
    /// It goes: the setup added it.
    Drop,
}

/// The text of a host's file, without its byte order mark.
#[derive(Debug)]
pub(super) struct Document {
    syntax: Syntax,
    container: &'static str,
    text: String,
}

impl Document {
    pub(super) fn new(host: Host, text: &str) -> Self {
        Self { syntax: host.syntax(), container: host.container(), text: text.to_owned() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The servers in their order; `None` without a list of them.
    pub(super) fn servers(&self) -> Result<Option<Vec<Server>>, Problem> {
        match self.syntax {
            Syntax::Json => json::servers(&self.text, self.container),
            Syntax::Toml => toml::servers(&self.text, self.container),
        }
    }

    /// The server with that name; of several the last, as in every host.
    pub(super) fn server(&self, name: &str) -> Result<Option<Server>, Problem> {
        Ok(self.servers()?.into_iter().flatten().rfind(|server| server.name == name))
    }

    /// A value in this syntax.
    pub(super) fn render(&self, value: &Value) -> String {
        match self.syntax {
            Syntax::Json => json::inline(value),
            Syntax::Toml => toml::render(value),
        }
    }

    /// Adds a server, and the list of servers if it is missing.
    pub(super) fn add(&mut self, name: &str, fields: &[(&str, Value)]) -> Result<(), Problem> {
        self.text = match self.syntax {
            Syntax::Json => json::add(&self.text, self.container, name, fields)?,
            Syntax::Toml => toml::add(&self.text, self.container, name, fields)?,
        };
        Ok(())
    }

    /// Sets a field of a server to a value in source form; `None` removes the field.
    pub(super) fn set(&mut self, name: &str, key: &str, raw: Option<&str>) -> Result<(), Problem> {
        self.text = match self.syntax {
            Syntax::Json => json::set(&self.text, self.container, name, key, raw)?,
            Syntax::Toml => toml::set(&self.text, self.container, name, key, raw)?,
        };
        Ok(())
    }

    /// Removes a server.
    pub(super) fn remove(&mut self, name: &str, emptied: Emptied) -> Result<(), Problem> {
        self.text = match self.syntax {
            Syntax::Json => json::remove(&self.text, self.container, name, emptied)?,
            Syntax::Toml => toml::remove(&self.text, self.container, name)?,
        };
        Ok(())
    }

    /// Whether the file holds nothing.
    pub(super) fn is_empty(&self) -> bool {
        let text = self.text.trim();
        text.is_empty() || (self.syntax == Syntax::Json && text == "{}")
    }
}
