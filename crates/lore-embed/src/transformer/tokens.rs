//! A text as the tokens of BERT: words without case and accents, cut into the longest pieces that are known.
//!
//! Identifiers are split first, and only letters and digits count: `parseHTTPBody()` is parse, http, body. Punctuation of
//! code would fill the few tokens that a text may have, and says little to a model of English.

use std::collections::HashMap;

use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

/// Longer words are unknown.
const LONGEST_WORD: usize = 100;

/// The vocabulary.
pub(super) struct Tokens {
    ids: HashMap<String, u32>,
    /// How many lines there are. A token that is there twice has the number of its last line.
    count: usize,
    unknown: u32,
    begin: u32,
    end: u32,
}

impl Tokens {
    /// Reads one token per line.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let ids: HashMap<String, u32> = text.lines().map(str::to_owned).zip(0..).collect();
        let find = |name: &str| ids.get(name).copied().ok_or_else(|| format!("the vocabulary has no {name}"));
        let (unknown, begin, end) = (find("[UNK]")?, find("[CLS]")?, find("[SEP]")?);
        Ok(Self { ids, count: text.lines().count(), unknown, begin, end })
    }

    /// Every number of a token is below this.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// At most so many tokens of a text, marks of beginning and end included.
    pub(super) fn of(&self, text: &str, most: usize) -> Vec<u32> {
        let mut ids = vec![self.begin];
        for_each_word(text, |word| {
            self.cut(word, &mut ids);
            ids.len() < most
        });
        ids.truncate(most.saturating_sub(1));
        ids.push(self.end);
        ids
    }

    /// Appends the pieces of a word, or that it is unknown.
    fn cut(&self, word: &str, ids: &mut Vec<u32>) {
        let first = ids.len();
        let mut rest = word;
        let mut piece = String::new();
        while !rest.is_empty() && word.len() <= LONGEST_WORD {
            let mut end = rest.len();
            let found = loop {
                piece.clear();
                piece.push_str(if rest.len() == word.len() { "" } else { "##" });
                piece.push_str(&rest[..end]);
                if let Some(id) = self.ids.get(&piece) {
                    break Some(*id);
                }
                let Some((shorter, _)) = rest[..end].char_indices().next_back().filter(|(at, _)| *at > 0) else {
                    break None;
                };
                end = shorter;
            };
            let Some(id) = found else { break };
            ids.push(id);
            rest = &rest[end..];
        }
        if !rest.is_empty() {
            ids.truncate(first);
            ids.push(self.unknown);
        }
    }
}

/// Calls `take` with each word in lower case and without accents, until it answers `false`.
fn for_each_word(text: &str, mut take: impl FnMut(&str) -> bool) {
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    let mut before: Option<char> = None;
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        let splits = match before {
            // `parseHTTP` before the H, `HTTPBody` before the B; characters of Chinese stand alone.
            Some(before) => {
                (c.is_uppercase() && before.is_lowercase())
                    || (c.is_uppercase() && before.is_uppercase() && next.is_some_and(char::is_lowercase))
                    || (before.is_alphabetic() && c.is_numeric())
                    || (before.is_numeric() && c.is_alphabetic())
                    || is_ideograph(before)
                    || is_ideograph(c)
            }
            None => false,
        };
        let is_part = c.is_alphanumeric() || is_combining_mark(c);
        if (splits || !is_part) && !word.is_empty() && !take(&std::mem::take(&mut word)) {
            return;
        }
        before = is_part.then_some(c);
        if is_part {
            let plain = std::iter::once(c).nfd().filter(|c| !is_combining_mark(*c));
            word.extend(plain.flat_map(char::to_lowercase));
        }
    }
    if !word.is_empty() {
        take(&word);
    }
}

/// The characters that BERT takes one by one.
fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x2ceaf | 0x2f800..=0x2fa1f)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mut words = Vec::new();
        for_each_word(text, |word| {
            words.push(word.to_owned());
            true
        });
        assert_eq!(words.join(" "), expected, "{text}");
    }

    #[test]
    fn identifiers_are_split_and_accents_go() {
        check("parseHTTPBody2(x_y)", "parse http body 2 x y");
        check("Größe, naïve; SCREAMING_CASE", "große naive screaming case");
        check("再試行 retry", "再 試 行 retry");
        check(" -- ", "");
    }

    #[test]
    fn words_are_cut_at_the_longest_match() {
        let tokens = Tokens::read("[UNK]\n[CLS]\n[SEP]\nre\n##tries\n##try\nthe\n試").unwrap();
        assert_eq!(tokens.of("the retries", 10), [1, 6, 3, 4, 2]);
        assert_eq!(tokens.of("retry zebra retryx 試", 10), [1, 3, 5, 0, 0, 7, 2]);
        assert_eq!(tokens.of("the the the the", 4), [1, 6, 6, 2]);
        assert_eq!(tokens.of("", 4), [1, 2]);
        assert_eq!(tokens.of(&"e".repeat(101), 4), [1, 0, 2]);
        assert!(Tokens::read("[UNK]\n[CLS]").is_err());
        let twice = Tokens::read("[UNK]\n[CLS]\n[SEP]\nthe\nthe").unwrap();
        assert!(twice.of("the", 3).iter().all(|id| (*id as usize) < twice.count()));
    }
}
