//! The situations in which a repository cannot be read.

use std::{io, path::PathBuf, time::Duration};

/// Why reading git failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Nothing is there.
    #[error("{0} does not exist")]
    Vanished(PathBuf),
    /// Something is there, but no repository that can be read.
    #[error("{path} is not a git repository: {why}")]
    NotARepository {
        /// The place.
        path: PathBuf,
        /// What was found instead.
        why: String,
    },
    /// A repository is there whose refs or objects cannot be read.
    #[error("cannot read {what} of {path}: {why}")]
    Unreadable {
        /// The repository.
        path: PathBuf,
        /// The part that failed.
        what: &'static str,
        /// What was said.
        why: String,
    },
    /// The branch does not exist.
    #[error("{path} has no branch `{branch}`")]
    NoSuchBranch {
        /// The repository.
        path: PathBuf,
        /// The branch asked for.
        branch: String,
        /// The branches that exist.
        known: Vec<String>,
    },
    /// The text is not a URL that Lore fetches from.
    #[error("`{url}` cannot be cloned: {why}")]
    BadUrl {
        /// The text, without anything secret.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The program could not be started.
    #[error("the `git` program could not be started: {0}")]
    NoProgram(#[source] io::Error),
    /// The program ended with an error.
    #[error("`git {command}` failed: {stderr}")]
    Failed {
        /// The subcommand.
        command: String,
        /// What it said.
        stderr: String,
    },
    /// The program was killed or ran out of memory: nothing is wrong with the repository.
    #[error("`git {command}` was cut off: {how}")]
    CutOff {
        /// The subcommand.
        command: String,
        /// What ended it.
        how: String,
    },
    /// The program was ended because it took too long.
    #[error("`git {command}` took longer than {} s", limit.as_secs())]
    TooSlow {
        /// The subcommand.
        command: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// The program printed something that is not what it prints.
    #[error("the output of `git` could not be understood: {0}")]
    Stream(String),
    /// A file of Lore's own could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Cancelled,
}

impl GitError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
