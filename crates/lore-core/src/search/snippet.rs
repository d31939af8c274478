//! Cutting text for an answer: which lines are shown, and how much of an answer's room they take.

/// How many tokens a text is at most for a language model, nearly always.
///
/// No tokenizer is the one that is used in the end, and a table of one would be as large as the model. So words, numbers and
/// signs are counted. What each counts was fitted to 3,000 answers and two public vocabularies, and then raised by an
/// eighth: no answer was underestimated, and half of them are overestimated by less than that.
pub fn estimate_tokens(text: &str) -> usize {
    /// Hundredths of a token.
    const WORD: usize = 99;
    const LETTER_BEYOND_SEVEN: usize = 14;
    const THREE_DIGITS: usize = 137;
    const RUN_OF_SIGNS: usize = 78;
    const SIGN: usize = 15;
    const WIDE_SPACE: usize = 162;
    const OTHER_BYTE: usize = 36;
    let bytes = text.as_bytes();
    let (mut at, mut sum) = (0, 0);
    while at < bytes.len() {
        let run = |belongs: fn(&u8) -> bool| bytes[at..].iter().take_while(|byte| belongs(byte)).count();
        let (length, counts) = match bytes[at] {
            byte if byte.is_ascii_alphabetic() => {
                // `HTTPServer` and `parseConfig` are two words each.
                let capitals = run(u8::is_ascii_uppercase);
                let small = bytes[at + capitals..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
                let length = match (capitals, small) {
                    (0 | 1, small) => capitals + small,
                    (capitals, 0) => capitals,
                    (capitals, _) => capitals - 1,
                };
                (length, WORD + length.saturating_sub(7) * LETTER_BEYOND_SEVEN)
            }
            byte if byte.is_ascii_digit() => {
                let length = run(u8::is_ascii_digit);
                (length, length.div_ceil(3) * THREE_DIGITS)
            }
            byte if byte.is_ascii_punctuation() => {
                let length = run(u8::is_ascii_punctuation);
                (length, RUN_OF_SIGNS + length * SIGN)
            }
            byte if byte.is_ascii() => {
                let length = run(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control());
                let counts = match bytes[at..].get(length) {
                    _ if &bytes[at..at + length] != b" " => WIDE_SPACE.max(length * WIDE_SPACE / 16),
                    Some(digit) if digit.is_ascii_digit() => WORD,
                    // It belongs to the word behind it.
                    _ => 0,
                };
                (length, counts)
            }
            _ => {
                let length = run(|byte| !byte.is_ascii());
                (length, length * OTHER_BYTE)
            }
        };
        at += length;
        sum += counts;
    }
    sum.div_ceil(100)
}

/// Some lines of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// The text.
    pub text: String,
    /// The number of its first line in the file.
    pub first_line: u32,
    /// The number of its last line.
    pub last_line: u32,
    /// Whether lines of the chunk are missing.
    pub cut: bool,
}

impl Snippet {
    /// The whole of a text that begins at this line.
    pub fn whole(text: String, first_line: u32) -> Self {
        let lines = u32::try_from(text.lines().count()).unwrap_or(u32::MAX).max(1);
        Self { text, first_line, last_line: first_line.saturating_add(lines - 1), cut: false }
    }

    /// The same without blank lines before and behind it, unless it has no others.
    #[must_use]
    pub fn without_margins(self) -> Self {
        let lines: Vec<&str> = self.text.lines().collect();
        let is_said = |line: &&str| !line.trim().is_empty();
        let (Some(from), Some(last)) = (lines.iter().position(is_said), lines.iter().rposition(is_said)) else {
            return self;
        };
        Self { cut: self.cut, ..self.lines(&lines, from, last + 1) }
    }

    /// The part of it that says most in at most so many lines: around the lines that have the words.
    #[must_use]
    pub fn around(self, words: &[String], most: usize) -> Self {
        let lines: Vec<&str> = self.text.lines().collect();
        if lines.len() <= most {
            return self;
        }
        let hits: Vec<usize> = lines.iter().map(|line| count_words(line, words)).collect();
        // The first lines say what it is, so they win unless others have clearly more.
        let score = |from: usize| {
            let window = hits[from..from + most].iter().map(|count| (*count).min(3)).sum::<usize>();
            window * 4 + if from == 0 { 6 } else { usize::from(starts_block(&lines, from)) }
        };
        let best = (0..=lines.len() - most).rev().max_by_key(|from| score(*from)).unwrap_or(0);
        self.lines(&lines, best, best + most)
    }

