//! A byte of the index that became another is found, and an index that is begun anew knows what it has to read.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use lore_model::{
    BranchChoice, CommitId, CommitRecord, FileChange, FileStatus, NewRepo, Person, RepoId, RepoName, RepoPath, Source,
    Tip,
};
use lore_store::{CodeEnd, HistoryStore as _, NewSnapshot, PatchPacker, StoreError, VectorStore as _};
use lore_store_embedded::EmbeddedStore;
use rusqlite::Connection;

/// An index with a row of every kind that has a sum.
fn fill(home: &Path) -> RepoId {
    let store = EmbeddedStore::new(home);
    let writer = store.try_writer().unwrap();
    let repo = NewRepo {
        name: RepoName::parse("api").unwrap(),
        local_path: "/somewhere".into(),
        source: Source::Local,
        default_branch: None,
        excludes: vec!["vendor/".to_owned()],
        author_filter: None,
        fork_of: None,
        branches: BranchChoice::Default,
    };
    let repo = writer.add_repo(&repo, 7).unwrap().id;
    writer.begin_sync(repo, "f", &[]).unwrap();
    let person = |name: &str| Person { name: name.to_owned(), email: format!("{name}@example.com") };
    let id = CommitId::from_bytes(&[2; 20]).unwrap();
    let file = |path: &[u8], old: Option<&str>| FileChange {
        status: FileStatus::Renamed,
        path: RepoPath::new(path),
        old_path: old.map(Into::into),
    };
    let commit = CommitRecord {
        id,
        author: person("ann"),
        committer: person("bob"),
        author_time: Some(3),
        commit_time: None,
        subject: "The heron stands".to_owned(),
        body: Some("for long".to_owned()),
        lossy: true,
        parent_count: 1,
        files: vec![file(b"src/a.rs", Some("src/b.rs")), file(b"caf\xe9", None)],
        patch_preview: "+heron".to_owned(),
        patch: PatchPacker::new().unwrap().pack(&b"a patch of some length ".repeat(9)).unwrap(),
    };
    writer.put_commits(repo, vec![commit]).unwrap();
    writer.put_evidence(repo, "made of", b"packed".to_vec()).unwrap();
    writer.begin_code(repo, "rules").unwrap();
    let end = CodeEnd {
        at: 1,
        rules: "rules".to_owned(),
        scope: String::new(),
        tips: vec![Tip { name: "HEAD".to_owned(), commit: id }],
        snapshots: vec![NewSnapshot { commit: id, files: Vec::new(), left_out: Vec::new() }],
        partial: false,
    };
    writer.end_code(repo, end).unwrap();
    writer.want_past(repo, true).unwrap();
    repo
}

/// Changes a row behind the store's back, as a disk does.
fn change(home: &Path, sql: &str) {
    let connection = Connection::open(home.join("lore.db")).unwrap();
    assert_eq!(connection.execute(sql, []).unwrap(), 1, "{sql}");
}

#[test]
fn every_changed_row_is_found() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    assert_eq!(EmbeddedStore::new(folder.path()).check(true).unwrap(), Vec::<String>::new());
    let kept = std::fs::read(folder.path().join("lore.db")).unwrap();
    for sql in [
        "UPDATE commits SET author_name = 'eve'",
        "UPDATE commits SET subject = 'The heron sits'",
        "UPDATE commits SET commit_time = 9",
        "UPDATE paths SET path = 'src/c.rs' WHERE path = 'src/a.rs'",
        "UPDATE paths SET exact = x'ff' WHERE exact <> x''",
        "UPDATE file_changes SET status = 'A' WHERE position = 0",
        "UPDATE file_changes SET author_time = 4 WHERE position = 1",
        "UPDATE repos SET local_path = '/elsewhere'",
        "UPDATE ingest_state SET fingerprint = 'g'",
        "UPDATE code_state SET scope = 'x'",
        "UPDATE rules SET text = 'other rules'",
        "UPDATE snapshots SET line_count = 5",
        "UPDATE evidence SET packed = x'00'",
        "UPDATE meta SET value = value + 1 WHERE key = 'next_chunk'",
    ] {
        change(folder.path(), sql);
        let found = EmbeddedStore::new(folder.path()).check(true).unwrap();
        assert!(!found.is_empty(), "{sql}");
        std::fs::write(folder.path().join("lore.db"), &kept).unwrap();
    }
    let connection = Connection::open(folder.path().join("lore.db")).unwrap();
    let patch: Vec<u8> = connection.query_row("SELECT patch_blob FROM patches", [], |row| row.get(0)).unwrap();
    for at in 0..patch.len() {
        let mut other = patch.clone();
        other[at] ^= 4;
        connection.execute("UPDATE patches SET patch_blob = ?1", [other]).unwrap();
        let found = EmbeddedStore::new(folder.path()).check(true).unwrap();
        assert!(!found.is_empty(), "byte {at} of a patch");
    }
}

#[test]
fn a_header_that_sqlite_does_not_know_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let file = folder.path().join("lore.db");
    let mut bytes = std::fs::read(&file).unwrap();
    // The format of the schema.
    bytes[47] = 9;
    std::fs::write(&file, bytes).unwrap();
    let store = EmbeddedStore::new(folder.path());
    let refused = store.list_repos();
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    let refused = store.begin_anew();
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
}

