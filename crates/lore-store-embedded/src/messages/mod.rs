//! Messages in a SQLite file of their own: they are truth, and no long sync makes them wait.
//!
//! The file is a [`TruthFile`].

mod readers;
mod rows;
mod search;
mod watch;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use lore_model::{Message, MessageId, MessageState, NewMessage, RepoPath, Signal};
use lore_store::{
    Added, Claimed, MESSAGE_WORDS_BYTES, MESSAGE_WORDS_MAX, MessageQuery, MessageStore, Others, Result, StoreError,
    Withdrawal,
};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use self::readers::Readers;
use crate::{
    db::make_home,
    error::explain_io,
    migrate::MESSAGES,
    rows::{count, path_value, repo_path},
    sums,
    truth::{TruthFile, broken_pages},
};

/// What is waiting for a project: its own messages, and those that are for everybody.
const WAITING: &str = "state = 'waiting' AND (project = ?1 OR project IS NULL)";

/// Messages in one folder.
#[derive(Clone)]
pub struct EmbeddedMessages {
    inner: Arc<Inner>,
}

struct Inner {
    file: TruthFile,
    readers: Mutex<Readers>,
    watched: watch::Watched,
}

impl EmbeddedMessages {
    /// The messages in this folder, which need not exist yet.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        let readers = Mutex::new(Readers::new(home.join("readers")));
        let file = TruthFile::new(home, "messages.db", &MESSAGES);
        let inner = Inner { file, readers, watched: watch::Watched::default() };
        Self { inner: Arc::new(inner) }
    }

    /// The folder.
    pub fn home(&self) -> &Path {
        self.inner.file.home()
    }

    /// Runs `query` in a read transaction; where nothing was ever written, the answer is the default.
    fn read<T: Default>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.inner.file.read(|connection| Ok(query(connection)?))
    }

    /// Runs `work` as one step that is on disk before this returns.
    fn write<T>(&self, work: impl FnOnce(&Inner, &Transaction<'_>) -> rusqlite::Result<T>) -> Result<T> {
        self.inner.file.write(|transaction| Ok(work(&self.inner, transaction)?))
    }
}

impl Inner {
    /// Makes the claims of dead readers void.
    fn void_claims(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let readers: Vec<String> = transaction
            .prepare_cached("SELECT DISTINCT reader FROM claims")?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let known = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        for reader in readers.iter().filter(|reader| !known.is_alive(reader)) {
            transaction.execute("DELETE FROM claims WHERE reader = ?1", [reader])?;
        }
        Ok(())
    }
}

fn waiting_count(connection: &Connection, project: &Path) -> rusqlite::Result<usize> {
    let sql = format!("SELECT count(*) FROM messages WHERE {WAITING}");
    let counted: i64 = connection.prepare_cached(&sql)?.query_row(params![path_value(project)], |row| row.get(0))?;
    Ok(usize::try_from(counted).unwrap_or(0))
}

fn with_key(connection: &Connection, key: [u8; 32]) -> rusqlite::Result<Option<MessageId>> {
    let known = "SELECT id FROM messages WHERE key = ?1 AND state <> 'withdrawn'";
    connection.prepare_cached(known)?.query_row([key], |row| row.get(0).map(MessageId)).optional()
}

impl MessageStore for EmbeddedMessages {
    fn add(&self, message: &NewMessage, at: i64) -> Result<Added> {
        let added = self.write(|_, transaction| match with_key(transaction, message.key)? {
            Some(id) => Ok(Added::Known(id)),
            None => rows::insert(transaction, message, at).map(Added::New),
        })?;
        // What was known is no news: whoever finds the same message again and again must not wake everybody.
        if matches!(added, Added::New(_))
            && let Err(error) = watch::ring(self.home())
        {
            // Whoever watches looks by himself a little later.
            tracing::debug!(%error, "nobody is told of a new message");
        }
        Ok(added)
    }

    fn find_key(&self, key: [u8; 32]) -> Result<Option<MessageId>> {
        self.read(|connection| with_key(connection, key))
    }

    fn claim(&self, project: &Path, limit: usize, others: Others) -> Result<Claimed> {
        // Agents ask often, and mostly for nothing: that takes no lock.
        if self.read(|connection| waiting_count(connection, project))? == 0 {
            return Ok(Claimed::Messages(Vec::new(), 0));
        }
        let reader = self.inner.readers.lock().unwrap_or_else(PoisonError::into_inner).own()?;
        self.write(|inner, transaction| {
            inner.void_claims(transaction)?;
            let place = path_value(project);
            let claimed: bool = transaction.query_row(
                &format!("SELECT EXISTS (SELECT 1 FROM claims JOIN messages ON id = message WHERE {WAITING})"),
                params![place],
                |row| row.get(0),
            )?;
            if claimed && others == Others::Wait {
                return Ok(Claimed::Busy);
            }
            let condition = format!("{WAITING} AND id NOT IN (SELECT message FROM claims)");
            let messages = rows::select(
                transaction,
                &format!("WHERE {condition} ORDER BY id LIMIT ?2"),
                params![place, count(limit)],
            )?;
            for message in &messages {
                transaction
                    .execute("INSERT INTO claims (message, reader) VALUES (?1, ?2)", params![message.id.0, reader])?;
            }
            let left: i64 = transaction.query_row(
                &format!("SELECT count(*) FROM messages WHERE {condition}"),
                params![place],
                |row| row.get(0),
            )?;
            Ok(Claimed::Messages(messages, usize::try_from(left).unwrap_or(0)))
        })
    }

