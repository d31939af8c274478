//! Finds the items of a syntax tree: definitions, imports, and the statements between them.
//!
//! One cursor passes over the tree without recursion. Where definitions are expected (the file, the bodies of
//! containers) every child is looked at; inside of functions and statements only what holds a marker, so that most
//! nodes are never visited. It does not decide where to cut.

use std::ops::Range;

use lore_model::SymbolKind;
use memchr::memmem;
use tree_sitter::{Node, Tree};

use super::{
    Source,
    rules::{At, Found, Role, Shape, Spec, children},
    tree::Rules,
};

/// Items nested deeper than this are text of the item around them.
pub(super) const DEEPEST: usize = 32;

/// A definition inside of a function body is worth a name from so many lines.
const LOCAL_LINES: usize = 3;

/// Something that stands in a file or in a container, or a definition inside of a function.
pub(super) struct Item<'t> {
    pub(super) node: Node<'t>,
    /// Where it is, with what wraps it.
    pub(super) range: Range<usize>,
    /// The definition around it.
    pub(super) parent: Option<usize>,
    pub(super) what: What,
    pub(super) name: Option<Range<usize>>,
    /// The name of the container that it says it belongs to.
    pub(super) container: Option<Range<usize>>,
    /// Where its body begins.
    pub(super) body: Option<usize>,
    /// Whether it is a member of the file or a container, not a part of a function or statement.
    pub(super) member: bool,
}

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Definition(SymbolKind, Shape),
    Field,
    Docstring,
    Statement,
}

/// Everything found in a tree.
#[derive(Default)]
pub(super) struct Walked<'t> {
    pub(super) items: Vec<Item<'t>>,
    pub(super) prose: Vec<Range<usize>>,
    /// Further names of items that have several.
    pub(super) names: Vec<Range<usize>>,
    pub(super) imports: u32,
    pub(super) package: Option<Range<usize>>,
}

impl Walked<'_> {
    pub(super) fn found_definitions(&self) -> bool {
        self.items.iter().any(|item| matches!(item.what, What::Definition(..)))
    }
}

/// What the children of a node are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Members of the file or a container.
    Members,
    /// Parts of a definition, its body among them.
    Head,
    /// Anything else.
    Inside,
}

/// A node that is being walked and that something happens at the end of.
struct Frame {
    depth: usize,
    kind: FrameKind,
}

enum FrameKind {
    Definition(usize),
    /// The place of the wrapper and the number of the first item that may be in it.
    Wrap(Range<usize>, usize),
}

struct Walk<'t, 's> {
    source: &'s Source<'s>,
    found: Walked<'t>,
    frames: Vec<Frame>,
    /// Where markers are; `None` if everything is to be visited.
    marks: Option<Vec<usize>>,
    next_mark: usize,
}

/// Finds the items of a tree.
pub(super) fn walk<'t>(tree: &'t Tree, rules: &Rules, spec: &Spec, source: &Source<'_>) -> Walked<'t> {
    let mut walk =
        Walk { source, found: Walked::default(), frames: Vec::new(), marks: marks(spec, source), next_mark: 0 };
    let mut cursor = tree.walk();
    let mut modes = vec![Mode::Members];
    if !cursor.goto_first_child() {
        return walk.found;
    }
    let mut first = true;
    loop {
        let node = cursor.node();
        let role = rules.role(node.kind_id());
        let mode = *modes.last().unwrap_or(&Mode::Inside);
        if let Some(inner) = walk.visit(node, role, mode, first, modes.len())
            && cursor.goto_first_child()
        {
            modes.push(inner);
            first = true;
            continue;
        }
        walk.leave(node, modes.len());
        first = first && matches!(role, Some(Role::Comment | Role::Ignore));
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() || modes.len() == 1 {
                return walk.found;
            }
            modes.pop();
            walk.leave(cursor.node(), modes.len());
            first = false;
        }
    }
}

/// Where the language's markers are, in order.
fn marks(spec: &Spec, source: &Source<'_>) -> Option<Vec<usize>> {
    if spec.markers.is_empty() {
        return None;
    }
    let mut marks: Vec<usize> =
        spec.markers.iter().flat_map(|marker| memmem::find_iter(source.bytes, marker.as_bytes())).collect();
    marks.sort_unstable();
    Some(marks)
}

/// The brace that a body begins with, where a keyword belongs to it: `interface { … }`.
fn brace(body: Node<'_>) -> Option<usize> {
    children(body).take(2).find(|child| child.kind() == "{").map(|brace| brace.start_byte())
}

