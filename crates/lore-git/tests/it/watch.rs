//! Watching, with real file operations.

use std::{
    fs,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

use lore_git::{Event, WatchOptions, Watcher, Watching};
use lore_model::RepoPath;

use crate::repo::Repo;

/// Nothing waits this long unless something is broken.
const PATIENCE: Duration = Duration::from_secs(30);

struct Watch {
    watcher: Watcher,
    events: Receiver<Event>,
}

impl Watch {
    fn start(repo: &Repo) -> Self {
        Self::with(repo, options())
    }

    fn with(repo: &Repo, options: WatchOptions) -> Self {
        let (watcher, events) = Watcher::start(&repo.open(), options).unwrap();
        Self { watcher, events }
    }

    fn next(&mut self) -> Option<Event> {
        match self.events.recv_timeout(PATIENCE) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no event comes in time"),
        }
    }

    /// All events up to and with the first that fits.
    fn until(&mut self, fits: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut seen = Vec::new();
        loop {
            let event = self.next().expect("the watcher lives");
            let last = fits(&event);
            seen.push(event);
            if last {
                return seen;
            }
        }
    }

    fn until_path(&mut self, path: &str) -> Vec<Event> {
        let path = RepoPath::from(path);
        self.until(|event| matches!(event, Event::Paths(paths) if paths.contains(&path)))
    }
}

fn options() -> WatchOptions {
    WatchOptions { debounce: Duration::from_millis(50), poll: Duration::from_millis(100), ..WatchOptions::default() }
}

