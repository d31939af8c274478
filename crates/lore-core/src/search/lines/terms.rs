//! What a line must have: one literal or expression, or words that are all to be found near each other.

use std::ops::Range;

use lore_model::{Cancel, Code, Failure, brief};
use lore_store::{
    Accuracy, Ask, AskWord, ChunkId, CodeView, FieldWeight, LONGEST_TOKEN, Result as StoreResult, TextPlan,
    WordDistance, is_word_border, tokens,
};

use super::{
    LinesWanted,
    pattern::{Line, Pattern, check_length},
};

/// So many words count; more make a question that nothing answers.
const MAX_TERMS: usize = 32;

/// Of so many chunks it is told which fits best.
const MOST_COMPARED: usize = 10_000;

/// How many letters of a word may be changed at most.
pub const MAX_CHANGES: usize = 3;

/// One thing that is looked for.
pub(super) enum Term {
    /// Anything that the pattern matches.
    Pattern(Pattern),
    /// What the pattern matches where a word or a part of one begins, and ends unless only the beginning is wanted.
    Word { pattern: Pattern, is_prefix: bool },
    /// A word which at most so many changes make of this one.
    Near(NearWord),
}

/// A word that may be misspelt.
pub(super) struct NearWord {
    word: String,
    distance: WordDistance,
    changes: usize,
    /// Which letters it has.
    letters: u64,
    /// Of a word in so many pieces, one more than there are changes, one piece at least is left as it is.
    pieces: Option<Pattern>,
    /// A word of several parts as it is: it may be some of the parts of a longer one.
    exact: Option<Pattern>,
}

/// What stands where in a text.
pub(in crate::search) struct Match {
    pub(in crate::search) line: Line,
    /// How many changes make it what was asked for.
    pub(super) changes: usize,
}

/// All that is looked for.
pub(in crate::search) struct Terms {
    all: Vec<Term>,
    /// The words by which chunks are compared that have them all; none where each line is as good as the others.
    words: Vec<AskWord>,
}

impl Terms {
    pub(in crate::search) fn new(wanted: &LinesWanted, case_sensitive: bool) -> Result<Self, Failure> {
        let (LinesWanted::Literal(text)
        | LinesWanted::Regex(text)
        | LinesWanted::Words(text)
        | LinesWanted::Near { text, .. }) = wanted;
        check_length(text)?;
        let terms = match wanted {
            LinesWanted::Literal(text) => vec![Term::Pattern(Pattern::literal(text, case_sensitive)?)],
            LinesWanted::Regex(text) => vec![Term::Pattern(Pattern::regex(text, case_sensitive)?)],
            LinesWanted::Words(text) => words(text, case_sensitive)?,
            LinesWanted::Near { text, changes } => near(text, *changes, case_sensitive)?,
        };
        if terms.len() > MAX_TERMS {
            let message = format!("a search of lines takes at most {MAX_TERMS} words");
            return Err(Failure::new(Code::InvalidArgument, message).hint("give fewer words, or search by meaning"));
        }
        // A beginning is no word whose frequency is known.
        let is_prefix = |term: &Term| matches!(term, Term::Word { is_prefix: true, .. });
        let words = match wanted {
            LinesWanted::Words(text) if !terms.iter().any(is_prefix) => {
                tokens(text).into_iter().map(|token| AskWord { token, weight: 1.0 }).collect()
            }
            _ => Vec::new(),
        };
        Ok(Self { all: terms, words })
    }

    /// How well the chunks that count fit, by BM25, the best of them: ascending by chunk; none where each is
    /// as good as the others. Only those that have all words, or those that have some.
    pub(super) fn scores(
        &self,
        view: &dyn CodeView,
        fields: [FieldWeight; 3],
        all_words: bool,
        counts: &(dyn Fn(ChunkId) -> bool + Sync),
        most: usize,
    ) -> StoreResult<Vec<(ChunkId, f32)>> {
        if self.words.is_empty() {
            return Ok(Vec::new());
        }
        let found = view.search(&Ask {
            words: &self.words,
            all_words,
            fields,
            vector: None,
            boosts: &[],
            allowed: Some(counts),
            also: &[],
            top: most.min(MOST_COMPARED),
            accuracy: Accuracy::Fast,
        })?;
        let mut scores: Vec<(ChunkId, f32)> = found.into_iter().map(|scored| (scored.chunk, scored.text)).collect();
        scores.sort_unstable_by_key(|(chunk, _)| *chunk);
        Ok(scores)
    }

