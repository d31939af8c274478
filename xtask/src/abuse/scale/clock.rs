//! Clocks that go backwards, stand in 1970 or in the far future; and commits with such dates.

use std::{path::Path, process::Stdio};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::{Git, Lore, Repo, TeamServer, dump};
use serde_json::{Value, json};

use crate::{
    abuse::{
        Bench, Outcome,
        trial::{Trial, clipped},
    },
    program::program,
};

/// Dates of commits, in seconds since 1970.
const DATES: &[(&str, &str)] = &[
    ("1970", "0 +0000"),
    ("a second", "1 +0000"),
    ("2038", "2147483648 +0000"),
    ("2106", "4294967296 +0000"),
    ("the year 9999", "253402300799 +0000"),
    ("the year 292277026596", "9223372036854775807 +0000"),
    ("an impossible zone", "1600000000 +9999"),
    ("before 1970", "-86400 +0000"),
];

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let mut trial = Trial::new(bench)?;
    commits(&mut trial)?;
    ensure!(
        program("faketime").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success()),
        "`faketime` sets the clock: install it"
    );
    backwards(&mut trial, bench)?;
    messages(&mut trial)?;
    team(&mut trial, bench)?;
    Ok(trial.end())
}

/// Commits in any order of dates: all are read, and questions about time answer.
fn commits(trial: &mut Trial) -> Result<()> {
    let repo = Repo::init(trial.path("dates"));
    repo.write("a.rs", "pub fn a() {}\n").commit("Begin");
    for (number, (name, date)) in DATES.iter().enumerate() {
        repo.write("a.rs", format!("pub fn a{number}() {{}}\n"));
        repo.git(&["add", "--all"]);
        let (tree, parent) = (repo.git(&["write-tree"]), repo.git(&["rev-parse", "HEAD"]));
        let object =
            format!("tree {tree}\nparent {parent}\nauthor A <a@b> {date}\ncommitter A <a@b> {date}\n\nDated {name}\n");
        let args = ["hash-object", "-t", "commit", "-w", "--stdin", "--literally"];
        let id = String::from_utf8(Git::at(repo.path()).feed(&args, object.as_bytes())?)?.trim().to_owned();
        repo.git(&["reset", "--quiet", "--soft", &id]);
    }
    let path = repo.path().to_string_lossy().into_owned();
    trial.ok(&["add", &path, "--name", "dates"])?;
    trial.ok(&["sync", "--temporal"])?;
    let all = trial.json(&["log", "dated"])?;
    let found = all["results"].as_array().map_or(0, Vec::len);
    trial.check(found == DATES.len(), || format!("{found} of {} commits are found", DATES.len()));
    for when in
        ["1970-01-01", "1969-12-31", "2w", "100y", "9999-12-31", "0001-01-01", "99999999y", "-1d", "2038-01-19", "now"]
    {
        let dashed = format!("--since={when}");
        trial.run_in(repo.path(), &["log", "dated", &dashed])?;
        trial.run_in(repo.path(), &["log", "dated", &dashed.replace("since", "until")])?;
        trial.run_in(repo.path(), &["touches", "a.rs", &dashed])?;
        trial.run_in(repo.path(), &["search", "a", &dashed])?;
        trial.run_in(repo.path(), &["search", "a", &dashed.replace("since", "until")])?;
    }
    trial.run_in(repo.path(), &["why", "a.rs:1"])?;
    trial.run_in(repo.path(), &["search", "a", "--evolution", "--removed"])?;
    for id in repo.git(&["rev-list", "HEAD"]).lines() {
        trial.run(&["show", "dates", id])?;
    }
    trial.ok(&["remove", "dates"])?;
    trial.tell(format!("{} dates of commits", DATES.len()));
    Ok(())
}

