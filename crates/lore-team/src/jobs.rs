//! What can be asked about jobs.

use std::time::Duration;

use lore_model::{Caller, Cancel, Code, Failure, Job, JobId, JobLine, JobStatus, Permission, brief};
use lore_store::{Cancelled, JobQuery};

use super::{Asker, Team};
use crate::failure::team_failure;

/// A job with what is told of it.
#[derive(Debug, Clone)]
pub struct JobReport {
    /// The job.
    pub job: Job,
    /// What it did so far.
    pub lines: Vec<JobLine>,
}

/// Whether a caller sees the jobs of others: those who manage what they are about do.
fn sees_all(caller: Option<&Caller>) -> bool {
    caller.is_none_or(|caller| caller.role.may(Permission::ManageGoldenRepos))
}

/// A job as a caller may see it: what git said is for those who manage repositories, as it may name hosts and accounts.
fn as_seen(caller: Option<&Caller>, mut job: Job) -> Job {
    if !sees_all(caller) && job.error.is_some() {
        let unknown = || "it failed (an admin sees more of this job)".to_owned();
        job.error = Some(job.error_told.clone().unwrap_or_else(unknown));
    }
    job
}

impl Team {
    /// A job that the asker may see; another's is as little there as one that never was.
    fn own_job(&self, by: &Asker, id: &str) -> Result<Job, Failure> {
        let absent = || {
            Failure::new(Code::JobNotFound, format!("there is no job `{}`", brief(id)))
                .hint("use the `job_id` of the answer that began it")
        };
        let parsed = JobId::parse(id.trim()).ok_or_else(absent)?;
        let found = self.store.find_job(&parsed).map_err(team_failure)?;
        let caller = by.caller.as_ref();
        let is_own = |job: &Job| caller.is_some_and(|caller| job.user == Some(caller.id));
        found.filter(|job| sees_all(caller) || is_own(job)).ok_or_else(absent)
    }

    /// One job.
    pub fn job(&self, by: &Asker, id: &str) -> Result<JobReport, Failure> {
        let job = self.own_job(by, id)?;
        let lines = self.store.job_log(&job.id).map_err(team_failure)?;
        Ok(JobReport { job: as_seen(by.caller.as_ref(), job), lines })
    }

    /// Waits until something happened to a job, for a moment at most: another process may run it.
    pub fn job_moved(&self) {
        self.ended.wait(self.ended.last(), Some(Duration::from_millis(300)), &Cancel::current());
    }

    /// Jobs, the newest first, and how many there are: one's own, or all for those who manage repositories.
    pub fn jobs(&self, by: &Asker, status: Option<JobStatus>, limit: usize) -> Result<(Vec<Job>, usize), Failure> {
        let caller = by.caller.as_ref();
        let user = caller.filter(|_| !sees_all(caller)).map(|caller| caller.id);
        let query = JobQuery { user, status, limit };
        let (jobs, total) = self.store.list_jobs(&query).map_err(team_failure)?;
        Ok((jobs.into_iter().map(|job| as_seen(caller, job)).collect(), total))
    }

    /// How many jobs stand how: one's own, or all for those who manage repositories.
    pub fn count_jobs(&self, by: &Asker) -> Result<Vec<(JobStatus, u64)>, Failure> {
        let caller = by.caller.as_ref();
        let user = caller.filter(|_| !sees_all(caller)).map(|caller| caller.id);
        self.store.count_jobs(user).map_err(team_failure)
    }

    /// How many jobs are being done: one's own, or all for those who manage repositories.
    pub fn active_jobs(&self, by: &Asker) -> Result<u64, Failure> {
        let counted = self.count_jobs(by)?;
        Ok(counted.iter().filter(|(status, _)| *status == JobStatus::Running).map(|(_, count)| count).sum())
    }

    /// Stops a job, or sees to it that it never begins.
    pub fn cancel_job(&self, by: &Asker, id: &str) -> Result<Cancelled, Failure> {
        let job = self.own_job(by, id)?;
        let cancelled = self.store.cancel_job(&job.id, &self.actor(by)).map_err(team_failure)?;
        if let Some(cancel) = self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(&job.id) {
            cancel.cancel();
        }
        if cancelled == Some(Cancelled::Now) {
            self.unread.note(&job, &[], true);
        }
        self.ended.notify();
        cancelled.ok_or_else(|| Failure::new(Code::JobNotFound, format!("there is no job `{}`", job.id)))
    }
}
