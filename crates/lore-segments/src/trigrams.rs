//! Which trigrams are where: collects them from the texts of chunks and writes the parts of a segment that tell it.
//!
//! Trigrams are three neighbouring bytes of a line, ASCII letters in lower case; none has a line end in it, because no
//! match does. Chunks are taken together in units: a unit ends with the chunk that brings its text to 6 KiB, a quarter
//! of a block of texts. A list for each chunk would take three times the space, and reading a chunk costs a block anyway
//! (decision 014). Units follow from the order of chunks alone, so merging makes them anew.
//!
//! Parts: a bit for each chunk that has exact text; the first ordinal of every unit; and a sorted dictionary in blocks of
//! at most 64 trigrams with the same first byte. Its index has for every block the first trigram (u32), where its entries
//! begin (u32) and where its lists begin (u64). An entry: varint of the distance to the trigram before, varint of the
//! number of units, and, where that is not one, varint of the length of the list. The list of one unit is its number,
//! in as many bytes as the highest number needs.
#![expect(clippy::cast_possible_truncation, reason = "trigrams are cut into bytes on purpose")]

use std::thread;

use super::{
    bytes::{put_varint, u32_bytes, u64_bytes},
    trigrams_coding::put_list,
};

/// A unit is complete with so much text.
const UNIT: usize = 6 << 10;

/// So many trigrams are a block of the dictionary.
const BLOCK: usize = 64;

/// A row of the index.
pub(super) const INDEX_ROW: usize = 16;

/// With fewer postings, another thread costs more than it saves.
const MANY: usize = 1 << 17;

/// One bit for every trigram there can be.
const WORDS: usize = (1 << 24) / 64;

/// The trigrams of some text, each once, in the order in which they occur.
#[derive(Default)]
pub(super) struct TrigramSet {
    seen: Vec<u64>,
    found: Vec<u32>,
}

impl TrigramSet {
    fn seen(&mut self) -> (&mut [u64; WORDS], &mut Vec<u32>) {
        if self.seen.is_empty() {
            self.seen = vec![0; WORDS];
        }
        (self.seen.as_mut_slice().try_into().expect("it has that many words"), &mut self.found)
    }

    /// Adds the trigrams of a text.
    pub(super) fn add_text(&mut self, text: &[u8]) {
        let (seen, found) = self.seen();
        for line in text.split(|byte| *byte == b'\n') {
            let mut window = 0;
            for (at, byte) in line.iter().enumerate() {
                window = (window << 8 | u32::from(byte.to_ascii_lowercase())) & 0xff_ffff;
                if at >= 2 {
                    note(seen, found, window);
                }
            }
        }
    }

    /// Adds trigrams as [`Self::take_into`] gives them.
    fn add(&mut self, trigrams: &[[u8; 3]]) {
        let (seen, found) = self.seen();
        for &[first, second, third] in trigrams {
            note(seen, found, u32::from_be_bytes([0, first, second, third]));
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    /// Appends every trigram, three bytes each, and forgets them.
    pub(super) fn take_into(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.found.len() * 3, 0);
        let mut places = out[start..].as_chunks_mut().0.iter_mut();
        self.take(|trigram| {
            let [_, bytes @ ..] = trigram.to_be_bytes();
            if let Some(place) = places.next() {
                *place = bytes;
            }
        });
    }

    /// Calls `visit` with every trigram, and forgets them.
    fn take(&mut self, mut visit: impl FnMut(u32)) {
        for trigram in self.found.drain(..) {
            self.seen[trigram as usize / 64] = 0;
            visit(trigram);
        }
    }

    fn memory(&self) -> usize {
        self.seen.capacity() * 8 + self.found.capacity() * 4
    }
}

/// Notes a trigram, once.
#[inline]
fn note(seen: &mut [u64; WORDS], found: &mut Vec<u32>, trigram: u32) {
    let word = &mut seen[trigram as usize / 64 % WORDS];
    let bit = 1 << (trigram % 64);
    if *word & bit == 0 {
        *word |= bit;
        found.push(trigram);
    }
}

/// Collects the trigrams of chunks in the order of ordinals.
#[derive(Default)]
pub(super) struct TrigramWriter {
    chunks: u32,
    /// A bit per chunk.
    exact: Vec<u64>,
    /// The first chunk of each unit.
    firsts: Vec<u32>,
    /// How much text the unit at hand has; `None` between units.
    size: Option<usize>,
    unit: TrigramSet,
    /// By the first byte of the trigrams.
    groups: Vec<Group>,
}

/// Trigrams with the same first byte, unit after unit.
#[derive(Default)]
struct Group {
    /// The other two bytes.
    rest: Vec<u16>,
    /// Units, and where the trigrams of each end.
    units: Vec<(u32, u32)>,
}

/// The finished parts.
pub(super) struct TrigramParts {
    pub(super) exact: Vec<u8>,
    pub(super) units: Vec<u8>,
    pub(super) index: Vec<u8>,
    pub(super) entries: Vec<u8>,
    pub(super) lists: Vec<u8>,
}

impl TrigramWriter {
    /// Passes over a chunk that exact search does not look at.
    pub(super) fn skip(&mut self) {
        self.begin_chunk(false);
    }

