//! Times in the format of RFC 3339.

/// A moment (seconds since 1970) as contracts write it: RFC 3339 in UTC. One beyond all calendars is the first second.
pub fn rfc3339(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}