    /// Its beginning, as many whole lines as fit; `None` where not even one does.
    pub fn within(self, tokens: usize) -> Option<Self> {
        if estimate_tokens(&self.text) <= tokens {
            return Some(self);
        }
        let lines: Vec<&str> = self.text.lines().collect();
        let (mut room, mut fit) = (tokens, 0_usize);
        for line in &lines {
            // The end of the line may be a token.
            let Some(left) = room.checked_sub(estimate_tokens(line) + 2) else { break };
            (room, fit) = (left, fit + 1);
        }
        if fit == 0 {
            return None;
        }
        // Better to end where a block ends than in the middle of one, if that costs little.
        let end = (fit.div_ceil(2).max(1)..=fit).rev().find(|end| ends_block(&lines, *end)).unwrap_or(fit);
        Some(self.lines(&lines, 0, end))
    }

    fn lines(&self, lines: &[&str], from: usize, to: usize) -> Self {
        let number = |at: usize| self.first_line.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
        let mut text = lines[from..to].join("\n");
        text.push('\n');
        Self { text, first_line: number(from), last_line: number(to - 1), cut: self.cut || to - from < lines.len() }
    }
}

/// How many of the words a line has.
fn count_words(line: &str, words: &[String]) -> usize {
    let mut found: Vec<&String> = Vec::new();
    lore_store::for_each_token(line, |token| {
        if let Some(word) = words.iter().find(|word| *word == token)
            && !found.contains(&word)
        {
            found.push(word);
        }
    });
    found.len()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a block begins at this line: after a blank one, or less deep than the one before.
fn starts_block(lines: &[&str], at: usize) -> bool {
    at == 0 || lines[at - 1].trim().is_empty() || indent(lines[at]) < indent(lines[at - 1])
}

/// Whether a text of the lines before this one ends with a block.
fn ends_block(lines: &[&str], end: usize) -> bool {
    let next = lines.get(end);
    next.is_none_or(|next| next.trim().is_empty() || indent(next) < indent(lines[end - 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_begins_and_ends_at_blank_lines_and_where_less_is_indented() {
        let lines = ["fn a() {", "    one();", "    two();", "}", "", "fn b() {", "    three();"];
        let begin: Vec<usize> = (0..lines.len()).filter(|at| starts_block(&lines, *at)).collect();
        assert_eq!(begin, [0, 3, 5]);
        let end: Vec<usize> = (1..=lines.len()).filter(|end| ends_block(&lines, *end)).collect();
        assert_eq!(end, [3, 4, 7]);
    }

    #[test]
    fn tokens_are_counted_by_words_numbers_and_signs() {
        for (text, most) in [
            ("", 0),
            ("a", 1),
            ("parseConfig", 2),
            ("HTTPServer", 2),
            ("a b c", 3),
            ("1234567", 5),
            ("{\"a\":1}", 6),
            ("日本語", 4),
            ("0 1 0", 7),
        ] {
            assert_eq!(estimate_tokens(text), most, "{text}");
        }
        // Nothing is free that can be repeated.
        for text in [" ", "\n", "\u{0}", "x", "é", ".", "7"] {
            assert!(estimate_tokens(&text.repeat(10_000)) >= 500, "{text:?}");
        }
    }

    fn text() -> Snippet {
        let body = (1..=30).map(|n| format!("    line {n}")).collect::<Vec<_>>();
        Snippet::whole(format!("fn long() {{\n{}\n    retry(backoff);\n}}\n", body.join("\n")), 10)
    }

    #[test]
    fn the_lines_with_the_words_are_shown() {
        let shown = text().around(&lore_store::tokens("retry backoff"), 4);
        assert!(shown.text.contains("retry(backoff)") && shown.cut);
        assert_eq!(shown.last_line - shown.first_line, 3);
        assert!(shown.last_line <= 42);
        let first = text().around(&[], 3);
        assert_eq!((first.first_line, first.last_line), (10, 12));
    }

    #[test]
    fn blank_margins_are_no_part_of_what_is_shown() {
        let shown = Snippet::whole("\n  \na\n\nb\n\n".to_owned(), 10).without_margins();
        assert_eq!(shown, Snippet { text: "a\n\nb\n".to_owned(), first_line: 12, last_line: 14, cut: false });
        let blank = Snippet::whole("\n\n".to_owned(), 1);
        assert_eq!(blank.clone().without_margins(), blank);
    }

    #[test]
    fn a_text_is_cut_after_a_whole_line() {
        let cut = text().within(20).expect("some lines fit");
        assert!(cut.cut && cut.text.ends_with('\n') && estimate_tokens(&cut.text) <= 20, "{cut:?}");
        assert_eq!(text().within(1000), Some(text()));
        assert_eq!(text().within(1), None);
    }
}
