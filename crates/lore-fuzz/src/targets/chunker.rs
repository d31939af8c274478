//! Files of every language, cut into chunks.

use lore_chunk::{Chunker, Language, is_binary, symbols_text};

use crate::bytes::first_line;

/// The first line is a path, which says the language; the rest is the file.
pub(super) fn run(bytes: &[u8]) {
    let (path, bytes) = first_line(bytes);
    let path = String::from_utf8_lossy(path);
    let language = Language::of(&path, bytes);
    is_binary(bytes);
    let mut chunker = Chunker::new();
    let file = chunker.chunk(language, &path, bytes);
    let (mut end, mut line) = (0, 1);
    for chunk in &file.chunks {
        assert_eq!((chunk.bytes.start, chunk.first_line), (end, line), "{language}: no gap and no overlap");
        assert!(!chunk.bytes.is_empty() && chunk.first_line <= chunk.last_line, "{language}: {chunk:?}");
        let text = &bytes[chunk.bytes.clone()];
        let lines = text.strip_suffix(b"\n").unwrap_or(text).split(|byte| *byte == b'\n').count();
        assert_eq!(chunk.last_line - chunk.first_line + 1, u32::try_from(lines).unwrap_or(0), "{language}: {chunk:?}");
        assert!(chunk.bytes.end == bytes.len() || text.ends_with(b"\n"), "{language}: lines are whole");
        (end, line) = (chunk.bytes.end, chunk.last_line + 1);
    }
    assert_eq!(end, bytes.len(), "{language}: all of the file");
    for symbol in &file.symbols {
        assert!(
            !symbol.name.is_empty() && symbol.first_line <= symbol.last_line && symbol.last_line < line,
            "{symbol:?}"
        );
    }
    symbols_text(&file);
    assert_eq!(file, chunker.chunk(language, &path, bytes), "{language}: the same bytes give the same chunks");
}
