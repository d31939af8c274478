//! Entry points of private parsers for `lore-fuzz`, behind the feature `fuzzing`.

use std::{path::Path, sync::Arc};

use lore_segments::{Prepared, Scratch, Segment, SegmentBuilder, View, merge};
use lore_store::{Accuracy, Ask, AskWord, ChunkId, ChunkInput, ChunkKey, DIMENSIONS, FieldWeight, TextPlan};
use rusqlite::Connection;

use crate::{
    fts_query::{normalize, quote_words},
    history_read::is_syntax,
};

/// The texts of the chunks in [`segment`].
pub const TEXTS: [&str; 6] = [
    "fn parse_config(text: &str) -> Config { Config::default() }",
    "pub struct Config { retries: usize }",
    "# Retries\n\nHow often it is tried again.",
    "",
    "größe = 日本語\n",
    "x\ny\nz\n",
];

/// The bytes of a small segment with these texts.
pub fn segment() -> Vec<u8> {
    let (mut builder, mut scratch) = (SegmentBuilder::new(), Scratch::default());
    for (number, text) in (0_u8..).zip(TEXTS) {
        let mut vector = [0.01; DIMENSIONS];
        vector[usize::from(number)] = 1.0;
        builder.push(Prepared::new(
            &ChunkInput {
                key: ChunkKey([number; 16]),
                text: text.as_bytes(),
                names: text.split(' ').next().unwrap_or_default(),
                code: text,
                prose: text,
                vector: (number % 3 > 0).then_some(&vector),
                exact: number % 2 == 0,
            },
            &mut scratch,
        ));
    }
    let ids: Vec<ChunkId> = (1..).zip(TEXTS).map(|(id, _)| id).collect();
    builder.finish(&ids)
}

/// Writes the checksum of a segment's header anew: damage that a checksum tells is told at once.
pub fn reseal(bytes: &mut [u8]) {
    if let Some(header) = bytes.first_chunk_mut::<512>() {
        let sum = blake3::hash(&header[..496]);
        header[496..].copy_from_slice(&sum.as_bytes()[..16]);
    }
}

/// What can be read of a segment.
#[derive(Debug, Default, PartialEq)]
pub struct ReadSegment {
    /// Whether all checksums are right.
    pub whole: bool,
    /// The texts that could be read.
    pub texts: Vec<Option<Vec<u8>>>,
    /// Where the keys that could be read are.
    pub places: Vec<Option<u32>>,
    /// The chunks that were found for a question.
    pub found: Vec<ChunkId>,
    /// The chunks that may have a literal.
    pub with: Vec<ChunkId>,
}

/// Does everything that can be done with the bytes of a segment; nothing where they are none.
pub fn use_segment(bytes: Vec<u8>) -> Option<ReadSegment> {
    let segment = Arc::new(Segment::from_bytes(bytes).ok()?);
    let mut read = ReadSegment { whole: segment.verify().is_ok(), ..ReadSegment::default() };
    for ordinal in (0..segment.chunk_count().min(64)).chain([segment.chunk_count(), u32::MAX]) {
        read.texts.push(segment.text(ordinal).ok());
        read.places.push(segment.key(ordinal).and_then(|key| segment.find(&key)));
    }
    drop(merge(&[&segment], &|_| true).map(Segment::from_bytes));
    let mut members: Vec<ChunkId> = segment.ids().take(64).collect();
    members.sort_unstable();
    members.dedup();
    let Ok(view) = View::new(vec![segment], &members) else { return Some(read) };
    let words = ["config", "retry", "größe", "zzz"].map(|token| AskWord { token: token.to_owned(), weight: 1.0 });
    let vector = [0.05; DIMENSIONS];
    let asked = Ask {
        words: &words,
        all_words: false,
        fields: [FieldWeight { weight: 1.0, length: 0.5 }; 3],
        vector: Some(&vector),
        boosts: &[],
        allowed: None,
        also: &[],
        top: 20,
        accuracy: Accuracy::High,
    };
    read.found = view.search(&asked).unwrap_or_default().iter().map(|scored| scored.chunk).collect();
    read.with = view.chunks_with(&TextPlan::literal(b"config")).unwrap_or_default();
    drop(view.chunks_with_word_near("confg", 2));
    Some(read)
}

/// A segment of texts that somebody asks.
pub struct Searched(View);