fn paths(events: &[Event]) -> Vec<String> {
    let paths = events.iter().flat_map(|event| match event {
        Event::Paths(paths) => paths.iter().map(ToString::to_string).collect(),
        other => vec![format!("{other:?}")],
    });
    let mut paths: Vec<String> = paths.collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

#[test]
fn edits_deletions_and_renames_are_told() {
    let repo = Repo::new();
    repo.write("a", "1").write("d/b", "1").write("c", "1").commit();
    let mut watch = Watch::start(&repo);
    assert_eq!(watch.watcher.status(), Watching::Events);
    repo.write("a", "2");
    assert_eq!(paths(&watch.until_path("a")), ["a"]);
    repo.remove("d/b");
    assert_eq!(paths(&watch.until_path("d/b")), ["d/b"]);
    // As editors do it: a new file, moved into place.
    repo.write(".a.swp", "3");
    fs::rename(repo.path.join(".a.swp"), repo.path.join("a")).unwrap();
    watch.until_path("a");
    fs::rename(repo.path.join("c"), repo.path.join("moved")).unwrap();
    assert_eq!(paths(&watch.until_path("moved")), ["c", "moved"]);
}

#[test]
fn new_folders_are_watched_as_they_appear() {
    let repo = Repo::new();
    repo.write("a", "1").commit();
    let mut watch = Watch::start(&repo);
    // The files may be there before the folder is watched: then the folder is told.
    repo.write("new/deep/file", "1");
    watch.until(|event| {
        let told = |path: &RepoPath| matches!(path.as_bytes(), b"new" | b"new/deep" | b"new/deep/file");
        matches!(event, Event::Paths(paths) if paths.iter().any(told))
    });
    repo.write("new/deep/file", "2");
    watch.until_path("new/deep/file");
    // A folder that is moved is another folder, with all that is in it.
    fs::rename(repo.path.join("new"), repo.path.join("other")).unwrap();
    watch.until_path("other");
    repo.write("other/deep/file", "3");
    watch.until_path("other/deep/file");
    fs::remove_dir_all(repo.path.join("other")).unwrap();
    watch.until_path("other");
}

#[test]
fn what_is_ignored_makes_no_noise_until_it_is_not() {
    let repo = Repo::new();
    repo.write(".gitignore", "node_modules/\n*.log\nbuilt/*\n").write("built/tracked", "1").write("a", "1");
    repo.git(&["add", "-f", "built/tracked"]);
    repo.commit();
    repo.write("node_modules/x/y", "1");
    let mut watch = Watch::start(&repo);
    repo.write("node_modules/x/y", "2").write("node_modules/new/z", "1").write("x.log", "1").write("built/out", "1");
    repo.write(".git/objects/aa/noise", "1").write(".git/logs/noise", "1").write(".git/x.lock", "1");
    repo.write("a", "2");
    assert_eq!(paths(&watch.until_path("a")), ["a"]);
    repo.write("built/tracked", "2");
    assert_eq!(paths(&watch.until_path("built/tracked")), ["built/tracked"]);
    repo.write(".gitignore", "*.log\n");
    watch.until_path(".gitignore");
    repo.write("node_modules/x/y", "3");
    watch.until_path("node_modules/x/y");
}

#[test]
fn folders_that_begin_to_count_are_watched() {
    let repo = Repo::new();
    let inner = Repo::new();
    inner.write("x", "1").commit();
    repo.write(".gitignore", "gen/\n").write("a", "1").commit();
    repo.write("gen/deep/x", "1").write("gen/other/y", "1");
    fs::rename(&inner.path, repo.path.join("inner")).unwrap();
    repo.write("inner/deep/y", "1");
    let mut watch = Watch::start(&repo);
    // What a repository inside has is its own.
    repo.write("inner/x", "2").write("inner/new", "1").write("gen/deep/x", "2").write("a", "2");
    assert_eq!(paths(&watch.until_path("a")), ["a"]);
    repo.git(&["add", "--force", "gen/deep/x"]);
    watch.until(|event| *event == Event::Refs);
    repo.write("gen/deep/x", "3");
    watch.until_path("gen/deep/x");
    fs::remove_dir_all(repo.path.join("inner/.git")).unwrap();
    watch.until_path("inner");
    repo.write("inner/deep/y", "2");
    watch.until_path("inner/deep/y");
}

#[test]
fn commits_switches_and_resets_are_told_as_refs() {
    let repo = Repo::new();
    repo.write("a", "1").commit();
    let mut watch = Watch::start(&repo);
    let is_refs = |event: &Event| *event == Event::Refs;
    repo.git(&["commit", "--quiet", "--allow-empty", "-m", "x"]);
    watch.until(is_refs);
    repo.git(&["branch", "topic/deep/name"]);
    watch.until(is_refs);
    repo.git(&["pack-refs", "--all"]);
    watch.until(is_refs);
    repo.git(&["switch", "--quiet", "topic/deep/name"]);
    watch.until(is_refs);
    repo.git(&["update-ref", "refs/heads/topic/deep/name", "HEAD~1"]);
    watch.until(is_refs);
}

#[test]
fn linked_work_trees_are_watched_with_what_they_share() {
    let repo = Repo::new();
    repo.write("a", "1").commit();
    let linked = repo.folder.path().canonicalize().unwrap().join("linked");
    repo.git(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    let inside = Repo { path: linked, folder: tempfile::tempdir().unwrap() };
    let mut watch = Watch::start(&inside);
    inside.write("a", "2");
    assert_eq!(paths(&watch.until_path("a")), ["a"]);
    inside.commit();
    watch.until(|event| *event == Event::Refs);
    // The main one sees that the linked one moves.
    let mut main = Watch::start(&repo);
    inside.git(&["switch", "--quiet", "--detach"]);
    main.until(|event| *event == Event::Refs);
}

#[test]
fn a_mass_change_is_one_word() {
    let repo = Repo::new();
    repo.write("a", "1").commit();
    repo.git(&["switch", "--quiet", "-c", "many"]);
    for number in 0..600 {
        repo.write(format!("d{}/f{number}", number % 20), "1");
    }
    repo.commit();
    repo.git(&["switch", "--quiet", "main"]);
    let mut watch = Watch::with(&repo, WatchOptions { max_paths: 100, ..options() });
    repo.git(&["switch", "--quiet", "many"]);
    let seen = watch.until(|event| *event == Event::Rescan);
    let told: usize = seen.iter().map(|event| if let Event::Paths(paths) = event { paths.len() } else { 0 }).sum();
    assert!(told <= 200, "{told}");
    repo.write("d3/f3", "2");
    watch.until(|event| match event {
        Event::Paths(paths) => paths.contains(&RepoPath::from("d3/f3")),
        Event::Rescan => true,
        Event::Refs => false,
    });
}

#[test]
fn a_work_tree_that_goes_away_may_come_back() {
    let repo = Repo::new();
    repo.write("a", "1").commit();
    let mut watch = Watch::start(&repo);
    let away = repo.folder.path().join("away");
    fs::rename(&repo.path, &away).unwrap();
    watch.until(|event| *event == Event::Rescan);
    assert_eq!(watch.watcher.status(), Watching::Gone);
    fs::rename(&away, &repo.path).unwrap();
    watch.until(|event| *event == Event::Rescan);
    assert_eq!(watch.watcher.status(), Watching::Events);
    repo.write("a", "2");
    watch.until_path("a");
    fs::remove_dir_all(&repo.path).unwrap();
    watch.until(|event| *event == Event::Rescan);
}

#[test]
fn without_watches_everything_is_looked_at_every_few_seconds() {
    let repo = Repo::new();
    for number in 0..30 {
        repo.write(format!("d{number}/f"), "1");
    }
    repo.commit();
    let mut watch = Watch::with(&repo, WatchOptions { max_folders: 20, ..options() });
    let Watching::Polling { why } = watch.watcher.status() else { panic!("{:?}", watch.watcher.status()) };
    assert!(why.contains("more than 20 folders"), "{why}");
    for _ in 0..3 {
        watch.until(|event| *event == Event::Rescan);
    }
    repo.git(&["commit", "--quiet", "--allow-empty", "-m", "x"]);
    watch.until(|event| *event == Event::Refs);
}

#[cfg(target_os = "linux")]
#[test]
fn where_a_path_is_too_long_to_be_watched_everything_is_looked_at_every_few_seconds() {
    let repo = Repo::new();
    repo.write("a", "1").commit();
    // No system call takes a path of all these names, so that they are put together from two.
    let half = vec!["n".repeat(250); 10].join("/");
    for top in ["x", "y"] {
        fs::create_dir_all(repo.path.join(top).join(&half)).unwrap();
    }
    fs::rename(repo.path.join("y"), repo.path.join("x").join(&half).join("y")).unwrap();
    let mut watch = Watch::start(&repo);
    let Watching::Polling { why } = watch.watcher.status() else { panic!("{:?}", watch.watcher.status()) };
    assert!(why.contains("too long"), "{why}");
    watch.until(|event| *event == Event::Rescan);
}

#[test]
fn a_slow_receiver_gets_less_but_misses_nothing() {
    let repo = Repo::new();
    repo.write("a", "1").commit();
    let mut watch = Watch::with(&repo, WatchOptions { debounce: Duration::from_millis(1), ..options() });
    for number in 0..500 {
        repo.write(format!("f{number}"), "1");
    }
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < 500 {
        if let Some(Event::Paths(paths)) = watch.next() {
            seen.extend(paths);
        }
    }
}
