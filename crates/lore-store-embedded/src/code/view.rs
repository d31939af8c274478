//! Some snapshots with uncommitted work on top, as one searchable whole.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use lore_model::{RepoId, RepoPath};
use lore_segments::{PackedFile, Past, Segment, SegmentBuilder, View, unpack_entries, unpack_files};
use lore_store::{
    Ask, Base, BlobRecord, ChunkId, ChunkKey, CodeView, Entry, OverlayInput, PastSlice, Result, Scored, StoreError,
    TextPlan, TreePart, ViewFile, ViewVectors,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{OVERLAY_BASE, damaged, open_segment, past, segment_fault, segment_rows, write::prepared};
use crate::{EmbeddedStore, rows, vectors};

/// Records that were read are kept up to this number.
const MAX_RECORDS: usize = 16_384;

/// What a view is made of, as one transaction saw it.
pub(super) struct Parts {
    segments: Vec<Arc<Segment>>,
    /// Why some segment could not be opened: it matters only where a chunk of it is wanted.
    fault: Option<StoreError>,
    shown: Vec<(RepoId, Shown)>,
}

/// What is below an overlay.
enum Shown {
    /// Of a tip: what lies on top of it is uncommitted.
    Files(Vec<PackedFile>),
    /// Of any commit.
    Tree(Vec<PackedFile>),
    Past(Arc<Past>, PastSlice),
}

/// Reads the parts; a segment that is not there is a reason to read them again, unless it is the `last` time.
pub(super) fn read_parts(store: &EmbeddedStore, bases: &[Base], last: bool) -> Result<Parts> {
    if bases.iter().all(|base| matches!(base, Base::Nothing)) {
        let alone = || (RepoId(0), Shown::Files(Vec::new()));
        return Ok(Parts { segments: Vec::new(), fault: None, shown: bases.iter().map(|_| alone()).collect() });
    }
    // In one transaction: what is named then lies in the segments that are.
    let read = store.read(|connection| {
        let read = bases.iter().map(|base| read_base(connection, base)).collect::<rusqlite::Result<Vec<_>>>()?;
        Ok((segment_rows(connection)?, read))
    })?;
    let (rows, read) = read.unwrap_or_default();
    let read = read.into_iter().chain(std::iter::repeat_with(|| Read::Absent));
    let shown = bases.iter().zip(read).map(|(base, read)| show(store, base, read)).collect::<Result<Vec<_>>>()?;
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
    Ok(Parts { segments, fault, shown })
}

/// What was read of a base.
enum Read {
    Absent,
    Nothing,
    Packed(RepoId, Vec<u8>),
    Files(RepoId, Vec<PackedFile>),
    Past,
}

fn read_base(connection: &Connection, base: &Base) -> rusqlite::Result<Read> {
    let read = match base {
        Base::Nothing => Some(Read::Nothing),
        Base::Snapshot(id) => connection
            .prepare_cached("SELECT repo_id, files FROM snapshots WHERE snapshot_id = ?1")?
            .query_row([id.0], |row| Ok(Read::Packed(RepoId(row.get(0)?), row.get(1)?)))
            .optional()?,
        Base::Tree(tree) => files_of(connection, tree)?.map(|files| Read::Files(tree.repo, files)),
        Base::Past(part) => {
            let is_there = connection
                .prepare_cached("SELECT 1 FROM pasts WHERE number = ?1 AND repo_id = ?2")?
                .exists([part.number, part.repo.0])?;
            is_there.then_some(Read::Past)
        }
    };
    Ok(read.unwrap_or(Read::Absent))
}

/// What is below an overlay.
fn show(store: &EmbeddedStore, base: &Base, read: Read) -> Result<(RepoId, Shown)> {
    match (read, base) {
        (Read::Nothing, _) => Ok((RepoId(0), Shown::Files(Vec::new()))),
        (Read::Packed(repo, files), _) => {
            let files =
                unpack_files(&files).map_err(|_| damaged(store, "a snapshot's list of files cannot be unpacked"))?;
            Ok((repo, Shown::Files(files)))
        }
        (Read::Files(repo, files), _) => Ok((repo, Shown::Tree(files))),
        (Read::Past, Base::Past(part)) => {
            let past = past::open_numbered(store, part.repo, part.number)?;
            Ok((part.repo, Shown::Past(past, part.slice.clone())))
        }
        (Read::Absent | Read::Past, base) => Err(StoreError::Absent(match base {
            Base::Snapshot(id) => format!("snapshot {}", id.0),
            Base::Past(part) => format!("past {}", part.number),
            Base::Tree(_) | Base::Nothing => "the content of a tree".to_owned(),
        })),
    }
}

/// The files of a tree; `None` where the content of one is not held.
fn files_of(connection: &Connection, tree: &TreePart) -> rusqlite::Result<Option<Vec<PackedFile>>> {
    let sql = "SELECT blob_id, language, entries FROM blobs JOIN rules USING (rules_id)
               WHERE oid = ?1 AND hint = ?2 AND text = ?3";
    let mut find = connection.prepare_cached(sql)?;
    let mut languages: HashMap<String, Arc<str>> = HashMap::new();
    let mut files = Vec::with_capacity(tree.files.len());
    for file in tree.files.iter() {
        let row = find.query_row(params![file.key.blob.as_bytes(), &*file.key.hint, tree.rules], |row| {
            let entries = unpack_entries(row.get_ref(2)?.as_blob()?).map_err(rows::damaged(2))?;
            let chunks = entries.iter().map(|entry| entry.chunk).collect();
            Ok((row.get(0)?, row.get::<_, String>(1)?, chunks))
        });
        let Some((blob, language, chunks)) = row.optional()? else { return Ok(None) };
        let language = languages.entry(language).or_insert_with_key(|name| name.as_str().into()).clone();
        files.push(PackedFile { path: file.path.clone(), blob, language, chunks });
    }
    Ok(Some(files))
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
    /// For each file of a view of the past, which past and which path of it.
    origins: Vec<Option<(u32, u32)>>,
    pasts: Vec<Arc<Past>>,
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
    origin: Option<(u32, u32)>,
}

impl EmbeddedView {
    pub(super) fn new(store: EmbeddedStore, parts: Parts, overlays: Vec<OverlayInput>) -> Result<Self> {
        let Parts { mut segments, fault, shown } = parts;
        let mut rows: Vec<Placed> = Vec::new();
        let mut fresh = Fresh::default();
        let mut pasts: Vec<Arc<Past>> = Vec::new();
        for ((repo, shown), overlay) in shown.into_iter().zip(overlays) {
            let hidden: HashSet<&RepoPath> =
                overlay.hidden.iter().chain(overlay.files.iter().map(|file| &file.path)).collect();
            let uncommitted = !matches!(shown, Shown::Tree(_));
            match shown {
                Shown::Files(packed) | Shown::Tree(packed) => {
                    rows.extend(packed.into_iter().filter(|file| !hidden.contains(&file.path)).map(|file| Placed {
                        file: ViewFile {
                            repo,
                            path: file.path,
                            language: file.language,
                            uncommitted: false,
                            version: None,
                        },
                        source: Source::Blob(file.blob),
                        chunks: file.chunks,
                        origin: None,
                    }));
                }
                Shown::Past(past, slice) => {
                    place_past(repo, &past, &slice, pasts.len(), &mut rows);
                    pasts.push(past);
                }
            }
            drop(hidden);
            for file in overlay.files {
                let record = fresh.add(&segments, file.record, file.chunks)?;
                let language = record.language.as_str().into();
                rows.push(Placed {
                    file: ViewFile { repo, path: file.path, language, uncommitted, version: None },
                    chunks: record.entries.iter().map(|entry| entry.chunk).collect(),
                    source: Source::Overlay(Arc::new(record)),
                    origin: None,
                });
            }
        }
        rows.sort_by(|a, b| (a.file.repo, &a.file.path).cmp(&(b.file.repo, &b.file.path)));
        segments.extend(fresh.segment(&store)?);
        let (mut files, mut sources, mut chunks, mut starts) = (Vec::new(), Vec::new(), Vec::new(), vec![0]);
        let mut origins = Vec::new();
        for row in rows {
            files.push(row.file);
            sources.push(row.source);
            origins.push(row.origin);
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
            origins,
            pasts,
            view,
            records: Mutex::default(),
            sets: Mutex::default(),
        })
    }
}

