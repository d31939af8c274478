//! Size-tiered merging: which segments are joined, so that their number stays small and each chunk is rewritten seldom.
//!
//! A sync adds a segment with what changed, which is little. Joining all small segments whenever there are some would rewrite a
//! repository of a few megabytes at every eighth commit. In tiers that grow by a factor of [`FANOUT`], a chunk is written once
//! for each tier that it passes: the amount written grows with the logarithm of the number of syncs.

use std::ops::Range;

/// Segments of a tier hold up to this factor more chunks than those of the tier below, and as many of one tier are joined.
const FANOUT: u64 = 4;

/// Segments of this tier (16,384 chunks) and above are not joined: rewriting them costs more than they do.
const TOP: u32 = 7;

/// More small neighbours are joined whatever their tiers, since each costs every query a look-up.
const MANY: usize = 32;

/// Runs of neighbouring segments to join. Only neighbours are joined: they hold neighbouring chunks.
pub(super) fn runs_to_join(sizes: &[u64]) -> Vec<Range<usize>> {
    let small = runs(sizes, TOP - 1);
    small.flat_map(|run| if run.len() > MANY { vec![run] } else { full_tiers(sizes, run) }).collect()
}

/// Within a run of small segments, runs that have enough segments of their highest tier. The lowest tiers come first, and a
/// segment that joins there takes no part in a higher one this time.
fn full_tiers(sizes: &[u64], within: Range<usize>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for top in 0..TOP {
        for run in runs(&sizes[within.clone()], top) {
            let run = within.start + run.start..within.start + run.end;
            let of_top = sizes[run.clone()].iter().filter(|size| tier(**size) == top).count() as u64;
            if of_top >= FANOUT && !joined.iter().any(|known| known.start < run.end && run.start < known.end) {
                joined.push(run);
            }
        }
    }
    joined
}

/// The longest runs of neighbours of which none is above this tier.
fn runs(sizes: &[u64], top: u32) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    sizes.chunk_by(move |a, b| (tier(*a) <= top) == (tier(*b) <= top)).filter_map(move |run| {
        at += run.len();
        (tier(run[0]) <= top).then_some(at - run.len()..at)
    })
}

fn tier(size: u64) -> u32 {
    size.max(1).ilog(FANOUT)
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// The sizes after syncs that add these, and how much was written in all.
    fn grow(start: &[u64], added: &[u64]) -> (Vec<u64>, u64) {
        let (mut sizes, mut written) = (start.to_vec(), 0);
        for size in added {
            sizes.push(*size);
            written += size;
            let mut runs = runs_to_join(&sizes);
            runs.sort_by_key(|run| run.start);
            for run in runs.into_iter().rev() {
                let total = sizes[run.clone()].iter().sum();
                written += total;
                sizes.splice(run, [total]);
            }
        }
        (sizes, written)
    }

    #[test]
    fn a_large_segment_is_not_rewritten_for_small_syncs() {
        let (sizes, written) = grow(&[10_700], &[12; 90]);
        assert_eq!(sizes[0], 10_700, "{sizes:?}");
        assert!(sizes.len() < 12, "{sizes:?}");
        assert!(written < 5 * 90 * 12, "{written}");
    }

    #[test]
    fn small_segments_between_larger_ones_are_joined() {
        let alternating: Vec<u64> = [1, 100].repeat(50);
        assert!(grow(&[], &alternating).0.len() < 12);
        let falling: Vec<u64> = (0..TOP).rev().flat_map(|tier| [FANOUT.pow(tier); 3]).collect();
        assert_eq!(runs_to_join(&falling), [], "fewer than the fanout of each tier");
        assert_eq!(runs_to_join(&[3; 33]).first(), Some(&(0..33)));
        assert_eq!(runs_to_join(&[20_000; 40]), []);
    }

    proptest! {
        #[test]
        fn few_segments_remain_and_little_is_written(added in vec(prop_oneof![9 => 1_u64..40, 1 => 40_u64..20_000], 1..400)) {
            let (sizes, written) = grow(&[], &added);
            let total: u64 = added.iter().sum();
            prop_assert_eq!(sizes.iter().sum::<u64>(), total, "nothing is lost");
            let small = sizes.iter().filter(|size| tier(**size) < TOP).count();
            let large = sizes.len() - small;
            prop_assert!(small <= MANY * (large + 1), "{sizes:?}");
            prop_assert!(written <= u64::from(TOP + 2) * total, "{written} of {total}");
        }
    }
}
