//! `cargo xtask bench server`: what the users of a team server wait for while repositories are being refreshed.
//!
//! Users ask at times of their own, and a time counts from when the question was due: a server that falls behind cannot hide
//! it. The load comes from this process, the server is another one. As elsewhere, a missed aim is only told: machines are slow
//! and fast. An error is none of the machine's, so the run fails with it.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::{
    Random, Repo,
    team::{
        Corpus, KINDS, Material, Running, Server, Size,
        load::{Measured, Plan, Refreshes, User, ask, kind_name, let_in, refresh, send},
        pause,
    },
};
use serde_json::{Value, json};

use super::{
    grid,
    history::{load as machine_load, megabytes, millis},
    latency::Times,
    table::{Aim, Figure, render},
};
use crate::program::{release, say};

/// The same questions on every machine and day.
const SEED: u64 = 20_240_229;
/// How often memory is looked at, at least; in a short run so many times.
const LOOK: Duration = Duration::from_secs(10);
const LOOKS: u32 = 20;
/// So much more than when it had warmed up may be held at the end.
const GROWTH_AIM: f64 = 1.05;
/// Questions of one user alone, before the others come.
const ALONE: usize = 60;
/// The longest time that adding a repository may take.
const ADDING: Duration = Duration::from_hours(2);
/// A hundredth of the answers to hybrid questions may take longer than this, in milliseconds.
const HYBRID_AIM: f64 = 150.0;

/// Measures a team server under load.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Repositories that are asked about, instead of a generated one. The first is cloned and gets commits there.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(super) repo: Vec<PathBuf>,

    /// Lines of the generated repository.
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub(super) lines: usize,

    /// How long users ask.
    #[arg(long, default_value_t = 600, value_name = "N")]
    pub(super) seconds: u64,

    /// Users, half of them with a branch or a composite of their own.
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub(super) users: usize,

    /// Questions of each user in a second.
    #[arg(long, default_value_t = 2.0, value_name = "N")]
    pub(super) rate: f64,

    /// The binary to measure, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    pub(super) lore: Option<PathBuf>,

    /// Prints JSON.
    #[arg(long)]
    pub(super) json: bool,
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
    let busy = machine_load();
    let seen = measured(args)?;
    print(args, &seen, busy)?;
    seen.judge()
}

/// Starts a server and lets users ask.
pub(super) fn measured(args: &Args) -> Result<Seen> {
    ensure!(args.users > 0 && args.rate > 0.0, "without users who ask there is nothing to measure");
    let binary = release(args.lore.as_deref())?;
    let dir = tempfile::tempdir()?;
    let folder = dir.path().canonicalize()?;
    let sources = sources(args, &folder)?;
    let small = Size { lines: (args.lines / 50).clamp(500, 20_000), commits: 5, branches: 0 };
    let beside = Corpus::make(&folder.join(BESIDE), SEED + 1, small).repo;
    let mut allowed: Vec<&Path> = sources.iter().map(Source::path).collect();
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
        running.add_golden(&mut admin, source.path(), &alias, ADDING)?;
        materials.push(Material::of(source.path(), &alias, &mut random)?);
    }
    running.add_golden(&mut admin, beside.path(), BESIDE, ADDING)?;
    let added = started.elapsed();
    let users = let_in(&running, &mut admin, args.users, &materials, BESIDE, ADDING)?;
    let alone = alone(&running, &users, &materials)?;

    let plan = Plan {
        address: running.address(),
        start: Instant::now(),
        time: Duration::from_secs(args.seconds),
        rate: args.rate,
    };
    let changing = sources.into_iter().find_map(Source::into_own).context("no large repository may be changed")?;
    let changing = [(materials[0].alias.clone(), changing), (BESIDE.to_owned(), beside)];
    let load = Load { running: &running, token: &token, users: &users, materials: &materials, plan };
    let (measured, refreshes, watched) = load.run(changing, &mut random)?;
    Ok(Seen { alone, measured, refreshes, watched, added, wall: plan.start.elapsed() })
}

/// The other repository that is refreshed, a small one.
const BESIDE: &str = "beside";

/// Everything that the load needs.
struct Load<'a> {
    running: &'a Running,
    token: &'a str,
    users: &'a [User],
    materials: &'a [Material],
    plan: Plan,
}

