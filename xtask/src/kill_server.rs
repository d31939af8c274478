//! `cargo xtask kill-server`: SIGKILL at random moments of a team server's life, and it must keep what it promised.

use std::{
    path::{Path, PathBuf},
    process::Child,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::team::{
    kill::{Kills, Load, kill_and_compare},
    restart::{Restarts, restart_at_once},
};

use crate::{
    kill_sync::kill_tree,
    program::{build_release, say},
};

/// How long the server runs at most where it is only killed and started again.
const RUNNING: Duration = Duration::from_millis(500);

/// Lines of the other repositories, which are added, refreshed and removed all the time.
const SMALL: usize = 4000;

/// Kills `lore server` while a team uses it, and compares what it says afterwards with what it acknowledged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How often the server is killed, at least.
    #[arg(long, default_value_t = 20, value_name = "N")]
    times: usize,

    /// The longest time between a start and the next kill.
    #[arg(long, default_value_t = 5, value_name = "N")]
    seconds: u64,

    /// Users beside the admin who act: they activate, switch, and make composites.
    #[arg(long, default_value_t = 4, value_name = "N")]
    users: usize,

    /// Users who only ask, at times of their own, as in `bench server`.
    #[arg(long, default_value_t = 50, value_name = "N")]
    load_users: usize,

    /// Questions in a second of each user who only asks.
    #[arg(long, default_value_t = 2.0, value_name = "N")]
    rate: f64,

    /// Lines of the repository that they ask about. After each kill all of it is checked, so a million takes its time.
    #[arg(long, default_value_t = 200_000, value_name = "N")]
    lines: usize,

    /// Decides about the moments.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    /// Does nothing but kill the server so often while it starts programs, and start it again at once: no start may be refused.
    #[arg(long, value_name = "N", conflicts_with_all = ["times", "users", "load_users", "rate", "lines"])]
    restarts: Option<usize>,

    /// The binary to test, instead of a fresh release build.
    #[arg(long, value_name = "BINARY")]
    lore: Option<PathBuf>,
}

/// Runs the comparison; fails where a promise was broken.
pub(crate) fn run(args: Args) -> Result<()> {
    let Args { times, seconds, users, load_users, rate, lines, seed, restarts, lore } = args;
    ensure!(rate > 0.0, "without a rate nobody asks; for no load, say `--load-users 0`");
    let binary = lore.map_or_else(build_release, Ok)?;
    let binary = binary.canonicalize().with_context(|| format!("cannot find {}", binary.display()))?;
    if let Some(times) = restarts {
        return restart(&binary, Restarts { times, most: RUNNING.min(Duration::from_secs(seconds)), seed });
    }
    let mut kills = 0;
    let mut kill_in_turn = |child: &mut Child| {
        kills += 1;
        // In turn: what a power cut does, and what `kill -9 PID` does, which leaves the gits of lore running.
        if kills % 2 == 1 { kill_tree(child) } else { Ok(child.kill()?) }
    };
    let load = (load_users > 0).then_some(Load { users: load_users, rate, lines });
    let kills = Kills { times, most: Duration::from_secs(seconds), users, lines: SMALL.min(lines), load, seed };
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

/// Kills and starts the server so many times; fails where a start was refused.
fn restart(binary: &Path, restarts: Restarts) -> Result<()> {
    let report = restart_at_once(binary, restarts)?;
    for refused in &report.refused {
        say(refused);
    }
    say(&report.summary());
    ensure!(report.refused.is_empty(), "a killed server could not be started again at once");
    Ok(())
}
