//! A repository with 200,000 files: indexed in bounded memory, and one changed file is one changed file.

use std::{fmt::Write as _, time::Duration};

use anyhow::Result;
use lore_testkit::{Git, Repo, dump};
use serde_json::json;

use crate::abuse::{
    Bench, Outcome,
    trial::{Trial, megabytes, peak_of, seconds},
};

const FILES: usize = 200_000;

/// No process may take more, git included.
const MEMORY: u64 = 2_000_000_000;

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let mut trial = Trial::new(bench)?.bound_memory(MEMORY);
    let repo = Repo::init(trial.path("huge"));
    let mut stream = String::from("commit refs/heads/main\ncommitter A <a@b> 1600000000 +0000\ndata 6\nBegin\n\n");
    for at in 0..FILES {
        let content =
            format!("/// Does number {at}.\npub fn function_{at}() -> usize {{\n    {at} * {}\n}}\n", at % 17);
        write!(
            stream,
            "M 100644 inline src/d{}/e{}/f{at}.rs\ndata {}\n{content}\n",
            at % 97,
            at % 1009,
            content.len()
        )?;
    }
    stream.push_str("done\n");
    let git = Git::at(repo.path());
    git.feed(&["fast-import", "--quiet", "--done"], stream.as_bytes())?;
    drop(stream);
    repo.git(&["reset", "--quiet", "--hard", "main"]);
    let path = repo.path().to_string_lossy().into_owned();
    let added = trial.ok(&["add", &path, "--name", "huge"])?;
    trial.tell(format!("indexed in {} ({})", seconds(added.cost.wall), megabytes(added.cost.peak_bytes)));
    let status = trial.json(&["status"])?;
    let files = &status["repos"][0]["code"]["files"];
    trial.check(*files == FILES, || format!("{files} files are indexed"));
    for args in [
        &["search", "--no-sync", "--repo", "huge", "function_123456"][..],
        &["search", "--repo", "huge", "function_123456"],
        &["search", "--no-sync", "--repo", "huge", "--literal", "function_199999("],
        &["search", "--no-sync", "--repo", "huge", "--regex", "function_1999[0-9]+"],
        &["touches", "--no-sync", "f77777.rs"],
        &["log", "--no-sync", "begin"],
        &["status"],
    ] {
        let ran = trial.ok(args)?;
        trial.tell(format!("{} {}", args[..args.len().min(4)].join(" "), seconds(ran.cost.wall)));
        if args.contains(&"function_123456") {
            let found = String::from_utf8_lossy(&ran.stdout).contains("f123456.rs");
            trial.check(found, || format!("{args:?} does not find its file"));
        }
    }
    changed(&mut trial, &repo)?;
    // Grown step by step it is the same as read at once.
    let fresh = lore_testkit::Lore::new(&bench.lore);
    fresh.ok(&["add", &path, "--name", "huge", "--quiet"]);
    let grown = dump::contents(&trial.lore.home().join("lore.db"))?;
    let difference = dump::difference(&dump::contents(&fresh.home().join("lore.db"))?, &grown);
    trial.check(difference.is_none(), || format!("the index is not that of a fresh one: {difference:?}"));
    Ok(trial.end())
}

fn changed(trial: &mut Trial, repo: &Repo) -> Result<()> {
    repo.write("src/d0/e0/f0.rs", "pub fn uncommitted_change() {}\n")
        .write("new file.rs", "pub fn untracked_file() {}\n");
    for name in ["uncommitted_change", "untracked_file"] {
        let found = trial.run_in(repo.path(), &["search", name, "--json"])?;
        trial.tell(format!("uncommitted {}", seconds(found.cost.wall)));
        let shown = String::from_utf8_lossy(&found.stdout).into_owned();
        trial.check(shown.contains("\"uncommitted\":true") || shown.contains("\"uncommitted\": true"), || {
            format!("{name} is not found before it is committed")
        });
    }
    repo.commit("Change one file and add another");
    let synced = trial.ok(&["sync", "--repo", "huge"])?;
    trial.tell(format!("sync after one change {}", seconds(synced.cost.wall)));
    trial.check(synced.cost.wall < Duration::from_secs(30), || {
        format!("one changed file takes {} to sync", seconds(synced.cost.wall))
    });
    let nothing = trial.ok(&["sync", "--repo", "huge"])?;
    trial.tell(format!("sync of nothing {}", seconds(nothing.cost.wall)));
    let mut session = trial.serve(repo.path(), &[])?;
    trial.call(&mut session, "cortex_search", &json!({"query": "uncommitted_change"}))?;
    repo.write("src/d0/e0/f0.rs", "pub fn seen_by_the_watcher() {}\n");
    let mut found = false;
    for _ in 0..100 {
        let answer = trial.call(&mut session, "cortex_search", &json!({"query": "seen_by_the_watcher"}))?;
        found |= answer.to_string().contains("pub fn seen_by_the_watcher");
        if found {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(200));
    }
    trial.check(found, || "serve does not see a changed file".to_owned());
    let peak = peak_of(session.process_id()).unwrap_or(0);
    trial.tell(format!("serve {}", megabytes(peak)));
    trial.check(peak < MEMORY, || format!("serve takes {}", megabytes(peak)));
    session.end()?;
    repo.write("src/d0/e0/f0.rs", "pub fn uncommitted_change() {}\n");
    Ok(())
}
