//! Words that are misspelt: which chunks may have a word near to another.
//!
//! The dictionary has stems, not words. A word begins with its stem, or nearly, so the terms that matter are those that are
//! near to some beginning of the word; of these, the words that they may stand for decide. What terms have in common is
//! compared once, and terms that begin with what is too far from every beginning of the word are passed over.

use lore_model::Cancel;
use lore_store::{ChunkId, ENDS, TextPlan, WordDistance, is_word_border, spellings};

use super::{
    Result, SegmentError, View,
    bits::Bits,
    dictionary::TermCursor,
    postings::{List, lists},
    view::Share,
};

const MALFORMED: SegmentError = SegmentError::Damaged("its terms are malformed");

/// A stem is at most so many letters shorter than a word of it.
const LONGEST_END: usize = 5;

/// Of the words that a term may stand for, those that are near.
fn near_words(term: &str, word: &WordDistance, changes: usize) -> Vec<String> {
    // The last letter of a stem may be another one than the word has: `policy` of `policies`.
    let may_be = word.to(term, changes).is_some()
        || (term.len() + LONGEST_END + changes >= word.len()
            && term.bytes().all(|byte| byte.is_ascii_lowercase())
            && word.from_beginning(term, changes + 1).is_some());
    let near = |spelling: &String| word.to(spelling, changes).is_some();
    if may_be { spellings(term).into_iter().filter(near).collect() } else { Vec::new() }
}

/// Whether a part of a term is near that other scripts or signs stand beside: `→word`, `使用word登录`. Such terms are not cut.
fn has_near_part(term: &str, word: &WordDistance, changes: usize) -> bool {
    let borders = (0..=term.len()).filter(|at| term.is_char_boundary(*at) && is_word_border(term.as_bytes(), *at));
    let borders: Vec<usize> = borders.collect();
    borders.windows(2).any(|part| word.to(&term[part[0]..part[1]], changes).is_some())
}

/// The chunks of a term are looked at more closely where there are so many.
const MANY: usize = 128;

/// Adds the chunks of a term that may have one of these words.
fn add_chunks(share: &Share, record: &[u8], words: &[String], found: &mut Bits) -> Option<()> {
    let lists = lists(record)?;
    if lists.iter().map(List::len).sum::<usize>() < MANY || !words.iter().all(|word| word.is_ascii()) {
        return lists.iter().try_for_each(|list| list.for_each(&share.members, |ordinal, _| found.insert(ordinal)));
    }
    // Many words may share a stem: `caching` is not in all chunks that have `cache`.
    let mut with_term = Bits::below(share.segment.chunk_count() as usize);
    lists.iter().try_for_each(|list| list.for_each(&share.members, |ordinal, _| with_term.insert(ordinal)))?;
    let plan = TextPlan::either_of(words.iter().map(String::as_bytes));
    share.segment.trigrams().for_each(&plan, &with_term, |ordinal| found.insert(ordinal))
}

/// How near what was read of a term is to the beginnings of a word: bit n of number k says that k changes make the first n
/// letters of it. After Wu and Manber.
type Reached = [u64; MOST_CHANGES + 1];

/// So many changes are told apart; with more, every term is compared.
const MOST_CHANGES: usize = 6;

/// Leaves out terms that stand for no word which is near. What does is never left out.
struct Walk {
    /// Where the word has each byte; all that is not ASCII counts as the same letter.
    places: [u64; 129],
    /// The bits that stand for beginnings of the word.
    all: u64,
    changes: usize,
    /// After each byte of the term at hand, as far as that was read.
    reached: Vec<Reached>,
    /// How many bytes of the term at hand are too far already.
    too_far: Option<usize>,
}

impl Walk {
    /// `None` where there are too many letters or changes.
    fn new(word: &str, changes: usize) -> Option<Self> {
        if word.chars().count() >= 64 || changes > MOST_CHANGES {
            return None;
        }
        let mut places = [0; 129];
        for (at, letter) in word.chars().enumerate() {
            places[if letter.is_ascii() { letter as usize } else { 128 }] |= 1 << at;
        }
        let all = u64::MAX >> (63 - word.chars().count());
        // As many letters at the beginning of the word as there are changes may be left out.
        let begin = std::array::from_fn(|changes| ((1 << (changes + 1)) - 1) & all);
        Some(Self { places, all, changes, reached: vec![begin], too_far: None })
    }

