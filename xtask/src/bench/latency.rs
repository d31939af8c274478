//! What an agent waits for: answers over standard input and output, and the first one after the start.

use std::time::{Duration, Instant};

pub(crate) use super::times::Times;
use anyhow::{Context as _, Result, ensure};
pub(crate) use lore_testkit::Words;
use lore_testkit::{Lore, Random, Session};
use serde_json::{Value, json};

/// Calls that are timed.
const CALLS: usize = 300;
/// The same questions on every machine and day.
const SEED: u64 = 20_240_229;

/// How long answers took.
#[derive(Debug, Default)]
pub(crate) struct Latency {
    pub(crate) search: Times,
    pub(crate) touches: Times,
    /// Answers with at least one result.
    pub(crate) with_results: usize,
    /// Answers that were failures.
    pub(crate) failures: usize,
}

/// A question: every fifth is about a path, every fifth of the others about words below a path.
fn question(words: &Words, number: usize, random: &mut Random) -> (&'static str, Value) {
    if number % 5 == 4 {
        return ("commitmux_touches", json!({"path_glob": words.folder(random)}));
    }
    let mut asked = json!({"query": words.some(random)});
    if number % 5 == 3 {
        asked["paths"] = json!([words.folder(random)]);
    }
    ("commitmux_search", asked)
}

/// Times many questions to one server.
pub(crate) fn answers(lore: &Lore, words: &Words) -> Result<Latency> {
    let mut session = Session::start(lore.command(&["serve", "--no-refresh"]))?;
    session.initialize()?;
    let mut random = Random::new(SEED);
    let (mut search, mut touches) = (Vec::new(), Vec::new());
    let mut latency = Latency::default();
    for number in 0..CALLS {
        let (tool, asked) = question(words, number, &mut random);
        let started = Instant::now();
        let answer = session.call(tool, &asked)?;
        let took = started.elapsed();
        if tool == "commitmux_touches" {
            touches.push(took);
        } else {
            search.push(took);
        }
        match answer.value() {
            Err(_) => latency.failures += 1,
            Ok(value) => latency.with_results += usize::from(value.as_array().is_some_and(|rows| !rows.is_empty())),
        }
    }
    let ended = session.end()?;
    ensure!(ended.status.success(), "lore serve ended with {}: {}", ended.status, ended.log);
    latency.search = Times::new(search);
    latency.touches = Times::new(touches);
    Ok(latency)
}

/// Times the way from the start of a process to its first answer.
pub(crate) fn first_answers(lore: &Lore, words: &Words, runs: usize) -> Result<Times> {
    let mut random = Random::new(SEED);
    let times: Result<Vec<Duration>> = (0..runs)
        .map(|_| {
            let asked = json!({"query": words.word(&mut random)});
            let started = Instant::now();
            let mut session = Session::start(lore.command(&["serve", "--no-refresh"]))?;
            session.initialize()?;
            let answer = session.call("commitmux_search", &asked)?;
            let took = started.elapsed();
            answer.value().context("the first answer is a failure")?;
            session.end()?;
            Ok(took)
        })
        .collect();
    times.map(Times::new)
}
