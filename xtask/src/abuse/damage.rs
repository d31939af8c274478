//! Damaged files of every kind: found by `lore doctor --deep`, mended by what it says.

use std::collections::BTreeMap;

use anyhow::Result;
use lore_testkit::{
    Random,
    faults::damage::{Damage, Kind, Whole},
};

use super::{Bench, Case, Outcome};

/// One case for each kind of file.
pub(super) const CASES: &[Case] = &[
    Case { name: "damage/index", run: |bench| harm(bench, Kind::Index) },
    Case { name: "damage/segments", run: |bench| harm(bench, Kind::Segments) },
    Case { name: "damage/clones", run: |bench| harm(bench, Kind::Clones) },
    Case { name: "damage/own-folders", run: |bench| harm(bench, Kind::OwnFolders) },
    Case { name: "damage/messages", run: |bench| harm(bench, Kind::Messages) },
    Case { name: "damage/team", run: |bench| harm(bench, Kind::Team) },
    Case { name: "damage/policy", run: |bench| harm(bench, Kind::Policy) },
    Case { name: "damage/logins", run: |bench| harm(bench, Kind::Logins) },
    Case { name: "damage/undo", run: |bench| harm(bench, Kind::Undo) },
    Case { name: "damage/config", run: |bench| harm(bench, Kind::Config) },
];

fn harm(bench: &Bench, kind: Kind) -> Result<Outcome> {
    let whole = Whole::new(&bench.lore)?;
    let files = whole.count(kind);
    let mut random = Random::new(bench.seed);
    let mut outcome = Outcome::default();
    let (mut found, mut harmless, mut unnoticed) = (0, 0, 0);
    let mut healed: BTreeMap<&str, usize> = BTreeMap::new();
    for round in 0..bench.points {
        // Bits more often than the rest: they are what is hardest to find.
        let damage = [Damage::Flip, Damage::Cut, Damage::Flip, Damage::Blank, Damage::Flip, Damage::Delete][round % 6];
        outcome.points += 1;
        match whole.harm(kind, damage, &mut random) {
            Ok(noticed) => {
                found += usize::from(noticed.found);
                harmless += usize::from(noticed.harmless && !noticed.found);
                unnoticed += usize::from(!noticed.harmless && !noticed.found && noticed.healed_by.is_empty());
                if !noticed.healed_by.is_empty() {
                    *healed.entry(noticed.healed_by).or_default() += 1;
                }
            }
            Err(error) => outcome.faults.push(format!("{error:#}")),
        }
    }
    let mut told = vec![format!("{files} files; {found} found, {harmless} without effect, {unnoticed} not noticed")];
    told.extend(healed.iter().map(|(by, times)| format!("{times} healed by {by}")));
    outcome.told = told.join(", ");
    Ok(outcome)
}
