//! Decides where a parsed file is cut.
//!
//! The file and each large container are a sequence of members. What stands before a member, back to the end of the one
//! before it, belongs to it: comments, attributes, blank lines. What stands after the last belongs to the last. Members
//! of four lines and more are chunks of their own; smaller ones stay with neighbours of their kind.

use std::{cell::OnceCell, ops::Range};

use lore_model::ChunkKind;
use tree_sitter::Node;

use super::{
    Draft, Outline, Source,
    outline::LONGEST_PATH,
    rules::{Shape, Spec, children, first_of},
    split,
    walk::{Item, Walked, What},
};
use crate::{Symbol, encoding::one_line};

/// How much text a chunk may hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) lines: usize,
    pub(super) bytes: usize,
}

/// More than this is split.
pub(super) const LARGE: Size = Size { lines: 80, bytes: 4_000 };
/// A container of no more than this stays whole.
const WHOLE: Size = Size { lines: 40, bytes: 1_600 };
/// Neighbours stay together up to this.
const TINY_GROUP: Size = Size { lines: 20, bytes: 1_200 };
const LOOSE_GROUP: Size = Size { lines: 60, bytes: 3_000 };
/// A function of fewer lines is tiny.
const TINY: usize = 4;
/// A definition inside of one that is split is a chunk of its own from so many lines.
const CARVED: usize = 8;
/// The head of a module of no more lines than this goes with the first member.
const SHORT_HEAD: usize = 3;
/// What is left behind the last member goes with it up to so many lines.
const SHORT_TAIL: usize = 20;
const SIGNATURE: usize = 200;

/// How a cut may join its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// The declaration of a container and its first fields.
    Head,
    /// A definition on its own.
    Own,
    Tiny,
    Data,
    Field,
    /// Statements.
    Loose,
    /// A part of something large.
    Part,
}

/// A chunk to be.
struct Cut {
    range: Range<usize>,
    class: Class,
    /// The one item that it is about.
    item: Option<usize>,
    /// The container that it stands in.
    parent: Option<usize>,
    /// Cuts join within one sequence of members only.
    level: u32,
    part: Option<(u32, u32)>,
}

struct Cutter<'a, 't> {
    items: &'a [Item<'t>],
    spec: &'a Spec,
    source: &'a Source<'a>,
    prose: &'a [Range<usize>],
    /// Items by (parent, start): the members of each container in order.
    members: Vec<(Option<usize>, usize, usize)>,
    /// Definitions that are members of nothing, by where they begin.
    locals: Vec<usize>,
    cuts: Vec<Cut>,
    levels: u32,
    /// The path of each item that something is in, once it was asked for: very many things may be below very long names.
    paths: Vec<OnceCell<Option<String>>>,
}

/// Cuts a part of a file at the items found in it.
pub(super) fn partition(walked: &Walked<'_>, spec: &Spec, source: &Source<'_>, part: Range<usize>) -> Outline {
    let items = &walked.items;
    let members = items.iter().enumerate().filter(|(_, item)| item.member);
    let mut members: Vec<_> = members.map(|(index, item)| (item.parent, item.range.start, index)).collect();
    members.sort_unstable();
    let is_definition = |item: &Item<'_>| matches!(item.what, What::Definition(_, shape) if shape != Shape::Data);
    let locals = items.iter().enumerate().filter(|(_, item)| !item.member && is_definition(item));
    let mut locals: Vec<usize> = locals.map(|(index, _)| index).collect();
    locals.sort_by_key(|index| items[*index].node.start_byte());
    let paths = items.iter().map(|_| OnceCell::new()).collect();
    let mut cutter =
        Cutter { items, spec, source, prose: &walked.prose, members, locals, cuts: Vec::new(), levels: 0, paths };
    cutter.members(None, part);
    let mut outline = Outline {
        prose: walked.prose.clone(),
        package: walked.package.clone().and_then(|range| source.name(range)),
        imports: walked.imports,
        ..Outline::default()
    };
    for index in 0..items.len() {
        cutter.describe(index, &mut outline);
    }
    let others = walked.names.iter().filter_map(|range| Some((range.start, source.name(range.clone())?)));
    outline.names.extend(others);
    outline.drafts = cutter.cuts.iter().map(|cut| cutter.draft(cut)).collect();
    outline
}

