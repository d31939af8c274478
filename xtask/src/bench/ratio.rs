//! The ratio of one program's figures to another's, with its 95 % bootstrap interval.
//!
//! Both programs did the same things in the same order, so a resample takes the same runs or queries of both: what made one
//! of them slow made the other slow too, and cancels.

use lore_testkit::Random;

use super::{
    all::Row,
    bootstrap::{difference, estimate},
};

/// As many as `bootstrap` takes.
const DRAWS: usize = 2_000;
/// Of fewer runs or queries, an interval would be narrower than chance is.
const FEWEST: usize = 5;
/// The same resamples on every machine and day.
const SEED: u64 = 20_240_229;

/// The value that so many of a hundred do not exceed, by the same rule as `Times`.
pub(super) fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

/// A percentile of one program against that of another.
pub(super) fn of_percentiles(
    name: &str,
    unit: &str,
    percent: usize,
    lore: &[f64],
    (other, values): (&str, &[f64]),
) -> Row {
    let row = Row::against(name, unit, percentile(lore, percent), (other, percentile(values, percent)));
    within(row, lore.len(), || interval(lore, values, percent))
}

/// The geometric mean of the ratios of single queries: it moves when all queries take a little longer, long before a percentile
/// does.
pub(super) fn of_each(name: &str, unit: &str, lore: &[f64], (other, values): (&str, &[f64])) -> Row {
    let logarithms = |values: &[f64]| [values.iter().map(|value| value.ln()).collect::<Vec<_>>()];
    let (lore, values) = (logarithms(lore), logarithms(values));
    let row = Row::against(name, unit, estimate(&lore).mean.exp(), (other, estimate(&values).mean.exp()));
    within(row, lore[0].len(), || {
        let ratio = difference(&lore, &values);
        [ratio.low.exp(), ratio.high.exp()]
    })
}

/// The row with an interval, where there is enough to tell one.
fn within(row: Row, count: usize, interval: impl FnOnce() -> [f64; 2]) -> Row {
    if count < FEWEST {
        return Row { note: Some(format!("too few for an interval: {count}")), ..row };
    }
    row.within(interval())
}

/// The interval of a ratio of percentiles.
fn interval(lore: &[f64], other: &[f64], percent: usize) -> [f64; 2] {
    let count = lore.len().min(other.len());
    let mut random = Random::new(SEED);
    let mut ratios: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let drawn: Vec<usize> = (0..count).map(|_| random.below(count)).collect();
            let of = |values: &[f64]| percentile(&drawn.iter().map(|at| values[*at]).collect::<Vec<_>>(), percent);
            of(lore) / of(other)
        })
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    [ratios[DRAWS * 25 / 1_000], ratios[DRAWS * 974 / 1_000]]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{super::latency::Times, *};

    /// Times that vary from query to query by a factor of a hundred.
    fn times() -> Vec<f64> {
        let mut random = Random::new(1);
        (0..100).map(|_| f64::from(1 + u32::try_from(random.below(100)).unwrap())).collect()
    }

    #[test]
    fn percentiles_are_those_of_times() {
        let values = times();
        let durations = Times::new(values.iter().map(|value| Duration::from_secs_f64(*value)).collect());
        for percent in [1, 50, 95, 100] {
            let expected = durations.percentile(percent).as_secs_f64();
            assert!((percentile(&values, percent) - expected).abs() < 1e-9, "{percent}");
        }
        assert!(percentile(&[], 50).abs() < 1e-9);
    }

    #[test]
    fn a_constant_factor_has_no_uncertainty_however_much_the_queries_differ() {
        let values = times();
        let slower: Vec<f64> = values.iter().map(|value| value * 1.25).collect();
        for row in [
            of_percentiles("p95", "ms", 95, &slower, ("baseline", &values)),
            of_each("each query", "ms", &slower, ("baseline", &values)),
        ] {
            let [low, high] = row.interval.unwrap();
            assert!((low - 1.25).abs() < 1e-6 && (high - 1.25).abs() < 1e-6, "{row:?}");
            assert!(row.is_behind());
        }
    }

    #[test]
    fn what_may_be_chance_is_not_behind() {
        let values = times();
        let mut random = Random::new(2);
        let noisy: Vec<f64> =
            values.iter().map(|value| value * if random.below(2) == 0 { 0.8 } else { 1.25 }).collect();
        let row = of_each("each query", "ms", &noisy, ("baseline", &values));
        let [low, high] = row.interval.unwrap();
        assert!(low < 1.0 && high > 1.0 && high - low > 0.02, "{row:?}");
        assert!(!row.is_behind());
    }

    #[test]
    fn a_few_runs_have_a_ratio_and_no_interval() {
        let runs = [2.0, 2.1, 2.2, 2.3, 2.4];
        for row in [
            of_percentiles("wall", "s", 50, &runs[..4], ("baseline", &runs[..4])),
            of_each("wall", "s", &runs[..4], ("baseline", &runs[..4])),
        ] {
            assert!(row.interval.is_none() && row.ratio().is_some(), "{row:?}");
            assert_eq!(row.cells()[5], "too few for an interval: 4");
        }
        assert!(of_percentiles("wall", "s", 50, &runs, ("baseline", &runs)).interval.is_some());
    }
}