impl<'t> Walk<'t, '_> {
    /// Takes note of a node; gives how its children are to be visited, if they are.
    fn visit(&mut self, node: Node<'t>, role: Option<Role>, mode: Mode, first: bool, depth: usize) -> Option<Mode> {
        let role = match role {
            Some(Role::Case(case)) => (mode == Mode::Members).then(|| {
                self.source.set_depth(depth);
                case(self.source, node)
            }),
            role => role,
        };
        match role {
            Some(Role::Comment) => {
                self.found.prose.push(node.byte_range());
                if mode == Mode::Head {
                    self.comment_before_body(node);
                }
                None
            }
            Some(Role::Ignore | Role::Lead) => None,
            Some(Role::Docstring(is, _)) if first && is(self.source, node) => {
                self.found.prose.push(node.byte_range());
                if mode == Mode::Members {
                    self.push(node, What::Docstring, None, true);
                }
                None
            }
            Some(Role::Open) => {
                if mode == Mode::Inside {
                    self.inside(node)
                } else {
                    Some(mode)
                }
            }
            Some(Role::Body) if mode == Mode::Head => {
                if let Some(item) = self.parent() {
                    let body = &mut self.found.items[item].body;
                    *body = brace(node).or(*body).or(Some(node.start_byte()));
                }
                Some(Mode::Members)
            }
            Some(Role::Body) if mode == Mode::Members => Some(mode),
            Some(Role::Wrap) if mode == Mode::Members => {
                // What is wrapped more often than this gets what is around it from the outer ones.
                if self.frames.len() < DEEPEST {
                    let kind = FrameKind::Wrap(node.byte_range(), self.found.items.len());
                    self.frames.push(Frame { depth, kind });
                }
                Some(mode)
            }
            Some(Role::Field(at)) if mode == Mode::Members => {
                self.more_names(node, at);
                let item = self.push(node, What::Field, at.find(node), true);
                self.frames.push(Frame { depth, kind: FrameKind::Definition(item) });
                self.inside(node)
            }
            Some(Role::Define(symbol, shape, at)) => {
                if shape == Shape::Data && mode == Mode::Members {
                    self.more_names(node, at);
                }
                let found = Found { symbol, shape, name: at.find(node).unwrap_or_default(), container: None };
                self.definition(node, found, mode, depth)
            }
            Some(Role::Hook(hook) | Role::Docstring(_, hook)) => {
                self.source.set_depth(depth);
                match hook(self.source, node) {
                    Some(found) => self.definition(node, found, mode, depth),
                    None => self.statement(node, mode),
                }
            }
            Some(Role::Import(count)) => {
                self.source.set_depth(depth);
                self.found.imports += count(self.source, node);
                self.statement(node, mode)
            }
            Some(Role::Package(at)) => {
                self.found.package = self.found.package.take().or_else(|| at.find(node));
                self.statement(node, mode)
            }
            _ => self.statement(node, mode),
        }
    }

    /// Takes note of the names but the first: `a, b int`.
    fn more_names(&mut self, node: Node<'t>, at: At) {
        if let At::Field(field) = at {
            let mut cursor = node.walk();
            let names = node.children_by_field_name(field, &mut cursor).filter(Node::is_named).skip(1);
            self.found.names.extend(names.map(|name| name.byte_range()));
        }
    }

    fn definition(&mut self, node: Node<'t>, found: Found, mode: Mode, depth: usize) -> Option<Mode> {
        let member = mode == Mode::Members;
        let lines = node.end_position().row - node.start_position().row + 1;
        let too_small = !member && (found.shape == Shape::Data || lines < LOCAL_LINES);
        if too_small || self.frames.len() >= DEEPEST || (!member && self.is_told(node, &found)) {
            return self.statement(node, mode);
        }
        let in_type = member && self.parent().is_some_and(|parent| self.is_type(parent));
        let name = Some(found.name).filter(|name| !name.is_empty());
        if in_type && (found.symbol, found.shape) == (SymbolKind::Variable, Shape::Data) {
            let item = self.push(node, What::Field, name, member);
            self.frames.push(Frame { depth, kind: FrameKind::Definition(item) });
            return self.inside(node);
        }
        let mut symbol = found.symbol;
        if symbol == SymbolKind::Function && (in_type || found.container.is_some()) {
            symbol = SymbolKind::Method;
        }
        let item = self.push(node, What::Definition(symbol, found.shape), name, member);
        self.found.items[item].container = found.container;
        self.frames.push(Frame { depth, kind: FrameKind::Definition(item) });
        if found.shape == Shape::Function { self.inside(node) } else { Some(Mode::Head) }
    }

    /// Whether a definition is the value of one of the same name: `a.init = function init() { … }`.
    fn is_told(&self, node: Node<'t>, found: &Found) -> bool {
        let Some(outer) = self.parent().map(|parent| &self.found.items[parent]) else { return false };
        let bytes = self.source.bytes;
        outer.node.start_position().row == node.start_position().row
            && outer.name.clone().is_some_and(|name| bytes[name] == bytes[found.name.clone()])
    }

    fn statement(&mut self, node: Node<'t>, mode: Mode) -> Option<Mode> {
        if mode == Mode::Members && node.is_named() && node.end_byte() > node.start_byte() {
            self.push(node, What::Statement, None, true);
        }
        self.inside(node)
    }

    /// Descends into a node if it holds a marker.
    fn inside(&mut self, node: Node<'t>) -> Option<Mode> {
        let Some(marks) = &self.marks else { return Some(Mode::Inside) };
        while marks.get(self.next_mark).is_some_and(|mark| *mark < node.start_byte()) {
            self.next_mark += 1;
        }
        marks.get(self.next_mark).is_some_and(|mark| *mark < node.end_byte()).then_some(Mode::Inside)
    }

    fn push(&mut self, node: Node<'t>, what: What, name: Option<Range<usize>>, member: bool) -> usize {
        let parent = self.parent();
        // Indented bodies may end with the white space before what follows.
        let length = self.source.bytes[node.byte_range()].trim_ascii_end().len();
        let range = node.start_byte()..node.start_byte() + length;
        self.found.items.push(Item { node, range, parent, what, name, container: None, body: None, member });
        self.found.items.len() - 1
    }

    fn leave(&mut self, node: Node<'t>, depth: usize) {
        while let Some(frame) = self.frames.pop_if(|frame| frame.depth == depth) {
            match frame.kind {
                FrameKind::Wrap(range, first) => self.leave_wrap(node, range, first),
                FrameKind::Definition(item) => self.leave_definition(item),
            }
        }
    }

    /// Where bodies have no braces, comments before the first member are in front of the body, not in it.
    fn comment_before_body(&mut self, comment: Node<'t>) {
        let line = self.source.border_before(comment.start_byte());
        if self.source.bytes[line..comment.start_byte()].trim_ascii_end().is_empty()
            && let Some(item) = self.parent()
        {
            self.found.items[item].body.get_or_insert(comment.start_byte());
        }
    }

    /// Some grammars end a definition only where the next begins. Comments at its end that are not indented are about
    /// the next.
    fn leave_definition(&mut self, item: usize) {
        let item = &mut self.found.items[item];
        let bytes = self.source.bytes;
        for comment in self.found.prose.iter().rev() {
            if comment.start <= item.range.start || comment.end > item.range.end {
                break;
            }
            let line = self.source.border_before(comment.start);
            let indent = &bytes[line..comment.start];
            let is_last = bytes[comment.end..item.range.end].trim_ascii().is_empty();
            if !is_last || indent.len() > item.node.start_position().column || !indent.trim_ascii().is_empty() {
                break;
            }
            item.range.end = item.range.start + bytes[item.range.start..line].trim_ascii_end().len();
        }
    }

    /// What a wrapper adds goes to the first and the last item in it.
    fn leave_wrap(&mut self, node: Node<'t>, range: Range<usize>, first: usize) {
        let parent = self.parent();
        let inside = &mut self.found.items[first..];
        let is_in_it = |item: &&mut Item<'_>| item.member && item.parent == parent;
        let Some(item) = inside.iter_mut().find(is_in_it) else {
            self.push(node, What::Statement, None, true);
            return;
        };
        item.range.start = range.start;
        if let Some(item) = inside.iter_mut().rfind(is_in_it) {
            item.range.end = range.end;
        }
    }

    fn parent(&self) -> Option<usize> {
        self.frames.iter().rev().find_map(|frame| match frame.kind {
            FrameKind::Definition(item) => Some(item),
            FrameKind::Wrap(..) => None,
        })
    }

    fn is_type(&self, item: usize) -> bool {
        let what = self.found.items[item].what;
        matches!(what, What::Definition(symbol, _) if symbol.is_type() || symbol == SymbolKind::Impl)
    }
}
