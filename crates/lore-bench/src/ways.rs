//! Which parts of the ranking are switched on for a measurement. A further ablation is a further row.

/// One way to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// Its column.
    pub name: &'static str,
    /// The parts that are on, as `lore debug queries --parts` takes them.
    pub parts: &'static str,
    /// What a user is told that it is; `None` where only those who change the ranking want to know.
    pub about: Option<&'static str>,
}

/// The way that users get.
pub const ALL: &str = "all";

/// Everything but the model, which is what the model is judged against.
pub const NO_MODEL: &str = "no model";

/// Every way, the one that users get last.
pub const WAYS: &[Way] = &[
    Way { name: "words", parts: "text", about: Some("words alone") },
    Way { name: "model", parts: "meaning", about: Some("the model alone") },
    Way { name: "words and rules", parts: "text,rules", about: None },
    Way { name: NO_MODEL, parts: "text,rules,history", about: Some("without the model") },
    Way { name: "no rules", parts: "text,meaning,second", about: Some("without rules") },
    Way { name: "no history", parts: "text,meaning,second,rules", about: Some("without what commits say") },
    Way { name: "built-in", parts: "text,meaning,rules,history", about: None },
    Way { name: ALL, parts: "all", about: Some("current settings") },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_what_users_get_is_last() {
        for (at, way) in WAYS.iter().enumerate() {
            assert!(WAYS[..at].iter().all(|other| other.name != way.name && other.parts != way.parts), "{way:?}");
        }
        assert_eq!(WAYS.last().map(|way| way.name), Some(ALL));
        assert!(WAYS.iter().any(|way| way.name == NO_MODEL));
    }
}
