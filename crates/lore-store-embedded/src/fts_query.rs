//! Bounds what a full-text query costs before SQLite runs it.
//!
//! FTS5 evaluates every phrase by itself, once to match and once more to rank: a prefix that is repeated a hundred times is
//! looked up two hundred times, although it matches what one of it matches. So a list of phrases is reduced to the different
//! ones, and a query with too many phrases is refused. What is left may still be expensive; a deadline ends that.
//!
//! This is not a parser: whether a query is valid FTS5 syntax is for FTS5 to say.

use std::{collections::HashSet, fmt::Write as _};

/// Different phrases that one query may have. An AND of more matches nothing in practice.
pub(crate) const MAX_PHRASES: usize = 256;

/// A query has more phrases than [`MAX_PHRASES`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooManyPhrases(pub(crate) usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    /// A bareword or a quoted string, as it is written.
    Text(&'a str),
    And,
    Or,
    Near,
    Sign(u8),
}

/// The query with each phrase once, where it is a plain list of phrases; else the query as it is.
pub(crate) fn normalize(query: &str) -> Result<String, TooManyPhrases> {
    let Some(tokens) = tokens(query) else { return Ok(query.to_owned()) };
    let normal = distinct_items(&tokens);
    let phrases = match &normal {
        Some((items, _)) => items.iter().map(|item| item.phrases).sum(),
        None => tokens.iter().filter(|token| matches!(token, Token::Text(_))).count(),
    };
    if phrases > MAX_PHRASES {
        return Err(TooManyPhrases(phrases));
    }
    Ok(normal.map_or_else(
        || query.to_owned(),
        |(items, separator)| items.iter().map(|item| item.text.as_str()).collect::<Vec<_>>().join(separator),
    ))
}

/// Every word as a phrase, so that nothing in it is syntax.
pub(crate) fn quote_words(text: &str) -> String {
    text.split_whitespace().fold(String::new(), |mut quoted, word| {
        write!(quoted, "\"{}\" ", word.replace('"', "\"\"")).expect("writing to a string cannot fail");
        quoted
    })
}

/// A phrase with its `*`, or a NEAR group.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Item {
    text: String,
    phrases: usize,
}

/// The different items of a list that is joined by AND alone or by OR alone, and what joins them.
fn distinct_items(tokens: &[Token<'_>]) -> Option<(Vec<Item>, &'static str)> {
    let separator = if tokens.contains(&Token::Or) { " OR " } else { " " };
    let (mut items, mut seen, mut rest) = (Vec::new(), HashSet::new(), tokens);
    loop {
        let (item, after) = item(rest)?;
        if seen.insert(item.text.clone()) {
            items.push(item);
        }
        rest = match after {
            [] => return Some((items, separator)),
            [Token::Or, after @ ..] if separator == " OR " => after,
            [Token::And, after @ ..] if separator == " " => after,
            // Neighbours are joined by an AND of their own, which binds more tightly than OR.
            [Token::Text(_) | Token::Near, ..] if separator == " " => after,
            _ => return None,
        };
    }
}

fn item<'a, 't>(tokens: &'t [Token<'a>]) -> Option<(Item, &'t [Token<'a>])> {
    match tokens {
        [Token::Near, Token::Sign(b'('), inside @ ..] => {
            let end = inside.iter().position(|token| *token == Token::Sign(b')'))?;
            let (inside, after) = (&inside[..end], &inside[end + 1..]);
            let (mut texts, mut rest) = (Vec::new(), inside);
            while let [Token::Text(_), ..] = rest {
                let (phrase, after) = phrase(rest)?;
                texts.push(phrase);
                rest = after;
            }
            let distance = match rest {
                [] => "",
                [Token::Sign(b','), Token::Text(distance)] => distance,
                _ => return None,
            };
            let phrases = texts.len();
            let text = match (texts.as_slice(), distance) {
                ([], _) => return None,
                // One phrase is near itself, whatever the distance.
                ([one], _) => one.clone(),
                (_, "") => format!("NEAR({})", texts.join(" ")),
                (_, distance) => format!("NEAR({}, {distance})", texts.join(" ")),
            };
            Some((Item { text, phrases }, after))
        }
        [Token::Text(_), ..] => {
            let (text, after) = phrase(tokens)?;
            Some((Item { text, phrases: 1 }, after))
        }
        _ => None,
    }
}

