//! Understanding a query: what kind it is, which words count, what it asks for by name.

use std::collections::HashMap;

use lore_store::{AskWord, tokens};

/// No more of a text is looked at. A question is shorter; what is longer was pasted by mistake, and each word costs.
const MAX_TEXT: usize = 8 << 10;

/// So many different words count, and so many names.
const MAX_WORDS: usize = 64;

/// So many quoted phrases count: each is looked for in the text of every candidate.
const MAX_PHRASES: usize = 16;

/// What somebody who asks has in mind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryKind {
    /// A name: `parseConfig`, `foo::bar`, `ENOENT`.
    Name,
    /// A place: `src/net/tcp.rs`, `Dockerfile`.
    Path,
    /// A few words.
    Words,
    /// A sentence or a question.
    Sentence,
}

impl QueryKind {
    /// The word for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Path => "path",
            Self::Words => "words",
            Self::Sentence => "sentence",
        }
    }
}

/// Words that say how something is asked, not what.
const STOP: &[&str] = &[
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by", "can", "could", "did", "do",
    "does", "doing", "done", "each", "for", "from", "get", "gets", "had", "has", "have", "how", "i", "if", "in",
    "into", "is", "it", "its", "let", "me", "my", "no", "not", "of", "on", "one", "or", "our", "over", "should",
    "show", "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "to", "up", "us", "use", "used", "uses", "using", "via", "was", "we", "were", "what", "when", "where",
    "which", "while", "who", "why", "will", "with", "would", "you", "your",
];

/// Whether a word, as it is written or as a token, says how something is asked, not what.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP.contains(&word)
}

/// The words of a text that say what it is about, as they are written: at most so many.
pub(crate) fn content_words(text: &str, most: usize) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
        let counts = word.chars().count() >= 3 && !is_stop_word(&word.to_lowercase());
        if counts && words.len() < most && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// Words that nearly every question about code has: they count a little.
const WEAK: &[&str] = &[
    "code",
    "define",
    "defined",
    "definition",
    "file",
    "files",
    "find",
    "function",
    "functions",
    "handle",
    "handled",
    "handles",
    "handling",
    "implement",
    "implementation",
    "implemented",
    "implements",
    "logic",
    "method",
    "methods",
    "module",
    "support",
    "work",
    "works",
];

/// What a query asks for beside the code itself, so that it is not held back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Wants {
    pub(super) tests: bool,
    pub(super) examples: bool,
    pub(super) documents: bool,
    pub(super) vendored: bool,
    pub(super) benches: bool,
    pub(super) compatibility: bool,
}

/// A query, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The text as given, or its beginning where it is very long.
    pub text: String,
    /// Whether not all of the text counts: it is too long, or has too many words.
    pub cut: bool,
    /// What kind it is.
    pub kind: QueryKind,
    /// The words that count, each once.
    pub(super) words: Vec<AskWord>,
    /// Names as they would be written, in lower case without separators between parts: `foo::bar` gives `foo` and `bar`.
    pub(super) names: Vec<String>,
    /// Quoted phrases, in lower case.
    pub(super) phrases: Vec<String>,
    pub(super) wants: Wants,
}

impl Query {
    /// Understands a query.
    pub fn new(text: &str) -> Self {
        let whole = text.trim();
        let text = &whole[..whole.floor_char_boundary(MAX_TEXT)];
        let mut phrases = quoted(text);
        let pieces: Vec<&str> = text
            .split_whitespace()
            .map(|piece| {
                piece.trim_matches(|c: char| {
                    matches!(c, '"' | '\'' | '`' | ',' | ';' | '?' | '!' | '(' | ')' | '[' | ']')
                })
            })
            .map(|piece| piece.trim_end_matches(['.', ':']))
            .filter(|piece| !piece.is_empty())
            .collect();
        let kind = kind_of(&pieces);
        let mut names = Vec::new();
        for piece in &pieces {
            if is_name(piece) || kind == QueryKind::Name {
                let parts = piece.split([':', '.', '>', '#', '/', '\\', '(', '<']);
                names.extend(parts.map(fold).filter(|name| name.len() > 1));
            }
        }
        names.dedup();
        let wants = wants(&pieces);
        let (words, many) = words(&pieces);
        let cut = text.len() < whole.len() || many || phrases.len() > MAX_PHRASES;
        phrases.truncate(MAX_PHRASES);
        names.truncate(MAX_WORDS);
        Self { text: text.to_owned(), cut, kind, words, names, phrases, wants }
    }

