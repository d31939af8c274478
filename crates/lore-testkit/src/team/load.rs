//! The load: users who ask at times that do not depend on the answers, and admins who refresh repositories without a pause.
//!
//! What is measured under load and what is killed under load is asked by the same hand: this one.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{
    Client, Fault, Running, add_commit, pause,
    questions::{KINDS, Material},
};
use crate::{Random, Repo};

/// The password of every user who is made here.
pub(super) const PASSWORD: &str = "a long password 1";
/// How long it may take until it is noticed that the load is over.
const NOTICE: Duration = Duration::from_millis(100);
/// A user who is further behind at the end sends no more.
const BEHIND: Duration = Duration::from_secs(30);

/// A user and what they have.
#[derive(Debug)]
pub struct User {
    /// Their name.
    pub name: String,
    /// A personal token.
    pub token: String,
    /// What they ask about: an alias of their own, or a golden repository.
    pub alias: String,
    /// Whose material questions are made of.
    pub material: usize,
}

/// What users measured, by kind of question.
#[derive(Debug, Default)]
pub struct Measured {
    /// How long answers took, from when the question was due.
    pub times: BTreeMap<usize, Vec<Duration>>,
    /// Faults by kind of question and of fault.
    pub faults: BTreeMap<(usize, String), usize>,
    /// Questions that were due and never sent before the end.
    pub unsent: usize,
}

impl Measured {
    /// Takes in what another user measured.
    pub fn add(&mut self, other: Self) {
        for (kind, times) in other.times {
            self.times.entry(kind).or_default().extend(times);
        }
        for (fault, count) in other.faults {
            *self.faults.entry(fault).or_default() += count;
        }
        self.unsent += other.unsent;
    }

    /// How many questions were sent.
    pub fn asked(&self) -> usize {
        self.times.values().map(Vec::len).sum()
    }

    /// How many questions got no good answer, or were never sent.
    pub fn errors(&self) -> usize {
        self.faults.values().sum::<usize>() + self.unsent
    }
}

/// When and how often users ask.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Where the server listens.
    pub address: SocketAddr,
    /// When it began.
    pub start: Instant,
    /// For how long.
    pub time: Duration,
    /// Questions of a user in a second.
    pub rate: f64,
}

/// One user until the end, or until it is over before. A question that is due while the last one is not answered waits, and
/// the wait counts.
pub fn ask(plan: Plan, user: &User, materials: &[Material], mut random: Random, over: &AtomicBool) -> Measured {
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
        if plan.start.elapsed() >= plan.time + BEHIND {
            measured.unsent += 1;
            continue;
        }
        wait_until(plan.start + due, over);
        if over.load(Ordering::Relaxed) {
            return measured;
        }
        let (kind, tool, asked) = materials[user.material].question(&user.alias, &mut random);
        let outcome = send(&mut client, tool, &asked);
        let took = plan.start.elapsed().saturating_sub(due);
        match outcome {
            // Whoever ended it may have ended the server first.
            Err(Fault::Lost(_)) if over.load(Ordering::Relaxed) => return measured,
            Err(fault) => *measured.faults.entry((kind, fault.kind())).or_default() += 1,
            Ok(_) => {}
        }
        measured.times.entry(kind).or_default().push(took);
    }
}

/// Waits for a moment, or until it is over.
fn wait_until(moment: Instant, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        pause(left.min(NOTICE));
    }
}

/// Sends a question. An answer for which the time was too short is a fault: it leaves out what somebody asked for.
pub fn send(client: &mut Client, tool: &str, asked: &Value) -> Result<Value, Fault> {
    if tool == "tools/list" {
        return client.mcp(tool, asked);
    }
    whole(client.tool(tool, asked)?)
}

fn whole(answer: Value) -> Result<Value, Fault> {
    if answer.pointer("/results/query_metadata/timeout_occurred") == Some(&json!(true)) {
        return Err(Fault::Failed("not everything was searched in time".to_owned()));
    }
    Ok(answer)
}

