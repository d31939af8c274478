//! A configuration file with the record of its setup: what planning a setup and planning its undo have in common.

use std::path::{Path, PathBuf};

use lore_model::Failure;

use super::{
    change::{Change, RecordChange},
    document::Problem,
    files,
    hosts::Scope,
    record::{Record, SetupDetails},
};

/// The byte order mark that some editors put in front of a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The program that a file belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner {
    /// Its name on the command line.
    pub(super) name: &'static str,
    /// Its name in messages.
    pub(super) title: &'static str,
}

/// A configuration file as it is now, and the record of the setup in it.
#[derive(Debug)]
pub(super) struct ConfigFile<D> {
    owner: Owner,
    scope: Scope,
    /// Its path.
    pub(super) path: PathBuf,
    content: Option<String>,
    record_path: PathBuf,
    /// The record; `None` without a setup.
    pub(super) record: Option<Record<D>>,
}

/// Reads the text of a configuration file; `None` if it does not exist.
pub(super) fn read_text(owner: Owner, path: &Path) -> Result<Option<String>, Failure> {
    let Some(bytes) = files::read(path)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]).into_owned();
        Problem::at(&valid, valid.len(), "the file is not UTF-8 text").failure(owner.name, path)
    })
}

/// A text without its byte order mark.
pub(super) fn unmarked(content: &str) -> &str {
    content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content)
}

impl<D: SetupDetails> ConfigFile<D> {
    /// Reads a file and its record.
    pub(super) fn open(owner: Owner, scope: Scope, path: PathBuf, record_path: PathBuf) -> Result<Self, Failure> {
        let record = Record::read(&record_path)?;
        let content = read_text(owner, &path)?;
        Ok(Self { owner, scope, path, content, record_path, record })
    }

    /// The text, without its byte order mark; empty if the file does not exist.
    pub(super) fn text(&self) -> &str {
        unmarked(self.content.as_deref().unwrap_or_default())
    }

    /// The text with the byte order mark that the file has.
    fn with_mark(&self, text: &str) -> String {
        let has_mark = self.content.as_deref().is_some_and(|content| content.starts_with(BYTE_ORDER_MARK));
        if has_mark { format!("{BYTE_ORDER_MARK}{text}") } else { text.to_owned() }
    }

    /// The failure that a problem in this file is.
    pub(super) fn failure(&self, problem: Problem) -> Failure {
        problem.failure(self.owner.name, &self.path)
    }

    /// Plans a setup that makes `text` the file's text.
    ///
    /// `is_ours` tells whether the setup on record is still in place, so that one undo takes back both. The notes `later`
    /// are for a file that changes.
    pub(super) fn plan(
        mut self,
        text: &str,
        details: D,
        is_ours: bool,
        mut notes: Vec<String>,
        later: Vec<String>,
    ) -> Result<Change, Failure> {
        let after = self.with_mark(text);
        if self.content.as_ref() == Some(&after) {
            return Ok(self.change(Some(after), notes, RecordChange::Keep));
        }
        let folders = files::missing_folders(&self.path);
        if self.scope == Scope::User
            && let Some(folder) = folders.first()
        {
            notes.push(format!("there is no folder {} yet: is {} installed?", folder.display(), self.owner.title));
        }
        notes.extend(later);
        let before = self.content.as_deref();
        let record = match self.record.take().filter(|_| is_ours) {
            Some(mut record) => {
                record.extend(before.unwrap_or_default(), &after, details);
                record
            }
            None => Record::new(&self.path, before, &after, &folders, details),
        };
        let record = RecordChange::Write(self.record_path.clone(), record.to_bytes()?);
        Ok(self.change(Some(after), notes, record))
    }

    /// Plans to take the setup back: exactly, or by `take_back` if others changed the file since.
    ///
    /// `take_back` gives the new text, or `None` if there is nothing left of the file or, without a record, nothing to undo.
    /// So does this function for the latter.
    pub(super) fn plan_undo(
        mut self,
        take_back: impl FnOnce(&str, Option<&Record<D>>, &mut Vec<String>) -> Result<Option<String>, Problem>,
    ) -> Result<Option<Change>, Failure> {
        let mut notes = Vec::new();
        let record = self.record.take();
        let rewound = record.as_ref().zip(self.content.as_deref()).and_then(|(record, now)| record.rewind(now));
        let after = match (&record, rewound) {
            (Some(record), Some(before)) => (!record.created_file).then_some(before),
            (Some(_), None) if self.content.is_none() => {
                notes.push(format!("{} is gone already", self.path.display()));
                None
            }
            (record, _) => {
                let text = take_back(self.text(), record.as_ref(), &mut notes);
                let text = text.map_err(|problem| self.failure(problem))?;
                if text.is_none() && record.is_none() {
                    return Ok(None);
                }
                text.map(|text| self.with_mark(&text))
            }
        };
        let path = self.record_path.clone();
        let record = record.map_or(RecordChange::Keep, |record| RecordChange::Remove(path, record.created_folders));
        Ok(Some(self.change(after, notes, record)))
    }

    fn change(self, after: Option<String>, notes: Vec<String>, record: RecordChange) -> Change {
        Change { file: self.path, before: self.content, after, notes, scope: self.scope, record }
    }
}
