//! `get_repository_status`: how one repository is.

use lore_core::browse::Report;
use lore_model::{Failure, Permission};
use lore_team::Shown;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{Members, health, place, run, succeeded, time, url},
    schema,
    scope::{Found, composite, find},
};

pub(super) static TOOL: Tool = Tool {
    name: "get_repository_status",
    title: "Status of a repository",
    toolset: Toolset::Repos,
    about: "Get detailed status of a repository: where it is, its branches, how many files and commits are indexed, how fresh that is, and what is wrong.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, status),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// User alias of repository; left out: the project, or your only one
    user_alias: Option<String>,
}

fn status(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let alias = input.user_alias.as_deref();
    let Some(composite) = composite(context, alias)? else {
        let (status, _) = status_of(context, find(context, alias)?)?;
        return Ok(succeeded(json!({"status": status})));
    };
    let mut status = composite.head("alias");
    let members = Members::ask(composite.members, |member| status_of(context, member))?;
    status.insert("activation_status".to_owned(), "activated".into());
    status.insert("created_at".to_owned(), time(Some(composite.activation.activated_at)));
    for counted in ["file_count", "index_size", "commit_count"] {
        status.insert(counted.to_owned(), members.sum(&format!("/{counted}")));
    }
    status.insert("last_updated".to_owned(), members.updated_at());
    status.insert("enable_temporal".to_owned(), members.told.iter().all(|one| one["enable_temporal"] == true).into());
    status.insert("health".to_owned(), members.health("alias"));
    status.insert("members".to_owned(), members.told.into());
    Ok(succeeded(json!({"status": status})))
}

fn status_of(context: &Context, found: Found) -> Result<(Value, Report), Failure> {
    let (place, shown_place) = (found.place(), place(context, &found.repo));
    let Found { repo, alias, shown, .. } = found;
    let lore = &context.lore;
    // Where the repository is gone, the rest can still be told.
    let (branches, branch_count) = lore.list_branches(&repo, &place).unwrap_or_default();
    let branches: Vec<&str> = branches.iter().map(|(branch, _)| branch.name.as_str()).collect();
    let report = lore.report(vec![repo])?.pop();
    let report = report.ok_or_else(|| Failure::new(lore_model::Code::Internal, "a repository has no report"))?;
    let (score, issues) = health(context, &report);
    let code = report.code.as_ref().ok();
    let snapshot = code.and_then(|code| code.snapshot.as_ref());
    let past = code.and_then(|code| code.past.as_ref());
    let mut status = json!({
        "alias": alias,
        "repo_url": url(&report.repo),
        "default_branch": report.repo.info.default_branch,
        "clone_path": shown_place,
        "created_at": time(report.repo.added_at),
        "activation_status": activation_status(shown.as_deref()),
        "branches_list": branches,
        "file_count": snapshot.map_or(0, |snapshot| snapshot.files),
        "index_size": report.index_bytes,
        "last_updated": time(report.updated_at()),
        "enable_temporal": past.is_some(),
        "temporal_status": past.map(|past| json!({
            "status": if past.at.is_none() { "pending" } else if code.is_some_and(|code| code.past_is_current) { "current" } else { "stale" },
            "commits": past.commits,
            "versions": past.versions,
            "last_updated": time(past.at),
        })),
    });
    if let Some(shown) = &shown {
        status["golden_repo_alias"] = shown.golden.alias.as_str().into();
        status["current_branch"] = json!(shown.branch.clone().or_else(|| report.repo.info.default_branch.clone()));
    }
    status["branch_count"] = branch_count.into();
    status["history_state"] = report.history.state.as_str().into();
    status["code_state"] = code.map_or(Value::Null, |code| code.freshness.state.as_str().into());
    status["commit"] = json!(code.and_then(|code| code.freshness.commit).map(|commit| commit.to_hex()));
    status["commit_count"] = report.commits.into();
    status["uncommitted_files"] = code.map_or(0, |code| code.freshness.uncommitted).into();
    status["health"] = json!({"score": score, "issues": issues});
    Ok((status, report))
}

/// On one machine everything that is registered is there to be asked; on a team server users choose.
fn activation_status(shown: Option<&Shown>) -> &'static str {
    match shown {
        Some(shown) if shown.activation.is_none() => "not_activated",
        _ => "activated",
    }
}
