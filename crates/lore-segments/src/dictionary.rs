//! The terms of a segment, sorted, each with its record of postings.
//!
//! Blocks of 16 terms. A term: varint of the bytes shared with the one before (none at the head of a block), varint of
//! the bytes that follow, these bytes, varint of the record's length. Records lie one after the other. The index has
//! for every block where its terms begin (u32) and where its records begin (u64).
//!
//! A finite-state dictionary was the alternative: as small, but its reader panics on damaged bytes.
#![expect(clippy::cast_possible_truncation, reason = "the terms of a segment have less than 4 GiB, asserted below")]

use std::{cmp::Ordering, ops::Range};

use super::{
    bytes::{Input, put_varint},
    postings::{Occurrences, put_record},
};

const BLOCK: usize = 16;
const INDEX_ROW: usize = 12;

/// Takes terms in ascending order.
#[derive(Default)]
pub(super) struct DictionaryWriter {
    index: Vec<u8>,
    terms: Vec<u8>,
    postings: Vec<u8>,
    count: usize,
    last: Vec<u8>,
}

/// The finished parts.
pub(super) struct DictionaryParts {
    pub(super) index: Vec<u8>,
    pub(super) terms: Vec<u8>,
    pub(super) postings: Vec<u8>,
    pub(super) count: u32,
}

impl DictionaryWriter {
    pub(super) fn push(&mut self, term: &[u8], fields: [Occurrences<'_>; 3]) {
        debug_assert!(self.count == 0 || self.last.as_slice() < term, "terms arrive sorted");
        let shared = if self.count.is_multiple_of(BLOCK) {
            self.index.extend_from_slice(&(self.terms.len() as u32).to_le_bytes());
            self.index.extend_from_slice(&(self.postings.len() as u64).to_le_bytes());
            0
        } else {
            self.last.iter().zip(term).take_while(|(a, b)| a == b).count()
        };
        let start = self.postings.len();
        put_record(&mut self.postings, fields);
        put_varint(&mut self.terms, shared as u32);
        put_varint(&mut self.terms, (term.len() - shared) as u32);
        self.terms.extend_from_slice(&term[shared..]);
        put_varint(&mut self.terms, (self.postings.len() - start) as u32);
        self.last.truncate(shared);
        self.last.extend_from_slice(&term[shared..]);
        self.count += 1;
    }

    pub(super) fn finish(self) -> DictionaryParts {
        assert!(u32::try_from(self.terms.len()).is_ok(), "a segment's terms fit in 4 GiB");
        DictionaryParts { index: self.index, terms: self.terms, postings: self.postings, count: self.count as u32 }
    }
}

/// A term as it lies in its block.
struct Entry<'a> {
    shared: usize,
    rest: &'a [u8],
    record: usize,
}

fn entry<'a>(input: &mut Input<'a>) -> Option<Entry<'a>> {
    let (shared, length) = (input.varint()? as usize, input.varint()? as usize);
    let rest = input.take(length)?;
    Some(Entry { shared, rest, record: input.varint()? as usize })
}

/// Reads terms.
#[derive(Clone, Copy)]
pub(super) struct Dictionary<'a> {
    pub(super) index: &'a [u8],
    pub(super) terms: &'a [u8],
    pub(super) postings: &'a [u8],
    pub(super) count: u32,
}

impl<'a> Dictionary<'a> {
    /// The size that the index of so many terms has.
    pub(super) fn index_size(terms: u32) -> usize {
        (terms as usize).div_ceil(BLOCK) * INDEX_ROW
    }

    /// Where the terms and the records of a block begin.
    fn block(&self, block: usize) -> Option<(Input<'a>, usize)> {
        let mut row = Input(self.index.get(block * INDEX_ROW..)?);
        let terms = u32::from_le_bytes(row.array()?) as usize;
        let records = usize::try_from(u64::from_le_bytes(row.array()?)).ok()?;
        Some((Input(self.terms.get(terms..)?), records))
    }

    /// The record of a term; `None` where it has none, or where the bytes are damaged.
    pub(super) fn record(&self, term: &[u8]) -> Option<&'a [u8]> {
        let (mut low, mut high) = (0, self.index.len() / INDEX_ROW);
        while low < high {
            let middle = usize::midpoint(low, high);
            let first = entry(&mut self.block(middle)?.0)?.rest;
            if first <= term {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let block = low.checked_sub(1)?;
        let (mut input, mut at) = self.block(block)?;
        // How much of `term` the entry before has; it was smaller. Entries need not be put together for that.
        let mut common = 0;
        for _ in 0..BLOCK.min(self.count as usize - block * BLOCK) {
            let entry = entry(&mut input)?;
            match entry.shared.cmp(&common) {
                // It differs from `term` where the one before did, and is as small.
                Ordering::Greater => {}
                // It left what the one before had in common with `term`, upwards.
                Ordering::Less => return None,
                Ordering::Equal => {
                    let wanted = &term[common..];
                    let same = entry.rest.iter().zip(wanted).take_while(|(a, b)| a == b).count();
                    match entry.rest[same..].cmp(&wanted[same..]) {
                        Ordering::Less => common += same,
                        Ordering::Equal => return self.postings.get(at..at.checked_add(entry.record)?),
                        Ordering::Greater => return None,
                    }
                }
            }
            at = at.checked_add(entry.record)?;
        }
        None
    }

    /// All terms, in order.
    pub(super) fn cursor(self) -> TermCursor<'a> {
        let (input, term) = (Input(self.terms), Vec::new());
        TermCursor { dictionary: self, next: 0, input, at: 0, term, shared: 0, record: &[] }
    }
}

/// Walks through the terms of a dictionary.
pub(super) struct TermCursor<'a> {
    dictionary: Dictionary<'a>,
    next: u32,
    input: Input<'a>,
    at: usize,
    /// The term at hand.
    pub(super) term: Vec<u8>,
    /// So many bytes of it the one before had too.
    pub(super) shared: usize,
    /// Its record.
    pub(super) record: &'a [u8],
}

impl TermCursor<'_> {
    /// Goes to the next term; false at the end, `None` where the bytes are damaged.
    pub(super) fn advance(&mut self) -> Option<bool> {
        if self.next == self.dictionary.count {
            return Some(false);
        }
        let entry = entry(&mut self.input)?;
        if entry.shared > self.term.len() {
            return None;
        }
        let same = self.term[entry.shared..].iter().zip(entry.rest).take_while(|(a, b)| a == b).count();
        self.shared = entry.shared + same;
        self.term.truncate(entry.shared);
        self.term.extend_from_slice(entry.rest);
        let end = self.at.checked_add(entry.record)?;
        self.record = self.dictionary.postings.get(self.at..end)?;
        self.at = end;
        self.next += 1;
        Some(true)
    }

    /// Where the record of the term at hand lies in the postings.
    pub(super) fn record_place(&self) -> Range<usize> {
        self.at - self.record.len()..self.at
    }

    /// Leaves out what follows as long as whole blocks begin with so many bytes of the term at hand.
    pub(super) fn skip(&mut self, length: usize) -> Option<()> {
        let beginning = self.term.get(..length)?;
        let first = (self.next as usize).div_ceil(BLOCK);
        let mut to = first;
        while to * BLOCK < self.dictionary.count as usize {
            if !entry(&mut self.dictionary.block(to)?.0)?.rest.starts_with(beginning) {
                break;
            }
            to += 1;
        }
        // The last of them may end with others.
        if to > first {
            let (input, at) = self.dictionary.block(to - 1)?;
            (self.input, self.at, self.next) = (input, at, ((to - 1) * BLOCK) as u32);
        }
        Some(())
    }
}