impl Load<'_> {
    /// Lets users ask while the repositories are refreshed, until the time is over.
    fn run(&self, changing: [(String, Repo); 2], random: &mut Random) -> Result<(Measured, Vec<Refreshed>, Watched)> {
        let Self { running, token, users, materials, plan } = *self;
        let (never, over) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let refreshing: Vec<_> = changing
                .into_iter()
                .zip(0_u64..)
                .map(|((alias, repo), number)| {
                    let over = &over;
                    scope.spawn(move || (refresh(plan, token, &alias, &repo, over, SEED + number), alias))
                })
                .collect();
            let asking: Vec<_> = users
                .iter()
                .map(|user| {
                    let (random, never) = (Random::new(random.number()), &never);
                    scope.spawn(move || ask(plan, user, materials, random, never))
                })
                .collect();
            let watched = watch(running, plan);
            let mut measured = Measured::default();
            for user in asking {
                measured.add(user.join().map_err(|_| anyhow::anyhow!("a user panicked"))?);
            }
            over.store(true, Ordering::Relaxed);
            let mut refreshes = Vec::new();
            for one in refreshing {
                let (Refreshes { times, failed }, alias) =
                    one.join().map_err(|_| anyhow::anyhow!("a refresh panicked"))?;
                refreshes.push(Refreshed { alias, times: Times::new(times), failed });
            }
            Ok((measured, refreshes, watched?))
        })
    }
}

/// A repository that is asked about.
enum Source {
    /// It is ours, and may be changed.
    Own(Repo),
    /// It is somebody else's.
    Other(PathBuf),
}

impl Source {
    fn path(&self) -> &Path {
        match self {
            Self::Own(repo) => repo.path(),
            Self::Other(path) => path,
        }
    }

    fn into_own(self) -> Option<Repo> {
        match self {
            Self::Own(repo) => Some(repo),
            Self::Other(_) => None,
        }
    }
}

/// The repositories that are asked about. The first one will be changed, so it is made here, or cloned.
fn sources(args: &Args, folder: &Path) -> Result<Vec<Source>> {
    let place = folder.join("large");
    if args.repo.is_empty() {
        let size = Size { lines: args.lines, commits: 40, branches: 6 };
        return Ok(vec![Source::Own(Corpus::make(&place, SEED, size).repo)]);
    }
    let source = |(number, path): (usize, &PathBuf)| {
        let path = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
        if number == 0 { Repo::clone_of(&path, &place).map(Source::Own) } else { Ok(Source::Other(path)) }
    };
    args.repo.iter().enumerate().map(source).collect()
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
        watched.memory.push((since.as_secs_f64(), running.anonymous_memory()?));
        if since >= plan.time {
            let after = running.cpu()?;
            watched.cpu = (after.0 - before.0, after.1 - before.1);
            return Ok(watched);
        }
        pause(LOOK.min(plan.time / LOOKS).min(plan.time.saturating_sub(since)));
    }
}

/// How refreshes of one repository went.
struct Refreshed {
    alias: String,
    times: Times,
    failed: Vec<String>,
}

/// All that was measured.
pub(super) struct Seen {
    alone: Times,
    measured: Measured,
    refreshes: Vec<Refreshed>,
    watched: Watched,
    added: Duration,
    wall: Duration,
}

impl Seen {
    /// Questions without a whole answer, questions that were never sent, and refreshes that failed.
    fn errors(&self) -> usize {
        self.measured.errors() + self.refreshes.iter().map(|one| one.failed.len()).sum::<usize>()
    }

    /// Fails where something did not work, however fast the rest was.
    fn judge(&self) -> Result<()> {
        ensure!(self.errors() == 0, "there were {} errors", self.errors());
        for Refreshed { alias, times, .. } in &self.refreshes {
            ensure!(times.count() > 0, "no refresh of `{alias}` ended while users asked");
        }
        Ok(())
    }
}

/// The most memory when it had warmed up, which is the second fifth of the time, and in the last fifth. The most, since a
/// refresh that is under way holds more than one that has just ended.
fn growth(memory: &[(f64, u64)]) -> (u64, u64) {
    let end = memory.last().map_or(0.0, |(at, _)| *at);
    let most = |from: f64, to: f64| {
        let within = memory.iter().filter(|(at, _)| (end * from..=end * to).contains(at));
        within.map(|(_, bytes)| *bytes).max().unwrap_or(0)
    };
    (most(0.2, 0.4), most(0.8, 1.0))
}

/// What questions of one kind took, and how many failed.
struct Kind {
    name: &'static str,
    times: Times,
    faults: usize,
}

