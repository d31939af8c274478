//! Macros that mislead the grammars of C and C++: `EXPORT` before a declaration, `NOEXCEPT` behind one.
//!
//! What a macro stands for is written elsewhere, so this is about words in capitals by where they stand. It changes what
//! the parser sees and nothing else, and only in files that have errors without it.

use std::ops::Range;

use tree_sitter::Tree;

use crate::engine::{Change, children};

/// Shorter words in capitals are types and parameters.
const SHORTEST: usize = 3;

/// Arguments of more tokens than this are none.
const MOST_ARGUMENTS: usize = 400;

/// Words behind which a declaration goes on.
const SPECIFIERS: &[&[u8]] =
    &[b"static", b"inline", b"virtual", b"extern", b"friend", b"constexpr", b"explicit", b"typedef", b"mutable"];

/// Words that say that what follows is a declaration.
const DECLARING: &[&[u8]] = &[
    b"static",
    b"inline",
    b"virtual",
    b"extern",
    b"friend",
    b"constexpr",
    b"explicit",
    b"typedef",
    b"mutable",
    b"class",
    b"struct",
    b"union",
    b"enum",
    b"namespace",
    b"template",
    b"using",
    b"auto",
    b"decltype",
    b"typename",
];

const TYPES: &[&[u8]] =
    &[b"void", b"bool", b"char", b"short", b"int", b"long", b"float", b"double", b"signed", b"unsigned", b"size_t"];

/// Attributes that stand in places the grammars do not expect.
const ATTRIBUTES: &[&[u8]] = &[b"__declspec", b"__attribute__", b"__stdcall", b"__cdecl", b"__extension__"];

const TAGS: &[&[u8]] = &[b"class", b"struct", b"union", b"enum"];

/// Errors that are farther than this from anything hidden have another cause; so many are looked at.
const NEAR: usize = 100;
const MOST_ERRORS: usize = 32;

/// What a class with a macro before its name is read as the type of a function.
const TAG_KINDS: &[&str] = &["class_specifier", "struct_specifier"];

/// Words behind the parameters of a function.
const TRAILERS: &[&[u8]] = &[b"const", b"noexcept", b"override", b"final"];

/// Words that stand before what is no declaration, or before a part of one.
const OTHERS: &[&[u8]] = &[
    b"return",
    b"else",
    b"case",
    b"goto",
    b"new",
    b"delete",
    b"throw",
    b"if",
    b"while",
    b"for",
    b"switch",
    b"sizeof",
    b"const",
    b"volatile",
    b"operator",
    b"do",
    b"co_return",
    b"co_await",
    b"co_yield",
    b"public",
    b"private",
    b"protected",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    /// A word in capitals.
    Macro,
    /// A number, a string or a character.
    Literal,
    Mark(u8),
}

#[derive(Debug, Clone, Copy)]
struct Token {
    kind: Kind,
    start: usize,
    end: usize,
}

/// What the parser should not see of a file of C or C++.
pub(crate) fn hide(bytes: &[u8], part: Range<usize>, tree: &Tree) -> Vec<Change> {
    let errors = errors_outside_of_bodies(tree);
    if errors.is_empty() {
        return Vec::new();
    }
    let changes = Hiding::new(bytes, part).run();
    let is_near = |change: &Change| {
        let near =
            |error: &Range<usize>| change.range.start < error.end + NEAR && error.start < change.range.end + NEAR;
        errors.iter().any(near)
    };
    if errors.len() == MOST_ERRORS || changes.iter().any(is_near) { changes } else { Vec::new() }
}

/// Errors inside of a function hide no definition, and to parse a file twice takes twice as long.
fn errors_outside_of_bodies(tree: &Tree) -> Vec<Range<usize>> {
    let mut errors = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if errors.len() == MOST_ERRORS {
            return errors;
        }
        if node.is_error() || node.is_missing() {
            errors.push(node.byte_range());
        }
        let is_function = node.kind() == "function_definition"
            && !node.child_by_field_name("type").is_some_and(|of| TAG_KINDS.contains(&of.kind()));
        if is_function {
            let head = children(node).filter(|it| it.kind() != "compound_statement" && it.has_error());
            errors.extend(head.map(|it| it.byte_range()).take(1));
        }
        if node.has_error() && !node.is_error() && !is_function && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return errors;
            }
        }
    }
}

