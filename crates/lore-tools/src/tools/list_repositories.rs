//! `list_repositories`: the repositories that can be asked.

use lore_model::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    Answer, Context, Errors, Tool, Toolset,
    repositories::{REPOS_MAX, repositories, run, time},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "list_repositories",
    title: "List repositories",
    toolset: Toolset::Repos,
    about: "List activated repositories for current user: on this machine, all that are registered. user_alias is the name that the other tools take.",
    read_only: true,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, list),
};

#[derive(Deserialize, JsonSchema)]
struct Input {}

async fn list(context: Context, _: Input) -> Result<Answer, Failure> {
    let lore = &context.lore;
    let mut rows = Vec::new();
    let repos = lore.history.repos().await?;
    for repo in repos.iter().take(REPOS_MAX) {
        let branch = lore.standing(repo).await.and_then(|at| at.branch);
        rows.push(json!({
            "user_alias": repo.name(),
            "golden_repo_alias": repo.name(),
            "current_branch": branch,
            "activated_at": time(repo.added_at),
            // A question writes nothing, so nobody knows when the last one was.
            "last_accessed": null,
        }));
    }
    Ok(repositories(rows, repos.len()))
}
