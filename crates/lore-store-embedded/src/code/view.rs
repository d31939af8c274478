//! Some snapshots with uncommitted work on top, as one searchable whole.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use lore_model::{RepoId, RepoPath};
use lore_store::{
    Ask, BlobRecord, ChunkId, ChunkKey, CodeView, Entry, OverlayInput, Result, Scored, SnapshotId, StoreError,
    TextPlan, ViewFile, ViewVectors,
};
use rusqlite::{OptionalExtension, Row};

use super::{
    OVERLAY_BASE, damaged, open_segment,
    pack::{PackedFile, unpack_entries, unpack_files},
    segment_fault, segment_rows,
    write::prepared,
};
use crate::{
    EmbeddedStore, rows,
    segment::{Segment, SegmentBuilder, View},
    vectors,
};

/// Records that were read are kept up to this number.
const MAX_RECORDS: usize = 16_384;

/// What a view is made of, as one transaction saw it.
pub(super) struct Parts {
    segments: Vec<Arc<Segment>>,
    /// Why some segment could not be opened: it matters only where a chunk of it is wanted.
    fault: Option<StoreError>,
    snapshots: Vec<(RepoId, Vec<PackedFile>)>,
}

/// Reads the parts; a segment that is not there is a reason to read them again, unless it is the `last` time.
pub(super) fn read_parts(store: &EmbeddedStore, ids: &[Option<SnapshotId>], last: bool) -> Result<Parts> {
    let alone = || (RepoId(0), Vec::new());
    if ids.iter().all(Option::is_none) {
        return Ok(Parts { segments: Vec::new(), fault: None, snapshots: ids.iter().map(|_| alone()).collect() });
    }
    let read = store.read_here(|connection| {
        let mut find = connection.prepare_cached("SELECT repo_id, files FROM snapshots WHERE snapshot_id = ?1")?;
        let snapshots: Vec<Option<(i64, Vec<u8>)>> = ids
            .iter()
            .map(|id| match id {
                Some(id) => find.query_row([id.0], |row| Ok((row.get(0)?, row.get(1)?))).optional(),
                None => Ok(None),
            })
            .collect::<rusqlite::Result<_>>()?;
        Ok((segment_rows(connection)?, snapshots))
    })?;
    let (rows, packed) = read.unwrap_or_default();
    let mut snapshots = Vec::new();
    for (id, found) in ids.iter().zip(packed.into_iter().chain(std::iter::repeat(None))) {
        let Some(id) = id else {
            snapshots.push(alone());
            continue;
        };
        let (repo, files) = found.ok_or_else(|| StoreError::Absent(format!("snapshot {}", id.0)))?;
        let files =
            unpack_files(&files).map_err(|_| damaged(store, "a snapshot's list of files cannot be unpacked"))?;
        snapshots.push((RepoId(repo), files));
    }
    let (mut segments, mut fault) = (Vec::with_capacity(rows.len()), None);
    for row in rows {
        match open_segment(store, &row.file) {
            Ok(segment) => segments.push(segment),
            // Replaced meanwhile: all names have to be read again.
            Err(error @ StoreError::Absent(_)) if !last => return Err(error),
            Err(StoreError::Absent(_)) => {
                let path = store.segments_dir().join(&row.file);
                fault = fault.or(Some(StoreError::CodeDamaged { path, what: "the file is not there".to_owned() }));
            }
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    Ok(Parts { segments, fault, snapshots })
}

/// Where the record of a file is.
enum Source {
    Blob(i64),
    Overlay(Arc<BlobRecord<ChunkId>>),
}

/// The view of the embedded store.
pub(super) struct EmbeddedView {
    store: EmbeddedStore,
    files: Vec<ViewFile>,
    sources: Vec<Source>,
    /// The chunks of all files one after the other, and where each file's begin.
    chunks: Vec<ChunkId>,
    starts: Vec<usize>,
    /// Every chunk once, in order, and where the files that hold it begin in `holders`.
    members: Vec<ChunkId>,
    holder_starts: Vec<u32>,
    holders: Vec<u32>,
    view: View,
    records: Mutex<HashMap<i64, Arc<BlobRecord<ChunkId>>>>,
    /// What sets of other models had when they were asked for last.
    sets: Mutex<HashMap<String, Arc<vectors::Opened>>>,
}

/// A file on its way into a view.
struct Placed {
    file: ViewFile,
    source: Source,
    chunks: Vec<ChunkId>,
}

impl EmbeddedView {
    pub(super) fn new(store: EmbeddedStore, parts: Parts, overlays: Vec<OverlayInput>) -> Result<Self> {
        let Parts { mut segments, fault, snapshots } = parts;
        let mut rows: Vec<Placed> = Vec::new();
        let mut fresh = Fresh::default();
        for ((repo, packed), overlay) in snapshots.into_iter().zip(overlays) {
            let hidden: HashSet<&RepoPath> =
                overlay.hidden.iter().chain(overlay.files.iter().map(|file| &file.path)).collect();
            rows.extend(packed.into_iter().filter(|file| !hidden.contains(&file.path)).map(|file| Placed {
                file: ViewFile { repo, path: file.path, language: file.language, uncommitted: false },
                source: Source::Blob(file.blob),
                chunks: file.chunks,
            }));
            drop(hidden);
            for file in overlay.files {
                let record = fresh.add(&segments, file.record, file.chunks)?;
                let language = record.language.as_str().into();
                rows.push(Placed {
                    file: ViewFile { repo, path: file.path, language, uncommitted: true },
                    chunks: record.entries.iter().map(|entry| entry.chunk).collect(),
                    source: Source::Overlay(Arc::new(record)),
                });
            }
        }
        rows.sort_by(|a, b| (a.file.repo, &a.file.path).cmp(&(b.file.repo, &b.file.path)));
        segments.extend(fresh.segment(&store)?);
        let (mut files, mut sources, mut chunks, mut starts) = (Vec::new(), Vec::new(), Vec::new(), vec![0]);
        for row in rows {
            files.push(row.file);
            sources.push(row.source);
            chunks.extend(row.chunks);
            starts.push(chunks.len());
        }
        let mut members = chunks.clone();
        members.sort_unstable();
        members.dedup();
        let (holder_starts, holders) = holders(&members, &chunks, &starts);
        let view = View::new(segments, &members);
        let view = view.map_err(|error| fault.unwrap_or_else(|| segment_fault(&store.segments_dir(), error)))?;
        Ok(Self {
            store,
            files,
            sources,
            chunks,
            starts,
            members,
            holder_starts,
            holders,
            view,
            records: Mutex::default(),
            sets: Mutex::default(),
        })
    }
}

impl EmbeddedView {
    /// Reads what is known of these contents, in one transaction.
    fn read_records(&self, blobs: &[i64]) -> Result<Vec<(i64, Arc<BlobRecord<ChunkId>>)>> {
        let read = self.store.read_here(|connection| {
            let sql = "SELECT language, size, lines, plain, package, imports, types, functions, tags, entries
                       FROM blobs WHERE blob_id = ?1";
            let mut find = connection.prepare_cached(sql)?;
            let find = |blob: &i64| Ok((*blob, find.query_row([blob], record).optional()?));
            blobs.iter().map(find).collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let absent = |blob: i64| StoreError::Absent(format!("content {blob}"));
        let read = read.ok_or_else(|| absent(blobs.first().copied().unwrap_or(0)))?;
        read.into_iter().map(|(blob, found)| Ok((blob, Arc::new(found.ok_or_else(|| absent(blob))?)))).collect()
    }

    fn remember(&self, read: impl IntoIterator<Item = (i64, Arc<BlobRecord<ChunkId>>)>) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() >= MAX_RECORDS {
            records.clear();
        }
        records.extend(read);
    }
}

/// For each member, the files that hold it.
fn holders(members: &[ChunkId], chunks: &[ChunkId], starts: &[usize]) -> (Vec<u32>, Vec<u32>) {
    let places = places(members, chunks);
    let mut begin = vec![0_u32; members.len() + 1];
    for &place in &places {
        begin[place + 1] += 1;
    }
    for at in 0..members.len() {
        begin[at + 1] += begin[at];
    }
    let mut next = begin.clone();
    let mut holders = vec![0; chunks.len()];
    for (file, range) in starts.windows(2).enumerate() {
        for &place in &places[range[0]..range[1]] {
            holders[next[place] as usize] = u32::try_from(file).unwrap_or(u32::MAX);
            next[place] += 1;
        }
    }
    (begin, holders)
}

/// Where each chunk is among the members. Chunks of a file mostly follow each other, so the next place is tried first.
fn places(members: &[ChunkId], chunks: &[ChunkId]) -> Vec<usize> {
    let mut next = 0;
    let place = |chunk: &ChunkId| {
        let at = if members.get(next) == Some(chunk) { next } else { members.partition_point(|member| member < chunk) };
        next = at + 1;
        at
    };
    chunks.iter().map(place).collect()
}

/// Chunks of uncommitted files that the store does not hold.
#[derive(Default)]
struct Fresh {
    builder: SegmentBuilder,
    ids: HashMap<ChunkKey, ChunkId>,
}

impl Fresh {
    fn add(
        &mut self,
        segments: &[Arc<Segment>],
        record: BlobRecord<ChunkKey>,
        chunks: Vec<(ChunkKey, lore_store::PreparedChunk)>,
    ) -> Result<BlobRecord<ChunkId>> {
        for (key, chunk) in chunks {
            if self.ids.contains_key(&key) {
                continue;
            }
            // What is committed somewhere already is the same chunk.
            let known = segments.iter().rev().find_map(|segment| segment.find(&key));
            let id = match known {
                Some(id) => id,
                None => OVERLAY_BASE + self.builder.push(prepared(chunk)?),
            };
            self.ids.insert(key, id);
        }
        let entries: Vec<Entry<ChunkId>> = record
            .entries
            .into_iter()
            .map(|entry| entry.rename(|key| self.ids.get(&key).copied()))
            .collect::<Option<_>>()
            .ok_or_else(|| StoreError::Backend("a chunk of an uncommitted file was not supplied".into()))?;
        let BlobRecord { language, size, lines, plain, package, counts, tags, entries: _ } = record;
        Ok(BlobRecord { language, size, lines, plain, package, counts, tags, entries })
    }

    fn segment(self, store: &EmbeddedStore) -> Result<Option<Arc<Segment>>> {
        let count = self.builder.len();
        if count == 0 {
            return Ok(None);
        }
        let ids: Vec<ChunkId> = (OVERLAY_BASE..OVERLAY_BASE + count).collect();
        let segment = Segment::from_bytes(self.builder.finish(&ids));
        segment.map(|segment| Some(Arc::new(segment))).map_err(|error| segment_fault(&store.segments_dir(), error))
    }
}

impl CodeView for EmbeddedView {
    fn files(&self) -> &[ViewFile] {
        &self.files
    }

    fn chunk_count(&self) -> usize {
        self.members.len()
    }

    fn meant(&self) -> Vec<ChunkId> {
        self.view.with_vectors()
    }

    fn vectors(&self, model: &str) -> Result<Option<Arc<dyn ViewVectors>>> {
        let before = self.sets.lock().unwrap_or_else(PoisonError::into_inner).get(model).cloned();
        let Some(opened) = vectors::open(&self.store, model, &self.members, before.as_ref())? else { return Ok(None) };
        self.sets.lock().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned(), Arc::clone(&opened));
        Ok(Some(opened))
    }

    fn chunks_of(&self, file: usize) -> &[ChunkId] {
        &self.chunks[self.starts[file]..self.starts[file + 1]]
    }

    fn files_with(&self, chunk: ChunkId) -> &[u32] {
        match self.members.binary_search(&chunk) {
            Ok(at) => &self.holders[self.holder_starts[at] as usize..self.holder_starts[at + 1] as usize],
            Err(_) => &[],
        }
    }

    fn prefetch(&self, files: &[u32]) -> Result<()> {
        let mut wanted: Vec<i64> = files
            .iter()
            .filter_map(|file| match self.sources.get(*file as usize)? {
                Source::Blob(blob) => Some(*blob),
                Source::Overlay(_) => None,
            })
            .collect();
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.retain(|blob| !records.contains_key(blob));
        drop(records);
        wanted.sort_unstable();
        wanted.dedup();
        if !wanted.is_empty() {
            self.remember(self.read_records(&wanted)?);
        }
        Ok(())
    }

    fn record(&self, file: usize) -> Result<Arc<BlobRecord<ChunkId>>> {
        let blob = match &self.sources[file] {
            Source::Overlay(record) => return Ok(Arc::clone(record)),
            Source::Blob(blob) => *blob,
        };
        if let Some(record) = self.records.lock().unwrap_or_else(PoisonError::into_inner).get(&blob) {
            return Ok(Arc::clone(record));
        }
        let (_, record) = self.read_records(&[blob])?.swap_remove(0);
        self.remember([(blob, Arc::clone(&record))]);
        Ok(record)
    }

    fn text(&self, chunk: ChunkId) -> Result<Vec<u8>> {
        self.view.text(chunk).map_err(|error| segment_fault(&self.store.segments_dir(), error))
    }

    fn search(&self, ask: &Ask<'_>) -> Result<Vec<Scored>> {
        Ok(self.view.search(ask))
    }

    fn frequency(&self, token: &str) -> Result<u32> {
        Ok(self.view.frequency(token))
    }

    fn chunks_with(&self, plan: &TextPlan) -> Result<Vec<ChunkId>> {
        self.view.chunks_with(plan).map_err(|error| segment_fault(&self.store.segments_dir(), error))
    }

    fn for_each_text(&self, chunks: &[ChunkId], visit: &mut dyn FnMut(ChunkId, &[u8]) -> bool) -> Result<()> {
        self.view.for_each_text(chunks, visit).map_err(|error| segment_fault(&self.store.segments_dir(), error))
    }

    fn chunks_with_word_near(&self, word: &str, changes: usize) -> Result<Vec<ChunkId>> {
        self.view.chunks_with_word_near(word, changes).map_err(|error| segment_fault(&self.store.segments_dir(), error))
    }
}

fn record(row: &Row<'_>) -> rusqlite::Result<BlobRecord<ChunkId>> {
    Ok(BlobRecord {
        language: row.get(0)?,
        size: row.get::<_, i64>(1)?.unsigned_abs(),
        lines: row.get(2)?,
        plain: row.get(3)?,
        package: row.get(4)?,
        counts: [row.get(5)?, row.get(6)?, row.get(7)?],
        tags: serde_json::from_slice(row.get_ref(8)?.as_bytes()?).map_err(rows::damaged(8))?,
        entries: unpack_entries(row.get_ref(9)?.as_blob()?).map_err(rows::damaged(9))?,
    })
}
