//! Reads what is new in a repository and forgets what is gone, so that the index equals the repository.

use std::{
    collections::HashSet,
    num::NonZero,
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        mpsc::{self, SyncSender},
    },
    thread,
    time::Duration,
};

use lore_git::{
    Cancel, CloneUrl, Diff, Fetching, GitError, Mailmap, Mirror, ReadCommit, Reader, Refs, Repository, Scope,
};
use lore_model::{Code, CommitId, CommitRecord, Failure, Patch, PatchAbsence, Problem, Repo, Source, SyncState, Tip};
use lore_store::{AuthorAlias, HistoryWriter, PatchPacker, SyncEnd};

use super::{History, register::check_branch};
use crate::{git_failure, store_failure};

/// Larger patches are not kept.
pub const PATCH_CAP: usize = 1 << 20;

/// How many characters of a diff are searched.
const PREVIEW_CHARS: usize = 500;

/// Counts up when what is stored of a commit changes, so that all is read anew.
const EXTRACTION: u32 = 1;

/// Commits for one run of git: large ones first, because starting it anew costs; small ones at the end, so that all cores
/// end together.
const CHUNK: std::ops::RangeInclusive<usize> = 256..=4096;

/// A batch is handed over when it has so many commits or bytes.
const BATCH_COMMITS: usize = 512;
const BATCH_BYTES: usize = 4 << 20;

/// One transaction takes batches up to so many commits or bytes.
const TRANSACTION_COMMITS: usize = 4096;
const TRANSACTION_BYTES: usize = 32 << 20;

/// How much longer than git itself looking up its remote's host may take.
const LOOKUP_TIME: Duration = Duration::from_secs(5);

/// How a sync is done.
#[derive(Debug, Clone)]
pub struct SyncOptions {
    /// Runs of git side by side; `None` for one on each core.
    pub jobs: Option<NonZero<usize>>,
    /// Reads commits again whose objects were missing.
    pub retry_missing: bool,
    /// Whether the past of the code is kept from now on; `None` for as it was.
    pub past: Option<bool>,
    /// Whether a sync clones or fetches what was registered by URL. Whoever has done so with [`History::fetch`] says no.
    pub fetch: bool,
    /// The branch that a mirror's HEAD names, in place of the one that the remote's HEAD does.
    pub main_branch: Option<String>,
    /// How long a clone or fetch may take; `None` for as long as it does.
    pub fetch_time: Option<Duration>,
    /// How many bytes a mirror may take on disk; `None` for any number.
    pub fetch_bytes: Option<u64>,
}

impl Default for SyncOptions {
    fn default() -> Self {
        Self {
            jobs: None,
            retry_missing: false,
            past: None,
            fetch: true,
            main_branch: None,
            fetch_time: None,
            fetch_bytes: None,
        }
    }
}

/// What a sync did.
#[derive(Debug, Clone, Default)]
pub struct SyncReport {
    /// The repository.
    pub repo: String,
    /// Commits that were read.
    pub added: u64,
    /// Commits that no branch reaches any more.
    pub removed: u64,
    /// Commits in the index now.
    pub total: u64,
    /// What is left out, and why.
    pub problems: Vec<Problem>,
    /// Branches that were chosen and are not there: nothing of them is indexed any more.
    pub missing: Vec<String>,
}

/// How a sync goes on.
#[derive(Debug, Clone)]
pub enum SyncEvent {
    /// Cloning or fetching from this URL.
    Fetching(String),
    /// So many commits will be read.
    Started(u64),
    /// So many have been stored.
    Advanced(u64),
}

/// Hears how a sync goes on.
pub type Progress<'a> = &'a (dyn Fn(SyncEvent) + Send + Sync);

/// What a sync is done with.
#[derive(Clone, Copy)]
pub struct SyncTask<'a> {
    /// The one writer.
    pub writer: &'a dyn HistoryWriter,
    /// How it is done.
    pub options: &'a SyncOptions,
    /// Stops it.
    pub cancel: &'a Cancel,
    /// Hears how it goes on.
    pub progress: Progress<'a>,
}

