//! Server entries in JSON with comments, edited in the syntax tree of `jsonc-parser`.
//!
//! The tree holds every comment and blank, so an object is printed from its children, with a property more or less. The
//! tree's own `append` and `remove` are not used: they spread an object on one line over several, trim blank lines between
//! other entries, and drop the comments next to a removed one.

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstLeafNode, CstNode, CstObject, CstObjectProp, CstRootNode},
};
use serde_json::{Value, json};

use super::{
    document::{Emptied, Problem, Server},
    text::newline,
};

/// Hosts accept comments and trailing commas at most; anything else is a mistake that they reject too.
const SYNTAX: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Lists the servers under the key `container`; `None` without that key.
pub(super) fn servers(text: &str, container: &str) -> Result<Option<Vec<Server>>, Problem> {
    let tree = Tree::parse(text)?;
    let Some(list) = tree.list(container)? else { return Ok(None) };
    let name = |prop: &CstObjectProp| prop.decoded_name().unwrap_or_default();
    let servers = list.properties().into_iter().filter_map(|prop| {
        let value = prop.value()?;
        let fields = value.as_object().map(|entry| entry.properties()).unwrap_or_default();
        let raw = fields.iter().filter_map(|field| Some((name(field), field.value()?.to_string())));
        Some(Server { name: name(&prop), raw: raw.collect(), value: value.to_serde_value()? })
    });
    Ok(Some(servers.collect()))
}

/// Adds a server, and the list of servers if it is missing.
pub(super) fn add(text: &str, container: &str, name: &str, fields: &[(&str, Value)]) -> Result<String, Problem> {
    let tree = Tree::parse(text)?;
    let entry: Value = fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    match (&tree.object, tree.list(container)?) {
        (None, _) => return Ok(new_file(text, &json!({container: {name: entry}}))),
        (Some(root), None) => tree.append(root, container, |style| render(&json!({name: entry}), style)),
        (_, Some(list)) => tree.append(&list, name, |style| render(&entry, style)),
    }
    Ok(tree.root.to_string())
}

/// Sets a field of a server to a value in source form; `None` removes the field.
pub(super) fn set(text: &str, container: &str, name: &str, key: &str, raw: Option<&str>) -> Result<String, Problem> {
    let tree = Tree::parse(text)?;
    let entry = tree.entry(container, name)?;
    match (raw, find(&entry, key)) {
        (None, _) => cut(&entry, key),
        (Some(raw), Some(field)) => field.set_value(verbatim(raw)),
        (Some(raw), None) => tree.append(&entry, key, |_| raw.to_owned()),
    }
    Ok(tree.root.to_string())
}

/// Removes a server.
pub(super) fn remove(text: &str, container: &str, name: &str, emptied: Emptied) -> Result<String, Problem> {
    let tree = Tree::parse(text)?;
    let Some(list) = tree.list(container)? else { return Ok(text.to_owned()) };
    cut(&list, name);
    let text = tree.root.to_string();
    let tree = Tree::parse(&text)?;
    if emptied == Emptied::Drop
        && let (Some(root), Some(list)) = (&tree.object, tree.list(container)?)
        && list.children().iter().all(is_filler)
    {
        cut(root, container);
    }
    Ok(tree.root.to_string())
}

/// A value on one line.
pub(super) fn inline(value: &Value) -> String {
    render(value, &Style::Spaced)
}