impl Seen {
    fn kinds(&self) -> Vec<Kind> {
        let kind = |(number, (name, _)): (usize, &(&'static str, _))| {
            let times = Times::new(self.measured.times.get(&number).cloned().unwrap_or_default());
            let of_kind = self.measured.faults.iter().filter(|((of, _), _)| *of == number);
            Kind { name, times, faults: of_kind.map(|(_, count)| count).sum() }
        };
        KINDS.iter().enumerate().map(kind).collect()
    }

    /// Questions that were answered.
    pub(super) fn requests(&self) -> usize {
        self.kinds().iter().map(|kind| kind.times.count()).sum()
    }

    pub(super) fn figures(&self) -> Vec<Figure> {
        let kinds = self.kinds();
        let hybrid = &kinds[0].times;
        let (early, end) = growth(&self.watched.memory);
        let figure = |name, unit, measured, reference, aim| Figure { name, unit, measured, reference, aim };
        let alone = |percent| Some(("alone", at(&self.alone, percent)));
        #[expect(clippy::cast_precision_loss, reason = "no run counts as far as a float cannot")]
        let (errors, refreshes) =
            (self.errors() as f64, self.refreshes.iter().map(|one| one.times.count()).sum::<usize>() as f64);
        let cores = |seconds: f64| seconds / self.wall.as_secs_f64().max(0.001);
        vec![
            figure("hybrid, p50", "ms", at(hybrid, 50), alone(50), Aim::None),
            figure("hybrid, p99", "ms", at(hybrid, 99), alone(99), Aim::AtMost(HYBRID_AIM)),
            figure("errors", "", errors, None, Aim::AtMost(0.0)),
            figure("refreshes", "", refreshes, None, Aim::None),
            figure(
                "anonymous memory, last fifth",
                "MB",
                megabytes(end),
                Some(("second fifth", megabytes(early))),
                Aim::RatioAtMost(GROWTH_AIM),
            ),
            figure("processors used by the server", "", cores(self.watched.cpu.0), None, Aim::None),
            figure("processors used by its gits", "", cores(self.watched.cpu.1), None, Aim::None),
        ]
    }
}

fn at(times: &Times, percent: usize) -> f64 {
    millis(times.percentile(percent))
}

fn print(args: &Args, seen: &Seen, load: Option<f64>) -> Result<()> {
    let (kinds, figures, requests, errors) = (seen.kinds(), seen.figures(), seen.requests(), seen.errors());
    if args.json {
        let kind = |Kind { name, times, faults }: &Kind| {
            json!({"name": name, "requests": times.count(), "errors": faults, "p50_ms": at(times, 50),
                   "p95_ms": at(times, 95), "p99_ms": at(times, 99), "max_ms": millis(times.longest())})
        };
        let refreshed = |Refreshed { alias, times, failed }: &Refreshed| {
            json!({"alias": alias, "done": times.count(), "failed": failed, "p50_ms": at(times, 50),
                   "max_ms": millis(times.longest())})
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
            "refreshes": seen.refreshes.iter().map(refreshed).collect::<Vec<_>>(),
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
    for Kind { name, times, faults } in &kinds {
        let shown = |value: f64| format!("{value:.1}");
        let [p50, p95, p99] = [50, 95, 99].map(|percent| shown(at(times, percent)));
        let cells = [times.count().to_string(), faults.to_string(), p50, p95, p99, shown(millis(times.longest()))];
        rows.push(std::iter::once((*name).to_owned()).chain(cells).collect());
    }
    say(&grid(&rows));
    for ((kind, what), count) in &seen.measured.faults {
        say(&format!("error, {count} times, {}: {what}", kind_name(*kind)));
    }
    for Refreshed { alias, times, failed } in &seen.refreshes {
        say(&format!(
            "refreshes of {alias}: {} done, {} failed; p50 {:.0} ms, longest {:.0} ms",
            times.count(),
            failed.len(),
            at(times, 50),
            millis(times.longest())
        ));
        for why in failed.iter().take(5) {
            say(&format!("a refresh failed: {why}"));
        }
    }
    let curve: Vec<String> =
        seen.watched.memory.iter().map(|(at, bytes)| format!("{at:.0}: {:.0}", megabytes(*bytes))).collect();
    say(&format!("anonymous memory (s: MB): {}", curve.join("  ")));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(faults: &[usize], unsent: usize, failed: &[&str], done: usize) -> Seen {
        let faults = faults.iter().map(|kind| ((*kind, "status 500".to_owned()), 1)).collect();
        let failed = failed.iter().map(|why| (*why).to_owned()).collect();
        Seen {
            alone: Times::default(),
            measured: Measured { faults, unsent, ..Measured::default() },
            refreshes: vec![Refreshed {
                alias: "large0".to_owned(),
                times: Times::new(vec![Duration::from_secs(1); done]),
                failed,
            }],
            watched: Watched::default(),
            added: Duration::ZERO,
            wall: Duration::ZERO,
        }
    }

    #[test]
    fn a_run_fails_with_any_error_and_where_nothing_was_refreshed() {
        assert!(seen(&[], 0, &[], 3).judge().is_ok());
        for (bad, why) in [
            (seen(&[0], 0, &[], 3), "there were 1 errors"),
            (seen(&[], 2, &[], 3), "there were 2 errors"),
            (seen(&[], 0, &["gone"], 3), "there were 1 errors"),
            (seen(&[], 0, &[], 0), "no refresh of `large0` ended while users asked"),
        ] {
            assert_eq!(bad.judge().unwrap_err().to_string(), why);
        }
    }

    #[test]
    fn growth_compares_the_last_fifth_with_the_second() {
        let memory: Vec<(f64, u64)> = (0..=10_u32).map(|at| (f64::from(at), 100 + u64::from(at) * 10)).collect();
        assert_eq!(growth(&memory), (140, 200));
        assert_eq!(growth(&[]), (0, 0));
    }
}
