//! Short texts that people type: intervals, names, the beginnings of commit ids, texts that are shown.

use lore_model::{
    CommitId, CommitPrefix, RepoName, UserName, brief, escape_controls, is_invisible, parse_interval, without_user,
};

use crate::bytes::text;

pub(super) fn run(bytes: &[u8]) {
    let text = text(bytes);
    interval(&text);
    names(&text);
    if let Ok(prefix) = CommitPrefix::parse(&text) {
        let digits = prefix.as_str();
        assert!((4..=64).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit()), "{digits:?}");
        assert_eq!(digits, text.trim().to_lowercase());
    }
    if let Ok(id) = CommitId::from_hex(bytes) {
        assert_eq!(id.to_hex().as_bytes(), bytes.to_ascii_lowercase());
        assert_eq!(CommitId::from_bytes(id.as_bytes()), Some(id));
    }
    let shown = escape_controls(&text);
    assert!(shown.chars().all(|c| !is_invisible(c) || may_belong(c)), "{shown:?}");
    assert!(text.chars().any(is_invisible) || shown == text, "what can be seen is left as it is: {text:?}");
    assert_eq!(escape_controls(&shown), shown, "what is shown can be seen");
    let brief = brief(&text);
    assert!(brief.chars().count() <= 121 && brief.chars().count() <= text.chars().count() + 1, "{brief:?}");
    assert_eq!(without_user(&without_user(&text)), without_user(&text));
}

/// Whether a character is part of emoji, of a script that joins, of an ideograph or of the beginning of a file.
fn may_belong(c: char) -> bool {
    matches!(c,
        '\u{180b}'..='\u{180f}' | '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{feff}'
        | '\u{e0061}'..='\u{e007f}' | '\u{e0100}'..='\u{e011f}')
}

/// As the documentation has it: digits, and one letter for how many seconds each is.
fn interval(text: &str) {
    let written = text.trim();
    let (digits, unit) = written.split_at(written.trim_end_matches(|c: char| !c.is_ascii_digit()).len());
    let each = [("", 1), ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800)];
    let each = each.iter().find(|(name, _)| *name == unit).map(|(_, each)| *each);
    let is_number = !digits.is_empty() && digits.len() < 30 && digits.bytes().all(|b| b.is_ascii_digit());
    let expected = each.filter(|_| is_number).and_then(|each: i128| Some(digits.parse::<i128>().ok()? * each));
    let expected = expected.and_then(|seconds| i64::try_from(seconds).ok());
    // A number of thirty digits may have only zeros before the last ones.
    if digits.len() < 30 {
        assert_eq!(parse_interval(text), expected, "{text:?}");
    }
}

fn names(text: &str) {
    let made = RepoName::from_any(text);
    assert_eq!(RepoName::parse(made.as_str()).as_ref(), Ok(&made), "what is made of any text is a name");
    // A name becomes part of paths, of addresses and of arguments.
    for name in [
        RepoName::parse(text).map(|name| name.as_str().to_owned()),
        UserName::parse(text).map(|name| name.as_str().to_owned()),
    ] {
        let Ok(name) = name else { continue };
        assert!(name.starts_with(char::is_alphanumeric), "{name:?}");
        assert!(!name.contains(['/', '\\', '\0', ' ', ':', '\n']), "{name:?}");
    }
}
