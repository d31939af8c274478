//! How text becomes words that can be found. Every backend and every query uses this, so they agree.

/// Longer runs of letters are no words: keys, hashes, encoded data.
const LONGEST: usize = 64;

/// Calls `emit` with every token of `text`, in order of appearance.
///
/// A word is a run of letters, digits, `_` and anything beyond ASCII. A compound word (`parseConfig`, `MAX_SIZE`) gives
/// itself in lower case and then its parts; parts and simple words are reduced to their stem. Single ASCII letters give nothing.
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
        let word = text[start..at].trim_matches('_');
        if word.is_empty() || word.len() > LONGEST {
            continue;
        }
        lower.clear();
        lower.push_str(word);
        if lower.is_ascii() {
            lower.make_ascii_lowercase();
        } else {
            lower = word.to_lowercase();
            // Lower case may have another length, and then parts have no place in it.
            if lower.len() != word.len() {
                emit(&lower);
                continue;
            }
        }
        let mut compound = false;
        for_each_part(word.as_bytes(), |from, to| {
            if !compound {
                compound = true;
                emit(&lower);
            }
            emit_stem(&lower[from..to], &mut emit);
        });
        if !compound {
            emit_stem(&lower, &mut emit);
        }
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

fn starts_hump(word: &[u8], at: usize) -> bool {
    let (before, here) = (word[at - 1], word[at]);
    let next_is_lower = word.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    here.is_ascii_uppercase()
        && (before.is_ascii_lowercase() || before.is_ascii_digit() || (before.is_ascii_uppercase() && next_is_lower))
}

fn emit_stem(word: &str, emit: &mut impl FnMut(&str)) {
    if word.len() < 2 {
        return;
    }
    match stem(word) {
        (stem, "") => emit(stem),
        (stem, end) => emit(&format!("{stem}{end}")),
    }
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
    fn any_text_can_be_split() {
        for text in ["", "_", "___", "İİ_a", "a\u{0}b", "ß_SS", "🎉x🎉"] {
            for token in tokens(text) {
                assert!(!token.is_empty());
            }
        }
    }
}
