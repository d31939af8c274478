//! Forward-only migrations: numbered files, applied in order, in one transaction.

use std::path::Path;

use lore_store::{Result, StoreError};
use rusqlite::Connection;

use crate::error::explain;

/// Every migration with the schema's version after it, oldest first.
const MIGRATIONS: [(i64, &str); 3] = [
    (1, include_str!("../migrations/0001_history.sql")),
    (2, include_str!("../migrations/0002_code.sql")),
    (3, include_str!("../migrations/0003_trigrams.sql")),
];

/// The newest schema version that this program knows.
pub(crate) const NEWEST: i64 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// The version of the schema in a file; 0 where there is none yet.
pub(crate) fn version(path: &Path, connection: &Connection) -> Result<i64> {
    let found =
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(|error| explain(path, error))?;
    if found > NEWEST {
        return Err(StoreError::TooNew { path: path.to_owned(), found, known: NEWEST });
    }
    Ok(found)
}

/// Brings the schema up to date. Readers see the old one or the newest: one in between would look to them like an index that
/// has to be upgraded, and they would find the writer busy.
pub(crate) fn migrate(path: &Path, connection: &mut Connection) -> Result<()> {
    let found = version(path, connection)?;
    let apply = |connection: &mut Connection| {
        let transaction = connection.transaction()?;
        for (version, sql) in MIGRATIONS.iter().filter(|(version, _)| *version > found) {
            transaction.execute_batch(sql)?;
            transaction.pragma_update(None, "user_version", version)?;
        }
        transaction.commit()
    };
    if found == NEWEST {
        return Ok(());
    }
    apply(connection).map_err(|error| explain(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A migration that was released never changes: indexes made with the old text would differ from new ones.
    #[test]
    fn migrations_are_what_the_lock_file_says() {
        let line = |(version, sql): &(i64, &str)| {
            let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            format!("{version:04} {:016x}", sql.bytes().fold(0xcbf2_9ce4_8422_2325, step))
        };
        let lock = MIGRATIONS.iter().map(line).collect::<Vec<_>>().join("\n") + "\n";
        assert_eq!(lock, include_str!("../migrations/LOCK"), "add a new migration instead of editing one");
    }
}
