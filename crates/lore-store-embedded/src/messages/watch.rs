//! Tells when messages came, whichever process stored them.
//!
//! The database itself cannot tell: its log is written before the message can be read. So whoever has stored one rings,
//! by writing to a file that the others watch.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use lore_model::{Cancel, Signal};
use notify::{RecursiveMode, Watcher as _};

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
    signal: Signal,
    _watcher: Option<notify::RecommendedWatcher>,
}

impl Watched {
    /// Notifies after each write, from now on.
    pub(super) fn start(&self, home: &Path) -> Signal {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let started = started.get_or_insert_with(|| {
            let signal = Signal::default();
            let watcher = match watch_folder(home, signal.clone()) {
                Ok(watcher) => Some(watcher),
                Err(error) => {
                    tracing::debug!(%error, "the system does not tell of new messages; they are looked for instead");
                    let (home, signal) = (home.to_owned(), signal.clone());
                    thread::spawn(move || poll(&home, &signal));
                    None
                }
            };
            Started { signal, _watcher: watcher }
        });
        started.signal.clone()
    }
}

fn watch_folder(home: &Path, signal: Signal) -> notify::Result<notify::RecommendedWatcher> {
    let is_ours = |path: &PathBuf| path.file_name().is_some_and(|name| name == BELL);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let concerns = match &event {
            Ok(event) => !event.kind.is_access() && (event.need_rescan() || event.paths.iter().any(is_ours)),
            Err(_) => true,
        };
        if concerns {
            signal.notify();
        }
    })?;
    watcher.watch(home, RecursiveMode::NonRecursive)?;
    Ok(watcher)
}

/// Looks at the bell again and again.
fn poll(home: &Path, signal: &Signal) {
    let look = || fs::metadata(home.join(BELL)).and_then(|meta| meta.modified()).ok();
    let mut seen = look();
    while Cancel::default().sleep(POLL) {
        let now = look();
        if now != seen {
            seen = now;
            signal.notify();
        }
    }
}
