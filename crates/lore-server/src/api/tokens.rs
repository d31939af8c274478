//! Personal tokens.

use lore_core::rfc3339;
use lore_model::{Code, Failure, Permission, TokenId, brief};
use lore_team::{Known, Through};
use lore_tools::shown::TokenShown;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DONE, Done, cut, limit};
use crate::{
    answer::{Json, Refusal},
    app::App,
    input::Nothing,
    routes::Asked,
};

/// Whose tokens, and how many.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokensQuery {
    /// Everybody's, for those who manage users.
    all: Option<bool>,
    /// How many, up to 1000; 100 where nothing is said.
    limit: Option<u64>,
}

/// Personal tokens.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TokenList {
    /// The newest first.
    tokens: Vec<TokenShown>,
    /// How many there are.
    total: usize,
}

pub(crate) fn list(app: &App, asked: &Asked, query: &TokensQuery) -> Result<Json<TokenList>, Refusal> {
    let caller = asked.caller()?;
    let all = query.all.unwrap_or(false);
    if all && !caller.role.may(Permission::ManageUsers) {
        let message = "the tokens of all users are for those with the permission `manage_users`";
        return Err(Failure::new(Code::PermissionDenied, message).into());
    }
    let tokens = app.team.tokens((!all).then_some(caller.id))?;
    let (tokens, total) = cut(tokens, limit(query.limit));
    Ok(Json(TokenList { tokens: tokens.into_iter().map(TokenShown::from).collect(), total }))
}

/// A token that somebody wants.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewToken {
    /// What it is for.
    name: String,
    /// For how long; for ever where nothing is said.
    expires_in_days: Option<u32>,
}

/// A token at the one moment when it is known.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CreatedToken {
    /// It is not shown again.
    token: String,
    id: i64,
    name: String,
    /// Until when; null for as long as it is not revoked.
    expires_at: Option<String>,
}

pub(crate) fn create(app: &App, asked: &Asked, given: &NewToken) -> Result<Json<CreatedToken>, Refusal> {
    let owner = asked.caller()?.id;
    outlives_not(asked.known()?, given.expires_in_days, app.clock.now())?;
    let created = app.team.create_token(&asked.asker()?, owner, &given.name, given.expires_in_days)?;
    Ok(Json(CreatedToken {
        token: created.secret,
        id: created.token.id.0,
        name: created.token.name,
        expires_at: created.token.expires_at.map(rfc3339),
    }))
}

/// Whoever has somebody's token that expires must not make one of it that does not.
fn outlives_not(known: &Known, days: Option<u32>, now: i64) -> Result<(), Refusal> {
    let Through::Token(Some(until)) = known.through else { return Ok(()) };
    let left = (until - now) / DAY;
    if days.is_some_and(|days| i64::from(days) <= left) {
        return Ok(());
    }
    let message =
        format!("a token made with a token lasts no longer than that one, which is valid until {}", rfc3339(until));
    let refusal = Refusal::from(Failure::new(Code::PermissionDenied, message));
    Err(if left > 0 {
        refusal.hint(format!("give it `expires_in_days` of {left} or less, or log in with your password"))
    } else {
        refusal.hint("log in with your password")
    })
}

const DAY: i64 = 86_400;

pub(crate) fn revoke(app: &App, asked: &Asked, _: &Nothing) -> Result<Json<Done>, Refusal> {
    let absent = || Failure::new(Code::TokenNotFound, format!("there is no token `{}`", brief(asked.name())));
    let id = asked.name().parse::<i64>().map_err(|_| absent())?;
    app.team.revoke_token(&asked.asker()?, TokenId(id))?;
    Ok(Json(DONE))
}