    /// The chunks that may have all of it, ascending.
    pub(super) fn candidates(&self, view: &dyn CodeView) -> StoreResult<Vec<ChunkId>> {
        let (mut plan, mut with_near) = (TextPlan::Anything, None::<Vec<ChunkId>>);
        for term in &self.all {
            match term {
                Term::Pattern(pattern) | Term::Word { pattern, .. } => plan = plan.and(pattern.plan.clone()),
                Term::Near(near) => {
                    let mut chunks = near.candidates(view)?;
                    if let Some(before) = with_near {
                        chunks.retain(|chunk| before.binary_search(chunk).is_ok());
                    }
                    with_near = Some(chunks);
                }
            }
        }
        // Either all words may be misspelt, or none.
        with_near.map_or_else(|| view.chunks_with(&plan), Ok)
    }

    /// The lines of a text that are to be shown; nothing where the text has not all that is looked for, `None` where time was
    /// up before that was known.
    ///
    /// Where no line has all of it, the first of those that have most.
    pub(in crate::search) fn lines(&self, text: &[u8], stop: &Cancel) -> Option<Vec<Match>> {
        let mut all: Vec<(usize, Match)> = Vec::new();
        for term in &self.all {
            let found = term.matches(text, stop)?;
            if found.is_empty() {
                return Some(Vec::new());
            }
            if let [_] = self.all.as_slice() {
                return Some(found);
            }
            all = merged(all, found);
        }
        let most = all.iter().map(|(count, _)| *count).max().unwrap_or(0);
        let is_whole = most == self.all.len();
        let best = all.into_iter().filter(|(count, _)| *count == most).map(|(_, found)| found);
        Some(best.take(if is_whole { usize::MAX } else { 1 }).collect())
    }
}

/// Lines with how many terms each has, and those of a further term: both ascend and have each line once.
fn merged(known: Vec<(usize, Match)>, found: Vec<Match>) -> Vec<(usize, Match)> {
    let mut merged = Vec::with_capacity(known.len().max(found.len()));
    let mut found = found.into_iter().peekable();
    for (count, mut one) in known {
        while let Some(before) = found.next_if(|other| other.line.number < one.line.number) {
            merged.push((1, before));
        }
        let same = found.next_if(|other| other.line.number == one.line.number);
        one.changes += same.as_ref().map_or(0, |same| same.changes);
        merged.push((count + usize::from(same.is_some()), one));
    }
    merged.extend(found.map(|one| (1, one)));
    merged
}

/// Time is looked at after so many words.
const WORDS_AT_ONCE: usize = 1024;

impl Term {
    /// The lines that have it, with the first place in each; `None` where time was up.
    fn matches(&self, text: &[u8], stop: &Cancel) -> Option<Vec<Match>> {
        let mut found = Vec::new();
        match self {
            Self::Pattern(pattern) => {
                pattern.for_each_line(text, stop, &mut |line| found.push(Match { line, changes: 0 }))?;
            }
            Self::Word { pattern, is_prefix } => {
                let mut lines = Lines::new(text);
                let (mut at, mut looked) = (0, 0_usize);
                while let Some(place) = pattern.find_from(text, at).filter(|place| !place.is_empty()) {
                    at = place.start + 1;
                    looked += 1;
                    if looked.is_multiple_of(WORDS_AT_ONCE) && stop.is_cancelled() {
                        return None;
                    }
                    if is_word_border(text, place.start) && (*is_prefix || is_word_border(text, place.end)) {
                        let line = lines.at(place);
                        at = line.end + 1;
                        found.push(Match { line, changes: 0 });
                    }
                    if at >= text.len() {
                        break;
                    }
                }
            }
            Self::Near(near) => {
                let mut lines = Lines::new(text);
                let (mut at, mut looked) = (0, 0_usize);
                while let Some((place, changes, next)) = near.find_from(text, at) {
                    at = next;
                    looked += 1;
                    if looked.is_multiple_of(WORDS_AT_ONCE) && stop.is_cancelled() {
                        return None;
                    }
                    let line = lines.at(place);
                    match found.last_mut() {
                        // Of one line, what is nearest.
                        Some(Match { line: last, changes: known }) if last.number == line.number => {
                            if changes < *known {
                                (*last, *known) = (line, changes);
                            }
                        }
                        _ => found.push(Match { line, changes }),
                    }
                }
            }
        }
        Some(found)
    }
}

