//! The situations in which storage cannot do what it was asked.

use std::{error::Error, path::PathBuf};

use lore_model::Cancelled;

/// Why a call to a store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process holds the writer's lock.
    #[error("another process is writing the index")]
    Locked,
    /// A repository of that name, or at that place, exists.
    #[error("a repository named `{name}` is registered already (at {place})")]
    RepoExists {
        /// The name it has.
        name: String,
        /// Where it is.
        place: String,
    },
    /// Something else has that name already.
    #[error("{0}")]
    Exists(String),
    /// It cannot be done as things stand.
    #[error("{0}")]
    Refused(String),
    /// There is no such row.
    #[error("{0} is not in the index")]
    Absent(String),
    /// The query took longer than it may, or was cancelled.
    #[error("the query took too long and was stopped")]
    Interrupted,
    /// The query cannot be run, not even with its words quoted.
    #[error("the query cannot be understood: {0}")]
    BadQuery(String),
    /// The index has a schema of a later version than this program knows.
    #[error("the index at {path} has schema version {found}, this program knows versions up to {known}")]
    TooNew {
        /// The file.
        path: PathBuf,
        /// The version found in it.
        found: i64,
        /// The newest version known.
        known: i64,
    },
    /// The index is not what it should be.
    #[error("the index at {path} is damaged: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// What was derived of code is not what it should be; it can be read anew from git.
    #[error("the index of code at {path} is damaged: {what}")]
    CodeDamaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// No room is left.
    #[error("no space is left for the index at {0}")]
    Full(PathBuf),
    /// The file or folder cannot be read or written.
    #[error("cannot access the index at {path}: {what}")]
    NoAccess {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        what: String,
    },
    /// Anything else that the backend reports.
    #[error("the index failed: {0}")]
    Backend(#[source] Box<dyn Error + Send + Sync>),
}

impl From<Cancelled> for StoreError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Interrupted
    }
}
