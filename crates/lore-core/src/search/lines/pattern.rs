//! A literal or a regular expression, as `grep` means it: one line at a time.
//!
//! Lines are matched as bytes, split at `\n`, with Unicode on. Time is linear in the text whatever the expression, and what
//! an expression may take of memory is bounded.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use lore_model::{Cancel, Code, Failure, brief};
use lore_store::TextPlan;
use regex_automata::{Input, hybrid::dfa::DFA, meta, nfa::thompson};
use regex_syntax::{
    ast,
    hir::{
        Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look,
        translate::TranslatorBuilder,
    },
};

use super::{plan::plan, posix};

/// Longer patterns are refused: nobody writes them, and each character costs.
const MAX_PATTERN: usize = 8 << 10;

/// How much memory an expression may take when it is compiled, and while it runs.
const MAX_COMPILED: usize = 8 << 20;
const MAX_CACHE: usize = 4 << 20;

/// So much text is looked at before time is, and so many bytes of a line that is longer.
const AT_ONCE: usize = 64 << 10;
const STEPS_AT_ONCE: usize = 1 << 10;

/// What is looked for in lines.
#[derive(Clone)]
pub(in crate::search) struct Pattern {
    regex: meta::Regex,
    pub(in crate::search) plan: TextPlan,
    hir: Hir,
    /// Goes byte by byte, once that was wanted; none where there is no such automaton.
    stepwise: Arc<OnceLock<Option<DFA>>>,
}

impl Pattern {
    /// Lines that have these characters.
    pub(super) fn literal(text: &str, case_sensitive: bool) -> Result<Self, Failure> {
        if text.contains('\n') {
            return Err(line_end());
        }
        check_length(text)?;
        Self::parse(&regex_syntax::escape(text), case_sensitive)
    }

    /// Lines that the expression matches.
    pub(in crate::search) fn regex(text: &str, case_sensitive: bool) -> Result<Self, Failure> {
        check_length(text)?;
        Self::parse(text, case_sensitive)
    }

    fn parse(text: &str, case_sensitive: bool) -> Result<Self, Failure> {
        let hir = hir(text, case_sensitive).map_err(|error| not_understood(text, &error))?;
        if has_line_end(&hir) {
            return Err(line_end());
        }
        let hir = line_wise(hir);
        let config = meta::Config::new()
            .utf8_empty(false)
            .nfa_size_limit(Some(MAX_COMPILED))
            .onepass_size_limit(Some(MAX_COMPILED / 8))
            .dfa_size_limit(Some(MAX_COMPILED / 8))
            .hybrid_cache_capacity(MAX_CACHE);
        let regex = meta::Regex::builder().configure(config).build_from_hir(&hir).map_err(|_| {
            Failure::new(
                Code::InvalidArgument,
                format!("the pattern `{}` is too large when it is compiled", brief(text)),
            )
            .hint("use smaller repetitions of classes: \\w{1,20} rather than \\w{1,100}")
        })?;
        Ok(Self { plan: plan(&hir), regex, hir, stepwise: Arc::default() })
    }

    /// Calls `hit` for the first match in each line that has one: the number of the line, from 0, where it begins and ends,
    /// and the place of the match, all in `text`. `None` where time was up before the end.
    pub(super) fn for_each_line(&self, text: &[u8], stop: &Cancel, hit: &mut dyn FnMut(Line)) -> Option<()> {
        let (mut at, mut number, mut counted) = (0, 0, 0);
        while at < text.len() {
            let until = some_lines(text, at);
            let found = if until - at > AT_ONCE {
                self.find_in_long_line(text, at..until, stop).ok()?
            } else {
                self.find_within(text, at..until)
            };
            let Some(found) = found else {
                if until < text.len() && stop.is_cancelled() {
                    return None;
                }
                at = until;
                continue;
            };
            // What follows a line end is no line, or the next one.
            if found.start == until && text[..until].ends_with(b"\n") {
                at = until;
                continue;
            }
            number += memchr::memchr_iter(b'\n', &text[counted..found.start]).count();
            counted = found.start;
            let begin = memchr::memrchr(b'\n', &text[..found.start]).map_or(0, |before| before + 1);
            let end = memchr::memchr(b'\n', &text[found.start..]).map_or(text.len(), |end| found.start + end);
            hit(Line { number, begin, end, found });
            at = end + 1;
        }
        Some(())
    }

