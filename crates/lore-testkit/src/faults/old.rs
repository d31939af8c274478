//! An index as an earlier Lore would have left it: the same rows under the schema of that time.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
use rusqlite::Connection;

/// The migrations, as the program has them.
const MIGRATIONS: [&str; 10] = [
    include_str!("../../../lore-store-embedded/migrations/0001_history.sql"),
    include_str!("../../../lore-store-embedded/migrations/0002_code.sql"),
    include_str!("../../../lore-store-embedded/migrations/0003_trigrams.sql"),
    include_str!("../../../lore-store-embedded/migrations/0004_evidence.sql"),
    include_str!("../../../lore-store-embedded/migrations/0005_vectors.sql"),
    include_str!("../../../lore-store-embedded/migrations/0006_pasts.sql"),
    include_str!("../../../lore-store-embedded/migrations/0007_activity.sql"),
    include_str!("../../../lore-store-embedded/migrations/0008_sums.sql"),
    include_str!("../../../lore-store-embedded/migrations/0009_absences.sql"),
    include_str!("../../../lore-store-embedded/migrations/0010_aliases.sql"),
];

/// The first schema whose segments are those of today.
const SEGMENTS: usize = 3;

/// Makes an index one of an earlier schema. What that did not know is lost; before version 3 so is all code.
pub fn make(db: &Path, version: usize) -> Result<()> {
    let fresh = db.with_extension("old");
    let old = Connection::open(&fresh)?;
    old.pragma_update(None, "page_size", 8192)?;
    old.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    old.pragma_update(None, "journal_mode", "WAL")?;
    for sql in &MIGRATIONS[..version] {
        old.execute_batch(sql)?;
    }
    old.pragma_update(None, "user_version", i64::try_from(version)?)?;
    let name = db.to_str().context("the path of the index is not UTF-8")?;
    old.execute("ATTACH ?1 AS new", [name])?;
    let column = |sql: &str| -> Result<Vec<String>> {
        let mut statement = old.prepare(sql)?;
        let rows = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        Ok(rows)
    };
    let tables = column(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'commits_fts%' \
         AND name NOT LIKE 'sqlite_%'",
    )?;
    let code = ["segments", "rules", "blobs", "snapshots", "code_state"];
    for table in tables.iter().filter(|table| version >= SEGMENTS || !code.contains(&table.as_str())) {
        let columns = column(&format!("SELECT name FROM pragma_table_info('{table}', 'main')"))?.join(", ");
        old.execute_batch(&format!(
            "INSERT OR REPLACE INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}"
        ))
        .with_context(|| format!("cannot take over {table}"))?;
    }
    if version < SEGMENTS {
        let keys = if version == 1 { "('generation')" } else { "('generation', 'next_chunk', 'next_segment')" };
        old.execute_batch(&format!("DELETE FROM main.meta WHERE key NOT IN {keys}"))?;
        // What a later schema numbered is not known.
        let segments = db.with_file_name("segments");
        if segments.is_dir() {
            fs::remove_dir_all(segments)?;
        }
    }
    old.execute_batch(
        "INSERT INTO commits_fts (commits_fts) VALUES ('rebuild'); DETACH new; PRAGMA wal_checkpoint(TRUNCATE); \
         PRAGMA journal_mode = DELETE",
    )?;
    drop(old);
    for ending in ["-wal", "-shm"] {
        let mut beside = db.as_os_str().to_owned();
        beside.push(ending);
        if Path::new(&beside).exists() {
            fs::remove_file(beside)?;
        }
    }
    Ok(fs::rename(fresh, db)?)
}
