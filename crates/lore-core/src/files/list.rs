//! Lists the files of a folder: what the commit has, with what was done to it since laid over.

use std::collections::BTreeMap;

use lore_git::{FileKind, Ignores, SkipReason, StatCache, TreeFile, TreeLimits, WorkPlace};
use lore_model::{Code, Failure, RepoPath, brief, closest};

use super::{Files, Now, Origin};
use crate::git_failure;

/// So many files, and so many folders, are listed at most.
pub const LISTED_MAX: usize = 10_000;

/// Which files below a folder are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Those in the folder itself.
    Folder,
    /// All of them.
    Everything,
}

/// A file of a list.
#[derive(Debug, Clone)]
pub struct ListedFile {
    /// Its path.
    pub path: RepoPath,
    /// What it is.
    pub kind: FileKind,
    /// Its size in bytes; none where a partial clone does not hold it.
    pub size: Option<u64>,
    /// The place that a link names.
    pub target: Option<String>,
    /// Its language, by its name.
    pub language: &'static str,
    /// Whether it differs from what is committed.
    pub uncommitted: bool,
    /// When it was last written, where that says more than the commits do (seconds since 1970).
    pub modified: Option<i64>,
}

/// The files of a folder.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The folder; empty for the root.
    pub folder: RepoPath,
    /// Its files by path, at most [`LISTED_MAX`].
    pub files: Vec<ListedFile>,
    /// How many files there are.
    pub total: usize,
    /// The folders in it, with how many files are below each, at most [`LISTED_MAX`]; empty where everything is listed.
    pub folders: Vec<(RepoPath, usize)>,
    /// How many folders there are in it.
    pub folders_total: usize,
    /// Submodules, which are not looked into.
    pub submodules: u64,
    /// Entries with names that no file can have.
    pub impossible: usize,
}

/// Every file below a folder, before anything is asked about them.
pub(super) struct Survey {
    pub(super) files: Vec<Surveyed>,
    submodules: u64,
    impossible: usize,
}

pub(super) struct Surveyed {
    pub(super) path: RepoPath,
    committed: Option<TreeFile>,
    uncommitted: bool,
}

impl Files {
    /// Lists the files of a folder, or the one file of that path.
    pub fn list(&self, folder: &RepoPath, depth: Depth) -> Result<Listing, Failure> {
        let survey = self.survey(folder)?;
        let is_file = survey.files.iter().any(|file| file.path == *folder);
        let below = |path: &RepoPath| is_below(path, folder) || path == folder;
        let files: Vec<&Surveyed> = survey.files.iter().filter(|file| below(&file.path)).collect();
        if files.is_empty() && !folder.as_bytes().is_empty() {
            return Err(self.no_folder(folder));
        }
        let mut folders: BTreeMap<RepoPath, usize> = BTreeMap::new();
        let start = if folder.as_bytes().is_empty() { 0 } else { folder.as_bytes().len() + 1 };
        let mut listed: Vec<&Surveyed> = Vec::new();
        for file in files {
            let bytes = file.path.as_bytes();
            let inner = bytes.get(start..).and_then(|rest| rest.iter().position(|byte| *byte == b'/'));
            match inner.filter(|_| depth == Depth::Folder && !is_file) {
                Some(at) => *folders.entry(RepoPath::new(&bytes[..start + at])).or_default() += 1,
                None => listed.push(file),
            }
        }
        let (total, folders_total) = (listed.len(), folders.len());
        let mut blobs = None;
        let files = listed.into_iter().take(LISTED_MAX).filter_map(|file| self.listed(file, &mut blobs).transpose());
        Ok(Listing {
            folder: folder.clone(),
            files: files.collect::<Result<_, _>>()?,
            total,
            folders: folders.into_iter().take(LISTED_MAX).collect(),
            folders_total,
            submodules: survey.submodules,
            impossible: survey.impossible,
        })
    }

    /// How many files there are, and how many bytes they have as far as that is known.
    pub fn measure(&self) -> Result<(usize, u64), Failure> {
        let survey = self.survey(&RepoPath::from(""))?;
        let mut blobs = None;
        let mut bytes = 0;
        for file in &survey.files {
            bytes += self.listed(file, &mut blobs)?.and_then(|file| file.size).unwrap_or(0);
        }
        Ok((survey.files.len(), bytes))
    }