    /// How much meaning counts against words, 0 to 1.
    pub(super) fn meaning(&self) -> f32 {
        match self.kind {
            QueryKind::Name => 0.25,
            QueryKind::Path => 0.15,
            // Who writes names among words knows what it is called.
            QueryKind::Words | QueryKind::Sentence if !self.names.is_empty() => 0.40,
            QueryKind::Words | QueryKind::Sentence => 0.58,
        }
    }
}

/// A name without case and underscores, so that `parse_config`, `parseConfig` and `ParseConfig` are one.
pub(super) fn fold(name: &str) -> String {
    if !name.is_ascii() {
        return name.chars().filter(|c| *c != '_' && *c != '-').flat_map(char::to_lowercase).collect();
    }
    let mut folded = name.to_ascii_lowercase();
    folded.retain(|c| c != '_' && c != '-');
    folded
}

/// The quoted phrases of a text.
fn quoted(text: &str) -> Vec<String> {
    let quotes = text.matches('"').count();
    let pieces = text.split('"').enumerate();
    // A lone quotation mark quotes nothing; what is quoted before it is.
    let phrases = pieces.filter(|(at, _)| at % 2 == 1 && quotes > *at).map(|(_, piece)| piece.trim().to_lowercase());
    phrases.filter(|phrase| !phrase.is_empty()).collect()
}

fn kind_of(pieces: &[&str]) -> QueryKind {
    match pieces {
        [one] if is_path(one) => QueryKind::Path,
        [one] if is_name(one) || one.chars().next().is_some_and(char::is_uppercase) => QueryKind::Name,
        pieces if pieces.len() <= 3 && !pieces.is_empty() && pieces.iter().all(|piece| is_name(piece)) => {
            QueryKind::Name
        }
        pieces if pieces.len() <= 3 => QueryKind::Words,
        _ => QueryKind::Sentence,
    }
}

/// Whether a word is written as only code is: humps, underscores, qualifiers, a call, all capitals.
fn is_name(piece: &str) -> bool {
    let bytes = piece.as_bytes();
    let hump = bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let inner_underscore = piece.trim_matches('_').contains('_') || piece.starts_with("__");
    let qualified = piece.contains("::")
        || piece.contains("->")
        || (piece.contains('.') && !piece.ends_with('.') && !piece.starts_with('.'));
    let capitals =
        piece.len() > 3 && piece.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    hump || inner_underscore || qualified || capitals
}

fn is_path(piece: &str) -> bool {
    let extension = piece
        .rsplit_once('.')
        .is_some_and(|(stem, end)| !stem.is_empty() && lore_chunk::Language::of_extension(end).is_some());
    piece.contains('/') || (extension && !piece.contains("::") && !piece.contains('('))
}

/// The words that count, each once, and whether there are more than that.
fn words(pieces: &[&str]) -> (Vec<AskWord>, bool) {
    let collect = |all: bool| {
        let (mut words, mut many): (Vec<AskWord>, bool) = (Vec::new(), false);
        let mut places: HashMap<String, usize> = HashMap::new();
        for piece in pieces {
            let lower = piece.to_lowercase();
            if !all && is_stop_word(&lower) {
                continue;
            }
            let weak = WEAK.contains(&lower.as_str());
            let found = tokens(piece);
            let compound = found.len() > 1;
            for (at, token) in found.into_iter().enumerate() {
                // The whole of a compound name says most.
                let weight = match (weak, compound, at) {
                    (true, ..) => 0.35,
                    (_, true, 0) => 1.5,
                    (_, true, _) => 0.7,
                    _ => 1.0,
                };
                if let Some(known) = places.get(&token) {
                    words[*known].weight = words[*known].weight.max(weight);
                } else if words.len() < MAX_WORDS {
                    places.insert(token.clone(), words.len());
                    words.push(AskWord { token, weight });
                } else {
                    many = true;
                }
            }
        }
        (words, many)
    };
    let (words, many) = collect(false);
    if words.is_empty() { collect(true) } else { (words, many) }
}

