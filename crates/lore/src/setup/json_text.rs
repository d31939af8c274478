//! Writing one property into a JSON text, or cutting one out, in the style of what is around it.
//!
//! Knows nothing of servers. Comments stay with the property they follow.

use jsonc_parser::{ast::Object, common::Ranged};
use serde_json::Value;

use super::edit::{self, Edit};

/// How an object is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Each property on a line of its own.
    Lines,
    /// All on one line.
    Inline,
}

/// What the text looks like.
pub(super) struct Style<'t> {
    text: &'t str,
    newline: &'static str,
    unit: &'t str,
    spaced: bool,
}

impl<'t> Style<'t> {
    /// Looks at the outermost object.
    pub(super) fn of(text: &'t str, root: &Object<'_>) -> Self {
        let first = root.properties.first();
        let unit = first.map_or("", |prop| own_indent(text, prop.start()).unwrap_or_default());
        let spaced = first.is_none_or(|prop| {
            let between = &text[prop.start()..prop.value.start()];
            between.ends_with(char::is_whitespace)
        });
        let unit = if unit.is_empty() { "  " } else { unit };
        Self { text, newline: edit::newline(text), unit, spaced }
    }

    /// How an object is laid out; an empty one follows what it is in.
    pub(super) fn layout(&self, object: &Object<'_>, around: Layout) -> Layout {
        let inside = match object.properties.first() {
            Some(first) => &self.text[object.start()..first.start()],
            None => object.text(self.text),
        };
        match (inside.contains('\n'), object.properties.is_empty()) {
            (true, _) => Layout::Lines,
            (false, true) => around,
            (false, false) => Layout::Inline,
        }
    }

    /// Adds a property at the end of an object.
    pub(super) fn append(&self, object: &Object<'_>, layout: Layout, key: &str, value: &Value) -> Vec<Edit> {
        let raw = match layout {
            Layout::Lines => {
                let indent = self.property_indent(object);
                self.lines(value, &indent, self.step(object, &indent))
            }
            Layout::Inline if self.spaced => inline(value),
            Layout::Inline => value.to_string(),
        };
        self.append_raw(object, layout, key, &raw)
    }

    /// Adds a property whose value is written already.
    pub(super) fn append_raw(&self, object: &Object<'_>, layout: Layout, key: &str, raw: &str) -> Vec<Edit> {
        let (text, close) = (self.text, object.end() - 1);
        let last = object.properties.last();
        let from = last.map_or(object.start() + 1, Ranged::end);
        let gap = Gap::scan(text, from, close);
        let base = edit::indent(text, object.start());
        let colon = if self.spaced || layout == Layout::Lines { ": " } else { ":" };
        let property = format!("{}{colon}{raw}", Value::from(key));
        let mut edits = Vec::new();
        if last.is_some() && gap.comma.is_none() {
            edits.push(Edit::insert(from, ","));
        }
        let mut piece = match layout {
            Layout::Lines => format!("{}{}{property}", self.newline, self.property_indent(object)),
            // What follows a line comment on its line would be part of it.
            Layout::Inline if gap.in_line_comment => format!("{}{property}", self.newline),
            Layout::Inline if last.is_some() && self.spaced => format!(" {property}"),
            Layout::Inline => property,
        };
        if last.is_some() && gap.comma.is_some() {
            piece.push(',');
        }
        // The blanks of an empty object go; with a comment in it, all that is there stays.
        let to = if last.is_none() && !gap.comment { close } else { gap.end };
        if layout == Layout::Lines && !text[to..close].contains('\n') {
            piece.push_str(self.newline);
            piece.push_str(base);
        }
        edits.push(Edit { range: gap.end..to, with: piece });
        edits
    }

    /// The blanks in front of a property of this object.
    fn property_indent(&self, object: &Object<'_>) -> String {
        let own = object.properties.last().and_then(|prop| own_indent(self.text, prop.start()));
        own.map_or_else(|| format!("{}{}", edit::indent(self.text, object.start()), self.unit), str::to_owned)
    }

