//! The files of a repository as they are now: listing them and reading them.
//!
//! In a work tree that is what lies on disk, uncommitted work included and what git ignores left out; elsewhere it is what
//! the main branch has. Nothing is kept between two questions, nothing is written, and nothing outside the repository is
//! read: every path is opened name by name, and no link is followed. Knows nothing of what is indexed.

mod list;
mod near;
mod text;

use std::path::PathBuf;

pub use list::{Depth, LISTED_MAX, ListedFile, Listing};
pub use lore_git::{BadPath, Branch, BranchTip, FileKind, Upstream, path_inside};
use lore_git::{
    BlobReader, Change, Found, Ignores, Repository, SkipReason, SkippedPath, StatCache, TreeFile, WorkPlace, WorkRead,
    WorktreeOptions,
};
use lore_model::{BranchChoice, Code, CommitId, Failure, Repo, RepoPath, brief, escape_controls};
pub(crate) use near::nearest_path;
pub use text::{Range, Shown};

use crate::git_failure;

/// Larger files are not read at all.
const READ_MAX: u64 = 64 << 20;

/// Longer targets of links are cut: no system follows them.
const TARGET_MAX: u64 = 4096;

/// Where the files of a repository are read.
#[derive(Debug, Clone)]
pub struct Place {
    /// A work tree, or a git directory.
    pub path: PathBuf,
    /// Which branches count.
    pub branches: BranchChoice,
    /// The branch that counts as the main line, where known.
    pub default_branch: Option<String>,
    /// The branch that is asked about in place of what is checked out.
    pub shown: Option<String>,
    /// The user's own file of git ignore rules.
    pub user_excludes: Option<PathBuf>,
}

impl Place {
    /// A repository, seen from one of its work trees.
    pub fn new(repo: &Repo, path: PathBuf, user_excludes: Option<PathBuf>) -> Self {
        let (branches, default_branch) = (repo.info.branches.clone(), repo.info.default_branch.clone());
        Self { path, branches, default_branch, shown: repo.shown.clone(), user_excludes }
    }
}

/// What files were read of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The work tree, as it is on disk.
    WorkTree,
    /// A commit.
    Commit,
}

/// A file with what was asked of its content.
#[derive(Debug, Clone)]
pub struct ReadFile {
    /// Its path.
    pub path: RepoPath,
    /// What it is.
    pub kind: FileKind,
    /// Its size in bytes.
    pub size: u64,
    /// Its language, by its name and its beginning.
    pub language: &'static str,
    /// Where it was read.
    pub origin: Origin,
    /// Whether it differs from what is committed.
    pub uncommitted: bool,
    /// When it was last written, where that says more than the commits do (seconds since 1970).
    pub modified: Option<i64>,
    /// What can be shown of it.
    pub shown: Shown,
}

/// A repository whose files are asked for.
pub struct Files {
    repository: Repository,
    /// The commit that is checked out, or that the main branch is at; none before the first one.
    pub commit: Option<CommitId>,
    /// The branch of that commit, where it is on one.
    pub branch: Option<String>,
    /// Whether that branch is shown in place of what is checked out.
    is_shown: bool,
    has_work_tree: bool,
    options: WorktreeOptions,
}

/// What is at a path now.
struct Now {
    kind: FileKind,
    /// What the commit has there.
    committed: Option<TreeFile>,
    uncommitted: bool,
    origin: Origin,
    size: Option<u64>,
    modified: Option<i64>,
}

impl Files {
    /// Opens the repository at this place.
    pub fn open(place: &Place) -> Result<Self, Failure> {
        let repository = Repository::open(&place.path).map_err(git_failure)?;
        // Of a branch that is shown in place of what is checked out, nothing lies on disk.
        let has_work_tree = place.shown.is_none() && repository.work_tree().is_some();
        let head = repository.head().map_err(git_failure)?;
        let (commit, branch) = if let Some(shown) = &place.shown {
            (Some(repository.get_branch(shown).map_err(git_failure)?.commit), Some(shown.clone()))
        } else if has_work_tree {
            (head.commit, head.branch)
        } else {
            let refs = repository.refs(&place.branches, place.default_branch.as_deref()).map_err(git_failure)?;
            let main = refs.default_branch.as_deref();
            let is_main = |name: &str| main.is_some_and(|main| lore_git::is_ref_of(name, main));
            let main = refs.tips.iter().find(|tip| is_main(&tip.name)).or_else(|| refs.tips.first());
            (main.map(|tip| tip.commit).or(refs.head), refs.default_branch.or(head.branch))
        };
        let options = WorktreeOptions {
            user_excludes: place.user_excludes.clone(),
            lore_ignores: false,
            ..WorktreeOptions::default()
        };
        Ok(Self { repository, commit, branch, is_shown: place.shown.is_some(), has_work_tree, options })
    }

