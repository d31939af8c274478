//! `cancel_job`: stops a job.

use lore_model::{Failure, Permission};
use lore_team::Cancelled;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{job, run},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "cancel_job",
    title: "Cancel a job",
    toolset: Toolset::Repos,
    about: "Cancel a job: one that waits never begins, one that runs is told to stop. What it had read stays.",
    permission: Permission::QueryRepos,
    offered: Offered::OnServer,
    effect: Effect::Removes,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, cancel),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// The `job_id` of the answer that began it
    job_id: String,
}

fn cancel(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let (team, by) = context.on_server()?;
    let cancelled = team.cancel_job(&by, &input.job_id)?;
    let report = team.job(&by, &input.job_id)?;
    Ok(job(&report.job, &cancelled_message(cancelled)))
}

/// What came of the wish.
fn cancelled_message(cancelled: Cancelled) -> String {
    match cancelled {
        Cancelled::Now => "it had not begun, and never will".to_owned(),
        Cancelled::Asked => "it is being stopped".to_owned(),
        Cancelled::Over(status) => format!("it was over already: {}", status.as_str()),
    }
}
