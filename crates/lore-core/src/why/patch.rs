//! The part of a patch that touches some lines of a file. Pure: bytes in, hunks out.

use std::ops::Range;

use lore_git::unquote_path;
use lore_model::RepoPath;

/// Lines around those that are wanted.
const CONTEXT: usize = 3;

/// A change is shown whole where it has at most so many lines.
const WHOLE: usize = 16;

/// Longer lines are cut.
const COLUMNS: usize = 240;

/// Some lines of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Where they are: `@@ -3,4 +3,6 @@`.
    pub head: String,
    /// The lines, each with its sign.
    pub lines: Vec<String>,
    /// How many lines of git's hunk are not among them.
    pub left_out: usize,
}

/// One line of a hunk and the numbers of the lines before and after which it stands.
struct Line<'a> {
    sign: u8,
    text: &'a [u8],
    old: u32,
    new: u32,
}

/// The hunks that changed some of these lines of a file (as numbered after the change), cut to what is around them; none
/// where the patch does not tell of that file.
pub(super) fn hunks_of(patch: &[u8], path: &RepoPath, wanted: &[(u32, u32)]) -> Option<Vec<Hunk>> {
    let mut lines = Lines { rest: patch };
    let mut found: Option<Vec<Hunk>> = None;
    let mut is_meant = false;
    while let Some(line) = lines.next() {
        if line.starts_with(b"diff --git ") {
            is_meant = false;
        } else if let Some(name) = line.strip_prefix(b"+++ ") {
            is_meant = new_path(name).as_deref() == Some(path.as_bytes());
            if is_meant {
                found.get_or_insert_default();
            }
        } else if let Some(numbers) = line.strip_prefix(b"@@ ").and_then(numbers) {
            let hunk = hunk(&mut lines, numbers);
            if is_meant {
                found.get_or_insert_default().extend(cut(&hunk, wanted));
            }
        }
    }
    found
}

/// A name after `+++ `: with a prefix, quoted where it is odd, and with a tab behind it where it has a space.
fn new_path(name: &[u8]) -> Option<Vec<u8>> {
    let name = unquote_path(name.strip_suffix(b"\t").unwrap_or(name))?;
    Some(name.strip_prefix(b"b/")?.to_vec())
}

/// Lines without their line feed.
struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let (line, rest) = end.map_or((self.rest, &b""[..]), |end| (&self.rest[..end], &self.rest[end + 1..]));
        self.rest = rest;
        Some(line)
    }
}

/// First line and number of lines, before and after.
fn numbers(head: &[u8]) -> Option<[(u32, u32); 2]> {
    let text = std::str::from_utf8(&head[..head.windows(3).position(|three| three == b" @@")?]).ok()?;
    let (old, new) = text.split_once(' ')?;
    let range = |text: &str| -> Option<(u32, u32)> {
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((first.parse().ok()?, count.parse().ok()?))
    };
    Some([range(old.strip_prefix('-')?)?, range(new.strip_prefix('+')?)?])
}

/// The lines of a hunk: as many as its head says, whatever they look like.
fn hunk<'a>(lines: &mut Lines<'a>, [(old, old_count), (new, new_count)]: [(u32, u32); 2]) -> Vec<Line<'a>> {
    let (mut old_left, mut new_left) = (old_count, new_count);
    // Where there is nothing on a side, its number is that of the line before.
    let (mut old, mut new) =
        (old.saturating_add(u32::from(old_count == 0)), new.saturating_add(u32::from(new_count == 0)));
    let mut found = Vec::new();
    while old_left > 0 || new_left > 0 {
        let Some(line) = lines.next() else { break };
        let (sign, text) = line.split_first().map_or((b' ', line), |(sign, text)| (*sign, text));
        found.push(Line { sign, text, old, new });
        if matches!(sign, b' ' | b'-') {
            (old, old_left) = (old.saturating_add(1), old_left.saturating_sub(1));
        }
        if matches!(sign, b' ' | b'+') {
            (new, new_left) = (new.saturating_add(1), new_left.saturating_sub(1));
        }
    }
    found
}

/// The parts of a hunk around the lines that are wanted, where it changed some of these.
fn cut(hunk: &[Line<'_>], wanted: &[(u32, u32)]) -> Vec<Hunk> {
    let wanted = joined(wanted);
    let is_wanted = |line: &Line<'_>| {
        let at = wanted.partition_point(|(first, _)| *first <= line.new);
        line.sign == b'+' && at.checked_sub(1).is_some_and(|at| line.new <= wanted[at].1)
    };
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut change = 0..0;
    for (at, _) in hunk.iter().enumerate().filter(|(_, line)| is_wanted(line)) {
        if !change.contains(&at) {
            change = change_around(hunk, at);
        }
        let change = change.clone();
        let change = if change.len() <= WHOLE { change } else { at..at + 1 };
        let part = change.start.saturating_sub(CONTEXT)..(change.end + CONTEXT).min(hunk.len());
        match parts.last_mut() {
            Some(last) if last.end >= part.start => last.end = last.end.max(part.end),
            _ => parts.push(part),
        }
    }
    let kept: usize = parts.iter().map(Range::len).sum();
    let mut found: Vec<Hunk> = parts.into_iter().map(|part| shown(&hunk[part])).collect();
    if let Some(last) = found.last_mut() {
        last.left_out = hunk.len() - kept;
    }
    found
}

