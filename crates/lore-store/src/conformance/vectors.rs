//! What every backend must do with the vectors of other models.

use std::sync::Arc;

use super::{
    OK,
    code::{file, publish, put, view},
    history::new_repo,
};
use crate::{ChunkId, CodeState, CodeView, IndexStore, NewVector, OverlayInput, PassageKey, StoreError, VectorWriter};

const MODEL: &str = "openai:small";

/// Runs every check of [`VectorStore`](crate::VectorStore) and [`VectorWriter`], each on a store of its own.
pub fn check_vectors(make: impl Fn() -> Arc<dyn IndexStore>) {
    there_are_no_sets_at_first(&*make());
    what_was_put_is_found_by_cosine(&*make());
    sets_of_several_models_do_not_mix(&*make());
    a_set_grows_while_a_view_is_open_and_stays_what_it_was(&*make());
    a_known_text_is_not_embedded_again(&*make());
    one_adds_vectors_and_the_index_can_be_written_meanwhile(&*make());
    what_no_snapshot_has_is_collected(&*make());
}

/// A vector of this length that points into one direction, and a little into the next.
fn direction(dimensions: usize, at: usize) -> Vec<f32> {
    let mut vector = vec![0.0; dimensions];
    (vector[at % dimensions], vector[(at + 1) % dimensions]) = (0.8, 0.6);
    vector
}

fn passage(number: usize) -> PassageKey {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&(number as u64).to_le_bytes());
    PassageKey(key)
}

fn new(chunk: ChunkId, number: usize, dimensions: usize) -> NewVector {
    NewVector { chunk, passage: passage(number), vector: direction(dimensions, number) }
}

/// A repository with one file of these chunks.
fn indexed(store: &dyn IndexStore, texts: &[&str]) -> (CodeState, Vec<ChunkId>) {
    let writer = store.try_writer().expect(OK);
    let repo = writer.add_repo(&new_repo("code"), 5).expect(OK).id;
    put(&*writer, 1, texts);
    let state = publish(&*writer, repo, 1, vec![file("a.rs", 1)]);
    drop(writer);
    let chunks = view(store, &state, OverlayInput::default()).chunks_of(0).to_vec();
    (state, chunks)
}

fn open(store: &dyn IndexStore, state: &CodeState) -> Arc<dyn CodeView> {
    view(store, state, OverlayInput::default())
}

fn writer(store: &dyn IndexStore) -> Box<dyn VectorWriter> {
    store.vector_writer().expect(OK)
}

fn there_are_no_sets_at_first(store: &dyn IndexStore) {
    assert!(store.vector_sets().expect(OK).is_empty());
    let (state, chunks) = indexed(store, &["alpha", "beta"]);
    let view = open(store, &state);
    assert!(view.vectors(MODEL).expect(OK).is_none());
    let mut meant = chunks.clone();
    meant.sort_unstable();
    assert_eq!(view.meant(), meant);
    assert!(writer(store).remove_set(MODEL).expect(OK).is_none());
}