    /// Whether there are files on disk, and not only in git.
    pub fn has_work_tree(&self) -> bool {
        self.has_work_tree
    }

    /// When the commit was made (seconds since 1970).
    pub fn committed_at(&self) -> Option<i64> {
        self.commit.and_then(|commit| self.repository.commit_time(commit).ok())
    }

    /// The local branches, at most `max` of them, and how many there are.
    pub fn branches(&self, max: usize) -> Result<(Vec<Branch>, usize), Failure> {
        let current = self.branch.as_deref().filter(|_| self.is_shown);
        self.repository.local_branches(max, current).map_err(git_failure)
    }

    /// What lies on disk at a path; nothing where files are only in git.
    fn work_place(&self, path: &RepoPath) -> Result<WorkPlace, Failure> {
        if !self.has_work_tree {
            return Ok(WorkPlace::Gone);
        }
        self.repository.work_place(path).map_err(git_failure)
    }

    /// Reads a file, or the lines of it that are asked for.
    pub fn read(&self, path: &RepoPath, range: Range) -> Result<ReadFile, Failure> {
        let path = self.meant(path)?;
        let now = self.now(&path)?.ok_or_else(|| self.not_found(&path))?;
        let mut bytes = Vec::new();
        let (kind, size) = self.read_bytes(&path, &now, &mut bytes)?;
        let (size, is_whole) = size.map_or((bytes.len() as u64, true), |size| (size, false));
        let shown = match kind {
            FileKind::Symlink => Shown::Link(String::from_utf8_lossy(&bytes).into_owned()),
            _ if !is_whole => Shown::TooLarge { lines: None },
            _ => text::show(&bytes, range).map_err(|lines| text::past_the_end(&path, lines))?,
        };
        let language = lore_chunk::Language::of(&path.to_text(), &bytes).name();
        let Now { uncommitted, origin, modified, .. } = now;
        Ok(ReadFile { path, kind, size, language, origin, uncommitted, modified, shown })
    }

    /// The bytes of a file; the size alone where there are too many.
    fn read_bytes(&self, path: &RepoPath, now: &Now, bytes: &mut Vec<u8>) -> Result<(FileKind, Option<u64>), Failure> {
        if now.origin == Origin::WorkTree {
            match self.repository.read_work_file(path, READ_MAX, bytes).map_err(git_failure)? {
                WorkRead::Read { kind, .. } => return Ok((kind, None)),
                WorkRead::Skipped(SkipReason::TooLarge(size)) => return Ok((now.kind, Some(size))),
                WorkRead::Skipped(why) => return Err(unreadable(path, &skip_reason(&why))),
                // It went away just now.
                WorkRead::Gone => return Err(self.not_found(path)),
            }
        }
        let Some(file) = &now.committed else { return Err(self.not_found(path)) };
        let max = if file.kind == FileKind::Symlink { TARGET_MAX } else { READ_MAX };
        match self.repository.blobs().read(file.blob, max, bytes).map_err(git_failure)? {
            Found::Read => Ok((file.kind, None)),
            Found::TooLarge(size) => Ok((file.kind, Some(size))),
            Found::Missing => Err(unreadable(path, "this clone does not hold its content (a partial clone)")),
        }
    }

    /// What is at a path now; none where there is no file that counts.
    fn now(&self, path: &RepoPath) -> Result<Option<Now>, Failure> {
        let committed = match self.commit {
            Some(commit) => self.repository.find_file(commit, path).map_err(git_failure)?,
            None => None,
        };
        let as_committed = |file: TreeFile| Now {
            kind: file.kind,
            committed: Some(file),
            uncommitted: false,
            origin: Origin::Commit,
            size: None,
            modified: None,
        };
        if !self.has_work_tree {
            return Ok(committed.map(as_committed));
        }
        let base: Vec<_> = committed.iter().map(|file| (file.path.clone(), file.blob)).collect();
        let looked = self.repository.worktree_changes_at(
            std::slice::from_ref(path),
            &base,
            &Ignores::default(),
            &mut StatCache::default(),
            &self.options,
        );
        let looked = looked.map_err(git_failure)?;
        let change = looked.changes.into_iter().find(|change| change.path == *path);
        let skipped = looked.skipped.into_iter().find(|skipped| skipped.path == *path);
        let uncommitted = match (change, skipped) {
            (Some(Change { now: None, .. }), _) => return Err(deleted(path)),
            // What is too large to be compared may be what is committed; nobody can tell without reading it.
            (Some(Change { now: Some(_), .. }), _) | (None, Some(SkippedPath { why: SkipReason::TooLarge(_), .. })) => {
                true
            }
            (None, Some(skipped)) => return Err(unreadable(path, &skip_reason(&skipped.why))),
            (None, None) if committed.is_some() => false,
            (None, None) => return Ok(None),
        };
        match self.work_place(path)? {
            WorkPlace::File { kind, size, modified } => Ok(Some(Now {
                kind,
                committed,
                uncommitted,
                origin: Origin::WorkTree,
                size: Some(size),
                modified: uncommitted.then_some(modified),
            })),
            // Git was told not to put it there.
            WorkPlace::Gone if !uncommitted => Ok(committed.map(as_committed)),
            _ => Ok(None),
        }
    }

