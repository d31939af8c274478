//! How often something is done by itself, as people write it.

/// The seconds of an interval: a number of them, or a number with `s`, `m`, `h`, `d` or `w`; `None` for anything else.
pub fn parse_interval(text: &str) -> Option<i64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let each = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_read_as_people_write_them() {
        for (text, seconds) in
            [("900", 900), (" 90s ", 90), ("15m", 900), ("6h", 21_600), ("1d", 86_400), ("2w", 1_209_600)]
        {
            assert_eq!(parse_interval(text), Some(seconds), "{text}");
        }
        for bad in ["", "m", "6 h", "-1m", "+1m", "1.5h", "6months", "99999999999999999d", "99999999999999999999"] {
            assert_eq!(parse_interval(bad), None, "{bad}");
        }
    }
}
