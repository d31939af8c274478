//! `cargo xtask kill-server`: SIGKILL at random moments of a team server's life, and it must keep what it promised.

use std::{path::PathBuf, process::Child, time::Duration};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::team::kill::{Kills, kill_and_compare};

use crate::{
    kill_sync::kill_tree,
    program::{build_release, say},
};

/// Kills `lore server` while a team uses it, and compares what it says afterwards with what it acknowledged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How often the server is killed.
    #[arg(long, default_value_t = 20, value_name = "N")]
    times: usize,

    /// The longest time between a start and the next kill.
    #[arg(long, default_value_t = 5, value_name = "N")]
    seconds: u64,

    /// Users beside the admin.
    #[arg(long, default_value_t = 4, value_name = "N")]
    users: usize,

    /// Lines of each repository.
    #[arg(long, default_value_t = 4000, value_name = "N")]
    lines: usize,

    /// Decides about the moments.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    /// The binary to test, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,
}

/// Runs the comparison; fails where a promise was broken.
pub(crate) fn run(args: Args) -> Result<()> {
    let Args { times, seconds, users, lines, seed, lore } = args;
    let binary = lore.map_or_else(build_release, Ok)?;
    let binary = binary.canonicalize().with_context(|| format!("cannot find {}", binary.display()))?;
    let mut kills = 0;
    let mut kill_in_turn = |child: &mut Child| {
        kills += 1;
        // In turn: what a power cut does, and what `kill -9 PID` does, which leaves the gits of lore running.
        if kills % 2 == 1 { kill_tree(child) } else { Ok(child.kill()?) }
    };
    let kills = Kills { times, most: Duration::from_secs(seconds), users, lines, seed };
    let report = kill_and_compare(&binary, kills, &mut kill_in_turn)?;
    for (title, list) in [
        ("lost", &report.lost),
        ("twice", &report.twice),
        ("inconsistent", &report.inconsistent),
        ("error", &report.errors),
    ] {
        for line in list.iter().take(20) {
            say(&format!("{title}: {line}"));
        }
    }
    say(&report.summary());
    ensure!(report.is_clean(), "the server did not keep what it promised");
    Ok(())
}
