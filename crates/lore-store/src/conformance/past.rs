//! What every backend must do with the past of code.

use std::{ops::Range, sync::Arc};

use lore_model::{BlobId, CommitId, LineCommit, RepoId, RepoPath};

use super::{
    OK,
    code::{file, publish, put},
    history::new_repo,
};
use crate::{
    Base, CodeView, IndexStore, IndexWriter, NewPast, NewVersion, PastInfo, PastPart, PastSlice, StoreError, Touch,
    TreePart, ViewPart,
};

const RULES: &str = "rules";

/// Runs every check of what is kept of the past, each on a store of its own.
pub fn check_past(make: impl Fn() -> Arc<dyn IndexStore>) {
    versions_are_shown_as_they_stood(&*make());
    what_is_kept_can_be_cut_and_goes_on(&*make());
    only_touched_or_gone_chunks_are_shown(&*make());
    any_files_can_be_a_tree(&*make());
    a_past_is_wanted_forgotten_and_collected(&*make());
}

fn line(numbers: Range<u8>) -> Vec<LineCommit> {
    let commit = |number| LineCommit { id: commit(number), at: i64::from(number) * 100 };
    numbers.map(commit).collect()
}

fn commit(number: u8) -> CommitId {
    CommitId::from_bytes(&[number; 20]).expect("20 bytes")
}

/// From this commit on, the path holds the content with this number, or nothing.
fn change(commit: u32, path: &str, number: Option<u8>) -> NewVersion {
    NewVersion { commit, path: path.into(), key: number.map(|number| file(path, number).key) }
}

fn put_past(
    writer: &dyn IndexWriter,
    repo: RepoId,
    keep: u32,
    commits: Vec<LineCommit>,
    changes: Vec<NewVersion>,
) -> PastInfo {
    let past = NewPast { at: 7, rules: RULES.to_owned(), scope: "scope".to_owned(), keep, commits, changes };
    writer.put_past(repo, past).expect(OK)
}

/// A repository with a past of four commits: `a` has two versions, `b` comes, goes and comes again.
fn with_past(store: &dyn IndexStore, writer: &dyn IndexWriter) -> (RepoId, PastInfo) {
    let repo = writer.add_repo(&new_repo("past"), 5).expect(OK).id;
    writer.begin_code(repo, RULES).expect(OK);
    put(writer, 1, &["alpha", "shared"]);
    put(writer, 2, &["beta", "shared"]);
    put(writer, 3, &["gamma"]);
    publish(writer, repo, 4, vec![file("a.rs", 2), file("b.rs", 3)]);
    writer.want_past(repo, true).expect(OK);
    assert_eq!(store.code_state(repo).expect(OK).past.expect("it is wanted").at, None);
    let changes = vec![
        change(0, "a.rs", Some(1)),
        change(0, "b.rs", Some(3)),
        change(1, "b.rs", None),
        change(2, "a.rs", Some(2)),
        change(3, "b.rs", Some(3)),
    ];
    let info = put_past(writer, repo, 0, line(0..4), changes);
    (repo, info)
}

fn open(store: &dyn IndexStore, repo: RepoId, number: i64, slice: PastSlice) -> Arc<dyn CodeView> {
    let base = Base::Past(PastPart { repo, number, slice });
    store.open_view(vec![ViewPart { base, ..ViewPart::default() }]).expect(OK)
}

fn slice(commits: Range<u32>) -> PastSlice {
    PastSlice { commits: std::iter::once(commits).collect(), removed: true, ..PastSlice::default() }
}

/// Files with their versions and the texts that they answer for.
fn shown(view: &dyn CodeView) -> Vec<(String, Range<u32>, Vec<String>)> {
    let text = |chunk: &u32| String::from_utf8(view.text(*chunk).expect(OK)).expect("texts are UTF-8 here");
    let files = view.files().iter().enumerate();
    files
        .map(|(at, file)| {
            let texts = view.chunks_of(at).iter().map(text).collect();
            (file.path.to_string(), file.version.clone().expect("a version"), texts)
        })
        .collect()
}

