//! Brings the index of a repository's code up to date: every file of every indexed tip, each content once.

use std::{
    collections::{HashMap, HashSet},
    num::NonZero,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{self, SyncSender},
    },
    thread,
    time::{Duration, Instant},
};

use lore_embed::{EmbedError, Embedder};
use lore_git::{Cancel, FileKind, Found, GitError, Ignores, Repository, Tree, TreeLimits};
use lore_model::{BlobId, Code, CommitId, DEFAULT_EXCLUDES, Failure, Repo, RepoPath, Tip};
use lore_store::{
    BlobKey, BlobRecord, ChunkSink, CodeEnd, CodeState, CodeWriter, LeftOut, NewBlob, NewSnapshot, SnapshotFile,
};

use super::{
    CodeIndex, IndexReader,
    reading::{FileReader, MAX_FILE, rules},
};
use crate::{git_failure, store_failure};

/// Files that one worker takes at a time: neighbours, because their contents are stored near each other.
const BATCH: usize = 16;

/// More threads than this would only wait for each other, and for the one that stores.
const MAX_JOBS: usize = 64;

/// A first index that takes longer is published in part, so that questions have an answer.
const FIRST_ANSWER: Duration = Duration::from_secs(3);

/// What is done with what.
#[derive(Clone, Copy)]
pub struct CodeTask<'a> {
    /// The one writer.
    pub writer: &'a dyn CodeWriter,
    /// Threads that read; `None` for one on each core.
    pub jobs: Option<NonZero<usize>>,
    /// Whether content that a partial clone lacked is looked for again.
    pub retry_missing: bool,
    /// Stops it.
    pub cancel: &'a Cancel,
    /// Hears how it goes on.
    pub progress: &'a (dyn Fn(CodeEvent) + Send + Sync),
}

/// How a sync of code goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeEvent {
    /// So many files will be read.
    Started(u64),
    /// So many have been read.
    Advanced(u64),
    /// A part can be searched.
    Published,
}

/// What a sync of code did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeReport {
    /// Contents that were read.
    pub read: u64,
    /// Files of the newest tip.
    pub files: u64,
    /// Chunks of the newest tip.
    pub chunks: u64,
    /// Lines of the newest tip.
    pub lines: u64,
    /// Files of the newest tip whose content could not be read, so that they are not searched.
    pub lost: u64,
    /// Files that this sync found too large to be searched.
    pub too_large: Vec<RepoPath>,
}

/// Why contents that were to be read are not searched.
#[derive(Debug, Default)]
pub(super) struct Unsearched {
    /// Contents that cannot be read, and why.
    pub(super) lost: HashMap<BlobId, String>,
    /// A path of each content that is too large.
    too_large: Vec<RepoPath>,
}

/// How the reasons begin why files cannot be read that would be searched.
const LOST: &str = "its content";

/// The language of files without text that is searched.
pub(super) const UNREAD_LANGUAGE: &str = "binary";

/// Why a file that is too large is not read.
pub(super) fn too_large_reason() -> String {
    format!("over {} MiB", MAX_FILE >> 20)
}

/// What a repository holds now.
struct Seen {
    repository: Repository,
    tips: Vec<Tip>,
    scope: String,
    ignore: Vec<String>,
}

/// What is to be read, and what for.
struct Plan {
    snapshots: Vec<NewSnapshot>,
    /// Each content once, with a path that it has.
    contents: Vec<(BlobKey, RepoPath)>,
    /// Commits whose files cannot be listed, and why.
    unread: HashSet<CommitId>,
    errors: Vec<GitError>,
}

/// Frees what nothing needs any more. What was read is published: that this failed is no reason to say that it was not.
pub(super) fn clean_up(writer: &dyn CodeWriter) {
    if let Err(error) = writer.collect() {
        tracing::warn!(%error, "what no snapshot needs could not be freed");
    }
}

