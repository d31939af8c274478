//! The embedded backend does what every backend must.

use std::sync::{Arc, Mutex};

use lore_store_embedded::{EmbeddedMessages, EmbeddedStore};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_store_conforms() {
    let folders = Mutex::new(Vec::new());
    let make = || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = EmbeddedStore::new(folder.path());
        folders.lock().expect("no check panicked").push(folder);
        Arc::new(store)
    };
    lore_store::conformance::check_history(|| make()).await;
    lore_store::conformance::check_code(|| make()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_messages_conform() {
    let folders = Mutex::new(Vec::new());
    let make = || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = EmbeddedMessages::new(folder.path());
        folders.lock().expect("no check panicked").push(folder);
        Arc::new(store)
    };
    let again = |store: &EmbeddedMessages| Arc::new(EmbeddedMessages::new(store.home()));
    lore_store::conformance::check_messages(make, again).await;
}
