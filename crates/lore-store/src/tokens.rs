//! How text becomes words that can be found. Every backend and every query uses this, so they agree.

/// Longer tokens are not kept: keys, hashes, encoded data.
pub const LONGEST_TOKEN: usize = 64;

/// A name is at most so long. What is longer was not written by a person, and its parts would be noise.
const LONGEST_NAME: usize = 4 * LONGEST_TOKEN;

/// Calls `emit` with every token of `text`, in order of appearance.
///
/// A word is a run of letters, digits, `_` and anything beyond ASCII. A compound word (`parseConfig`, `MAX_SIZE`) gives
/// itself in lower case and then its parts; parts and simple words are reduced to their stem. Single ASCII letters give
/// nothing. Of a name that is longer than a token can be, only its parts are given; a long run of other scripts, which may
/// have no spaces between words, is cut into pieces.
pub fn for_each_token(text: &str, mut emit: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 128;
    let mut lower = String::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && is_word(bytes[at]) {
            at += 1;
        }
        let mut run = text[start..at].trim_matches('_');
        if run.len() <= LONGEST_TOKEN || (run.len() <= LONGEST_NAME && run.is_ascii()) {
            emit_word(run, &mut lower, &mut emit);
            continue;
        }
        if run.is_ascii() {
            continue;
        }
        while !run.is_empty() {
            let (piece, rest) = run.split_at(run.floor_char_boundary(LONGEST_TOKEN));
            emit_word(piece.trim_matches('_'), &mut lower, &mut emit);
            run = rest;
        }
    }
}

/// Gives the tokens of one word. `lower` is room to work in.
fn emit_word(word: &str, lower: &mut String, emit: &mut impl FnMut(&str)) {
    if word.is_empty() {
        return;
    }
    lower.clear();
    lower.push_str(word);
    if lower.is_ascii() {
        lower.make_ascii_lowercase();
    } else {
        *lower = word.to_lowercase();
        // A letter may have another length in lower case, and then parts have no place in it. The whole may be as long as
        // before all the same: of `K_ȺȺ` (with the sign for kelvin) one letter shrinks by as much as the others grow.
        if !lower.chars().map(char::len_utf8).eq(word.chars().map(char::len_utf8)) {
            emit(lower);
            return;
        }
    }
    let mut compound = false;
    for_each_part(word.as_bytes(), |from, to| {
        if !compound {
            compound = true;
            if lower.len() <= LONGEST_TOKEN {
                emit(lower);
            }
        }
        emit_stem(&lower[from..to], emit);
    });
    if !compound {
        emit_stem(lower, emit);
    }
}

/// The tokens of a text, in order of appearance.
pub fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for_each_token(text, |token| tokens.push(token.to_owned()));
    tokens
}

/// The parts of a compound word; nothing for a simple word. Cuts only beside ASCII bytes, so UTF-8 stays whole.
fn for_each_part(word: &[u8], mut emit: impl FnMut(usize, usize)) {
    let mut start = 0;
    for at in 1..=word.len() {
        let ends = at == word.len() || word[at] == b'_' || word[at - 1] == b'_' || starts_hump(word, at);
        if ends {
            if word[start] != b'_' && at - start < word.len() {
                emit(start, at);
            }
            start = at;
        }
    }
}

/// Whether a word, or a part of a compound word, begins or ends at this place of a text.
pub fn is_word_border(text: &[u8], at: usize) -> bool {
    let (Some(before), Some(here)) = (at.checked_sub(1).and_then(|at| text.get(at)), text.get(at)) else { return true };
    if before.is_ascii() && here.is_ascii() {
        return !before.is_ascii_alphanumeric() || !here.is_ascii_alphanumeric() || starts_hump(text, at);
    }
    // Within a character nothing begins.
    if here & 0xC0 == 0x80 {
        return false;
    }
    let start = (at.saturating_sub(4)..at).rev().find(|at| text[*at] & 0xC0 != 0x80).unwrap_or(at - 1);
    let (Some(before), Some(here)) = (first_char(&text[start..at]), first_char(&text[at..])) else { return true };
    // Scripts that put no space between words: `使用password登录` has one word in other letters.
    let has_no_spaces = |letter: char| letter >= '\u{2e80}' || ('\u{e00}'..'\u{e80}').contains(&letter);
    !before.is_alphanumeric() || !here.is_alphanumeric() || has_no_spaces(before) != has_no_spaces(here)
}

