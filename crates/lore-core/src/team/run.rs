//! Does the jobs: takes them in turn, tells how they go on, tries again what the network prevented, and gives back what it
//! could not finish before the server stops.
//!
//! A job that dies with its server is found at the next start and begun anew: everything that jobs do to the index can be
//! done twice, and what they change of the team is one step with their end.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use futures::FutureExt as _;
use lore_git::{Cancel, is_branch_name};
use lore_model::{
    Activation, Actor, BranchChoice, Code, Failure, Golden, GoldenState, Job, JobId, JobStatus, Operation, Repo,
    RepoName, Source,
};
use lore_store::{IndexWriter, JOB_WAIT_MAX, JobEnd, NewJob, Requeue, StoreError, TeamChange};
use tokio::{sync::mpsc, task::JoinSet, time::Instant};

use super::{
    Team,
    access::random_id,
    ask::{not_ready, task},
};
use crate::{
    flows::{FlowEvent, FlowReport, FlowTask},
    history::{AddRequest, SyncEvent, SyncOptions, Target},
    search::CodeEvent,
    team_failure,
};

/// How often a running job says how far it is, and looks whether it shall stop.
const TICK: Duration = Duration::from_millis(400);

/// How often it is looked at whether there is something to do that nobody rang for.
const LOOK: Duration = Duration::from_secs(1);

/// How often what was used is written down, and old jobs are forgotten.
const TIDY: Duration = Duration::from_mins(1);

/// So often at most a job is begun that the network prevents.
const NETWORK_ATTEMPTS: u32 = 5;

/// Whatever has not been cloned or fetched by then never will be.
const FETCH_TIME: Duration = Duration::from_hours(2);

/// For whom the server does something by itself.
const SCHEDULE: &str = "(schedule)";

/// What a job has to say while it runs.
struct Report {
    progress: AtomicU8,
    lines: mpsc::UnboundedSender<String>,
}

impl Report {
    fn say(&self, line: impl Into<String>) {
        // Nobody listens any more where the job is over.
        drop(self.lines.send(line.into()));
    }

    fn reach(&self, percent: u8) {
        self.progress.fetch_max(percent, Ordering::Relaxed);
    }
}

/// Why something could not be written down, and since when it could not.
pub(super) struct Unwritten {
    since: Instant,
    code: Code,
    message: String,
}

/// What came of a job: what to tell, and what is different now, in part even where it failed.
struct Outcome {
    told: Result<String, Failed>,
    changes: Vec<TeamChange>,
}

impl Outcome {
    fn failed(failed: impl Into<Failed>) -> Self {
        Self { told: Err(failed.into()), changes: Vec::new() }
    }
}

/// Why a job failed, and the words that are for everybody.
struct Failed {
    failure: Failure,
    for_all: String,
}

impl Failed {
    /// A fault that is told in words of Lore's own, which name nothing.
    fn own(what: String) -> Self {
        Self { failure: Failure::new(Code::Internal, what.clone()), for_all: what }
    }

    /// All that is told to those who manage repositories.
    fn whole(&self) -> String {
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
    /// Takes up what a server that died left behind. Call it once, before anything else, where no other server runs.
    pub async fn recover(&self) -> Result<(), Failure> {
        // What a fault of Lore's own has ended here may go on, on threads that nobody waits for.
        for (_, cancel) in self.running.lock().unwrap_or_else(PoisonError::into_inner).drain() {
            cancel.cancel();
        }
        for job in self.store.running_jobs().await.map_err(team_failure)? {
            self.take_up(&job, "the server stopped while it was being done", &Cancel::default()).await?;
        }
        Ok(())
    }

    /// Puts a job back that was lost while it was being done, or gives it up.
    async fn take_up(&self, job: &Job, why: &str, stop: &Cancel) -> Result<(), Failure> {
        if job.attempts >= self.settings.attempts {
            let what = format!("it was begun {} times and never ended: {why}", job.attempts);
            return self.end(job, &Outcome::failed(Failed::own(what)), stop).await;
        }
        let at = self.clock.now();
        let again = Requeue { at, not_before: at, why: why.to_owned(), why_told: why.to_owned(), counts: true };
        self.store.requeue_job(&job.id, &again).await.map_err(team_failure)
    }

    /// Takes up a job whose task died of a fault of Lore's own: marked as running, it would hold its place and its repositories
    /// until the next start.
    async fn take_up_lost(&self, job: &Job, stop: &Cancel) {
        // What it has begun on other threads would go on beside the next attempt.
        if let Some(cancel) = self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&job.id) {
            cancel.cancel();
        }
        let why = "a fault of Lore's own ended it; the server's log says where";
        if let Err(failure) = self.take_up(job, why, stop).await {
            tracing::error!(job = %job.id, %failure, "a job that was lost waits for the next start");
        }
        self.ended.notify_waiters();
    }

