//! Reading code: what is indexed, and views.

use std::{collections::HashSet, sync::Arc};

use lore_model::{CommitId, LineCommit, RepoId, RepoPath, Tip};
use lore_segments::{unpack_files, unpack_left_out};
use lore_store::{
    BlobKey, ChunkInput, ChunkKey, ChunkSink, CodeState, CodeStore, CodeView, EvidenceInfo, LeftOut, PathVersion,
    PreparedChunk, Result, SnapshotId, SnapshotInfo, SnapshotSummary, StoreError, ViewPart,
};
use rusqlite::{Connection, OptionalExtension};

use super::{damaged, open_segment, past, segment_fault, segment_rows, view::EmbeddedView, write::prepare};
use crate::{EmbeddedStore, rows};

/// How often a view is opened again when segments are replaced meanwhile.
const TRIES: usize = 5;

/// What is indexed of a repository.
pub(super) fn code_state(connection: &Connection, repo: RepoId) -> rusqlite::Result<CodeState> {
    let sql = "SELECT synced_at, rules, tips, partial, scope, complete FROM code_state WHERE repo_id = ?1";
    let state = connection
        .prepare_cached(sql)?
        .query_row([repo.0], |row| {
            let tips: Vec<(String, String)> =
                serde_json::from_slice(row.get_ref(2)?.as_bytes()?).map_err(rows::damaged(2))?;
            let tips = tips.into_iter().map(|(name, sha)| {
                CommitId::from_hex(sha.as_bytes()).map(|commit| Tip { name, commit }).map_err(rows::damaged(2))
            });
            let tips = tips.collect::<rusqlite::Result<_>>()?;
            Ok(CodeState {
                at: row.get(0)?,
                rules: row.get(1)?,
                scope: row.get(4)?,
                tips,
                snapshots: Vec::new(),
                partial: row.get(3)?,
                complete: row.get(5)?,
                evidence: None,
                past: None,
            })
        })
        .optional()?;
    let Some(mut state) = state else {
        let (evidence, past) = (evidence_info(connection, repo)?, past::past_info(connection, repo)?);
        return Ok(CodeState { partial: true, evidence, past, ..CodeState::default() });
    };
    let sql = "SELECT snapshot_id, sha, file_count, chunk_count, line_count, byte_count FROM snapshots
               WHERE repo_id = ?1 ORDER BY snapshot_id";
    state.snapshots = connection
        .prepare_cached(sql)?
        .query_map([repo.0], |row| {
            let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
            Ok(SnapshotInfo {
                id: SnapshotId(row.get(0)?),
                commit: rows::commit_id(row, 1)?,
                files: number(2)?,
                chunks: number(3)?,
                lines: number(4)?,
                bytes: number(5)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    state.evidence = evidence_info(connection, repo)?;
    state.past = past::past_info(connection, repo)?;
    Ok(state)
}

fn evidence_info(connection: &Connection, repo: RepoId) -> rusqlite::Result<Option<EvidenceInfo>> {
    connection
        .prepare_cached("SELECT number, made_of FROM evidence WHERE repo_id = ?1")?
        .query_row([repo.0], |row| Ok(EvidenceInfo { number: row.get(0)?, made_of: row.get(1)? }))
        .optional()
}

/// Which of these were read under these rules.
pub(super) fn held_blobs(
    connection: &Connection,
    rules: &str,
    keys: Vec<BlobKey>,
) -> rusqlite::Result<HashSet<BlobKey>> {
    let id: Option<i64> =
        connection.query_row("SELECT rules_id FROM rules WHERE text = ?1", [rules], |row| row.get(0)).optional()?;
    let Some(id) = id else { return Ok(HashSet::new()) };
    let mut find = connection.prepare_cached("SELECT 1 FROM blobs WHERE oid = ?1 AND hint = ?2 AND rules_id = ?3")?;
    let mut held = HashSet::new();
    for key in keys {
        if find.exists(rusqlite::params![key.blob.as_bytes(), &*key.hint, id])? {
            held.insert(key);
        }
    }
    Ok(held)
}

/// Makes chunks of uncommitted files ready.
struct OverlaySink;

impl ChunkSink for OverlaySink {
    fn claim(&self, _: &ChunkKey) -> bool {
        true
    }

    fn prepare(&self, chunk: &ChunkInput<'_>) -> PreparedChunk {
        prepare(chunk)
    }
}

impl CodeStore for EmbeddedStore {
    fn code_state(&self, repo: RepoId) -> Result<CodeState> {
        let none = CodeState { partial: true, ..CodeState::default() };
        Ok(self.read(|connection| code_state(connection, repo))?.unwrap_or(none))
    }

    fn summarise(&self, snapshot: SnapshotId) -> Result<SnapshotSummary> {
        summarise(self, snapshot)
    }

    fn overlay_sink(&self) -> Arc<dyn ChunkSink> {
        Arc::new(OverlaySink)
    }

    fn open_view(&self, parts: Vec<ViewPart>) -> Result<Arc<dyn CodeView>> {
        let (bases, overlays): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.base, part.overlay)).unzip();
        let mut tries = 0;
        let opened = loop {
            tries += 1;
            // One that is gone was replaced between reading its name and opening it, unless it is gone for good.
            match super::view::read_parts(self, &bases, tries == TRIES) {
                Err(StoreError::Absent(_)) if tries < TRIES => {}
                other => break other?,
            }
        };
        Ok(Arc::new(EmbeddedView::new(self.clone(), opened, overlays)?) as _)
    }

    fn held_blobs(&self, rules: &str, keys: Vec<BlobKey>) -> Result<HashSet<BlobKey>> {
        Ok(self.read(|connection| held_blobs(connection, rules, keys))?.unwrap_or_default())
    }

    fn past_commits(&self, repo: RepoId) -> Result<Option<(i64, Arc<Vec<LineCommit>>)>> {
        let opened = past::open(self, repo)?;
        Ok(opened.map(|(number, past)| (number, Arc::clone(&past.commits))))
    }

    fn path_versions(&self, repo: RepoId, past: i64, path: &RepoPath) -> Result<Vec<PathVersion>> {
        past::path_versions(self, repo, past, path)
    }

    fn evidence(&self, repo: RepoId) -> Result<Option<(i64, Vec<u8>)>> {
        let found = self.read(|connection| {
            connection
                .prepare_cached("SELECT number, packed FROM evidence WHERE repo_id = ?1")?
                .query_row([repo.0], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        });
        Ok(found?.flatten())
    }

    fn code_bytes(&self) -> Result<u64> {
        let sizes = self.read(|connection| {
            let segments: u64 = segment_rows(connection)?.iter().map(|row| row.bytes).sum();
            let records: i64 = connection.query_row(
                "SELECT (SELECT coalesce(sum(length(entries) + 80), 0) FROM blobs)
                      + (SELECT coalesce(sum(length(files) + length(left_out)), 0) FROM snapshots)
                      + (SELECT coalesce(sum(length(packed)), 0) FROM evidence)
                      + (SELECT coalesce(sum(length(commits) + length(paths)), 0) FROM pasts)",
                [],
                |row| row.get(0),
            )?;
            Ok(segments + records.unsigned_abs())
        });
        Ok(sizes?.unwrap_or(0))
    }

    fn check_code(&self, deep: bool) -> Result<Vec<String>> {
        let rows = self.read(segment_rows)?.unwrap_or_default();
        let mut wrong: Vec<String> = rows.iter().filter_map(|row| check_segment(self, &row.file, deep)).collect();
        wrong.extend(crate::vectors::check(self, deep)?);
        Ok(wrong)
    }
}

/// What is wrong with a segment, where something is.
fn check_segment(store: &EmbeddedStore, file: &str, deep: bool) -> Option<String> {
    let path = store.segments_dir().join(file);
    let open = || {
        let segment = open_segment(store, file)?;
        if deep { segment.verify().map_err(|error| segment_fault(&path, error)) } else { Ok(()) }
    };
    open().err().map(|error| match error {
        StoreError::Absent(_) => format!("{} is not there", path.display()),
        error => error.to_string(),
    })
}

fn summarise(store: &EmbeddedStore, snapshot: SnapshotId) -> Result<SnapshotSummary> {
    let absent = || StoreError::Absent(format!("snapshot {}", snapshot.0));
    let packed = store.read(|connection| {
        connection
            .prepare_cached("SELECT files, left_out FROM snapshots WHERE snapshot_id = ?1")?
            .query_row([snapshot.0], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?)))
            .optional()
    })?;
    let (files, left_out) = packed.flatten().ok_or_else(absent)?;
    let broken = |_| damaged(store, "a snapshot's list of files cannot be unpacked");
    let files = unpack_files(&files).map_err(broken)?;
    let mut left_out = unpack_left_out(&left_out).map_err(broken)?;
    let mut languages: std::collections::BTreeMap<Arc<str>, [u64; 3]> = std::collections::BTreeMap::new();
    store.read(|connection| {
        let mut find = connection.prepare_cached("SELECT lines, plain FROM blobs WHERE blob_id = ?1")?;
        for file in &files {
            let row = find.query_row([file.blob], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?)));
            let Some((lines, plain)) = row.optional()? else { continue };
            let counts = languages.entry(Arc::clone(&file.language)).or_default();
            let more = [1, lines.unsigned_abs(), file.chunks.len() as u64];
            counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
            left_out.extend(plain.map(|reason| LeftOut { reason, path: file.path.clone() }));
        }
        Ok(())
    })?;
    left_out.sort_unstable();
    let mut languages: Vec<_> = languages.into_iter().map(|(name, counts)| (name.to_string(), counts)).collect();
    languages.sort_by_key(|(_, counts)| std::cmp::Reverse(counts[1]));
    Ok(SnapshotSummary { languages, left_out })
}
