//! Words of a question or a description, in Japanese and in English, so that each finds the other.
//!
//! English words are lower case, split at hyphens and camel case, and cut to a stem. Japanese words of the trade become
//! the English words they stand for (コミット and commit are one token); what remains of CJK text becomes pairs of
//! characters. Full-width and half-width forms are the same.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization as _;

use super::glossary;

/// So much of a text is looked at.
const TEXT_MAX: usize = 8 << 10;

/// How much a part of a text counts that is no word of its own.
const PAIR: f32 = 0.6;
/// Endings and particles say little.
const HIRAGANA: f32 = 0.15;

/// What occurs everywhere and means nothing here.
const STOP_WORDS: [&str; 40] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "for", "from", "how", "i", "if", "in", "into",
    "is", "it", "its", "me", "my", "of", "on", "or", "our", "please", "so", "that", "the", "their", "then", "this",
    "to", "want", "we", "will", "with", "you",
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

/// How much each token of a text counts.
pub(super) fn tokens(text: &str) -> HashMap<String, f32> {
    let mut end = text.len().min(TEXT_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let normal: Vec<char> = text[..end].nfkc().collect();
    let mut found = HashMap::new();
    let mut at = 0;
    while at < normal.len() {
        let is_word = script(normal[at]) == Script::Word;
        let same = |c: &char| match script(*c) {
            Script::None => false,
            other => (other == Script::Word) == is_word,
        };
        let run = normal[at..].iter().take_while(|c| same(c)).count();
        match run {
            0 => at += 1,
            _ if is_word => {
                // Parts of one name are joined by hyphens and underscores.
                let mut end = at + run;
                while end + 1 < normal.len()
                    && matches!(normal[end], '-' | '_')
                    && script(normal[end + 1]) == Script::Word
                {
                    end += 1;
                    end += normal[end..].iter().take_while(|c| script(**c) == Script::Word).count();
                }
                words(&normal[at..end], &mut found);
                at = end;
            }
            _ => {
                cjk(&normal[at..at + run], &mut found);
                at += run;
            }
        }
    }
    found
}

fn add(found: &mut HashMap<String, f32>, token: String, weight: f32) {
    *found.entry(token).or_default() += weight;
}

/// The words of a name such as `group-commit` or `groupCommit`, and the name as a whole.
fn words(name: &[char], found: &mut HashMap<String, f32>) {
    let mut parts: Vec<String> = Vec::new();
    let mut previous = '-';
    for (at, c) in name.iter().enumerate() {
        let next_is_lower = name.get(at + 1).is_some_and(|next| next.is_lowercase());
        let is_hump = c.is_uppercase() && (previous.is_lowercase() || (previous.is_uppercase() && next_is_lower));
        match c {
            '-' | '_' => parts.push(String::new()),
            c if is_hump => parts.push(c.to_lowercase().collect()),
            c => match parts.last_mut() {
                Some(part) => part.extend(c.to_lowercase()),
                None => parts.push(c.to_lowercase().collect()),
            },
        }
        previous = *c;
    }
    parts.retain(|part| !part.is_empty());
    if parts.len() > 1 {
        add(found, parts.concat(), 1.0);
    }
    for part in parts.iter().filter(|part| !STOP_WORDS.contains(&part.as_str())) {
        add(found, stem(part), 1.0);
    }
}

/// Words of the trade become English, and the rest becomes pairs.
fn cjk(run: &[char], found: &mut HashMap<String, f32>) {
    let (mut at, mut unknown) = (0, 0);
    while at < run.len() {
        if let Some((length, english)) = glossary::longest(&run[at..]) {
            pairs(&run[unknown..at], found);
            for (rank, word) in english.split_whitespace().enumerate() {
                add(found, stem(word), if rank == 0 { 1.0 } else { 0.5 });
            }
            at += length;
            unknown = at;
        } else {
            at += 1;
        }
    }
    pairs(&run[unknown..], found);
}

fn pairs(run: &[char], found: &mut HashMap<String, f32>) {
    for part in run.chunk_by(|a, b| script(*a) == script(*b)) {
        let weight = if script(part[0]) == Script::Hiragana { HIRAGANA } else { PAIR };
        match part {
            [one] if script(*one) == Script::Hiragana => {}
            [one] => add(found, one.to_string(), weight / 2.0),
            _ => part.windows(2).for_each(|pair| add(found, pair.iter().collect(), weight)),
        }
    }
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
        let mut found: Vec<String> = tokens(text).into_keys().collect();
        found.sort();
        let mut expected: Vec<String> = expected.iter().map(|word| (*word).to_owned()).collect();
        expected.sort();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn names_are_words_and_wholes() {
        check("group-commit", &["group", "commit", "groupcommit"]);
        check("groupCommit", &["group", "commit", "groupcommit"]);
        check("HTTPServer parse_json", &["http", "serv", "httpserver", "pars", "json", "parsejson"]);
        check("the of and", &[]);
        check("", &[]);
        check("--- / . (", &[]);
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
        check("変更をグループ化してコミット", &["chang", "group", "commit", "して"]);
        check("ブランチ", &["branch"]);
        check("ｺﾐｯﾄ ＣＯＭＭＩＴ", &["commit"]);
        check("サーバー サーバ", &["serv"]);
        check("プルリクエスト", &["pull", "request", "pr"]);
    }

    #[test]
    fn the_rest_of_cjk_text_is_pairs() {
        check("意味的近さ", &["semantic", "近"]);
        check("天気予報", &["天気", "気予", "予報"]);
        check("날씨", &["날씨"]);
    }

    #[test]
    fn any_text_has_tokens_and_none_takes_long() {
        let long = "あ".repeat(100_000);
        assert!(tokens(&long).len() < 10);
        for odd in ["\0", "\u{feff}", "👨‍👩‍👧", "a\u{301}", "ﷺ", "ー", "・", "\u{1100}"] {
            tokens(odd);
        }
    }
}
