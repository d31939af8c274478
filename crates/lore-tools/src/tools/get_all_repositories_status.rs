//! `get_all_repositories_status`: every repository in a line.

use lore_core::browse::Report;
use lore_model::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Answer, Context, Errors, Tool, Toolset,
    repositories::{REPOS_MAX, repositories, run, time, url},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "get_all_repositories_status",
    title: "Status of all repositories",
    toolset: Toolset::Insight,
    about: "Get status summary of all repositories: how fresh each is, how much of it is indexed, and what is wrong.",
    read_only: true,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, status),
};

#[derive(Deserialize, JsonSchema)]
struct Input {}

async fn status(context: Context, _: Input) -> Result<Answer, Failure> {
    let mut repos = context.lore.history.repos().await?;
    let total = repos.len();
    repos.truncate(REPOS_MAX);
    Ok(repositories(context.lore.report(repos).await?.iter().map(row).collect(), total))
}

fn row(report: &Report) -> Value {
    let (score, issues) = report.health();
    let code = report.code.as_ref().ok();
    let snapshot = code.and_then(|code| code.snapshot.as_ref());
    json!({
        "alias": report.repo.name(),
        "repo_url": url(&report.repo),
        "activation_status": "activated",
        "history_state": report.history.state.as_str(),
        "code_state": code.map(|code| code.freshness.state.as_str()),
        "commit_count": report.repo.sync.commit_count,
        "file_count": snapshot.map_or(0, |snapshot| snapshot.files),
        "index_size": report.index_bytes,
        "last_updated": time(report.updated_at()),
        "health": {"score": score, "issues": issues},
    })
}