#[test]
fn writing_does_not_make_damage_right() {
    let folder = tempfile::tempdir().unwrap();
    let repo = fill(folder.path());
    change(folder.path(), "UPDATE repos SET fork_of = 'eve'");
    let store = EmbeddedStore::new(folder.path());
    for at in [8, 9] {
        let writer = store.try_writer().unwrap();
        writer.note_current(repo, at).unwrap();
        writer.set_branches(repo, &BranchChoice::All).unwrap();
    }
    assert_eq!(store.check(true).unwrap(), ["the table `repos` is not what was written"]);
}

#[test]
fn an_index_that_is_begun_anew_knows_the_same_repositories() {
    let folder = tempfile::tempdir().unwrap();
    let repo = fill(folder.path());
    let store = EmbeddedStore::new(folder.path());
    let alias = RepoName::parse("alias").unwrap();
    store.try_writer().unwrap().set_aliases(repo, std::slice::from_ref(&alias)).unwrap();
    let before = store.list_repos().unwrap();
    let aside = store.begin_anew().unwrap();
    assert!(aside.exists());
    let now = store.list_repos().unwrap();
    assert_eq!((now[0].id, &now[0].info, &now[0].aliases), (repo, &before[0].info, &vec![alias]));
    assert_eq!(now[0].sync.commit_count, 0);
    assert_eq!(store.check(true).unwrap(), Vec::<String>::new());
    let connection = Connection::open(folder.path().join("lore.db")).unwrap();
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM pasts WHERE rules_id IS NULL"), 1, "the past is still wanted");
    assert_eq!(count("SELECT added_at FROM ingest_state"), 7);
    assert_eq!(count("SELECT count(*) FROM commits"), 0);
    drop(connection);
    // Once more, over what the first time left.
    store.begin_anew().unwrap();
    fill_again(&store, repo);
}

fn fill_again(store: &EmbeddedStore, repo: RepoId) {
    let writer = store.try_writer().unwrap();
    writer.begin_sync(repo, "f", &[]).unwrap();
}

#[test]
fn an_index_that_cannot_tell_its_repositories_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    change(folder.path(), "UPDATE repos SET name = 'apj'");
    let kept = std::fs::read(folder.path().join("lore.db")).unwrap();
    let refused = EmbeddedStore::new(folder.path()).begin_anew();
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    assert_eq!(std::fs::read(folder.path().join("lore.db")).unwrap(), kept);
    std::fs::write(folder.path().join("lore.db"), "no index at all, but long enough to be one").unwrap();
    let refused = EmbeddedStore::new(folder.path()).begin_anew();
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
}

#[test]
fn an_index_without_a_version_is_damaged_and_not_empty() {
    let folder = tempfile::tempdir().unwrap();
    let repo = fill(folder.path());
    let connection = Connection::open(folder.path().join("lore.db")).unwrap();
    connection.pragma_update(None, "user_version", 0).unwrap();
    drop(connection);
    let store = EmbeddedStore::new(folder.path());
    let refused = store.list_repos();
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    let refused = store.try_writer().map(|_| ());
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    store.begin_anew().unwrap();
    assert_eq!(store.list_repos().unwrap()[0].id, repo);
}

#[test]
fn an_index_that_is_begun_anew_uses_no_name_of_a_segment_again() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let next = || -> i64 {
        let connection = Connection::open(folder.path().join("lore.db")).unwrap();
        connection.query_row("SELECT value FROM meta WHERE key = 'next_segment'", [], |row| row.get(0)).unwrap()
    };
    change(folder.path(), "UPDATE meta SET value = 77 WHERE key = 'next_segment'");
    let store = EmbeddedStore::new(folder.path());
    store.begin_anew().unwrap();
    assert_eq!(next(), 77);
    // A number that is damaged is not believed.
    change(folder.path(), "UPDATE meta SET value = 1 << 60 WHERE key = 'next_segment'");
    store.begin_anew().unwrap();
    assert_eq!(next(), 1);
}

#[test]
fn an_index_is_not_begun_anew_while_somebody_makes_vectors_for_it() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let store = EmbeddedStore::new(folder.path());
    let embedding = store.vector_writer().unwrap();
    let refused = store.begin_anew();
    assert!(matches!(refused, Err(StoreError::Locked)), "{refused:?}");
    drop(embedding);
    store.begin_anew().unwrap();
}

#[test]
fn who_reads_notices_that_a_newer_lore_has_upgraded_the_index() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let store = EmbeddedStore::new(folder.path());
    assert_eq!(store.list_repos().unwrap().len(), 1);
    let connection = Connection::open(folder.path().join("lore.db")).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    let refused = store.list_repos();
    assert!(matches!(refused, Err(StoreError::TooNew { found: 99, .. })), "{refused:?}");
}

#[test]
fn what_is_damaged_of_one_repository_keeps_no_other_from_being_removed() {
    let folder = tempfile::tempdir().unwrap();
    let repo = fill(folder.path());
    let store = EmbeddedStore::new(folder.path());
    let other = {
        let writer = store.try_writer().unwrap();
        let mut other = store.list_repos().unwrap()[0].info.clone();
        other.name = RepoName::parse("other").unwrap();
        other.local_path = "/elsewhere".into();
        writer.add_repo(&other, 8).unwrap().id
    };
    change(folder.path(), "UPDATE snapshots SET files = x'00'");
    store.try_writer().unwrap().remove_repo(other).unwrap();
    let left: Vec<RepoId> = store.list_repos().unwrap().iter().map(|repo| repo.id).collect();
    assert_eq!(left, [repo]);
}
