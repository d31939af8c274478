//! The load: users who ask at times that do not depend on the answers, and admins who refresh repositories without a pause.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use lore_testkit::{
    Random, Repo,
    team::{Client, Fault, add_commit, pause},
};
use serde_json::Value;

use super::questions::{KINDS, Material};

/// A user and what they have.
pub(super) struct User {
    pub(super) token: String,
    /// What they ask about: an alias of their own, and whose material questions are made of.
    pub(super) alias: String,
    pub(super) material: usize,
}

/// What users measured, by kind of question.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) times: BTreeMap<usize, Vec<Duration>>,
    /// Faults by kind of question and of fault.
    pub(super) faults: BTreeMap<(usize, String), usize>,
    /// Questions that were due and never sent before the end.
    pub(super) unsent: usize,
}

impl Measured {
    pub(super) fn add(&mut self, other: Self) {
        for (kind, times) in other.times {
            self.times.entry(kind).or_default().extend(times);
        }
        for (fault, count) in other.faults {
            *self.faults.entry(fault).or_default() += count;
        }
        self.unsent += other.unsent;
    }
}

/// When and how often users ask.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) address: SocketAddr,
    pub(super) start: Instant,
    pub(super) time: Duration,
    /// Questions of a user in a second.
    pub(super) rate: f64,
}

/// One user until the end. A question that is due while the last one is not answered waits, and the wait counts.
pub(super) fn ask(plan: Plan, user: &User, materials: &[Material], mut random: Random) -> Measured {
    let mut client = Client::new(plan.address, Some(&user.token));
    let mut measured = Measured::default();
    let mut due = Duration::ZERO;
    loop {
        // Arrivals of many people who know nothing of each other.
        let chance = f64::from(u32::try_from(random.below(1 << 24)).unwrap_or(0) + 1) / f64::from(1 << 24);
        due += Duration::from_secs_f64(-chance.ln() / plan.rate);
        if due >= plan.time {
            return measured;
        }
        if plan.start.elapsed() >= plan.time + Duration::from_secs(30) {
            measured.unsent += 1;
            continue;
        }
        pause(due.saturating_sub(plan.start.elapsed()));
        let (kind, tool, asked) = materials[user.material].question(&user.alias, &mut random);
        let outcome = send(&mut client, tool, &asked);
        measured.times.entry(kind).or_default().push(plan.start.elapsed().saturating_sub(due));
        if let Err(fault) = outcome {
            let name = fault.kind();
            *measured.faults.entry((kind, name)).or_default() += 1;
        }
    }
}

pub(super) fn send(client: &mut Client, tool: &str, asked: &Value) -> Result<Value, Fault> {
    if tool == "tools/list" { client.mcp(tool, asked) } else { client.tool(tool, asked) }
}

/// How refreshes went.
#[derive(Default)]
pub(super) struct Refreshes {
    pub(super) times: Vec<Duration>,
    pub(super) failed: Vec<String>,
}

/// Adds commits to a repository and has the server fetch them, again and again until the end.
pub(super) fn refresh(plan: Plan, token: &str, alias: &str, repo: &Repo, done: &AtomicBool, seed: u64) -> Refreshes {
    let mut client = Client::new(plan.address, Some(token));
    let mut random = Random::new(seed);
    let mut all = Refreshes::default();
    for number in 0.. {
        if done.load(Ordering::Relaxed) {
            break;
        }
        add_commit(repo, number, &mut random);
        let started = Instant::now();
        match refresh_once(&mut client, alias, done) {
            Ok(Some(job)) if job["status"] == "completed" => all.times.push(started.elapsed()),
            // The end came first.
            Ok(None) => break,
            Ok(Some(job)) => all.failed.push(job["error"].to_string()),
            Err(fault) => {
                all.failed.push(fault.kind());
                pause(Duration::from_millis(200));
            }
        }
    }
    all
}

fn refresh_once(client: &mut Client, alias: &str, done: &AtomicBool) -> Result<Option<Value>, Fault> {
    let asked = client.rest("POST", &format!("/api/golden/{alias}/refresh"), None)?;
    let path = format!("/api/jobs/{}", asked["job_id"].as_str().unwrap_or_default());
    while !done.load(Ordering::Relaxed) {
        let job = client.rest("GET", &path, None)?["job"].take();
        if !matches!(job["status"].as_str(), Some("pending" | "running")) {
            return Ok(Some(job));
        }
        pause(Duration::from_millis(100));
    }
    Ok(None)
}

/// The name of a kind of question.
pub(super) fn kind_name(kind: usize) -> &'static str {
    KINDS[kind].0
}
