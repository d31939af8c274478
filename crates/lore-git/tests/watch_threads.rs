//! A test binary of its own: it counts the threads of the process.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::{
    fs,
    path::Path,
    sync::mpsc,
    time::{Duration, Instant},
};

use lore_git::{Repository, WatchOptions, Watcher};

fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

fn bare(folder: &Path) -> Repository {
    for name in ["objects", "refs"] {
        fs::create_dir_all(folder.join(".git").join(name)).unwrap();
    }
    fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    Repository::open(folder).unwrap()
}

#[test]
fn no_thread_is_left_after_a_watcher() {
    let folder = tempfile::tempdir().unwrap();
    let repository = bare(folder.path());
    let before = threads();
    for _ in 0..20 {
        let (watcher, events) = Watcher::start(&repository, WatchOptions::default()).unwrap();
        assert!(threads() > before);
        drop(watcher);
        assert!(events.recv().is_err());
    }
    let (_keep, never) = mpsc::channel::<()>();
    let deadline = Instant::now() + Duration::from_secs(30);
    while threads() > before {
        assert!(Instant::now() < deadline, "{} threads, {before} before", threads());
        assert!(never.recv_timeout(Duration::from_millis(5)).is_err());
    }
}
