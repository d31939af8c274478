//! Jobs: adding them, whose turn it is, and how they end.

use std::collections::{HashMap, HashSet};

use lore_model::{Actor, Job, JobId, JobLine, JobStatus, JobTask, Operation, RepoName, UserId};
use lore_store::{Cancelled, JOB_WAIT_MAX, JobEnd, JobLimits, JobQuery, NewJob, Requeue, StoreError, TeamChange};
use rusqlite::{Connection, Params, Row, Transaction, params};

use super::{
    note,
    repos::{apply, name},
};
use crate::{
    rows::{count, unfit},
    truth::Fault,
};

type Result<T> = std::result::Result<T, Fault>;

/// So many lines are kept of one job.
const LINES_MAX: i64 = 1000;

/// A job that has waited for so many seconds keeps younger ones from its repositories.
const PATIENCE: i64 = 300;

/// So many jobs that are over are kept of one user.
const KEPT_MAX: i64 = 1000;

const COLUMNS: &str = "number, id, operation, alias, branch, user, username, status, created_at, started_at, completed_at, \
                       progress, result, error, attempts, not_before, cancel, error_told";

fn job(row: &Row<'_>) -> rusqlite::Result<(i64, Job)> {
    let (id, operation, status): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(7)?);
    let alias: Option<String> = row.get(3)?;
    let job = Job {
        id: JobId::parse(&id).ok_or_else(|| unfit(1, id))?,
        task: JobTask {
            operation: Operation::parse(&operation).ok_or_else(|| unfit(2, operation))?,
            alias: alias.map(|alias| RepoName::parse(&alias)).transpose().map_err(|what| unfit(3, what))?,
            golden: Vec::new(),
            branch: row.get(4)?,
        },
        user: row.get::<_, Option<i64>>(5)?.map(UserId),
        username: row.get(6)?,
        status: JobStatus::parse(&status).ok_or_else(|| unfit(7, status))?,
        created_at: row.get(8)?,
        started_at: row.get(9)?,
        completed_at: row.get(10)?,
        progress: row.get(11)?,
        result: row.get(12)?,
        error: row.get(13)?,
        error_told: row.get(17)?,
        attempts: row.get(14)?,
        not_before: row.get(15)?,
        cancel_requested: row.get(16)?,
    };
    Ok((row.get(0)?, job))
}

/// The jobs that the rest of the query chooses.
pub(super) fn select(connection: &Connection, rest: &str, values: impl Params) -> Result<Vec<Job>> {
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM jobs {rest}"))?;
    let mut members = connection.prepare_cached("SELECT golden FROM job_golden WHERE job = ?1 ORDER BY position")?;
    let mut jobs = Vec::new();
    for row in statement.query_map(values, job)? {
        let (number, mut job) = row?;
        job.task.golden = members.query_map([number], |row| name(row, 0))?.collect::<rusqlite::Result<_>>()?;
        jobs.push(job);
    }
    Ok(jobs)
}

pub(super) fn find(connection: &Connection, id: &JobId) -> Result<Option<Job>> {
    Ok(select(connection, "WHERE id = ?1", [id.as_str()])?.pop())
}

fn get(connection: &Connection, id: &JobId) -> Result<Job> {
    find(connection, id)?.ok_or_else(|| StoreError::Absent(format!("job {id}")).into())
}

