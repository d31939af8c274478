//! Puts the parts together: the only place that picks a backend.

use std::{path::Path, sync::Arc};

use lore_core::{
    Lore, SystemClock,
    commands::Commands,
    history::{History, Places},
    messages::Messages,
    search::{ProjectIgnore, Search, Second, Settings},
};
use lore_embed::StaticModel;
use lore_git::Git;
use lore_store_embedded::{EmbeddedMessages, EmbeddedStore};

use crate::{config::Loaded, environment};

/// The product over the index in the configured home, with the model that is configured besides the built-in one.
pub(crate) fn lore(loaded: &Loaded, second: Option<Second>) -> Arc<Lore> {
    let store = Arc::new(EmbeddedStore::new(&loaded.home));
    let git = Git::new(&loaded.config.git);
    let history = History::new(Arc::clone(&store) as _, git, places(&loaded.home), Arc::new(SystemClock));
    let settings = Settings {
        ignore: loaded.config.ignore.clone(),
        user_excludes: environment::home()
            .map(|home| lore_git::user_excludes(&home, environment::folder("XDG_CONFIG_HOME").as_deref())),
        project_ignore: Some(ProjectIgnore::new(crate::cortex::FILE, crate::cortex::ignored)),
    };
    let search = Search::new(store, Arc::new(StaticModel::built_in()), Arc::new(SystemClock), settings);
    let messages = Messages::new(
        Arc::new(EmbeddedMessages::new(&loaded.home)),
        Arc::new(SystemClock),
        environment::bridge_inbox(),
    );
    Arc::new(Lore {
        history: Arc::new(history),
        search: Arc::new(search.with_second(second)),
        messages: Arc::new(messages),
        commands: Arc::new(Commands::new(environment::home())),
    })
}

fn places(home: &Path) -> Places {
    Places { clones: home.join("clones"), git: home.join("git") }
}