/// What a repository looks like now.
struct Seen {
    repository: Repository,
    refs: Refs,
    mailmap: Mailmap,
    shallow: Vec<CommitId>,
    fingerprint: String,
}

/// What has to be done.
struct Plan {
    read: Vec<CommitId>,
    remove: Vec<CommitId>,
}

impl History {
    /// Brings one repository's history up to date.
    pub fn sync(&self, repo: &Repo, task: &SyncTask<'_>) -> Result<SyncReport, Failure> {
        let running = self.syncing.begin(repo.id);
        let heard = |event: SyncEvent| {
            match &event {
                SyncEvent::Fetching(_) => {}
                SyncEvent::Started(total) => running.set_total(*total),
                SyncEvent::Advanced(done) => running.set_done(*done),
            }
            (task.progress)(event);
        };
        let done = self.sync_inner(repo, &SyncTask { progress: &heard, ..*task });
        if let Err(failure) = &done
            && failure.code != Code::Interrupted
        {
            // The failure itself is what counts; where even this cannot be noted, it is reported all the same.
            if let Err(error) = task.writer.fail_sync(repo.id, &self.without_home(&failure.message)) {
                tracing::debug!(%error, "the failure of a sync could not be noted");
            }
        }
        done
    }

    fn sync_inner(&self, repo: &Repo, task: &SyncTask<'_>) -> Result<SyncReport, Failure> {
        let SyncTask { writer, options, cancel, progress } = *task;
        if options.fetch {
            if let Source::Url(url) = &repo.info.source {
                progress(SyncEvent::Fetching(url.clone()));
            }
            self.fetch(repo, options, cancel)?;
        }
        let seen = look(repo)?;
        let missing = missing(&seen.refs);
        let state = &repo.sync;
        let unchanged = !state.partial
            && state.fingerprint == seen.fingerprint
            && state.tips == seen.refs.tips
            && state.shallow == seen.shallow
            // HEAD carries the mailmap, even where it is not indexed itself.
            && state.last_synced_sha == head(&seen.refs)
            // What was chosen since and is not there has to be told.
            && missing.iter().all(|problem| state.problems.contains(problem))
            && state.problems.iter().filter(|problem| problem.reason.starts_with(NO_BRANCH)).count() == missing.len()
            && !options.retry_missing;
        if unchanged {
            writer.note_current(repo.id, self.clock.now()).map_err(store_failure)?;
            return Ok(report(repo, 0, 0, state, &seen.refs));
        }
        let before = writer.begin_sync(repo.id, &seen.fingerprint, &seen.shallow).map_err(store_failure)?;
        let key = repo.id.to_string();
        let (repository, stop) = (seen.repository.clone(), cancel.clone());
        let reader = Reader::open(&self.git, &self.places.git, &key, repository, stop).map_err(git_failure)?;
        let plan = plan(writer, repo, &before, &seen, &reader, options)?;
        progress(SyncEvent::Started(plan.read.len() as u64));
        let scope = Scope { excludes: repo.info.excludes.clone(), patch_cap: PATCH_CAP, preview_chars: PREVIEW_CHARS };
        let (added, removed) = (plan.read.len() as u64, plan.remove.len() as u64);
        read_all(task, repo, &reader, plan.read, scope)?;
        let end = SyncEnd {
            at: self.clock.now(),
            head: head(&seen.refs),
            default_branch: seen.refs.default_branch.clone(),
            tips: seen.refs.tips.clone(),
            shallow: seen.shallow.clone(),
            remove: plan.remove,
            aliases: aliases(writer, repo, &seen.mailmap)?,
            problems: missing,
        };
        let state = writer.end_sync(repo.id, end).map_err(store_failure)?;
        Ok(report(repo, added, removed, &state, &seen.refs))
    }

