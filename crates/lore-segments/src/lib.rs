//! Segments: immutable files that hold everything derived from a set of chunks, and views that search them.
//!
//! A [`SegmentBuilder`] takes [`Prepared`] chunks and gives the bytes of a segment. [`Segment`] reads such bytes,
//! mapped from a file or held in memory: uncommitted files are a segment like any other. [`merge`] joins segments and
//! leaves dead chunks out. A [`View`] is a set of chunks over some segments and answers questions about exactly these.
//!
//! Every number that scores is computed within the view, in an order that the layout of segments cannot change: an
//! index that grew piece by piece answers bit for bit like a fresh one.
//!
//! Which segments and chunks exist is not decided here: that is a transaction of the database.
#![deny(unsafe_code)]

mod bits;
mod builder;
mod bytes;
mod dictionary;
mod error;
mod kernels;
mod layout;
mod lengths;
mod map;
mod merge;
mod near;
mod nearest;
mod pack;
mod postings;
mod prepare;
mod publish;
mod search;
mod segment_file;
mod temporal;
mod term_table;
mod text_cache;
mod texts;
mod trigrams;
mod trigrams_coding;
mod trigrams_read;
mod vector_file;
mod vectors;
mod view;

#[cfg(test)]
mod tests;

pub use builder::SegmentBuilder;
pub use error::SegmentError;
pub use kernels::{WIDE_STEP, dot_wide};
pub use map::Bytes;
pub use merge::merge;
pub use pack::{
    Damaged, PackedFile, pack_entries, pack_files, pack_left_out, unpack_entries, unpack_files, unpack_left_out,
};
pub use prepare::{Prepared, Scratch};
pub use publish::{make_folder, remove_unnamed, sync_parent, write_atomically};
pub use segment_file::Segment;
pub use temporal::{Past, PastPath, Version};
pub use text_cache::{TEXT_MEMORY, TextCache};
pub use vector_file::{Row, VectorFile, encode, quantise};
pub use view::View;

/// The result of a call in this module.
pub type Result<T, E = SegmentError> = std::result::Result<T, E>;
