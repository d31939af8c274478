//! How sure a mean is: intervals by drawing the questions again and again, always from the same seed.
//!
//! Questions are drawn within their set, so that a mean over repositories stays one: each counts the same, however many
//! questions it has.

use serde_json::{Value, json};

/// So many draws: the interval's ends are then sure to about a hundredth of its width.
const DRAWS: usize = 2_000;

const SEED: u64 = 0x5eed_1e55_0bad_cafe;

/// A mean with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    /// The mean.
    pub(crate) mean: f64,
    /// Of a hundred such intervals, 95 hold the mean that endless questions would have.
    pub(crate) low: f64,
    /// Its other end.
    pub(crate) high: f64,
}

impl Estimate {
    /// Whether the interval lies on one side of zero, so that a difference is more than chance.
    pub(crate) fn is_clear(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// For programs, with four digits.
    pub(crate) fn as_json(&self) -> Value {
        let rounded = |value: f64| (value * 1e4).round() / 1e4;
        json!({"mean": rounded(self.mean), "low": rounded(self.low), "high": rounded(self.high)})
    }
}

/// The mean over sets of the mean of each.
pub(crate) fn estimate(sets: &[Vec<f64>]) -> Estimate {
    let sets: Vec<&[f64]> = sets.iter().map(Vec::as_slice).filter(|set| !set.is_empty()).collect();
    let mut random = Random(SEED);
    let mut means: Vec<f64> = (0..DRAWS)
        .map(|_| mean_of(&sets, |set| (0..set.len()).map(|_| set[random.below(set.len())]).sum::<f64>()))
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let end = |share: usize| means.get(DRAWS * share / 1_000).copied().unwrap_or(0.0);
    Estimate { mean: mean_of(&sets, |set| set.iter().sum()), low: end(25), high: end(974) }
}

/// What `of` has more than `than`: both answer the same questions in the same order.
pub(crate) fn difference(of: &[Vec<f64>], than: &[Vec<f64>]) -> Estimate {
    let less = |(of, than): (&Vec<f64>, &Vec<f64>)| of.iter().zip(than).map(|(of, than)| of - than).collect();
    estimate(&of.iter().zip(than).map(less).collect::<Vec<_>>())
}

#[expect(clippy::cast_precision_loss, reason = "nobody asks so many questions")]
fn mean_of(sets: &[&[f64]], mut sum: impl FnMut(&[f64]) -> f64) -> f64 {
    if sets.is_empty() {
        return 0.0;
    }
    sets.iter().map(|set| sum(set) / set.len() as f64).sum::<f64>() / sets.len() as f64
}

/// Splitmix64: the same draws on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let wide = u128::from(mixed ^ (mixed >> 31)) * end as u128;
        usize::try_from(wide >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_books() {
        // A hundred questions of which half are answered: the mean has a standard error of .05.
        let half: Vec<f64> = (0..100).map(|at| f64::from(at % 2)).collect();
        let estimate = estimate(&[half]);
        assert!((estimate.mean - 0.5).abs() < 1e-9);
        assert!((estimate.low - 0.402).abs() < 0.015 && (estimate.high - 0.598).abs() < 0.015, "{estimate:?}");
    }

    #[test]
    fn it_is_the_same_every_time_and_certain_where_nothing_varies() {
        let values = vec![vec![0.1, 0.9, 0.3, 0.4]];
        assert_eq!(estimate(&values), estimate(&values));
        assert_eq!(estimate(&[vec![0.5; 20]]), Estimate { mean: 0.5, low: 0.5, high: 0.5 });
        assert_eq!(estimate(&[]), Estimate { mean: 0.0, low: 0.0, high: 0.0 });
    }

    #[test]
    fn every_set_counts_the_same() {
        let estimate = estimate(&[vec![1.0; 100], vec![0.0; 2], Vec::new()]);
        assert!((estimate.mean - 0.5).abs() < 1e-9, "{estimate:?}");
        assert!((estimate.low - 0.5).abs() < 1e-9, "questions are drawn within their set");
    }

    #[test]
    fn a_difference_is_of_the_same_question() {
        let of: Vec<f64> = (0..50).map(|at| f64::from(at % 5) / 5.0 + 0.1).collect();
        let than: Vec<f64> = (0..50).map(|at| f64::from(at % 5) / 5.0).collect();
        let difference = difference(std::slice::from_ref(&of), &[than]);
        assert!((difference.low - 0.1).abs() < 1e-9 && difference.is_clear(), "{difference:?}");
        assert!(!super::difference(std::slice::from_ref(&of), std::slice::from_ref(&of)).is_clear());
        assert_eq!(difference.as_json(), json!({"mean": 0.1, "low": 0.1, "high": 0.1}));
    }
}