struct Hiding<'a> {
    bytes: &'a [u8],
    tokens: Vec<Token>,
    /// For each closing parenthesis the token before the one that opens it.
    before_open: Vec<Option<usize>>,
    changes: Vec<Change>,
    /// The last token that is not hidden.
    last: Option<usize>,
    /// Where the parameters of a template end.
    template_end: Option<usize>,
}

impl<'a> Hiding<'a> {
    fn new(bytes: &'a [u8], part: Range<usize>) -> Self {
        let (mut tokens, directives) = tokens(bytes, part);
        let changes = hide_branches(&mut tokens, &directives);
        let mut before_open = vec![None; tokens.len()];
        let mut open = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            match token.kind {
                Kind::Mark(b'(') => open.push(at),
                Kind::Mark(b')') => before_open[at] = open.pop().and_then(|open| open.checked_sub(1)),
                Kind::Mark(b'{' | b'}') => open.clear(),
                _ => {}
            }
        }
        Self { bytes, tokens, before_open, changes, last: None, template_end: None }
    }

    fn run(mut self) -> Vec<Change> {
        let mut at = 0;
        while at < self.tokens.len() {
            let next = match self.tokens[at].kind {
                Kind::Macro => self.hidden(at),
                Kind::Word if self.is(at, ATTRIBUTES) => self.attribute(at),
                _ => None,
            };
            if let Some(next) = next {
                at = next;
                continue;
            }
            if self.is(at, &[b"template"]) && self.mark(at + 1) == Some(b'<') {
                self.template_end = self.angle_end(at + 1);
            }
            self.last = Some(at);
            at += 1;
        }
        self.changes
    }

    /// Hides an attribute of a compiler.
    fn attribute(&mut self, at: usize) -> Option<usize> {
        let end = if self.mark(at + 1) == Some(b'(') { self.close(at + 1)? } else { at };
        self.changes.push(Change { range: self.tokens[at].start..self.tokens[end].end, with: b"", scope: 0..0 });
        Some(end + 1)
    }

    /// Hides a macro where it is noise; gives where to go on.
    fn hidden(&mut self, at: usize) -> Option<usize> {
        let close = if self.mark(at + 1) == Some(b'(') { self.close(at + 1) } else { None };
        let end = close.unwrap_or(at);
        let (with, end): (&'static [u8], usize) = match () {
            () if self.is_parameter(close) => (b"int", end),
            () if close.is_none()
                && self.is_start()
                && self.mark(at + 1) == Some(b':')
                && self.mark(at + 2) != Some(b':') =>
            {
                (b"", at + 1)
            }
            () if self.is_noise(at, end) => (b"", end),
            () => return None,
        };
        self.changes.push(Change { range: self.tokens[at].start..self.tokens[end].end, with, scope: 0..0 });
        Some(end + 1)
    }

    /// `template <typename T, ENABLE_IF(…)>`.
    fn is_parameter(&self, close: Option<usize>) -> bool {
        let after = close.and_then(|close| self.mark(close + 1));
        let inside = self.template_end.is_some_and(|end| self.last.is_some_and(|last| last < end));
        inside && matches!(self.last_mark(), Some(b',' | b'<')) && matches!(after, Some(b',' | b'>'))
    }

    fn is_noise(&self, at: usize, end: usize) -> bool {
        let next = self.tokens.get(end + 1);
        let last = self.last;
        if self.is_start() {
            // `TRY { … }`.
            if self.mark(end + 1) == Some(b'{') && end == at {
                return true;
            }
            let is_own_line = next.is_none_or(|next| self.bytes[self.tokens[end].end..next.start].contains(&b'\n'));
            return (is_own_line && self.may_follow_a_line(at, end)) || self.declares(at, end);
        }
        match last.map(|last| self.tokens[last].kind) {
            Some(Kind::Word) if self.is_last(TAGS) => {
                let is_word = next.is_some_and(|next| matches!(next.kind, Kind::Word | Kind::Macro));
                let after = self.mark(end + 2);
                is_word
                    && (matches!(after, Some(b'{' | b':' | b'<'))
                        || self.is(end + 2, &[b"final"])
                        || (after == Some(b';') && self.is_last(&[b"class"])))
            }
            Some(Kind::Word) if self.is_last(SPECIFIERS) => self.declares(at, end),
            Some(Kind::Word) if self.is_last(TRAILERS) => self.ends_declaration(end),
            Some(Kind::Mark(b')')) => {
                let called = last.and_then(|last| self.before_open[last]);
                let is_name = called.is_some_and(|called| {
                    matches!(self.tokens[called].kind, Kind::Word | Kind::Macro) && !self.is(called, OTHERS)
                });
                is_name && self.ends_declaration(end)
            }
            Some(Kind::Word | Kind::Mark(b'*' | b'&' | b'>')) if !self.is_last(OTHERS) => {
                let is_called = |at| self.is_word(at) && matches!(self.mark(at + 1), Some(b'(' | b':'));
                end == at
                    && (is_called(end + 1)
                        || (self.is_last(TYPES) && self.mark(end + 1) == Some(b'*') && is_called(end + 2)))
            }
            _ => false,
        }
    }

    /// Whether a statement begins here.
    fn is_start(&self) -> bool {
        let Some(last) = self.last else { return true };
        match self.tokens[last].kind {
            Kind::Mark(b';' | b'{' | b'}') => true,
            Kind::Mark(b':') => last > 0 && self.is(last - 1, &[b"public", b"private", b"protected"]),
            Kind::Mark(b'>') => self.template_end == Some(last),
            _ => false,
        }
    }

    /// Whether a macro that ends its line is no part of what follows, or only a specifier of it.
    fn may_follow_a_line(&self, at: usize, end: usize) -> bool {
        match self.tokens.get(end + 1).map(|next| next.kind) {
            None => true,
            // The only value of an enumeration.
            Some(Kind::Mark(b'}')) => self.last_mark() != Some(b'{'),
            Some(Kind::Mark(b'[')) => self.mark(end + 2) == Some(b'['),
            Some(Kind::Mark(mark)) => mark == b'~',
            // A type above the name of a function.
            Some(Kind::Word) => end > at || self.mark(end + 2) != Some(b'('),
            // `TEST_END` above `TEST_BEGIN(name) {`: C takes it for the type of a function, and that finds the test.
            Some(Kind::Macro) => {
                let close = if self.mark(end + 2) == Some(b'(') { self.close(end + 2) } else { None };
                end > at || close.is_none_or(|close| self.mark(close + 1) != Some(b'{'))
            }
            Some(Kind::Literal) => false,
        }
    }

    /// Whether what follows is a declaration that needs no type before it.
    fn declares(&self, at: usize, end: usize) -> bool {
        let mut next = end + 1;
        if self.is(next, DECLARING) || self.is(next, TYPES) || self.mark(next) == Some(b'~') {
            return true;
        }
        if self.mark(next) == Some(b'[') && self.mark(next + 1) == Some(b'[') {
            return true;
        }
        if self.is(next, &[b"operator"]) {
            return self.is_word(next + 1);
        }
        while self.is(next, &[b"const", b"volatile"]) {
            next += 1;
        }
        if !self.is_word(next) {
            return false;
        }
        let mut is_qualified = false;
        while self.mark(next + 1) == Some(b':') && self.mark(next + 2) == Some(b':') {
            is_qualified = true;
            next += if self.mark(next + 3) == Some(b'~') { 4 } else { 3 };
        }
        match self.tokens.get(next + 1).map(|token| token.kind) {
            Some(Kind::Word | Kind::Macro | Kind::Mark(b'*' | b'&' | b'<')) => true,
            // A constructor, or a type and the name of a function.
            Some(Kind::Mark(b'(')) => {
                let after = || self.close(next + 1).and_then(|close| self.mark(close + 1));
                is_qualified || end > at || after() == Some(b':')
            }
            _ => false,
        }
    }

    /// Whether the parameters of a function may have ended before this.
    fn ends_declaration(&self, end: usize) -> bool {
        match self.tokens.get(end + 1).map(|next| next.kind) {
            Some(Kind::Mark(b'{' | b';' | b'=' | b':' | b'-') | Kind::Macro) => true,
            Some(Kind::Word) => self.is(end + 1, TRAILERS),
            _ => false,
        }
    }

    fn mark(&self, at: usize) -> Option<u8> {
        match self.tokens.get(at)?.kind {
            Kind::Mark(mark) => Some(mark),
            _ => None,
        }
    }

    fn last_mark(&self) -> Option<u8> {
        self.mark(self.last?)
    }

    fn is_word(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Macro))
    }

    fn is(&self, at: usize, words: &[&[u8]]) -> bool {
        self.tokens.get(at).is_some_and(|it| it.kind == Kind::Word && words.contains(&&self.bytes[it.start..it.end]))
    }

    fn is_last(&self, words: &[&[u8]]) -> bool {
        self.last.is_some_and(|last| self.is(last, words))
    }

    /// The parenthesis that closes one.
    fn close(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in open..self.tokens.len().min(open + MOST_ARGUMENTS) {
            match self.tokens[at].kind {
                Kind::Mark(b'(') => depth += 1,
                Kind::Mark(b')') if depth == 1 => return Some(at),
                Kind::Mark(b')') => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// Where the parameters of a template end.
    fn angle_end(&self, open: usize) -> Option<usize> {
        let (mut depth, mut at) = (0_usize, open);
        while at < self.tokens.len().min(open + MOST_ARGUMENTS) {
            match self.tokens[at].kind {
                Kind::Mark(b'<') => depth += 1,
                Kind::Mark(b'>') if depth == 1 => return Some(at),
                Kind::Mark(b'>') => depth -= 1,
                Kind::Mark(b'(') => at = self.close(at)?,
                Kind::Mark(b'{' | b'}' | b';') => return None,
                _ => {}
            }
            at += 1;
        }
        None
    }
}

/// Conditions that are nested deeper are not looked at.
const DEEPEST: usize = 32;

/// A line of the preprocessor that begins, goes on with or ends a condition.
struct Directive {
    kind: Branch,
    range: Range<usize>,
    /// How many tokens stand before it.
    token: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Branch {
    If,
    Else,
    End,
}

impl Branch {
    fn of(line: &[u8]) -> Option<Self> {
        let word = line.trim_ascii_start();
        let word = &word[..word.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(word.len())];
        match word {
            b"if" | b"ifdef" | b"ifndef" => Some(Self::If),
            b"else" | b"elif" | b"elifdef" | b"elifndef" => Some(Self::Else),
            b"endif" => Some(Self::End),
            _ => None,
        }
    }
}

/// Leaves only the first branch of conditions that stand inside of a statement, or whose branches open what they do not
/// close. The tokens of the others are taken out.
fn hide_branches(tokens: &mut Vec<Token>, directives: &[Directive]) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut is_out = vec![false; tokens.len()];
    let mut open: Vec<Vec<usize>> = Vec::new();
    for (at, directive) in directives.iter().enumerate() {
        match directive.kind {
            Branch::If => open.push(vec![at]),
            Branch::Else => {
                if let Some(group) = open.last_mut() {
                    group.push(at);
                }
            }
            Branch::End => {
                let Some(mut group) = open.pop() else { continue };
                group.push(at);
                if open.len() < DEEPEST {
                    hide_group(tokens, &mut is_out, directives, &group, &mut changes);
                }
            }
        }
    }
    let mut is_out = is_out.into_iter();
    tokens.retain(|_| !is_out.next().unwrap_or_default());
    changes
}

fn hide_group(
    tokens: &[Token],
    is_out: &mut [bool],
    directives: &[Directive],
    group: &[usize],
    changes: &mut Vec<Change>,
) {
    let lines: Vec<&Directive> = group.iter().map(|at| &directives[*at]).collect();
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return };
    // Without code in it, it disturbs nothing.
    if first.token == last.token {
        return;
    }
    let is_whole = lines.windows(2).all(|pair| is_balanced(tokens, is_out, pair[0].token..pair[1].token));
    if is_whole && !is_inside(tokens, is_out, first.token, last.token) {
        return;
    }
    let hidden = |range: Range<usize>| Change { range, with: b"", scope: 0..0 };
    changes.push(hidden(first.range.clone()));
    changes.push(hidden(lines[1].range.start..last.range.end));
    is_out[lines[1].token..last.token].fill(true);
}

/// Whether what opens in a branch is closed in it.
fn is_balanced(tokens: &[Token], is_out: &[bool], range: Range<usize>) -> bool {
    let (mut braces, mut parentheses) = (0_isize, 0_isize);
    for at in range.filter(|at| !is_out[*at]) {
        match tokens[at].kind {
            Kind::Mark(b'{') => braces += 1,
            Kind::Mark(b'}') => braces -= 1,
            Kind::Mark(b'(') => parentheses += 1,
            Kind::Mark(b')') => parentheses -= 1,
            _ => {}
        }
        if braces < 0 || parentheses < 0 {
            return false;
        }
    }
    braces == 0 && parentheses == 0
}

/// Whether a condition stands in the middle of a statement.
fn is_inside(tokens: &[Token], is_out: &[bool], first: usize, last: usize) -> bool {
    let before = (0..first).rev().take(MOST_ARGUMENTS).find(|at| !is_out[*at]).map(|at| tokens[at].kind);
    match before {
        None | Some(Kind::Macro | Kind::Mark(b';' | b'{' | b'}' | b':')) => false,
        Some(Kind::Mark(b')')) => {
            matches!(tokens.get(last).map(|it| it.kind), Some(Kind::Mark(b'{' | b';' | b',' | b')' | b':')))
        }
        Some(_) => true,
    }
}

/// The tokens of a text without comments, and the conditions of the preprocessor.
fn tokens(bytes: &[u8], part: Range<usize>) -> (Vec<Token>, Vec<Directive>) {
    let end = part.end;
    let mut directives = Vec::new();
    let mut tokens = Vec::with_capacity(part.len() / 5);
    let mut at = part.start;
    let mut is_line_start = true;
    while at < end {
        let start = at;
        let byte = bytes[at];
        at += 1;
        let next = bytes[..end].get(at).copied();
        let kind = match byte {
            b'\n' => {
                is_line_start = true;
                continue;
            }
            _ if byte.is_ascii_whitespace() => continue,
            b'#' if is_line_start => {
                at = directive_end(&bytes[..end], at);
                let branch = Branch::of(&bytes[start + 1..at]);
                directives.extend(branch.map(|kind| Directive { kind, range: start..at, token: tokens.len() }));
                continue;
            }
            b'/' if next == Some(b'/') => {
                at = memchr::memchr(b'\n', &bytes[at..end]).map_or(end, |length| at + length);
                continue;
            }
            b'/' if next == Some(b'*') => {
                at = memchr::memmem::find(&bytes[at + 1..end], b"*/").map_or(end, |length| at + length + 3);
                continue;
            }
            b'"' | b'\'' => {
                at = quoted_end(&bytes[..end], start);
                Kind::Literal
            }
            b'0'..=b'9' => {
                at = word_end(&bytes[..end], at);
                Kind::Literal
            }
            _ if is_in_word(byte) => {
                at = word_end(&bytes[..end], at);
                let word = &bytes[start..at];
                if bytes.get(at) == Some(&b'"') && matches!(word, b"R" | b"u8R" | b"uR" | b"UR" | b"LR") {
                    at = raw_end(&bytes[..end], at);
                    Kind::Literal
                } else if is_macro(word) {
                    Kind::Macro
                } else {
                    Kind::Word
                }
            }
            mark => Kind::Mark(mark),
        };
        is_line_start = false;
        tokens.push(Token { kind, start, end: at });
    }
    (tokens, directives)
}

fn is_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().position(|byte| !is_in_word(*byte)).unwrap_or(bytes.len() - at)
}