    /// Does jobs until `stop`; then those that run are told to stop, and wait for the next start.
    pub async fn run(self: &Arc<Self>, stop: &Cancel) {
        let mut tasks = JoinSet::new();
        let mut begun = HashMap::new();
        let mut tidy = Instant::now();
        while !stop.is_cancelled() {
            if tidy <= Instant::now() {
                tidy = Instant::now() + TIDY;
                self.tidy().await;
            }
            if let Err(failure) = self.schedule().await {
                tracing::warn!(%failure, "refreshes could not be scheduled");
            }
            match self.store.claim_job(&self.settings.limits, self.clock.now()).await {
                Ok(Some(job)) => {
                    self.note_written(None, None);
                    let task = tasks.spawn(Arc::clone(self).perform(job.clone(), stop.clone()));
                    begun.insert(task.id(), job);
                    continue;
                }
                Ok(None) => self.note_written(None, None),
                Err(error) => {
                    let failure = team_failure(error);
                    tracing::warn!(%failure, "no job can be begun");
                    self.note_written(None, Some(&failure));
                }
            }
            tokio::select! {
                () = self.wake.notified() => {}
                () = stopped(stop) => {}
                Some(ended) = tasks.join_next_with_id() => match ended {
                    Ok((task, ())) => drop(begun.remove(&task)),
                    Err(error) => {
                        tracing::error!(%error, "a job was lost");
                        if let Some(job) = begun.remove(&error.id()) {
                            self.take_up_lost(&job, stop).await;
                        }
                    }
                },
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        for cancel in self.running.lock().unwrap_or_else(PoisonError::into_inner).values() {
            cancel.cancel();
        }
        while tasks.join_next().await.is_some() {}
        if let Err(failure) = self.write_uses().await {
            tracing::warn!(%failure, "when tokens were last used could not be written");
        }
    }

    async fn tidy(&self) {
        let forgotten = self.store.forget_jobs(self.clock.now() - self.settings.keep_jobs).await;
        if let Err(failure) = forgotten.map_err(team_failure).and(self.write_uses().await) {
            tracing::warn!(%failure, "the team's records could not be tidied");
        }
    }

    /// Asks for what is due.
    async fn schedule(&self) -> Result<(), Failure> {
        // In this order: what ends meanwhile runs by the first list or was tried by the second, and never later than now.
        let busy = self.store.running_jobs().await.map_err(team_failure)?;
        let golden = self.golden().await?;
        let now = self.clock.now();
        for golden in golden {
            let Some(every) = golden.refresh_every else { continue };
            let last = golden.tried_at.or(golden.refreshed_at).unwrap_or(golden.created_at);
            // Whoever was tried later than now was tried by a clock that has been set back since.
            let is_due = last > now || now >= last.saturating_add(every);
            if golden.state != GoldenState::Ready || !is_due {
                continue;
            }
            if busy.iter().any(|job| job.task.golden.contains(&golden.alias)) {
                continue;
            }
            let new = NewJob {
                id: JobId::new(random_id()?),
                task: task(Operation::RefreshGolden, &[golden.alias]),
                user: None,
                username: SCHEDULE.to_owned(),
                user_max: usize::MAX,
                done: None,
                audited: false,
            };
            self.store
                .add_job(&new, &[], &Actor { name: SCHEDULE.to_owned(), address: None, at: now })
                .await
                .map_err(team_failure)?;
        }
        Ok(())
    }

    /// Does one job from its beginning to its end.
    async fn perform(self: Arc<Self>, job: Job, stop: Cancel) {
        let cancel = Cancel::default();
        self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(job.id.clone(), cancel.clone());
        tracing::info!(job = %job.id, operation = job.task.operation.as_str(), user = job.username, "job begun");
        let (lines, mut heard) = mpsc::unbounded_channel();
        let report = Report { progress: AtomicU8::new(0), lines };
        let work = std::panic::AssertUnwindSafe(self.work(&job, &report, &cancel)).catch_unwind();
        let outcome = tokio::select! {
            outcome = work => outcome.unwrap_or_else(|_| {
                Outcome::failed(Failed::own("a fault of Lore's own ended it; the server's log says where".to_owned()))
            }),
            never = self.follow(&job, &report, &mut heard, &cancel, &stop) => match never {},
        };
        self.write_lines(&job, &mut heard).await;
        let mut pause = Duration::from_millis(200);
        // A job that is over and not written down would hold its place and its repositories until the next start.
        while let Err(failure) = self.settle(&job, &outcome, &stop).await {
            tracing::error!(job = %job.id, %failure, "the end of a job could not be written");
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(Duration::from_secs(30)),
                // It is still marked as running, and taken up at the next start.
                () = stopped(&stop) => break,
            }
        }
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&job.id);
        self.ended.notify_waiters();
        self.wake.notify_one();
    }

