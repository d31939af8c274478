//! What time it is, as a value that tests can choose, and how a moment is written.

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Seconds since 1970.
    fn now(&self) -> i64;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the Clock that everything else takes")]
    fn now(&self) -> i64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(0, |elapsed| i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX))
    }
}

/// A moment (seconds since 1970) as contracts write it: RFC 3339 in UTC. One beyond all calendars is the first second.
pub fn rfc3339(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}
