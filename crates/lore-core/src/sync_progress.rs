//! How far the syncs of this process have come, so that an answer from an unfinished index can say so.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lore_model::RepoId;

/// The syncs in progress.
#[derive(Debug, Clone, Default)]
pub(crate) struct SyncProgress(Arc<Mutex<HashMap<RepoId, Progress>>>);

#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    done: u64,
    total: u64,
}

/// One sync in progress, until it is dropped.
pub(crate) struct RunningSync {
    repo: RepoId,
    all: SyncProgress,
}

impl SyncProgress {
    /// Notes that a sync of a repository begins.
    pub(crate) fn begin(&self, repo: RepoId) -> RunningSync {
        self.lock().insert(repo, Progress::default());
        RunningSync { repo, all: self.clone() }
    }

    /// How much of a repository's sync is done, in percent; `None` where this process does not sync it.
    pub(crate) fn percent(&self, repo: RepoId) -> Option<u8> {
        let Progress { done, total } = *self.lock().get(&repo)?;
        // What is done is not yet published, so it never says 100.
        u8::try_from((done * 100).checked_div(total).unwrap_or(0).min(99)).ok()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RepoId, Progress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningSync {
    /// Notes how much there is to do.
    pub(crate) fn set_total(&self, total: u64) {
        self.all.lock().entry(self.repo).or_default().total = total;
    }

    /// Notes how much of it is done.
    pub(crate) fn set_done(&self, done: u64) {
        self.all.lock().entry(self.repo).or_default().done = done;
    }
}

impl Drop for RunningSync {
    fn drop(&mut self) {
        self.all.lock().remove(&self.repo);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_known_while_a_sync_runs() {
        let (all, repo) = (SyncProgress::default(), RepoId(1));
        let running = all.begin(repo);
        assert_eq!(all.percent(repo), Some(0));
        running.set_total(200);
        running.set_done(81);
        assert_eq!((all.percent(repo), all.percent(RepoId(2))), (Some(40), None));
        running.set_done(200);
        assert_eq!(all.percent(repo), Some(99), "it is not published yet");
        drop(running);
        assert_eq!(all.percent(repo), None);
    }
}
