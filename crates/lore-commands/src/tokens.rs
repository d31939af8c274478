//! Words of a question or a description, in Japanese and in English, so that each finds the other.
//!
//! English words are lower case, split at hyphens and camel case, and cut to a stem; words that mean the same share a token
//! besides their own. Japanese words of the trade become the English words they stand for (コミット and commit are one
//! token); what remains of CJK text becomes pairs of characters. Full-width and half-width forms are the same.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization as _;

use super::glossary;

/// So much of a text is looked at.
const TEXT_MAX: usize = 8 << 10;

/// How much a part of a text counts that is no word of its own.
const PAIR: f32 = 0.6;
/// Endings and particles say little.
const HIRAGANA: f32 = 0.15;
/// The further words that a Japanese word may stand for.
const FURTHER: f32 = 0.5;
/// A loanword in a longer one of which the rest is not known.
const INSIDE: f32 = 0.5;
/// `commit` in `uncommitted`.
const NEGATED: f32 = 0.4;

/// What occurs everywhere and means nothing here.
const STOP_WORDS: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do",
    "does", "for", "from", "get", "had", "has", "have", "here", "how", "i", "if", "in", "into", "is", "it", "its",
    "just", "let", "like", "me", "my", "need", "of", "on", "or", "our", "please", "so", "some", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "those", "to", "too", "us", "want", "was", "we", "were", "what",
    "when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

/// After these kana a word can begin.
const PARTICLES: &str = "をがはにでのもてと";
/// What follows a noun of one kanji: particles, and the beginnings of ごと, だけ and まで.
const AFTER_NOUN: &str = "をがはにでのもとへやごだま";

/// Pairs of kana that are grammar.
const GRAMMAR: &[&str] = &[
    "して", "する", "した", "たい", "ます", "です", "ない", "から", "まで", "こと", "もの", "ため", "よう", "れる",
    "られ", "いる", "ある", "って", "った", "など", "ので", "のに", "には", "では", "とは", "くだ", "ださ", "さい",
    "どう", "この", "その", "どの", "あの", "とい", "いう", "うに", "とき", "えて", "れて", "いて", "べて", "せて",
    "けて", "てい", "いた", "ほし", "しい", "とか", "すべ", "べき", "きか", "なに", "なん", "いい", "いく", "くる",
    "たら", "ても", "てく",
];

/// The script of a character, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Word,
    Han,
    Katakana,
    Hiragana,
    Hangul,
    None,
}

/// The tokens of a text.
#[derive(Debug, Default, Clone)]
pub(super) struct Tokens {
    /// How much each counts.
    pub(super) words: HashMap<String, f32>,
    /// Neighbouring words that may be one (`front matter`), and the two.
    pub(super) joins: Vec<(String, [String; 2])>,
}

/// Reads the words of a text.
pub(super) fn tokens(text: &str) -> Tokens {
    let mut end = text.len().min(TEXT_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text: Vec<char> = text[..end].nfkc().collect();
    let mut reader = Reader { text: &text, found: Tokens::default(), last: None };
    let mut at = 0;
    while at < text.len() {
        let kind = script(text[at]);
        let end = at + text[at..].iter().take_while(|c| script(**c) == kind).count();
        if kind != Script::Word && (kind != Script::None || text[at..end].iter().any(|c| !is_joint(*c))) {
            reader.last = None;
        }
        at = match kind {
            Script::Word => reader.name(at, end),
            Script::Han => reader.han(at, end),
            Script::Katakana => reader.katakana(at, end),
            Script::Hiragana => reader.hiragana(at, end),
            Script::Hangul => reader.pairs(at, end),
            Script::None => end,
        };
    }
    reader.found
}

impl Tokens {
    /// Adds a word and what means the same.
    pub(super) fn add(&mut self, stem: String, weight: f32) {
        self.add_groups(&stem, weight);
        *self.words.entry(stem).or_default() += weight;
    }

    /// Adds only what means the same.
    pub(super) fn add_groups(&mut self, stem: &str, weight: f32) {
        for (group, share) in glossary::groups(stem) {
            *self.words.entry(group.clone()).or_default() += weight * share;
        }
    }

    /// Adds another text of which everything counts so much.
    pub(super) fn extend(&mut self, other: Self, weight: f32) {
        for (word, count) in other.words {
            *self.words.entry(word).or_default() += count * weight;
        }
        self.joins.extend(other.joins);
    }
}

struct Reader<'a> {
    text: &'a [char],
    found: Tokens,
    /// The word just before.
    last: Option<String>,
}

