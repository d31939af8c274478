//! The embedded backend does what every backend must.

use std::sync::{Arc, Mutex};

use lore_model::NewMessage;
use lore_store::{Added, MessageStore as _};
use lore_store_embedded::{EmbeddedMessages, EmbeddedStore, EmbeddedTeam};

#[test]
fn the_embedded_store_conforms() {
    let folders = Mutex::new(Vec::new());
    let make = || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = EmbeddedStore::new(folder.path());
        folders.lock().expect("no check panicked").push(folder);
        Arc::new(store)
    };
    lore_store::conformance::check_history(|| make());
    lore_store::conformance::check_code(|| make());
    lore_store::conformance::check_past(|| make());
    lore_store::conformance::check_vectors(|| make());
}

#[test]
fn embedded_messages_conform() {
    let folders = Mutex::new(Vec::new());
    let make = || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = EmbeddedMessages::new(folder.path());
        folders.lock().expect("no check panicked").push(folder);
        Arc::new(store)
    };
    let again = |store: &EmbeddedMessages| Arc::new(EmbeddedMessages::new(store.home()));
    lore_store::conformance::check_messages(make, again);
}

#[test]
fn an_embedded_team_conforms() {
    let folders = Mutex::new(Vec::new());
    let make = || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = EmbeddedTeam::new(folder.path());
        folders.lock().expect("no check panicked").push(folder);
        Arc::new(store)
    };
    lore_store::conformance::check_team(make);
}

/// An inbox that cannot be removed gives the same message twice a second, and whoever is woken by it looks again.
#[test]
fn a_message_that_is_known_wakes_nobody() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = EmbeddedMessages::new(folder.path());
    let message = NewMessage {
        project: None,
        file: "a.rs".into(),
        lines: None,
        comment: "x".to_owned(),
        time: String::new(),
        branch: None,
        head: None,
        hunk: None,
        anchor: None,
        key: [1; 32],
    };
    assert!(matches!(store.add(&message, 1), Ok(Added::New(_))));
    let bell = folder.path().join("messages.bell");
    std::fs::remove_file(&bell).expect("a new message was told");
    assert!(matches!(store.add(&message, 1), Ok(Added::Known(_))));
    assert!(!bell.exists());
}

/// What the system does not let anybody look at may hold everything.
#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_looked_at_is_not_taken_for_one_that_is_not_there() {
    use lore_store::{HistoryStore as _, StoreError, TeamStore as _};

    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["lore.db", "team.db"] {
        std::os::unix::fs::symlink(name, folder.path().join(name)).expect("a link to itself");
    }
    let repos = EmbeddedStore::new(folder.path()).list_repos();
    assert!(matches!(repos, Err(StoreError::NoAccess { .. })), "{repos:?}");
    let users = EmbeddedTeam::new(folder.path()).list_users();
    assert!(matches!(users, Err(StoreError::NoAccess { .. })), "{users:?}");
    let repos = EmbeddedStore::new(folder.path().join("nowhere")).list_repos();
    assert!(repos.is_ok_and(|repos| repos.is_empty()));
}
