//! A planned change of a host's file: shown first, then made in one step.

use std::path::{Path, PathBuf};

use lore_model::{Code, Failure};
use similar::TextDiff;

use super::{
    files::{self, Access},
    hosts::Scope,
};

/// What would happen to a host's file.
#[derive(Debug)]
pub(crate) struct Change {
    /// The file, as the host names it.
    pub(crate) file: PathBuf,
    /// What it holds now; `None` when it does not exist.
    pub(crate) before: Option<Vec<u8>>,
    /// What it will hold; `None` when it goes.
    pub(crate) after: Option<Vec<u8>>,
    /// What the user should know or do.
    pub(crate) notes: Vec<String>,
    pub(super) scope: Scope,
    pub(super) memory: Memory,
}

/// What happens to the record of the setup.
#[derive(Debug)]
pub(super) enum Memory {
    /// It stays as it is.
    Keep,
    /// It is written: where, and what it holds.
    Write(PathBuf, Vec<u8>),
    /// It goes, and so do the folders that the setup made, if they are empty.
    Forget(PathBuf, Vec<String>),
}

impl Change {
    /// Whether the file stays as it is.
    pub(crate) fn is_noop(&self) -> bool {
        self.before == self.after
    }

    /// The change as a unified diff, empty when there is none.
    pub(crate) fn diff(&self) -> String {
        if self.is_noop() {
            return String::new();
        }
        let text = |bytes: &Option<Vec<u8>>| {
            bytes.as_deref().map_or_else(String::new, |bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let name = |bytes: &Option<Vec<u8>>| match bytes {
            Some(_) => self.file.display().to_string(),
            None => "/dev/null".to_owned(),
        };
        let (before, after) = (text(&self.before), text(&self.after));
        let (before, after) = without_neighbours(&before, &after);
        let diff = TextDiff::from_lines(&before, &after);
        // What stands beside the entry is not Lore's to show: other servers have their secrets there.
        diff.unified_diff().context_radius(0).header(&name(&self.before), &name(&self.after)).to_string()
    }
}

/// Two texts without what stands unchanged beside what changes, but for the lines before it, which count. Other servers have their
/// secrets there, perhaps in the same line: a file may be one line, and a line before a new one gets a comma.
fn without_neighbours(before: &str, after: &str) -> (String, String) {
    /// So much is shown around what is replaced, so that it can be told what it is.
    const AROUND: usize = 30;
    let same = |one: &mut dyn Iterator<Item = char>, other: &mut dyn Iterator<Item = char>| -> usize {
        one.zip(other).take_while(|(one, other)| one == other).map(|(one, _)| one.len_utf8()).sum()
    };
    let from = same(&mut before.chars(), &mut after.chars());
    let (old, new) = (&before[from..], &after[from..]);
    let to = same(&mut old.chars().rev(), &mut new.chars().rev());
    let (head, tail) = (&before[..from], &old[old.len() - to..]);
    let (old, new) = (&old[..old.len() - to], &new[..new.len() - to]);
    let line = head.rfind('\n').map_or(0, |at| at + 1);
    let lines = &head[..line];
    if old.is_empty() || new.is_empty() {
        // All of it is new, or goes; the comma before it belongs to what stands there.
        let alone = |text: &str| {
            let text = text.strip_prefix(',').unwrap_or(text);
            let (place, text) = text.strip_prefix('\n').map_or(("", text), |text| ("\n", text));
            (place.to_owned(), text.trim_end_matches(['\n', ',']).to_owned())
        };
        let (place, text) = alone(if old.is_empty() { new } else { old });
        let whole = |part: &str| if part.is_empty() { String::new() } else { format!("{text}\n") };
        return (format!("{lines}{place}{}", whole(old)), format!("{lines}{place}{}", whole(new)));
    }
    let start = head.floor_char_boundary(from.saturating_sub(AROUND)).max(line);
    let line_end = tail.find('\n').unwrap_or(tail.len());
    let end = tail.ceil_char_boundary(AROUND.min(tail.len())).min(line_end);
    let ellipsis = |is_cut: bool| if is_cut { "…" } else { "" };
    let (left, right) = (ellipsis(start > line), ellipsis(end < line_end));
    let cut = |changed: &str| format!("{lines}{left}{}{changed}{}{right}\n", &head[start..], &tail[..end]);
    (cut(old), cut(new))
}

/// Makes the change, unless the file is no longer what it was when the change was planned.
pub(crate) fn apply(change: &Change) -> Result<(), Failure> {
    if change.is_noop() {
        return forget(change);
    }
    if files::read(&change.file)? != change.before {
        return Err(Failure::new(
            Code::Busy,
            format!("{} was changed by another program in the meantime", change.file.display()),
        )
        .hint("nothing was written; run the command again"));
    }
    let Some(after) = &change.after else {
        files::remove(&change.file)?;
        return forget(change);
    };
    let access = match change.scope {
        Scope::User => Access::Private,
        Scope::Project => Access::Shared,
    };
    files::make_folders(&change.file)?;
    let Memory::Write(path, record) = &change.memory else {
        files::replace(&change.file, after, access)?;
        return forget(change);
    };
    // The record comes first: a file that was changed and cannot be undone would be worse than a
    // record of a change that never happened.
    let earlier = files::read(path)?;
    // This may be the first thing that Lore ever writes, and then its folder is made here: for its owner alone.
    if let Some(home) = path.parent().and_then(Path::parent) {
        lore_store_embedded::make_home(home).map_err(|error| files::refused("create", home, error))?;
    }
    files::make_folders(path)?;
    files::replace(path, record, Access::Private)?;
    files::replace(&change.file, after, access).inspect_err(|_| {
        // The first failure is the one to report.
        drop(match &earlier {
            Some(bytes) => files::replace(path, bytes, Access::Private),
            None => files::remove(path),
        });
    })
}

fn forget(change: &Change) -> Result<(), Failure> {
    let Memory::Forget(path, folders) = &change.memory else { return Ok(()) };
    if change.after.is_none() {
        for folder in folders {
            // A folder with something in it is somebody else's by now.
            drop(std::fs::remove_dir(folder));
        }
    }
    files::remove(path)
}