/// Counts the lines of a text as places in it go up.
struct Lines<'a> {
    text: &'a [u8],
    number: usize,
    counted: usize,
    /// Where the last line begins and ends: a line may be very long, and have many matches.
    last: Range<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text, number: 0, counted: 0, last: 0..0 }
    }

    /// The line in which this place begins.
    fn at(&mut self, found: Range<usize>) -> Line {
        self.number += memchr::memchr_iter(b'\n', &self.text[self.counted..found.start]).count();
        self.counted = found.start;
        if !self.last.contains(&found.start) {
            let begin = memchr::memrchr(b'\n', &self.text[..found.start]).map_or(0, |before| before + 1);
            let end = memchr::memchr(b'\n', &self.text[found.start..]).map_or(self.text.len(), |end| found.start + end);
            self.last = begin..end;
        }
        Line { number: self.number, begin: self.last.start, end: self.last.end, found }
    }
}

/// Shorter pieces are in nearly every text.
const SHORTEST_PIECE: usize = 2;

impl NearWord {
    fn new(word: &str, changes: usize, case_sensitive: bool) -> Result<Self, Failure> {
        let pieces =
            pieces(word, changes + 1).filter(|pieces| pieces.iter().all(|piece| piece.len() >= SHORTEST_PIECE));
        let pattern = |pieces: Vec<&str>| {
            let pieces: Vec<String> = pieces.into_iter().map(regex_syntax::escape).collect();
            Pattern::regex(&pieces.join("|"), case_sensitive)
        };
        let pieces = pieces.map(pattern).transpose()?;
        let distance = WordDistance::new(word, case_sensitive);
        let exact = is_compound(word).then(|| Pattern::literal(word, case_sensitive)).transpose()?;
        Ok(Self { word: word.to_owned(), distance, changes, letters: letters(word.as_bytes()), pieces, exact })
    }

    fn candidates(&self, view: &dyn CodeView) -> StoreResult<Vec<ChunkId>> {
        let plan = self.pieces.as_ref().map(|pieces| &pieces.plan).filter(|plan| **plan != TextPlan::Anything);
        // Longer words are not in the dictionary, and their pieces are rare; of those that have none, every text may have one. A
        // letter that is added may have four bytes.
        if self.word.len() + 4 * self.changes > LONGEST_TOKEN {
            return view.chunks_with(plan.unwrap_or(&TextPlan::Anything));
        }
        let changes = self.changes + outer_underscores(&self.word, self.changes);
        let mut chunks = view.chunks_with_word_near(self.word.trim_matches('_'), changes)?;
        if let Some(plan) = plan {
            chunks.extend(view.wordless_chunks_with(plan)?);
        }
        // The dictionary has compound words whole and in single parts, nothing between.
        if let Some(exact) = self.exact.as_ref().filter(|exact| exact.plan != TextPlan::Anything) {
            chunks.extend(view.chunks_with(&exact.plan)?);
        }
        chunks.sort_unstable();
        chunks.dedup();
        Ok(chunks)
    }

    /// The first word that is near enough or has such a part: what is near, how near, and where the word ends.
    fn find_from(&self, text: &[u8], from: usize) -> Option<(Range<usize>, usize, usize)> {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 128;
        let mut at = from;
        loop {
            let begin = match &self.pieces {
                Some(pieces) => {
                    let piece = pieces.find_from(text, at)?.start;
                    piece - text[at..piece].iter().rev().take_while(|byte| is_word(byte)).count()
                }
                None => at + text[at..].iter().position(is_word)?,
            };
            let end = text[begin..].iter().position(|byte| !is_word(byte)).map_or(text.len(), |end| begin + end);
            // No part of it is longer.
            if end - begin + self.changes < self.distance.len() {
                at = end;
                continue;
            }
            let mut best: Option<(Range<usize>, usize)> = None;
            let mut look = |from: usize, to: usize| {
                let Some(changes) = self.near(&text[from..to]) else { return };
                if best.as_ref().is_none_or(|(_, least)| changes < *least) {
                    best = Some((from..to, changes));
                }
            };
            look(begin, end);
            let outer = |at: &&u8| **at == b'_';
            let (before, after) = (
                text[begin..end].iter().take_while(outer).count(),
                text[begin..end].iter().rev().take_while(outer).count(),
            );
            if before + after > 0 && before + after < end - begin {
                look(begin + before, end - after);
            }
            let mut start = begin;
            for border in (begin + 1..=end).filter(|at| is_word_border(text, *at)) {
                if border - start < end - begin && text[start] != b'_' {
                    look(start, border);
                }
                start = border;
            }
            if best.as_ref().is_none_or(|(_, changes)| *changes > 0)
                && let Some(place) = self.find_exact(text, begin..end)
            {
                best = Some((place, 0));
            }
            if let Some((place, changes)) = best {
                return Some((place, changes, end));
            }
            at = end;
        }
    }

