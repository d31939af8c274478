//! Finds lines again in a text that has changed. Pure: texts in, lines out.

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
    ops::Range,
    time::{Duration, Instant},
};

use similar::{Algorithm, DiffOp, TextDiff};

/// Lines before and after that tell one place from another with the same text.
const CONTEXT: usize = 3;

/// How alike a line must be to count as the same line, edited.
const ALIKE: f32 = 0.6;

/// How long two texts that have nothing in common may be compared.
const PATIENCE: Duration = Duration::from_millis(200);

/// Lines around the former place in which a part of a large file is compared.
const WINDOW: usize = 2000;

/// Places of a line that are looked at more closely.
const PLACES: usize = 50;

/// Pairs of lines that are compared character by character.
const PAIRS: usize = 400;

/// Lines that are looked at as what another one may have become: in a large file that was rewritten, each might be.
const CANDIDATES: usize = 200_000;

/// Lines that say so little alone that an edit on the spot is more likely than a move.
const FEW: usize = 3;

/// The code as it was.
#[derive(Clone, Copy)]
pub(super) struct Before<'a> {
    pub(super) text: &'a [u8],
    /// The number of the first line in `text`.
    pub(super) first_line: u32,
    /// Whether `text` is all of the file.
    pub(super) whole: bool,
    /// The lines in question.
    pub(super) lines: (u32, u32),
}

/// What became of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Now {
    /// They are at these lines, unchanged.
    At((u32, u32)),
    /// They are at these lines, and their text has changed.
    Edited((u32, u32)),
    /// They are not there any more.
    Gone,
    /// The text before did not hold them: nothing can be said.
    Unknown,
}

/// Where the lines are in the text as it is now. Of what was not found by the deadline, nothing is said.
pub(super) fn relocate(before: Before<'_>, now: &[u8], deadline: Instant) -> Now {
    match look(before, now, deadline) {
        Now::Gone if Instant::now() >= deadline => Now::Unknown,
        found => found,
    }
}

fn look(before: Before<'_>, now: &[u8], deadline: Instant) -> Now {
    if before.whole && before.text == now && index(before.lines.1) < lines(now).len() {
        return Now::At(before.lines);
    }
    let old = lines(before.text);
    let new = lines(now);
    let offset = |line: u32| line.checked_sub(before.first_line).and_then(|index| usize::try_from(index).ok());
    let Some(wanted) = offset(before.lines.0).zip(offset(before.lines.1)).map(|(first, last)| first..last + 1) else {
        return Now::Unknown;
    };
    if wanted.end > old.len() || wanted.is_empty() {
        return Now::Unknown;
    }
    if before.whole {
        return Comparison::new(&old, &new, wanted, 0, deadline).find();
    }
    // Where nothing changed, equal records elsewhere do not matter.
    if new.get(index(before.first_line)..).is_some_and(|rest| rest.starts_with(&old)) {
        return Now::At(before.lines);
    }
    // A part of a file does not say what came before it: it is compared with what is around its former place.
    let start = index(before.first_line).saturating_sub(WINDOW).min(new.len());
    let end = (index(before.first_line) + old.len() + WINDOW).min(new.len());
    let near = Comparison::new(&old, &new[start..end], wanted.clone(), start, deadline);
    match near.find() {
        Now::Gone => near.block_in(&new, &|_| true).map_or(Now::Gone, |found| Now::At(numbers(&found.lines))),
        found => found,
    }
}

/// The same lines within a part of the text as it is now, if they are there once.
pub(super) fn relocate_within(before: Before<'_>, now: &[u8], part: (u32, u32)) -> Option<(u32, u32)> {
    let (old, new) = (lines(before.text), lines(now));
    let offset = |line: u32| line.checked_sub(before.first_line).and_then(|index| usize::try_from(index).ok());
    let wanted = offset(before.lines.0)?..offset(before.lines.1)? + 1;
    if wanted.end > old.len() {
        return None;
    }
    let start = index(part.0).min(new.len());
    let end = index(part.1).saturating_add(1).clamp(start, new.len());
    let comparison = Comparison {
        old: &old,
        new: &new[start..end],
        wanted,
        before: start,
        changes: Vec::new(),
        pairs: Cell::new(0),
        candidates: Cell::new(0),
        deadline: Instant::now(),
    };
    let found = comparison.block_in(comparison.new, &|_| true)?;
    Some(comparison.at(&found.lines))
}

