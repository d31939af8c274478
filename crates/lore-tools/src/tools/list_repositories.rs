//! `list_repositories`: the repositories that can be asked.

use lore_model::{Activation, Failure, Permission, Repo, RepoName};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{REPOS_MAX, repositories, run, time},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "list_repositories",
    title: "List repositories",
    toolset: Toolset::Repos,
    about: "List activated repositories for current user: on this machine, all that are registered. user_alias is the name that the other tools take.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, list),
};

#[derive(Deserialize, JsonSchema)]
struct Input {}

fn list(context: &Context, _: &Input) -> Result<Answer, Failure> {
    let lore = &context.lore;
    if let Some((team, caller)) = context.team()? {
        let own = team.activations(caller)?;
        let golden = lore.history.repos()?;
        let rows = own.iter().take(REPOS_MAX).map(|own| activation_row(own, &golden)).collect();
        return Ok(repositories(rows, own.len()));
    }
    let mut rows = Vec::new();
    let repos = lore.history.repos()?;
    for repo in repos.iter().take(REPOS_MAX) {
        let branch = lore.standing(repo).and_then(|at| at.branch);
        rows.push(json!({
            "user_alias": repo.name(),
            "golden_repo_alias": repo.name(),
            "current_branch": branch,
            "activated_at": time(repo.added_at),
            // A question writes nothing, so only a team server knows when the last one was.
            "last_accessed": null,
        }));
    }
    Ok(repositories(rows, repos.len()))
}

/// What a user of a team server has activated.
fn activation_row(own: &Activation, golden: &[Repo]) -> Value {
    let names: Vec<&str> = own.golden.iter().map(RepoName::as_str).collect();
    if own.composite {
        return json!({
            "user_alias": own.alias.as_str(),
            "is_composite": true,
            "golden_repo_aliases": names,
            "activated_at": time(Some(own.activated_at)),
            "last_accessed": time(own.accessed_at),
        });
    }
    let main = || golden.iter().find(|repo| names.contains(&repo.name()))?.info.default_branch.clone();
    json!({
        "user_alias": own.alias.as_str(),
        "golden_repo_alias": names.first(),
        "current_branch": own.branch.clone().or_else(main),
        "activated_at": time(Some(own.activated_at)),
        "last_accessed": time(own.accessed_at),
    })
}
