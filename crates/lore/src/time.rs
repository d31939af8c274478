//! Dates as people write and read them.

use jiff::{Timestamp, Zoned, civil, tz::TimeZone};
use lore_model::{Code, Failure};

/// Which end of a day a bare date means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Its first second.
    Start,
    /// Its last.
    End,
}

/// Seconds since 1970 for `2w`, `2025-03-01`, `2025-03-01T12:00`, `2025-03-01T12:00:00Z` or a number of seconds.
pub(crate) fn parse(text: &str, now: i64, edge: Edge) -> Result<i64, Failure> {
    let text = text.trim();
    relative(text)
        .map(|seconds| now - seconds)
        .or_else(|| text.parse::<Timestamp>().ok().map(Timestamp::as_second))
        .or_else(|| text.parse::<Zoned>().ok().map(|zoned| zoned.timestamp().as_second()))
        .or_else(|| day(text, edge))
        .or_else(|| local(text.parse::<civil::DateTime>().ok()?))
        // Four digits are a year, not a moment in 1970.
        .or_else(|| text.parse::<i64>().ok().filter(|_| text.len() > 4))
        .ok_or_else(|| {
            Failure::new(Code::InvalidArgument, format!("`{text}` is not a date"))
                .hint("use 30m, 12h, 3d, 2w, 6mo or 1y for an age, or a date like 2025-03-01")
        })
}

fn relative(text: &str) -> Option<i64> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let seconds = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        "mo" => 30 * 86_400,
        "y" => 365 * 86_400,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(seconds)
}

fn day(text: &str, edge: Edge) -> Option<i64> {
    let date = match text.len() {
        4 => civil::Date::new(
            text.parse().ok()?,
            if edge == Edge::Start { 1 } else { 12 },
            if edge == Edge::Start { 1 } else { 31 },
        )
        .ok()?,
        10 => text.parse().ok()?,
        _ => return None,
    };
    local(if edge == Edge::Start { date.at(0, 0, 0, 0) } else { date.at(23, 59, 59, 0) })
}

fn local(moment: civil::DateTime) -> Option<i64> {
    moment.to_zoned(TimeZone::system()).ok().map(|zoned| zoned.timestamp().as_second())
}

/// `2025-03-01`, or a word where there is no date that can be written.
pub(crate) fn date(seconds: Option<i64>) -> String {
    shown(seconds, "%Y-%m-%d")
}

/// `2025-03-01 12:00:00`.
pub(crate) fn moment(seconds: Option<i64>) -> String {
    shown(seconds, "%Y-%m-%d %H:%M:%S %z")
}

/// `12:00:00`, for lines that follow each other.
pub(crate) fn clock(seconds: i64) -> String {
    shown(Some(seconds), "%H:%M:%S")
}

fn shown(seconds: Option<i64>, format: &str) -> String {
    let Some(seconds) = seconds else { return "no date".to_owned() };
    let moment =
        Timestamp::from_second(seconds).map(|moment| moment.to_zoned(TimeZone::system()).strftime(format).to_string());
    moment.unwrap_or_else(|_| format!("@{seconds}"))
}

/// `just now`, `5 minutes ago`, `3 days ago`.
pub(crate) fn age(then: i64, now: i64) -> String {
    let seconds = now - then;
    let (count, unit) = match seconds {
        ..=4 => return "just now".to_owned(),
        5..=119 => (seconds, "second"),
        120..=7199 => (seconds / 60, "minute"),
        7200..=172_799 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_dates_are_understood() {
        let now = 1_700_000_000;
        for (text, expected) in [
            ("2w", now - 1_209_600),
            ("3d", now - 259_200),
            ("1700000000", 1_700_000_000),
            ("2025-03-01T00:00:00Z", 1_740_787_200),
        ] {
            assert_eq!(parse(text, now, Edge::Start).unwrap(), expected, "{text}");
        }
        let (start, end) =
            (parse("2025-03-01", now, Edge::Start).unwrap(), parse("2025-03-01", now, Edge::End).unwrap());
        assert_eq!(end - start, 86_399);
        assert!(parse("2024", now, Edge::End).unwrap() - parse("2024", now, Edge::Start).unwrap() > 365 * 86_400);
        for bad in ["", "yesterday-ish", "2025-13-01", "2x", "-5"] {
            assert!(parse(bad, now, Edge::Start).is_err(), "{bad}");
        }
    }

    #[test]
    fn moments_that_no_calendar_has_are_shown_as_numbers() {
        assert_eq!(date(None), "no date");
        assert_eq!(date(Some(i64::MAX)), format!("@{}", i64::MAX));
        assert_eq!(age(100, 100), "just now");
        assert_eq!(age(0, 7200), "2 hours ago");
    }
}