/// The character that a text begins with; none where it is no UTF-8.
fn first_char(text: &[u8]) -> Option<char> {
    text.get(..text.len().min(4))?.utf8_chunks().next()?.valid().chars().next()
}

fn starts_hump(word: &[u8], at: usize) -> bool {
    let (before, here) = (word[at - 1], word[at]);
    let next_is_lower = word.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    here.is_ascii_uppercase()
        && (before.is_ascii_lowercase() || before.is_ascii_digit() || (before.is_ascii_uppercase() && next_is_lower))
}

fn emit_stem(word: &str, emit: &mut impl FnMut(&str)) {
    if word.len() < 2 || word.len() > LONGEST_TOKEN {
        return;
    }
    match stem(word) {
        (stem, "") => emit(stem),
        (stem, end) => emit(&format!("{stem}{end}")),
    }
}

/// What may follow a stem: [`spellings`] are made of the token, or of it with an `e` or its last letter once more, or of it without
/// a last `y`, and one of these.
pub const ENDS: [&str; 14] =
    ["", "s", "e", "es", "ed", "ing", "ings", "eds", "ies", "ied", "eing", "eings", "eed", "eeds"];

/// Every word, in lower case, that [`for_each_token`] may have given as this token: the token itself, and the words whose
/// stem it is.
pub fn spellings(token: &str) -> Vec<String> {
    let mut words = vec![token.to_owned()];
    if !token.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return words;
    }
    let mut starts = vec![token.to_owned(), format!("{token}e")];
    starts.extend(token.chars().next_back().map(|last| format!("{token}{last}")));
    starts.extend(token.strip_suffix('y').map(str::to_owned));
    for start in starts {
        for end in ENDS {
            let word = format!("{start}{end}");
            let (stem, rest) = stem(&word);
            if token.strip_prefix(stem) == Some(rest) && !words.contains(&word) {
                words.push(word);
            }
        }
    }
    words
}

