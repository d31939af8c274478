//! Git history across repositories: asking it, and keeping it.

mod blame;
mod branch;
mod freshness;
mod globs;
mod query;
mod register;
mod sync;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

pub use freshness::{FreshState, Freshness, RepoFreshness};
pub use globs::glob_hints;
use lore_git::{Git, RemotePolicy};
use lore_model::{Cancel, Cancelled, Code, Failure, Repo, RepoId, Signal, brief, closest};
use lore_store::{HistoryStore, IndexWriter, StoreError};
pub use query::{
    CommitAnswer, Hit, LIMIT_MAX, PatchAnswer, Repos, SearchAnswer, SearchRequest, TouchAnswer, TouchRequest, Touched,
    few,
};
pub use register::{AddRequest, Target};
pub use sync::{PATCH_CAP, Progress, SyncEvent, SyncOptions, SyncReport, SyncTask};

use crate::{Clock, store_failure, sync_progress::SyncProgress, without_home::without_home};

/// Where Lore keeps what is its own beside the index.
#[derive(Debug, Clone)]
pub struct Places {
    /// Mirrors of repositories that were registered by URL.
    pub clones: PathBuf,
    /// Empty repositories in which git runs.
    pub git: PathBuf,
}

/// The history of all registered repositories.
pub struct History {
    store: Arc<dyn HistoryStore>,
    git: Git,
    places: Places,
    clock: Arc<dyn Clock>,
    probes: Mutex<freshness::Probes>,
    roots: Arc<register::Roots>,
    blames: Mutex<blame::Blames>,
    branches: Mutex<branch::Branches>,
    policy: Option<RemotePolicy>,
    syncing: SyncProgress,
    /// Queries that wait until there is some history to answer from.
    waiting: AtomicUsize,
    /// Notifies when one begins to wait.
    waits: Signal,
}

/// A query that waits for history.
pub struct HistoryWait<'a>(&'a AtomicUsize);

impl Drop for HistoryWait<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl History {
    /// History kept in this store.
    pub fn new(store: Arc<dyn HistoryStore>, git: Git, places: Places, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            git,
            places,
            clock,
            probes: Mutex::default(),
            roots: Arc::default(),
            blames: Mutex::default(),
            branches: Mutex::default(),
            policy: None,
            syncing: SyncProgress::default(),
            waiting: AtomicUsize::new(0),
            waits: Signal::default(),
        }
    }

    /// The same, which clones and fetches only what this policy lets it; without one, whatever a user names.
    #[must_use]
    pub fn with_policy(mut self, policy: Option<RemotePolicy>) -> Self {
        self.policy = policy;
        self
    }

    /// Notes that a query waits for history, until the guard is dropped: a sync that reads code first reads both then.
    pub fn wait_for_sync(&self) -> HistoryWait<'_> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        self.waits.notify();
        HistoryWait(&self.waiting)
    }

    /// Whether a query waits for history.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// Notifies when a query begins to wait for history.
    pub(crate) fn waits(&self) -> &Signal {
        &self.waits
    }

    /// The store beneath, for those who look after it.
    pub fn store(&self) -> &dyn HistoryStore {
        &*self.store
    }

    /// The `git` program in use.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Where Lore keeps what is its own beside the index.
    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// The time now (seconds since 1970).
    pub fn now(&self) -> i64 {
        self.clock.now()
    }

    /// Every registered repository, by name.
    pub fn repos(&self) -> Result<Vec<Repo>, Failure> {
        self.store.list_repos().map_err(store_failure)
    }

    /// The repository of that name.
    pub fn repo(&self, name: &str) -> Result<Repo, Failure> {
        named(&self.repos()?, name).cloned()
    }

    /// A text that tells nothing of where on this machine Lore keeps what is its own.
    pub(crate) fn without_home(&self, text: &str) -> String {
        self.places().git.parent().map_or_else(|| text.to_owned(), |home| without_home(text, home))
    }

    /// The repository of that id, as it is registered now.
    pub(crate) fn get_repo(&self, id: RepoId) -> Result<Repo, Failure> {
        self.store.find_repo(id).map_err(store_failure)?.ok_or_else(|| {
            Failure::new(Code::RepoNotFound, format!("repository {id} is not registered any more"))
                .hint("run `lore repos` to see what is registered")
        })
    }

    /// Becomes the one writer; calls `waiting` once where another process has to end first. Waits until then, or until the
    /// work of the current thread is cancelled.
    pub fn writer(&self, waiting: impl FnOnce()) -> Result<Box<dyn IndexWriter>, Failure> {
        let mut waiting = Some(waiting);
        loop {
            match self.store.try_writer() {
                Ok(writer) => return Ok(writer),
                Err(StoreError::Locked) => {
                    if let Some(waiting) = waiting.take() {
                        waiting();
                    }
                    if !Cancel::current().sleep(std::time::Duration::from_millis(50)) {
                        return Err(Cancelled.into());
                    }
                }
                Err(error) => return Err(store_failure(error)),
            }
        }
    }
}

/// The repository of that name among these.
fn named<'a>(repos: &'a [Repo], name: &str) -> Result<&'a Repo, Failure> {
    repos.iter().find(|repo| repo.answers_to(name)).ok_or_else(|| {
        let name = brief(name);
        let names: Vec<&str> = repos.iter().map(Repo::name).collect();
        if names.is_empty() {
            return Failure::new(Code::RepoNotFound, format!("Repository {name} not found: none is registered"))
                .hint("run `lore add PATH` to register one");
        }
        Failure::new(
            Code::RepoNotFound,
            format!("Repository {name} not found. Registered repositories: {}", names.join(", ")),
        )
        .hint(match closest(&name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? `lore add PATH` registers another"),
            None => "use one of these names, or run `lore add PATH` to register another".to_owned(),
        })
    })
}
