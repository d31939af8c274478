//! Code: asking it, and keeping its index.

mod answer;
#[cfg(test)]
mod any_question;
mod chunk_files;
mod chunk_folder;
mod chunk_watch;
mod embedding;
mod evidence;
mod exact;
mod export;
mod filter;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod index;
mod indexed;
mod keep_evidence;
mod lines;
mod overlay;
mod overview;
mod part;
mod past;
mod project_ignore;
mod query;
mod rank;
mod reading;
mod related;
mod second;
mod settings;
mod shared;
mod signals;
mod snippet;
mod tips;
mod views;
mod work_tree;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

pub use answer::{CodeAnswer, CodeFreshness, CodeHit, CodeRequest, CodeState, LIMIT_DEFAULT, LIMIT_MAX};
pub use chunk_files::{ChunkAnswer, ChunkFiles, ChunkHit, ChunksPlace, FileChunk};
pub use embedding::{EmbedEvent, EmbedReport};
use evidence::{Evidence, KeptEvidence};
pub use export::{Export, ExportedChunk};
pub use filter::FileFilter;
pub(crate) use filter::prefixes;
pub use index::{CodeEvent, CodeReport, CodeTask};
pub use indexed::IndexedFiles;
pub use lines::{CONTEXT_MAX, LineHit, LinesAnswer, LinesRequest, LinesWanted, MAX_CHANGES};
use lore_embed::Embedder;
use lore_git::Repository;
use lore_model::{CommitId, Failure, Repo, RepoId};
pub use lore_store::Accuracy;
use lore_store::{IndexStore, SnapshotId, SnapshotSummary};
pub use overview::CodeOverview;
use part::Part;
pub use past::{
    ChangeKind, CommitFound, CommitText, CommitsAnswer, CommitsRequest, Happened, OfPast, PastGaps, PastReport, Period,
    Standing, Story, StoryBudget, StoryEntry, Told, When,
};
pub use project_ignore::ProjectIgnore;
pub(crate) use query::content_words;
pub use query::{Query, QueryKind};
pub use rank::{Effect, Explanation, Parts};
pub use related::{RelatedAnswer, RelatedRequest};
pub use second::{Second, SecondState};
pub use settings::Settings;
use shared::Shared;
pub use signals::Role;
pub use snippet::{Snippet, estimate_tokens};
use tips::TipCache;
use views::{Loaded, Views};
use work_tree::Watched;

use crate::{Clock, store_failure, sync_progress::SyncProgress};

/// How long those wait for a model who use one only.
const CHOSEN_WAIT: Duration = Duration::from_secs(30);

/// How often a question is asked again when what it reads is replaced meanwhile.
const TRIES: usize = 4;

/// Of so many commits it is remembered when they were made.
const MAX_TIMES: usize = 4096;

/// Code search over all registered repositories.
pub struct Search {
    /// The state of the index and of work trees.
    pub reader: Arc<IndexReader>,
    /// Writes the index.
    pub index: CodeIndex,
    /// Queries about the code as it is.
    pub query: CodeQuery,
    /// Queries about former versions.
    pub temporal: TemporalSearch,
}

/// Reads the index: which snapshots are there, how fresh they are, and views of them with uncommitted work.
pub struct IndexReader {
    store: Arc<dyn IndexStore>,
    /// The built-in model, which indexes everything.
    embedder: Arc<dyn Embedder>,
    settings: Settings,
    overlays: Mutex<HashMap<PathBuf, Arc<Mutex<Watched>>>>,
    views: Arc<Views>,
    tips: Arc<TipCache>,
    /// Times of the commits that were searched.
    times: Mutex<HashMap<CommitId, i64>>,
    /// Work-tree scans that failed: when and why.
    failed: Mutex<HashMap<PathBuf, (Instant, String)>>,
    syncing: SyncProgress,
}

/// Reads repositories into the index.
pub struct CodeIndex {
    reader: Arc<IndexReader>,
    second: Option<Arc<Second>>,
    clock: Arc<dyn Clock>,
}

/// Answers queries about code.
pub struct CodeQuery {
    reader: Arc<IndexReader>,
    temporal: TemporalSearch,
    /// The configured model, besides the built-in one.
    second: Option<Arc<Second>>,
    /// What commits say about the files of repositories.
    evidence: Mutex<KeptEvidence>,
    reading: Shared<(RepoId, i64), Option<Arc<Evidence>>>,
}

/// Answers queries about former versions of code, from the temporal index.
#[derive(Clone)]
pub struct TemporalSearch {
    reader: Arc<IndexReader>,
}

