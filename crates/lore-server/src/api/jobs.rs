//! Jobs.

use lore_model::{Code, Failure, JobStatus};
use lore_store::Cancelled;
use lore_tools::shown::{JobLog, JobShown, StatusWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Told, limit, told};
use crate::{
    answer::{Json, Refusal},
    app::App,
    input::Nothing,
    routes::Asked,
};

/// Which jobs.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobsQuery {
    /// Those that stand so.
    status: Option<StatusWord>,
    /// How many, up to 1000; 100 where nothing is said.
    limit: Option<u64>,
}

/// Jobs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct JobList {
    /// The newest first.
    jobs: Vec<JobShown>,
    /// How many there are.
    total: usize,
}

pub(crate) fn list(app: &App, asked: &Asked, query: &JobsQuery) -> Result<Json<JobList>, Refusal> {
    let status = query.status.map(JobStatus::from);
    let (jobs, total) = app.team.jobs(&asked.asker()?, status, limit(query.limit))?;
    Ok(Json(JobList { jobs: jobs.into_iter().map(|job| JobShown::new(job, without_home(app))).collect(), total }))
}

/// How texts of jobs are told: where the server keeps its files is nobody's business.
fn without_home(app: &App) -> impl Fn(&str) -> String {
    |text| app.team.lore().without_home(text)
}

/// A job and what it noted.
#[derive(Serialize, JsonSchema)]
pub(crate) struct JobDetails {
    job: JobShown,
    /// The oldest first.
    logs: Vec<JobLog>,
    /// Only where it is not over and the server cannot write down what becomes of jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    unwritten: Option<Unwritten>,
}

/// Why nothing can be written down.
#[derive(Serialize, JsonSchema)]
struct Unwritten {
    /// One of the codes of errors.
    code: &'static str,
    message: String,
}

pub(crate) fn show(app: &App, asked: &Asked, _: &Nothing) -> Result<Json<JobDetails>, Refusal> {
    let report = app.team.job(&asked.asker()?, asked.name())?;
    let unwritten = if report.job.status.is_over() {
        None
    } else {
        app.team.unwritten(Some(&report.job.id), app.options.limits.failing_writes)
    };
    let unwritten = unwritten.map(|failure| Unwritten {
        code: failure.code.name(),
        message: app.team.lore().without_home(&failure.message),
    });
    let logs = report.lines.iter().map(|line| JobLog::new(line, without_home(app))).collect();
    Ok(Json(JobDetails { job: JobShown::new(report.job, without_home(app)), logs, unwritten }))
}

pub(crate) fn cancel(app: &App, asked: &Asked, _: &Nothing) -> Result<Json<Told>, Refusal> {
    let cancelled = app.team.cancel_job(&asked.asker()?, asked.name())?;
    match cancelled {
        Cancelled::Now => Ok(Json(told("the job is cancelled"))),
        Cancelled::Asked => Ok(Json(told("the job was told to stop"))),
        Cancelled::Over(JobStatus::Cancelled) => Ok(Json(told("the job was cancelled already"))),
        Cancelled::Over(status) => {
            let message = format!("the job is over: it is {}", status.as_str());
            Err(Failure::new(Code::Conflict, message).into())
        }
    }
}