impl EmbeddedView {
    /// Reads what is known of these contents, in one transaction.
    fn read_records(&self, blobs: &[i64]) -> Result<Vec<(i64, Arc<BlobRecord<ChunkId>>)>> {
        let read = self.store.read(|connection| {
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

/// The files of a past that a slice shows.
fn place_past(repo: RepoId, past: &Past, slice: &PastSlice, number: usize, rows: &mut Vec<Placed>) {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    for (at, path) in (0_u32..).zip(&past.paths) {
        let shown = path.shown(past, slice);
        for of_version in shown.chunk_by(|a, b| a.0 == b.0) {
            let version = &path.versions[of_version[0].0 as usize];
            rows.push(Placed {
                file: ViewFile {
                    repo,
                    path: path.path.clone(),
                    language: Arc::clone(&version.language),
                    uncommitted: false,
                    version: Some(past.span(version)),
                },
                source: Source::Blob(version.blob),
                chunks: of_version.iter().map(|(_, chunk)| *chunk).collect(),
                origin: Some((number, at)),
            });
        }
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
        let count = self.builder.chunk_count();
        if count == 0 {
            return Ok(None);
        }
        let ids: Vec<ChunkId> = (OVERLAY_BASE..OVERLAY_BASE + count).collect();
        let segment = Segment::from_bytes(self.builder.finish(&ids));
        let segment = segment.map_err(|error| segment_fault(&store.segments_dir(), error))?;
        Ok(Some(Arc::new(segment.keeping(store.texts().share()))))
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

    fn standing(&self, file: usize, chunk: ChunkId) -> Vec<Range<u32>> {
        let Some((past, path)) = self.origins.get(file).copied().flatten() else { return Vec::new() };
        let past = &self.pasts[past as usize];
        past.paths[path as usize].standing(past, chunk)
    }

    fn is_at_tip(&self, file: usize) -> bool {
        let Some((past, path)) = self.origins.get(file).copied().flatten() else { return true };
        self.pasts[past as usize].paths[path as usize].is_there()
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
        self.view.search(ask).map_err(|error| segment_fault(&self.store.segments_dir(), error))
    }

    fn frequency(&self, token: &str) -> Result<u32> {
        self.view.frequency(token).map_err(|error| segment_fault(&self.store.segments_dir(), error))
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

    fn is_exact(&self, chunk: ChunkId) -> bool {
        self.view.is_exact(chunk)
    }

    fn wordless_chunks_with(&self, plan: &TextPlan) -> Result<Vec<ChunkId>> {
        self.view.wordless_chunks_with(plan).map_err(|error| segment_fault(&self.store.segments_dir(), error))
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
