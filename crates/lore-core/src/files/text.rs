//! What of a file's content is shown: whole lines, within bounds, and what is left out is said.

use lore_chunk::{is_binary, is_utf16};
use lore_model::{Code, Failure, RepoPath, brief};
use memchr::memchr_iter;

/// So many bytes of text are shown at once.
const TEXT_MAX: usize = 1 << 20;

/// The lines that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// All of them.
    All,
    /// From this line on, counted from 1, and so many; as many as can be shown where no number is said.
    Lines {
        /// The first.
        first: usize,
        /// How many.
        count: Option<usize>,
    },
}

/// What can be shown of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Its text, or some lines of it.
    Text {
        /// The text, with its own line ends.
        text: String,
        /// The first and the last line that is shown, from 1; none where there is no line.
        lines: Option<(usize, usize)>,
        /// How many lines the file has.
        of: usize,
        /// Whether lines that were asked for are left out, or the end of the last one, because there is too much.
        cut: bool,
        /// Whether bytes that are not UTF-8 were replaced.
        lossy: bool,
    },
    /// It is no text.
    Binary {
        /// It is text of a kind that git takes for binary.
        utf16: bool,
    },
    /// There is more than can be shown at once.
    TooLarge {
        /// How many lines it has, where it was read.
        lines: Option<usize>,
    },
    /// A link, which is not followed, to this place.
    Link(String),
}

/// What to show of these bytes; `Err` with the number of lines where the first one that is asked for is not among them.
pub(super) fn show(bytes: &[u8], range: Range) -> Result<Shown, usize> {
    if is_binary(bytes) {
        return Ok(Shown::Binary { utf16: is_utf16(bytes) });
    }
    // Line ends are counted and not remembered: a file may be nothing but line ends, and a number for each is many times as
    // large.
    let of = memchr_iter(b'\n', bytes).count() + usize::from(bytes.last().is_some_and(|last| *last != b'\n'));
    let (first, count) = match range {
        Range::All if bytes.len() > TEXT_MAX => return Ok(Shown::TooLarge { lines: Some(of) }),
        Range::All => (1, None),
        Range::Lines { first, count } => (first.max(1), count),
    };
    if first > of.max(1) {
        return Err(of);
    }
    if of == 0 {
        return Ok(Shown::Text { text: String::new(), lines: None, of, cut: false, lossy: false });
    }
    let wanted = count.map_or(of, |count| (first - 1).saturating_add(count.max(1)).min(of));
    let begin = match first.checked_sub(2) {
        Some(before) => memchr_iter(b'\n', bytes).nth(before).map_or(bytes.len(), |at| at + 1),
        None => 0,
    };
    let rest = &bytes[begin..];
    let (mut last, mut end) = (first - 1, begin);
    for at in memchr_iter(b'\n', &rest[..rest.len().min(TEXT_MAX)]).take(wanted - last) {
        (last, end) = (last + 1, begin + at + 1);
    }
    // What follows the last line end is a line as well.
    if last < wanted && rest.len() <= TEXT_MAX {
        (last, end) = (wanted, bytes.len());
    }
    let cut = last < wanted;
    // Where no whole line fits, a part of the first is shown.
    if last < first {
        (last, end) = (first, char_border(bytes, begin, begin + TEXT_MAX));
    }
    let text = String::from_utf8_lossy(&bytes[begin..end]);
    let lossy = matches!(text, std::borrow::Cow::Owned(_));
    Ok(Shown::Text { text: text.into_owned(), lines: Some((first, last)), of, cut, lossy })
}

/// The last border of characters that is not behind `end`.
fn char_border(bytes: &[u8], begin: usize, end: usize) -> usize {
    let is_border = |at: &usize| bytes.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    (begin.max(end.saturating_sub(3))..=end).rev().find(is_border).unwrap_or(end)
}

