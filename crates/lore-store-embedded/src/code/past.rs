//! The past of a repository: versions of paths between commits of the first-parent line, and the chunks of each.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, PoisonError},
};

use lore_model::{BlobId, CommitId, RepoId, RepoPath};
use lore_segments::{Past, PastPath, Version, unpack_entries};
use lore_store::{ChunkId, NewPast, NewVersion, PastInfo, PathVersion, Result, StoreError};
use rusqlite::{Connection, OptionalExtension, Transaction, params, types::Value};

use super::damaged;
use crate::{EmbeddedStore, rows, sums};

/// Pasts that are kept unpacked.
const MAX_OPEN: usize = 4;

/// What content has no text.
const BINARY: &str = "binary";

/// What is known of a past without unpacking it.
pub(super) fn past_info(connection: &Connection, repo: RepoId) -> rusqlite::Result<Option<PastInfo>> {
    let sql = "SELECT number, synced_at, coalesce(text, ''), scope, tip, commit_count, version_count, chunk_count,
                      length(commits) + length(paths), complete
               FROM pasts LEFT JOIN rules USING (rules_id) WHERE repo_id = ?1";
    connection
        .prepare_cached(sql)?
        .query_row([repo.0], |row| {
            let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
            let tip: Option<String> = row.get(4)?;
            let tip = tip.map(|tip| CommitId::from_hex(tip.as_bytes()).map_err(rows::damaged(4))).transpose()?;
            Ok(PastInfo {
                number: row.get(0)?,
                at: row.get(1)?,
                rules: row.get(2)?,
                scope: row.get(3)?,
                tip,
                commits: number(5)?,
                versions: number(6)?,
                chunks: number(7)?,
                bytes: number(8)?,
                complete: row.get(9)?,
            })
        })
        .optional()
}

/// Every past that is kept.
pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<Past>> {
    connection
        .prepare("SELECT commits, paths FROM pasts")?
        .query_map([], |row| {
            Past::unpack(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?).map_err(rows::damaged(1))
        })?
        .collect()
}

/// The past with this number, where it is at hand: it may have been replaced since.
fn known(store: &EmbeddedStore, number: i64) -> Option<Arc<Past>> {
    let open = store.open_pasts().lock().unwrap_or_else(PoisonError::into_inner);
    open.iter().find(|(known, _)| *known == number).map(|(_, past)| Arc::clone(past))
}

/// The past of a repository with its number, unpacked once; `None` where there is none.
pub(super) fn open(store: &EmbeddedStore, repo: RepoId) -> Result<Option<(i64, Arc<Past>)>> {
    let number = store.read(|connection| {
        let sql = "SELECT number FROM pasts WHERE repo_id = ?1 AND rules_id IS NOT NULL";
        connection.prepare_cached(sql)?.query_row([repo.0], |row| row.get::<_, i64>(0)).optional()
    })?;
    let Some(number) = number.flatten() else { return Ok(None) };
    if let Some(past) = known(store, number) {
        return Ok(Some((number, past)));
    }
    let packed = store.read(|connection| {
        connection
            .prepare_cached("SELECT commits, paths FROM pasts WHERE number = ?1")?
            .query_row([number], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?)))
            .optional()
    })?;
    let Some((commits, paths)) = packed.flatten() else { return Err(absent(number)) };
    let past =
        Past::unpack(&commits, &paths).map_err(|_| damaged(store, "the past of a repository cannot be unpacked"))?;
    let past = Arc::new(past);
    let mut open = store.open_pasts().lock().unwrap_or_else(PoisonError::into_inner);
    if open.len() >= MAX_OPEN {
        open.remove(0);
    }
    open.push((number, Arc::clone(&past)));
    Ok(Some((number, past)))
}

/// The past with this number.
pub(super) fn open_numbered(store: &EmbeddedStore, repo: RepoId, number: i64) -> Result<Arc<Past>> {
    match open(store, repo)? {
        Some((found, past)) if found == number => Ok(past),
        _ => Err(absent(number)),
    }
}

fn absent(number: i64) -> StoreError {
    StoreError::Absent(format!("past {number}"))
}

/// What stood at a path, by the past with this number.
pub(super) fn path_versions(
    store: &EmbeddedStore,
    repo: RepoId,
    number: i64,
    path: &RepoPath,
) -> Result<Vec<PathVersion>> {
    let past = match known(store, number) {
        Some(past) => past,
        None => open_numbered(store, repo, number)?,
    };
    let Ok(at) = past.paths.binary_search_by(|known| known.path.cmp(path)) else { return Ok(Vec::new()) };
    let versions = &past.paths[at].versions;
    let read = store.read(|connection| {
        let mut find = connection.prepare_cached("SELECT oid FROM blobs WHERE blob_id = ?1")?;
        let find = |version: &Version| find.query_row([version.blob], |row| row.get::<_, Vec<u8>>(0)).optional();
        versions.iter().map(find).collect::<rusqlite::Result<Vec<_>>>()
    })?;
    let read = read.unwrap_or_default();
    let versions = versions.iter().zip(read).map(|(version, oid)| {
        let blob = oid.as_deref().and_then(BlobId::from_bytes);
        let blob = blob.ok_or_else(|| StoreError::Absent(format!("content {}", version.blob)))?;
        Ok(PathVersion { commits: past.span(version), blob, binary: &*version.language == BINARY })
    });
    versions.collect()
}

