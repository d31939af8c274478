//! Collects prepared chunks and writes a segment.
//!
//! Pushing only numbers the terms and appends to flat lists; postings are put in order at the end, by counting. That
//! keeps the one thread that collects fast, and memory at about five bytes for each pair of chunk and term.

use lore_store::{ChunkId, ChunkKey};

use super::{
    bytes::u32_bytes,
    dictionary::DictionaryWriter,
    layout::{Counts, assemble},
    lengths::LengthWriter,
    postings::Occurrences,
    prepare::Prepared,
    term_table::TermTable,
    texts::TextWriter,
    trigrams::TrigramWriter,
    vectors::VectorWriter,
};

const FIELDS: usize = 3;

/// A segment in the making.
#[derive(Default)]
pub struct SegmentBuilder {
    content: Content,
    table: TermTable,
    letters: Vec<u8>,
    terms: Vec<Term>,
    fields: [FieldList; FIELDS],
}

struct Term {
    start: u32,
    length: u32,
    /// In how many chunks it occurs.
    counts: [u32; FIELDS],
}

/// For every chunk, one after the other, its terms and how often each occurs.
#[derive(Default)]
struct FieldList {
    terms: Vec<u32>,
    /// 255 stands for what is in `large`.
    frequencies: Vec<u8>,
    /// Place in the list and frequency, in order.
    large: Vec<(usize, u32)>,
    /// Where each chunk ends.
    ends: Vec<usize>,
}

impl FieldList {
    #[inline]
    fn push(&mut self, term: u32, frequency: u32) {
        let short = u8::try_from(frequency).unwrap_or(u8::MAX);
        if short == u8::MAX {
            self.large.push((self.terms.len(), frequency));
        }
        self.terms.push(term);
        self.frequencies.push(short);
    }

    fn memory(&self) -> usize {
        self.terms.capacity() * 4 + self.frequencies.capacity() + self.large.capacity() * 16 + self.ends.capacity() * 8
    }
}

impl SegmentBuilder {
    /// An empty segment.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a chunk and gives its ordinal.
    #[expect(clippy::needless_pass_by_value, reason = "its memory is free as soon as it is in")]
    pub fn push(&mut self, chunk: Prepared) -> u32 {
        let ordinal = self.chunk_count();
        assert!(ordinal < 1 << 30, "a segment has less than 2^30 chunks");
        for word in chunk.words() {
            let number = self.number(word.hash, word.term);
            let term = &mut self.terms[number as usize];
            for (field, frequency) in word.counts.into_iter().enumerate().filter(|(_, frequency)| *frequency > 0) {
                term.counts[field] += 1;
                self.fields[field].push(number, frequency);
            }
        }
        for field in &mut self.fields {
            field.ends.push(field.terms.len());
        }
        self.content.keys.push(chunk.key);
        self.content.lengths.push(chunk.lengths);
        self.content.texts.push(chunk.text());
        self.content.vectors.push(chunk.row());
        match chunk.trigrams() {
            Some(trigrams) => self.content.trigrams.push(chunk.text().len(), trigrams),
            None => self.content.trigrams.skip(),
        }
        ordinal
    }

    #[inline]
    fn number(&mut self, hash: u32, letters: &[u8]) -> u32 {
        let next = u32::try_from(self.terms.len()).expect("letters fit in 4 GiB, so do terms");
        let (terms, all) = (&self.terms, &self.letters);
        let is_same = |number: u32| {
            let term = &terms[number as usize];
            &all[term.start as usize..][..term.length as usize] == letters
        };
        let number = self.table.find_or_insert(hash, next, is_same);
        if number == next {
            let start = u32::try_from(self.letters.len()).expect("a segment's distinct terms have less than 4 GiB");
            let length = u32::try_from(letters.len()).expect("a term is short");
            self.letters.extend_from_slice(letters);
            self.terms.push(Term { start, length, counts: [0; FIELDS] });
        }
        number
    }

    /// How many chunks it has.
    pub fn chunk_count(&self) -> u32 {
        u32::try_from(self.content.keys.len()).expect("pushing keeps it below 2^30")
    }

    /// About how many bytes it takes; [`finish`](Self::finish) takes as much again for the time it runs.
    pub fn memory(&self) -> usize {
        let terms = self.table.memory() + self.letters.capacity() + self.terms.capacity() * size_of::<Term>();
        terms + self.fields.iter().map(FieldList::memory).sum::<usize>() + self.content.memory()
    }

