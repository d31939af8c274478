//! What the server tells about itself.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use lore_model::{Cancel, Code, Failure};
use lore_team::{Asker, Missing};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    answer::{Json, Refusal, Text},
    app::App,
    input::Nothing,
    metrics::Gauges,
    routes::Asked,
};

/// How long what the server stands on may take to answer.
const READY: Duration = Duration::from_secs(5);

/// How long a call waits for a worker before the server counts as starved.
const STARVED: Duration = Duration::from_secs(5);

#[expect(clippy::unnecessary_wraps, reason = "the signature of a handler")]
pub(crate) fn healthz(_: &App, _: &Asked, _: &Nothing) -> Result<Text, Refusal> {
    Ok(Text("ok".to_owned()))
}

pub(crate) fn readyz(app: &App, _: &Asked, _: &Nothing) -> Result<Text, Refusal> {
    let not_ready = |why: String| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::Busy, why);
    if app.is_stopping() {
        return Err(not_ready("the server is stopping".to_owned()));
    }
    if !app.jobs_run() {
        return Err(not_ready("no jobs are being done".to_owned()));
    }
    let starving = app.mcp.sessions.starving_for();
    if starving >= STARVED {
        let waited = starving.as_secs();
        return Err(not_ready(format!("every worker is busy, and a call has been waiting for one for {waited} s")));
    }
    // Whoever asks may be nobody: which file and why is for the log.
    let broken = |what: &str, failure: Failure| {
        tracing::error!(%failure, "not ready: {what} cannot be read");
        not_ready(format!("{what} cannot be read ({})", failure.code.name()))
    };
    let team = Arc::clone(&app.team);
    let check = move || (team.check(), team.lore().history.repos());
    match Cancel::current().run_detached(READY, check) {
        Some((team, index)) => {
            team.map_err(|failure| broken("the team's records", failure))?;
            drop(index.map_err(|failure| broken("the index", failure))?);
        }
        None => return Err(not_ready("the index does not answer in time".to_owned())),
    }
    // How many, and not which: whoever asks may be nobody.
    match app.team.missing() {
        Some(missing) if missing.keeps_from_answering() => Err(not_ready(told(missing))),
        Some(missing) => Ok(Text(format!("ready, but {}", told(missing)))),
        None => Ok(Text("ready".to_owned())),
    }
}

/// What has no index although it had one.
fn told(missing: Missing) -> String {
    let Missing { waiting, failed, all: _ } = missing;
    let some = |count: usize| match count {
        1 => "1 golden repository".to_owned(),
        many => format!("{many} golden repositories"),
    };
    match (waiting, failed) {
        (_, 0) => format!("the index of {} is missing and is being built", some(waiting)),
        (0, _) => format!("the index of {} is missing and could not be built", some(failed)),
        _ => {
            format!("the index of {} is missing: {waiting} to be built, {failed} could not be", some(waiting + failed))
        }
    }
}

pub(crate) fn metrics(app: &App, _: &Asked, _: &Nothing) -> Result<Text, Refusal> {
    let jobs = app.team.count_jobs(&Asker::local())?;
    Ok(Text(app.metrics.text(&Gauges {
        jobs,
        sessions: app.mcp.sessions.count(),
        kept: app.mcp.sessions.kept_bytes(),
        load: app.mcp.sessions.load(),
        starving: app.mcp.sessions.starving_for(),
    })))
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of a handler")]
pub(crate) fn openapi(app: &App, _: &Asked, _: &Nothing) -> Result<Json<Value>, Refusal> {
    Ok(Json(crate::openapi::document(&app.routes)))
}

/// Where to get tokens for a resource (RFC 9728).
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProtectedResource {
    resource: String,
    resource_name: &'static str,
    authorization_servers: Vec<String>,
    bearer_methods_supported: [&'static str; 1],
}

fn protected(app: &App, resource: String) -> Result<Json<ProtectedResource>, Refusal> {
    let Some(issuer) = &app.issuer else {
        let message = "this server has no authorization server: `POST /auth/login` gives tokens";
        return Err(Refusal::new(StatusCode::NOT_FOUND, Code::InvalidArgument, message));
    };
    Ok(Json(ProtectedResource {
        resource,
        resource_name: "Lore",
        authorization_servers: vec![issuer.clone()],
        bearer_methods_supported: ["header"],
    }))
}

pub(crate) fn resource(app: &App, asked: &Asked, _: &Nothing) -> Result<Json<ProtectedResource>, Refusal> {
    protected(app, asked.base.clone())
}

pub(crate) fn toolset_resource(app: &App, asked: &Asked, _: &Nothing) -> Result<Json<ProtectedResource>, Refusal> {
    if !app.mcp.has(asked.name()) {
        return Err(Refusal::new(StatusCode::NOT_FOUND, Code::InvalidArgument, "there is no such path"));
    }
    protected(app, format!("{}/mcp/{}", asked.base, asked.name()))
}

pub(crate) fn mcp_resource(app: &App, asked: &Asked, _: &Nothing) -> Result<Json<ProtectedResource>, Refusal> {
    protected(app, format!("{}/mcp", asked.base))
}
