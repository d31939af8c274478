//! `cargo xtask bench server`: what the users of a team server wait for while repositories are being refreshed.
//!
//! Users ask at times of their own, and a time counts from when the question was due: a server that falls behind cannot hide
//! it. The load comes from this process, the server is another one.

mod load;
mod questions;

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::{
    Git, Random,
    team::{Client, Corpus, Running, Server, Size, pause},
};
use serde_json::{Value, json};

use self::{
    load::{Measured, Plan, Refreshes, User, ask, kind_name, refresh, send},
    questions::{KINDS, Material},
};
use super::{
    grid,
    history::{load as machine_load, megabytes, millis},
    latency::Times,
    table::{Aim, Figure, render},
};
use crate::program::{build_release, say};

/// The same questions on every machine and day.
const SEED: u64 = 20_240_229;
/// How often memory is looked at.
const LOOK: Duration = Duration::from_secs(10);
/// Questions of one user alone, before the others come.
const ALONE: usize = 60;
/// The longest time that adding a repository may take.
const ADDING: Duration = Duration::from_hours(2);
/// A hundredth of the answers to hybrid questions may take longer than this, in milliseconds.
const HYBRID_AIM: f64 = 150.0;

/// Measures a team server under load.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Repositories that are asked about, instead of a generated one.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    repo: Vec<PathBuf>,

    /// Lines of the generated repository.
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    lines: usize,

    /// How long users ask.
    #[arg(long, default_value_t = 600, value_name = "N")]
    seconds: u64,

    /// Users, half of them with a branch or a composite of their own.
    #[arg(long, default_value_t = 50, value_name = "N")]
    users: usize,

    /// Questions of each user in a second.
    #[arg(long, default_value_t = 2.0, value_name = "N")]
    rate: f64,

    /// The binary to measure, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,

    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// What was seen of the process while users asked.
#[derive(Default)]
struct Watched {
    /// Seconds since the start, and bytes.
    memory: Vec<(f64, u64)>,
    /// Seconds of processor time, its own and that of programs it started.
    cpu: (f64, f64),
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<()> {
    ensure!(args.users > 0 && args.rate > 0.0, "without users who ask there is nothing to measure");
    let binary = args.lore.clone().map_or_else(build_release, Ok)?;
    let binary = binary.canonicalize().with_context(|| format!("cannot find {}", binary.display()))?;
    let load = machine_load();
    let dir = tempfile::tempdir()?;
    let folder = dir.path().canonicalize()?;
    let sources = sources(args, &folder)?;
    let small = Size { lines: (args.lines / 50).clamp(500, 20_000), commits: 5, branches: 0 };
    let changing: Vec<Corpus> = (0..2)
        .map(|number| Corpus::make(&folder.join(format!("changing{number}")), SEED + 1 + number, small))
        .collect();
    let mut allowed: Vec<&Path> = sources.iter().map(PathBuf::as_path).collect();
    allowed.push(&folder);
    let server = Server::new(&binary, &allowed);
    let running = server.start()?;
    let token = running.admin_token()?;
    let mut admin = running.client_of(&token);
    let mut random = Random::new(SEED);
    let mut materials = Vec::new();
    let started = Instant::now();
    for (number, source) in sources.iter().enumerate() {
        let alias = format!("large{number}");
        running.add_golden(&mut admin, source, &alias, ADDING)?;
        materials.push(Material::of(source, &alias, &mut random)?);
    }
    for (number, corpus) in changing.iter().enumerate() {
        running.add_golden(&mut admin, corpus.repo.path(), &format!("changing{number}"), ADDING)?;
    }
    let added = started.elapsed();
    let users = let_in(&running, &mut admin, args.users, &sources, &materials)?;
    let alone = alone(&running, &users, &materials)?;

    let plan = Plan {
        address: running.address(),
        start: Instant::now(),
        time: Duration::from_secs(args.seconds),
        rate: args.rate,
    };
    let done = AtomicBool::new(false);
    let (measured, refreshes, watched) = std::thread::scope(|scope| -> Result<_> {
        let refreshing: Vec<_> = changing
            .into_iter()
            .zip(0_u64..)
            .map(|(corpus, number)| {
                let (token, done) = (token.as_str(), &done);
                scope.spawn(move || {
                    refresh(plan, token, &format!("changing{number}"), &corpus.repo, done, SEED + number)
                })
            })
            .collect();
        let asking: Vec<_> = users
            .iter()
            .map(|user| {
                let (seed, materials) = (random.number(), materials.as_slice());
                scope.spawn(move || ask(plan, user, materials, Random::new(seed)))
            })
            .collect();
        let watched = watch(&running, plan);
        let mut measured = Measured::default();
        for user in asking {
            measured.add(user.join().map_err(|_| anyhow::anyhow!("a user panicked"))?);
        }
        done.store(true, Ordering::Relaxed);
        let mut refreshes = Refreshes::default();
        for one in refreshing {
            let one = one.join().map_err(|_| anyhow::anyhow!("a refresh panicked"))?;
            refreshes.times.extend(one.times);
            refreshes.failed.extend(one.failed);
        }
        Ok((measured, refreshes, watched?))
    })?;
    let seen = Seen { alone, measured, refreshes, watched, added, wall: plan.start.elapsed() };
    print(args, &seen, load)
}

/// Where the repositories are that are asked about.
fn sources(args: &Args, folder: &Path) -> Result<Vec<PathBuf>> {
    if args.repo.is_empty() {
        let size = Size { lines: args.lines, commits: 40, branches: 6 };
        let corpus = Corpus::make(&folder.join("large"), SEED, size);
        return Ok(vec![corpus.repo.path().to_path_buf()]);
    }
    args.repo
        .iter()
        .map(|path| path.canonicalize().with_context(|| format!("cannot find {}", path.display())))
        .collect()
}

/// Makes users. Of four, one has a branch of their own and one a composite; the others ask the golden repositories.
fn let_in(
    running: &Running,
    admin: &mut Client,
    count: usize,
    sources: &[PathBuf],
    materials: &[Material],
) -> Result<Vec<User>> {
    let mut users = Vec::new();
    let composite: Vec<&str> = materials.iter().map(|material| material.alias.as_str()).chain(["changing0"]).collect();
    for number in 0..count {
        let (name, password) = (format!("user{number}"), "a long password 1");
        let asked = json!({"username": name, "password": password, "role": "power_user"});
        admin.rest("POST", "/api/users", Some(&asked))?;
        let token = running.token_of(&name, password, "bench")?;
        let mut client = running.client_of(&token);
        let material = number % materials.len();
        let golden = &materials[material].alias;
        let branches =
            Git::at(&sources[material]).text(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])?;
        let branches: Vec<&str> = branches.lines().collect();
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
        if let Some(id) = activated.as_ref().and_then(|answer| answer["job_id"].as_str()) {
            let job = running.wait_for(&mut client, id, ADDING)?;
            ensure!(job["status"] == "completed", "an activation failed: {job}");
        }
        users.push(User { token, alias, material });
    }
    Ok(users)
}

