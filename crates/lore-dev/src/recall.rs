//! `lore-dev recall`: how often the store's compact vectors find what exact ones would.
//!
//! The vectors are those that the store is given while a repository is indexed for the first time; nothing is embedded
//! in another way for the comparison.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use lore_core::{
    Cancel,
    search::{Accuracy, CodeHit, CodeRequest, CodeTask, Parts},
};
use lore_embed::{Embedder as _, StaticModel};
use lore_model::{ChunkKind, Code, Failure, RepoId, RepoPath};
use lore_store::store_failure;
use lore_store::{
    BlobKey, ChunkId, ChunkInput, ChunkKey, ChunkSink, CodeEnd, CodeState, CodeView, CodeWriter, Collected, NewBlob,
    NewPast, PastInfo, PreparedChunk, Result as StoreResult,
};
use serde_json::{Value, json};

use super::{print, read_queries, register};

/// So many of the best are compared.
const BEST: usize = 10;

/// So many are asked for.
const CANDIDATES: usize = 100;

/// Compare the store's vectors with exact ones; `LORE_HOME` must be empty
#[derive(clap::Args)]
pub(super) struct Args {
    /// The repository
    path: PathBuf,
    /// One question on each line, as it is or as an object with `query`
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let (lore, _) = lore::open()?;
    let queries = read_queries(&args.queries)?;
    let repo = register(&lore, &args.path)?;
    let writer = lore.history.writer(|| {})?;
    let sink = Arc::new(Sink { inner: CodeWriter::sink(&*writer), vectors: Mutex::default() });
    let recorder = Recorder { inner: &*writer, sink, seen: Mutex::default() };
    let task =
        CodeTask { writer: &recorder, jobs: None, retry_missing: false, cancel: &Cancel::default(), progress: &|_| {} };
    lore.search.index.sync(&repo, &task)?;
    let state = lore.search.reader.state(repo.id)?;
    let nothing = || Failure::new(Code::InvalidArgument, "nothing was read").hint("use an empty LORE_HOME");
    let snapshot = state.snapshots.last().ok_or_else(nothing)?;
    let view = lore.search.reader.open_snapshot(snapshot.id)?;
    let exact = recorder.exact(&*view).map_err(store_failure)?;
    if exact.vectors.is_empty() {
        return Err(nothing());
    }
    let embedder = StaticModel::built_in();
    let mut asked = Vec::new();
    for query in queries {
        let vector = embedder.embed_query(&query, Duration::MAX).unwrap_or_default();
        if vector.iter().any(|value| *value != 0.0) {
            asked.push((query, exact.scores(&vector)));
        }
    }
    let mut by_accuracy = serde_json::Map::new();
    for accuracy in Accuracy::ALL {
        let mut recalls = Vec::new();
        for (query, scores) in &asked {
            let mut request = CodeRequest::new(query, vec![(repo.clone(), None)]);
            request.parts = Parts { text: false, second: false, rules: false, history: false, ..Parts::default() };
            request.accuracy = accuracy;
            request.limit = CANDIDATES;
            // The first time, files may have to be read.
            lore.search.query.search(&request)?;
            let started = Instant::now();
            let answer = lore.search.query.search(&request)?;
            recalls.push(exact.recall(scores, &answer.hits, started.elapsed()));
        }
        by_accuracy.insert(accuracy.as_str().to_owned(), told(&recalls));
    }
    print(&json!({
        "model": embedder.model(),
        "vectors": exact.vectors.len(),
        "queries": asked.len(),
        "accuracy": by_accuracy,
    }))
}

/// How one question fared.
struct Recall {
    wanted: usize,
    found: usize,
    among_candidates: usize,
    error: f64,
    took: Duration,
}

fn told(recalls: &[Recall]) -> Value {
    let share = |of: fn(&Recall) -> usize| mean(recalls.iter().map(|recall| ratio(of(recall), recall.wanted)));
    let mut times: Vec<Duration> = recalls.iter().map(|recall| recall.took).collect();
    times.sort_unstable();
    json!({
        "recall_at_10": share(|recall| recall.found),
        "recall_of_10_in_100": share(|recall| recall.among_candidates),
        "worst_of_10": recalls.iter().map(|recall| recall.found).min(),
        "mean_error_of_cosine": mean(recalls.iter().map(|recall| recall.error)),
        "p50_us": times.get(times.len() / 2).map(Duration::as_micros),
    })
}

