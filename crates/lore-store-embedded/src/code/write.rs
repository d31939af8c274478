//! Writing code: chunks go into a segment in memory, which becomes a file, which a transaction then names.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock},
};

use lore_model::{CommitId, RepoId, Tip};
use lore_segments::{
    PackedFile, Prepared, Scratch, Segment, SegmentBuilder, make_folder, pack_entries, pack_files, pack_left_out,
    unpack_entries, write_atomically,
};
use lore_store::{
    BlobKey, BlobRecord, ChunkId, ChunkInput, ChunkKey, ChunkSink, CodeEnd, CodeState, CodeWriter, Collected, Entry,
    NewBlob, NewPast, NewSnapshot, PastInfo, PreparedChunk, Result, StoreError,
};
use rusqlite::{Connection, OptionalExtension, Transaction, params, types::Value};

use super::{
    collect::{Thoroughness, collect},
    open_segment, past,
    read::{code_state, held_blobs},
    retired_before, segment_fault, segment_rows,
};
use crate::{
    EmbeddedStore, rows, sums,
    writer::{Shared, Writer},
};

/// A segment is written when it has taken so much memory.
const SEGMENT_MEMORY: usize = 256 << 20;

/// Says which chunks have to be supplied, and makes them ready.
pub(crate) struct Claims {
    store: EmbeddedStore,
    /// What is on disk; looked up first when it is needed first.
    segments: OnceLock<RwLock<Vec<Arc<Segment>>>>,
    /// Why that could not be looked up. Nothing may be written then: what is there would be written once more.
    fault: Mutex<Option<StoreError>>,
    claimed: [Mutex<HashSet<ChunkKey>>; 16],
}

impl Claims {
    pub(crate) fn new(store: EmbeddedStore) -> Self {
        let claimed = std::array::from_fn(|_| Mutex::default());
        Self { store, segments: OnceLock::new(), fault: Mutex::default(), claimed }
    }

    fn segments(&self) -> &RwLock<Vec<Arc<Segment>>> {
        self.segments.get_or_init(|| RwLock::new(self.on_disk()))
    }

    /// The segments that chunks may be taken from.
    fn on_disk(&self) -> Vec<Arc<Segment>> {
        self.look().unwrap_or_else(|error| {
            *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Vec::new()
        })
    }

