//! Disks that are full sooner or later: real ones, which are small.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use lore_testkit::{Random, faults::spread};

use super::{Bench, Case, Outcome, points::rehearse};
use crate::program::program;

/// One case for each workload that writes more than a little.
pub(super) const CASES: &[Case] = &[
    Case { name: "full-disk/first-sync", run: |bench| fill(bench, "first-sync") },
    Case { name: "full-disk/next-sync", run: |bench| fill(bench, "next-sync") },
    Case { name: "full-disk/temporal", run: |bench| fill(bench, "temporal") },
    Case { name: "full-disk/reindex", run: |bench| fill(bench, "reindex") },
    Case { name: "full-disk/migrate", run: |bench| fill(bench, "migrate") },
    Case { name: "full-disk/clone", run: |bench| fill(bench, "clone") },
    Case { name: "full-disk/comment", run: |bench| fill(bench, "comment") },
    Case { name: "full-disk/golden", run: |bench| fill(bench, "golden") },
];

/// Disks grow by so much: a page.
const STEP: u64 = 4096;

/// What is more than enough.
const ENOUGH: u64 = 256 << 20;

fn fill(bench: &Bench, workload: &str) -> Result<Outcome> {
    let rehearsal = rehearse(bench, workload)?;
    let scene = rehearsal.scene();
    let folder = scene.now().to_string_lossy().into_owned();
    scene.clear()?;
    let tmpfs = |option: &str| ["-t", "tmpfs", "-o", option, "tmpfs"].map(str::to_owned).to_vec();
    let mounted = run("mount", &[tmpfs(&format!("size={ENOUGH}")), vec![folder.clone()]].concat());
    if !mounted {
        return Ok(Outcome {
            told: "skipped: this process may not mount a small disk".to_owned(),
            ..Outcome::default()
        });
    }
    let outcome = (|| {
        scene.restore()?;
        let before = used(&folder)?;
        let peace = rehearsal.peak(&mut || used(&folder))?;
        let mut outcome = Outcome::default();
        let mut random = Random::new(bench.seed);
        let pages = usize::try_from((peace + (1 << 20)).saturating_sub(before) / STEP)?;
        let mut full = 0;
        for page in spread(pages, bench.points.div_ceil(8).max(20), &mut random) {
            let size = before + page as u64 * STEP;
            let resize = |bytes: u64| {
                let option = format!("remount,size={bytes}");
                ensure!(run("mount", &["-o".to_owned(), option, folder.clone()]), "a small disk cannot be resized");
                Ok(())
            };
            outcome.points += 1;
            match rehearsal.fill(&|| resize(size), &|| resize(ENOUGH)) {
                Ok(was_full) => full += usize::from(was_full),
                Err(error) => outcome.faults.push(format!("{} KB free: {error:#}", (size - before) / 1024)),
            }
        }
        outcome.told = format!("full {full} times, with {} to {} KB free", STEP / 1024, pages as u64 * STEP / 1024);
        Ok(outcome)
    })();
    ensure!(run("umount", &[folder]), "a small disk stays mounted");
    outcome
}

/// How many bytes of a disk are used.
fn used(folder: &str) -> Result<u64> {
    let printed = crate::program::output(program("df").args(["--output=used", "--block-size=1", folder]))?;
    printed.lines().last().context("df prints nothing")?.trim().parse().context("df prints no number")
}

fn run(name: &str, args: &[String]) -> bool {
    program(name).args(args).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