    /// Where a match ends in a line that is too long to be looked at without looking at the time.
    fn find_in_long_line(
        &self,
        text: &[u8],
        line: Range<usize>,
        stop: &Cancel,
    ) -> Result<Option<Range<usize>>, TimeIsUp> {
        let whole = || Ok(self.find_within(text, line.clone()));
        let Some(automaton) = self.stepwise.get_or_init(|| stepwise(&self.hir)) else { return whole() };
        let mut cache = automaton.create_cache();
        let Ok(mut state) = automaton.start_state_forward(&mut cache, &Input::new(text).range(line.clone())) else {
            return whole();
        };
        let mut at = line.start;
        for part in text[line.clone()].chunks(STEPS_AT_ONCE) {
            if stop.is_cancelled() {
                return Err(TimeIsUp);
            }
            for &byte in part {
                match automaton.next_state(&mut cache, state, byte) {
                    Ok(next) => state = next,
                    Err(_) => return whole(),
                }
                // That something matches is known one byte later.
                if state.is_match() {
                    return Ok(Some(at..at));
                }
                if state.is_quit() {
                    return whole();
                }
                at += 1;
            }
        }
        if text[..line.end].ends_with(b"\n") {
            return Ok(None);
        }
        match automaton.next_eoi_state(&mut cache, state) {
            Ok(state) => Ok(state.is_match().then_some(at..at)),
            Err(_) => whole(),
        }
    }

    /// The first match from this place on.
    pub(super) fn find_from(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        self.find_within(text, from..text.len())
    }

    /// The first match in a part of a text.
    pub(super) fn find_within(&self, text: &[u8], part: Range<usize>) -> Option<Range<usize>> {
        self.regex.find(Input::new(text).range(part)).map(|found| found.range())
    }
}

struct TimeIsUp;

/// A line that has a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::search) struct Line {
    /// Its number in the text, from 0.
    pub(in crate::search) number: usize,
    /// Where it begins and where it ends, without the line end.
    pub(super) begin: usize,
    pub(super) end: usize,
    /// The match.
    pub(super) found: Range<usize>,
}

/// Refuses what is too long to be compiled.
pub(super) fn check_length(text: &str) -> Result<(), Failure> {
    if text.len() <= MAX_PATTERN {
        return Ok(());
    }
    let message = format!("what is looked for is longer than {MAX_PATTERN} bytes");
    Err(Failure::new(Code::InvalidArgument, message).hint("look for a part of it"))
}

fn line_end() -> Failure {
    Failure::new(Code::InvalidArgument, "the pattern has a line end, and lines are searched one at a time")
        .hint("look for what stands in one line")
}

fn not_understood(text: &str, error: &regex_syntax::Error) -> Failure {
    let why = match error {
        regex_syntax::Error::Parse(error) => match error.kind() {
            ast::ErrorKind::UnsupportedLookAround => {
                "lookaround ((?=…), (?!…), (?<=…), (?<!…)) is not supported".to_owned()
            }
            ast::ErrorKind::UnsupportedBackreference => "backreferences (\\1) and \\0 are not supported".to_owned(),
            kind => format!("{kind}, at character {}", error.span().start.column),
        },
        regex_syntax::Error::Translate(error) => error.kind().to_string(),
        _ => "it is not understood".to_owned(),
    };
    Failure::new(Code::InvalidArgument, format!("`{}` is no regular expression: {why}", brief(text)))
        .hint("the syntax is that of Rust's regex crate; put \\ before characters that are meant literally")
}

/// What the expression means.
fn hir(text: &str, case_sensitive: bool) -> Result<Hir, Box<regex_syntax::Error>> {
    let mut expression = ast::parse::Parser::new().parse(text).map_err(|error| Box::new(error.into()))?;
    posix::write_out(&mut expression);
    let mut translator = TranslatorBuilder::new().utf8(false).case_insensitive(!case_sensitive).build();
    translator.translate(text, &expression).map_err(|error| Box::new(error.into()))
}

