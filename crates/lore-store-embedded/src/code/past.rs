//! The past of a repository: versions of paths between commits of the first-parent line, and the chunks of each.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::{Arc, PoisonError},
};

use lore_model::{BlobId, CommitId, LineCommit, RepoId, RepoPath};
use lore_store::{
    ChunkId, NewPast, NewVersion, PastInfo, PastSlice, PathVersion, Result, StoreError, Touch, TouchFilter,
};
use rusqlite::{Connection, OptionalExtension, Transaction, params, types::Value};

use super::{
    damaged,
    pack::{Damaged, In, Out, compress, decompress, unpack_entries},
};
use crate::{EmbeddedStore, rows, sums};

/// A version that no commit has ended.
const OPEN: u32 = u32::MAX;

/// Pasts that are kept unpacked.
const MAX_OPEN: usize = 4;

/// What content has no text.
const BINARY: &str = "binary";

/// A version of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub(super) blob: i64,
    pub(super) language: Arc<str>,
    from: u32,
    to: u32,
}

/// A chunk, and the versions of a path that have it: all from the first to the last, without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    chunk: ChunkId,
    first: u32,
    last: u32,
}

/// All that stood at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PastPath {
    pub(super) path: RepoPath,
    pub(super) versions: Vec<Version>,
    runs: Vec<Run>,
}

/// The past of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Past {
    pub(super) commits: Arc<Vec<LineCommit>>,
    /// In order of paths.
    pub(super) paths: Vec<PastPath>,
}

impl Past {
    /// The commits whose trees have a version.
    pub(super) fn span(&self, version: &Version) -> Range<u32> {
        version.from..version.to.min(u32::try_from(self.commits.len()).unwrap_or(OPEN))
    }

    /// Forgets everything from the commit with this number on.
    fn keep(&mut self, commits: u32) {
        Arc::make_mut(&mut self.commits).truncate(commits as usize);
        self.paths.retain_mut(|path| {
            path.versions.retain(|version| version.from < commits);
            for version in path.versions.iter_mut().filter(|version| version.to >= commits) {
                version.to = OPEN;
            }
            let count = u32::try_from(path.versions.len()).unwrap_or(OPEN);
            path.runs.retain(|run| run.first < count);
            path.runs.iter_mut().for_each(|run| run.last = run.last.min(count.saturating_sub(1)));
            count > 0
        });
    }

    /// Every blob and every chunk that is named.
    pub(super) fn name_all(&self, blobs: &mut HashSet<i64>, chunks: &mut HashSet<ChunkId>) {
        for path in &self.paths {
            blobs.extend(path.versions.iter().map(|version| version.blob));
            chunks.extend(path.runs.iter().map(|run| run.chunk));
        }
    }
}

impl PastPath {
    /// Whether the newest commit has it.
    pub(super) fn is_there(&self) -> bool {
        self.versions.last().is_some_and(|version| version.to == OPEN)
    }

    /// Ends what stands there, and lets something else stand there.
    fn change(&mut self, commit: u32, content: Option<(i64, Arc<str>, Vec<ChunkId>)>) {
        let before = self.versions.last().map(|version| version.to);
        if let Some(version) = self.versions.last_mut().filter(|version| version.to == OPEN) {
            version.to = commit;
        }
        let Some((blob, language, chunks)) = content else { return };
        let number = u32::try_from(self.versions.len()).unwrap_or(OPEN);
        self.versions.push(Version { blob, language, from: commit, to: OPEN });
        let mut fresh: HashSet<ChunkId> = chunks.into_iter().collect();
        // What was not there in between came anew.
        if before == Some(OPEN) {
            for run in self.runs.iter_mut().filter(|run| run.last + 1 == number) {
                if fresh.remove(&run.chunk) {
                    run.last = number;
                }
            }
        }
        let mut fresh: Vec<ChunkId> = fresh.into_iter().collect();
        fresh.sort_unstable();
        self.runs.extend(fresh.into_iter().map(|chunk| Run { chunk, first: number, last: number }));
    }

    /// The ranges of commits in which a chunk stands here.
    pub(super) fn standing(&self, past: &Past, chunk: ChunkId) -> Vec<Range<u32>> {
        let of_chunk = self.runs.iter().filter(|run| run.chunk == chunk);
        let span = |run: &Run| {
            let (first, last) = (self.versions.get(run.first as usize)?, self.versions.get(run.last as usize)?);
            Some(first.from..past.span(last).end)
        };
        let mut spans: Vec<Range<u32>> = of_chunk.filter_map(span).collect();
        spans.sort_unstable_by_key(|span| span.start);
        spans
    }

