//! Jobs.

use std::sync::Arc;

use lore_model::{Code, Failure, Job, JobStatus};
use lore_store::Cancelled;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Told, limit, time, told};
use crate::{
    answer::{Json, Refusal},
    app::App,
    input::Nothing,
    routes::Asked,
};

/// How a job stands.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "JobStatus")]
pub(crate) enum StatusWord {
    /// It waits for its turn.
    Pending,
    /// It is being done.
    Running,
    /// It is done.
    Completed,
    /// It could not be done.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}

impl From<JobStatus> for StatusWord {
    fn from(status: JobStatus) -> Self {
        match status {
            JobStatus::Pending => Self::Pending,
            JobStatus::Running => Self::Running,
            JobStatus::Completed => Self::Completed,
            JobStatus::Failed => Self::Failed,
            JobStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl From<StatusWord> for JobStatus {
    fn from(word: StatusWord) -> Self {
        match word {
            StatusWord::Pending => Self::Pending,
            StatusWord::Running => Self::Running,
            StatusWord::Completed => Self::Completed,
            StatusWord::Failed => Self::Failed,
            StatusWord::Cancelled => Self::Cancelled,
        }
    }
}

/// A job.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Job")]
pub(crate) struct JobShown {
    job_id: String,
    /// What is done.
    operation_type: &'static str,
    /// How it stands.
    status: StatusWord,
    /// When it was asked for.
    created_at: String,
    /// When it was last begun.
    started_at: Option<String>,
    /// When it was over.
    completed_at: Option<String>,
    /// How much of it is done, 0 to 100.
    progress: u8,
    /// What came of it.
    result: Option<String>,
    /// Why it failed.
    error: Option<String>,
    /// For whom.
    username: String,
    /// The golden repositories that it is about.
    repositories: Vec<String>,
    /// The user's alias that it is about.
    user_alias: Option<String>,
    /// The branch that it is about.
    branch: Option<String>,
    /// How often it was begun.
    attempts: u32,
}

impl JobShown {
    fn new(app: &App, job: Job) -> Self {
        Self {
            job_id: job.id.to_string(),
            operation_type: job.task.operation.as_str(),
            status: job.status.into(),
            created_at: time(job.created_at),
            started_at: job.started_at.map(time),
            completed_at: job.completed_at.map(time),
            progress: job.progress,
            result: job.result,
            error: job.error.map(|error| app.team.lore().without_home(&error)),
            username: job.username,
            repositories: job.task.golden.iter().map(ToString::to_string).collect(),
            user_alias: job.task.alias.map(|alias| alias.to_string()),
            branch: job.task.branch,
            attempts: job.attempts,
        }
    }
}

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

pub(crate) async fn list(app: Arc<App>, asked: Asked, query: JobsQuery) -> Result<Json<JobList>, Refusal> {
    let status = query.status.map(JobStatus::from);
    let (jobs, total) = app.team.jobs(&asked.asker()?, status, limit(query.limit)).await?;
    Ok(Json(JobList { jobs: jobs.into_iter().map(|job| JobShown::new(&app, job)).collect(), total }))
}

/// One line about what a job did.
#[derive(Serialize, JsonSchema)]
pub(crate) struct JobLog {
    /// When.
    at: String,
    /// What.
    text: String,
}

/// A job and what it noted.
#[derive(Serialize, JsonSchema)]
pub(crate) struct JobDetails {
    job: JobShown,
    /// The oldest first.
    logs: Vec<JobLog>,
}

pub(crate) async fn show(app: Arc<App>, asked: Asked, _: Nothing) -> Result<Json<JobDetails>, Refusal> {
    let report = app.team.job(&asked.asker()?, asked.name()).await?;
    let text = |text: &str| app.team.lore().without_home(text);
    let logs = report.lines.iter().map(|line| JobLog { at: time(line.at), text: text(&line.text) }).collect();
    Ok(Json(JobDetails { job: JobShown::new(&app, report.job), logs }))
}

pub(crate) async fn cancel(app: Arc<App>, asked: Asked, _: Nothing) -> Result<Json<Told>, Refusal> {
    let cancelled = app.team.cancel_job(&asked.asker()?, asked.name()).await?;
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