/// Hybrid questions of one user while nobody else asks; the first ones are not timed.
fn alone(running: &Running, users: &[User], materials: &[Material]) -> Result<Times> {
    let mut random = Random::new(SEED);
    let user = users.first().context("there is a user")?;
    let mut client = running.client_of(&user.token);
    let mut times = Vec::new();
    while times.len() < ALONE + 10 {
        let (kind, tool, asked) = materials[user.material].question(&user.alias, &mut random);
        if kind_name(kind) == "hybrid" {
            let started = Instant::now();
            send(&mut client, tool, &asked)?;
            times.push(started.elapsed());
        }
    }
    Ok(Times::new(times.split_off(10)))
}

fn watch(running: &Running, plan: Plan) -> Result<Watched> {
    let before = running.cpu()?;
    let mut watched = Watched::default();
    loop {
        let since = plan.start.elapsed();
        watched.memory.push((since.as_secs_f64(), running.memory()?));
        if since >= plan.time {
            let after = running.cpu()?;
            watched.cpu = (after.0 - before.0, after.1 - before.1);
            return Ok(watched);
        }
        pause(LOOK.min(plan.time.saturating_sub(since)));
    }
}

/// All that was measured.
struct Seen {
    alone: Times,
    measured: Measured,
    refreshes: Refreshes,
    watched: Watched,
    added: Duration,
    wall: Duration,
}

impl Seen {
    /// Memory a minute after the start, or at half of a shorter time, and at the end.
    fn growth(&self) -> (u64, u64) {
        let memory = &self.watched.memory;
        let end = memory.last().copied().unwrap_or_default();
        let early = memory.iter().find(|(at, _)| *at >= 60_f64.min(end.0 / 2.0)).map_or(0, |(_, bytes)| *bytes);
        (early, end.1)
    }
}

