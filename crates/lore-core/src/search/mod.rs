//! Code: asking it, and keeping its index.

mod answer;
#[cfg(test)]
mod any_question;
mod chunk_files;
mod chunk_folder;
mod embedding;
mod evidence;
mod exact;
mod export;
mod filter;
#[doc(hidden)]
pub mod fuzz;
mod index;
mod indexed;
mod lines;
mod overlay;
mod overview;
mod past;
mod project_ignore;
mod query;
mod rank;
mod reading;
mod related;
mod second;
mod shared;
mod signals;
mod snippet;
mod tips;
mod views;

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

pub use answer::{CodeAnswer, CodeFreshness, CodeHit, CodeRequest, CodeState, LIMIT_DEFAULT, LIMIT_MAX};
pub use chunk_files::{ChunkAnswer, ChunkFiles, ChunkHit, ChunksPlace, FileChunk};
pub use embedding::{EmbedEvent, EmbedReport};
use evidence::Evidence;
pub use export::{Export, ExportedChunk};
pub use filter::FileFilter;
pub use index::{CodeEvent, CodeReport, CodeTask};
pub use indexed::IndexedFiles;
pub use lines::{LineHit, LinesAnswer, LinesRequest, LinesWanted};
use lore_embed::Embedder;
use lore_git::{Cancel, Repository, WorktreeOptions};
use lore_model::{Code, CommitId, Failure, Repo, RepoId, RepoPath, Source};
pub use lore_store::Accuracy;
use lore_store::{
    Base, IndexStore, IndexWriter, LeftOut, SnapshotId, SnapshotInfo, SnapshotSummary, StoreError, ViewPart,
};
use overlay::{Overlay, Tools};
pub use overview::CodeOverview;
use past::PastShown;
pub use past::{
    ChangeKind, CommitFound, CommitText, CommitsAnswer, CommitsRequest, Happened, OfPast, PastGaps, PastReport, Period,
    Standing, Story, StoryEntry, Told, When,
};
pub use project_ignore::ProjectIgnore;
pub(crate) use query::content_words;
pub use query::{Query, QueryKind};
pub use rank::{Effect, Explanation, Parts};
pub use related::{RelatedAnswer, RelatedRequest};
pub use second::{Second, SecondState};
use shared::Shared;
pub use signals::Role;
pub use snippet::{Snippet, estimate_tokens};
use tips::{TipCache, Tips};
use views::{Loaded, PartKey, ViewKey, Views};

use crate::{Clock, blocking, git_failure, store_failure};

/// A work tree that nobody watches is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// After a look at a work tree that failed, questions leave it alone for this time.
const LOOK_PAUSE: Duration = Duration::from_secs(5);

/// How long those wait for a model who use one only.
const CHOSEN_WAIT: Duration = Duration::from_secs(30);

/// Views that are kept unless somebody says otherwise: the project's, and those of a few others that were asked for.
const VIEWS: usize = 4;

/// How often a question is asked again when what it reads is replaced meanwhile.
const TRIES: usize = 4;

/// What a user may set.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Files that are left out, as lines of an ignore file.
    pub ignore: Vec<String>,
    /// The user's own file of git ignore rules.
    pub user_excludes: Option<PathBuf>,
    /// Gives what a repository itself wants to be left out, as lines of an ignore file.
    pub project_ignore: Option<ProjectIgnore>,
    /// So many views are kept open; at least one is.
    ///
    /// A view is a repository on a branch, or several together, as one question sees it. Opening one takes milliseconds to
    /// some hundreds of them; an open one holds its files and chunk numbers in memory, some tens of megabytes for a large
    /// repository (segments are mapped and shared). So: as many as are asked about in turn, not as many as there are.
    pub views: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { ignore: Vec::new(), user_excludes: None, project_ignore: None, views: VIEWS }
    }
}

impl Settings {
    /// What is left out of the repository at this place.
    fn ignore_at(&self, place: &Path) -> Vec<String> {
        let mut lines = self.ignore.clone();
        lines.extend(self.project_ignore.iter().flat_map(|ignore| ignore.lines(place)));
        lines
    }

    /// Looks at the repository's own list. This touches the disk.
    fn refresh_ignore(&self, place: &Path) {
        if let Some(ignore) = &self.project_ignore {
            ignore.refresh(place);
        }
    }

