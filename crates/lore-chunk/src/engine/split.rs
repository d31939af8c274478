//! Cuts what is too large for one chunk, at the best of its inner borders.

use std::ops::Range;

use tree_sitter::Node;

use super::{
    Source,
    partition::{LARGE, Size},
};

/// How large parts are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    pub(super) most: Size,
    pub(super) good: Size,
}

/// Parts of a definition.
pub(super) const CODE: Parts = Parts { most: LARGE, good: Size { lines: 60, bytes: 3_000 } };
/// Parts of a section of a document.
pub(super) const PROSE: Parts =
    Parts { most: Size { lines: 60, bytes: 3_000 }, good: Size { lines: 45, bytes: 2_200 } };
/// How many lines of comment are looked at above something.
const COMMENT: usize = 60;
/// Nodes of more than this are looked into for borders.
const DESCEND: Size = Size { lines: 30, bytes: 1_500 };
/// Borders deeper than this in an item are not looked for: there are better ones above.
const DEEPEST: usize = 24;
/// How far from the ideal place a border may be, in thousandths of the part, to be as good as one that is a level up.
const LEVEL: usize = 150;

/// A line border between two neighbours in the tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Border {
    pub(super) at: usize,
    /// How deep in the item.
    pub(super) depth: usize,
}

/// The line borders between the statements of a large node, in order.
pub(super) fn borders(node: Node<'_>, source: &Source<'_>, prose: &[Range<usize>]) -> Vec<Border> {
    let mut borders: Vec<Border> = Vec::new();
    let mut cursor = node.walk();
    let mut depth = 0_usize;
    if !cursor.goto_first_child() {
        return borders;
    }
    loop {
        let child = cursor.node();
        let at = with_comments_above(source, prose, child.start_byte());
        let is_new = borders.last().is_none_or(|last| last.at < at);
        if is_new && child.is_named() && at > node.start_byte() {
            borders.push(Border { at, depth });
        }
        let lines = child.end_position().row - child.start_position().row + 1;
        let is_large = child.byte_range().len() > DESCEND.bytes || lines > DESCEND.lines;
        if is_large && depth < DEEPEST && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if depth == 0 || !cursor.goto_parent() {
                return borders;
            }
            depth -= 1;
        }
    }
}

/// The line border before something and the comments right above it; behind its line where it does not begin one.
pub(super) fn with_comments_above(source: &Source<'_>, prose: &[Range<usize>], start: usize) -> usize {
    let mut line = source.line_of(start);
    // From its end: very many things may stand on one line, behind very much white space.
    if !source.bytes[source.line_start(line)..start].trim_ascii_end().is_empty() {
        return source.line_start(line + 1);
    }
    let highest = line.saturating_sub(COMMENT);
    while line > highest {
        let above = source.line(line - 1);
        let text = source.line_start(line - 1) + (above.len() - above.trim_ascii_start().len());
        let is_comment = !above.is_empty() && {
            let next = prose.partition_point(|range| range.end <= text);
            prose.get(next).is_some_and(|range| range.start <= text)
        };
        if !is_comment {
            break;
        }
        line -= 1;
    }
    source.line_start(line)
}

/// Where the parts of a range end, the end of the range last.
pub(super) fn cut(source: &Source<'_>, range: &Range<usize>, borders: &[Border], size: Parts) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut start = range.start;
    while start < range.end {
        let rest = start..range.end;
        if source.fits(&rest, size.most) {
            ends.push(range.end);
            break;
        }
        let furthest = furthest(source, &rest, size.most);
        let parts = (rest.len().div_ceil(size.good.bytes)).max(source.lines_in(&rest).div_ceil(size.good.lines)).max(2);
        let ideal = (rest.len() / parts).max(1).min(furthest - start);
        let least = start + ideal / 3;
        let first = borders.partition_point(|border| border.at <= least);
        let inside = borders[first..].iter().take_while(|border| border.at <= furthest);
        let rank = |border: &&Border| border.depth * LEVEL + border.at.abs_diff(start + ideal) * 1_000 / ideal;
        let end = inside.min_by_key(rank).map_or(furthest, |border| border.at);
        ends.push(end);
        start = end;
    }
    ends
}

/// The last line border up to which a chunk may go; behind the first line at least.
fn furthest(source: &Source<'_>, rest: &Range<usize>, most: Size) -> usize {
    let line = source.line_of(rest.start);
    let by_lines = source.line_start(line + most.lines);
    let by_bytes = source.border_before((rest.start + most.bytes).min(source.bytes.len()));
    by_lines.min(by_bytes).max(source.line_start(line + 1)).min(rest.end)
}
