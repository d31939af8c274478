//! `list_users`: who may use the server.

use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{reported, run},
    schema,
    shown::UserShown,
};

pub(super) static TOOL: Tool = Tool {
    name: "list_users",
    title: "List users",
    toolset: Toolset::Admin,
    about: "List all users.",
    permission: Permission::ManageUsers,
    offered: Offered::OnServer,
    effect: Effect::Reads,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, list),
};

#[derive(Deserialize, JsonSchema)]
struct Input {}

fn list(context: &Context, _: &Input) -> Result<Answer, Failure> {
    let (team, _) = context.on_server()?;
    let users = team.users()?;
    let rows: Vec<UserShown> = users.iter().take(USERS_MAX).map(UserShown::from).collect();
    let mut fields = json!({"users": rows, "total": users.len()});
    if users.len() > USERS_MAX {
        fields["truncated"] = true.into();
        fields["note"] = format!("this is not all: the first {USERS_MAX} of {} users are listed", users.len()).into();
    }
    Ok(reported(fields))
}

/// So many users are told of at once.
const USERS_MAX: usize = 1000;
