//! Texts in the columns of a terminal: how wide they are, which part of a long line is shown, and where prose is broken.

use std::ops::Range;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// What is kept before the place that a shown part is about.
const BEFORE: usize = 30;

/// What is seen behind the place that a shown part is about, at least.
const BEHIND: usize = 10;

/// The columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The part of a line that has room in so many columns, with the byte `about` in it: the line itself where it is short enough,
/// else a part that leaves room for `…` at each end that was cut.
pub(crate) fn part(line: &str, columns: usize, about: usize) -> Range<usize> {
    if width(line) <= columns {
        return 0..line.len();
    }
    let before = width(&line[..about]);
    let start =
        if before + BEHIND > columns { beyond(line, before.saturating_sub(BEFORE.min(columns / 2))) } else { 0 };
    let room = columns.saturating_sub(usize::from(start > 0));
    let rest = &line[start..];
    if width(rest) <= room {
        return start..line.len();
    }
    start..start + within(rest, room.saturating_sub(1))
}

/// A line cut at its end to have room in so many columns, with `…` where it was.
pub(crate) fn cut(line: &str, columns: usize) -> String {
    let part = part(line, columns, 0);
    if part.end == line.len() { line.to_owned() } else { format!("{}…", &line[part]) }
}

/// Breaks prose between words, into rows of so many columns. A word that is longer is broken where the row ends.
pub(crate) fn rows(text: &str, columns: usize) -> Vec<Range<usize>> {
    let columns = columns.max(2);
    let (mut rows, mut start) = (Vec::new(), 0);
    while width(&text[start..]) > columns {
        let most = start + within(&text[start..], columns);
        // A row may end where the next one begins with a blank.
        let end = if text[most..].starts_with(' ') {
            most
        } else {
            text[start..most].rfind(' ').map_or(most, |at| start + at)
        };
        let end = if text[start..end].trim().is_empty() { most } else { end };
        rows.push(start..start + text[start..end].trim_end().len());
        start = end + (text[end..].len() - text[end..].trim_start_matches(' ').len());
    }
    if start < text.len() || rows.is_empty() {
        rows.push(start..text.len());
    }
    rows
}

/// How many bytes of a text have room in so many columns.
fn within(text: &str, columns: usize) -> usize {
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += c.width().unwrap_or(0);
        if taken > columns {
            return at;
        }
    }
    text.len()
}

/// The first byte that stands at or behind a column.
fn beyond(text: &str, column: usize) -> usize {
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        if taken >= column {
            return at;
        }
        taken += c.width().unwrap_or(0);
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_between_words() {
        for (text, expected) in [
            ("", vec![""]),
            ("one two", vec!["one two"]),
            ("one two three", vec!["one two", "three"]),
            ("one  two three", vec!["one  two", "three"]),
            ("one-two-three four", vec!["one-two-", "three", "four"]),
            ("  indented text", vec!["  indented", "text"]),
            ("日本語のテキスト", vec!["日本語の", "テキスト"]),
            ("12345678 x", vec!["12345678", "x"]),
        ] {
            let columns = if text.starts_with("  ") { 10 } else { 8 };
            let broken: Vec<&str> = rows(text, columns).into_iter().map(|row| &text[row]).collect();
            assert_eq!(broken, expected, "{text}");
            assert!(broken.iter().all(|row| width(row) <= columns), "{broken:?}");
        }
    }

    #[test]
    fn a_long_line_is_shown_around_what_it_is_about() {
        let line = format!("{}needle{}", "a".repeat(100), "b".repeat(100));
        for (columns, about) in [(80, 100), (80, 0), (20, 100), (300, 100)] {
            let part = part(&line, columns, about);
            assert!(part.contains(&about), "{columns} {about}: {part:?}");
            let dots = usize::from(part.start > 0) + usize::from(part.end < line.len());
            assert!(width(&line[part.clone()]) + dots <= columns, "{columns} {about}: {part:?}");
        }
        let wide = "日".repeat(60);
        let shown = part(&wide, 80, 0);
        assert_eq!(width(&wide[shown]), 78, "with a column for what says that it was cut");
        assert_eq!(cut("a long line", 6), "a lon…");
        assert_eq!(cut("short", 6), "short");
    }
}
