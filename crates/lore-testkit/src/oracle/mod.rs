//! Compares what `lore` knows of a repository with what git itself says, commit by commit.
//!
//! Git is asked with one call per question and per commit. The stream that Lore parses is deliberately not used: a
//! mistake in reading it must not be made twice.

mod compare;
mod sample;
mod truth;
mod why;

use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::{Context as _, Result};
use serde_json::Value;

pub use truth::{Change, Details, ExpectedPatch, Truth};
pub use why::{LineOrigin, Log, Together};

use crate::Lore;

/// Prefixes of paths that are left out unless the user says otherwise.
pub const DEFAULT_EXCLUDES: [&str; 4] = ["node_modules/", "vendor/", "dist/", ".git/"];

/// Each comparison starts five processes one after the other; two at a time keep two cores busy.
const THREADS: usize = 2;

/// Which commits are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// Every commit.
    All,
    /// Some at random, every root, and every commit with a rename or a copy among the newest.
    Sample {
        /// How many at random.
        random: usize,
        /// What decides which; the same number gives the same commits.
        seed: u64,
        /// How many of the newest are searched for renames and copies.
        renames_among_newest: usize,
    },
}

/// What a comparison found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Commits that were looked at.
    pub commits: usize,
    /// Commits whose patch both sides have.
    pub patches_compared: usize,
    /// Commits for which there must be no patch.
    pub patches_absent: usize,
    /// Commits whose list of files was compared.
    pub lists_compared: usize,
    /// One line for each thing that differs; none means that all is well.
    pub differences: Vec<String>,
}

impl Report {
    fn add(&mut self, other: Self) {
        self.commits += other.commits;
        self.patches_compared += other.patches_compared;
        self.patches_absent += other.patches_absent;
        self.lists_compared += other.lists_compared;
        self.differences.extend(other.differences);
    }
}

/// Compares the repository that `lore` has registered and synced under this name with the one on disk.
pub fn compare(lore: &Lore, name: &str, repo: &Path, selection: Selection) -> Result<Report> {
    let branch = default_branch(lore, name)?;
    let truth = Truth::open(repo, branch.as_deref())?;
    let all = truth.commits()?;
    let mut report = Report::default();
    report.differences.extend(count_difference(lore, name, truth.count()?)?);
    let chosen = sample::choose(&truth, all, selection)?;
    let next = AtomicUsize::new(0);
    let shared = Mutex::new(report);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(commit) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let one = compare::commit(lore, name, &truth, commit).unwrap_or_else(|error| Report {
                        differences: vec![format!("{commit} could not be compared: {error:#}")],
                        ..Report::default()
                    });
                    shared.lock().unwrap_or_else(PoisonError::into_inner).add(one);
                }
            });
        }
    });
    let mut report = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Two threads finish in any order; a report is the same each time.
    report.differences.sort();
    Ok(report)
}

/// The branch that `lore` indexes besides HEAD, by its own words.
fn default_branch(lore: &Lore, name: &str) -> Result<Option<String>> {
    let repos = json(lore, &["repos", "--json"])?;
    Ok(named(&repos, name).and_then(|repo| repo["default_branch"].as_str()).map(str::to_owned))
}

fn count_difference(lore: &Lore, name: &str, expected: u64) -> Result<Option<String>> {
    let status = json(lore, &["status", "--json"])?;
    let known = named(&status, name).map(|repo| repo["commits"].clone());
    if known.as_ref().and_then(Value::as_u64) == Some(expected) {
        return Ok(None);
    }
    Ok(Some(format!("count of commits: git {expected}, lore {}", known.unwrap_or_default())))
}

/// The entry of this name in a list of repositories, alone or below `repos`.
fn named<'v>(answer: &'v Value, name: &str) -> Option<&'v Value> {
    let list = answer.get("repos").unwrap_or(answer);
    list.as_array()?.iter().find(|repo| repo["name"] == name)
}

fn json(lore: &Lore, args: &[&str]) -> Result<Value> {
    let output = lore.run(args);
    anyhow::ensure!(output.status.success(), "lore {} ({}): {}", args.join(" "), output.status, output.stderr.trim());
    serde_json::from_slice(&output.stdout).with_context(|| format!("lore {} did not print JSON", args.join(" ")))
}