fn print(args: &Args, seen: &Seen, load: Option<f64>) -> Result<()> {
    let kinds: Vec<(&str, Times, usize)> = KINDS
        .iter()
        .enumerate()
        .map(|(kind, (name, _))| {
            let times = Times::new(seen.measured.times.get(&kind).cloned().unwrap_or_default());
            let faults = seen.measured.faults.iter().filter(|((of, _), _)| *of == kind).map(|(_, count)| count).sum();
            (*name, times, faults)
        })
        .collect();
    let requests: usize = kinds.iter().map(|(_, times, _)| times.count()).sum();
    let errors: usize = kinds.iter().map(|(_, _, faults)| faults).sum();
    let hybrid = &kinds[0].1;
    let (early, end) = seen.growth();
    let figure = |name, unit, measured, reference, aim| Figure { name, unit, measured, reference, aim };
    let at = |times: &Times, percent| millis(times.percentile(percent));
    let alone = |percent| Some(("alone", at(&seen.alone, percent)));
    #[expect(clippy::cast_precision_loss, reason = "no run counts as far as a float cannot")]
    let (errors_shown, refreshes_shown) = (errors as f64, seen.refreshes.times.len() as f64);
    let mut figures = vec![
        figure("hybrid, p50", "ms", at(hybrid, 50), alone(50), Aim::None),
        figure("hybrid, p99", "ms", at(hybrid, 99), alone(99), Aim::AtMost(HYBRID_AIM)),
        figure("errors", "", errors_shown, None, Aim::AtMost(0.0)),
        figure("refreshes", "", refreshes_shown, None, Aim::None),
        figure("memory at the end", "MB", megabytes(end), Some(("earlier", megabytes(early))), Aim::None),
    ];
    let cores = |seconds: f64| seconds / seen.wall.as_secs_f64().max(0.001);
    figures.push(figure("processors used by the server", "", cores(seen.watched.cpu.0), None, Aim::None));
    figures.push(figure("processors used by its gits", "", cores(seen.watched.cpu.1), None, Aim::None));
    let refreshed = Times::new(seen.refreshes.times.clone());
    if args.json {
        let kind = |(name, times, faults): &(&str, Times, usize)| {
            json!({"name": name, "requests": times.count(), "errors": faults, "p50_ms": at(times, 50),
                   "p95_ms": at(times, 95), "p99_ms": at(times, 99), "max_ms": millis(times.longest())})
        };
        let faults = seen.measured.faults.iter();
        let faults: Vec<Value> =
            faults.map(|((of, what), count)| json!({"kind": kind_name(*of), "error": what, "count": count})).collect();
        say(&serde_json::to_string_pretty(&json!({
            "users": args.users, "rate": args.rate, "seconds": args.seconds, "load_before": load,
            "lines": args.repo.is_empty().then_some(args.lines), "repositories": args.repo,
            "requests": requests, "errors": faults, "unsent": seen.measured.unsent,
            "kinds": kinds.iter().map(kind).collect::<Vec<_>>(),
            "figures": figures.iter().map(Figure::json).collect::<Vec<_>>(),
            "refreshes": {"done": refreshed.count(), "failed": seen.refreshes.failed, "p50_ms": at(&refreshed, 50),
                          "max_ms": millis(refreshed.longest())},
            "memory": seen.watched.memory.iter().map(|(at, bytes)| json!([at, bytes])).collect::<Vec<_>>(),
            "server_cpu_s": seen.watched.cpu.0, "git_cpu_s": seen.watched.cpu.1, "adding_s": seen.added.as_secs_f64(),
        }))?);
        return Ok(());
    }
    say(&format!(
        "{} users, {} questions a second each, {} s: {requests} requests, {errors} errors, {} not sent; adding took {:.1} s; \
         load before: {load:?}",
        args.users,
        args.rate,
        args.seconds,
        seen.measured.unsent,
        seen.added.as_secs_f64()
    ));
    say(&render(&figures));
    let head = ["", "requests", "errors", "p50 ms", "p95 ms", "p99 ms", "max ms"].map(str::to_owned).to_vec();
    let mut rows = vec![head];
    for (name, times, faults) in &kinds {
        let shown = |value: f64| format!("{value:.1}");
        let [p50, p95, p99] = [50, 95, 99].map(|percent| shown(at(times, percent)));
        let cells = [times.count().to_string(), faults.to_string(), p50, p95, p99, shown(millis(times.longest()))];
        rows.push(std::iter::once((*name).to_owned()).chain(cells).collect());
    }
    say(&grid(&rows));
    for ((kind, what), count) in &seen.measured.faults {
        say(&format!("error, {count} times, {}: {what}", kind_name(*kind)));
    }
    say(&format!(
        "refreshes: {} done, {} failed; p50 {:.0} ms, longest {:.0} ms",
        refreshed.count(),
        seen.refreshes.failed.len(),
        at(&refreshed, 50),
        millis(refreshed.longest())
    ));
    for why in seen.refreshes.failed.iter().take(5) {
        say(&format!("a refresh failed: {why}"));
    }
    let curve: Vec<String> =
        seen.watched.memory.iter().map(|(at, bytes)| format!("{at:.0}: {:.0}", megabytes(*bytes))).collect();
    say(&format!("memory (s: MB): {}", curve.join("  ")));
    Ok(())
}
