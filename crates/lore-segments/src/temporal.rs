//! The temporal index of a repository in memory: versions of paths between commits of the first-parent line, and the chunks of
//! each. The backend stores it as two packed lists.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use lore_model::{CommitId, LineCommit, RepoPath};
use lore_store::{ChunkId, PastSlice, Touch, TouchFilter};

use crate::pack::{Damaged, In, Out, compress, decompress};

/// A version that no commit has ended.
const OPEN: u32 = u32::MAX;

/// A version of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The row of its content.
    pub blob: i64,
    /// Its language.
    pub language: Arc<str>,
    from: u32,
    to: u32,
}

/// A chunk, and the versions of a path that have it: all from the first to the last, without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    chunk: ChunkId,
    first: u32,
    last: u32,
}

/// All that stood at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastPath {
    /// The path.
    pub path: RepoPath,
    /// Its versions, the oldest first.
    pub versions: Vec<Version>,
    runs: Vec<Run>,
}

/// The past of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Past {
    /// The first-parent line, the oldest commit first.
    pub commits: Arc<Vec<LineCommit>>,
    /// In order of paths.
    pub paths: Vec<PastPath>,
}

impl Past {
    /// The commits whose trees have a version.
    pub fn span(&self, version: &Version) -> Range<u32> {
        version.from..version.to.min(u32::try_from(self.commits.len()).unwrap_or(OPEN))
    }

    /// Forgets everything from the commit with this number on.
    pub fn keep(&mut self, commits: u32) {
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
    pub fn name_all(&self, blobs: &mut HashSet<i64>, chunks: &mut HashSet<ChunkId>) {
        for path in &self.paths {
            blobs.extend(path.versions.iter().map(|version| version.blob));
            chunks.extend(path.runs.iter().map(|run| run.chunk));
        }
    }
}

impl PastPath {
    /// A path without versions.
    pub fn new(path: RepoPath) -> Self {
        Self { path, versions: Vec::new(), runs: Vec::new() }
    }

    /// Whether the newest commit has it.
    pub fn is_there(&self) -> bool {
        self.versions.last().is_some_and(|version| version.to == OPEN)
    }

    /// Ends what stands there, and lets something else stand there.
    pub fn change(&mut self, commit: u32, content: Option<(i64, Arc<str>, Vec<ChunkId>)>) {
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
    pub fn standing(&self, past: &Past, chunk: ChunkId) -> Vec<Range<u32>> {
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
    pub fn shown(&self, past: &Past, slice: &PastSlice) -> Vec<(u32, ChunkId)> {
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

impl Past {
    /// Reads what [`Past::pack`] wrote.
    pub fn unpack(commits: &[u8], paths: &[u8]) -> Result<Self, Damaged> {
        if paths.is_empty() {
            return Ok(Self::default());
        }
        Ok(Self { commits: Arc::new(unpack_commits(commits)?), paths: unpack_paths(paths)? })
    }

    /// The packed lists of commits and of paths.
    pub fn pack(&self) -> (Vec<u8>, Vec<u8>) {
        (pack_commits(&self.commits), pack_paths(&self.paths))
    }
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
                        past.paths.insert(at, PastPath::new(path));
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
            let packed = Past::unpack(&pack_commits(&whole.commits), &pack_paths(&whole.paths)).unwrap();
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