/// How a value is printed.
enum Style {
    Compact,
    /// On one line, with spaces.
    Spaced,
    /// With a line for each property: the line ending, and the indentation of the value and of one level.
    Lines(&'static str, String, String),
}

fn render(value: &Value, style: &Style) -> String {
    let join = |items: Vec<String>, separator: &str| items.join(separator);
    match (value, style) {
        (_, Style::Compact) => value.to_string(),
        (Value::Object(fields), Style::Lines(newline, indent, step)) => {
            let deeper = format!("{indent}{step}");
            let style = Style::Lines(newline, deeper.clone(), step.clone());
            let fields = fields.iter().map(|(key, value)| format!("{}: {}", json!(key), render(value, &style)));
            let fields = join(fields.collect(), &format!(",{newline}{deeper}"));
            format!("{{{newline}{deeper}{fields}{newline}{indent}}}")
        }
        (Value::Object(fields), Style::Spaced) => {
            let fields = fields.iter().map(|(key, value)| format!("{}: {}", json!(key), inline(value)));
            format!("{{{}}}", join(fields.collect(), ", "))
        }
        (Value::Array(items), _) => format!("[{}]", join(items.iter().map(inline).collect(), ", ")),
        (other, _) => other.to_string(),
    }
}

/// A file with this value, below the comments that the text may have.
fn new_file(text: &str, value: &Value) -> String {
    let newline = newline(text);
    let comments = if text.trim().is_empty() { "" } else { text };
    let gap = if comments.is_empty() || comments.ends_with('\n') { "" } else { newline };
    let value = render(value, &Style::Lines(newline, String::new(), "  ".to_owned()));
    format!("{comments}{gap}{value}{newline}")
}

/// A parsed file. The root must outlive every node of the tree.
struct Tree<'t> {
    text: &'t str,
    root: CstRootNode,
    /// The outermost object; `None` for a file without any value.
    object: Option<CstObject>,
}

impl<'t> Tree<'t> {
    fn parse(text: &'t str) -> Result<Self, Problem> {
        let root = CstRootNode::parse(text, &SYNTAX).map_err(|error| {
            let mut message = error.kind().to_string();
            if let Some(first) = message.get_mut(..1) {
                first.make_ascii_lowercase();
            }
            Problem::at(text, error.range().start, message)
        })?;
        let object = root.value().map(|value| object(text, &value, "the configuration")).transpose()?;
        Ok(Self { text, root, object })
    }

    /// The object with the servers.
    fn list(&self, container: &str) -> Result<Option<CstObject>, Problem> {
        self.object.as_ref().map_or(Ok(None), |root| self.member(root, container))
    }

    fn entry(&self, container: &str, name: &str) -> Result<CstObject, Problem> {
        let entry = self.list(container)?.map_or(Ok(None), |list| self.member(&list, name))?;
        entry.ok_or_else(|| Problem::at(self.text, self.text.len(), format!("there is no server `{name}`")))
    }

    fn member(&self, parent: &CstObject, name: &str) -> Result<Option<CstObject>, Problem> {
        let value = find(parent, name).and_then(|prop| prop.value());
        value.map(|value| object(self.text, &value, &format!("`{name}`"))).transpose()
    }

    /// Adds a property behind the last one and its comments.
    fn append(&self, object: &CstObject, key: &str, value: impl Fn(&Style) -> String) {
        let newline = newline(self.text);
        let last = object.properties().pop();
        let has_comma = last.as_ref().is_some_and(|last| last.trailing_comma().is_some());
        let children = object.children();
        let end = children.len() - 1;
        let (head, tail) = children.split_at(end - children[..end].iter().rev().take_while(|it| is_blank(it)).count());
        let with_comma = |child: &CstNode| {
            let is_last = child.as_object_prop().is_some_and(|prop| prop.next_property().is_none());
            format!("{child}{}", if is_last && !has_comma { "," } else { "" })
        };
        let head_text: String = head.iter().map(with_comma).collect();
        let tail_text: String = tail.iter().map(CstNode::to_string).collect();
        let comma = if has_comma { "," } else { "" };
        let key = json!(key);
        let text = if is_one_line(object) {
            let (style, space) = if self.is_spaced() { (Style::Spaced, " ") } else { (Style::Compact, "") };
            let gap = match &last {
                // A line comment would swallow the property.
                _ if head.last().is_some_and(is_line_comment) => newline,
                Some(_) => space,
                None => "",
            };
            format!("{head_text}{gap}{key}:{space}{}{comma}{tail_text}", value(&style))
        } else {
            let base = CstNode::from(object.clone()).indent_text();
            let base = base.or_else(|| object.ancestors().find_map(|node| node.indent_text())).unwrap_or_default();
            let unit = self.root.single_indent_text().unwrap_or_else(|| "  ".to_owned());
            let indent = last.as_ref().and_then(CstObjectProp::indent_text).unwrap_or_else(|| format!("{base}{unit}"));
            let step = indent.strip_prefix(&*base).filter(|step| !step.is_empty()).unwrap_or(&unit).to_owned();
            let close = format!("{newline}{base}}}");
            let tail_text = if tail.iter().any(CstNode::is_newline) { tail_text } else { close };
            let value = value(&Style::Lines(newline, indent.clone(), step));
            format!("{head_text}{newline}{indent}{key}: {value}{comma}{tail_text}")
        };
        object.clone().replace_with(verbatim(&text));
    }

