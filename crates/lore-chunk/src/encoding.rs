//! Bytes into text: what counts as text at all, and how text that is not UTF-8 is read.

use std::{borrow::Cow, ops::Range};

/// How far git looks for a NUL.
const GIT_LOOKS_AT: usize = 8_000;

/// The characters of the bytes 0x80 to 0x9f in Windows-1252; the rest are those of Latin-1.
const C1: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// How the bytes of a file become text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Valid UTF-8.
    Utf8,
    /// Anything else that is not binary: every byte is a character, so nothing is lost.
    Windows1252,
}

impl Encoding {
    /// How these bytes are to be read.
    pub fn of(bytes: &[u8]) -> Self {
        if std::str::from_utf8(bytes).is_ok() { Self::Utf8 } else { Self::Windows1252 }
    }

    /// The text of any part of such a file.
    pub fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Utf8 => String::from_utf8_lossy(bytes),
            Self::Windows1252 => match std::str::from_utf8(bytes) {
                Ok(text) if text.is_ascii() => Cow::Borrowed(text),
                _ => Cow::Owned(bytes.iter().map(|byte| windows_1252(*byte)).collect()),
            },
        }
    }
}

fn windows_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9f => C1[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// Whether git takes these bytes for binary: there is a NUL among the first 8,000.
pub fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(GIT_LOOKS_AT)]).is_some()
}

/// Whether the bytes begin like UTF-16, which is binary to git and so has no chunks.
pub fn is_utf16(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) && !bytes.starts_with(&[0xff, 0xfe, 0, 0])
}

/// Text of the same length in which everything that is not UTF-8 is `?`: for scanners that need text but give offsets.
pub(crate) fn masked(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for part in bytes.utf8_chunks() {
        text.push_str(part.valid());
        text.extend(part.invalid().iter().map(|_| '?'));
    }
    Cow::Owned(text)
}

/// One line of at most `most` characters: white space is folded.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let words = text.split_whitespace().enumerate();
    let mut chars = words.flat_map(|(index, word)| (index > 0).then_some(' ').into_iter().chain(word.chars()));
    let mut line: String = chars.by_ref().take(most).collect();
    if chars.next().is_some() {
        line.pop();
        line.truncate(line.trim_end().len());
        line.push('…');
    }
    line
}

/// The part of `inner` that lies in `outer`, if any.
pub(crate) fn clip(inner: &Range<usize>, outer: &Range<usize>) -> Option<Range<usize>> {
    let clipped = inner.start.max(outer.start)..inner.end.min(outer.end);
    (clipped.start < clipped.end).then_some(clipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_utf_8_is_read_as_windows_1252() {
        let bytes = b"caf\xe9 \x80 \x93quoted\x94";
        assert_eq!(Encoding::of(bytes), Encoding::Windows1252);
        assert_eq!(Encoding::of(bytes).decode(bytes), "café € “quoted”");
        assert_eq!(Encoding::of("café".as_bytes()), Encoding::Utf8);
        assert_eq!(masked(bytes), "caf? ? ?quoted?");
    }

    #[test]
    fn binary_is_what_git_takes_for_it() {
        assert!(is_binary(b"a\0b"));
        let mut long = vec![b'a'; 8_000];
        long.push(0);
        assert!(!is_binary(&long));
        assert!(is_binary(&long[1..]));
        assert!(is_utf16(b"\xff\xfea\0") && is_utf16(b"\xfe\xff\0a") && !is_utf16(b"ab"));
    }

    #[test]
    fn lines_are_folded_and_cut() {
        assert_eq!(one_line("  a\n\tb  c ", 10), "a b c");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("ab cdef", 3), "ab…");
        assert_eq!(one_line("abc def", 3), "ab…");
        assert_eq!(one_line("ab cdef", 4), "ab…");
    }
}
