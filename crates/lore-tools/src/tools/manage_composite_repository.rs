//! `manage_composite_repository`: several repositories under one alias.

use lore_model::{Code, Failure, Permission, brief};
use lore_team::CompositeChange;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{job, run},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "manage_composite_repository",
    title: "Manage a composite",
    toolset: Toolset::Repos,
    about: "Manage composite repository operations (create, update, delete): several golden repositories that you ask as one.",
    permission: Permission::ActivateRepos,
    offered: Offered::OnServer,
    effect: Effect::Removes,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, manage),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Operation type: create, update, delete
    #[schemars(extend("enum" = ["create", "update", "delete"]))]
    operation: String,
    /// Composite repository alias
    user_alias: String,
    /// Golden repository aliases to include: for create and update
    #[serde(default)]
    #[schemars(extend("default" = null))]
    golden_repo_aliases: Vec<String>,
}

fn manage(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let (team, by) = context.on_server()?;
    let change = match input.operation.trim().to_lowercase().as_str() {
        "create" => CompositeChange::Create,
        "update" => CompositeChange::Update,
        "delete" => CompositeChange::Delete,
        other => {
            return Err(Failure::new(Code::InvalidArgument, format!("there is no operation `{}`", brief(other)))
                .hint("it is create, update or delete"));
        }
    };
    let asked = team.change_composite(&by, change, &input.user_alias, &input.golden_repo_aliases)?;
    let alias = asked.task.alias.as_ref().map(ToString::to_string).unwrap_or_default();
    let done = match change {
        CompositeChange::Create => "is created",
        CompositeChange::Update => "is updated",
        CompositeChange::Delete => "is deleted",
    };
    let mut answer = job(&asked, &format!("composite `{alias}` {done}"));
    if change == CompositeChange::Delete && !input.golden_repo_aliases.is_empty() {
        answer
            .remarks
            .push("golden_repo_aliases counts only for create and update: the whole composite is deleted".to_owned());
    }
    Ok(answer)
}
