//! Chunk files that another program wrote: read, searched as a view in memory, and read again when they change.
//!
//! What they say is answered as they say it. Nothing of it goes into the index, and nothing of the index into answers.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::SystemTime,
};

use lore_embed::{DIMENSIONS, Embedder, Mode, Scratch};
use lore_model::{Cancel, ChunkKind, Code, Failure, RepoPath};
use lore_store::{
    Base, BlobRecord, ChunkId, ChunkInput, ChunkKey, Entry, IndexStore, OverlayFile, OverlayInput, PreparedChunk,
    ViewPart,
};
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    CHOSEN_WAIT, CodeRequest, LIMIT_MAX, Loaded,
    answer::fit,
    chunk_folder::Folder,
    chunk_watch::{Watch, Watched, follow},
    filter::Filter,
    index::embed_failure,
    query::{Query, QueryKind},
    rank::Ranking,
    snippet::Snippet,
};
use crate::store_failure;

/// The files, with the kind of the chunks in each where these do not say it themselves.
const FILES: [(&str, ChunkKind); 4] = [
    ("code-symbols.json", ChunkKind::Symbols),
    ("code-definitions.json", ChunkKind::Definitions),
    ("code-data.json", ChunkKind::Data),
    ("doc-chunks.json", ChunkKind::Documentation),
];

/// Their names.
const NAMES: [&str; FILES.len()] = [FILES[0].0, FILES[1].0, FILES[2].0, FILES[3].0];

/// Larger files are not read.
const MAX_FILE: u64 = 1 << 30;

/// The chunk files of one folder. Questions never wait for files that are being read.
pub struct ChunkFiles {
    place: ChunksPlace,
    store: Arc<dyn IndexStore>,
    embedder: Arc<dyn Embedder>,
    now: RwLock<Now>,
}

/// What answers at the moment.
#[derive(Clone)]
struct Now {
    state: Arc<State>,
    /// Why it is not what the files say now.
    failed: Option<String>,
}

/// Where chunk files are.
#[derive(Debug, Clone)]
pub struct ChunksPlace {
    /// The folder.
    pub folder: PathBuf,
    /// What the folder must lie in, where not the user chose it but a file of this project.
    pub within: Option<PathBuf>,
}

/// A chunk as its file has it.
#[derive(Debug, Clone)]
pub struct FileChunk {
    /// Its id.
    pub id: String,
    /// What it is, in the file's own word.
    pub chunk_type: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Its tags, those that stand in its metadata included.
    pub tags: Vec<String>,
    /// Its metadata.
    pub metadata: Map<String, Value>,
    /// When it was made, where that is said.
    pub created_at: Option<String>,
    /// When it last changed, where that is said.
    pub updated_at: Option<String>,
    kind: ChunkKind,
}

/// A chunk that was found.
#[derive(Debug, Clone)]
pub struct ChunkHit {
    /// The chunk.
    pub chunk: Arc<FileChunk>,
    /// Its text, or as much of it as there was room for.
    pub snippet: Snippet,
    /// How well it fits: 0 to 1, higher is better, comparable within one answer.
    pub score: f32,
}

/// The answer to a question.
#[derive(Debug, Clone)]
pub struct ChunkAnswer {
    /// The best ones.
    pub hits: Vec<ChunkHit>,
    /// What kind of question it was taken for.
    pub kind: QueryKind,
    /// Whether there would have been more.
    pub more: bool,
    /// Whether the question was so long that only its beginning counted.
    pub query_cut: bool,
    /// How many answers [`Self::fit`] had no room for.
    pub no_room: usize,
    /// How many chunks the files hold.
    pub chunks: usize,
    /// How many chunks could not be read.
    pub skipped: usize,
    /// Why the answer is not from what the files say now: they changed, and could not be read.
    pub stale: Option<String>,
}

