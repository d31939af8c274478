//! Begins an index anew where the old one cannot be trusted: the same repositories, and nothing read of them yet.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use lore_store::{Result, StoreError};
use rusqlite::{Connection, params_from_iter, types::Value};

use crate::{
    EmbeddedStore,
    db::{open_read_only, prepare},
    error::{explain, explain_io},
    lock::WriterLock,
    migrate::INDEX,
    segment::sync_parent,
    sums,
};

/// What makes a repository one that is registered.
const REPO: &str =
    "repo_id, name, local_path, remote_url, default_branch, exclude_prefixes, author_filter, fork_of, branches";

/// What is taken over.
struct Known {
    repos: Vec<Vec<Value>>,
    /// Repositories whose past is wanted.
    pasts: Vec<i64>,
    /// When each was registered.
    added: Vec<(i64, Option<i64>)>,
    /// The last number that a repository had: none is used again.
    last: i64,
}

/// Puts a new index in the place of the old one, which stays beside it, and gives where that lies.
pub(crate) fn begin_anew(store: &EmbeddedStore) -> Result<PathBuf> {
    let file = store.file();
    let _lock = WriterLock::try_take(&store.home().join("writer.lock"))?;
    let known = read(file)?;
    let (fresh, aside) = (with_ending(file, ".new"), with_ending(file, ".damaged"));
    for stray in ["", "-wal", "-shm", "-journal"] {
        for of in [&fresh, &aside] {
            remove(&with_ending(of, stray))?;
        }
    }
    make(&fresh, &known)?;
    keep(file, &aside)?;
    // The log of the old one must not be taken for that of the new one.
    for log in ["-wal", "-shm"] {
        remove(&with_ending(file, log))?;
    }
    fs::rename(&fresh, file).and_then(|()| sync_parent(file)).map_err(|error| explain_io(file, &error))?;
    Ok(aside)
}

fn read(file: &Path) -> Result<Known> {
    let (connection, _) = open_read_only(file)?;
    INDEX.version(file, &connection)?;
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
    let added = || -> rusqlite::Result<Vec<(i64, Option<i64>)>> {
        let mut statement = connection.prepare("SELECT repo_id, added_at FROM ingest_state")?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    let last = || connection.query_row("SELECT seq FROM sqlite_sequence WHERE name = 'repos'", [], |row| row.get(0));
    let repos = repos().map_err(cannot_tell)?;
    // Without these there is less, and nothing wrong.
    Ok(Known {
        repos,
        pasts: pasts().unwrap_or_default(),
        added: added().unwrap_or_default(),
        last: last().unwrap_or(0),
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
        for (repo, at) in &known.added {
            transaction.execute("UPDATE ingest_state SET added_at = ?2 WHERE repo_id = ?1", (repo, at))?;
        }
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
