//! Removes what no snapshot needs and joins small segments, while readers go on with what they have open.

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError},
};

use lore_segments::{Segment, merge, remove_unnamed, unpack_files, write_atomically};
use lore_store::{ChunkId, Collected, Result, StoreError};
use rusqlite::{Transaction, params};

use super::{
    SegmentRow, damaged, open_segment, past, retired_before, segment_fault, segment_rows, tiers::runs_to_join,
};
use crate::{db::file_id, writer::Shared};

/// Garbage is looked for after so many snapshots were dropped.
const DROPPED: i64 = 32;

/// A segment is written anew when so large a part of it is garbage.
const DEAD_SHARE: f64 = 0.3;

/// How much is to be cleaned up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thoroughness {
    /// What costs little for what it gives.
    WhatIsWorthIt,
    /// All that no snapshot needs.
    Everything,
}

pub(crate) fn collect(shared: &Arc<Shared>, how: Thoroughness) -> Result<Collected> {
    collect_here(shared, how)
}

fn collect_here(shared: &Shared, how: Thoroughness) -> Result<Collected> {
    let pending = shared.pending.lock().unwrap_or_else(PoisonError::into_inner);
    if !pending.is_empty() {
        return Ok(Collected::default());
    }
    // While nothing can be written: a file that is about to be named must not look like a stray.
    remove_strays(shared)?;
    drop(pending);
    let mut collected = drop_retired(shared)?;
    let (dropped, retired, mut rows) = shared.query(|connection| {
        let dropped =
            connection.query_row("SELECT coalesce(max(value), 0) FROM meta WHERE key = 'dropped'", [], |row| {
                row.get::<_, i64>(0)
            })?;
        Ok((dropped, retired_before(connection)?, segment_rows(connection)?))
    })?;
    // What is to be read again goes as a whole once it was: it may be damaged, and must not be joined with new pieces.
    rows.retain(|row| row.id >= retired);
    let thorough = how == Thoroughness::Everything || dropped >= DROPPED;
    let sizes: Vec<u64> = rows.iter().map(|row| row.chunks).collect();
    let joins: Vec<Vec<SegmentRow>> = runs_to_join(&sizes).into_iter().map(|run| rows[run].to_vec()).collect();
    if !thorough && joins.is_empty() {
        return Ok(collected);
    }
    // Where it is not known what is needed, all of it is.
    let alive = if thorough { unless_damaged(sweep_blobs(shared))? } else { None };
    let share = if how == Thoroughness::Everything { 0.0 } else { DEAD_SHARE };
    let mut done: HashSet<i64> = HashSet::new();
    for group in joins.into_iter().chain(rows.iter().map(|row| vec![row.clone()])) {
        if group.iter().any(|row| done.contains(&row.id)) {
            continue;
        }
        let opened = group.iter().map(|row| open_segment(&shared.store, &row.file)).collect::<Result<Vec<_>>>();
        let Some(segments) = unless_damaged(opened)? else { continue };
        // As the segments say it: what the database notes may be damaged.
        let total: u64 = segments.iter().map(|segment| u64::from(segment.chunk_count())).sum();
        let is_alive = |id: ChunkId| alive.as_ref().is_none_or(|alive| alive.contains(&id));
        let living = segments.iter().flat_map(|segment| segment.ids()).filter(|id| is_alive(*id)).count() as u64;
        #[expect(clippy::cast_precision_loss, reason = "a share needs no precision")]
        let dead_share = (total - living) as f64 / total.max(1) as f64;
        if group.len() == 1 && (living == total || dead_share < share) {
            continue;
        }
        let Some(freed) = unless_damaged(replace(shared, &group, &segments, living, &is_alive))? else { continue };
        done.extend(group.iter().map(|row| row.id));
        collected.chunks += total - living;
        collected.bytes += freed;
    }
    Ok(collected)
}

