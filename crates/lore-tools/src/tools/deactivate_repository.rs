//! `deactivate_repository`: takes away what the caller has activated.

use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{job, run},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "deactivate_repository",
    title: "Deactivate a repository",
    toolset: Toolset::Repos,
    about: "Deactivate a repository: you have it no longer. The golden repository stays.",
    permission: Permission::ActivateRepos,
    offered: Offered::OnServer,
    effect: Effect::Removes,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, deactivate),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// User alias of repository to deactivate
    user_alias: String,
}

fn deactivate(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let (team, by) = context.on_server()?;
    let asked = team.deactivate(&by, &input.user_alias)?;
    let alias = asked.task.alias.as_ref().map(ToString::to_string).unwrap_or_default();
    Ok(job(&asked, &format!("`{alias}` is deactivated")))
}
