//! What is known of work trees: when each is looked at again, and what becomes of a look that failed. What lies over a
//! commit is the overlay's business.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use lore_git::{Repository, WorktreeOptions};
use lore_model::{Cancel, Code, CommitId, Failure, Repo, RepoPath};
use lore_store::LeftOut;

use super::{
    IndexReader,
    overlay::{Overlay, Tools, WorkVersion},
    part::base,
};

/// A work tree that nobody watches is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// After a look at a work tree that failed, questions leave it alone for this time.
const LOOK_PAUSE: Duration = Duration::from_secs(5);

/// A work tree and how well it is known.
pub(super) struct Watched {
    pub(super) overlay: Overlay,
    looked: Option<Instant>,
    /// Whether somebody says which files change.
    live: bool,
}

/// What a look at a work tree gave.
pub(super) struct Looked {
    pub(super) uncommitted: usize,
    pub(super) version: WorkVersion,
    pub(super) work: Arc<Mutex<Watched>>,
    /// What could not be followed of ignore files.
    pub(super) notes: Vec<String>,
    /// Why what is known may be an older state.
    pub(super) error: Option<Failure>,
}

/// How a work tree is looked at.
pub(super) enum Look {
    /// Unless it is known well enough.
    IfNeeded,
    /// At these files, or at all of them.
    Told(Option<Vec<RepoPath>>),
}

impl IndexReader {
    /// Uncommitted files of a repository's work tree that are not searched.
    pub fn uncommitted_left_out(&self, repo: &Repo) -> Result<Vec<LeftOut>, Failure> {
        let state = self.state(repo.id)?;
        let part = self.part(repo, &state, None, false)?;
        Ok(left_out_of(part.and_then(|part| part.work)))
    }

    /// Takes note that these files of a work tree may have changed; `None` for all of them.
    ///
    /// From now on the caller says what changes, until [`Self::unwatch`].
    pub fn touch(&self, repo: &Repo, place: &Path, paths: Option<Vec<RepoPath>>) -> Result<(), Failure> {
        // On a branch that is shown in place of HEAD, nothing is uncommitted.
        if repo.shown.is_some() {
            return Ok(());
        }
        let state = self.state(repo.id)?;
        let tips = self.tips(repo, place);
        let Some(snapshot) = base(repo, tips.as_ref(), &state) else { return Ok(()) };
        let looked = self.look(repo, place, snapshot.commit, Look::Told(paths))?;
        looked.and_then(|looked| looked.error).map_or(Ok(()), Err)
    }

    /// Takes note that nobody says any more what changes in a work tree.
    pub fn unwatch(&self, place: &Path) {
        let watched = self.overlays.lock().unwrap_or_else(PoisonError::into_inner).get(place).cloned();
        if let Some(watched) = watched {
            watched.lock().unwrap_or_else(PoisonError::into_inner).live = false;
        }
    }

