//! `get_all_repositories_status`: every repository in a line.

use lore_core::browse::Report;
use lore_model::{Code, Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::get_repository_status::activation_status;
use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{REPOS_MAX, repositories, run, time, url},
    schema,
    scope::{self, Found},
};

pub(super) static TOOL: Tool = Tool {
    name: "get_all_repositories_status",
    title: "Status of all repositories",
    toolset: Toolset::Insight,
    about: "Get status summary of all repositories: how fresh each is, how much of it is indexed, and what is wrong.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, status),
};

#[derive(Deserialize, JsonSchema)]
struct Input {}

async fn status(context: Context, _: Input) -> Result<Answer, Failure> {
    let mut found = scope::search(&context, None).await.map_or_else(
        |failure| if failure.code == Code::RepoNotFound { Ok(Vec::new()) } else { Err(failure) },
        |searched| Ok(searched.repos),
    )?;
    let total = found.len();
    found.truncate(REPOS_MAX);
    let reports = context.lore.report(found.iter().map(|one| one.repo.clone()).collect()).await?;
    let rows = reports.iter().zip(&found).map(|(report, found)| row(report, found)).collect();
    Ok(repositories(rows, total))
}

fn row(report: &Report, found: &Found) -> Value {
    let (score, issues) = report.health();
    let code = report.code.as_ref().ok();
    let snapshot = code.and_then(|code| code.snapshot.as_ref());
    json!({
        "alias": found.alias,
        "repo_url": url(&report.repo),
        "activation_status": activation_status(found.shown.as_deref()),
        "history_state": report.history.state.as_str(),
        "code_state": code.map(|code| code.freshness.state.as_str()),
        "commit_count": report.commits,
        "file_count": snapshot.map_or(0, |snapshot| snapshot.files),
        "index_size": report.index_bytes,
        "last_updated": time(report.updated_at()),
        "health": {"score": score, "issues": issues},
    })
}
