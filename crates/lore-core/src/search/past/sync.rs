//! Keeps the past of a repository: every version of every file along the first-parent line, each content read once.

use std::{
    collections::{HashMap, HashSet},
    num::NonZero,
    sync::Arc,
};

use lore_git::{Reader, Repository, TreeLimits};
use lore_model::{CommitId, Failure, LineCommit, Repo, RepoPath};
use lore_store::{BlobKey, NewPast, NewVersion, PastInfo};

use crate::{
    git_failure,
    search::{CodeEvent, CodeIndex, CodeTask, IndexReader, index::clean_up, reading::rules},
    store_failure,
};

/// What a sync of the past did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PastReport {
    /// Contents that were read.
    pub read: u64,
    /// Commits of the line.
    pub commits: u64,
    /// Versions of files.
    pub versions: u64,
    /// Different chunks of them.
    pub chunks: u64,
    /// Versions whose content could not be read.
    pub lost: u64,
}

/// What happened since what is kept.
struct Plan {
    keep: u32,
    commits: Vec<LineCommit>,
    changes: Vec<NewVersion>,
    /// Each content once, with a path that it has.
    contents: Vec<(BlobKey, RepoPath)>,
    scope: String,
}

impl IndexReader {
    /// Whether what is kept of a repository's past is as new as the repository; also where none is wanted.
    pub(crate) fn has_past(&self, repo: &Repo) -> bool {
        let Ok(state) = self.store.code_state(repo.id) else { return true };
        let Some(past) = state.past else { return true };
        let Some(tips) = self.tips(repo, &repo.info.local_path) else { return true };
        let head = tips.head.or_else(|| tips.indexed.first().map(|tip| tip.commit));
        past.at.is_some() && past.rules == rules(&*self.embedder) && (head.is_none() || past.tip == head)
    }
}

impl CodeIndex {
    /// Brings what is kept of a repository's past up to date, where that is wanted or was before.
    pub(crate) fn sync_past(
        &self,
        repo: &Repo,
        reader: &Reader,
        wanted: Option<bool>,
        task: &CodeTask<'_>,
    ) -> Result<Option<PastReport>, Failure> {
        let CodeTask { writer, cancel, progress, .. } = *task;
        let kept = self.reader.store.code_state(repo.id).map_err(store_failure)?.past;
        if let Some(wanted) = wanted.filter(|wanted| *wanted != kept.is_some()) {
            writer.want_past(repo.id, wanted).map_err(store_failure)?;
        }
        if !wanted.unwrap_or(kept.is_some()) {
            return Ok(None);
        }
        let rules = rules(&*self.reader.embedder);
        let (_, globs) = self.reader.scope(repo);
        let (info, repository) = (repo.info.clone(), reader.repository().clone());
        let usable = kept.filter(|past| past.at.is_some() && past.rules == rules);
        // What a partial clone lacked may be there now.
        let usable = usable.filter(|past| past.complete || !task.retry_missing);
        let known = match &usable {
            Some(_) => self.reader.store.past_commits(repo.id).map_err(store_failure)?,
            None => None,
        };
        let known = known.map(|(_, commits)| commits).unwrap_or_default();
        let jobs = task.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, NonZero::get), NonZero::get);
        let planned = || {
            let refs = repository.refs(&info.branches, info.default_branch.as_deref())?;
            let Some(tip) = refs.head.or_else(|| refs.tips.first().map(|tip| tip.commit)) else { return Ok(None) };
            plan(&repository, reader, tip, &globs, usable.as_ref(), &known, jobs).map(Some)
        };
        let Some(plan) = planned().map_err(git_failure)? else { return Ok(Some(PastReport::default())) };
        let is_same = |past: &PastInfo| {
            past.scope == plan.scope && plan.commits.is_empty() && u64::from(plan.keep) == past.commits
        };
        if let Some(past) = usable.as_ref().filter(|past| is_same(past)) {
            return Ok(Some(report(past, 0, 0)));
        }
        cancel.check()?;
        let Plan { keep, commits, changes, mut contents, scope } = plan;
        let keys = contents.iter().map(|(key, _)| key.clone()).collect();
        let held = writer.known_blobs(&rules, keys).map_err(store_failure)?;
        contents.retain(|(key, _)| !held.contains(key));
        progress(CodeEvent::Started(contents.len() as u64));
        let read = contents.len() as u64;
        let lost = self.read_all(repo, task, &open_repository(repo)?, contents, None)?.lost;
        let is_lost = |change: &&NewVersion| change.key.as_ref().is_some_and(|key| lost.contains_key(&key.blob));
        let lost = changes.iter().filter(is_lost).count() as u64;
        let past = NewPast { at: self.clock.now(), rules, scope, keep, commits, changes };
        let past = writer.put_past(repo.id, past).map_err(store_failure)?;
        clean_up(writer);
        Ok(Some(report(&past, read, lost)))
    }
}

