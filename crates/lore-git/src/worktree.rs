//! What differs between the work tree and the files of a commit, without running anything.
//!
//! Contents are compared as they lie on disk: filters that the repository configures are not run. Git's index says which
//! files are as they were checked out, so these are right whatever filters there are. Nothing is written, the index
//! neither; and nothing is read but what lies in the work tree itself, reached without following a link.

use std::path::PathBuf;

use lore_model::{BlobId, RepoPath};

use crate::{
    FileKind, GitError, Ignores, Repository, Result, StatCache,
    beneath::{Content, Folder, Kind},
    compare::hash_blob,
    look::{Findings, Look},
    own_folders::{leads_into, own_folders},
    tree::is_impossible,
};

/// A file of the work tree, as it is now. Its bytes are read with [`Repository::read_work_file`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkFile {
    /// Git's name for its content; for a file that the index knows unchanged, the one that the index has.
    pub blob: BlobId,
    /// What it is.
    pub kind: FileKind,
    /// How many bytes it has.
    pub size: u64,
    /// Whether git's index has it.
    pub tracked: bool,
}

/// A path whose content is not that of the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where it is.
    pub path: RepoPath,
    /// What is there now; none where it was deleted.
    pub now: Option<WorkFile>,
}

/// Why a path could not be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// It has so many bytes, more than are read.
    TooLarge(u64),
    /// The system does not let it be read, with its words.
    Unreadable(String),
    /// It is neither a file nor a link nor a folder.
    NotAFile,
    /// It lies below too many folders.
    TooDeep,
    /// It cannot be the path of a file in a work tree.
    NoPath,
}

/// A path that was not compared. What the commit has there is not reported as deleted, unless it is [`SkipReason::NotAFile`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedPath {
    /// The file, or the folder with all that is in it.
    pub path: RepoPath,
    /// Why.
    pub why: SkipReason,
}

/// What a look at the work tree found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeChanges {
    /// What differs, sorted by path.
    pub changes: Vec<Change>,
    /// What could not be compared, sorted by path.
    pub skipped: Vec<SkippedPath>,
    /// Rules of ignore files that could not be followed, each with its file and why.
    pub notes: Vec<String>,
    /// The files and folders that were looked at, with all that is in them; what earlier looks found there is outdated.
    /// An empty path is the whole work tree.
    pub looked_at: Vec<RepoPath>,
}

/// Folders within folders that are looked into, and watched, where nothing else is said.
pub(crate) const MAX_DEPTH: usize = 200;

/// How a work tree is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeOptions {
    /// Larger files are skipped.
    pub max_file_bytes: u64,
    /// A work tree with more files and folders than this, ignored ones apart, is an error.
    pub max_entries: usize,
    /// Folders within folders.
    pub max_depth: usize,
    /// The user's own file of ignore rules ([`user_excludes`](crate::user_excludes)).
    pub user_excludes: Option<PathBuf>,
    /// Whether `.loreignore` files on disk are followed: they say what is searched, not what is there.
    pub lore_ignores: bool,
}

impl Default for WorktreeOptions {
    fn default() -> Self {
        Self {
            max_file_bytes: 16 << 20,
            max_entries: 1_000_000,
            max_depth: MAX_DEPTH,
            user_excludes: None,
            lore_ignores: true,
        }
    }
}

/// What stands at a path of the work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkPlace {
    /// Nothing.
    Gone,
    /// A folder.
    Folder,
    /// A file, or a link.
    File {
        /// What it is.
        kind: FileKind,
        /// How many bytes it has.
        size: u64,
        /// When it was last written (seconds since 1970).
        modified: i64,
    },
    /// Neither a file nor a link nor a folder.
    Other,
    /// This folder of the path is a link, which is not followed.
    BehindLink(RepoPath),
}

/// What reading a file of the work tree gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkRead {
    /// Its bytes are in the buffer.
    Read {
        /// Git's name for exactly these bytes.
        blob: BlobId,
        /// What it is.
        kind: FileKind,
    },
    /// Nothing is there, or a folder.
    Gone,
    /// It cannot be read.
    Skipped(SkipReason),
}

