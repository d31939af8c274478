//! A team server that is killed keeps what it promised: users, tokens, jobs, activations, and an index that answers the same.

use std::{path::Path, time::Duration};

use lore_testkit::team::kill::{Kills, Load, kill_and_compare};

use crate::switches;

#[test]
fn a_killed_server_keeps_what_it_promised() {
    let times = if switches::slow_tests() { 8 } else { 3 };
    // A little of the load that `cargo xtask kill-server` makes.
    let load = Some(Load { users: 4, rate: 2.0, lines: 600 });
    let kills = Kills { times, most: Duration::from_secs(2), users: 2, lines: 600, load, seed: 3 };
    // Only the server itself is killed: what it has started may still run when the next one begins.
    let report = kill_and_compare(Path::new(env!("CARGO_BIN_EXE_lore")), kills, &mut |child| Ok(child.kill()?))
        .expect("every server starts, and every job ends");
    assert!(report.is_clean(), "{report:#?}");
    assert!(report.kills >= times && report.starts > 0 && report.compared > 0, "{report:#?}");
    assert!(report.logins > 0 && report.rotations > 0 && report.load > 0, "{report:#?}");
}
