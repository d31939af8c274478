//! `get_branches`: the local branches of a repository.

use lore_core::{
    browse::{BRANCHES_MAX, BranchIndex},
    files::{Branch, BranchTip, Upstream},
};
use lore_model::{Failure, Permission, Repo};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{line, run, succeeded, time},
    schema,
    scope::{Found, composite, find},
};

pub(super) static TOOL: Tool = Tool {
    name: "get_branches",
    title: "List branches",
    toolset: Toolset::Code,
    about: "Get available branches for a repository: the last commit of each, whether it is indexed (indexed, stale, not_indexed), and how far it is ahead of and behind the branch it follows, as of the last fetch.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, branches),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Repository alias; left out: the project, or your only one
    repository_alias: Option<String>,
}

fn branches(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let alias = input.repository_alias.as_deref();
    let (mut about, found) = if let Some(composite) = composite(context, alias)? {
        (composite.head("repository_alias"), composite.members)
    } else {
        let found = find(context, alias)?;
        (Map::from_iter([("repository_alias".to_owned(), found.alias.as_str().into())]), vec![found])
    };
    let is_composite = about.contains_key("is_composite");
    let (mut rows, mut total) = (Vec::new(), 0);
    for found in found {
        let (branches, count) = match listed(context, &found) {
            // One that cannot be read keeps the others of a composite no more from being told than it does elsewhere.
            Err(failure) if is_composite => {
                let note = format!("{}: {}", found.repo.name(), context.told(&failure.message));
                if let Value::Array(notes) = about.entry("notes").or_insert_with(|| json!([])) {
                    notes.push(note.into());
                }
                continue;
            }
            listed => listed?,
        };
        total += count;
        rows.extend(branches.iter().map(|(branch, index)| {
            let mut row = row(branch, *index);
            if is_composite {
                row["source_repo"] = found.repo.name().into();
            }
            row
        }));
    }
    let is_cut = total > rows.len();
    let mut fields = json!({"branches": rows, "total": total});
    if is_cut {
        let whose = if is_composite { "of each repository the first" } else { "the first" };
        fields["truncated"] = true.into();
        fields["note"] = format!("this is not all: {whose} {BRANCHES_MAX} of {total} branches are listed").into();
    }
    if let Value::Object(fields) = &mut fields {
        fields.extend(about);
    }
    Ok(succeeded(fields))
}

/// The branches of one repository, and how many there are.
fn listed(context: &Context, found: &Found) -> Result<(Vec<(Branch, BranchIndex)>, usize), Failure> {
    match context.lore.list_branches(&found.repo, &found.place()) {
        // Whose branch is gone has to see which others there are.
        Err(_) if found.repo.shown.is_some() => {
            let repo = Repo { shown: None, ..found.repo.clone() };
            context.lore.list_branches(&repo, &found.place())
        }
        listed => listed,
    }
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