    /// The failure of a list that cannot be used, where no earlier state of it is known.
    fn unknown_ignore(&self, place: &Path) -> Option<Failure> {
        let ignore = self.project_ignore.as_ref().filter(|ignore| ignore.is_unknown(place))?;
        Some(
            Failure::new(Code::InvalidConfig, ignore.problem(place)?).hint("correct it, or remove it: Lore needs none"),
        )
    }

    /// Why the repository's own list cannot be used.
    fn ignore_problem(&self, place: &Path) -> Option<String> {
        self.project_ignore.as_ref()?.problem(place)
    }
}

/// The code of all registered repositories.
pub struct Search {
    store: Arc<dyn IndexStore>,
    /// The built-in model, which indexes everything.
    embedder: Arc<dyn Embedder>,
    /// What is configured besides.
    second: Option<Arc<Second>>,
    clock: Arc<dyn Clock>,
    settings: Settings,
    overlays: Mutex<HashMap<PathBuf, Arc<Mutex<Watched>>>>,
    views: Arc<Views>,
    tips: Arc<TipCache>,
    /// When the commits that were searched were made.
    times: Mutex<HashMap<CommitId, i64>>,
    /// What commits say about the files of repositories, with its number.
    evidence: Mutex<HashMap<RepoId, (i64, Arc<Evidence>)>>,
    reading: Shared<(RepoId, i64), Option<Arc<Evidence>>>,
    /// When and why a look at a work tree failed.
    failed: Mutex<HashMap<PathBuf, (Instant, String)>>,
}

/// A work tree and how well it is known.
struct Watched {
    overlay: Overlay,
    looked: Option<Instant>,
    /// Whether somebody says which files change.
    live: bool,
}

/// Whether the evidence that is kept was made of the history and the trees as they are.
fn is_made_of(state: &lore_store::CodeState, repo: &Repo) -> bool {
    state.evidence.as_ref().is_some_and(|kept| kept.made_of == evidence::made_of(&repo.sync, state))
}

/// One repository in an answer.
struct Part {
    repo: Repo,
    snapshot: SnapshotInfo,
    uncommitted: usize,
    work: Option<Arc<Mutex<Watched>>>,
    /// The state of the work tree that was seen; 0 where nothing is uncommitted.
    version: u64,
    /// Why the work tree could not be looked at, or not all of it.
    work_error: Option<String>,
    /// What could not be followed of ignore files.
    notes: Vec<String>,
    /// What is shown of the past, in place of what is there.
    past: Option<PastShown>,
}

/// What a look at a work tree gave.
struct Looked {
    uncommitted: usize,
    version: u64,
    work: Arc<Mutex<Watched>>,
    /// What could not be followed of ignore files.
    notes: Vec<String>,
    /// Why what is known may be an older state.
    error: Option<Failure>,
}

