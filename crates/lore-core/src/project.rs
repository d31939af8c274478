//! Which folder the questions of one server are about: said at start, by the client, or by where it was started.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use lore_model::{Failure, Repo, Signal};

use crate::{Cancel, Lore, history::FreshState};

/// The folder of a server's project, which its client may still say or change.
#[derive(Debug, Clone)]
pub struct ProjectFolder(Arc<State>);

#[derive(Debug)]
struct State {
    folder: Mutex<Option<PathBuf>>,
    changed: Signal,
}

/// What is known of the repository that a folder is in.
#[derive(Debug, Clone)]
pub struct FoundProject {
    /// The work tree, or the git directory of a bare repository.
    pub place: PathBuf,
    /// The registered repository, once it is.
    pub repo: Option<Repo>,
}

/// How much of a project's index is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Nothing.
    Absent,
    /// A part that can be searched.
    Partial,
    /// All of it, as far as the last sync goes.
    Whole,
}

/// What there is of a project's index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexState {
    /// The name of the repository, once it is registered.
    pub repo: Option<String>,
    /// Its code.
    pub code: Extent,
    /// Its history.
    pub history: Extent,
    /// How much of the sync in progress is done, in percent: of the code, of the history.
    pub progress: (Option<u8>, Option<u8>),
}

impl ProjectFolder {
    /// A folder that is known, or is still to be said.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self(Arc::new(State { folder: Mutex::new(folder), changed: Signal::default() }))
    }

    /// The folder, where it is known.
    pub fn get(&self) -> Option<PathBuf> {
        self.0.folder.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says which folder it is.
    pub fn set(&self, folder: PathBuf) {
        let before = self.0.folder.lock().unwrap_or_else(PoisonError::into_inner).replace(folder.clone());
        if before != Some(folder) {
            self.0.changed.notify();
        }
    }

    /// Waits until the folder is known, for so long at most.
    pub fn wait_until_known(&self, time: Option<Duration>, cancel: &Cancel) -> Option<PathBuf> {
        self.0.changed.wait_for(time, cancel, || self.get())
    }

    /// Waits until it is another folder than this, or cancelled.
    fn wait_until_left(&self, folder: &Path, cancel: &Cancel) {
        self.0.changed.wait_for(None, cancel, || self.get().filter(|now| now != folder));
    }
}

impl Lore {
    /// What is known of the repository that a folder is in.
    pub fn find_project(&self, folder: &Path) -> Result<FoundProject, Failure> {
        let (place, repo) = self.history.locate(folder)?;
        Ok(FoundProject { place, repo })
    }

    /// What there is of the index of the repository that a folder is in.
    pub fn index_state(&self, folder: &Path) -> Result<IndexState, Failure> {
        let Some(repo) = self.find_project(folder)?.repo else {
            let (code, history) = (Extent::Absent, Extent::Absent);
            return Ok(IndexState { repo: None, code, history, progress: (None, None) });
        };
        let (code, code_progress) = self.search.reader.extent(&repo)?;
        let fresh = self.history.freshness(std::slice::from_ref(&repo), None);
        let history = match fresh.repos.first().map(|fresh| fresh.state) {
            None | Some(FreshState::NeverSynced) => Extent::Absent,
            Some(FreshState::Partial) => Extent::Partial,
            Some(FreshState::Current | FreshState::Stale | FreshState::Missing) => Extent::Whole,
        };
        let progress = (code_progress, fresh.repos.first().and_then(|fresh| fresh.progress));
        Ok(IndexState { repo: Some(repo.name().to_owned()), code, history, progress })
    }

    /// Keeps fresh what is the project at the moment; see [`Lore::keep_fresh`].
    pub fn follow(&self, project: &ProjectFolder, register: bool, cancel: &Cancel) {
        while !cancel.is_cancelled()
            && let Some(folder) = project.wait_until_known(None, cancel)
        {
            let own = cancel.child();
            thread::scope(|threads| {
                threads.spawn(|| {
                    project.wait_until_left(&folder, &own);
                    // What was read so far is kept, and the writer's lock is given back.
                    own.cancel();
                });
                let _ended = own.on_drop();
                self.keep_fresh(&folder, register, &own);
            });
        }
    }
}
