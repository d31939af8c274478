//! Sums over rows. SQLite finds pages that are none any more, but not a byte of a text that became another: for that, what
//! was written is compared with the sum of what was to be written.

use std::fmt::Write as _;

use rusqlite::{
    Connection, OptionalExtension, Result, Row, ToSql, Transaction,
    functions::FunctionFlags,
    params,
    types::{ToSqlOutput, Value, ValueRef},
};

use crate::migrate::{INDEX, Schema};

/// The columns of a commit that its sum is of; its files follow.
pub(crate) const COMMIT: &str = "repo_id, sha, author_name, author_email, committer_name, committer_email, author_time, \
                                 commit_time, subject, body, parent_count, patch_preview, patch_state, lossy";

/// Tables whose rows have sums, the columns in the order in which they are summed, and what a row is.
const ROWS: [(&str, &str, &str); 4] = [
    (
        "blobs",
        "rules_id, oid, hint, language, size, lines, plain, package, imports, types, functions, tags, entries",
        "contents of files",
    ),
    (
        "snapshots",
        "repo_id, sha, rules_id, file_count, chunk_count, line_count, byte_count, files, left_out",
        "lists of files",
    ),
    ("evidence", "repo_id, made_of, packed", "digests of subjects"),
    (
        "pasts",
        "repo_id, rules_id, scope, synced_at, tip, commit_count, version_count, chunk_count, complete, commits, paths",
        "pasts of code",
    ),
];

/// A sum that grows value by value.
#[derive(Default)]
pub(crate) struct Sum(blake3::Hasher);

impl Sum {
    /// Takes values as they are given to SQLite.
    pub(crate) fn values(&mut self, values: &[&dyn ToSql]) -> Result<()> {
        values.iter().try_for_each(|value| {
            match value.to_sql()? {
                ToSqlOutput::Borrowed(value) => self.value(value),
                ToSqlOutput::Owned(value) => self.value(ValueRef::from(&value)),
                _ => return Err(rusqlite::Error::InvalidQuery),
            }
            Ok(())
        })
    }

    /// Takes the first columns of a row.
    pub(crate) fn row(&mut self, row: &Row<'_>, columns: usize) -> Result<()> {
        (0..columns).try_for_each(|column| {
            self.value(row.get_ref(column)?);
            Ok(())
        })
    }

    fn value(&mut self, value: ValueRef<'_>) {
        let (kind, bytes): (u8, &[u8]) = match value {
            ValueRef::Null => (0, &[]),
            ValueRef::Integer(number) => {
                self.0.update(&[1]).update(&number.to_le_bytes());
                return;
            }
            ValueRef::Real(number) => {
                self.0.update(&[2]).update(&number.to_le_bytes());
                return;
            }
            ValueRef::Text(bytes) => (3, bytes),
            ValueRef::Blob(bytes) => (4, bytes),
        };
        self.0.update(&[kind]).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    }

    /// The sum of all that was taken.
    pub(crate) fn finish(&self) -> i64 {
        let hash = self.0.finalize();
        hash.as_bytes()[..8].try_into().map_or(0, i64::from_le_bytes)
    }
}

/// The sum of a row that is about to be written.
pub(crate) fn of(values: &[&dyn ToSql]) -> Result<i64> {
    let mut sum = Sum::default();
    sum.values(values)?;
    Ok(sum.finish())
}

/// The sum of a table. The order of its rows does not matter.
fn of_table(connection: &Connection, table: &str) -> Result<i64> {
    let mut statement = connection.prepare_cached(&format!("SELECT * FROM {table}"))?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    let mut total = 0_i64;
    while let Some(row) = rows.next()? {
        let mut sum = Sum::default();
        sum.row(row, columns)?;
        total = total.wrapping_add(sum.finish());
    }
    Ok(total)
}

/// What the sum of a table is kept under: under another schema it has other columns.
fn name(schema: &Schema, table: &str) -> String {
    format!("{table} {}", schema.newest())
}

