//! Which parts of the ranking are switched on for a measurement. A further ablation is a further row.

/// One way to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    /// Its column.
    pub(super) name: &'static str,
    /// The parts that are on, as `lore-dev queries --parts` takes them.
    pub(super) parts: &'static str,
}

/// The way that users get.
pub(super) const ALL: &str = "all";

/// Everything but the model, which is what the model is judged against.
pub(super) const NO_MODEL: &str = "no model";

/// Every way, the one that users get last.
pub(super) const WAYS: &[Way] = &[
    Way { name: "words", parts: "text" },
    Way { name: "model", parts: "meaning" },
    Way { name: "words and rules", parts: "text,rules" },
    Way { name: NO_MODEL, parts: "text,rules,history" },
    Way { name: "no rules", parts: "text,meaning,second" },
    Way { name: "no history", parts: "text,meaning,second,rules" },
    Way { name: "built-in", parts: "text,meaning,rules,history" },
    Way { name: ALL, parts: "all" },
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