impl Search {
    /// Code kept in this store, embedded by this embedder.
    pub fn new(
        store: Arc<dyn IndexStore>,
        embedder: Arc<dyn Embedder>,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> Self {
        Self {
            store,
            embedder,
            second: None,
            clock,
            views: Arc::new(Views::new(settings.views)),
            settings,
            overlays: Mutex::default(),
            reading: Shared::default(),
            tips: Arc::default(),
            times: Mutex::default(),
            evidence: Mutex::default(),
            failed: Mutex::default(),
        }
    }

    /// The same with another model beside the one that indexes.
    #[must_use]
    pub fn with_second(mut self, second: Option<Second>) -> Self {
        self.second = second.map(Arc::new);
        self
    }

    /// The user's own file of git ignore rules.
    pub(crate) fn user_excludes(&self) -> Option<PathBuf> {
        self.settings.user_excludes.clone()
    }

    /// The name of the model that indexes.
    pub fn model(&self) -> &str {
        self.embedder.model()
    }

    /// What is configured besides the model that indexes.
    pub fn second(&self) -> Option<&Second> {
        self.second.as_deref()
    }

    /// The chunk files in a folder, read with the configured model alone. It must give vectors as long as the files have.
    pub async fn open_chunk_files(&self, place: ChunksPlace) -> Result<ChunkFiles, Failure> {
        let embedder = self.chosen().await?;
        if embedder.dimensions() != lore_embed::DIMENSIONS {
            return Err(index::embed_failure(lore_embed::EmbedError::WrongDimensions {
                model: embedder.model().to_owned(),
                expected: lore_embed::DIMENSIONS,
                got: embedder.dimensions(),
            }));
        }
        ChunkFiles::open(place, Arc::clone(&self.store), embedder).await
    }

    /// The configured model for those who use one only, after it has shown that it answers.
    async fn chosen(&self) -> Result<Arc<dyn Embedder>, Failure> {
        let Some(second) = &self.second else { return Ok(Arc::clone(&self.embedder)) };
        second.embedder.embed_query("hello", CHOSEN_WAIT).await.map_err(index::embed_failure)?;
        Ok(Arc::clone(&second.embedder))
    }

    /// What is indexed of a repository, and whether that is all.
    pub async fn state(&self, repo: RepoId) -> Result<lore_store::CodeState, Failure> {
        self.store.code_state(repo).await.map_err(store_failure)
    }

    /// Languages of a snapshot, and what is left out of it.
    pub async fn summarise(&self, snapshot: SnapshotId) -> Result<SnapshotSummary, Failure> {
        self.store.summarise(snapshot).await.map_err(store_failure)
    }

    /// Bytes on disk that hold code.
    pub async fn bytes(&self) -> Result<u64, Failure> {
        self.store.code_bytes().await.map_err(store_failure)
    }

    /// Uncommitted files of a repository's work tree that are not searched.
    pub async fn uncommitted_left_out(&self, repo: &Repo) -> Result<Vec<LeftOut>, Failure> {
        let state = self.state(repo.id).await?;
        let part = self.part(repo, &state, None, false).await?;
        Ok(left_out_of(part.and_then(|part| part.work)).await)
    }

    /// Takes note that these files of a work tree may have changed; `None` for all of them.
    ///
    /// From now on the caller says what changes, until [`Self::unwatch`].
    pub async fn touch(&self, repo: &Repo, place: &Path, paths: Option<Vec<RepoPath>>) -> Result<(), Failure> {
        // On a branch that is shown in place of HEAD, nothing is uncommitted.
        if repo.shown.is_some() {
            return Ok(());
        }
        let state = self.state(repo.id).await?;
        let tips = self.tips(repo, place).await;
        let Some(snapshot) = base(repo, tips.as_ref(), &state) else { return Ok(()) };
        let looked = self.look(repo, place, snapshot.commit, Look::Told(paths)).await?;
        looked.and_then(|looked| looked.error).map_or(Ok(()), Err)
    }

    /// Takes note that nobody says any more what changes in a work tree.
    pub async fn unwatch(&self, place: &Path) {
        let watched = self.overlays.lock().unwrap_or_else(PoisonError::into_inner).get(place).cloned();
        if let Some(watched) = watched {
            blocking(move || watched.lock().unwrap_or_else(PoisonError::into_inner).live = false).await;
        }
    }

    /// Reads what the repository itself wants to be left out, before it is brought up to date.
    ///
    /// Where that cannot be read and never could, and something is indexed, it fails: what was left out must not come in
    /// by a slip in a file.
    pub(crate) async fn refresh_ignore(&self, repo: &Repo) -> Result<(), Failure> {
        let (settings, place) = (self.settings.clone(), repo.info.local_path.clone());
        let problem = blocking(move || {
            settings.refresh_ignore(&place);
            settings.unknown_ignore(&place)
        });
        let Some(failure) = problem.await else { return Ok(()) };
        if self.state(repo.id).await?.snapshots.is_empty() {
            return Ok(());
        }
        Err(failure)
    }

    /// Where the refs point, seen from a work tree; `None` where the repository cannot be read.
    async fn tips(&self, repo: &Repo, place: &Path) -> Option<Tips> {
        let (cache, repo, place) = (Arc::clone(&self.tips), repo.clone(), place.to_owned());
        let settings = self.settings.clone();
        blocking(move || {
            settings.refresh_ignore(&repo.info.local_path);
            cache.at(&repo, &place)
        })
        .await
    }

    /// Whether the branch that is asked about is there, or no branch is; a repository that cannot be read still answers from
    /// the index.
    pub async fn has_branch(&self, repo: &Repo) -> bool {
        repo.shown.is_none() || self.tips(repo, &repo.info.local_path).await.is_none_or(|tips| tips.shown.is_some())
    }

    /// The part of a view that shows a repository; `None` where nothing of it is indexed, or not the branch that is asked
    /// about. A branch that is not there any more is a failure: another one's code would be no answer.
    async fn part(
        &self,
        repo: &Repo,
        state: &lore_store::CodeState,
        place: Option<&Path>,
        searched_alone: bool,
    ) -> Result<Option<Part>, Failure> {
        let place = place.unwrap_or(&repo.info.local_path);
        let tips = self.tips(repo, place).await;
        if let (Some(branch), Some(Tips { shown: None, .. })) = (&repo.shown, &tips) {
            return Err(no_such_branch(repo, branch, state));
        }
        let Some(snapshot) = base(repo, tips.as_ref(), state) else { return Ok(None) };
        let (repo, snapshot) = (repo.clone(), snapshot.clone());
        // A mirror has no work tree either.
        if repo.shown.is_some() || matches!(repo.info.source, Source::Url(_)) {
            let (work, notes) = (None, Vec::new());
            return Ok(Some(Part {
                repo,
                snapshot,
                uncommitted: 0,
                work,
                version: 0,
                work_error: None,
                notes,
                past: None,
            }));
        }
        // Mostly nothing is uncommitted, so what is committed can be opened meanwhile.
        let early = (searched_alone && !self.views.show(snapshot.id)).then(|| self.open_early(repo.id, snapshot.id));
        let looked = self.look(&repo, place, snapshot.commit, Look::IfNeeded).await;
        if let Some(early) = early {
            // Where it failed, it fails again when it is wanted.
            drop(early.await);
        }
        let (looked, error) = match looked {
            Ok(Some(mut looked)) => {
                let error = looked.error.take();
                (Some(looked), error)
            }
            Ok(None) => (None, None),
            Err(failure) => (None, Some(failure)),
        };
        // Where the repository has gone, what was indexed of it can still be searched, and the state says that it has gone.
        let work_error = error.filter(|_| tips.is_some()).map(|failure| failure.message);
        let (uncommitted, version) = looked.as_ref().map_or((0, 0), |looked| (looked.uncommitted, looked.version));
        let (work, notes) = looked.map_or((None, Vec::new()), |looked| (Some(looked.work), looked.notes));
        Ok(Some(Part { repo, snapshot, uncommitted, work, version, work_error, notes, past: None }))
    }

    /// Whether what is kept of a repository's commits is as new as its history.
    pub(crate) async fn has_evidence(&self, repo: &Repo) -> bool {
        let state = self.store.code_state(repo.id).await;
        // Where the history is not whole, the sync that ends it comes first.
        repo.sync.partial || state.is_ok_and(|state| is_made_of(&state, repo))
    }

    /// Keeps what the commits of a repository say about its files, unless that is kept already and `anew` is not asked for.
    pub(crate) async fn sync_evidence(
        &self,
        repo: &Repo,
        writer: &dyn IndexWriter,
        anew: bool,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        let state = self.store.code_state(repo.id).await.map_err(store_failure)?;
        if repo.sync.partial || (!anew && is_made_of(&state, repo) && self.can_read_evidence(repo.id).await?) {
            return Ok(());
        }
        cancel.check().map_err(git_failure)?;
        let mut there: HashSet<RepoPath> = HashSet::new();
        for snapshot in &state.snapshots {
            let part = ViewPart::snapshot(snapshot.id);
            let view = self.store.open_view(vec![part]).await.map_err(store_failure)?;
            there.extend(view.files().iter().map(|file| file.path.clone()));
        }
        let subjects = self.store.list_subjects(repo.id, evidence::MAX_FILES).await.map_err(store_failure)?;
        cancel.check().map_err(git_failure)?;
        let packed = blocking(move || evidence::pack(&subjects, &|path| there.contains(path))).await;
        let made_of = evidence::made_of(&repo.sync, &state);
        writer.put_evidence(repo.id, &made_of, packed).await.map_err(store_failure)
    }

    async fn can_read_evidence(&self, repo: RepoId) -> Result<bool, Failure> {
        let kept = self.store.evidence(repo).await.map_err(store_failure)?;
        Ok(kept.is_some_and(|(_, bytes)| Evidence::open(bytes).is_some()))
    }

    /// What the commits of a repository say about its files, read once for each time that it was made.
    async fn evidence(&self, repo: RepoId, number: i64) -> Result<Option<Arc<Evidence>>, StoreError> {
        let known = self.evidence.lock().unwrap_or_else(PoisonError::into_inner).get(&repo).cloned();
        if let Some((_, evidence)) = known.filter(|(known, _)| *known == number) {
            return Ok(Some(evidence));
        }
        self.reading.get((repo, number), self.read_evidence(repo)).await
    }

    async fn read_evidence(&self, repo: RepoId) -> Result<Option<Arc<Evidence>>, StoreError> {
        let Some((number, bytes)) = self.store.evidence(repo).await? else { return Ok(None) };
        let Some(evidence) = Evidence::open(bytes).map(Arc::new) else {
            tracing::warn!(%repo, "what commits say cannot be read: `lore sync` makes it anew");
            return Ok(None);
        };
        self.evidence.lock().unwrap_or_else(PoisonError::into_inner).insert(repo, (number, Arc::clone(&evidence)));
        Ok(Some(evidence))
    }

    /// When a commit was made, where its repository can still tell.
    async fn commit_time(&self, repo: &Repo, commit: CommitId) -> Option<i64> {
        let known = self.times.lock().unwrap_or_else(PoisonError::into_inner).get(&commit).copied();
        if known.is_some() {
            return known;
        }
        let place = repo.info.local_path.clone();
        let time = blocking(move || Repository::open(&place).and_then(|found| found.commit_time(commit)).ok()).await;
        // What cannot be told now may be told later.
        if let Some(time) = time {
            self.times.lock().unwrap_or_else(PoisonError::into_inner).insert(commit, time);
        }
        time
    }

    /// Brings what is known of a work tree up to date; `None` for a repository without one.
    ///
    /// What cannot be read is tried again after a pause; until then, what is known is given together with the reason.
    async fn look(&self, repo: &Repo, place: &Path, commit: CommitId, look: Look) -> Result<Option<Looked>, Failure> {
        let known = self.overlays.lock().unwrap_or_else(PoisonError::into_inner).get(place).cloned();
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).get(place).cloned();
        let paused = failed.filter(|(at, _)| matches!(look, Look::IfNeeded) && at.elapsed() < LOOK_PAUSE);
        let mut paused = paused.map(|(_, message)| Failure::new(Code::GitFailed, message));
        let tools = Tools {
            sink: self.store.overlay_sink(),
            embedder: Arc::clone(&self.embedder),
            runtime: tokio::runtime::Handle::current(),
        };
        let options =
            WorktreeOptions { user_excludes: self.settings.user_excludes.clone(), ..WorktreeOptions::default() };
        let ((_, globs), path) = (self.scope(repo), place.to_owned());
        let unknown = self.settings.unknown_ignore(&repo.info.local_path);
        let looked = blocking(move || {
            // What the project wants to be left out is not known, so nothing may be let in.
            if let Some(failure) = unknown {
                return Err(failure);
            }
            let watched = if let Some(watched) = known {
                watched
            } else {
                let has_work_tree = Repository::open(&path).is_ok_and(|found| found.work_tree().is_some());
                if !has_work_tree {
                    return Ok(None);
                }
                if let Some(failure) = paused.take() {
                    return Err(failure);
                }
                let overlay = Overlay::new(&path, commit, &globs, options)?;
                Arc::new(Mutex::new(Watched { overlay, looked: None, live: false }))
            };
            let mut state = watched.lock().unwrap_or_else(PoisonError::into_inner);
            let error = match paused {
                Some(failure) => Some(failure),
                None => state.look(commit, &globs, look, &tools).err(),
            };
            let (uncommitted, notes) = (state.overlay.len(), state.overlay.notes());
            let version = state.overlay.version_over(commit).unwrap_or(0);
            drop(state);
            Ok(Some(Looked { uncommitted, version, work: watched, notes, error }))
        })
        .await;
        self.note_failure(place, &looked);
        let Some(mut looked) = looked? else { return Ok(None) };
        let mut overlays = self.overlays.lock().unwrap_or_else(PoisonError::into_inner);
        looked.work = Arc::clone(overlays.entry(place.to_owned()).or_insert(looked.work));
        Ok(Some(looked))
    }

