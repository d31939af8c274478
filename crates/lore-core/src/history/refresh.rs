//! Keeps a project's history fresh in the background, for as long as a server runs in it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use lore_git::Cancel;
use lore_model::{Code, Failure, Repo, RepoId, Source};

use super::{AddRequest, FreshState, History, SyncOptions, SyncTask, Target};
use crate::store_failure;

/// How often refs are looked at: a few `stat` calls each time.
const PAUSE: Duration = Duration::from_millis(700);

/// How long to leave alone what failed, or what is no repository.
const LONG_PAUSE: Duration = Duration::from_secs(30);

/// How soon a pause ends when the server does.
const PAUSE_STEP: Duration = Duration::from_millis(50);

/// The project of one server.
struct Project<'a> {
    folder: &'a Path,
    /// Its id and place, once it is known to be registered: after an index was replaced the id alone may mean another one.
    repo: Option<(RepoId, PathBuf)>,
    /// Whether it may still be registered: once only, so that what a user removes stays removed.
    register: bool,
}

impl History {
    /// Registers the folder's repository if it is new (and `register` allows it), then syncs it whenever its refs move.
    ///
    /// Whoever holds the writer's lock does the work; the others look again later and find it done. It ends only when
    /// dropped or cancelled.
    pub async fn keep_fresh(&self, folder: &Path, register: bool, cancel: &Cancel) {
        let mut project = Project { folder, repo: None, register };
        while !cancel.is_cancelled() {
            let pause = match self.refresh_once(&mut project, cancel).await {
                Ok(()) => PAUSE,
                Err(failure) if failure.code == Code::Busy => PAUSE,
                Err(failure) if failure.code == Code::Interrupted => return,
                Err(failure) if failure.code == Code::NotARepository => {
                    tracing::info!(folder = %folder.display(), %failure, "there is no project to keep fresh");
                    LONG_PAUSE
                }
                Err(failure) => {
                    tracing::warn!(folder = %folder.display(), %failure, "the project's history could not be refreshed");
                    LONG_PAUSE
                }
            };
            let until = tokio::time::Instant::now() + pause;
            while !cancel.is_cancelled() && tokio::time::Instant::now() < until {
                tokio::time::sleep(PAUSE_STEP).await;
            }
        }
    }

    async fn refresh_once(&self, project: &mut Project<'_>, cancel: &Cancel) -> Result<(), Failure> {
        let place = |repo: &Repo| (repo.id, repo.info.local_path.clone());
        let known = match &project.repo {
            Some(known) => self.repos().await?.into_iter().find(|repo| place(repo) == *known),
            None => self.find_project(project.folder).await?,
        };
        project.register &= project.repo.is_none();
        project.repo = known.as_ref().map(place);
        let repo = match known {
            Some(repo) if self.is_current(&repo).await => return Ok(()),
            None if !project.register => return Ok(()),
            other => other,
        };
        let writer = self.store.try_writer().await.map_err(store_failure)?;
        let repo = match repo {
            // Another process may have synced it in the meantime.
            Some(repo) => self.repo(repo.name()).await?,
            None => match self.find_project(project.folder).await? {
                Some(repo) => repo,
                None => self.add(&*writer, AddRequest::new(Target::Folder(project.folder.to_owned()))).await?,
            },
        };
        project.repo = Some(place(&repo));
        let options = SyncOptions::default();
        let task = SyncTask { writer: &*writer, options: &options, cancel, progress: &|_| {} };
        self.sync(&repo, &task).await?;
        Ok(())
    }

    /// Whether there is nothing to do. Fetching is for `lore sync`: a server never goes to the network by itself.
    async fn is_current(&self, repo: &Repo) -> bool {
        let fresh = self.freshness(std::slice::from_ref(repo), None).await;
        repo.info.source != Source::Local || fresh.repos.iter().all(|repo| repo.state == FreshState::Current)
    }
}
