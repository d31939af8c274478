//! Sets of vectors of other models: immutable files that SQLite names, each a run of rows in the order of chunks.

mod view;
mod write;

use std::sync::{Arc, PoisonError, Weak};

use lore_segments::VectorFile;
use lore_store::{Result, StoreError, VectorSet, VectorStore, VectorWriter};
use rusqlite::{Connection, OptionalExtension};
pub(crate) use view::{Opened, open};

use crate::{EmbeddedStore, db::file_id, error::explain_io};

/// A row of `vector_files`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileRow {
    id: i64,
    file: String,
    vectors: u64,
    bytes: u64,
}

/// The id of a set, and the length of its vectors.
fn find_set(connection: &Connection, model: &str) -> rusqlite::Result<Option<(i64, usize)>> {
    connection
        .prepare_cached("SELECT set_id, dimensions FROM vector_sets WHERE model = ?1")?
        .query_row([model], |row| Ok((row.get(0)?, usize::try_from(row.get::<_, i64>(1)?).unwrap_or(0))))
        .optional()
}

/// The files of a set, the oldest first.
fn file_rows(connection: &Connection, set: i64) -> rusqlite::Result<Vec<FileRow>> {
    connection
        .prepare_cached("SELECT file_id, file, vectors, bytes FROM vector_files WHERE set_id = ?1 ORDER BY file_id")?
        .query_map([set], |row| {
            let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
            Ok(FileRow { id: row.get(0)?, file: row.get(1)?, vectors: number(2)?, bytes: number(3)? })
        })?
        .collect()
}

/// Opens a file, or takes the one that is open already.
fn open_file(store: &EmbeddedStore, name: &str, dimensions: usize) -> Result<Arc<VectorFile>> {
    let path = store.vectors_dir().join(name);
    let fault = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => StoreError::Absent(format!("the file {}", path.display())),
        std::io::ErrorKind::InvalidData => {
            StoreError::CodeDamaged { path: path.clone(), what: "it is no file of vectors".to_owned() }
        }
        _ => explain_io(&path, &error),
    };
    let id = file_id(&path);
    let mut open = store.open_vector_files().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = id.and_then(|id| open.get(&id)).and_then(Weak::upgrade) {
        return Ok(file);
    }
    let file = Arc::new(VectorFile::open(&path, dimensions).map_err(fault)?);
    open.retain(|_, file| file.strong_count() > 0);
    if let Some(id) = id.filter(|id| file_id(&path) == Some(*id)) {
        open.insert(id, Arc::downgrade(&file));
    }
    Ok(file)
}

/// What is wrong with the files of all sets.
pub(crate) fn check(store: &EmbeddedStore, deep: bool) -> Result<Vec<String>> {
    let rows = store.read(|connection| {
        connection
            .prepare("SELECT file, dimensions FROM vector_files JOIN vector_sets USING (set_id) ORDER BY file_id")?
            .query_map([], |row| Ok((row.get(0)?, usize::try_from(row.get::<_, i64>(1)?).unwrap_or(0))))?
            .collect::<rusqlite::Result<Vec<(String, usize)>>>()
    })?;
    let wrong = |(name, dimensions): &(String, usize)| {
        let path = store.vectors_dir().join(name).display().to_string();
        match open_file(store, name, *dimensions) {
            Ok(file) if deep && !file.is_whole() => Some(format!("{path} is damaged: its checksum is another")),
            Ok(_) => None,
            Err(StoreError::Absent(_)) => Some(format!("{path} is not there")),
            Err(error) => Some(error.to_string()),
        }
    };
    Ok(rows.unwrap_or_default().iter().filter_map(wrong).collect())
}

impl VectorStore for EmbeddedStore {
    fn vector_sets(&self) -> Result<Vec<VectorSet>> {
        let sets = self.read(|connection| {
            let sql = "SELECT model, dimensions, coalesce(sum(vectors), 0), coalesce(sum(bytes), 0)
                       FROM vector_sets LEFT JOIN vector_files USING (set_id) GROUP BY set_id ORDER BY model";
            connection
                .prepare(sql)?
                .query_map([], |row| {
                    let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
                    Ok(VectorSet {
                        model: row.get(0)?,
                        dimensions: usize::try_from(number(1)?).unwrap_or(0),
                        vectors: number(2)?,
                        bytes: number(3)?,
                    })
                })?
                .collect()
        });
        Ok(sets?.unwrap_or_default())
    }

    fn vector_writer(&self) -> Result<Box<dyn VectorWriter>> {
        Ok(Box::new(write::Writer::new(self.clone())?) as _)
    }
}
