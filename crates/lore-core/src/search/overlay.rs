//! Uncommitted work: what differs between a work tree and the snapshot below it, read and ready to be searched.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use lore_embed::Embedder;
use lore_git::{FileKind, Ignores, Repository, SkipReason, StatCache, TreeLimits, WorkRead, WorktreeOptions};
use lore_model::{BlobId, CommitId, Failure, RepoPath};
use lore_store::{ChunkSink, LeftOut, OverlayFile, OverlayInput};

use super::{
    index::{embed_failure, unread_record},
    reading::FileReader,
};
use crate::git_failure;

/// The last number given to a work tree or to a state of one: no two of this process are equal.
static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);

fn next_number() -> u64 {
    LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1
}

/// A state of a work tree. The default is that of no work tree, with nothing uncommitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct WorkVersion {
    /// The work tree; 0 for none.
    pub(super) tree: u64,
    /// The state of what is uncommitted; 0 where nothing is.
    pub(super) state: u64,
}

/// The uncommitted work of one work tree.
pub(super) struct Overlay {
    repository: Repository,
    commit: CommitId,
    base: Vec<(RepoPath, BlobId)>,
    ignores: Ignores,
    /// The lines of the configuration that are among them.
    globs: Vec<String>,
    cache: StatCache,
    options: WorktreeOptions,
    held: BTreeMap<RepoPath, Held>,
    skipped: BTreeMap<RepoPath, String>,
    /// What the last look at everything said of ignore files.
    notes: Vec<String>,
    /// The number of the work tree.
    tree: u64,
    /// Another number whenever what is held changes.
    state: u64,
}

/// What stands at a path now.
struct Held {
    /// `None` where the file was deleted.
    blob: Option<BlobId>,
    /// `None` where it was deleted or is not searched.
    file: Option<OverlayFile>,
    /// Why it is not searched.
    left_out: Option<String>,
}

/// What files are read with.
pub(super) struct Tools {
    pub(super) sink: Arc<dyn ChunkSink>,
    pub(super) embedder: Arc<dyn Embedder>,
}

impl Overlay {
    /// The work tree at this place over the files of this commit.
    pub(super) fn new(
        place: &Path,
        commit: CommitId,
        globs: &[String],
        options: WorktreeOptions,
    ) -> Result<Self, Failure> {
        let build = || {
            let repository = Repository::open(place)?;
            let tree = repository.tree_of(commit, &TreeLimits::default())?;
            let ignores = repository.tree_ignores(&tree, globs)?;
            Ok((repository, tree.base(), ignores))
        };
        let (repository, base, ignores) = build().map_err(git_failure)?;
        Ok(Self {
            repository,
            commit,
            base,
            ignores,
            globs: globs.to_vec(),
            cache: StatCache::default(),
            options,
            held: BTreeMap::new(),
            skipped: BTreeMap::new(),
            notes: Vec::new(),
            tree: next_number(),
            state: next_number(),
        })
    }

    /// Which state it is in, where it lies over this commit.
    pub(super) fn version_over(&self, commit: CommitId) -> Option<WorkVersion> {
        let state = if self.held.is_empty() { 0 } else { self.state };
        (self.commit == commit).then_some(WorkVersion { tree: self.tree, state })
    }

    /// Whether it was made for this commit and these lines.
    pub(super) fn lies_over(&self, commit: CommitId, globs: &[String]) -> bool {
        self.commit == commit && self.globs == globs
    }

    /// Takes another commit as what lies below; what is known of files on disk is kept.
    pub(super) fn rebase(&mut self, commit: CommitId, globs: &[String]) -> Result<(), Failure> {
        let fresh = Self::new(self.repository.path(), commit, globs, self.options.clone())?;
        (self.commit, self.base, self.ignores) = (fresh.commit, fresh.base, fresh.ignores);
        self.globs = fresh.globs;
        self.repository = fresh.repository;
        Ok(())
    }

