//! Puts the parts together: the only place that picks a backend.

use std::{path::Path, sync::Arc};

use lore_core::{
    Lore, SystemClock,
    history::{History, Places},
};
use lore_git::Git;
use lore_store_embedded::EmbeddedStore;

use crate::config::Loaded;

/// The product over the index in the configured home.
pub(crate) fn lore(loaded: &Loaded) -> Arc<Lore> {
    let store = Arc::new(EmbeddedStore::new(&loaded.home));
    let git = Git::new(&loaded.config.git);
    let history = History::new(store, git, places(&loaded.home), Arc::new(SystemClock));
    Arc::new(Lore { history: Arc::new(history) })
}

fn places(home: &Path) -> Places {
    Places { clones: home.join("clones"), git: home.join("git") }
}