impl Repository {
    /// The folder whose files are the work tree; none in a bare repository.
    ///
    /// It is the folder that the repository was found in. Where else its configuration claims it to be does not count: that
    /// could be anywhere.
    pub fn work_tree(&self) -> Option<PathBuf> {
        self.local().workdir()?;
        if self.path().join(".git").exists() {
            return Some(self.path().to_owned());
        }
        let inside = self.path().file_name().is_some_and(|name| name == ".git");
        self.path().parent().filter(|_| inside).map(Into::into)
    }

    /// Compares the whole work tree with the files of a commit.
    ///
    /// `base` has all files of the commit, sorted by path ([`Tree::base`](crate::Tree::base)). Untracked files count unless
    /// git ignores them; what `ignores` or a `.loreignore` on disk excludes does not count, whether it is tracked or not.
    pub fn worktree_changes(
        &self,
        base: &[(RepoPath, BlobId)],
        ignores: &Ignores,
        cache: &mut StatCache,
        options: &WorktreeOptions,
    ) -> Result<WorktreeChanges> {
        let found = self.look(None, base, ignores, cache, options)?;
        cache.forget_unseen();
        Ok(found)
    }

    /// Compares only these files and folders, and says which were looked at: an ignore file stands for its whole folder.
    pub fn worktree_changes_at(
        &self,
        paths: &[RepoPath],
        base: &[(RepoPath, BlobId)],
        ignores: &Ignores,
        cache: &mut StatCache,
        options: &WorktreeOptions,
    ) -> Result<WorktreeChanges> {
        let mut wanted: Vec<&[u8]> = paths.iter().map(|path| stands_for(path.as_bytes())).collect();
        wanted.sort_unstable();
        let mut roots: Vec<&[u8]> = Vec::new();
        for path in wanted {
            let covered = |root: &&[u8]| {
                root.is_empty()
                    || path.strip_prefix(*root).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
            };
            // `a-b` stands between `a` and `a/b`, so more than the last has to be asked.
            if !roots.iter().rev().any(covered) {
                roots.push(path);
            }
        }
        if roots.first().is_some_and(|root| root.is_empty()) {
            return self.worktree_changes(base, ignores, cache, options);
        }
        self.look(Some(&roots), base, ignores, cache, options)
    }

    /// Looks at these files and folders, or at everything.
    fn look(
        &self,
        paths: Option<&[&[u8]]>,
        base: &[(RepoPath, BlobId)],
        ignores: &Ignores,
        cache: &mut StatCache,
        options: &WorktreeOptions,
    ) -> Result<WorktreeChanges> {
        let Some(root) = self.work_tree() else { return Ok(WorktreeChanges::default()) };
        let folder = Folder::open(&root).map_err(|error| self.unreadable("the work tree", &error))?;
        cache.load_index(self)?;
        let look = Look::new(self, base, ignores, cache.begin(), options);
        let found = match paths {
            None => look.everything(folder)?,
            Some(paths) => look.at(folder, paths)?,
        };
        let Findings { mut changes, mut skipped, mut notes, learnt } = found;
        cache.keep(learnt);
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        skipped.sort_by(|a, b| a.path.cmp(&b.path));
        notes.sort_unstable();
        notes.dedup();
        for note in cache.untold(&notes) {
            tracing::warn!(work_tree = %root.display(), note, "ignore rules are left out");
        }
        let looked_at = paths.unwrap_or(&[b""]).iter().map(|path| RepoPath::new(*path)).collect();
        Ok(WorktreeChanges { changes, skipped, notes, looked_at })
    }

    /// Reads a file of the work tree into the buffer, unless it has more than `max` bytes. No link is followed on the way.
    pub fn read_work_file(&self, path: &RepoPath, max: u64, buffer: &mut Vec<u8>) -> Result<WorkRead> {
        buffer.clear();
        let Some(root) = self.work_tree() else { return Ok(WorkRead::Gone) };
        if is_impossible(path.as_bytes()) {
            return Ok(WorkRead::Skipped(SkipReason::NoPath));
        }
        if leads_into(&own_folders(&root), path.as_bytes()) {
            return Ok(WorkRead::Gone);
        }
        match self.read_below(&root, path.as_bytes(), max, buffer) {
            Ok(read) => Ok(read),
            Err(error) if is_gone(&error) => Ok(WorkRead::Gone),
            Err(error) => Ok(WorkRead::Skipped(SkipReason::Unreadable(error.to_string()))),
        }
    }