    /// Reads the term that a cursor is at; false where it is too far, `None` where the terms are damaged.
    fn is_within(&mut self, terms: &mut TermCursor<'_>) -> Option<bool> {
        if self.too_far.is_some_and(|length| terms.shared >= length) {
            return Some(false);
        }
        self.too_far = None;
        let (term, shared) = (&terms.term, terms.shared);
        self.reached.truncate(shared + 1);
        while self.reached.len() <= term.len() {
            let read = self.reached.len();
            let next = self.next(&self.reached[read - 1], term[read - 1]);
            self.reached.push(next);
            if next[self.changes] == 0 {
                self.too_far = Some(read);
                // What is too far itself may stand for a word without its last letter.
                let is_near = read == term.len() && term.ends_with(b"y") && self.ends_near(read - 1);
                return terms.skip(read).map(|()| is_near);
            }
        }
        let (read, last) = (term.len(), term.last().copied().unwrap_or(0));
        let is_near = self.ends_near(read)
            || self.ends_near_after(&self.next(&self.reached[read], b'e'))
            || self.ends_near_after(&self.next(&self.reached[read], last))
            || (last == b'y' && self.ends_near(read - 1));
        Some(is_near)
    }

    /// Whether so many bytes of the term at hand and an end that words have may be near to the whole word.
    fn ends_near(&self, read: usize) -> bool {
        self.ends_near_after(&self.reached[read])
    }

    fn ends_near_after(&self, reached: &Reached) -> bool {
        let whole = self.all ^ (self.all >> 1);
        ENDS.iter().any(|end| {
            let ended = end.bytes().fold(*reached, |reached, byte| self.next(&reached, byte));
            ended[self.changes] & whole != 0
        })
    }

    fn next(&self, before: &Reached, byte: u8) -> Reached {
        // What follows in a letter of several bytes.
        if byte & 0xC0 == 0x80 {
            return *before;
        }
        let same = self.places[usize::from(byte.min(128))];
        let mut next = [0; MOST_CHANGES + 1];
        next[0] = (before[0] & same) << 1;
        for changes in 1..=self.changes {
            let one_less = before[changes - 1] | (before[changes - 1] << 1) | (next[changes - 1] << 1);
            next[changes] = (((before[changes] & same) << 1) | one_less) & self.all;
        }
        next
    }
}

impl View {
    /// The chunks that may have a word which so many changes make of this one, ascending.
    pub fn chunks_with_word_near(&self, word: &str, changes: usize) -> Result<Vec<ChunkId>> {
        let folded = word.to_lowercase();
        let word = WordDistance::new(word, false);
        let (mut chunks, cancel) = (Vec::new(), Cancel::current());
        for share in &self.shares {
            cancel.check()?;
            let mut walk = Walk::new(&folded, changes);
            let mut found = Bits::below(share.segment.chunk_count() as usize);
            let mut terms = share.segment.dictionary().cursor();
            while terms.advance().ok_or(MALFORMED)? {
                if let Some(walk) = &mut walk
                    && !walk.is_within(&mut terms).ok_or(MALFORMED)?
                {
                    continue;
                }
                let Ok(term) = std::str::from_utf8(&terms.term) else { return Err(MALFORMED) };
                let words = near_words(term, &word, changes);
                if !words.is_empty() {
                    add_chunks(share, terms.record, &words, &mut found).ok_or(MALFORMED)?;
                }
            }
            for (term, record) in share.segment.foreign_terms().ok_or(MALFORMED)? {
                if has_near_part(term, &word, changes) {
                    add_chunks(share, record, &[term.to_owned()], &mut found).ok_or(MALFORMED)?;
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

#[cfg(test)]
mod tests {
    use lore_store::tokens;

    use super::*;

    /// The word with one letter more, less and other, at every place.
    fn changed(word: &str) -> Vec<String> {
        let letters: Vec<char> = word.chars().collect();
        let mut all = Vec::new();
        for at in 0..=letters.len() {
            let (before, after) = letters.split_at(at);
            let joined =
                |middle: &[char], after: &[char]| [before, middle, after].concat().into_iter().collect::<String>();
            all.push(joined(&['q'], after));
            if let Some((_, rest)) = after.split_first() {
                all.push(joined(&[], rest));
                all.push(joined(&['q'], rest));
            }
        }
        all
    }

    #[test]
    fn a_term_is_near_to_whatever_its_words_are_near_to() {
        let words = [
            "authenticate",
            "policies",
            "running",
            "settings",
            "agreed",
            "classes",
            "boxes",
            "caches",
            "applied",
            "parse_config",
            "parseConfig",
            "utf8",
            "größe",
            "used",
            "indexes",
            "queries",
            "deployment",
            "needed",
            "handles",
        ];
        for word in words {
            let term = tokens(word).remove(0);
            for once in changed(word) {
                for (misspelt, changes) in changed(&once).into_iter().map(|twice| (twice, 2)).chain([(once.clone(), 1)])
                {
                    let near = WordDistance::new(&misspelt, false);
                    let words = near_words(&term, &near, changes);
                    assert!(words.contains(&word.to_lowercase()), "{misspelt} for {word} ({term}): {words:?}");
                }
            }
            assert!(near_words(&term, &WordDistance::new("zzzzzzzzzz", false), 3).is_empty(), "{word}");
        }
    }
}