/// Says that a file has no such line.
pub(super) fn past_the_end(path: &RepoPath, lines: usize) -> Failure {
    let (text, has) = (path.to_text(), if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") });
    Failure::new(Code::InvalidArgument, format!("`offset` is past the end: `{}` has {has}", brief(&text)))
        .hint("lines are counted from 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(first: usize, count: Option<usize>) -> Range {
        Range::Lines { first, count }
    }

    #[track_caller]
    fn check(content: &str, range: Range, text: &str, shown: Option<(usize, usize)>, of: usize) {
        let expected = Shown::Text { text: text.to_owned(), lines: shown, of, cut: false, lossy: false };
        assert_eq!(show(content.as_bytes(), range), Ok(expected));
    }

    #[test]
    fn lines_are_counted_from_one_and_keep_their_ends() {
        check("a\r\nb\r\nc", Range::All, "a\r\nb\r\nc", Some((1, 3)), 3);
        check("a\r\nb\r\nc", lines(2, Some(1)), "b\r\n", Some((2, 2)), 3);
        check("a\nb\nc\n", lines(2, None), "b\nc\n", Some((2, 3)), 3);
        check("a\nb\nc\n", lines(3, Some(usize::MAX)), "c\n", Some((3, 3)), 3);
        check("\n", Range::All, "\n", Some((1, 1)), 1);
        check("", Range::All, "", None, 0);
        check("", lines(1, Some(5)), "", None, 0);
        assert_eq!(show(b"a\nb\n", lines(3, None)), Err(2), "there is no line after the last line end");
        assert_eq!(show(b"", lines(2, None)), Err(0));
    }

    #[test]
    fn what_is_no_text_or_too_much_is_said() {
        assert_eq!(show(b"a\0b", Range::All), Ok(Shown::Binary { utf16: false }));
        assert_eq!(show(b"\xff\xfea\0", lines(1, None)), Ok(Shown::Binary { utf16: true }));
        let large = "0123456789\n".repeat(100_000);
        assert_eq!(show(large.as_bytes(), Range::All), Ok(Shown::TooLarge { lines: Some(100_000) }));
        let Ok(Shown::Text { text, lines: Some((2, last)), of: 100_000, cut: true, .. }) =
            show(large.as_bytes(), lines(2, None))
        else {
            panic!("some lines are shown")
        };
        assert_eq!((text.len(), last), ((TEXT_MAX / 11) * 11, 1 + TEXT_MAX / 11), "whole lines, as many as fit");
        check(&large, lines(99_999, Some(2)), "0123456789\n0123456789\n", Some((99_999, 100_000)), 100_000);
    }

    #[test]
    fn what_fills_the_room_exactly_is_shown_whole() {
        for end in ["", "\n"] {
            let fits = "x".repeat(TEXT_MAX - end.len()) + end;
            check(&fits, lines(1, None), &fits, Some((1, 1)), 1);
            check(&format!("a\n{fits}"), lines(2, Some(9)), &fits, Some((2, 2)), 2);
            let Ok(Shown::Text { text, lines: Some((1, 1)), of: 2, cut: true, .. }) =
                show(format!("{fits}{}", if end.is_empty() { "\nb" } else { "b" }).as_bytes(), lines(1, None))
            else {
                panic!("the first line is shown")
            };
            assert_eq!(text.len(), TEXT_MAX);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_between_characters() {
        let long = format!("a{}\nend\n", "é".repeat(TEXT_MAX));
        let Ok(Shown::Text { text, lines: Some((1, 1)), of: 2, cut: true, lossy: false }) =
            show(long.as_bytes(), lines(1, Some(1)))
        else {
            panic!("its beginning is shown")
        };
        assert_eq!(text.len(), TEXT_MAX - 1);
        check(&long, lines(2, Some(1)), "end\n", Some((2, 2)), 2);
    }

    #[test]
    fn what_is_not_utf_8_is_replaced_and_that_is_said() {
        let shown = show(b"caf\xe9\n", Range::All).unwrap();
        let text = "caf\u{fffd}\n".to_owned();
        assert_eq!(shown, Shown::Text { text, lines: Some((1, 1)), of: 1, cut: false, lossy: true });
    }
}