    /// The chunks that a slice shows here, with the numbers of the versions that they are shown in; in that order.
    pub(super) fn shown(&self, past: &Past, slice: &PastSlice) -> Vec<(u32, ChunkId)> {
        if !slice.removed && !self.is_there() {
            return Vec::new();
        }
        if let ([moment], false, None) = (&*slice.commits, slice.gone, &slice.touched)
            && moment.len() == 1
        {
            return self.shown_at(past, moment.start);
        }
        let counts: Vec<bool> = self
            .versions
            .iter()
            .map(|version| {
                let span = past.span(version);
                let near = slice.commits.partition_point(|range| range.end <= span.start);
                slice.commits.get(near).is_some_and(|range| range.start < span.end)
            })
            .collect();
        if !counts.contains(&true) {
            return Vec::new();
        }
        let newest = self.is_there().then(|| self.versions.len() - 1);
        let mut shown: HashMap<ChunkId, u32> = HashMap::new();
        let here: HashSet<ChunkId> = if slice.gone {
            self.runs.iter().filter(|run| Some(run.last as usize) == newest).map(|run| run.chunk).collect()
        } else {
            HashSet::new()
        };
        for run in &self.runs {
            let (first, last) = (run.first as usize, (run.last as usize).min(counts.len().saturating_sub(1)));
            let Some(version) = (first..=last).rev().find(|version| counts[*version]) else { continue };
            if here.contains(&run.chunk) || slice.touched.as_ref().is_some_and(|wanted| !self.is_touched(run, wanted)) {
                continue;
            }
            let version = u32::try_from(version).unwrap_or(OPEN);
            let known = shown.entry(run.chunk).or_insert(version);
            *known = version.max(*known);
        }
        let mut shown: Vec<(u32, ChunkId)> = shown.into_iter().map(|(chunk, version)| (version, chunk)).collect();
        shown.sort_unstable();
        shown
    }

    /// The same for all that one commit has: most paths have one version there, and many have none.
    fn shown_at(&self, past: &Past, commit: u32) -> Vec<(u32, ChunkId)> {
        let after = self.versions.partition_point(|version| version.from <= commit);
        let version = after.checked_sub(1).filter(|version| past.span(&self.versions[*version]).contains(&commit));
        let Some(version) = version.and_then(|version| u32::try_from(version).ok()) else { return Vec::new() };
        let has_it = |run: &&Run| (run.first..=run.last).contains(&version);
        let mut shown: Vec<(u32, ChunkId)> = self.runs.iter().filter(has_it).map(|run| (version, run.chunk)).collect();
        shown.sort_unstable();
        shown.dedup();
        shown
    }

    /// Whether something happened to a chunk that counts.
    fn is_touched(&self, run: &Run, wanted: &TouchFilter) -> bool {
        let version = |at: u32| self.versions.get(at as usize);
        let came = version(run.first).is_some_and(|first| {
            let before = run.first.checked_sub(1).and_then(version).is_some_and(|before| before.to == first.from);
            wanted(first.from, &self.path, if before { Touch::Modified } else { Touch::Added })
        });
        let left = || {
            version(run.last).filter(|last| last.to != OPEN).is_some_and(|last| {
                let after = version(run.last + 1).is_some_and(|after| after.from == last.to);
                wanted(last.to, &self.path, if after { Touch::Modified } else { Touch::Deleted })
            })
        };
        came || left()
    }
}

fn pack_commits(commits: &[LineCommit]) -> Vec<u8> {
    let mut out = Out::default();
    out.number(commits.len() as u64);
    let mut at = 0;
    for commit in commits {
        out.bytes(commit.id.as_bytes());
        out.step(at, commit.at);
        at = commit.at;
    }
    compress(&out.0)
}

fn unpack_commits(packed: &[u8]) -> Result<Vec<LineCommit>, Damaged> {
    let raw = decompress(packed)?;
    let mut input = In(&raw);
    let count = input.small()? as usize;
    let (mut commits, mut at) = (input.room(count, 22), 0);
    for _ in 0..count {
        let id = CommitId::from_bytes(input.bytes()?).ok_or(Damaged)?;
        at = input.step(at)?;
        commits.push(LineCommit { id, at });
    }
    Ok(commits)
}