/// Notes that the past of a repository is wanted, or forgets it.
pub(crate) fn want(transaction: &Transaction<'_>, repo: RepoId, wanted: bool) -> rusqlite::Result<()> {
    if wanted {
        transaction.execute(
            "INSERT INTO pasts (repo_id, scope, commit_count, version_count, chunk_count, complete, commits, paths)
             VALUES (?1, '', 0, 0, 0, 0, x'', x'') ON CONFLICT (repo_id) DO NOTHING",
            [repo.0],
        )?;
    } else {
        transaction.execute("DELETE FROM pasts WHERE repo_id = ?1", [repo.0])?;
    }
    Ok(())
}

/// Keeps a past in the place of what is there.
pub(super) fn put(transaction: &Transaction<'_>, repo: RepoId, rules: i64, new: NewPast) -> rusqlite::Result<()> {
    let before = transaction
        .prepare_cached("SELECT commits, paths FROM pasts WHERE repo_id = ?1 AND rules_id = ?2")?
        .query_row(params![repo.0, rules], |row| {
            Past::unpack(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?).map_err(rows::damaged(1))
        })
        .optional()?;
    let had = before.is_some() && new.keep > 0;
    let was_complete: bool =
        had && transaction.query_row("SELECT complete FROM pasts WHERE repo_id = ?1", [repo.0], |row| row.get(0))?;
    let mut past = before.filter(|_| had).unwrap_or_default();
    past.keep(new.keep);
    Arc::make_mut(&mut past.commits).extend(new.commits);
    let complete = apply(transaction, rules, &mut past, new.changes)? && (was_complete || !had);
    let (mut blobs, mut chunks) = (HashSet::new(), HashSet::new());
    past.name_all(&mut blobs, &mut chunks);
    let versions: usize = past.paths.iter().map(|path| path.versions.len()).sum();
    let (commits, paths) = past.pack();
    let tip = past.commits.last().map(|commit| commit.id.to_hex());
    // A new row, so that it has a new number.
    transaction.execute("DELETE FROM pasts WHERE repo_id = ?1", [repo.0])?;
    let values = params![
        repo.0,
        rules,
        new.scope,
        new.at,
        tip,
        rows::count(past.commits.len()),
        rows::count(versions),
        rows::count(chunks.len()),
        complete,
        commits,
        paths,
    ];
    let sum = Value::Integer(sums::of(values)?);
    transaction.execute(
        "INSERT INTO pasts (repo_id, rules_id, scope, synced_at, tip, commit_count, version_count, chunk_count, complete, commits, paths, sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        &*sums::with_sum(values, &sum),
    )?;
    Ok(())
}

/// Lets what happened happen, and tells whether all content is there.
fn apply(
    transaction: &Transaction<'_>,
    rules: i64,
    past: &mut Past,
    mut changes: Vec<NewVersion>,
) -> rusqlite::Result<bool> {
    let mut find = transaction.prepare_cached(
        "SELECT blob_id, language, entries FROM blobs WHERE oid = ?1 AND hint = ?2 AND rules_id = ?3",
    )?;
    let mut languages: HashMap<String, Arc<str>> = HashMap::new();
    let mut complete = true;
    changes.sort_by(|a, b| (&a.path, a.commit).cmp(&(&b.path, b.commit)));
    let mut known: HashMap<RepoPath, PastPath> =
        std::mem::take(&mut past.paths).into_iter().map(|path| (path.path.clone(), path)).collect();
    for change in changes {
        let content = match &change.key {
            None => None,
            Some(key) => {
                let row = find.query_row(params![key.blob.as_bytes(), key.hint, rules], |row| {
                    let entries = unpack_entries(row.get_ref(2)?.as_blob()?).map_err(rows::damaged(2))?;
                    let chunks: Vec<ChunkId> = entries.iter().map(|entry| entry.chunk).collect();
                    Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, chunks))
                });
                let found = row.optional()?;
                complete &= found.is_some();
                found.map(|(blob, language, chunks)| {
                    let language = languages.entry(language).or_insert_with_key(|name| name.as_str().into());
                    (blob, Arc::clone(language), chunks)
                })
            }
        };
        let path = known.entry(change.path).or_insert_with_key(|path| PastPath::new(path.clone()));
        path.change(change.commit, content);
    }
    past.paths = known.into_values().filter(|path| !path.versions.is_empty()).collect();
    past.paths.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(complete)
}
