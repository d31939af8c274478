//! Questions about history, which SQLite's full-text search has to take.

use lore_store_embedded::fuzz::{Asked, ask_history};

use crate::bytes::text;

pub(super) fn run(bytes: &[u8]) {
    let text = text(bytes);
    match ask_history(&text) {
        Asked::AsItIs => {}
        Asked::Quoted(found) => {
            // Each word as a phrase: what says just that has them all, where a word has anything to look for.
            let has_words = text.split_whitespace().any(|word| word.chars().any(char::is_alphanumeric));
            let is_ascii = text.is_ascii();
            assert!(found || !has_words || !is_ascii, "{text:?} does not find itself");
        }
        Asked::Refused => {
            let words = text.replace('\0', " ").split_whitespace().count();
            assert!(words == 0 || words > 100, "{text:?} has words");
        }
        Asked::Failed(why) => panic!("{text:?}: {why}"),
    }
}
