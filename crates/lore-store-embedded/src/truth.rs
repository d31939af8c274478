//! A SQLite file whose content exists nowhere else: what reviewers said, what a team has.
//!
//! Every process opens it for itself. A write is one short immediate transaction, on disk before it returns; it does not
//! make those wait who read.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use lore_store::{Result, StoreError};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::{
    db::{FileId, file_id, find_file, interrupt_when_cancelled, make_home, open_read_only, prepare},
    error::{explain, explain_io},
    migrate::Schema,
    sums,
};

/// How long a file that others are busy with is tried to be opened.
const OPENING: Duration = Duration::from_secs(10);

/// One such file.
pub(crate) struct TruthFile {
    home: PathBuf,
    file: PathBuf,
    schema: &'static Schema,
    reader: Slot,
    writer: Slot,
}

/// Where a connection is kept, with the file it is on.
struct Slot {
    kept: Mutex<Option<(Option<FileId>, Connection)>>,
    writes: bool,
}

impl Slot {
    fn new(writes: bool) -> Self {
        Self { kept: Mutex::default(), writes }
    }
}

/// Why a step was not taken.
#[derive(Debug)]
pub(crate) enum Fault {
    /// SQLite says so.
    Sql(rusqlite::Error),
    /// What was asked for cannot be.
    Said(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Said(error)
    }
}

/// What SQLite says about the pages of a file; nothing where they are in order.
pub(crate) fn broken_pages(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut check = connection.prepare("PRAGMA integrity_check")?;
    let mut findings = check.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    findings.retain(|line| line != "ok");
    Ok(findings)
}

impl TruthFile {
    /// The file of that name in this folder; neither need exist yet.
    pub(crate) fn new(home: PathBuf, name: &str, schema: &'static Schema) -> Self {
        let file = home.join(name);
        Self { home, file, schema, reader: Slot::new(false), writer: Slot::new(true) }
    }

    /// The folder.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Whether anything was ever written.
    pub(crate) fn exists(&self) -> bool {
        file_id(&self.file).is_some()
    }

