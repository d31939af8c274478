//! What all languages share: parsing, finding definitions, and cutting the file between them.
//!
//! A file goes through three steps. [`walk`] finds the items of a syntax tree by the language's rules. [`partition`]
//! decides where to cut: one definition for a chunk, small neighbours together, large ones at their statements.
//! [`outline`] turns the cuts into chunks. Documents and files without a grammar have scanners of their own in place of
//! the first two. Nothing here recurses deeper than items may nest ([`walk::DEEPEST`]), whatever the file holds.

mod document;
mod lines;
mod outline;
mod partition;
mod rules;
mod source;
mod split;
mod tags;
mod tree;
mod walk;

use std::ops::Range;

use crate::{Chunked, Language, Plain, language::Method, plain::Prose};

pub(crate) use document::{Document, Heading, Page};
pub(crate) use lines::cut as cut_lines;
pub(crate) use outline::{Draft, Outline};
pub(crate) use rules::{
    At, Change, Found, Role, Sees, Shape, Spec, children, count_one, define, field, first_of, range,
};
pub(crate) use source::Source;
pub(crate) use tags::{frontmatter, hashtags};

/// Cuts files. It keeps a parser for each language it has met, so give each thread its own and use it again.
#[derive(Default)]
pub struct Chunker {
    trees: tree::Trees,
}

impl Chunker {
    /// A chunker that has not loaded any grammar yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cuts a file. The bytes should be text: ask [`is_binary`](crate::is_binary) before.
    pub fn chunk(&mut self, language: Language, path: &str, bytes: &[u8]) -> Chunked {
        let prose = if language.is_documentation() { Prose::Yes } else { Prose::No };
        if let Some(plain) = Plain::of(path, bytes, prose) {
            let source = Source::without_lines(bytes);
            return Chunked { plain: Some(plain), ..lines::outline(&source, language.0.method.kind()).finish(&source) };
        }
        let source = Source::new(bytes);
        let outline = match language.0.method {
            Method::Tree(_) => self.tree(language, &source, 0..bytes.len()),
            Method::Document(document) => Some(document::outline(document, &source)),
            Method::Own(own) => own(self, &source),
            Method::Lines(_) => None,
        };
        outline.unwrap_or_else(|| lines::outline(&source, language.0.method.kind())).finish(&source)
    }

    /// The syntax tree of a file, for people who write rules; `None` where there is no grammar.
    pub fn tree_text(&mut self, language: Language, bytes: &[u8]) -> Option<String> {
        let Method::Tree(spec) = language.0.method else { return None };
        let tree = self.trees.load(language.name(), spec)?.read(bytes, 0..bytes.len())?;
        Some(tree::show(&tree, bytes))
    }

    /// Cuts a part of a file, which begins and ends at line borders, with a grammar. `None` where the parser gave up.
    pub(crate) fn tree(&mut self, language: Language, source: &Source<'_>, part: Range<usize>) -> Option<Outline> {
        let Method::Tree(spec) = language.0.method else { return None };
        let loaded = self.trees.load(language.name(), spec)?;
        let tree = loaded.read(source.bytes, part.clone())?;
        let walked = walk::walk(&tree, &loaded.rules, spec, source);
        // A tree of errors in which nothing was found is not a tree of this language.
        if !walked.found_definitions() && tree.root_node().has_error() {
            return None;
        }
        Some(partition::partition(&walked, spec, source, part))
    }
}