    /// Whether the file has a space before a value.
    fn is_spaced(&self) -> bool {
        let first = self.object.as_ref().and_then(|root| root.properties().into_iter().next());
        first.and_then(|first| first.value()?.previous_sibling()).is_none_or(|node| is_blank(&node))
    }
}

/// Whether the properties of an object are on one line; an empty object follows the one around it.
fn is_one_line(object: &CstObject) -> bool {
    let children = object.children();
    let mut head = children.iter().take_while(|child| child.as_object_prop().is_none());
    let around = || object.ancestors().find_map(|node| node.as_object());
    !head.any(|child| child.to_string().contains('\n'))
        && (!object.properties().is_empty() || around().is_some_and(|around| is_one_line(&around)))
}

fn object(text: &str, value: &CstNode, name: &str) -> Result<CstObject, Problem> {
    value.as_object().ok_or_else(|| Problem::at(text, offset(value), format!("{name} is not an object")))
}

/// The position of a node in the text: the tree has none.
fn offset(node: &CstNode) -> usize {
    let before: usize = node.previous_siblings().map(|sibling| sibling.to_string().len()).sum();
    before + node.parent().map_or(0, |parent| offset(&parent.into()))
}

/// The property with that name; of several the last, as in every host.
fn find(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    object.properties().into_iter().rfind(|prop| prop.decoded_name().as_deref() == Some(name))
}

/// Removes a property with its comma and the blanks in front of it; comments stay.
fn cut(object: &CstObject, key: &str) {
    let Some(prop) = find(object, key) else { return };
    let (children, at) = (object.children(), prop.child_index());
    let blanks = at - children[..at].iter().rev().take_while(|child| is_blank(child)).count();
    let next = prop.next_property().map_or(children.len(), |next| next.child_index());
    let previous = prop.previous_property().map_or(0, |previous| previous.child_index());
    let is_comma = |at: &usize| children[*at].is_comma();
    let comma_after = (at..next).find(is_comma);
    let mut gone = vec![at];
    gone.extend(comma_after.or_else(|| (previous..at).find(is_comma)));
    let rest = comma_after.unwrap_or(at) + 1;
    if next < children.len() && !children[blanks..at].iter().any(CstNode::is_newline) {
        gone.extend((rest..next).take_while(|at| children[*at].is_whitespace()));
    } else if !is_line_comment(&children[blanks - 1])
        || children[rest..].iter().find(|child| !child.is_whitespace()).is_some_and(CstNode::is_newline)
    {
        gone.extend(blanks..at);
    }
    let kept = || children.iter().enumerate().filter(|(at, _)| !gone.contains(at)).map(|(_, child)| child);
    let text = if kept().all(is_filler) { "{}".to_owned() } else { kept().map(CstNode::to_string).collect() };
    object.clone().replace_with(verbatim(&text));
}

/// Source text for the tree: it prints a number as it was given.
fn verbatim(source: &str) -> CstInputValue {
    CstInputValue::Number(source.to_owned())
}

fn is_blank(node: &CstNode) -> bool {
    node.is_whitespace() || node.is_newline()
}

/// Whether a child of an object is neither a property nor a comment.
fn is_filler(node: &CstNode) -> bool {
    node.is_token() || is_blank(node)
}

fn is_line_comment(node: &CstNode) -> bool {
    matches!(node, CstNode::Leaf(CstLeafNode::Comment(comment)) if comment.is_line_comment())
}
