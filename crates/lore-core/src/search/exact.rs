//! The nearest by meaning as exactly as the model knows them: stored vectors have few bits, so those of the best are made
//! again from their texts.

use lore_embed::{DIMENSIONS, Mode, Scratch, StaticModel};
use lore_store::{CodeView, Result as StoreResult, Scored};

use super::embedding::passages;

/// So many of the nearest are compared again.
pub(super) const RESCORED: usize = 500;

/// Gives the nearest of some candidates the cosine that whole vectors have.
pub(super) fn rescore(
    view: &dyn CodeView,
    model: &StaticModel,
    query: &[f32],
    candidates: &mut [Scored],
) -> StoreResult<()> {
    let mut nearest: Vec<&mut Scored> = candidates.iter_mut().filter(|scored| scored.vector.is_some()).collect();
    nearest.sort_by(|a, b| b.vector.unwrap_or(-1.0).total_cmp(&a.vector.unwrap_or(-1.0)));
    nearest.truncate(RESCORED);
    let holder = |scored: &&mut Scored| Some((scored.chunk, *view.files_with(scored.chunk).first()?));
    let mut chunks: Vec<_> = nearest.iter().filter_map(holder).collect();
    chunks.sort_unstable_by_key(|(chunk, file)| (*file, *chunk));
    let (mut scratch, mut vector) = (Scratch::default(), [0.0; DIMENSIONS]);
    let mut cosines: Vec<(u32, f32)> = Vec::with_capacity(chunks.len());
    for ((chunk, _), passage) in chunks.iter().zip(passages(view, &chunks)?) {
        model.embed_into(&passage, Mode::Passage, &mut vector, &mut scratch);
        cosines.push((*chunk, vector.iter().zip(query).map(|(a, b)| a * b).sum()));
    }
    cosines.sort_unstable_by_key(|(chunk, _)| *chunk);
    for scored in nearest {
        if let Ok(at) = cosines.binary_search_by_key(&scored.chunk, |(chunk, _)| *chunk) {
            scored.vector = Some(cosines[at].1);
        }
    }
    Ok(())
}
