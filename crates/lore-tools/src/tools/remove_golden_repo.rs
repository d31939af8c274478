//! `remove_golden_repo`: a repository that the server keeps no longer.

use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{job, run},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "remove_golden_repo",
    title: "Remove a golden repository",
    toolset: Toolset::Admin,
    about: "Remove a golden repository from the server, with its index. Where users have activated it, only with force, which takes it away from them, and out of their composites.",
    permission: Permission::ManageGoldenRepos,
    offered: Offered::OnServer,
    effect: Effect::Removes,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, remove),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Repository alias
    alias: String,
    /// Removes it although users have activated it (default false)
    force: Option<bool>,
}

fn remove(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let (team, by) = context.on_server()?;
    let (asked, concerned) = team.remove_golden(&by, input.alias.trim(), input.force.unwrap_or(false))?;
    Ok(job(&asked, &format!("golden repository `{}` is being removed{concerned}", input.alias.trim())))
}
