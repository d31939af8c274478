//! Sums over rows. SQLite finds pages that are none any more, but not a byte of a text that became another: for that, what
//! was written is compared with the sum of what was to be written.

use rusqlite::{
    Connection, OptionalExtension, Result, Row, ToSql, Transaction, params,
    types::{ToSqlOutput, Value, ValueRef},
};

use crate::migrate::INDEX;

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

/// Tables that are summed as a whole.
const TABLES: [&str; 10] = [
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
fn name(table: &str) -> String {
    format!("{table} {}", INDEX.newest())
}

/// The sums of the small tables at some moment.
pub(crate) struct TableSums([i64; TABLES.len()]);

/// The sums of the small tables as they are.
pub(crate) fn of_tables(connection: &Connection) -> Result<TableSums> {
    let mut sums = [0; TABLES.len()];
    for (sum, table) in sums.iter_mut().zip(TABLES) {
        *sum = of_table(connection, table)?;
    }
    Ok(TableSums(sums))
}

/// Notes what a transaction did to the small tables, as the last thing that it does; `before` is what it found. Only the
/// difference is noted: what was damaged before does not become right because somebody wrote.
pub(crate) fn note_tables(transaction: &Transaction<'_>, before: &TableSums) -> Result<()> {
    let mut put = transaction.prepare_cached("INSERT OR REPLACE INTO sums (name, sum) VALUES (?1, ?2)")?;
    for (table, before) in TABLES.into_iter().zip(before.0) {
        let after = of_table(transaction, table)?;
        let sum = noted(transaction, table)?.map_or(after, |noted| noted.wrapping_add(after).wrapping_sub(before));
        put.execute(params![name(table), sum])?;
    }
    Ok(())
}

/// What the sum of a small table should be; `None` where nothing was written yet under this schema.
fn noted(connection: &Connection, table: &str) -> Result<Option<i64>> {
    let mut find = connection.prepare_cached("SELECT sum FROM sums WHERE name = ?1")?;
    find.query_row([name(table)], |row| row.get(0)).optional()
}

/// Whether a small table is what was written, as far as that is known.
pub(crate) fn is_whole(connection: &Connection, table: &str) -> Result<bool> {
    let Some(noted) = noted(connection, table)? else { return Ok(true) };
    Ok(noted == of_table(connection, table)?)
}

/// Everything that is not what was written.
pub(crate) fn check(connection: &Connection) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for table in TABLES {
        if !is_whole(connection, table)? {
            findings.push(format!("the table `{table}` is not what was written"));
        }
    }
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
