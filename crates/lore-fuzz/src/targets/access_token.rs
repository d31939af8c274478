//! Access tokens: only what was signed counts.

use lore_team::fuzz::{sign, subject_of};

use crate::bytes::{edited, text};

const KEY: &[u8] = b"a key of thirty-two bytes, always";

/// Changes of a token that is valid, or a token that nobody signed.
pub(super) fn run(bytes: &[u8]) {
    let signed = sign("1", 2_000_000_000, KEY).expect("it can be signed");
    assert_eq!(subject_of(&signed, KEY), Some(("1".to_owned(), 2_000_000_000)));
    for token in [text(&edited(signed.as_bytes(), bytes)), text(bytes)] {
        assert!(token == signed || subject_of(&token, KEY).is_none(), "{token} is not what was signed");
    }
    // To HMAC, zeros behind a short key are none.
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let is_same = bytes[..used] == *KEY && bytes.len() <= 64;
    assert_eq!(subject_of(&signed, bytes).is_some(), is_same, "another key is another server's");
}
