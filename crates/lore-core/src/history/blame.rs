//! Where lines come from, asked of git itself: the index holds what commits changed, not what became of each line.

use std::{
    ops::ControlFlow,
    path::Path,
    sync::{Arc, PoisonError},
    time::Duration,
};

use lore_git::{Blame, Cancel, Diff, Reader, Repository, Scope};
use lore_model::{CommitId, Failure, Repo, RepoId, RepoPath};

use super::History;
use crate::git_failure;

/// How long git may look for where lines come from.
const PATIENCE: Duration = Duration::from_secs(20);

/// Answers that are kept, as long as the same files are asked about.
const KEPT: usize = 8;

/// The largest patch that is read for an answer.
const PATCH_CAP: usize = 8 << 20;

/// What decides where lines come from: a file of a commit, and where a shallow history begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BlameKey {
    repo: RepoId,
    commit: CommitId,
    path: RepoPath,
    shallow: Vec<CommitId>,
}

/// What was asked before, the last one last.
pub(super) type Blames = Vec<(BlameKey, Arc<Blame>)>;

impl History {
    /// Tells where the lines of a file of a commit come from. `place` is a work tree of the repository.
    pub(crate) fn blame(
        &self,
        repo: &Repo,
        place: &Path,
        commit: CommitId,
        path: &RepoPath,
    ) -> Result<Arc<Blame>, Failure> {
        let repository = open_repository(place)?;
        let key = BlameKey { repo: repo.id, commit, path: path.clone(), shallow: repository.shallow() };
        {
            let mut known = self.blames.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = known.iter().position(|(other, _)| *other == key) {
                let found = known.remove(at);
                known.push(found.clone());
                return Ok(found.1);
            }
        }
        let found = self.with_reader(repo, repository, |reader| reader.blame(commit, path, PATIENCE))?;
        let found = Arc::new(found);
        let mut known = self.blames.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT {
            known.remove(0);
        }
        known.push((key, Arc::clone(&found)));
        Ok(found)
    }

    /// Reads patches that the index does not hold, or not whole. What cannot be read is missing.
    pub(crate) fn read_patches(
        &self,
        repo: &Repo,
        place: &Path,
        commits: Vec<CommitId>,
    ) -> Result<Vec<(CommitId, Vec<u8>)>, Failure> {
        let repository = open_repository(place)?;
        let scope = Scope { patch_cap: PATCH_CAP, ..Scope::default() };
        self.with_reader(repo, repository, move |reader| {
            let mut patches = Vec::new();
            reader.read(&commits, &scope, &mut |commit| {
                if let Diff::Bytes(bytes) = commit.patch {
                    patches.push((commit.id, bytes));
                }
                ControlFlow::Continue(())
            })?;
            Ok(patches)
        })
    }

    /// Opens a repository for reading its line of commits, until it is cancelled.
    pub(crate) fn reader(&self, repo: &Repo, cancel: &Cancel) -> Result<Reader, Failure> {
        let repository = open_repository(&repo.info.local_path)?;
        let key = repo.id.to_string();
        Reader::open(&self.git, &self.places.git, &key, repository, cancel.clone()).map_err(git_failure)
    }

    /// Has git work for the query of this thread, and ends it with that.
    pub(super) fn with_reader<T>(
        &self,
        repo: &Repo,
        repository: Repository,
        work: impl FnOnce(&Reader) -> lore_git::Result<T>,
    ) -> Result<T, Failure> {
        let (key, cancel) = (repo.id.to_string(), Cancel::current());
        let reader = Reader::open(&self.git, &self.places.git, &key, repository, cancel);
        reader.and_then(|reader| work(&reader)).map_err(git_failure)
    }
}

pub(super) fn open_repository(place: &Path) -> Result<Repository, Failure> {
    Repository::open(place).map_err(git_failure)
}