fn what_was_put_is_found_by_cosine(store: &dyn IndexStore) {
    for dimensions in [8, 33, 384, 4096] {
        let model = format!("model@{dimensions}");
        let texts: Vec<String> = (0..20).map(|number| format!("text{number} of {dimensions}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let index = store.try_writer().expect(OK);
        let repo = index.add_repo(&new_repo(&format!("r{dimensions}")), 5).expect(OK).id;
        let number = u8::try_from(dimensions % 251).expect("small");
        put(&*index, number, &texts);
        let state = publish(&*index, repo, number, vec![file("a.rs", number)]);
        drop(index);
        let view = open(store, &state);
        let chunks = view.chunks_of(0).to_vec();
        // The last one gets none.
        let some = chunks[..19].iter().zip(0..).map(|(chunk, at)| new(*chunk, at, dimensions)).collect();
        writer(store).put_vectors(&model, some).expect(OK);
        let vectors = view.vectors(&model).expect(OK).expect("the set is there");
        assert_eq!((vectors.dimensions(), vectors.covered()), (dimensions, 19));
        assert!(vectors.covers(chunks[3]) && !vectors.covers(chunks[19]));
        let query = direction(dimensions, 3);
        let cosines = vectors.cosines(&query, &[chunks[3], chunks[19], ChunkId::MAX]);
        assert!(cosines[0].is_some_and(|cosine| (cosine - 1.0).abs() < 0.02), "{cosines:?}");
        assert_eq!(cosines[1..], [None, None]);
        assert_eq!(vectors.cosines(&query[1..], &chunks), vec![None; 20], "of another length");
        let nearest = vectors.nearest(&query, None, 1);
        let alike =
            |chunk: &ChunkId| chunks.iter().position(|known| known == chunk).is_some_and(|at| at % dimensions == 3);
        assert!(nearest.len() == 1 && nearest.iter().all(alike), "{nearest:?}");
        let others = vectors.nearest(&query, Some(&|chunk| chunk != chunks[3]), 100);
        assert!(others.len() == 18 && !others.contains(&chunks[3]));
        assert!(vectors.nearest(&query, None, 0).is_empty() && vectors.nearest(&query[1..], None, 9).is_empty());
    }
    let sets = store.vector_sets().expect(OK);
    assert_eq!(
        sets.iter().map(|set| (set.dimensions, set.vectors)).collect::<Vec<_>>(),
        [(33, 19), (384, 19), (4096, 19), (8, 19)]
    );
    assert!(sets.iter().all(|set| set.bytes > 19 * 8) && store.check_code(true).expect(OK).is_empty());
}

fn sets_of_several_models_do_not_mix(store: &dyn IndexStore) {
    let (state, chunks) = indexed(store, &["alpha", "beta"]);
    let adds = writer(store);
    adds.put_vectors(MODEL, vec![new(chunks[0], 1, 16)]).expect(OK);
    adds.put_vectors("other", vec![new(chunks[1], 1, 32)]).expect(OK);
    let wrong = adds.put_vectors(MODEL, vec![new(chunks[1], 1, 32)]);
    assert!(wrong.is_err(), "a set holds vectors of one length");
    assert!(adds.put_vectors("short", vec![new(chunks[1], 1, 4)]).is_err());
    let view = open(store, &state);
    let covers = |model: &str| {
        view.vectors(model)
            .expect(OK)
            .map(|vectors| chunks.iter().map(|chunk| vectors.covers(*chunk)).collect::<Vec<_>>())
    };
    assert_eq!(
        (covers(MODEL), covers("other"), covers("short")),
        (Some(vec![true, false]), Some(vec![false, true]), None)
    );
    assert_eq!(adds.remove_set(MODEL).expect(OK).map(|gone| gone.chunks), Some(1));
    assert_eq!((covers(MODEL), covers("other")), (None, Some(vec![false, true])));
    // The same name may now hold vectors of another length.
    adds.put_vectors(MODEL, vec![new(chunks[1], 1, 32)]).expect(OK);
    assert_eq!(covers(MODEL), Some(vec![false, true]));
}

fn a_set_grows_while_a_view_is_open_and_stays_what_it_was(store: &dyn IndexStore) {
    let texts: Vec<String> = (0..40).map(|number| format!("text {number}")).collect();
    let (state, chunks) = indexed(store, &texts.iter().map(String::as_str).collect::<Vec<_>>());
    let view = open(store, &state);
    let adds = writer(store);
    let mut before = None;
    // So many that a backend has reason to join what was put.
    for (number, chunk) in chunks.iter().enumerate() {
        adds.put_vectors(MODEL, vec![new(*chunk, number, 64)]).expect(OK);
        let vectors = view.vectors(MODEL).expect(OK).expect("it is there");
        assert_eq!(vectors.covered(), number + 1);
        let query = direction(64, number);
        assert_eq!(vectors.nearest(&query, None, 1), [*chunk]);
        before.get_or_insert(vectors);
    }
    assert_eq!(before.map(|vectors| vectors.covered()), Some(1));
    // Put again, the later one counts, and it is still one.
    adds.put_vectors(MODEL, vec![NewVector { vector: direction(64, 50), ..new(chunks[2], 2, 64) }]).expect(OK);
    let vectors = open(store, &state).vectors(MODEL).expect(OK).expect("it is there");
    assert_eq!((vectors.covered(), vectors.nearest(&direction(64, 50), None, 1)), (40, vec![chunks[2]]));
}

fn a_known_text_is_not_embedded_again(store: &dyn IndexStore) {
    let (state, chunks) = indexed(store, &["alpha", "beta", "gamma"]);
    writer(store).put_vectors(MODEL, vec![new(chunks[0], 7, 16)]).expect(OK);
    let adds = writer(store);
    let wanted = [(chunks[1], passage(7)), (chunks[2], passage(8))];
    assert_eq!(adds.adopt(MODEL, &wanted).expect(OK), [chunks[1]].into());
    assert!(adds.adopt("other", &wanted).expect(OK).is_empty());
    let vectors = open(store, &state).vectors(MODEL).expect(OK).expect("it is there");
    let cosines = vectors.cosines(&direction(16, 7), &chunks);
    assert!(cosines[0].is_some() && cosines[0] == cosines[1] && cosines[2].is_none(), "{cosines:?}");
}

fn one_adds_vectors_and_the_index_can_be_written_meanwhile(store: &dyn IndexStore) {
    let (_, chunks) = indexed(store, &["alpha"]);
    let adds = writer(store);
    assert!(matches!(store.vector_writer(), Err(StoreError::Locked)));
    let index = store.try_writer().expect("the writer's place is free");
    assert!(matches!(adds.put_vectors(MODEL, vec![new(chunks[0], 1, 16)]), Err(StoreError::Locked)));
    drop(index);
    adds.put_vectors(MODEL, vec![new(chunks[0], 1, 16)]).expect("the call can be made again");
    drop(adds);
    drop(writer(store));
}

fn what_no_snapshot_has_is_collected(store: &dyn IndexStore) {
    let index = store.try_writer().expect(OK);
    let repo = index.add_repo(&new_repo("code"), 5).expect(OK).id;
    put(&*index, 1, &["alpha", "beta", "gamma"]);
    let state = publish(&*index, repo, 1, vec![file("a.rs", 1)]);
    drop(index);
    let chunks = open(store, &state).chunks_of(0).to_vec();
    let adds = writer(store);
    let all = chunks.iter().zip(0..).map(|(chunk, at)| new(*chunk, at, 16)).collect();
    adds.put_vectors(MODEL, all).expect(OK);
    let held = open(store, &state).vectors(MODEL).expect(OK).expect("it is there");
    let index = store.try_writer().expect(OK);
    put(&*index, 2, &["alpha"]);
    let state = publish(&*index, repo, 2, vec![file("a.rs", 2)]);
    drop(index);
    let gone = adds.collect_vectors(MODEL).expect(OK);
    assert!(gone.chunks == 2 && gone.bytes > 0, "{gone:?}");
    assert_eq!(held.covered(), 3, "a reader keeps what it has");
    assert!(held.cosines(&direction(16, 1), &chunks).iter().all(Option::is_some));
    let vectors = open(store, &state).vectors(MODEL).expect(OK).expect("it is there");
    assert_eq!(vectors.covered(), 1);
    assert_eq!(store.vector_sets().expect(OK)[0].vectors, 1);
    assert_eq!(adds.collect_vectors(MODEL).expect(OK).chunks, 0);
}
