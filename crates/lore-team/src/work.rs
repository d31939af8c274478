//! What a job does: fetches and reads golden repositories, gives users what they asked for, removes what is to go; and what is
//! told of it while it goes on and when it failed.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use lore_git::{Cancel, is_branch_name};
use lore_model::{
    Activation, BranchChoice, Code, Failure, Golden, GoldenState, Job, Operation, Repo, RepoName, Source,
};
use lore_store::{IndexWriter, TeamChange};

use lore_core::{
    flows::{FlowEvent, FlowReport, FlowTask},
    history::{AddRequest, SyncEvent, SyncOptions, Target},
    search::CodeEvent,
};

use super::{Team, ask::not_ready, remote::no_branch};
use crate::failure::team_failure;

/// Whatever has not been cloned or fetched by then never will be.
const FETCH_TIME: Duration = Duration::from_hours(2);

/// What a job has to say while it runs.
pub(super) struct Report {
    pub(super) progress: AtomicU8,
    pub(super) lines: Mutex<Vec<String>>,
}

impl Report {
    fn say(&self, line: impl Into<String>) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line.into());
    }

    fn reach(&self, percent: u8) {
        self.progress.fetch_max(percent, Ordering::Relaxed);
    }
}

/// What came of a job: what to tell, and what is different now, in part even where it failed.
pub(super) struct Outcome {
    pub(super) told: Result<String, Failed>,
    pub(super) changes: Vec<TeamChange>,
}

impl Outcome {
    pub(super) fn failed(failed: impl Into<Failed>) -> Self {
        Self { told: Err(failed.into()), changes: Vec::new() }
    }
}

/// Why a job failed, and the words that are for everybody.
pub(super) struct Failed {
    pub(super) failure: Failure,
    pub(super) for_all: String,
}

impl Failed {
    /// A fault that is told in words of Lore's own, which name nothing.
    pub(super) fn own(what: String) -> Self {
        Self { failure: Failure::new(Code::Internal, what.clone()), for_all: what }
    }

    /// Whether everybody is told all of it.
    fn is_for_all(&self) -> bool {
        self.for_all == self.whole()
    }

    /// All that is told to those who manage repositories.
    pub(super) fn whole(&self) -> String {
        whole(&self.failure)
    }
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self { for_all: for_all(&failure), failure }
    }
}

fn whole(failure: &Failure) -> String {
    failure.hint.as_ref().map_or_else(|| failure.message.clone(), |hint| format!("{failure} ({hint})"))
}

/// What everybody is told of a failure: all of it where it is about what was asked for, otherwise its kind. What git and the
/// system say may name hosts, accounts and places of the server.
fn for_all(failure: &Failure) -> String {
    let row = failure.code.row();
    let is_theirs = row.http < 500 && !matches!(failure.code, Code::NotARepository | Code::PermissionDenied);
    if is_theirs {
        return whole(failure);
    }
    let again = if row.retry { "it may go well later; " } else { "" };
    format!("{} ({again}an admin sees more of this job)", row.meaning.trim_end_matches('.'))
}

impl Team {
    /// Does what a job is for.
    pub(super) fn work(&self, job: &Job, report: &Report, cancel: &Cancel) -> Outcome {
        match job.task.operation {
            Operation::RemoveGolden => {
                let mut changes = Vec::new();
                let told = self.do_remove(job, report, cancel, &mut changes);
                Outcome { told: told.map_err(Failed::from), changes }
            }
            _ if job.cancel_requested => Outcome::failed(cancelled_before()),
            _ => self.do_refresh(job, report, cancel),
        }
    }

