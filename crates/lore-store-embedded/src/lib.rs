//! The embedded storage backend: one SQLite file (WAL) that many processes read while one writes.
//!
//! SQL and migrations live here and nowhere else. What to store is decided above.
#![forbid(unsafe_code)]

mod anew;
mod co_change;
mod code;
mod commitmux;
mod db;
mod error;
mod fts_query;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod history_read;
mod history_write;
mod lock;
mod messages;
mod migrate;
mod rows;
mod sums;
mod team;
mod truth;
mod vectors;
mod writer;

pub use commitmux::{CommitmuxRepo, read_commitmux};
pub use db::{EmbeddedStore, make_home};
pub use messages::EmbeddedMessages;
pub use team::EmbeddedTeam;