    /// Remembers a look that failed, from its first failure on, and forgets it after one that did not.
    fn note_failure(&self, place: &Path, looked: &Result<Option<Looked>, Failure>) {
        let failure = match looked {
            Ok(looked) => looked.as_ref().and_then(|looked| looked.error.as_ref()),
            Err(failure) => Some(failure),
        };
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(failure) = failure else {
            failed.remove(place);
            return;
        };
        if failed.get(place).is_none_or(|(at, _)| at.elapsed() >= LOOK_PAUSE) {
            tracing::warn!(%failure, place = %place.display(), "the work tree could not be looked at");
            failed.insert(place.to_owned(), (Instant::now(), failure.message.clone()));
        }
    }

    /// Begins to open a snapshot without uncommitted work.
    fn open_early(&self, repo: RepoId, snapshot: SnapshotId) -> tokio::task::JoinHandle<()> {
        let (store, views) = (Arc::clone(&self.store), Arc::clone(&self.views));
        tokio::spawn(async move {
            let key = vec![PartKey::committed(repo, snapshot)];
            let make = async {
                let loaded = views::open(&*store, vec![ViewPart::snapshot(snapshot)]).await?;
                Ok((key.clone(), loaded))
            };
            // Where it fails, it fails again when it is wanted.
            drop(views.get(key.clone(), make).await);
        })
    }

