//! What Lore asks of its storage: one trait per domain, values in and out, no word of how.
//!
//! Every backend passes [`conformance`]. Nothing here assumes SQLite; a backend may be a server elsewhere, so every call is async.
#![forbid(unsafe_code)]

pub mod conformance;
mod error;
mod history;
mod patch;

pub use error::StoreError;
pub use history::{
    AuthorAlias, CommitDetail, CommitHit, CommitMatches, CommitQuery, HistoryStore, HistoryWriter, IndexSize,
    PatchText, SyncEnd, TouchHit, TouchQuery,
};

pub use patch::{PatchPacker, unpack_patch};

/// The result of a call to a store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;