/// How a run of kanji is read from one character on.
#[derive(Debug, Clone, Copy)]
enum Step {
    Unknown,
    /// So many characters that stand for this.
    Word(usize, &'static str),
}

impl Reader<'_> {
    /// The words of a name such as `groupCommit`.
    fn name(&mut self, at: usize, end: usize) -> usize {
        let name = &self.text[at..end];
        // The s of PRs is a plural.
        let name = match name {
            [.., before, 's'] if before.is_uppercase() => &name[..name.len() - 1],
            _ => name,
        };
        let mut parts: Vec<String> = Vec::new();
        let mut previous = None;
        for (at, c) in name.iter().enumerate() {
            let next_is_lower = name.get(at + 1).is_some_and(|next| next.is_lowercase());
            let is_hump = c.is_uppercase()
                && previous
                    .is_some_and(|before: char| before.is_lowercase() || (before.is_uppercase() && next_is_lower));
            match parts.last_mut().filter(|_| !is_hump) {
                Some(part) => part.extend(c.to_lowercase()),
                None => parts.push(c.to_lowercase().collect()),
            }
            previous = Some(*c);
        }
        for part in parts {
            self.english(part, 1.0);
        }
        end
    }

    fn english(&mut self, word: String, weight: f32) {
        if let Some(last) = &self.last {
            self.found.joins.push((stem(&format!("{last}{word}")), [stem(last), stem(&word)]));
        }
        if !STOP_WORDS.contains(&word.as_str()) {
            self.found.add(stem(&word), weight);
            if let Some(positive) = word.strip_prefix("un").filter(|rest| rest.len() > 5 && rest.ends_with("ed")) {
                self.found.add(stem(positive), weight * NEGATED);
            }
        }
        self.last = Some(word);
    }

    /// The English words for a Japanese one. Those that mean the same as the first add nothing.
    fn translated(&mut self, english: &str, weight: f32) {
        let mut words = english.split_whitespace();
        let Some(first) = words.next() else { return };
        self.english(first.to_owned(), weight);
        let groups = glossary::groups(&stem(first));
        for word in words.map(stem) {
            if glossary::groups(&word).iter().all(|group| !groups.contains(group)) {
                self.found.add(word, weight * FURTHER);
            }
        }
    }

    /// A loanword, several of them, or pairs of characters.
    fn katakana(&mut self, at: usize, end: usize) -> usize {
        let run = &self.text[at..end];
        if let Some(words) = loanwords(run) {
            for word in words {
                self.translated(word, 1.0);
            }
            return end;
        }
        // A long word beside much that is not known is a word of its own: コマンドパレット.
        let lengths = || (4..run.len().saturating_sub(2)).rev();
        if let Some((length, word)) = lengths().find_map(|n| Some((n, glossary::loanword(&run[..n])?))) {
            self.translated(word, INSIDE);
            return self.pairs(at + length, end);
        }
        if let Some((length, word)) = lengths().find_map(|n| Some((n, glossary::loanword(&run[run.len() - n..])?))) {
            self.translated(word, INSIDE);
            self.pairs(at, end - length);
            return end;
        }
        self.pairs(at, end)
    }

    /// Words in kanji, of which the last may go on in kana.
    fn han(&mut self, at: usize, end: usize) -> usize {
        let alone = end == at + 1;
        let steps = self.steps(at, end, true);
        let is_known = steps.iter().all(|(_, step)| matches!(step, Step::Word(..)));
        let is_anchored = steps.iter().any(|(_, step)| matches!(step, Step::Word(2.., _)));
        let steps = if is_known && (alone || is_anchored) { steps } else { self.steps(at, end, false) };
        let (mut unknown, mut reached) = (at, end);
        for (from, step) in steps {
            if let Step::Word(length, english) = step {
                self.pairs(unknown, from);
                self.last = None;
                self.translated(english, 1.0);
                unknown = from + length;
                reached = reached.max(unknown);
            }
        }
        if unknown < end {
            self.pairs(unknown, end);
        }
        reached
    }