impl CodeIndex {
    /// Brings the index of one repository's code up to date.
    pub fn sync(&self, repo: &Repo, task: &CodeTask<'_>) -> Result<CodeReport, Failure> {
        let running = self.reader.syncing.begin(repo.id);
        let heard = |event: CodeEvent| {
            match &event {
                CodeEvent::Started(total) => running.set_total(*total),
                CodeEvent::Advanced(done) => running.set_done(*done),
                CodeEvent::Published => {}
            }
            (task.progress)(event);
        };
        self.sync_inner(repo, &CodeTask { progress: &heard, ..*task })
    }

    fn sync_inner(&self, repo: &Repo, task: &CodeTask<'_>) -> Result<CodeReport, Failure> {
        let CodeTask { writer, cancel, progress, .. } = *task;
        let mut seen = self.reader.look_at_tips(repo)?;
        let rules = rules(&*self.reader.embedder);
        let before = self.reader.store.code_state(repo.id).map_err(store_failure)?;
        if !task.retry_missing && is_current(&before, &seen.tips, &seen.scope, &rules) {
            return self.report(&before, 0);
        }
        writer.begin_code(repo.id, &rules).map_err(store_failure)?;
        cancel.check()?;
        // What is complete need not be listed again: a sync costs what changed.
        let reusable = before.complete && before.rules == rules && before.scope == seen.scope && !task.retry_missing;
        let kept: HashSet<CommitId> =
            before.snapshots.iter().filter(|_| reusable).map(|snapshot| snapshot.commit).collect();
        let wanted: Vec<CommitId> = commits(&seen.tips).into_iter().filter(|commit| !kept.contains(commit)).collect();
        let plan = plan(&seen.repository, wanted, &seen.ignore, cancel)?;
        // A branch that cannot be read is not indexed: the next sync tries again.
        seen.tips.retain(|tip| !plan.unread.contains(&tip.commit));
        let Plan { snapshots, mut contents, mut errors, .. } = plan;
        if seen.tips.is_empty()
            && let Some(error) = errors.pop()
        {
            return Err(git_failure(error));
        }
        for error in errors {
            tracing::warn!(%error, "a branch is left out of the code index");
        }
        let mut wanted: Vec<BlobKey> = contents.iter().map(|(key, _)| key.clone()).collect();
        wanted.dedup();
        let known = writer.known_blobs(&rules, wanted).map_err(store_failure)?;
        contents.retain(|(key, _)| !known.contains(key));
        progress(CodeEvent::Started(contents.len() as u64));
        let wanted = contents.len() as u64;
        let mut end = CodeEnd {
            at: self.clock.now(),
            rules: rules.clone(),
            scope: seen.scope.clone(),
            tips: seen.tips.clone(),
            snapshots,
            partial: true,
        };
        let first = before.snapshots.is_empty().then_some(&end);
        let Unsearched { lost, mut too_large } = self.read_all(repo, task, &seen.repository, contents, first)?;
        too_large.sort_unstable();
        for snapshot in &mut end.snapshots {
            let lost = snapshot.files.iter().filter_map(|file| {
                Some(LeftOut { reason: lost.get(&file.key.blob)?.clone(), path: file.path.clone() })
            });
            snapshot.left_out.extend(lost);
            snapshot.left_out.sort_unstable();
        }
        end.partial = false;
        let state = writer.end_code(repo.id, end).map_err(store_failure)?;
        clean_up(writer);
        progress(CodeEvent::Published);
        let report = self.report(&state, wanted - lost.len() as u64)?;
        Ok(CodeReport { too_large, ..report })
    }

    fn report(&self, state: &CodeState, read: u64) -> Result<CodeReport, Failure> {
        let Some(newest) = state.snapshots.last() else { return Ok(CodeReport { read, ..CodeReport::default() }) };
        let lost = if state.complete {
            0
        } else {
            let left_out = self.reader.summarise(newest.id)?.left_out;
            left_out.iter().filter(|file| file.reason.starts_with(LOST)).count() as u64
        };
        Ok(CodeReport {
            read,
            files: newest.files,
            chunks: newest.chunks,
            lines: newest.lines,
            lost,
            too_large: Vec::new(),
        })
    }

