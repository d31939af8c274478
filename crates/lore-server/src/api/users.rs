//! Users, for those who manage them.

use lore_tools::shown::{RoleWord, UserShown};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ListQuery, Told, cut, limit, told};
use crate::{
    answer::{Json, Refusal},
    app::App,
    input::Nothing,
    routes::Asked,
};

/// Users.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UserList {
    /// By name.
    users: Vec<UserShown>,
    /// How many there are.
    total: usize,
}

pub(crate) fn list(app: &App, _: &Asked, query: &ListQuery) -> Result<Json<UserList>, Refusal> {
    let (users, total) = cut(app.team.users()?, limit(query.limit));
    Ok(Json(UserList { users: users.iter().map(UserShown::from).collect(), total }))
}

/// A user who is to be added.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewUser {
    username: String,
    password: String,
    role: RoleWord,
}

/// A user, and what was done.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UserChanged {
    success: bool,
    user: UserShown,
    message: String,
}

pub(crate) fn create(app: &App, asked: &Asked, new: &NewUser) -> Result<Json<UserChanged>, Refusal> {
    let user = app.team.create_user(&asked.asker()?, &new.username, &new.password, new.role.into())?;
    let message = format!("user `{}` is added", user.name);
    Ok(Json(UserChanged { success: true, user: UserShown::from(&user), message }))
}

/// What is to be different about a user.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserChange {
    role: Option<RoleWord>,
    password: Option<String>,
}

pub(crate) fn change(app: &App, asked: &Asked, change: &UserChange) -> Result<Json<UserChanged>, Refusal> {
    let by = asked.asker()?;
    let mut done = Vec::new();
    let mut user = app.team.user(asked.name())?;
    // What can be refused comes before what is changed: a password for what it is, a role where nobody else is an admin.
    if let Some(password) = &change.password {
        app.team.check_password(&user, password)?;
    }
    if let Some(role) = change.role {
        user = app.team.set_role(&by, asked.name(), role.into())?;
        done.push(format!("is now `{}`", user.role.as_str()));
    }
    if let Some(password) = &change.password {
        user = app.team.set_password(&by, asked.name(), password)?;
        done.push("has a new password, which ended all their logins".to_owned());
    }
    if done.is_empty() {
        return Err(Refusal::invalid("nothing is to change").hint("give `role`, `password` or both"));
    }
    let message = format!("user `{}` {}", user.name, done.join(" and "));
    Ok(Json(UserChanged { success: true, user: UserShown::from(&user), message }))
}

pub(crate) fn remove(app: &App, asked: &Asked, _: &Nothing) -> Result<Json<Told>, Refusal> {
    let user = app.team.remove_user(&asked.asker()?, asked.name())?;
    Ok(Json(told(format!("user `{}` is removed", user.name))))
}
