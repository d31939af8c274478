//! From an expression to what a text must contain, in trigrams: an AND and OR over them, after Russ Cox.
//!
//! Every text with a line that matches is allowed by the plan; the converse is not promised, so lines are verified.

use std::collections::BTreeSet;

use lore_store::TextPlan;
use regex_syntax::hir::{Class, Hir, HirKind};

type Strings = BTreeSet<Vec<u8>>;

/// Beyond so many strings, only how they begin and end is kept.
const MAX_STRINGS: usize = 64;

/// A class of more characters says nothing.
const MAX_CLASS: usize = 40;

/// Longer strings are cut: what they contain was noted before.
const MAX_LENGTH: usize = 256;

/// What a text must contain to have a match.
pub(super) fn plan(hir: &Hir) -> TextPlan {
    let known = Known::of(hir);
    let whole = known.exact.as_ref().map_or(TextPlan::Anything, some_of);
    known.contains.and(whole).and(some_of(&known.begins)).and(some_of(&known.ends))
}

/// One of these strings occurs, so all trigrams of one of them do.
fn some_of(strings: &Strings) -> TextPlan {
    strings.iter().map(|string| TextPlan::literal(string)).reduce(TextPlan::or).unwrap_or(TextPlan::Anything)
}

/// A plan of more nodes says nothing: it would take longer to ask than to read.
const MAX_NODES: usize = 2048;

fn nodes(plan: &TextPlan) -> usize {
    match plan {
        TextPlan::Anything | TextPlan::Has(_) => 1,
        TextPlan::All(plans) | TextPlan::Any(plans) => 1 + plans.iter().map(nodes).sum::<usize>(),
    }
}

/// What is known of the strings that a part of an expression matches.
#[derive(Clone)]
struct Known {
    /// All of them, where they are few.
    exact: Option<Strings>,
    /// How they begin, and how they end.
    begins: Strings,
    ends: Strings,
    /// What they contain.
    contains: TextPlan,
}

impl Known {
    fn of(hir: &Hir) -> Self {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Self::exactly([Vec::new()].into()),
            HirKind::Literal(literal) => Self::exactly([literal.0.to_ascii_lowercase()].into()),
            HirKind::Class(class) => characters(class).map_or_else(Self::nothing, Self::exactly),
            HirKind::Capture(capture) => Self::of(&capture.sub),
            HirKind::Repetition(repetition) => match (repetition.min, repetition.max) {
                (0, Some(1)) => Self::either(Self::exactly([Vec::new()].into()), Self::of(&repetition.sub)),
                (0, _) => Self::nothing(),
                (1, Some(1)) => Self::of(&repetition.sub),
                (least, most) => {
                    // `x{2,5}` begins and ends with `x`, and has two of them in a row.
                    let one = Self::of(&repetition.sub);
                    let copies = (1..least.min(3)).fold(one.clone(), |copies, _| Self::then(copies, one.clone()));
                    if most == Some(least) && least <= 3 { copies } else { Self::repeated(copies, one) }
                }
            },
            HirKind::Concat(parts) => parts.iter().map(Self::of).reduce(Self::then).unwrap_or_else(Self::nothing),
            HirKind::Alternation(parts) => {
                parts.iter().map(Self::of).reduce(Self::either).unwrap_or_else(Self::nothing)
            }
        }
    }

    fn nothing() -> Self {
        let empty: Strings = [Vec::new()].into();
        Self { exact: None, begins: empty.clone(), ends: empty, contains: TextPlan::Anything }
    }

    fn exactly(strings: Strings) -> Self {
        Self { begins: strings.clone(), ends: strings.clone(), exact: Some(strings), contains: TextPlan::Anything }
            .bounded()
    }

    /// Begins like the first and ends like the last, with anything between.
    fn repeated(first: Self, last: Self) -> Self {
        let whole = first.exact.as_ref().map_or(TextPlan::Anything, some_of);
        let contains = first.contains.and(whole).and(some_of(&first.begins)).and(some_of(&first.ends));
        Self { exact: None, begins: first.begins, ends: last.ends, contains }.bounded()
    }

    fn then(a: Self, b: Self) -> Self {
        let product = |x: &Strings, y: &Strings| -> Strings {
            x.iter().flat_map(|x| y.iter().map(move |y| [x.as_slice(), y].concat())).collect()
        };
        let is_small = |x: &Strings, y: &Strings| x.len() * y.len() <= MAX_STRINGS;
        let exact = match (&a.exact, &b.exact) {
            (Some(x), Some(y)) if is_small(x, y) => Some(product(x, y)),
            _ => None,
        };
        let seam = match exact {
            // The strings themselves say it.
            Some(_) => TextPlan::Anything,
            None if is_small(&a.ends, &b.begins) => some_of(&product(&a.ends, &b.begins)),
            None => some_of(&a.ends).and(some_of(&b.begins)),
        };
        let contains = a.contains.and(b.contains).and(seam);
        let begins = match &a.exact {
            Some(x) if is_small(x, &b.begins) => product(x, &b.begins),
            _ => a.begins,
        };
        let ends = match &b.exact {
            Some(y) if is_small(&a.ends, y) => product(&a.ends, y),
            _ => b.ends,
        };
        Self { exact, begins, ends, contains }.bounded()
    }

    fn either(a: Self, b: Self) -> Self {
        let join = |x: &Strings, y: &Strings| x.union(y).cloned().collect::<Strings>();
        let (begins, ends) = (join(&a.begins, &b.begins), join(&a.ends, &b.ends));
        let exact = a.exact.as_ref().zip(b.exact.as_ref()).map(|(x, y)| join(x, y));
        // Where all strings are known, they say what they contain.
        let own = |known: Self, says: bool| match known.exact {
            Some(strings) if !says => known.contains.and(some_of(&strings)),
            _ => known.contains,
        };
        let contains = own(a, exact.is_some()).or(own(b, exact.is_some()));
        Self { exact, begins, ends, contains }.bounded()
    }

    /// Keeps the sets small; what is dropped from them moves into `contains`.
    fn bounded(mut self) -> Self {
        if nodes(&self.contains) > MAX_NODES {
            self.contains = TextPlan::Anything;
        }
        let is_long = |strings: &Strings| strings.iter().any(|string| string.len() > MAX_LENGTH);
        if let Some(strings) = self.exact.take_if(|strings| strings.len() > MAX_STRINGS || is_long(strings)) {
            self.contains = self.contains.and(some_of(&strings));
        }
        for keep in [MAX_LENGTH, 3, 2, 1, 0] {
            if self.begins.len() > MAX_STRINGS / 4 || (is_long(&self.begins) && keep > 3) {
                self.contains = self.contains.and(some_of(&self.begins));
                self.begins = self.begins.iter().map(|string| string[..string.len().min(keep)].to_vec()).collect();
            }
            if self.ends.len() > MAX_STRINGS / 4 || (is_long(&self.ends) && keep > 3) {
                self.contains = self.contains.and(some_of(&self.ends));
                let end = |string: &Vec<u8>| string[string.len() - string.len().min(keep)..].to_vec();
                self.ends = self.ends.iter().map(end).collect();
            }
        }
        self
    }
}

