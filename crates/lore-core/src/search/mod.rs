//! Code: asking it, and keeping its index.

mod answer;
mod chunk_files;
mod export;
mod index;
mod overlay;
mod overview;
mod query;
mod rank;
mod reading;
mod signals;
mod snippet;
mod tips;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

pub use answer::{CodeAnswer, CodeFreshness, CodeHit, CodeRequest, CodeState, LIMIT_DEFAULT, LIMIT_MAX};
pub use chunk_files::{ChunkAnswer, ChunkFiles, ChunkHit, FileChunk};
pub use export::{Export, ExportedChunk};
pub use index::{CodeEvent, CodeReport, CodeTask};
use lore_embed::Embedder;
use lore_git::{Repository, WorktreeOptions};
use lore_model::{CommitId, Failure, Repo, RepoId, RepoPath};
use lore_store::{CodeView, IndexStore, LeftOut, SnapshotId, SnapshotInfo, SnapshotSummary, StoreError, ViewPart};
use overlay::{Overlay, Tools};
pub use overview::CodeOverview;
pub use query::{Query, QueryKind};
pub use rank::{Explanation, Parts};
use signals::PathIndex;
pub use signals::Role;
pub use snippet::{Snippet, estimate_tokens};
use tips::{TipCache, Tips};

use crate::{Clock, blocking, store_failure};

/// A work tree that nobody watches is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Views that are kept: the project's, and those of a few others that were asked for.
const MAX_VIEWS: usize = 4;

/// How often a question is asked again when what it reads is replaced meanwhile.
const TRIES: usize = 4;

/// What a user may set.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Files that are left out, as lines of an ignore file.
    pub ignore: Vec<String>,
    /// The user's own file of git ignore rules.
    pub user_excludes: Option<PathBuf>,
    /// Gives what a repository itself wants to be left out, as lines of an ignore file.
    pub project_ignore: Option<fn(&Path) -> Vec<String>>,
}

impl Settings {
    /// What is left out of the repository at this place.
    fn ignore_at(&self, place: &Path) -> Vec<String> {
        let mut lines = self.ignore.clone();
        lines.extend(self.project_ignore.map(|ask| ask(place)).unwrap_or_default());
        lines
    }
}

/// The code of all registered repositories.
pub struct Search {
    store: Arc<dyn IndexStore>,
    embedder: Arc<dyn Embedder>,
    clock: Arc<dyn Clock>,
    settings: Settings,
    overlays: Mutex<HashMap<PathBuf, Arc<Mutex<Watched>>>>,
    views: Mutex<Vec<(ViewKey, Arc<Loaded>)>>,
    tips: Arc<TipCache>,
    /// When the commits that were searched were made.
    times: Mutex<HashMap<CommitId, Option<i64>>>,
}

/// A work tree and how well it is known.
struct Watched {
    overlay: Overlay,
    looked: Option<Instant>,
    /// Whether somebody says which files change.
    live: bool,
}

/// Which snapshots and which state of their work trees a view shows.
type ViewKey = Vec<(SnapshotId, u64)>;

/// A view with what is derived from its paths.
struct Loaded {
    view: Arc<dyn CodeView>,
    paths: PathIndex,
}

