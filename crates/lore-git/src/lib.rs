//! Reads git repositories: refs in-process, commits and diffs from the `git` program's own stream; clones and fetches.
//!
//! The `git` program never runs inside a repository that is not Lore's: its configuration, attributes and hooks could
//! run programs. It runs in an empty bare directory of Lore's own that borrows the repository's objects ([`Reader`]).
//! This crate stores nothing and knows nothing of what is indexed already.
#![forbid(unsafe_code)]

mod addresses;
mod beneath;
mod blame;
mod blobs;
mod branches;
mod compare;
mod ending;
mod error;
mod failure;
mod first_parents;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod head;
mod ignores;
mod inside;
mod left;
mod look;
mod mailmap;
mod mirror;
mod missing;
mod own_dir;
mod own_folders;
mod policy;
mod probe;
mod program;
mod quoted;
mod reader;
mod repository;
mod sieve;
mod sorted;
mod stat_cache;
mod stream;
mod tree;
mod walk;
mod watch;
mod weight;
mod worktree;

pub use blame::{Blame, BlamedCommit, BlamedRun};
pub use blobs::{BlobReader, Found};
pub use branches::{Branch, BranchTip, Upstream};
pub use error::GitError;
pub use failure::git_failure;
pub use first_parents::PathChange;
pub use head::{Head, read_beneath};
pub use ignores::{Ignores, user_excludes};
pub use inside::{BadPath, path_inside};
pub use lore_model::Cancel;
pub use mailmap::Mailmap;
pub use mirror::{CloneUrl, Fetching, Mirror};
pub use policy::{HostRule, RemotePolicy, Resolve};
pub use probe::RefProbe;
pub use program::Git;
pub use quoted::unquote_path;
pub use reader::{Diff, ReadCommit, Reader, Scope};
pub use repository::{Refs, Repository, is_branch_name, is_ref_of};
pub use stat_cache::StatCache;
pub use tree::{FileKind, SkippedEntry, Tree, TreeFile, TreeLimits};
pub use watch::{Event, WatchOptions, Watcher, Watching};
pub use worktree::{Change, SkipReason, SkippedPath, WorkFile, WorkPlace, WorkRead, WorktreeChanges, WorktreeOptions};

/// The result of reading git.
pub type Result<T, E = GitError> = std::result::Result<T, E>;