fn row(path: &str, version: Range<u32>, texts: &[&str]) -> (String, Range<u32>, Vec<String>) {
    (path.to_owned(), version, texts.iter().map(|text| (*text).to_owned()).collect())
}

fn versions_are_shown_as_they_stood(store: &dyn IndexStore) {
    let writer = store.try_writer().expect(OK);
    let (repo, info) = with_past(store, &*writer);
    assert_eq!((info.at, info.rules.as_str(), info.scope.as_str()), (Some(7), RULES, "scope"));
    assert_eq!((info.tip, info.commits, info.versions, info.chunks), (Some(commit(3)), 4, 4, 4));
    assert!(info.complete && info.bytes > 0, "{info:?}");
    assert_eq!(store.code_state(repo).expect(OK).past.as_ref(), Some(&info));
    let (number, commits) = store.past_commits(repo).expect(OK).expect("they were put");
    assert_eq!((number, commits.as_slice()), (info.number, line(0..4).as_slice()));

    let at = |commit: u32| slice(commit..commit + 1);
    let view = open(store, repo, number, at(0));
    assert_eq!(shown(&*view), [row("a.rs", 0..2, &["alpha", "shared"]), row("b.rs", 0..1, &["gamma"])]);
    let view = open(store, repo, number, at(1));
    assert_eq!(shown(&*view), [row("a.rs", 0..2, &["alpha", "shared"])]);
    // Of all times, each text once for each path, where it stood last.
    let view = open(store, repo, number, slice(0..4));
    let all = [row("a.rs", 0..2, &["alpha"]), row("a.rs", 2..4, &["shared", "beta"]), row("b.rs", 3..4, &["gamma"])];
    let sorted = |mut rows: Vec<(String, Range<u32>, Vec<String>)>| {
        for (_, _, texts) in &mut rows {
            texts.sort();
        }
        rows
    };
    assert_eq!(sorted(shown(&*view)), sorted(all.to_vec()));
    let of = |file: usize, text: &str| {
        let is_it = |chunk: &&u32| view.text(**chunk).expect(OK) == text.as_bytes();
        view.standing(file, *view.chunks_of(file).iter().find(is_it).expect("it is there"))
    };
    assert_eq!([of(0, "alpha"), of(1, "shared")].concat(), [0..2, 0..4]);
    assert_eq!(of(2, "gamma"), [0..1, 3..4]);
    assert!((0..3).all(|file| view.is_at_tip(file)));

    let versions = store.path_versions(repo, number, &"b.rs".into()).expect(OK);
    let versions: Vec<_> = versions.into_iter().map(|version| (version.commits, version.blob)).collect();
    let blob = BlobId::from_bytes(&[3; 20]).expect("20 bytes");
    assert_eq!(versions, [(0..1, blob), (3..4, blob)]);
    assert_eq!(store.path_versions(repo, number, &"none".into()).expect(OK), []);
}

fn what_is_kept_can_be_cut_and_goes_on(store: &dyn IndexStore) {
    let writer = store.try_writer().expect(OK);
    let (repo, before) = with_past(store, &*writer);
    // The last two commits are others now, and one more came.
    let mut commits = line(7..8);
    commits.extend(line(9..11));
    let changes = vec![change(3, "a.rs", None), change(4, "b.rs", Some(1)), change(4, "d.rs", Some(99))];
    let info = put_past(&*writer, repo, 2, commits, changes);
    assert!(info.number != before.number && !info.complete, "what is not held is missing: {info:?}");
    assert_eq!((info.commits, info.tip), (5, Some(commit(10))));
    let view = open(store, repo, info.number, slice(0..5));
    assert_eq!(
        shown(&*view),
        [
            row("a.rs", 0..3, &["alpha", "shared"]),
            row("b.rs", 0..1, &["gamma"]),
            row("b.rs", 4..5, &["alpha", "shared"])
        ]
    );
    assert!(!view.is_at_tip(0) && view.is_at_tip(1));
    let replaced = Base::Past(PastPart { repo, number: before.number, slice: slice(0..1) });
    let opened = store.open_view(vec![ViewPart { base: replaced, ..ViewPart::default() }]);
    assert!(matches!(opened.map(|_| ()), Err(StoreError::Absent(_))));
}