    fn look(&self) -> Result<Vec<Arc<Segment>>> {
        let read = |connection: &Connection| Ok((retired_before(connection)?, segment_rows(connection)?));
        let Some((retired, rows)) = self.store.read(read)? else { return Ok(Vec::new()) };
        let mut segments = Vec::new();
        for row in rows.iter().filter(|row| row.id >= retired) {
            match open_segment(&self.store, &row.file) {
                Ok(segment) => segments.push(segment),
                // Its chunks are written anew; reading will say what is wrong with it.
                Err(StoreError::CodeDamaged { .. } | StoreError::Absent(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(segments)
    }

    /// Why it was not known what is on disk, where that is so; it is looked up again then.
    fn take_fault(&self) -> Option<StoreError> {
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        self.renew();
        Some(fault)
    }

    fn find(&self, key: &ChunkKey) -> Option<ChunkId> {
        let segments = self.segments().read().unwrap_or_else(PoisonError::into_inner);
        segments.iter().rev().find_map(|segment| segment.find(key))
    }

    /// Takes back claims that were honoured: from now on the segments answer for these chunks.
    fn honoured(&self, keys: &[ChunkKey]) {
        for key in keys {
            self.shard(key).lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        }
    }

    /// Takes back all claims: those who made them failed, and what they claimed has to be supplied by others.
    fn forget(&self) {
        for shard in &self.claimed {
            shard.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    fn shard(&self, key: &ChunkKey) -> &Mutex<HashSet<ChunkKey>> {
        &self.claimed[usize::from(key.0[0] & 15)]
    }

    /// Looks up again which segments there are, after some were replaced.
    pub(super) fn renew(&self) {
        *self.segments().write().unwrap_or_else(PoisonError::into_inner) = self.on_disk();
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Makes a chunk ready on this thread.
pub(super) fn prepare(chunk: &ChunkInput<'_>) -> PreparedChunk {
    SCRATCH.with_borrow_mut(|scratch| PreparedChunk(Arc::new(Prepared::new(chunk, scratch))))
}

/// What [`prepare`] made.
pub(super) fn prepared(chunk: PreparedChunk) -> Result<Prepared> {
    let foreign = |_| StoreError::Backend("a chunk was made ready by another store".into());
    chunk.0.downcast::<Prepared>().map(Arc::unwrap_or_clone).map_err(foreign)
}

impl ChunkSink for Claims {
    fn claim(&self, key: &ChunkKey) -> bool {
        // The lock first: a chunk that is written in this very moment is in the set or in a segment.
        let mut claimed = self.shard(key).lock().unwrap_or_else(PoisonError::into_inner);
        !claimed.contains(key) && self.find(key).is_none() && claimed.insert(*key)
    }

    fn prepare(&self, chunk: &ChunkInput<'_>) -> PreparedChunk {
        prepare(chunk)
    }
}

/// Code that was read and is not written yet.
#[derive(Default)]
pub(crate) struct Pending {
    builder: SegmentBuilder,
    /// Chunks of the builder, in its order.
    keys: Vec<ChunkKey>,
    places: HashMap<ChunkKey, u32>,
    blobs: Vec<(Arc<str>, BlobKey, BlobRecord<ChunkKey>)>,
    /// About what `blobs` takes: a large file of which little is new has very many entries and hardly a chunk.
    listed: usize,
}

impl Pending {
    fn memory(&self) -> usize {
        self.builder.memory() + self.listed
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.blobs.is_empty()
    }

    fn put(&mut self, rules: &Arc<str>, blob: NewBlob) -> Result<()> {
        for (key, chunk) in blob.chunks {
            let place = self.builder.push(prepared(chunk)?);
            self.keys.push(key);
            self.places.insert(key, place);
        }
        self.list(rules, blob.key, blob.record);
        Ok(())
    }

    fn list(&mut self, rules: &Arc<str>, key: BlobKey, record: BlobRecord<ChunkKey>) {
        self.listed += size_of_val(&*record.entries) + size_of::<(Arc<str>, BlobKey, BlobRecord<ChunkKey>)>();
        self.blobs.push((Arc::clone(rules), key, record));
    }
}

/// Writes what is pending; where that fails, it has to be read again.
fn flush(shared: &Shared) -> Result<()> {
    write_pending(shared).inspect_err(|_| start_anew(shared))
}

/// Forgets what was read and claimed and is not written.
fn start_anew(shared: &Shared) {
    *shared.pending.lock().unwrap_or_else(PoisonError::into_inner) = Pending::default();
    shared.claims.forget();
}

/// Writes the segment, then the transaction that names it and the blobs whose chunks are all there.
fn write_pending(shared: &Shared) -> Result<()> {
    let mut pending = shared.pending.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(fault) = shared.claims.take_fault() {
        return Err(fault);
    }
    let Pending { builder, keys, places, blobs, listed: _ } = std::mem::take(&mut *pending);
    if keys.is_empty() && blobs.is_empty() {
        return Ok(());
    }
    let meta = |key: &'static str| {
        move |connection: &Connection| {
            connection.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get::<_, i64>(0))
        }
    };
    let count = u32::try_from(keys.len()).unwrap_or(u32::MAX);
    let first = u32::try_from(shared.query(meta("next_chunk"))?).unwrap_or(super::OVERLAY_BASE);
    let end = first.checked_add(count).filter(|end| *end <= super::OVERLAY_BASE).ok_or_else(|| {
        StoreError::Backend(
            "all numbers for chunks are used up: move `lore.db` and `segments` aside and add the repositories again"
                .into(),
        )
    })?;
    let mut segment = None;
    if count > 0 {
        let number = shared.query(meta("next_segment"))?;
        let ids: Vec<ChunkId> = (first..end).collect();
        let bytes = builder.finish(&ids);
        let (folder, file) = (shared.store.segments_dir(), format!("{number:08}.seg"));
        let path = folder.join(&file);
        make_folder(&folder)
            .and_then(|()| write_atomically(&path, &bytes))
            .map_err(|error| segment_fault(&path, error.into()))?;
        segment = Some((number, file, bytes.len()));
    }
    // A chunk may have been claimed by a worker that has not handed it over yet: its other users wait for the next flush.
    let resolve = |key: &ChunkKey| places.get(key).map(|place| first + place).or_else(|| shared.claims.find(key));
    let mut ready = Vec::new();
    for (rules, key, record) in blobs {
        if record.entries.iter().all(|entry| resolve(&entry.chunk).is_some()) {
            ready.push((rules, key, record));
        } else {
            pending.list(&rules, key, record);
        }
    }
    shared.write(|transaction, _| {
        if let Some((number, file, bytes)) = &segment {
            transaction.execute(
                "INSERT INTO segments (segment_id, file, chunks, bytes) VALUES (?1, ?2, ?3, ?4)",
                params![number, file, count, i64::try_from(*bytes).unwrap_or(i64::MAX)],
            )?;
            transaction.execute("UPDATE meta SET value = ?1 WHERE key = 'next_chunk'", [end])?;
            transaction.execute("UPDATE meta SET value = value + 1 WHERE key = 'next_segment'", [])?;
        }
        for (rules, key, record) in &ready {
            put_blob(transaction, rules, key, record, &resolve)?;
        }
        Ok(())
    })?;
    if let Some((_, file, _)) = segment {
        let opened = open_segment(&shared.store, &file)?;
        shared.claims.segments().write().unwrap_or_else(PoisonError::into_inner).push(opened);
        shared.claims.honoured(&keys);
    }
    Ok(())
}

fn put_blob(
    transaction: &Transaction<'_>,
    rules: &str,
    key: &BlobKey,
    record: &BlobRecord<ChunkKey>,
    resolve: &dyn Fn(&ChunkKey) -> Option<ChunkId>,
) -> rusqlite::Result<()> {
    let entries: Vec<Entry<ChunkId>> =
        record.entries.iter().filter_map(|entry| entry.clone().rename(|key| resolve(&key))).collect();
    let size = i64::try_from(record.size).unwrap_or(i64::MAX);
    let values = params![
        rules_id(transaction, rules)?,
        key.blob.as_bytes(),
        &*key.hint,
        record.language,
        size,
        record.lines,
        record.plain,
        record.package,
        record.counts[0],
        record.counts[1],
        record.counts[2],
        rows::list_json(&record.tags),
        pack_entries(&entries),
    ];
    let sum = Value::Integer(sums::of(values)?);
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO blobs (rules_id, oid, hint, language, size, lines, plain, package, imports, types, functions, tags, entries, sum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(&*sums::with_sum(values, &sum))?;
    Ok(())
}

fn rules_id(transaction: &Transaction<'_>, rules: &str) -> rusqlite::Result<i64> {
    let found = transaction
        .prepare_cached("SELECT rules_id FROM rules WHERE text = ?1")?
        .query_row([rules], |row| row.get(0))
        .optional()?;
    match found {
        Some(id) => Ok(id),
        None => transaction.prepare_cached("INSERT INTO rules (text) VALUES (?1)")?.insert([rules]),
    }
}

/// Keeps a snapshot of what the store holds of its files, and tells whether that is all of them.
fn put_snapshot(
    transaction: &Transaction<'_>,
    repo: RepoId,
    rules: i64,
    snapshot: &NewSnapshot,
) -> rusqlite::Result<bool> {
    let mut find = transaction.prepare_cached(
        "SELECT blob_id, language, size, lines, entries FROM blobs WHERE oid = ?1 AND hint = ?2 AND rules_id = ?3",
    )?;
    let mut languages: HashMap<String, Arc<str>> = HashMap::new();
    let (mut files, mut chunks, mut lines, mut bytes) = (Vec::new(), HashSet::new(), 0, 0);
    for file in &snapshot.files {
        let row = find
            .query_row(params![file.key.blob.as_bytes(), file.key.hint, rules], |row| {
                let entries = unpack_entries(row.get_ref(4)?.as_blob()?).map_err(rows::damaged(4))?;
                Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?, entries))
            })
            .optional()?;
        let Some((blob, language, size, line_count, entries)) = row else { continue };
        let language = languages.entry(language).or_insert_with_key(|name| name.as_str().into()).clone();
        let ids: Vec<ChunkId> = entries.iter().map(|entry| entry.chunk).collect();
        chunks.extend(ids.iter().copied());
        lines += line_count;
        bytes += size;
        files.push(PackedFile { path: file.path.clone(), blob, language, chunks: ids });
    }
    drop(find);
    drop_snapshots(
        transaction,
        "repo_id = ?1 AND sha = ?2 AND rules_id = ?3",
        params![repo.0, snapshot.commit.to_hex(), rules],
    )?;
    let values = params![
        repo.0,
        snapshot.commit.to_hex(),
        rules,
        rows::count(files.len()),
        rows::count(chunks.len()),
        lines,
        bytes,
        pack_files(&files),
        pack_left_out(&snapshot.left_out),
    ];
    let sum = Value::Integer(sums::of(values)?);
    transaction
        .prepare_cached(
            "INSERT INTO snapshots (repo_id, sha, rules_id, file_count, chunk_count, line_count, byte_count, files, left_out, sum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(&*sums::with_sum(values, &sum))?;
    Ok(files.len() == snapshot.files.len())
}

/// Drops snapshots; what only they needed is garbage now.
pub(super) fn drop_snapshots(
    transaction: &Transaction<'_>,
    condition: &str,
    values: impl rusqlite::Params,
) -> rusqlite::Result<()> {
    let dropped = transaction.execute(&format!("DELETE FROM snapshots WHERE {condition}"), values)?;
    transaction.execute(
        "INSERT INTO meta VALUES ('dropped', ?1) ON CONFLICT (key) DO UPDATE SET value = value + ?1",
        [rows::count(dropped)],
    )?;
    Ok(())
}

impl CodeWriter for Writer {
    fn begin_code(&self, repo: RepoId, rules: &str) -> Result<CodeState> {
        // A sync that failed may have left claims that nobody will honour.
        start_anew(&self.shared);
        self.write(|transaction, _| {
            let before = code_state(transaction, repo)?;
            transaction.execute(
                "INSERT INTO code_state (repo_id, rules, scope, tips, partial) VALUES (?1, ?2, '', '[]', 1)
                 ON CONFLICT (repo_id) DO UPDATE SET partial = 1",
                params![repo.0, rules],
            )?;
            Ok(before)
        })
    }

    fn known_blobs(&self, rules: &str, keys: Vec<BlobKey>) -> Result<HashSet<BlobKey>> {
        self.query(|connection| held_blobs(connection, rules, keys))
    }

    fn sink(&self) -> Arc<dyn ChunkSink> {
        Arc::clone(&self.shared.claims) as _
    }

    fn put_blobs(&self, rules: &str, blobs: Vec<NewBlob>) -> Result<()> {
        let (shared, rules): (_, Arc<str>) = (Arc::clone(&self.shared), rules.into());
        let mut pending = shared.pending.lock().unwrap_or_else(PoisonError::into_inner);
        for blob in blobs {
            pending.put(&rules, blob)?;
        }
        let full = pending.memory() >= SEGMENT_MEMORY;
        drop(pending);
        if full { flush(&shared) } else { Ok(()) }
    }

    fn flush(&self) -> Result<()> {
        flush(&self.shared)
    }

    fn end_code(&self, repo: RepoId, end: CodeEnd) -> Result<CodeState> {
        self.flush()?;
        let ended = self
            .write(|transaction, _| {
                let rules = rules_id(transaction, &end.rules)?;
                let known: HashSet<CommitId> = if end.partial {
                    HashSet::new()
                } else {
                    complete_snapshots(transaction, repo, rules, &end.scope)?
                };
                // What a partial clone lacks may come later: then the snapshot is made again.
                let mut complete = !end.partial;
                for snapshot in end.snapshots.iter().filter(|snapshot| !known.contains(&snapshot.commit)) {
                    complete &= put_snapshot(transaction, repo, rules, snapshot)?;
                }
                // Whatever was thought to be there: what is not is read by the next sync.
                let lacks = lacks_snapshot(transaction, repo, rules, &end.tips)?;
                let (partial, complete) = (end.partial || lacks, complete && !lacks);
                if !partial {
                    let named: Vec<String> = end.tips.iter().map(|tip| tip.commit.to_hex()).collect();
                    let condition = "repo_id = ?1 AND (rules_id <> ?2 OR sha NOT IN (SELECT value FROM json_each(?3)))";
                    drop_snapshots(transaction, condition, params![repo.0, rules, rows::list_json(&named)])?;
                }
                transaction.execute(
                    "INSERT OR REPLACE INTO code_state (repo_id, synced_at, rules, scope, tips, partial, complete) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    params![repo.0, end.at, end.rules, end.scope, tips_json(&end.tips), partial, complete],
                )?;
                code_state(transaction, repo)
            })?;
        self.checkpoint()?;
        Ok(ended)
    }

    fn put_evidence(&self, repo: RepoId, made_of: &str, bytes: Vec<u8>) -> Result<()> {
        self.write(|transaction, _| {
            // A new row, so that it has a new number.
            transaction.execute("DELETE FROM evidence WHERE repo_id = ?1", [repo.0])?;
            let values = params![repo.0, made_of, bytes];
            let sum = Value::Integer(sums::of(values)?);
            transaction.execute(
                "INSERT INTO evidence (repo_id, made_of, packed, sum) VALUES (?1, ?2, ?3, ?4)",
                &*sums::with_sum(values, &sum),
            )?;
            Ok(())
        })?;
        self.checkpoint()
    }

    fn want_past(&self, repo: RepoId, wanted: bool) -> Result<()> {
        self.write(|transaction, _| past::want(transaction, repo, wanted))
    }

    fn put_past(&self, repo: RepoId, past: NewPast) -> Result<PastInfo> {
        self.flush()?;
        let info = self.write(|transaction, _| {
            let rules = rules_id(transaction, &past.rules)?;
            past::put(transaction, repo, rules, past)?;
            past::past_info(transaction, repo)
        })?;
        self.checkpoint()?;
        info.ok_or_else(|| StoreError::Absent(format!("the past of {repo}")))
    }

    fn retire_code(&self, repos: Vec<RepoId>) -> Result<()> {
        self.flush()?;
        self.write(|transaction, _| {
            // Under another name, what was read is not found again, and what shows it stays.
            let sql =
                "UPDATE rules SET text = 'retired ' || (SELECT value FROM meta WHERE key = 'generation') || ' ' || text
                       WHERE text NOT LIKE 'retired %'";
            transaction.execute(sql, [])?;
            transaction.execute(
                "INSERT OR REPLACE INTO meta SELECT 'retired_before', value FROM meta WHERE key = 'next_segment'",
                [],
            )?;
            // No snapshot is under rules that are in use, so none of any repository can be taken over.
            transaction.execute("UPDATE code_state SET complete = 0", [])?;
            for repo in repos {
                transaction.execute("UPDATE code_state SET partial = 1 WHERE repo_id = ?1", [repo.0])?;
            }
            Ok(())
        })?;
        self.shared.claims.renew();
        Ok(())
    }

    fn collect(&self) -> Result<Collected> {
        collect(&self.shared, Thoroughness::WhatIsWorthIt)
    }
}

/// Whether one of these tips has no snapshot.
fn lacks_snapshot(transaction: &Transaction<'_>, repo: RepoId, rules: i64, tips: &[Tip]) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM snapshots WHERE repo_id = ?1 AND rules_id = ?2 AND sha = ?3";
    let mut find = transaction.prepare_cached(sql)?;
    for tip in tips {
        if !find.exists(params![repo.0, rules, tip.commit.to_hex()])? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Commits whose snapshot need not be made again: nothing under these rules was partial.
fn complete_snapshots(
    transaction: &Transaction<'_>,
    repo: RepoId,
    rules: i64,
    scope: &str,
) -> rusqlite::Result<HashSet<CommitId>> {
    let sql =
        "SELECT s.sha FROM snapshots AS s JOIN code_state AS c USING (repo_id) JOIN rules AS r ON r.text = c.rules
               WHERE s.repo_id = ?1 AND s.rules_id = ?2 AND r.rules_id = ?2 AND c.scope = ?3 AND c.complete = 1";
    transaction.prepare_cached(sql)?.query_map(params![repo.0, rules, scope], |row| rows::commit_id(row, 0))?.collect()
}

fn tips_json(tips: &[Tip]) -> String {
    let pairs: Vec<(&str, String)> = tips.iter().map(|tip| (tip.name.as_str(), tip.commit.to_hex())).collect();
    serde_json::to_string(&pairs).expect("texts are JSON")
}