impl Cutter<'_, '_> {
    /// Cuts the members of a container, or of the file.
    fn members(&mut self, parent: Option<usize>, range: Range<usize>) {
        self.levels += 1;
        let level = self.levels;
        let first = self.members.partition_point(|member| member.0 < parent);
        let last = self.members.partition_point(|member| member.0 <= parent);
        let mut at = range.start;
        for member in first..last {
            let index = self.members[member].2;
            let end = self.source.border_after(self.items[index].range.end).min(range.end);
            // What only begins the line of a larger neighbour goes with that one.
            let next = self.members[first..last].get(member + 1 - first).map(|next| &self.items[next.2].range);
            let is_before_next = next.is_some_and(|next| next.start < end && next.end > end);
            if end > at && !is_before_next {
                self.item(index, at..end, parent, level);
                at = end;
            }
        }
        let rest = at..range.end;
        let lines = self.source.lines_in(&self.source.without_blank_start(rest.clone()));
        match self.cuts.last_mut() {
            Some(last) if lines <= SHORT_TAIL => last.range.end = rest.end,
            _ if !rest.is_empty() => self.parts(None, parent, rest, level, &[]),
            _ => {}
        }
    }

    /// Cuts one item, with what stands before it.
    fn item(&mut self, index: usize, range: Range<usize>, parent: Option<usize>, level: u32) {
        let item = &self.items[index];
        let text = self.source.without_blank_start(range.clone());
        let tiny = self.source.lines_in(&text) < TINY;
        let class = match item.what {
            What::Field => Class::Field,
            What::Docstring if parent.is_some() => Class::Field,
            What::Docstring | What::Statement => Class::Loose,
            What::Definition(_, Shape::Data) => Class::Data,
            What::Definition(_, Shape::Container) if self.source.fits(&text, WHOLE) => {
                if tiny {
                    Class::Tiny
                } else {
                    Class::Own
                }
            }
            What::Definition(_, Shape::Container | Shape::Scope) if self.has_parts(index) => {
                return self.container(index, range, parent, level);
            }
            What::Definition(..) if tiny => Class::Tiny,
            What::Definition(..) => Class::Own,
        };
        if self.source.fits(&text, LARGE) {
            self.push(Cut { range, class, item: Some(index), parent, level, part: None });
        } else {
            self.split(index, range, parent, level);
        }
    }

    /// Whether a container has members that are worth chunks of their own.
    fn has_parts(&self, index: usize) -> bool {
        let first = self.members.partition_point(|member| member.0 < Some(index));
        let members = self.members[first..].iter().take_while(|member| member.0 == Some(index));
        members.into_iter().any(|member| matches!(self.items[member.2].what, What::Definition(..)))
    }

    /// Cuts a container into its head and its members.
    fn container(&mut self, index: usize, range: Range<usize>, parent: Option<usize>, level: u32) {
        let item = &self.items[index];
        let body = item.body.unwrap_or(item.node.start_byte());
        // A body in braces begins on the line of the declaration, an indented one after it.
        let line = self.source.border_before(body);
        let before = &self.source.bytes[line.min(body)..body];
        let mut head = if before.trim_ascii().is_empty() { line } else { self.source.border_after(body + 1) };
        let first = self.members.partition_point(|member| member.0 < Some(index));
        if let Some((_, _, member)) = self.members.get(first)
            && self.items[*member].what == What::Docstring
        {
            head = self.source.border_after(self.items[*member].range.end);
        }
        let head = range.start..head.clamp(range.start, range.end);
        let text = self.source.without_blank_start(head.clone());
        let is_scope = matches!(item.what, What::Definition(_, Shape::Scope));
        if is_scope && self.source.lines_in(&text) <= SHORT_HEAD {
            return self.members(Some(index), range);
        }
        // The fields that follow join the head, so it counts as theirs.
        self.levels += 1;
        if self.source.fits(&text, LARGE) {
            let inside = self.levels + 1;
            self.push(Cut {
                range: head.clone(),
                class: Class::Head,
                item: Some(index),
                parent,
                level: inside,
                part: None,
            });
        } else {
            self.split(index, head.clone(), parent, level);
        }
        self.members(Some(index), head.end..range.end);
    }

