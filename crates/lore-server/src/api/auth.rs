//! Logging in and out. What is secret is in types that nothing can print.

use http::header::RETRY_AFTER;
use lore_model::Permission;
use lore_team::{LoginRefused, Session, Through};
use lore_tools::shown::UserShown;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DONE, Done};
use crate::{
    answer::{Json, Refusal},
    app::App,
    input::Nothing,
    proxies,
    routes::Asked,
};

/// Who wants to log in.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    username: String,
    password: String,
}

/// What a login gives.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Tokens {
    /// For `Authorization: Bearer`.
    access_token: String,
    /// Always `bearer`.
    token_type: &'static str,
    /// For so many seconds.
    expires_in: i64,
    /// Whose they are.
    user: UserShown,
    /// For `POST /auth/refresh`, once.
    refresh_token: String,
    /// For so many seconds.
    refresh_token_expires_in: i64,
}

impl From<Session> for Tokens {
    fn from(session: Session) -> Self {
        Self {
            user: UserShown::from(&session.user),
            access_token: session.access_token,
            token_type: "bearer",
            expires_in: session.expires_in,
            refresh_token: session.refresh_token,
            refresh_token_expires_in: session.refresh_expires_in,
        }
    }
}

impl From<LoginRefused> for Refusal {
    fn from(refused: LoginRefused) -> Self {
        let refusal = Self::from(refused.failure);
        match refused.retry_after {
            Some(seconds) => refusal.header(RETRY_AFTER, &seconds.to_string()),
            None => refusal,
        }
    }
}

pub(crate) fn login(app: &App, asked: &Asked, login: &Login) -> Result<Json<Tokens>, Refusal> {
    let address = proxies::counted(asked.address);
    let session = app.team.login(&login.username, &login.password, Some(&address))?;
    Ok(Json(session.into()))
}

/// A refresh token.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refresh {
    refresh_token: String,
}

pub(crate) fn refresh(app: &App, asked: &Asked, given: &Refresh) -> Result<Json<Tokens>, Refusal> {
    let address = asked.address.to_string();
    Ok(Json(app.team.refresh(&given.refresh_token, Some(&address))?.into()))
}

/// Which login is to end besides that of the request.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Logout {
    refresh_token: Option<String>,
}

pub(crate) fn logout(app: &App, asked: &Asked, given: &Logout) -> Result<Json<Done>, Refusal> {
    let known = asked.known()?;
    if let (Through::Token(..), None) = (&known.through, &given.refresh_token) {
        return Err(Refusal::invalid("this is a personal token and no login: there is nothing to end")
            .hint("`DELETE /api/tokens/{id}` revokes a personal token"));
    }
    let address = asked.address.to_string();
    app.team.logout(known, given.refresh_token.as_deref(), Some(&address))?;
    Ok(Json(DONE))
}

/// Who asks.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Me {
    user: UserShown,
    /// What they may do.
    permissions: Vec<&'static str>,
}

pub(crate) fn me(app: &App, asked: &Asked, _: &Nothing) -> Result<Json<Me>, Refusal> {
    let user = app.team.user(asked.caller()?.name.as_str())?;
    let may = Permission::ALL.into_iter().filter(|permission| user.role.may(*permission));
    Ok(Json(Me { user: UserShown::from(&user), permissions: may.map(Permission::as_str).collect() }))
}

/// A password and the next one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPassword {
    current_password: String,
    new_password: String,
}

pub(crate) fn password(app: &App, asked: &Asked, given: &NewPassword) -> Result<Json<Done>, Refusal> {
    let address = proxies::counted(asked.address);
    let asker = asked.asker()?;
    app.team.change_password(&asker, Some(&address), &given.current_password, &given.new_password)?;
    Ok(Json(DONE))
}
