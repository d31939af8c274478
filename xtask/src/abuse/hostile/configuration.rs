//! Repositories whose configuration, attributes and hooks run programs: nothing that Lore does runs one.
//!
//! Every command meets a repository with everything at once, and one for each key alone, so that no key keeps another from
//! being asked.

use anyhow::{Context as _, Result};
use lore_testkit::{
    Git, TeamServer,
    odd::{COMMAND_KEYS, Hostile, hostile, hostile_by},
};
use serde_json::json;

use crate::abuse::{Bench, Outcome, trial::Trial};

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let mut trial = Trial::new(bench)?;
    let all = hostile(&trial.path("all"))?;
    meet(&mut trial, &all, "everything", COMMANDS)?;
    serve(&mut trial, &all)?;
    team(&mut trial, bench)?;
    for key in COMMAND_KEYS {
        let one = hostile_by(key, &trial.path(key))?;
        meet(&mut trial, &one, key, COMMANDS)?;
    }
    // The trap is a trap: git itself walks into it.
    Git::at(&all.path).bytes(&["show", "--ext-diff", "HEAD"]).context("git shows the commit")?;
    trial.check(all.canary.exists(), || "git itself ran nothing: the trap does not work".to_owned());
    trial.tell(format!("{} keys alone and all at once, {} commands each", COMMAND_KEYS.len(), COMMANDS.len()));
    Ok(trial.end())
}

/// What is asked of each repository, in this order; `SHA` and `PATH` stand for its newest commit and its folder.
const COMMANDS: &[&[&str]] = &[
    &["add", "PATH", "--name", "trap", "--all-branches"],
    &["sync"],
    &["sync", "--retry-missing", "--temporal"],
    &["repos"],
    &["status", "--left-out"],
    &["search", "two"],
    &["search", "--literal", "two", "--repo", "."],
    &["search", "two", "--evolution", "--removed"],
    &["search", "two", "--at", "HEAD~1"],
    &["log", "commit", "--path", "src", "--author", "a"],
    &["touches", "src"],
    &["show", "trap", "SHA"],
    &["show", ".", "SHA"],
    &["patch", "trap", "SHA"],
    &["why", "src/b.txt:1"],
    &["why", "src/b.txt"],
    &["related", "src/b.txt:1"],
    &["commands", "list"],
    &["commands", "check"],
    &["comment", "--file", "src/b.txt", "--line", "1", "What", "is", "this?"],
    &["comments", "list"],
    &["comments", "search", "what"],
    &["export", "chunks", "OUT"],
    &["reindex"],
    &["doctor", "--deep"],
    &["tools", "--cost"],
    &["setup", "cursor", "--project", "--print"],
    &["setup", "claude-code", "--project", "--print"],
    &["config", "show"],
    &["model", "list"],
    &["import", "commitmux", "--db", "PATH"],
    &["remove", "trap"],
    &["log", "commit"],
    &["search", "one"],
    &["add", "file://PATH", "--name", "clone"],
    &["sync", "--repo", "clone"],
    &["remove", "clone"],
];

fn meet(trial: &mut Trial, trap: &Hostile, name: &str, commands: &[&[&str]]) -> Result<()> {
    let newest = trap.commits.last().context("it has commits")?;
    let path = trap.path.to_str().context("its path is UTF-8")?;
    let out = trial.path("exported");
    // Something uncommitted as well: a look at the work tree is where filters and monitors are asked.
    std::fs::write(trap.path.join("src/b.txt"), "three\n")?;
    for command in commands {
        let args: Vec<String> = command
            .iter()
            .map(|word| word.replace("SHA", newest).replace("PATH", path).replace("OUT", &out.to_string_lossy()))
            .collect();
        trial.run_in(&trap.path, &args)?;
        unharmed(trial, trap, name, &command.join(" "));
    }
    for repo in ["repo", "trap", "clone"] {
        trial.run(&["remove", repo])?;
    }
    Ok(())
}

fn unharmed(trial: &mut Trial, trap: &Hostile, name: &str, what: &str) {
    let ran = std::fs::read_to_string(&trap.canary).unwrap_or_default();
    trial.check(ran.is_empty(), || format!("{name}: `{what}` ran {ran}"));
    if !ran.is_empty() && std::fs::remove_file(&trap.canary).is_err() {
        trial.fault(&format!("{name}: the canary cannot be removed"));
    }
}

/// Every tool of an agent that is about a repository.
fn serve(trial: &mut Trial, trap: &Hostile) -> Result<()> {
    trial.run_in(&trap.path, &["sync", "--repo", "."])?;
    let mut session =
        trial.serve(&trap.path, &["--toolsets", "history,context,why,messages,commands,code,repos,insight"])?;
    let newest = trap.commits.last().context("it has commits")?;
    let repo = json!({"repository_alias": "repo"});
    for (tool, arguments) in [
        ("commitmux_search", json!({"query": "commit"})),
        ("commitmux_touches", json!({"path_glob": "src"})),
        ("commitmux_get_commit", json!({"repo": "repo", "sha": newest})),
        ("commitmux_get_patch", json!({"repo": "repo", "sha": newest})),
        ("cortex_search", json!({"query": "two"})),
        ("explain_lines", json!({"file": "src/b.txt", "lines": "1"})),
        ("co_changed", json!({"files": ["src/b.txt"]})),
        ("find_related", json!({"file": "src/b.txt", "line": 1})),
        ("was_tried", json!({"text": "two"})),
        ("search_code", json!({"query_text": "two", "search_mode": "fts"})),
        ("search_code", json!({"query_text": "two", "show_evolution": true, "time_range_all": true})),
        ("list_files", repo.clone()),
        ("browse_directory", repo.clone()),
        ("get_file_content", json!({"repository_alias": "repo", "file_path": "src/b.txt"})),
        ("get_branches", repo.clone()),
        ("get_repository_statistics", repo.clone()),
        ("get_repository_status", json!({"user_alias": "repo"})),
        ("list_repositories", json!({})),
        ("discover_repositories", json!({})),
        ("check_lazygit_messages", json!({})),
        ("check_health", json!({})),
    ] {
        trial.call(&mut session, tool, &arguments)?;
        unharmed(trial, trap, "serve", tool);
    }
    std::fs::write(trap.path.join("src/new.txt"), "new\n")?;
    trial.call(&mut session, "cortex_search", &json!({"query": "new"}))?;
    let ended = session.end()?;
    trial.check(ended.status.success(), || format!("serve ended with {}: {}", ended.status, ended.log));
    unharmed(trial, trap, "serve", "the end");
    trial.run_in(&trap.path, &["remove", "."])?;
    Ok(())
}

/// A team server that clones the repository, and a bridge to it.
fn team(trial: &mut Trial, bench: &Bench) -> Result<()> {
    let server = TeamServer::start(&bench.lore);
    let trap = hostile(&server.repos().join("trap"))?;
    let url = format!("file://{}", trap.path.display());
    let data = server.data();
    let data = data.to_str().context("UTF-8")?;
    trial.run(&["golden", "add", &url, "trap", "--data", data])?;
    trial.run(&["golden", "list", "--data", data])?;
    trial.run(&["golden", "refresh", "trap", "--data", data])?;
    trial.run(&["jobs", "list", "--data", data])?;
    unharmed(trial, &trap, "a team server", "golden add");
    drop(server);
    Ok(())
}