    fn acknowledge(&self, messages: &[MessageId], at: i64) -> Result<()> {
        self.write(|_, transaction| {
            for message in messages {
                transaction.execute(
                    "UPDATE messages SET state = 'delivered', state_since = ?2 WHERE id = ?1 AND state = 'waiting'",
                    params![message.0, at],
                )?;
                transaction.execute("DELETE FROM claims WHERE message = ?1", [message.0])?;
            }
            Ok(())
        })
    }

    fn release(&self, messages: &[MessageId]) -> Result<()> {
        self.write(|inner, transaction| {
            let readers = inner.readers.lock().unwrap_or_else(PoisonError::into_inner);
            let own = readers.name();
            for message in messages {
                transaction
                    .execute("DELETE FROM claims WHERE message = ?1 AND reader = ?2", params![message.0, own])?;
            }
            Ok(())
        })
    }

    fn list_waiting(&self, project: &Path, limit: usize) -> Result<(Vec<Message>, usize)> {
        self.read(|connection| {
            let rest = format!("WHERE {WAITING} ORDER BY id LIMIT ?2");
            let messages = rows::select(connection, &rest, params![path_value(project), count(limit)])?;
            Ok((messages, waiting_count(connection, project)?))
        })
    }

    fn list_messages(&self, query: &MessageQuery) -> Result<(Vec<Message>, bool)> {
        if query.words.as_deref().is_some_and(search::are_too_many) {
            let most = format!("it has more than {MESSAGE_WORDS_MAX} words, or {MESSAGE_WORDS_BYTES} bytes");
            return Err(StoreError::BadQuery(most));
        }
        self.read(|connection| search::list(connection, query))
    }

    fn list_bare(&self, after: MessageId, limit: usize) -> Result<Vec<Message>> {
        self.read(|connection| {
            rows::select_bare(connection, "WHERE id > ?1 ORDER BY id LIMIT ?2", params![after.0, count(limit)])
        })
    }

    fn find_message(&self, message: MessageId) -> Result<Option<Message>> {
        self.read(|connection| rows::select(connection, "WHERE id = ?1", [message.0]).map(|mut found| found.pop()))
    }

    fn withdraw(&self, message: MessageId, at: i64) -> Result<Withdrawal> {
        if !self.inner.file.exists() {
            return Ok(Withdrawal::Absent);
        }
        self.write(|inner, transaction| {
            inner.void_claims(transaction)?;
            let Some(found) = rows::select(transaction, "WHERE id = ?1", [message.0])?.pop() else {
                return Ok(Withdrawal::Absent);
            };
            if found.state != MessageState::Waiting {
                return Ok(Withdrawal::TooLate(Box::new(found)));
            }
            let claimed: bool = transaction.query_row(
                "SELECT EXISTS (SELECT 1 FROM claims WHERE message = ?1)",
                [message.0],
                |row| row.get(0),
            )?;
            if claimed {
                return Ok(Withdrawal::Claimed);
            }
            transaction.execute(
                "UPDATE messages SET state = 'withdrawn', state_since = ?2 WHERE id = ?1",
                params![message.0, at],
            )?;
            Ok(Withdrawal::Done)
        })
    }

    fn newest(&self, project: Option<&Path>) -> Result<Option<(MessageId, RepoPath)>> {
        let project = project.map(path_value);
        self.read(|connection| {
            let row = |row: &rusqlite::Row<'_>| Ok((MessageId(row.get(0)?), repo_path(row, 1)?));
            let rest = "ORDER BY id DESC LIMIT 1";
            let columns = "SELECT id, file, file_exact FROM messages";
            match project {
                Some(project) => connection
                    .prepare_cached(&format!("{columns} WHERE {WAITING} {rest}"))?
                    .query_row(params![project], row),
                None => connection.prepare_cached(&format!("{columns} {rest}"))?.query_row([], row),
            }
            .optional()
        })
    }

    fn watch(&self) -> Result<Signal> {
        let home = self.home();
        make_home(home).map_err(|error| explain_io(home, &error))?;
        Ok(self.inner.watched.start(home))
    }

    fn check_messages(&self) -> Result<Vec<String>> {
        self.read(|connection| {
            let mut damage = broken_pages(connection)?;
            if damage.is_empty() {
                damage = rows::damaged_contents(connection)?;
                damage.extend(sums::check_tables(connection, &MESSAGES)?);
            }
            Ok(damage)
        })
    }
}
