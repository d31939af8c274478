//! A few of the points at which `cargo xtask abuse` strikes: kills, I/O errors, power cuts, damaged files.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::{io::Write as _, path::Path};

use lore_testkit::{
    Random,
    faults::{
        Errno, Fault, Rehearsal, Whose, can_trace,
        damage::{Damage, Kind, Whole},
        power::Loss,
        spread, workloads,
    },
};

use crate::switches;

/// Whether programs can be watched here, and a word about it where not.
fn can_watch() -> bool {
    let can = can_trace();
    if !can {
        writeln!(std::io::stderr(), "skipped: this process may not watch others").expect("standard error is open");
    }
    can
}

fn rehearse(workload: &str) -> Rehearsal {
    let workload = workloads::named(workload).expect("there is such a workload");
    Rehearsal::new(Path::new(env!("CARGO_BIN_EXE_lore")), workload).expect("it works in peace")
}

/// So many points; many where there is time.
fn some(points: usize) -> usize {
    if switches::slow_tests() { points * 5 } else { points }
}

fn strike(workload: &str, faults: &[Fault], points: usize) {
    if !can_watch() {
        return;
    }
    let rehearsal = rehearse(workload);
    let mut random = Random::new(7);
    let mut struck = 0;
    for fault in faults {
        for at in spread(rehearsal.points(Whose::Everybodys), some(points), &mut random) {
            let seen = rehearsal.strike(*fault, at, Whose::Everybodys);
            struck += usize::from(seen.unwrap_or_else(|error| panic!("{workload}: {error:#}")).struck.is_some());
        }
    }
    assert!(struck > 0, "{workload} was never struck");
}

const ERRORS: [Fault; 2] = [Fault::Fail(Errno::EIO), Fault::FailFromNowOn(Errno::ENOSPC)];

#[test]
fn a_kill_at_any_write_of_a_sync_is_made_good_by_the_next() {
    strike("next-sync", &[Fault::Kill], 6);
}

#[test]
fn a_kill_at_any_write_of_an_upgrade_is_made_good_by_the_next_run() {
    strike("migrate", &[Fault::Kill], 4);
}

#[test]
fn a_kill_keeps_users_that_were_acknowledged() {
    strike("first-user", &[Fault::Kill], 4);
}

#[test]
fn an_io_error_of_a_sync_is_told_and_made_good_by_the_next() {
    strike("next-sync", &ERRORS, 4);
}

#[test]
fn a_disk_that_is_full_for_a_moment_of_an_upgrade_is_not_called_damage() {
    if !can_watch() {
        return;
    }
    let rehearsal = rehearse("migrate-late");
    // The memory that processes share is a file, and reading goes on without it.
    let points = rehearsal.points_on("lore.db-shm");
    assert!(!points.is_empty(), "nothing is shared");
    for at in spread(points.len(), some(8), &mut Random::new(7)) {
        let seen = rehearsal.strike(Fault::Fail(Errno::ENOSPC), points[at - 1], Whose::Everybodys);
        seen.unwrap_or_else(|error| panic!("migrate-late: {error:#}"));
    }
}

#[test]
fn an_io_error_of_a_clone_is_told_and_made_good_by_the_next() {
    strike("clone", &ERRORS, 4);
}

#[test]
fn an_io_error_of_a_job_that_is_waited_for_is_told_and_made_good_by_the_next() {
    // Whoever waits is told after a few seconds.
    if switches::slow_tests() {
        strike("golden", &ERRORS, 1);
    }
}

#[test]
fn an_io_error_leaves_a_hosts_file_whole() {
    strike("setup", &ERRORS, 5);
}

/// What a power cut leaves at some moments and at the end.
fn cut(workload: &str, points: usize) {
    if !can_watch() {
        return;
    }
    let rehearsal = rehearse(workload);
    let recording = rehearsal.record().expect("it can be written down");
    assert!(!recording.is_empty());
    let mut random = Random::new(7);
    let mut moments = spread(recording.len(), some(points), &mut random);
    // At the end everything was acknowledged.
    moments.push(recording.len());
    for loss in Loss::ALL {
        for after in &moments {
            let cut = rehearsal.cut(&recording, *after, loss, &mut random);
            cut.unwrap_or_else(|error| panic!("{workload}: {error:#}"));
        }
    }
}

#[test]
fn a_power_cut_takes_nothing_of_a_comment_that_was_acknowledged() {
    cut("first-comment", 2);
}

#[test]
fn a_power_cut_takes_nothing_that_the_next_sync_does_not_bring_back() {
    cut("next-sync", 2);
}

#[test]
fn a_power_cut_leaves_a_hosts_file_whole() {
    cut("setup", 3);
}

#[test]
fn damage_of_what_is_derived_is_found_and_mended() {
    let whole = Whole::new(Path::new(env!("CARGO_BIN_EXE_lore"))).expect("it works in peace");
    let mut random = Random::new(7);
    for kind in [Kind::Index, Kind::Segments, Kind::Clones, Kind::OwnFolders] {
        for damage in Damage::ALL.into_iter().chain(std::iter::repeat_n(Damage::Flip, some(1))) {
            whole.harm(kind, damage, &mut random).unwrap_or_else(|error| panic!("{kind:?}: {error:#}"));
        }
    }
}

#[test]
fn damage_of_what_exists_nowhere_else_is_told_and_not_written_over() {
    let whole = Whole::new(Path::new(env!("CARGO_BIN_EXE_lore"))).expect("it works in peace");
    let mut random = Random::new(7);
    for kind in [Kind::Messages, Kind::Team, Kind::Policy, Kind::Logins, Kind::Undo, Kind::Config] {
        for damage in [Damage::Cut, Damage::Blank, Damage::Flip] {
            whole.harm(kind, damage, &mut random).unwrap_or_else(|error| panic!("{kind:?}: {error:#}"));
        }
    }
}
