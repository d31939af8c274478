//! `get_all_repositories_status`: every repository in a line.

use lore_core::browse::Report;
use lore_model::{Activation, Caller, Code, Failure, Permission, Repo};
use lore_team::{Standing, Team};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{Members, REPOS_MAX, health, repositories, run, time, url},
    schema,
    scope::{self, Composite},
};

pub(super) static TOOL: Tool = Tool {
    name: "get_all_repositories_status",
    title: "Status of all repositories",
    toolset: Toolset::Insight,
    about: "Get status summary of all repositories: how fresh each is, how much of it is indexed, and what is wrong. On a server each of your aliases is told, also one that cannot be asked.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, status),
};

#[derive(Deserialize, JsonSchema)]
struct Input {}

fn status(context: &Context, _: &Input) -> Result<Answer, Failure> {
    if let Some((team, caller)) = context.team()? {
        return on_server(context, team, caller);
    }
    let mut found = scope::search(context, None).map_or_else(
        |failure| if failure.code == Code::RepoNotFound { Ok(Vec::new()) } else { Err(failure) },
        |searched| Ok(searched.repos),
    )?;
    let total = found.len();
    found.truncate(REPOS_MAX);
    let reports = context.lore.report(found.iter().map(|one| one.repo.clone()).collect())?;
    let rows =
        reports.iter().zip(&found).map(|(report, found)| row(context, report, &found.alias, "activated")).collect();
    Ok(repositories(rows, total))
}

/// Every name of the caller's has one row, also where its repositories cannot be asked.
fn on_server(context: &Context, team: &Team, caller: &Caller) -> Result<Answer, Failure> {
    let mut standings = team.each_visible(caller)?;
    let total = standings.len();
    let mut asked = 0;
    let shown = standings.iter().take_while(|one| {
        asked += one.repos.len();
        asked <= REPOS_MAX
    });
    standings.truncate(shown.count().max(1));
    let all = standings.iter().flat_map(|one| &one.repos);
    let repos: Vec<Repo> = all.filter_map(|(_, shown)| Some(shown.as_ref().ok()?.repo.clone())).collect();
    let mut reports = context.lore.report(repos)?.into_iter();
    let mut rows = Vec::new();
    for Standing { alias, activation, repos } in standings {
        let status = if activation.is_some() { "activated" } else { "not_activated" };
        let composite = activation.filter(|own| own.composite);
        let mut members = Members::default();
        for (golden, shown) in repos {
            let name = if composite.is_some() { &golden } else { &alias };
            let mut told = match shown {
                Ok(_) => {
                    let Some(report) = reports.next() else { continue };
                    let told = row(context, &report, name.as_str(), status);
                    members.reports.push(report);
                    told
                }
                Err(failure) => {
                    let why = context.told(&failure.message);
                    json!({
                        "alias": name.as_str(),
                        "activation_status": status,
                        "error": why,
                        "health": {"score": 0, "issues": [why]},
                    })
                }
            };
            told["golden_repo_alias"] = golden.as_str().into();
            members.told.push(told);
        }
        match composite {
            Some(activation) => rows.push(composite_row(activation, members)),
            None => rows.extend(members.told),
        }
    }
    Ok(repositories(rows, total))
}

/// What the repositories of a composite have together, and each of them.
fn composite_row(activation: Activation, members: Members) -> Value {
    let mut row = Composite { activation, members: Vec::new(), notes: Vec::new() }.head("alias");
    row.insert("activation_status".to_owned(), "activated".into());
    for counted in ["commit_count", "file_count", "index_size"] {
        row.insert(counted.to_owned(), members.sum(&format!("/{counted}")));
    }
    row.insert("last_updated".to_owned(), members.updated_at());
    row.insert("health".to_owned(), members.health("alias"));
    row.insert("members".to_owned(), members.told.into());
    Value::Object(row)
}

fn row(context: &Context, report: &Report, alias: &str, activation_status: &str) -> Value {
    let (score, issues) = health(context, report);
    let code = report.code.as_ref().ok();
    let snapshot = code.and_then(|code| code.snapshot.as_ref());
    json!({
        "alias": alias,
        "repo_url": url(&report.repo),
        "activation_status": activation_status,
        "history_state": report.history.state.as_str(),
        "code_state": code.map(|code| code.freshness.state.as_str()),
        "commit_count": report.commits,
        "file_count": snapshot.map_or(0, |snapshot| snapshot.files),
        "index_size": report.index_bytes,
        "last_updated": time(report.updated_at()),
        "health": {"score": score, "issues": issues},
    })
}
