//! A file's bytes, with where its lines begin.

use std::{borrow::Cow, cell::Cell, ops::Range};

use crate::encoding::{Encoding, one_line};

/// The longest name that is kept.
const LONGEST_NAME: usize = 120;

/// So many bytes are looked at for a name.
const LOOKED_AT: usize = 4_096;

/// One file while it is being cut.
pub(crate) struct Source<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) encoding: Encoding,
    /// Where each line begins; a file that ends with a line break has no empty last line.
    lines: Vec<usize>,
    /// How deep in the tree the node is that a hook is asked about.
    depth: Cell<usize>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut lines = Vec::with_capacity(bytes.len() / 32 + 1);
        if !bytes.is_empty() {
            lines.push(0);
            lines.extend(memchr::memchr_iter(b'\n', bytes).map(|at| at + 1).filter(|at| *at < bytes.len()));
        }
        Self { bytes, encoding: Encoding::of(bytes), lines, depth: Cell::new(0) }
    }

    /// For files that are read from front to back only; the table of lines would be as large as they are.
    pub(crate) fn without_lines(bytes: &'a [u8]) -> Self {
        Self { bytes, encoding: Encoding::of(bytes), lines: Vec::new(), depth: Cell::new(0) }
    }

    /// How deep in the tree the node is that a hook is asked about, 1 for the children of the root. To find the parent of
    /// a node costs as many steps as it is deep, so hooks that want to know it ask this first.
    pub(crate) fn depth(&self) -> usize {
        self.depth.get()
    }

    pub(super) fn set_depth(&self, depth: usize) {
        self.depth.set(depth);
    }

    /// The number, from 0, of the line that a byte is in.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Where a line begins; the end of the file for lines after the last.
    pub(crate) fn line_start(&self, line: usize) -> usize {
        self.lines.get(line).copied().unwrap_or(self.bytes.len())
    }

    /// How many lines there are.
    pub(crate) fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// The line border at or after the end of something.
    pub(crate) fn border_after(&self, end: usize) -> usize {
        if end == 0 { 0 } else { self.line_start(self.line_of(end - 1) + 1) }
    }

    /// The line border at or before the start of something.
    pub(crate) fn border_before(&self, start: usize) -> usize {
        self.line_start(self.line_of(start))
    }

    /// The bytes of a line, without its end.
    pub(crate) fn line(&self, line: usize) -> &'a [u8] {
        self.bytes[self.line_start(line)..self.line_start(line + 1)].trim_ascii_end()
    }

    /// How many lines a range at line borders has.
    pub(crate) fn lines_in(&self, range: &Range<usize>) -> usize {
        if range.is_empty() { 0 } else { self.line_of(range.end - 1) - self.line_of(range.start) + 1 }
    }

    /// The same range without blank lines at its beginning.
    pub(crate) fn without_blank_start(&self, range: Range<usize>) -> Range<usize> {
        let blank = self.bytes[range.clone()].iter().position(|byte| !byte.is_ascii_whitespace());
        match blank {
            Some(length) => self.border_before(range.start + length).max(range.start)..range.end,
            None => range.end..range.end,
        }
    }

    /// The text of a range.
    pub(crate) fn text(&self, range: Range<usize>) -> Cow<'a, str> {
        self.encoding.decode(&self.bytes[range])
    }

    /// A name: one line, without quotes around it. `None` where nothing is left.
    pub(crate) fn name(&self, range: Range<usize>) -> Option<String> {
        const QUOTES: [char; 3] = ['"', '\'', '`'];
        // A selector may be as long as the file, and is asked for by everything in its block.
        let text = self.text(range.start..range.end.min(range.start + LOOKED_AT));
        let text = text.trim();
        // `a."b"` ends with a quote, but is not in quotes.
        let text = if text.starts_with(QUOTES) { text.trim_matches(QUOTES) } else { text };
        let name = one_line(text, LONGEST_NAME);
        (!name.is_empty()).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_after_line_breaks() {
        let source = Source::new(b"ab\n\ncd\n");
        assert_eq!(source.line_count(), 3);
        assert_eq!([0, 1, 2, 3, 4, 6].map(|at| source.line_of(at)), [0, 0, 0, 1, 2, 2]);
        assert_eq!([0, 1, 3, 4, 5, 7].map(|end| source.border_after(end)), [0, 3, 3, 4, 7, 7]);
        assert_eq!(source.without_blank_start(3..7), 4..7);
        assert_eq!(source.lines_in(&(0..7)), 3);
        assert_eq!(Source::new(b"").line_count(), 0);
    }

    #[test]
    fn names_are_short_however_long_they_are() {
        for length in [119, 120, 121, LOOKED_AT, 3 * LOOKED_AT] {
            let text = format!("\"{}\"", "x".repeat(length));
            let name = Source::new(text.as_bytes()).name(0..text.len()).unwrap();
            let is_whole = length <= LONGEST_NAME;
            assert_eq!(name.chars().count(), length.min(LONGEST_NAME));
            assert_eq!(name.ends_with('…'), !is_whole, "{name}");
        }
    }
}