    /// The word as it is, in parts of a longer one.
    fn find_exact(&self, text: &[u8], word: Range<usize>) -> Option<Range<usize>> {
        let (exact, mut at) = (self.exact.as_ref()?, word.start);
        while let Some(place) = exact.find_within(text, at..word.end) {
            if is_word_border(text, place.start) && is_word_border(text, place.end) {
                return Some(place);
            }
            at = place.start + 1;
        }
        None
    }

    /// How many changes make one of the other, where they are few enough.
    fn near(&self, word: &[u8]) -> Option<usize> {
        // Before anything is decoded: no letter has less than one byte, and none more than four.
        let length = self.distance.len();
        if word.len() + self.changes < length || word.len() > 4 * (length + self.changes) {
            return None;
        }
        // Each letter that is missing takes a change. Of letters that are not ASCII it is not known which they stand for.
        let missing = self.letters & !letters(word);
        if missing.count_ones() as usize > self.changes && word.is_ascii() && self.word.is_ascii() {
            return None;
        }
        self.distance.to(std::str::from_utf8(word).ok()?, self.changes)
    }
}

/// How many underscores stand around a word that so many changes make of this one, at most: those which few other letters keep
/// from the ends. The index knows no underscores around words.
fn outer_underscores(word: &str, changes: usize) -> usize {
    let (mut before, after) = (0, |at: usize| word[at..].chars().filter(|letter| *letter != '_').count());
    let mut count = 0;
    for (at, letter) in word.char_indices() {
        if letter != '_' {
            before += 1;
        } else if before <= changes || after(at) <= changes {
            count += 1;
        }
    }
    count
}

/// Whether a word has parts.
fn is_compound(word: &str) -> bool {
    (1..word.len()).any(|at| is_word_border(word.as_bytes(), at))
}

/// Which letters there are, whatever their case; some share a bit.
fn letters(word: &[u8]) -> u64 {
    word.iter().fold(0, |letters, byte| letters | 1 << (byte.to_ascii_lowercase() & 63))
}

fn nothing_asked() -> Failure {
    Failure::new(Code::InvalidArgument, "there is no word to look for").hint("give words, or use a regular expression")
}

/// Words, `prefix*` and "quoted phrases", which must all be there.
fn words(text: &str, case_sensitive: bool) -> Result<Vec<Term>, Failure> {
    let mut terms = Vec::new();
    let quotes = text.matches('"').count();
    for (at, piece) in text.split('"').enumerate() {
        if terms.len() > MAX_TERMS {
            break;
        }
        if at % 2 == 1 && quotes > at {
            // White space in a phrase is any white space.
            let parts: Vec<String> = piece.split_whitespace().map(regex_syntax::escape).collect();
            if !parts.is_empty() {
                let pattern = Pattern::regex(&parts.join(r"\s+"), case_sensitive)?;
                terms.push(Term::Word { pattern, is_prefix: false });
            }
            continue;
        }
        for word in piece.split_whitespace().take(MAX_TERMS + 1) {
            let (word, is_prefix) = match word.strip_suffix('*') {
                Some(start) if !start.is_empty() => (start, true),
                _ => (word, false),
            };
            terms.push(Term::Word { pattern: Pattern::literal(word, case_sensitive)?, is_prefix });
        }
    }
    if terms.is_empty() {
        return Err(nothing_asked());
    }
    Ok(terms)
}

