//! I/O errors and full disks at every change of a file, once and from then on.

use anyhow::Result;
use lore_testkit::faults::{Errno, Fault, Whose};

use super::{Bench, Case, Outcome, points::strike_all};

/// One case for each workload.
pub(super) const CASES: &[Case] = &[
    Case { name: "io-errors/first-sync", run: |bench| fail(bench, "first-sync") },
    Case { name: "io-errors/next-sync", run: |bench| fail(bench, "next-sync") },
    Case { name: "io-errors/temporal", run: |bench| fail(bench, "temporal") },
    Case { name: "io-errors/join", run: |bench| fail(bench, "join") },
    Case { name: "io-errors/remove", run: |bench| fail(bench, "remove") },
    Case { name: "io-errors/reindex", run: |bench| fail(bench, "reindex") },
    Case { name: "io-errors/migrate", run: |bench| fail(bench, "migrate") },
    Case { name: "io-errors/migrate-late", run: |bench| fail(bench, "migrate-late") },
    Case { name: "io-errors/clone", run: |bench| fail(bench, "clone") },
    Case { name: "io-errors/fetch", run: |bench| fail(bench, "fetch") },
    Case { name: "io-errors/comment", run: |bench| fail(bench, "comment") },
    Case { name: "io-errors/first-comment", run: |bench| fail(bench, "first-comment") },
    Case { name: "io-errors/deliver", run: |bench| fail(bench, "deliver") },
    Case { name: "io-errors/user", run: |bench| fail(bench, "user") },
    Case { name: "io-errors/first-user", run: |bench| fail(bench, "first-user") },
    Case { name: "io-errors/golden", run: |bench| fail(bench, "golden") },
    Case { name: "io-errors/setup", run: |bench| fail(bench, "setup") },
];

fn fail(bench: &Bench, workload: &str) -> Result<Outcome> {
    let faults = [
        Fault::Fail(Errno::EIO),
        Fault::Fail(Errno::ENOSPC),
        Fault::FailFromNowOn(Errno::EIO),
        Fault::FailFromNowOn(Errno::ENOSPC),
    ];
    strike_all(bench, workload, &faults, Whose::Everybodys)
}
