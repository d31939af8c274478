//! Adding vectors: each call writes a file, then the transaction that names it.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use lore_segments::{Row, encode, make_folder, remove_unnamed, write_atomically};
use lore_store::{ChunkId, Collected, NewVector, PassageKey, Result, SET_DIMENSIONS, StoreError, VectorWriter};
use rusqlite::{Transaction, params};

use super::{FileRow, VectorFile, file_rows, find_set, open_file};
use crate::{
    EmbeddedStore,
    code::living_chunks,
    db::{file_id, make_home},
    error::explain_io,
    lock::WriterLock,
    writer::Shared,
};

/// Files of fewer vectors are joined once there are so many of them.
const SMALL: u64 = 16_384;
const MANY: usize = 8;

/// A file is written anew when so large a part of it is garbage.
const DEAD_SHARE: f64 = 0.3;

/// The one who adds vectors.
pub(super) struct Writer {
    inner: Arc<Inner>,
}

struct Inner {
    store: EmbeddedStore,
    /// Where the vectors of known texts are, of the model that was asked for last.
    known: Mutex<Option<Known>>,
    _lock: WriterLock,
}

struct Known {
    model: String,
    files: Vec<Arc<VectorFile>>,
    /// Which of them were found to be as they were written.
    whole: HashSet<usize>,
    places: HashMap<PassageKey, (usize, u32)>,
}

impl Known {
    fn new(model: &str, files: Vec<Arc<VectorFile>>) -> Self {
        let places = |(at, file): (usize, &Arc<VectorFile>)| {
            file.passages().zip(0..).map(move |(passage, row)| (passage, (at, row))).collect::<Vec<_>>()
        };
        let places = files.iter().enumerate().flat_map(places).collect();
        Self { model: model.to_owned(), files, whole: HashSet::new(), places }
    }

    /// The vector of a text, where a file has it that is whole: damage must not get a new checksum. A file is read for that when
    /// something in it is asked for.
    fn copy(&mut self, chunk: ChunkId, passage: &PassageKey) -> Option<Row> {
        loop {
            let (at, row) = *self.places.get(passage)?;
            if self.whole.contains(&at) || self.files[at].is_whole() {
                self.whole.insert(at);
                return Some(self.files[at].copy(row, chunk));
            }
            tracing::warn!("a file of vectors is damaged, and nothing is taken from it");
            let mut others = std::mem::take(&mut self.files);
            others.remove(at);
            *self = Self::new(&self.model, others);
        }
    }
}

impl Writer {
    pub(super) fn new(store: EmbeddedStore) -> Result<Self> {
        make_home(store.home()).map_err(|error| explain_io(store.home(), &error))?;
        let lock = WriterLock::try_take(&store.home().join("vectors.lock"))?;
        Ok(Self { inner: Arc::new(Inner { store, known: Mutex::default(), _lock: lock }) })
    }

    fn run<T>(&self, work: impl FnOnce(&Inner) -> Result<T>) -> Result<T> {
        work(&self.inner)
    }
}

impl VectorWriter for Writer {
    fn adopt(&self, model: &str, chunks: &[(ChunkId, PassageKey)]) -> Result<HashSet<ChunkId>> {
        self.run(|inner| inner.adopt(model, chunks))
    }

    fn put_vectors(&self, model: &str, vectors: Vec<NewVector>) -> Result<()> {
        self.run(|inner| {
            let Some(dimensions) = vectors.first().map(|new| new.vector.len()) else { return Ok(()) };
            if !SET_DIMENSIONS.contains(&dimensions) || vectors.iter().any(|new| new.vector.len() != dimensions) {
                return Err(StoreError::Backend("vectors of unfit lengths were given".into()));
            }
            let rows = vectors.iter().map(|new| Row::new(new.chunk, new.passage, &new.vector)).collect();
            inner.put(model, dimensions, rows)
        })
    }

    fn remove_set(&self, model: &str) -> Result<Option<Collected>> {
        self.run(|inner| inner.remove(model))
    }

    fn collect_vectors(&self, model: &str) -> Result<Collected> {
        self.run(|inner| inner.collect(model))
    }
}

impl Inner {
    /// The set and its files, where there is one.
    fn set(&self, model: &str) -> Result<Option<(i64, usize, Vec<FileRow>)>> {
        let found = self.store.read(|connection| {
            let Some((set, dimensions)) = find_set(connection, model)? else { return Ok(None) };
            Ok(Some((set, dimensions, file_rows(connection, set)?)))
        })?;
        Ok(found.flatten())
    }

