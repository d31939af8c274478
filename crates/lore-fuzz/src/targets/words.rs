//! Text as words, and an index of them: what is in a text is found there.

use lore_core::search::fuzz::query_words;
use lore_store::{LONGEST_TOKEN, is_word_border, spellings, tokens};
use lore_store_embedded::fuzz::Searched;

use crate::bytes::{first_line, text};

/// The first line is a question; the rest is a text.
pub(super) fn run(bytes: &[u8]) {
    let (question, body) = first_line(bytes);
    let (question, body) = (text(question), text(body));
    let known = tokens(&body);
    for token in &known {
        // A capital letter that is not ASCII may be shorter than the small one.
        let longest = if token.is_ascii() { LONGEST_TOKEN } else { LONGEST_TOKEN * 3 / 2 };
        assert!(!token.is_empty() && token.len() <= longest, "{token:?}");
    }
    assert_eq!(tokens(&format!("({body})")), known, "marks around a text are no words");
    for word in body.split(|c: char| !c.is_ascii_lowercase()) {
        let is_alone = body.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b' ');
        if let ([token], true) = (tokens(word).as_slice(), is_alone) {
            assert!(spellings(token).iter().any(|spelling| spelling == word), "{word} is no spelling of {token}");
        }
    }
    assert!(is_word_border(body.as_bytes(), 0) && is_word_border(body.as_bytes(), body.len()));
    let words = query_words(&question);
    assert!(words.len() <= 64, "{words:?}");
    if !body.is_empty() {
        searched(&question, &body, &known);
    }
}

fn searched(question: &str, body: &str, known: &[String]) {
    let segment = Searched::new(&["another text", body, ""]).expect("what was written can be read");
    assert_eq!(segment.text(2).as_deref(), Some(body.as_bytes()), "the text is as it was");
    for token in known.iter().take(8) {
        assert!(segment.with_tokens(std::slice::from_ref(token)).contains(&2), "{token:?} is in {body:?}");
    }
    for line in body.split('\n').take(4) {
        assert!(segment.with_bytes(line.as_bytes()).contains(&2), "{line:?} is in {body:?}");
    }
    let has_question = body.to_ascii_lowercase().contains(&question.to_ascii_lowercase());
    assert!(!has_question || segment.with_bytes(question.as_bytes()).contains(&2), "{question:?} is in {body:?}");
    if !body.is_ascii() {
        return;
    }
    let is_plain =
        |word: &&str| word.len() > 3 && word.len() < 30 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    for word in body.split(|c: char| !c.is_alphanumeric() && c != '_').filter(is_plain).take(4) {
        let changed = format!("{}x", &word[..word.len() - 1]);
        assert!(segment.with_word_near(&changed, 1).contains(&2), "{changed} is near {word} of {body:?}");
    }
}