/// How much of the text before is in the text now, from 0 to 1.
pub(super) fn likeness(before: &[u8], now: &[u8]) -> f32 {
    let (old, new) = (lines(before), lines(now));
    let mut counts: HashMap<&[u8], usize> = HashMap::new();
    for line in new.iter().filter(|line| is_telling(line)) {
        *counts.entry(line).or_default() += 1;
    }
    let telling: Vec<&&[u8]> = old.iter().filter(|line| is_telling(line)).collect();
    let found = telling.iter().filter(|line| match counts.get_mut(**line) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    });
    #[expect(clippy::cast_precision_loss, reason = "a share of lines need not be exact")]
    let share = found.count() as f32 / telling.len().max(1) as f32;
    share
}

fn index(line: u32) -> usize {
    usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX)
}

fn numbers(lines: &Range<usize>) -> (u32, u32) {
    let number = |index: usize| u32::try_from(index + 1).unwrap_or(u32::MAX);
    (number(lines.start), number(lines.end - 1))
}

/// Lines without their ends, whichever kind those are, as git counts them.
pub fn lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> =
        text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
    // What follows the last line end is a line only if there is something, be it half a line end.
    if text.is_empty() || text.ends_with(b"\n") {
        lines.pop();
    }
    lines
}

/// Whether a line says enough to be known by it: `}` does not.
fn is_telling(line: &[u8]) -> bool {
    line.iter().filter(|byte| byte.is_ascii_alphanumeric() || **byte >= 0x80).nth(2).is_some()
}

/// A place that has the very lines that are looked for.
struct Block {
    lines: Range<usize>,
    /// Lines around it that are those of then.
    around: usize,
    /// Those of them that say something.
    context: usize,
}

/// Two texts, line by line, and the lines of the older one that are looked for.
struct Comparison<'a> {
    old: &'a [&'a [u8]],
    new: &'a [&'a [u8]],
    wanted: Range<usize>,
    /// How many lines of the whole text come before `new`.
    before: usize,
    changes: Vec<DiffOp>,
    /// Pairs of lines that may still be compared character by character.
    pairs: Cell<usize>,
    /// Lines that may still be looked at for that.
    candidates: Cell<usize>,
    deadline: Instant,
}

