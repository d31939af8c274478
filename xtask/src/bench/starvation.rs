//! `cargo xtask bench starvation`: two users send costly queries and disconnect; what a third user notices of it.
//!
//! Each attack is repeated. A round opens eight connections for each attacker, sends one query on each, and closes all of them
//! after a second. Measured are the time from there until the server works on nothing any more, and how long queries of a
//! third user take meanwhile, against the same queries on a quiet server.

use std::{
    io::Write as _,
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::{
    Random,
    team::{Client, Material, Running, Server, pause},
};
use serde_json::{Value, json};

use super::latency::Times;
use crate::program::{release, say};

const SEED: u64 = 20_240_229;
const ALIAS: &str = "large";
const PASSWORD: &str = "a long password 1";
const ADDING: Duration = Duration::from_hours(2);
/// Requests of each attacker in a round.
const REQUESTS: usize = 8;
/// How long attackers stay connected.
const CONNECTED: Duration = Duration::from_secs(1);
/// How soon everything should have ended after they left, and how much slower the third user's queries may be.
const ENDED_AIM: Duration = Duration::from_secs(2);
const SLOWER_AIM: f64 = 3.0;
/// Work that goes on for longer is not waited for.
const GIVEN_UP: Duration = Duration::from_mins(2);

/// Measures what costly queries of two users do to a third.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The repository that is asked about: a large one.
    #[arg(long, value_name = "PATH")]
    repo: PathBuf,

    /// Rounds of each attack.
    #[arg(long, default_value_t = 5, value_name = "N")]
    rounds: usize,

    /// The binary to measure, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,
}

/// A query that costs much.
struct Attack {
    name: &'static str,
    tool: &'static str,
    arguments: Value,
}

/// What one attack did.
#[derive(Default)]
struct Seen {
    /// From the disconnect until nothing was worked on.
    ended: Vec<Duration>,
    /// Queries of the third user meanwhile.
    times: Vec<Duration>,
    failed: usize,
    /// The first failure of them.
    failure: Option<String>,
}

