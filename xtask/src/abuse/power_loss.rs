//! Disks as a power cut may leave them: what was synced is there, and of the rest anything.

use anyhow::Result;
use lore_testkit::{
    Random,
    faults::{power::Loss, spread},
};

use super::{Bench, Case, Outcome, points::rehearse};

/// One case for each workload.
pub(super) const CASES: &[Case] = &[
    Case { name: "power-loss/first-sync", run: |bench| cut(bench, "first-sync") },
    Case { name: "power-loss/next-sync", run: |bench| cut(bench, "next-sync") },
    Case { name: "power-loss/temporal", run: |bench| cut(bench, "temporal") },
    Case { name: "power-loss/join", run: |bench| cut(bench, "join") },
    Case { name: "power-loss/remove", run: |bench| cut(bench, "remove") },
    Case { name: "power-loss/reindex", run: |bench| cut(bench, "reindex") },
    Case { name: "power-loss/migrate", run: |bench| cut(bench, "migrate") },
    Case { name: "power-loss/clone", run: |bench| cut(bench, "clone") },
    Case { name: "power-loss/fetch", run: |bench| cut(bench, "fetch") },
    Case { name: "power-loss/comment", run: |bench| cut(bench, "comment") },
    Case { name: "power-loss/first-comment", run: |bench| cut(bench, "first-comment") },
    Case { name: "power-loss/deliver", run: |bench| cut(bench, "deliver") },
    Case { name: "power-loss/user", run: |bench| cut(bench, "user") },
    Case { name: "power-loss/first-user", run: |bench| cut(bench, "first-user") },
    Case { name: "power-loss/golden", run: |bench| cut(bench, "golden") },
    Case { name: "power-loss/setup", run: |bench| cut(bench, "setup") },
];

fn cut(bench: &Bench, workload: &str) -> Result<Outcome> {
    let rehearsal = rehearse(bench, workload)?;
    let recording = rehearsal.record()?;
    let mut random = Random::new(bench.seed);
    let mut outcome = Outcome { told: format!("{} writes", recording.len()), ..Outcome::default() };
    let most = bench.points.div_ceil(Loss::ALL.len());
    // The end as well: what was acknowledged has to be durable.
    let moments: Vec<usize> = spread(recording.len(), most, &mut random).into_iter().chain([recording.len()]).collect();
    for loss in Loss::ALL {
        for after in &moments {
            outcome.points += 1;
            if let Err(error) = rehearsal.cut(&recording, *after, loss, &mut random) {
                outcome.faults.push(format!("{error:#}"));
            }
        }
    }
    Ok(outcome)
}
