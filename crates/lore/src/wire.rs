//! Puts the parts together: the only place that picks a backend.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use lore_commands::Commands;
use lore_core::LoreOptions;
use lore_core::{
    Lore, SystemClock,
    search::{ProjectIgnore, Second, Settings},
};
use lore_git::{Git, RemotePolicy};
use lore_model::{Cancel, Code, Failure};
use lore_store::TeamStore as _;
use lore_store_embedded::{EmbeddedMessages, EmbeddedStore, EmbeddedTeam};
use lore_team::{Team, TeamSettings};

use crate::{config::Loaded, environment};

/// The product over the index in the configured home, with the model that is configured besides the built-in one.
pub(crate) fn lore(loaded: &Loaded, second: Option<Second>) -> Arc<Lore> {
    let store = Arc::new(EmbeddedStore::new(&loaded.home));
    free_unused_caches(&store);
    let settings = Settings {
        ignore: loaded.config.ignore.clone(),
        user_excludes: environment::home()
            .map(|home| lore_git::user_excludes(&home, environment::folder("XDG_CONFIG_HOME").as_deref())),
        project_ignore: Some(ProjectIgnore::new(crate::cortex::FILE, crate::cortex::ignored)),
        ..Settings::default()
    };
    let options = LoreOptions {
        git: Git::new(&loaded.config.git),
        second,
        settings,
        inbox: environment::bridge_inbox(),
        ..LoreOptions::default()
    };
    let messages = Arc::new(EmbeddedMessages::new(&loaded.home));
    Arc::new(Lore::new(&loaded.home, store, messages, options))
}

/// The prompt commands of this machine's user.
pub(crate) fn commands() -> Arc<Commands> {
    Arc::new(Commands::new(environment::home()))
}

/// What is wrong with what is kept of a team in this folder.
pub(crate) fn check_team(data: &Path) -> Result<Vec<String>, Failure> {
    EmbeddedTeam::new(data).check_all().map_err(lore_team::team_failure)
}

/// What is decided about a team where it is opened.
#[derive(Default)]
pub(crate) struct TeamOptions {
    /// What may be cloned.
    pub(crate) policy: RemotePolicy,
    /// How it is run.
    pub(crate) settings: TeamSettings,
}

/// Views that a server keeps at hand: those of the repositories and branches that its users ask about at a time. Each takes
/// some bytes for each file and chunk that it shows.
const SERVER_VIEWS: usize = 32;

/// Bytes of texts that a server keeps unpacked: some six million lines.
const SERVER_TEXTS: u64 = 256 << 20;

/// The team whose data is in this folder. Nothing of the machine's own user counts there.
pub(crate) fn team(loaded: &Loaded, data: &Path, options: TeamOptions) -> Arc<Team> {
    let store = Arc::new(EmbeddedStore::with_text_memory(data, SERVER_TEXTS));
    free_unused_caches(&store);
    let lore_options = LoreOptions {
        git: Git::new(&loaded.config.git),
        settings: Settings { ignore: loaded.config.ignore.clone(), views: SERVER_VIEWS, ..Settings::default() },
        policy: Some(options.policy),
        ..LoreOptions::default()
    };
    let lore = Lore::new(data, store, Arc::new(EmbeddedMessages::new(data)), lore_options);
    let store = Arc::new(EmbeddedTeam::new(data));
    Arc::new(Team::new(store, Arc::new(lore), Arc::new(SystemClock), options.settings))
}

/// The folder of the server on this machine, where none is named.
pub(crate) fn server_folder(home: &Path) -> PathBuf {
    home.join("server")
}

/// Sees to it that no other program does the jobs in a server's folder, for as long as this is kept; none where one does.
pub(crate) fn lock_data(data: &Path) -> Result<Option<File>, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Code::NoAccess, format!("the server's folder {} cannot be used: {error}", data.display()))
            .hint("choose another one with `--data DIR`")
    };
    lore_store_embedded::make_home(data).map_err(failed)?;
    let path = data.join("server.lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// A cache that no query has used for this long is freed.
const UNUSED: Duration = Duration::from_secs(20);

/// Frees the caches of a store whenever no query comes for a while, as long as the store is there.
fn free_unused_caches(store: &Arc<EmbeddedStore>) {
    let store = Arc::downgrade(store);
    thread::spawn(move || {
        while Cancel::default().sleep(UNUSED)
            && let Some(store) = store.upgrade()
        {
            store.free_unused();
        }
    });
}
