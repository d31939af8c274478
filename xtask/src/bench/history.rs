//! `cargo xtask bench history`: a full sync against `git log -p -M` and against commitmux, then what an agent waits for.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result};
use lore_testkit::{Git, Lore};
use serde_json::{Value, json};

use super::{
    latency::{self, Latency, Times, Words},
    measure::{Cost, measure},
    table::{Aim, Figure, render},
};
use crate::program::{output, program, release, say};

const NAME: &str = "bench";
/// Runs of what takes milliseconds.
const QUICK_RUNS: usize = 20;

/// A machine with more load than this does something else as well.
pub(super) const QUIET: f64 = 0.5;

/// A peer that has taken so long is not run again.
pub(super) const PEER_PATIENCE: Duration = Duration::from_mins(2);

/// Measures a full sync, a sync with nothing to do, and answers.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The repository.
    #[arg(long, value_name = "PATH")]
    pub(super) repo: PathBuf,

    /// A commitmux binary to compare with; it runs in turn with the others until it has taken two minutes.
    #[arg(long, value_name = "COMMITMUX_BINARY")]
    pub(super) peer: Option<PathBuf>,

    /// How often lore and git run in turn.
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(super) runs: usize,

    /// The binary to measure, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    pub(super) lore: Option<PathBuf>,

    /// Prints JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// All that was measured.
pub(super) struct Measured {
    repo: PathBuf,
    pub(super) commits: String,
    load: Option<f64>,
    lore: Vec<Cost>,
    git: Vec<Cost>,
    peer: Vec<Cost>,
    index_bytes: u64,
    git_bytes: u64,
    resync: Times,
    latency: Latency,
    first: Times,
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<()> {
    let measured = measured(args)?;
    let figures = figures(&measured);
    if args.json {
        say(&serde_json::to_string_pretty(&report(&measured, &figures))?);
        return Ok(());
    }
    let Measured { repo, commits, load, .. } = &measured;
    say(&format!("{}: {commits} commits; {} runs of lore and git in turn, medians", repo.display(), args.runs.max(1)));
    if let Some(load) = load.filter(|load| *load > QUIET) {
        say(&format!(
            "the load was {load} before the first run: this machine is not quiet, and the figures are not fair"
        ));
    }
    say(&render(&figures));
    let Latency { search, touches, with_results, failures } = &measured.latency;
    let calls = search.count() + touches.count();
    say(&format!(
        "{calls} questions: {with_results} with results, {failures} failures; longest {:.1} ms",
        millis(search.longest().max(touches.longest()))
    ));
    Ok(())
}

/// Measures everything.
pub(super) fn measured(args: &Args) -> Result<Measured> {
    let binary = release(args.lore.as_deref())?;
    let repo = args.repo.canonicalize().with_context(|| format!("cannot find {}", args.repo.display()))?;
    let peer = args.peer.as_ref().map(|peer| peer.canonicalize()).transpose().context("cannot find the peer")?;
    let load = load();
    let git = Git::at(&repo);
    let commits = git.text(&["rev-list", "--count", "HEAD"])?;
    let git_dir = repo.join(git.text(&["rev-parse", "--git-common-dir"])?);
    warm_files(&git_dir.join("objects"))?;

    let Synced { last: lore, lore: costs, git: git_costs, peer } =
        sync_in_turn(&binary, &repo, peer.as_deref(), args.runs.max(1))?;
    let words = Words::of(&repo)?;
    let resync = (0..QUICK_RUNS).map(|_| Ok(measure(&lore.command(&["sync", "--repo", NAME]))?.wall));
    Ok(Measured {
        index_bytes: size(lore.home())?,
        git_bytes: size(&git_dir)?,
        resync: Times::new(resync.collect::<Result<_>>()?),
        latency: latency::answers(&lore, &words)?,
        first: latency::first_answers(&lore, &words, QUICK_RUNS)?,
        repo,
        commits,
        load,
        lore: costs,
        git: git_costs,
        peer,
    })
}

/// How many processes wanted to run during the last minute, where the system tells.
pub(super) fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// What full syncs cost, with the last home.
struct Synced {
    last: Lore,
    lore: Vec<Cost>,
    git: Vec<Cost>,
    peer: Vec<Cost>,
}

/// Full syncs and `git log -p -M`, each time in the other order, and the peer after both.
fn sync_in_turn(binary: &Path, repo: &Path, peer: Option<&Path>, runs: usize) -> Result<Synced> {
    let mut log = Git::at(repo).command();
    log.args(["log", "-p", "-M"]);
    let (mut costs, mut git_costs, mut peer_costs) = (Vec::new(), Vec::new(), Vec::<Cost>::new());
    let mut last = None;
    for run in 0..runs {
        let lore = Lore::new(binary);
        let path = repo.to_str().context("the path of the repository is not UTF-8")?;
        output(&mut lore.command(&["add", path, "--name", NAME, "--no-sync"]))?;
        let sync = lore.command(&["sync", "--repo", NAME]);
        if run % 2 == 0 {
            costs.push(measure(&sync)?);
            git_costs.push(measure(&log)?);
        } else {
            git_costs.push(measure(&log)?);
            costs.push(measure(&sync)?);
        }
        let spent: Duration = peer_costs.iter().map(|cost| cost.wall).sum();
        if let Some(peer) = peer.filter(|_| spent < PEER_PATIENCE) {
            peer_costs.push(sync_peer(peer, repo)?);
        }
        last = Some(lore);
    }
    let last = last.context("at least one run was made")?;
    Ok(Synced { last, lore: costs, git: git_costs, peer: peer_costs })
}

/// One full sync of commitmux into a database of its own.
fn sync_peer(peer: &Path, repo: &Path) -> Result<Cost> {
    let dir = tempfile::tempdir()?;
    let command = |args: &[&str]| {
        let mut command = program(peer);
        command.env("COMMITMUX_DB", dir.path().join("db.sqlite3")).env("HOME", dir.path()).args(args);
        command
    };
    output(&mut command(&["init"]))?;
    output(command(&["add-repo"]).arg(repo).args(["--name", NAME]))?;
    measure(&command(&["sync", "--repo", NAME]))
}

/// Reads all files below a folder once, so that no run pays for the disk.
pub(super) fn warm_files(dir: &Path) -> Result<()> {
    for file in files(dir)? {
        fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
    }
    Ok(())
}

pub(super) fn size(dir: &Path) -> Result<u64> {
    files(dir)?.iter().try_fold(0, |sum, file| Ok(sum + file.symlink_metadata()?.len()))
}

pub(super) fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            files.extend(self::files(&entry.path())?);
        } else if entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    Ok(files)
}