    /// Brings golden repositories up to date with the branches that are wanted, and gives the user what they asked for.
    fn do_refresh(&self, job: &Job, report: &Report, cancel: &Cancel) -> Outcome {
        let mut changes = Vec::new();
        let mut results = Vec::new();
        let mut failed = Vec::new();
        for alias in &job.task.golden {
            match self.refresh_member(job, alias, report, cancel, &mut changes) {
                Ok(told) => results.push(told),
                Err(failure) if failure.code == Code::Interrupted => {
                    return Outcome { told: Err(failure.into()), changes };
                }
                // The others of a composite are no worse for it.
                Err(failure) => {
                    let failure = Failed::from(failure);
                    // What a job did is the same text for everybody. Where the reason is not, the error of the job has it, for each.
                    report.say(if failure.is_for_all() {
                        format!("{alias}: {}", failure.for_all)
                    } else {
                        format!("{alias} could not be read")
                    });
                    failed.push((alias, failure));
                }
            }
        }
        if !failed.is_empty() {
            return Outcome { told: Err(together(failed, job.task.golden.len())), changes };
        }
        let (alias, branch) = (job.task.alias.clone(), job.task.branch.clone());
        match (job.task.operation, job.user, alias) {
            (Operation::Activate, Some(user), Some(alias)) => {
                results.push(format!("`{alias}` is ready"));
                changes.push(TeamChange::Activate(Activation {
                    user,
                    alias,
                    golden: job.task.golden.clone(),
                    composite: false,
                    branch,
                    activated_at: self.clock.now(),
                    accessed_at: None,
                }));
            }
            (Operation::SwitchBranch, Some(user), Some(alias)) => {
                results.push(format!("`{alias}` is on branch `{}`", branch.as_deref().unwrap_or_default()));
                changes.push(TeamChange::SetBranch(user, alias, branch));
            }
            _ => {}
        }
        if let Some(branch) = job.task.main_branch() {
            // It is there, as is known only now.
            for alias in &job.task.golden {
                results.push(format!("`{branch}` is the main branch of `{alias}`"));
                changes.push(TeamChange::MainBranch(alias.clone(), Some(branch.to_owned())));
            }
        }
        Outcome { told: Ok(results.join("; ")), changes }
    }

    /// Brings one golden repository of a job up to date, and notes how that went.
    fn refresh_member(
        &self,
        job: &Job,
        alias: &RepoName,
        report: &Report,
        cancel: &Cancel,
        changes: &mut Vec<TeamChange>,
    ) -> Result<String, Failure> {
        let mut golden = self.find_golden(alias.as_str())?;
        let adds = job.task.operation == Operation::AddGolden;
        // What is being added is read by the job that adds it, and what is to go is not brought back.
        if golden.state == GoldenState::Removing || (golden.state == GoldenState::Adding && !adds) {
            return Err(not_ready(&golden));
        }
        let main = job.task.main_branch();
        golden.branch = main.map(str::to_owned).or(golden.branch);
        let read = self.refresh_one(&golden, report, cancel);
        let (alias, at) = (alias.clone(), self.clock.now());
        match read {
            Ok((repo, told)) => {
                changes.push(TeamChange::Refreshed { alias, at });
                // A main branch that is not there was not fetched.
                if let Some(branch) = job.task.branch.as_deref().filter(|_| !adds && main.is_none()) {
                    self.check_branch(&repo, branch)?;
                }
                Ok(told)
            }
            Err(failure) => {
                // That a branch is not there which was never its main one is nothing that the repository lacks.
                let is_asked = main.is_some() && failure.code == Code::InvalidArgument;
                if failure.code != Code::Interrupted && !is_asked {
                    changes.push(TeamChange::RefreshFailed { alias, at, error: failure.message.clone() });
                }
                Err(failure)
            }
        }
    }

    /// Fetches a golden repository and reads what is new of it.
    fn refresh_one(&self, golden: &Golden, report: &Report, cancel: &Cancel) -> Result<(Repo, String), Failure> {
        let options = SyncOptions {
            past: Some(golden.temporal),
            main_branch: golden.branch.clone(),
            fetch: false,
            fetch_time: Some(FETCH_TIME),
            fetch_bytes: self.settings.fetch_bytes,
            ..SyncOptions::default()
        };
        let repo = self.registered(golden, cancel)?;
        report.say(format!("fetching {}", golden.alias));
        self.lore.history.fetch(&repo, &options, cancel)?;
        report.reach(15);
        // Only now is it known which branches there are; and only the writer decides which are kept.
        let writer = self.writer(report, cancel)?;
        let mut wanted = self.wanted(&golden.alias)?;
        loop {
            let choice =
                if wanted.is_empty() { BranchChoice::Default } else { BranchChoice::DefaultAnd(wanted.clone()) };
            let repo = self.lore.history.set_branches(&*writer, &repo, &choice)?;
            let progress = |event: FlowEvent| tell(report, &event);
            let flow = FlowTask { writer: &*writer, options: &options, cancel, progress: &progress };
            let done = self.lore.sync(&repo, &flow)?;
            let FlowReport { code, .. } = &done;
            if code.lost > 0 && code.files == 0 {
                let what = format!("none of the {} files of `{}` can be read", code.lost, golden.alias);
                return Err(Failure::new(Code::GitFailed, what));
            }
            // Somebody may have been given a branch meanwhile that was read before, and is no longer.
            let now = self.wanted(&golden.alias)?;
            if now.iter().all(|branch| wanted.contains(branch)) {
                let told = summary(&golden.alias, &done);
                report.say(told.clone());
                return Ok((repo, told));
            }
            wanted = now;
        }
    }