fn open_repository(repo: &Repo) -> Result<Repository, Failure> {
    Repository::open(&repo.info.local_path).map_err(git_failure)
}

fn report(past: &PastInfo, read: u64, lost: u64) -> PastReport {
    PastReport { read, commits: past.commits, versions: past.versions, chunks: past.chunks, lost }
}

/// Compares the line with what is kept of it, and lists what the commits did that are new.
fn plan(
    repository: &Repository,
    reader: &Reader,
    tip: CommitId,
    globs: &[String],
    kept: Option<&PastInfo>,
    known: &[LineCommit],
    jobs: usize,
) -> lore_git::Result<Plan> {
    let tree = repository.tree_of(tip, &TreeLimits::default())?;
    let ignores = repository.tree_ignores(&tree, globs)?;
    // What is left out now is left out of the past as well: whoever leaves something out does not want it found.
    let rules_of_tree = tree.files.iter().filter(|file| file.path.as_bytes().ends_with(b".loreignore"));
    let rules_of_tree: Vec<String> = rules_of_tree.map(|file| format!("{} {}", file.path, file.blob)).collect();
    let scope = format!("{globs:?} {rules_of_tree:?}");
    let line = reader.first_parents(tip)?;
    let known = if kept.is_some_and(|past| past.scope == scope) { known } else { &[] };
    let keep = known.iter().zip(&line).take_while(|(a, b)| a.id == b.id).count();
    let before = keep.checked_sub(1).map(|at| line[at].id);
    let fresh = &line[keep..];
    let first = u32::try_from(keep).unwrap_or(u32::MAX);
    let mut hints: HashMap<String, Arc<str>> = HashMap::new();
    let mut changes = Vec::new();
    for change in reader.path_changes(before, fresh, jobs)? {
        if ignores.excludes(&change.path).is_some() {
            continue;
        }
        let key = change.content.map(|blob| {
            let hint = lore_chunk::Language::hint(&change.path.to_text());
            let hint = hints.entry(hint).or_insert_with_key(|hint| hint.as_str().into()).clone();
            BlobKey { blob, hint }
        });
        changes.push(NewVersion { commit: first + change.commit, path: change.path, key });
    }
    // Versions of a file are stored as what differs from a newer one, so the newest is read first.
    changes.sort_by(|a, b| a.path.cmp(&b.path).then(b.commit.cmp(&a.commit)));
    let mut seen: HashSet<&BlobKey> = HashSet::new();
    let contents: Vec<(BlobKey, RepoPath)> = changes
        .iter()
        .filter_map(|change| Some((change.key.as_ref()?, &change.path)))
        .filter(|(key, _)| seen.insert(key))
        .map(|(key, path)| (key.clone(), path.clone()))
        .collect();
    Ok(Plan { keep: first, commits: fresh.to_vec(), changes, contents, scope })
}