    /// Brings what is known of a work tree up to date; `None` for a repository without one.
    ///
    /// What cannot be read is tried again after a pause; until then, what is known is given together with the reason.
    pub(super) fn look(
        &self,
        repo: &Repo,
        place: &Path,
        commit: CommitId,
        look: Look,
    ) -> Result<Option<Looked>, Failure> {
        let known = self.overlays.lock().unwrap_or_else(PoisonError::into_inner).get(place).cloned();
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).get(place).cloned();
        let paused = failed.filter(|(at, _)| matches!(look, Look::IfNeeded) && at.elapsed() < LOOK_PAUSE);
        let mut paused = paused.map(|(_, message)| Failure::new(Code::GitFailed, message));
        let tools = Tools { sink: self.store.overlay_sink(), embedder: Arc::clone(&self.embedder) };
        let options =
            WorktreeOptions { user_excludes: self.settings.user_excludes.clone(), ..WorktreeOptions::default() };
        let (_, globs) = self.scope(repo);
        let unknown = self.settings.unknown_ignore(&repo.info.local_path);
        let look_shared = || {
            // What it finds is for every query that follows: it does not end with the one that happened to need it first.
            let _shared = Cancel::default().enter();
            // What the project wants to be left out is not known, so nothing may be let in.
            if let Some(failure) = unknown {
                return Err(failure);
            }
            let watched = if let Some(watched) = known {
                watched
            } else {
                let has_work_tree = Repository::open(place).is_ok_and(|found| found.work_tree().is_some());
                if !has_work_tree {
                    return Ok(None);
                }
                if let Some(failure) = paused.take() {
                    return Err(failure);
                }
                let overlay = Overlay::new(place, commit, &globs, options)?;
                Arc::new(Mutex::new(Watched { overlay, looked: None, live: false }))
            };
            let mut state = watched.lock().unwrap_or_else(PoisonError::into_inner);
            let error = match paused {
                Some(failure) => Some(failure),
                None => state.look(commit, &globs, look, &tools).err(),
            };
            let (uncommitted, notes) = (state.overlay.len(), state.overlay.notes());
            let version = state.overlay.version_over(commit).unwrap_or_default();
            drop(state);
            Ok(Some(Looked { uncommitted, version, work: watched, notes, error }))
        };
        let looked = look_shared();
        self.note_failure(place, &looked);
        let Some(mut looked) = looked? else { return Ok(None) };
        let mut overlays = self.overlays.lock().unwrap_or_else(PoisonError::into_inner);
        if !overlays.contains_key(place) {
            // What is held of work trees that were removed since then is of no use to anybody.
            overlays.retain(|known, _| known.symlink_metadata().is_ok());
        }
        looked.work = Arc::clone(overlays.entry(place.to_owned()).or_insert(looked.work));
        Ok(Some(looked))
    }

    /// Remembers a look that failed, from its first failure on, and forgets it after one that did not.
    fn note_failure(&self, place: &Path, looked: &Result<Option<Looked>, Failure>) {
        let failure = match looked {
            Ok(looked) => looked.as_ref().and_then(|looked| looked.error.as_ref()),
            Err(failure) => Some(failure),
        };
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(failure) = failure else {
            failed.remove(place);
            return;
        };
        if failed.get(place).is_none_or(|(at, _)| at.elapsed() >= LOOK_PAUSE) {
            tracing::warn!(%failure, place = %place.display(), "the work tree could not be looked at");
            failed.insert(place.to_owned(), (Instant::now(), failure.message.clone()));
        }
    }
}

impl Watched {
    /// Looks as far as it is needed.
    fn look(&mut self, commit: CommitId, globs: &[String], look: Look, tools: &Tools) -> Result<(), Failure> {
        let rebased = !self.overlay.lies_over(commit, globs);
        if rebased {
            // Until a look succeeds, what is held is of another commit.
            self.looked = None;
            self.overlay.rebase(commit, globs)?;
        }
        let fresh = self.looked.is_some_and(|at| self.live || at.elapsed() < LOOK_AGAIN);
        self.live |= matches!(look, Look::Told(_));
        let paths = match look {
            Look::IfNeeded if fresh && !rebased => return Ok(()),
            Look::Told(Some(paths)) if !rebased && self.looked.is_some() => Some(paths),
            Look::IfNeeded | Look::Told(_) => None,
        };
        // Only a look counts as one: questions in quick succession must not put it off for ever.
        // After a failure, be it a panic, everything is looked at again.
        self.looked = None;
        let updated = self.overlay.update(paths.as_deref(), tools);
        self.looked = updated.is_ok().then(Instant::now);
        updated
    }
}

/// Uncommitted files of a work tree that are not searched.
pub(super) fn left_out_of(work: Option<Arc<Mutex<Watched>>>) -> Vec<LeftOut> {
    let Some(work) = work else { return Vec::new() };
    work.lock().unwrap_or_else(PoisonError::into_inner).overlay.left_out()
}