    /// The branches that somebody wants beside the main one.
    fn wanted(&self, alias: &RepoName) -> Result<Vec<String>, Failure> {
        let mut wanted = self.store.wanted_branches(alias).map_err(team_failure)?;
        // One that cannot be is no reason to keep the others back.
        wanted.retain(|branch| is_branch_name(branch));
        Ok(wanted)
    }

    /// Fails where a branch that somebody wants is not there, naming those that are.
    fn check_branch(&self, repo: &Repo, branch: &str) -> Result<(), Failure> {
        // As it is now, after the sync.
        let repo = &self.lore.history.repo(repo.name())?;
        if self.lore.branch_indexed(repo, branch)? {
            return Ok(());
        }
        let (branches, _) = self.lore.list_branches(repo, &repo.info.local_path)?;
        let names: Vec<&str> = branches.iter().map(|(branch, _)| branch.name.as_str()).collect();
        Err(no_branch(repo.name(), branch, &names))
    }

    /// The repository in the index behind a golden one, registered where it is not yet.
    fn registered(&self, golden: &Golden, cancel: &Cancel) -> Result<Repo, Failure> {
        // What an earlier one of this alias has left is another repository.
        let is_it = |repo: &Repo| matches!(&repo.info.source, Source::Url(url) if *url == golden.url);
        if let Some(repo) = self.indexed(&golden.alias)?.filter(is_it) {
            return Ok(repo);
        }
        let writer = self.writer_for(cancel)?;
        match self.indexed(&golden.alias)? {
            Some(repo) if is_it(&repo) => return Ok(repo),
            Some(repo) => self.lore.history.remove(&*writer, &repo)?,
            None => {}
        }
        let mut request = AddRequest::new(Target::Url(golden.url.clone()));
        request.name = Some(golden.alias.to_string());
        request.default_branch.clone_from(&golden.branch);
        self.lore.history.add(&*writer, request)
    }

    fn do_remove(
        &self,
        job: &Job,
        report: &Report,
        cancel: &Cancel,
        changes: &mut Vec<TeamChange>,
    ) -> Result<String, Failure> {
        let mut results = Vec::new();
        for alias in &job.task.golden {
            match self.store.find_golden(alias).map_err(team_failure)? {
                Some(golden) if golden.state == GoldenState::Removing => {}
                // Another one may have been added under this alias since the first one went.
                Some(_) => {
                    results.push(format!("`{alias}` stays: the one that was to be removed is gone already"));
                    continue;
                }
                None => {
                    results.push(format!("`{alias}` was gone already"));
                    continue;
                }
            }
            // What an earlier attempt has taken out of the index cannot stay.
            if job.cancel_requested && self.indexed(alias)?.is_some() {
                return Err(cancelled_before());
            }
            let concerned = self.concerned(alias)?;
            report.say(format!("removing {alias}{concerned}"));
            self.forget(alias, cancel)?;
            changes.push(TeamChange::RemoveGolden(alias.clone()));
            results.push(format!("`{alias}` is removed{concerned}"));
        }
        Ok(results.join("; "))
    }

    /// What there is of a golden repository in the index.
    pub(super) fn indexed(&self, alias: &RepoName) -> Result<Option<Repo>, Failure> {
        Ok(self.lore.history.repos()?.into_iter().find(|repo| repo.name() == alias.as_str()))
    }

    /// Removes from the index what there is of a golden repository, and its clone.
    pub(super) fn forget(&self, alias: &RepoName, cancel: &Cancel) -> Result<(), Failure> {
        let Some(repo) = self.indexed(alias)? else {
            // Whoever died after the first half has left the second.
            if let Err(failure) = self.lore.history.remove_left(alias) {
                tracing::warn!(%alias, %failure, "the clone of a removed repository could not be deleted");
            }
            return Ok(());
        };
        let writer = self.writer_for(cancel)?;
        if let Err(failure) = self.lore.history.remove(&*writer, &repo) {
            if self.indexed(alias)?.is_some() {
                return Err(failure);
            }
            // Nobody finds it any more, so it is removed; what is left of it is room on the disk.
            tracing::warn!(%alias, %failure, "not all of a removed repository could be deleted");
        }
        if let Err(error) = writer.collect() {
            // It is room on the disk, which the next one who collects gives back.
            tracing::warn!(%alias, %error, "the segments of a removed repository could not be collected");
        }
        Ok(())
    }

