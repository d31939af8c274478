//! Whatever is asked: no panic, an answer that is right, or an error that says what to do.

use std::collections::HashSet;

use lore_model::{Cancel, Code, Failure, RepoId, RepoPath};
use lore_store::{TextPlan, Trigram};
use proptest::{prelude::*, sample::select};

use super::{
    CodeRequest, FileFilter, LinesRequest, LinesWanted, Period, Query, When,
    filter::Files,
    lines::{Terms, pattern::Pattern},
};

/// Pieces of expressions, so that generated ones are mostly understood, and of text that they match.
const OF_EXPRESSIONS: &[&str] = &[
    "a",
    "b",
    "ab",
    "foo",
    "FOO",
    "é",
    "K",
    "\u{212A}",
    "ſ",
    "_",
    " ",
    "\t",
    "1",
    "(",
    ")",
    "(?:",
    "(?i)",
    "(?s)",
    "(?m)",
    "(?x)",
    "[a-c]",
    "[^a]",
    "[[:alpha:]]",
    "[a&&b]",
    "[",
    "]",
    "\\w",
    "\\W",
    "\\d",
    "\\s",
    "\\S",
    "\\b",
    "\\B",
    "\\pL",
    "\\x61",
    "\\n",
    "\\.",
    "\\",
    ".",
    "^",
    "$",
    "\\A",
    "\\z",
    "|",
    "*",
    "+",
    "?",
    "*?",
    "{2}",
    "{0,3}",
    "{1,}",
    "{,2}",
    "{",
    "}",
    "(?=a)",
    "(?<!b)",
    "\\1",
    "(?P<n>",
    "(?#c)",
    "(?-u)",
    "\\xff",
    "\n",
];

/// Pieces of text.
const OF_TEXTS: &[&str] = &[
    "a",
    "b",
    "ab",
    "foo",
    "Foo",
    "FOO",
    "foo_bar",
    "fooBar",
    "é",
    "É",
    "K",
    "\u{212A}",
    "ſ",
    "_",
    " ",
    "\t",
    "1",
    "42",
    "(",
    ")",
    "\n",
    "\r\n",
    "\n\n",
    ".",
    "authenticate",
    "authentication",
    "Authenticator",
    "policies",
];

/// Pieces of globs.
const OF_GLOBS: &[&str] = &[
    "*", "**", "?", "/", "[", "]", "{", "}", "a", "src", ".rs", ",", "!", "-", "\\", "./", "é", "..", "\0", " ",
    "[!a]", "{a,b}",
];

/// Pieces of questions.
const OF_QUESTIONS: &[&str] = &[
    "how", " ", "is", "the", "\"", "'", "`", "::", ".", "/", "fooBar", "foo_bar", "FOO", "src/a.rs", "a.b.c", "()",
    "\n", "\t", "é", "日本", "\u{0}", "-", "*", "?", "12", "😀", "class", "error: x", "\\",
];

fn made_of(pieces: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(select(pieces), 0..most).prop_map(|pieces| pieces.concat())
}

/// Made of pieces, or any characters at all.
fn asked(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![4 => made_of(pieces, 12), 1 => any::<String>(), 1 => made_of(pieces, 400)]
}

#[track_caller]
fn says_what_to_do(failure: &Failure) {
    assert_eq!(failure.code, Code::InvalidArgument, "{failure:?}");
    assert!(!failure.message.is_empty() && failure.hint.as_ref().is_some_and(|hint| !hint.is_empty()), "{failure:?}");
    assert!(failure.message.len() < 1000, "an error is no place for all that was asked: {failure:?}");
}

fn lines_of(terms: &Terms, text: &[u8]) -> Vec<usize> {
    terms
        .lines(text, &Cancel::default())
        .expect("nothing stops it")
        .into_iter()
        .map(|found| found.line.number)
        .collect()
}

/// Whether a plan allows a text, by its trigrams.
fn allows(plan: &TextPlan, trigrams: &HashSet<Trigram>) -> bool {
    match plan {
        TextPlan::Anything => true,
        TextPlan::Has(trigram) => trigrams.contains(trigram),
        TextPlan::All(plans) => plans.iter().all(|plan| allows(plan, trigrams)),
        TextPlan::Any(plans) => plans.iter().any(|plan| allows(plan, trigrams)),
    }
}

fn trigrams(text: &[u8]) -> HashSet<Trigram> {
    text.array_windows().filter_map(|window| Trigram::new(*window)).collect()
}

