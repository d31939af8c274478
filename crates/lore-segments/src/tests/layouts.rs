//! The layout of segments does not show: the same chunks give the same answers, bit for bit.

use std::sync::Arc;

use lore_store::{AskWord, ChunkId, Scored};
use proptest::prelude::*;

use super::{
    super::{Segment, View, merge},
    Chunk, Random, ask, bytes_of, corpus, segment_of, word,
};

/// A scored chunk by its text, with the bits of its scores.
type Answer = (Vec<u8>, u32, Option<u32>, u64);

/// Everything that is asked of a view, with content in the place of ids.
fn answers(view: &View, chunks: &[Chunk]) -> Vec<Answer> {
    let mut random = Random(77);
    let mut all = Vec::new();
    for count in [1, 2, 5, 9] {
        let words: Vec<AskWord> =
            (0..count).map(|_| AskWord { token: word(&mut random), weight: 1.0 + random.number() }).collect();
        let vector = random.vector();
        for top in [1, 7, 40] {
            let mut question = ask(&words, top);
            question.vector = Some(&vector);
            all.extend(view.search(&question).unwrap().into_iter().map(|scored: Scored| {
                let chunk = chunks.iter().find(|chunk| chunk.id == scored.chunk).unwrap();
                let vector = scored.vector.map(f32::to_bits);
                (chunk.text.clone(), scored.text.to_bits(), vector, scored.matched)
            }));
        }
    }
    all
}

fn ids(chunks: &[Chunk]) -> Vec<ChunkId> {
    chunks.iter().map(|chunk| chunk.id).collect()
}

#[test]
fn segments_dead_chunks_and_other_repositories_do_not_show() {
    for seed in 0..2 {
        let all = corpus(seed, 700);
        let mut random = Random(seed);
        let mine: Vec<Chunk> = all.iter().filter(|_| random.below(3) == 0).cloned().collect();
        let members = ids(&mine);
        let fresh = View::new(vec![segment_of(&mine)], &members).unwrap();
        let expected = answers(&fresh, &mine);
        assert!(expected.len() > 100);
        let check = |segments: Vec<Arc<Segment>>| {
            let view = View::new(segments, &members).unwrap();
            assert_eq!(view.chunk_count() as usize, members.len());
            assert!(answers(&view, &mine) == expected);
        };
        check(vec![segment_of(&all)]);
        let pieces: Vec<Arc<Segment>> = all.chunks(90).map(segment_of).collect();
        check(pieces.clone());
        check(pieces.iter().rev().cloned().collect());
        let dealt: Vec<Arc<Segment>> = (0..5)
            .map(|share| segment_of(all.iter().enumerate().filter(|(at, _)| at % 5 == share).map(|x| x.1)))
            .collect();
        check(dealt.clone());
        let pieces: Vec<&Segment> = dealt.iter().map(AsRef::as_ref).collect();
        check(vec![Arc::new(Segment::from_bytes(merge(&pieces, &|_| true).unwrap()).unwrap())]);
        let living = |id: ChunkId| members.binary_search(&id).is_ok();
        check(vec![Arc::new(Segment::from_bytes(merge(&pieces, &living).unwrap()).unwrap())]);
        // Chunks may be in two segments for a while.
        check(vec![segment_of(&all[..400]), segment_of(&all[200..])]);
    }
}

#[test]
fn other_numbers_for_the_same_chunks_do_not_show() {
    let chunks = corpus(9, 500);
    let mut renumbered = chunks.clone();
    renumbered.reverse();
    for (chunk, id) in renumbered.iter_mut().zip(1000..) {
        chunk.id = id;
    }
    // Equal scores are common here: every chunk is there five times with other keys.
    let doubled = |chunks: &[Chunk]| -> Vec<Chunk> {
        let copy = |chunk: &Chunk, number: u8| {
            let mut chunk = chunk.clone();
            chunk.id = chunk.id * 5 + u32::from(number);
            chunk.text.push(number);
            chunk
        };
        chunks.iter().flat_map(|chunk| (0..5).map(move |number| copy(chunk, number))).collect()
    };
    let (one, other) = (doubled(&chunks), doubled(&renumbered));
    let view = |chunks: &[Chunk]| View::new(chunks.chunks(999).map(segment_of).collect(), &ids(chunks)).unwrap();
    assert!(answers(&view(&one), &one) == answers(&view(&other), &other));
}

#[test]
fn a_chunk_that_no_segment_has_is_an_error() {
    let chunks = corpus(1, 50);
    let mut members = ids(&chunks);
    let segment = segment_of(&chunks);
    assert!(View::new(vec![segment.clone()], &members).is_ok());
    for absent in [0, 1_000_000] {
        members.push(absent);
        members.sort_unstable();
        assert!(View::new(vec![segment.clone()], &members).is_err());
        members.retain(|id| *id != absent);
    }
    assert!(View::new(Vec::new(), &members).is_err());
    let nothing = View::new(Vec::new(), &[]).unwrap();
    assert!(nothing.chunk_count() == 0 && nothing.search(&ask(&[], 5)).unwrap().is_empty());
}

#[test]
fn bytes_do_not_change_from_version_to_version() {
    // A new number here is a new format version, or a change of the tokenizer or of zstd.
    let hash = blake3::hash(&bytes_of(&corpus(5, 600)));
    assert_eq!(&hash.to_hex()[..16], "cb751a9b2ed536ca");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn merging_equals_building_at_once(seed in 0u64..1000, count in 1usize..400, shares in 1usize..6, dead in 1u32..5) {
        let chunks = corpus(seed, count);
        let mut random = Random(seed);
        let mut dealt = vec![Vec::new(); shares];
        for chunk in &chunks {
            dealt[random.below(shares)].push(chunk.clone());
        }
        let segments: Vec<Arc<Segment>> = dealt.iter().map(segment_of).collect();
        let alive = |id: ChunkId| id % dead != 1;
        let merged = merge(&segments.iter().map(AsRef::as_ref).collect::<Vec<_>>(), &alive).unwrap();
        prop_assert!(merged == bytes_of(chunks.iter().filter(|chunk| alive(chunk.id))));
    }
}
