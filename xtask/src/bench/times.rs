//! How long answers took: percentiles of measured times.

use std::time::Duration;

/// Times of answers, shortest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    /// Of measured times in any order.
    pub(crate) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The time that this many of a hundred answers do not exceed; 0 where nothing was measured.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }

    /// The longest of them.
    pub(crate) fn longest(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }

    /// How many were measured.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }
}

/// The middle one; of two, the lower.
pub(crate) fn median(values: &[usize]) -> Option<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times = Times::new((1..=300).rev().map(Duration::from_millis).collect());
        assert_eq!(times.percentile(50), Duration::from_millis(150));
        assert_eq!(times.percentile(95), Duration::from_millis(285));
        assert_eq!(times.longest(), Duration::from_millis(300));
        assert_eq!(Times::new(vec![Duration::from_millis(7)]).percentile(95), Duration::from_millis(7));
        assert_eq!(Times::default().percentile(50), Duration::ZERO);
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[5, 1, 3]), Some(3));
        assert_eq!(median(&[4, 1, 3, 2]), Some(2));
        assert_eq!(median(&[]), None);
    }
}