    /// Runs `query` in a read transaction; where nothing was ever written, the answer is the default.
    pub(crate) fn read<T: Default>(&self, query: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T> {
        if find_file(&self.file)?.is_none() {
            return Ok(T::default());
        }
        match self.with(&self.reader, |_| Ok(())) {
            Err(error @ (StoreError::NoAccess { .. } | StoreError::Full(_))) => self.read_only(query)?.ok_or(error),
            Err(error) => Err(error),
            Ok(()) => self.with(&self.reader, |connection| {
                interrupt_when_cancelled(connection)?;
                let transaction = connection.transaction()?;
                self.refuse_newer(&transaction)?;
                query(&transaction)
            }),
        }
    }

    /// Runs `work` as one step that is on disk before this returns.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>) -> Result<T> {
        self.with(&self.writer, |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // The connection may be older than an upgrade by a newer Lore. What that keeps besides, such as its sums, would not
            // be kept here, and would look like damage there.
            self.refuse_newer(&transaction)?;
            let answer = work(&transaction)?;
            sums::note_tables(&transaction, self.schema)?;
            transaction.commit()?;
            Ok(answer)
        })
    }

    /// Fails where a newer Lore has upgraded the file.
    fn refuse_newer(&self, connection: &Connection) -> Result<(), Fault> {
        let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let known = self.schema.newest();
        if found > known {
            return Err(StoreError::TooNew { path: self.file.clone(), found, known }.into());
        }
        Ok(())
    }

    /// Where nothing can be written, what is there can still be read; `None` where it would have to be upgraded for that.
    fn read_only<T: Default>(&self, query: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<Option<T>> {
        let (mut connection, _) = open_read_only(&self.file)?;
        match self.schema.version(&self.file, &connection)? {
            // Whoever made the file was stopped before it had made the tables.
            0 => return Ok(Some(T::default())),
            version if version != self.schema.newest() => return Ok(None),
            _ => {}
        }
        let answer = connection.transaction().map_err(Fault::from).and_then(|transaction| query(&transaction));
        answer.map(Some).map_err(|fault| self.explain(fault))
    }

    fn explain(&self, fault: Fault) -> StoreError {
        match fault {
            Fault::Sql(error) => explain(&self.file, error),
            Fault::Said(error) => error,
        }
    }

    /// Runs `work` on the connection that is kept here, opening it where needed.
    fn with<T>(&self, slot: &Slot, work: impl FnOnce(&mut Connection) -> Result<T, Fault>) -> Result<T> {
        let mut open = slot.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // The file may have been moved away, and another one made in its place.
        let kept = open.take().filter(|(file, _)| file.is_some() && *file == file_id(&self.file));
        let kept = if let Some(kept) = kept {
            kept
        } else {
            let connection = self.connect()?;
            if slot.writes {
                sums::watch(&connection, self.schema).map_err(|error| explain(&self.file, error))?;
            }
            (None, connection)
        };
        let (file, connection) = open.insert(kept);
        *file = file_id(&self.file);
        let answer = work(connection);
        if matches!(answer, Err(Fault::Sql(_))) {
            // Whatever state it is in, the next call begins anew.
            *open = None;
        }
        answer.map_err(|fault| self.explain(fault))
    }

    fn connect(&self) -> Result<Connection> {
        make_home(&self.home).map_err(|error| explain_io(&self.home, &error))?;
        let deadline = Instant::now() + OPENING;
        loop {
            match self.try_connect() {
                // Not every lock of a file that is just being made is waited for by SQLite itself.
                Err(StoreError::Locked) if Instant::now() < deadline => {
                    std::thread::park_timeout(Duration::from_millis(5));
                }
                other => return other,
            }
        }
    }

    /// Makes the file where it is missing, for this user of the machine alone: it may hold secrets, in a folder that others can
    /// read. What SQLite puts beside it has the same rights.
    fn make(&self) -> std::io::Result<()> {
        if self.exists() {
            return Ok(());
        }
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&self.file) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    fn try_connect(&self) -> Result<Connection> {
        self.make().map_err(|error| explain_io(&self.file, &error))?;
        let open = || {
            let connection = Connection::open(&self.file)?;
            prepare(&connection)?;
            Ok(connection)
        };
        let mut connection = open().map_err(|error| explain(&self.file, error))?;
        // First of all: what a newer Lore has written is left alone.
        self.schema.version(&self.file, &connection)?;
        let configure = |connection: &Connection| {
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "foreign_keys", true)
        };
        configure(&connection).map_err(|error| explain(&self.file, error))?;
        self.schema.migrate(&self.file, &mut connection)?;
        Ok(connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::MESSAGES;

    fn put(file: &TruthFile, hash: u8) -> Result<usize> {
        file.write(|transaction| {
            Ok(transaction.execute("INSERT INTO contents (hash, packed) VALUES (?1, x'00')", [[hash; 32]])?)
        })
    }

    fn count(file: &TruthFile) -> Result<i64> {
        file.read(|connection| Ok(connection.query_row("SELECT count(*) FROM contents", [], |row| row.get(0))?))
    }

    fn damage(file: &TruthFile) -> Result<Vec<String>> {
        file.read(|connection| Ok(sums::check_tables(connection, &MESSAGES)?))
    }

    #[test]
    fn a_file_that_a_newer_lore_upgrades_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = TruthFile::new(folder.path().to_owned(), "messages.db", &MESSAGES);
        put(&file, 1).unwrap();
        assert_eq!(count(&file).unwrap(), 1);
        let newer = Connection::open(folder.path().join("messages.db")).unwrap();
        newer.pragma_update(None, "user_version", MESSAGES.newest() + 1).unwrap();
        let (written, read) = (put(&file, 2), count(&file));
        assert!(matches!(written, Err(StoreError::TooNew { .. })), "{written:?}");
        assert!(matches!(read, Err(StoreError::TooNew { .. })), "{read:?}");
        newer.pragma_update(None, "user_version", MESSAGES.newest()).unwrap();
        assert_eq!(count(&file).unwrap(), 1);
        assert_eq!(damage(&file).unwrap(), [""; 0]);
    }

    #[test]
    fn what_others_wrote_is_taken_as_it_is_where_the_sums_were_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = TruthFile::new(folder.path().to_owned(), "messages.db", &MESSAGES);
        put(&file, 1).unwrap();
        let other = Connection::open(folder.path().join("messages.db")).unwrap();
        other.execute("UPDATE contents SET packed = x'ff'", []).unwrap();
        let wrong = ["the table `contents` is not what was written"];
        assert_eq!(damage(&file).unwrap(), wrong);
        other.execute("DELETE FROM sums", []).unwrap();
        put(&file, 2).unwrap();
        assert_eq!(damage(&file).unwrap(), [""; 0]);
        other.execute("UPDATE contents SET packed = x'fe' WHERE content = 2", []).unwrap();
        assert_eq!(damage(&file).unwrap(), wrong);
    }
}