    /// The path that was meant: as it is, or the one that is shown like it because its bytes are no text.
    fn meant(&self, path: &RepoPath) -> Result<RepoPath, Failure> {
        let text = path.to_text();
        let is_odd = text.contains('\u{fffd}') || text.contains("<U+");
        let odd = |other: &RepoPath| {
            let shown = other.to_text();
            other != path && (shown == text || escape_controls(&shown) == text)
        };
        if !is_odd {
            return Ok(path.clone());
        }
        let files = self.survey(&RepoPath::from(""))?.files;
        let mut found = files.into_iter().map(|file| file.path).filter(odd);
        Ok(found.next().filter(|_| found.next().is_none()).unwrap_or_else(|| path.clone()))
    }

    /// Says what is wrong with a path at which there is no file.
    fn not_found(&self, path: &RepoPath) -> Failure {
        let invalid = |message: String| Failure::new(Code::InvalidArgument, message);
        let text = path.to_text();
        let name = brief(&text);
        match self.work_place(path) {
            Ok(WorkPlace::BehindLink(link)) => {
                return invalid(format!(
                    "`{name}` cannot be read: `{link}` is a symbolic link, and links are not followed"
                ))
                .hint(format!("`get_file_content` with `{link}` shows where it leads"));
            }
            Ok(WorkPlace::Other) => return invalid(format!("`{name}` is neither a file nor a folder")),
            _ => {}
        }
        let files = self.survey(&RepoPath::from("")).map(|listed| listed.files).unwrap_or_default();
        if files.iter().any(|file| list::is_below(&file.path, path)) || path.as_bytes().is_empty() {
            return invalid(format!("`{name}` is a folder")).hint("`list_files` lists the files of a folder");
        }
        let failure = invalid(format!("there is no file `{name}`, or git ignores it"));
        let paths: Vec<_> = files.iter().map(|file| file.path.to_text()).collect();
        match nearest_path(&text, paths.iter().map(AsRef::as_ref)) {
            Some(near) => {
                failure.hint(format!("did you mean `{near}`? `list_files` shows what there is")).quoting_repository()
            }
            None => failure.hint("`list_files` or `browse_directory` shows what there is"),
        }
    }

    /// The place that a link names, as text.
    fn target(&self, file: &Now, path: &RepoPath, blobs: &mut Option<BlobReader>) -> Option<String> {
        let mut bytes = Vec::new();
        if file.origin == Origin::WorkTree {
            let read = self.repository.read_work_file(path, TARGET_MAX, &mut bytes).ok()?;
            return matches!(read, WorkRead::Read { kind: FileKind::Symlink, .. })
                .then(|| String::from_utf8_lossy(&bytes).into_owned());
        }
        let blobs = blobs.get_or_insert_with(|| self.repository.blobs());
        let found = blobs.read(file.committed.as_ref()?.blob, TARGET_MAX, &mut bytes).ok()?;
        (found == Found::Read).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn deleted(path: &RepoPath) -> Failure {
    let text = path.to_text();
    Failure::new(
        Code::InvalidArgument,
        format!("`{}` was deleted in the working tree, and that is not committed", brief(&text)),
    )
    .hint("the history tools tell what it was; `list_files` shows what there is now")
}

fn unreadable(path: &RepoPath, why: &str) -> Failure {
    let text = path.to_text();
    Failure::new(Code::NoAccess, format!("`{}` cannot be read: {why}", brief(&text)))
}

fn skip_reason(why: &SkipReason) -> String {
    match why {
        SkipReason::TooLarge(size) => format!("it has {size} bytes"),
        SkipReason::Unreadable(error) => error.clone(),
        SkipReason::NotAFile => "it is neither a file nor a folder".to_owned(),
        SkipReason::TooDeep => "it lies below too many folders".to_owned(),
        SkipReason::NoPath => "it cannot be the path of a file".to_owned(),
    }
}