/// The characters of a class, in lower case, where they are few.
fn characters(class: &Class) -> Option<Strings> {
    let lower = |mut bytes: Vec<u8>| {
        bytes.make_ascii_lowercase();
        bytes
    };
    match class {
        Class::Unicode(class) => {
            let count: usize = class.iter().map(|range| range.end() as usize - range.start() as usize + 1).sum();
            let encode = |character: char| lower(character.to_string().into_bytes());
            (count <= MAX_CLASS)
                .then(|| class.iter().flat_map(|range| range.start()..=range.end()).map(encode).collect())
        }
        Class::Bytes(class) => {
            let count: usize = class.iter().map(|range| usize::from(range.end() - range.start()) + 1).sum();
            let all = class.iter().flat_map(|range| range.start()..=range.end());
            (count <= MAX_CLASS).then(|| all.map(|byte| lower(vec![byte])).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, expected: &str) {
        let hir = regex_syntax::ParserBuilder::new().utf8(false).build().parse(pattern).unwrap();
        assert_eq!(format!("{:?}", plan(&hir)), expected, "{pattern}");
    }

    #[test]
    fn expressions_become_trigrams() {
        check("Abc", "Has(\"abc\")");
        check("ab", "Anything");
        check("a.*b", "Anything");
        check("foo|bar", "Any({Has(\"bar\"), Has(\"foo\")})");
        check("foo|.", "Anything");
        check("one.*two", "All({Has(\"one\"), Has(\"two\")})");
        check("a[bc]d", "Any({Has(\"abd\"), Has(\"acd\")})");
        check("(foo)+", "Has(\"foo\")");
        check("(foo)?", "Anything");
        check("^foo$", "Has(\"foo\")");
        check("(?i)foo", "Has(\"foo\")");
        check("x{3}", "Has(\"xxx\")");
        check("x{5}", "Has(\"xxx\")");
        check("ab(c|d)", "Any({Has(\"abc\"), Has(\"abd\")})");
    }

    #[test]
    fn nested_repetitions_take_no_time() {
        check(&format!("{}a{}", "(".repeat(60), "+)+".repeat(60)), "Anything");
        check(
            &format!("{}foo{}", "(".repeat(40), "{2,})".repeat(40)),
            "All({Has(\"foo\"), Has(\"ofo\"), Has(\"ooo\")})",
        );
    }
}
