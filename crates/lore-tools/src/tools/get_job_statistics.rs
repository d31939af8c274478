//! `get_job_statistics`: how many jobs stand how.

use lore_model::{Failure, JobStatus, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{reported, run},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "get_job_statistics",
    title: "Job statistics",
    toolset: Toolset::Insight,
    about: "Get background job statistics (indexing jobs, sync jobs): yours, or all of them for those who manage repositories.",
    permission: Permission::QueryRepos,
    offered: Offered::OnServer,
    effect: Effect::Reads,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, statistics),
};

#[derive(Deserialize, JsonSchema)]
struct Input {}

fn statistics(context: &Context, _: &Input) -> Result<Answer, Failure> {
    let (team, by) = context.on_server()?;
    let counted = team.count_jobs(&by)?;
    let count = |wanted: JobStatus| counted.iter().find(|(status, _)| *status == wanted).map_or(0, |(_, count)| *count);
    Ok(reported(json!({"statistics": {
        "active": count(JobStatus::Running),
        "pending": count(JobStatus::Pending),
        "failed": count(JobStatus::Failed),
        "completed": count(JobStatus::Completed),
        "cancelled": count(JobStatus::Cancelled),
        "total": counted.iter().map(|(_, count)| count).sum::<u64>(),
    }})))
}
