//! Has the jobs done: takes them in turn, tells how they go on, tries again what the network prevented, and gives back what it
//! could not finish before the server stops.
//!
//! A job that dies with its server is found at the next start and begun anew: everything that jobs do to the index can be
//! done twice, and what they change of the team is one step with their end.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use lore_git::Cancel;
use lore_model::{Actor, Code, Failure, Golden, GoldenState, Job, JobId, JobStatus, Operation, RepoName};
use lore_store::{JOB_WAIT_MAX, JobEnd, NewJob, Requeue, StoreError, TeamChange};

use super::{
    Team,
    access::random_id,
    ask::task,
    work::{Failed, Outcome, Report, is_transient},
};
use crate::failure::team_failure;

/// How often a running job says how far it is, and looks whether it shall stop.
const TICK: Duration = Duration::from_millis(400);

/// How often it is looked at whether there is something to do that nobody rang for.
const LOOK: Duration = Duration::from_secs(1);

/// The name of the threads that execute jobs.
pub const JOB_THREAD: &str = "lore-job";

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
    pub fn recover(&self) -> Result<(), Failure> {
        // What a fault of Lore's own has ended here may go on, on threads that nobody waits for.
        for (_, cancel) in self.running.lock().unwrap_or_else(PoisonError::into_inner).drain() {
            cancel.cancel();
        }
        for job in self.store.running_jobs().map_err(team_failure)? {
            self.take_up(&job, "the server stopped while it was being done", &Cancel::default())?;
        }
        Ok(())
    }

    /// Puts a job back that was lost while it was being done, or gives it up.
    fn take_up(&self, job: &Job, why: &str, stop: &Cancel) -> Result<(), Failure> {
        if job.attempts >= self.settings.attempts {
            let what = format!("it was begun {} times and never ended: {why}", job.attempts);
            return self.end(job, &Outcome::failed(Failed::own(what)), stop);
        }
        let at = self.clock.now();
        let again = Requeue { at, not_before: at, why: why.to_owned(), why_told: why.to_owned(), counts: true };
        self.store.requeue_job(&job.id, &again).map_err(team_failure)
    }

    /// Takes up a job whose task died of a fault of Lore's own: marked as running, it would hold its place and its repositories
    /// until the next start.
    fn take_up_lost(&self, job: &Job, stop: &Cancel) {
        // What it has begun on other threads would go on beside the next attempt.
        if let Some(cancel) = self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&job.id) {
            cancel.cancel();
        }
        let why = "a fault of Lore's own ended it; the server's log says where";
        if let Err(failure) = self.take_up(job, why, stop) {
            tracing::error!(job = %job.id, %failure, "a job that was lost waits for the next start");
        }
        self.ended.notify();
    }

    /// Does jobs until `stop`, each on a thread of its own; then those that run are told to stop, and wait for the next start.
    pub fn run(self: &Arc<Self>, stop: &Cancel) {
        let mut begun: Vec<(Job, JoinHandle<()>)> = Vec::new();
        let mut tidy = Instant::now();
        while !stop.is_cancelled() {
            let seen = self.wake.last();
            for (job, thread) in begun.extract_if(.., |(_, thread)| thread.is_finished()) {
                if thread.join().is_err() {
                    tracing::error!(job = %job.id, "a job was lost");
                    self.take_up_lost(&job, stop);
                }
            }
            if tidy <= Instant::now() {
                tidy = Instant::now() + TIDY;
                self.tidy();
            }
            if let Err(failure) = self.schedule() {
                tracing::warn!(%failure, "refreshes could not be scheduled");
            }
            match self.store.claim_job(&self.settings.limits, self.clock.now()) {
                Ok(Some(job)) => {
                    self.note_written(None, None);
                    let (team, own, job_stop) = (Arc::clone(self), job.clone(), stop.clone());
                    let thread = thread::Builder::new().name(JOB_THREAD.to_owned());
                    match thread.spawn(move || team.perform(&own, &job_stop)) {
                        Ok(thread) => {
                            begun.push((job, thread));
                            continue;
                        }
                        Err(error) => {
                            tracing::error!(job = %job.id, %error, "the thread of a job did not start");
                            self.take_up_lost(&job, stop);
                        }
                    }
                }
                Ok(None) => self.note_written(None, None),
                Err(error) => {
                    let failure = team_failure(error);
                    tracing::warn!(%failure, "no job can be begun");
                    self.note_written(None, Some(&failure));
                }
            }
            self.wake.wait(seen, Some(LOOK), stop);
        }
        for cancel in self.running.lock().unwrap_or_else(PoisonError::into_inner).values() {
            cancel.cancel();
        }
        for (job, thread) in begun {
            if thread.join().is_err() {
                tracing::error!(job = %job.id, "a job was lost: it is begun again at the next start");
            }
        }
        if let Err(failure) = self.write_uses() {
            tracing::warn!(%failure, "when tokens were last used could not be written");
        }
    }

    fn tidy(&self) {
        let forgotten = self.store.forget_jobs(self.clock.now() - self.settings.keep_jobs);
        if let Err(failure) = forgotten.map_err(team_failure).and(self.write_uses()) {
            tracing::warn!(%failure, "the team's records could not be tidied");
        }
    }

    /// Asks for what is due.
    fn schedule(&self) -> Result<(), Failure> {
        // In this order: what ends meanwhile runs by the first list or was tried by the second, and never later than now.
        let busy = self.store.running_jobs().map_err(team_failure)?;
        let golden = self.golden()?;
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
            self.refresh_by_itself(golden.alias, now)?;
        }
        Ok(())
    }

    /// Asks for a golden repository to be fetched and read for nobody in particular.
    pub(super) fn refresh_by_itself(&self, alias: RepoName, now: i64) -> Result<(), Failure> {
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
        self.store.add_job(&new, &[], &actor).map_err(team_failure)?;
        Ok(())
    }

    /// Does one job from its beginning to its end.
    fn perform(&self, job: &Job, stop: &Cancel) {
        let cancel = Cancel::default();
        self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(job.id.clone(), cancel.clone());
        tracing::info!(job = %job.id, operation = job.task.operation.as_str(), user = job.username, "job begun");
        let report = Report { progress: AtomicU8::new(0), lines: Mutex::default() };
        let over = Cancel::default();
        let outcome = thread::scope(|threads| {
            threads.spawn(|| self.follow(job, &report, &cancel, stop, &over));
            let _over = over.on_drop();
            catch_unwind(AssertUnwindSafe(|| self.work(job, &report, &cancel))).unwrap_or_else(|_| {
                Outcome::failed(Failed::own("a fault of Lore's own ended it; the server's log says where".to_owned()))
            })
        });
        self.write_lines(job, &report);
        let mut pause = Duration::from_millis(200);
        // A job that is over and not written down would hold its place and its repositories until the next start.
        while let Err(failure) = self.settle(job, &outcome, stop) {
            tracing::error!(job = %job.id, %failure, "the end of a job could not be written");
            if !stop.sleep(pause) {
                // It is still marked as running, and taken up at the next start.
                break;
            }
            pause = (pause * 2).min(Duration::from_secs(30));
        }
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&job.id);
        self.ended.notify();
        self.wake.notify();
    }

    /// Writes down that a job is over, or that it is to be tried again.
    fn settle(&self, job: &Job, outcome: &Outcome, stop: &Cancel) -> Result<(), Failure> {
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
            Some(again) => self.store.requeue_job(&job.id, &again).map_err(team_failure),
            None => self.end(job, outcome, stop),
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
    pub fn check_writing(&self) -> Result<(), Failure> {
        match self.store.check_writing() {
            Ok(()) | Err(StoreError::Locked) => Ok(()),
            Err(error) => {
                let failure = team_failure(error);
                Err(cannot_write(failure.code, &failure.message))
            }
        }
    }

    /// Writes down how a job goes on until it is over, and stops it where somebody wants that.
    fn follow(&self, job: &Job, report: &Report, cancel: &Cancel, stop: &Cancel, over: &Cancel) {
        let mut told = 0;
        while over.sleep(TICK) {
            self.write_lines(job, report);
            let progress = report.progress.load(Ordering::Relaxed);
            if progress > told {
                told = progress;
                drop(self.store.note_progress(&job.id, progress));
            }
            let asked = self.store.find_job(&job.id);
            if stop.is_cancelled() || asked.is_ok_and(|job| job.is_none_or(|job| job.cancel_requested)) {
                cancel.cancel();
            }
        }
    }

    fn write_lines(&self, job: &Job, report: &Report) {
        for line in std::mem::take(&mut *report.lines.lock().unwrap_or_else(PoisonError::into_inner)) {
            // What is told of a job is no reason for it to fail.
            drop(self.store.log_job(&job.id, self.clock.now(), &line));
        }
    }

    /// Writes down how a job ended, together with what it changes. Where something has to be cleared away for that, it may have to
    /// wait for the index: as long as the server does not stop.
    fn end(&self, job: &Job, outcome: &Outcome, stop: &Cancel) -> Result<(), Failure> {
        let at = self.clock.now();
        let actor = Actor { name: job.username.clone(), address: None, at };
        let failed = match &outcome.told {
            Ok(told) => {
                let (status, result) = (JobStatus::Completed, Some(told.clone()));
                let end = JobEnd { status, at, result, error: None, error_told: None };
                match self.store.end_job(&job.id, &end, &outcome.changes, &actor) {
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
                    let known = self.store.find_golden(alias).map_err(team_failure)?;
                    // What answers is not this job's to take away, nor what was added under the same alias later.
                    let is_own = |it: &Golden| it.refreshed_at.is_none() && it.created_at <= job.created_at;
                    if known.is_some_and(|known| !is_own(&known)) {
                        continue;
                    }
                    if let Err(failure) = self.forget(alias, stop) {
                        if stop.is_cancelled() {
                            return Err(failure);
                        }
                        // Nobody sees it any more; whoever adds the same again finds it.
                        tracing::warn!(%alias, %failure, "what was read of a repository could not be removed");
                    }
                    changes.push(TeamChange::NotAdded(alias.clone()));
                }
                // Without its index it could not answer: then it waits to be removed again.
                Operation::RemoveGolden if self.indexed(alias)?.is_some() => {
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
        self.store.end_job(&job.id, &end, &changes, &actor).map_err(team_failure)?;
        self.unread.note(job, &changes, true);
        Ok(())
    }
}

fn cannot_write(code: Code, why: &str) -> Failure {
    Failure::new(code, format!("what becomes of jobs cannot be written down: {why}"))
}
