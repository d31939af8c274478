//! `get_job_details`: one job.

use std::time::{Duration, Instant};

use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    Answer, Content, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{reported, run_waiting},
    schema,
    shown::{JobLog, JobShown},
};

pub(super) static TOOL: Tool = Tool {
    name: "get_job_details",
    title: "Details of a job",
    toolset: Toolset::Repos,
    about: "How a job stands: status (pending, running, completed, failed, cancelled), progress, result or error, and what it did. wait_seconds waits until it is over, and reports progress meanwhile.",
    permission: Permission::QueryRepos,
    offered: Offered::OnServer,
    effect: Effect::Reads,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run_waiting(&TOOL, context, args, details),
};

/// The longest wait for a job's end.
const WAIT_MAX: i64 = 300;

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// The `job_id` of the answer that began it
    job_id: String,
    /// Waits so many seconds for its end (0-300, default 0)
    #[schemars(extend("minimum" = 0, "maximum" = WAIT_MAX, "default" = 0))]
    wait_seconds: Option<i64>,
}

fn details(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let (team, by) = context.on_server()?;
    let wait = input.wait_seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(0);
    let until = Instant::now() + Duration::from_secs(wait);
    let report = loop {
        let report = team.job(&by, &input.job_id)?;
        let (job, last) = (&report.job, report.lines.last());
        if let Some(progress) = &context.asked.progress {
            let what = last.map_or(job.status.as_str(), |line| line.text.as_str());
            progress.tell(f64::from(job.progress), Some(100.0), &context.told(what));
        }
        if job.status.is_over() || Instant::now() >= until {
            break report;
        }
        team.job_moved();
    };
    let told = |text: &str| context.told(text);
    let lines: Vec<JobLog> = report.lines.iter().map(|line| JobLog::new(line, told)).collect();
    // An error repeats what git said, and that what a repository or its server did.
    let content = Content::Repository.unless(report.job.error.is_none());
    let answer = reported(json!({"job": JobShown::new(report.job, told), "logs": lines}));
    Ok(Answer { content, ..answer })
}
