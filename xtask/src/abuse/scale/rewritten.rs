//! A repository that is rewritten, packed, emptied, moved and replaced while it is being read.
//!
//! Whatever a disturbed sync says, nothing crashes, and the next undisturbed one makes the index that a fresh one would be.

use std::{
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use lore_testkit::{Git, Lore, Random, Repo, dump};
use serde_json::json;

use crate::abuse::{
    Bench, Outcome,
    trial::{Trial, clipped},
};

/// How many commits the repository has, and how many rounds of each disturbance there are.
const COMMITS: usize = 300;

/// Something that is done to a repository, told which round it is.
type Disturb = fn(&Repo, usize) -> Result<()>;

/// What is done to the repository while it is read.
const DISTURBANCES: &[(&str, Disturb)] = &[
    ("a force-push and gc --prune=now", |repo, round| {
        repo.git(&["reset", "--quiet", "--hard", "HEAD~40"]);
        grow(repo, 40, round);
        repo.git(&["reflog", "expire", "--expire=now", "--all"]);
        repo.git(&["gc", "--quiet", "--prune=now"]);
        Ok(())
    }),
    ("repack", |repo, round| {
        grow(repo, 5, round);
        repo.git(&["repack", "-adfq"]);
        Ok(())
    }),
    ("branches that come and go", |repo, round| {
        for at in 0..10 {
            repo.git(&["branch", "--force", &format!("b{at}"), &format!("HEAD~{}", at + round)]);
        }
        repo.git(&["pack-refs", "--all"]);
        for at in 0..10 {
            repo.git(&["branch", "--quiet", "-D", &format!("b{at}")]);
        }
        Ok(())
    }),
    ("a folder that moves away and back", |repo, _| {
        let away = repo.path().with_extension("away");
        std::fs::rename(repo.path(), &away)?;
        std::thread::park_timeout(Duration::from_millis(60));
        Ok(std::fs::rename(&away, repo.path())?)
    }),
    ("a history that begins anew", |repo, round| {
        repo.git(&["checkout", "--quiet", "--orphan", &format!("anew{round}")]);
        repo.write("anew.rs", format!("pub fn anew_{round}() {{}}\n")).commit("Anew");
        repo.git(&["branch", "--quiet", "-M", "main"]);
        grow(repo, COMMITS, round);
        repo.git(&["reflog", "expire", "--expire=now", "--all"]);
        repo.git(&["gc", "--quiet", "--prune=now"]);
        Ok(())
    }),
    ("an object store that is replaced", |repo, round| {
        let clone = repo.path().with_extension("clone");
        Git::at(repo.path()).bytes(&["clone", "--quiet", "--bare", "--no-local", ".", &clone.to_string_lossy()])?;
        let (objects, old) = (repo.path().join(".git/objects"), repo.path().join(".git/old-objects"));
        std::fs::rename(&objects, &old)?;
        std::fs::rename(clone.join("objects"), &objects)?;
        std::fs::remove_dir_all(old)?;
        std::fs::remove_dir_all(clone)?;
        grow(repo, 3, round);
        Ok(())
    }),
    ("a folder that is deleted and made again", |repo, round| {
        let saved = repo.path().with_extension("saved");
        Git::at(repo.path()).bytes(&["clone", "--quiet", "--no-local", ".", &saved.to_string_lossy()])?;
        std::fs::remove_dir_all(repo.path())?;
        std::thread::park_timeout(Duration::from_millis(60));
        std::fs::rename(&saved, repo.path())?;
        repo.git(&["remote", "remove", "origin"]);
        grow(repo, 3, round);
        Ok(())
    }),
];

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let mut trial = Trial::new(bench)?;
    let repo = Repo::init(trial.path("moving"));
    repo.write("begin.rs", "pub fn begin() {}\n").commit("Begin");
    grow(&repo, COMMITS, 0);
    let path = repo.path().to_string_lossy().into_owned();
    trial.ok(&["add", &path, "--name", "moving", "--all-branches"])?;
    let mut random = Random::new(bench.seed);
    let rounds = (bench.points / 40).clamp(2, 20);
    let (mut failed, mut running) = (0, 0);
    for (name, disturb) in DISTURBANCES {
        for round in 1..=rounds {
            // A fresh index each time, or one that has read the repository before.
            if round % 2 == 1 {
                trial.run(&["remove", "moving"])?;
                trial.run(&["add", &path, "--name", "moving", "--all-branches", "--no-sync"])?;
            }
            let mut child = start(&trial.lore)?;
            std::thread::park_timeout(random.within(Duration::from_millis(400)));
            running += usize::from(child.try_wait()?.is_none());
            disturb(&repo, round)?;
            let output = child.wait_with_output()?;
            failed += usize::from(!output.status.success());
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let clean = output.status.code().is_some_and(|code| (0..10).contains(&code) && code != 1)
                && !said.contains("panicked");
            trial.check(clean, || format!("{name}: sync ended with {}: {}", output.status, clipped(&said, 300)));
            trial.ok(&["sync"])?;
            equals_fresh(&mut trial, bench, &path, name)?;
        }
    }
    trial.tell(format!(
        "{} disturbances x {rounds}: {running} came while sync ran, {failed} syncs said so",
        DISTURBANCES.len()
    ));
    served(&mut trial, &repo)?;
    equals_fresh(&mut trial, bench, &path, "serve")?;
    Ok(trial.end())
}

