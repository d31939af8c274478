//! YAML as a tree in which every node knows where it is written.
//!
//! Only what finding and comparing needs: plain scalars stay text, aliases stay aliases. Nothing
//! here writes YAML.

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle};

use super::super::{document::Problem, edit};

/// One node; two are equal when they mean the same, wherever and however they are written.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// What it is.
    pub(super) kind: Kind,
    /// Where its text is: of a collection in block style, from its first to its last child.
    pub(super) span: Range<usize>,
    /// Whether it is a collection in brackets.
    pub(super) flow: bool,
    /// The number of its anchor, 0 for none.
    pub(super) anchor: usize,
    /// Its tag.
    pub(super) tag: Option<String>,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A text, a number, nothing: plain ones may be more than text.
    Scalar { text: String, plain: bool },
    /// A list.
    List(Vec<Node>),
    /// Keys with their values, in their order.
    Map(Vec<(Node, Node)>),
    /// A reference to the node with that anchor.
    Alias(usize),
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        (&self.kind, self.anchor, &self.tag) == (&other.kind, other.anchor, &other.tag)
    }
}

impl Eq for Node {}

impl Node {
    /// A list or a map that is written nowhere.
    pub(super) fn imagined(kind: Kind) -> Self {
        Self { kind, span: 0..0, flow: false, anchor: 0, tag: None }
    }

    /// A text that is written nowhere.
    pub(super) fn plain(text: &str) -> Self {
        Self::imagined(Kind::Scalar { text: text.to_owned(), plain: true })
    }

    /// The text of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Option<&[Self]> {
        match &self.kind {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }

    /// The keys and values of a map.
    pub(super) fn pairs(&self) -> Option<&[(Self, Self)]> {
        match &self.kind {
            Kind::Map(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// The pair with that key.
    pub(super) fn pair(&self, key: &str) -> Option<&(Self, Self)> {
        self.pairs()?.iter().find(|(name, _)| name.text() == Some(key))
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.pair(key).map(|(_, value)| value)
    }

    /// Whether it says nothing, in words or by leaving it out.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }
}

/// Reads a file that holds one document, or none.
///
/// Also gives where that document ends: at its `...`, or at the end of the text.
pub(super) fn parse(text: &str) -> Result<(Option<Node>, usize), Problem> {
    let mut open: Vec<Open> = Vec::new();
    let (mut root, mut end) = (None, text.len());
    let mut documents = 0;
    let mut parser = Parser::new_from_str(text);
    while let Some(next) = parser.next_event() {
        let (event, span) = next.map_err(|error| {
            let at = error.marker().byte_offset().unwrap_or_default().min(text.len());
            Problem::at(text, at, format!("this is not YAML: {}", error.info()))
        })?;
        let Some(span) = span.byte_range() else { continue };
        let kind = match event {
            Event::StreamEnd => break,
            Event::DocumentStart(..) => {
                documents += 1;
                if documents > 1 {
                    return Err(Problem::at(text, span.start, "lazygit reads one document, and here begins another"));
                }
                continue;
            }
            Event::DocumentEnd => {
                if text[span.clone()].starts_with("...") {
                    end = span.start;
                }
                continue;
            }
            Event::SequenceStart(style, anchor, tag) => {
                let kind = Kind::List(Vec::new());
                open.push(Open::new(kind, &span, style, anchor, tag.map(|tag| tag.original())));
                continue;
            }
            Event::MappingStart(style, anchor, tag) => {
                let kind = Kind::Map(Vec::new());
                open.push(Open::new(kind, &span, style, anchor, tag.map(|tag| tag.original())));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(done) => done.close(&span),
                None => continue,
            },
            Event::Scalar(value, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                // The parser says `~` where nothing is written.
                let value = if plain && span.is_empty() { String::new() } else { value.into_owned() };
                let kind = Kind::Scalar { text: value, plain };
                Node { kind, span, flow: false, anchor, tag: tag.map(|tag| tag.original()) }
            }
            Event::Alias(anchor) => Node { span, ..Node::imagined(Kind::Alias(anchor)) },
            _ => continue,
        };
        match open.last_mut() {
            Some(parent) => parent.take(text, kind)?,
            None => root = Some(kind),
        }
    }
    Ok((root, end))
}

/// A collection whose end was not read yet.
struct Open {
    node: Node,
    key: Option<Node>,
}

impl Open {
    fn new(kind: Kind, span: &Range<usize>, style: StructureStyle, anchor: usize, tag: Option<String>) -> Self {
        let flow = style == StructureStyle::Flow;
        Self { node: Node { kind, span: span.clone(), flow, anchor, tag }, key: None }
    }

    fn take(&mut self, text: &str, child: Node) -> Result<(), Problem> {
        if !self.node.flow {
            no_tabs(text, &child)?;
            self.node.span.end = self.node.span.end.max(child.span.end);
        }
        match (&mut self.node.kind, self.key.take()) {
            (Kind::Map(pairs), Some(key)) => pairs.push((key, child)),
            (Kind::Map(_), None) => self.key = Some(child),
            (Kind::List(items), _) => items.push(child),
            _ => {}
        }
        Ok(())
    }

    fn close(mut self, end: &Range<usize>) -> Node {
        if self.node.flow {
            self.node.span.end = end.end;
        }
        self.node
    }
}

/// Our parser takes some tabs for indentation; lazygit's takes none.
fn no_tabs(text: &str, child: &Node) -> Result<(), Problem> {
    let start = child.span.start;
    let indent = edit::indent(text, start);
    match indent.find('\t') {
        Some(tab) if edit::line_start(text, start) + indent.len() == start => Err(Problem::at(
            text,
            edit::line_start(text, start) + tab,
            "a tab cannot indent YAML; lazygit does not read this file",
        )),
        _ => Ok(()),
    }
}
