//! `cargo xtask abuse`: what Lore does when it is killed, starved, damaged and fed with what nobody should feed it.
//!
//! Each case says how many points it tried and what came of them; one that fails does not keep the others from running.

// Programs are watched as a debugger watches them, which is another thing on every system.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod damage;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod full_disk;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod io_errors;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod kills;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod points;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod power_loss;

mod hostile;
mod scale;
mod trial;

use std::{path::PathBuf, time::Instant};

use anyhow::{Context as _, Result, ensure};

use crate::{
    bench::grid,
    program::{build_release, say},
};

/// What a case is run with.
#[derive(Debug)]
pub(crate) struct Bench {
    /// The program under test.
    pub(crate) lore: PathBuf,
    /// Decides about everything that is drawn.
    pub(crate) seed: u64,
    /// How many points of each kind are tried, where a case has more.
    pub(crate) points: usize,
}

/// What came of a case.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How many points were tried.
    pub(crate) points: usize,
    /// What was seen, in a few words.
    pub(crate) told: String,
    /// What was not as it must be, a line each.
    pub(crate) faults: Vec<String>,
}

/// One way to treat Lore badly.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    /// `group/what`, which the command line selects by its beginning.
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Bench) -> Result<Outcome>,
}

/// Every case, in the order in which they run.
const CASES: &[&[Case]] = &[
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    kills::CASES,
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    io_errors::CASES,
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    power_loss::CASES,
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    full_disk::CASES,
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    damage::CASES,
    hostile::CASES,
    scale::CASES,
];

/// Treats Lore badly and checks that nothing is lost, that it says what is wrong, and that the next run recovers.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only cases whose names begin so; `--list` shows them.
    names: Vec<String>,

    /// Lists the cases and runs none.
    #[arg(long)]
    list: bool,

    /// How many points of each kind are tried, where a case has more.
    #[arg(long, default_value_t = 400, value_name = "N")]
    points: usize,

    /// Decides about everything that is drawn.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    /// The binary to test, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,
}

/// Runs the chosen cases; fails where one of them found a fault.
pub(crate) fn run(args: Args) -> Result<()> {
    let Args { names, list, points, seed, lore } = args;
    let is_chosen = |case: &&Case| names.is_empty() || names.iter().any(|name| case.name.starts_with(name.as_str()));
    let chosen: Vec<&Case> = CASES.iter().copied().flatten().filter(is_chosen).collect();
    ensure!(!chosen.is_empty(), "no case is called so: `cargo xtask abuse --list` shows them");
    if list {
        for case in chosen {
            say(case.name);
        }
        return Ok(());
    }
    let lore = lore.map_or_else(build_release, Ok)?;
    let lore = lore.canonicalize().with_context(|| format!("cannot find {}", lore.display()))?;
    let bench = Bench { lore, seed, points };
    let mut rows = vec![["case", "points", "faults", "seconds", "what was seen"].map(str::to_owned).to_vec()];
    let mut faulty = 0;
    for case in chosen {
        let started = Instant::now();
        let outcome = (case.run)(&bench).unwrap_or_else(|error| Outcome {
            faults: vec![format!("could not be tried: {error:#}")],
            ..Outcome::default()
        });
        let seconds = started.elapsed().as_secs();
        say(&format!("{}: {} points, {} faults, {seconds} s", case.name, outcome.points, outcome.faults.len()));
        for fault in &outcome.faults {
            say(&format!("  {fault}"));
        }
        faulty += usize::from(!outcome.faults.is_empty());
        rows.push(vec![
            case.name.to_owned(),
            outcome.points.to_string(),
            outcome.faults.len().to_string(),
            seconds.to_string(),
            outcome.told,
        ]);
    }
    say("");
    say(&grid(&rows));
    ensure!(faulty == 0, "{faulty} cases found faults");
    Ok(())
}