    /// What one level deeper adds.
    fn step<'a>(&'a self, object: &Object<'_>, indent: &'a str) -> &'a str {
        let step = indent.strip_prefix(edit::indent(self.text, object.start()));
        step.filter(|step| !step.is_empty()).unwrap_or(self.unit)
    }

    /// A value with each property of each object on its own line.
    fn lines(&self, value: &Value, indent: &str, step: &str) -> String {
        lines(value, self.newline, indent, step)
    }
}

/// A whole file around one value, after what comments the text has.
pub(super) fn new_file(text: &str, value: &Value) -> String {
    let newline = edit::newline(text);
    let body = lines(value, newline, "", "  ");
    if text.trim().is_empty() {
        return format!("{body}{newline}");
    }
    let between = if text.ends_with('\n') { "" } else { newline };
    format!("{text}{between}{body}{newline}")
}

fn lines(value: &Value, newline: &str, indent: &str, step: &str) -> String {
    let Value::Object(fields) = value else { return inline(value) };
    let deeper = format!("{indent}{step}");
    let fields: Vec<String> = fields
        .iter()
        .map(|(key, value)| {
            format!("{newline}{deeper}{}: {}", Value::from(key.as_str()), lines(value, newline, &deeper, step))
        })
        .collect();
    format!("{{{}{newline}{indent}}}", fields.join(","))
}

/// A value on one line.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), inline(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Cuts a property out of an object, with its comma and the blanks in front of it.
pub(super) fn cut(text: &str, object: &Object<'_>, index: usize) -> Vec<Edit> {
    let prop = &object.properties[index];
    let close = object.end() - 1;
    let open = object.start() + 1;
    let previous = index.checked_sub(1).map(|index| &object.properties[index]);
    let next = object.properties.get(index + 1);
    let before = Gap::scan(text, previous.map_or(open, Ranged::end), prop.start());
    let after = Gap::scan(text, prop.end(), next.map_or(close, Ranged::start));
    if object.properties.len() == 1 && !before.comment && !after.comment {
        return vec![Edit::delete(open..close)];
    }
    let mut edits = Vec::new();
    let mut start = before.end;
    match (after.comma, before.comma) {
        (Some(comma), _) => {
            let mut end = comma + 1;
            // On one line the blank after the comma goes too.
            if !text[start..prop.start()].contains('\n') && next.is_some() {
                end += text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len();
                start = prop.start();
            }
            edits.push(Edit::delete(comma..end));
        }
        (None, Some(comma)) => edits.push(Edit::delete(comma..comma + 1)),
        (None, None) => {}
    }
    let rest = text[after.comma.map_or(prop.end(), |comma| comma + 1)..].trim_start_matches([' ', '\t']);
    if before.in_line_comment && !rest.starts_with(['\r', '\n']) {
        start = edit::line_end(text, start).min(prop.start());
    }
    edits.push(Edit::delete(start..prop.end()));
    edits
}

/// The indentation of what stands at `at`, if nothing else precedes it on its line.
fn own_indent(text: &str, at: usize) -> Option<&str> {
    let indent = edit::indent(text, at);
    (edit::line_start(text, at) + indent.len() == at).then_some(indent)
}

/// What stands between two properties: blanks, comments and at most one comma.
struct Gap {
    /// Where the comma is.
    comma: Option<usize>,
    /// The end of the last comma or comment.
    end: usize,
    /// Whether there is a comment.
    comment: bool,
    /// Whether the last of them is a comment that lasts to the end of its line.
    in_line_comment: bool,
}

impl Gap {
    fn scan(text: &str, from: usize, to: usize) -> Self {
        let mut gap = Self { comma: None, end: from, comment: false, in_line_comment: false };
        let mut at = from;
        while at < to {
            let rest = &text[at..to];
            let length = if rest.starts_with("//") {
                rest.find(['\n', '\r']).unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                if rest.starts_with(',') {
                    gap.comma = Some(at);
                    gap.end = at + 1;
                    gap.in_line_comment = false;
                }
                at += rest.chars().next().map_or(1, char::len_utf8);
                continue;
            };
            gap.in_line_comment = rest.starts_with("//");
            gap.comment = true;
            at += length;
            gap.end = at;
        }
        gap
    }
}
