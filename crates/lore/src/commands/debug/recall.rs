//! `lore debug recall`: how often the store's compact vectors find what exact ones would.
//!
//! The vectors are those that the store is given while a repository is indexed for the first time; nothing is embedded
//! in another way for the comparison.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use lore_core::{search::CodeTask, store_failure};
use lore_embed::Mode;
use lore_model::{Code, Failure, RepoId, RepoPath};
use lore_store::{
    Ask, BlobKey, ChunkId, ChunkInput, ChunkKey, ChunkSink, CodeEnd, CodeState, CodeStore as _, CodeView, CodeWriter,
    Collected, FieldWeight, NewBlob, NewPast, PastInfo, PreparedChunk, Result as StoreResult, ViewPart,
};
use lore_store_embedded::EmbeddedStore;
use serde_json::json;

use super::{super::embedding, super::project::cancel_on_interrupt, Context, absolute, read_queries, register};

/// So many of the best are compared.
const BEST: u16 = 10;

/// So many the ranking looks at.
const CANDIDATES: u16 = 200;

/// Compare the store's vectors with exact ones; `LORE_HOME` must be empty
#[derive(clap::Args)]
pub(super) struct Args {
    /// The repository
    path: PathBuf,
    /// One question on each line, as it is or as an object with `query`
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
}

pub(super) async fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let queries = read_queries(&absolute(&args.queries))?;
    let repo = register(context, absolute(&args.path)).await?;
    let writer = context.writer().await?;
    let sink = Arc::new(Sink { inner: CodeWriter::sink(&*writer), vectors: Mutex::default() });
    let recorder = Recorder { inner: &*writer, sink, seen: Mutex::default() };
    let task = CodeTask {
        writer: &recorder,
        jobs: None,
        retry_missing: false,
        cancel: &cancel_on_interrupt(),
        progress: &|_| {},
    };
    context.lore.search.sync(&repo, &task).await?;
    let state = context.lore.search.state(repo.id).await?;
    let nothing = || Failure::new(Code::InvalidArgument, "nothing was read").hint("use an empty LORE_HOME");
    let snapshot = state.snapshots.last().ok_or_else(nothing)?;
    // The store is named here because its own way to keep vectors is what is measured.
    let store = EmbeddedStore::new(&context.loaded.home);
    let part = ViewPart::snapshot(snapshot.id);
    let view = store.open_view(vec![part]).await.map_err(store_failure)?;
    let exact = recorder.exact(&*view).map_err(store_failure)?;
    if exact.is_empty() {
        return Err(nothing());
    }
    let embedder = lore_embed::connect(&lore_embed::ProviderConfig::default()).map_err(embedding)?;
    let mut recalls = Vec::new();
    for query in &queries {
        let Some(vector) = embedder.embed(&[query], Mode::Query).await.map_err(embedding)?.pop() else { continue };
        if vector.iter().any(|value| *value != 0.0) {
            recalls.push(recall(&*view, &exact, &vector).map_err(store_failure)?);
        }
    }
    let share = |of: fn(&Recall) -> u16| {
        mean(recalls.iter().map(|recall| f64::from(of(recall)) / f64::from(recall.wanted.max(1))))
    };
    context.ui.value(&json!({
        "model": embedder.model(),
        "vectors": exact.len(),
        "queries": recalls.len(),
        "recall_at_10": share(|recall| recall.found),
        "recall_of_10_in_candidates": share(|recall| recall.among_candidates),
        "worst_of_10": recalls.iter().map(|recall| recall.found).min(),
        "mean_error_of_cosine": mean(recalls.iter().map(|recall| f64::from(recall.error))),
    }))
}

/// How one question fared.
struct Recall {
    wanted: u16,
    found: u16,
    among_candidates: u16,
    error: f32,
}

fn recall(view: &dyn CodeView, exact: &HashMap<ChunkId, Vec<f32>>, query: &[f32]) -> StoreResult<Recall> {
    let scores: HashMap<ChunkId, f32> = exact.iter().map(|(chunk, vector)| (*chunk, dot(vector, query))).collect();
    let mut sorted: Vec<f32> = scores.values().copied().collect();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let wanted = u16::try_from(sorted.len()).map_or(BEST, |all| all.min(BEST));
    // Chunks that are as near as the tenth are as good as the tenth.
    let least = sorted.get(usize::from(wanted).saturating_sub(1)).copied().unwrap_or(0.0) - 1e-6;
    let found = nearest(view, query, BEST)?;
    let candidates = nearest(view, query, CANDIDATES)?;
    let good = |found: &[(ChunkId, f32)]| {
        let good = found.iter().filter(|(chunk, _)| scores.get(chunk).is_some_and(|score| *score >= least));
        u16::try_from(good.count()).map_or(wanted, |count| count.min(wanted))
    };
    let errors = found.iter().filter_map(|(chunk, score)| Some((scores.get(chunk)? - score).abs()));
    let error = errors.fold((0.0, 0.0), |(sum, count), error| (sum + error, count + 1.0));
    Ok(Recall {
        wanted,
        found: good(&found),
        among_candidates: good(&candidates),
        error: error.0 / f32::max(error.1, 1.0),
    })
}