    /// The reading that leaves the fewest characters over, in the fewest words.
    fn steps(&self, at: usize, end: usize, singles: bool) -> Vec<(usize, Step)> {
        let mut best: Vec<(usize, Step)> = vec![(0, Step::Unknown); end - at + 1];
        for from in (at..end).rev() {
            let rest = |length: usize| best.get(from + length - at).map_or(0, |(cost, _)| *cost);
            let mut choice = (100 + rest(1), Step::Unknown);
            let mut consider = |cost: usize, length: usize, english| {
                if cost + rest(length) < choice.0 {
                    choice = (cost + rest(length), Step::Word(length, english));
                }
            };
            // Where a stem is longer than the kanji, nothing is left.
            if let Some((length, english)) = glossary::longest_stem(&self.text[from..], end - from) {
                consider(1, length, english);
            }
            for length in (2..=(end - from).min(glossary::LONGEST)).rev() {
                if let Some(english) = glossary::word(&self.text[from..from + length]) {
                    consider(1, length, english);
                }
            }
            if singles && let Some(english) = glossary::single(self.text[from]) {
                let follows = self.text.get(end).filter(|c| script(**c) == Script::Hiragana);
                if english.is_empty() || end > at + 1 || follows.is_none_or(|c| AFTER_NOUN.contains(*c)) {
                    consider(2, 1, english);
                }
            }
            best[from - at] = choice;
        }
        let (mut from, mut steps) = (at, Vec::new());
        while from < end {
            let step = best[from - at].1;
            steps.push((from, step));
            from += if let Step::Word(length, _) = step { length } else { 1 };
        }
        steps
    }

    /// Words where one can begin, and pairs of what is no grammar.
    fn hiragana(&mut self, at: usize, end: usize) -> usize {
        let before = at.checked_sub(1).map_or(Script::None, |before| script(self.text[before]));
        let mut can_begin = !matches!(before, Script::Han | Script::Hiragana);
        // What follows a word is its ending, until a particle.
        let mut unknown = (before == Script::None).then_some(at);
        let mut from = at;
        while from < end {
            let text = &self.text[from..];
            let word = glossary::hiragana(text).filter(|_| can_begin);
            let word = word.or_else(|| {
                let length = glossary::whether(text)?;
                text.get(length).is_none_or(|next| !"るれっりろ".contains(*next)).then_some((length, "decide"))
            });
            if let Some((length, english)) = word {
                self.kana_pairs(unknown.take(), from);
                self.last = None;
                self.translated(english, 1.0);
                from += length;
                can_begin = false;
                continue;
            }
            can_begin = PARTICLES.contains(text[0]);
            from += 1;
            if text[0] == 'を' {
                self.kana_pairs(unknown, from - 1);
                unknown = Some(from);
            }
        }
        self.kana_pairs(unknown, from);
        from
    }

    fn kana_pairs(&mut self, from: Option<usize>, end: usize) {
        let Some(from) = from else { return };
        for pair in self.text[from..end].windows(2) {
            let pair: String = pair.iter().collect();
            if !GRAMMAR.contains(&pair.as_str()) {
                *self.found.words.entry(pair).or_default() += HIRAGANA;
            }
        }
    }

    fn pairs(&mut self, at: usize, end: usize) -> usize {
        match &self.text[at..end] {
            [one] => *self.found.words.entry(one.to_string()).or_default() += PAIR / 2.0,
            run => {
                for pair in run.windows(2) {
                    *self.found.words.entry(pair.iter().collect()).or_default() += PAIR;
                }
            }
        }
        end
    }
}

