//! What a text must contain to be worth reading, in trigrams: the question that an index of exact text can answer.
//!
//! A plan never decides whether a text matches. It only rules texts out, and who asks verifies the rest on the real
//! bytes. How a regular expression becomes a plan is not known here.

use std::{collections::BTreeSet, fmt};

/// Three neighbouring bytes of one line, ASCII letters in lower case: one index serves both ways to treat case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trigram([u8; 3]);

impl Trigram {
    /// The trigram of these bytes, whatever their case; `None` where a line ends within them: no index has these.
    pub fn new(bytes: [u8; 3]) -> Option<Self> {
        (!bytes.contains(&b'\n')).then(|| Self(bytes.map(|byte| byte.to_ascii_lowercase())))
    }

    /// Its bytes as one number, the first byte highest.
    pub fn number(self) -> u32 {
        let [first, second, third] = self.0.map(u32::from);
        first << 16 | second << 8 | third
    }
}

impl fmt::Debug for Trigram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// Which texts can match.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextPlan {
    /// All of them.
    Anything,
    /// Those that have this trigram.
    Has(Trigram),
    /// Those that every one of these allows.
    All(BTreeSet<Self>),
    /// Those that one of these allows; where there are none, no text.
    Any(BTreeSet<Self>),
}

impl TextPlan {
    /// Texts that contain these bytes, in whatever case. Line ends in them are passed over.
    pub fn literal(bytes: &[u8]) -> Self {
        let trigrams = bytes.array_windows().filter_map(|window| Trigram::new(*window));
        trigrams.fold(Self::Anything, |plan, trigram| plan.and(Self::Has(trigram)))
    }

    /// Texts that contain one of these at least.
    pub fn either_of<'a>(literals: impl IntoIterator<Item = &'a [u8]>) -> Self {
        literals.into_iter().map(Self::literal).reduce(Self::or).unwrap_or_else(|| Self::Any(BTreeSet::new()))
    }

    /// Texts that both allow.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Anything, plan) | (plan, Self::Anything) => plan,
            (Self::All(mut plans), Self::All(others)) => {
                plans.extend(others);
                Self::All(plans)
            }
            (Self::All(mut plans), plan) | (plan, Self::All(mut plans)) => {
                plans.insert(plan);
                Self::All(plans)
            }
            (plan, other) if plan == other => plan,
            (plan, other) => Self::All([plan, other].into()),
        }
    }

    /// Texts that one of the two allows.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Anything, _) | (_, Self::Anything) => Self::Anything,
            (Self::Any(mut plans), Self::Any(others)) => {
                plans.extend(others);
                Self::Any(plans)
            }
            (Self::Any(mut plans), plan) | (plan, Self::Any(mut plans)) => {
                plans.insert(plan);
                Self::Any(plans)
            }
            (plan, other) if plan == other => plan,
            (plan, other) => Self::Any([plan, other].into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(plan: &TextPlan, expected: &str) {
        assert_eq!(format!("{plan:?}"), expected);
    }

    #[test]
    fn literals_become_their_trigrams_in_lower_case() {
        check(&TextPlan::literal(b"ab"), "Anything");
        check(&TextPlan::literal(b"aBc"), "Has(\"abc\")");
        check(&TextPlan::literal(b"GetX\xff"), "All({Has(\"etx\"), Has(\"get\"), Has(\"tx\\xff\")})");
        check(&TextPlan::literal(b"one\ntwo"), "All({Has(\"one\"), Has(\"two\")})");
        check(&TextPlan::literal(b"aaaa"), "Has(\"aaa\")");
        assert_eq!(Trigram::new(*b"Ab\x01").map(Trigram::number), Some(0x61_6201));
    }

    #[test]
    fn plans_join() {
        let [one, two, three] = [b"one", b"two", b"333"].map(|text| TextPlan::literal(text));
        check(
            &one.clone().or(two.clone()).and(three.clone()),
            "All({Has(\"333\"), Any({Has(\"one\"), Has(\"two\")})})",
        );
        check(&one.clone().or(TextPlan::Anything), "Anything");
        check(&one.clone().and(TextPlan::Anything), "Has(\"one\")");
        check(&one.clone().or(one.clone()).and(one.clone()), "Has(\"one\")");
        check(&one.clone().or(two.clone()).or(two.or(three)), "Any({Has(\"333\"), Has(\"one\"), Has(\"two\")})");
    }
}
