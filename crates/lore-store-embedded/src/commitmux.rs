//! Reads what a commitmux database says of its repositories. Its patches are unusable, so history is read anew from git.

use std::path::{Path, PathBuf};

use lore_store::{Result, StoreError};
use rusqlite::{Connection, OpenFlags};

use crate::error::explain;

/// A repository as commitmux knew it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitmuxRepo {
    /// Its name.
    pub name: String,
    /// Where it lies.
    pub local_path: PathBuf,
    /// Where it was cloned from.
    pub remote_url: Option<String>,
    /// Its main branch.
    pub default_branch: Option<String>,
    /// What it was forked from.
    pub fork_of: Option<String>,
    /// Only commits of this author were kept.
    pub author_filter: Option<String>,
    /// Prefixes that were left out beside the default ones.
    pub exclude_prefixes: Vec<String>,
}

/// More are not taken over; nobody has so many.
const MAX_REPOS: usize = 10_000;

/// No value of it is longer.
const MAX_VALUE: i32 = 1 << 20;

/// The file is somebody else's: nothing in it may run, go on for ever or fill the memory.
fn harden(connection: &Connection) -> rusqlite::Result<()> {
    use rusqlite::{config::DbConfig, limits::Limit};
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
    Ok(())
}

/// The repositories in a commitmux database, by name.
pub fn read_commitmux(file: &Path) -> Result<Vec<CommitmuxRepo>> {
    if !file.is_file() {
        return Err(StoreError::NoAccess { path: file.to_owned(), what: "there is no such file".to_owned() });
    }
    let read = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(file, flags)?;
        harden(&connection)?;
        let columns: Vec<String> = connection
            .prepare("SELECT name FROM pragma_table_info('repos')")?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        if !["name", "local_path"].iter().all(|needed| columns.iter().any(|column| column == needed)) {
            return Ok(None);
        }
        // Older databases lack the later columns.
        let column = |name: &'static str| if columns.iter().any(|column| column == name) { name } else { "NULL" };
        let sql = format!(
            "SELECT name, local_path, {}, {}, {}, {}, {} FROM repos ORDER BY name LIMIT {MAX_REPOS}",
            column("remote_url"),
            column("default_branch"),
            column("fork_of"),
            column("author_filter"),
            column("exclude_prefixes")
        );
        let mut statement = connection.prepare(&sql)?;
        let rows = statement.query_map([], |row| {
            Ok(CommitmuxRepo {
                name: row.get(0)?,
                local_path: PathBuf::from(row.get::<_, String>(1)?),
                remote_url: row.get(2)?,
                default_branch: row.get(3)?,
                fork_of: row.get(4)?,
                author_filter: row.get(5)?,
                exclude_prefixes: row
                    .get::<_, Option<String>>(6)?
                    .and_then(|json| serde_json::from_str(&json).ok())
                    .unwrap_or_default(),
            })
        })?;
        rows.collect::<rusqlite::Result<Vec<_>>>().map(Some)
    };
    read().map_err(|error| explain(file, error))?.ok_or_else(|| StoreError::Damaged {
        path: file.to_owned(),
        what: "it holds no table `repos` with the columns of a commitmux database".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_databases_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("db.sqlite3");
        let make = |sql: &str| {
            let _gone = std::fs::remove_file(&file);
            Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        };
        make("CREATE TABLE repos (repo_id INTEGER PRIMARY KEY, name TEXT, local_path TEXT, remote_url TEXT, default_branch TEXT);
              INSERT INTO repos VALUES (1, 'a', '/a', NULL, 'main')");
        assert_eq!(read_commitmux(&file).unwrap()[0].default_branch.as_deref(), Some("main"));
        make(
            r#"CREATE TABLE repos (repo_id INTEGER PRIMARY KEY, name TEXT, local_path TEXT, remote_url TEXT, default_branch TEXT, fork_of TEXT,
                                    author_filter TEXT, exclude_prefixes TEXT, embed_enabled INTEGER);
                INSERT INTO repos VALUES (1, 'b', '/b', 'https://x/b', NULL, 'up', 'me@x', '["gen/"]', 0)"#,
        );
        let repo = read_commitmux(&file).unwrap().remove(0);
        assert_eq!(
            (repo.fork_of.as_deref(), repo.author_filter.as_deref(), repo.exclude_prefixes),
            (Some("up"), Some("me@x"), vec!["gen/".to_owned()])
        );
        make("CREATE TABLE other (x)");
        assert!(matches!(read_commitmux(&file), Err(StoreError::Damaged { .. })));
        assert!(read_commitmux(Path::new("/nowhere/db")).is_err());
    }
}