    /// Cuts something large: definitions inside of it on their own, the rest at its statements.
    fn split(&mut self, index: usize, range: Range<usize>, parent: Option<usize>, level: u32) {
        let first_cut = self.cuts.len();
        let borders = split::borders(self.items[index].node, self.source, self.prose);
        let mut at = range.start;
        for inner in self.carved(index, &range) {
            let place = &self.items[inner].range;
            let end = self.source.border_after(place.end).min(range.end);
            let start = split::with_comments_above(self.source, self.prose, place.start).clamp(at, end);
            if end <= at || self.source.lines_in(&(start..end)) < CARVED {
                continue;
            }
            let gap = self.source.without_blank_start(at..start);
            let start = if gap.is_empty() { at } else { start };
            self.parts(Some(index), parent, at..start, level, &borders);
            self.levels += 1;
            let level = self.levels;
            self.item(inner, start..end, self.items[inner].parent, level);
            at = end;
        }
        let rest = at..range.end;
        if at > range.start && self.source.lines_in(&rest) < TINY {
            if let Some(last) = self.cuts.last_mut() {
                last.range.end = rest.end;
            }
        } else {
            self.parts(Some(index), parent, rest, level, &borders);
        }
        let parts: Vec<&mut Cut> = self.cuts[first_cut..]
            .iter_mut()
            .filter(|cut| cut.class == Class::Part && cut.item == Some(index))
            .collect();
        let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        for (number, cut) in (1..).zip(parts) {
            cut.part = (count > 1).then_some((number, count));
        }
    }

    /// Definitions inside of an item that are not inside of one another.
    fn carved(&self, index: usize, range: &Range<usize>) -> Vec<usize> {
        let mut carved: Vec<usize> = Vec::new();
        let whole = self.items[index].node.byte_range();
        let first = self.locals.partition_point(|inner| self.items[*inner].node.start_byte() < whole.start);
        for &inner in &self.locals[first..] {
            let item = &self.items[inner];
            let place = item.node.byte_range();
            if place.start >= whole.end {
                break;
            }
            // Strictly smaller, so that nothing is ever carved out of itself.
            let is_smaller = place.end <= whole.end && place.len() < whole.len();
            let is_inside = item.range.start >= range.start && item.range.end <= range.end;
            let is_free = carved.last().is_none_or(|last| self.items[*last].range.end <= item.range.start);
            if is_smaller && is_inside && is_free {
                carved.push(inner);
            }
        }
        carved
    }

    /// Cuts a range at the best borders.
    fn parts(
        &mut self,
        item: Option<usize>,
        parent: Option<usize>,
        range: Range<usize>,
        level: u32,
        borders: &[split::Border],
    ) {
        let mut start = range.start;
        let class = if item.is_some() { Class::Part } else { Class::Loose };
        for end in split::cut(self.source, &range, borders, split::CODE) {
            self.cuts.push(Cut { range: start..end, class, item, parent, level, part: None });
            start = end;
        }
    }

    /// Adds a cut, or joins it to the one before.
    fn push(&mut self, cut: Cut) {
        if let Some(last) = self.cuts.last_mut()
            && last.level == cut.level
            && let Some(most) = group(last.class, cut.class)
            && self.source.fits(&(last.range.start..cut.range.end), most)
        {
            last.range.end = cut.range.end;
            if last.class != Class::Head {
                last.item = None;
            }
            return;
        }
        self.cuts.push(cut);
    }

    fn draft(&self, cut: &Cut) -> Draft {
        let kind = if cut.class == Class::Data || self.is_data(cut.item) { ChunkKind::Data } else { self.spec.kind };
        let item = cut.item.map(|index| (index, &self.items[index]));
        let named = item.and_then(|(index, item)| match item.what {
            What::Definition(symbol, _) => Some((index, self.source.name(item.name.clone()?)?, symbol)),
            _ => None,
        });
        let (name, symbol, container) = match named {
            Some((index, name, symbol)) => (Some(name), Some(symbol), self.container_of(index)),
            None => (None, None, cut.parent.and_then(|parent| self.path(parent))),
        };
        Draft { end: cut.range.end, kind, name, symbol, container, part: cut.part }
    }

    fn is_data(&self, item: Option<usize>) -> bool {
        item.is_some_and(|index| matches!(self.items[index].what, What::Definition(_, Shape::Data)))
    }

    /// Adds what an item defines to the outline.
    fn describe(&self, index: usize, outline: &mut Outline) {
        let item = &self.items[index];
        let Some(range) = item.name.clone() else { return };
        let Some(name) = self.source.name(range.clone()) else { return };
        outline.names.push((range.start, name.clone()));
        if let What::Definition(kind, shape) = item.what {
            let line = |at| u32::try_from(self.source.line_of(at) + 1).unwrap_or(u32::MAX);
            let (start, end) = (item.node.start_byte(), item.node.end_byte().min(item.range.end));
            let last = start + self.source.bytes[start..end].trim_ascii_end().len().max(1) - 1;
            outline.symbols.push(Symbol {
                name,
                kind,
                container: self.container_of(index),
                first_line: line(item.node.start_byte()),
                last_line: line(last),
                signature: self.signature(item, shape),
            });
        }
    }

