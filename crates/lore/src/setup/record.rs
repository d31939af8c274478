//! The record of a setup, from which it can be undone.
//!
//! It is not a copy of the configuration file, which may hold keys and goes on changing: only the bytes that the setup
//! replaced, and hashes that tell whether the file was changed since.

use std::path::{Path, PathBuf};

use lore_model::{Code, Failure};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{files, text};

/// The format of a record.
const VERSION: u32 = 1;

/// The record of one setup in one file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record<D> {
    version: u32,
    /// The file, for people who read the record.
    file: String,
    /// Whether the setup created the file, and which folders above it.
    pub(super) created_file: bool,
    pub(super) created_folders: Vec<String>,
    /// The changes in their order, as long as nothing else changed the file in between.
    steps: Vec<Step>,
    /// What is needed to take back the setup alone.
    #[serde(flatten)]
    pub(super) details: D,
}

/// What a setup changed, apart from the text.
pub(super) trait SetupDetails: Serialize + DeserializeOwned {
    /// Adds a later setup, so that one undo takes back both.
    fn merge(&mut self, later: Self);
}

/// An entry before the first setup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Previous {
    /// There was none.
    Absent,
    /// The source form of each field that was changed; `None` for a field that was added.
    Fields(Vec<(String, Option<String>)>),
}

impl Previous {
    /// Adds the fields that a later setup changed.
    pub(super) fn merge(&mut self, later: Self) {
        if let (Self::Fields(known), Self::Fields(fields)) = (self, later) {
            for field in fields {
                if known.iter().all(|(key, _)| *key != field.0) {
                    known.push(field);
                }
            }
        }
    }
}

/// One change of the whole text.
#[derive(Debug, Serialize, Deserialize)]
struct Step {
    start: usize,
    old: String,
    new_length: usize,
    before: String,
    after: String,
}

impl Step {
    fn new(before: &str, after: &str) -> Self {
        let (start, old_length, new_length) = text::difference(before, after);
        let old = before[start..start + old_length].to_owned();
        Self { start, old, new_length, before: hash(before), after: hash(after) }
    }
}

impl<D: SetupDetails> Record<D> {
    /// The record of a first setup.
    pub(super) fn new(file: &Path, before: Option<&str>, after: &str, folders: &[PathBuf], details: D) -> Self {
        Self {
            version: VERSION,
            file: file.display().to_string(),
            created_file: before.is_none(),
            created_folders: folders.iter().map(|folder| folder.display().to_string()).collect(),
            steps: vec![Step::new(before.unwrap_or_default(), after)],
            details,
        }
    }

    /// Adds a later setup.
    pub(super) fn extend(&mut self, before: &str, after: &str, details: D) {
        if self.is_untouched(before) {
            self.steps.push(Step::new(before, after));
        } else {
            self.steps.clear();
        }
        self.details.merge(details);
    }

    fn is_untouched(&self, text: &str) -> bool {
        self.steps.last().is_some_and(|step| step.after == hash(text))
    }

    /// The text before the first setup, if nothing else changed the file since.
    pub(super) fn rewind(&self, text: &str) -> Option<String> {
        let mut text = Some(text.to_owned()).filter(|text| self.is_untouched(text))?;
        for step in self.steps.iter().rev() {
            let (head, tail) = (text.get(..step.start)?, text.get(step.start + step.new_length..)?);
            text = Some(format!("{head}{}{tail}", step.old)).filter(|text| hash(text) == step.before)?;
        }
        Some(text)
    }

    /// Reads a record; `None` without one.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Failure> {
        let Some(bytes) = files::read(path)? else { return Ok(None) };
        match serde_json::from_slice::<Self>(&bytes) {
            Ok(record) if record.version == VERSION => Ok(Some(record)),
            Ok(record) => Err(Failure::new(
                Code::InvalidConfig,
                format!("{} has version {}, this program knows {VERSION}", path.display(), record.version),
            )
            .hint("use the Lore that wrote it, or delete it to forget how to undo that setup")),
            Err(error) => Err(Failure::new(Code::InvalidConfig, format!("cannot read {}: {error}", path.display()))
                .hint("delete it to forget how to undo that setup")
                .caused_by(error)),
        }
    }

    /// The content of the record's file.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, Failure> {
        let mut bytes = serde_json::to_vec_pretty(self)
            .map_err(|error| Failure::new(Code::Internal, format!("cannot write the record of a setup: {error}")))?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// A hash of a text (FNV-1a and the length): it recognises a change, not an attack.
pub(super) fn hash(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}-{:x}", text.len())
}