fn is_macro(word: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    word.len() >= SHORTEST && word.iter().all(fits) && word.iter().any(u8::is_ascii_uppercase)
}

/// Where a line of the preprocessor ends, with the lines that continue it and with a comment that begins on it.
fn directive_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(length) = memchr::memchr(b'\n', &bytes[at..]) {
        let line = &bytes[at..at + length];
        if let Some(comment) = memchr::memmem::rfind(line, b"/*")
            && !line[comment + 2..].windows(2).any(|pair| pair == b"*/")
        {
            let inside = at + comment + 2;
            at = memchr::memmem::find(&bytes[inside..], b"*/").map_or(bytes.len(), |length| inside + length + 2);
            continue;
        }
        at += length;
        if line.trim_ascii_end().last() != Some(&b'\\') {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

/// Where a string or character ends: at its quote, or at the end of the line.
fn quoted_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\n' => return at,
            byte if *byte == bytes[start] => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Where `R"x(…)x"` ends.
fn raw_end(bytes: &[u8], quote: usize) -> usize {
    let Some(length) = memchr::memchr(b'(', &bytes[quote..]) else { return bytes.len() };
    let close = [b")", &bytes[quote + 1..quote + length], b"\""].concat();
    memchr::memmem::find(&bytes[quote..], &close).map_or(bytes.len(), |at| quote + at + close.len())
}
