//! Runs of lines, for text whose structure is not known.

use std::ops::Range;

use lore_model::ChunkKind;

use super::{Draft, Outline, Source};

/// A run has about so many lines, and never more bytes than this unless one line has.
const LINES: usize = 40;
const BYTES: usize = 4_096;
/// From so many lines on, a blank line ends a run.
const ENOUGH: usize = 24;

/// Cuts a whole file.
pub(super) fn outline(source: &Source<'_>, kind: ChunkKind) -> Outline {
    Outline { drafts: cut(source.bytes, 0..source.bytes.len(), kind), ..Outline::default() }
}

/// Cuts a part of a file, which begins and ends at line borders.
pub(crate) fn cut(bytes: &[u8], part: Range<usize>, kind: ChunkKind) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let mut start = part.start;
    let mut lines = 0;
    let mut line_start = part.start;
    while line_start < part.end {
        let rest = &bytes[line_start..part.end];
        let end = memchr::memchr(b'\n', rest).map_or(part.end, |length| line_start + length + 1);
        if lines > 0 && end - start > BYTES {
            drafts.push(Draft::unnamed(line_start, kind));
            (start, lines) = (line_start, 0);
        }
        lines += 1;
        let blank = bytes[line_start..end].trim_ascii().is_empty();
        if lines >= LINES || (blank && lines >= ENOUGH) {
            drafts.push(Draft::unnamed(end, kind));
            (start, lines) = (end, 0);
        }
        line_start = end;
    }
    if start < part.end {
        drafts.push(Draft::unnamed(part.end, kind));
    }
    drafts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[usize]) {
        let drafts = cut(text.as_bytes(), 0..text.len(), ChunkKind::Data);
        let ends: Vec<usize> = drafts.iter().map(|draft| draft.end).collect();
        assert_eq!(ends, expected);
    }

    #[test]
    fn runs_end_at_blank_lines_at_forty_lines_and_at_four_kilobytes() {
        check("", &[]);
        check("a\nb", &[3]);
        check(&"a\n".repeat(100), &[80, 160, 200]);
        check(&format!("{}\n{}", "a\n".repeat(30), "b\n".repeat(20)), &[61, 101]);
        check(&format!("{}\n", "a".repeat(999)).repeat(6), &[4_000, 6_000]);
        check(&format!("a\n{}\nb\n", "x".repeat(9_000)), &[2, 9_003, 9_005]);
    }
}