/// The loanwords of which all of a run consists, as few as possible.
fn loanwords(run: &[char]) -> Option<Vec<&'static str>> {
    // For each length: how many words it has at least, where the last one begins and what it is.
    let mut best: Vec<Option<(usize, usize, &'static str)>> = vec![None; run.len() + 1];
    best[0] = Some((0, 0, ""));
    for end in 1..=run.len() {
        for from in end.saturating_sub(glossary::LONGEST + 1)..end {
            if let Some((count, ..)) = best[from]
                && best[end].is_none_or(|(other, ..)| count + 1 < other)
                && let Some(english) = glossary::loanword(&run[from..end])
            {
                best[end] = Some((count + 1, from, english));
            }
        }
    }
    let (mut at, mut words) = (run.len(), Vec::new());
    while at > 0 {
        let (_, from, english) = best[at]?;
        words.push(english);
        at = from;
    }
    words.reverse();
    Some(words)
}

/// What may stand between the words of one name.
fn is_joint(c: char) -> bool {
    matches!(c, ' ' | '-' | '_')
}

fn script(c: char) -> Script {
    match c {
        '\u{30fb}' => Script::None,
        '\u{3041}'..='\u{309f}' => Script::Hiragana,
        '\u{30a0}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' => Script::Katakana,
        '\u{3005}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3134f}' => Script::Han,
        '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}' => Script::Hangul,
        c if c.is_alphanumeric() => Script::Word,
        _ => Script::None,
    }
}

/// A light stem: what plurals, tenses and the nouns of verbs have in common. It need not be a word.
pub(super) fn stem(word: &str) -> String {
    if word.len() < 4 || !word.is_ascii() {
        return word.to_owned();
    }
    if let Some(rest) = word.strip_suffix("ies") {
        return without_end(&format!("{rest}y"));
    }
    let sibilant = |rest: &&str| ["ss", "sh", "ch", "x", "z"].iter().any(|end| rest.ends_with(end));
    let plural = |rest: &&str| !["s", "u", "i"].iter().any(|end| rest.ends_with(end));
    let one =
        word.strip_suffix("es").filter(sibilant).or_else(|| word.strip_suffix('s').filter(plural)).unwrap_or(word);
    // The noun of a verb in -ate has lost more than its ending.
    if let Some(rest) = one.strip_suffix("ation").filter(|rest| rest.len() >= 4) {
        return format!("{rest}at");
    }
    for suffix in ["ing", "ed", "ion", "or", "er", "ment"] {
        let least = if matches!(suffix, "ing" | "ed") { 3 } else { 4 };
        let is_word = |rest: &&str| rest.len() >= least && rest.contains(['a', 'e', 'i', 'o', 'u', 'y']);
        let Some(rest) = one.strip_suffix(suffix).filter(is_word) else { continue };
        let last = rest.as_bytes()[rest.len() - 1];
        let doubled = rest.len() > 3 && rest.as_bytes()[rest.len() - 2] == last && b"bdgmnprt".contains(&last);
        return without_end(&rest[..rest.len() - usize::from(doubled)]);
    }
    without_end(one)
}