    /// Takes a chunk with so much text and these trigrams.
    pub(super) fn push(&mut self, size: usize, trigrams: &[[u8; 3]]) {
        self.begin_chunk(true);
        self.unit.add(trigrams);
        self.end_chunk(size);
    }

    /// Takes a chunk with this text.
    pub(super) fn push_text(&mut self, text: &[u8]) {
        self.begin_chunk(true);
        self.unit.add_text(text);
        self.end_chunk(text.len());
    }

    fn begin_chunk(&mut self, exact: bool) {
        if self.chunks.is_multiple_of(64) {
            self.exact.push(0);
        }
        if let Some(word) = self.exact.last_mut() {
            *word |= u64::from(exact) << (self.chunks % 64);
        }
        if self.size.is_none() {
            self.firsts.push(self.chunks);
            self.size = Some(0);
        }
        self.chunks += 1;
    }

    fn end_chunk(&mut self, size: usize) {
        let size = self.size.unwrap_or(0) + size;
        self.size = Some(size);
        if size >= UNIT {
            self.end_unit();
        }
    }

    fn end_unit(&mut self) {
        self.groups.resize_with(256, Group::default);
        let unit = self.firsts.len() as u32 - 1;
        let groups = &mut self.groups;
        self.unit.take(|trigram| groups[trigram as usize >> 16].rest.push(trigram as u16));
        for group in groups {
            let end = u32::try_from(group.rest.len()).expect("postings of a segment in memory are less than 2^32");
            if group.units.last().map_or(0, |(_, end)| *end) < end {
                group.units.push((unit, end));
            }
        }
        self.size = None;
    }

    pub(super) fn memory(&self) -> usize {
        let group = |group: &Group| group.rest.capacity() * 2 + group.units.capacity() * 8;
        let groups: usize = self.groups.iter().map(group).sum();
        self.exact.capacity() * 8 + self.firsts.capacity() * 4 + self.unit.memory() + groups
    }

