//! Notices that chunk files changed, and waits until their writer has finished.
//!
//! It reads no file: what it watches is [`Watched`].

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, AccessMode},
};
use tokio::{sync::mpsc, time::Instant};

/// Files are reloaded once nothing has changed for this long: an indexer writes several, one after the other.
const DEBOUNCE: Duration = Duration::from_millis(500);

/// Files that never stop changing are reloaded this often.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often files are looked at where the system reports no changes.
const POLL: Duration = Duration::from_secs(2);

/// Files that are reloaded when they change.
pub(super) trait Watched: Sync {
    /// How the files look: another value where they are others.
    type Look: PartialEq + Send;

    /// Looks at the files.
    fn look(&self) -> impl Future<Output = Self::Look> + Send;

    /// Reloads the files; whether only another change can make another try worthwhile.
    fn reload(&self) -> impl Future<Output = bool> + Send;
}

/// A folder whose files are watched while it exists.
pub(super) struct Watch {
    folder: PathBuf,
    watcher: Option<RecommendedWatcher>,
    watched: bool,
    changes: mpsc::Receiver<()>,
    /// Kept open: without a watcher the channel would be closed, and waiting for a change would not wait.
    notifier: mpsc::Sender<()>,
}

impl Watch {
    /// Watches the files of these names.
    pub(super) fn new(folder: &Path, names: &'static [&'static str]) -> Self {
        let mut watch = Self::blind(folder);
        let (changes, folder) = (watch.notifier.clone(), folder.to_owned());
        let notice = move |event: notify::Result<Event>| {
            // A pending notification says as much as two.
            if event.map_or(true, |event| is_change(&event, &folder, names)) && changes.try_send(()).is_err() {}
        };
        match RecommendedWatcher::new(notice, notify::Config::default()) {
            Ok(watcher) => watch.watcher = Some(watcher),
            Err(error) => tracing::debug!(%error, "the system reports no changes: the chunk files are polled"),
        }
        watch
    }

    /// Receives no events.
    fn blind(folder: &Path) -> Self {
        let (notifier, changes) = mpsc::channel(1);
        Self { folder: folder.to_owned(), watcher: None, watched: false, changes, notifier }
    }

    /// Waits for an event, at most this long; whether there was one.
    async fn changed_within(&mut self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.changes.recv()).await.is_ok()
    }

    fn begin(&mut self) {
        if let Some(watcher) = self.watcher.as_mut().filter(|_| !self.watched) {
            self.watched = watcher.watch(&self.folder, RecursiveMode::NonRecursive).is_ok();
        }
    }

    /// Watches the folder of that name again: another one may have replaced the one that was watched.
    fn renew(&mut self) {
        if let Some(watcher) = self.watcher.as_mut().filter(|_| self.watched) {
            self.watched = false;
            if let Err(error) = watcher.unwatch(&self.folder) {
                tracing::trace!(%error, "the folder was no longer watched");
            }
        }
        self.begin();
    }

    /// Waits until the files have not changed for [`DEBOUNCE`], at most [`PATIENCE`].
    ///
    /// Where the system reports changes, its events alone decide: how the files looked at the first one says nothing, since
    /// their writer had only begun. Where it does not, how they look does.
    async fn settle<W: Watched>(&mut self, files: &W, mut noticed: bool, mut seen: W::Look) {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if self.changed_within(DEBOUNCE).await {
                noticed = true;
                continue;
            }
            let now = files.look().await;
            if noticed || now == seen {
                return;
            }
            seen = now;
        }
    }
}

/// Whether an event may change what the files say. Reading them does not.
fn is_change(event: &Event, folder: &Path, names: &[&str]) -> bool {
    if let EventKind::Access(access) = event.kind
        && access != AccessKind::Close(AccessMode::Write)
    {
        return false;
    }
    let concerns = |path: &PathBuf| {
        let name = path.file_name();
        name == folder.file_name() || names.iter().any(|known| name == Some(OsStr::new(known)))
    };
    event.paths.is_empty() || event.paths.iter().any(concerns)
}

