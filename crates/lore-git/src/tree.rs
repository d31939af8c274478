//! The files of a commit: every path with its blob, read in-process.
//!
//! A tree is foreign input. Names that no checkout could have (`..`, `.git`, an empty one) are reported and not followed,
//! and a tree that names more than anybody can list ends with an error. Nothing is written and no content is read here.

use std::{collections::HashMap, rc::Rc};

use gix::objs::{FindExt as _, tree::EntryKind};
use lore_model::{BlobId, CommitId, RepoPath};

use crate::{GitError, Repository, Result, repository::object_id};

/// What a path of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    /// A file.
    Regular,
    /// A file that can be run.
    Executable,
    /// A symbolic link: its content is the place that it names.
    Symlink,
}

/// One file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// Where it is.
    pub path: RepoPath,
    /// What it holds.
    pub blob: BlobId,
    /// What it is.
    pub kind: FileKind,
}

/// An entry that was left out, with everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedEntry {
    /// Where it claims to be.
    pub path: RepoPath,
    /// What is wrong with it.
    pub why: &'static str,
}

/// The files of a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// Every file, sorted by the bytes of its path; no path occurs twice.
    pub files: Vec<TreeFile>,
    /// How many submodules there are; they are not looked into.
    pub submodules: u64,
    /// Entries with impossible names.
    pub skipped: Vec<SkippedEntry>,
}

impl Tree {
    /// Paths and contents alone, as a look at the work tree compares with.
    pub fn base(&self) -> Vec<(RepoPath, BlobId)> {
        self.files.iter().map(|file| (file.path.clone(), file.blob)).collect()
    }
}

/// How much of a tree is read before it counts as hostile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeLimits {
    /// Entries, folders included.
    pub max_entries: usize,
    /// Folders within folders; what lies deeper is left out.
    pub max_depth: usize,
    /// The bytes of all paths together: twelve small objects can name gigabytes of them.
    pub max_path_bytes: usize,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self { max_entries: 1_000_000, max_depth: 2_048, max_path_bytes: 512 << 20 }
    }
}

impl Repository {
    /// Lists the files of a commit.
    pub fn tree_of(&self, commit: CommitId, limits: &TreeLimits) -> Result<Tree> {
        let repo = self.local();
        let mut objects = repo.objects;
        // The history is read without replacements, so the trees are as well.
        objects.ignore_replacements = true;
        let mut walk = Walk { repository: self, commit, limits, tree: Tree::default(), entries: 0, path_bytes: 0 };
        let mut buffer = Vec::new();
        let root =
            objects.find_commit(&object_id(commit), &mut buffer).map_err(|error| walk.unreadable(&error))?.tree();
        let mut reader = FolderReader { objects, buffer: Vec::new(), known: HashMap::new() };
        let mut folders = vec![reader.open(root, 0, &mut walk)?];
        let mut path = Vec::new();
        while let Some(folder) = folders.last_mut() {
            path.truncate(folder.prefix);
            let Some(entry) = folder.entries.get(folder.next) else {
                folders.pop();
                continue;
            };
            folder.next += 1;
            path.extend_from_slice(&entry.name);
            if let Some(why) = entry.problem {
                walk.tree.skipped.push(SkippedEntry { path: RepoPath::new(&*path), why });
                continue;
            }
            let id = entry.id;
            let kind = match entry.kind {
                EntryKind::Tree => {
                    if folders.len() >= limits.max_depth {
                        walk.tree.skipped.push(SkippedEntry { path: RepoPath::new(&*path), why: TOO_DEEP });
                        continue;
                    }
                    path.push(b'/');
                    folders.push(reader.open(id, path.len(), &mut walk)?);
                    continue;
                }
                EntryKind::Commit => {
                    walk.tree.submodules += 1;
                    continue;
                }
                EntryKind::Blob => FileKind::Regular,
                EntryKind::BlobExecutable => FileKind::Executable,
                EntryKind::Link => FileKind::Symlink,
            };
            walk.tree.files.push(TreeFile { path: RepoPath::new(&*path), blob: blob_id(&id), kind });
        }
        let mut tree = walk.tree;
        // A well-formed tree comes in this order; a crafted one need not.
        if !tree.files.is_sorted_by(|a, b| a.path < b.path) {
            tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        }
        Ok(tree)
    }
}

struct Walk<'a> {
    repository: &'a Repository,
    commit: CommitId,
    limits: &'a TreeLimits,
    tree: Tree,
    entries: usize,
    path_bytes: usize,
}

