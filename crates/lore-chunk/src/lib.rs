//! Source text into chunks, symbols and tags; one file for each language.
//!
//! [`Chunker::chunk`] takes the bytes of one file and gives a [`Chunked`]: pieces that partition the bytes at line
//! borders, the definitions that were found, and the tags that a document gives itself. What the language of a file is,
//! [`Language::of`] says.
//!
//! The same bytes always give the same chunks: the index keeps them by content, and from whichever machine or moment
//! they came, they must be equal. So nothing here looks at a clock or at other files, and what limits the work counts
//! steps, not seconds. No other crate names tree-sitter.
//!
//! To add a language, see [`languages`]: one file and one row.
#![forbid(unsafe_code)]

#[cfg(test)]
mod any_bytes;
mod chunked;
mod encoding;
mod engine;
mod language;
pub mod languages;
mod overview;
mod plain;

pub use chunked::{Chunk, Chunked, Symbol};
pub use encoding::{Encoding, is_binary, is_utf16};
pub use engine::Chunker;
pub use language::Language;
pub use overview::symbols_text;
pub use plain::Plain;
