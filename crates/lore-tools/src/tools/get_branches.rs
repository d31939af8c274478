//! `get_branches`: the local branches of a repository.

use lore_core::{
    browse::{BRANCHES_MAX, BranchIndex},
    files::{Branch, BranchTip, Upstream},
};
use lore_model::{Failure, Permission, Repo};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{line, run, succeeded, time},
    schema,
    scope::find,
};

pub(super) static TOOL: Tool = Tool {
    name: "get_branches",
    title: "List branches",
    toolset: Toolset::Code,
    about: "Get available branches for a repository: the last commit of each, whether it is indexed (indexed, stale, not_indexed), and how far it is ahead of and behind the branch it follows, as of the last fetch.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, branches),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Repository alias; left out: the project
    repository_alias: Option<String>,
}

async fn branches(context: Context, input: Input) -> Result<Answer, Failure> {
    let found = find(&context, input.repository_alias.as_deref()).await?;
    let listed = context.lore.list_branches(&found.repo, &found.place()).await;
    let (branches, total) = match listed {
        // Whose branch is gone has to see which others there are.
        Err(_) if found.repo.shown.is_some() => {
            let repo = Repo { shown: None, ..found.repo.clone() };
            context.lore.list_branches(&repo, &found.place()).await?
        }
        listed => listed?,
    };
    let rows: Vec<Value> = branches.iter().map(|(branch, index)| row(branch, *index)).collect();
    let mut fields = json!({"branches": rows, "total": total, "repository_alias": found.alias});
    if total > branches.len() {
        fields["truncated"] = true.into();
        fields["note"] = format!("this is not all: the first {BRANCHES_MAX} of {total} branches are listed").into();
    }
    Ok(succeeded(fields))
}

fn row(branch: &Branch, index: BranchIndex) -> Value {
    let commit = |tip: &BranchTip| {
        json!({
            "sha": tip.commit.to_hex(),
            "message": line(&tip.subject),
            "author": line(&tip.author),
            "date": time(Some(tip.time)),
        })
    };
    let tracking = |upstream: &Upstream| {
        json!({
            "name": upstream.name,
            "ahead": upstream.ahead_behind.map(|(ahead, _)| ahead),
            "behind": upstream.ahead_behind.map(|(_, behind)| behind),
        })
    };
    json!({
        "name": branch.name,
        "is_current": branch.is_current,
        "last_commit": branch.tip.as_ref().map(commit),
        "index_status": index.as_str(),
        "remote_tracking": branch.upstream.as_ref().map(tracking),
    })
}
