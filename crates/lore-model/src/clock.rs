//! The current time, as a dependency that tests replace.

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Seconds since 1970.
    fn now(&self) -> i64;

    /// Milliseconds since 1970.
    fn now_millis(&self) -> i64 {
        self.now().saturating_mul(1000)
    }
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        self.now_millis() / 1000
    }

    #[expect(clippy::disallowed_methods, reason = "this is the Clock that everything else takes")]
    fn now_millis(&self) -> i64 {
        millis(std::time::SystemTime::now())
    }
}

/// Milliseconds since 1970; 0 for earlier times.
pub fn millis(time: std::time::SystemTime) -> i64 {
    let elapsed = time.duration_since(std::time::UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
}
