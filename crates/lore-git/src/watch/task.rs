//! The thread that collects what the system reports, and keeps its watches.

use std::{
    collections::{BTreeSet, HashSet},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, SyncSender},
    },
    time::{Duration, Instant},
};

use gix::bstr::ByteSlice as _;
use lore_model::RepoPath;
use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::{
    Event, WatchOptions, Watching, remote,
    report::{GitPart, Report, part_of_git_dir, repo_path, report},
};
use crate::{
    RefProbe, Repository, Result,
    sieve::{Counted, Sieve},
};

/// Whether a watch covers the folders below, so that one is enough.
const COVERS_ALL: bool = !cfg!(any(target_os = "linux", target_os = "android"));

/// When the system loses count again within so many polls, that was not by chance.
const IN_A_ROW: u32 = 12;

/// So often the pause doubles at most: from five seconds to some ten minutes.
const MAX_DOUBLINGS: u32 = 7;

#[derive(Default)]
struct Pending {
    paths: BTreeSet<Vec<u8>>,
    refs: bool,
    rescan: bool,
    /// The system has lost count.
    overflow: bool,
    /// When the first and the last of them came.
    since: Option<(Instant, Instant)>,
}

/// What the thread shares with others.
pub(super) struct Channels {
    pub(super) outbox: SyncSender<Event>,
    pub(super) reports: mpsc::SyncSender<Report>,
    pub(super) status: Arc<Mutex<Watching>>,
    pub(super) stop: Arc<AtomicBool>,
}

/// The work of the thread.
pub(super) struct Task {
    git_dirs: BTreeSet<PathBuf>,
    root: Option<PathBuf>,
    sieve: Option<Sieve>,
    probe: (RefProbe, Option<u64>),
    options: WatchOptions,
    channels: Channels,
    overflow: Arc<AtomicBool>,
    watcher: Option<RecommendedWatcher>,
    watched: HashSet<PathBuf>,
    /// Folders that are repositories of their own: watched for the day on which they are not.
    inner: HashSet<Vec<u8>>,
    pending: Pending,
    next_poll: Option<Instant>,
    /// Whether what keeps it from watching may pass.
    retry: bool,
    lost_count: LostCount,
}

/// How often the system has lost count of changes.
///
/// A look opens every folder, and the system tells of that as well: where there are very many, the look that follows upon
/// losing count makes it lose count again.
#[derive(Default)]
struct LostCount {
    /// When it did so for the last time.
    last: Option<Instant>,
    /// How often in a row.
    times: u32,
    /// Whether the watches are not believed at the moment.
    resting: bool,
}

impl LostCount {
    /// Takes note that it happened again; tells how long to rest, if at all.
    fn again(&mut self, now: Instant, poll: Duration) -> Option<Duration> {
        let in_a_row = self.last.is_some_and(|last| now.saturating_duration_since(last) < IN_A_ROW * poll);
        self.times = if in_a_row { self.times + 1 } else { 1 };
        self.last = Some(now);
        (self.times > 1).then(|| poll * (1 << (self.times - 1).min(MAX_DOUBLINGS)))
    }
}

impl Task {
    /// Sets the watches, from then on everything is noticed.
    pub(super) fn install(repository: &Repository, options: WatchOptions, channels: Channels) -> Result<Self> {
        let root = repository.work_tree();
        let sieve = root.as_ref().map(|root| Sieve::new(repository, root, options.user_excludes.as_deref()));
        let probe = RefProbe::new(repository);
        let signature = probe.signature();
        let mut task = Self {
            git_dirs: BTreeSet::from([repository.git_dir(), repository.common_dir()]),
            root,
            sieve: sieve.transpose()?,
            probe: (probe, signature),
            options,
            channels,
            overflow: Arc::default(),
            watcher: None,
            watched: HashSet::new(),
            inner: HashSet::new(),
            pending: Pending::default(),
            next_poll: None,
            retry: false,
            lost_count: LostCount::default(),
        };
        task.watch_all();
        Ok(task)
    }