fn wants(pieces: &[&str]) -> Wants {
    let has = |wanted: &[&str]| pieces.iter().any(|piece| wanted.contains(&piece.to_lowercase().as_str()));
    Wants {
        tests: has(&["test", "tests", "testing", "tested", "spec", "specs", "fixture", "fixtures", "mock", "mocks"]),
        examples: has(&["example", "examples", "sample", "samples", "demo", "tutorial"]),
        documents: has(&["doc", "docs", "documentation", "readme", "guide", "changelog", "tutorial", "adr", "design"]),
        vendored: has(&["vendor", "vendored", "third-party", "dependency", "dependencies"]),
        benches: has(&["bench", "benches", "benchmark", "benchmarks"]),
        compatibility: has(&["compat", "compatibility", "legacy", "deprecated", "shim", "polyfill"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart() {
        for (text, kind) in [
            ("parseConfig", QueryKind::Name),
            ("foo::bar", QueryKind::Name),
            ("ENOENT", QueryKind::Name),
            ("Router", QueryKind::Name),
            ("src/net/tcp.rs", QueryKind::Path),
            ("config.toml", QueryKind::Path),
            ("retry backoff", QueryKind::Words),
            ("self.retry state->next", QueryKind::Name),
            ("__init__ read_all", QueryKind::Name),
            ("and then.", QueryKind::Words),
            (".hidden away", QueryKind::Words),
            ("_private thing", QueryKind::Words),
            ("ABC def", QueryKind::Words),
            ("where is retry with backoff implemented?", QueryKind::Sentence),
        ] {
            assert_eq!(Query::new(text).kind, kind, "{text}");
        }
    }

    #[test]
    fn a_name_is_one_however_it_is_written() {
        for name in ["parse_config", "parseConfig", "ParseConfig", "parse-config", "PARSE_CONFIG"] {
            assert_eq!(fold(name), "parseconfig");
        }
        for name in ["größe_ändern", "GrößeÄndern", "größe-ändern"] {
            assert_eq!(fold(name), "größeändern");
        }
    }

    #[test]
    fn words_that_only_ask_do_not_count_unless_there_are_no_others() {
        let tokens = |text: &str| Query::new(text).words.into_iter().map(|word| word.token).collect::<Vec<_>>();
        assert_eq!(tokens("where is retry with backoff implemented?"), ["retry", "backoff", "implement"]);
        assert_eq!(tokens("how is it"), ["how", "is", "it"]);
        assert_eq!(tokens("parseConfig"), ["parseconfig", "pars", "config"]);
    }

    #[test]
    fn names_and_phrases_are_found() {
        let query = Query::new("\"no such file\" in foo::BarBaz.run");
        assert_eq!(query.phrases, ["no such file"]);
        assert_eq!(query.names, ["foo", "barbaz", "run"]);
        assert!(Query::new("say \"it").phrases.is_empty());
        for stray in
            ["\"no such file\"\"", "\"no such file\" 5\"", "\"no such file\" in \"foo", "\"\" \"no such file\" \""]
        {
            assert_eq!(Query::new(stray).phrases, ["no such file"], "{stray}");
        }
    }

    #[test]
    fn only_the_first_words_of_a_very_long_text_count() {
        let words = |count: usize| (0..count).map(|at| format!("word{at}")).collect::<Vec<_>>().join(" ");
        let query = Query::new(&words(64));
        assert_eq!((query.words.len(), query.cut), (64, false));
        let query = Query::new(&format!("{} word1 word63", words(64)));
        assert_eq!((query.words.len(), query.cut), (64, false), "what is said again is no further word");
        let query = Query::new(&words(150_000));
        assert!(query.cut && query.words.len() == 64 && query.words[63].token == "word63");
        assert!(query.text.len() <= MAX_TEXT);
        let query = Query::new(&"é".repeat(MAX_TEXT));
        assert!(query.cut && query.text.len() <= MAX_TEXT);
        assert_eq!(Query::new(&"\"a b\" ".repeat(40)).phrases.len(), MAX_PHRASES);
        assert!(!Query::new(&format!("{}retry", " ".repeat(9000))).words.is_empty(), "blanks are no words");
    }

    #[test]
    fn any_text_is_a_query() {
        for text in ["", " ", "\"", "\"\"", "?!", "\u{0}", "::", "....", "日本語 の 検索", "🎉"] {
            let _query = Query::new(text);
        }
    }
}
