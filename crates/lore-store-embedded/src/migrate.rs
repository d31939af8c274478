//! Forward-only migrations: numbered files, applied in order, in one transaction.

use std::path::Path;

use lore_store::{Result, StoreError};
use rusqlite::{Connection, TransactionBehavior};

use crate::error::explain;

/// The tables of one database file.
pub(crate) struct Schema {
    /// Every migration with the schema's version after it, oldest first.
    migrations: &'static [(i64, &'static str)],
    /// The tables that are summed as a whole ([`crate::sums`]).
    pub(crate) summed: &'static [&'static str],
}

/// The index, which can always be made anew.
pub(crate) static INDEX: Schema = Schema {
    migrations: &[
        (1, include_str!("../migrations/0001_history.sql")),
        (2, include_str!("../migrations/0002_code.sql")),
        (3, include_str!("../migrations/0003_trigrams.sql")),
        (4, include_str!("../migrations/0004_evidence.sql")),
        (5, include_str!("../migrations/0005_vectors.sql")),
        (6, include_str!("../migrations/0006_pasts.sql")),
        (7, include_str!("../migrations/0007_activity.sql")),
        (8, include_str!("../migrations/0008_sums.sql")),
        (9, include_str!("../migrations/0009_absences.sql")),
        (10, include_str!("../migrations/0010_aliases.sql")),
    ],
    // Small ones; rows of the others have sums of their own.
    summed: &[
        "meta",
        "repos",
        "ingest_state",
        "repo_tips",
        "author_aliases",
        "segments",
        "rules",
        "code_state",
        "vector_sets",
        "vector_files",
    ],
};

/// Messages, which exist nowhere else.
pub(crate) static MESSAGES: Schema = Schema {
    migrations: &[
        (1, include_str!("../migrations/messages/0001_messages.sql")),
        (2, include_str!("../migrations/messages/0002_sums.sql")),
    ],
    summed: &["messages", "contents", "anchors", "claims"],
};

/// What a team has, which exists nowhere else.
pub(crate) static TEAM: Schema = Schema {
    migrations: &[
        (1, include_str!("../migrations/team/0001_team.sql")),
        (2, include_str!("../migrations/team/0002_acts.sql")),
        (3, include_str!("../migrations/team/0003_sums.sql")),
        (4, include_str!("../migrations/team/0004_told.sql")),
    ],
    summed: &[
        "users",
        "secrets",
        "logins",
        "refresh_tokens",
        "tokens",
        "golden",
        "activations",
        "members",
        "jobs",
        "job_golden",
        "job_lines",
        "turns",
        "acts",
    ],
};

impl Schema {
    /// The newest version that this program knows.
    pub(crate) const fn newest(&self) -> i64 {
        self.migrations[self.migrations.len() - 1].0
    }

    /// The version of the schema in a file; 0 where there is none yet.
    pub(crate) fn version(&self, path: &Path, connection: &Connection) -> Result<i64> {
        let read = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let look = || -> rusqlite::Result<(i64, bool)> {
            let found = read("PRAGMA user_version")?;
            if found > 0 || read("SELECT count(*) FROM sqlite_schema")? == 0 {
                return Ok((found, found >= 0));
            }
            // The number is written together with the first tables: another process may have done so between the two looks.
            let found = read("PRAGMA user_version")?;
            Ok((found, found > 0))
        };
        let (found, is_sound) = look().map_err(|error| explain(path, error))?;
        let known = self.newest();
        if found > known {
            return Err(StoreError::TooNew { path: path.to_owned(), found, known });
        }
        if !is_sound {
            let what = format!("it has tables, and {found} for the version of its schema");
            return Err(StoreError::Damaged { path: path.to_owned(), what });
        }
        Ok(found)
    }

    /// Brings the schema up to date. Readers see the old one or the newest: one in between would look to them like an index
    /// that has to be upgraded, and they would find the writer busy.
    pub(crate) fn migrate(&self, path: &Path, connection: &mut Connection) -> Result<()> {
        if self.version(path, connection)? == self.newest() {
            return Ok(());
        }
        let apply = |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Only now can no other process be doing the same.
            let found: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            for (version, sql) in self.migrations.iter().filter(|(version, _)| *version > found) {
                transaction.execute_batch(sql)?;
                transaction.pragma_update(None, "user_version", version)?;
            }
            transaction.commit()
        };
        apply(connection).map_err(|error| explain(path, error))
    }
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
        for (schema, lock) in [
            (&INDEX, include_str!("../migrations/LOCK")),
            (&MESSAGES, include_str!("../migrations/messages/LOCK")),
            (&TEAM, include_str!("../migrations/team/LOCK")),
        ] {
            let lines = schema.migrations.iter().map(line).collect::<Vec<_>>().join("\n") + "\n";
            assert_eq!(lines, lock, "add a new migration instead of editing one");
        }
    }
}