/// What stands where: its path, its kind and its lines.
type Place = (RepoPath, ChunkKind, (u32, u32));

/// The vectors as they were before the store made them small.
#[derive(Default)]
struct Exact {
    vectors: HashMap<ChunkId, Vec<f32>>,
    places: HashMap<Place, ChunkId>,
}

impl Exact {
    fn scores(&self, query: &[f32]) -> HashMap<ChunkId, f32> {
        self.vectors.iter().map(|(chunk, vector)| (*chunk, dot(vector, query))).collect()
    }

    fn recall(&self, scores: &HashMap<ChunkId, f32>, hits: &[CodeHit], took: Duration) -> Recall {
        let mut sorted: Vec<f32> = scores.values().copied().collect();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let wanted = sorted.len().min(BEST);
        // Chunks that are as near as the tenth are as good as the tenth.
        let least = sorted.get(wanted.saturating_sub(1)).copied().unwrap_or(0.0) - 1e-6;
        let score = |hit: &CodeHit| {
            let place = (hit.path.clone(), hit.kind, hit.lines);
            self.places.get(&place).and_then(|chunk| scores.get(chunk)).copied()
        };
        let good = |hits: &[CodeHit]| hits.iter().filter_map(score).filter(|score| *score >= least).count().min(wanted);
        let first = &hits[..hits.len().min(BEST)];
        let error = |hit: &CodeHit| Some(f64::from((score(hit)? - hit.explanation.cosine?).abs()));
        let error = mean(first.iter().filter_map(error));
        Recall { wanted, found: good(first), among_candidates: good(hits), error, took }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share needs no precision")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
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
    fn exact(&self, view: &dyn CodeView) -> StoreResult<Exact> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let vectors = self.sink.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        let mut exact = Exact::default();
        for (file, place) in view.files().iter().enumerate() {
            let Some(keys) = seen.files.get(&place.path).and_then(|key| seen.chunks.get(key)) else { continue };
            let record = view.record(file)?;
            for (key, entry) in keys.iter().zip(&record.entries) {
                if let Some(vector) = vectors.get(key) {
                    exact.vectors.insert(entry.chunk, vector.clone());
                    let lines = (entry.first_line, entry.last_line);
                    exact.places.insert((place.path.clone(), entry.kind, lines), entry.chunk);
                }
            }
        }
        Ok(exact)
    }
}

impl CodeWriter for Recorder<'_> {
    fn begin_code(&self, repo: RepoId, rules: &str) -> StoreResult<CodeState> {
        self.inner.begin_code(repo, rules)
    }

    fn known_blobs(&self, rules: &str, keys: Vec<BlobKey>) -> StoreResult<HashSet<BlobKey>> {
        self.inner.known_blobs(rules, keys)
    }

    fn sink(&self) -> Arc<dyn ChunkSink> {
        Arc::clone(&self.sink) as _
    }

    fn put_blobs(&self, rules: &str, blobs: Vec<NewBlob>) -> StoreResult<()> {
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            for blob in &blobs {
                let keys = blob.record.entries.iter().map(|entry| entry.chunk).collect();
                seen.chunks.insert(blob.key.clone(), keys);
            }
        }
        self.inner.put_blobs(rules, blobs)
    }

    fn flush(&self) -> StoreResult<()> {
        self.inner.flush()
    }

    fn end_code(&self, repo: RepoId, end: CodeEnd) -> StoreResult<CodeState> {
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let files = end.snapshots.iter().flat_map(|snapshot| &snapshot.files);
            seen.files.extend(files.map(|file| (file.path.clone(), file.key.clone())));
        }
        self.inner.end_code(repo, end)
    }

    fn put_evidence(&self, repo: RepoId, made_of: &str, bytes: Vec<u8>) -> StoreResult<()> {
        self.inner.put_evidence(repo, made_of, bytes)
    }

    fn want_past(&self, repo: RepoId, wanted: bool) -> StoreResult<()> {
        self.inner.want_past(repo, wanted)
    }

    fn put_past(&self, repo: RepoId, past: NewPast) -> StoreResult<PastInfo> {
        self.inner.put_past(repo, past)
    }

    fn retire_code(&self, repos: Vec<RepoId>) -> StoreResult<()> {
        self.inner.retire_code(repos)
    }

    fn collect(&self) -> StoreResult<Collected> {
        self.inner.collect()
    }
}
