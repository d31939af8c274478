//! `lore repos`: what is registered.

use lore_model::{BranchChoice, DEFAULT_EXCLUDES, Failure, Repo, RepoName, Source};
use serde_json::{Value, json};

use super::Context;
use crate::ui::{BOLD, DIM, one_line};

/// List the registered repositories
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(super) fn run(context: &Context<'_>, Args {}: Args) -> Result<(), Failure> {
    let repos = context.lore.history.repos()?;
    if context.ui.is_json() {
        return context.ui.value(&json!({"repos": repos.iter().map(repo_json).collect::<Vec<_>>()}));
    }
    if repos.is_empty() {
        return context.ui.line("no repository is registered; `lore add PATH` registers one");
    }
    let width = repos.iter().map(|repo| repo.name().chars().count()).max().unwrap_or(0);
    for repo in &repos {
        let name = context.ui.paint(BOLD, &format!("{:width$}", repo.name()));
        let place = match &repo.info.source {
            Source::Local => one_line(&repo.info.local_path.to_string_lossy()),
            Source::Url(url) => one_line(url),
        };
        context.ui.line(&format!("{name}  {:>8} commits  {place}", repo.sync.commit_count))?;
        let details = details(repo);
        if !details.is_empty() {
            context.ui.line(&context.ui.paint(DIM, &format!("{:width$}  {}", "", details.join("; "))))?;
        }
    }
    Ok(())
}

/// What differs from the defaults.
fn details(repo: &Repo) -> Vec<String> {
    let info = &repo.info;
    let mut details = Vec::new();
    if !repo.aliases.is_empty() {
        let aliases: Vec<&str> = repo.aliases.iter().map(RepoName::as_str).collect();
        details.push(format!("also called {}", aliases.join(", ")));
    }
    match &info.branches {
        BranchChoice::Default => {}
        BranchChoice::All => details.push("all branches".to_owned()),
        BranchChoice::Named(names) => details.push(format!("branches {}", names.join(", "))),
        BranchChoice::DefaultAnd(names) => {
            details.push(format!("the default branch and {}", names.join(", ")));
        }
    }
    if info.excludes.iter().map(String::as_str).ne(DEFAULT_EXCLUDES) {
        let list = if info.excludes.is_empty() { "nothing".to_owned() } else { info.excludes.join(", ") };
        details.push(format!("leaves out {list}"));
    }
    details.extend(info.author_filter.as_ref().map(|author| format!("only authors that match `{author}`")));
    details.extend(info.fork_of.as_ref().map(|fork| format!("fork of {fork}")));
    details
}

fn repo_json(repo: &Repo) -> Value {
    let info = &repo.info;
    json!({
        "name": repo.name(),
        "aliases": repo.aliases.iter().map(RepoName::as_str).collect::<Vec<_>>(),
        "path": info.local_path.to_string_lossy(),
        "url": if let Source::Url(url) = &info.source { Some(url) } else { None },
        "default_branch": info.default_branch,
        "branches": match &info.branches {
            BranchChoice::Default => json!("default"),
            BranchChoice::All => json!("all"),
            BranchChoice::Named(names) => json!(names),
            BranchChoice::DefaultAnd(names) => json!({"default_and": names}),
        },
        "excludes": info.excludes,
        "author": info.author_filter,
        "fork_of": info.fork_of,
        "commits": repo.sync.commit_count,
        "last_synced_at": repo.sync.last_synced_at,
    })
}