    /// Collects and tells until it is asked to stop or nobody listens.
    pub(super) fn run(mut self, inbox: &mpsc::Receiver<Report>) {
        while !self.channels.stop.load(Ordering::Relaxed) {
            let report = match self.deadline() {
                Some(at) => match inbox.recv_timeout(at.saturating_duration_since(Instant::now())) {
                    Ok(report) => Some(report),
                    Err(mpsc::RecvTimeoutError::Timeout) => None,
                    Err(mpsc::RecvTimeoutError::Disconnected) => return,
                },
                None => match inbox.recv() {
                    Ok(report) => Some(report),
                    Err(_) => return,
                },
            };
            match report {
                Some(Report::Stop) => return,
                Some(report) => self.take(report),
                None => {}
            }
            if self.overflow.swap(false, Ordering::Relaxed) {
                self.take(Report::Overflow);
            }
            let now = Instant::now();
            if self.next_poll.is_some_and(|at| at <= now) {
                self.poll(now);
            }
            if self.due().is_some_and(|at| at <= now) && !self.tell(now) {
                return;
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        [self.due(), self.next_poll].into_iter().flatten().min()
    }

    /// When what is pending is to be told.
    fn due(&self) -> Option<Instant> {
        let (first, last) = self.pending.since?;
        Some((last + self.options.debounce).min(first + 4 * self.options.debounce))
    }

    fn touch(&mut self) {
        let now = Instant::now();
        self.pending.since = Some((self.pending.since.map_or(now, |(first, _)| first), now));
    }

    fn take(&mut self, report: Report) {
        match report {
            Report::Touched(path) => self.touched(&path, false),
            Report::Appeared(path) => self.touched(&path, true),
            // What is not believed cannot get worse.
            Report::Overflow if self.lost_count.resting => {}
            Report::Overflow => {
                self.pending.overflow = true;
                self.rescan();
            }
            Report::OutOfWatches => self.start_polling("the system has no more watches to give"),
            Report::Stop => {}
        }
    }

    fn touched(&mut self, path: &Path, mut may_be_folder: bool) {
        if let Some(inside) = self.git_dirs.iter().rev().find_map(|dir| path.strip_prefix(dir).ok()) {
            match part_of_git_dir(inside) {
                GitPart::Refs => {
                    self.pending.refs = true;
                    self.touch();
                    if may_be_folder && !COVERS_ALL && path.is_dir() {
                        self.watch_git_folders(path);
                    }
                }
                GitPart::Rules => self.rescan(),
                GitPart::Other => {}
            }
            return;
        }
        let Some(inside) = self.root.as_ref().and_then(|root| path.strip_prefix(root).ok()) else { return };
        let Some(mut inside) = repo_path(inside) else { return };
        if inside.is_empty() {
            if self.root.as_ref().is_some_and(|root| !root.exists()) {
                self.gone();
            }
            return;
        }
        let in_git = inside.split(|byte| *byte == b'/').position(|name| name.eq_ignore_ascii_case(b".git"));
        if let Some(depth) = in_git {
            // With it, a folder becomes a repository of its own or stops to be one.
            let is_last = depth > 0 && inside.split(|byte| *byte == b'/').count() == depth + 1;
            if !is_last {
                return;
            }
            inside.truncate(inside.len() - b"/.git".len());
            self.inner.remove(&inside);
            may_be_folder = true;
        }
        if !self.inner.is_empty() && inside.find_iter(b"/").any(|end| self.inner.contains(&inside[..end])) {
            return;
        }
        if !COVERS_ALL && may_be_folder && self.sieve.as_ref().is_some_and(|sieve| sieve.is_folder(&inside)) {
            if !self.sieve.as_mut().is_some_and(|sieve| sieve.passes(&inside, true)) {
                return;
            }
            self.watch_folders(&inside);
        }
        if !self.pending.rescan {
            self.pending.paths.insert(inside);
            if self.pending.paths.len() > self.options.max_paths {
                self.rescan();
            }
        }
        self.touch();
    }

    fn rescan(&mut self) {
        self.pending.paths.clear();
        self.pending.rescan = true;
        self.touch();
    }

    /// Hands over what is pending; false where nobody wants it any more.
    fn tell(&mut self, now: Instant) -> bool {
        if self.pending.refs {
            // Whoever is told looks at everything; from then on, what git has by now is to be told as well.
            self.watch_tracked_folders();
            match self.channels.outbox.try_send(Event::Refs) {
                Ok(()) => self.pending.refs = false,
                Err(mpsc::TrySendError::Disconnected(_)) => return false,
                Err(mpsc::TrySendError::Full(_)) => return self.tell_later(now),
            }
        }
        let changes_rules = |path: &Vec<u8>| path.rsplit(|byte| *byte == b'/').next() == Some(b".gitignore");
        let renewed = self.pending.rescan || self.pending.paths.iter().any(changes_rules);
        if std::mem::take(&mut self.pending.overflow)
            && let Some(pause) = self.lost_count.again(now, self.options.poll)
        {
            self.rest(now, pause);
        }
        if renewed && !COVERS_ALL {
            // What was ignored may not be any more.
            self.renew_sieve();
            self.watch_folders(b"");
        } else if !self.pending.paths.is_empty() {
            self.renew_sieve();
        }
        let event = if self.pending.rescan {
            Event::Rescan
        } else {
            let sieve = &mut self.sieve;
            let counts =
                |path: &Vec<u8>| sieve.as_mut().is_some_and(|sieve| sieve.is_folder(path) || sieve.passes(path, false));
            self.pending.paths.retain(counts);
            Event::Paths(self.pending.paths.iter().map(|path| RepoPath::new(&**path)).collect())
        };
        if event != Event::Paths(Vec::new()) {
            match self.channels.outbox.try_send(event) {
                Ok(()) => {}
                Err(mpsc::TrySendError::Disconnected(_)) => return false,
                Err(mpsc::TrySendError::Full(_)) => return self.tell_later(now),
            }
        }
        self.pending = Pending::default();
        true
    }

    fn tell_later(&mut self, now: Instant) -> bool {
        self.pending.since = Some((now, now));
        true
    }

    fn renew_sieve(&mut self) {
        if let Some(Err(error)) = self.sieve.as_mut().map(Sieve::renew) {
            // A look at the work tree will say the same to somebody who can act on it.
            tracing::debug!(%error, "ignore rules are as they were");
        }
    }

    /// Sets all watches anew.
    fn watch_all(&mut self) {
        self.watched.clear();
        self.inner.clear();
        self.next_poll = None;
        self.lost_count.resting = false;
        self.set_status(Watching::Events);
        if let Some(why) = self.root.as_deref().and_then(remote::silent_file_system) {
            self.start_polling(&format!("{why} does not tell what others change"));
        }
        let (reports, overflow) = (self.channels.reports.clone(), Arc::clone(&self.overflow));
        let handler = move |event| report(event, &reports, &overflow);
        match RecommendedWatcher::new(handler, notify::Config::default().with_follow_symlinks(false)) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => {
                self.watcher = None;
                self.start_polling(&error.to_string());
                self.retry = true;
                return;
            }
        }
        for dir in self.git_dirs.clone() {
            if COVERS_ALL {
                self.watch(&dir);
                continue;
            }
            for folder in [dir.clone(), dir.join("info")] {
                self.watch(&folder);
            }
            self.watch_git_folders(&dir.join("refs"));
            self.watch_git_folders(&dir.join("worktrees"));
        }
        self.watch_folders(b"");
    }

    fn watch_git_folders(&mut self, top: &Path) {
        let mut ahead = vec![top.to_owned()];
        while let Some(folder) = ahead.pop() {
            if !self.watch(&folder) {
                continue;
            }
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    ahead.push(entry.path());
                }
            }
        }
    }

    /// Watches a folder of the work tree and those in it that count.
    fn watch_folders(&mut self, top: &[u8]) {
        let Some(root) = self.root.clone() else { return };
        if self.watcher.is_none() || self.is_polling() {
            return;
        }
        if COVERS_ALL {
            self.watch(&root);
            return;
        }
        if top.is_empty() {
            // All are about to be named again, but for those that are gone.
            let git_dirs = &self.git_dirs;
            self.watched.retain(|folder| git_dirs.iter().any(|dir| folder.starts_with(dir)));
            self.inner.clear();
        }
        let Some(mut sieve) = self.sieve.take() else { return };
        let max_depth = self.options.max_depth;
        let visited = sieve.visit(top, max_depth, |folder, counted| self.watch_folder(&root, folder, counted));
        self.sieve = Some(sieve);
        if let Err(error) = visited {
            self.start_polling(&format!("not every folder can be opened: {error}"));
            self.retry = true;
        }
    }

    /// Watches one folder of the work tree; false where there is no point in going on.
    fn watch_folder(&mut self, root: &Path, folder: &[u8], counted: Counted) -> bool {
        if self.watched.len() >= self.options.max_folders {
            self.start_polling(&format!("there are more than {} folders", self.options.max_folders));
            return false;
        }
        match counted {
            Counted::Folder => drop(self.inner.remove(folder)),
            Counted::Repository => drop(self.inner.insert(folder.to_vec())),
        }
        if let Ok(folder) = folder.to_path() {
            self.watch(&root.join(folder));
        }
        !self.is_polling() && !self.channels.stop.load(Ordering::Relaxed)
    }

    /// Watches folders that git has files of and that were of no interest before: they are ignored.
    fn watch_tracked_folders(&mut self) {
        let Some(root) = self.root.clone() else { return };
        if COVERS_ALL || self.is_polling() {
            return;
        }
        let Some(sieve) = &mut self.sieve else { return };
        match sieve.take_index_change() {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                // A look at the work tree will say the same to somebody who can act on it.
                tracing::debug!(%error, "the index is as it was");
                return;
            }
        }
        let (watched, inner) = (&self.watched, &self.inner);
        let is_missed = |folder: &[u8]| {
            inner.contains(folder) || folder.to_path().is_ok_and(|folder| !watched.contains(&root.join(folder)))
        };
        let mut missed: Vec<Vec<u8>> = Vec::new();
        for folder in sieve.tracked_folders().into_iter().filter(|folder| is_missed(folder)) {
            let above = folder.find_iter(b"/").map(|end| &folder[..end]).chain([folder]);
            missed.extend(above.filter(|folder| is_missed(folder)).take(1).map(<[u8]>::to_vec));
        }
        missed.dedup();
        for folder in missed {
            self.watch_folders(&folder);
        }
    }

    /// Watches one folder; false where it could not be.
    fn watch(&mut self, folder: &Path) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        let mode = if COVERS_ALL { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
        match watcher.watch(folder, mode) {
            Ok(()) => {
                self.watched.insert(folder.to_owned());
                true
            }
            Err(error) => {
                match error.kind {
                    ErrorKind::MaxFilesWatch => self.start_polling("the system has no more watches to give"),
                    // A look opens folders one within the other, but a watch is set by the whole path.
                    ErrorKind::Io(error) if error.kind() == io::ErrorKind::InvalidFilename => {
                        self.start_polling("the path of a folder is too long to be watched");
                    }
                    // It is gone by now, or nobody here can read what is in it.
                    _ => {}
                }
                false
            }
        }
    }

    /// Gives up the watches of the work tree. Those of the refs are few and stay.
    fn start_polling(&mut self, why: &str) {
        if self.is_polling() && !self.lost_count.resting {
            return;
        }
        self.lost_count.resting = false;
        tracing::info!(why, "the work tree is looked at every few seconds");
        self.set_status(Watching::Polling { why: why.to_owned() });
        self.next_poll = Some(Instant::now() + self.options.poll);
        let git_dirs = &self.git_dirs;
        let (kept, given_up): (HashSet<_>, HashSet<_>) =
            self.watched.drain().partition(|folder| git_dirs.iter().any(|dir| folder.starts_with(dir)));
        self.watched = kept;
        for folder in given_up {
            // It may be gone already.
            drop(self.watcher.as_mut().map(|watcher| watcher.unwatch(&folder)));
        }
    }

    /// Does not believe the watches for a while; they stay.
    fn rest(&mut self, now: Instant, pause: Duration) {
        if self.is_polling() {
            return;
        }
        let why = "the system has lost count of what changes, again and again";
        tracing::info!(why, ?pause, "the work tree is not watched for a while");
        self.set_status(Watching::Polling { why: why.to_owned() });
        self.lost_count.resting = true;
        self.next_poll = Some(now + pause);
    }

    fn gone(&mut self) {
        self.lost_count.resting = false;
        self.set_status(Watching::Gone);
        self.watcher = None;
        self.watched.clear();
        self.next_poll = Some(Instant::now() + self.options.poll);
        self.pending.refs = true;
        self.rescan();
    }

    fn poll(&mut self, now: Instant) {
        self.next_poll = Some(now + self.options.poll);
        if std::mem::take(&mut self.lost_count.resting) {
            // The look that follows tells whether it goes well now.
            self.lost_count.last = Some(now);
            self.next_poll = None;
            self.set_status(Watching::Events);
        }
        if std::mem::take(&mut self.retry) && self.is_polling() {
            self.watch_all();
        }
        if self.current_status() == Watching::Gone {
            if !self.root.as_ref().is_some_and(|root| root.join(".git").exists()) {
                return;
            }
            self.renew_sieve();
            self.watch_all();
            self.pending.refs = true;
        }
        let signature = self.probe.0.signature();
        if signature != self.probe.1 {
            self.probe.1 = signature;
            self.pending.refs = true;
        }
        self.pending.rescan = true;
        // It is due at once: whoever polls has waited long enough.
        self.pending.since = Some((now.checked_sub(4 * self.options.debounce).unwrap_or(now), now));
    }

    fn is_polling(&self) -> bool {
        matches!(*self.channels.status.lock().unwrap_or_else(PoisonError::into_inner), Watching::Polling { .. })
    }

    fn current_status(&self) -> Watching {
        self.channels.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_status(&self, status: Watching) {
        *self.channels.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_while_the_system_goes_on_losing_count() {
        let (poll, mut lost, mut now) = (Duration::from_secs(5), LostCount::default(), Instant::now());
        let mut after = |pause| {
            now += Duration::from_secs(pause);
            lost.again(now, poll).map(|pause| pause.as_secs())
        };
        assert_eq!([0, 1, 59, 59].map(&mut after), [None, Some(10), Some(20), Some(40)]);
        assert_eq!([1; 12].map(&mut after).last(), Some(&Some(640)));
        assert_eq!([60, 1].map(&mut after), [None, Some(10)]);
    }
}
