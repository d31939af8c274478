//! Where in the text an entry, a value, a dash is, and how entries are exchanged there.
//!
//! Bytes only: whether the result says what it should is for the list to find out.

use std::ops::Range;

use super::{
    super::edit::{self, Edit},
    list::Item,
    yaml::Node,
};

/// Right behind the colon of a key.
pub(super) fn after_colon(text: &str, key: &Node) -> usize {
    text[key.span.end..].find(':').map_or(key.span.end, |colon| key.span.end + colon + 1)
}

/// The value of a key as it is written, with the sign of a block scalar; empty for nothing.
pub(super) fn value(text: &str, key: &Node, value: &Node) -> Range<usize> {
    if value.span.is_empty() && value.items().is_none() {
        let at = after_colon(text, key).min(text.len());
        return at..at;
    }
    let colon = after_colon(text, key);
    let start = colon + (text[colon..].len() - text[colon..].trim_start().len());
    // The text of a block scalar ends with its last line end, which is none of its own.
    let end = text[..value.span.end].trim_end().len();
    start.min(end)..end
}

/// The column of the dashes of a list.
pub(super) fn column(text: &str, list: &Node) -> Option<usize> {
    let first = list.items()?.first()?.span.start;
    // Between the dash and its entry there may be line ends, comments, an anchor.
    let start = dash_before(text, first)?;
    Some(start - edit::line_start(text, start))
}

/// The whole lines of an entry, with the comments that are indented like its fields.
pub(super) fn lines(text: &str, list: &Node, index: usize) -> Option<Range<usize>> {
    let column = column(text, list)?;
    let item = list.items()?.get(index)?;
    let dash = dash_before(text, item.span.start)?;
    let start = edit::line_start(text, dash);
    if dash - start != column || !text[start..dash].bytes().all(|byte| byte == b' ') {
        return None;
    }
    let mut end = edit::line_end(text, text[..item.span.end.max(dash + 1)].trim_end().len());
    while end < text.len() {
        let indent = edit::indent(text, end).len();
        if indent <= column || !text[end + indent..].starts_with('#') {
            break;
        }
        end = edit::line_end(text, end);
    }
    Some(start..end)
}

/// The last dash before a place that stands where a dash of a list can stand.
fn dash_before(text: &str, at: usize) -> Option<usize> {
    let mut end = at;
    loop {
        let start = edit::line_start(text, end);
        let line = &text[start..end];
        // `: - x` begins a list on the line of an explicit key.
        let body = line.trim_start().trim_start_matches(": ").trim_start();
        if body.strip_prefix('-').is_some_and(|rest| rest.chars().next().is_none_or(char::is_whitespace)) {
            return Some(end - body.len());
        }
        end = start.checked_sub(1)?;
    }
}

/// Entries as lines with their dashes in that column; `None` when one cannot be written so.
pub(super) fn indented(text: &str, items: &[Item], column: usize) -> Option<String> {
    let (newline, indent) = (edit::newline(text), " ".repeat(column));
    let mut out = String::new();
    for item in items {
        for line in item.block.as_ref()?.lines() {
            if !line.is_empty() {
                out.push_str(&indent);
                out.push_str(line);
            }
            out.push_str(newline);
        }
    }
    Some(out)
}

/// Puts whole lines in where a line begins, or behind a last line that has no end.
pub(super) fn whole_lines(text: &str, at: usize, lines: &str) -> Edit {
    let ended = at == 0 || text[..at].ends_with('\n');
    Edit::insert(at, if ended { lines.to_owned() } else { format!("{}{lines}", edit::newline(text)) })
}

/// New lines at the end of a list in block style: each place that may be its end.
pub(super) fn append_lines(text: &str, list: &Node, new: &str) -> Vec<Vec<Edit>> {
    let Some(last) = list.items().and_then(<[_]>::last) else { return Vec::new() };
    let index = list.items().map_or(0, <[_]>::len) - 1;
    let tight = lines(text, list, index).map(|lines| lines.end);
    // Blank lines may belong to a block scalar that keeps them.
    let start = edit::line_start(text, last.span.end);
    let blank = text[start..last.span.end].trim().is_empty();
    let wide = if blank { start } else { edit::line_end(text, last.span.end) };
    tight.into_iter().chain([wide]).map(|at| vec![whole_lines(text, at, new)]).collect()
}

/// New lines for entries of a list in block style.
pub(super) fn exchange_lines(text: &str, list: &Node, taken: &[usize], new: &str) -> Option<Vec<Edit>> {
    let (first, others) = taken.split_first()?;
    let mut edits = vec![Edit { range: lines(text, list, *first)?, with: new.to_owned() }];
    for index in others {
        edits.push(Edit::delete(lines(text, list, *index)?));
    }
    Some(edits)
}

/// Entries of a list in brackets: new ones for those taken, or at the end.
pub(super) fn exchange_in_brackets(list: &Node, taken: &[usize], new: &str) -> Option<Vec<Edit>> {
    let items = list.items()?;
    let Some((first, others)) = taken.split_first() else {
        return Some(vec![match items.last() {
            Some(last) => Edit::insert(last.span.end, format!(", {new}")),
            None => Edit::insert(list.span.start + 1, new),
        }]);
    };
    let mut edits = Vec::new();
    let mut gone: Vec<usize> = others.to_vec();
    if new.is_empty() {
        gone.insert(0, *first);
    } else {
        edits.push(Edit { range: items[*first].span.clone(), with: new.to_owned() });
    }
    // With the comma in front, unless everything in front goes too.
    let stays = |index: usize| !gone.contains(&index);
    let first_kept = (0..items.len()).find(|index| stays(*index))?;
    for index in &gone {
        edits.push(Edit::delete(if *index < first_kept {
            items[*index].span.start..items[index + 1].span.start
        } else {
            items[index - 1].span.end..items[*index].span.end
        }));
    }
    Some(edits)
}

/// The text without a key of its root; `None` where that is not a matter of whole lines or commas.
pub(super) fn without(text: &str, root: &Node, key: &str) -> Option<String> {
    let pairs = root.pairs()?;
    let index = pairs.iter().position(|(name, _)| name.text() == Some(key))?;
    let (name, list) = &pairs[index];
    let range = if root.flow {
        match (index.checked_sub(1), pairs.get(index + 1)) {
            (_, Some((next, _))) => name.span.start..next.span.start,
            (Some(before), None) => pairs[before].1.span.end.max(pairs[before].0.span.end)..value(text, name, list).end,
            (None, None) => name.span.start..value(text, name, list).end,
        }
    } else {
        let start = edit::line_start(text, name.span.start);
        if !text[start..name.span.start].trim().is_empty() {
            return None;
        }
        let last = list.items().map_or(0, <[_]>::len).checked_sub(1).filter(|_| !list.flow);
        let end = match last {
            Some(last) => lines(text, list, last)?.end,
            None => edit::line_end(text, value(text, name, list).end),
        };
        start..end
    };
    Some(edit::apply(text, vec![Edit::delete(range)]))
}