fn pack_paths(paths: &[PastPath]) -> Vec<u8> {
    let mut out = Out::default();
    let numbers = out.languages(paths.iter().flat_map(|path| &path.versions).map(|version| &*version.language));
    out.number(paths.len() as u64);
    let (mut before, mut blob, mut chunk): (&[u8], i64, i64) = (b"", 0, 0);
    for path in paths {
        out.path(before, path.path.as_bytes());
        before = path.path.as_bytes();
        out.number(path.versions.len() as u64);
        let (mut from, mut runs) = (0, path.runs.clone());
        runs.sort_unstable_by_key(|run| (run.first, run.chunk));
        let mut runs = runs.into_iter().peekable();
        for (number, version) in (0_u32..).zip(&path.versions) {
            out.step(blob, version.blob);
            blob = version.blob;
            out.number(numbers[&*version.language]);
            out.step(from, i64::from(version.from));
            from = i64::from(version.from);
            out.number(if version.to == OPEN { 0 } else { u64::from(version.to.saturating_sub(version.from)) + 1 });
            let mut fresh = Vec::new();
            while let Some(run) = runs.next_if(|run| run.first == number) {
                fresh.push(run);
            }
            out.number(fresh.len() as u64);
            for run in fresh {
                out.step(chunk, i64::from(run.chunk));
                chunk = i64::from(run.chunk);
                out.number(u64::from(run.last - run.first));
            }
        }
    }
    compress(&out.0)
}

fn unpack_paths(packed: &[u8]) -> Result<Vec<PastPath>, Damaged> {
    let raw = decompress(packed)?;
    let mut input = In(&raw);
    let languages = input.languages()?;
    let count = input.small()? as usize;
    let mut paths = input.room(count, 3);
    let (mut path, mut blob, mut chunk) = (Vec::new(), 0, 0);
    for _ in 0..count {
        input.path(&mut path)?;
        let length = input.small()?;
        let (mut versions, mut runs, mut from) = (Vec::new(), Vec::new(), 0);
        for number in 0..length {
            blob = input.step(blob)?;
            let language = languages.get(input.small()? as usize).ok_or(Damaged)?.clone();
            from = input.step(from)?;
            let begin = u32::try_from(from).map_err(|_| Damaged)?;
            let to = match input.small()? {
                0 => OPEN,
                length => begin.checked_add(length - 1).ok_or(Damaged)?,
            };
            versions.push(Version { blob, language, from: begin, to });
            for _ in 0..input.small()? {
                chunk = input.step(chunk)?;
                let last = number.checked_add(input.small()?).filter(|last| *last < length).ok_or(Damaged)?;
                runs.push(Run { chunk: u32::try_from(chunk).map_err(|_| Damaged)?, first: number, last });
            }
        }
        paths.push(PastPath { path: RepoPath::new(path.as_slice()), versions, runs });
    }
    Ok(paths)
}

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

fn unpacked(commits: &[u8], paths: &[u8]) -> Result<Past, Damaged> {
    if paths.is_empty() {
        return Ok(Past::default());
    }
    Ok(Past { commits: Arc::new(unpack_commits(commits)?), paths: unpack_paths(paths)? })
}