impl<'a> Comparison<'a> {
    fn new(old: &'a [&'a [u8]], new: &'a [&'a [u8]], wanted: Range<usize>, before: usize, deadline: Instant) -> Self {
        let until = deadline.min(Instant::now() + PATIENCE);
        let changes = similar::capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(until));
        let (pairs, candidates) = (Cell::new(PAIRS), Cell::new(CANDIDATES));
        Self { old, new, wanted, before, changes, pairs, candidates, deadline }
    }

    fn find(&self) -> Now {
        let kept = self.kept();
        if kept.len() == self.wanted.len() && kept.windows(2).all(|pair| pair[1].1 == pair[0].1 + 1) {
            return Now::At(self.at(&(kept[0].1..kept[kept.len() - 1].1 + 1)));
        }
        // What was cut out and put elsewhere looks like text that is gone and other text that is new. Lines that were
        // always there are no such place, however equal they are.
        let known: HashSet<usize> =
            self.equal().filter(|(old, _)| !self.wanted.contains(old)).map(|(_, new)| new).collect();
        let is_new = |range: &Range<usize>| range.clone().all(|line| !known.contains(&line));
        let moved = self.block_in(self.new, &is_new);
        // A line or two that occur elsewhere may be a coincidence: then an edit on the spot is as likely.
        let is_sure = moved.as_ref().is_some_and(|block| block.context > 0) || self.telling() >= FEW;
        let moved = moved.map(|block| Now::At(self.at(&block.lines)));
        let edited = || self.edited(&kept).map(|found| Now::Edited(self.at(&found)));
        let found = if is_sure { moved.or_else(edited) } else { edited().or(moved) };
        found.unwrap_or(Now::Gone)
    }

    fn at(&self, lines: &Range<usize>) -> (u32, u32) {
        numbers(&(lines.start + self.before..lines.end + self.before))
    }

    fn telling(&self) -> usize {
        self.old[self.wanted.clone()].iter().filter(|line| is_telling(line)).count()
    }

    /// Lines that are the same, then and now.
    fn equal(&self) -> impl Iterator<Item = (usize, usize)> {
        self.changes.iter().flat_map(|change| match *change {
            DiffOp::Equal { old_index, new_index, len } => {
                (0..len).map(|step| (old_index + step, new_index + step)).collect()
            }
            _ => Vec::new(),
        })
    }

    /// Those of them that are looked for.
    fn kept(&self) -> Vec<(usize, usize)> {
        self.equal().filter(|(old, _)| self.wanted.contains(old)).collect()
    }

    /// The one place that has the very lines that are looked for, however they are indented.
    fn block_in(&self, new: &[&[u8]], fits: &dyn Fn(&Range<usize>) -> bool) -> Option<Block> {
        let block: Vec<&[u8]> = self.old[self.wanted.clone()].iter().map(|line| line.trim_ascii()).collect();
        let mut places: HashMap<&[u8], Vec<usize>> = block.iter().map(|line| (*line, Vec::new())).collect();
        for (number, line) in new.iter().enumerate() {
            if let Some(places) = places.get_mut(line.trim_ascii()) {
                places.push(number);
            }
        }
        // The line that occurs least often says where to look.
        let (rarest, starts) =
            block.iter().enumerate().map(|(at, line)| (at, &places[line])).min_by_key(|(_, at)| at.len())?;
        let is_block = |start: usize| {
            new.get(start..start + block.len())
                .is_some_and(|lines| lines.iter().zip(&block).all(|(line, wanted)| line.trim_ascii() == *wanted))
        };
        let context = around(self.old, &self.wanted);
        let mut found: Vec<Block> = starts
            .iter()
            .take(PLACES)
            .filter_map(|line| line.checked_sub(rarest).filter(|start| is_block(*start)))
            .map(|start| start..start + block.len())
            .filter(|range| fits(range))
            .map(|lines| {
                let now = around(new, &lines);
                let same = now.iter().zip(&context).filter(|(now, then)| now.is_some() && now == then);
                let (mut around, mut telling) = (0, 0);
                for (line, _) in same {
                    around += 1;
                    telling += usize::from(line.as_ref().is_some_and(|line| is_telling(line)));
                }
                Block { lines, around, context: telling }
            })
            .collect();
        found.sort_by_key(|block| std::cmp::Reverse(block.around));
        let is_known = block.iter().any(|line| is_telling(line));
        let is_best = match found.as_slice() {
            [] => false,
            [only] => is_known || only.around >= 2,
            [best, next, ..] => best.around >= 2 && best.around > next.around,
        };
        is_best.then(|| found.swap_remove(0))
    }

    /// The lines that took the place of those that are looked for, if they are much like them.
    fn edited(&self, kept: &[(usize, usize)]) -> Option<Range<usize>> {
        let mut found: Vec<usize> = kept.iter().map(|(_, new)| *new).collect();
        let mut known = kept.iter().filter(|(old, _)| is_telling(self.old[*old])).count();
        let telling = self.telling();
        for change in self.changes.iter().filter(|change| matches!(change, DiffOp::Replace { .. })) {
            let lost: Vec<usize> = change.old_range().filter(|line| self.wanted.contains(line)).collect();
            let like: Vec<usize> = lost.iter().filter_map(|line| self.most_alike(*line, change.new_range())).collect();
            known += like.len();
            found.extend(like);
            // Lines too short to be known again are what stands in their place now.
            let (then, now) = (change.old_range(), change.new_range());
            if telling == 0 && then.len() == now.len() {
                found.extend(lost.iter().map(|line| line - then.start + now.start));
                known += lost.len();
            }
            // All of it was looked for, so all that came instead belongs to it.
            if !found.is_empty() && lost.len() == then.len() && now.len() <= 2 * then.len() + 2 {
                found.extend(now);
            }
        }
        let (first, last) = (*found.iter().min()?, *found.iter().max()?);
        let is_known = known > 0 && 2 * known >= telling;
        // Nearly all of it stands, however little each line says.
        let stands = 5 * kept.len() >= 4 * self.wanted.len();
        (is_known || stands).then_some(first..last + 1)
    }

    /// The line among these that is much like one of then.
    fn most_alike(&self, line: usize, among: Range<usize>) -> Option<usize> {
        // Long lines and long passages take long to compare, and nobody looks for a comment there.
        const LONGEST: usize = 1000;
        if self.pairs.get() == 0 || self.candidates.get() == 0 || Instant::now() >= self.deadline {
            return None;
        }
        let then = self.old[line].trim_ascii();
        if then.len() > LONGEST || !is_telling(then) {
            return None;
        }
        let then = String::from_utf8_lossy(then);
        among
            .take_while(|_| take_one(&self.candidates))
            // The shorter one can have no more in common than its length. This is asked first because it costs least.
            .filter(|candidate| {
                let (a, b) = (then.len(), self.new[*candidate].trim_ascii().len());
                10 * 2 * a.min(b) >= 6 * (a + b)
            })
            .filter(|candidate| self.new[*candidate].len() <= LONGEST && is_telling(self.new[*candidate]))
            .take_while(|_| take_one(&self.pairs) && Instant::now() < self.deadline)
            .map(|candidate| {
                let now = String::from_utf8_lossy(self.new[candidate].trim_ascii());
                (TextDiff::from_chars(&*then, &*now).ratio(), candidate)
            })
            .filter(|(ratio, _)| *ratio >= ALIKE)
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
            .map(|(_, candidate)| candidate)
    }
}

