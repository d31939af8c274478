//! Reads one file's bytes into chunks that can be stored: cut, named by content, embedded.

use std::ops::Range;

use lore_chunk::{Chunked, Chunker, Encoding, Language, Plain, is_binary, is_utf16, symbols_text};
use lore_embed::{DIMENSIONS, EmbedError, Embedder, Mode, Scratch};
use lore_model::ChunkKind;
use lore_store::{BlobRecord, ChunkInput, ChunkKey, ChunkSink, Entry, PreparedChunk};

/// Larger files are not read at all.
pub(super) const MAX_FILE: u64 = 64 << 20;

/// Counts up when chunks are cut or described in another way, so that all is read anew.
const READING: u32 = 3;

/// Everything but the content that decides what is stored of a file.
pub(super) fn rules(embedder: &dyn Embedder) -> String {
    format!("{READING} {}", embedder.model())
}

/// What a chunk's vector is made of: what it defines and where in a line of its own, which counts more, then its text.
pub(super) fn passage<C>(entry: &Entry<C>, text: &str) -> String {
    // An outline is names already.
    if entry.kind == ChunkKind::Symbols { text.to_owned() } else { format!("{}\n{text}", names_of(entry)) }
}

/// Everything that a chunk defines, and in what.
fn names_of<C>(entry: &Entry<C>) -> String {
    let name = entry.name.iter().filter(|name| !entry.names.contains(name));
    let all: Vec<&str> = entry.names.iter().chain(name).chain(&entry.container).map(String::as_str).collect();
    all.join(" ")
}

/// A file's bytes, read.
pub(super) struct ReadFile {
    pub(super) record: BlobRecord<ChunkKey>,
    pub(super) chunks: Vec<(ChunkKey, PreparedChunk)>,
}

/// Reads files on one thread.
pub(super) struct FileReader<'a> {
    chunker: Chunker,
    sink: &'a dyn ChunkSink,
    embedder: &'a dyn Embedder,
    scratch: Scratch,
}

/// A chunk on its way to the store.
struct Draft<'t> {
    key: ChunkKey,
    text: &'t [u8],
    names: String,
    code: String,
    prose: String,
    passage: Option<String>,
    /// What git takes for binary is not read, so all but outlines are lines of a text file.
    exact: bool,
}

impl<'a> FileReader<'a> {
    /// Chunks go to the sink.
    pub(super) fn new(sink: &'a dyn ChunkSink, embedder: &'a dyn Embedder) -> Self {
        Self { chunker: Chunker::new(), sink, embedder, scratch: Scratch::default() }
    }