/// Makes a connection count what it does to the tables that are summed as a whole, row by row: a transaction costs what it
/// changes, and not what there is. [`note_tables`] writes it down.
///
/// The triggers are the connection's own. Those of a file stay off, and are nobody's.
pub(crate) fn watch(connection: &Connection, schema: &Schema) -> Result<()> {
    // Without this, a row that another one replaces goes without a word.
    connection.pragma_update(None, "recursive_triggers", true)?;
    connection.create_scalar_function("moved_by", -1, FunctionFlags::SQLITE_UTF8, |values| {
        let (sum, sign) = (values.get::<i64>(0)?, values.get::<i64>(1)?);
        let mut row = Sum::default();
        (2..values.len()).for_each(|at| row.value(values.get_raw(at)));
        Ok(sum.wrapping_add(row.finish().wrapping_mul(sign)))
    })?;
    let mut batch = "CREATE TEMP TABLE moved (name TEXT PRIMARY KEY, sum INTEGER NOT NULL) WITHOUT ROWID;".to_owned();
    for table in schema.summed {
        let statement = connection.prepare(&format!("SELECT * FROM {table}"))?;
        let moved = |sign: &str, row: &str| {
            // In a file that somebody else made, a column may be called anything.
            let quoted = |column: &str| format!("{row}.\"{}\"", column.replace('"', "\"\""));
            let columns: Vec<String> = statement.column_names().map(quoted).collect();
            format!("UPDATE moved SET sum = moved_by(sum, {sign}, {}) WHERE name = '{table}';", columns.join(", "))
        };
        let (gone, come) = (moved("-1", "old"), moved("1", "new"));
        write!(
            batch,
            "INSERT INTO moved VALUES ('{table}', 0);
             CREATE TEMP TRIGGER {table}_come AFTER INSERT ON main.{table} BEGIN {come} END;
             CREATE TEMP TRIGGER {table}_gone AFTER DELETE ON main.{table} BEGIN {gone} END;
             CREATE TEMP TRIGGER {table}_moved AFTER UPDATE ON main.{table} BEGIN {gone} {come} END;"
        )
        .expect("writing to a string cannot fail");
    }
    connection.execute_batch(&batch)
}

/// Notes what a transaction of a connection that is [watched](watch) did to these tables, as the last thing that it does.
/// Only the difference is noted: what was damaged before does not become right because somebody wrote.
pub(crate) fn note_tables(transaction: &Transaction<'_>, schema: &Schema) -> Result<()> {
    let mut moved = transaction.prepare_cached("SELECT sum FROM moved WHERE name = ?1")?;
    let mut put = transaction.prepare_cached("INSERT OR REPLACE INTO sums (name, sum) VALUES (?1, ?2)")?;
    for &table in schema.summed {
        let sum = match noted(transaction, schema, table)? {
            Some(noted) => {
                let moved = moved.query_row([table], |row| row.get::<_, i64>(0))?;
                if moved == 0 {
                    continue;
                }
                noted.wrapping_add(moved)
            }
            None => of_table(transaction, table)?,
        };
        put.execute(params![name(schema, table), sum])?;
    }
    transaction.prepare_cached("UPDATE moved SET sum = 0 WHERE sum <> 0")?.execute([])?;
    Ok(())
}

/// What the sum of a table should be; `None` where nothing was written yet under this schema.
fn noted(connection: &Connection, schema: &Schema, table: &str) -> Result<Option<i64>> {
    let mut find = connection.prepare_cached("SELECT sum FROM sums WHERE name = ?1")?;
    find.query_row([name(schema, table)], |row| row.get(0)).optional()
}

/// Whether a table is what was written, as far as that is known.
pub(crate) fn is_whole(connection: &Connection, schema: &Schema, table: &str) -> Result<bool> {
    let Some(noted) = noted(connection, schema, table)? else { return Ok(true) };
    Ok(noted == of_table(connection, table)?)
}

/// The tables that are summed as a whole and are not what was written.
pub(crate) fn check_tables(connection: &Connection, schema: &Schema) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for table in schema.summed {
        if !is_whole(connection, schema, table)? {
            findings.push(format!("the table `{table}` is not what was written"));
        }
    }
    Ok(findings)
}

/// Everything in the index that is not what was written.
pub(crate) fn check(connection: &Connection) -> Result<Vec<String>> {
    let mut findings = check_tables(connection, &INDEX)?;
    for (table, columns, what) in ROWS {
        let mut statement = connection.prepare(&format!("SELECT {columns}, sum FROM {table} WHERE sum IS NOT NULL"))?;
        let last = statement.column_count() - 1;
        let mut rows = statement.query([])?;
        let mut wrong = 0;
        while let Some(row) = rows.next()? {
            let mut sum = Sum::default();
            sum.row(row, last)?;
            wrong += i64::from(row.get_ref(last)? != ValueRef::Integer(sum.finish()));
        }
        if wrong > 0 {
            findings.push(format!("{wrong} {what} are not what was written"));
        }
    }
    let wrong = wrong_commits(connection)?;
    if let Some(first) = wrong.first() {
        findings.push(format!("{} commits are not what was written, first: {first}", wrong.len()));
    }
    Ok(findings)
}

