//! The past of code: which content stood at which path, between which commits of the first-parent line.
//!
//! Commits of the line are numbered from the oldest, which is 0.

use std::{fmt, ops::Range, sync::Arc};

use lore_model::{BlobId, CommitId, LineCommit, RepoId, RepoPath};

use crate::BlobKey;

/// What a path has from some commit on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewVersion {
    /// The number of the commit.
    pub commit: u32,
    /// The path.
    pub path: RepoPath,
    /// Its content; `None` where it is gone.
    pub key: Option<BlobKey>,
}

/// The past of a repository as it is to be kept.
#[derive(Debug, Clone)]
pub struct NewPast {
    /// The moment (seconds since 1970).
    pub at: i64,
    /// Everything but the content that decides how content is read.
    pub rules: String,
    /// Everything else that decides which files are taken.
    pub scope: String,
    /// So many of the commits that are kept stay, with what they did.
    pub keep: u32,
    /// The commits after those.
    pub commits: Vec<LineCommit>,
    /// What they did. Content that the store does not hold is left out, and the past is not complete.
    pub changes: Vec<NewVersion>,
}

/// What is known of a past without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastInfo {
    /// Another number whenever it was written.
    pub number: i64,
    /// When it was last brought up to date; `None` where it is only wanted yet.
    pub at: Option<i64>,
    /// Everything but the content that decided how content was read.
    pub rules: String,
    /// Everything else that decided which files were taken.
    pub scope: String,
    /// The newest commit.
    pub tip: Option<CommitId>,
    /// How many commits the line has.
    pub commits: u64,
    /// How many versions of files.
    pub versions: u64,
    /// How many different chunks these have.
    pub chunks: u64,
    /// Bytes that keep it, beside the chunks themselves.
    pub bytes: u64,
    /// Whether all content was there.
    pub complete: bool,
}

/// What happened to a chunk at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Touch {
    /// It came with a file that was not there before.
    Added,
    /// It came into a file, or left one that stayed.
    Modified,
    /// It went with its file.
    Deleted,
}

/// Whether it counts that the commit with this number did this at this path.
pub type TouchFilter = Arc<dyn Fn(u32, &RepoPath, Touch) -> bool + Send + Sync>;

/// Which part of a past a view shows.
///
/// Each chunk is shown once for each path, in the newest version of the file that has it and counts.
#[derive(Clone, Default)]
pub struct PastSlice {
    /// Commits whose trees count: ranges of numbers, ascending and apart.
    pub commits: Vec<Range<u32>>,
    /// Whether paths count that the newest commit of the line does not have.
    pub removed: bool,
    /// Whether only chunks count that the newest commit of the line does not have at that path.
    pub gone: bool,
    /// Only chunks to which something happened that this takes.
    pub touched: Option<TouchFilter>,
}

impl fmt::Debug for PastSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PastSlice")
            .field("commits", &self.commits)
            .field("removed", &self.removed)
            .field("gone", &self.gone)
            .field("touched", &self.touched.is_some())
            .finish()
    }
}

/// A past and what of it is shown.
#[derive(Debug, Clone)]
pub struct PastPart {
    /// The repository.
    pub repo: RepoId,
    /// The number of its past.
    pub number: i64,
    /// What of it.
    pub slice: PastSlice,
}

/// What stood at a path for some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathVersion {
    /// From the first of these commits on, and no longer at the end of the range.
    pub commits: Range<u32>,
    /// The content.
    pub blob: BlobId,
    /// Whether that is no text.
    pub binary: bool,
}
