//! `refresh_golden_repo`: fetches a golden repository.

use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{job, run},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "refresh_golden_repo",
    title: "Refresh a golden repository",
    toolset: Toolset::Admin,
    about: "Refresh a golden repository (re-index): fetches it and indexes what is new. Poll the job with `get_job_details`.",
    permission: Permission::ManageGoldenRepos,
    offered: Offered::OnServer,
    effect: Effect::Fetches,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, refresh),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Repository alias
    alias: String,
}

fn refresh(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let (team, by) = context.on_server()?;
    let asked = team.refresh_golden(&by, input.alias.trim())?;
    Ok(job(&asked, &format!("golden repository `{}` is being refreshed", input.alias.trim())))
}
