//! `cargo xtask bench memory`: the anonymous memory of a team server while it answers requests, and when it is idle again.
//!
//! Half of the requests are queries of every kind, the others malformed: unknown methods and tools, missing arguments and
//! arguments of wrong types, long strings, deep arrays. Mapped index files are not counted: the system takes their pages back
//! when it needs them.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Result, ensure};
use lore_testkit::{
    Random,
    team::{Client, Fault, Material, Running, Server, pause},
};
use serde_json::{Value, json};

use super::history::megabytes;
use crate::program::{release, say};

const SEED: u64 = 20_240_229;
const PASSWORD: &str = "a long password 1";
const ADDING: Duration = Duration::from_hours(2);
/// Users who send requests at the same time.
const USERS: usize = 8;
/// What may be held when the server is idle again.
const IDLE_AIM: u64 = 150_000_000;

/// Measures the memory of a team server after many requests.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Repositories that are asked about.
    #[arg(long, value_name = "PATH", num_args = 1.., required = true)]
    repo: Vec<PathBuf>,

    /// Requests, half of them malformed.
    #[arg(long, default_value_t = 24_000, value_name = "N")]
    requests: usize,

    /// Seconds without requests after them.
    #[arg(long, default_value_t = 60, value_name = "N")]
    idle: u64,

    /// The binary to measure, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = release(args.lore.as_deref())?;
    let repos = args.repo.iter().map(|repo| repo.canonicalize()).collect::<Result<Vec<_>, _>>()?;
    let server = Server::new(&binary, &repos.iter().map(PathBuf::as_path).collect::<Vec<_>>());
    let running = server.start()?;
    let show = |when: &str| -> Result<u64> {
        let bytes = running.anonymous_memory()?;
        say(&format!("{when}: {:.1} MB", megabytes(bytes)));
        Ok(bytes)
    };
    show("started")?;
    let mut admin = running.client_of(&running.admin_token()?);
    let mut random = Random::new(SEED);
    let mut materials = Vec::new();
    for (number, repo) in repos.iter().enumerate() {
        let alias = format!("repo{number}");
        running.add_golden(&mut admin, repo, &alias, ADDING)?;
        materials.push((Material::of(repo, &alias, &mut random)?, alias));
        show(&format!("{} added", repo.file_name().unwrap_or_default().display()))?;
    }
    let tools = admin.mcp("tools/list", &json!({}))?;
    let tools: Vec<String> = tools["tools"].as_array().into_iter().flatten().filter_map(name_of).collect();
    ensure!(!tools.is_empty(), "the server has no tools");
    let sent = AtomicUsize::new(0);
    let users = (0..USERS).map(|number| user(&running, &mut admin, number)).collect::<Result<Vec<_>>>()?;
    let counts = thread::scope(|scope| -> Result<Counts> {
        let threads: Vec<_> = users
            .into_iter()
            .enumerate()
            .map(|(number, mut client)| {
                let (materials, tools, sent, requests) = (&materials, &tools, &sent, args.requests);
                let mut random = Random::new(SEED + number as u64);
                scope.spawn(move || {
                    let mut counts = Counts::default();
                    while sent.fetch_add(1, Ordering::Relaxed) < requests {
                        counts.send(&mut client, materials, tools, &mut random);
                    }
                    counts
                })
            })
            .collect();
        while sent.load(Ordering::Relaxed) < args.requests {
            pause(Duration::from_secs(5));
            show(&format!("{} requests", sent.load(Ordering::Relaxed).min(args.requests)))?;
        }
        let mut all = Counts::default();
        for thread in threads {
            all.add(thread.join().map_err(|_| anyhow::anyhow!("a user failed"))?);
        }
        Ok(all)
    })?;
    let Counts { answered, refused, accepted, failed } = counts;
    say(&format!(
        "{answered} queries answered, {failed} failed; {refused} malformed requests refused, {accepted} answered"
    ));
    show("all requests answered")?;
    pause(Duration::from_secs(args.idle));
    let idle = show(&format!("idle for {} s", args.idle))?;
    if idle > IDLE_AIM {
        say(&format!("missed: idle memory (aim: {:.0} MB)", megabytes(IDLE_AIM)));
    }
    ensure!(failed == 0, "{failed} queries failed");
    Ok(())
}

fn name_of(tool: &Value) -> Option<String> {
    tool["name"].as_str().map(str::to_owned)
}

fn user(running: &Running, admin: &mut Client, number: usize) -> Result<Client> {
    let name = format!("user{number}");
    admin.rest("POST", "/api/users", Some(&json!({"username": name, "password": PASSWORD, "role": "power_user"})))?;
    Ok(running.client_of(&running.token_of(&name, PASSWORD, "bench")?))
}

/// How many requests were answered how.
#[derive(Default, Clone, Copy)]
struct Counts {
    answered: usize,
    failed: usize,
    refused: usize,
    accepted: usize,
}

impl Counts {
    fn send(&mut self, client: &mut Client, materials: &[(Material, String)], tools: &[String], random: &mut Random) {
        if random.below(2) == 0 {
            let refused = client.send("POST", "/mcp", Some(&malformed(tools, random)));
            let is_refused = refused.is_ok_and(|reply| {
                let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
                answer["result"].is_null() || answer["result"]["isError"] == true
            });
            *(if is_refused { &mut self.refused } else { &mut self.accepted }) += 1;
            return;
        }
        let (material, alias) = random.pick(materials);
        let (_, tool, arguments) = material.question(alias, random);
        let answer = if tool == "tools/list" { client.mcp(tool, &arguments) } else { client.tool(tool, &arguments) };
        match answer {
            Ok(_) => self.answered += 1,
            // A server may say that it is busy.
            Err(Fault::Refused(429 | 503, _)) => pause(Duration::from_millis(200)),
            Err(fault) => {
                say(&format!("{tool} {arguments}: {fault}"));
                self.failed += 1;
            }
        }
    }

    fn add(&mut self, other: Self) {
        self.answered += other.answered;
        self.failed += other.failed;
        self.refused += other.refused;
        self.accepted += other.accepted;
    }
}

/// A request that a server should refuse.
fn malformed(tools: &[String], random: &mut Random) -> Value {
    let tool = random.pick(tools).clone();
    let call = |name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    match random.below(8) {
        0 => json!("text"),
        1 => json!({"jsonrpc": "2.0", "id": 1, "method": junk(random, 0)}),
        2 => json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": junk(random, 0)}),
        3 => call("no_such_tool", json!({})),
        4 => call(&tool, junk(random, 0)),
        5 => call(
            &tool,
            json!({"query": "x".repeat(100_000), "query_text": "é".repeat(50_000), "repository_alias": "no"}),
        ),
        _ => call(
            &tool,
            json!({"query": junk(random, 0), "query_text": junk(random, 0), "repository_alias": junk(random, 0), "limit": junk(random, 0)}),
        ),
    }
}

/// Any value.
fn junk(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth < 6 { 8 } else { 5 }) {
        0 => Value::Null,
        1 => json!(-1),
        2 => json!(1e300),
        3 => json!("\u{1f600}\u{0}'\"*(".repeat(random.below(500))),
        4 => json!(random.below(2) == 0),
        5 | 6 => (0..random.below(6)).map(|_| junk(random, depth + 1)).collect(),
        _ => json!({"query": junk(random, depth + 1), "": junk(random, depth + 1)}),
    }
}
