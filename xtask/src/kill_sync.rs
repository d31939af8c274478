//! `cargo xtask kill-sync`: SIGKILL at random moments of a sync, and the index must be that of an undisturbed one.

use std::{path::PathBuf, process::Child, time::Duration};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::{
    crash::{Kills, Report, kill_and_compare},
    descendants,
};
use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::program::{build_release, say};

/// Kills `lore sync` at random moments and compares the index with that of an undisturbed sync.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The repository.
    path: PathBuf,

    /// How many syncs are killed while they run.
    #[arg(long, default_value_t = 20, value_name = "N")]
    times: usize,

    /// Decides about the moments.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    /// The binary to test, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,
}

/// Runs the comparison; fails where anything differs.
pub(crate) fn run(args: Args) -> Result<()> {
    let Args { path, times, seed, lore } = args;
    let binary = lore.map_or_else(build_release, Ok)?;
    let binary = binary.canonicalize().with_context(|| format!("cannot find {}", binary.display()))?;
    let path = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
    let mut kills = 0;
    let mut kill_in_turn = |child: &mut Child| {
        kills += 1;
        // In turn: what a power cut does, and what `kill -9 PID` does, which leaves the gits of lore running.
        if kills % 2 == 1 { kill_tree(child) } else { Ok(child.kill()?) }
    };
    let report = kill_and_compare(&binary, &path, Kills { times, attempts: times * 10, seed }, &mut kill_in_turn)?;
    print(&report);
    ensure!(report.differences.is_empty(), "{} of {} indexes differ", report.differences.len(), report.indexes);
    ensure!(report.killed.len() == times, "only {} syncs could be killed while they ran", report.killed.len());
    say("every index equals that of the undisturbed sync");
    Ok(())
}

fn print(report: &Report) {
    let moments: Vec<String> = report.killed.iter().map(|moment| seconds(*moment)).collect();
    say(&format!("undisturbed sync: {} s, {} rows", seconds(report.undisturbed), report.rows));
    say(&format!("killed {} times, after (s): {}", report.killed.len(), moments.join(" ")));
    say(&format!("indexes completed and compared: {}", report.indexes));
    for difference in &report.differences {
        say(difference);
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// Kills the process and all that it has started; where the system does not tell which those are, the process alone.
pub(crate) fn kill_tree(child: &mut Child) -> Result<()> {
    let started = descendants(child.id());
    child.kill()?;
    for id in started {
        match kill(Pid::from_raw(i32::try_from(id)?), Signal::SIGKILL) {
            // It ended first.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(error).with_context(|| format!("process {id} cannot be killed")),
        }
    }
    Ok(())
}
