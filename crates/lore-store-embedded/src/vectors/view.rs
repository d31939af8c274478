//! What a set has for the chunks of a view, and the nearest of them.
#![expect(clippy::cast_precision_loss, reason = "a cosine needs no more digits than f32 has")]

use std::{cmp::Ordering, sync::Arc};

use lore_segments::{VectorFile, dot_wide, quantise};
use lore_store::{ChunkId, PassageKey, Result, StoreError, ViewVectors};

use super::{FileRow, file_rows, find_set, open_file};
use crate::EmbeddedStore;

/// How often a set is opened again when its files are replaced meanwhile.
const TRIES: usize = 5;

/// The vectors of a set for a view, with the files that they are of.
pub(crate) struct Opened {
    rows: Vec<FileRow>,
    set: i64,
    dimensions: usize,
    files: Vec<Arc<VectorFile>>,
    /// Chunks that have a vector, ascending, and where each is.
    chunks: Vec<ChunkId>,
    places: Vec<(u32, u32)>,
}

/// Opens the set of a model for these chunks, which ascend; what was opened before is taken where nothing changed.
pub(crate) fn open(
    store: &EmbeddedStore,
    model: &str,
    members: &[ChunkId],
    before: Option<&Arc<Opened>>,
) -> Result<Option<Arc<Opened>>> {
    let mut tries = 0;
    loop {
        tries += 1;
        let found = store.read(|connection| {
            let Some((set, dimensions)) = find_set(connection, model)? else { return Ok(None) };
            Ok(Some((set, dimensions, file_rows(connection, set)?)))
        })?;
        let Some((set, dimensions, rows)) = found.flatten() else { return Ok(None) };
        if let Some(before) = before.filter(|before| before.set == set && before.rows == rows) {
            return Ok(Some(Arc::clone(before)));
        }
        let mut files = Vec::new();
        let mut gone = false;
        for row in &rows {
            match open_file(store, &row.file, dimensions) {
                Ok(file) => files.push(file),
                // Replaced meanwhile: all names have to be read again.
                Err(StoreError::Absent(_)) if tries < TRIES => gone = true,
                // The chunks of a damaged file count as if they had no vector: they get a new one.
                Err(error) => tracing::warn!(%error, "a file of vectors is passed over"),
            }
        }
        if !gone {
            return Ok(Some(Arc::new(Opened::new(set, dimensions, rows, files, members))));
        }
    }
}

impl Opened {
    fn new(set: i64, dimensions: usize, rows: Vec<FileRow>, files: Vec<Arc<VectorFile>>, members: &[ChunkId]) -> Self {
        let mut found: Vec<Option<(u32, u32)>> = vec![None; members.len()];
        for (number, file) in (0..).zip(&files) {
            let mut from = 0;
            for (row, id) in (0..).zip(file.ids()) {
                // Ids ascend; in a damaged file, what does not is not found.
                from += members[from..].partition_point(|member| *member < id);
                if members.get(from) == Some(&id) {
                    found[from] = Some((number, row));
                }
            }
        }
        let (chunks, places) = members.iter().zip(found).filter_map(|(chunk, place)| Some((*chunk, place?))).unzip();
        Self { rows, set, dimensions, files, chunks, places }
    }

    fn cosine(&self, query: &(Vec<i8>, f32), (file, row): (u32, u32)) -> f32 {
        let file = &self.files[file as usize];
        dot_wide(&query.0, file.row(row)) as f32 * (file.scale(row) * query.1)
    }

    fn passage(&self, (file, row): (u32, u32)) -> PassageKey {
        self.files[file as usize].passage(row)
    }
}

impl ViewVectors for Opened {
    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn covered(&self) -> usize {
        self.chunks.len()
    }

    fn covers(&self, chunk: ChunkId) -> bool {
        self.chunks.binary_search(&chunk).is_ok()
    }

    fn cosines(&self, query: &[f32], chunks: &[ChunkId]) -> Vec<Option<f32>> {
        if query.len() != self.dimensions {
            return vec![None; chunks.len()];
        }
        let query = quantise(query);
        let cosine = |chunk: &ChunkId| Some(self.cosine(&query, self.places[self.chunks.binary_search(chunk).ok()?]));
        chunks.iter().map(cosine).collect()
    }

    fn nearest(&self, query: &[f32], allowed: Option<&(dyn Fn(ChunkId) -> bool + Sync)>, top: usize) -> Vec<ChunkId> {
        if query.len() != self.dimensions || top == 0 {
            return Vec::new();
        }
        let query = quantise(query);
        let mut best: Vec<(f32, usize)> = Vec::new();
        let mut bar = f32::NEG_INFINITY;
        let better = |a: &(f32, usize), b: &(f32, usize)| -> Ordering {
            let passages = || self.passage(self.places[a.1]).cmp(&self.passage(self.places[b.1]));
            b.0.total_cmp(&a.0).then_with(passages).then(a.1.cmp(&b.1))
        };
        let cut = |best: &mut Vec<(f32, usize)>| {
            if best.len() > top {
                best.select_nth_unstable_by(top - 1, better);
                best.truncate(top);
                return best[top - 1].0;
            }
            f32::NEG_INFINITY
        };
        for (at, (&chunk, &place)) in self.chunks.iter().zip(&self.places).enumerate() {
            let cosine = self.cosine(&query, place);
            if cosine >= bar && allowed.is_none_or(|allowed| allowed(chunk)) {
                best.push((cosine, at));
                if best.len() >= top.saturating_mul(4).max(256) {
                    bar = cut(&mut best).max(bar);
                }
            }
        }
        cut(&mut best);
        best.into_iter().map(|(_, at)| self.chunks[at]).collect()
    }
}