    /// Clones or fetches a repository that was registered by URL; nothing is done to another.
    ///
    /// No writer is needed, so that many can be fetched while one is indexed. Two fetches of one repository take turns.
    pub fn fetch(&self, repo: &Repo, options: &SyncOptions, cancel: &Cancel) -> Result<(), Failure> {
        let Source::Url(url) = &repo.info.source else { return Ok(()) };
        let url = CloneUrl::parse(url).map_err(git_failure)?;
        if let Some(branch) = &options.main_branch {
            check_branch(branch)?;
        }
        let (git, path, cancel) = (self.git.clone(), repo.info.local_path.clone(), cancel.clone());
        let fetching = Fetching {
            policy: self.policy.clone(),
            main_branch: options.main_branch.clone(),
            time: options.fetch_time,
            bytes: options.fetch_bytes,
        };
        Mirror::new(&git, path, &url, &cancel).fetching(&fetching).update().map_err(git_failure)
    }

    /// The branches that the repository at a URL has now. Nothing is cloned; it takes no longer than this.
    pub fn remote_branches(&self, url: &str, time: Duration) -> Result<Vec<String>, Failure> {
        let url = CloneUrl::parse(url).map_err(git_failure)?;
        let fetching = Fetching { policy: self.policy.clone(), time: Some(time), ..Fetching::default() };
        let (git, path) = (self.git.clone(), self.places.clones.clone());
        let ask = move || Mirror::new(&git, path, &url, &Cancel::default()).fetching(&fetching).remote_branches();
        // Looking up a host is bound by nothing.
        let late = || Err(GitError::TooSlow { command: "ls-remote".to_owned(), limit: time });
        Cancel::current().run_detached(time + LOOKUP_TIME, ask).unwrap_or_else(late).map_err(git_failure)
    }
}

/// How the reason begins why a branch is not indexed.
const NO_BRANCH: &str = "branches that do not exist";

/// Branches that were chosen and are not there, as what is left out.
fn missing(refs: &Refs) -> Vec<Problem> {
    refs.missing.iter().map(|branch| Problem { reason: format!("{NO_BRANCH} (`{branch}`)"), count: 1 }).collect()
}

fn report(repo: &Repo, added: u64, removed: u64, state: &SyncState, refs: &Refs) -> SyncReport {
    SyncReport {
        repo: repo.name().to_owned(),
        added,
        removed,
        total: state.commit_count,
        problems: state.problems.clone(),
        missing: refs.missing.clone(),
    }
}

fn look(repo: &Repo) -> Result<Seen, Failure> {
    let looked = || {
        let repository = Repository::open(&repo.info.local_path)?;
        let refs = repository.refs(&repo.info.branches, repo.info.default_branch.as_deref())?;
        let mailmap = repository.mailmap();
        let shallow = repository.shallow();
        // A filter by author depends on who the mailmap says somebody is.
        let people = repo.info.author_filter.as_ref().map(|filter| (filter, mailmap.digest()));
        let fingerprint = format!("{}{:?} {people:?}", rules(), repo.info.excludes);
        Ok(Seen { repository, refs, mailmap, shallow, fingerprint })
    };
    looked().map_err(git_failure)
}

/// HEAD, or whatever else is indexed where there is none.
fn head(refs: &Refs) -> Option<CommitId> {
    refs.head.or_else(|| refs.tips.first().map(|tip| tip.commit))
}

/// Whether what is stored was read by the rules of this version.
pub(super) fn is_up_to_rules(state: &SyncState) -> bool {
    state.fingerprint.starts_with(&rules())
}

fn rules() -> String {
    format!("{EXTRACTION} {PATCH_CAP} ")
}

fn commits(tips: &[Tip]) -> Vec<CommitId> {
    tips.iter().map(|tip| tip.commit).collect()
}

/// Compares what the index holds with what the tips reach.
fn plan(
    writer: &dyn HistoryWriter,
    repo: &Repo,
    before: &SyncState,
    seen: &Seen,
    reader: &Reader,
    options: &SyncOptions,
) -> Result<Plan, Failure> {
    let retry = if options.retry_missing {
        let mut again = writer.commits_without_patch(repo.id, PatchAbsence::MissingObjects).map_err(store_failure)?;
        again.extend(writer.commits_without_patch(repo.id, PatchAbsence::TooHeavy).map_err(store_failure)?);
        again
    } else {
        Vec::new()
    };
    let forward = forward(before, seen, reader)?;
    let mut plan = if let Some(read) = forward {
        Plan { read, remove: Vec::new() }
    } else {
        let known = writer.known_commits(repo.id).map_err(store_failure)?;
        compare(before, seen, reader, known)?
    };
    if let Some(filter) = &repo.info.author_filter {
        plan.read = by_author(reader, &plan.read, &seen.mailmap, filter).map_err(git_failure)?;
    }
    let planned: HashSet<CommitId> = plan.read.iter().chain(&plan.remove).copied().collect();
    plan.read.extend(retry.into_iter().filter(|id| !planned.contains(id)));
    Ok(plan)
}