/// Reloads the files each time they have changed and settled, until dropped.
pub(super) async fn follow<W: Watched>(mut watch: Watch, files: &W, loaded: W::Look) {
    let (mut seen, mut noticed) = (Some(loaded), false);
    loop {
        watch.begin();
        let now = files.look().await;
        if seen.as_ref() == Some(&now) {
            noticed = watch.changed_within(POLL).await;
            continue;
        }
        watch.settle(files, noticed, now).await;
        // From here on changes are noticed again, so none is lost while the files are read.
        watch.renew();
        let at = files.look().await;
        seen = files.reload().await.then_some(at);
        noticed = seen.is_none() && watch.changed_within(POLL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use notify::event::{CreateKind, ModifyKind, RemoveKind, RenameMode};

    use super::*;

    /// Files that differ after each of these moments (milliseconds after the start).
    struct Script {
        start: Instant,
        changes: Vec<u64>,
        reloads: Mutex<Vec<u64>>,
        /// So many reloads are to be tried again.
        failing: usize,
    }

    impl Script {
        fn new(changes: Vec<u64>) -> Self {
            Self { start: Instant::now(), changes, reloads: Mutex::default(), failing: 0 }
        }

        fn moment(&self, at: u64) -> Instant {
            self.start + Duration::from_millis(at)
        }

        /// Follows the files until this moment and gives the moments of reloads. Where the system reports changes, each comes
        /// with an event.
        async fn run(self, reported: bool, until: u64) -> Vec<u64> {
            let watch = Watch::blind(Path::new("chunks"));
            let notifier = watch.notifier.clone();
            let report = async {
                for at in self.changes.iter().filter(|_| reported) {
                    tokio::time::sleep_until(self.moment(*at)).await;
                    if notifier.try_send(()).is_err() {}
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = follow(watch, &self, 0) => {}
                () = report => {}
                () = tokio::time::sleep_until(self.moment(until)) => {}
            }
            self.reloads.into_inner().unwrap()
        }
    }

    impl Watched for Script {
        type Look = usize;

        async fn look(&self) -> usize {
            self.changes.iter().filter(|at| Instant::now() >= self.moment(**at)).count()
        }

        async fn reload(&self) -> bool {
            let mut reloads = self.reloads.lock().unwrap();
            reloads.push(u64::try_from(self.start.elapsed().as_millis()).unwrap());
            reloads.len() > self.failing
        }
    }

    async fn reloads(changes: &[u64], reported: bool, until: u64) -> Vec<u64> {
        Script::new(changes.to_vec()).run(reported, until).await
    }

    #[tokio::test(start_paused = true)]
    async fn files_are_reloaded_500_ms_after_the_last_event_each_time() {
        // Each file is emptied and then written; four files follow each other.
        let written = |at: u64| [0, 2, 50, 52, 120, 122, 300, 302].map(|after| at + after);
        let changes = [written(100), written(3000), written(4000), written(9123)].concat();
        assert_eq!(reloads(&changes, true, 12_000).await, [902, 3802, 4802, 9925]);
    }

    #[tokio::test(start_paused = true)]
    async fn files_that_are_rewritten_every_1500_ms_are_reloaded_after_each_time() {
        let changes: Vec<u64> = (1..=8).flat_map(|round| [1500 * round, 1500 * round + 10]).collect();
        let expected: Vec<u64> = (1..=8).map(|round| 1500 * round + 510).collect();
        assert_eq!(reloads(&changes, true, 14_000).await, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn files_that_never_stop_changing_are_reloaded_all_the_same() {
        let changes: Vec<u64> = (1..=150).map(|round| 100 * round).collect();
        let reloads = reloads(&changes, true, 20_000).await;
        let gaps: Vec<u64> = reloads.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let most = u64::try_from((PATIENCE + DEBOUNCE).as_millis()).unwrap();
        assert!(reloads.len() >= 3 && reloads[0] <= most && gaps.iter().all(|gap| *gap <= most), "{reloads:?}");
        assert_eq!(reloads.last(), Some(&15_500), "the last state is read");
    }

    #[tokio::test(start_paused = true)]
    async fn where_the_system_reports_no_changes_files_are_polled() {
        // Found by the look after 2 s, while the files are still being written.
        assert_eq!(reloads(&[1900, 2100], false, 10_000).await, [3000]);
        assert_eq!(reloads(&[], false, 10_000).await, Vec::<u64>::new());
    }

    #[tokio::test(start_paused = true)]
    async fn a_reload_that_is_to_be_repeated_is_repeated_without_a_change() {
        let script = Script { failing: 2, ..Script::new(vec![0]) };
        assert_eq!(script.run(false, 60_000).await.len(), 3);
    }

    #[test]
    fn reading_the_files_or_writing_others_is_no_change() {
        let change = |kind: EventKind, paths: &[&str]| {
            let event = paths.iter().fold(Event::new(kind), |event, path| event.add_path(PathBuf::from(path)));
            is_change(&event, Path::new("/p/chunks"), &["code-data.json", "doc-chunks.json"])
        };
        let data = "/p/chunks/code-data.json";
        let written = EventKind::Access(AccessKind::Close(AccessMode::Write));
        for kind in [
            EventKind::Create(CreateKind::File),
            EventKind::Modify(ModifyKind::Any),
            EventKind::Remove(RemoveKind::File),
            written,
        ] {
            assert!(change(kind, &[data]), "{kind:?}");
            assert!(!change(kind, &["/p/chunks/generator-output.json"]), "{kind:?}");
        }
        for mode in [AccessMode::Any, AccessMode::Read] {
            assert!(!change(EventKind::Access(AccessKind::Open(mode)), &[data]));
            assert!(!change(EventKind::Access(AccessKind::Close(mode)), &[data]));
        }
        let renamed = EventKind::Modify(ModifyKind::Name(RenameMode::Both));
        assert!(change(renamed, &["/p/chunks/code-data.json.tmp", data]));
        assert!(change(EventKind::Remove(RemoveKind::Folder), &["/p/chunks"]), "the folder itself");
        assert!(change(EventKind::Other, &[]), "the system lost count of the changes");
    }
}
