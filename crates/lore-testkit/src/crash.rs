//! Kills `lore sync` again and again and compares what it leaves with an undisturbed index.

use std::{
    path::Path,
    process::{Child, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{Lore, Random, dump};

/// What is registered in every home.
const NAME: &str = "killed";

/// How to disturb.
#[derive(Debug, Clone, Copy)]
pub struct Kills {
    /// How many syncs are to be killed while they run.
    pub times: usize,
    /// How many are started at most: one that ends before its moment was not killed.
    pub attempts: usize,
    /// Decides about the moments.
    pub seed: u64,
}

/// What happened.
#[derive(Debug)]
pub struct Report {
    /// How long the undisturbed sync took.
    pub undisturbed: Duration,
    /// When each killed sync was killed, counted from its start.
    pub killed: Vec<Duration>,
    /// Indexes that were completed, each compared with the undisturbed one.
    pub indexes: usize,
    /// Rows in the index.
    pub rows: usize,
    /// How the indexes differ from the undisturbed one.
    pub differences: Vec<String>,
}

/// Syncs a repository once in peace; then kills syncs of it at random moments of that time, lets the last one through,
/// and compares. A sync that ends before its moment completes an index as well: it is compared, and a fresh one begun.
pub fn kill_and_compare(
    binary: &Path,
    repo: &Path,
    kills: Kills,
    kill: &mut dyn FnMut(&mut Child) -> Result<()>,
) -> Result<Report> {
    let lore = registered(binary, repo)?;
    let started = Instant::now();
    finish(&lore)?;
    let undisturbed = started.elapsed();
    let expected = dump::contents(&lore.home().join("lore.db"))?;
    let mut report =
        Report { undisturbed, killed: Vec::new(), indexes: 0, rows: expected.lines().count(), differences: Vec::new() };
    let compare = |lore: &Lore, report: &mut Report| -> Result<()> {
        report.indexes += 1;
        let found = dump::contents(&lore.home().join("lore.db"))?;
        report.differences.extend(dump::difference(&expected, &found));
        Ok(())
    };

    let mut random = Random::new(kills.seed);
    let mut lore = registered(binary, repo)?;
    for _ in 0..kills.attempts {
        if report.killed.len() == kills.times {
            break;
        }
        let moment = random.within(undisturbed);
        if sync_until(&lore, moment, kill)? {
            report.killed.push(moment);
            opens(&lore)?;
        } else {
            compare(&lore, &mut report)?;
            lore = registered(binary, repo)?;
        }
    }
    finish(&lore)?;
    compare(&lore, &mut report)?;
    Ok(report)
}

/// A fresh home that knows the repository and nothing of its history.
fn registered(binary: &Path, repo: &Path) -> Result<Lore> {
    let lore = Lore::new(binary);
    let path = repo.to_str().context("the path of the repository is not UTF-8")?;
    run(&lore, &["add", path, "--name", NAME, "--no-sync"])?;
    Ok(lore)
}

fn finish(lore: &Lore) -> Result<()> {
    run(lore, &["sync", "--repo", NAME])
}

/// Whatever a kill left behind has to be readable at once.
fn opens(lore: &Lore) -> Result<()> {
    run(lore, &["status"])
}

fn run(lore: &Lore, args: &[&str]) -> Result<()> {
    let output = lore.run(args);
    ensure!(output.status.success(), "lore {} ({}): {}", args.join(" "), output.status, output.stderr.trim());
    Ok(())
}

/// Whether the sync was killed; if not, it had ended by itself.
fn sync_until(lore: &Lore, moment: Duration, kill: &mut dyn FnMut(&mut Child) -> Result<()>) -> Result<bool> {
    let mut command = lore.command(&["sync", "--repo", NAME]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().context("cannot start lore")?;
    wait(moment);
    if let Some(status) = child.try_wait()? {
        ensure!(status.success(), "a sync that nobody disturbed ended with {status}");
        return Ok(false);
    }
    kill(&mut child)?;
    let status = child.wait()?;
    // It may have ended between the look and the kill.
    if !status.success() && status.code().is_some() {
        bail!("a sync ended with {status} before it was killed");
    }
    Ok(!status.success())
}

fn wait(time: Duration) {
    let (_keep, nothing) = mpsc::channel::<()>();
    let Err(mpsc::RecvTimeoutError::Timeout) = nothing.recv_timeout(time) else {
        unreachable!("nobody sends, and the sender is kept")
    };
}