fn phrase<'a, 't>(tokens: &'t [Token<'a>]) -> Option<(String, &'t [Token<'a>])> {
    match tokens {
        [Token::Text(text), Token::Sign(b'*'), after @ ..] => Some((format!("{text}*"), after)),
        [Token::Text(text), after @ ..] => Some(((*text).to_owned(), after)),
        _ => None,
    }
}

/// The tokens of a query as FTS5 cuts it; `None` where it has a character that FTS5 refuses.
fn tokens(query: &str) -> Option<Vec<Token<'_>>> {
    let bytes = query.as_bytes();
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == 0x1a || byte >= 0x80;
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        let from = at;
        at += 1;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b'"' => {
                // A quotation mark in a string is written twice.
                loop {
                    at += query[at..].find('"')? + 1;
                    if bytes.get(at) != Some(&b'"') {
                        break;
                    }
                    at += 1;
                }
                tokens.push(Token::Text(&query[from..at]));
            }
            byte if is_bare(byte) => {
                at += bytes[at..].iter().take_while(|byte| is_bare(**byte)).count();
                tokens.push(match &query[from..at] {
                    "AND" => Token::And,
                    "OR" => Token::Or,
                    // What NOT leaves out is no part of a list.
                    "NOT" => Token::Sign(b'!'),
                    "NEAR" => Token::Near,
                    word => Token::Text(word),
                });
            }
            b'(' | b')' | b'{' | b'}' | b':' | b',' | b'+' | b'*' | b'-' | b'^' => tokens.push(Token::Sign(byte)),
            _ => return None,
        }
    }
    Some(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_phrases_count_once() {
        for (query, expected) in [
            ("a*a*a* a*", "a*"),
            ("a AND a* AND a", "a a*"),
            ("b OR a OR b", "b OR a"),
            ("\"a \"\"b\" \"a \"\"b\" c", "\"a \"\"b\" c"),
            ("NEAR(a b, 5) NEAR(a b, 5) NEAR(b a)", "NEAR(a b, 5) NEAR(b a)"),
            ("NEAR(a, 100000) a NEAR(a)", "a"),
            ("é é", "é"),
        ] {
            assert_eq!(normalize(query).as_deref(), Ok(expected), "{query}");
        }
    }

    #[test]
    fn what_is_no_plain_list_is_left_as_it_is() {
        for query in [
            "",
            "a a OR b",
            "a NOT a",
            "(a OR a) b",
            "subject: a a",
            "{subject body}: a",
            "a + a",
            "^a a",
            "- subject: a",
            "NEAR",
            "NEAR(a",
            "NEAR(a + b c)",
            "AND",
            "a AND",
            "a OR OR b",
            "*",
            "a**",
            "\"open",
            "tree-sitter",
            "a.b",
            "f(",
        ] {
            assert_eq!(normalize(query).as_deref(), Ok(query), "{query}");
        }
    }

    #[test]
    fn too_many_phrases_are_refused_and_repeated_ones_are_not() {
        let different = (0..=MAX_PHRASES).map(|number| format!("w{number}*")).collect::<Vec<_>>().join(" ");
        assert_eq!(normalize(&different), Err(TooManyPhrases(MAX_PHRASES + 1)));
        assert_eq!(normalize(&format!("({different})")), Err(TooManyPhrases(MAX_PHRASES + 1)));
        assert_eq!(normalize(&"a*".repeat(4_000)).as_deref(), Ok("a*"));
    }

    #[test]
    fn quoted_words_hold_no_syntax() {
        assert_eq!(quote_words("tree-sitter  a\"b foo("), "\"tree-sitter\" \"a\"\"b\" \"foo(\" ");
    }
}
