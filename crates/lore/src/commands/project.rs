//! The repository the user stands in: found, registered at first use, and brought up to date before it answers.

use lore_core::{
    Cancel,
    history::{AddRequest, FreshState, SyncOptions, SyncReport, SyncTask, Target},
};
use lore_model::{Code, Failure, Repo, Source};
use lore_store::HistoryWriter;

use super::Context;
use crate::{environment, progress::SyncProgress};

impl Context<'_> {
    /// Brings the current repository up to date, registering it at first use. Outside a repository nothing happens.
    ///
    /// Where that cannot be done, the other repositories can still be asked.
    pub(super) async fn refresh_project(&self) -> Result<(), Failure> {
        match self.try_refresh_project().await {
            Err(failure) if failure.code != Code::Interrupted && !self.lore.history.repos().await?.is_empty() => {
                self.ui.warn(&format!("the repository you are in could not be brought up to date: {failure}"));
                Ok(())
            }
            other => other,
        }
    }

    async fn try_refresh_project(&self) -> Result<(), Failure> {
        let history = &self.lore.history;
        let here = environment::working_directory();
        let repo = match history.find_project(&here).await {
            Err(failure) if failure.code == Code::NotARepository => return Ok(()),
            other => other?,
        };
        match repo {
            Some(repo) if repo.info.source == Source::Local => {
                let fresh = history.freshness(std::slice::from_ref(&repo), None).await;
                if fresh.repos.iter().all(|repo| matches!(repo.state, FreshState::Current | FreshState::Missing)) {
                    return Ok(());
                }
                // Whoever holds the lock is probably doing this already: answer from what is there.
                let Ok(writer) = history.store().try_writer().await else { return Ok(()) };
                let repo = history.repo(repo.name()).await?;
                self.sync_one(&*writer, &repo, &SyncOptions::default(), &cancel_on_interrupt()).await.map(|_| ())
            }
            None if self.loaded.config.register_project => {
                let writer = self.writer().await?;
                let repo = history.add(&*writer, AddRequest::new(Target::Folder(here))).await?;
                self.ui.note(&format!(
                    "registered {} as `{}` (first use here)",
                    repo.info.local_path.display(),
                    repo.name()
                ));
                let report = self.sync_one(&*writer, &repo, &SyncOptions::default(), &cancel_on_interrupt()).await?;
                self.ui.note(&format!("indexed {}", super::sync::count(report.total, "commit")));
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Replaces `.` by the name of the repository the user stands in.
    pub(super) async fn repo_name(&self, name: &str) -> Result<String, Failure> {
        if name != "." {
            return Ok(name.to_owned());
        }
        self.refresh_project().await?;
        self.project_name().await
    }

    /// The name of the repository the user stands in.
    pub(super) async fn project_name(&self) -> Result<String, Failure> {
        let here = environment::working_directory();
        let repo = self.lore.history.find_project(&here).await?;
        repo.map(|repo| repo.name().to_owned()).ok_or_else(|| {
            Failure::new(Code::RepoNotFound, format!("{} is not in a registered repository", here.display()))
                .hint("run `lore add .`, or name one of `lore repos`")
        })
    }

    /// The one writer, after telling the user where it has to be waited for.
    pub(super) async fn writer(&self) -> Result<Box<dyn HistoryWriter>, Failure> {
        self.lore.history.writer(|| self.ui.note("waiting for another lore process that is writing the index …")).await
    }

    /// Syncs one repository with progress.
    pub(super) async fn sync_one(
        &self,
        writer: &dyn HistoryWriter,
        repo: &Repo,
        options: &SyncOptions,
        cancel: &Cancel,
    ) -> Result<SyncReport, Failure> {
        let progress = SyncProgress::new(self.ui, repo.name());
        let task = SyncTask { writer, options, cancel, progress: &|event| progress.event(event) };
        let done = self.lore.history.sync(repo, &task).await;
        progress.finish();
        done
    }
}

/// Turns the first Ctrl-C or SIGTERM into a wish to stop; what was read is kept.
pub(super) fn cancel_on_interrupt() -> Cancel {
    let cancel = Cancel::default();
    let sent = cancel.clone();
    let signal = super::serve::shutdown_signal();
    tokio::spawn(async move {
        signal.await;
        sent.cancel();
        leave_on_next_signal().await;
    });
    cancel
}

/// Whoever asks a second time means it.
#[expect(clippy::exit, reason = "nothing is half-written: every write is a transaction")]
async fn leave_on_next_signal() {
    super::serve::shutdown_signal().await;
    std::process::exit(i32::from(Code::Interrupted.row().exit));
}