impl Searched {
    /// A segment of these texts, numbered from 1; none where it cannot be read.
    pub fn new(texts: &[&str]) -> Option<Self> {
        let (mut builder, mut scratch) = (SegmentBuilder::new(), Scratch::default());
        for (number, text) in (0_u64..).zip(texts) {
            let mut key = [0; 16];
            key[..8].copy_from_slice(&number.to_le_bytes());
            let (key, text, code) = (ChunkKey(key), text.as_bytes(), *text);
            let chunk = ChunkInput { key, text, names: "", code, prose: "", vector: None, exact: true };
            builder.push(Prepared::new(&chunk, &mut scratch));
        }
        let ids: Vec<ChunkId> = (1..).zip(texts).map(|(id, _)| id).collect();
        let segment = Arc::new(Segment::from_bytes(builder.finish(&ids)).ok()?);
        segment.verify().ok()?;
        Some(Self(View::new(vec![segment], &ids).ok()?))
    }

    /// The texts that have one of these tokens.
    pub fn with_tokens(&self, tokens: &[String]) -> Vec<ChunkId> {
        let words: Vec<AskWord> = tokens.iter().map(|token| AskWord { token: token.clone(), weight: 1.0 }).collect();
        let asked = Ask {
            words: &words,
            all_words: false,
            fields: [FieldWeight { weight: 1.0, length: 0.5 }; 3],
            vector: None,
            boosts: &[],
            allowed: None,
            also: &[],
            top: 20,
            accuracy: Accuracy::High,
        };
        self.0.search(&asked).unwrap_or_default().iter().map(|scored| scored.chunk).collect()
    }

    /// The texts that may have these bytes.
    pub fn with_bytes(&self, bytes: &[u8]) -> Vec<ChunkId> {
        self.0.chunks_with(&TextPlan::literal(bytes)).unwrap_or_default()
    }

    /// The texts that may have a word of which so many letters are others.
    pub fn with_word_near(&self, word: &str, changes: usize) -> Vec<ChunkId> {
        self.0.chunks_with_word_near(word, changes).unwrap_or_default()
    }

    /// A text.
    pub fn text(&self, id: ChunkId) -> Option<Vec<u8>> {
        self.0.text(id).ok()
    }
}

/// What asking for a text in history comes to, where one commit says just that text.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// It was understood as it is.
    AsItIs,
    /// It was understood with every word quoted, and the commit was found or not.
    Quoted(bool),
    /// It has no words, or too many.
    Refused,
    /// Anything else.
    Failed(String),
}

/// Asks for a text as questions about history do.
pub fn ask_history(text: &str) -> Asked {
    thread_local!(static HISTORY: rusqlite::Result<Connection> = {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch("CREATE VIRTUAL TABLE commits_fts USING fts5(subject, body, patch_preview)")?;
        Ok(connection)
    });
    let text = text.replace('\0', " ");
    let ask = |connection: &Connection, asked: &str| {
        connection.prepare_cached("SELECT rowid FROM commits_fts WHERE commits_fts MATCH ?1")?.exists([asked])
    };
    HISTORY.with(|connection| {
        let ask = || {
            let connection = connection.as_ref().map_err(|error| Asked::Failed(error.to_string()))?;
            let failed = |error: rusqlite::Error| Asked::Failed(error.to_string());
            connection.execute("DELETE FROM commits_fts", []).map_err(failed)?;
            connection.execute("INSERT INTO commits_fts VALUES (?1, '', '')", [&text]).map_err(failed)?;
            let Ok(normal) = normalize(&text) else { return Ok(Asked::Refused) };
            match ask(connection, &normal) {
                Ok(_) => return Ok(Asked::AsItIs),
                Err(error) if is_syntax(&error) => {}
                Err(error) => return Err(failed(error)),
            }
            let Ok(quoted) = normalize(&quote_words(&text)) else { return Ok(Asked::Refused) };
            match ask(connection, &quoted) {
                Ok(found) => Ok(Asked::Quoted(found)),
                Err(error) if is_syntax(&error) => Ok(Asked::Refused),
                Err(error) => Err(failed(error)),
            }
        };
        ask().unwrap_or_else(|failed| failed)
    })
}

/// Writes a small commitmux database.
pub fn write_commitmux(path: &Path) -> Result<(), String> {
    let write = || {
        Connection::open(path)?.execute_batch(
            r#"PRAGMA page_size = 512;
               CREATE TABLE repos (repo_id INTEGER PRIMARY KEY, name TEXT, local_path TEXT, remote_url TEXT, default_branch TEXT,
                                   fork_of TEXT, author_filter TEXT, exclude_prefixes TEXT);
               INSERT INTO repos VALUES (1, 'a', '/a', NULL, 'main', NULL, NULL, NULL),
                                        (2, 'b', '/b', 'https://x/b', NULL, 'up', 'me@x', '["gen/"]');"#,
        )
    };
    write().map_err(|error: rusqlite::Error| error.to_string())
}