/// Whether there is one left, which is taken.
fn take_one(budget: &Cell<usize>) -> bool {
    let left = budget.get();
    budget.set(left.saturating_sub(1));
    left > 0
}

/// The lines before and after a place.
fn around(lines: &[&[u8]], range: &Range<usize>) -> Vec<Option<Vec<u8>>> {
    let at = |index: Option<usize>| index.and_then(|index| lines.get(index)).map(|line| line.trim_ascii().to_vec());
    let before = (1..=CONTEXT).map(|step| at(range.start.checked_sub(step)));
    let after = (0..CONTEXT).map(|step| at(Some(range.end + step)));
    before.chain(after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str =
        "use std::fs;\n\nfn open() {\n    read();\n    close();\n}\n\nfn shut() {\n    write();\n    close();\n}\n";

    /// Nothing here takes so long unless something is broken.
    const HOUR: Duration = Duration::from_hours(1);

    fn relocate(before: Before<'_>, now: &[u8]) -> Now {
        super::relocate(before, now, Instant::now() + HOUR)
    }

    fn check(lines: (u32, u32), now: &str, expected: Now) {
        let before = Before { text: BEFORE.as_bytes(), first_line: 1, whole: true, lines };
        assert_eq!(relocate(before, now.as_bytes()), expected, "{now}");
    }

    #[test]
    fn what_did_not_move_is_where_it_was() {
        check((4, 4), BEFORE, Now::At((4, 4)));
        check((8, 11), BEFORE, Now::At((8, 11)));
        check((4, 4), &BEFORE.replace('\n', "\r\n"), Now::At((4, 4)));
        check((4, 4), &format!("{BEFORE}more\n"), Now::At((4, 4)));
    }

    #[test]
    fn lines_move_with_what_is_put_before_them() {
        check((4, 4), &format!("one\ntwo\n{BEFORE}"), Now::At((6, 6)));
        check((8, 11), &BEFORE.replace("    read();\n", ""), Now::At((7, 10)));
    }

    #[test]
    fn a_line_that_occurs_twice_is_told_by_its_place() {
        check((5, 5), &format!("// one\n{BEFORE}"), Now::At((6, 6)));
        check((10, 10), &format!("// one\n{BEFORE}"), Now::At((11, 11)));
    }

    #[test]
    fn a_function_that_was_put_elsewhere_is_found() {
        let moved = "use std::fs;\n\nfn shut() {\n    write();\n    close();\n}\n\nmod inner {\n    fn open() {\n        read();\n        close();\n    }\n}\n";
        check((3, 6), moved, Now::At((9, 12)));
        check((4, 4), moved, Now::At((10, 10)));
    }

    #[test]
    fn of_two_equal_passages_the_one_among_the_same_lines_is_meant() {
        let before = "fn first() {\n    open_the_door();\n    shut();\n}\n";
        let then = Before { text: before.as_bytes(), first_line: 1, whole: true, lines: (2, 2) };
        // Every line is another one by its blanks, and it stands there twice.
        let other = "\nmod outer {\n  fn other() {\n    walk();\n        open_the_door();\n    run();\n  }\n}\n";
        let same = "\nmod inner {\n    fn first() {\n        open_the_door();\n        shut();\n    }\n}\n";
        assert_eq!(relocate(then, format!("{other}{same}").as_bytes()), Now::At((12, 12)));
        assert_eq!(relocate(then, format!("{same}{other}").as_bytes()), Now::At((4, 4)));
        // Nothing tells which of them it is, so neither is said to be it.
        let twice = format!("{other}{}", other.replace("other", "another"));
        assert!(!matches!(relocate(then, twice.as_bytes()), Now::At(_)));
    }

    #[test]
    fn an_edited_line_is_told_to_be_edited() {
        check((4, 4), &BEFORE.replace("read();", "read(\"a\");"), Now::Edited((4, 4)));
        check((3, 5), &BEFORE.replace("    read();\n", "    let all = everything();\n"), Now::Edited((3, 5)));
    }

    #[test]
    fn a_line_that_was_always_elsewhere_is_not_where_it_went() {
        let before = "fn first() {\n    if a {\n        return None;\n    }\n}\n\nfn second() {\n    if b {\n        return None;\n    }\n}\n";
        let now = before.replacen("return None;", "return Some(1);", 1);
        let then = Before { text: before.as_bytes(), first_line: 1, whole: true, lines: (3, 3) };
        assert_eq!(relocate(then, now.as_bytes()), Now::Edited((3, 3)));
        let gone = before.replacen("        return None;\n", "", 1);
        assert_eq!(relocate(then, gone.as_bytes()), Now::Gone);
    }

    #[test]
    fn an_edited_passage_is_all_of_it() {
        let before = "a {\n    one();\n    two();\n    three();\n}\n";
        let at = |now: &str| {
            relocate(Before { text: before.as_bytes(), first_line: 1, whole: true, lines: (2, 4) }, now.as_bytes())
        };
        assert_eq!(at(&before.replace("one()", "one(1)")), Now::Edited((2, 4)));
        assert_eq!(at(&before.replace("()", "(1)")), Now::Edited((2, 4)));
        assert_eq!(at("a {\n    zebra {\n        lion;\n    }\n}\n"), Now::Gone);
    }

    #[test]
    fn another_function_with_one_line_in_common_is_another_function() {
        let before = "fn first() {\n    let x = load();\n    if x.is_empty() {\n        return None;\n    }\n}\n";
        let now = "fn zebra(stripes: u8) {\n    match stripes {\n        0 => paint(),\n        _ => {\n            return None;\n        }\n    }\n}\n";
        let then = Before { text: before.as_bytes(), first_line: 1, whole: true, lines: (1, 6) };
        assert_eq!(relocate(then, now.as_bytes()), Now::Gone);
    }

    #[test]
    fn a_passage_that_was_rewritten_takes_no_time_to_speak_of() {
        let line = |number: usize, word: &str| {
            format!("    let {word}_{number} = compute({number}, \"a longer text of some kind\");\n")
        };
        let before: String = (0..5000).map(|number| line(number, "alpha")).collect();
        let now: String = (0..5000).map(|number| line(number * 7, "omega")).collect();
        let then = Before { text: before.as_bytes(), first_line: 1, whole: true, lines: (1, 5000) };
        assert!(matches!(relocate(then, now.as_bytes()), Now::Gone | Now::Edited(_)));
    }

    #[test]
    fn a_long_file_that_became_another_one_takes_no_time_to_speak_of() {
        const LINES: u32 = 60_000;
        let before = "abc\n".repeat(60_000);
        let line = |number: u32| format!("{number:060}\n");
        let now: String = (0..LINES).map(line).collect();
        let then = Before { text: before.as_bytes(), first_line: 1, whole: true, lines: (1, LINES) };
        // Every pair of lines would have to be looked at, which takes minutes.
        assert_eq!(relocate(then, now.as_bytes()), Now::Gone);
    }

    #[test]
    fn what_is_not_found_in_time_is_not_said_to_be_gone() {
        let then = Before { text: BEFORE.as_bytes(), first_line: 1, whole: true, lines: (4, 4) };
        let at = |now: &str| super::relocate(then, now.as_bytes(), Instant::now());
        assert_eq!(at("use std::fs;\n"), Now::Unknown);
        assert_eq!(at(BEFORE), Now::At((4, 4)));
    }

    #[test]
    fn lines_are_those_that_git_counts() {
        for (text, expected) in
            [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("a\r\n", 1), ("a\n\n", 2), ("a\n\r", 2), ("a\n\r\n", 2)]
        {
            assert_eq!(lines(text.as_bytes()).len(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_short_line_that_changed_on_the_spot_is_edited() {
        let before = "fn a() {\n    x = 1;\n}\n";
        let then = Before { text: before.as_bytes(), first_line: 1, whole: true, lines: (2, 2) };
        assert_eq!(relocate(then, before.replace('1', "2").as_bytes()), Now::Edited((2, 2)));
    }

    #[test]
    fn lines_are_looked_for_within_a_part() {
        let then = Before { text: BEFORE.as_bytes(), first_line: 1, whole: true, lines: (5, 5) };
        assert_eq!(relocate_within(then, BEFORE.as_bytes(), (8, 11)), Some((10, 10)));
        assert_eq!(relocate_within(then, BEFORE.as_bytes(), (1, 2)), None);
        assert_eq!(relocate_within(then, b"", (5, 900)), None);
    }

    #[test]
    fn many_equal_lines_take_no_time_to_speak_of() {
        let before = "0,\n".repeat(100_000);
        let now = before.replacen("0,", "1,", 1);
        let then = Before { text: before.as_bytes(), first_line: 1, whole: true, lines: (1, 50_000) };
        assert_eq!(relocate(then, now.as_bytes()), Now::Edited((1, 50_000)));
    }

    #[test]
    fn what_is_gone_is_gone() {
        check((4, 4), "use std::fs;\n", Now::Gone);
        check((4, 4), "", Now::Gone);
        check((1, 1), "nothing\nof\nthis\nis here\n", Now::Gone);
    }

    #[test]
    fn lines_that_were_never_there_say_nothing() {
        check((12, 12), BEFORE, Now::Unknown);
        check((11, 12), BEFORE, Now::Unknown);
        let before = Before { text: b"a\n", first_line: 7, whole: false, lines: (3, 3) };
        assert_eq!(relocate(before, b"a\n"), Now::Unknown);
    }

    #[test]
    fn a_part_of_a_file_is_found_by_its_lines_and_those_around() {
        let part = "fn shut() {\n    write();\n    close();\n}\n";
        let at = |lines, now: &str| {
            relocate(Before { text: part.as_bytes(), first_line: 8, whole: false, lines }, now.as_bytes())
        };
        assert_eq!(at((9, 9), BEFORE), Now::At((9, 9)));
        assert_eq!(at((10, 10), &format!("x\n{BEFORE}")), Now::At((11, 11)));
        assert_eq!(at((9, 9), "nothing\n"), Now::Gone);
        let far = "x\n".repeat(5000) + BEFORE;
        assert_eq!(at((9, 9), &far), Now::At((5009, 5009)));
        assert_eq!(at((9, 9), &BEFORE.replace("write()", "write(1)")), Now::Edited((9, 9)));
        let records: String = (0..1000).map(|_| part).collect();
        let same = relocate(
            Before { text: part.as_bytes(), first_line: 401, whole: false, lines: (402, 402) },
            records.as_bytes(),
        );
        assert_eq!(same, Now::At((402, 402)), "equal records stay where they are");
    }

    #[test]
    fn any_bytes_can_be_looked_through() {
        let odd: Vec<u8> = (0..=255).chain(0..=255).collect();
        for whole in [true, false] {
            let before = Before { text: &odd, first_line: 1, whole, lines: (1, 1) };
            assert_eq!(relocate(before, &odd), Now::At((1, 1)));
            relocate(before, b"\n\n\r\n");
        }
    }

    #[test]
    fn texts_that_share_their_telling_lines_are_alike() {
        assert!(likeness(BEFORE.as_bytes(), format!("// x\n{BEFORE}").as_bytes()) > 0.99);
        assert!(likeness(BEFORE.as_bytes(), b"}\n\nother text\n") < 0.01);
        assert!(likeness(b"", b"x") < 0.01);
    }
}
