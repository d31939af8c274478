//! Chooses the commits of a comparison that does not look at all of them.

use std::collections::HashSet;

use anyhow::Result;

use super::{Selection, Truth};
use crate::Random;

/// The selected commits, in the order in which they are given.
pub(super) fn choose(truth: &Truth, all: Vec<String>, selection: Selection) -> Result<Vec<String>> {
    let Selection::Sample { random, seed, renames_among_newest } = selection else {
        return Ok(all);
    };
    let mut chosen: HashSet<String> = truth.roots()?.into_iter().collect();
    chosen.extend(truth.with_renames(&all[..all.len().min(renames_among_newest)]));
    chosen.extend(some(&all, random, seed));
    Ok(all.into_iter().filter(|commit| chosen.contains(commit)).collect())
}

/// So many different ones, each equally likely.
fn some(all: &[String], count: usize, seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut pool: Vec<&String> = all.iter().collect();
    let mut taken = Vec::new();
    while taken.len() < count && !pool.is_empty() {
        taken.push(pool.swap_remove(random.below(pool.len())).clone());
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_different_commits() {
        let all: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let taken = some(&all, 30, 7);
        assert_eq!(taken, some(&all, 30, 7));
        assert_ne!(taken, some(&all, 30, 8));
        assert_eq!(taken.iter().collect::<HashSet<_>>().len(), 30);
        assert_eq!(some(&all, 1_000, 7).len(), 100);
    }
}
