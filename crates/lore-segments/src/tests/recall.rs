//! Nearest vectors against exact products.

use std::sync::Arc;

use lore_store::{Accuracy, DIMENSIONS};

use super::{
    super::{Segment, View},
    Chunk, Random, ask, bytes_of, normalised,
};

const CHUNKS: usize = 62_000;
const CLUSTERS: usize = 1000;

/// Vectors that crowd around centres, some more closely than others, like those of real texts.
fn clustered(count: usize) -> (Vec<Chunk>, Vec<[f32; DIMENSIONS]>) {
    let mut random = Random(21);
    let centres: Vec<_> = (0..CLUSTERS).map(|_| random.vector()).collect();
    let noises: Vec<_> = (0..2000).map(|_| random.vector()).collect();
    let near = |random: &mut Random| {
        let (centre, noise) = (&centres[random.below(CLUSTERS)], &noises[random.below(noises.len())]);
        let spread = 0.8 + 0.6 * random.number();
        normalised(&std::array::from_fn(|at| centre[at] + spread * noise[at]))
    };
    let chunk = |id: u32, vector| Chunk {
        id,
        text: id.to_le_bytes().to_vec(),
        fields: [String::new(), String::new(), String::new()],
        vector: Some(vector),
        exact: true,
    };
    let chunks = (0..u32::try_from(count).unwrap()).map(|id| chunk(id, near(&mut random))).collect();
    let queries = (0..12).map(|_| near(&mut random)).collect();
    (chunks, queries)
}

/// The share of the ten nearest that each accuracy finds.
fn recall_at_ten(view: &View, chunks: &[Chunk], queries: &[[f32; DIMENSIONS]]) -> [f64; 3] {
    let mut hits = [0; 3];
    for query in queries {
        let exact = |chunk: &Chunk| -> f32 { chunk.vector.unwrap().iter().zip(query).map(|(a, b)| a * b).sum() };
        let mut scores: Vec<f32> = chunks.iter().map(exact).collect();
        let by_id = scores.clone();
        scores.sort_by(|a, b| b.total_cmp(a));
        for (accuracy, hits) in Accuracy::ALL.into_iter().zip(&mut hits) {
            let mut question = ask(&[], 50);
            question.vector = Some(query);
            question.accuracy = accuracy;
            let mut found = view.search(&question).unwrap();
            found.sort_by(|a, b| b.vector.unwrap().total_cmp(&a.vector.unwrap()));
            *hits += found.iter().take(10).filter(|scored| by_id[scored.chunk as usize] >= scores[9]).count();
            for scored in &found {
                assert!((scored.vector.unwrap() - by_id[scored.chunk as usize]).abs() < 0.01);
            }
        }
    }
    hits.map(|hits| hits as f64 / (queries.len() * 10) as f64)
}

#[test]
fn nearly_all_of_the_nearest_ten_are_found() {
    let (chunks, queries) = clustered(CHUNKS);
    let ids: Vec<u32> = chunks.iter().map(|chunk| chunk.id).collect();
    let whole = Arc::new(Segment::from_bytes(bytes_of(&chunks)).unwrap());
    // With codes, and by rows alone.
    for count in [CHUNKS, 20_000] {
        let view = View::new(vec![whole.clone()], &ids[..count]).unwrap();
        let [fast, balanced, high] = recall_at_ten(&view, &chunks[..count], &queries);
        assert!(fast >= 0.9 && balanced >= 0.98 && high >= 0.99, "{count}: {fast} {balanced} {high}");
    }
    // Segments without codes, beside one with them, give the same answer.
    let segment = |range: std::ops::Range<usize>| Arc::new(Segment::from_bytes(bytes_of(&chunks[range])).unwrap());
    let pieces = View::new(vec![segment(0..9_000), segment(9_000..45_000), segment(45_000..CHUNKS)], &ids).unwrap();
    let view = View::new(vec![whole], &ids).unwrap();
    for query in &queries {
        let mut question = ask(&[], 50);
        question.vector = Some(query);
        assert_eq!(view.search(&question).unwrap(), pieces.search(&question).unwrap());
        let odd = |id: u32| id % 64 != 1;
        question.allowed = Some(&odd);
        assert_eq!(view.search(&question).unwrap(), pieces.search(&question).unwrap());
    }
}