pub(super) fn add(transaction: &Transaction<'_>, new: &NewJob, changes: &[TeamChange], by: &Actor) -> Result<Job> {
    let user = new.user.map(|user| user.0);
    let unfinished = "WHERE user IS ?1 AND status IN ('pending', 'running') ORDER BY number";
    let unfinished = select(transaction, unfinished, [user])?;
    // Asked for twice is done once, as long as it has not begun, and asking for it changes nothing else.
    let same = |job: &&Job| job.status == JobStatus::Pending && job.task == new.task && !job.cancel_requested;
    if let Some(same) = unfinished.iter().find(same).filter(|_| new.done.is_none() && changes.is_empty()) {
        audit(transaction, new, by, "waits already")?;
        return Ok(same.clone());
    }
    if new.done.is_none() && unfinished.len() >= new.user_max {
        let what = format!("{} jobs of yours are not finished: wait for them, or cancel some", unfinished.len());
        return Err(StoreError::Refused(what).into());
    }
    for earlier in unfinished.iter().filter(|job| supersedes(&new.task, &job.task)) {
        stop(transaction, earlier, by)?;
    }
    if new.task.main_branch().is_some() || changes.iter().any(|change| matches!(change, TeamChange::MainBranch(..))) {
        stop_main_branches(transaction, &new.task.golden, by)?;
    }
    apply(transaction, changes, by)?;
    audit(transaction, new, by, "asked for")?;
    let done = new.done.is_some();
    let JobTask { operation, alias, golden, branch } = &new.task;
    transaction.execute(
        "INSERT INTO jobs (id, operation, alias, branch, user, username, status, created_at, started_at, completed_at,
                           progress, result)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, ?11)",
        params![
            new.id.as_str(),
            operation.as_str(),
            alias.as_ref().map(RepoName::as_str),
            branch,
            user,
            new.username,
            if done { JobStatus::Completed.as_str() } else { JobStatus::Pending.as_str() },
            by.at,
            done.then_some(by.at),
            if done { 100 } else { 0 },
            new.done
        ],
    )?;
    let number = transaction.last_insert_rowid();
    for (position, alias) in (0_i64..).zip(golden) {
        transaction.execute(
            "INSERT INTO job_golden (job, position, golden) VALUES (?1, ?2, ?3)",
            params![number, position, alias.as_str()],
        )?;
    }
    get(transaction, &new.id)
}

/// Writes down that somebody asked for a job, where that is wanted.
fn audit(transaction: &Transaction<'_>, new: &NewJob, by: &Actor, outcome: &str) -> Result<()> {
    if !new.audited {
        return Ok(());
    }
    let names: Vec<&str> = new.task.golden.iter().map(RepoName::as_str).collect();
    note(transaction, by, new.task.operation.as_str(), &names.join(", "), outcome)
}

/// Stops what was to give golden repositories another main branch. They have one for all, so it does not matter who asked.
fn stop_main_branches(transaction: &Transaction<'_>, golden: &[RepoName], by: &Actor) -> Result<()> {
    let unfinished =
        "WHERE status IN ('pending', 'running') AND operation = 'refresh_golden_repo' AND branch IS NOT NULL
                      AND EXISTS (SELECT 1 FROM job_golden WHERE job = number AND golden = ?1)";
    for alias in golden {
        for earlier in select(transaction, unfinished, [alias.as_str()])? {
            stop(transaction, &earlier, by)?;
        }
    }
    Ok(())
}

/// Whether a task is about what an alias stands for, so that the one who asks last is right.
fn decides(task: &JobTask) -> bool {
    use Operation::{Activate, Deactivate, ManageComposite, SwitchBranch};
    matches!(task.operation, Activate | Deactivate | ManageComposite | SwitchBranch) || task.main_branch().is_some()
}

/// Whether what an earlier task of the same user would bring about is no longer wanted.
fn supersedes(new: &JobTask, earlier: &JobTask) -> bool {
    decides(new) && decides(earlier) && new.alias.is_some() && new.alias == earlier.alias
}

pub(super) fn claim(transaction: &Transaction<'_>, limits: JobLimits, at: i64) -> Result<Option<Job>> {
    let running = select(transaction, "WHERE status = 'running'", [])?;
    if running.len() >= limits.running {
        return Ok(None);
    }
    let of = |user: Option<UserId>| running.iter().filter(|job| job.user == user).count();
    let is_busy = |golden: &RepoName| running.iter().any(|job| job.task.golden.contains(golden));
    // One that is to be stopped waits for nothing, nor does one for a time that only another clock will see.
    let pending = "WHERE status = 'pending' AND (coalesce(not_before, 0) <= ?1 OR not_before > ?2 OR cancel)
                   ORDER BY number";
    let pending = select(transaction, pending, [at, at.saturating_add(JOB_WAIT_MAX)])?;
    // Whoever needs several repositories needs them at one moment, which never comes while others take them in turn.
    let mut kept: HashSet<&RepoName> = HashSet::new();
    let mut can_run = Vec::new();
    for job in pending.iter().filter(|job| of(job.user) < limits.per_user) {
        let golden = &job.task.golden;
        let is_kept = !job.cancel_requested && golden.iter().any(|alias| kept.contains(alias));
        if !is_kept && !golden.iter().any(is_busy) {
            can_run.push(job);
        }
        let since = job.created_at.max(job.not_before.unwrap_or(0));
        if at.saturating_sub(since) >= PATIENCE {
            kept.extend(golden);
        }
    }
    let turns = last_turns(transaction)?;
    let turn = |job: &&Job| (of(job.user), turns.get(&owner(job)).copied().unwrap_or(0));
    // Of those whose turn it is equally, the oldest: `min_by_key` keeps the first.
    let Some(next) = can_run.into_iter().min_by_key(turn) else { return Ok(None) };
    transaction.execute(
        "UPDATE jobs SET status = 'running', started_at = ?2, attempts = attempts + 1, progress = 0, not_before = NULL
         WHERE id = ?1",
        params![next.id.as_str(), at],
    )?;
    transaction.execute(
        "INSERT OR REPLACE INTO turns (user, turn) SELECT ?1, coalesce(max(turn), 0) + 1 FROM turns",
        [owner(next)],
    )?;
    find(transaction, &next.id)
}

