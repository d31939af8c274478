//! What an index holds, as text, so that two indexes can be compared.
//!
//! Rows are in the order of their natural keys. What legitimately differs between two runs is left out: row numbers,
//! the generation, the time of the last sync, and of code how its pieces are spread over segments.

use std::{
    fmt::Write as _,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
};

use anyhow::{Context as _, Result, ensure};
use rusqlite::{Connection, OpenFlags, Row, types::ValueRef};

/// A title and the query behind it. Outer joins, so that a row which belongs to nothing shows.
const QUERIES: [(&str, &str); 14] = [
    (
        "evidence",
        "SELECT r.name, e.made_of, hex(e.packed) FROM evidence AS e LEFT JOIN repos AS r ON r.repo_id = e.repo_id ORDER BY 1",
    ),
    // What is packed names rows by number.
    (
        "pasts",
        "SELECT r.name, p.scope, p.tip, p.commit_count, p.version_count, p.chunk_count, p.complete, hex(p.commits) \
         FROM pasts AS p LEFT JOIN repos AS r ON r.repo_id = p.repo_id ORDER BY 1",
    ),
    ("vector_sets", "SELECT model, dimensions FROM vector_sets ORDER BY 1"),
    (
        "repos",
        "SELECT name, local_path, remote_url, default_branch, exclude_prefixes, author_filter, fork_of, branches \
         FROM repos ORDER BY name",
    ),
    (
        "commits",
        "SELECT r.name, c.sha, c.author_name, c.author_email, c.committer_name, c.committer_email, c.author_time, \
                c.commit_time, c.subject, c.body, c.parent_count, c.patch_state, c.lossy, c.patch_preview \
         FROM commits AS c LEFT JOIN repos AS r USING (repo_id) ORDER BY 1, 2",
    ),
    (
        "commit_files",
        "SELECT r.name, c.sha, f.position, f.status, p.path, p.exact, o.path, o.exact, f.author_time, \
                f.repo_id = c.repo_id \
         FROM file_changes AS f LEFT JOIN commits AS c ON c.id = f.commit_id LEFT JOIN repos AS r ON r.repo_id = c.repo_id \
         LEFT JOIN paths AS p ON p.path_id = f.path_id LEFT JOIN paths AS o ON o.path_id = f.old_path_id \
         ORDER BY 1, 2, 3, 5, 6",
    ),
    (
        "commit_patches",
        "SELECT r.name, c.sha, p.raw_len, p.patch_blob FROM patches AS p \
         LEFT JOIN commits AS c ON c.id = p.commit_id LEFT JOIN repos AS r USING (repo_id) ORDER BY 1, 2",
    ),
    ("paths", "SELECT path, exact FROM paths ORDER BY 1, 2"),
    (
        "ingest_state",
        "SELECT r.name, s.last_synced_sha, s.last_error, s.fingerprint, s.partial, s.commit_count, s.problems \
         FROM ingest_state AS s LEFT JOIN repos AS r USING (repo_id) ORDER BY 1",
    ),
    (
        "repo_tips",
        "SELECT r.name, t.shallow, t.name, t.sha FROM repo_tips AS t LEFT JOIN repos AS r USING (repo_id) ORDER BY 1, 2, 3, 4",
    ),
    (
        "author_aliases",
        "SELECT r.name, a.name, a.email, a.mapped_name, a.mapped_email \
         FROM author_aliases AS a LEFT JOIN repos AS r USING (repo_id) ORDER BY 1, 2, 3",
    ),
    ("commits_fts", "SELECT term, col, doc, cnt FROM temp.words ORDER BY 1, 2"),
    (
        "code_state",
        "SELECT r.name, s.rules, s.scope, s.tips, s.partial, s.complete \
         FROM code_state AS s LEFT JOIN repos AS r USING (repo_id) ORDER BY 1",
    ),
    (
        "snapshots",
        "SELECT r.name, s.sha, s.file_count, s.chunk_count, s.line_count, s.byte_count, s.left_out \
         FROM snapshots AS s LEFT JOIN repos AS r USING (repo_id) ORDER BY 1, 2",
    ),
];

