//! Why code is as it is: the commits that shaped lines, what reviewers said there, and what changes together.
//!
//! A joint like `flows`: it asks history, git and messages, and knows none of their insides. What it does with their answers
//! is pure: lines (`lines.rs`), hunks (`patch.rs`), keys of issues (`keys.rs`).

mod co_change;
mod explain;
mod file;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod keys;
mod lines;
mod patch;
mod tried;

pub use co_change::{CoChangeAnswer, CoChangeRequest, CoChanged, LIMIT_MAX, MAX_FILES, OtherCommit, OtherRepo};
pub use explain::{COMMITS_MAX, Disk, ExplainRequest, Explained, Origin, Shaped};
pub use file::{FileAt, FileRequest};
pub use lines::{parse_lines, shown};
pub use patch::Hunk;
pub use tried::{Reverted, Tried, TriedRequest};
