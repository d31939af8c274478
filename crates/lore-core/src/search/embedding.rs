//! Gives the chunks of what is indexed vectors of the second model: in groups, each durable, each text once.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
    time::Duration,
};

use lore_chunk::Encoding;
use lore_embed::{EmbedError, Mode};
use lore_git::Cancel;
use lore_model::{Failure, Repo};
use lore_store::{ChunkId, CodeView, NewVector, PassageKey, SnapshotId, StoreError, VectorSet, VectorWriter, ViewPart};

use super::{CodeIndex, Second, index::embed_failure, reading::passage};
use crate::store_failure;

/// How soon a busy writer is tried again.
const STEP: Duration = Duration::from_millis(50);

/// Counts up when texts are made of chunks in another way.
const PASSAGE: u32 = 1;

/// How far it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbedEvent {
    /// The model.
    pub model: Arc<str>,
    /// Chunks that have a vector.
    pub done: u64,
    /// Of so many.
    pub total: u64,
}

/// What was done.
#[derive(Debug, Clone, Default)]
pub struct EmbedReport {
    /// The model.
    pub model: String,
    /// Chunks that got a vector.
    pub embedded: u64,
    /// Chunks whose text was known.
    pub known: u64,
    /// Chunks that are found by meaning: of the snapshot that has most.
    pub chunks: u64,
    /// Why it ended before all was done.
    pub failure: Option<Arc<Failure>>,
}

/// A chunk on its way to the model.
struct Draft {
    chunk: ChunkId,
    key: PassageKey,
    text: String,
}

impl CodeIndex {
    /// Gives every indexed chunk of a repository a vector of the second model; `None` where there is no such model.
    ///
    /// What was done is kept whatever happens, and the next call goes on from there. The index can be written by others
    /// meanwhile; somebody else who is at this work makes it fail with `Busy`.
    pub fn embed_all(
        &self,
        repo: &Repo,
        cancel: &Cancel,
        progress: &(dyn Fn(EmbedEvent) + Send + Sync),
    ) -> Result<Option<EmbedReport>, Failure> {
        let Some(second) = self.second.as_deref() else { return Ok(None) };
        let mut report = EmbedReport { model: second.model().to_owned(), ..EmbedReport::default() };
        let mut writer = None;
        let state = self.reader.state(repo.id)?;
        // The newest first: it is asked for most.
        for snapshot in state.snapshots.iter().rev() {
            let part = ViewPart::snapshot(snapshot.id);
            let view = match self.reader.store.open_view(vec![part]) {
                Ok(view) => view,
                // A newer state has taken its place; whoever made that comes back.
                Err(StoreError::Absent(_)) => continue,
                Err(error) => return Err(store_failure(error)),
            };
            let work = Work { index: self, second, view, cancel, progress };
            work.run(snapshot.id, &mut writer, &mut report)?;
        }
        Ok(Some(report))
    }

    /// Whether something of a repository has no vector of the second model yet.
    pub fn wants_embedding(&self, repo: &Repo) -> Result<bool, Failure> {
        let Some(second) = self.second.as_deref() else { return Ok(false) };
        let state = self.reader.state(repo.id)?;
        let complete = second.complete.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(state.snapshots.iter().any(|snapshot| !complete.contains(&snapshot.id)))
    }

    /// Removes vectors of the second model whose chunks are gone. Not before all repositories have been embedded: a text that
    /// is read again is known by its old vector. What other models left is theirs, and may have been paid for.
    pub fn collect_vectors(&self) -> Result<(), Failure> {
        let Some(second) = self.second.as_deref() else { return Ok(()) };
        let writer = self.reader.store.vector_writer().map_err(store_failure)?;
        writer.collect_vectors(second.model()).map(|_| ()).map_err(store_failure)
    }

    /// What is kept of every model besides the built-in one.
    pub fn vector_sets(&self) -> Result<Vec<VectorSet>, Failure> {
        self.reader.store.vector_sets().map_err(store_failure)
    }

    /// Forgets the vectors of a model; `None` where there are none, else how many there were and their bytes.
    pub fn remove_vectors(&self, model: &str) -> Result<Option<(u64, u64)>, Failure> {
        let writer = self.reader.store.vector_writer().map_err(store_failure)?;
        let removed = writer.remove_set(model).map_err(store_failure)?;
        Ok(removed.map(|removed| (removed.chunks, removed.bytes)))
    }
}

/// One snapshot.
struct Work<'a> {
    index: &'a CodeIndex,
    second: &'a Second,
    view: Arc<dyn CodeView>,
    cancel: &'a Cancel,
    progress: &'a (dyn Fn(EmbedEvent) + Send + Sync),
}

