//! What can be done for one chunk alone, on any thread: tokens, counts, trigrams, the vector in bytes.

use lore_store::{ChunkInput, ChunkKey, for_each_token};

use super::{
    bytes::{Input, put_varint},
    kernels::ROW,
    term_table::{TermTable, hash},
    trigrams::TrigramSet,
    vectors::Quantised,
};

const FIELDS: usize = 3;

/// Room that is used again for every chunk. One per thread.
#[derive(Default)]
pub struct Scratch {
    table: TermTable,
    letters: Vec<u8>,
    words: Vec<Word>,
    trigrams: TrigramSet,
}

struct Word {
    hash: u32,
    start: usize,
    end: usize,
    counts: [u32; FIELDS],
}

impl Scratch {
    fn count(&mut self, token: &[u8], field: usize) {
        let hash = hash(token);
        let next = u32::try_from(self.words.len()).expect("a chunk is smaller than 4 GiB");
        let (words, letters) = (&self.words, &self.letters);
        let is_same = |number: u32| {
            let word = &words[number as usize];
            &letters[word.start..word.end] == token
        };
        let number = self.table.find_or_insert(hash, next, is_same);
        if number == next {
            let start = self.letters.len();
            self.letters.extend_from_slice(token);
            self.words.push(Word { hash, start, end: self.letters.len(), counts: [0; FIELDS] });
        }
        self.words[number as usize].counts[field] += 1;
    }
}

/// A chunk that is ready to be pushed.
#[derive(Clone)]
pub struct Prepared {
    pub(super) key: ChunkKey,
    pub(super) lengths: [u32; FIELDS],
    scale: Option<f32>,
    exact: bool,
    /// Where in `bytes` each of them ends.
    text: usize,
    words: usize,
    trigrams: usize,
    /// The text, then the words, then the trigrams, then the row.
    bytes: Vec<u8>,
}

/// A word of a prepared chunk.
pub(super) struct PreparedWord<'a> {
    pub(super) hash: u32,
    pub(super) term: &'a [u8],
    pub(super) counts: [u32; FIELDS],
}

impl Prepared {
    /// Prepares a chunk.
    pub fn new(input: &ChunkInput<'_>, scratch: &mut Scratch) -> Self {
        scratch.table.clear();
        scratch.letters.clear();
        scratch.words.clear();
        let mut lengths = [0; FIELDS];
        for (field, text) in [input.names, input.code, input.prose].into_iter().enumerate() {
            for_each_token(text, |token| {
                scratch.count(token.as_bytes(), field);
                lengths[field] += 1;
            });
        }
        let row = input.vector.map(Quantised::new);
        if input.exact {
            scratch.trigrams.add_text(input.text);
        }
        let room = input.text.len() + scratch.letters.len() + scratch.words.len() * 9 + scratch.trigrams.len() * 3;
        let mut bytes = Vec::with_capacity(room + row.as_ref().map_or(0, |_| ROW));
        bytes.extend_from_slice(input.text);
        for word in &scratch.words {
            bytes.extend_from_slice(&word.hash.to_le_bytes());
            put_varint(&mut bytes, u32::try_from(word.end - word.start).expect("a token is short"));
            bytes.extend_from_slice(&scratch.letters[word.start..word.end]);
            word.counts.iter().for_each(|&count| put_varint(&mut bytes, count));
        }
        let words = bytes.len();
        scratch.trigrams.take_into(&mut bytes);
        let trigrams = bytes.len();
        if let Some(row) = &row {
            bytes.extend(row.row.map(i8::cast_unsigned));
        }
        let (scale, text) = (row.map(|row| row.scale), input.text.len());
        Self { key: input.key, lengths, scale, exact: input.exact, text, words, trigrams, bytes }
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.bytes[..self.text]
    }

    /// The row and its scale, in bytes.
    pub(super) fn row(&self) -> Option<(&[u8; ROW], [u8; 4])> {
        Some((self.bytes[self.trigrams..].first_chunk()?, self.scale?.to_le_bytes()))
    }

    /// Its trigrams, each once; `None` where exact search does not look at it.
    pub(super) fn trigrams(&self) -> Option<&[[u8; 3]]> {
        self.exact.then(|| self.bytes[self.words..self.trigrams].as_chunks().0)
    }

    /// Its words, each once.
    pub(super) fn words(&self) -> impl Iterator<Item = PreparedWord<'_>> {
        let mut input = Input(&self.bytes[self.text..self.words]);
        std::iter::from_fn(move || {
            let hash = u32::from_le_bytes(input.array()?);
            let length = input.varint()? as usize;
            let term = input.take(length)?;
            Some(PreparedWord { hash, term, counts: [input.varint()?, input.varint()?, input.varint()?] })
        })
    }
}
