//! The tokens that the built-in model knows, and how a word is cut into them.
//!
//! The lookup table is built in one pass over the text of the vocabulary, without an allocation for each token: a cold
//! search has no time for a map of strings. What embeds nothing does not build it.

/// The id of a word with an unknown part.
const UNKNOWN: u32 = 0;

/// Longer pieces are not looked up.
const LONGEST_PIECE: usize = 62;

/// A slot holds an id in its low bits and a part of the hash above: most misses end without reading a token.
const ID_BITS: u32 = 20;
const ID_MASK: u32 = (1 << ID_BITS) - 1;
const EMPTY: u32 = u32::MAX;

/// The most tokens that a vocabulary may have; one id is given up for `EMPTY`.
pub(crate) const MOST_TOKENS: usize = ID_MASK as usize;

/// Token to id, by open addressing.
pub(crate) struct Vocabulary {
    text: &'static [u8],
    /// Where each token begins in `text`; one more entry than tokens.
    starts: Vec<u32>,
    slots: Vec<u32>,
    /// How far a hash is shifted to give its slot.
    shift: u32,
    longest: usize,
}

/// Room for the hashes of the beginnings of one word.
pub(crate) struct Hashes([u64; LONGEST_PIECE]);

impl Default for Hashes {
    fn default() -> Self {
        Self([0; LONGEST_PIECE])
    }
}

impl Vocabulary {
    /// Whether a text is a vocabulary of so many tokens, one in each line.
    pub(crate) fn has(text: &[u8], count: usize) -> bool {
        lines_of(text) == count && (1..=MOST_TOKENS).contains(&count) && u32::try_from(text.len() + 1).is_ok()
    }

    /// Reads a text that [is a vocabulary](Self::has).
    pub(crate) fn read(text: &'static [u8]) -> Self {
        let count = lines_of(text);
        let bits = (count * 2).next_power_of_two().trailing_zeros();
        let mut starts = Vec::with_capacity(count + 1);
        let mut slots = vec![EMPTY; 1 << bits];
        let (shift, mask) = (64 - bits, slots.len() - 1);
        let (mut start, mut longest) = (0, 0);
        for id in 0..low_bits(count) {
            let mut hash = SEED;
            let mut end = start;
            while let Some(&byte) = text.get(end).filter(|byte| **byte != b'\n') {
                hash = hash_step(hash, byte);
                end += 1;
            }
            let mut slot = slot_of(hash, shift);
            while slots[slot] != EMPTY {
                slot = (slot + 1) & mask;
            }
            slots[slot] = tag_of(hash) | id;
            starts.push(low_bits(start));
            longest = longest.max(end - start);
            start = end + 1;
        }
        // Every token ends one byte before the next begins, the last one too, with or without a line feed of its own.
        starts.push(low_bits(start));
        Self { text, starts, slots, shift, longest: longest.min(LONGEST_PIECE) }
    }

    /// Appends the pieces of a word, the longest first match each; one [`UNKNOWN`] where a part is in no token.
    pub(crate) fn cut(&self, word: &[u8], hashes: &mut Hashes, out: &mut Vec<u32>) {
        let first = out.len();
        let mut at = 0;
        while at < word.len() {
            let rest = &word[at..];
            let prefix: &[u8] = if at == 0 { b"" } else { b"##" };
            let found = self.longest_of(prefix, rest, hashes);
            let Some((id, length)) = found else {
                out.truncate(first);
                out.push(UNKNOWN);
                return;
            };
            out.push(id);
            at += length;
        }
    }

    /// The longest token that is `prefix` and a beginning of `rest`, with the length of that beginning.
    #[inline]
    fn longest_of(&self, prefix: &[u8], rest: &[u8], hashes: &mut Hashes) -> Option<(u32, usize)> {
        let mut hash = prefix.iter().fold(SEED, |hash, byte| hash_step(hash, *byte));
        // One pass gives the hashes of all beginnings.
        let length = rest.len().min(self.longest);
        for (place, byte) in hashes.0.iter_mut().zip(&rest[..length]) {
            hash = hash_step(hash, *byte);
            *place = hash;
        }
        for length in (1..=length).rev() {
            if let Some(id) = self.find(hashes.0[length - 1], prefix, &rest[..length]) {
                return Some((id, length));
            }
        }
        None
    }

    #[inline]
    fn find(&self, hash: u64, prefix: &[u8], rest: &[u8]) -> Option<u32> {
        let (tag, mask) = (tag_of(hash), self.slots.len() - 1);
        let mut slot = slot_of(hash, self.shift);
        loop {
            let entry = self.slots[slot & mask];
            if entry == EMPTY {
                return None;
            }
            if entry & !ID_MASK == tag && self.is_token(entry & ID_MASK, prefix, rest) {
                return Some(entry & ID_MASK);
            }
            slot += 1;
        }
    }

    /// Compares byte by byte: tokens are a few bytes long, and `==` would call `memcmp`.
    #[inline]
    fn is_token(&self, id: u32, prefix: &[u8], rest: &[u8]) -> bool {
        let token = self.token(id);
        let same = |a: &[u8], b: &[u8]| a.iter().zip(b).all(|(a, b)| a == b);
        token.len() == prefix.len() + rest.len() && same(token, prefix) && same(&token[prefix.len()..], rest)
    }

