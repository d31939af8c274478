//! `sync_repository`: fetches what is behind the caller's alias.

use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{job, run},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "sync_repository",
    title: "Sync a repository",
    toolset: Toolset::Repos,
    about: "Sync repository with upstream (git pull): fetches the golden repository and indexes what is new, for everybody who has it. Poll the job with `get_job_details`.",
    permission: Permission::ActivateRepos,
    offered: Offered::OnServer,
    effect: Effect::Fetches,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, sync),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// User alias of repository
    user_alias: String,
}

fn sync(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let (team, by) = context.on_server()?;
    let asked = team.sync_alias(&by, &input.user_alias)?;
    let alias = asked.task.alias.as_ref().map(ToString::to_string).unwrap_or_default();
    Ok(job(&asked, &format!("`{alias}` is being synced")))
}
