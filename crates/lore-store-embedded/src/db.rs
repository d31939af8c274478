//! Opens the database: many read-only connections, one writer.

use std::{
    collections::HashMap,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use lore_model::Cancel;
use lore_segments::{Past, Segment, TEXT_MEMORY, TextCache, VectorFile};
use lore_store::{Result, StoreError, lower_when_long, on_own_thread};
use rusqlite::{Connection, OpenFlags, config::DbConfig};

use crate::{
    error::{explain, explain_io},
    lock::WriterLock,
    migrate::INDEX,
    sums,
    writer::{Shared, Writer},
};

/// Idle read connections kept for the next call.
const MAX_IDLE: usize = 8;

/// A Lore index in one folder.
#[derive(Debug, Clone)]
pub struct EmbeddedStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    home: PathBuf,
    file: PathBuf,
    idle: Mutex<Vec<(FileId, Connection)>>,
    segments: Mutex<HashMap<FileId, Weak<Segment>>>,
    vector_files: Mutex<HashMap<FileId, Weak<VectorFile>>>,
    pasts: Mutex<Vec<(i64, Arc<Past>)>>,
    texts: Arc<TextCache>,
    /// Connections that were taken since the last [`EmbeddedStore::free_unused`].
    uses: AtomicU64,
}

/// Which file a connection was opened on: a file may be moved away and another one made in its place.
pub(crate) type FileId = (u64, u64);