    /// Every file that counts, below a folder or at that path.
    pub(super) fn survey(&self, folder: &RepoPath) -> Result<Survey, Failure> {
        let tree = match self.commit {
            Some(commit) => self.repository.tree_of(commit, &TreeLimits::default()).map_err(git_failure)?,
            None => lore_git::Tree::default(),
        };
        let (submodules, impossible) = (tree.submodules, tree.skipped.len());
        let base = tree.base();
        let as_committed = |file: TreeFile| (file.path.clone(), (Some(file), false));
        let mut files: BTreeMap<RepoPath, (Option<TreeFile>, bool)> =
            tree.files.into_iter().map(as_committed).collect();
        if self.has_work_tree {
            let (ignores, mut cache) = (Ignores::default(), StatCache::default());
            let looked = if folder.as_bytes().is_empty() {
                self.repository.worktree_changes(&base, &ignores, &mut cache, &self.options)
            } else {
                let paths = std::slice::from_ref(folder);
                self.repository.worktree_changes_at(paths, &base, &ignores, &mut cache, &self.options)
            };
            let looked = looked.map_err(git_failure)?;
            for change in looked.changes {
                match change.now {
                    None => drop(files.remove(&change.path)),
                    Some(_) => files.entry(change.path).or_default().1 = true,
                }
            }
            for skipped in looked.skipped {
                match skipped.why {
                    SkipReason::TooLarge(_) => files.entry(skipped.path).or_default().1 = true,
                    SkipReason::NotAFile => drop(files.remove(&skipped.path)),
                    // It is there, and that is all that is known.
                    SkipReason::Unreadable(_) | SkipReason::TooDeep | SkipReason::NoPath => {}
                }
            }
        }
        let files = files.into_iter().map(|(path, (committed, uncommitted))| Surveyed { path, committed, uncommitted });
        Ok(Survey { files: files.collect(), submodules, impossible })
    }

    /// What is said of a file in a list; none where it went away meanwhile.
    fn listed(&self, file: &Surveyed, blobs: &mut Option<lore_git::BlobReader>) -> Result<Option<ListedFile>, Failure> {
        let Surveyed { path, committed, uncommitted } = file;
        let place = self.work_place(path)?;
        let now = match (place, committed) {
            (WorkPlace::File { kind, size, modified }, _) => Now {
                kind,
                committed: committed.clone(),
                uncommitted: *uncommitted,
                origin: Origin::WorkTree,
                size: Some(size),
                modified: uncommitted.then_some(modified),
            },
            (_, Some(tree_file)) if !uncommitted => {
                let reader = blobs.get_or_insert_with(|| self.repository.blobs());
                let size = reader.size(tree_file.blob).map_err(git_failure)?;
                let kind = tree_file.kind;
                Now {
                    kind,
                    committed: committed.clone(),
                    uncommitted: false,
                    origin: Origin::Commit,
                    size,
                    modified: None,
                }
            }
            _ => return Ok(None),
        };
        let target = if now.kind == FileKind::Symlink { self.target(&now, path, blobs) } else { None };
        Ok(Some(ListedFile {
            path: path.clone(),
            kind: now.kind,
            size: now.size,
            target,
            language: lore_chunk::Language::of(&path.to_text(), b"").name(),
            uncommitted: now.uncommitted,
            modified: now.modified,
        }))
    }

    /// Says what is wrong with a folder in which there is nothing.
    fn no_folder(&self, folder: &RepoPath) -> Failure {
        let invalid = |message: String| Failure::new(Code::InvalidArgument, message);
        let text = folder.to_text();
        let name = brief(&text);
        if let Ok(WorkPlace::BehindLink(link)) = self.work_place(folder) {
            return invalid(format!(
                "`{name}` cannot be listed: `{link}` is a symbolic link, and links are not followed"
            ))
            .hint(format!("`get_file_content` with `{link}` shows where it leads"));
        }
        let survey = self.survey(&RepoPath::from("")).map(|survey| survey.files).unwrap_or_default();
        let (mut folders, mut last, mut bytes) = (Vec::new(), String::new(), 0);
        for file in &survey {
            let path = file.path.to_text().into_owned();
            // Those that it shares with the path before are known; where there are very many, the first are enough.
            let shared = path.bytes().zip(last.bytes()).take_while(|(a, b)| a == b).count();
            let new = path.match_indices('/').map(|(at, _)| at).filter(|at| *at >= shared);
            for at in new {
                bytes += at;
                if bytes > SUGGESTED_BYTES {
                    break;
                }
                folders.push(path[..at].to_owned());
            }
            last = path;
        }
        folders.sort_unstable();
        folders.dedup();
        let failure = invalid(format!("there is no folder `{name}`, or nothing in it that git does not ignore"));
        match closest(&text, folders.iter().map(String::as_str)) {
            Some(near) => {
                failure.hint(format!("did you mean `{near}`? Without `path` the root is listed")).quoting_repository()
            }
            None => failure.hint("without `path` the root is listed"),
        }
    }
}

/// So many bytes of folders' names are compared with one that is not there.
const SUGGESTED_BYTES: usize = 4 << 20;

/// Whether a path lies in a folder, at any depth.
pub(super) fn is_below(path: &RepoPath, folder: &RepoPath) -> bool {
    let (path, folder) = (path.as_bytes(), folder.as_bytes());
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with(b"/"))
}
