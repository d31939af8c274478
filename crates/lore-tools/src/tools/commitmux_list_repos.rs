//! `commitmux_list_repos`: the repositories whose history can be asked.

use lore_core::history::{FreshState, RepoFreshness};
use lore_model::{Failure, Permission, Repo, Source, without_user};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::run;
use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    answer::AnswerBuilder,
    repositories::REPOS_MAX,
    schema,
    scope::{Found, each_history},
};

/// The most branches that are listed of one repository.
const BRANCHES_MAX: usize = 100;

pub(super) static TOOL: Tool = Tool {
    name: "commitmux_list_repos",
    title: "List repositories",
    toolset: Toolset::History,
    about: "The repositories that can be asked: indexed branches, number of commits, last sync, and whether that is current.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, list),
};

#[derive(Deserialize, JsonSchema)]
struct Input {}

fn list(context: &Context, _: &Input) -> Result<Answer, Failure> {
    let mut all = each_history(context)?;
    let total = all.len();
    all.truncate(REPOS_MAX);
    let history = &context.lore.history;
    let repos: Vec<Repo> = all.iter().filter_map(|(_, found)| Some(found.as_ref().ok()?.repo.clone())).collect();
    let mut fresh = history.freshness(&repos, None).repos.into_iter();
    let mut rows = Vec::new();
    for (name, found) in all {
        rows.push(match found {
            Ok(found) => {
                // What cannot be counted keeps the rest from being listed no more than what cannot be asked.
                let commits = history.commit_count(&found.repo).ok();
                row(context, &name, &found, fresh.next(), commits)
            }
            Err(failure) => {
                let state = FreshState::Missing.as_str();
                json!({"name": name, "state": state, "error": context.told(&failure.message)})
            }
        });
    }
    let mut answer = AnswerBuilder::list(rows);
    if total > REPOS_MAX {
        answer.notes(&[format!("this is not all: the first {REPOS_MAX} of {total} repositories are listed")]);
    }
    if total == 0 {
        let what = match context.team {
            Some(_) => "the server has no repository yet: an admin adds one with `add_golden_repo`",
            None => "no repository is registered: `lore add PATH` registers one",
        };
        answer.notes(&[what.to_owned()]);
    }
    Ok(answer.done())
}

fn row(context: &Context, name: &str, found: &Found, fresh: Option<RepoFreshness>, commits: Option<u64>) -> Value {
    let repo = &found.repo;
    let mut branches = branches(found);
    let more = branches.len().saturating_sub(BRANCHES_MAX);
    branches.truncate(BRANCHES_MAX);
    let mut row = json!({
        "name": name,
        // Where a server keeps it is nobody's business.
        "path": context.team.is_none().then(|| repo.info.local_path.to_string_lossy()),
        "url": if let Source::Url(url) = &repo.info.source { Some(without_user(url)) } else { None },
        "default_branch": repo.info.default_branch,
        "branches": branches,
        "commit_count": commits,
        "last_synced_at": repo.sync.last_synced_at,
        "state": fresh.map(|fresh| fresh.state.as_str()),
    });
    if more > 0 {
        row["branches_left_out"] = more.into();
    }
    row
}

/// The branches whose history answers. On a team server that is the one which is asked about: what others have is theirs.
fn branches(found: &Found) -> Vec<String> {
    if let Some(shown) = &found.shown {
        return shown.on().map(str::to_owned).into_iter().collect();
    }
    let tips = &found.repo.sync.tips;
    let short = |name: &str| {
        let name = name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/remotes/")).unwrap_or(name);
        name.to_owned()
    };
    // HEAD is named where it is on none of the others.
    // The HEADs of linked worktrees are not branches.
    let tips: Vec<_> = tips.iter().filter(|tip| !tip.name.starts_with("worktrees/")).collect();
    let is_told = |name: &str, at| name != "HEAD" || !tips.iter().any(|tip| tip.name != "HEAD" && tip.commit == at);
    tips.iter().filter(|tip| is_told(&tip.name, tip.commit)).map(|tip| short(&tip.name)).collect()
}
