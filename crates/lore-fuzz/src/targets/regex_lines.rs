//! Exact search: expressions, literals and words in lines, and which texts an expression rules out.

use std::collections::HashSet;

use lore_core::search::{
    LinesWanted,
    fuzz::{lines, plan},
};
use lore_model::{Code, Failure};
use lore_store::{TextPlan, Trigram};

use crate::bytes::{first_line, text};

/// The first line is what is looked for; the rest is the text.
pub(super) fn run(bytes: &[u8]) {
    let (wanted, body) = first_line(bytes);
    let wanted = text(wanted);
    for case_sensitive in [true, false] {
        expression(&wanted, case_sensitive, body);
        literal(&wanted, case_sensitive, body);
        words(&wanted, case_sensitive, body);
    }
}

fn expression(pattern: &str, case_sensitive: bool, body: &[u8]) {
    let found = lines(&LinesWanted::Regex(pattern.to_owned()), case_sensitive, body);
    let plan = match plan(pattern, case_sensitive) {
        Ok(plan) => plan,
        Err(failure) => return says_what_to_do(&failure),
    };
    let found = found.expect("what has a plan is understood");
    let trigrams: HashSet<Trigram> = body.array_windows().filter_map(|window| Trigram::new(*window)).collect();
    assert!(found.is_empty() || allows(&plan, &trigrams), "{pattern:?} is ruled out: {plan:?}");
    // Named classes are those of git, and lines are the whole text for whoever looks at one alone: not for the compiler of flags.
    let differs = ["[:", "(?", "\\A", "\\z", "\\n", "\\x", "\\u", "\\U", "\\p", "\\P", "&&", "--", "~~"];
    if differs.iter().any(|part| pattern.contains(part)) || body.is_empty() {
        return;
    }
    let built = regex::bytes::RegexBuilder::new(pattern).case_insensitive(!case_sensitive).size_limit(1 << 20).build();
    let Ok(regex) = built else { return };
    // A class that has the line end in it cannot match one, and here it never gets one to match.
    assert_eq!(found, naive(body, |line| regex.is_match(line)), "{pattern:?}");
}

fn literal(wanted: &str, case_sensitive: bool, body: &[u8]) {
    match lines(&LinesWanted::Literal(wanted.to_owned()), case_sensitive, body) {
        Err(failure) => says_what_to_do(&failure),
        Ok(found) => {
            let contains = |line: &[u8]| {
                let is_same = |window: &[u8]| {
                    if case_sensitive {
                        window == wanted.as_bytes()
                    } else {
                        window.eq_ignore_ascii_case(wanted.as_bytes())
                    }
                };
                wanted.is_empty() || line.windows(wanted.len()).any(is_same)
            };
            // Without regard to case there are more letters than ASCII has: k is also the sign of Kelvin.
            if !body.is_empty() && (case_sensitive || (wanted.is_ascii() && body.is_ascii())) {
                assert_eq!(found, naive(body, contains), "{wanted:?}");
            }
        }
    }
}

fn words(wanted: &str, case_sensitive: bool, body: &[u8]) {
    let count = body.split(|byte| *byte == b'\n').count();
    let near = |changes: usize| LinesWanted::Near { text: wanted.to_owned(), changes };
    for wanted in [LinesWanted::Words(wanted.to_owned()), near(0), near(1), near(3)] {
        match lines(&wanted, case_sensitive, body) {
            Err(failure) => says_what_to_do(&failure),
            Ok(found) => {
                assert!(found.is_sorted_by(|a, b| a < b) && found.last().is_none_or(|last| *last < count), "{found:?}");
            }
        }
    }
}

fn naive(body: &[u8], fits: impl Fn(&[u8]) -> bool) -> Vec<usize> {
    let body = body.strip_suffix(b"\n").unwrap_or(body);
    body.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| fits(line)).map(|(at, _)| at).collect()
}

fn allows(plan: &TextPlan, trigrams: &HashSet<Trigram>) -> bool {
    match plan {
        TextPlan::Anything => true,
        TextPlan::Has(trigram) => trigrams.contains(trigram),
        TextPlan::All(plans) => plans.iter().all(|plan| allows(plan, trigrams)),
        TextPlan::Any(plans) => plans.iter().any(|plan| allows(plan, trigrams)),
    }
}

fn says_what_to_do(failure: &Failure) {
    assert_eq!(failure.code, Code::InvalidArgument, "{failure:?}");
    assert!(failure.hint.is_some() && failure.message.len() < 1000, "{failure:?}");
}