impl ChunkAnswer {
    /// Cuts texts so that all hits together take at most so many tokens where they are shown; `size` tells how many one does.
    pub fn fit(&mut self, tokens: usize, size: &dyn Fn(&ChunkHit) -> usize) {
        let hits = std::mem::take(&mut self.hits);
        (self.hits, self.no_room) = fit(hits, tokens, size, |hit| &mut hit.snippet);
    }
}

/// What was read at one time.
struct State {
    loaded: Loaded,
    /// The chunks by file and entry of the view.
    chunks: Vec<Vec<Arc<FileChunk>>>,
    /// What was made ready, for the next time.
    prepared: HashMap<ChunkKey, PreparedChunk>,
    signature: Signature,
    /// Which files could be read.
    readable: Readable,
    skipped: usize,
}

/// Changes when one of the files does.
type Signature = [Option<(SystemTime, u64)>; FILES.len()];

/// Which of the files could be read.
type Readable = [bool; FILES.len()];

impl ChunkFiles {
    /// Reads the files of a folder.
    pub(super) fn open(
        place: ChunksPlace,
        store: Arc<dyn IndexStore>,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Self, Failure> {
        let folder = &place.folder;
        if !folder.is_dir() {
            return Err(Failure::new(
                Code::InvalidConfig,
                format!("the chunks directory {} does not exist", folder.display()),
            )
            .hint("let the program that writes chunk files run first, name another directory, or name none: then Lore's own index answers"));
        }
        let state = load(&place, &store, &embedder, Readable::default(), &HashMap::new())?;
        let now = RwLock::new(Now { state: Arc::new(state), failed: None });
        Ok(Self { place, store, embedder, now })
    }

    /// Where the files are.
    pub fn folder(&self) -> &Path {
        &self.place.folder
    }

    /// Answers a question. Repositories, languages and symbols of the request play no part.
    pub fn search(&self, request: &CodeRequest) -> Result<ChunkAnswer, Failure> {
        request.check()?;
        let filter = Filter::new(request)?;
        let query = Query::new(&request.query);
        let vector = self.embedder.embed_query(&query.text, CHOSEN_WAIT).map_err(embed_failure)?;
        let vector = Some(vector).filter(|vector| vector.iter().any(|value| *value != 0.0));
        let (Now { state, failed: stale }, request) = (self.now(), request.clone());
        let answer = state.answer(&request, &query, &filter, vector.as_deref())?;
        Ok(ChunkAnswer { stale, ..answer })
    }

    /// Reloads the files whenever they change, until cancelled.
    pub fn keep_fresh(&self, cancel: &Cancel) {
        follow(Watch::new(&self.place.folder, &NAMES, cancel), self, self.now().state.signature);
    }

    fn try_reload(&self) -> Result<usize, Failure> {
        let before = self.now().state;
        let loaded = load(&self.place, &self.store, &self.embedder, before.readable, &before.prepared);
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        match loaded {
            Ok(state) => {
                let count = state.count();
                *now = Now { state: Arc::new(state), failed: None };
                Ok(count)
            }
            Err(failure) => {
                now.failed = Some(failure.message.clone());
                Err(failure)
            }
        }
    }

    fn now(&self) -> Now {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Watched for ChunkFiles {
    type Look = Signature;

    fn look(&self) -> Signature {
        signature(&self.place.folder)
    }

    fn reload(&self) -> bool {
        let (reloaded, folder) = (self.try_reload(), self.place.folder.display());
        match reloaded {
            Ok(chunks) => {
                tracing::info!(%folder, chunks, "the chunk files were read again");
                true
            }
            Err(failure) => {
                tracing::warn!(%folder, %failure, "the chunk files changed and cannot be read: what was read before is kept");
                // A service may be back soon.
                failure.code != Code::EmbeddingFailed
            }
        }
    }
}

impl State {
    fn count(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum()
    }

    fn answer(
        &self,
        request: &CodeRequest,
        query: &Query,
        filter: &Filter,
        vector: Option<&[f32]>,
    ) -> Result<ChunkAnswer, Failure> {
        let view = &*self.loaded.view;
        let files: Option<Vec<bool>> = filter.filters_files().then(|| {
            view.files().iter().map(|file| filter.admits_file(file.repo, &file.path, &file.language)).collect()
        });
        let admits = |file: usize, record: &BlobRecord<ChunkId>, entry: &Entry<ChunkId>| {
            if !request.chunk_kinds.is_empty() && !request.chunk_kinds.contains(&entry.kind) {
                return false;
            }
            let at = record.entries.iter().position(|other| other.chunk == entry.chunk);
            let chunk = at.and_then(|at| self.chunks.get(file)?.get(at));
            chunk.is_some_and(|chunk| filter.has_tags(&chunk.tags))
        };
        let limit = request.limit.clamp(1, LIMIT_MAX);
        let words = self.loaded.paths.weighed(&query.words);
        let ranking = Ranking {
            query,
            words: &words,
            vector,
            second: None,
            view,
            paths: &self.loaded.paths,
            said: &[],
            accuracy: request.accuracy,
            model: None,
            parts: request.parts,
            files: files.as_deref(),
            admits: Some(&admits),
            wanted: limit + 1,
        };
        let ranked = ranking.run().map_err(store_failure)?;
        let more = ranked.len() > limit;
        let mut hits = Vec::new();
        for ranked in ranked.into_iter().take(limit) {
            let Some(chunk) = self.chunks.get(ranked.file).and_then(|chunks| chunks.get(ranked.entry)) else {
                continue;
            };
            let first_line = ranked.record.entries[ranked.entry].first_line;
            let snippet = Snippet::whole(chunk.text.clone(), first_line);
            hits.push(ChunkHit { chunk: Arc::clone(chunk), snippet, score: ranked.score });
        }
        let (chunks, skipped) = (self.count(), self.skipped);
        Ok(ChunkAnswer { hits, kind: query.kind, more, query_cut: query.cut, no_room: 0, chunks, skipped, stale: None })
    }
}

fn signature(folder: &Path) -> Signature {
    FILES.map(|(name, _)| {
        let metadata = std::fs::symlink_metadata(folder.join(name)).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    })
}

/// A file in the newer form.
#[derive(Deserialize)]
struct WithMetadata {
    #[serde(rename = "_metadata", default)]
    metadata: FileMetadata,
    chunks: Vec<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
struct FileMetadata {
    model: Option<Value>,
    dimensions: Option<Value>,
    generated: Option<Value>,
}

/// A chunk as it is written. What may be missing or of another type without harm is read as it comes.
#[derive(Deserialize)]
struct Written {
    id: String,
    text: String,
    chunk_type: Option<Value>,
    title: Option<Value>,
    embedding: Option<Box<RawValue>>,
    tags: Option<Value>,
    metadata: Option<Value>,
    created_at: Option<Value>,
    updated_at: Option<Value>,
}

/// A chunk that was read, with its vector where that can be used.
struct Draft {
    chunk: FileChunk,
    vector: Option<Box<[f32; DIMENSIONS]>>,
}

/// Everything that was read.
struct Read {
    drafts: Vec<Draft>,
    signature: Signature,
    readable: Readable,
    skipped: usize,
}

fn load(
    place: &ChunksPlace,
    store: &Arc<dyn IndexStore>,
    embedder: &Arc<dyn Embedder>,
    before: Readable,
    known: &HashMap<ChunkKey, PreparedChunk>,
) -> Result<State, Failure> {
    let model = embedder.model().to_owned();
    let Read { drafts, signature, readable, skipped } = read(place, &model, before)?;
    let keys: Vec<ChunkKey> = drafts.iter().map(|draft| key(draft, embedder.model())).collect();
    let wanting: Vec<usize> =
        (0..drafts.len()).filter(|at| drafts[*at].vector.is_none() && !known.contains_key(&keys[*at])).collect();
    let vectors = embed(&drafts, &wanting, embedder)?;
    let (mut input, mut chunks, mut prepared) = (OverlayInput::default(), Vec::new(), HashMap::new());
    let sink = store.overlay_sink();
    let mut files: BTreeMap<RepoPath, Vec<usize>> = BTreeMap::new();
    for (at, draft) in drafts.iter().enumerate() {
        files.entry(path(&draft.chunk)).or_default().push(at);
    }
    // The view has its files in the order of their paths, and so has this map.
    for (path, members) in files {
        let mut record = record(&drafts[members[0]].chunk);
        let (mut file_chunks, mut ready) = (Vec::new(), Vec::new());
        for at in members {
            let chunk = &drafts[at].chunk;
            let vector = drafts[at].vector.as_deref().or_else(|| vectors.get(&at).map(|vector| &**vector));
            let made =
                known.get(&keys[at]).cloned().unwrap_or_else(|| sink.prepare(&chunk_input(keys[at], chunk, vector)));
            prepared.insert(keys[at], made.clone());
            ready.push((keys[at], made));
            record.entries.push(entry(keys[at], chunk));
            file_chunks.push(Arc::new(chunk.clone()));
        }
        input.files.push(OverlayFile { path, record, chunks: ready });
        chunks.push(file_chunks);
    }
    let view = store.open_view(vec![ViewPart { base: Base::Nothing, overlay: input }]).map_err(store_failure)?;
    let loaded = Loaded::new(view, 0);
    Ok(State { loaded, chunks, prepared, signature, readable, skipped })
}

/// Vectors for those chunks whose file has none that can be compared.
fn embed(
    drafts: &[Draft],
    wanting: &[usize],
    embedder: &Arc<dyn Embedder>,
) -> Result<HashMap<usize, Box<[f32; DIMENSIONS]>>, Failure> {
    let passage = |at: &usize| format!("{}\n{}", drafts[*at].chunk.title, drafts[*at].chunk.text);
    let passages: Vec<String> = wanting.iter().map(passage).collect();
    if embedder.as_local().is_some() {
        return Ok({
            let mut scratch = Scratch::default();
            let made = wanting.iter().zip(passages).map(|(at, passage)| {
                let mut vector = Box::new([0.0; DIMENSIONS]);
                if let Some(model) = embedder.as_local() {
                    model.embed_into(&passage, Mode::Passage, &mut vector, &mut scratch);
                }
                (*at, vector)
            });
            made.collect()
        });
    }
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
    if passages.is_empty() {
        return Ok(HashMap::new());
    }
    let vectors = embedder.embed(&passages, Mode::Passage).map_err(embed_failure)?;
    Ok(wanting
        .iter()
        .copied()
        .zip(vectors.into_iter().map(fixed))
        .filter_map(|(at, vector)| Some((at, vector?)))
        .collect())
}

fn fixed(vector: Vec<f32>) -> Option<Box<[f32; DIMENSIONS]>> {
    Box::<[f32; DIMENSIONS]>::try_from(vector.into_boxed_slice()).ok()
}

/// Reads all files. What can be read is taken; one that could be read before and cannot be now, or is gone, is a fault:
/// what was read before is better.
fn read(place: &ChunksPlace, model: &str, before: Readable) -> Result<Read, Failure> {
    // The signature first: what changes in between is seen the next time.
    let signature = signature(&place.folder);
    let folder = Folder::open(place)?;
    let (mut drafts, mut skipped, mut readable) = (Vec::new(), 0, Readable::default());
    for (at, (name, kind)) in FILES.into_iter().enumerate() {
        let path = place.folder.join(name);
        match read_file(&folder, name, &path, kind, model) {
            Ok(file) => {
                readable[at] = true;
                skipped += file.skipped;
                drafts.extend(file.drafts);
            }
            Err(why) if before[at] => {
                return Err(Failure::new(Code::InvalidConfig, format!("{} cannot be read: {why}", path.display())));
            }
            Err(why) if signature[at].is_some() => {
                tracing::warn!(file = %path.display(), why, "a chunk file is left out: it cannot be read");
            }
            Err(_) => {}
        }
    }
    if drafts.is_empty() {
        return Err(Failure::new(Code::InvalidConfig, format!("there is no chunk in {}", place.folder.display()))
            .hint("it must hold code-symbols.json, code-definitions.json, code-data.json or doc-chunks.json; without a chunks directory Lore's own index answers"));
    }
    Ok(Read { drafts, signature, readable, skipped })
}

/// What was read of one file.
struct ReadFile {
    drafts: Vec<Draft>,
    skipped: usize,
}

fn read_file(folder: &Folder, name: &str, path: &Path, kind: ChunkKind, model: &str) -> Result<ReadFile, String> {
    parse_file(&folder.read(name, MAX_FILE)?, path, kind, model)
}

fn parse_file(bytes: &[u8], path: &Path, kind: ChunkKind, model: &str) -> Result<ReadFile, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let is_list = bytes.trim_ascii_start().starts_with(b"[");
    let (metadata, chunks) = if is_list {
        let chunks: Vec<Box<RawValue>> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        (FileMetadata::default(), chunks)
    } else {
        let file: WithMetadata = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        (file.metadata, file.chunks)
    };
    let comparable = is_model(&metadata, model);
    let generated = metadata.generated.as_ref().and_then(Value::as_str);
    let (mut drafts, mut skipped) = (Vec::new(), 0);
    for (at, raw) in chunks.iter().enumerate() {
        match serde_json::from_str::<Written>(raw.get()) {
            Ok(written) => drafts.push(draft(written, kind, comparable, generated)),
            Err(error) => {
                skipped += 1;
                tracing::warn!(file = %path.display(), chunk = at, %error, "a chunk is left out: it cannot be read");
            }
        }
    }
    Ok(ReadFile { drafts, skipped })
}

/// The chunks of a file, each with its vector where that can be used, and how many could not be read.
#[cfg(feature = "fuzzing")]
pub(super) type Parsed = (Vec<(FileChunk, Option<Vec<f32>>)>, usize);

#[cfg(feature = "fuzzing")]
pub(super) fn parsed(bytes: &[u8], model: &str) -> Result<Parsed, String> {
    let file = parse_file(bytes, Path::new("chunks.json"), ChunkKind::Data, model)?;
    let chunk = |draft: Draft| (draft.chunk, draft.vector.map(|vector| vector.to_vec()));
    Ok((file.drafts.into_iter().map(chunk).collect(), file.skipped))
}

/// Whether a file's vectors are of the model in use: `text-embedding-3-small` is that of `openai:text-embedding-3-small@384`.
fn is_model(metadata: &FileMetadata, model: &str) -> bool {
    let bare = model.split_once(':').map_or(model, |(_, rest)| rest);
    // Where the service is, and how long its vectors are.
    let bare = bare.rsplit_once('#').map_or(bare, |(name, _)| name);
    let bare = bare.rsplit_once('@').map_or(bare, |(name, _)| name);
    let named = metadata.model.as_ref().and_then(Value::as_str);
    let dimensions = metadata.dimensions.as_ref().and_then(Value::as_u64);
    // A service that names no model may be any.
    let is_same = named.is_some_and(|named| named == model || (named == bare && bare != "default"));
    is_same && dimensions == Some(DIMENSIONS as u64)
}

fn draft(written: Written, file_kind: ChunkKind, comparable: bool, generated: Option<&str>) -> Draft {
    let text = |value: Option<Value>| match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let metadata = match written.metadata {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    let chunk_type = text(written.chunk_type).filter(|kind| !kind.is_empty());
    let kind = chunk_type.as_deref().and_then(ChunkKind::parse).unwrap_or(file_kind);
    let mut tags: Vec<String> = match written.tags {
        Some(Value::Array(tags)) => tags.into_iter().filter_map(|tag| text(Some(tag))).collect(),
        _ => Vec::new(),
    };
    // Some writers repeat them, or have them only there.
    let more = (0..).map_while(|at| metadata.get(&format!("tag_{at}")).and_then(Value::as_str));
    for tag in more {
        if !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
    }
    let vector = written.embedding.filter(|_| comparable).and_then(|raw| unit_vector(raw.get()));
    let created_at = text(written.created_at).or_else(|| generated.map(str::to_owned));
    let chunk = FileChunk {
        title: text(written.title).unwrap_or_else(|| written.id.clone()),
        id: written.id,
        chunk_type: chunk_type.unwrap_or_else(|| kind.as_str().to_owned()),
        text: written.text,
        tags,
        metadata,
        updated_at: text(written.updated_at).or_else(|| created_at.clone()),
        created_at,
        kind,
    };
    Draft { chunk, vector }
}

/// A vector of length 1; `None` where it is no vector, or has another number of components.
fn unit_vector(raw: &str) -> Option<Box<[f32; DIMENSIONS]>> {
    let mut vector = fixed(serde_json::from_str(raw).ok()?)?;
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if !length.is_finite() || length <= f32::EPSILON {
        return None;
    }
    vector.iter_mut().for_each(|value| *value /= length);
    Some(vector)
}

/// Names a chunk by all that decides how it is found, and by its id: every chunk of the files is an answer of its own.
fn key(draft: &Draft, model: &str) -> ChunkKey {
    let chunk = &draft.chunk;
    let mut hasher = blake3::Hasher::new();
    for part in ["chunk file", model, &chunk.id, chunk.kind.as_str(), &chunk.title, &path(chunk).to_text(), &chunk.text]
    {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    for value in draft.vector.iter().flat_map(|vector| vector.iter()) {
        hasher.update(&value.to_le_bytes());
    }
    let mut key = [0; 16];
    key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    ChunkKey(key)
}

/// Where a chunk is from: its file, or what stands for it.
fn path(chunk: &FileChunk) -> RepoPath {
    let said = chunk.metadata.get("file_path").and_then(Value::as_str).filter(|path| !path.is_empty());
    RepoPath::from(said.unwrap_or(&chunk.id))
}

fn record(chunk: &FileChunk) -> BlobRecord<ChunkKey> {
    let language = chunk.metadata.get("language").and_then(Value::as_str).unwrap_or_default();
    BlobRecord {
        language: language.to_lowercase(),
        size: 0,
        lines: 0,
        plain: None,
        package: None,
        counts: [0; 3],
        tags: Vec::new(),
        entries: Vec::new(),
    }
}

fn entry(key: ChunkKey, chunk: &FileChunk) -> Entry<ChunkKey> {
    let line = |name: &str| chunk.metadata.get(name).and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
    let first_line = line("start_line").unwrap_or(1);
    let lines = u32::try_from(chunk.text.lines().count()).unwrap_or(u32::MAX).max(1);
    let named = chunk.metadata.get("name").and_then(Value::as_str).map(str::to_owned);
    Entry {
        chunk: key,
        kind: chunk.kind,
        bytes: 0..0,
        first_line,
        last_line: line("end_line").unwrap_or_else(|| first_line.saturating_add(lines - 1)),
        name: named.or_else(|| (chunk.kind == ChunkKind::Documentation).then(|| chunk.title.clone())),
        names: Vec::new(),
        symbol: None,
        container: None,
        part: None,
    }
}

fn chunk_input<'a>(key: ChunkKey, chunk: &'a FileChunk, vector: Option<&'a [f32; DIMENSIONS]>) -> ChunkInput<'a> {
    let is_prose = chunk.kind == ChunkKind::Documentation;
    let (code, prose) = if is_prose { ("", chunk.text.as_str()) } else { (chunk.text.as_str(), "") };
    let vector = vector.filter(|vector| vector.iter().any(|value| *value != 0.0));
    ChunkInput { key, text: chunk.text.as_bytes(), names: &chunk.title, code, prose, vector, exact: false }
}
