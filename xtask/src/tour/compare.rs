//! What a page shows against what the program printed.
//!
//! The rule: the words are the same. Numbers, with the unit behind them, and names of objects (and passwords that are made of them) may differ; so may how many spaces
//! stand between two words. Lines that say how far the indexing is come where it takes a while, and do not count. `…` in a line stands for anything in it, and alone in a line for any number of lines.

use std::sync::LazyLock;

use regex::Regex;

/// Where the two part, or `None`.
pub(super) fn difference(shown: &[String], printed: &str) -> Option<String> {
    let shown: Vec<String> = shown.iter().map(|line| steady(line)).filter(|line| !is_progress(line)).collect();
    let printed: Vec<String> = printed.lines().map(steady).filter(|line| !is_progress(line)).collect();
    let (shown, printed) = (without_end(&shown), without_end(&printed));
    if are_same(shown, printed) {
        return None;
    }
    // The longest beginning that still fits says where to look.
    let fits = (0..=shown.len()).rev().find(|count| begins(&shown[..*count], printed)).unwrap_or(0);
    let line = shown.get(fits).map_or("nothing more", String::as_str);
    Some(format!("the page shows `{line}`, which was not printed there"))
}

/// Whether the beginning of what was printed is what is shown.
fn begins(shown: &[String], printed: &[String]) -> bool {
    (0..=printed.len()).any(|count| are_same(shown, &printed[..count]))
}

fn are_same(shown: &[String], printed: &[String]) -> bool {
    match (shown, printed) {
        ([], []) => true,
        ([line, rest @ ..], _) if line == "…" => {
            (0..=printed.len()).any(|skipped| are_same(rest, &printed[skipped..]))
        }
        ([line, more @ ..], [other, others @ ..]) => fits(line, other) && are_same(more, others),
        _ => false,
    }
}

/// One line; its parts between `…` follow each other.
fn fits(shown: &str, printed: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        last = Some(part);
    }
    match last {
        None => rest.is_empty(),
        Some(part) => part.is_empty() || printed.ends_with(part),
    }
}

/// A line without what differs from run to run.
fn steady(line: &str) -> String {
    static OBJECT: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(?:[0-9a-f]{6}(?:-[0-9a-f]{6})+|[0-9a-f]{7,64})\b"));
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"[0-9]+(?:[.,:][0-9]+)*(?: ?(?:B|kB|MB|GB|ms|s|min|h|seconds?|minutes?|hours?|days?)\b)?")
    });
    // A word of a few letters may be in a dictionary.
    let is_object = |text: &str| text.len() >= 10 || text.contains(|c: char| c.is_ascii_digit());
    let line = OBJECT.replace_all(line, |found: &regex::Captures<'_>| {
        let text = &found[0];
        if is_object(text) { "#".to_owned() } else { text.to_owned() }
    });
    let line = NUMBER.replace_all(&line, "#");
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a line says how far the indexing is.
fn is_progress(line: &str) -> bool {
    static PROGRESS: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:indexed # (?:files|commits)|\S+: # of # )"));
    PROGRESS.is_match(line)
}

fn without_end(lines: &[String]) -> &[String] {
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    &lines[..end]
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of this file is a regular expression")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_same(shown: &str, printed: &str) -> bool {
        difference(&shown.lines().map(str::to_owned).collect::<Vec<_>>(), printed).is_none()
    }

    #[test]
    fn numbers_times_sizes_and_objects_may_differ() {
        assert!(is_same("read 868 files of tokio in 1.6 s", "read 3 files of tokio in 12 ms\n"));
        assert!(is_same("ba05c39d65cd tokio 2018-06-12 Carl", "0000000a1234 tokio 2025-01-02 Carl"));
        assert!(is_same("28.3 MB, synced 7 minutes ago", "980 kB, synced 1 second ago"));
        assert!(is_same("the password 3f9c21-aa07d4-8b12ce-90ff31", "the password abcdef-abcdef-abcdef-abcde0"));
        assert!(is_same("tokio      4625 commits", "tokio  9 commits\n\n"));
    }

    #[test]
    fn how_far_the_indexing_is_does_not_count() {
        assert!(is_same(
            "one",
            "redis: 512 of 12272 commits, 752/s, 15 s left\nindexed 868 files of tokio in 1.6 s\none"
        ));
    }

    #[test]
    fn words_may_not() {
        assert!(!is_same("left out 868 files", "read 868 files"));
        assert!(!is_same("one\ntwo", "one"));
        assert!(!is_same("one", "one\ntwo"));
        assert!(!is_same("12 facades", "12 facade"), "no number is in it: it is a word");
        assert!(!is_same("synced 3 minutes ago", "synced just now"));
    }

    #[test]
    fn an_ellipsis_stands_for_what_is_left_out() {
        assert!(is_same("one\n…", "one\ntwo\nthree"));
        assert!(is_same("one\n…\nfour", "one\ntwo\nthree\nfour"));
        assert!(!is_same("one\n…\nfour", "one\ntwo\nthree"));
        assert!(is_same("a … c", "a b b c"));
        assert!(is_same("a …", "a b"));
        assert!(!is_same("a … c", "a b d"));
        assert!(is_same("a …b", "a b c b"));
    }

    #[test]
    fn what_differs_is_told() {
        let shown = ["one".to_owned(), "two".to_owned()];
        assert_eq!(
            difference(&shown, "one\nthree\n").as_deref(),
            Some("the page shows `two`, which was not printed there")
        );
        assert_eq!(
            difference(&shown, "one\ntwo\nthree\n").as_deref(),
            Some("the page shows `nothing more`, which was not printed there")
        );
    }
}
