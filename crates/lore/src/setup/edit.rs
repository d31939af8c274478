//! Changing a text in a few places and leaving every other byte alone.
//!
//! Nothing here knows JSON or TOML.

use std::ops::Range;

/// One place to change.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    /// The bytes that go.
    pub(super) range: Range<usize>,
    /// What comes instead.
    pub(super) with: String,
}

impl Edit {
    /// Puts text in without taking any out.
    pub(super) fn insert(at: usize, with: impl Into<String>) -> Self {
        Self { range: at..at, with: with.into() }
    }

    /// Takes text out.
    pub(super) fn delete(range: Range<usize>) -> Self {
        Self { range, with: String::new() }
    }
}

/// Makes the changes, which must not overlap; those at one place keep their order.
pub(super) fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.range.start);
    let mut out = String::with_capacity(text.len() + 256);
    let mut done = 0;
    for edit in edits {
        out.push_str(&text[done..edit.range.start]);
        out.push_str(&edit.with);
        done = edit.range.end;
    }
    out.push_str(&text[done..]);
    out
}

/// The part in which two texts differ: where it begins, and its length in each.
pub(super) fn difference(old: &str, new: &str) -> (usize, usize, usize) {
    let mut start = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    while !old.is_char_boundary(start) {
        start -= 1;
    }
    let (old, new) = (&old[start..], &new[start..]);
    let mut same = old.bytes().rev().zip(new.bytes().rev()).take_while(|(a, b)| a == b).count();
    while !old.is_char_boundary(old.len() - same) {
        same -= 1;
    }
    (start, old.len() - same, new.len() - same)
}

/// The line end that the text uses.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Where the line that contains `at` begins.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Where the line that contains `at` ends, its line end included.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// The blanks at the start of the line that contains `at`.
pub(super) fn indent(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Line and column, both counted from 1, the column in characters.
pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let start = line_start(text, at);
    let line = text[..start].bytes().filter(|byte| *byte == b'\n').count() + 1;
    (line, text[start..at].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_stays_on_character_boundaries() {
        // é and è share their first byte, é and ũ their last.
        for (old, new) in [("aéb", "aèb"), ("aéb", "aũb"), ("é", "éé"), ("", "x"), ("ab", "ab"), ("aab", "ab")] {
            let (start, was, is) = difference(old, new);
            let rebuilt = format!("{}{}{}", &new[..start], &old[start..start + was], &new[start + is..]);
            assert_eq!(rebuilt, old, "{old} -> {new}");
        }
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(position("a\r\néé!", 7), (2, 3));
    }
}