    fn writer(&self, report: &Report, cancel: &Cancel) -> Result<Box<dyn IndexWriter>, Failure> {
        if let Ok(writer) = self.lore.history.store().try_writer() {
            return Ok(writer);
        }
        report.say("waits until another job has written the index");
        self.writer_for(cancel)
    }

    fn writer_for(&self, cancel: &Cancel) -> Result<Box<dyn IndexWriter>, Failure> {
        let _entered = cancel.enter();
        self.lore.history.writer(|| {})
    }
}

fn cancelled_before() -> Failure {
    Failure::new(Code::Interrupted, "it was cancelled before it was begun again")
}

/// What is told of a job where some of its repositories failed. It is tried again only where that helps all of them.
fn together(mut failed: Vec<(&RepoName, Failed)>, all: usize) -> Failed {
    let lasting = failed.iter().position(|(_, one)| !is_transient(&one.failure)).unwrap_or(0);
    let each = |words: &dyn Fn(&Failed) -> &str| {
        let each: Vec<String> = failed.iter().map(|(alias, one)| format!("`{alias}`: {}", words(one))).collect();
        format!("{} of {all} repositories failed: {}", failed.len(), each.join("; "))
    };
    let (message, for_all) = (each(&|one| &one.failure.message), each(&|one| &one.for_all));
    let mut one = failed.swap_remove(lasting).1;
    if all > 1 {
        (one.failure.message, one.for_all) = (message, for_all);
    }
    one
}

/// Whether the same may go well in a while.
pub(super) fn is_transient(failure: &Failure) -> bool {
    let source = std::error::Error::source(failure);
    source.and_then(|source| source.downcast_ref::<lore_git::GitError>()).is_some_and(lore_git::GitError::is_transient)
}

/// How far a sync is: fetched at 15, history read at 50, code at 85, its past at 100.
fn tell(report: &Report, event: &FlowEvent) {
    let begun = |what: &str, count: u64| report.say(format!("reading {count} {what}"));
    match event {
        FlowEvent::History(SyncEvent::Started(count)) => begun("commits", *count),
        FlowEvent::History(_) => report.reach(30),
        FlowEvent::Code(CodeEvent::Started(count)) => {
            report.reach(50);
            begun("files", *count);
        }
        FlowEvent::Code(_) => report.reach(70),
        FlowEvent::Past(CodeEvent::Started(count)) => {
            report.reach(85);
            begun("former files", *count);
        }
        FlowEvent::Past(_) => report.reach(92),
        FlowEvent::Embedding(_) => report.reach(97),
    }
}

fn summary(alias: &RepoName, done: &FlowReport) -> String {
    let FlowReport { history, code, .. } = done;
    let some = |count: u64, what: &str| if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") };
    let mut text = format!(
        "{alias}: {} read, {} in the index; {} read, {} searched",
        some(history.added, "commit"),
        history.total,
        some(code.read, "file"),
        code.files
    );
    if code.lost > 0 {
        text = format!("{text}; {} could not be read", some(code.lost, "file"));
    }
    if !code.too_large.is_empty() {
        text = format!("{text}; {} too large to be searched", some(code.too_large.len() as u64, "file"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_failures_everybody_is_told_what_is_theirs() {
        let names = [RepoName::parse("api").unwrap(), RepoName::parse("web").unwrap()];
        let git = Failure::new(Code::RemoteRefused, "http://inside.example.com said no").hint("check the URL");
        let branch = Failure::new(Code::InvalidArgument, "`web` has no branch `x`").hint("its branches are: main");
        let failed = together(vec![(&names[0], git.into()), (&names[1], branch.into())], 2);
        assert_eq!(
            failed.failure.message,
            "2 of 2 repositories failed: `api`: http://inside.example.com said no; `web`: `web` has no branch `x`"
        );
        assert_eq!(
            failed.for_all,
            "2 of 2 repositories failed: `api`: The remote of a repository is not there, lets Lore not in, or gives more \
             than is taken (an admin sees more of this job); `web`: `web` has no branch `x` (its branches are: main)"
        );
    }
}