/// Who takes turns: a user, or 0 for the server itself.
fn owner(job: &Job) -> i64 {
    job.user.map_or(0, |user| user.0)
}

fn last_turns(connection: &Connection) -> Result<HashMap<i64, i64>> {
    let mut statement = connection.prepare_cached("SELECT user, turn FROM turns")?;
    let turns = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    Ok(turns)
}

pub(super) fn log(transaction: &Transaction<'_>, id: &JobId, at: i64, text: &str) -> Result<()> {
    transaction.execute(
        "INSERT INTO job_lines (job, at, text) SELECT number, ?2, ?3 FROM jobs
         WHERE id = ?1 AND (SELECT count(*) FROM job_lines WHERE job = number) < ?4",
        params![id.as_str(), at, text, LINES_MAX],
    )?;
    Ok(())
}

pub(super) fn lines(connection: &Connection, id: &JobId) -> Result<Vec<JobLine>> {
    let sql =
        "SELECT job_lines.at, text FROM job_lines JOIN jobs ON number = job WHERE id = ?1 ORDER BY job_lines.rowid";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([id.as_str()], |row| Ok(JobLine { at: row.get(0)?, text: row.get(1)? }))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn end(
    transaction: &Transaction<'_>,
    id: &JobId,
    end: &JobEnd,
    changes: &[TeamChange],
    by: &Actor,
) -> Result<bool> {
    let Some(job) = find(transaction, id)?.filter(|job| job.status == JobStatus::Running) else { return Ok(false) };
    // What nobody wants any more is not brought about, even if it was just done.
    let unwanted = job.cancel_requested && decides(&job.task) && end.status == JobStatus::Completed;
    let stays = |change: &&TeamChange| {
        !matches!(change, TeamChange::Activate(_) | TeamChange::SetBranch(..) | TeamChange::MainBranch(..))
    };
    let status = if unwanted { JobStatus::Cancelled } else { end.status };
    let result = end.result.as_ref().filter(|_| !unwanted);
    transaction.execute(
        "UPDATE jobs SET status = ?2, completed_at = ?3, result = ?4, error = ?5, error_told = ?6,
                         progress = iif(?2 = 'completed', 100, progress)
         WHERE id = ?1",
        params![id.as_str(), status.as_str(), end.at, result, end.error, end.error_told],
    )?;
    for change in changes.iter().filter(|change| !unwanted || stays(change)) {
        apply(transaction, std::slice::from_ref(change), by)?;
    }
    note_tried(transaction, &job, end.at)?;
    Ok(true)
}

/// Notes that what a refresh is about was tried. It says so however it ended: what is due again at once is begun again at once,
/// for ever. An earlier time than the last one is right where the clock was set back.
fn note_tried(transaction: &Transaction<'_>, job: &Job, at: i64) -> Result<()> {
    for alias in job.task.golden.iter().filter(|_| job.task.operation == Operation::RefreshGolden) {
        let sql = "UPDATE golden SET tried_at = ?2 WHERE alias = ?1";
        transaction.execute(sql, params![alias.as_str(), at])?;
    }
    Ok(())
}

pub(super) fn requeue(transaction: &Transaction<'_>, id: &JobId, again: &Requeue) -> Result<()> {
    let Requeue { at, not_before, why, why_told, counts } = again;
    let requeued = transaction.execute(
        "UPDATE jobs SET status = 'pending', not_before = ?2, error = ?3, error_told = ?4,
                         attempts = attempts - iif(?5, 0, 1)
         WHERE id = ?1 AND status = 'running'",
        params![id.as_str(), not_before, why, why_told, counts],
    )?;
    if requeued > 0 {
        log(transaction, id, *at, &format!("waits to be tried again: {why_told}"))?;
    }
    Ok(())
}

pub(super) fn cancel(transaction: &Transaction<'_>, id: &JobId, by: &Actor) -> Result<Option<Cancelled>> {
    let Some(job) = find(transaction, id)? else { return Ok(None) };
    if job.status.is_over() {
        return Ok(Some(Cancelled::Over(job.status)));
    }
    let outcome = stop(transaction, &job, by)?;
    note(transaction, by, "cancel_job", id.as_str(), job.task.operation.as_str())?;
    Ok(Some(outcome))
}

/// Ends a job that waits, and asks one that runs to stop. What was begun before and has left something in the index is ended
/// by whoever does jobs, who clears that away.
pub(super) fn stop(transaction: &Transaction<'_>, job: &Job, by: &Actor) -> Result<Cancelled> {
    let id = job.id.as_str();
    let leaves = matches!(job.task.operation, Operation::AddGolden | Operation::RemoveGolden);
    let has_begun = job.status == JobStatus::Running || (job.started_at.is_some() && leaves);
    if has_begun {
        transaction.execute("UPDATE jobs SET cancel = 1 WHERE id = ?1", [id])?;
        return Ok(Cancelled::Asked);
    }
    transaction.execute(
        "UPDATE jobs SET status = 'cancelled', completed_at = ?2, cancel = 1 WHERE id = ?1",
        params![id, by.at],
    )?;
    // What it was to bring about will not be.
    undo(transaction, job, by)?;
    note_tried(transaction, job, by.at)?;
    Ok(Cancelled::Now)
}

/// Takes back what asking for a job has changed already.
fn undo(transaction: &Transaction<'_>, job: &Job, by: &Actor) -> Result<()> {
    let Some(alias) = job.task.golden.first() else { return Ok(()) };
    match job.task.operation {
        Operation::AddGolden => apply(transaction, &[TeamChange::NotAdded(alias.clone())], by),
        Operation::RemoveGolden => apply(transaction, &[TeamChange::KeepGolden(alias.clone())], by),
        _ => Ok(()),
    }
}

pub(super) fn list(connection: &Connection, query: &JobQuery) -> Result<(Vec<Job>, usize)> {
    let filter = "WHERE (?1 IS NULL OR user = ?1) AND (?2 IS NULL OR status = ?2)";
    let (user, status) = (query.user.map(|user| user.0), query.status.map(JobStatus::as_str));
    let rest = format!("{filter} ORDER BY number DESC LIMIT ?3");
    let jobs = select(connection, &rest, params![user, status, count(query.limit)])?;
    let sql = format!("SELECT count(*) FROM jobs {filter}");
    let total: i64 = connection.prepare_cached(&sql)?.query_row(params![user, status], |row| row.get(0))?;
    Ok((jobs, usize::try_from(total).unwrap_or(0)))
}

pub(super) fn count_by_status(connection: &Connection, user: Option<UserId>) -> Result<Vec<(JobStatus, u64)>> {
    let sql = "SELECT status, count(*) FROM jobs WHERE ?1 IS NULL OR user = ?1 GROUP BY status";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([user.map(|user| user.0)], |row| {
        let status: String = row.get(0)?;
        Ok((JobStatus::parse(&status).ok_or_else(|| unfit(0, status))?, row.get::<_, i64>(1)?))
    })?;
    let mut counted = Vec::new();
    for row in rows {
        let (status, number) = row?;
        counted.push((status, u64::try_from(number).unwrap_or(0)));
    }
    Ok(counted)
}

/// Forgets jobs that were over before a moment, and of each user all but the newest.
pub(super) fn forget(transaction: &Transaction<'_>, before: i64) -> Result<u64> {
    let old = "DELETE FROM jobs WHERE completed_at IS NOT NULL AND completed_at < ?1";
    let old = transaction.execute(old, [before])?;
    let more = transaction.execute(
        "DELETE FROM jobs WHERE number IN (
             SELECT number FROM (
                 SELECT number, row_number() OVER (PARTITION BY coalesce(user, username) ORDER BY number DESC) AS place
                 FROM jobs WHERE completed_at IS NOT NULL
             ) WHERE place > ?1
         )",
        [KEPT_MAX],
    )?;
    Ok((old + more) as u64)
}