    /// The view over these parts, opened or remembered.
    async fn load(&self, parts: &[Part]) -> Result<Arc<Loaded>, StoreError> {
        let key = parts.iter().map(|part| {
            let committed = PartKey::committed(part.repo.id, part.snapshot.id);
            match &part.past {
                Some(past) => PartKey { past: Some(Arc::clone(&past.key)), ..committed },
                None => PartKey { version: part.version, ..committed },
            }
        });
        self.views.get(key.collect(), self.open_view(parts)).await
    }

    /// Opens the view over these parts.
    async fn open_view(&self, parts: &[Part]) -> Result<(ViewKey, Arc<Loaded>), StoreError> {
        let works: Vec<_> = parts
            .iter()
            .map(|part| (part.repo.id, part.snapshot.clone(), part.work.clone(), part.past.clone()))
            .collect();
        // Whoever holds a work tree may be waiting for an embedding service.
        let (key, wanted) = blocking(move || {
            let (mut key, mut wanted): (ViewKey, Vec<ViewPart>) = (Vec::new(), Vec::new());
            for (repo, snapshot, work, past) in works {
                let committed = PartKey::committed(repo, snapshot.id);
                if let Some(past) = past {
                    key.push(PartKey { past: Some(past.key), ..committed });
                    wanted.push(ViewPart { base: past.base, overlay: past.overlay });
                    continue;
                }
                let work = work.as_ref().map(|work| work.lock().unwrap_or_else(PoisonError::into_inner));
                // Where the work tree was laid over another commit meanwhile, the snapshot stands alone: the next question sees it.
                let version = work.as_ref().and_then(|work| work.overlay.version_over(snapshot.commit));
                key.push(PartKey { version: version.unwrap_or(0), ..committed });
                let input = work.filter(|_| version.is_some()).map(|work| work.overlay.input());
                wanted.push(ViewPart { base: Base::Snapshot(snapshot.id), overlay: input.unwrap_or_default() });
            }
            (key, wanted)
        })
        .await;
        Ok((key, views::open(&*self.store, wanted).await?))
    }
}