/// Every table that is looked at, or left out on purpose. One that is not here was added without this module knowing.
const TABLES: [&str; 20] = [
    "author_aliases",
    "blobs",
    "code_state",
    "commits",
    "commits_fts",
    "evidence",
    "file_changes",
    "ingest_state",
    "meta",
    "pasts",
    "patches",
    "paths",
    "repo_tips",
    "repos",
    "rules",
    "segments",
    "snapshots",
    "sums",
    "vector_files",
    "vector_sets",
];

/// Everything in the index, one row a line.
///
/// Fails where SQLite finds the file damaged, or the full-text index not to be that of the rows. Nothing may be
/// writing at the same time.
pub fn contents(db: &Path) -> Result<String> {
    let connection = Connection::open_with_flags(db, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .with_context(|| format!("cannot open {}", db.display()))?;
    check(&connection)?;
    connection.execute_batch("CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', 'commits_fts', 'col')")?;
    let mut text = String::new();
    for (title, query) in QUERIES {
        let mut statement = connection.prepare(query).with_context(|| format!("cannot read {title}"))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            text.push_str(title);
            write_row(&mut text, row, columns)?;
        }
    }
    Ok(text)
}

/// Changes a database behind Lore's back, as somebody would who sends one around.
pub fn plant(db: &Path, sql: &str) -> Result<()> {
    let connection = Connection::open(db).with_context(|| format!("cannot open {}", db.display()))?;
    connection.execute_batch(sql).with_context(|| format!("cannot plant {sql}"))
}

