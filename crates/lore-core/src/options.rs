//! Opening Lore over its stores.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use lore_embed::{Embedder, StaticModel};
use lore_git::{Git, RemotePolicy};
use lore_messages::Messages;
use lore_model::{Clock, SystemClock};
use lore_store::{IndexStore, MessageStore};

use crate::{
    Lore,
    history::{History, Places},
    search::{Search, Second, Settings},
};

/// How Lore is opened.
pub struct LoreOptions {
    /// The `git` program.
    pub git: Git,
    /// The model that indexes everything.
    pub embedder: Arc<dyn Embedder>,
    /// A configured model besides.
    pub second: Option<Second>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Settings of code search.
    pub settings: Settings,
    /// What may be cloned and fetched; without one, whatever a user names.
    pub policy: Option<RemotePolicy>,
    /// The file in which lazygit-mcp-bridge leaves its messages.
    pub inbox: Option<PathBuf>,
}

impl Default for LoreOptions {
    fn default() -> Self {
        Self {
            git: Git::new("git"),
            embedder: Arc::new(StaticModel::built_in()),
            second: None,
            clock: Arc::new(SystemClock),
            settings: Settings::default(),
            policy: None,
            inbox: None,
        }
    }
}

impl Lore {
    /// Opens Lore over an index and messages. Clones and the scratch repositories of git are kept below `home`.
    pub fn new(home: &Path, index: Arc<dyn IndexStore>, messages: Arc<dyn MessageStore>, options: LoreOptions) -> Self {
        let LoreOptions { git, embedder, second, clock, settings, policy, inbox } = options;
        let places = Places { clones: home.join("clones"), git: home.join("git") };
        let history = History::new(Arc::clone(&index) as _, git, places, Arc::clone(&clock)).with_policy(policy);
        let search = Search::new(index, embedder, Arc::clone(&clock), settings).with_second(second);
        let messages = Messages::new(messages, clock, inbox);
        Self { history: Arc::new(history), search: Arc::new(search), messages: Arc::new(messages) }
    }
}
