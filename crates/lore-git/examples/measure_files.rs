//! Prints how fast files of a repository are read: `cargo run --release -p lore-git --example measure_files -- <blobs|worktree> <repository> [commit…]`.
//! With commits, the blobs of all of them are read.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints figures")]

use std::{
    collections::HashSet,
    path::Path,
    time::{Duration, Instant},
};

use lore_git::{Found, Ignores, Repository, StatCache, Tree, TreeLimits, WatchOptions, Watcher, WorktreeOptions};
use lore_model::{BranchChoice, CommitId};

/// How long this thread has been computing, where the system tells: on a busy machine that says more than a clock.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default())
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let repository = Repository::open(Path::new(&args[1])).unwrap();
    let head = repository.refs(&BranchChoice::Default, None).unwrap().head.unwrap();
    let start = Instant::now();
    let tree = repository.tree_of(head, &TreeLimits::default()).unwrap();
    println!("tree: {} files in {:?}", tree.files.len(), start.elapsed());
    let mut tree = tree;
    for commit in &args[2..] {
        let commit = CommitId::from_hex(commit.as_bytes()).unwrap();
        tree.files.extend(repository.tree_of(commit, &TreeLimits::default()).unwrap().files);
    }
    if !args[2..].is_empty() {
        let mut seen = HashSet::new();
        tree.files.retain(|file| seen.insert(file.blob));
    }
    if args[0] == "worktree" { worktree(&repository, &tree) } else { blobs(&repository, &tree) }
}

fn worktree(repository: &Repository, tree: &Tree) {
    let (base, ignores, options) = (tree.base(), Ignores::default(), WorktreeOptions::default());
    let mut cache = StatCache::default();
    let mut all = Vec::new();
    for look in 0..21 {
        let (start, computed) = (Instant::now(), cpu());
        let found = repository.worktree_changes(&base, &ignores, &mut cache, &options).unwrap();
        let (took, computed) = (start.elapsed(), cpu().saturating_sub(computed));
        all.push(took);
        if look == 0 {
            println!("first look: {} changes in {took:?}, computing {computed:?}", found.changes.len());
        }
    }
    all.sort_unstable();
    println!("{} looks: median {:?}, shortest {:?}", all.len(), all[all.len() / 2], all[0]);
    let middle = base[base.len() / 2].0.clone();
    for _ in 0..4 {
        let start = Instant::now();
        let paths = std::slice::from_ref(&middle);
        let found = repository.worktree_changes_at(paths, &base, &ignores, &mut cache, &options).unwrap();
        println!("one path, {middle}: {} changes in {:?}", found.changes.len(), start.elapsed());
    }
    let start = Instant::now();
    let (watcher, _events) = Watcher::start(repository, WatchOptions::default()).unwrap();
    println!("watching starts in {:?}: {:?}", start.elapsed(), watcher.status());
    let start = Instant::now();
    drop(watcher);
    println!("and ends in {:?}", start.elapsed());
}

fn blobs(repository: &Repository, tree: &Tree) {
    for ordered in [false, true, false, true] {
        for threads in [1, 2] {
            let start = Instant::now();
            let mut blobs: Vec<_> = tree.files.iter().map(|file| file.blob).collect();
            if ordered {
                repository.blobs().sort_for_reading(&mut blobs, |blob| *blob);
            }
            let sorted = start.elapsed();
            let (bytes, computed): (u64, Duration) = std::thread::scope(|scope| {
                let parts: Vec<_> = blobs
                    .chunks(blobs.len().div_ceil(threads))
                    .map(|part| {
                        scope.spawn(move || {
                            let mut reader = repository.blobs();
                            let (mut buffer, mut bytes) = (Vec::new(), 0);
                            for blob in part {
                                if reader.read(*blob, 16 << 20, &mut buffer).unwrap() == Found::Read {
                                    bytes += buffer.len() as u64;
                                }
                            }
                            (bytes, cpu())
                        })
                    })
                    .collect();
                let parts = parts.into_iter().map(|part| part.join().unwrap());
                parts.fold((0, Duration::ZERO), |(bytes, time), part| (bytes + part.0, time + part.1))
            });
            let took = start.elapsed();
            println!(
                "blobs, {threads} threads, pack order {ordered}: {bytes} bytes in {took:?}, computing {computed:?}; \
                 sorting {sorted:?}"
            );
        }
    }
}