    /// Writes down that a job is over, or that it is to be tried again.
    async fn settle(&self, job: &Job, outcome: &Outcome, stop: &Cancel) -> Result<(), Failure> {
        let at = self.clock.now();
        let again = match &outcome.told {
            Err(Failed { failure, .. }) if failure.code == Code::Interrupted && stop.is_cancelled() => {
                let why = "the server was stopped".to_owned();
                Some(Requeue { at, not_before: at, why: why.clone(), why_told: why, counts: false })
            }
            Err(Failed { failure, for_all })
                if is_transient(failure) && job.attempts < self.settings.attempts.min(NETWORK_ATTEMPTS) =>
            {
                let wait = self.settings.back_off.saturating_mul(1 << job.attempts.min(20)) / 2;
                let not_before = at + wait.min(JOB_WAIT_MAX);
                let (why, why_told) = (failure.message.clone(), for_all.clone());
                Some(Requeue { at, not_before, why, why_told, counts: true })
            }
            _ => None,
        };
        let settled = match again {
            Some(again) => self.store.requeue_job(&job.id, &again).await.map_err(team_failure),
            None => self.end(job, outcome, stop).await,
        };
        self.note_written(Some(&job.id), settled.as_ref().err());
        settled
    }

    /// Notes that the end of a job was written down, or where none is named that one is begun; or why not. A server tries again
    /// for as long as it takes; who waits for a job may not want to.
    fn note_written(&self, job: Option<&JobId>, failure: Option<&Failure>) {
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        let key = job.cloned();
        let Some(failure) = failure else {
            unwritten.remove(&key);
            return;
        };
        let since = unwritten.get(&key).map_or_else(Instant::now, |known| known.since);
        unwritten.insert(key, Unwritten { since, code: failure.code, message: failure.message.clone() });
    }

    /// Why what becomes of a job, or where none is named of any, cannot be written down, where it could not for so long. That
    /// others are writing is no reason.
    pub fn unwritten(&self, job: Option<&JobId>, patience: Duration) -> Option<Failure> {
        let unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        let concerns = |key: &Option<JobId>| key.is_none() || job.is_none() || key.as_ref() == job;
        let (_, Unwritten { code, message, .. }) = unwritten
            .iter()
            .find(|(key, known)| concerns(key) && known.code != Code::Busy && known.since.elapsed() >= patience)?;
        Some(cannot_write(*code, message))
    }

    /// Fails where nothing can be written down just now, for whoever waits beside a server that does the jobs: it knows, and tells
    /// nobody. That others are writing is no reason.
    pub async fn check_writing(&self) -> Result<(), Failure> {
        match self.store.check_writing().await {
            Ok(()) | Err(StoreError::Locked) => Ok(()),
            Err(error) => {
                let failure = team_failure(error);
                Err(cannot_write(failure.code, &failure.message))
            }
        }
    }

    /// Writes down how a job goes on, and stops it where somebody wants that. Never ends by itself.
    async fn follow(
        &self,
        job: &Job,
        report: &Report,
        lines: &mut mpsc::UnboundedReceiver<String>,
        cancel: &Cancel,
        stop: &Cancel,
    ) -> std::convert::Infallible {
        let mut told = 0;
        loop {
            tokio::time::sleep(TICK).await;
            self.write_lines(job, lines).await;
            let progress = report.progress.load(Ordering::Relaxed);
            if progress > told {
                told = progress;
                drop(self.store.note_progress(&job.id, progress).await);
            }
            let asked = self.store.find_job(&job.id).await;
            if stop.is_cancelled() || asked.is_ok_and(|job| job.is_none_or(|job| job.cancel_requested)) {
                cancel.cancel();
            }
        }
    }