    /// The parts.
    pub(super) fn finish(mut self) -> TrigramParts {
        if self.size.is_some() {
            self.end_unit();
        }
        let units = self.firsts.len() as u32;
        let mut dictionary = Piece::new(units);
        for lists in encode(self.groups, units) {
            dictionary.append(lists);
        }
        if self.exact.iter().all(|word| *word == 0) {
            self.exact.clear();
            self.firsts.clear();
        }
        TrigramParts {
            exact: u64_bytes(self.exact),
            units: u32_bytes(self.firsts),
            index: dictionary.index(),
            entries: dictionary.entries,
            lists: dictionary.lists,
        }
    }
}

/// The lists of all groups, in order. How they are shared among threads does not show in the result.
fn encode(groups: Vec<Group>, units: u32) -> Vec<Piece> {
    let mut groups: Vec<(usize, Group)> =
        groups.into_iter().enumerate().filter(|(_, group)| !group.rest.is_empty()).collect();
    let total: usize = groups.iter().map(|(_, group)| group.rest.len()).sum();
    let run = |groups: Vec<(usize, Group)>| -> Vec<Piece> {
        groups.into_iter().map(|(first, group)| group.encode(first as u32, units)).collect()
    };
    if total < MANY {
        return run(groups);
    }
    let mut sum = 0;
    let half = groups.iter().position(|(_, group)| {
        sum += group.rest.len();
        sum >= total / 2
    });
    let theirs = groups.split_off(half.map_or(0, |half| half + 1));
    thread::scope(|scope| {
        let other = scope.spawn(|| run(theirs));
        let mut lists = run(groups);
        lists.append(&mut other.join().expect("encoding does not panic"));
        lists
    })
}

impl Group {
    /// Its lists. What was collected unit by unit is put in the order of trigrams.
    fn encode(self, first: u32, units: u32) -> Piece {
        let mut postings = Vec::with_capacity(self.rest.len());
        let mut from = 0;
        for (unit, end) in self.units {
            postings.extend(self.rest[from..end as usize].iter().map(|rest| (*rest, unit)));
            from = end as usize;
        }
        drop(self.rest);
        let mut sorted = vec![(0, 0); postings.len()];
        // Twice by counting, the last byte first: units stay in order.
        sort_by_byte(&postings, &mut sorted, |rest| rest as u8);
        sort_by_byte(&sorted, &mut postings, |rest| (rest >> 8) as u8);
        let mut lists = Piece::new(units);
        let mut numbers = Vec::new();
        for postings in postings.chunk_by(|a, b| a.0 == b.0) {
            numbers.clear();
            numbers.extend(postings.iter().map(|posting| posting.1));
            lists.push(first << 16 | u32::from(postings[0].0), &numbers);
        }
        lists
    }
}

fn sort_by_byte(from: &[(u16, u32)], to: &mut [(u16, u32)], byte: impl Fn(u16) -> u8) {
    let mut places = [0usize; 256];
    for posting in from {
        places[usize::from(byte(posting.0))] += 1;
    }
    let mut next = 0;
    for place in &mut places {
        next += std::mem::replace(place, next);
    }
    for posting in from {
        let place = &mut places[usize::from(byte(posting.0))];
        to[*place] = *posting;
        *place += 1;
    }
}

/// A piece of the dictionary.
struct Piece {
    units: u32,
    /// Per block its first trigram, where its entries and where its lists begin.
    rows: Vec<(u32, usize, usize)>,
    entries: Vec<u8>,
    lists: Vec<u8>,
    in_block: usize,
    last: u32,
}

impl Piece {
    fn new(units: u32) -> Self {
        Self { units, rows: Vec::new(), entries: Vec::new(), lists: Vec::new(), in_block: BLOCK, last: 0 }
    }

    fn push(&mut self, trigram: u32, units: &[u32]) {
        if self.in_block == BLOCK {
            self.rows.push((trigram, self.entries.len(), self.lists.len()));
            (self.in_block, self.last) = (0, trigram);
        }
        put_varint(&mut self.entries, trigram - self.last);
        put_varint(&mut self.entries, units.len() as u32);
        if let [unit] = units {
            self.lists.extend_from_slice(&unit.to_le_bytes()[..single_width(self.units)]);
        } else {
            let start = self.lists.len();
            put_list(&mut self.lists, units, self.units);
            put_varint(&mut self.entries, (self.lists.len() - start) as u32);
        }
        (self.in_block, self.last) = (self.in_block + 1, trigram);
    }

    /// Takes what comes after in.
    fn append(&mut self, mut other: Self) {
        let (entries, lists) = (self.entries.len(), self.lists.len());
        self.rows.extend(other.rows.iter().map(|row| (row.0, row.1 + entries, row.2 + lists)));
        self.entries.append(&mut other.entries);
        self.lists.append(&mut other.lists);
    }

    fn index(&self) -> Vec<u8> {
        let mut index = Vec::with_capacity(self.rows.len() * INDEX_ROW);
        for &(trigram, entries, lists) in &self.rows {
            let entries = u32::try_from(entries).expect("2^24 entries of ten bytes fit in 4 GiB");
            index.extend_from_slice(&trigram.to_le_bytes());
            index.extend_from_slice(&entries.to_le_bytes());
            index.extend_from_slice(&(lists as u64).to_le_bytes());
        }
        index
    }
}

/// How many bytes a number below `units` takes where it is alone.
pub(super) fn single_width(units: u32) -> usize {
    (u32::BITS - units.saturating_sub(1).leading_zeros()).div_ceil(8) as usize
}