    /// The bytes of the segment. `ids` has the number of every chunk, in the order of pushing, ascending.
    pub fn finish(self, ids: &[ChunkId]) -> Vec<u8> {
        let Self { content, table, letters, terms, fields } = self;
        drop(table);
        let order = sorted(&terms, &letters);
        let (starts, occurrences) = by_term(&order, &terms, fields);
        let mut dictionary = DictionaryWriter::default();
        for (rank, &number) in order.iter().enumerate() {
            let term = &terms[number as usize];
            let mut start = starts[rank];
            let lists = term.counts.map(|count| {
                let range = start..start + count as usize;
                start = range.end;
                Occurrences {
                    ordinals: &occurrences.ordinals[range.clone()],
                    frequencies: &occurrences.frequencies[range],
                }
            });
            dictionary.push(&letters[term.start as usize..][..term.length as usize], lists);
        }
        drop((occurrences, starts, order, terms, letters));
        content.seal(ids, dictionary)
    }
}

/// The numbers of all terms in the order of their letters. Eight letters at a time are compared as one number first.
fn sorted(terms: &[Term], letters: &[u8]) -> Vec<u32> {
    let letters_of = |number: u32| {
        let term = &terms[number as usize];
        &letters[term.start as usize..][..term.length as usize]
    };
    let first_eight = |number: u32| {
        let letters = letters_of(number);
        let mut eight = [0; 8];
        let length = letters.len().min(8);
        eight[..length].copy_from_slice(&letters[..length]);
        u64::from_be_bytes(eight)
    };
    let mut order: Vec<(u64, u32)> = (0u32..).take(terms.len()).map(|number| (first_eight(number), number)).collect();
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| letters_of(a.1).cmp(letters_of(b.1))));
    order.into_iter().map(|(_, number)| number).collect()
}

/// Postings of all terms, one after the other.
struct AllOccurrences {
    ordinals: Vec<u32>,
    frequencies: Vec<u32>,
}

/// Puts what was collected chunk by chunk in the order of terms, and says where each term begins.
fn by_term(order: &[u32], terms: &[Term], fields: [FieldList; FIELDS]) -> (Vec<usize>, AllOccurrences) {
    let mut starts = Vec::with_capacity(order.len());
    let mut next = vec![[0usize; FIELDS]; terms.len()];
    let mut total = 0;
    for &number in order {
        starts.push(total);
        for (place, count) in next[number as usize].iter_mut().zip(terms[number as usize].counts) {
            *place = total;
            total += count as usize;
        }
    }
    let mut all = AllOccurrences { ordinals: vec![0; total], frequencies: vec![0; total] };
    for (field, list) in fields.into_iter().enumerate() {
        let mut large = list.large.iter().peekable();
        let mut at = 0;
        for (ordinal, &end) in (0u32..).zip(&list.ends) {
            for place in at..end {
                let frequency = match list.frequencies[place] {
                    u8::MAX => large.next_if(|(here, _)| *here == place).map_or(u32::from(u8::MAX), |large| large.1),
                    short => u32::from(short),
                };
                let next = &mut next[list.terms[place] as usize][field];
                all.ordinals[*next] = ordinal;
                all.frequencies[*next] = frequency;
                *next += 1;
            }
            at = end;
        }
    }
    (starts, all)
}

/// Everything but the terms, in the order of ordinals. Building and merging end here, so they give the same bytes.
#[derive(Default)]
pub(super) struct Content {
    pub(super) keys: Vec<ChunkKey>,
    pub(super) lengths: LengthWriter,
    pub(super) texts: TextWriter,
    pub(super) vectors: VectorWriter,
    pub(super) trigrams: TrigramWriter,
}

impl Content {
    fn memory(&self) -> usize {
        let texts = self.texts.memory() + self.trigrams.memory();
        self.keys.capacity() * 16 + self.lengths.memory() + texts + self.vectors.memory()
    }

    /// The bytes of the segment.
    pub(super) fn seal(self, ids: &[ChunkId], dictionary: DictionaryWriter) -> Vec<u8> {
        let Self { keys, lengths, texts, vectors, trigrams } = self;
        assert_eq!(ids.len(), keys.len(), "every chunk has an id");
        assert!(ids.is_sorted_by(|a, b| a < b), "ids ascend");
        let chunks = u32::try_from(keys.len()).expect("pushing keeps it below 2^30");
        let mut key_order: Vec<u32> = (0..chunks).collect();
        key_order.sort_unstable_by_key(|&ordinal| (keys[ordinal as usize], ordinal));
        let dictionary = dictionary.finish();
        let (lengths, long_lengths) = lengths.finish();
        let (text_index, texts) = texts.finish();
        let vectors = vectors.finish();
        let trigrams = trigrams.finish();
        let counts = Counts { chunks, rows: vectors.count, terms: dictionary.count };
        let parts = [
            vectors.codes,
            vectors.rows,
            vectors.scales,
            vectors.with_row,
            u32_bytes(ids.iter().copied()),
            keys.iter().flat_map(|key| key.0).collect(),
            u32_bytes(key_order),
            lengths,
            long_lengths,
            dictionary.index,
            dictionary.terms,
            dictionary.postings,
            text_index,
            texts,
            trigrams.exact,
            trigrams.units,
            trigrams.index,
            trigrams.entries,
            trigrams.lists,
        ];
        assemble(counts, parts)
    }
}