impl Watched {
    /// Looks as far as it is needed.
    fn look(&mut self, commit: CommitId, globs: &[String], look: Look, tools: &Tools) -> Result<(), Failure> {
        let rebased = !self.overlay.lies_over(commit, globs);
        if rebased {
            // Until a look succeeds, what is held is of another commit.
            self.looked = None;
            self.overlay.rebase(commit, globs)?;
        }
        let fresh = self.looked.is_some_and(|at| self.live || at.elapsed() < LOOK_AGAIN);
        self.live |= matches!(look, Look::Told(_));
        let paths = match look {
            Look::IfNeeded if fresh && !rebased => return Ok(()),
            Look::Told(Some(paths)) if !rebased && self.looked.is_some() => Some(paths),
            Look::IfNeeded | Look::Told(_) => None,
        };
        // Only a look counts as one: questions in quick succession must not put it off for ever.
        // After a failure, be it a panic, everything is looked at again.
        self.looked = None;
        let updated = self.overlay.update(paths.as_deref(), tools);
        self.looked = updated.is_ok().then(Instant::now);
        updated
    }
}

/// Uncommitted files of a work tree that are not searched.
async fn left_out_of(work: Option<Arc<Mutex<Watched>>>) -> Vec<LeftOut> {
    let Some(work) = work else { return Vec::new() };
    blocking(move || work.lock().unwrap_or_else(PoisonError::into_inner).overlay.left_out()).await
}