    fn adopt(&self, model: &str, chunks: &[(ChunkId, PassageKey)]) -> Result<HashSet<ChunkId>> {
        let Some((_, dimensions, files)) = self.set(model)? else { return Ok(HashSet::new()) };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|known| known.model != model) {
            // One that cannot be read has nothing to give.
            let files: Vec<Arc<VectorFile>> =
                files.iter().filter_map(|row| open_file(&self.store, &row.file, dimensions).ok()).collect();
            *known = Some(Known::new(model, files));
        }
        let Some(known_files) = known.as_mut() else { return Ok(HashSet::new()) };
        let rows: Vec<Row> = chunks.iter().filter_map(|(chunk, passage)| known_files.copy(*chunk, passage)).collect();
        drop(known);
        let adopted: HashSet<ChunkId> = rows.iter().map(|row| row.chunk).collect();
        if !rows.is_empty() {
            self.put(model, dimensions, rows)?;
        }
        Ok(adopted)
    }

    /// Writes rows as a file of a set.
    fn put(&self, model: &str, dimensions: usize, rows: Vec<Row>) -> Result<()> {
        let writer = self.writer()?;
        self.remove_strays(&writer)?;
        if let Some((_, found, _)) = self.set(model)?
            && found != dimensions
        {
            let what = format!("the set of {model} holds vectors of {found} dimensions, not {dimensions}");
            return Err(StoreError::Backend(what.into()));
        }
        let rows: BTreeMap<ChunkId, Row> = rows.into_iter().map(|row| (row.chunk, row)).collect();
        let rows: Vec<Row> = rows.into_values().collect();
        let set = self.name(&writer, model, dimensions, &rows, &[])?;
        let files = self.store.read(|connection| file_rows(connection, set))?.unwrap_or_default();
        let small: Vec<FileRow> = files.into_iter().filter(|row| row.vectors < SMALL).collect();
        if small.len() >= MANY {
            self.replace(&writer, model, dimensions, &small, &|_| true)?;
        }
        Ok(())
    }

    /// Writes a file of these rows, and the transaction that names it in the place of others.
    fn name(
        &self,
        writer: &Shared,
        model: &str,
        dimensions: usize,
        rows: &[Row],
        instead_of: &[FileRow],
    ) -> Result<i64> {
        let folder = self.store.vectors_dir();
        let newest = writer.query(|connection| {
            let sql = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'vector_files'";
            connection.query_row(sql, [], |row| row.get::<_, i64>(0))
        })?;
        let file = format!("{:08}.vec", newest + 1);
        let path = folder.join(&file);
        let mut bytes = 0;
        if !rows.is_empty() {
            let content = encode(dimensions, rows);
            make_folder(&folder)
                .and_then(|()| write_atomically(&path, &content))
                .map_err(|error| explain_io(&path, &error))?;
            bytes = content.len();
        }
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let (set_of, of) = (model.to_owned(), count(dimensions));
        let set = writer.write(|transaction, _| {
            transaction.execute(
                "INSERT INTO vector_sets (model, dimensions) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                params![set_of, of],
            )?;
            let set: i64 =
                transaction
                    .query_row("SELECT set_id FROM vector_sets WHERE model = ?1", [&set_of], |row| row.get(0))?;
            for old in instead_of {
                transaction.execute("DELETE FROM vector_files WHERE file_id = ?1", [old.id])?;
            }
            if bytes > 0 {
                transaction.execute(
                    "INSERT INTO vector_files (file_id, set_id, file, vectors, bytes) VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![newest + 1, set, file, count(rows.len()), count(bytes)],
                )?;
            }
            Ok(set)
        })?;
        // Those who have one open go on reading it.
        for old in instead_of {
            remove_unnamed(&folder.join(&old.file));
        }
        Ok(set)
    }

    /// Joins files and leaves out what is not alive; of two vectors of one chunk the later stays.
    fn replace(
        &self,
        writer: &Shared,
        model: &str,
        dimensions: usize,
        files: &[FileRow],
        is_alive: &dyn Fn(ChunkId) -> bool,
    ) -> Result<()> {
        let mut rows: BTreeMap<ChunkId, Row> = BTreeMap::new();
        for row in files {
            match open_file(&self.store, &row.file, dimensions) {
                Ok(file) if file.is_whole() => {
                    rows.extend(file.all().filter(|row| is_alive(row.chunk)).map(|row| (row.chunk, row)));
                }
                // Damage must not get a new checksum. What is damaged is dropped: its chunks get new vectors.
                Ok(_) => tracing::warn!(file = %row.file, "a file of vectors is damaged, and dropped"),
                Err(error @ (StoreError::CodeDamaged { .. } | StoreError::Absent(_))) => {
                    tracing::warn!(%error, "a file of vectors is dropped");
                }
                // Too many files may be open at this moment: that takes nothing from anybody.
                Err(error) => return Err(error),
            }
        }
        let rows: Vec<Row> = rows.into_values().collect();
        // What was remembered of the old files is still open, and still right.
        self.name(writer, model, dimensions, &rows, files).map(|_| ())
    }

    fn remove(&self, model: &str) -> Result<Option<Collected>> {
        let writer = self.writer()?;
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let Some((set, _, files)) = self.set(model)? else { return Ok(None) };
        let forget = |transaction: &Transaction<'_>| -> rusqlite::Result<()> {
            transaction.execute("DELETE FROM vector_files WHERE set_id = ?1", [set])?;
            transaction.execute("DELETE FROM vector_sets WHERE set_id = ?1", [set])?;
            Ok(())
        };
        writer.write(|transaction, _| forget(transaction))?;
        let folder = self.store.vectors_dir();
        for row in &files {
            remove_unnamed(&folder.join(&row.file));
        }
        let (chunks, bytes) = files.iter().fold((0, 0), |(a, b), row| (a + row.vectors, b + row.bytes));
        Ok(Some(Collected { chunks, bytes }))
    }

    fn collect(&self, model: &str) -> Result<Collected> {
        let writer = self.writer()?;
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.remove_strays(&writer)?;
        let mut collected = Collected::default();
        let Some((_, dimensions, files)) = self.set(model)? else { return Ok(collected) };
        let alive = living_chunks(&writer)?;
        for row in files {
            let Ok(file) = open_file(&self.store, &row.file, dimensions) else { continue };
            let dead = file.ids().filter(|id| !alive.contains(id)).count();
            #[expect(clippy::cast_precision_loss, reason = "a share needs no precision")]
            let worth_it = dead as f64 >= DEAD_SHARE * row.vectors as f64;
            if dead > 0 && worth_it {
                let before = row.bytes;
                self.replace(&writer, model, dimensions, &[row], &|chunk| alive.contains(&chunk))?;
                let after: u64 = self.set(model)?.map_or(0, |(_, _, files)| files.last().map_or(0, |row| row.bytes));
                collected.chunks += dead as u64;
                collected.bytes += before.saturating_sub(after.min(before));
            }
        }
        Ok(collected)
    }

    /// The writer of the index, for a moment.
    fn writer(&self) -> Result<Arc<Shared>> {
        self.store.open_shared()
    }

    /// Deletes files that nothing names: whoever wrote them was stopped before the transaction.
    fn remove_strays(&self, writer: &Shared) -> Result<()> {
        // In an index that was made anew in this place, all files are named by another database.
        if writer.file.is_none() || file_id(self.store.file()) != writer.file {
            return Ok(());
        }
        let named: HashSet<String> = writer.query(|connection| {
            connection.prepare_cached("SELECT file FROM vector_files")?.query_map([], |row| row.get(0))?.collect()
        })?;
        let Ok(entries) = std::fs::read_dir(self.store.vectors_dir()) else { return Ok(()) };
        for entry in entries.flatten() {
            let is_named = entry.file_name().to_str().is_some_and(|name| named.contains(name));
            if !is_named && entry.file_type().is_ok_and(|kind| kind.is_file()) {
                remove_unnamed(&entry.path());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_gets_no_new_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let adds = Writer::new(EmbeddedStore::new(folder.path())).unwrap();
        let put = |chunk: ChunkId| adds.inner.put("m", 16, vec![Row::new(chunk, PassageKey([0; 16]), &[0.25; 16])]);
        put(1).unwrap();
        let path = folder.path().join("vectors").join("00000001.vec");
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, bytes).unwrap();
        for chunk in 2..=u32::try_from(MANY).unwrap() {
            put(chunk).unwrap();
        }
        let (_, _, files) = adds.inner.set("m").unwrap().unwrap();
        let vectors: Vec<u64> = files.iter().map(|row| row.vectors).collect();
        assert_eq!(vectors, [MANY as u64 - 1], "joined, without what is damaged");
        assert_eq!(crate::vectors::check(&adds.inner.store, true).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn nothing_is_taken_from_a_damaged_file() {
        let folder = tempfile::tempdir().unwrap();
        let (damaged, whole) = (PassageKey([1; 16]), PassageKey([2; 16]));
        let adds = Writer::new(EmbeddedStore::new(folder.path())).unwrap();
        adds.inner.put("m", 16, vec![Row::new(1, damaged, &[0.25; 16])]).unwrap();
        adds.inner.put("m", 16, vec![Row::new(2, whole, &[0.25; 16])]).unwrap();
        let path = folder.path().join("vectors").join("00000001.vec");
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let adopted = adds.inner.adopt("m", &[(3, damaged), (4, whole)]).unwrap();
        assert_eq!(adopted, HashSet::from([4]));
    }
}
