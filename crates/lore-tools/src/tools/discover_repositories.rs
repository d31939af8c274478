//! `discover_repositories`: which repositories there are.

use lore_model::{Code, Failure, Repo, brief};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Answer, Context, Errors, Tool, Toolset,
    repositories::{REPOS_MAX, repositories, run, time, url},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "discover_repositories",
    title: "Discover repositories",
    toolset: Toolset::Repos,
    about: "Discover available repositories from configured sources. Those registered on this machine are `local`; `golden` ones are those of a team server.",
    read_only: true,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, discover),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Source type filter: golden or local; left out: all
    source_type: Option<String>,
}

async fn discover(context: Context, input: Input) -> Result<Answer, Failure> {
    let wanted = input.source_type.as_deref().map(str::trim).filter(|source| !source.is_empty());
    let repos = match wanted {
        None | Some("local") => context.lore.history.repos().await?,
        // A server on this machine has none.
        Some("golden") => Vec::new(),
        Some(other) => {
            let failure = Failure::new(Code::InvalidArgument, format!("`source_type` cannot be `{}`", brief(other)));
            return Err(failure.hint("use `golden` or `local`, or leave it out for all"));
        }
    };
    let mut rows = Vec::new();
    for repo in repos.iter().take(REPOS_MAX) {
        rows.push(row(repo, context.lore.search.state(repo.id).await?.past.is_some()));
    }
    Ok(repositories(rows, repos.len()))
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