    /// Looks at everything, or at these paths only, and reads what changed.
    pub(super) fn update(&mut self, paths: Option<&[RepoPath]>, tools: &Tools) -> Result<(), Failure> {
        let Self { repository, base, ignores, cache, options, .. } = self;
        let found = match paths {
            None => repository.worktree_changes(base, ignores, cache, options),
            Some(paths) => repository.worktree_changes_at(paths, base, ignores, cache, options),
        };
        let found = found.map_err(git_failure)?;
        if paths.is_none() {
            self.notes = found.notes;
        }
        // If reading should panic, what is held then is another state.
        let state = std::mem::replace(&mut self.state, next_number());
        let mut before = BTreeMap::new();
        let mut changed = false;
        for root in &found.looked_at {
            let outdated: Vec<RepoPath> = self.held.keys().filter(|path| is_below(path, root)).cloned().collect();
            before.extend(outdated.into_iter().filter_map(|path| self.held.remove(&path).map(|held| (path, held))));
            self.skipped.retain(|path, _| !is_below(path, root));
        }
        self.skipped.extend(found.skipped.into_iter().map(|skipped| (skipped.path, reason(&skipped.why))));
        let mut reader = FileReader::new(&*tools.sink, &*tools.embedder);
        let mut buffer = Vec::new();
        for change in found.changes {
            let blob = change.now.as_ref().map(|now| now.blob);
            if before.get(&change.path).is_some_and(|old| old.blob == blob) {
                self.held.extend(before.remove_entry(&change.path));
                continue;
            }
            changed = true;
            let is_link = change.now.as_ref().is_some_and(|now| now.kind == FileKind::Symlink);
            let held = match change.now {
                None => Held { blob: None, file: None, left_out: None },
                Some(_) if is_link => Held { blob, file: None, left_out: Some("a symbolic link".to_owned()) },
                Some(_) => match self.read(&change.path, &mut reader, &mut buffer) {
                    Ok(held) => held,
                    Err(failure) => {
                        // What was held of the rest is better than nothing, until the next look reads it.
                        self.held.extend(before);
                        return Err(failure);
                    }
                },
            };
            before.remove(&change.path);
            self.held.insert(change.path, held);
        }
        // What is left in `before` is as committed again.
        if !changed && before.is_empty() {
            self.state = state;
        }
        Ok(())
    }

    fn read(&self, path: &RepoPath, reader: &mut FileReader<'_>, buffer: &mut Vec<u8>) -> Result<Held, Failure> {
        match self.repository.read_work_file(path, self.options.max_file_bytes, buffer).map_err(git_failure)? {
            WorkRead::Gone => Ok(Held { blob: None, file: None, left_out: None }),
            WorkRead::Skipped(why) => Ok(Held { blob: None, file: None, left_out: Some(reason(&why)) }),
            WorkRead::Read { blob, .. } => {
                let read = reader.read(&path.to_text(), buffer).map_err(embed_failure)?;
                let (record, chunks, left_out) = match read {
                    Ok(file) => (file.record, file.chunks, None),
                    Err(reason) => (unread_record(buffer.len() as u64, reason), Vec::new(), Some(reason.to_owned())),
                };
                let file = OverlayFile { path: path.clone(), record, chunks };
                Ok(Held { blob: Some(blob), file: Some(file), left_out })
            }
        }
    }

    /// What the store lays over the snapshot.
    pub(super) fn input(&self) -> OverlayInput {
        let hidden = self.held.iter().filter(|(_, held)| held.file.is_none()).map(|(path, _)| path.clone());
        let files = self.held.values().filter_map(|held| held.file.clone());
        OverlayInput { hidden: hidden.collect(), files: files.collect() }
    }

    /// Rules of ignore files that could not be followed, each with its file and why.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.ignores.notes().iter().chain(&self.notes).cloned().collect();
        notes.dedup();
        notes
    }

    /// How many files differ from what is committed.
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// Uncommitted files that are not searched, and why.
    pub(super) fn left_out(&self) -> Vec<LeftOut> {
        let held = self.held.iter().filter_map(|(path, held)| Some((held.left_out.clone()?, path)));
        let skipped = self.skipped.iter().map(|(path, reason)| (reason.clone(), path));
        let mut left_out: Vec<LeftOut> =
            held.chain(skipped).map(|(reason, path)| LeftOut { reason, path: path.clone() }).collect();
        left_out.sort_unstable();
        left_out
    }
}

fn is_below(path: &RepoPath, root: &RepoPath) -> bool {
    let (path, root) = (path.as_bytes(), root.as_bytes());
    root.is_empty() || path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn reason(why: &SkipReason) -> String {
    match why {
        SkipReason::TooLarge(_) => "too large while uncommitted".to_owned(),
        SkipReason::Unreadable(error) => format!("cannot be read: {error}"),
        SkipReason::NotAFile => "neither a file nor a folder".to_owned(),
        SkipReason::TooDeep => "below too many folders".to_owned(),
        SkipReason::NoPath => "cannot be the path of a file".to_owned(),
    }
}
