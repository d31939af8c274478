//! What is remembered of a setup of lazygit so that it can be undone.

use std::path::{Path, PathBuf};

use lore_model::Failure;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        hosts::Place,
        record::{self, Step, VERSION},
    },
    list::Item,
};

/// All that is remembered of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    /// The file, for people who look in here.
    file: String,
    /// Whether the file, and which folders above it, came with the setup.
    pub(super) created_file: bool,
    pub(super) created_folders: Vec<String>,
    /// What stood for the list when it had no entries: `None` when there was no list at all.
    pub(super) empty_list: Option<String>,
    /// What our two entries were.
    pub(super) previous: [Previous; 2],
    /// The old program's entries that ours took the place of.
    pub(super) replaced: Vec<Kept>,
    /// The changes in their order, as long as nobody else changed the file in between.
    pub(super) steps: Vec<Step>,
}

/// An entry of ours before the first setup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Previous {
    /// It was not there.
    Absent,
    /// The text of each field that was changed.
    Fields(Vec<(String, String)>),
}

/// An entry that was taken out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kept {
    /// It was written as lines.
    Lines(String),
    /// It stood in brackets.
    Bracketed(String),
}

impl Kept {
    /// Keeps an entry.
    pub(super) fn of(item: Item) -> Option<Self> {
        item.block.map(Self::Lines).or(item.flow.map(Self::Bracketed))
    }

    /// The entry, to be put in again.
    pub(super) fn item(&self) -> Option<Item> {
        match self {
            Self::Lines(text) => Item::lines(text.clone()),
            Self::Bracketed(text) => Item::bracketed(text.clone()),
        }
    }

    /// Its text.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Lines(text) | Self::Bracketed(text) => text,
        }
    }
}

impl Record {
    /// The record of a first setup.
    pub(super) fn new(file: &Path, previous: [Previous; 2]) -> Self {
        Self {
            version: VERSION,
            file: file.display().to_string(),
            created_file: false,
            created_folders: Vec::new(),
            empty_list: None,
            previous,
            replaced: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Joins this setup to an earlier one that is still in place, so that one undo takes back both.
    pub(super) fn after(self, earlier: Option<Self>, old: &str, new: &str) -> Self {
        let step = Step::new(old, new);
        let Some(mut record) = earlier else { return Self { steps: vec![step], ..self } };
        if record::is_untouched(&record.steps, old) {
            record.steps.push(step);
        } else {
            record.steps.clear();
        }
        for (known, new) in record.previous.iter_mut().zip(self.previous) {
            if let (Previous::Fields(known), Previous::Fields(fields)) = (known, new) {
                for field in fields {
                    if known.iter().all(|(name, _)| *name != field.0) {
                        known.push(field);
                    }
                }
            }
        }
        record.replaced.extend(self.replaced);
        record
    }

    /// Where the record of a file is kept.
    pub(super) fn path(place: &Place, file: &Path) -> PathBuf {
        place.state_dir.join(format!("lazygit-{}.json", record::mark(&file.to_string_lossy())))
    }

    /// Reads a record; `None` when there is none.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Failure> {
        record::from_file(path, |record: &Self| record.version)
    }

    /// The record as it is kept.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, Failure> {
        record::to_bytes(self)
    }
}
