//! The repository the user stands in: found, registered at first use, and brought up to date before it answers.

use std::sync::Arc;

use lore_core::{
    Cancel,
    flows::{FlowEvent, FlowReport, FlowTask},
    history::{AddRequest, FreshState, SyncOptions, SyncReport, SyncTask, Target},
    search::EmbedReport,
};
use lore_model::{Code, Failure, Repo, Source};
use lore_store::IndexWriter;

use super::Context;
use crate::{environment, progress::SyncProgress, runtime};

impl Context<'_> {
    /// Brings the history of the current repository up to date, registering it at first use. Outside a repository nothing
    /// happens. Its code is left to those who ask about code.
    ///
    /// Where that cannot be done, the other repositories can still be asked.
    pub(super) fn refresh_project(&self) -> Result<(), Failure> {
        match self.try_refresh_project() {
            Err(failure) if failure.code != Code::Interrupted && !self.lore.history.repos()?.is_empty() => {
                self.ui.warn(&format!("the repository you are in could not be brought up to date: {failure}"));
                if let Some(hint) = &failure.hint {
                    self.ui.note(&format!("hint: {hint}"));
                }
                Ok(())
            }
            other => other,
        }
    }

    fn try_refresh_project(&self) -> Result<(), Failure> {
        let history = &self.lore.history;
        let here = environment::working_directory();
        let repo = match history.find_project(&here) {
            Err(failure) if failure.code == Code::NotARepository => return Ok(()),
            other => other?,
        };
        match repo {
            Some(repo) if repo.info.source == Source::Local => {
                let fresh = history.freshness(std::slice::from_ref(&repo), None);
                if fresh.repos.iter().all(|repo| matches!(repo.state, FreshState::Current | FreshState::Missing)) {
                    return Ok(());
                }
                // Whoever holds the lock is probably doing this already: answer from what is there.
                let Ok(writer) = history.store().try_writer() else { return Ok(()) };
                let repo = history.repo(repo.name())?;
                self.sync_history(&*writer, &repo).map(|_| ())
            }
            None if self.loaded.config.register_project => {
                let writer = self.writer()?;
                let repo = history.add(&*writer, AddRequest::new(Target::Folder(here)))?;
                self.ui.note(&format!(
                    "registered {} as `{}` (first use here)",
                    repo.info.local_path.display(),
                    repo.name()
                ));
                let report = self.sync_history(&*writer, &repo)?;
                self.ui.note(&format!("indexed {}", super::sync::count(report.total, "commit")));
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Replaces `.` by the name of the repository the user stands in.
    pub(super) fn repo_name(&self, name: &str) -> Result<String, Failure> {
        if name != "." {
            return Ok(name.to_owned());
        }
        self.refresh_project()?;
        self.project_name()
    }

    /// The repositories of these names, `.` for the one the user stands in; all of them where none is named.
    pub(super) fn named_repos(&self, names: &[String]) -> Result<Vec<Repo>, Failure> {
        let all = self.lore.history.repos()?;
        if all.is_empty() {
            return Err(
                Failure::new(Code::RepoNotFound, "no repository is registered").hint("run `lore add PATH` first")
            );
        }
        let mut wanted = Vec::new();
        for name in names {
            let name = if name == "." { self.project_name()? } else { name.clone() };
            wanted.push(self.lore.history.repo(&name)?.id);
        }
        Ok(all.into_iter().filter(|repo| wanted.is_empty() || wanted.contains(&repo.id)).collect())
    }

    /// The name of the repository the user stands in.
    pub(super) fn project_name(&self) -> Result<String, Failure> {
        let here = environment::working_directory();
        let repo = self.lore.history.find_project(&here)?;
        repo.map(|repo| repo.name().to_owned()).ok_or_else(|| {
            Failure::new(Code::RepoNotFound, format!("{} is not in a registered repository", here.display()))
                .hint("run `lore add .`, or name one of `lore repos`")
        })
    }

    /// The one writer, after telling the user where it has to be waited for.
    pub(super) fn writer(&self) -> Result<Box<dyn IndexWriter>, Failure> {
        self.lore.history.writer(|| self.ui.note("waiting for another lore process that is writing the index …"))
    }

    /// Reads the new history of one repository with progress.
    fn sync_history(&self, writer: &dyn IndexWriter, repo: &Repo) -> Result<SyncReport, Failure> {
        let progress = SyncProgress::new(self.ui, repo.name());
        let (options, cancel) = (self.sync_options(), cancel_on_interrupt());
        let heard = |event| progress.event(FlowEvent::History(event));
        let task = SyncTask { writer, options: &options, cancel: &cancel, progress: &heard };
        let done = self.lore.history.sync(repo, &task);
        progress.finish();
        let done = done?;
        self.lore.sync_evidence(repo, writer, done.added > 0, &cancel)?;
        Ok(done)
    }

    /// Syncs history and code of one repository with progress.
    pub(super) fn sync_one(
        &self,
        writer: &dyn IndexWriter,
        repo: &Repo,
        options: &SyncOptions,
        cancel: &Cancel,
    ) -> Result<FlowReport, Failure> {
        let progress = SyncProgress::new(self.ui, repo.name());
        let task = FlowTask { writer, options, cancel, progress: &|event| progress.event(event) };
        let done = self.lore.sync(repo, &task);
        progress.finish();
        done
    }
}

impl Context<'_> {
    /// Gives what is indexed of a repository vectors of the second model, with progress; `None` where there is no such
    /// model. What keeps it from that is told here, and in the report.
    pub(super) fn embed_one(&self, repo: &Repo, cancel: &Cancel) -> Option<EmbedReport> {
        let model = self.lore.search.query.second()?.model().to_owned();
        let progress = SyncProgress::new(self.ui, repo.name());
        let done = self.lore.search.index.embed_all(repo, cancel, &|event| progress.event(FlowEvent::Embedding(event)));
        progress.finish();
        let failure = match done {
            Ok(report) => return report,
            Err(failure) if failure.code == Code::Busy => {
                self.ui.note(&format!(
                    "{}: another lore process is embedding; run `lore sync` again when it has ended",
                    repo.name()
                ));
                return None;
            }
            Err(failure) => failure,
        };
        if !self.ui.is_json() {
            self.ui.warn(&format!("{}: not all chunks could be embedded; what was done is kept", repo.name()));
            self.ui.failure(&failure);
        }
        Some(EmbedReport { model, failure: Some(Arc::new(failure)), ..EmbedReport::default() })
    }
}

/// Turns the first Ctrl-C or SIGTERM into a wish to stop; what was read is kept.
pub(crate) fn cancel_on_interrupt() -> Cancel {
    let cancel = Cancel::default();
    let sent = cancel.clone();
    runtime::on_shutdown(move || {
        if sent.is_cancelled() {
            leave();
        }
        sent.cancel();
    });
    cancel
}

/// Whoever asks a second time means it.
#[expect(clippy::exit, reason = "nothing is half-written: every write is a transaction")]
fn leave() {
    std::process::exit(i32::from(Code::Interrupted.row().exit));
}
