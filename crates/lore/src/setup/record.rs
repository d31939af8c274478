//! What is remembered of a setup so that it can be undone.
//!
//! Not a copy of the host's file: that may hold keys, and the file goes on changing. Kept are the
//! bytes that the setup itself took out, and marks by which an untouched file is recognised.

use std::path::{Path, PathBuf};

use lore_model::{Code, Failure};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    Registration, edit, files,
    hosts::{Host, Place, Scope},
    server::Program,
};

/// The present form of a record.
pub(super) const VERSION: u32 = 1;

/// All that is remembered of one server in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    /// The file, for people who look in here.
    file: String,
    /// Whether the file, and which folders above it, came with the setup.
    pub(super) created_file: bool,
    pub(super) created_folders: Vec<String>,
    /// Whether the list of servers came with it.
    pub(super) created_list: bool,
    /// What the entry was.
    pub(super) previous: Previous,
    /// What the setup wrote.
    pub(super) command: String,
    pub(super) args: Vec<String>,
    /// The changes in their order, as long as nobody else changed the file in between.
    pub(super) steps: Vec<Step>,
}

/// The entry before the first setup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Previous {
    /// There was none.
    Absent,
    /// The text of each field that was changed; `None` for a field that was added.
    Fields(Vec<(String, Option<String>)>),
}

/// One change of the whole text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Step {
    start: usize,
    old: String,
    new_length: usize,
    before: String,
    after: String,
}

impl Record {
    /// The record of a first setup.
    pub(super) fn new(file: &Path, command: &str, registration: &Registration) -> Self {
        Self {
            version: VERSION,
            file: file.display().to_string(),
            created_file: false,
            created_folders: Vec::new(),
            created_list: false,
            previous: Previous::Absent,
            command: command.to_owned(),
            args: registration.args.clone(),
            steps: Vec::new(),
        }
    }

    /// Joins this setup to an earlier one that is still in place, so that one undo takes back both.
    pub(super) fn after(self, earlier: Option<Self>, current: Option<&Program>, old: &str, new: &str) -> Self {
        let step = Step::new(old, new);
        let Some(mut record) = earlier.filter(|earlier| earlier.owns(current)) else {
            return Self { steps: vec![step], ..self };
        };
        if record.is_untouched(old) {
            record.steps.push(step);
        } else {
            record.steps.clear();
        }
        if let (Previous::Fields(known), Previous::Fields(fields)) = (&mut record.previous, self.previous) {
            for field in fields {
                if known.iter().all(|(key, _)| *key != field.0) {
                    known.push(field);
                }
            }
        }
        record.command = self.command;
        record.args = self.args;
        record
    }

    /// Whether an entry is still the one that was written, or at least starts Lore.
    pub(super) fn owns(&self, program: Option<&Program>) -> bool {
        program
            .is_some_and(|program| program.is_lore() || (program.command == self.command && program.args == self.args))
    }

    /// Whether the file is byte for byte what the last setup wrote.
    pub(super) fn is_untouched(&self, text: &str) -> bool {
        is_untouched(&self.steps, text)
    }

    /// The file as it was before the first setup; only for an untouched file.
    pub(super) fn rewind(&self, text: &str) -> Option<String> {
        rewind(&self.steps, text)
    }

    /// Where the record of a server is kept.
    pub(super) fn path(host: Host, scope: Scope, place: &Place, name: &str) -> Result<PathBuf, Failure> {
        let project = match scope {
            Scope::User => String::new(),
            // Every project has a file of its own.
            Scope::Project => format!("-{}", mark(&host.file(place, scope)?.to_string_lossy())),
        };
        Ok(place.state_dir.join(format!("{}-{}-{name}{project}.json", host.name(), scope.name())))
    }

    /// Reads a record; `None` when there is none.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Failure> {
        from_file(path, |record: &Self| record.version)
    }

    /// The record as it is kept.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, Failure> {
        to_bytes(self)
    }
}

/// Any record as it is kept.
pub(super) fn to_bytes(record: &impl Serialize) -> Result<Vec<u8>, Failure> {
    let mut text = serde_json::to_string_pretty(record)
        .map_err(|error| Failure::new(Code::Internal, format!("cannot write down a setup: {error}")))?;
    text.push('\n');
    Ok(text.into_bytes())
}

/// Any record from its file; `None` when there is none.
pub(super) fn from_file<R: DeserializeOwned>(path: &Path, version: fn(&R) -> u32) -> Result<Option<R>, Failure> {
    let Some(bytes) = files::read(path)? else { return Ok(None) };
    match serde_json::from_slice::<R>(&bytes) {
        Ok(record) if version(&record) == VERSION => Ok(Some(record)),
        Ok(record) => Err(Failure::new(
            Code::InvalidConfig,
            format!("{} has version {}, this program knows {VERSION}", path.display(), version(&record)),
        )
        .hint("use the Lore that wrote it, or delete it to forget how to undo that setup")),
        Err(error) => Err(Failure::new(Code::InvalidConfig, format!("cannot read {}: {error}", path.display()))
            .hint("delete it to forget how to undo that setup")
            .caused_by(error)),
    }
}

/// Whether a text is what the last of the steps left.
pub(super) fn is_untouched(steps: &[Step], text: &str) -> bool {
    steps.last().is_some_and(|step| step.after == mark(text))
}

/// The text before the first of the steps; `None` when it is not what the last of them left.
pub(super) fn rewind(steps: &[Step], text: &str) -> Option<String> {
    let mut text = text.to_owned();
    for step in steps.iter().rev() {
        let (start, end) = (text.get(..step.start)?, text.get(step.start + step.new_length..)?);
        text = format!("{start}{}{end}", step.old);
        if mark(&text) != step.before {
            return None;
        }
    }
    Some(text)
}

impl Step {
    /// The change from one text to another.
    pub(super) fn new(before: &str, after: &str) -> Self {
        let (start, old_length, new_length) = edit::difference(before, after);
        let old = before[start..start + old_length].to_owned();
        Self { start, old, new_length, before: mark(before), after: mark(after) }
    }
}

/// A short mark of a text (FNV-1a and the length): recognises a change, not an attack.
pub(super) fn mark(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}-{:x}", text.len())
}
