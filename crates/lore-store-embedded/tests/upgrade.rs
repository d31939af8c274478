//! An index whose segments have an older format is read again, without a word to the user; what it notes of segments is not
//! believed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use lore_model::{BlobId, BranchChoice, ChunkKind, CommitId, NewRepo, RepoId, RepoName, Source, Tip};
use lore_store::{
    BlobKey, BlobRecord, ChunkInput, ChunkKey, CodeEnd, CodeState, CodeStore as _, Entry, HistoryStore as _,
    IndexWriter, NewBlob, NewSnapshot, SnapshotFile, TextPlan, ViewPart,
};
use lore_store_embedded::EmbeddedStore;

const TEXT: &str = "fn main() {}\n";

fn new_repo(name: &str) -> NewRepo {
    NewRepo {
        name: RepoName::parse(name).unwrap(),
        local_path: format!("/somewhere/{name}").into(),
        source: Source::Local,
        default_branch: None,
        excludes: Vec::new(),
        author_filter: None,
        fork_of: None,
        branches: BranchChoice::Default,
    }
}

/// Reads a repository with one file, and tells whether its chunk had to be supplied.
fn sync(writer: &dyn IndexWriter, repo: RepoId) -> (CodeState, bool) {
    writer.begin_code(repo, "rules").unwrap();
    let key = BlobKey { blob: BlobId::from_bytes(&[1; 20]).unwrap(), hint: ".rs".into() };
    let sink = writer.sink();
    let chunk = ChunkKey([7; 16]);
    let claimed = sink.claim(&chunk);
    let input = ChunkInput {
        key: chunk,
        text: TEXT.as_bytes(),
        names: "main",
        code: TEXT,
        prose: "",
        vector: None,
        exact: true,
    };
    let entry = Entry {
        chunk,
        kind: ChunkKind::Definitions,
        bytes: 0..13,
        first_line: 1,
        last_line: 1,
        name: None,
        names: Vec::new(),
        symbol: None,
        container: None,
        part: None,
    };
    let record = BlobRecord {
        language: "rust".to_owned(),
        size: 13,
        lines: 1,
        plain: None,
        package: None,
        counts: [0, 0, 1],
        tags: Vec::new(),
        entries: vec![entry],
    };
    let chunks = if claimed { vec![(chunk, sink.prepare(&input))] } else { Vec::new() };
    writer.put_blobs("rules", vec![NewBlob { key: key.clone(), record, chunks }]).unwrap();
    let commit = CommitId::from_bytes(&[2; 20]).unwrap();
    let files = vec![SnapshotFile { path: "main.rs".into(), key }];
    let end = CodeEnd {
        at: 1,
        rules: "rules".to_owned(),
        scope: String::new(),
        tips: vec![Tip { name: "HEAD".to_owned(), commit }],
        snapshots: vec![NewSnapshot { commit, files, left_out: Vec::new() }],
        partial: false,
    };
    let state = writer.end_code(repo, end).unwrap();
    writer.collect().unwrap();
    (state, claimed)
}

fn segments(home: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(home.join("segments")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Makes the index look like one that was written before trigrams.
fn make_old(home: &Path) {
    let path = home.join("segments").join(&segments(home)[0]);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8..12].copy_from_slice(&1_u32.to_le_bytes());
    std::fs::write(path, bytes).unwrap();
    let connection = rusqlite::Connection::open(home.join("lore.db")).unwrap();
    connection.execute_batch("DROP TABLE pasts; DELETE FROM sqlite_sequence WHERE name = 'pasts'; DROP TABLE evidence; DELETE FROM sqlite_sequence WHERE name = 'evidence'").unwrap();
    connection.execute_batch("DROP TABLE vector_files; DROP TABLE vector_sets;").unwrap();
    connection
        .execute_batch("ALTER TABLE ingest_state DROP COLUMN added_at; ALTER TABLE ingest_state DROP COLUMN sync_count")
        .unwrap();
    connection
        .execute_batch("DROP TABLE sums; ALTER TABLE commits DROP COLUMN sum; ALTER TABLE blobs DROP COLUMN sum; ALTER TABLE snapshots DROP COLUMN sum")
        .unwrap();
    connection.execute_batch("DROP INDEX commits_without_patch; ALTER TABLE repos DROP COLUMN aliases").unwrap();
    connection.pragma_update(None, "user_version", 2).unwrap();
}

#[test]
fn an_older_index_is_read_again_and_its_files_go() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let repo = {
        let store = EmbeddedStore::new(home);
        let writer = store.try_writer().unwrap();
        let repo = writer.add_repo(&new_repo("old"), 1).unwrap().id;
        assert!(sync(&*writer, repo).1);
        repo
    };
    let old = segments(home);
    make_old(home);
    let store = EmbeddedStore::new(home);
    let state = store.code_state(repo).unwrap();
    assert!(state.partial && state.at.is_none() && state.snapshots.is_empty(), "{state:?}");
    assert_eq!(store.list_repos().unwrap().len(), 1, "what is not derived stays");
    assert!(store.check_code(true).unwrap().is_empty());
    let writer = store.try_writer().unwrap();
    let (state, claimed) = sync(&*writer, repo);
    assert!(claimed && state.snapshots.len() == 1);
    let now = segments(home);
    assert!(now.len() == 1 && now != old, "{now:?} after {old:?}");
    let part = ViewPart::snapshot(state.snapshots[0].id);
    let view = store.open_view(vec![part]).unwrap();
    let found = view.chunks_with(&TextPlan::literal(b"FN MAIN")).unwrap();
    assert_eq!(found, view.chunks_of(0));
    assert_eq!(view.text(found[0]).unwrap(), TEXT.as_bytes());
    // Once more: there is nothing left to do.
    assert!(!sync(&*writer, repo).1);
    assert_eq!(segments(home), now);
}

#[test]
fn a_wrong_count_of_chunks_keeps_nobody_from_cleaning_up() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::new(folder.path());
    let writer = store.try_writer().unwrap();
    let kept = writer.add_repo(&new_repo("kept"), 1).unwrap().id;
    let other = writer.add_repo(&new_repo("other"), 1).unwrap().id;
    let (state, _) = sync(&*writer, kept);
    drop(writer);
    let connection = rusqlite::Connection::open(folder.path().join("lore.db")).unwrap();
    assert_eq!(connection.execute("UPDATE segments SET chunks = 0", []).unwrap(), 1);
    drop(connection);
    let writer = store.try_writer().unwrap();
    writer.remove_repo(other).unwrap();
    let view = store.open_view(vec![ViewPart::snapshot(state.snapshots[0].id)]).unwrap();
    assert_eq!(view.chunk_count(), 1);
}
