//! The embedded storage backend: one SQLite file (WAL) that many processes read while one writes.
//!
//! SQL and migrations live here and nowhere else. What to store is decided above.
#![forbid(unsafe_code)]

mod commitmux;
mod db;
mod error;
mod history_read;
mod history_write;
mod lock;
mod migrate;
mod rows;

pub use commitmux::{CommitmuxRepo, read_commitmux};
pub use db::EmbeddedStore;
