//! What a file is cut into.

use std::ops::Range;

use lore_model::{ChunkKind, SymbolKind};

use crate::{Encoding, Plain};

/// Everything that is known of one file from its bytes and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunked {
    /// Why the file has plain line chunks only, without names: it is not worth ranking.
    pub plain: Option<Plain>,
    /// How the bytes are read.
    pub decoded: Encoding,
    /// The package, module or namespace that the file declares.
    pub package: Option<String>,
    /// How many packages or files it imports.
    pub imports: u32,
    /// How many types it defines.
    pub types: u32,
    /// How many functions and methods it defines.
    pub functions: u32,
    /// Tags that a document gives itself, in its frontmatter and as `#hashtags`.
    pub tags: Vec<String>,
    /// Every definition found, in order of lines.
    pub symbols: Vec<Symbol>,
    /// A partition of the bytes: each begins where the former ended, at the start of a line. Empty for an empty file.
    pub chunks: Vec<Chunk>,
}

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name, never empty.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// What it is defined in: `Router`, or `outer::Inner`.
    pub container: Option<String>,
    /// Its first line, from 1; comments above are not counted.
    pub first_line: u32,
    /// Its last line.
    pub last_line: u32,
    /// How it is declared, in one line of at most 200 characters.
    pub signature: String,
}

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// What kind of text it is; never [`ChunkKind::Symbols`].
    pub kind: ChunkKind,
    /// Where it is in the file.
    pub bytes: Range<usize>,
    /// Its first line, from 1.
    pub first_line: u32,
    /// Its last line.
    pub last_line: u32,
    /// The one thing that it defines; `None` for a group of things and for text in between.
    pub name: Option<String>,
    /// What that is.
    pub symbol: Option<SymbolKind>,
    /// What it is part of: `Router` for a method, `Guide > Install` for a section.
    pub container: Option<String>,
    /// "n of m" where one large definition was split.
    pub part: Option<(u32, u32)>,
    /// All names defined in it, fields and small members included.
    pub names: Vec<String>,
    /// Where in the file its comments, docstrings and other prose are.
    pub prose: Vec<Range<usize>>,
}
