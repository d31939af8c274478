//! Strikes one workload at many points and sums up what was seen.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use lore_testkit::{
    Random,
    faults::{Fault, Rehearsal, Whose, spread, workloads},
};

use super::{Bench, Outcome};

/// A workload that was done in peace.
pub(super) fn rehearse(bench: &Bench, workload: &str) -> Result<Rehearsal> {
    Rehearsal::new(&bench.lore, workloads::named(workload).context("there is no such workload")?)
}

/// Each of these faults at every point, or at as many as are asked for.
pub(super) fn strike_all(bench: &Bench, workload: &str, faults: &[Fault], whose: Whose) -> Result<Outcome> {
    let rehearsal = rehearse(bench, workload)?;
    let all = rehearsal.points(whose);
    let mut random = Random::new(bench.seed);
    let mut outcome = Outcome::default();
    let (mut missed, mut succeeded) = (0, 0);
    let mut left = BTreeSet::new();
    for fault in faults {
        for at in spread(all, bench.points.div_ceil(faults.len()), &mut random) {
            match rehearsal.strike(*fault, at, whose) {
                Ok(seen) => {
                    // The last of them may not come about: how much is written varies a little.
                    let struck = usize::from(seen.struck.is_some());
                    outcome.points += struck;
                    missed += 1 - struck;
                    succeeded += usize::from(seen.struck.is_some() && seen.succeeded);
                    left.extend(seen.left);
                }
                Err(error) => {
                    outcome.points += 1;
                    outcome.faults.push(format!("{error:#}"));
                }
            }
        }
    }
    let mut told = vec![format!("{all} writes")];
    if missed > 0 {
        told.push(format!("{missed} not reached"));
    }
    if succeeded > 0 {
        told.push(format!("{succeeded} succeeded all the same"));
    }
    if let Some(one) = left.first() {
        told.push(format!("{} files left over such as {one}", left.len()));
    }
    outcome.told = told.join(", ");
    Ok(outcome)
}
