//! The words in which a language says what its syntax nodes are.

use std::ops::Range;

use lore_model::{ChunkKind, SymbolKind};
use tree_sitter::{Node, Tree};

use super::Source;

/// How files of a language are parsed and read.
pub(crate) struct Spec {
    /// Loads the grammar.
    pub(crate) grammar: fn() -> tree_sitter::Language,
    /// What kinds of nodes are. Of several rows for a kind, the last counts, so that a language can build on another.
    pub(crate) rules: &'static [&'static [(&'static str, Role)]],
    /// Texts of which one is in every comment and in every definition that may stand inside a function body. Bodies
    /// without any of them are not searched; with an empty list, all are.
    pub(crate) markers: &'static [&'static str],
    /// What stands between the names of a container and of what is in it.
    pub(crate) separator: &'static str,
    /// What statements outside of definitions are: [`ChunkKind::Data`] for configuration.
    pub(crate) kind: ChunkKind,
    /// What a report of the parser counts as, in a file of so many bytes, once there are errors: 2, unless the grammar's
    /// scanner then reads to the end of the file for every token.
    pub(crate) cost_of_errors: fn(usize) -> usize,
    /// What the parser should not see, by what it made of the file.
    pub(crate) hide: Option<Hide>,
    /// How deep a text is nested, roughly and fast: what is too deep is not parsed.
    pub(crate) depth: fn(&[u8]) -> usize,
    /// Which characters the parser can be shown.
    pub(crate) sees: Sees,
}

/// Which characters a parser can be shown. Offsets are the same either way, and names are taken from the file itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sees {
    /// All of them.
    Everything,
    /// For a scanner that asks the C library about characters of which that knows 256: then it reads what lies somewhere
    /// behind a table, or nothing lies there and the process ends. Each other byte is shown as a letter.
    Ascii,
}

/// Says what the parser should see otherwise in a part of a file.
pub(crate) type Hide = fn(&[u8], Range<usize>, &Tree) -> Vec<Change>;

/// A place that the parser should see as something else of equal length. The chunks have the bytes of the file.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) range: Range<usize>,
    /// What stands there instead, filled up with blanks. Line breaks stay.
    pub(crate) with: &'static [u8],
    /// What the change lays open: it is undone where there are errors in that. Empty where a change may lay open anything:
    /// then there have to be fewer errors in the whole file.
    pub(crate) scope: Range<usize>,
}

impl Spec {
    /// What specs are filled up from: `..Spec::CODE`.
    pub(crate) const CODE: Self = Self {
        grammar: || tree_sitter_rust::LANGUAGE.into(),
        rules: &[],
        markers: &[],
        separator: ".",
        kind: ChunkKind::Definitions,
        cost_of_errors: |_| 2,
        hide: None,
        depth: depth_of_brackets,
        sees: Sees::Everything,
    };
}

/// How deep brackets are nested; those in strings and comments count as well.
fn depth_of_brackets(bytes: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in bytes {
        match byte {
            b'(' | b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// What a kind of node is. Kinds without a rule are statements where definitions are expected, and nothing elsewhere.
#[derive(Clone, Copy)]
pub(crate) enum Role {
    /// A comment: prose, and part of what follows it.
    Comment,
    /// A statement that is documentation where it comes first in a body (prose, and part of what precedes it) and a test
    /// agrees; otherwise what a hook says.
    Docstring(fn(&Source<'_>, Node<'_>) -> bool, Hook),
    /// An attribute or a decorator: part of what follows it.
    Lead,
    /// An import; says how many things it imports.
    Import(fn(&Source<'_>, Node<'_>) -> u32),
    /// The declaration of the file's package.
    Package(At),
    /// Wraps one definition or several, and is part of them: `export`, decorated definitions, `const ( … )`.
    Wrap,
    /// Groups definitions without being part of them: their place is that of the group. `#ifdef`, `extern "C"`.
    Open,
    /// The body of a container: what stands in it are members.
    Body,
    /// A field, a variant or another member whose name is worth finding, but which is no symbol.
    Field(At),
    /// A definition.
    Define(SymbolKind, Shape, At),
    /// A definition, or not, or one of several kinds.
    Hook(Hook),
    /// Among members, what a test says; elsewhere nothing.
    Case(fn(&Source<'_>, Node<'_>) -> Self),
    /// Not looked into, and nothing of its own: it is passed over like white space.
    Ignore,
}

/// Says what a node defines, if anything.
pub(crate) type Hook = fn(&Source<'_>, Node<'_>) -> Option<Found>;

/// How a definition is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Something with statements in it: a chunk of its own from 4 lines, split where it is long.
    Function,
    /// Something with members: one chunk where it is small, otherwise its head and its members.
    Container,
    /// A module or namespace: its members are cut as those of the file.
    Scope,
    /// A type without members, a macro: a chunk.
    Leaf,
    /// A constant, a variable, an enumeration of plain values: a `data` chunk, with its neighbours where it is small.
    Data,
}

/// A definition that a hook found.
pub(crate) struct Found {
    pub(crate) symbol: SymbolKind,
    pub(crate) shape: Shape,
    /// Where its name is.
    pub(crate) name: Range<usize>,
    /// Where the name of its container is, for methods that are written outside of their type.
    pub(crate) container: Option<Range<usize>>,
}

/// Where in a node the name is.
#[derive(Clone, Copy)]
pub(crate) enum At {
    /// The child in this field.
    Field(&'static str),
    /// The first child of this kind.
    Kind(&'static str),
    /// The first child of one of these kinds.
    Kinds(&'static [&'static str]),
    /// The node itself.
    Whole,
}

impl At {
    pub(crate) fn find(self, node: Node<'_>) -> Option<Range<usize>> {
        match self {
            Self::Field(name) => node.child_by_field_name(name).map(|child| child.byte_range()),
            Self::Kind(kind) => first_of(node, kind).map(|child| child.byte_range()),
            Self::Kinds(kinds) => {
                children(node).find(|child| kinds.contains(&child.kind())).map(|child| child.byte_range())
            }
            Self::Whole => Some(node.byte_range()),
        }
    }
}

/// A definition whose name is in the field `name`.
pub(crate) const fn define(symbol: SymbolKind, shape: Shape) -> Role {
    Role::Define(symbol, shape, At::Field("name"))
}

/// A member whose name is in the field `name`.
pub(crate) const fn field() -> Role {
    Role::Field(At::Field("name"))
}

/// For imports of one thing.
pub(crate) fn count_one(_: &Source<'_>, _: Node<'_>) -> u32 {
    1
}

/// The first child of a kind.
pub(crate) fn first_of<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    children(node).find(|child| child.kind() == kind)
}

/// The bytes of the child in a field.
pub(crate) fn range(node: Node<'_>, field: &str) -> Option<Range<usize>> {
    node.child_by_field_name(field).map(|child| child.byte_range())
}

/// The children of a node, first to last.
pub(crate) fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut cursor = node.walk();
    let mut more = cursor.goto_first_child();
    std::iter::from_fn(move || {
        let child = more.then(|| cursor.node());
        more = more && cursor.goto_next_sibling();
        child
    })
}
