//! The product: what Lore knows, how it answers, and how it keeps itself fresh.
//!
//! It serves a command line, a server and tests alike: no SQL, no protocol, no environment, no printing here.
#![forbid(unsafe_code)]

pub mod browse;
mod clock;
pub mod commands;
mod failure;
pub mod files;
pub mod flows;
pub mod health;
pub mod history;
pub mod messages;
mod project;
pub mod search;
mod sync_progress;
pub mod team;
mod watch;
pub mod why;

use std::sync::Arc;

pub use clock::{Clock, SystemClock, rfc3339};
pub(crate) use clock::{millis, rfc3339_millis};
use commands::Commands;
pub use failure::{git_failure, store_failure, team_failure};
use history::History;
pub use lore_git::Cancel;
use messages::Messages;
pub use project::{Extent, FoundProject, IndexState, ProjectFolder};
use search::Search;

/// Everything that an agent or a person can ask.
pub struct Lore {
    /// Git history across repositories.
    pub history: Arc<History>,
    /// Code.
    pub search: Arc<Search>,
    /// What reviewers said.
    pub messages: Arc<Messages>,
    /// The team's commands.
    pub commands: Arc<Commands>,
}
