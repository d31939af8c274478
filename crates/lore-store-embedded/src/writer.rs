//! The one writer: one connection, large transactions, everything or nothing.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use lore_model::RepoPath;
use lore_store::{Result, StoreError};
use rusqlite::{Connection, Transaction};

use crate::{
    EmbeddedStore,
    code::{Claims, Pending},
    db::{FileId, file_id},
    error::explain,
    lock::WriterLock,
    migrate::INDEX,
    sums,
};

/// The one writer.
pub(crate) struct Writer {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) store: EmbeddedStore,
    /// The database that this writer has open.
    pub(crate) file: Option<FileId>,
    state: Mutex<State>,
    /// Code that was read and is not written yet.
    pub(crate) pending: Mutex<Pending>,
    pub(crate) claims: Arc<Claims>,
}

struct State {
    connection: Connection,
    paths: HashMap<RepoPath, i64>,
    _lock: WriterLock,
}

impl Writer {
    pub(crate) fn new(store: EmbeddedStore, lock: WriterLock, connection: Connection) -> Self {
        let state = State { connection, paths: HashMap::new(), _lock: lock };
        let claims = Arc::new(Claims::new(store.clone()));
        let file = file_id(store.file());
        Self { shared: Arc::new(Shared { store, file, state: Mutex::new(state), pending: Mutex::default(), claims }) }
    }

    /// Runs `work` in one transaction that counts as a new generation.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>, &mut HashMap<RepoPath, i64>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.shared.write(work)
    }

    /// Runs `query` on the writer's own connection, outside a transaction.
    pub(crate) fn query<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.shared.query(query)
    }

    /// Moves the log into the file, so that everything acknowledged is durable and the log stays small.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        // Readers may keep a part of the log in use; the next checkpoint takes it.
        match self.query(|connection| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))) {
            Err(StoreError::Locked) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Shared {
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>, &mut HashMap<RepoPath, i64>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { connection, paths, .. } = &mut *state;
        let answer = (|| {
            let transaction = connection.transaction()?;
            let answer = work(&transaction, paths)?;
            transaction.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'", [])?;
            sums::note_tables(&transaction, &INDEX)?;
            transaction.commit()?;
            Ok(answer)
        })();
        if answer.is_err() {
            // Paths that were added in the transaction are gone with it.
            paths.clear();
        }
        answer.map_err(|error| explain(self.store.file(), error))
    }

    pub(crate) fn query<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        query(&state.connection).map_err(|error| explain(self.store.file(), error))
    }
}