/// Where some lines that begin here end: as many as are looked at at once, or one that is longer. No match goes on in the next
/// line, so time can be looked at between lines.
fn some_lines(text: &[u8], from: usize) -> usize {
    let Some(some) = text.get(from..from + AT_ONCE) else { return text.len() };
    match memchr::memrchr(b'\n', some) {
        Some(last) => from + last + 1,
        None => memchr::memchr(b'\n', &text[from + AT_ONCE..]).map_or(text.len(), |end| from + AT_ONCE + end + 1),
    }
}

/// An automaton for one byte at a time. It gives up where word borders lie beside letters that are not ASCII.
fn stepwise(hir: &Hir) -> Option<DFA> {
    let config = thompson::Config::new().utf8(false).nfa_size_limit(Some(MAX_COMPILED));
    let nfa = thompson::Compiler::new().configure(config).build_from_hir(hir).ok()?;
    let config = DFA::config().cache_capacity(MAX_CACHE).skip_cache_capacity_check(true).unicode_word_boundary(true);
    DFA::builder().configure(config).build_from_nfa(nfa).ok()
}

/// Whether a part of the expression can match nothing but a line end.
fn has_line_end(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Repetition(repetition) => repetition.min > 0 && has_line_end(&repetition.sub),
        HirKind::Capture(capture) => has_line_end(&capture.sub),
        HirKind::Concat(parts) => parts.iter().any(has_line_end),
        HirKind::Alternation(parts) => parts.iter().all(has_line_end),
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => false,
    }
}