fn attacks() -> Vec<Attack> {
    let history = |name, query: String| Attack { name, tool: "commitmux_search", arguments: json!({"query": query}) };
    let letters = || (b'a'..=b'z').map(char::from);
    let prefixes: Vec<String> = letters().flat_map(|a| letters().map(move |b| format!("{a}{b}*"))).collect();
    let groups: Vec<String> =
        prefixes.chunks(4).take(60).map(|some| format!("NEAR({}, 100000)", some.join(" "))).collect();
    let lines = |name, text: &str, more: Value| {
        let mut arguments = json!({"query_text": text, "repository_alias": ALIAS, "search_mode": "fts", "limit": 100});
        arguments.as_object_mut().expect("it is an object").extend(more.as_object().cloned().unwrap_or_default());
        Attack { name, tool: "search_code", arguments }
    };
    vec![
        history("one prefix 4,000 times", "a*".repeat(4_000)),
        history("one prefix 256 times, in parentheses", format!("({})", "a* ".repeat(256).trim_end())),
        history("256 different prefixes", prefixes[..256].join(" OR ")),
        history("60 NEAR groups of prefixes", groups.join(" OR ")),
        lines("regex", "[a-z]{3}.*[0-9]{3}.*[a-z]+_[a-z]+.*[xyz]$", json!({"regex": true})),
        lines(
            "fuzzy",
            "controler reconsile schedular namespase depolyment validaton",
            json!({"fuzzy": true, "edit_distance": 3}),
        ),
    ]
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<()> {
    ensure!(args.rounds > 0, "without a round there is nothing to measure");
    let binary = release(args.lore.as_deref())?;
    let repo = args.repo.canonicalize().with_context(|| format!("cannot find {}", args.repo.display()))?;
    let server = Server::new(&binary, &[&repo]);
    let running = server.start()?;
    let token = running.admin_token()?;
    let mut admin = running.client_of(&token);
    running.add_golden(&mut admin, &repo, ALIAS, ADDING)?;
    let mut tokens = Vec::new();
    for name in ["attacker1", "attacker2", "third"] {
        let asked = json!({"username": name, "password": PASSWORD, "role": "power_user"});
        admin.rest("POST", "/api/users", Some(&asked))?;
        tokens.push(running.token_of(name, PASSWORD, "bench")?);
    }
    let mut random = Random::new(SEED);
    let material = Material::of(&repo, ALIAS, &mut random)?;
    let mut third = Third { client: running.client_of(&tokens[2]), material, random };
    let quiet = third.ask(&AtomicBool::new(false), 200);
    let quiet_p95 = Times::new(quiet.times).percentile(95);
    say(&format!("a quiet server: p95 {:.1} ms, {} of 200 failed", millis(quiet_p95), quiet.failed));
    let mut missed = Vec::new();
    for attack in attacks() {
        let seen = repeat(&running, &token, &tokens[..2], &attack, args.rounds, &mut third)?;
        let (asked, failed) = (seen.times.len(), seen.failed);
        let (ended, p95) =
            (seen.ended.iter().max().copied().unwrap_or_default(), Times::new(seen.times).percentile(95));
        let slower = p95.as_secs_f64() / quiet_p95.as_secs_f64();
        say(&format!(
            "{}: all work ended {:.2} s after the disconnect at most; third user: {asked} queries, {failed} failed, p95 {:.1} ms ({slower:.1}x)",
            attack.name,
            ended.as_secs_f64(),
            millis(p95),
        ));
        if let Some(failure) = seen.failure {
            say(&format!("  failed: {failure}"));
        }
        if ended > ENDED_AIM || slower > SLOWER_AIM || failed > 0 {
            missed.push(attack.name);
        }
    }
    if !missed.is_empty() {
        say(&format!("missed: {} (aims: {} s, {SLOWER_AIM}x, no failure)", missed.join("; "), ENDED_AIM.as_secs()));
    }
    Ok(())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The user who only wants to work.
struct Third {
    client: Client,
    material: Material,
    random: Random,
}

impl Third {
    /// Asks one query after the other until it is over, or so many.
    fn ask(&mut self, over: &AtomicBool, most: usize) -> Seen {
        let mut seen = Seen::default();
        while seen.times.len() < most && !over.load(Ordering::Relaxed) {
            let (_, tool, arguments) = self.material.question(ALIAS, &mut self.random);
            let started = Instant::now();
            let answer = if tool == "tools/list" {
                self.client.mcp(tool, &arguments)
            } else {
                self.client.tool(tool, &arguments)
            };
            if let Err(fault) = answer {
                seen.failed += 1;
                seen.failure.get_or_insert_with(|| format!("{tool} {arguments}: {fault:?}"));
            }
            seen.times.push(started.elapsed());
        }
        seen
    }
}

fn repeat(
    running: &Running,
    admin: &str,
    attackers: &[String],
    attack: &Attack,
    rounds: usize,
    third: &mut Third,
) -> Result<Seen> {
    let mut all = Seen::default();
    for _ in 0..rounds {
        let over = AtomicBool::new(false);
        let seen = thread::scope(|scope| -> Result<Seen> {
            let asking = scope.spawn(|| third.ask(&over, usize::MAX));
            let connections = attackers
                .iter()
                .flat_map(|token| std::iter::repeat_n(token, REQUESTS))
                .map(|token| send(running.address(), token, attack))
                .collect::<Result<Vec<_>>>();
            pause(CONNECTED);
            over.store(true, Ordering::Relaxed);
            let seen = asking.join().map_err(|_| anyhow::anyhow!("the third user failed"))?;
            drop(connections?);
            Ok(seen)
        })?;
        let left = Instant::now();
        let mut client = running.client_of(admin);
        while working(&mut client)? > 0 && left.elapsed() < GIVEN_UP {
            pause(Duration::from_millis(20));
        }
        all.ended.push(left.elapsed());
        all.times.extend(seen.times);
        all.failed += seen.failed;
        all.failure = all.failure.or(seen.failure);
    }
    Ok(all)
}

/// Sends a query and leaves the answer unread.
fn send(address: SocketAddr, token: &str, attack: &Attack) -> Result<TcpStream> {
    let params = json!({"name": attack.tool, "arguments": attack.arguments});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    Ok(stream)
}

/// How many calls of tools the server works on.
fn working(client: &mut Client) -> Result<u64> {
    let reply =
        client.send("GET", "/metrics", None).map_err(|fault| anyhow::anyhow!("no metrics: {}", fault.kind()))?;
    let text = String::from_utf8_lossy(&reply.body);
    let value = text.lines().find_map(|line| line.strip_prefix("lore_mcp_calls_working "));
    Ok(value.context("the server does not say how many calls it works on")?.parse()?)
}