/// A light English stemmer: plural, `-ing`, `-ed`, a last `e`. The second text is what takes the place of a cut ending.
fn stem(word: &str) -> (&str, &'static str) {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return (word, "");
    }
    let mut word = word;
    if word.len() > 4
        && let Some(start) = word.strip_suffix("ies").or_else(|| word.strip_suffix("ied"))
    {
        return (start, "y");
    }
    if word.len() > 4 && ["sses", "shes", "ches", "xes"].iter().any(|end| word.ends_with(end)) {
        word = &word[..word.len() - 2];
    } else if word.len() > 3 && word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word = &word[..word.len() - 1];
    }
    if word.len() > 5
        && let Some(start) = word.strip_suffix("ing").or_else(|| word.strip_suffix("ed"))
    {
        word = start;
        // `running`, but not `calling`.
        if let [.., a, b] = word.as_bytes()
            && word.len() > 3
            && a == b
            && !b"lsz".contains(b)
        {
            word = &word[..word.len() - 1];
        }
    }
    if word.len() > 4 {
        word = word.strip_suffix('e').unwrap_or(word);
    }
    (word, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compound_words_give_themselves_and_the_stems_of_their_parts() {
        assert_eq!(tokens("parseHTTPBody2"), ["parsehttpbody2", "pars", "http", "body2"]);
        assert_eq!(tokens("MAX_FILE_SIZES"), ["max_file_sizes", "max", "file", "size"]);
        assert_eq!(tokens("__init__ x self.retries"), ["init", "self", "retry"]);
        assert_eq!(tokens("running classes boxes address status"), ["run", "class", "box", "address", "status"]);
        assert_eq!(
            tokens("job jobs backoff retried retries calling"),
            ["job", "job", "backoff", "retry", "retry", "call"]
        );
        assert_eq!(tokens("Größe naïveParser 日本語"), ["größe", "naïveparser", "naïve", "parser", "日本語"]);
        assert_eq!(tokens(&"a".repeat(65)), Vec::<String>::new());
    }

    #[test]
    fn long_names_give_their_parts_and_long_runs_of_other_scripts_pieces() {
        let name = format!("handle{}_when_the_queue_is_full", "VeryLong".repeat(6));
        assert!(name.len() > LONGEST_TOKEN);
        let found = tokens(&name);
        assert!(!found.contains(&name.to_lowercase()) && found.contains(&"full".to_owned()), "{found:?}");
        assert_eq!(found.iter().filter(|token| *token == "very").count(), 6);
        assert_eq!(tokens(&format!("{}_b64", "Ab".repeat(200))), Vec::<String>::new(), "no person wrote that");
        let run = "検索".repeat(40);
        let found = tokens(&run);
        assert!(found.len() > 1 && found.iter().all(|token| token.len() <= LONGEST_TOKEN), "{found:?}");
        assert_eq!(found.concat(), run, "nothing is lost");
    }

    #[test]
    fn every_word_is_a_spelling_of_its_token() {
        let starts = [
            "use",
            "cach",
            "cache",
            "class",
            "polic",
            "apply",
            "appl",
            "run",
            "runn",
            "call",
            "set",
            "sett",
            "box",
            "agree",
            "agre",
            "see",
            "hous",
            "edge",
            "bus",
            "focus",
            "need",
            "speed",
            "index",
            "query",
            "quer",
            "buzz",
            "wish",
            "die",
            "guarantee",
            "guarante",
            "disagree",
            "referee",
            "decree",
        ];
        let ends =
            ["", "s", "es", "ies", "ied", "ed", "ing", "ings", "e", "y", "ss", "sses", "shes", "ches", "xes", "er"];
        for word in starts.iter().flat_map(|start| ends.iter().map(move |end| format!("{start}{end}"))) {
            let found = tokens(&word);
            assert!(spellings(&found[0]).contains(&word), "{word}: {found:?} {:?}", spellings(&found[0]));
        }
        assert_eq!(spellings("parse_config"), ["parse_config"]);
    }

    #[test]
    fn borders_are_where_words_and_their_parts_are() {
        let parts = |text: &str| {
            let borders: Vec<usize> = (0..=text.len()).filter(|at| is_word_border(text.as_bytes(), *at)).collect();
            borders.windows(2).map(|pair| text[pair[0]..pair[1]].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(parts("searchMode_x"), ["search", "Mode", "_", "x"]);
        assert_eq!(parts("“größe”→x"), ["“", "größe", "”", "→", "x"]);
        assert_eq!(parts("使用password登录"), ["使用", "password", "登录"]);
        assert_eq!(parts("ราคาprice"), ["ราคา", "price"]);
        for text in [&b"\xff\xfe"[..], b"a\xe9b", b"\x80", b"\x80\x80\x80\x80\x80x", b""] {
            let borders = (0..=text.len() + 2).filter(|at| is_word_border(text, *at)).count();
            assert!(borders >= 2, "the ends are borders");
        }
    }

    #[test]
    fn endings_are_cut_from_words_that_are_long_enough() {
        for (word, expected) in [
            ("ties", "tie"),
            ("flies", "fly"),
            ("axes", "axe"),
            ("boxes", "box"),
            ("gas", "gas"),
            ("cats", "cat"),
            ("bring", "bring"),
            ("asking", "ask"),
            ("running", "run"),
            ("adding", "add"),
            ("code", "code"),
            ("parse", "pars"),
        ] {
            let (stem, end) = stem(word);
            assert_eq!(format!("{stem}{end}"), expected, "{word}");
            for spelling in spellings(expected).iter().filter(|spelling| *spelling != expected) {
                assert_eq!(tokens(spelling), [expected], "{spelling}");
            }
        }
        let long = "b".repeat(LONGEST_TOKEN);
        assert_eq!((tokens("ab"), tokens(&long)), (vec!["ab".to_owned()], vec![long.clone()]));
        assert_eq!((tokens("a").len(), tokens(&format!("{long}b")).len()), (0, 0));
    }

    #[test]
    fn any_text_can_be_split() {
        for text in ["", "_", "___", "İİ_a", "a\u{0}b", "ß_SS", "🎉x🎉", "\u{212a}_\u{23a}\u{23a}", "\u{1e9e}_\u{23a}"]
        {
            for token in tokens(text) {
                assert!(!token.is_empty());
            }
        }
    }
}