    /// How an item is declared: what stands before its body.
    fn signature(&self, item: &Item<'_>, shape: Shape) -> String {
        let node = item.node;
        let declared = after_annotations(node);
        let line = self.source.border_before(declared);
        let before = &self.source.bytes[line..declared];
        // `export default`, `const`: words around the node.
        let are_words = before.iter().rev().all(|byte| byte.is_ascii_alphabetic() || byte.is_ascii_whitespace());
        let start = if are_words { line } else { declared };
        let end = match shape {
            Shape::Leaf => node.end_byte(),
            Shape::Data => item.body.unwrap_or(node.end_byte()),
            Shape::Function | Shape::Container | Shape::Scope => {
                let is_only_declared = self.source.bytes[node.byte_range()].ends_with(b";");
                let line = || if is_only_declared { node.end_byte() } else { self.source.border_after(start + 1) };
                item.body.or_else(|| body(node)).unwrap_or_else(line)
            }
        };
        // Enough to fill the line; the rest of a large definition need not be looked at.
        let end = end.clamp(start, node.end_byte()).min(start + SIGNATURE * 8);
        let line = one_line(&self.source.text(start..end), SIGNATURE);
        line.trim_end_matches(['{', ':', '=', ' ']).trim_end_matches("=>").trim_end().to_owned()
    }

    /// The path of what an item is defined in.
    fn container_of(&self, index: usize) -> Option<String> {
        let item = &self.items[index];
        let outer = item.parent.and_then(|parent| self.path(parent));
        let own = item.container.clone().and_then(|range| self.source.name(range));
        join(outer, own, self.spec.separator)
    }

    /// The path of an item, its own name included.
    fn path(&self, index: usize) -> Option<String> {
        let path = || {
            let own = self.items[index].name.clone().and_then(|range| self.source.name(range));
            join(self.container_of(index), own, self.spec.separator)
        };
        self.paths[index].get_or_init(path).clone()
    }
}

fn join(outer: Option<String>, own: Option<String>, separator: &str) -> Option<String> {
    match (outer, own) {
        (Some(outer), Some(own)) => Some(one_line(&[&outer, separator, &own].concat(), LONGEST_PATH)),
        (outer, own) => outer.or(own),
    }
}

/// Where the body of a function begins, or of the function that is a value.
fn body(node: Node<'_>) -> Option<usize> {
    let value = || ["value", "right", "definition"].into_iter().find_map(|field| node.child_by_field_name(field));
    let by_kind = || first_of(node, "function_body");
    let body = node.child_by_field_name("body").or_else(by_kind).or_else(|| value()?.child_by_field_name("body"))?;
    Some(body.start_byte())
}

/// Where a declaration begins behind the annotations that are part of it.
fn after_annotations(node: Node<'_>) -> usize {
    let is_annotation =
        |child: &Node<'_>| matches!(child.kind(), "annotation" | "marker_annotation" | "attribute" | "attribute_list");
    for child in children(node) {
        // From above: to ask a node for its parent or its neighbour costs as many steps as it is deep.
        let are_several = child.kind() == "modifiers";
        let word = if are_several { children(child).find(|it| !is_annotation(it)) } else { Some(child) };
        if let Some(word) = word.filter(|it| !is_annotation(it)) {
            return word.start_byte();
        }
    }
    node.start_byte()
}

/// How large two neighbours may become together; `None` if they stay apart.
fn group(last: Class, next: Class) -> Option<Size> {
    match (last, next) {
        (Class::Tiny, Class::Tiny) => Some(TINY_GROUP),
        (Class::Loose, Class::Loose) => Some(LOOSE_GROUP),
        (Class::Data | Class::Field | Class::Head, Class::Data | Class::Field) => Some(WHOLE),
        _ => None,
    }
}

impl Source<'_> {
    /// Whether a range at line borders is within a size.
    pub(super) fn fits(&self, range: &Range<usize>, most: Size) -> bool {
        range.len() <= most.bytes && self.lines_in(range) <= most.lines
    }
}
