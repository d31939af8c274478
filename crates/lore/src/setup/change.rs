//! A planned change of a host's file: shown first, then made in one step.

use std::path::{Path, PathBuf};

use lore_model::{Code, Failure};
use similar::TextDiff;

use super::{
    files::{self, Access},
    hosts::Scope,
    text,
};

/// What would happen to a host's file.
#[derive(Debug)]
pub(crate) struct Change {
    /// The file, as the host names it.
    pub(crate) file: PathBuf,
    /// What it holds now; `None` when it does not exist.
    pub(crate) before: Option<String>,
    /// What it will hold; `None` when it goes.
    pub(crate) after: Option<String>,
    /// What the user should know or do.
    pub(crate) notes: Vec<String>,
    pub(super) scope: Scope,
    pub(super) record: RecordChange,
}

/// What happens to the record of a setup.
#[derive(Debug)]
pub(super) enum RecordChange {
    /// It stays.
    Keep,
    /// It is written: its path and its content.
    Write(PathBuf, Vec<u8>),
    /// It is removed, and so are the folders that the setup created, if they are empty.
    Remove(PathBuf, Vec<String>),
}

impl Change {
    /// Whether the file stays as it is.
    pub(crate) fn is_noop(&self) -> bool {
        self.before == self.after
    }

    /// The change as a unified diff, empty if there is none.
    pub(crate) fn diff(&self) -> String {
        if self.is_noop() {
            return String::new();
        }
        let path = self.file.display().to_string();
        let name = |text: &Option<String>| if text.is_some() { &*path } else { "/dev/null" };
        let (before, after) = (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        let (old, new) = without_neighbours(before, after);
        let diff = TextDiff::from_lines(&old, &new);
        // Other servers have their secrets next to the entry.
        diff.unified_diff().context_radius(0).header(name(&self.before), name(&self.after)).to_string()
    }
}

/// Two texts without what is the same in both, except the lines before it, which count for the line numbers.
///
/// Other servers have their secrets there, perhaps on the same line: a file may be one line, and a line before a new one
/// gets a comma.
fn without_neighbours(before: &str, after: &str) -> (String, String) {
    /// How much around a replaced text is shown, so that one sees what it is.
    const AROUND: usize = 30;
    let (from, old_length, new_length) = text::difference(before, after);
    let (head, old, tail) = (&before[..from], &before[from..from + old_length], &before[from + old_length..]);
    let new = &after[from..from + new_length];
    let line = text::line_start(before, from);
    let lines = &head[..line];
    if old.is_empty() || new.is_empty() {
        // The comma before a new entry belongs to the one before.
        let whole = format!("{old}{new}");
        let entry = whole.strip_prefix(',').unwrap_or(&whole);
        let (newline, entry) = entry.strip_prefix('\n').map_or(("", entry), |entry| ("\n", entry));
        let entry = format!("{}\n", entry.trim_end_matches(['\n', ',']));
        let shown = |part: &str| format!("{lines}{newline}{}", if part.is_empty() { "" } else { &entry });
        return (shown(old), shown(new));
    }
    let start = head.floor_char_boundary(from.saturating_sub(AROUND)).max(line);
    let line_end = tail.find('\n').unwrap_or(tail.len());
    let end = tail.ceil_char_boundary(AROUND.min(tail.len())).min(line_end);
    let ellipsis = |is_cut: bool| if is_cut { "…" } else { "" };
    let (left, right) = (ellipsis(start > line), ellipsis(end < line_end));
    let shown = |part: &str| format!("{lines}{left}{}{part}{}{right}\n", &head[start..], &tail[..end]);
    (shown(old), shown(new))
}

/// Makes the change, unless the file was changed after planning.
pub(crate) fn apply(change: &Change) -> Result<(), Failure> {
    if change.is_noop() {
        return remove_record(change);
    }
    if files::read(&change.file)?.as_deref() != change.before.as_deref().map(str::as_bytes) {
        return Err(Failure::new(
            Code::Busy,
            format!("{} was changed by another program in the meantime", change.file.display()),
        )
        .hint("nothing was written; run the command again"));
    }
    let Some(after) = &change.after else {
        files::remove(&change.file)?;
        return remove_record(change);
    };
    let access = match change.scope {
        Scope::User => Access::Private,
        Scope::Project => Access::Shared,
    };
    files::make_folders(&change.file)?;
    let write = || files::replace(&change.file, after.as_bytes(), access);
    let RecordChange::Write(path, record) = &change.record else {
        write()?;
        return remove_record(change);
    };
    // The record is written first: a record of a change that never happened does less harm than a change that cannot be
    // undone.
    let earlier = files::read(path)?;
    // Lore's own folder may not exist yet; it is created for its owner alone.
    if let Some(home) = path.parent().and_then(Path::parent) {
        lore_store_embedded::make_home(home).map_err(|error| files::refused("create", home, error))?;
    }
    files::make_folders(path)?;
    files::replace(path, record, Access::Private)?;
    write().inspect_err(|_| {
        // The first failure is the one to report.
        drop(match &earlier {
            Some(bytes) => files::replace(path, bytes, Access::Private),
            None => files::remove(path),
        });
    })
}

fn remove_record(change: &Change) -> Result<(), Failure> {
    let RecordChange::Remove(path, folders) = &change.record else { return Ok(()) };
    if change.after.is_none() {
        for folder in folders {
            // A folder that is not empty stays.
            drop(std::fs::remove_dir(folder));
        }
    }
    files::remove(path)
}
