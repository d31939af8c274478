//! `switch_branch`: another branch for the caller's alias.

use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{job, run_waiting},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "switch_branch",
    title: "Switch branch",
    toolset: Toolset::Repos,
    about: "Switch repository to different branch. Where that is indexed already it is done at once; else the answer has a job_id, and the switch happens when the job is done.",
    permission: Permission::ActivateRepos,
    offered: Offered::OnServer,
    effect: Effect::Fetches,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run_waiting(&TOOL, context, args, switch),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// User alias of repository
    user_alias: String,
    /// Target branch name
    branch_name: String,
}

fn switch(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let (team, by) = context.on_server()?;
    let (alias, branch) = (input.user_alias.trim(), input.branch_name.trim());
    let asked = team.switch_branch(&by, alias, branch)?;
    let message = if asked.status.is_over() {
        format!("`{alias}` is on branch `{branch}`")
    } else {
        format!("`{alias}` will be on branch `{branch}` once that is indexed; until then it is as before")
    };
    Ok(job(&asked, &message))
}