/// Moves what is in the log of a database into the database, and the log away.
pub fn checkpoint(db: &Path) -> Result<()> {
    let connection = Connection::open_with_flags(db, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// The first rows that only one of two contents has; nothing where they are equal.
pub fn difference(left: &str, right: &str) -> Option<String> {
    const SHOWN: usize = 5;
    if left == right {
        return None;
    }
    let mut said = String::new();
    for (sign, one, other) in [('-', left, right), ('+', right, left)] {
        let others: std::collections::HashSet<&str> = other.lines().collect();
        let only: Vec<&str> = one.lines().filter(|line| !others.contains(line)).collect();
        for line in only.iter().take(SHOWN) {
            let line: String = line.chars().take(300).collect();
            writeln!(said, "{sign} {line}").expect("writing to a string cannot fail");
        }
        if only.len() > SHOWN {
            writeln!(said, "{sign} … and {} more", only.len() - SHOWN).expect("writing to a string cannot fail");
        }
    }
    Some(if said.is_empty() { "the same rows, some of them more often".to_owned() } else { said })
}

fn check(connection: &Connection) -> Result<()> {
    let found: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    ensure!(found == "ok", "SQLite finds the index damaged: {found}");
    // With rank 1 the full-text index is compared with the rows it was made from.
    connection
        .execute("INSERT INTO commits_fts (commits_fts, rank) VALUES ('integrity-check', 1)", [])
        .context("the full-text index is not that of the rows")?;
    let mut statement = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    let names = statement.query_map([], |row| row.get::<_, String>(0))?;
    for name in names {
        let name = name?;
        let inner = name.starts_with("sqlite_") || name.starts_with("commits_fts_");
        ensure!(inner || TABLES.contains(&name.as_str()), "the testkit does not know the table `{name}`");
    }
    Ok(())
}

fn write_row(text: &mut String, row: &Row<'_>, columns: usize) -> Result<()> {
    for column in 0..columns {
        match row.get_ref(column)? {
            ValueRef::Null => text.push_str(" NULL"),
            ValueRef::Integer(number) => write!(text, " {number}")?,
            ValueRef::Real(number) => write!(text, " {number}")?,
            ValueRef::Text(bytes) => write!(text, " {:?}", String::from_utf8_lossy(bytes))?,
            ValueRef::Blob(bytes) => write!(text, " {} bytes {:016x}", bytes.len(), hash(bytes))?,
        }
    }
    text.push('\n');
    Ok(())
}

/// Tells blobs apart without printing them.
fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two commits with a file and a patch each; numbers of rows begin after `:o`.
    const ROWS: &str = "
        INSERT INTO repos VALUES (:o + 1, 'r', '/r', NULL, 'main', '[]', NULL, NULL, NULL);
        INSERT INTO commits SELECT :o + n, :o + 1, 'sha' || n, 'A', 'a', 'C', 'c', n, n, 'subject ' || n, NULL, 1, 'diff', 0, 0
            FROM (SELECT 1 AS n UNION SELECT 2);
        INSERT INTO commits_fts (rowid, subject, body, patch_preview) SELECT id, subject, body, patch_preview FROM commits;
        INSERT INTO paths SELECT :o + n, 'file' || n, x'' FROM (SELECT 1 AS n UNION SELECT 2);
        INSERT INTO file_changes SELECT :o + n, :o + n, 0, 'A', NULL, :o + 1, n FROM (SELECT 1 AS n UNION SELECT 2);
        INSERT INTO patches SELECT :o + n, x'2801', 2 FROM (SELECT 1 AS n UNION SELECT 2);
        INSERT INTO ingest_state (repo_id, last_synced_at, last_synced_sha) VALUES (:o + 1, 1000 + :o, 'sha2');
        INSERT INTO snapshots VALUES (:o + 1, :o + 1, 'sha2', :o + 1, 1, 1, 1, 1, x'', x'');
        INSERT INTO code_state VALUES (:o + 1, 1000 + :o, 'rules', '[]', '[]', 0, 1);";

    fn contents_after(offset: usize, change: &str) -> Result<String> {
        let dir = tempfile::tempdir()?;
        let file = dir.path().join("lore.db");
        let connection = Connection::open(&file)?;
        connection.execute_batch(include_str!("../../lore-store-embedded/migrations/0001_history.sql"))?;
        connection.execute_batch(include_str!("../../lore-store-embedded/migrations/0002_code.sql"))?;
        connection.execute_batch(include_str!("../../lore-store-embedded/migrations/0004_evidence.sql"))?;
        connection.execute_batch(include_str!("../../lore-store-embedded/migrations/0006_pasts.sql"))?;
        connection.execute_batch(include_str!("../../lore-store-embedded/migrations/0005_vectors.sql"))?;
        connection.execute_batch(&ROWS.replace(":o", &offset.to_string()))?;
        connection.execute_batch(change)?;
        drop(connection);
        contents(&file)
    }

    #[test]
    fn only_what_was_indexed_counts() -> Result<()> {
        let contents = contents_after(0, "")?;
        assert_eq!(difference(&contents, &contents_after(40, "UPDATE meta SET value = 9")?), None);
        for change in [
            "DELETE FROM patches WHERE commit_id = 2",
            "UPDATE patches SET patch_blob = x'2802' WHERE commit_id = 2",
            "DELETE FROM file_changes WHERE commit_id = 2",
            "DELETE FROM repos",
            "INSERT INTO paths (path) VALUES ('of no commit')",
            "INSERT INTO patches VALUES (7, x'', 0)",
            "UPDATE commits SET lossy = 1 WHERE id = 1",
            "UPDATE ingest_state SET partial = 0",
            "DELETE FROM snapshots",
            "UPDATE snapshots SET chunk_count = 2",
            "UPDATE code_state SET partial = 1",
        ] {
            assert!(difference(&contents, &contents_after(0, change)?).is_some(), "{change}");
        }
        Ok(())
    }

    #[test]
    fn an_index_that_does_not_hold_together_is_told() {
        for change in [
            "INSERT INTO commits_fts (commits_fts, rowid, subject, body, patch_preview) VALUES ('delete', 1, 'subject 1', NULL, 'diff')",
            "UPDATE commits SET subject = 'another' WHERE id = 1",
            "CREATE TABLE added_later (x)",
        ] {
            assert!(contents_after(0, change).is_err(), "{change}");
        }
    }

    #[test]
    fn differences_name_the_rows_of_each_side() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n").as_deref(), Some("- b\n+ c\n"));
        assert_eq!(difference("a\na\n", "a\n").as_deref(), Some("the same rows, some of them more often"));
    }
}