pub(super) fn figures(measured: &Measured) -> Vec<Figure> {
    let Measured { lore, git, peer, index_bytes, git_bytes, resync, latency, first, .. } = measured;
    let lore_wall = median(lore, |cost| cost.wall.as_secs_f64());
    let lore_cpu = median(lore, |cost| cost.cpu.as_secs_f64());
    let git_wall = median(git, |cost| cost.wall.as_secs_f64());
    let git_cpu = median(git, |cost| cost.cpu.as_secs_f64());
    let peak = lore.iter().map(|cost| cost.peak_bytes).max().unwrap_or(0);
    let time = |name, time: Duration, aim| Figure { name, unit: "ms", measured: millis(time), reference: None, aim };
    let against =
        |name, unit, measured, reference, aim| Figure { name, unit, measured, reference: Some(reference), aim };
    let mut figures = vec![
        against("full sync, wall", "s", lore_wall, ("git log -p -M", git_wall), Aim::RatioAtMost(0.9)),
        against("full sync, CPU", "s", lore_cpu, ("git log -p -M", git_cpu), Aim::RatioAtMost(1.5)),
    ];
    if !peer.is_empty() {
        let wall = median(peer, |cost| cost.wall.as_secs_f64());
        let cpu = median(peer, |cost| cost.cpu.as_secs_f64());
        figures.push(against("full sync, wall", "s", lore_wall, ("commitmux", wall), Aim::TimesFaster(10.0)));
        figures.push(against("full sync, CPU", "s", lore_cpu, ("commitmux", cpu), Aim::None));
    }
    figures.extend([
        against("index size", "MB", megabytes(*index_bytes), (".git", megabytes(*git_bytes)), Aim::None),
        Figure {
            name: "peak memory of a full sync",
            unit: "MB",
            measured: megabytes(peak),
            reference: None,
            aim: Aim::AtMost(400.0),
        },
        time("sync with nothing to do, median", resync.percentile(50), Aim::AtMost(50.0)),
        time("search, p50", latency.search.percentile(50), Aim::AtMost(2.0)),
        time("search, p95", latency.search.percentile(95), Aim::AtMost(10.0)),
        time("touches, p50", latency.touches.percentile(50), Aim::None),
        time("touches, p95", latency.touches.percentile(95), Aim::None),
        time("start to first answer, median", first.percentile(50), Aim::AtMost(20.0)),
        time("start to first answer, p95", first.percentile(95), Aim::None),
    ]);
    figures
}

fn report(measured: &Measured, figures: &[Figure]) -> Value {
    let runs = |costs: &[Cost]| -> Value {
        let run = |cost: &Cost| json!({"wall_s": cost.wall.as_secs_f64(), "cpu_s": cost.cpu.as_secs_f64(), "peak_bytes": cost.peak_bytes});
        costs.iter().map(run).collect()
    };
    json!({
        "repository": measured.repo.to_string_lossy(),
        "commits": measured.commits.parse::<u64>().ok(),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "load_before": measured.load,
        "lore_commit": output(program("git").args(["rev-parse", "HEAD"])).ok(),
        "figures": figures.iter().map(Figure::json).collect::<Vec<_>>(),
        "runs": {"lore": runs(&measured.lore), "git": runs(&measured.git), "commitmux": runs(&measured.peer)},
        "questions": {
            "asked": measured.latency.search.count() + measured.latency.touches.count(),
            "with_results": measured.latency.with_results,
            "failures": measured.latency.failures,
        },
    })
}

pub(super) fn median(costs: &[Cost], value: impl Fn(&Cost) -> f64) -> f64 {
    let mut values: Vec<f64> = costs.iter().map(value).collect();
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        len if len % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(super) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        let cost = |wall| Cost { wall: Duration::from_secs(wall), cpu: Duration::ZERO, peak_bytes: 0 };
        let wall = |costs: &[Cost]| median(costs, |cost| cost.wall.as_secs_f64());
        assert!((wall(&[cost(9), cost(1), cost(2)]) - 2.0).abs() < 1e-9);
        assert!((wall(&[cost(4), cost(1)]) - 2.5).abs() < 1e-9);
    }
}
