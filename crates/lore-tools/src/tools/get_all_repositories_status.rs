//! `get_all_repositories_status`: every repository in a line.

use lore_core::{
    browse::Report,
    team::{Standing, Team},
};
use lore_model::{Caller, Code, Failure, Permission, Repo};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{REPOS_MAX, health, repositories, run, time, url},
    schema, scope,
};

pub(super) static TOOL: Tool = Tool {
    name: "get_all_repositories_status",
    title: "Status of all repositories",
    toolset: Toolset::Insight,
    about: "Get status summary of all repositories: how fresh each is, how much of it is indexed, and what is wrong. On a server each of your aliases is told, also one that cannot be asked.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, status),
};

#[derive(Deserialize, JsonSchema)]
struct Input {}

async fn status(context: Context, _: Input) -> Result<Answer, Failure> {
    if let Some((team, caller)) = context.team()? {
        return on_server(&context, team, caller).await;
    }
    let mut found = scope::search(&context, None).await.map_or_else(
        |failure| if failure.code == Code::RepoNotFound { Ok(Vec::new()) } else { Err(failure) },
        |searched| Ok(searched.repos),
    )?;
    let total = found.len();
    found.truncate(REPOS_MAX);
    let reports = context.lore.report(found.iter().map(|one| one.repo.clone()).collect()).await?;
    let rows =
        reports.iter().zip(&found).map(|(report, found)| row(&context, report, &found.alias, "activated")).collect();
    Ok(repositories(rows, total))
}

/// Every name of the caller's has its row for each repository behind it, also where that cannot be asked.
async fn on_server(context: &Context, team: &Team, caller: &Caller) -> Result<Answer, Failure> {
    let mut standings = team.each_visible(caller).await?;
    let total = standings.len();
    standings.truncate(REPOS_MAX);
    let repos: Vec<Repo> = standings.iter().filter_map(|one| Some(one.shown.as_ref().ok()?.repo.clone())).collect();
    let mut reports = context.lore.report(repos).await?.into_iter();
    let mut rows = Vec::new();
    for Standing { alias, golden, is_activated, shown } in standings {
        let status = if is_activated { "activated" } else { "not_activated" };
        let told = match shown {
            Ok(_) => {
                let report = reports.next();
                report.map(|report| row(context, &report, alias.as_str(), status))
            }
            Err(failure) => {
                let why = context.told(&failure.message);
                Some(json!({
                    "alias": alias.as_str(),
                    "activation_status": status,
                    "error": why,
                    "health": {"score": 0, "issues": [why]},
                }))
            }
        };
        rows.extend(told.map(|mut told| {
            told["golden_repo_alias"] = golden.as_str().into();
            told
        }));
    }
    Ok(repositories(rows, total))
}

fn row(context: &Context, report: &Report, alias: &str, activation_status: &str) -> Value {
    let (score, issues) = health(context, report);
    let code = report.code.as_ref().ok();
    let snapshot = code.and_then(|code| code.snapshot.as_ref());
    json!({
        "alias": alias,
        "repo_url": url(&report.repo),
        "activation_status": activation_status,
        "history_state": report.history.state.as_str(),
        "code_state": code.map(|code| code.freshness.state.as_str()),
        "commit_count": report.commits,
        "file_count": snapshot.map_or(0, |snapshot| snapshot.files),
        "index_size": report.index_bytes,
        "last_updated": time(report.updated_at()),
        "health": {"score": score, "issues": issues},
    })
}