/// What is new where every old tip is still reached, which is nearly always; `None` where that is not so or not known.
fn forward(before: &SyncState, seen: &Seen, reader: &Reader) -> Result<Option<Vec<CommitId>>, Failure> {
    if before.partial || before.tips.is_empty() || before.shallow != seen.shallow {
        return Ok(None);
    }
    let (old, new) = (commits(&before.tips), commits(&seen.refs.tips));
    let walked = match reader.rev_list(&old, &new) {
        Ok(gone) if gone.is_empty() => reader.rev_list(&new, &old).map(Some),
        // An old tip may have been pruned from the repository.
        Ok(_) | Err(GitError::Failed { .. }) => Ok(None),
        Err(error) => Err(error),
    };
    walked.map_err(git_failure)
}

/// Everything that the tips reach against everything that the index holds.
fn compare(before: &SyncState, seen: &Seen, reader: &Reader, known: HashSet<CommitId>) -> Result<Plan, Failure> {
    let tips = commits(&seen.refs.tips);
    let all = reader.rev_list(&tips, &[]).map_err(git_failure)?;
    let reached: HashSet<CommitId> = all.iter().copied().collect();
    // The diff of a commit at a shallow boundary changes when the boundary moves.
    let (old, new): (HashSet<_>, HashSet<_>) = (before.shallow.iter().collect(), seen.shallow.iter().collect());
    let moved: HashSet<CommitId> = if before.partial {
        // Under which boundary each of them was read is not known.
        old.union(&new).map(|id| **id).collect()
    } else {
        old.symmetric_difference(&new).map(|id| **id).collect()
    };
    let read = all.into_iter().filter(|id| !known.contains(id) || moved.contains(id)).collect();
    let remove = known.into_iter().filter(|id| !reached.contains(id)).collect();
    Ok(Plan { read, remove })
}

fn by_author(reader: &Reader, ids: &[CommitId], mailmap: &Mailmap, filter: &str) -> Result<Vec<CommitId>, GitError> {
    let wanted = |person: &lore_model::Person| {
        person.matches(filter) || mailmap.resolve(person).is_some_and(|mapped| mapped.matches(filter))
    };
    Ok(reader.authors(ids)?.into_iter().filter(|(_, person)| wanted(person)).map(|(id, _)| id).collect())
}

fn aliases(writer: &dyn HistoryWriter, repo: &Repo, mailmap: &Mailmap) -> Result<Vec<AuthorAlias>, Failure> {
    // Every commit is read for that.
    if mailmap.is_empty() {
        return Ok(Vec::new());
    }
    let authors = writer.list_authors(repo.id).map_err(store_failure)?;
    let mapped =
        authors.into_iter().filter_map(|recorded| Some(AuthorAlias { mapped: mailmap.resolve(&recorded)?, recorded }));
    Ok(mapped.collect())
}

/// Commits on their way to the store, with their size.
type Batch = (Vec<CommitRecord>, usize);