/// The same expression for many lines at once: no match has a line end in it, and `^`, `$`, `\A` and `\z` mean the ends of
/// the line.
fn line_wise(hir: Hir) -> Hir {
    match hir.into_kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Look(Look::Start) => Hir::look(Look::StartLF),
        HirKind::Look(Look::End) => Hir::look(Look::EndLF),
        HirKind::Look(look) => Hir::look(look),
        HirKind::Literal(literal) if literal.0.contains(&b'\n') => Hir::fail(),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(Class::Unicode(mut class)) => {
            class.difference(&ClassUnicode::new([ClassUnicodeRange::new('\n', '\n')]));
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(Class::Bytes(mut class)) => {
            class.difference(&ClassBytes::new([ClassBytesRange::new(b'\n', b'\n')]));
            Hir::class(Class::Bytes(class))
        }
        HirKind::Repetition(mut repetition) => {
            repetition.sub = Box::new(line_wise(*repetition.sub));
            Hir::repetition(repetition)
        }
        HirKind::Capture(mut capture) => {
            capture.sub = Box::new(line_wise(*capture.sub));
            Hir::capture(capture)
        }
        HirKind::Concat(parts) => Hir::concat(parts.into_iter().map(line_wise).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.into_iter().map(line_wise).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pattern: &Pattern, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        let stop = Cancel::default();
        pattern.for_each_line(text.as_bytes(), &stop, &mut |line| found.push(line.number + 1)).expect("there is time");
        found
    }

    #[track_caller]
    fn check(pattern: &str, text: &str, expected: &[usize]) {
        assert_eq!(lines(&Pattern::regex(pattern, true).unwrap(), text), expected, "{pattern}");
    }

    #[test]
    fn a_line_is_matched_by_itself() {
        check("a", "a\nb\na a\n", &[1, 3]);
        check("^b$", "a\nb\nbb\n", &[2]);
        check("^$", "a\n\nb\n\n", &[2, 4]);
        check("$", "a\nb", &[1, 2]);
        check("", "a\n\nb\n", &[1, 2, 3]);
        check(r"a\s+b", "a\nb\na  b\n", &[3]);
        check(r"a[^x]b", "a\nb\na-b\n", &[3]);
        check(r"\Aa|b\z", "a\nab\nba\n", &[1, 2]);
        check(r"(?s)a.b", "a\nb\n", &[]);
        check(r"a\r$", "a\r\nb\n", &[1]);
        check("x", "", &[]);
    }

    /// Long lines are looked at in another way, and many lines in parts: what is found is the same.
    #[test]
    fn long_lines_and_long_texts_are_matched_like_short_ones() {
        let filler = "x".repeat(AT_ONCE / 3);
        let pieces = ["", "needle", " needle ", "é", "needle é", "needleé", "7", "\r"];
        let mut text = String::new();
        for (number, piece) in pieces.iter().cycle().take(60).enumerate() {
            for _ in 0..number % 7 {
                text.push_str(&filler);
            }
            text.push_str(piece);
            text.push_str(if number % 3 == 0 { "\n\n" } else { "\n" });
        }
        for text in [text.as_str(), text.trim_end()] {
            for pattern in [
                "needle",
                r"\bneedle\b",
                "",
                "^",
                "$",
                "^$",
                "x$",
                "^x",
                r"é$",
                r"[[:digit:]]$",
                r"x\r$",
                "e{2}.",
                "nowhere",
            ] {
                let alone = Pattern::regex(pattern, true).unwrap();
                let expected: Vec<usize> = (1..)
                    .zip(text.strip_suffix('\n').unwrap_or(text).split('\n'))
                    .filter(|(_, line)| alone.find_from(line.as_bytes(), 0).is_some())
                    .map(|(number, _)| number)
                    .collect();
                assert_eq!(lines(&alone, text), expected, "{pattern}");
            }
        }
    }

    #[test]
    fn time_is_looked_at_within_a_line() {
        let text = "é".repeat(32 << 20);
        let pattern = Pattern::regex(r"(\p{L}.{1,200}){3}\p{Nd}", true).unwrap();
        let stop = Cancel::default().until(std::time::Instant::now() + std::time::Duration::from_millis(50));
        assert_eq!(pattern.for_each_line(text.as_bytes(), &stop, &mut |_| panic!("nothing is there")), None);
    }

    #[test]
    fn named_classes_have_the_characters_of_all_languages() {
        // As `git grep -P` answers, line by line.
        let text = "¢\n§\n+\n€\n~\n٣\né\n\u{AD}\n\u{180E}\n\u{85}\n\u{200B}\n";
        check("[[:punct:]]", text, &[2, 3, 5]);
        check("[[:graph:]]", text, &[1, 2, 3, 4, 5, 6, 7, 8, 11]);
        check("[[:print:]]", text, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 11]);
        check("[[:cntrl:]]", text, &[10]);
        check("[[:blank:]]", text, &[9]);
        check("[[:space:]]", text, &[9, 10]);
        check("[[:digit:]]", text, &[6]);
        check("[[:alpha:]]|[x[:^ascii:]&&[:digit:]]", text, &[6, 7]);
        check("([[:alnum:]]+|x){1,2}", text, &[6, 7]);
        check("[[:upper:]]", "é\nÉ\n", &[2]);
        check("[[:lower:]]", "é\nÉ\n", &[1]);
        let any_case = Pattern::regex("[[:upper:]]", false).unwrap();
        assert_eq!(lines(&any_case, "é\nÉ\n1\n"), [1, 2], "where case is ignored");
        check("^[[:^word:]]$", "é\n-\n", &[2]);
        check("(?-u)[[:alpha:]]|(?:(?-u)x)", text, &[]);
        check("(?-u:[[:alpha:]])", "é\na\n", &[2]);
    }

    #[test]
    fn literals_are_taken_as_they_are() {
        let literal = Pattern::literal("a.b(c)", true).unwrap();
        assert_eq!(lines(&literal, "a.b(c)\naxb(c)\nA.B(C)\n"), [1]);
        assert_eq!(lines(&Pattern::literal("a.B(c)", false).unwrap(), "A.b(C)\n"), [1]);
        assert_eq!(lines(&Pattern::literal("größe", false).unwrap(), "GRÖSSE\nGRÖßE\n"), [2]);
    }

    #[test]
    fn what_cannot_be_understood_is_told() {
        for (pattern, said) in [
            ("a(?=b)", "lookaround"),
            (r"(a)\1", "backreferences"),
            ("a(", "unclosed group"),
            ("a\\nb", "line end"),
            ("a\nb", "line end"),
            ("(\\w{1000}){1000}", "too large"),
            (&format!("{}{}", "(".repeat(500), ")".repeat(500)), "nest"),
            (&"a".repeat(10_000), "longer than"),
        ] {
            let failure = Pattern::regex(pattern, true).err().unwrap_or_else(|| panic!("{pattern} is taken"));
            assert!(failure.message.contains(said), "{}", failure.message);
            assert!(failure.code == Code::InvalidArgument && failure.hint.is_some() && failure.message.len() < 400);
        }
    }
}
