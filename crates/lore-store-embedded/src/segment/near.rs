//! Words that are misspelt: which chunks may have a word near to another.
//!
//! The dictionary has stems, not words. A word begins with its stem, or nearly, so the terms that matter are those that are
//! near to some beginning of the word; of these, the words that they may stand for decide. Every term is looked at: that takes
//! some tens of nanoseconds for each.

use lore_store::{ChunkId, WordDistance, spellings};

use super::{Result, SegmentError, View, bits::Bits, postings::lists};

const MALFORMED: SegmentError = SegmentError::Damaged("its terms are malformed");

/// A stem is at most so many letters shorter than a word of it.
const LONGEST_END: usize = 5;

/// Whether a term may stand for a word that is near.
fn is_near(term: &str, word: &WordDistance, changes: usize) -> bool {
    if word.to(term, changes).is_some() {
        return true;
    }
    // The last letter of a stem may be another one than the word has: `policy` of `policies`.
    term.len() + LONGEST_END + changes >= word.len()
        && term.bytes().all(|byte| byte.is_ascii_lowercase())
        && word.from_beginning(term, changes + 1).is_some()
        && spellings(term).iter().any(|spelling| word.to(spelling, changes).is_some())
}

impl View {
    /// The chunks that may have a word which so many changes make of this one, ascending.
    pub(crate) fn chunks_with_word_near(&self, word: &str, changes: usize) -> Result<Vec<ChunkId>> {
        let word = WordDistance::new(word, false);
        let mut chunks = Vec::new();
        for share in &self.shares {
            let mut found = Bits::below(share.segment.len() as usize);
            let mut terms = share.segment.dictionary().cursor();
            while terms.advance().ok_or(MALFORMED)? {
                let Ok(term) = std::str::from_utf8(&terms.term) else { return Err(MALFORMED) };
                if is_near(term, &word, changes) {
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
                    assert!(is_near(&term, &near, changes), "{misspelt} for {word} ({term})");
                }
            }
            assert!(!is_near(&term, &WordDistance::new("zzzzzzzzzz", false), 3), "{word}");
        }
    }
}