    async fn write_lines(&self, job: &Job, lines: &mut mpsc::UnboundedReceiver<String>) {
        while let Ok(line) = lines.try_recv() {
            // What is told of a job is no reason for it to fail.
            drop(self.store.log_job(&job.id, self.clock.now(), &line).await);
        }
    }

    /// Writes down how a job ended, together with what it changes. Where something has to be cleared away for that, it may have to
    /// wait for the index: as long as the server does not stop.
    async fn end(&self, job: &Job, outcome: &Outcome, stop: &Cancel) -> Result<(), Failure> {
        let at = self.clock.now();
        let actor = Actor { name: job.username.clone(), address: None, at };
        let failed = match &outcome.told {
            Ok(told) => {
                let (status, result) = (JobStatus::Completed, Some(told.clone()));
                let end = JobEnd { status, at, result, error: None, error_told: None };
                match self.store.end_job(&job.id, &end, &outcome.changes, &actor).await {
                    Ok(_) => {
                        tracing::info!(job = %job.id, "job completed");
                        return Ok(());
                    }
                    // Things are no longer as they were when it was asked for.
                    Err(error @ (StoreError::Exists(_) | StoreError::Refused(_) | StoreError::Absent(_))) => {
                        &Failed::from(team_failure(error))
                    }
                    Err(error) => return Err(team_failure(error)),
                }
            }
            Err(failed) => failed,
        };
        let failure = &failed.failure;
        let status = if failure.code == Code::Interrupted { JobStatus::Cancelled } else { JobStatus::Failed };
        tracing::info!(job = %job.id, %failure, "job {}", status.as_str());
        // What was read stays read; what was asked for is not given.
        let mut changes = outcome.changes.clone();
        changes.retain(|change| {
            !matches!(change, TeamChange::Activate(_) | TeamChange::SetBranch(..) | TeamChange::MainBranch(..))
        });
        for alias in &job.task.golden {
            match job.task.operation {
                Operation::AddGolden => {
                    let known = self.store.find_golden(alias).await.map_err(team_failure)?;
                    // What answers is not this job's to take away, nor what was added under the same alias later.
                    let is_own = |it: &Golden| it.refreshed_at.is_none() && it.created_at <= job.created_at;
                    if known.is_some_and(|known| !is_own(&known)) {
                        continue;
                    }
                    if let Err(failure) = self.forget(alias, stop).await {
                        if stop.is_cancelled() {
                            return Err(failure);
                        }
                        // Nobody sees it any more; whoever adds the same again finds it.
                        tracing::warn!(%alias, %failure, "what was read of a repository could not be removed");
                    }
                    changes.push(TeamChange::NotAdded(alias.clone()));
                }
                // Without its index it could not answer: then it waits to be removed again.
                Operation::RemoveGolden if self.indexed(alias).await?.is_some() => {
                    changes.push(TeamChange::KeepGolden(alias.clone()));
                }
                _ => {}
            }
        }
        let (error, told) = match status {
            JobStatus::Cancelled => ("it was cancelled".to_owned(), "it was cancelled".to_owned()),
            _ => (failed.whole(), failed.for_all.clone()),
        };
        let end = JobEnd { status, at, result: None, error: Some(error), error_told: Some(told) };
        self.store.end_job(&job.id, &end, &changes, &actor).await.map_err(team_failure)?;
        Ok(())
    }

    async fn work(&self, job: &Job, report: &Report, cancel: &Cancel) -> Outcome {
        match job.task.operation {
            Operation::RemoveGolden => {
                let mut changes = Vec::new();
                let told = self.do_remove(job, report, cancel, &mut changes).await;
                Outcome { told: told.map_err(Failed::from), changes }
            }
            _ if job.cancel_requested => Outcome::failed(cancelled_before()),
            _ => self.do_refresh(job, report, cancel).await,
        }
    }