/// One repository in an answer.
struct Part {
    repo: Repo,
    snapshot: SnapshotInfo,
    uncommitted: usize,
    work: Option<Arc<Mutex<Watched>>>,
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
            clock,
            settings,
            overlays: Mutex::default(),
            views: Mutex::default(),
            tips: Arc::default(),
            times: Mutex::default(),
        }
    }

    /// The user's own file of git ignore rules.
    pub(crate) fn user_excludes(&self) -> Option<PathBuf> {
        self.settings.user_excludes.clone()
    }

    /// The name of the model in use.
    pub fn model(&self) -> &str {
        self.embedder.model()
    }

    /// The chunk files in a folder, read with the same model.
    pub async fn open_chunk_files(&self, folder: &Path) -> Result<ChunkFiles, Failure> {
        ChunkFiles::open(folder, Arc::clone(&self.store), Arc::clone(&self.embedder)).await
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
        let part = self.part(repo, &state, None).await?;
        let work = part.and_then(|part| part.work);
        Ok(work.map_or_else(Vec::new, |work| work.lock().unwrap_or_else(PoisonError::into_inner).overlay.left_out()))
    }

    /// Takes note that these files of a work tree may have changed; `None` for all of them.
    ///
    /// From now on the caller says what changes, until [`Self::unwatch`].
    pub async fn touch(&self, repo: &Repo, place: &Path, paths: Option<Vec<RepoPath>>) -> Result<(), Failure> {
        let state = self.state(repo.id).await?;
        let tips = self.tips(repo, place).await;
        let Some(snapshot) = base(tips.as_ref(), &state) else { return Ok(()) };
        self.look(repo, place, snapshot.commit, Look::Told(paths)).await?;
        Ok(())
    }

    /// Takes note that nobody says any more what changes in a work tree.
    pub fn unwatch(&self, place: &Path) {
        let watched = self.overlays.lock().unwrap_or_else(PoisonError::into_inner).get(place).cloned();
        if let Some(watched) = watched {
            watched.lock().unwrap_or_else(PoisonError::into_inner).live = false;
        }
    }

    /// Where the refs point, seen from a work tree; `None` where the repository cannot be read.
    async fn tips(&self, repo: &Repo, place: &Path) -> Option<Tips> {
        let (cache, repo, place) = (Arc::clone(&self.tips), repo.clone(), place.to_owned());
        blocking(move || cache.at(&repo, &place)).await
    }

    /// The part of a view that shows a repository; `None` where nothing of it is indexed.
    async fn part(
        &self,
        repo: &Repo,
        state: &lore_store::CodeState,
        place: Option<&Path>,
    ) -> Result<Option<Part>, Failure> {
        let place = place.unwrap_or(&repo.info.local_path);
        let tips = self.tips(repo, place).await;
        let Some(snapshot) = base(tips.as_ref(), state) else { return Ok(None) };
        let (repo, snapshot) = (repo.clone(), snapshot.clone());
        // Where the repository has gone, what was indexed of it can still be searched.
        let looked = match self.look(&repo, place, snapshot.commit, Look::IfNeeded).await {
            Ok(looked) => looked,
            Err(failure) => {
                tracing::debug!(%failure, place = %place.display(), "the work tree could not be looked at");
                None
            }
        };
        let (uncommitted, work) = looked.map_or((0, None), |(count, work)| (count, Some(work)));
        Ok(Some(Part { repo, snapshot, uncommitted, work }))
    }

    /// When a commit was made, where its repository can still tell.
    async fn commit_time(&self, repo: &Repo, commit: CommitId) -> Option<i64> {
        let known = self.times.lock().unwrap_or_else(PoisonError::into_inner).get(&commit).copied();
        if let Some(known) = known {
            return known;
        }
        let place = repo.info.local_path.clone();
        let time = blocking(move || Repository::open(&place).and_then(|found| found.commit_time(commit)).ok()).await;
        self.times.lock().unwrap_or_else(PoisonError::into_inner).insert(commit, time);
        time
    }

    /// Brings what is known of a work tree up to date; `None` for a repository without one.
    async fn look(
        &self,
        repo: &Repo,
        place: &Path,
        commit: CommitId,
        look: Look,
    ) -> Result<Option<(usize, Arc<Mutex<Watched>>)>, Failure> {
        let known = self.overlays.lock().unwrap_or_else(PoisonError::into_inner).get(place).cloned();
        let tools = Tools {
            sink: self.store.overlay_sink(),
            embedder: Arc::clone(&self.embedder),
            runtime: tokio::runtime::Handle::current(),
        };
        let options =
            WorktreeOptions { user_excludes: self.settings.user_excludes.clone(), ..WorktreeOptions::default() };
        let ((_, globs), path) = (self.scope(repo), place.to_owned());
        let looked = blocking(move || {
            let watched = if let Some(watched) = known {
                watched
            } else {
                let has_work_tree = Repository::open(&path).is_ok_and(|found| found.work_tree().is_some());
                if !has_work_tree {
                    return Ok(None);
                }
                let overlay = Overlay::new(&path, commit, &globs, options)?;
                Arc::new(Mutex::new(Watched { overlay, looked: None, live: false }))
            };
            let mut state = watched.lock().unwrap_or_else(PoisonError::into_inner);
            let rebased = state.overlay.version_over(commit).is_none();
            if rebased {
                // Until a look succeeds, what is held is of another commit.
                state.looked = None;
                state.overlay.rebase(commit, &globs)?;
            }
            let fresh = state.looked.is_some_and(|at| state.live || at.elapsed() < LOOK_AGAIN);
            state.live |= matches!(look, Look::Told(_));
            let paths = match look {
                Look::IfNeeded if fresh && !rebased => None,
                Look::Told(Some(paths)) if !rebased && state.looked.is_some() => Some(Some(paths)),
                Look::IfNeeded | Look::Told(_) => Some(None),
            };
            // Only a look counts as one: questions in quick succession must not put it off for ever.
            if let Some(paths) = paths {
                let updated = state.overlay.update(paths.as_deref(), &tools);
                // After a failure everything is looked at again.
                state.looked = updated.is_ok().then(Instant::now);
                updated?;
            }
            let count = state.overlay.len();
            drop(state);
            Ok(Some((count, watched)))
        });
        let Some((count, watched)) = looked.await? else { return Ok(None) };
        let mut overlays = self.overlays.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Some((count, Arc::clone(overlays.entry(place.to_owned()).or_insert(watched)))))
    }

    /// The view over these parts, opened or remembered.
    async fn load(&self, parts: &[Part]) -> Result<Arc<Loaded>, StoreError> {
        let version = |part: &Part| {
            let version = |work: &Arc<Mutex<Watched>>| {
                work.lock().unwrap_or_else(PoisonError::into_inner).overlay.version_over(part.snapshot.commit)
            };
            part.work.as_ref().and_then(version).unwrap_or(0)
        };
        let key: ViewKey = parts.iter().map(|part| (part.snapshot.id, version(part))).collect();
        {
            let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = views.iter().position(|(known, _)| *known == key) {
                let found = views.remove(at);
                let loaded = Arc::clone(&found.1);
                views.push(found);
                return Ok(loaded);
            }
        }
        let (mut key, mut wanted): (ViewKey, Vec<ViewPart>) = (Vec::new(), Vec::new());
        for part in parts {
            let work = part.work.as_ref().map(|work| work.lock().unwrap_or_else(PoisonError::into_inner));
            // Where the work tree was laid over another commit meanwhile, the snapshot stands alone: the next question sees it.
            let version = work.as_ref().and_then(|work| work.overlay.version_over(part.snapshot.commit));
            key.push((part.snapshot.id, version.unwrap_or(0)));
            let input = work.filter(|_| version.is_some()).map(|work| work.overlay.input());
            wanted.push(ViewPart { snapshot: Some(part.snapshot.id), overlay: input.unwrap_or_default() });
        }
        let view = self.store.open_view(wanted).await?;
        let loaded = blocking(move || {
            let paths = PathIndex::new(&*view);
            Arc::new(Loaded { view, paths })
        })
        .await;
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        // An older state of the same work tree is not asked for again.
        let snapshots = |key: &ViewKey| key.iter().map(|(id, _)| *id).collect::<Vec<_>>();
        views.retain(|(known, _)| snapshots(known) != snapshots(&key));
        if views.len() >= MAX_VIEWS {
            views.remove(0);
        }
        views.push((key, Arc::clone(&loaded)));
        Ok(loaded)
    }
}

/// How a work tree is looked at.
enum Look {
    /// Unless it is known well enough.
    IfNeeded,
    /// At these files, or at all of them.
    Told(Option<Vec<RepoPath>>),
}

/// The snapshot that a work tree stands on: of its HEAD where that is indexed, else of what was its HEAD.
fn base<'a>(tips: Option<&Tips>, state: &'a lore_store::CodeState) -> Option<&'a SnapshotInfo> {
    let of = |commit: CommitId| state.snapshots.iter().find(|snapshot| snapshot.commit == commit);
    let was = state.tips.iter().find(|tip| tip.name == "HEAD").map(|tip| tip.commit);
    tips.and_then(|tips| tips.head).and_then(of).or_else(|| was.and_then(of)).or_else(|| state.snapshots.first())
}