impl EmbeddedStore {
    /// The index in this folder, which need not exist yet: until something is written, everything is empty.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self::with_text_memory(home, TEXT_MEMORY)
    }

    /// The same for many who ask: so many bytes of texts that were read are kept.
    pub fn with_text_memory(home: impl Into<PathBuf>, bytes: u64) -> Self {
        let home = home.into();
        let file = home.join("lore.db");
        Self {
            inner: Arc::new(Inner {
                home,
                file,
                idle: Mutex::default(),
                segments: Mutex::default(),
                vector_files: Mutex::default(),
                pasts: Mutex::default(),
                texts: TextCache::new(bytes),
                uses: AtomicU64::new(0),
            }),
        }
    }

    /// Frees what is cached for queries (connections with their pages, texts, pasts) if there was none since the last call.
    pub fn free_unused(&self) {
        if self.inner.uses.swap(0, Ordering::Relaxed) > 0 {
            return;
        }
        let idle = std::mem::take(&mut *self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner));
        let pasts = std::mem::take(&mut *self.inner.pasts.lock().unwrap_or_else(PoisonError::into_inner));
        // Not while others wait for the lists.
        drop((idle, pasts));
        self.inner.texts.clear();
    }

    /// The SQLite file.
    pub fn file(&self) -> &Path {
        &self.inner.file
    }

    /// Runs `query` on a read-only connection inside one read transaction; `None` where there is no index yet.
    pub(crate) fn read<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<Option<T>> {
        Cancel::current().check().map_err(|_| StoreError::Interrupted)?;
        let Some((file, mut connection)) = self.take_reader()? else { return Ok(None) };
        interrupt_when_cancelled(&mut connection).map_err(|error| explain(self.file(), error))?;
        let answer = (|| {
            let transaction = connection.transaction()?;
            // The connection may be older than an upgrade by a newer Lore, whose tables may be others.
            let found: i64 = transaction.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0))?;
            if found > INDEX.newest() { Ok(Err(found)) } else { query(&transaction).map(Ok) }
        })();
        let mut idle = self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = file
            && matches!(answer, Ok(Ok(_)))
            && idle.len() < MAX_IDLE
        {
            idle.push((file, connection));
        }
        match answer.map_err(|error| explain(self.file(), error))? {
            Ok(answer) => Ok(Some(answer)),
            Err(found) => Err(StoreError::TooNew { path: self.file().to_owned(), found, known: INDEX.newest() }),
        }
    }

    /// The same for a query whose cost its user decides: where it takes long, others go first.
    pub(crate) fn read_long<T: Send>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send,
    ) -> Result<Option<T>> {
        on_own_thread(|| self.read(query))
    }

    /// The folder of segment files.
    pub(crate) fn segments_dir(&self) -> PathBuf {
        self.inner.home.join("segments")
    }

    /// The segments that are open, shared by all views of this process.
    pub(crate) fn open_segments(&self) -> &Mutex<HashMap<FileId, Weak<Segment>>> {
        &self.inner.segments
    }

    /// The texts that were unpacked lately.
    pub(crate) fn texts(&self) -> &Arc<TextCache> {
        &self.inner.texts
    }

    /// The pasts that were unpacked, by their numbers, the last one last.
    pub(crate) fn open_pasts(&self) -> &Mutex<Vec<(i64, Arc<Past>)>> {
        &self.inner.pasts
    }

    /// The folder that holds everything.
    pub(crate) fn home(&self) -> &Path {
        &self.inner.home
    }

    /// The folder of the vectors of other models.
    pub(crate) fn vectors_dir(&self) -> PathBuf {
        self.inner.home.join("vectors")
    }

    /// The files of vectors that are open, shared by all views of this process.
    pub(crate) fn open_vector_files(&self) -> &Mutex<HashMap<FileId, Weak<VectorFile>>> {
        &self.inner.vector_files
    }

    /// The writer on this thread, as those know it who write in the middle of something else.
    pub(crate) fn open_shared(&self) -> Result<Arc<Shared>> {
        let (lock, connection) = self.open_writer()?;
        Ok(Writer::new(self.clone(), lock, connection).shared)
    }

    /// Becomes the writer, creating or upgrading the index where needed.
    pub(crate) fn writer(&self) -> Result<Writer> {
        let (lock, connection) = self.open_writer()?;
        Ok(Writer::new(self.clone(), lock, connection))
    }

    fn open_writer(&self) -> Result<(WriterLock, Connection)> {
        let home = &self.inner.home;
        make_home(home).map_err(|error| explain_io(home, &error))?;
        let lock = WriterLock::try_take(&home.join("writer.lock"))?;
        let open = || {
            let connection = Connection::open(self.file())?;
            prepare(&connection)?;
            Ok(connection)
        };
        let configure = |connection: &Connection, version: i64| {
            if version == 0 {
                // The size first: setting the other one writes, and then it is too late.
                connection.pragma_update(None, "page_size", 8192)?;
                // Freed pages can be given back to the system after a repository is removed.
                connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
            }
            connection.pragma_update(None, "journal_mode", "WAL")?;
            // Transactions are few and large, so waiting for the disk at each costs little.
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "cache_size", -65536)?;
            connection.pragma_update(None, "wal_autocheckpoint", 4096)
        };
        let mut connection = open().map_err(|error| explain(self.file(), error))?;
        // First of all: what a newer Lore has written is left alone.
        let version = INDEX.version(self.file(), &connection)?;
        configure(&connection, version).map_err(|error| explain(self.file(), error))?;
        INDEX.migrate(self.file(), &mut connection)?;
        sums::watch(&connection, &INDEX).map_err(|error| explain(self.file(), error))?;
        Ok((lock, connection))
    }

    /// A connection, and the file it is on if it may be kept for the next call.
    fn take_reader(&self) -> Result<Option<(Option<FileId>, Connection)>> {
        let Some(file) = find_file(self.file())? else { return Ok(None) };
        self.inner.uses.fetch_add(1, Ordering::Relaxed);
        let mut idle = self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(opened, _)| *opened == file);
        if let Some((_, connection)) = idle.pop() {
            return Ok(Some((Some(file), connection)));
        }
        drop(idle);
        let (connection, keep) = open_read_only(self.file())?;
        let keep = keep.then_some(file);
        match INDEX.version(self.file(), &connection)? {
            // A writer was stopped before it had made the tables.
            0 => Ok(None),
            version if version == INDEX.newest() => Ok(Some((keep, connection))),
            _ => {
                drop(connection);
                drop(self.open_writer()?);
                // This one may have found no room for shared memory: what is written later would look like damage to it.
                let (connection, keep) = open_read_only(self.file())?;
                Ok(Some((keep.then_some(file), connection)))
            }
        }
    }
}

