//! Doing a thing again when it failed, later and later.

use std::{future::Future, time::Duration};

/// After so many attempts a job is given up.
pub const MAX_ATTEMPTS: u32 = 8;

/// How long to wait between attempts: twice as long each time, up to a limit, with some chance in it.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    limit: Duration,
    attempt: u32,
    seed: u64,
}

impl Backoff {
    /// Starts with this delay, which doubles until the limit.
    pub fn new(first: Duration, limit: Duration, seed: u64) -> Self {
        Self { first, limit, attempt: 0, seed }
    }

    /// The delay before the next attempt, or `None` when there have been enough.
    pub fn next_delay(&mut self) -> Option<Duration> {
        if self.attempt >= MAX_ATTEMPTS {
            return None;
        }
        let exponential = self.first.saturating_mul(1 << self.attempt.min(16)).min(self.limit);
        self.attempt += 1;
        Some(self.jitter(exponential))
    }

    /// Between half of the delay and all of it, so that many callers do not come back at one moment.
    fn jitter(&mut self, delay: Duration) -> Duration {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        let share = (self.seed % 1000) as f64 / 1000.0;
        delay.mul_f64(0.5 + share / 2.0)
    }
}

/// Whether trying again can help.
pub trait Transient {
    fn is_transient(&self) -> bool;
}

/// Runs an operation until it succeeds, fails for good, or the backoff gives up.
pub async fn retry_with_backoff<T, E, F, Fut>(mut backoff: Backoff, mut operation: F) -> Result<T, E>
where
    E: Transient,
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    loop {
        let error = match operation().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        if !error.is_transient() {
            return Err(error);
        }
        match backoff.next_delay() {
            Some(delay) => tokio::time::sleep(delay).await,
            None => return Err(error),
        }
    }
}
