//! `create_user`: somebody who may use the server.

use lore_model::{Code, Failure, Permission, Role, brief};
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
    name: "create_user",
    title: "Create a user",
    toolset: Toolset::Admin,
    about: "Create a new user.",
    permission: Permission::ManageUsers,
    offered: Offered::OnServer,
    effect: Effect::Changes,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, create),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Username (unique)
    username: String,
    /// Password (will be hashed): at least 12 characters
    password: String,
    /// User role: `admin`, `power_user`, `normal_user`
    #[schemars(extend("enum" = Role::ALL.map(Role::as_str)))]
    role: String,
}

fn create(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let (team, by) = context.on_server()?;
    let role = Role::parse(input.role.trim()).ok_or_else(|| {
        Failure::new(Code::InvalidArgument, format!("there is no role `{}`", brief(&input.role)))
            .hint("it is admin, power_user or normal_user")
    })?;
    let user = team.create_user(&by, input.username.trim(), &input.password, role)?;
    Ok(reported(json!({"user": UserShown::from(&user), "message": format!("user `{}` is created", user.name)})))
}
