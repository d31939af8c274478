//! Why a segment cannot be read, written or searched.

use std::io;

use lore_model::Cancelled;
use lore_store::ChunkId;

/// The situations; whoever knows the file adds its path.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// The bytes are not what was written.
    #[error("the segment is damaged: {0}")]
    Damaged(&'static str),
    /// The bytes were written in a form that this program does not know.
    #[error("the segment has format version {found}, this program knows version {known}")]
    Version {
        /// The version found.
        found: u32,
        /// The version that is written and read.
        known: u32,
    },
    /// A chunk of the view is in none of its segments.
    #[error("chunk {0} is in no segment")]
    Missing(ChunkId),
    /// The query that reads it was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The system said no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Cancelled> for SegmentError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}