/// A read-only connection, and whether it will see what others write later.
pub(crate) fn open_read_only(file: &Path) -> Result<(Connection, bool)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let open = |immutable: bool| {
        let connection = Connection::open_with_flags(uri(file, immutable), flags)?;
        prepare(&connection)?;
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "cache_size", -16384)?;
        connection.pragma_update(None, "mmap_size", 1_i64 << 30)?;
        // The first real access: only here does SQLite find out whether it can read.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    };
    let first = match open(false) {
        Ok(connection) => return Ok((connection, true)),
        Err(error) => explain(file, error),
    };
    // Where WAL's shared memory cannot be made (a read-only file system, a full disk), the file alone can still be read, as
    // long as everything is in it.
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    let whole = fs::metadata(log).map_or(true, |meta| meta.len() == 0);
    match first {
        first @ (StoreError::NoAccess { .. } | StoreError::Full(_)) if whole => match open(true) {
            Ok(connection) => Ok((connection, false)),
            Err(_) => Err(first),
        },
        other => Err(other),
    }
}

/// Virtual-machine instructions between two looks at the token. Reading one block of the full-text index takes a few of them,
/// so a merge of many blocks is interrupted soon as well.
const INTERRUPT_EVERY: i32 = 200;

/// Interrupts the statements of this connection once the work of the current thread is cancelled.
pub(crate) fn interrupt_when_cancelled(connection: &mut Connection) -> rusqlite::Result<()> {
    let cancel = Cancel::current();
    let stop = move || {
        lower_when_long();
        cancel.is_cancelled()
    };
    connection.progress_handler(INTERRUPT_EVERY, Some(stop))
}

/// What the file system calls the file; `None` where there is none. What cannot be looked at is not taken for what is not there.
pub(crate) fn find_file(path: &Path) -> Result<Option<FileId>> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match look(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        Err(error) => Err(explain_io(path, &error)),
    }
}

/// The same where it does not matter why it is not known.
pub(crate) fn file_id(path: &Path) -> Option<FileId> {
    look(path).ok()
}

fn look(path: &Path) -> io::Result<FileId> {
    let meta = fs::metadata(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Ok((meta.dev(), meta.ino()))
    }
    #[cfg(not(unix))]
    {
        let made = meta.created().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        Ok((0, made.map_or(0, |age| u64::try_from(age.as_nanos()).unwrap_or(0))))
    }
}

/// What holds for every connection: a hostile file cannot run anything, and short waits are waited out.
pub(crate) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // The file has no trigger (those of `sums` are the connection's own, and not meant here), and its views are for others:
    // whatever else stands there was planted. A view in place of a table could go on for ever.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

fn uri(file: &Path, immutable: bool) -> PathBuf {
    let mut uri = String::from("file:");
    for byte in file.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => write!(uri, "%{byte:02X}").expect("writing to a string cannot fail"),
        }
    }
    uri.push_str(if immutable { "?immutable=1" } else { "?mode=ro" });
    PathBuf::from(uri)
}

/// Makes the folder where it is missing, closed to other users of the machine; one that exists is left as it is.
pub fn make_home(home: &Path) -> io::Result<()> {
    let mut folder = fs::DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    let made: Vec<&Path> = home.ancestors().take_while(|folder| !folder.is_dir()).collect();
    folder.create(home)?;
    // What is kept in it must not be lost with its name.
    made.into_iter().filter(|folder| !folder.as_os_str().is_empty()).try_for_each(lore_segments::sync_parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_closed_when_no_query_came_for_a_while_and_opened_again_for_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::new(dir.path());
        drop(store.writer().unwrap());
        let idle = || store.inner.idle.lock().unwrap().len();
        let read = || store.read(|connection| connection.query_row("SELECT 1", [], |row| row.get::<_, i64>(0)));
        assert_eq!((read().unwrap(), idle()), (Some(1), 1));
        store.free_unused();
        assert_eq!(idle(), 1, "a query came since the last look");
        store.free_unused();
        assert_eq!(idle(), 0);
        assert_eq!((read().unwrap(), idle()), (Some(1), 1));
    }
}
