//! Which folder the questions of one server are about: said at start, by the client, or by where it was started.

use std::path::{Path, PathBuf};

use lore_model::{Failure, Repo};
use tokio::sync::watch;

use crate::{Cancel, Lore, history::FreshState};

/// The folder of a server's project, which its client may still say or change.
#[derive(Debug, Clone)]
pub struct ProjectFolder {
    folder: watch::Sender<Option<PathBuf>>,
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
        Self { folder: watch::Sender::new(folder) }
    }

    /// The folder, where it is known.
    pub fn get(&self) -> Option<PathBuf> {
        self.folder.borrow().clone()
    }

    /// Says which folder it is.
    pub fn set(&self, folder: PathBuf) {
        self.folder.send_if_modified(|known| {
            let is_new = known.as_ref() != Some(&folder);
            *known = Some(folder);
            is_new
        });
    }

    /// The folder, once it is known.
    pub async fn known(&self) -> PathBuf {
        let mut changes = self.folder.subscribe();
        let folder = match changes.wait_for(Option::is_some).await {
            Ok(folder) => folder.clone(),
            // The sender is in `self`.
            Err(_) => None,
        };
        folder.unwrap_or_default()
    }

    /// Ready when it is another folder than this.
    async fn left(&self, folder: &Path) {
        let mut changes = self.folder.subscribe();
        if changes.wait_for(|now| now.as_deref().is_some_and(|now| now != folder)).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Lore {
    /// What is known of the repository that a folder is in.
    pub async fn find_project(&self, folder: &Path) -> Result<FoundProject, Failure> {
        let (place, repo) = self.history.locate(folder).await?;
        Ok(FoundProject { place, repo })
    }

    /// What there is of the index of the repository that a folder is in.
    pub async fn index_state(&self, folder: &Path) -> Result<IndexState, Failure> {
        let Some(repo) = self.find_project(folder).await?.repo else {
            let (code, history) = (Extent::Absent, Extent::Absent);
            return Ok(IndexState { repo: None, code, history, progress: (None, None) });
        };
        let (code, code_progress) = self.search.extent(&repo).await?;
        let fresh = self.history.freshness(std::slice::from_ref(&repo), None).await;
        let history = match fresh.repos.first().map(|fresh| fresh.state) {
            None | Some(FreshState::NeverSynced) => Extent::Absent,
            Some(FreshState::Partial) => Extent::Partial,
            Some(FreshState::Current | FreshState::Stale | FreshState::Missing) => Extent::Whole,
        };
        let progress = (code_progress, fresh.repos.first().and_then(|fresh| fresh.progress));
        Ok(IndexState { repo: Some(repo.name().to_owned()), code, history, progress })
    }

    /// Keeps fresh what is the project at the moment; see [`Lore::keep_fresh`].
    pub async fn follow(self: &std::sync::Arc<Self>, project: &ProjectFolder, register: bool, cancel: &Cancel) {
        while !cancel.is_cancelled() {
            let folder = tokio::select! {
                folder = project.known() => folder,
                () = cancelled(cancel) => return,
            };
            let own = Cancel::default();
            let work = self.keep_fresh(&folder, register, &own);
            tokio::pin!(work);
            tokio::select! {
                () = &mut work => {}
                // What was read so far is kept, and the writer's lock is given back.
                () = project.left(&folder) => { own.cancel(); work.await; }
                () = cancelled(cancel) => { own.cancel(); work.await; }
            }
        }
    }
}

async fn cancelled(cancel: &Cancel) {
    while !cancel.is_cancelled() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
