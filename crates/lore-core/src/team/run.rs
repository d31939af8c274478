//! Does the jobs: takes them in turn, tells how they go on, tries again what the network prevented, and gives back what it
//! could not finish before the server stops.
//!
//! A job that dies with its server is found at the next start and begun anew: everything that jobs do to the index can be
//! done twice, and what they change of the team is one step with their end.

use std::{
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use futures::FutureExt as _;
use lore_git::{Cancel, is_branch_name};
use lore_model::{
    Activation, Actor, BranchChoice, Code, Failure, Golden, GoldenState, Job, JobStatus, Operation, Repo, RepoName,
    Source,
};
use lore_store::{IndexWriter, JobEnd, NewJob, Requeue, StoreError, TeamChange};
use tokio::{sync::mpsc, task::JoinSet, time::Instant};

use super::{Team, access::random_id, ask::task};
use crate::{
    flows::{FlowEvent, FlowReport, FlowTask},
    history::{AddRequest, SyncEvent, SyncOptions, Target},
    search::CodeEvent,
    store_failure,
};

/// How often a running job says how far it is, and looks whether it shall stop.
const TICK: Duration = Duration::from_millis(400);

/// How often it is looked at whether there is something to do that nobody rang for.
const LOOK: Duration = Duration::from_secs(1);

/// How often what was used is written down, and old jobs are forgotten.
const TIDY: Duration = Duration::from_mins(1);

/// The longest wait before a job is tried again, in seconds.
const LONGEST_WAIT: i64 = 15 * 60;

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

/// What came of a job: what to tell, and what is different now, in part even where it failed.
struct Outcome {
    told: Result<String, Failure>,
    changes: Vec<TeamChange>,
}

impl Outcome {
    fn failed(failure: Failure) -> Self {
        Self { told: Err(failure), changes: Vec::new() }
    }
}

impl Team {
    /// Takes up what a server that died left behind. Call it once, before anything else, where no other server runs.
    pub async fn recover(&self) -> Result<(), Failure> {
        for job in self.store.running_jobs().await.map_err(store_failure)? {
            let at = self.clock.now();
            if job.attempts >= self.settings.attempts {
                let failure = Failure::new(
                    Code::Internal,
                    format!("it was begun {} times, and the server stopped each time", job.attempts),
                );
                self.end(&job, &Outcome::failed(failure)).await?;
                continue;
            }
            let why = "the server stopped while it was being done".to_owned();
            let again = Requeue { at, not_before: at, why, counts: true };
            self.store.requeue_job(&job.id, &again).await.map_err(store_failure)?;
        }
        Ok(())
    }

    /// Does jobs until `stop`; then those that run are told to stop, and wait for the next start.
    pub async fn run(self: &Arc<Self>, stop: &Cancel) {
        let mut tasks = JoinSet::new();
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
                    tasks.spawn(Arc::clone(self).perform(job, stop.clone()));
                    continue;
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "jobs cannot be read"),
            }
            tokio::select! {
                () = self.wake.notified() => {}
                () = stopped(stop) => {}
                Some(ended) = tasks.join_next() => if let Err(error) = ended { tracing::error!(%error, "a job was lost") },
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
        if let Err(failure) = forgotten.map_err(store_failure).and(self.write_uses().await) {
            tracing::warn!(%failure, "the team's records could not be tidied");
        }
    }

    /// Asks for what is due.
    async fn schedule(&self) -> Result<(), Failure> {
        let now = self.clock.now();
        for golden in self.golden().await? {
            let Some(every) = golden.refresh_every else { continue };
            let last = golden.tried_at.or(golden.refreshed_at).unwrap_or(golden.created_at);
            if golden.state != GoldenState::Ready || now < last.saturating_add(every) {
                continue;
            }
            let busy = self.store.running_jobs().await.map_err(store_failure)?;
            if busy.iter().any(|job| job.task.golden.contains(&golden.alias)) {
                continue;
            }
            let new = NewJob {
                id: lore_model::JobId::new(random_id()?),
                task: task(Operation::RefreshGolden, &[golden.alias]),
                user: None,
                username: SCHEDULE.to_owned(),
                user_max: usize::MAX,
                done: None,
            };
            self.store
                .add_job(&new, &[], &Actor { name: SCHEDULE.to_owned(), address: None, at: now })
                .await
                .map_err(store_failure)?;
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
                let what = "a fault of Lore's own ended it; the server's log says where";
                Outcome::failed(Failure::new(Code::Internal, what))
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
            Err(failure) if failure.code == Code::Interrupted && stop.is_cancelled() => {
                Some(Requeue { at, not_before: at, why: "the server was stopped".to_owned(), counts: false })
            }
            Err(failure) if is_transient(failure) && job.attempts < self.settings.attempts.min(5) => {
                let wait = self.settings.back_off.saturating_mul(1 << job.attempts.min(20)) / 2;
                let not_before = at + wait.min(LONGEST_WAIT);
                Some(Requeue { at, not_before, why: failure.message.clone(), counts: true })
            }
            _ => None,
        };
        match again {
            Some(again) => self.store.requeue_job(&job.id, &again).await.map_err(store_failure),
            None => self.end(job, outcome).await,
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

    /// Writes down how a job ended, together with what it changes.
    async fn end(&self, job: &Job, outcome: &Outcome) -> Result<(), Failure> {
        let at = self.clock.now();
        let actor = Actor { name: job.username.clone(), address: None, at };
        let write = async |status, result: Option<String>, error: Option<String>, changes: &[TeamChange]| {
            self.store.end_job(&job.id, &JobEnd { status, at, result, error }, changes, &actor).await
        };
        let failure = match &outcome.told {
            Ok(told) => match write(JobStatus::Completed, Some(told.clone()), None, &outcome.changes).await {
                Ok(_) => {
                    tracing::info!(job = %job.id, "job completed");
                    return Ok(());
                }
                // Things are no longer as they were when it was asked for.
                Err(error @ (StoreError::Exists(_) | StoreError::Refused(_) | StoreError::Absent(_))) => {
                    &store_failure(error)
                }
                Err(error) => return Err(store_failure(error)),
            },
            Err(failure) => failure,
        };
        let status = if failure.code == Code::Interrupted { JobStatus::Cancelled } else { JobStatus::Failed };
        tracing::info!(job = %job.id, %failure, "job {}", status.as_str());
        // What was read stays read; what was to be given to a user is not.
        let mut changes = outcome.changes.clone();
        changes.retain(|change| !matches!(change, TeamChange::Activate(_) | TeamChange::SetBranch(..)));
        for alias in &job.task.golden {
            match job.task.operation {
                Operation::AddGolden => {
                    if let Err(failure) = self.forget(alias).await {
                        // Nobody sees it any more; whoever adds the same again finds it.
                        tracing::warn!(%alias, %failure, "what was read of a repository could not be removed");
                    }
                    changes.push(TeamChange::RemoveGolden(alias.clone()));
                }
                Operation::RemoveGolden => changes.push(TeamChange::KeepGolden(alias.clone())),
                _ => {}
            }
        }
        let error = failure.hint.as_ref().map_or_else(|| failure.message.clone(), |hint| format!("{failure} ({hint})"));
        let error = if status == JobStatus::Cancelled { "it was cancelled".to_owned() } else { error };
        write(status, None, Some(error), &changes).await.map_err(store_failure)?;
        Ok(())
    }

    async fn work(&self, job: &Job, report: &Report, cancel: &Cancel) -> Outcome {
        if job.cancel_requested {
            return Outcome::failed(Failure::new(Code::Interrupted, "it was cancelled before it was begun again"));
        }
        match job.task.operation {
            Operation::RemoveGolden => self.do_remove(job, report).await,
            _ => self.do_refresh(job, report, cancel).await,
        }
    }

    /// Brings golden repositories up to date with the branches that are wanted, and gives the user what they asked for.
    async fn do_refresh(&self, job: &Job, report: &Report, cancel: &Cancel) -> Outcome {
        let mut changes = Vec::new();
        let mut results = Vec::new();
        for alias in &job.task.golden {
            let alias = alias.clone();
            let read = match self.find_golden(alias.as_str()).await {
                Ok(golden) => self.refresh_one(&golden, report, cancel).await,
                Err(failure) => return Outcome { told: Err(failure), changes },
            };
            let at = self.clock.now();
            match read {
                Ok((repo, told)) => {
                    results.push(told);
                    changes.push(TeamChange::Refreshed { alias, at });
                    if let Some(branch) =
                        job.task.branch.as_deref().filter(|_| job.task.operation != Operation::AddGolden)
                        && let Err(failure) = self.check_branch(&repo, branch).await
                    {
                        return Outcome { told: Err(failure), changes };
                    }
                }
                Err(failure) => {
                    if failure.code != Code::Interrupted {
                        changes.push(TeamChange::RefreshFailed { alias, at, error: failure.message.clone() });
                    }
                    return Outcome { told: Err(failure), changes };
                }
            }
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
        Outcome { told: Ok(results.join("; ")), changes }
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
        let mut wanted = self.store.wanted_branches(alias).await.map_err(store_failure)?;
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
        let find = async || {
            let repos = self.lore.history.repos().await?;
            Ok::<_, Failure>(repos.into_iter().find(|repo| repo.name() == golden.alias.as_str()))
        };
        // What an earlier one of this alias has left is another repository.
        let is_it = |repo: &Repo| matches!(&repo.info.source, Source::Url(url) if *url == golden.url);
        if let Some(repo) = find().await?.filter(is_it) {
            return Ok(repo);
        }
        let writer = self.writer_for(cancel).await?;
        match find().await? {
            Some(repo) if is_it(&repo) => return Ok(repo),
            Some(repo) => self.lore.history.remove(&*writer, &repo).await?,
            None => {}
        }
        let mut request = AddRequest::new(Target::Url(golden.url.clone()));
        request.name = Some(golden.alias.to_string());
        request.default_branch.clone_from(&golden.branch);
        self.lore.history.add(&*writer, request).await
    }

    async fn do_remove(&self, job: &Job, report: &Report) -> Outcome {
        let mut changes = Vec::new();
        for alias in &job.task.golden {
            // Another one may have been added under this alias since the first one went.
            match self.store.find_golden(alias).await.map_err(store_failure) {
                Ok(Some(golden)) if golden.state == GoldenState::Removing => {}
                Ok(_) => continue,
                Err(failure) => return Outcome { told: Err(failure), changes },
            }
            report.say(format!("removing {alias}"));
            if let Err(failure) = self.forget(alias).await {
                return Outcome { told: Err(failure), changes };
            }
            changes.push(TeamChange::RemoveGolden(alias.clone()));
        }
        let names: Vec<&str> = job.task.golden.iter().map(RepoName::as_str).collect();
        Outcome { told: Ok(format!("`{}` is removed", names.join("`, `"))), changes }
    }

    /// Removes from the index what there is of a golden repository.
    async fn forget(&self, alias: &RepoName) -> Result<(), Failure> {
        let found = self.lore.history.repos().await?.into_iter().find(|repo| repo.name() == alias.as_str());
        let Some(repo) = found else { return Ok(()) };
        let writer = self.writer_for(&Cancel::default()).await?;
        self.lore.history.remove(&*writer, &repo).await?;
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