/// The word without a silent `e`, and with the `i` that `y` becomes before an ending.
fn without_end(word: &str) -> String {
    let word = word.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(word);
    word.strip_suffix('y').filter(|rest| rest.len() >= 3).map_or_else(|| word.to_owned(), |rest| format!("{rest}i"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let mut found: Vec<String> = tokens(text).words.into_keys().filter(|word| !word.starts_with('=')).collect();
        found.sort();
        let mut expected: Vec<String> = expected.iter().map(|word| (*word).to_owned()).collect();
        expected.sort();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn names_are_words() {
        check("group-commit", &["group", "commit"]);
        check("groupCommit", &["group", "commit"]);
        check("HTTPServer parse_json", &["http", "serv", "pars", "json"]);
        check("PRs APIs", &["pr", "api"]);
        check("uncommitted", &["uncommit", "commit"]);
        check("the of and", &[]);
        check("", &[]);
        check("--- / . (", &[]);
    }

    #[test]
    fn neighbours_may_be_one_word() {
        let joins = |text| tokens(text).joins.into_iter().map(|(whole, _)| whole).collect::<Vec<_>>();
        assert_eq!(joins("front matter"), [stem("frontmatter")]);
        assert_eq!(joins("front-matter, frontMatter"), [stem("frontmatter"), stem("frontmatter")]);
        assert_eq!(joins("front. matter"), Vec::<String>::new());
    }

    #[test]
    fn words_that_mean_the_same_share_a_token() {
        for (one, other) in
            [("uncommitted", "unstaged"), ("docs", "documentation"), ("remove", "delete"), ("add", "new")]
        {
            let of = |text| tokens(text).words.into_keys().filter(|word| word.starts_with('=')).collect::<Vec<_>>();
            let (one, other) = (of(one), of(other));
            assert!(one.iter().any(|group| other.contains(group)), "{one:?} {other:?}");
        }
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            &["commit", "commits", "committed", "committing"][..],
            &["change", "changes", "changed", "changing"],
            &["branch", "branches", "branching"],
            &["create", "creates", "created", "creating", "creation"],
            &["generate", "generates", "generated", "generation"],
            &["dependency", "dependencies"],
            &["merge", "merges", "merged", "merging"],
            &["test", "tests", "tested", "testing"],
            &["fix", "fixes", "fixed", "fixing"],
            &["add", "adds", "added", "adding"],
            &["call", "calls", "called", "calling"],
        ] {
            let stems: Vec<String> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.iter().all(|one| *one == stems[0]), "{forms:?} {stems:?}");
        }
        assert_ne!(stem("commit"), stem("comment"));
        assert_eq!(stem("status"), "status");
    }

    #[test]
    fn japanese_words_of_the_trade_are_english_words() {
        check("変更をグループ化してコミット", &["chang", "group", "commit"]);
        check("ブランチ", &["branch"]);
        check("ｺﾐｯﾄ ＣＯＭＭＩＴ", &["commit"]);
        check("サーバー サーバ", &["serv"]);
        check("プルリクエスト", &["pullrequest"]);
        check("サブモジュール", &["sub", "modul"]);
        check("未コミットの変更", &["uncommit", "commit", "chang"]);
        check("変数名", &["variabl", "nam"]);
        check("最も古いブランチ", &["oldest", "branch"]);
        check("一番古いブランチ", &["oldest", "branch"]);
        check("つくる なおして", &["creat", "fix"]);
        check("コマンドパレット", &["command", "パレ", "レッ", "ット"]);
    }

    #[test]
    fn no_word_is_met_inside_another() {
        for (text, not) in [
            ("スプリント", "lint"),
            ("シンプルにする", "pull"),
            ("ダイアログ", "log"),
            ("アナログ", "log"),
            ("カタログ", "log"),
            ("プリセット", "reset"),
            ("パスワード", "path"),
            ("コンパス", "path"),
            ("レコード", "code"),
            ("与えられた内容", "select"),
            ("考えられる原因", "select"),
            ("長さが違う", "find"),
            ("というわけで", "split"),
            ("なお", "fix"),
            ("なお、コミット", "fix"),
            ("直接", "fix"),
            ("直ちに", "fix"),
            ("日本語", "day"),
            ("日本", "day"),
            ("例えば", "exampl"),
            ("行う", "lin"),
            ("作戦", "creat"),
            ("開催", "open"),
            ("食べきる", "decid"),
        ] {
            let found = tokens(text).words;
            assert!(!found.contains_key(not), "{text}: {found:?}");
        }
    }

    #[test]
    fn the_rest_of_cjk_text_is_pairs() {
        check("意味的近さ", &["semantic", "近"]);
        check("天気予報", &["天気", "気予", "予報"]);
        check("おはよう", &["おは", "はよ"]);
        check("날씨", &["날씨"]);
    }

    #[test]
    fn any_text_has_tokens_and_none_takes_long() {
        let long = "あ".repeat(100_000);
        assert!(tokens(&long).words.len() < 10);
        for odd in ["\0", "\u{feff}", "👨‍👩‍👧", "a\u{301}", "ﷺ", "ー", "・", "\u{1100}"] {
            tokens(odd);
        }
    }
}
