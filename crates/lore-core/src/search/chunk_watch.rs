//! Notices that chunk files changed, and waits until their writer has finished.
//!
//! It reads no file: what it watches is [`Watched`].

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use lore_model::{Cancel, Signal};
use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, AccessMode},
};

/// Files are reloaded once nothing has changed for this long: an indexer writes several, one after the other.
const DEBOUNCE: Duration = Duration::from_millis(500);

/// Files that never stop changing are reloaded this often.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often files are looked at where the system reports no changes.
const POLL: Duration = Duration::from_secs(2);

/// Files that are reloaded when they change.
pub(super) trait Watched {
    /// How the files look: another value where they are others.
    type Look: PartialEq;

    /// Looks at the files.
    fn look(&self) -> Self::Look;

    /// Reloads the files; whether only another change can make another try worthwhile.
    fn reload(&self) -> bool;
}

/// What reports changes, and the time that it lives in.
pub(super) trait Events {
    /// Watches the folder, if it is not watched yet and exists.
    fn begin(&mut self);

    /// Watches the folder of that name again: another one may have replaced the one that was watched.
    fn renew(&mut self);

    /// Waits for an event, at most this long. Returns whether there was one; `None` when it is to end.
    fn changed_within(&mut self, limit: Duration) -> Option<bool>;

    /// The time since some moment.
    fn now(&self) -> Duration;
}

/// A folder whose files are watched while it exists.
pub(super) struct Watch {
    folder: PathBuf,
    watcher: Option<RecommendedWatcher>,
    watched: bool,
    changes: Signal,
    /// The last change that was looked at.
    seen: u64,
    cancel: Cancel,
    start: Instant,
}

impl Watch {
    /// Watches the files of these names until cancelled.
    pub(super) fn new(folder: &Path, names: &'static [&'static str], cancel: &Cancel) -> Self {
        let changes = Signal::default();
        let (notified, place) = (changes.clone(), folder.to_owned());
        let notice = move |event: notify::Result<Event>| {
            if event.map_or(true, |event| is_change(&event, &place, names)) {
                notified.notify();
            }
        };
        let watcher = RecommendedWatcher::new(notice, notify::Config::default());
        if let Err(error) = &watcher {
            tracing::debug!(%error, "the system reports no changes: the chunk files are polled");
        }
        let (folder, cancel) = (folder.to_owned(), cancel.clone());
        Self { folder, watcher: watcher.ok(), watched: false, changes, seen: 0, cancel, start: Instant::now() }
    }
}

impl Events for Watch {
    fn begin(&mut self) {
        if let Some(watcher) = self.watcher.as_mut().filter(|_| !self.watched) {
            self.watched = watcher.watch(&self.folder, RecursiveMode::NonRecursive).is_ok();
        }
    }

    fn renew(&mut self) {
        if let Some(watcher) = self.watcher.as_mut().filter(|_| self.watched) {
            self.watched = false;
            if let Err(error) = watcher.unwatch(&self.folder) {
                tracing::trace!(%error, "the folder was no longer watched");
            }
        }
        self.begin();
    }

