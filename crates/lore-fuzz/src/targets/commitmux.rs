//! Damaged databases of commitmux: an error, or repositories.

use std::sync::LazyLock;

use lore_store_embedded::{fuzz::write_commitmux, read_commitmux};

use crate::bytes::edited;

static DATABASE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("there is room");
    let file = folder.path().join("db.sqlite3");
    write_commitmux(&file).expect("it is written");
    assert_eq!(read_commitmux(&file).expect("it is read").len(), 2);
    std::fs::read(&file).expect("it is there")
});

/// The first byte says whether the rest are changes of a database or all of it.
pub(super) fn run(bytes: &[u8]) {
    let Some((how, edits)) = bytes.split_first() else { return };
    let changed = if how % 2 == 0 { edited(&DATABASE, edits) } else { edits.to_vec() };
    // In a folder of its own: SQLite may want files beside it.
    let folder = tempfile::tempdir().expect("there is room");
    let file = folder.path().join("db.sqlite3");
    std::fs::write(&file, &changed).expect("there is room");
    let read = read_commitmux(&file);
    assert!(changed != *DATABASE || read.as_ref().is_ok_and(|repos| repos.len() == 2), "a whole database is read");
    let now = std::fs::read(&file).expect("it is still there");
    assert!(now == changed, "it is only read");
}
