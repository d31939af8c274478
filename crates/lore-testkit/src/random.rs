//! Numbers that look random and are the same for ever.

use std::time::Duration;

/// `SplitMix64`: a few lines instead of a dependency.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Starts here; the same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("no machine counts beyond 64 bits");
        usize::try_from(self.number() % end).expect("smaller than a usize")
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// A moment within this time.
    pub fn within(&mut self, time: Duration) -> Duration {
        let nanos = u64::try_from(time.as_nanos()).expect("less than 500 years").max(1);
        Duration::from_nanos(self.number() % nanos)
    }
}