    /// Brings golden repositories up to date with the branches that are wanted, and gives the user what they asked for.
    async fn do_refresh(&self, job: &Job, report: &Report, cancel: &Cancel) -> Outcome {
        let mut changes = Vec::new();
        let mut results = Vec::new();
        let mut failed = Vec::new();
        for alias in &job.task.golden {
            match self.refresh_member(job, alias, report, cancel, &mut changes).await {
                Ok(told) => results.push(told),
                Err(failure) if failure.code == Code::Interrupted => {
                    return Outcome { told: Err(failure.into()), changes };
                }
                // The others of a composite are no worse for it.
                Err(failure) => {
                    let failure = Failed::from(failure);
                    report.say(format!("{alias}: {}", failure.for_all));
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
    async fn refresh_member(
        &self,
        job: &Job,
        alias: &RepoName,
        report: &Report,
        cancel: &Cancel,
        changes: &mut Vec<TeamChange>,
    ) -> Result<String, Failure> {
        let mut golden = self.find_golden(alias.as_str()).await?;
        let adds = job.task.operation == Operation::AddGolden;
        // What is being added is read by the job that adds it, and what is to go is not brought back.
        if golden.state == GoldenState::Removing || (golden.state == GoldenState::Adding && !adds) {
            return Err(not_ready(&golden));
        }
        let main = job.task.main_branch();
        golden.branch = main.map(str::to_owned).or(golden.branch);
        let read = self.refresh_one(&golden, report, cancel).await;
        let (alias, at) = (alias.clone(), self.clock.now());
        match read {
            Ok((repo, told)) => {
                changes.push(TeamChange::Refreshed { alias, at });
                // A main branch that is not there was not fetched.
                if let Some(branch) = job.task.branch.as_deref().filter(|_| !adds && main.is_none()) {
                    self.check_branch(&repo, branch).await?;
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
    async fn refresh_one(&self, golden: &Golden, report: &Report, cancel: &Cancel) -> Result<(Repo, String), Failure> {
        let options = SyncOptions {
            past: Some(golden.temporal),
            main_branch: golden.branch.clone(),
            fetch: false,
            fetch_time: Some(FETCH_TIME),
            fetch_bytes: self.settings.fetch_bytes,
            ..SyncOptions::default()
        };
        let repo = self.registered(golden, cancel).await?;
        report.say(format!("fetching {}", golden.alias));
        self.lore.history.fetch(&repo, &options, cancel).await?;
        report.reach(15);
        // Only now is it known which branches there are; and only the writer decides which are kept.
        let writer = self.writer(report, cancel).await?;
        let mut wanted = self.wanted(&golden.alias).await?;
        loop {
            let choice =
                if wanted.is_empty() { BranchChoice::Default } else { BranchChoice::DefaultAnd(wanted.clone()) };
            let repo = self.lore.history.set_branches(&*writer, &repo, &choice).await?;
            let progress = |event: FlowEvent| tell(report, &event);
            let flow = FlowTask { writer: &*writer, options: &options, cancel, progress: &progress };
            let done = self.lore.sync(&repo, &flow).await?;
            let FlowReport { code, .. } = &done;
            if code.lost > 0 && code.files == 0 {
                let what = format!("none of the {} files of `{}` can be read", code.lost, golden.alias);
                return Err(Failure::new(Code::GitFailed, what));
            }
            // Somebody may have been given a branch meanwhile that was read before, and is no longer.
            let now = self.wanted(&golden.alias).await?;
            if now.iter().all(|branch| wanted.contains(branch)) {
                let told = summary(&golden.alias, &done);
                report.say(told.clone());
                return Ok((repo, told));
            }
            wanted = now;
        }
    }

    /// The branches that somebody wants beside the main one.
    async fn wanted(&self, alias: &RepoName) -> Result<Vec<String>, Failure> {
        let mut wanted = self.store.wanted_branches(alias).await.map_err(team_failure)?;
        // One that cannot be is no reason to keep the others back.
        wanted.retain(|branch| is_branch_name(branch));
        Ok(wanted)
    }

    /// Fails where a branch that somebody wants is not there, naming those that are.
    async fn check_branch(&self, repo: &Repo, branch: &str) -> Result<(), Failure> {
        // As it is now, after the sync.
        let repo = &self.lore.history.repo(repo.name()).await?;
        if self.lore.branch_indexed(repo, branch).await? {
            return Ok(());
        }
        let (branches, total) = self.lore.list_branches(repo, &repo.info.local_path).await?;
        let mut names: Vec<&str> = branches.iter().take(20).map(|(branch, _)| branch.name.as_str()).collect();
        if total > names.len() {
            names.push("…");
        }
        Err(Failure::new(Code::InvalidArgument, format!("`{}` has no branch `{branch}`", repo.name()))
            .hint(format!("its branches are: {}", names.join(", "))))
    }

    /// The repository in the index behind a golden one, registered where it is not yet.
    async fn registered(&self, golden: &Golden, cancel: &Cancel) -> Result<Repo, Failure> {
        // What an earlier one of this alias has left is another repository.
        let is_it = |repo: &Repo| matches!(&repo.info.source, Source::Url(url) if *url == golden.url);
        if let Some(repo) = self.indexed(&golden.alias).await?.filter(is_it) {
            return Ok(repo);
        }
        let writer = self.writer_for(cancel).await?;
        match self.indexed(&golden.alias).await? {
            Some(repo) if is_it(&repo) => return Ok(repo),
            Some(repo) => self.lore.history.remove(&*writer, &repo).await?,
            None => {}
        }
        let mut request = AddRequest::new(Target::Url(golden.url.clone()));
        request.name = Some(golden.alias.to_string());
        request.default_branch.clone_from(&golden.branch);
        self.lore.history.add(&*writer, request).await
    }

    async fn do_remove(
        &self,
        job: &Job,
        report: &Report,
        cancel: &Cancel,
        changes: &mut Vec<TeamChange>,
    ) -> Result<String, Failure> {
        let mut results = Vec::new();
        for alias in &job.task.golden {
            match self.store.find_golden(alias).await.map_err(team_failure)? {
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
            if job.cancel_requested && self.indexed(alias).await?.is_some() {
                return Err(cancelled_before());
            }
            let concerned = self.concerned(alias).await?;
            report.say(format!("removing {alias}{concerned}"));
            self.forget(alias, cancel).await?;
            changes.push(TeamChange::RemoveGolden(alias.clone()));
            results.push(format!("`{alias}` is removed{concerned}"));
        }
        Ok(results.join("; "))
    }

    /// What there is of a golden repository in the index.
    async fn indexed(&self, alias: &RepoName) -> Result<Option<Repo>, Failure> {
        Ok(self.lore.history.repos().await?.into_iter().find(|repo| repo.name() == alias.as_str()))
    }

    /// Removes from the index what there is of a golden repository, and its clone.
    async fn forget(&self, alias: &RepoName, cancel: &Cancel) -> Result<(), Failure> {
        let Some(repo) = self.indexed(alias).await? else {
            // Whoever died after the first half has left the second.
            if let Err(failure) = self.lore.history.remove_left(alias).await {
                tracing::warn!(%alias, %failure, "the clone of a removed repository could not be deleted");
            }
            return Ok(());
        };
        let writer = self.writer_for(cancel).await?;
        if let Err(failure) = self.lore.history.remove(&*writer, &repo).await {
            if self.indexed(alias).await?.is_some() {
                return Err(failure);
            }
            // Nobody finds it any more, so it is removed; what is left of it is room on the disk.
            tracing::warn!(%alias, %failure, "not all of a removed repository could be deleted");
        }
        if let Err(error) = writer.collect().await {
            // It is room on the disk, which the next one who collects gives back.
            tracing::warn!(%alias, %error, "the segments of a removed repository could not be collected");
        }
        Ok(())
    }

    async fn writer(&self, report: &Report, cancel: &Cancel) -> Result<Box<dyn IndexWriter>, Failure> {
        if let Ok(writer) = self.lore.history.store().try_writer().await {
            return Ok(writer);
        }
        report.say("waits until another job has written the index");
        self.writer_for(cancel).await
    }

    async fn writer_for(&self, cancel: &Cancel) -> Result<Box<dyn IndexWriter>, Failure> {
        tokio::select! {
            writer = self.lore.history.writer(|| {}) => writer,
            () = stopped(cancel) => Err(Failure::new(Code::Interrupted, "it was stopped")),
        }
    }
}

fn cannot_write(code: Code, why: &str) -> Failure {
    Failure::new(code, format!("what becomes of jobs cannot be written down: {why}"))
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

/// Ready once it is cancelled.
async fn stopped(cancel: &Cancel) {
    while !cancel.is_cancelled() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Whether the same may go well in a while.
fn is_transient(failure: &Failure) -> bool {
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
