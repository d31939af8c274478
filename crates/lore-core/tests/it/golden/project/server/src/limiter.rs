//! Keeps one client from taking everything: a token bucket for each caller.

use std::{
    collections::HashMap,
    sync::Mutex,
    time::{Duration, Instant},
};

/// Allows so many calls a second on average, and short bursts.
#[derive(Debug)]
pub struct RateLimiter {
    rate: f64,
    burst: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    level: f64,
    filled_at: Instant,
}

/// What the limiter says to a call.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    Allowed,
    /// Not now; it makes sense to come back after this time.
    Denied { retry_after: Duration },
}

impl RateLimiter {
    /// So many calls a second, and so many at once.
    pub fn new(rate: f64, burst: f64) -> Self {
        Self { rate, burst, buckets: Mutex::default() }
    }

    /// Decides about one call and takes a drop from the caller's bucket if there is one.
    pub fn check(&self, caller: &str) -> Verdict {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap();
        let bucket = buckets.entry(caller.to_owned()).or_insert(Bucket { level: self.burst, filled_at: now });
        self.refill(bucket, now);
        if bucket.level >= 1.0 {
            bucket.level -= 1.0;
            return Verdict::Allowed;
        }
        Verdict::Denied { retry_after: Duration::from_secs_f64((1.0 - bucket.level) / self.rate) }
    }

    fn refill(&self, bucket: &mut Bucket, now: Instant) {
        let passed = now.duration_since(bucket.filled_at).as_secs_f64();
        bucket.level = (bucket.level + passed * self.rate).min(self.burst);
        bucket.filled_at = now;
    }

    /// Forgets callers whose bucket is full again.
    pub fn sweep(&self) {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap();
        buckets.retain(|_, bucket| {
            self.refill(bucket, now);
            bucket.level < self.burst
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_the_rate_limit_holds() {
        let limiter = RateLimiter::new(1.0, 3.0);
        for _ in 0..3 {
            assert_eq!(limiter.check("ada"), Verdict::Allowed);
        }
        assert!(matches!(limiter.check("ada"), Verdict::Denied { .. }));
        assert_eq!(limiter.check("bob"), Verdict::Allowed);
    }
}