    /// What stands at a path of the work tree. No link is followed on the way.
    pub fn work_place(&self, path: &RepoPath) -> Result<WorkPlace> {
        let Some(root) = self.work_tree() else { return Ok(WorkPlace::Gone) };
        if path.as_bytes().is_empty() {
            return Ok(WorkPlace::Folder);
        }
        if is_impossible(path.as_bytes()) {
            return Ok(WorkPlace::Gone);
        }
        if leads_into(&own_folders(&root), path.as_bytes()) {
            return Ok(WorkPlace::Gone);
        }
        match place_below(&root, path.as_bytes()) {
            Ok(place) => Ok(place),
            Err(error) if is_gone(&error) => Ok(WorkPlace::Gone),
            Err(error) => Err(self.unreadable("the work tree", &error)),
        }
    }

    fn read_below(
        &self,
        root: &std::path::Path,
        path: &[u8],
        max: u64,
        buffer: &mut Vec<u8>,
    ) -> std::io::Result<WorkRead> {
        let (folder, name) = Folder::open_above(root, path)?;
        let hash = self.local().object_hash();
        let stat = folder.stat(name)?;
        let kind = match stat.kind {
            Kind::Folder => return Ok(WorkRead::Gone),
            Kind::Other => return Ok(WorkRead::Skipped(SkipReason::NotAFile)),
            Kind::Symlink => {
                *buffer = folder.link(name)?;
                FileKind::Symlink
            }
            Kind::File => match folder.read(name, max, buffer)? {
                Content::Read { after, .. } if after.executable => FileKind::Executable,
                Content::Read { .. } => FileKind::Regular,
                Content::TooLarge(size) => return Ok(WorkRead::Skipped(SkipReason::TooLarge(size))),
                Content::NotAFile => return Ok(WorkRead::Skipped(SkipReason::NotAFile)),
            },
        };
        Ok(WorkRead::Read { blob: hash_blob(hash, buffer), kind })
    }

    pub(crate) fn too_many(&self, limit: usize) -> GitError {
        self.unreadable(
            "the work tree",
            &format_args!("it has more than {limit} files and folders that are not ignored"),
        )
    }
}

fn place_below(root: &std::path::Path, path: &[u8]) -> std::io::Result<WorkPlace> {
    let mut folder = Folder::open(root)?;
    let mut begin = 0;
    while let Some(length) = memchr::memchr(b'/', &path[begin..]) {
        let name = &path[begin..begin + length];
        if folder.stat(name)?.kind == Kind::Symlink {
            return Ok(WorkPlace::BehindLink(RepoPath::new(&path[..begin + length])));
        }
        folder = folder.folder(name)?;
        begin += length + 1;
    }
    let stat = folder.stat(&path[begin..])?;
    let kind = match stat.kind {
        Kind::Folder => return Ok(WorkPlace::Folder),
        Kind::Other => return Ok(WorkPlace::Other),
        Kind::Symlink => FileKind::Symlink,
        Kind::File if stat.executable => FileKind::Executable,
        Kind::File => FileKind::Regular,
    };
    Ok(WorkPlace::File { kind, size: stat.size, modified: stat.modified.0 })
}

/// Whether the error means that nothing is there by that path.
pub(crate) fn is_gone(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    // A link where a folder was asked for is told as one of several errors.
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) || is_loop(error)
}

#[cfg(unix)]
fn is_loop(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_loop(_: &std::io::Error) -> bool {
    false
}

/// A file of rules changes what its folder holds.
fn stands_for(path: &[u8]) -> &[u8] {
    let (folder, name) =
        path.iter().rposition(|byte| *byte == b'/').map_or((&path[..0], path), |at| (&path[..at], &path[at + 1..]));
    if matches!(name, b".gitignore" | b".loreignore") { folder } else { path }
}
