//! Keeps several repositories up to date for as long as somebody wants it: `lore sync --watch`.
//!
//! Only refs are looked at. Uncommitted files are in no index; whoever asks about them looks at them.

use std::{
    collections::HashMap,
    thread,
    time::{Duration, Instant},
};

use lore_git::Cancel;
use lore_model::{Code, Failure, Repo, RepoId};

use crate::{
    Lore,
    flows::{Embedded, FlowReport, FlowTask, is_watched},
    history::SyncOptions,
    store_failure,
};

/// How often refs are looked at: a few `stat` calls each time.
const PAUSE: Duration = Duration::from_millis(700);

/// How long to leave alone what failed.
const LONG_PAUSE: Duration = Duration::from_secs(30);

impl Lore {
    /// Syncs these local repositories (all that are registered, where none is named) whenever their refs move, and tells
    /// of each sync. Fetching is for those who ask for it: what was registered by URL is passed over. Ends when cancelled.
    pub fn watch_all(
        &self,
        names: &[String],
        options: &SyncOptions,
        cancel: &Cancel,
        heard: &(dyn Fn(&Repo, Result<&FlowReport, &Failure>) + Send + Sync),
    ) -> Result<(), Failure> {
        // Embedding goes on for as long as refs are watched, which ends when cancelled, and not a moment longer: it would keep
        // the failure that ended the watch from being told.
        let ended = Cancel::default();
        thread::scope(|threads| {
            threads.spawn(|| self.keep_embedded(Embedded::Named(names), &ended));
            let _ended = ended.on_drop();
            self.watch_refs(names, options, cancel, heard)
        })
    }

    fn watch_refs(
        &self,
        names: &[String],
        options: &SyncOptions,
        cancel: &Cancel,
        heard: &(dyn Fn(&Repo, Result<&FlowReport, &Failure>) + Send + Sync),
    ) -> Result<(), Failure> {
        let mut rested: HashMap<RepoId, Instant> = HashMap::new();
        while !cancel.is_cancelled() {
            let repos = self.history.repos()?;
            rested.retain(|_, until| *until > Instant::now());
            for repo in repos.into_iter().filter(|repo| is_watched(repo, names)) {
                if cancel.is_cancelled() || rested.contains_key(&repo.id) || self.is_current(&repo) {
                    continue;
                }
                match self.sync_if_free(&repo, options, cancel) {
                    Ok(report) => heard(&repo, Ok(&report)),
                    // Whoever holds the lock is probably doing this already.
                    Err(failure) if matches!(failure.code, Code::Busy | Code::Interrupted | Code::RepoNotFound) => {}
                    Err(failure) => {
                        rested.insert(repo.id, Instant::now() + LONG_PAUSE);
                        heard(&repo, Err(&failure));
                    }
                }
            }
            cancel.sleep(PAUSE);
        }
        Ok(())
    }

    fn sync_if_free(&self, repo: &Repo, options: &SyncOptions, cancel: &Cancel) -> Result<FlowReport, Failure> {
        let writer = self.history.store().try_writer().map_err(store_failure)?;
        // Another process may have synced it in the meantime.
        let repo = self.history.get_repo(repo.id)?;
        let task = FlowTask { writer: &*writer, options, cancel, progress: &|_| {} };
        self.sync(&repo, &task)
    }
}