/// Words that may be misspelt.
fn near(text: &str, changes: usize, case_sensitive: bool) -> Result<Vec<Term>, Failure> {
    if changes > MAX_CHANGES {
        let message = format!("{changes} changes of a word are too many");
        return Err(Failure::new(Code::InvalidArgument, message).hint(format!("0 to {MAX_CHANGES} can be looked for")));
    }
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let words = text.split(|letter| !is_word(letter)).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.take(MAX_TERMS + 1).collect();
    if words.is_empty() {
        return Err(nothing_asked());
    }
    let short = words.iter().find(|word| word.trim_matches('_').chars().count() <= changes);
    if let Some(short) = short {
        let message = format!("with {changes} changes, `{}` could be any short word", brief(short));
        return Err(Failure::new(Code::InvalidArgument, message).hint("allow fewer changes, or give a longer word"));
    }
    words.iter().map(|word| Ok(Term::Near(NearWord::new(word, changes, case_sensitive)?))).collect()
}

/// A word of ASCII letters in so many pieces of about the same length. Of others, what is a capital letter is less sure; of these,
/// `İ` alone counts as two letters where distances are computed and as none of them where a piece is looked for.
fn pieces(word: &str, count: usize) -> Option<Vec<&str>> {
    word.is_ascii()
        .then(|| (0..count).map(|at| &word[word.len() * at / count..word.len() * (at + 1) / count]).collect())
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::select};

    use super::*;

    /// Words with something of what is looked for, and what stands between words.
    const PIECES: &[&str] = &[
        "authenticate",
        "authentcate",
        "Authenticate",
        "AUTHENTICATE",
        "xauthenticatey",
        "auth",
        "ticate",
        "enti",
        "_",
        "__",
        " ",
        "\n",
        "é",
        "K",
        "\u{212A}",
        "\u{17F}",
        "x",
        "1",
        ".",
        "authenXicatX",
        "aXthenticate",
        "fooAuthenticateBar",
        "a",
    ];

    fn lines(words: &str, text: &str) -> Vec<(usize, usize)> {
        let terms =
            Terms::new(&LinesWanted::Near { text: words.to_owned(), changes: 1 }, false).expect("these are words");
        let found = terms.lines(text.as_bytes(), &Cancel::default());
        found.expect("there is time").into_iter().map(|found| (found.line.number, found.changes)).collect()
    }

    #[test]
    fn lines_that_have_most_of_the_words_are_shown() {
        assert_eq!(lines("alpha beta", "alpha\nbeta\nbeta alpa\nalpha x beta\n"), [(2, 1), (3, 0)]);
        assert_eq!(lines("beta alpha", "alpha\nbeta\nbeta alpa\nalpha x beta\n"), [(2, 1), (3, 0)]);
        assert_eq!(lines("alpha beta gamma", "gamma\nbeta\nalpha beta\ngamma beta\n"), [(2, 0)], "no line has all");
        assert_eq!(lines("alpha beta", "alpha\n"), []);
    }

    #[test]
    fn words_on_very_many_lines_are_found_in_time() {
        let text = "aa\nbb\n".repeat(125_000);
        let terms = Terms::new(&LinesWanted::Words("aa bb".to_owned()), false).expect("these are words");
        let found = terms.lines(text.as_bytes(), &Cancel::default()).expect("there is time");
        assert_eq!(found.iter().map(|found| found.line.number).collect::<Vec<_>>(), [0], "no line has both");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_found_by_pieces_is_what_each_word_compared_gives(
            text in prop::collection::vec(select(PIECES), 0..12),
            word in select(&["authenticate", "_authenticate", "config_kinds", "Authenticates", "kasks"][..]),
            changes in 0_usize..4,
            case_sensitive in any::<bool>(),
        ) {
            let text = text.concat();
            let by_pieces = NearWord::new(word, changes, case_sensitive).expect("it is a word");
            let plain = NearWord { pieces: None, ..NearWord::new(word, changes, case_sensitive).expect("it is a word") };
            let mut at = 0;
            while let Some(found) = plain.find_from(text.as_bytes(), at) {
                prop_assert_eq!(by_pieces.find_from(text.as_bytes(), at), Some(found.clone()), "{} in {:?}", word, text);
                at = found.0.end;
            }
            prop_assert_eq!(by_pieces.find_from(text.as_bytes(), at), None, "{} in {:?}", word, text);
        }
    }
}