impl Search {
    /// Code kept in this store, embedded by this embedder.
    pub fn new(
        store: Arc<dyn IndexStore>,
        embedder: Arc<dyn Embedder>,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> Self {
        let reader = Arc::new(IndexReader {
            store,
            embedder,
            views: Arc::new(Views::new(settings.views)),
            settings,
            overlays: Mutex::default(),
            tips: Arc::default(),
            times: Mutex::default(),
            failed: Mutex::default(),
            syncing: SyncProgress::default(),
        });
        let temporal = TemporalSearch { reader: Arc::clone(&reader) };
        Self {
            index: CodeIndex { reader: Arc::clone(&reader), second: None, clock },
            query: CodeQuery {
                reader: Arc::clone(&reader),
                temporal: temporal.clone(),
                second: None,
                evidence: Mutex::default(),
                reading: Shared::default(),
            },
            temporal,
            reader,
        }
    }

    /// Adds a configured model to the built-in one.
    #[must_use]
    pub fn with_second(mut self, second: Option<Second>) -> Self {
        self.query.second = second.map(Arc::new);
        self.index.second.clone_from(&self.query.second);
        self
    }
}

impl IndexReader {
    /// The user's own file of git ignore rules.
    pub(crate) fn user_excludes(&self) -> Option<PathBuf> {
        self.settings.user_excludes.clone()
    }

    /// What is indexed of a repository, and whether that is all.
    pub fn state(&self, repo: RepoId) -> Result<lore_store::CodeState, Failure> {
        self.store.code_state(repo).map_err(store_failure)
    }

    /// Languages of a snapshot, and what is left out of it.
    pub fn summarise(&self, snapshot: SnapshotId) -> Result<SnapshotSummary, Failure> {
        self.store.summarise(snapshot).map_err(store_failure)
    }

    /// Bytes on disk that hold code.
    pub fn bytes(&self) -> Result<u64, Failure> {
        self.store.code_bytes().map_err(store_failure)
    }

    /// Reads what the repository itself wants to be left out, before it is brought up to date.
    ///
    /// Where that cannot be read and never could, and something is indexed, it fails: what was left out must not come in
    /// by a slip in a file.
    pub(crate) fn refresh_ignore(&self, repo: &Repo) -> Result<(), Failure> {
        let problem = {
            self.settings.refresh_ignore(&repo.info.local_path);
            self.settings.unknown_ignore(&repo.info.local_path)
        };
        let Some(failure) = problem else { return Ok(()) };
        if self.state(repo.id)?.snapshots.is_empty() {
            return Ok(());
        }
        Err(failure)
    }

    /// When a commit was made, where its repository can still tell.
    fn commit_time(&self, repo: &Repo, commit: CommitId) -> Option<i64> {
        let known = self.times.lock().unwrap_or_else(PoisonError::into_inner).get(&commit).copied();
        if known.is_some() {
            return known;
        }
        let time = Repository::open(&repo.info.local_path).and_then(|found| found.commit_time(commit)).ok();
        // What cannot be told now may be told later.
        if let Some(time) = time {
            let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
            // Each refresh brings another commit; those of before are not asked about again.
            if times.len() >= MAX_TIMES {
                times.clear();
            }
            times.insert(commit, time);
        }
        time
    }
}

impl CodeQuery {
    /// The name of the model that indexes.
    pub fn model(&self) -> &str {
        self.reader.embedder.model()
    }

    /// What is configured besides the model that indexes.
    pub fn second(&self) -> Option<&Second> {
        self.second.as_deref()
    }

    /// The chunk files in a folder, read with the configured model alone. It must give vectors as long as the files have.
    pub fn open_chunk_files(&self, place: ChunksPlace) -> Result<ChunkFiles, Failure> {
        let embedder = self.chosen()?;
        if embedder.dimensions() != lore_embed::DIMENSIONS {
            return Err(index::embed_failure(lore_embed::EmbedError::WrongDimensions {
                model: embedder.model().to_owned(),
                expected: lore_embed::DIMENSIONS,
                got: embedder.dimensions(),
            }));
        }
        ChunkFiles::open(place, Arc::clone(&self.reader.store), embedder)
    }

    /// The configured model for those who use one only, after it has shown that it answers.
    fn chosen(&self) -> Result<Arc<dyn Embedder>, Failure> {
        let Some(second) = &self.second else { return Ok(Arc::clone(&self.reader.embedder)) };
        second.embedder.embed_query("hello", CHOSEN_WAIT).map_err(index::embed_failure)?;
        Ok(Arc::clone(&second.embedder))
    }
}