/// The same ranges in order, without overlaps.
fn joined(ranges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    let mut joined: Vec<(u32, u32)> = Vec::new();
    for (first, last) in sorted {
        match joined.last_mut() {
            Some((_, end)) if first <= *end => *end = last.max(*end),
            _ => joined.push((first, last)),
        }
    }
    joined
}

/// The lines before and after this one that were taken away or added together with it.
fn change_around(hunk: &[Line<'_>], at: usize) -> Range<usize> {
    let is_kept = |line: &Line<'_>| line.sign == b' ';
    let start = hunk[..at].iter().rposition(is_kept).map_or(0, |before| before + 1);
    let end = hunk[at..].iter().position(is_kept).map_or(hunk.len(), |after| at + after);
    start..end
}

fn shown(part: &[Line<'_>]) -> Hunk {
    let count = |signs: [u8; 2]| part.iter().filter(|line| signs.contains(&line.sign)).count();
    let (old, new) = (count([b' ', b'-']), count([b' ', b'+']));
    let (first_old, first_new) = part.first().map_or((0, 0), |line| (line.old, line.new));
    // As git has it: the line before, where a side has none.
    let first = |first: u32, count: usize| first - u32::from(count == 0 && first > 0);
    let head = format!("@@ -{},{old} +{},{new} @@", first(first_old, old), first(first_new, new));
    Hunk { head, lines: part.iter().map(text).collect(), left_out: 0 }
}

fn text(line: &Line<'_>) -> String {
    let text = String::from_utf8_lossy(line.text.strip_suffix(b"\r").unwrap_or(line.text)).into_owned();
    let sign = char::from(line.sign);
    match text.char_indices().nth(COLUMNS) {
        None => format!("{sign}{text}"),
        Some((end, _)) => format!("{sign}{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    use super::*;

    #[test]
    fn ranges_that_share_a_line_are_one() {
        assert_eq!(joined(&[(7, 9), (1, 3), (3, 5), (2, 2), (6, 6)]), [(1, 5), (6, 6), (7, 9)]);
        assert!(joined(&[]).is_empty());
    }

    const PATCH: &str = "\
diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,5 +1,6 @@ fn x
 one
-two
+TWO
+two and a half
 three
-++ b/src/b.rs
++++ b/src/b.rs
 five
@@ -20 +21,0 @@
-gone
diff --git \"a/\\303\\244 b\" \"b/\\303\\244 b\"
new file mode 100644
--- /dev/null
+++ \"b/\\303\\244 b\"\t
@@ -0,0 +1,2 @@
+first
+second
\\ No newline at end of file
";

    #[expect(clippy::needless_pass_by_value, reason = "expectations are written where they are used")]
    fn check(patch: &str, path: &str, wanted: &[(u32, u32)], expected: Expect) {
        let mut told = String::new();
        match hunks_of(patch.as_bytes(), &RepoPath::from(path), wanted) {
            None => told.push_str("not in it\n"),
            Some(hunks) => {
                for hunk in hunks {
                    writeln!(told, "{}\n{}\n({} left out)", hunk.head, hunk.lines.join("\n"), hunk.left_out).unwrap();
                }
            }
        }
        expected.assert_eq(&told);
    }

    #[test]
    fn a_hunk_is_told_where_it_changed_the_lines() {
        check(
            PATCH,
            "src/a.rs",
            &[(3, 3)],
            expect![[r#"
            @@ -1,4 +1,5 @@
             one
            -two
            +TWO
            +two and a half
             three
            -++ b/src/b.rs
            ++++ b/src/b.rs
            (1 left out)
        "#]],
        );
        check(PATCH, "src/a.rs", &[(4, 4), (6, 9)], expect![[""]]);
        check(
            PATCH,
            "ä b",
            &[(1, 2)],
            expect![[r#"
            @@ -0,0 +1,2 @@
            +first
            +second
            (0 left out)
        "#]],
        );
        check(
            PATCH,
            "src/b.rs",
            &[(1, 1)],
            expect![[r#"
            not in it
        "#]],
        );
    }

    #[test]
    fn a_large_change_is_cut_to_what_is_around() {
        let added = (1..=100).map(|line| format!("+line {line}")).collect::<Vec<_>>().join("\n");
        let patch = format!("diff --git a/x b/x\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,100 @@\n{added}\n");
        check(
            &patch,
            "x",
            &[(50, 51), (90, 90)],
            expect![[r#"
            @@ -0,0 +47,8 @@
            +line 47
            +line 48
            +line 49
            +line 50
            +line 51
            +line 52
            +line 53
            +line 54
            (0 left out)
            @@ -0,0 +87,7 @@
            +line 87
            +line 88
            +line 89
            +line 90
            +line 91
            +line 92
            +line 93
            (85 left out)
        "#]],
        );
    }

    #[test]
    fn any_bytes_are_read() {
        let path = RepoPath::from("a");
        for patch in [
            &b""[..],
            b"\xff\n@@ -1 +1 @@",
            b"+++ b/a\n@@ -1,9 +1,9 @@\n+x",
            b"+++ b/a\n@@ -4294967295,9 +4294967295,9 @@\n+x\n+y",
            b"+++ b/a\n@@ -4294967295,0 +4294967295,0 @@\n+x\n+y",
        ] {
            hunks_of(patch, &path, &[(1, u32::MAX)]);
        }
    }
}