/// How a work tree is looked at.
enum Look {
    /// Unless it is known well enough.
    IfNeeded,
    /// At these files, or at all of them.
    Told(Option<Vec<RepoPath>>),
}

/// The snapshot that a work tree stands on: of its HEAD where that is indexed, else of what was its HEAD. Where neither is
/// indexed, only some branches are: then of the default branch, or of the first of the others.
///
/// Where a branch is asked about, only that one: as it is now, or as it was when it was indexed.
fn base<'a>(repo: &Repo, tips: Option<&Tips>, state: &'a lore_store::CodeState) -> Option<&'a SnapshotInfo> {
    let of = |commit: CommitId| state.snapshots.iter().find(|snapshot| snapshot.commit == commit);
    if let Some(branch) = &repo.shown {
        let was = || state.tips.iter().find(|tip| lore_git::is_ref_of(&tip.name, branch));
        return tips.and_then(|tips| tips.shown).and_then(of).or_else(|| was().and_then(|tip| of(tip.commit)));
    }
    let was = state.tips.iter().find(|tip| tip.name == "HEAD").map(|tip| tip.commit);
    let default = repo.info.default_branch.as_deref();
    let is_default = |name: &str| default.is_some_and(|default| lore_git::is_ref_of(name, default));
    let named = || state.tips.iter().filter(|tip| is_default(&tip.name)).chain(&state.tips);
    tips.and_then(|tips| tips.head)
        .and_then(of)
        .or_else(|| was.and_then(of))
        .or_else(|| named().find_map(|tip| of(tip.commit)))
        .or_else(|| state.snapshots.first())
}

