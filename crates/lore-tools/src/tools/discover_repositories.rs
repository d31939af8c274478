//! `discover_repositories`: which repositories there are.

use lore_model::{Code, Failure, Golden, Permission, Repo, brief, without_user};
use lore_team::main_branch;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{REPOS_MAX, place, repositories, run, time, url},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "discover_repositories",
    title: "Discover repositories",
    toolset: Toolset::Repos,
    about: "Discover available repositories from configured sources. Those registered on this machine are `local`; `golden` ones are those of a team server.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, discover),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Source type filter: golden or local; left out: all
    source_type: Option<String>,
}

fn discover(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let wanted = input.source_type.as_deref().map(str::trim).filter(|source| !source.is_empty());
    if let Some(wanted) = wanted.filter(|wanted| !["golden", "local"].contains(wanted)) {
        let failure = Failure::new(Code::InvalidArgument, format!("`source_type` cannot be `{}`", brief(wanted)));
        return Err(failure.hint("use `golden` or `local`, or leave it out for all"));
    }
    if let Some((team, _)) = context.team()? {
        let golden = if wanted == Some("local") { Vec::new() } else { team.golden()? };
        let repos = context.lore.history.repos()?;
        let state = |golden: &Golden| {
            if team.is_waited_for(&golden.alias) { "indexing" } else { golden.state.as_str() }
        };
        let row = |golden| golden_row(context, (golden, state(golden)), &repos);
        let rows = golden.iter().take(REPOS_MAX).map(row).collect();
        return Ok(repositories(rows, golden.len()));
    }
    let repos = match wanted {
        // A server on this machine has none.
        Some("golden") => Vec::new(),
        _ => context.lore.history.repos()?,
    };
    let mut rows = Vec::new();
    for repo in repos.iter().take(REPOS_MAX) {
        rows.push(row(repo, context.lore.search.reader.state(repo.id)?.past.is_some()));
    }
    Ok(repositories(rows, repos.len()))
}

/// A golden repository as the contract has it.
fn golden_row(context: &Context, (golden, state): (&Golden, &str), repos: &[Repo]) -> Value {
    let caller = context.asked.caller.as_ref();
    // It may name hosts and accounts.
    let manages = caller.is_some_and(|caller| caller.role.may(Permission::ManageGoldenRepos));
    let repo = repos.iter().find(|repo| repo.name() == golden.alias.as_str());
    json!({
        "alias": golden.alias.as_str(),
        "repo_url": without_user(&golden.url),
        "default_branch": main_branch(golden, repos),
        "clone_path": repo.map(|repo| place(context, repo)),
        "created_at": time(Some(golden.created_at)),
        "enable_temporal": golden.temporal,
        "temporal_options": null,
        "source_type": "golden",
        "state": state,
        "refresh_every": golden.refresh_every,
        "last_refreshed_at": time(golden.refreshed_at),
        "last_error": golden.last_error.as_deref().filter(|_| manages).map(|error| context.told(error)),
    })
}

fn row(repo: &Repo, temporal: bool) -> Value {
    json!({
        "alias": repo.name(),
        "repo_url": url(repo),
        "default_branch": repo.info.default_branch,
        "clone_path": repo.info.local_path.to_string_lossy(),
        "created_at": time(repo.added_at),
        "enable_temporal": temporal,
        "temporal_options": null,
        "source_type": "local",
    })
}