/// Damage concerns those who read what is damaged, and they are told; the rest is cleaned up all the same.
fn unless_damaged<T>(done: Result<T>) -> Result<Option<T>> {
    match done {
        Ok(value) => Ok(Some(value)),
        Err(error @ (StoreError::CodeDamaged { .. } | StoreError::Absent(_))) => {
            tracing::warn!(%error, "what is damaged is left as it is: run `lore reindex`");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Removes the segments of what was to be read again, once no snapshot shows it any more. They are not opened.
fn drop_retired(shared: &Shared) -> Result<Collected> {
    let (retired, rows) = shared.query(|connection| {
        let sql = "SELECT count(*) FROM (SELECT rules_id FROM snapshots UNION ALL SELECT rules_id FROM pasts)
                   JOIN rules USING (rules_id) WHERE text LIKE 'retired %'";
        let shown: i64 = connection.query_row(sql, [], |row| row.get(0))?;
        let retired = if shown > 0 { 0 } else { retired_before(connection)? };
        Ok((retired, segment_rows(connection)?))
    })?;
    if retired == 0 {
        return Ok(Collected::default());
    }
    let old: Vec<SegmentRow> = rows.into_iter().filter(|row| row.id < retired).collect();
    shared.write(|transaction, _| {
        transaction.execute("DELETE FROM segments WHERE segment_id < ?1", [retired])?;
        transaction.execute(
            "DELETE FROM blobs WHERE rules_id IN (SELECT rules_id FROM rules WHERE text LIKE 'retired %')",
            [],
        )?;
        transaction.execute("DELETE FROM rules WHERE text LIKE 'retired %'", [])?;
        transaction.execute("DELETE FROM meta WHERE key = 'retired_before'", [])?;
        Ok(())
    })?;
    shared.claims.renew();
    let folder = shared.store.segments_dir();
    for row in &old {
        remove_unnamed(&folder.join(&row.file));
    }
    Ok(Collected { chunks: old.iter().map(|row| row.chunks).sum(), bytes: old.iter().map(|row| row.bytes).sum() })
}

/// Every chunk that a snapshot or a past names.
pub(crate) fn living_chunks(shared: &Shared) -> Result<HashSet<ChunkId>> {
    Ok(named(shared)?.1)
}

/// The blobs and the chunks that snapshots and pasts name.
fn named(shared: &Shared) -> Result<(HashSet<i64>, HashSet<ChunkId>)> {
    let packed: Vec<Vec<u8>> = shared.query(|connection| {
        connection.prepare("SELECT files FROM snapshots")?.query_map([], |row| row.get(0))?.collect()
    })?;
    let (mut blobs, mut chunks) = (HashSet::new(), HashSet::new());
    for packed in packed {
        let files = unpack_files(&packed)
            .map_err(|_| damaged(&shared.store, "a snapshot's list of files cannot be unpacked"))?;
        for file in files {
            blobs.insert(file.blob);
            chunks.extend(file.chunks);
        }
    }
    for past in shared.query(past::all)? {
        past.name_all(&mut blobs, &mut chunks);
    }
    Ok((blobs, chunks))
}

/// Deletes the blobs that nothing names, and returns every chunk that something does.
fn sweep_blobs(shared: &Shared) -> Result<HashSet<ChunkId>> {
    let (blobs, chunks) = named(shared)?;
    shared.write(|transaction, _| {
        let all: Vec<i64> = transaction
            .prepare("SELECT blob_id FROM blobs")?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let mut delete = transaction.prepare_cached("DELETE FROM blobs WHERE blob_id = ?1")?;
        for blob in all.into_iter().filter(|blob| !blobs.contains(blob)) {
            delete.execute([blob])?;
        }
        transaction.execute(
            "DELETE FROM rules WHERE rules_id NOT IN (SELECT rules_id FROM blobs)
             AND rules_id NOT IN (SELECT rules_id FROM pasts WHERE rules_id IS NOT NULL)",
            [],
        )?;
        transaction.execute("DELETE FROM meta WHERE key = 'dropped'", [])?;
        Ok(())
    })?;
    Ok(chunks)
}

/// Writes one segment in the place of some, and returns how many bytes that freed.
fn replace(
    shared: &Shared,
    group: &[SegmentRow],
    segments: &[Arc<Segment>],
    living: u64,
    is_alive: &dyn Fn(ChunkId) -> bool,
) -> Result<u64> {
    let folder = shared.store.segments_dir();
    // The new one takes the number of the first: rows in order of their numbers hold chunks in order of theirs.
    let first = &group[0];
    let number = shared.query(|connection| {
        connection.query_row("SELECT value FROM meta WHERE key = 'next_segment'", [], |row| row.get::<_, i64>(0))
    })?;
    let file = format!("{number:08}.seg");
    let mut bytes = 0;
    if living > 0 {
        let parts: Vec<&Segment> = segments.iter().map(|segment| &**segment).collect();
        let merged = merge(&parts, is_alive).map_err(|error| segment_fault(&folder, error))?;
        let path = folder.join(&file);
        write_atomically(&path, &merged).map_err(|error| segment_fault(&path, error.into()))?;
        bytes = merged.len() as u64;
    }
    let name = |transaction: &Transaction<'_>| -> rusqlite::Result<()> {
        for row in group {
            transaction.execute("DELETE FROM segments WHERE segment_id = ?1", [row.id])?;
        }
        if living > 0 {
            transaction.execute(
                "INSERT INTO segments (segment_id, file, chunks, bytes) VALUES (?1, ?2, ?3, ?4)",
                params![first.id, file, living.cast_signed(), bytes.cast_signed()],
            )?;
        }
        transaction.execute("UPDATE meta SET value = value + 1 WHERE key = 'next_segment'", [])?;
        Ok(())
    };
    shared.write(|transaction, _| name(transaction))?;
    // At once: whatever fails after this, no new content may be built on chunks that are gone.
    shared.claims.renew();
    for row in group {
        // Those who have it open go on reading it.
        remove_unnamed(&folder.join(&row.file));
    }
    Ok(group.iter().map(|row| row.bytes).sum::<u64>().saturating_sub(bytes))
}

/// Deletes files that nothing names: a writer was stopped before it could, or they are of an older format.
fn remove_strays(shared: &Shared) -> Result<()> {
    // In an index that was made anew in this place, all files are named by another database.
    if shared.file.is_none() || file_id(shared.store.file()) != shared.file {
        return Ok(());
    }
    let folder = shared.store.segments_dir();
    let named: HashSet<String> = shared.query(segment_rows)?.into_iter().map(|row| row.file).collect();
    let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(()) };
    for entry in entries.flatten() {
        let is_named = entry.file_name().to_str().is_some_and(|name| named.contains(name));
        if !is_named && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            remove_unnamed(&entry.path());
        }
    }
    Ok(())
}