/// The best by vector alone, as the store sees it.
fn nearest(view: &dyn CodeView, query: &[f32], top: u16) -> StoreResult<Vec<(ChunkId, f32)>> {
    let top = usize::from(top);
    let fields = [FieldWeight { weight: 1.0, length: 0.5 }; 3];
    let ask = Ask { words: &[], fields, vector: Some(query), boosts: &[], allowed: None, also: &[], top };
    let found = view.search(&ask)?;
    let mut found: Vec<(ChunkId, f32)> =
        found.into_iter().filter_map(|scored| Some((scored.chunk, scored.vector?))).collect();
    found.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));
    found.truncate(top);
    Ok(found)
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / f64::max(count, 1.0)
}

/// Keeps what goes to the store.
struct Sink {
    inner: Arc<dyn ChunkSink>,
    vectors: Mutex<HashMap<ChunkKey, Vec<f32>>>,
}

impl ChunkSink for Sink {
    fn claim(&self, key: &ChunkKey) -> bool {
        self.inner.claim(key)
    }

    fn prepare(&self, chunk: &ChunkInput<'_>) -> PreparedChunk {
        if let Some(vector) = chunk.vector {
            self.vectors.lock().unwrap_or_else(PoisonError::into_inner).insert(chunk.key, vector.to_vec());
        }
        self.inner.prepare(chunk)
    }
}

/// Which content has which chunks, and where it is.
#[derive(Default)]
struct Seen {
    chunks: HashMap<BlobKey, Vec<ChunkKey>>,
    files: HashMap<RepoPath, BlobKey>,
}

/// A writer that keeps what passes.
struct Recorder<'a> {
    inner: &'a dyn CodeWriter,
    sink: Arc<Sink>,
    seen: Mutex<Seen>,
}

impl Recorder<'_> {
    /// The vectors by the numbers that the view has for them.
    fn exact(&self, view: &dyn CodeView) -> StoreResult<HashMap<ChunkId, Vec<f32>>> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let vectors = self.sink.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        let mut exact = HashMap::new();
        for (file, place) in view.files().iter().enumerate() {
            let Some(keys) = seen.files.get(&place.path).and_then(|key| seen.chunks.get(key)) else { continue };
            let record = view.record(file)?;
            for (key, entry) in keys.iter().zip(&record.entries) {
                if let Some(vector) = vectors.get(key) {
                    exact.insert(entry.chunk, vector.clone());
                }
            }
        }
        Ok(exact)
    }
}

#[async_trait]
impl CodeWriter for Recorder<'_> {
    async fn begin_code(&self, repo: RepoId, rules: &str) -> StoreResult<CodeState> {
        self.inner.begin_code(repo, rules).await
    }

    async fn known_blobs(&self, rules: &str, keys: Vec<BlobKey>) -> StoreResult<HashSet<BlobKey>> {
        self.inner.known_blobs(rules, keys).await
    }

    fn sink(&self) -> Arc<dyn ChunkSink> {
        Arc::clone(&self.sink) as _
    }

    async fn put_blobs(&self, rules: &str, blobs: Vec<NewBlob>) -> StoreResult<()> {
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            for blob in &blobs {
                let keys = blob.record.entries.iter().map(|entry| entry.chunk).collect();
                seen.chunks.insert(blob.key.clone(), keys);
            }
        }
        self.inner.put_blobs(rules, blobs).await
    }

    async fn flush(&self) -> StoreResult<()> {
        self.inner.flush().await
    }

    async fn end_code(&self, repo: RepoId, end: CodeEnd) -> StoreResult<CodeState> {
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let files = end.snapshots.iter().flat_map(|snapshot| &snapshot.files);
            seen.files.extend(files.map(|file| (file.path.clone(), file.key.clone())));
        }
        self.inner.end_code(repo, end).await
    }

    async fn put_evidence(&self, repo: RepoId, made_of: &str, bytes: Vec<u8>) -> StoreResult<()> {
        self.inner.put_evidence(repo, made_of, bytes).await
    }

    async fn want_past(&self, repo: RepoId, wanted: bool) -> StoreResult<()> {
        self.inner.want_past(repo, wanted).await
    }

    async fn put_past(&self, repo: RepoId, past: NewPast) -> StoreResult<PastInfo> {
        self.inner.put_past(repo, past).await
    }

    async fn retire_code(&self, repos: Vec<RepoId>) -> StoreResult<()> {
        self.inner.retire_code(repos).await
    }

    async fn collect(&self) -> StoreResult<Collected> {
        self.inner.collect().await
    }
}