/// Every past that is kept.
pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<Past>> {
    connection
        .prepare("SELECT commits, paths FROM pasts")?
        .query_map([], |row| {
            unpacked(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?).map_err(rows::damaged(1))
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
    let past = unpacked(&commits, &paths).map_err(|_| damaged(store, "the past of a repository cannot be unpacked"))?;
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
            unpacked(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?).map_err(rows::damaged(1))
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
        pack_commits(&past.commits),
        pack_paths(&past.paths),
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
        let path = known.entry(change.path).or_insert_with_key(|path| PastPath {
            path: path.clone(),
            versions: Vec::new(),
            runs: Vec::new(),
        });
        path.change(change.commit, content);
    }
    past.paths = known.into_values().filter(|path| !path.versions.is_empty()).collect();
    past.paths.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(complete)
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// What a commit does to paths: the chunks of what each holds from then on, or nothing.
    type Changes = Vec<(u8, Option<Vec<ChunkId>>)>;

    /// What happens to paths: at each commit, some get other contents, made of a few chunks.
    fn happenings() -> impl Strategy<Value = Vec<Changes>> {
        let content = proptest::option::weighted(0.8, vec(0..9_u32, 0..5));
        vec(vec((0..4_u8, content), 0..4), 1..12)
    }

    /// The past that these make, from the commit with this number on.
    fn grow(past: &mut Past, commits: &[Changes], from: u32) {
        for (number, changes) in (from..).zip(commits) {
            let id = CommitId::from_bytes(&[number.to_le_bytes()[0]; 20]).expect("20 bytes");
            Arc::make_mut(&mut past.commits).push(LineCommit { id, at: i64::from(number) });
            let changes: HashMap<u8, Option<Vec<ChunkId>>> = changes.iter().cloned().collect();
            for (path, content) in changes {
                let path = RepoPath::new([b'a' + path]);
                let at = match past.paths.binary_search_by(|known| known.path.cmp(&path)) {
                    Ok(at) => at,
                    Err(at) => {
                        past.paths.insert(at, PastPath { path, versions: Vec::new(), runs: Vec::new() });
                        at
                    }
                };
                past.paths[at].change(number, content.map(|chunks| (i64::from(number), "rust".into(), chunks)));
            }
            past.paths.retain(|path| !path.versions.is_empty());
        }
    }

    /// The chunks of each path after each commit, without any cleverness.
    fn trees(commits: &[Changes]) -> Vec<HashMap<u8, HashSet<ChunkId>>> {
        let mut now: HashMap<u8, HashSet<ChunkId>> = HashMap::new();
        let mut trees = Vec::new();
        for changes in commits {
            let changes: HashMap<u8, Option<Vec<ChunkId>>> = changes.iter().cloned().collect();
            for (path, content) in changes {
                match content {
                    Some(chunks) => drop(now.insert(path, chunks.into_iter().collect())),
                    None => drop(now.remove(&path)),
                }
            }
            trees.push(now.clone());
        }
        trees
    }

    proptest! {
        #[test]
        fn every_commit_shows_its_tree_and_every_time_what_was_there(commits in happenings(), from in 0..12_u32, more in 1..12_u32) {
            let mut past = Past::default();
            grow(&mut past, &commits, 0);
            let trees = trees(&commits);
            let shown = |slice: &PastSlice| -> HashMap<u8, HashSet<ChunkId>> {
                let of = |path: &PastPath| {
                    let chunks: HashSet<ChunkId> = path.shown(&past, slice).into_iter().map(|(_, chunk)| chunk).collect();
                    (path.path.as_bytes()[0] - b'a', chunks)
                };
                past.paths.iter().map(of).filter(|(_, chunks)| !chunks.is_empty()).collect()
            };
            let some = |tree: HashMap<u8, HashSet<ChunkId>>| -> HashMap<u8, HashSet<ChunkId>> {
                tree.into_iter().filter(|(_, chunks)| !chunks.is_empty()).collect()
            };
            for (number, tree) in (0_u32..).zip(&trees) {
                let commits = std::iter::once(number..number + 1).collect();
                let slice = PastSlice { commits, removed: true, ..PastSlice::default() };
                prop_assert_eq!(shown(&slice), some(tree.clone()));
            }
            let to = from.saturating_add(more);
            let mut union: HashMap<u8, HashSet<ChunkId>> = HashMap::new();
            for tree in trees.iter().skip(from as usize).take(more as usize) {
                for (path, chunks) in tree {
                    union.entry(*path).or_default().extend(chunks);
                }
            }
            let slice = PastSlice { commits: std::iter::once(from..to).collect(), removed: true, ..PastSlice::default() };
            prop_assert_eq!(shown(&slice), some(union));
        }

        #[test]
        fn what_is_cut_and_grown_again_is_what_grew_at_once(commits in happenings(), cut in 0..12_u32) {
            let mut whole = Past::default();
            grow(&mut whole, &commits, 0);
            let mut other = whole.clone();
            let cut = cut.min(u32::try_from(commits.len()).unwrap());
            other.keep(cut);
            grow(&mut other, &commits[cut as usize..], cut);
            let sorted = |mut past: Past| {
                past.paths.iter_mut().for_each(|path| path.runs.sort_unstable_by_key(|run| (run.first, run.chunk)));
                past
            };
            let (whole, other) = (sorted(whole), sorted(other));
            prop_assert_eq!(&whole, &other);
            let packed = unpacked(&pack_commits(&whole.commits), &pack_paths(&whole.paths)).unwrap();
            prop_assert_eq!(sorted(packed), whole);
        }

        #[test]
        fn damage_is_an_error_not_a_fault(bytes in vec(any::<u8>(), 0..200)) {
            let packed = compress(&bytes);
            drop(unpack_commits(&packed));
            drop(unpack_paths(&packed));
            drop(unpack_paths(&bytes));
        }
    }
}
