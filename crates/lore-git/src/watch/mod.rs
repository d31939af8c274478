//! Watches a work tree and the refs of its repository, and tells in batches what may have changed.
//!
//! What is told is where to look, never what happened there: that is found by looking. Ignored folders are not watched on
//! systems where each folder costs a watch. Watching reads no file but ignore rules and git's index.
//!
//! The debouncing is done here and not by `notify-debouncer-full`: that keeps a thread waking several times a second, pairs
//! renames that nobody asks about, and cannot be told which folders to leave out.

mod remote;
mod report;
mod task;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::JoinHandle,
    time::Duration,
};

use lore_model::RepoPath;

use self::{
    report::Report,
    task::{Channels, Task},
};
use crate::{GitError, Repository, Result, worktree::MAX_DEPTH};

/// What the system reports is kept up to this many; beyond that, everything is looked at.
const INBOX: usize = 16_384;

/// Batches that wait for the receiver; while it is full, further changes are collected.
const OUTBOX: usize = 16;

/// What may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// These files and folders, sorted.
    Paths(Vec<RepoPath>),
    /// HEAD, a branch or the index: a commit, a switch, a rebase, a reset.
    Refs,
    /// Anything in the work tree: too much has happened, or the system does not tell.
    Rescan,
}

/// How changes are noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watching {
    /// The system tells them.
    Events,
    /// It does not: everything is to be looked at every few seconds.
    Polling {
        /// Why.
        why: String,
    },
    /// The work tree is not there. It is watched again when it comes back.
    Gone,
}

/// How a repository is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchOptions {
    /// Changes are told when none has followed for this long, or four times as long after the first.
    pub debounce: Duration,
    /// How often everything is to be looked at where the system does not tell of changes.
    pub poll: Duration,
    /// With more changes than this in a batch, everything is to be looked at.
    pub max_paths: usize,
    /// With more folders than this, everything is looked at every few seconds: watches are scarce, and others need some.
    pub max_folders: usize,
    /// Folders within folders that are watched. A look leaves out what lies deeper, and says so
    /// ([`WorktreeOptions`](crate::WorktreeOptions)).
    pub max_depth: usize,
    /// The user's own file of ignore rules ([`user_excludes`](crate::user_excludes)).
    pub user_excludes: Option<PathBuf>,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            debounce: Duration::from_millis(500),
            poll: Duration::from_secs(5),
            max_paths: 1_000,
            max_folders: 50_000,
            max_depth: MAX_DEPTH,
            user_excludes: None,
        }
    }
}

/// Watches a repository until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    stop: Arc<AtomicBool>,
    inbox: mpsc::SyncSender<Report>,
    thread: Option<JoinHandle<()>>,
    status: Arc<Mutex<Watching>>,
}

impl Watcher {
    /// Starts to watch. What changes after this has returned is told; it takes as long as a walk through the folders.
    pub fn start(repository: &Repository, options: WatchOptions) -> Result<(Self, mpsc::Receiver<Event>)> {
        let (outbox, events) = mpsc::sync_channel(OUTBOX);
        let (reports, inbox) = mpsc::sync_channel(INBOX);
        let stop = Arc::new(AtomicBool::new(false));
        let status = Arc::new(Mutex::new(Watching::Events));
        let channels =
            Channels { outbox, reports: reports.clone(), status: Arc::clone(&status), stop: Arc::clone(&stop) };
        let task = Task::install(repository, options, channels)?;
        let thread = std::thread::Builder::new()
            .name("lore watch".to_owned())
            .spawn(move || task.run(&inbox))
            .map_err(GitError::io(repository.path()))?;
        Ok((Self { stop, inbox: reports, thread: Some(thread), status }, events))
    }

    /// How changes are noticed at the moment.
    pub fn status(&self) -> Watching {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A full inbox wakes the thread as well.
        drop(self.inbox.try_send(Report::Stop));
        if let Some(thread) = self.thread.take() {
            // A panic over there has been told by the panic itself.
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::repository::empty;

    #[test]
    fn a_system_that_loses_count_again_and_again_is_not_believed_for_a_while() {
        let root = tempfile::tempdir().unwrap();
        let poll = Duration::from_secs(1);
        let options = WatchOptions { debounce: Duration::from_millis(1), poll, ..WatchOptions::default() };
        let (watcher, events) = Watcher::start(&empty(root.path()), options).unwrap();
        let lose_count = || {
            watcher.inbox.send(Report::Overflow).unwrap();
            assert_eq!(events.recv(), Ok(Event::Rescan));
        };
        lose_count();
        assert_eq!(watcher.status(), Watching::Events);
        let start = Instant::now();
        lose_count();
        assert!(matches!(watcher.status(), Watching::Polling { .. }), "{:?}", watcher.status());
        // This is not told: it is not believed that it was all.
        watcher.inbox.send(Report::Overflow).unwrap();
        assert_eq!(events.recv(), Ok(Event::Rescan));
        assert_eq!(watcher.status(), Watching::Events);
        assert!(start.elapsed() >= poll, "{:?}", start.elapsed());
    }
}