/// The branch that is asked about is not in the repository.
fn no_such_branch(repo: &Repo, branch: &str, state: &lore_store::CodeState) -> Failure {
    let mut known: Vec<&str> = state
        .tips
        .iter()
        .filter_map(|tip| tip.name.strip_prefix("refs/heads/"))
        .filter(|name| *name != branch)
        .collect();
    known.sort_unstable();
    let failure = Failure::new(
        Code::InvalidArgument,
        format!("{} has no branch `{}`: it is gone, or never was there", repo.name(), lore_model::brief(branch)),
    );
    match known.as_slice() {
        [] => failure.hint("choose another branch"),
        known => failure.hint(format!("choose another branch; indexed are: {}", known.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use lore_embed::StaticModel;
    use lore_git::Git;
    use lore_model::{BranchChoice, NewRepo, RepoName, SyncState, Tip};
    use lore_store_embedded::{EmbeddedMessages, EmbeddedStore};

    use super::*;
    use crate::{
        Lore, SystemClock,
        commands::Commands,
        flows::FlowTask,
        history::{AddRequest, History, Places, SyncOptions, Target},
        messages::Messages,
    };

    /// While one question waits for an embedding service, it holds what is known of the work tree; others wait for that, and
    /// must not keep the threads that serve everybody.
    #[tokio::test]
    async fn a_work_tree_that_is_held_keeps_no_async_thread() {
        let dir = tempfile::tempdir().unwrap();
        let folder = lore_testkit::Repo::init(dir.path().join("r"));
        folder.write("a.rs", "pub fn a() {}\n").commit("Begin");
        folder.write("b.rs", "pub fn b() {}\n");
        let home = dir.path().join("home");
        let store = Arc::new(EmbeddedStore::new(&home));
        let places = Places { clones: home.join("clones"), git: home.join("git") };
        let history = History::new(Arc::clone(&store) as _, Git::new("git"), places, Arc::new(SystemClock));
        let model = Arc::new(StaticModel::built_in());
        let search = Search::new(store, model, Arc::new(SystemClock), Settings::default());
        let messages = Messages::new(Arc::new(EmbeddedMessages::new(&home)), Arc::new(SystemClock), None);
        let lore = Lore {
            history: Arc::new(history),
            search: Arc::new(search),
            messages: Arc::new(messages),
            commands: Arc::new(Commands::new(None)),
        };
        let writer = lore.history.writer(|| {}).await.unwrap();
        let added = AddRequest::new(Target::Folder(folder.path().to_owned()));
        let repo = lore.history.add(&*writer, added).await.unwrap();
        let (options, cancel) = (SyncOptions::default(), Cancel::default());
        let task = FlowTask { writer: &*writer, options: &options, cancel: &cancel, progress: &|_| {} };
        lore.sync_code(&repo, &task).await.unwrap();
        let search = &lore.search;
        let place = repo.info.local_path.clone();
        search.touch(&repo, &place, None).await.unwrap();
        let work = search.overlays.lock().unwrap().values().next().cloned().unwrap();
        let state = search.state(repo.id).await.unwrap();
        let part = search.part(&repo, &state, None, false).await.unwrap().unwrap();
        assert_ne!(part.version, 0, "something is uncommitted");

        let parts = [part];
        let waits: [futures::future::BoxFuture<'_, ()>; 3] = [
            Box::pin(async { drop(search.load(&parts).await.unwrap()) }),
            Box::pin(async { drop(search.uncommitted_left_out(&repo).await.unwrap()) }),
            Box::pin(search.unwatch(&place)),
        ];
        for wait in waits {
            let (held, is_held) = tokio::sync::oneshot::channel();
            let work = Arc::clone(&work);
            let (release, released) = std::sync::mpsc::channel::<()>();
            let holder = std::thread::spawn(move || {
                let _state = work.lock().unwrap();
                held.send(()).unwrap();
                // Whoever is kept from releasing it gives up after a while.
                released.recv_timeout(Duration::from_secs(5)).is_ok()
            });
            is_held.await.unwrap();
            let other = async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                release.send(()).is_ok()
            };
            let ((), sent) = tokio::join!(wait, other);
            assert!(sent && holder.join().unwrap(), "others went on meanwhile");
        }
    }

    #[test]
    fn where_head_is_not_indexed_the_default_branch_answers() {
        let commit = |digit: char| CommitId::from_hex(digit.to_string().repeat(40).as_bytes()).unwrap();
        let snapshot = |id: i64, commit: CommitId| SnapshotInfo {
            id: SnapshotId(id),
            commit,
            files: 1,
            chunks: 1,
            lines: 1,
            bytes: 1,
        };
        let tip = |name: &str, commit: CommitId| Tip { name: name.to_owned(), commit };
        let mut repo = Repo {
            id: RepoId(1),
            info: NewRepo {
                name: RepoName::parse("r").unwrap(),
                local_path: PathBuf::from("/r"),
                source: Source::Local,
                default_branch: Some("trunk".to_owned()),
                branches: BranchChoice::Named(vec!["next".to_owned(), "old".to_owned(), "trunk".to_owned()]),
                excludes: Vec::new(),
                author_filter: None,
                fork_of: None,
            },
            added_at: None,
            sync: SyncState::default(),
            shown: None,
            alone: false,
        };
        let state = lore_store::CodeState {
            tips: vec![
                tip("refs/heads/next", commit('2')),
                tip("refs/heads/old", commit('1')),
                tip("refs/heads/trunk", commit('3')),
            ],
            // In the order in which they were made.
            snapshots: vec![snapshot(1, commit('1')), snapshot(2, commit('2')), snapshot(3, commit('3'))],
            ..lore_store::CodeState::default()
        };
        let answers = |repo: &Repo| base(repo, None, &state).map(|snapshot| snapshot.id);
        assert_eq!(answers(&repo), Some(SnapshotId(3)));
        repo.info.default_branch = None;
        assert_eq!(answers(&repo), Some(SnapshotId(2)), "the first that was named");
        for (branch, expected) in [("old", Some(SnapshotId(1))), ("next", Some(SnapshotId(2))), ("other", None)] {
            repo.shown = Some(branch.to_owned());
            assert_eq!(answers(&repo), expected, "only the branch that is asked about: {branch}");
        }
    }
}
