//! Keeps a project's history fresh in the background, for as long as a server runs in it.

use std::{path::Path, time::Duration};

use lore_git::Cancel;
use lore_model::{Code, Failure, Repo, Source};
use lore_store::StoreError;

use super::{AddRequest, FreshState, History, SyncOptions, Target};
use crate::store_failure;

/// How often refs are looked at: a few `stat` calls each time.
const PAUSE: Duration = Duration::from_millis(700);

/// How long to leave a project alone after a failure.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(30);

impl History {
    /// Registers the folder's repository if it is new (and `register` allows it), then syncs it whenever its refs move. Ends only when dropped or cancelled.
    ///
    /// Whoever holds the writer's lock does the work; the others look again later and find it done.
    pub async fn keep_fresh(&self, folder: &Path, register: bool, cancel: &Cancel) {
        while !cancel.is_cancelled() {
            let pause = match self.refresh_once(folder, register, cancel).await {
                Ok(()) => PAUSE,
                Err(failure) if failure.code == Code::Busy => PAUSE,
                Err(failure) if failure.code == Code::NotARepository => {
                    tracing::info!(folder = %folder.display(), "not in a git repository: there is no project to keep fresh");
                    PAUSE_AFTER_FAILURE
                }
                Err(failure) => {
                    tracing::warn!(folder = %folder.display(), %failure, "the project's history could not be refreshed");
                    PAUSE_AFTER_FAILURE
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn refresh_once(&self, folder: &Path, register: bool, cancel: &Cancel) -> Result<(), Failure> {
        let repo = self.find_project(folder).await?;
        if let Some(repo) = &repo {
            let fresh = self.freshness(std::slice::from_ref(repo), None).await;
            // Fetching is for `lore sync`: a server never goes to the network by itself.
            if fresh.repos.iter().all(|repo| repo.state == FreshState::Current) || repo.info.source != Source::Local {
                return Ok(());
            }
        } else if !register {
            return Ok(());
        }
        let writer = self.store.try_writer().await.map_err(|error| match error {
            StoreError::Locked => Failure::new(Code::Busy, "another process is writing"),
            error => store_failure(error),
        })?;
        let repo = match repo {
            // Another process may have done it in the meantime.
            Some(repo) => self.repo(repo.name()).await?,
            None => self.register_project(&*writer, folder).await?,
        };
        self.sync(&*writer, &repo, &SyncOptions::default(), cancel, &|_| {}).await?;
        Ok(())
    }

    async fn register_project(&self, writer: &dyn lore_store::HistoryWriter, folder: &Path) -> Result<Repo, Failure> {
        match self.find_project(folder).await? {
            Some(repo) => Ok(repo),
            None => self.add(writer, AddRequest::new(Target::Folder(folder.to_owned()))).await,
        }
    }
}
