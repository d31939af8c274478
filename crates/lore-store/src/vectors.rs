//! Vectors of other models than the index's own: what a service or a transformer made of chunks, beside the index.
//!
//! A set holds the vectors of one model. Nothing that is searched depends on a set being there, or being complete.

use std::{collections::HashSet, fmt};

use crate::{ChunkId, Collected, Result};

/// The shortest and the longest vectors that a set may hold.
pub const SET_DIMENSIONS: std::ops::RangeInclusive<usize> = 8..=4096;

/// Names a text that was embedded, so that it is embedded once, whatever chunk it is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PassageKey(pub [u8; 16]);

impl fmt::Debug for PassageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What is kept of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorSet {
    /// The name of its vector space.
    pub model: String,
    /// The length of its vectors.
    pub dimensions: usize,
    /// How many there are.
    pub vectors: u64,
    /// Bytes on disk.
    pub bytes: u64,
}

/// A vector on its way into a set.
#[derive(Debug, Clone, PartialEq)]
pub struct NewVector {
    /// The chunk it is of.
    pub chunk: ChunkId,
    /// What was embedded.
    pub passage: PassageKey,
    /// The vector, of length 1, or all zero where the model knows nothing of the text.
    pub vector: Vec<f32>,
}

/// The vectors of one set for the chunks of one view, as they were when they were opened.
///
/// Calls keep the thread busy: make them where that does not matter.
pub trait ViewVectors: Send + Sync {
    /// The length of the vectors.
    fn dimensions(&self) -> usize;

    /// How many chunks of the view have a vector.
    fn covered(&self) -> usize;

    /// Whether a chunk of the view has a vector.
    fn covers(&self, chunk: ChunkId) -> bool;

    /// The cosines with the vectors of these chunks; `None` where a chunk has none, or `query` another length.
    fn cosines(&self, query: &[f32], chunks: &[ChunkId]) -> Vec<Option<f32>>;

    /// The nearest chunks, at most so many of those that are allowed, in no order. Which ones depends on vectors and
    /// texts alone, not on numbers.
    fn nearest(&self, query: &[f32], allowed: Option<&(dyn Fn(ChunkId) -> bool + Sync)>, top: usize) -> Vec<ChunkId>;
}

/// Reads sets. What a set has for a view is [`CodeView::vectors`](crate::CodeView::vectors).
pub trait VectorStore: Send + Sync {
    /// What there is, in order of names.
    fn vector_sets(&self) -> Result<Vec<VectorSet>>;

    /// Becomes the one who adds vectors, of all processes. This is not the writer of the index, which is free meanwhile.
    fn vector_writer(&self) -> Result<Box<dyn VectorWriter>>;
}

/// Writes sets. Each call is durable when it returns, and takes the writer's place for a moment only:
/// [`StoreError::Locked`](crate::StoreError::Locked) where somebody else has it, and the call can be made again.
pub trait VectorWriter: Send + Sync {
    /// Gives these chunks the vectors of the same texts that the set has already, and tells which ones got one.
    fn adopt(&self, model: &str, chunks: &[(ChunkId, PassageKey)]) -> Result<HashSet<ChunkId>>;

    /// Adds vectors to a set, which need not exist yet. All vectors of a set have one length.
    fn put_vectors(&self, model: &str, vectors: Vec<NewVector>) -> Result<()>;

    /// Removes a set; `None` where there is none, else what that freed.
    fn remove_set(&self, model: &str) -> Result<Option<Collected>>;

    /// Removes vectors of a set whose chunks no snapshot has any more. Cheap where there is little to do.
    ///
    /// Not before everything that is to be embedded is: a text that was read again is known by its old vector.
    fn collect_vectors(&self, model: &str) -> Result<Collected>;
}
