//! Settings and lists without a grammar of their own: runs of lines. What formats of settings with a grammar share is
//! here, too.

use std::ops::Range;

use lore_model::{ChunkKind, SymbolKind};
use tree_sitter::Node;

use crate::{
    engine::{Found, Shape, Source},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "config",
    extensions: &["ini", "cfg", "conf", "cnf", "properties", "env", "csv", "tsv", "desktop", "service", "jsonl", "ndjson"],
    files: &[
        ".dockerignore",
        ".editorconfig",
        ".env",
        ".eslintignore",
        ".gitattributes",
        ".gitconfig",
        ".gitignore",
        ".gitmodules",
        ".npmignore",
        ".npmrc",
        ".prettierignore",
        "CODEOWNERS",
        "Procfile",
        "constraints.txt",
        "go.mod",
        "go.work",
        "requirements.txt",
        "robots.txt",
    ],
    method: Method::Lines(ChunkKind::Data),
    ..Row::LINES
};

/// How deep in a file a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Top,
    /// In a value of the top.
    Second,
    /// Deeper, or in a list.
    Deep,
}

/// Sections of fewer lines stay with their neighbours.
const SHORT: usize = 4;

/// A file of no more than this is one chunk.
const SMALL_LINES: usize = 40;
const SMALL_BYTES: usize = 1_600;

/// In files with more lines than this, keys of the second level are sections as well.
const LARGE_LINES: usize = 80;

/// A key with its value. The level is asked for long values only: short ones that are not at the top are data inside of
/// a definition, which the engine leaves to the definition.
pub(crate) fn section(
    source: &Source<'_>,
    node: Node<'_>,
    name: Range<usize>,
    level: impl Fn(Node<'_>) -> Level,
) -> Option<Found> {
    let lines = node.end_position().row - node.start_position().row + 1;
    let is_small = source.line_count() <= SMALL_LINES && source.bytes.len() <= SMALL_BYTES;
    let shape = if lines < SHORT || is_small {
        Shape::Data
    } else {
        match level(node) {
            Level::Top => Shape::Function,
            Level::Second if source.line_count() > LARGE_LINES => Shape::Function,
            _ => return None,
        }
    };
    Some(Found { symbol: SymbolKind::Section, shape, name, container: None })
}

/// Keys of the second level are no deeper in a tree than this.
const DEEPEST: usize = 12;

/// The level of a pair in a tree of pairs and lists.
pub(crate) fn level(source: &Source<'_>, node: Node<'_>, pair: &str, list: &str) -> Level {
    if source.depth() > DEEPEST {
        return Level::Deep;
    }
    let mut above = node;
    let mut level = Level::Top;
    while let Some(parent) = above.parent() {
        if parent.kind() == list || (parent.kind() == pair && level == Level::Second) {
            return Level::Deep;
        }
        if parent.kind() == pair {
            level = Level::Second;
        }
        above = parent;
    }
    level
}
