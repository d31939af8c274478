//! What time it is, as a value that tests can choose, and how a moment is written.

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

/// Milliseconds since 1970; 0 for what was before.
pub(crate) fn millis(time: std::time::SystemTime) -> i64 {
    let elapsed = time.duration_since(std::time::UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
}

/// A moment (milliseconds since 1970) as RFC 3339 in UTC, always with its milliseconds.
pub(crate) fn rfc3339_millis(millis: i64) -> String {
    format!("{:.3}", jiff::Timestamp::from_millisecond(millis).unwrap_or_default())
}

/// A moment (seconds since 1970) as contracts write it: RFC 3339 in UTC. One beyond all calendars is the first second.
pub fn rfc3339(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}