/// Syncs with a clock that jumps: the index is that of a clock which does not.
fn backwards(trial: &mut Trial, bench: &Bench) -> Result<()> {
    let repo = Repo::init(trial.path("jumps"));
    repo.write("a.rs", "pub fn first() {}\n").commit("Begin");
    let path = repo.path().to_string_lossy().into_owned();
    trial.ok(&["add", &path, "--name", "jumps"])?;
    let clocks = [
        "2040-01-01 00:00:00",
        "2001-01-01 00:00:00",
        "1980-01-01 00:00:00",
        "2037-12-31 23:59:59",
        "1970-01-02 00:00:00",
    ];
    for (number, clock) in clocks.iter().enumerate() {
        repo.write(format!("b{number}.rs"), format!("pub fn at_clock_{number}() {{}}\n"))
            .commit(&format!("Clock {number}"));
        repo.write("a.rs", format!("pub fn uncommitted_{number}() {{}}\n"));
        for args in [
            &["sync"][..],
            &["status"],
            &["search", &format!("at_clock_{number}")],
            &["search", &format!("uncommitted_{number}")],
            &["log", "clock", "--since", "2w"],
            &["touches", "b"],
            &["doctor"],
            &["why", "b0.rs:1"],
        ] {
            let output = at(&trial.lore, clock, repo.path(), args)?;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let fine = output.status.success() || args[0] == "doctor";
            trial.check(fine && !said.contains("panicked"), || format!("at {clock} {args:?}: {}", clipped(&said, 300)));
            let word = args.last().copied().unwrap_or_default();
            let shown = String::from_utf8_lossy(&output.stdout).into_owned();
            trial.check(args[0] != "search" || shown.contains(word), || format!("at {clock} {args:?} finds nothing"));
        }
    }
    repo.git(&["checkout", "--quiet", "--", "a.rs"]);
    let synced = trial.json(&["sync"])?;
    trial.check(synced["repos"][0]["commits"] == clocks.len() + 1, || format!("after the jumps: {synced}"));
    let fresh = Lore::new(&bench.lore);
    fresh.ok(&["add", &path, "--name", "jumps", "--quiet"]);
    let expected = dump::contents(&fresh.home().join("lore.db"))?;
    let difference = dump::difference(&expected, &dump::contents(&trial.lore.home().join("lore.db"))?);
    trial.check(difference.is_none(), || format!("after the jumps the index differs: {difference:?}"));
    trial.tell(format!("{} jumps of the clock", clocks.len()));
    Ok(())
}

/// What reviewers say while the clock jumps is delivered once, in the order in which it was said.
fn messages(trial: &mut Trial) -> Result<()> {
    let project = trial.path("jumps");
    let clocks = ["2030-01-01 00:00:00", "2020-01-01 00:00:00", "2025-01-01 00:00:00", "1975-01-01 00:00:00"];
    for (number, clock) in clocks.iter().enumerate() {
        let text = format!("said-{number}");
        let output = at(&trial.lore, clock, &project, &["comment", "--file", "a.rs", "--line", "1", &text])?;
        trial.check(output.status.success(), || format!("at {clock}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let mut session = trial.serve(&project, &["--toolsets", "messages"])?;
    let answer = trial.call(&mut session, "check_lazygit_messages", &json!({}))?.to_string();
    let places: Vec<Option<usize>> = (0..clocks.len()).map(|number| answer.find(&format!("said-{number}"))).collect();
    trial.check(places.iter().all(Option::is_some) && places.is_sorted(), || {
        format!("delivered as {places:?}: {answer}")
    });
    let again = trial.call(&mut session, "check_lazygit_messages", &json!({}))?.to_string();
    trial.check(!again.contains("said-"), || format!("delivered twice: {again}"));
    session.end()?;
    Ok(())
}

/// Runs the program at another time.
fn at(lore: &Lore, clock: &str, folder: &Path, args: &[&str]) -> Result<std::process::Output> {
    let inner = lore.command(args);
    let mut command = program("faketime");
    command.args(["-f", &format!("@{clock}")]).arg(inner.get_program()).args(inner.get_args()).current_dir(folder);
    for (key, value) in inner.get_envs() {
        if let Some(value) = value {
            command.env(key, value);
        }
    }
    command.output().context("cannot start faketime")
}

/// A team server whose clock goes back: tokens, logins and jobs are still good, and schedules go on.
fn team(trial: &mut Trial, bench: &Bench) -> Result<()> {
    let mut server = TeamServer::start(&bench.lore);
    server.add_user("ada", "admin");
    let repo = server.repo("api");
    repo.write("a.rs", "pub fn kept_by_the_team() {}\n").commit("Begin");
    server.add_golden("ada", &repo, "api", &json!({"refresh_every": 3600}));
    let data = server.data();
    let data = data.to_str().context("UTF-8")?.to_owned();
    server.kill();
    for clock in ["2020-01-01 00:00:00", "1999-01-01 00:00:00", "2036-01-01 00:00:00"] {
        // Commands beside a stopped server do its jobs: the schedule must neither run for ever nor never again.
        for args in [
            &["golden", "list", "--data", &data][..],
            &["jobs", "list", "--data", &data],
            &["users", "list", "--data", &data],
            &["golden", "refresh", "api", "--data", &data],
        ] {
            let output = at(server.lore(), clock, Path::new("/"), args)?;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            trial.check(output.status.success() && !said.contains("panicked"), || {
                format!("at {clock} {args:?}: {}", clipped(&said, 300))
            });
        }
    }
    server.restart();
    let answer: Value = server.call("ada", "search_code", &json!({"query_text": "kept_by_the_team"}));
    trial.check(answer.to_string().contains("kept_by_the_team"), || format!("the server forgot: {answer}"));
    repo.write("b.rs", "pub fn after_the_jumps() {}\n").commit("Go on");
    let asked = server.ask("ada", "refresh_golden_repo", &json!({"alias": "api"}));
    server.done("ada", &asked);
    trial.tell("a team server at three other times");
    Ok(())
}
