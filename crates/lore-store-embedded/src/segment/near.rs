//! Words that are misspelt: which chunks may have a word near to another.
//!
//! The dictionary has stems, not words. A word begins with its stem, or nearly, so the terms that matter are those that are
//! near to some beginning of the word; of these, the words that they may stand for decide.

use lore_store::{ChunkId, spellings};

use super::{Result, SegmentError, View, bits::Bits, postings::lists};

const MALFORMED: SegmentError = SegmentError::Damaged("its terms are malformed");

/// Longer words are not in the dictionary, whatever is changed of them.
const LONGEST: usize = 128;

/// Compares terms, which come in order, with one word.
struct Near {
    word: Vec<char>,
    changes: usize,
    /// For each beginning of the term at hand: how many changes make it of each beginning of the word.
    rows: Vec<Vec<usize>>,
    term: Vec<char>,
    /// From this length on, the term at hand is too far from every beginning of the word, as is all that begins so.
    far: Option<usize>,
}

impl Near {
    fn new(word: &str, changes: usize) -> Self {
        let word: Vec<char> = word.to_lowercase().chars().take(LONGEST + 1).collect();
        let first = (0..=word.len()).collect();
        Self { word, changes, rows: vec![first], term: Vec::new(), far: None }
    }

    /// Whether the term may stand for a word that is near.
    fn accepts(&mut self, term: &str) -> bool {
        let letters: Vec<char> = term.chars().collect();
        let shared = self.term.iter().zip(&letters).take_while(|(a, b)| a == b).count();
        if self.far.is_some_and(|far| shared >= far) {
            return false;
        }
        self.far = None;
        self.rows.truncate(shared + 1);
        self.term.truncate(shared);
        for &letter in &letters[shared..] {
            let above = self.rows.last().map_or(&[][..], Vec::as_slice);
            let mut row = Vec::with_capacity(above.len());
            row.push(above.first().map_or(0, |first| first + 1));
            for (at, own) in self.word.iter().enumerate() {
                let replaced = above[at] + usize::from(*own != letter);
                row.push(replaced.min(above[at + 1] + 1).min(row[at] + 1));
            }
            let least = row.iter().min().copied().unwrap_or(0);
            self.rows.push(row);
            self.term.push(letter);
            // The last letter of a stem may be another one than the word has: `policy` of `policies`.
            if least > self.changes + 1 {
                self.far = Some(self.term.len());
                return false;
            }
        }
        let whole = self.rows.last().and_then(|row| row.last()).copied().unwrap_or(usize::MAX);
        let least = self.rows.last().and_then(|row| row.iter().min()).copied().unwrap_or(usize::MAX);
        whole <= self.changes
            || (least <= self.changes + 1 && spellings(term).iter().any(|word| self.distance(word) <= self.changes))
    }

    fn distance(&self, other: &str) -> usize {
        let mut row: Vec<usize> = (0..=self.word.len()).collect();
        for (number, letter) in other.chars().enumerate() {
            let mut before = std::mem::replace(&mut row[0], number + 1);
            for (at, own) in self.word.iter().enumerate() {
                let replaced = before + usize::from(*own != letter);
                before = row[at + 1];
                row[at + 1] = replaced.min(row[at] + 1).min(before + 1);
            }
        }
        row.last().copied().unwrap_or(0)
    }
}

impl View {
    /// The chunks that may have a word which so many changes make of this one, ascending.
    pub(crate) fn chunks_with_word_near(&self, word: &str, changes: usize) -> Result<Vec<ChunkId>> {
        let mut chunks = Vec::new();
        for share in &self.shares {
            let mut found = Bits::below(share.segment.len() as usize);
            let mut near = Near::new(word, changes);
            let mut terms = share.segment.dictionary().cursor();
            while terms.advance().ok_or(MALFORMED)? {
                let Ok(term) = std::str::from_utf8(&terms.term) else { return Err(MALFORMED) };
                if near.accepts(term) {
                    for list in lists(terms.record).ok_or(MALFORMED)? {
                        list.for_each(&share.members, |ordinal, _| found.insert(ordinal)).ok_or(MALFORMED)?;
                    }
                }
            }
            let mut lost = false;
            found.for_each(|ordinal| match u32::try_from(ordinal).ok().and_then(|at| share.segment.id(at)) {
                Some(id) if share.segment.trigrams().has(ordinal) => chunks.push(id),
                Some(_) => {}
                None => lost = true,
            });
            if lost {
                return Err(MALFORMED);
            }
        }
        chunks.sort_unstable();
        Ok(chunks)
    }
}