    /// Reads a file; `Err` says why it is not text.
    pub(super) fn read(&mut self, path: &str, bytes: &[u8]) -> Result<Result<ReadFile, &'static str>, EmbedError> {
        if is_binary(bytes) {
            return Ok(Err(if is_utf16(bytes) { "UTF-16, which git takes for binary" } else { "binary" }));
        }
        let language = Language::of(path, bytes);
        let chunked = self.chunker.chunk(language, path, bytes);
        let outline = chunked.plain.is_none().then(|| symbols_text(&chunked)).filter(|outline| !outline.is_empty());
        let mut entries = Vec::with_capacity(chunked.chunks.len() + 1);
        let mut drafts = Vec::new();
        for chunk in &chunked.chunks {
            let text = &bytes[chunk.bytes.clone()];
            let prose: Vec<Range<usize>> = chunk
                .prose
                .iter()
                .map(|range| range.start - chunk.bytes.start..range.end - chunk.bytes.start)
                .collect();
            let entry = Entry {
                chunk: (),
                kind: chunk.kind,
                bytes: small(chunk.bytes.start)..small(chunk.bytes.end),
                first_line: chunk.first_line,
                last_line: chunk.last_line,
                name: chunk.name.clone(),
                names: if chunk.names.iter().eq(&chunk.name) { Vec::new() } else { chunk.names.clone() },
                symbol: chunk.symbol,
                container: chunk.container.clone(),
                part: chunk.part,
            };
            let names = names_of(&entry);
            let key = self.key(chunk.kind, language, &names, &prose, text, chunked.plain);
            if self.sink.claim(&key) {
                drafts.push(draft(key, &entry, text, names, &prose, &chunked));
            }
            entries.extend(entry.rename(|()| Some(key)));
        }
        if let Some(outline) = &outline {
            let key = self.key(ChunkKind::Symbols, language, "", &[], outline.as_bytes(), None);
            entries.push(Entry {
                chunk: key,
                kind: ChunkKind::Symbols,
                bytes: 0..0,
                first_line: 1,
                last_line: chunked.chunks.last().map_or(1, |chunk| chunk.last_line),
                name: None,
                names: Vec::new(),
                symbol: None,
                container: None,
                part: None,
            });
            if self.sink.claim(&key) {
                drafts.push(Draft {
                    key,
                    text: outline.as_bytes(),
                    names: String::new(),
                    code: outline.clone(),
                    prose: String::new(),
                    passage: Some(outline.clone()),
                    exact: false,
                });
            }
        }
        let chunks = self.prepare(drafts)?;
        let record = BlobRecord {
            language: language.name().to_owned(),
            size: bytes.len() as u64,
            lines: chunked.chunks.last().map_or(0, |chunk| chunk.last_line),
            plain: chunked.plain.map(|plain| plain.reason().to_owned()),
            package: chunked.package,
            counts: [chunked.imports, chunked.types, chunked.functions],
            tags: chunked.tags,
            entries,
        };
        Ok(Ok(ReadFile { record, chunks }))
    }

    /// Names a chunk by all that decides how it is found. Whether exact search looks at it follows from the kind.
    fn key(
        &self,
        kind: ChunkKind,
        language: Language,
        names: &str,
        prose: &[Range<usize>],
        text: &[u8],
        plain: Option<Plain>,
    ) -> ChunkKey {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&READING.to_le_bytes());
        let found_by = match plain {
            None => self.embedder.model(),
            Some(plain) if plain.is_ranked() => "words alone",
            Some(_) => "",
        };
        for part in [kind.as_str(), language.name(), names, found_by] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.update(&(prose.len() as u64).to_le_bytes());
        for range in prose {
            hasher.update(&(range.start as u64).to_le_bytes());
            hasher.update(&(range.end as u64).to_le_bytes());
        }
        hasher.update(text);
        let mut key = [0; 16];
        key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        ChunkKey(key)
    }

    fn prepare(&mut self, drafts: Vec<Draft<'_>>) -> Result<Vec<(ChunkKey, PreparedChunk)>, EmbedError> {
        let remote = if self.embedder.as_local().is_none() {
            let passages: Vec<&str> = drafts.iter().filter_map(|draft| draft.passage.as_deref()).collect();
            self.embedder.embed(&passages, Mode::Passage)?
        } else {
            Vec::new()
        };
        let mut remote = remote.into_iter();
        let mut vector = [0.0; DIMENSIONS];
        let mut chunks = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let mut found: Option<&[f32; DIMENSIONS]> = None;
            let given;
            if let Some(passage) = &draft.passage {
                if let Some(model) = self.embedder.as_local() {
                    model.embed_into(passage, Mode::Passage, &mut vector, &mut self.scratch);
                    found = Some(&vector);
                } else if let Some(next) = remote.next() {
                    given = <[f32; DIMENSIONS]>::try_from(next).map_err(|given| EmbedError::WrongDimensions {
                        model: self.embedder.model().to_owned(),
                        expected: DIMENSIONS,
                        got: given.len(),
                    })?;
                    found = Some(&given);
                }
            }
            let Draft { key, text, names, code, prose, exact, .. } = &draft;
            let input = ChunkInput { key: *key, text, names, code, prose, vector: found, exact: *exact };
            chunks.push((draft.key, self.sink.prepare(&input)));
        }
        Ok(chunks)
    }
}

fn draft<'t>(
    key: ChunkKey,
    entry: &Entry<()>,
    text: &'t [u8],
    names: String,
    prose: &[Range<usize>],
    chunked: &Chunked,
) -> Draft<'t> {
    if chunked.plain.is_some_and(|plain| !plain.is_ranked()) {
        return Draft { key, text, names, code: String::new(), prose: String::new(), passage: None, exact: true };
    }
    let encoding: Encoding = chunked.decoded;
    let (mut code, mut said, mut at) = (String::with_capacity(text.len()), String::new(), 0);
    for range in prose {
        code.push_str(&encoding.decode(&text[at..range.start]));
        code.push(' ');
        said.push_str(&encoding.decode(&text[range.clone()]));
        said.push('\n');
        at = range.end;
    }
    code.push_str(&encoding.decode(&text[at..]));
    // Decoded as where nothing but the chunk is known.
    let passage = chunked.plain.is_none().then(|| passage(entry, &Encoding::of(text).decode(text)));
    Draft { key, text, names, code, prose: said, passage, exact: true }
}

fn small(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_begins_with_what_it_defines() {
        let mut entry = Entry {
            chunk: (),
            kind: ChunkKind::Definitions,
            bytes: 0..1,
            first_line: 1,
            last_line: 2,
            name: Some("run".to_owned()),
            names: Vec::new(),
            symbol: None,
            container: Some("Engine".to_owned()),
            part: None,
        };
        assert_eq!(passage(&entry, "fn run()"), "run Engine\nfn run()");
        entry.names = vec!["start".to_owned(), "run".to_owned()];
        assert_eq!(passage(&entry, "fn start()"), "start run Engine\nfn start()", "nothing is said twice");
        entry.kind = ChunkKind::Symbols;
        assert_eq!(passage(&entry, "start\nrun"), "start\nrun", "an outline is names already");
    }
}