    fn changed_within(&mut self, limit: Duration) -> Option<bool> {
        let last = self.changes.wait(self.seen, Some(limit), &self.cancel);
        let before = std::mem::replace(&mut self.seen, last);
        (!self.cancel.is_cancelled()).then_some(self.seen != before)
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

/// Waits until the files have not changed for [`DEBOUNCE`], at most [`PATIENCE`]; `None` when it is to end.
///
/// Where the system reports changes, its events alone decide: how the files looked at the first one says nothing, since
/// their writer had only begun. Where it does not, how they look does.
fn settle<W: Watched>(events: &mut impl Events, files: &W, mut noticed: bool, mut seen: W::Look) -> Option<()> {
    let deadline = events.now() + PATIENCE;
    while events.now() < deadline {
        if events.changed_within(DEBOUNCE)? {
            noticed = true;
            continue;
        }
        let now = files.look();
        if noticed || now == seen {
            break;
        }
        seen = now;
    }
    Some(())
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

/// Reloads the files each time they have changed and settled, until `events` end.
pub(super) fn follow<W: Watched>(mut events: impl Events, files: &W, loaded: W::Look) -> Option<()> {
    let (mut seen, mut noticed) = (Some(loaded), false);
    loop {
        events.begin();
        let now = files.look();
        if seen.as_ref() == Some(&now) {
            noticed = events.changed_within(POLL)?;
            continue;
        }
        settle(&mut events, files, noticed, now)?;
        // From here on changes are noticed again, so none is lost while the files are read.
        events.renew();
        let at = files.look();
        seen = files.reload().then_some(at);
        noticed = seen.is_none() && events.changed_within(POLL)?;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use notify::event::{CreateKind, ModifyKind, RemoveKind, RenameMode};

    use super::*;

    /// Files that differ after each of these moments, in a time that only waiting lets pass (milliseconds).
    struct Script {
        now: Cell<u64>,
        changes: Vec<u64>,
        reloads: RefCell<Vec<u64>>,
        /// So many reloads are to be tried again.
        failing: usize,
    }

    /// The changes of a script, as the system reports them or not.
    struct Scripted<'a> {
        script: &'a Script,
        is_reported: bool,
        until: u64,
        /// How many changes were reported.
        reported: usize,
    }

    impl Script {
        fn new(changes: Vec<u64>) -> Self {
            Self { now: Cell::new(0), changes, reloads: RefCell::default(), failing: 0 }
        }

        fn happened(&self) -> usize {
            self.changes.iter().filter(|at| **at <= self.now.get()).count()
        }

        fn run(self, is_reported: bool, until: u64) -> Vec<u64> {
            let events = Scripted { script: &self, is_reported, until, reported: 0 };
            assert_eq!(follow(events, &self, 0), None);
            self.reloads.into_inner()
        }
    }

    impl Events for Scripted<'_> {
        fn begin(&mut self) {}

        fn renew(&mut self) {}

        fn changed_within(&mut self, limit: Duration) -> Option<bool> {
            let Script { now, changes, .. } = self.script;
            let end = now.get() + u64::try_from(limit.as_millis()).unwrap();
            // Changes that are not looked at yet are one event.
            let next = changes.get(self.reported).map(|at| *at.max(&now.get()));
            let event = next.filter(|at| self.is_reported && *at <= end);
            now.set(event.unwrap_or(end));
            self.reported = self.script.happened();
            (now.get() <= self.until).then_some(event.is_some())
        }

        fn now(&self) -> Duration {
            Duration::from_millis(self.script.now.get())
        }
    }

    impl Watched for Script {
        type Look = usize;

        fn look(&self) -> usize {
            self.happened()
        }

        fn reload(&self) -> bool {
            let mut reloads = self.reloads.borrow_mut();
            reloads.push(self.now.get());
            reloads.len() > self.failing
        }
    }

    fn reloads(changes: &[u64], reported: bool, until: u64) -> Vec<u64> {
        Script::new(changes.to_vec()).run(reported, until)
    }

    #[test]
    fn files_are_reloaded_500_ms_after_the_last_event_each_time() {
        // Each file is emptied and then written; four files follow each other.
        let written = |at: u64| [0, 2, 50, 52, 120, 122, 300, 302].map(|after| at + after);
        let changes = [written(100), written(3000), written(4000), written(9123)].concat();
        assert_eq!(reloads(&changes, true, 12_000), [902, 3802, 4802, 9925]);
    }

    #[test]
    fn files_that_are_rewritten_every_1500_ms_are_reloaded_after_each_time() {
        let changes: Vec<u64> = (1..=8).flat_map(|round| [1500 * round, 1500 * round + 10]).collect();
        let expected: Vec<u64> = (1..=8).map(|round| 1500 * round + 510).collect();
        assert_eq!(reloads(&changes, true, 14_000), expected);
    }

    #[test]
    fn files_that_never_stop_changing_are_reloaded_all_the_same() {
        let changes: Vec<u64> = (1..=150).map(|round| 100 * round).collect();
        let reloads = reloads(&changes, true, 20_000);
        let gaps: Vec<u64> = reloads.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let most = u64::try_from((PATIENCE + DEBOUNCE).as_millis()).unwrap();
        assert!(reloads.len() >= 3 && reloads[0] <= most && gaps.iter().all(|gap| *gap <= most), "{reloads:?}");
        assert_eq!(reloads.last(), Some(&15_500), "the last state is read");
    }

    #[test]
    fn where_the_system_reports_no_changes_files_are_polled() {
        // Found by the look after 2 s, while the files are still being written.
        assert_eq!(reloads(&[1900, 2100], false, 10_000), [3000]);
        assert_eq!(reloads(&[], false, 10_000), Vec::<u64>::new());
    }

    #[test]
    fn a_reload_that_is_to_be_repeated_is_repeated_without_a_change() {
        let script = Script { failing: 2, ..Script::new(vec![0]) };
        assert_eq!(script.run(false, 60_000).len(), 3);
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
