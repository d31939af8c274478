//! Kills at every change of a file, and of git while Lore waits for it.

use anyhow::Result;
use lore_testkit::faults::{Fault, Whose};

use super::{Bench, Case, Outcome, points::strike_all};

/// One case for each workload.
pub(super) const CASES: &[Case] = &[
    Case { name: "kills/first-sync", run: |bench| kill(bench, "first-sync") },
    Case { name: "kills/next-sync", run: |bench| kill(bench, "next-sync") },
    Case { name: "kills/temporal", run: |bench| kill(bench, "temporal") },
    Case { name: "kills/join", run: |bench| kill(bench, "join") },
    Case { name: "kills/remove", run: |bench| kill(bench, "remove") },
    Case { name: "kills/reindex", run: |bench| kill(bench, "reindex") },
    Case { name: "kills/migrate", run: |bench| kill(bench, "migrate") },
    Case { name: "kills/migrate-late", run: |bench| kill(bench, "migrate-late") },
    Case { name: "kills/clone", run: |bench| kill(bench, "clone") },
    Case { name: "kills/fetch", run: |bench| kill(bench, "fetch") },
    Case { name: "kills/comment", run: |bench| kill(bench, "comment") },
    Case { name: "kills/first-comment", run: |bench| kill(bench, "first-comment") },
    Case { name: "kills/deliver", run: |bench| kill(bench, "deliver") },
    Case { name: "kills/user", run: |bench| kill(bench, "user") },
    Case { name: "kills/first-user", run: |bench| kill(bench, "first-user") },
    Case { name: "kills/golden", run: |bench| kill(bench, "golden") },
    Case { name: "kills/setup", run: |bench| kill(bench, "setup") },
    Case { name: "kills/git-in-clone", run: |bench| kill_git(bench, "clone") },
    Case { name: "kills/git-in-fetch", run: |bench| kill_git(bench, "fetch") },
    Case { name: "kills/git-in-golden", run: |bench| kill_git(bench, "golden") },
];

fn kill(bench: &Bench, workload: &str) -> Result<Outcome> {
    strike_all(bench, workload, &[Fault::Kill], Whose::Everybodys)
}

fn kill_git(bench: &Bench, workload: &str) -> Result<Outcome> {
    strike_all(bench, workload, &[Fault::Kill], Whose::Others)
}
