//! Has the jobs done: takes them in turn, tells how they go on, tries again what the network prevented, and gives back what it
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
use lore_git::Cancel;
use lore_model::{Actor, Code, Failure, Golden, GoldenState, Job, JobId, JobStatus, Operation, RepoName};
use lore_store::{JOB_WAIT_MAX, JobEnd, NewJob, Requeue, StoreError, TeamChange};
use tokio::{sync::mpsc, task::JoinSet, time::Instant};

use super::{
    Team,
    access::random_id,
    ask::task,
    work::{Failed, Outcome, Report, is_transient},
};
use crate::team_failure;

/// How often a running job says how far it is, and looks whether it shall stop.
const TICK: Duration = Duration::from_millis(400);

/// How often it is looked at whether there is something to do that nobody rang for.
const LOOK: Duration = Duration::from_secs(1);

/// How often what was used is written down, and old jobs are forgotten.
const TIDY: Duration = Duration::from_mins(1);

/// So often at most a job is begun that the network prevents.
const NETWORK_ATTEMPTS: u32 = 5;

/// For whom the server does something by itself.
const SCHEDULE: &str = "(schedule)";

/// Why something could not be written down, and since when it could not.
pub(super) struct Unwritten {
    since: Instant,
    code: Code,
    message: String,
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
            self.refresh_by_itself(golden.alias, now).await?;
        }
        Ok(())
    }

    /// Asks for a golden repository to be fetched and read for nobody in particular.
    pub(super) async fn refresh_by_itself(&self, alias: RepoName, now: i64) -> Result<(), Failure> {
        let new = NewJob {
            id: JobId::new(random_id()?),
            task: task(Operation::RefreshGolden, &[alias]),
            user: None,
            username: SCHEDULE.to_owned(),
            user_max: usize::MAX,
            done: None,
            audited: false,
        };
        let actor = Actor { name: SCHEDULE.to_owned(), address: None, at: now };
        self.store.add_job(&new, &[], &actor).await.map_err(team_failure)?;
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
                        self.unread.note(job, &outcome.changes, false);
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
        self.unread.note(job, &changes, true);
        Ok(())
    }
}

fn cannot_write(code: Code, why: &str) -> Failure {
    Failure::new(code, format!("what becomes of jobs cannot be written down: {why}"))
}

/// Ready once it is cancelled.
pub(super) async fn stopped(cancel: &Cancel) {
    while !cancel.is_cancelled() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