/// Makes users. Of four, one has a branch of their own and one a composite of all materials and `beside`; the others ask the
/// golden repositories.
pub fn let_in(
    running: &Running,
    admin: &mut Client,
    count: usize,
    materials: &[Material],
    beside: &str,
    most: Duration,
) -> Result<Vec<User>> {
    let mut users = Vec::new();
    let composite: Vec<&str> = materials.iter().map(|material| material.alias.as_str()).chain([beside]).collect();
    for number in 0..count {
        let name = format!("asker{number}");
        let asked = json!({"username": name, "password": PASSWORD, "role": "power_user"});
        admin.rest("POST", "/api/users", Some(&asked))?;
        let token = running.token_of(&name, PASSWORD, "load")?;
        let mut client = running.client_of(&token);
        let material = number % materials.len();
        let Material { alias: golden, branches, .. } = &materials[material];
        let (alias, activated) = match number % 4 {
            1 => {
                let mut asked = json!({"golden_repo_alias": golden, "user_alias": "mine"});
                // At most eight of them: each is read.
                if let Some(branch) = branches.get((number / 4) % branches.len().clamp(1, 8)) {
                    asked["branch_name"] = json!(branch);
                }
                ("mine".to_owned(), Some(client.tool("activate_repository", &asked)?))
            }
            3 => {
                let asked = json!({"operation": "create", "user_alias": "all", "golden_repo_aliases": composite});
                ("all".to_owned(), Some(client.tool("manage_composite_repository", &asked)?))
            }
            _ => (golden.clone(), None),
        };
        if let Some(answer) = activated {
            let id = answer["job_id"].as_str().context("there is no job")?;
            let job = running.wait_for(&mut client, id, most)?;
            ensure!(job["status"] == "completed", "an activation failed: {job}");
        }
        users.push(User { name, token, alias, material });
    }
    Ok(users)
}

/// How refreshes of a repository went.
#[derive(Debug, Default)]
pub struct Refreshes {
    /// How long each took that ended well.
    pub times: Vec<Duration>,
    /// Why others did not.
    pub failed: Vec<String>,
}

/// Adds commits to a repository and has the server fetch them, again and again until the end.
pub fn refresh(plan: Plan, token: &str, alias: &str, repo: &Repo, over: &AtomicBool, seed: u64) -> Refreshes {
    let mut client = Client::new(plan.address, Some(token));
    let mut random = Random::new(seed);
    let mut all = Refreshes::default();
    for number in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        add_commit(repo, number, &mut random);
        let started = Instant::now();
        match refresh_once(&mut client, alias, over) {
            Ok(Some(job)) if job["status"] == "completed" => {
                all.times.push(started.elapsed());
                continue;
            }
            // The end came first.
            Ok(None) => break,
            Ok(Some(job)) => all.failed.push(job["error"].to_string()),
            Err(fault) => all.failed.push(fault.kind()),
        }
        pause(Duration::from_millis(200));
    }
    all
}

fn refresh_once(client: &mut Client, alias: &str, over: &AtomicBool) -> Result<Option<Value>, Fault> {
    let asked = client.rest("POST", &format!("/api/golden/{alias}/refresh"), None)?;
    let path = format!("/api/jobs/{}", asked["job_id"].as_str().unwrap_or_default());
    while !over.load(Ordering::Relaxed) {
        let job = client.rest("GET", &path, None)?["job"].take();
        if !matches!(job["status"].as_str(), Some("pending" | "running")) {
            return Ok(Some(job));
        }
        pause(Duration::from_millis(100));
    }
    Ok(None)
}

/// The name of a kind of question.
pub fn kind_name(kind: usize) -> &'static str {
    KINDS[kind].0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_ran_out_of_time_is_a_fault() {
        let answer = |out_of_time: bool| json!({"success": true, "results": {"results": [], "query_metadata": {"timeout_occurred": out_of_time}}});
        assert!(whole(answer(false)).is_ok() && whole(json!({"files": []})).is_ok());
        assert!(matches!(whole(answer(true)), Err(Fault::Failed(_))));
    }

    #[test]
    fn questions_without_an_answer_and_questions_never_sent_are_errors() {
        let mut measured = Measured::default();
        measured.add(Measured {
            times: BTreeMap::from([(0, vec![Duration::ZERO; 3])]),
            faults: BTreeMap::from([((0, "status 500".to_owned()), 2)]),
            unsent: 5,
        });
        assert_eq!((measured.asked(), measured.errors()), (3, 7));
    }
}
