//! Lines and differences of texts.

/// The part in which two texts differ: its start, and its length in each of them.
pub(super) fn difference(old: &str, new: &str) -> (usize, usize, usize) {
    let mut start = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    while !old.is_char_boundary(start) {
        start -= 1;
    }
    let (old, new) = (&old[start..], &new[start..]);
    let mut same = old.bytes().rev().zip(new.bytes().rev()).take_while(|(a, b)| a == b).count();
    while !old.is_char_boundary(old.len() - same) {
        same -= 1;
    }
    (start, old.len() - same, new.len() - same)
}

/// The line ending of a text.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The start of the line that contains `at`.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The end of the line that contains `at`, with its line ending.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_stays_on_character_boundaries() {
        // é and è share their first byte, é and ũ their last.
        for (old, new) in [("aéb", "aèb"), ("aéb", "aũb"), ("é", "éé"), ("", "x"), ("ab", "ab"), ("aab", "ab")] {
            let (start, was, is) = difference(old, new);
            let rebuilt = format!("{}{}{}", &new[..start], &old[start..start + was], &new[start + is..]);
            assert_eq!(rebuilt, old, "{old} -> {new}");
        }
    }
}