/// The lines that match one by one, without plans and without looking at many at once.
fn naive(pattern: &str, case_sensitive: bool, text: &[u8]) -> Vec<usize> {
    let regex = regex::bytes::RegexBuilder::new(pattern).case_insensitive(!case_sensitive).build().expect("it is one");
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| regex.is_match(line)).map(|(at, _)| at).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_expression_finds_what_it_matches_or_is_explained(
        pattern in asked(OF_EXPRESSIONS),
        case_sensitive in any::<bool>(),
        text in made_of(OF_TEXTS, 60),
    ) {
        match Pattern::regex(&pattern, case_sensitive) {
            Err(failure) => says_what_to_do(&failure),
            Ok(parsed) => {
                let terms = Terms::new(&LinesWanted::Regex(pattern.clone()), case_sensitive).expect("it was understood");
                let found = lines_of(&terms, text.as_bytes());
                prop_assert!(found.is_empty() || allows(&parsed.plan, &trigrams(text.as_bytes())), "{pattern:?}: {:?}", parsed.plan);
                // What spans lines or asks for the ends of the text means another thing for a single line, and named classes are
                // those of git.
                let differs = ["[:", "\\A", "\\z", "(?s)", "(?m)", "(?x)", "\\W", "\\S", "[^", "\n", "\\n", "(?-u)", "(?i)"];
                if !text.is_empty() && !differs.iter().any(|part| pattern.contains(part)) {
                    prop_assert_eq!(found, naive(&pattern, case_sensitive, text.as_bytes()), "{:?} in {:?}", pattern, text);
                }
            }
        }
    }

    #[test]
    fn any_words_are_looked_for_or_it_is_explained(
        words in asked(OF_TEXTS),
        changes in 0_usize..5,
        case_sensitive in any::<bool>(),
        text in made_of(OF_TEXTS, 60),
    ) {
        let kinds = [
            LinesWanted::Literal(words.clone()),
            LinesWanted::Words(words.clone()),
            LinesWanted::Words(format!("\"{words}\" {words}*")),
            LinesWanted::Near { text: words, changes },
        ];
        for wanted in kinds {
            match Terms::new(&wanted, case_sensitive) {
                Err(failure) => says_what_to_do(&failure),
                Ok(terms) => {
                    let count = text.split('\n').count();
                    let found = lines_of(&terms, text.as_bytes());
                    prop_assert!(found.iter().all(|line| *line < count), "{wanted:?}: {found:?} of {count}");
                    prop_assert!(found.is_sorted_by(|a, b| a < b), "{wanted:?}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn any_glob_filters_or_is_explained(globs in prop::collection::vec(asked(OF_GLOBS), 0..4), path in made_of(OF_GLOBS, 8)) {
        let filter = FileFilter {
            paths: globs.clone(),
            globs: globs.clone(),
            not_globs: globs.clone(),
            extensions: globs.clone(),
            ..FileFilter::default()
        };
        match Files::new(&filter) {
            Err(failure) => says_what_to_do(&failure),
            Ok(files) => {
                files.admits(RepoId(0), &RepoPath::new(path.as_bytes()), "Rust");
            }
        }
        let filter = FileFilter { languages: globs.clone(), not_languages: globs, ..FileFilter::default() };
        if let Err(failure) = Files::new(&filter) {
            says_what_to_do(&failure);
        }
    }

    #[test]
    fn any_question_is_understood_or_explained(
        query in asked(OF_QUESTIONS),
        min_score in any::<f32>(),
        from in any::<Option<i64>>(),
        to in any::<Option<i64>>(),
        commit in asked(OF_QUESTIONS),
        author in any::<Option<String>>(),
    ) {
        let understood = Query::new(&query);
        prop_assert!(understood.words.len() <= 64);
        let period = Period { from, to, removed: true, gone: false, changed: false, kinds: Vec::new(), author };
        for when in [When::Now, When::At(commit), When::During(period)] {
            let mut request = CodeRequest::new(&query, Vec::new());
            (request.min_score, request.when) = (min_score, when.clone());
            if let Err(failure) = request.check() {
                says_what_to_do(&failure);
            }
            let lines = LinesRequest {
                wanted: LinesWanted::Words(query.clone()),
                case_sensitive: false,
                files: FileFilter::default(),
                repos: Vec::new(),
                when,
                limit: 0,
                context: 0,
                once: false,
                best: false,
                time: std::time::Duration::ZERO,
            };
            if let Err(failure) = lines.check() {
                says_what_to_do(&failure);
            }
        }
    }
}