/// Adds commits, each with a file of its own.
fn grow(repo: &Repo, count: usize, round: usize) {
    use std::fmt::Write as _;
    let mut stream = String::from("feature done\n");
    let base = repo.git(&["rev-parse", "HEAD"]);
    for at in 0..count {
        let content = format!("pub fn function_{round}_{at}() -> usize {{ {at} }}\n");
        write!(
            stream,
            "commit refs/heads/main\ncommitter A <a@b> {} +0000\ndata 5\nGrow\n",
            1_700_000_000 + round * 1000 + at
        )
        .expect("writing to a string cannot fail");
        if at == 0 {
            writeln!(stream, "from {base}").expect("writing to a string cannot fail");
        }
        write!(stream, "M 100644 inline src/f{at}.rs\ndata {}\n{content}\n", content.len())
            .expect("writing to a string cannot fail");
    }
    stream.push_str("done\n");
    Git::at(repo.path())
        .feed(&["fast-import", "--quiet", "--force"], stream.as_bytes())
        .expect("git takes the commits");
    repo.git(&["reset", "--quiet", "--hard", "main"]);
}

fn start(lore: &Lore) -> Result<Child> {
    let mut command = lore.command(&["sync"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().context("cannot start lore")
}

fn equals_fresh(trial: &mut Trial, bench: &Bench, path: &str, name: &str) -> Result<()> {
    let fresh = Lore::new(&bench.lore);
    fresh.ok(&["add", path, "--name", "moving", "--all-branches", "--quiet"]);
    let expected = dump::contents(&fresh.home().join("lore.db"))?;
    let found = dump::contents(&trial.lore.home().join("lore.db"))?;
    let difference = dump::difference(&expected, &found);
    trial.check(difference.is_none(), || format!("after {name} the index is not that of a fresh one: {difference:?}"));
    Ok(())
}

/// The same under a server that keeps itself fresh and is asked all the time.
fn served(trial: &mut Trial, repo: &Repo) -> Result<()> {
    let mut session = trial.serve(repo.path(), &[])?;
    for (name, disturb) in DISTURBANCES {
        disturb(repo, 50)?;
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {
            for (tool, arguments) in [
                ("cortex_search", json!({"query": "function"})),
                ("commitmux_search", json!({"query": "grow"})),
                ("explain_lines", json!({"file": "src/f1.rs", "lines": "1"})),
            ] {
                let answer = trial.call(&mut session, tool, &arguments)?;
                trial.check(!answer.is_null(), || format!("{name}: {tool} does not answer"));
            }
        }
    }
    let word = "function_that_came_last";
    repo.write("src/last.rs", format!("pub fn {word}() {{}}\n")).commit("Come last");
    let mut found = false;
    for _ in 0..150 {
        let answer = trial.call(&mut session, "commitmux_search", &json!({"query": "\"come last\""}))?;
        found |= answer.to_string().contains("Come last");
        if found {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(200));
    }
    trial.check(found, || "serve does not come back to the repository".to_owned());
    let ended = session.end()?;
    trial.check(ended.status.success(), || format!("serve ended with {}: {}", ended.status, clipped(&ended.log, 300)));
    trial.ok(&["sync"])?;
    Ok(())
}
