//! Cuts a stream of bytes into lines, in bounded memory whatever arrives.

use std::{io, mem};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Bytes a line may have.
pub(crate) const MAX_LINE: usize = 16 * 1024 * 1024;

/// What a stream held next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line without its end, or the rest of the stream where it has none.
    Text(Vec<u8>),
    /// A line of more than [`MAX_LINE`] bytes: reported once, then skipped to its end.
    TooLong,
}

/// The lines of a stream.
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    /// The line so far.
    line: Vec<u8>,
    /// Whether the rest of the current line is skipped.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input: BufReader::with_capacity(64 * 1024, input), line: Vec::new(), skipping: false }
    }

    /// The next line, or `None` at the end of the stream.
    ///
    /// Nothing is lost when the future is dropped half-way: the line so far stays here.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let chunk = self.input.fill_buf().await?;
            if chunk.is_empty() {
                self.skipping = false;
                return Ok((!self.line.is_empty()).then(|| Line::Text(mem::take(&mut self.line))));
            }
            let end = memchr::memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let too_long = self.line.len() + part.len() > MAX_LINE;
            if !self.skipping && !too_long {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            let skipped = self.skipping;
            self.skipping = (skipped || too_long) && end.is_none();
            if too_long && !skipped {
                self.line = Vec::new();
                return Ok(Some(Line::TooLong));
            }
            if end.is_some() && !skipped {
                return Ok(Some(Line::Text(mem::take(&mut self.line))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(input: &[u8], expected: &[Line]) {
        let mut lines = Lines::new(input);
        for line in expected {
            assert_eq!(lines.next().await.unwrap().as_ref(), Some(line));
        }
        assert_eq!(lines.next().await.unwrap(), None);
    }

    fn text(line: &str) -> Line {
        Line::Text(line.into())
    }

    #[tokio::test]
    async fn the_last_line_needs_no_end() {
        check(b"one\n\ntwo", &[text("one"), text(""), text("two")]).await;
        check(b"one\n", &[text("one")]).await;
        check(b"", &[]).await;
    }

    #[tokio::test]
    async fn a_line_of_the_greatest_length_is_read_and_a_longer_one_is_skipped() {
        let longest = "x".repeat(MAX_LINE);
        check(format!("{longest}\nnext\n").as_bytes(), &[text(&longest), text("next")]).await;
        check(format!("{longest}x\nnext\n").as_bytes(), &[Line::TooLong, text("next")]).await;
        check(format!("{longest}{longest}{longest}\nnext").as_bytes(), &[Line::TooLong, text("next")]).await;
        check(format!("{longest}{longest}").as_bytes(), &[Line::TooLong]).await;
    }

    #[tokio::test]
    async fn memory_stays_bounded_while_a_long_line_is_skipped() {
        let mut lines = Lines::new(tokio::io::AsyncReadExt::take(tokio::io::repeat(b'x'), 5 * MAX_LINE as u64));
        assert_eq!(lines.next().await.unwrap(), Some(Line::TooLong));
        assert_eq!(lines.line.capacity(), 0);
        assert_eq!(lines.next().await.unwrap(), None);
        assert_eq!(lines.line.capacity(), 0);
    }
}