impl Work<'_> {
    fn run(
        &self,
        snapshot: SnapshotId,
        writer: &mut Option<Box<dyn VectorWriter>>,
        report: &mut EmbedReport,
    ) -> Result<(), Failure> {
        let model = self.second.model().to_owned();
        let (total, missing) = missing(&*self.view, &model).map_err(store_failure)?;
        report.chunks = report.chunks.max(total);
        if !missing.is_empty() {
            let writer = if let Some(writer) = writer {
                writer
            } else {
                writer.insert(self.index.reader.store.vector_writer().map_err(store_failure)?)
            };
            let model: Arc<str> = self.second.model().into();
            let mut done = total - missing.len() as u64;
            (self.progress)(EmbedEvent { model: Arc::clone(&model), done, total });
            for group in missing.chunks(self.second.embedder.group()) {
                self.cancel.check()?;
                let known = self.embed(&**writer, group)?;
                report.known += known;
                report.embedded += group.len() as u64 - known;
                done += group.len() as u64;
                (self.progress)(EmbedEvent { model: Arc::clone(&model), done, total });
            }
        }
        self.second.complete.lock().unwrap_or_else(PoisonError::into_inner).insert(snapshot);
        Ok(())
    }

    /// Gives some chunks their vectors, and tells how many of their texts were known.
    fn embed(&self, writer: &dyn VectorWriter, group: &[(ChunkId, u32)]) -> Result<u64, Failure> {
        let model = self.second.model();
        let drafts = drafts(&*self.view, group).map_err(store_failure)?;
        let keys: Vec<(ChunkId, PassageKey)> = drafts.iter().map(|draft| (draft.chunk, draft.key)).collect();
        let known = self.when_free(|| writer.adopt(model, &keys))?;
        let mut texts: HashMap<PassageKey, usize> = HashMap::new();
        let mut passages: Vec<&str> = Vec::new();
        for draft in drafts.iter().filter(|draft| !known.contains(&draft.chunk)) {
            texts.entry(draft.key).or_insert_with(|| {
                passages.push(&draft.text);
                passages.len() - 1
            });
        }
        if passages.is_empty() {
            return Ok(known.len() as u64);
        }
        let vectors = {
            let _entered = self.cancel.enter();
            self.second.embedder.embed(&passages, Mode::Passage).map_err(embed_failure)?
        };
        self.check_lengths(&vectors)?;
        let new = |draft: &Draft| {
            let vector = vectors.get(*texts.get(&draft.key)?)?.clone();
            Some(NewVector { chunk: draft.chunk, passage: draft.key, vector })
        };
        let new: Vec<NewVector> = drafts.iter().filter_map(new).collect();
        self.when_free(|| writer.put_vectors(model, new.clone()))?;
        Ok(known.len() as u64)
    }

    /// A set holds vectors of one length, whatever a service gives today.
    fn check_lengths(&self, vectors: &[Vec<f32>]) -> Result<(), Failure> {
        let model = self.second.model();
        let sets = self.index.vector_sets()?;
        let Some(set) = sets.iter().find(|set| set.model == model) else { return Ok(()) };
        match vectors.iter().find(|vector| vector.len() != set.dimensions) {
            Some(wrong) => Err(embed_failure(EmbedError::WrongDimensions {
                model: model.to_owned(),
                expected: set.dimensions,
                got: wrong.len(),
            })),
            None => Ok(()),
        }
    }

    /// Does something that needs the writer's place for a moment, as soon as that is free.
    fn when_free<T>(&self, call: impl Fn() -> Result<T, StoreError>) -> Result<T, Failure> {
        loop {
            match call() {
                Err(StoreError::Locked) => {
                    self.cancel.sleep(STEP);
                    self.cancel.check()?;
                }
                other => return other.map_err(store_failure),
            }
        }
    }
}

/// How many chunks are found by meaning, and those that have no vector of the model, each with a file that holds it, file
/// by file.
fn missing(view: &dyn CodeView, model: &str) -> Result<(u64, Vec<(ChunkId, u32)>), StoreError> {
    let vectors = view.vectors(model)?;
    let meant = view.meant();
    let lacks = |chunk: &&ChunkId| vectors.as_ref().is_none_or(|vectors| !vectors.covers(**chunk));
    let file = |chunk: &ChunkId| Some((*chunk, *view.files_with(*chunk).first()?));
    let mut missing: Vec<(ChunkId, u32)> = meant.iter().filter(lacks).filter_map(file).collect();
    missing.sort_unstable_by_key(|(chunk, file)| (*file, *chunk));
    Ok((meant.len() as u64, missing))
}

/// The texts of some chunks, as the model is given them.
fn drafts(view: &dyn CodeView, chunks: &[(ChunkId, u32)]) -> Result<Vec<Draft>, StoreError> {
    let passages = passages(view, chunks)?.into_iter();
    Ok(chunks.iter().zip(passages).map(|((chunk, _), text)| Draft { chunk: *chunk, key: key(&text), text }).collect())
}

/// What models are given of some chunks, each with a file that holds it, file by file.
pub(super) fn passages(view: &dyn CodeView, chunks: &[(ChunkId, u32)]) -> Result<Vec<String>, StoreError> {
    let mut files: Vec<u32> = chunks.iter().map(|(_, file)| *file).collect();
    files.dedup();
    view.prefetch(&files)?;
    let mut passages = Vec::with_capacity(chunks.len());
    for (chunk, file) in chunks {
        let record = view.record(*file as usize)?;
        let bytes = view.text(*chunk)?;
        let text = Encoding::of(&bytes).decode(&bytes);
        passages.push(match record.entries.iter().find(|entry| entry.chunk == *chunk) {
            Some(entry) => passage(entry, &text),
            None => text.into_owned(),
        });
    }
    Ok(passages)
}

fn key(text: &str) -> PassageKey {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&PASSAGE.to_le_bytes());
    hasher.update(text.as_bytes());
    let mut key = [0; 16];
    key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    PassageKey(key)
}