/// Reads on all cores while one task stores.
fn read_all(
    task: &SyncTask<'_>,
    repo: &Repo,
    reader: &Reader,
    ids: Vec<CommitId>,
    scope: Scope,
) -> Result<(), Failure> {
    let SyncTask { writer, options, cancel, progress } = *task;
    if ids.is_empty() {
        return Ok(());
    }
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let jobs = options.jobs.map_or(cores, NonZero::get).min(ids.len().div_ceil(*CHUNK.start())).max(1);
    let work = Work { ids, scope, reader, jobs, next: Mutex::default(), first_error: Mutex::default() };
    thread::scope(|threads| {
        let (sender, receiver) = mpsc::sync_channel::<Batch>(jobs * 2);
        for sender in vec![sender; jobs] {
            let work = &work;
            threads.spawn(move || work.run(&sender));
        }
        let mut stored = 0;
        while let Ok((mut batch, mut bytes)) = receiver.recv() {
            // Whatever else is ready goes into the same transaction.
            while batch.len() < TRANSACTION_COMMITS && bytes < TRANSACTION_BYTES {
                let Ok((more, size)) = receiver.try_recv() else { break };
                batch.extend(more);
                bytes += size;
            }
            stored += batch.len() as u64;
            // Where this fails, the receiver is dropped and the workers stop.
            writer.put_commits(repo.id, batch).map_err(store_failure)?;
            progress(SyncEvent::Advanced(stored));
        }
        Ok::<_, Failure>(())
    })?;
    let error = work.first_error.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Work that was told to stop may fail in other ways too.
    cancel.check()?;
    error.map_or(Ok(()), |error| Err(git_failure(error)))
}

/// What the workers share.
struct Work<'a> {
    ids: Vec<CommitId>,
    scope: Scope,
    reader: &'a Reader,
    jobs: usize,
    /// The first that no worker has taken.
    next: Mutex<usize>,
    first_error: Mutex<Option<GitError>>,
}

impl Work<'_> {
    fn run(&self, sender: &SyncSender<Batch>) {
        if let Err(error) = self.read_chunks(sender) {
            // Nobody needs more chunks once one has failed.
            *self.next.lock().unwrap_or_else(PoisonError::into_inner) = self.ids.len();
            let mut first = self.first_error.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(error);
        }
    }

    /// An even share of what is left.
    fn next_chunk(&self) -> Option<&[CommitId]> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.ids.get(*next..).filter(|left| !left.is_empty())?;
        let size = (left.len() / self.jobs).clamp(*CHUNK.start(), *CHUNK.end()).min(left.len());
        *next += size;
        Some(&left[..size])
    }

    fn read_chunks(&self, sender: &SyncSender<Batch>) -> Result<(), GitError> {
        let mut packer = PatchPacker::new().map_err(|error| GitError::Stream(error.to_string()))?;
        let mut batch = Batch::default();
        loop {
            let Some(chunk) = self.next_chunk() else {
                hand_over(&mut batch, sender);
                return Ok(());
            };
            let mut packing = Ok(());
            let read = self.reader.read(chunk, &self.scope, &mut |commit| {
                match pack(&mut packer, commit) {
                    Ok(record) => {
                        batch.1 += weight(&record);
                        batch.0.push(record);
                    }
                    Err(error) => {
                        packing = Err(GitError::Stream(error.to_string()));
                        return ControlFlow::Break(());
                    }
                }
                if batch.0.len() < BATCH_COMMITS && batch.1 < BATCH_BYTES {
                    return ControlFlow::Continue(());
                }
                if hand_over(&mut batch, sender) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            packing?;
            if let Err(error) = read {
                // What was read whole is kept: the next sync need not read it again.
                hand_over(&mut batch, sender);
                return Err(error);
            }
        }
    }
}

/// Sends what was read to the store; `false` where nobody takes it any more because storing failed.
fn hand_over(batch: &mut Batch, sender: &SyncSender<Batch>) -> bool {
    let batch = std::mem::take(batch);
    batch.0.is_empty() || sender.send(batch).is_ok()
}

fn weight(record: &CommitRecord) -> usize {
    let patch = if let Patch::Stored { zstd, .. } = &record.patch { zstd.len() } else { 0 };
    patch + record.body.as_ref().map_or(0, String::len) + record.files.len() * 96 + 1024
}

fn pack(packer: &mut PatchPacker, commit: ReadCommit) -> std::io::Result<CommitRecord> {
    commit.try_map_patch(|diff| match diff {
        Diff::Bytes(bytes) => packer.pack(&bytes),
        Diff::Absent(reason) => Ok(Patch::Absent(reason)),
    })
}
