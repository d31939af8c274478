//! Lore over a real index, with real repositories.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod code;
mod exact;
mod golden;
mod past;
mod second;
mod shown;
mod why;

use std::{path::Path, sync::Arc};

use lore_core::{
    Cancel, Lore, LoreOptions,
    flows::{FlowReport, FlowTask},
    history::{AddRequest, SyncOptions, Target},
};
use lore_model::Repo;
use lore_store_embedded::{EmbeddedMessages, EmbeddedStore};

/// Lore over an index in this folder.
fn open(home: &Path, options: LoreOptions) -> Lore {
    let messages = Arc::new(EmbeddedMessages::new(home));
    Lore::new(home, Arc::new(EmbeddedStore::new(home)), messages, options)
}

/// Registers the repository in a folder.
fn add(lore: &Lore, folder: &Path) -> Repo {
    let writer = lore.history.writer(|| {}).unwrap();
    lore.history.add(&*writer, AddRequest::new(Target::Folder(folder.to_owned()))).unwrap()
}

/// Brings a repository up to date, as it is registered now.
fn sync(lore: &Lore, repo: &Repo) -> FlowReport {
    let writer = lore.history.writer(|| {}).unwrap();
    let (options, cancel) = (SyncOptions::default(), Cancel::default());
    let task = FlowTask { writer: &*writer, options: &options, cancel: &cancel, progress: &|_| {} };
    let repo = lore.history.repo(repo.name()).unwrap();
    lore.sync(&repo, &task).unwrap()
}
