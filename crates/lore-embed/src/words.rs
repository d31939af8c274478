//! The words of a text: `parseHTTPBody2` is parse, http, body, 2.
//!
//! Only ASCII letters and digits make words; everything else separates. Training splits in the same way: a change here
//! needs a new model.

/// The kinds of bytes. Not letters of a locale: ASCII only.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Other,
    Lower,
    Upper,
    Digit,
}

/// A table: one load for each byte instead of up to six comparisons.
const KINDS: [Kind; 256] = {
    let mut kinds = [Kind::Other; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        kinds[byte as usize] = match byte {
            b'a'..=b'z' => Kind::Lower,
            b'A'..=b'Z' => Kind::Upper,
            b'0'..=b'9' => Kind::Digit,
            _ => Kind::Other,
        };
        byte += 1;
    }
    kinds
};

/// Calls `take` with each word in lower case, until it answers `false`. `buffer` is only room to work in.
pub(crate) fn for_each_word(text: &str, buffer: &mut Vec<u8>, mut take: impl FnMut(&[u8]) -> bool) {
    let bytes = text.as_bytes();
    let kind = |at: usize| bytes.get(at).map_or(Kind::Other, |byte| KINDS[usize::from(*byte)]);
    let run = |mut at: usize, of: Kind| {
        while kind(at) == of {
            at += 1;
        }
        at
    };
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let more = match kind(at) {
            Kind::Other => {
                at += 1;
                continue;
            }
            same @ (Kind::Lower | Kind::Digit) => {
                at = run(at, same);
                take(&bytes[start..at])
            }
            Kind::Upper => {
                at = run(at, Kind::Upper);
                if at - start == 1 {
                    at = run(at, Kind::Lower);
                } else if kind(at) == Kind::Lower {
                    // The last capital begins the next word.
                    at -= 1;
                }
                buffer.clear();
                buffer.extend(bytes[start..at].iter().map(u8::to_ascii_lowercase));
                take(buffer)
            }
        };
        if !more {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mut words = Vec::new();
        for_each_word(text, &mut Vec::new(), |word| {
            words.push(String::from_utf8(word.to_vec()).unwrap());
            true
        });
        assert_eq!(words.join(" "), expected, "{text}");
    }

    #[test]
    fn identifiers_are_split() {
        check("parseHTTPBody2", "parse http body 2");
        check("snake_case::SCREAMING_CASE", "snake case screaming case");
        check("XMLs IDs aB AB A b 2nd", "xm ls i ds a b ab a b 2 nd");
        check("HttpServer", "http server");
        check("", "");
        check(" -- ", "");
        check("naïve Übung größe", "na ve bung gr e");
    }

    #[test]
    fn whoever_takes_words_may_stop() {
        let mut count = 0;
        for_each_word("a b c d", &mut Vec::new(), |_| {
            count += 1;
            count < 2
        });
        assert_eq!(count, 2);
    }
}
