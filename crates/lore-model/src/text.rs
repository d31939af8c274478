//! Making text from repositories safe to show: nothing invisible, nothing that steers a terminal.

use std::{borrow::Cow, fmt::Write as _};

use crate::invisible::{hides, is_invisible};

/// Shows each character that hides something as `<U+XXXX>`, so that nothing is hidden and nothing is lost.
///
/// What belongs to the writing is left as it is: joiners of emoji and of scripts that need them, and byte order marks.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    // Nearly all text is plain ASCII, and bytes are looked at far faster than characters.
    let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r');
    if text.as_bytes().iter().all(plain) || !text.chars().any(is_invisible) {
        return Cow::Borrowed(text);
    }
    let (mut shown, mut copied) = (String::new(), 0);
    for (at, c) in text.char_indices().filter(|(_, c)| is_invisible(*c)) {
        let end = at + c.len_utf8();
        if hides(&text[..at], c, &text[end..]) {
            shown.push_str(&text[copied..at]);
            write!(shown, "<U+{:04X}>", u32::from(c)).expect("writing to a string cannot fail");
            copied = end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(&text[copied..]);
    Cow::Owned(shown)
}

/// The same for a terminal, where a carriage return lets what follows stand over what came before.
pub fn escape_for_terminal(text: &str) -> Cow<'_, str> {
    let shown = escape_controls(text);
    if !shown.contains('\r') {
        return shown;
    }
    Cow::Owned(shown.replace("\r\n", "\n").replace('\r', "<U+000D>"))
}

/// The beginning of a text that somebody sent, for messages that quote it.
pub fn brief(text: &str) -> Cow<'_, str> {
    const QUOTED: usize = 100;
    match text.char_indices().nth(QUOTED) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// The name that was probably meant: the nearest one, where it is near enough. A text is nobody's slip of the keyboard.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const NAME_MAX: usize = 300;
    if name.len() > NAME_MAX {
        return None;
    }
    let name = name.to_lowercase();
    let (length, enough) = (name.chars().count(), 1 + name.len() / 4);
    let scored = known.into_iter().filter_map(|candidate| {
        let lower = candidate.to_lowercase();
        let other = lower.chars().count();
        let difference = other.abs_diff(length);
        let (short, long) = if lower.len() < name.len() { (&lower, &name) } else { (&name, &lower) };
        // A part has to be much of the whole: a letter or two are in nearly every word.
        if short.len() >= 3 && 3 * short.len() >= long.len() && long.contains(short.as_str()) {
            return Some((1, difference, candidate));
        }
        // Each character more or less is a change.
        if difference > enough {
            return None;
        }
        // What shares less than half with another name is not near it, however short both are.
        let distance = strsim::levenshtein(&name, &lower);
        (2 * distance <= length.max(other)).then_some((distance, difference, candidate))
    });
    scored
        .min_by_key(|(distance, difference, _)| (*distance, *difference))
        .filter(|(distance, _, _)| *distance <= enough)
        .map(|(_, _, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_shown_not_deleted() {
        assert_eq!(escape_controls("a\u{202e}b\u{1b}[31m\u{e0041}"), "a<U+202E>b<U+001B>[31m<U+E0041>");
        assert!(matches!(escape_controls("tab\tline\r\n❤\u{fe0f} 日本"), Cow::Borrowed(_)));
    }

    #[test]
    fn nothing_stands_over_what_came_before_on_a_terminal() {
        assert_eq!(escape_for_terminal("all is well\rrm -rf\u{8}\r\nnext"), "all is well<U+000D>rm -rf<U+0008>\nnext");
        assert!(matches!(escape_for_terminal("tab\tline\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn quoted_text_is_cut() {
        assert_eq!(brief("short"), "short");
        assert_eq!(brief(&"é".repeat(101)), format!("{}…", "é".repeat(100)));
    }

    #[test]
    fn near_misses_are_recognised() {
        let known = ["query", "since", "repos", "paths", "limit"];
        for (typed, meant) in [
            ("quary", Some("query")),
            ("repo", Some("repos")),
            ("max_limit", Some("limit")),
            ("Paths", Some("paths")),
            ("zzz", None),
        ] {
            assert_eq!(closest(typed, known), meant, "{typed}");
        }
        assert_eq!(closest(&format!("query{}", "y".repeat(300)), known), None, "a text is no name");
        let longest = "y".repeat(300);
        assert_eq!(closest(&longest, [&*longest]), Some(&*longest), "as long as a name may be");
        assert_eq!(closest("abcd", ["abxy"]), Some("abxy"), "one change, and one more for each four bytes");
        assert_eq!(closest("abcd", ["axyz"]), None);
        let languages = ["c", "r", "d", "go", "js", "sql", "java", "javascript", "objective-c"];
        for (typed, meant) in [
            ("nosuchlang", None),
            ("x", None),
            ("cc", Some("c")),
            ("gi", Some("go")),
            ("golang", None),
            ("cargo", None),
            ("sequel", None),
            ("mysql", Some("sql")),
            ("a-language-that-is-like-java", None),
            ("script", Some("javascript")),
            ("javascrip", Some("javascript")),
        ] {
            assert_eq!(closest(typed, languages), meant, "{typed}");
        }
    }
}
