//! Tells when messages came, whichever process stored them.
//!
//! The database itself cannot tell: its log is written before the message can be read. So whoever has stored one rings,
//! by writing to a file that the others watch.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use notify::{RecursiveMode, Watcher as _};
use tokio::sync::watch;

/// What is written to.
const BELL: &str = "messages.bell";

/// How often it is looked at where the system does not tell of changes.
const POLL: Duration = Duration::from_millis(100);

/// Tells everybody who watches.
pub(super) fn ring(home: &Path) -> io::Result<()> {
    fs::write(home.join(BELL), b"\n")
}

/// The one watch of a process.
#[derive(Default)]
pub(super) struct Watched {
    started: Mutex<Option<Started>>,
}

struct Started {
    sender: watch::Sender<u64>,
    _watcher: Option<notify::RecommendedWatcher>,
}

impl Watched {
    /// Changes after each write, from now on.
    pub(super) fn start(&self, home: &Path) -> watch::Receiver<u64> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let started = started.get_or_insert_with(|| {
            let sender = watch::Sender::new(0);
            let watcher = match watch_folder(home, sender.clone()) {
                Ok(watcher) => Some(watcher),
                Err(error) => {
                    tracing::debug!(%error, "the system does not tell of new messages; they are looked for instead");
                    tokio::spawn(poll(home.to_owned(), sender.clone()));
                    None
                }
            };
            Started { sender, _watcher: watcher }
        });
        started.sender.subscribe()
    }
}

fn watch_folder(home: &Path, sender: watch::Sender<u64>) -> notify::Result<notify::RecommendedWatcher> {
    let is_ours = |path: &PathBuf| path.file_name().is_some_and(|name| name == BELL);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let concerns = match &event {
            Ok(event) => !event.kind.is_access() && (event.need_rescan() || event.paths.iter().any(is_ours)),
            Err(_) => true,
        };
        if concerns {
            sender.send_modify(|count| *count += 1);
        }
    })?;
    watcher.watch(home, RecursiveMode::NonRecursive)?;
    Ok(watcher)
}

/// Looks at the bell again and again.
async fn poll(home: PathBuf, sender: watch::Sender<u64>) {
    let look = || fs::metadata(home.join(BELL)).and_then(|meta| meta.modified()).ok();
    let mut seen = look();
    let mut ticks = tokio::time::interval(POLL);
    loop {
        ticks.tick().await;
        let now = look();
        if now != seen {
            seen = now;
            sender.send_modify(|count| *count += 1);
        }
    }
}