impl Walk<'_> {
    /// Counts an entry before anything is kept of it: one folder alone can name more than a machine holds.
    fn count(&mut self, path_bytes: usize) -> Result<()> {
        self.entries += 1;
        self.path_bytes += path_bytes;
        if self.entries > self.limits.max_entries {
            return Err(self.too_much("files and folders", self.limits.max_entries));
        }
        if self.path_bytes > self.limits.max_path_bytes {
            return Err(self.too_much("bytes of paths", self.limits.max_path_bytes));
        }
        Ok(())
    }

    fn too_much(&self, what: &'static str, limit: usize) -> GitError {
        GitError::TreeTooLarge { path: self.repository.path().to_owned(), commit: self.commit, what, limit }
    }

    fn unreadable(&self, error: &gix::Error) -> GitError {
        self.repository.unreadable("the tree of a commit", &format_args!("{}: {error}", self.commit))
    }
}

struct Entry {
    name: Box<[u8]>,
    kind: EntryKind,
    id: gix::ObjectId,
    problem: Option<&'static str>,
}

/// A folder that is being listed.
struct Folder {
    entries: Rc<[Entry]>,
    next: usize,
    /// So long is the path of the folder, with its slash.
    prefix: usize,
}

/// No system opens a path through more folders, and git itself follows no more.
const TOO_DEEP: &str = "it lies in too many folders within folders";

/// How many folders are kept in case they occur again.
const KNOWN: usize = 1024;

/// Reads folders, and those that occur again and again only once: that is what bombs are made of.
struct FolderReader {
    objects: gix::OdbHandle,
    buffer: Vec<u8>,
    known: HashMap<gix::ObjectId, Rc<[Entry]>>,
}

impl FolderReader {
    /// Opens a folder whose path, with its slash, is so long.
    fn open(&mut self, id: gix::ObjectId, prefix: usize, walk: &mut Walk<'_>) -> Result<Folder> {
        if let Some(entries) = self.known.get(&id) {
            entries.iter().try_for_each(|entry| walk.count(prefix + entry.name.len()))?;
            return Ok(Folder { entries: Rc::clone(entries), next: 0, prefix });
        }
        let mut entries = Vec::new();
        let listed = self.objects.find_tree_iter(&id, &mut self.buffer).map_err(|error| walk.unreadable(&error))?;
        for entry in listed {
            let entry = entry.map_err(|error| walk.unreadable(&error))?;
            walk.count(prefix + entry.filename.len())?;
            entries.push(Entry {
                name: Box::from(entry.filename.as_ref() as &[u8]),
                kind: entry.mode.kind(),
                id: entry.oid.to_owned(),
                problem: name_problem(entry.filename),
            });
        }
        mark_repeated(&mut entries);
        let entries: Rc<[Entry]> = entries.into();
        if self.known.len() == KNOWN {
            self.known.clear();
        }
        self.known.insert(id, Rc::clone(&entries));
        Ok(Folder { entries, next: 0, prefix })
    }
}

/// Of entries with one name only the first counts: a link and a folder of one name once let a checkout write elsewhere.
fn mark_repeated(entries: &mut [Entry]) {
    // Equal names stand side by side, but for a file and a folder, between which `a.b` may stand.
    if entries.is_sorted_by(|a, b| a.name < b.name) {
        return;
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|&a, &b| entries[a].name.cmp(&entries[b].name).then(a.cmp(&b)));
    let repeated: Vec<usize> =
        order.windows(2).filter(|pair| entries[pair[0]].name == entries[pair[1]].name).map(|pair| pair[1]).collect();
    for at in repeated {
        entries[at].problem.get_or_insert("another entry of the folder has the same name");
    }
}

/// Whether a path has a name that is impossible in a work tree.
pub(crate) fn is_impossible(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| name_problem(name).is_some())
}

/// What makes a name impossible in a work tree.
fn name_problem(name: &[u8]) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it has no name");
    }
    if matches!(name, b"." | b"..") {
        return Some("the name leads to another folder");
    }
    if name.eq_ignore_ascii_case(b".git") {
        return Some("the name is that of a git directory");
    }
    if memchr::memchr2(b'/', 0, name).is_some() {
        return Some("the name holds a slash or NUL");
    }
    None
}

pub(crate) fn blob_id(id: &gix::oid) -> BlobId {
    BlobId::from_bytes(id.as_bytes()).expect("an object name is 20 or 32 bytes")
}