fn wrong_commits(connection: &Connection) -> Result<Vec<String>> {
    let mut files = connection.prepare(
        "SELECT f.position, f.status, p.path, p.exact, o.path, o.exact, f.repo_id, f.author_time FROM file_changes AS f \
         LEFT JOIN paths AS p ON p.path_id = f.path_id LEFT JOIN paths AS o ON o.path_id = f.old_path_id \
         WHERE f.commit_id = ?1 ORDER BY f.position",
    )?;
    let mut statement = connection.prepare(&format!("SELECT {COMMIT}, sum, id FROM commits WHERE sum IS NOT NULL"))?;
    let columns = statement.column_count() - 2;
    let mut rows = statement.query([])?;
    let mut wrong = Vec::new();
    while let Some(row) = rows.next()? {
        let mut sum = Sum::default();
        sum.row(row, columns)?;
        let mut of = files.query([row.get::<_, i64>(columns + 1)?])?;
        while let Some(file) = of.next()? {
            sum.row(file, 8)?;
        }
        if row.get_ref(columns)? != ValueRef::Integer(sum.finish()) {
            let sha = match row.get_ref(1)? {
                ValueRef::Text(sha) => String::from_utf8_lossy(sha).into_owned(),
                _ => "one without a name".to_owned(),
            };
            wrong.push(sha);
        }
    }
    Ok(wrong)
}

/// Values that belong to a row, with its sum behind them.
pub(crate) fn with_sum<'a>(values: &'a [&'a dyn ToSql], sum: &'a Value) -> Vec<&'a dyn ToSql> {
    values.iter().copied().chain([sum as &dyn ToSql]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::prepare;

    #[test]
    fn a_column_with_a_hostile_name_runs_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("lore.db"), folder.path().join("other.db"));
        let mut connection = Connection::open(&file).unwrap();
        prepare(&connection).unwrap();
        INDEX.migrate(&file, &mut connection).unwrap();
        let name = format!(
            "x) WHERE 1; END; ATTACH '{}' AS o; CREATE TABLE o.t (a); CREATE TEMP TRIGGER y AFTER INSERT ON repos BEGIN SELECT (\"\"",
            other.display()
        );
        connection.execute_batch(&format!("ALTER TABLE repos ADD COLUMN \"{name}\"")).unwrap();
        watch(&connection, &INDEX).unwrap();
        assert!(!other.exists());
        let transaction = connection.transaction().unwrap();
        let add = "INSERT INTO repos (name, local_path, exclude_prefixes) VALUES ('a', 'p', '[]')";
        transaction.execute(add, []).unwrap();
        note_tables(&transaction, &INDEX).unwrap();
        transaction.commit().unwrap();
        assert_eq!(check(&connection).unwrap(), [""; 0]);
    }

    #[test]
    fn every_way_to_change_a_summed_table_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lore.db");
        let mut connection = Connection::open(&file).unwrap();
        prepare(&connection).unwrap();
        INDEX.migrate(&file, &mut connection).unwrap();
        watch(&connection, &INDEX).unwrap();
        let mut write = |batch: &str, commits: bool| {
            let transaction = connection.transaction().unwrap();
            transaction.execute_batch(batch).unwrap();
            // A statement that fails, and takes with it what it had done, does not end the transaction.
            let twice = "INSERT INTO repos (name, local_path, exclude_prefixes) VALUES ('new', '', ''), ('a', '', '')";
            transaction
                .execute("INSERT OR IGNORE INTO repos (name, local_path, exclude_prefixes) VALUES ('a', 'p', '[]')", [])
                .unwrap();
            assert!(transaction.execute(twice, []).is_err());
            note_tables(&transaction, &INDEX).unwrap();
            if commits {
                transaction.commit().unwrap();
            } else {
                transaction.rollback().unwrap();
            }
            assert_eq!(check(&connection).unwrap(), [""; 0], "{batch}");
        };
        let many = "WITH RECURSIVE n(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < 40)";
        for batch in [
            "INSERT INTO meta VALUES ('x', 1), ('y', 2)".to_owned(),
            format!("INSERT INTO repos (name, local_path, exclude_prefixes) {many} SELECT 'r' || at, x'ff', '[]' FROM n"),
            "UPDATE repos SET fork_of = name, author_filter = NULL WHERE repo_id % 3 = 0".to_owned(),
            // Another row goes, because it has the name.
            "INSERT OR REPLACE INTO repos (repo_id, name, local_path, exclude_prefixes) VALUES (900, 'r7', '/r7', '[]')".to_owned(),
            "UPDATE OR REPLACE repos SET name = 'r9' WHERE name = 'r8'".to_owned(),
            "INSERT INTO repos (repo_id, name, local_path, exclude_prefixes) VALUES (900, 'x', '', '') \
             ON CONFLICT (repo_id) DO UPDATE SET local_path = '/other'"
                .to_owned(),
            "DELETE FROM repos WHERE repo_id < 9".to_owned(),
            "DELETE FROM meta".to_owned(),
            "DELETE FROM repos".to_owned(),
        ] {
            write(&batch, false);
            write(&batch, true);
        }
    }
}
