//! Lines by their numbers: read from text, shown as text, and found again in what is committed.

use std::{
    borrow::Cow,
    time::{Duration, Instant},
};

use lore_model::{Code, Failure, brief};
use similar::{Algorithm, DiffOp};

use lore_messages::lines;

/// How long two texts that have nothing in common may be compared.
const PATIENCE: Duration = Duration::from_millis(500);

/// Reads `42`, `42-58`, `42:58` or `42,58`.
pub fn parse_lines(text: &str) -> Result<(u32, u32), Failure> {
    let (first, last) = text.split_once(['-', ':', ',']).unwrap_or((text, text));
    let number = |text: &str| text.trim().trim_start_matches(['L', 'l']).parse::<u32>().ok().filter(|line| *line > 0);
    match (number(first), number(last)) {
        (Some(first), Some(last)) => Ok((first.min(last), first.max(last))),
        _ => Err(Failure::new(Code::InvalidArgument, format!("`{}` is not a range of lines", brief(text)))
            .hint("lines count from 1: 42 or 42-58")),
    }
}

/// Runs of lines as text: `3-5,8`.
pub fn shown(lines: &[(u32, u32)]) -> String {
    let one = |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    lines.iter().map(one).collect::<Vec<_>>().join(",")
}

/// Adds a line that is not before those that are there.
pub(super) fn add(lines: &mut Vec<(u32, u32)>, line: u32) {
    match lines.last_mut() {
        Some((_, last)) if *last + 1 == line => *last = line,
        _ => lines.push((line, line)),
    }
}

/// A line as git keeps it: on disk `$Id$` may be followed by the name of the content.
fn as_kept(line: &[u8]) -> Cow<'_, [u8]> {
    const ID: &[u8] = b"$Id:";
    let Some(at) = line.windows(ID.len()).position(|four| four == ID) else { return Cow::Borrowed(line) };
    let Some(end) = line[at + ID.len()..].iter().position(|byte| *byte == b'$') else { return Cow::Borrowed(line) };
    Cow::Owned([&line[..at], b"$Id$", &line[at + ID.len() + end + 1..]].concat())
}

/// For each line of a text, its number in an older one; none where it is new.
///
/// Line ends do not count: git may keep others than are on disk.
pub(super) fn match_lines(now: &[u8], then: &[u8]) -> Vec<Option<u32>> {
    let kept = |text| lines(text).into_iter().map(as_kept).collect::<Vec<_>>();
    let (new, old) = (kept(now), kept(then));
    let number = |index: usize| u32::try_from(index + 1).ok();
    if new == old {
        return (0..new.len()).map(number).collect();
    }
    let mut found = vec![None; new.len()];
    let deadline = Some(Instant::now() + PATIENCE);
    for change in similar::capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline) {
        if let DiffOp::Equal { old_index, new_index, len } = change {
            for step in 0..len {
                found[new_index + step] = number(old_index + step);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_people_write_them() {
        for (text, expected) in [("42", (42, 42)), ("3-5", (3, 5)), (" 3 : 5 ", (3, 5)), ("L5-L3", (3, 5))] {
            assert_eq!(parse_lines(text).unwrap(), expected, "{text}");
        }
        for wrong in ["", "0", "-3", "3-", "x", "1-2-3", "99999999999"] {
            assert!(parse_lines(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn runs_are_shown_as_people_write_them() {
        let mut lines = Vec::new();
        for line in [1, 2, 3, 7, 9, 10] {
            add(&mut lines, line);
        }
        assert_eq!(shown(&lines), "1-3,7,9-10");
    }

    #[test]
    fn uncommitted_lines_have_no_number() {
        let at = |now: &str, then: &str| match_lines(now.as_bytes(), then.as_bytes());
        assert_eq!(at("a\nnew\nb\n", "a\nb\n"), [Some(1), None, Some(2)]);
        assert_eq!(at("a\r\nb", "a\nb\n"), [Some(1), Some(2)], "line ends do not count");
        assert_eq!(at("b\n", "a\nb\nc\n"), [Some(2)]);
        assert_eq!(at("x $Id: 1234 $ y\nnew\n", "x $Id$ y\n"), [Some(1), None], "nor does what git expands");
        assert_eq!(at("", "a\n"), Vec::<Option<u32>>::new());
        assert_eq!(at("a\n\n", ""), [None, None]);
    }
}
