//! The product: what Lore knows, how it answers, and how it keeps itself fresh.
//!
//! It serves a command line, a server and tests alike: no SQL, no protocol, no environment, no printing here.
#![forbid(unsafe_code)]

pub mod browse;
pub mod files;
pub mod flows;
pub mod health;
pub mod history;
mod options;
mod project;
mod rfc3339;
pub mod search;
mod sync_progress;
mod watch;
pub mod why;
mod without_home;

use std::sync::Arc;

use history::History;
pub(crate) use lore_git::git_failure;
use lore_messages::Messages;
pub use lore_model::{Cancel, Clock, SystemClock};
pub(crate) use lore_store::store_failure;
pub use options::LoreOptions;
pub use project::{Extent, FoundProject, IndexState, ProjectFolder};
pub use rfc3339::rfc3339;
use search::Search;

/// Everything that an agent or a person can ask.
pub struct Lore {
    /// Git history across repositories.
    pub history: Arc<History>,
    /// Code.
    pub search: Arc<Search>,
    /// Review comments.
    pub messages: Arc<Messages>,
}
