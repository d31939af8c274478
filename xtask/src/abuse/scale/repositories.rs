//! A thousand registered repositories: every command answers, and none takes more than its share.

use std::time::{Duration, Instant};

use anyhow::Result;
use lore_testkit::Repo;
use serde_json::json;

use crate::abuse::{
    Bench, Outcome,
    trial::{Trial, seconds},
};

/// How many are registered, and at how many the first look is taken.
const MANY: usize = 1_000;
const FEWER: usize = 250;

/// What a command may take of the processor for four times as many repositories: a square would be sixteen. (Its time from
/// start to end says how busy the machine is.)
const GROWTH: u32 = 8;

/// Times below this say nothing.
const SHORT: Duration = Duration::from_millis(400);

const COMMANDS: &[(&str, &[&str])] = &[
    ("status", &["status"]),
    ("repos", &["repos"]),
    ("log", &["log", "--no-sync", "begin"]),
    ("touches", &["touches", "--no-sync", "lib"]),
    ("search", &["search", "--no-sync", "--all-repos", "function_7"]),
    ("lines", &["search", "--no-sync", "--all-repos", "--literal", "shared_word"]),
    ("sync", &["sync"]),
    ("doctor", &["doctor"]),
];

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let mut trial = Trial::new(bench)?;
    let mut before = Vec::new();
    for at in 0..MANY {
        let repo = Repo::init(trial.path(&format!("r{at}")));
        repo.write(
            "src/lib.rs",
            format!("pub fn function_{at}() -> usize {{\n    let shared_word = {at};\n    shared_word\n}}\n"),
        );
        repo.commit(&format!("Begin {at}"));
        let path = repo.path().to_string_lossy().into_owned();
        trial.ok(&["add", &path])?;
        if at + 1 == FEWER {
            before = measured(&mut trial, FEWER)?;
        }
    }
    let after = measured(&mut trial, MANY)?;
    for ((name, early), (_, late)) in before.iter().zip(&after) {
        trial.check(*late < SHORT || *late < *early * GROWTH, || {
            format!("{name} takes {} with {FEWER} repositories and {} with {MANY}", seconds(*early), seconds(*late))
        });
        trial.tell(format!("{name} {}", seconds(*late)));
    }
    let started = Instant::now();
    let mut session = trial.serve(&trial.path("r500"), &[])?;
    let up = started.elapsed();
    trial.tell(format!("serve answers after {}", seconds(up)));
    trial.check(up < Duration::from_secs(5), || format!("serve takes {} to begin", seconds(up)));
    let answer = trial.call(&mut session, "cortex_search", &json!({"query": "function_500"}))?;
    trial.check(answer.to_string().contains("function_500"), || "serve does not find its project's code".to_owned());
    let found = trial.call(&mut session, "commitmux_search", &json!({"query": "begin", "limit": 500}))?;
    trial.check(found.to_string().contains("Begin"), || "serve finds no history".to_owned());
    session.end()?;
    Ok(trial.end())
}

/// Runs every command, and looks whether it knows all repositories.
fn measured(trial: &mut Trial, known: usize) -> Result<Vec<(&'static str, Duration)>> {
    let mut times = Vec::new();
    for (name, args) in COMMANDS {
        times.push((*name, trial.ok(args)?.cost.cpu));
    }
    let repos = trial.json(&["repos"])?;
    let counted = repos["repos"].as_array().map_or(0, Vec::len);
    trial.check(counted == known, || format!("{counted} of {known} repositories are known"));
    for at in [0, known / 2, known - 1] {
        let name = format!("function_{at}");
        let found = trial.json(&["search", "--no-sync", "--all-repos", &name])?;
        trial.check(found["results"][0]["name"] == *name, || format!("{name} is not what is found first"));
    }
    Ok(times)
}