fn only_touched_or_gone_chunks_are_shown(store: &dyn IndexStore) {
    let writer = store.try_writer().expect(OK);
    let (repo, info) = with_past(store, &*writer);
    let all = slice(0..4);
    let gone = open(store, repo, info.number, PastSlice { gone: true, ..all.clone() });
    assert_eq!(shown(&*gone), [row("a.rs", 0..2, &["alpha"])]);
    let touched = |wanted: Touch| {
        let filter = move |_: u32, _: &RepoPath, touch: Touch| touch == wanted;
        PastSlice { touched: Some(Arc::new(filter)), ..all.clone() }
    };
    let deleted = open(store, repo, info.number, touched(Touch::Deleted));
    assert_eq!(shown(&*deleted), [row("b.rs", 0..1, &["gamma"])]);
    let modified = open(store, repo, info.number, touched(Touch::Modified));
    assert_eq!(shown(&*modified), [row("a.rs", 0..2, &["alpha"]), row("a.rs", 2..4, &["beta"])]);
    let there = open(store, repo, info.number, PastSlice { removed: false, ..slice(1..2) });
    assert_eq!(shown(&*there), [row("a.rs", 0..2, &["alpha", "shared"])]);
}

fn any_files_can_be_a_tree(store: &dyn IndexStore) {
    let writer = store.try_writer().expect(OK);
    let (repo, _) = with_past(store, &*writer);
    let tree = |numbers: &[u8]| {
        let files = numbers.iter().map(|number| file(&format!("x{number}.rs"), *number)).collect();
        let base = Base::Tree(TreePart { repo, rules: RULES.to_owned(), files: Arc::new(files) });
        vec![ViewPart { base, ..ViewPart::default() }]
    };
    let view = store.open_view(tree(&[1, 3])).expect(OK);
    let paths: Vec<String> = view.files().iter().map(|file| file.path.to_string()).collect();
    assert_eq!((paths, view.chunk_count()), (vec!["x1.rs".to_owned(), "x3.rs".to_owned()], 3));
    assert!(matches!(store.open_view(tree(&[1, 42])).map(|_| ()), Err(StoreError::Absent(_))));
    let keys = vec![file("a", 1).key, file("a", 42).key];
    let held = store.held_blobs(RULES, keys.clone()).expect(OK);
    assert_eq!(held.into_iter().collect::<Vec<_>>(), keys[..1]);
    assert!(store.held_blobs("others", keys).expect(OK).is_empty());
}

fn a_past_is_wanted_forgotten_and_collected(store: &dyn IndexStore) {
    let writer = store.try_writer().expect(OK);
    let (repo, info) = with_past(store, &*writer);
    // Snapshots come and go; what only the past needs stays.
    for number in 5..45 {
        publish(&*writer, repo, number, vec![file("b.rs", 3)]);
        writer.collect().expect(OK);
    }
    let view = open(store, repo, info.number, slice(0..4));
    assert_eq!(view.chunk_count(), 4);
    writer.want_past(repo, true).expect(OK);
    assert_eq!(store.code_state(repo).expect(OK).past, Some(info));
    writer.want_past(repo, false).expect(OK);
    assert_eq!(store.code_state(repo).expect(OK).past, None);
    assert_eq!(store.past_commits(repo).expect(OK), None);
    for number in 45..85 {
        publish(&*writer, repo, number, vec![file("b.rs", 3)]);
        writer.collect().expect(OK);
    }
    let held = store.held_blobs(RULES, vec![file("a", 1).key, file("b", 3).key]).expect(OK);
    assert_eq!(held.into_iter().collect::<Vec<_>>(), [file("b", 3).key]);
}
