//! What a client sent, made fit to be quoted in an error: short, and with nothing invisible in it.

use std::borrow::Cow;

use lore_model::escape_controls;

/// Characters of a client's text that an error quotes.
const QUOTED: usize = 100;

/// A client's text as an error shows it.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(QUOTED) {
        None => escape_controls(text),
        Some((end, _)) => Cow::Owned(format!("{}…", escape_controls(&text[..end]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_invisible_text_is_cut_and_shown() {
        assert_eq!(shown("a\u{202e}b"), "a<U+202E>b");
        assert_eq!(shown(&"é".repeat(101)), format!("{}…", "é".repeat(100)));
    }
}