    fn token(&self, id: u32) -> &[u8] {
        let at = id as usize;
        &self.text[self.starts[at] as usize..self.starts[at + 1] as usize - 1]
    }
}

/// How many lines a text has. The last may lack its end.
fn lines_of(text: &[u8]) -> usize {
    let ends = memchr::memchr_iter(b'\n', text).count();
    ends + usize::from(text.last().is_some_and(|byte| *byte != b'\n'))
}

#[expect(clippy::cast_possible_truncation, reason = "no vocabulary is longer: `Vocabulary::has` looks")]
fn low_bits(number: usize) -> u32 {
    number as u32
}

/// Any fixed odd number with bits all over.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
fn hash_step(hash: u64, byte: u8) -> u64 {
    (hash.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0xf135_7aea_2e62_a9c5)
}

/// The highest bits of the hash are its best.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a slot has at most 21 bits")]
fn slot_of(hash: u64, shift: u32) -> usize {
    (hash >> shift) as usize
}

/// Bits that `slot_of` does not use: those would say nothing new.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "12 bits in the middle are wanted")]
fn tag_of(hash: u64) -> u32 {
    ((hash >> 8) as u32) & !ID_MASK
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const TOKENS: &str =
        "[UNK]\nparse\nhttp\nbody\n2\np\n##a\n##r\n##s\n##e\n##parse\n##er\nser\n##ver\nab\nabc\n##cd\n##d";

    fn read(text: &'static str) -> Vocabulary {
        assert!(Vocabulary::has(text.as_bytes(), text.lines().count()));
        Vocabulary::read(text.as_bytes())
    }

    fn check(word: &str, expected: &str) {
        let vocabulary = read(TOKENS);
        let mut ids = Vec::new();
        vocabulary.cut(word.as_bytes(), &mut Hashes::default(), &mut ids);
        let pieces: Vec<&str> = ids.iter().map(|id| std::str::from_utf8(vocabulary.token(*id)).unwrap()).collect();
        assert_eq!(pieces.join(" "), expected, "{word}");
    }

    #[test]
    fn words_are_cut_at_the_longest_match() {
        check("parse", "parse");
        check("parser", "parse ##r");
        check("parseer", "parse ##er");
        check("server", "ser ##ver");
        check("pparse", "p ##parse");
        // Greedy: `ab` and `##cd` would fit, `abc` is longer.
        check("abcd", "abc ##d");
        check("", "");
    }

    #[test]
    fn a_word_with_an_unknown_part_is_one_unknown() {
        check("zebra", "[UNK]");
        check("parsez", "[UNK]");
    }

    #[test]
    fn the_number_of_lines_must_be_right() {
        let with_end = "a\nb\n";
        assert!(Vocabulary::has(with_end.as_bytes(), 2));
        assert!(Vocabulary::has(&with_end.as_bytes()[..3], 2));
        for wrong in [0, 1, 3] {
            assert!(!Vocabulary::has(with_end.as_bytes(), wrong), "{wrong}");
        }
        assert!(!Vocabulary::has(b"", 0));
    }

    /// The slow way that training uses: a map of strings, each beginning looked up from the longest.
    fn cut_slowly(map: &HashMap<String, u32>, word: &str) -> Vec<u32> {
        let (mut ids, mut at) = (Vec::new(), 0);
        while at < word.len() {
            let prefix = if at == 0 { "" } else { "##" };
            let ends = (at + 1..=word.len().min(at + LONGEST_PIECE)).rev();
            let found = ends.into_iter().find_map(|end| Some((*map.get(&format!("{prefix}{}", &word[at..end]))?, end)));
            let Some((id, end)) = found else { return vec![UNKNOWN] };
            ids.push(id);
            at = end;
        }
        ids
    }

    #[test]
    fn the_fast_way_and_the_slow_way_agree() {
        // Few letters, so that pieces share beginnings and slots collide.
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut word = |longest: u64| -> String {
            (0..=next(longest)).map(|_| char::from(b'a' + u8::try_from(next(4)).unwrap())).collect()
        };
        let mut tokens = vec!["[UNK]".to_owned()];
        for index in 0..4_000 {
            let token = if index % 2 == 0 { word(7) } else { format!("##{}", word(5)) };
            tokens.push(token);
        }
        tokens.push("a".repeat(80));
        tokens.push("c".repeat(62));
        let mut seen = std::collections::HashSet::new();
        tokens.retain(|token| seen.insert(token.clone()));
        let map: HashMap<String, u32> = tokens.iter().cloned().zip(0..).collect();
        let vocabulary = read(Box::leak(tokens.join("\n").into_boxed_str()));
        let long = ["a".repeat(200), "c".repeat(63)];
        for word in (0..20_000).map(|_| word(20)).chain(long) {
            let mut ids = Vec::new();
            vocabulary.cut(word.as_bytes(), &mut Hashes::default(), &mut ids);
            assert_eq!(ids, cut_slowly(&map, &word), "{word}");
        }
    }
}
