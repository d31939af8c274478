//! Begins an index anew where the old one cannot be trusted: the same repositories, and nothing read of them yet.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use lore_segments::sync_parent;
use lore_store::{Result, StoreError};
use rusqlite::{Connection, params_from_iter, types::Value};

use crate::{
    EmbeddedStore,
    db::{open_read_only, prepare},
    error::{explain, explain_io},
    lock::WriterLock,
    migrate::INDEX,
    sums,
};

/// What makes a repository one that is registered.
const REPO: &str =
    "repo_id, name, local_path, remote_url, default_branch, exclude_prefixes, author_filter, fork_of, branches";

/// More segments than that nobody has written.
const SEGMENTS: i64 = 10_000_000;

/// What is taken over.
struct Known {
    repos: Vec<Vec<Value>>,
    /// Repositories whose past is wanted.
    pasts: Vec<i64>,
    /// The aliases of each that has some, as they are kept.
    aliases: Vec<(i64, String)>,
    /// When each was registered.
    added: Vec<(i64, Option<i64>)>,
    /// The last number that a repository had: none is used again.
    last: i64,
    /// The number that the next segment would have had. Who has read which segments there were opens them by their names.
    next_segment: i64,
}

/// Puts a new index in the place of the old one, which stays beside it, and gives where that lies.
pub(crate) fn begin_anew(store: &EmbeddedStore) -> Result<PathBuf> {
    let file = store.file();
    let _lock = WriterLock::try_take(&store.home().join("writer.lock"))?;
    // Whoever is asking another model for vectors of chunks would keep them for the new chunks of the same numbers.
    let _vectors = WriterLock::try_take(&store.home().join("vectors.lock"))?;
    let known = read(file)?;
    let (fresh, aside) = (with_ending(file, ".new"), with_ending(file, ".damaged"));
    let remove_both = || {
        let endings = ["", "-wal", "-shm", "-journal"];
        endings
            .iter()
            .try_for_each(|ending| [&fresh, &aside].iter().try_for_each(|of| remove(&with_ending(of, ending))))
    };
    remove_both()?;
    make(&fresh, &known)?;
    keep(file, &aside)?;
    if let Err(error) = settle(file) {
        // The old one goes on to be used. What was kept of it is the same file, with a log that is soon out of date.
        remove_both()?;
        return Err(error);
    }
    // The log of the old one must not be taken for that of the new one, not even after a power failure.
    for log in ["-wal", "-shm"] {
        remove(&with_ending(file, log))?;
    }
    sync_parent(file).map_err(|error| explain_io(file, &error))?;
    fs::rename(&fresh, file).and_then(|()| sync_parent(file)).map_err(|error| explain_io(file, &error))?;
    Ok(aside)
}

