//! All chunks of a repository one file after the other, with vectors, for other tools.

use std::{path::Path, sync::Arc};

use lore_chunk::Encoding;
use lore_embed::{Embedder, Mode};
use lore_model::{ChunkKind, Failure, Repo, RepoPath, SymbolKind};
use lore_store::{BlobRecord, ChunkId, StoreError};

use super::{
    CodeFreshness, CodeQuery, Loaded,
    answer::{id, tags, title},
    index::embed_failure,
    reading::passage,
};
use crate::store_failure;

/// How many texts an embedder is given at once.
const BATCH: usize = 64;

/// A chunk in its place, with its vector.
#[derive(Debug, Clone)]
pub struct ExportedChunk {
    /// Names the chunk among those of its repository.
    pub id: String,
    /// What it is.
    pub kind: ChunkKind,
    /// A title for people.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Its vector.
    pub vector: Vec<f32>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The file.
    pub path: RepoPath,
    /// Whether the file is uncommitted.
    pub uncommitted: bool,
    /// The language of the file.
    pub language: String,
    /// The lines of the chunk.
    pub lines: (u32, u32),
    /// What it defines.
    pub name: Option<String>,
    /// What that is.
    pub symbol: Option<SymbolKind>,
    /// What it is defined in.
    pub container: Option<String>,
    /// Which part of how many, where a large definition was split.
    pub part: Option<(u32, u32)>,
    /// The package that the file declares.
    pub package: Option<String>,
    /// Imports, types and functions of the file.
    pub counts: [u32; 3],
}

/// Gives the chunks of a repository, one file after the other: never more than one file's are in memory.
pub struct Export {
    loaded: Option<Arc<Loaded>>,
    embedder: Arc<dyn Embedder>,
    next: usize,
    /// How what is indexed relates to the repository.
    pub freshness: CodeFreshness,
    /// Files that were passed over because nothing of them is found by meaning: minified, generated, not text.
    pub plain: u64,
}

impl CodeQuery {
    /// The chunks of a repository as it is now, uncommitted work included: that of the work tree at `place`, where that is
    /// not the registered one.
    pub fn export(&self, repo: &Repo, place: Option<&Path>) -> Result<Export, Failure> {
        let state = self.reader.state(repo.id)?;
        let part = self.reader.part(repo, &state, place, true)?;
        let freshness = self.reader.freshness(repo, &state, part.as_ref());
        let loaded = match part {
            Some(part) => Some(self.reader.load(&[part])?.map_err(store_failure)?),
            None => None,
        };
        Ok(Export { loaded, embedder: self.chosen()?, next: 0, freshness, plain: 0 })
    }
}

impl Export {
    /// The name of the model that vectors are of.
    pub fn model(&self) -> &str {
        self.embedder.model()
    }

    /// How many numbers a vector has.
    pub fn dimensions(&self) -> usize {
        self.embedder.dimensions()
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        self.loaded.as_ref().map_or(0, |loaded| loaded.view.files().len())
    }

    /// The chunks of the next file that has some; `None` after the last.
    pub fn next_file(&mut self) -> Result<Option<Vec<ExportedChunk>>, Failure> {
        let Some(loaded) = self.loaded.clone() else { return Ok(None) };
        while self.next < loaded.view.files().len() {
            let file = self.next;
            self.next += 1;
            let Some((mut chunks, passages)) = chunks_of(&loaded, file).map_err(store_failure)? else {
                self.plain += 1;
                continue;
            };
            if chunks.is_empty() {
                continue;
            }
            for (batch, passages) in chunks.chunks_mut(BATCH).zip(passages.chunks(BATCH)) {
                let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
                let vectors = self.embedder.embed(&passages, Mode::Passage).map_err(embed_failure)?;
                batch.iter_mut().zip(vectors).for_each(|(chunk, vector)| chunk.vector = vector);
            }
            return Ok(Some(chunks));
        }
        Ok(None)
    }
}

/// Chunks, and what the vector of each is made of.
type Passages = (Vec<ExportedChunk>, Vec<String>);

/// The chunks of a file without their vectors, and what these are made of; `None` where nothing of it is found by meaning.
fn chunks_of(loaded: &Loaded, file: usize) -> Result<Option<Passages>, StoreError> {
    let view = &*loaded.view;
    let record: Arc<BlobRecord<ChunkId>> = view.record(file)?;
    if record.plain.is_some() {
        return Ok(None);
    }
    let place = &view.files()[file];
    let chunks = record.entries.iter().enumerate().map(|(at, entry)| {
        let text = view.text(entry.chunk)?;
        let text = Encoding::of(&text).decode(&text);
        let passage = passage(entry, &text);
        let chunk = ExportedChunk {
            id: id(&record, at, &place.path),
            kind: entry.kind,
            title: title(entry, &place.path),
            text: text.into_owned(),
            vector: Vec::new(),
            tags: tags(&record, entry, &place.path),
            path: place.path.clone(),
            uncommitted: place.uncommitted,
            language: record.language.clone(),
            lines: (entry.first_line, entry.last_line),
            name: entry.name.clone(),
            symbol: entry.symbol,
            container: entry.container.clone(),
            part: entry.part,
            package: record.package.clone(),
            counts: record.counts,
        };
        Ok((chunk, passage))
    });
    chunks.collect::<Result<_, StoreError>>().map(Some)
}
