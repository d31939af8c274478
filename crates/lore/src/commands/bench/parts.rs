//! Parts of the ranking by their names, for measurements.

use lore_core::search::Parts;

/// The parts that are on: names separated by commas, or `all`.
pub(in crate::commands) fn parts(text: &str) -> Result<Parts, String> {
    let mut parts = Parts { text: false, meaning: false, second: false, rules: false, history: false };
    for part in text.split(',') {
        match part {
            "text" => parts.text = true,
            "meaning" => parts.meaning = true,
            "second" => parts.second = true,
            "rules" => parts.rules = true,
            "history" => parts.history = true,
            "all" => parts = Parts::default(),
            _ => return Err(format!("`{part}` is not `text`, `meaning`, `second`, `rules`, `history` or `all`")),
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_that_is_measured_is_known() {
        for way in lore_bench::WAYS {
            assert!(parts(way.parts).is_ok(), "{way:?}");
        }
        assert_eq!(parts("all"), Ok(Parts::default()));
        assert!(parts("text").is_ok_and(|parts| parts.text && !parts.meaning && !parts.rules && !parts.history));
        assert!(parts("words").is_err());
    }
}