    /// Reads contents on all cores while one task stores.
    pub(super) fn read_all(
        &self,
        repo: &Repo,
        task: &CodeTask<'_>,
        repository: &Repository,
        contents: Vec<(BlobKey, RepoPath)>,
        first: Option<&CodeEnd>,
    ) -> Result<Unsearched, Failure> {
        let CodeTask { writer, jobs, cancel, progress, .. } = *task;
        if contents.is_empty() {
            return Ok(Unsearched::default());
        }
        let rules = rules(&*self.reader.embedder);
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let jobs = jobs.map_or(cores, NonZero::get).min(MAX_JOBS).min(contents.len().div_ceil(BATCH)).max(1);
        let sink = writer.sink();
        let work = Work {
            contents,
            repository,
            sink: &*sink,
            embedder: &*self.reader.embedder,
            cancel,
            next: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            first_error: Mutex::default(),
            unsearched: Mutex::default(),
        };
        thread::scope(|threads| {
            let (sender, receiver) = mpsc::sync_channel::<ReadBatch>(jobs * 2);
            for sender in vec![sender; jobs] {
                let work = &work;
                threads.spawn(move || work.run(&sender));
            }
            let mut done = 0;
            let mut publish_at = Instant::now() + FIRST_ANSWER;
            while let Ok((blobs, count)) = receiver.recv() {
                done += count;
                // Where storing fails, the receiver is dropped and the workers stop.
                writer.put_blobs(&rules, blobs)?;
                if let Some(end) = first
                    && Instant::now() >= publish_at
                {
                    writer.end_code(repo.id, end.clone())?;
                    progress(CodeEvent::Published);
                    // Publishing costs the more the more there is.
                    publish_at = Instant::now() + FIRST_ANSWER * 4;
                }
                progress(CodeEvent::Advanced(done));
            }
            Ok(())
        })
        .map_err(store_failure)?;
        // What was read whole is kept, whatever happened after it.
        writer.flush().map_err(store_failure)?;
        cancel.check()?;
        if let Some(failure) = work.first_error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(failure);
        }
        Ok(work.unsearched.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl IndexReader {
    /// Whether the index holds what the repository's tips name; `None` where the repository cannot be read.
    pub fn is_indexed(&self, repo: &Repo) -> Result<Option<bool>, Failure> {
        let state = self.store.code_state(repo.id).map_err(store_failure)?;
        Ok(self.holds(repo, &state))
    }

    /// The commit that the branch which is asked about stands at, where all of it is indexed.
    pub(crate) fn indexed_tip(&self, repo: &Repo) -> Result<Option<CommitId>, Failure> {
        let state = self.store.code_state(repo.id).map_err(store_failure)?;
        let tip = self.tips(repo, &repo.info.local_path).and_then(|tips| tips.shown);
        Ok(if self.holds(repo, &state) == Some(true) { tip } else { None })
    }

    /// Whether this state holds what the repository's tips name; `None` where the repository cannot be read.
    pub(super) fn holds(&self, repo: &Repo, state: &CodeState) -> Option<bool> {
        let tips = self.tips(repo, &repo.info.local_path)?;
        let (scope, _) = self.scope(repo);
        let rules = rules(&*self.embedder);
        if repo.shown.is_some() {
            // What becomes of other branches says nothing of this one.
            let is_there = tips.shown.is_some_and(|tip| state.snapshots.iter().any(|known| known.commit == tip));
            return Some(is_there && state.complete && state.rules == rules && state.scope == scope);
        }
        Some(is_current(state, &tips.indexed, &scope, &rules))
    }

    /// Everything but the tips that decides which files are taken, and the same as lines of an ignore file.
    pub(super) fn scope(&self, repo: &Repo) -> (String, Vec<String>) {
        let mut ignore = self.settings.ignore_at(&repo.info.local_path);
        // What somebody excluded by hand is excluded here too; vendored code is only ranked lower.
        let chosen = repo.info.excludes.iter().filter(|prefix| !DEFAULT_EXCLUDES.contains(&prefix.as_str()));
        ignore.extend(chosen.map(|prefix| as_glob(prefix)));
        (format!("{ignore:?}"), ignore)
    }

    fn look_at_tips(&self, repo: &Repo) -> Result<Seen, Failure> {
        let (scope, ignore) = self.scope(repo);
        let looked = || {
            let repository = Repository::open(&repo.info.local_path)?;
            let refs = repository.refs(&repo.info.branches, repo.info.default_branch.as_deref())?;
            Ok(Seen { repository, tips: refs.tips, scope, ignore })
        };
        looked().map_err(git_failure)
    }
}

fn is_current(state: &CodeState, tips: &[Tip], scope: &str, rules: &str) -> bool {
    !state.partial && state.rules == rules && state.scope == scope && state.tips == tips
}

fn commits(tips: &[Tip]) -> Vec<CommitId> {
    let mut seen = HashSet::new();
    tips.iter().map(|tip| tip.commit).filter(|commit| seen.insert(*commit)).collect()
}

/// A prefix of paths as a line of an ignore file.
fn as_glob(prefix: &str) -> String {
    let escaped: String = prefix
        .chars()
        .flat_map(|c| matches!(c, '*' | '?' | '[' | '\\').then_some('\\').into_iter().chain([c]))
        .collect();
    if prefix.ends_with('/') { format!("/{escaped}") } else { format!("/{escaped}*") }
}

/// Lists the files of the commits.
fn plan(repository: &Repository, commits: Vec<CommitId>, globs: &[String], cancel: &Cancel) -> Result<Plan, Failure> {
    let planned = || {
        let mut plan = Plan { snapshots: Vec::new(), contents: Vec::new(), unread: HashSet::new(), errors: Vec::new() };
        let mut known: HashSet<BlobKey> = HashSet::new();
        let mut hints: HashMap<String, Arc<str>> = HashMap::new();
        for commit in commits {
            cancel.check()?;
            let tree = match repository.tree_of(commit, &TreeLimits::default()) {
                Ok(tree) => tree,
                // One branch that cannot be read does not keep the others out.
                Err(error @ (GitError::Unreadable { .. } | GitError::TreeTooLarge { .. })) => {
                    plan.unread.insert(commit);
                    plan.errors.push(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let ignores = repository.tree_ignores(&tree, globs)?;
            let (files, left_out) = take(tree, &ignores, &mut hints);
            for file in &files {
                if known.insert(file.key.clone()) {
                    plan.contents.push((file.key.clone(), file.path.clone()));
                }
            }
            plan.snapshots.push(NewSnapshot { commit, files, left_out });
        }
        Ok(plan)
    };
    planned().map_err(git_failure)
}

/// Which files of a tree are read, and which are not.
pub(super) fn take(
    tree: Tree,
    ignores: &Ignores,
    hints: &mut HashMap<String, Arc<str>>,
) -> (Vec<SnapshotFile>, Vec<LeftOut>) {
    let (mut files, mut left_out) = (Vec::new(), Vec::new());
    left_out.extend(tree.skipped.into_iter().map(|entry| LeftOut { reason: entry.why.to_owned(), path: entry.path }));
    for file in tree.files {
        let reason = if file.kind == FileKind::Symlink {
            Some("a symbolic link".to_owned())
        } else {
            ignores.excludes(&file.path).map(|rule| format!("ignored by {rule}"))
        };
        if let Some(reason) = reason {
            left_out.push(LeftOut { reason, path: file.path });
            continue;
        }
        let hint = lore_chunk::Language::hint(&file.path.to_text());
        let hint = hints.entry(hint).or_insert_with_key(|hint| hint.as_str().into()).clone();
        files.push(SnapshotFile { path: file.path, key: BlobKey { blob: file.blob, hint } });
    }
    left_out.sort_unstable();
    (files, left_out)
}

/// Contents that were read, and how many files they are of.
type ReadBatch = (Vec<NewBlob>, u64);

/// What the workers share.
struct Work<'a> {
    contents: Vec<(BlobKey, RepoPath)>,
    repository: &'a Repository,
    sink: &'a dyn ChunkSink,
    embedder: &'a dyn Embedder,
    cancel: &'a Cancel,
    next: AtomicUsize,
    failed: AtomicBool,
    first_error: Mutex<Option<Failure>>,
    unsearched: Mutex<Unsearched>,
}

impl Work<'_> {
    fn unsearched(&self) -> MutexGuard<'_, Unsearched> {
        self.unsearched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, sender: &SyncSender<ReadBatch>) {
        let _entered = self.cancel.enter();
        if let Err(failure) = self.read(sender) {
            self.failed.store(true, Ordering::Relaxed);
            self.first_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        }
    }

    fn read(&self, sender: &SyncSender<ReadBatch>) -> Result<(), Failure> {
        let mut blobs = self.repository.blobs();
        let mut reader = FileReader::new(self.sink, self.embedder);
        let mut buffer = Vec::new();
        loop {
            let from = self.next.fetch_add(BATCH, Ordering::Relaxed);
            let Some(batch) = self.contents.get(from..).filter(|rest| !rest.is_empty()) else { return Ok(()) };
            let batch = &batch[..batch.len().min(BATCH)];
            let mut read = Vec::with_capacity(batch.len());
            for (key, path) in batch {
                if self.failed.load(Ordering::Relaxed) || self.cancel.is_cancelled() {
                    return Ok(());
                }
                let lose = |reason: String| {
                    self.unsearched().lost.insert(key.blob, reason);
                };
                let found = match blobs.read(key.blob, MAX_FILE, &mut buffer) {
                    Ok(found) => found,
                    // One damaged object does not keep all others out.
                    Err(error @ GitError::Unreadable { .. }) => {
                        lose(format!("{LOST} cannot be read: {error}"));
                        continue;
                    }
                    Err(error) => return Err(git_failure(error)),
                };
                match found {
                    Found::Missing => lose(format!("{LOST} is missing (a partial clone)")),
                    Found::TooLarge(size) => {
                        self.unsearched().too_large.push(path.clone());
                        read.push(unread(key.clone(), size, &too_large_reason()));
                    }
                    Found::Read => match reader.read(&path.to_text(), &buffer).map_err(embed_failure)? {
                        Ok(file) => read.push(NewBlob { key: key.clone(), record: file.record, chunks: file.chunks }),
                        Err(reason) => read.push(unread(key.clone(), buffer.len() as u64, reason)),
                    },
                }
            }
            // Nobody takes it any more where storing failed.
            if sender.send((read, batch.len() as u64)).is_err() {
                return Ok(());
            }
        }
    }
}

/// Content that is known and has no chunks.
fn unread(key: BlobKey, size: u64, reason: &str) -> NewBlob {
    NewBlob { key, record: unread_record(size, reason), chunks: Vec::new() }
}

pub(super) fn unread_record<C>(size: u64, reason: &str) -> BlobRecord<C> {
    BlobRecord {
        language: UNREAD_LANGUAGE.to_owned(),
        size,
        lines: 0,
        plain: Some(reason.to_owned()),
        package: None,
        counts: [0; 3],
        tags: Vec::new(),
        entries: Vec::new(),
    }
}

/// What a fault of an embedding service means to the user.
pub(super) fn embed_failure(error: EmbedError) -> Failure {
    Failure::new(Code::EmbeddingFailed, error.to_string()).hint(error.hint()).caused_by(error)
}
