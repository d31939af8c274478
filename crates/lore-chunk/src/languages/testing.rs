//! Shows what became of a source text, for the tests of the languages.

use std::fmt::Write as _;

use expect_test::Expect;

use crate::{Chunked, Chunker, Language};

/// Cuts a text and compares what came out: chunks (kind, lines, what), then symbols, then what else was found.
pub(crate) fn check(language: &str, text: &str, expected: &Expect) {
    let language = Language::named(language).unwrap();
    let chunked = Chunker::new().chunk(language, "test", text.as_bytes());
    check_partition(text.as_bytes(), &chunked);
    expected.assert_eq(&show(text, &chunked));
}

fn show(text: &str, file: &Chunked) -> String {
    let mut shown = String::new();
    for chunk in &file.chunks {
        write!(shown, "{} {}-{}", chunk.kind, chunk.first_line, chunk.last_line).unwrap();
        if let Some(symbol) = chunk.symbol {
            write!(shown, " {symbol}").unwrap();
        }
        if let Some(name) = &chunk.name {
            write!(shown, " `{name}`").unwrap();
        }
        if let Some(container) = &chunk.container {
            write!(shown, " in `{container}`").unwrap();
        }
        if let Some((number, count)) = chunk.part {
            write!(shown, " part {number}/{count}").unwrap();
        }
        let own: Vec<&str> = chunk.name.as_deref().into_iter().collect();
        if chunk.names != own {
            write!(shown, " names {}", chunk.names.join(" ")).unwrap();
        }
        let prose: Vec<String> = chunk.prose.iter().map(|range| brief(&text[range.clone()])).collect();
        if !prose.is_empty() && !chunk.kind.as_str().starts_with("doc") {
            write!(shown, " prose {}", prose.join(" | ")).unwrap();
        }
        shown.push('\n');
    }
    for symbol in &file.symbols {
        let container = symbol.container.as_deref().map(|it| format!(" in `{it}`")).unwrap_or_default();
        let lines = format!("{}-{}", symbol.first_line, symbol.last_line);
        writeln!(shown, "  {lines} {} `{}`{container}: {}", symbol.kind, symbol.name, symbol.signature).unwrap();
    }
    if let Some(package) = &file.package {
        writeln!(shown, "package {package}").unwrap();
    }
    if file.imports > 0 {
        writeln!(shown, "imports {}", file.imports).unwrap();
    }
    if !file.tags.is_empty() {
        writeln!(shown, "tags {}", file.tags.join(" ")).unwrap();
    }
    if let Some(plain) = file.plain {
        writeln!(shown, "plain {plain:?}").unwrap();
    }
    shown
}

fn brief(text: &str) -> String {
    crate::encoding::one_line(text, 24)
}

/// Fails if the chunks are not a partition of the bytes, each of whole lines: it begins where a line does, and ends with a
/// line break or with the file. Exact search relies on it.
pub(crate) fn check_partition(bytes: &[u8], file: &Chunked) {
    let mut at = 0;
    let mut line = 1;
    for chunk in &file.chunks {
        assert_eq!(chunk.bytes.start, at, "chunks follow each other");
        assert!(chunk.bytes.end > at, "no chunk is empty");
        let is_last = chunk.bytes.end == bytes.len();
        assert!(is_last || bytes[chunk.bytes.end - 1] == b'\n', "chunks end where lines end");
        assert_eq!(chunk.first_line, line);
        let text = &bytes[chunk.bytes.clone()];
        let lines = text.split_inclusive(|byte| *byte == b'\n').count();
        assert_eq!(chunk.last_line as usize, line as usize + lines - 1);
        assert!(chunk.name.iter().chain(&chunk.names).chain(&chunk.container).all(|name| !name.is_empty()));
        assert!(chunk.prose.iter().all(|it| it.start < it.end && it.start >= at && it.end <= chunk.bytes.end));
        assert!(chunk.prose.windows(2).all(|pair| pair[0].end <= pair[1].start), "prose is in order");
        assert!(chunk.part.is_none_or(|(number, count)| number >= 1 && number <= count && count > 1));
        at = chunk.bytes.end;
        line = chunk.last_line + 1;
    }
    assert_eq!(at, bytes.len(), "all bytes are in chunks");
    for symbol in &file.symbols {
        assert!(!symbol.name.is_empty() && symbol.first_line >= 1 && symbol.first_line <= symbol.last_line);
        assert!(symbol.last_line < line && symbol.signature.chars().count() <= 200, "{symbol:?}");
    }
    assert!(file.symbols.windows(2).all(|pair| pair[0].first_line <= pair[1].first_line));
}