fn read(file: &Path) -> Result<Known> {
    let (connection, _) = open_read_only(file)?;
    match INDEX.version(file, &connection) {
        // Damage is why this is done.
        Err(StoreError::Damaged { .. }) => {}
        other => {
            other?;
        }
    }
    let cannot_tell = |error: rusqlite::Error| {
        let what = format!("it cannot tell its repositories: {error}");
        match explain(file, error) {
            StoreError::Damaged { path, .. } => StoreError::Damaged { path, what },
            StoreError::Backend(_) => StoreError::Damaged { path: file.to_owned(), what },
            other => other,
        }
    };
    // Of an earlier schema there is no sum.
    if matches!(sums::is_whole(&connection, &INDEX, "repos"), Ok(false)) {
        return Err(StoreError::Damaged {
            path: file.to_owned(),
            what: "its list of repositories is not what was written".to_owned(),
        });
    }
    let repos = || -> rusqlite::Result<Vec<Vec<Value>>> {
        let mut statement = connection.prepare(&format!("SELECT {REPO} FROM repos"))?;
        let columns = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..columns).map(|column| row.get(column)).collect();
        statement.query_map([], row)?.collect()
    };
    let pasts = || -> rusqlite::Result<Vec<i64>> {
        connection.prepare("SELECT repo_id FROM pasts")?.query_map([], |row| row.get(0))?.collect()
    };
    let aliases = || -> rusqlite::Result<Vec<(i64, String)>> {
        let mut statement = connection.prepare("SELECT repo_id, aliases FROM repos WHERE aliases IS NOT NULL")?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    let added = || -> rusqlite::Result<Vec<(i64, Option<i64>)>> {
        let mut statement = connection.prepare("SELECT repo_id, added_at FROM ingest_state")?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    let last = || connection.query_row("SELECT seq FROM sqlite_sequence WHERE name = 'repos'", [], |row| row.get(0));
    let next_segment =
        || connection.query_row("SELECT value FROM meta WHERE key = 'next_segment'", [], |row| row.get::<_, i64>(0));
    let repos = repos().map_err(cannot_tell)?;
    // Without these there is less, and nothing wrong.
    Ok(Known {
        repos,
        pasts: pasts().unwrap_or_default(),
        aliases: aliases().unwrap_or_default(),
        added: added().unwrap_or_default(),
        last: last().unwrap_or(0),
        // One that is damaged may be any number.
        next_segment: next_segment().ok().filter(|next| (0..SEGMENTS).contains(next)).unwrap_or(0),
    })
}

fn make(fresh: &Path, known: &Known) -> Result<()> {
    let fill = |connection: &mut Connection| -> rusqlite::Result<()> {
        sums::watch(connection, &INDEX)?;
        let transaction = connection.transaction()?;
        let places = "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9";
        for repo in &known.repos {
            transaction.execute(&format!("INSERT INTO repos ({REPO}) VALUES ({places})"), params_from_iter(repo))?;
        }
        transaction.execute("UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'repos'", [known.last])?;
        transaction.execute("INSERT INTO ingest_state (repo_id) SELECT repo_id FROM repos", [])?;
        for (repo, aliases) in &known.aliases {
            transaction.execute("UPDATE repos SET aliases = ?2 WHERE repo_id = ?1", (repo, aliases))?;
        }
        for (repo, at) in &known.added {
            transaction.execute("UPDATE ingest_state SET added_at = ?2 WHERE repo_id = ?1", (repo, at))?;
        }
        transaction
            .execute("UPDATE meta SET value = max(value, ?1) WHERE key = 'next_segment'", [known.next_segment])?;
        for repo in &known.pasts {
            crate::code::want_past(&transaction, lore_model::RepoId(*repo), true)?;
        }
        sums::note_tables(&transaction, &INDEX)?;
        transaction.commit()
    };
    let build = || -> rusqlite::Result<Connection> {
        let connection = Connection::open(fresh)?;
        prepare(&connection)?;
        connection.pragma_update(None, "page_size", 8192)?;
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        Ok(connection)
    };
    let mut connection = build().map_err(|error| explain(fresh, error))?;
    INDEX.migrate(fresh, &mut connection)?;
    fill(&mut connection).map_err(|error| explain(fresh, error))?;
    connection.close().map_err(|(_, error)| explain(fresh, error))
}

/// Keeps the old file and its log under another name, whatever happens after this. The old name stays until the new file takes
/// it.
fn keep(file: &Path, aside: &Path) -> Result<()> {
    let kept = || -> io::Result<()> {
        if fs::hard_link(file, aside).is_err() {
            copy(file, aside)?;
        }
        match copy(&with_ending(file, "-wal"), &with_ending(aside, "-wal")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        sync_parent(aside)
    };
    kept().map_err(|error| explain_io(aside, &error))
}

/// Moves the log of the old file into it. The log goes before the new file comes; where the power fails in between, the old file
/// has to tell its repositories without it, so that the index can be begun anew once more.
fn settle(file: &Path) -> Result<()> {
    let settled = || -> rusqlite::Result<bool> {
        let connection = Connection::open(file)?;
        prepare(&connection)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(row.get::<_, i64>(0)? == 0))
    };
    match settled().map_err(|error| explain(file, error)) {
        Ok(true) => Ok(()),
        // Somebody has been reading for long.
        Ok(false) => Err(StoreError::Locked),
        Err(error @ (StoreError::Locked | StoreError::Full(_) | StoreError::NoAccess { .. })) => Err(error),
        // What is damaged like this cannot be used without its log either. All of it was kept.
        Err(error) => {
            tracing::debug!(%error, "the log of a damaged index cannot be moved into it");
            Ok(())
        }
    }
}

/// Copies a file so that the copy outlasts a power failure.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    fs::OpenOptions::new().write(true).open(to)?.sync_all()
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(explain_io(path, &error)),
        _ => Ok(()),
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_file_is_whole_before_its_log_goes() {
        let folder = tempfile::tempdir().unwrap();
        let (file, alone) = (folder.path().join("lore.db"), folder.path().join("alone.db"));
        let mut connection = Connection::open(&file).unwrap();
        prepare(&connection).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        INDEX.migrate(&file, &mut connection).unwrap();
        let add = "INSERT INTO repos (name, local_path, exclude_prefixes) VALUES ('a', 'p', '[]')";
        connection.execute(add, []).unwrap();
        assert!(fs::metadata(with_ending(&file, "-wal")).unwrap().len() > 0);
        settle(&file).unwrap();
        // What a power failure leaves when the log is gone and the new file is not there yet.
        fs::copy(&file, &alone).unwrap();
        let alone = Connection::open(&alone).unwrap();
        let count: i64 = alone.query_row("SELECT count(*) FROM repos", [], |row| row.get(0)).unwrap();
        assert_eq!(count, 1);
    }
}
