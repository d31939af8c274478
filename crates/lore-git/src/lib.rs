//! Reads git repositories: refs in-process, commits and diffs from the `git` program's own stream; clones and fetches.
//!
//! The `git` program never runs inside a repository that is not Lore's: its configuration, attributes and hooks could
//! run programs. It runs in an empty bare directory of Lore's own that borrows the repository's objects ([`Reader`]).
//! This crate stores nothing and knows nothing of what is indexed already.
#![forbid(unsafe_code)]

mod error;
mod mailmap;
mod mirror;
mod missing;
mod own_dir;
mod probe;
mod program;
mod reader;
mod repository;
mod stream;

pub use error::GitError;
pub use mailmap::Mailmap;
pub use mirror::{CloneUrl, Mirror};
pub use probe::RefProbe;
pub use program::{Cancel, Git};
pub use reader::{Diff, ReadCommit, Reader, Scope};
pub use repository::{Refs, Repository};

/// The result of reading git.
pub type Result<T, E = GitError> = std::result::Result<T, E>;
