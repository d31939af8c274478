//! Candidates of exact search against texts that are looked through one after the other.

use std::sync::Arc;

use lore_store::{ChunkId, TextPlan, Trigram};
use proptest::prelude::*;

use super::{
    super::{Segment, View, merge},
    Chunk, Random, bytes_of, corpus, segment_of,
};

/// Whether a text is what the plan asks for; shares nothing with the index.
fn allows(plan: &TextPlan, text: &[u8]) -> bool {
    match plan {
        TextPlan::Anything => true,
        TextPlan::Has(wanted) => text.windows(3).any(|bytes| Trigram::new(bytes.try_into().unwrap()) == Some(*wanted)),
        TextPlan::All(plans) => plans.iter().all(|plan| allows(plan, text)),
        TextPlan::Any(plans) => plans.iter().any(|plan| allows(plan, text)),
    }
}

fn ids(chunks: &[Chunk]) -> Vec<ChunkId> {
    chunks.iter().map(|chunk| chunk.id).collect()
}

/// Chunks with nothing but text. Few different bytes: most trigrams are in many of them.
fn chunks_of(texts: Vec<Vec<u8>>, random: &mut Random) -> Vec<Chunk> {
    let mut id = 0;
    let chunk = |text| {
        id += 1 + u32::try_from(random.below(3)).unwrap();
        Chunk { id, text, fields: Default::default(), vector: None, exact: random.below(8) > 0 }
    };
    texts.into_iter().map(chunk).collect()
}

/// A plan of pieces of the texts, changed a little now and then.
fn plan(chunks: &[Chunk], random: &mut Random, depth: usize) -> TextPlan {
    if depth > 0 && random.below(3) > 0 {
        let mut parts = (0..=random.below(3)).map(|_| plan(chunks, random, depth - 1)).collect::<Vec<_>>();
        let first = parts.remove(0);
        return match random.below(2) {
            0 => parts.into_iter().fold(first, TextPlan::and),
            _ => parts.into_iter().fold(first, TextPlan::or),
        };
    }
    if chunks.is_empty() {
        return TextPlan::literal(b"abc");
    }
    let text = &chunks[random.below(chunks.len())].text;
    let from = random.below(text.len() + 1);
    let mut piece = text[from..(from + random.below(12)).min(text.len())].to_vec();
    match random.below(6) {
        0 => piece.make_ascii_uppercase(),
        1 => piece.push(b'q'),
        _ => {}
    }
    TextPlan::literal(&piece)
}

#[track_caller]
fn check(view: &View, plan: &TextPlan, members: &[&Chunk]) {
    let found = view.chunks_with(plan).unwrap();
    assert!(found.is_sorted_by(|a, b| a < b));
    for chunk in members {
        let is_found = found.binary_search(&chunk.id).is_ok();
        assert!(is_found || !chunk.exact || !allows(plan, &chunk.text), "{plan:?} {}", chunk.text.escape_ascii());
        assert!(chunk.exact || !is_found);
    }
    assert!(found.iter().all(|id| members.iter().any(|chunk| chunk.id == *id)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_chunk_that_has_what_is_asked_for_is_missing(
        texts in prop::collection::vec(prop_oneof![
            prop::collection::vec(prop::sample::select(b"abAB_ \n\0\xff\xc3".to_vec()), 0..40),
            prop::collection::vec(any::<u8>(), 0..400),
            prop::collection::vec(prop::sample::select(b"abcdefgh(){} \n".to_vec()), 3000..9000),
        ], 0..60),
        seed in any::<u64>(),
    ) {
        let mut random = Random(seed);
        let chunks = chunks_of(texts, &mut random);
        let members: Vec<&Chunk> = chunks.iter().filter(|_| random.below(4) > 0).collect();
        let member_ids: Vec<ChunkId> = members.iter().map(|chunk| chunk.id).collect();
        let cut = random.below(chunks.len() + 1);
        let pieces = vec![segment_of(&chunks[..cut]), segment_of(&chunks[cut..])];
        let merged = merge(&[&pieces[1], &pieces[0]], &|_| true).unwrap();
        prop_assert!(merged == bytes_of(&chunks));
        let merged = vec![Arc::new(Segment::from_bytes(merged).unwrap())];
        let views = [pieces, merged].map(|segments| View::new(segments, &member_ids).unwrap());
        for round in 0..25 {
            let plan = if round == 0 { TextPlan::Anything } else { plan(&chunks, &mut random, 3) };
            for view in &views {
                check(view, &plan, &members);
            }
        }
    }
}

#[test]
fn candidates_are_few() {
    let mut random = Random(3);
    let mut chunks = corpus(3, 2000);
    for chunk in &mut chunks {
        chunk.exact = true;
    }
    let marked = random.below(chunks.len());
    chunks[marked].text.extend_from_slice(b" NeedleInHay");
    let view = View::new(vec![segment_of(&chunks)], &ids(&chunks)).unwrap();
    let found = view.chunks_with(&TextPlan::literal(b"needleinhay")).unwrap();
    assert!(found.contains(&chunks[marked].id) && found.len() < 40, "{}", found.len());
    assert!(view.chunks_with(&TextPlan::literal(b"nothing of the kind")).unwrap().is_empty());
    assert!(view.chunks_with(&TextPlan::Any([].into())).unwrap().is_empty());
    assert_eq!(view.chunks_with(&TextPlan::All([].into())).unwrap(), ids(&chunks));
    assert_eq!(view.chunks_with(&TextPlan::literal(b"xx")).unwrap(), ids(&chunks));
}

#[test]
fn texts_that_are_no_lines_of_a_file_are_not_looked_through() {
    let mut chunks = corpus(4, 300);
    for chunk in &mut chunks {
        chunk.exact = chunk.id % 2 == 0;
    }
    let view = View::new(vec![segment_of(&chunks)], &ids(&chunks)).unwrap();
    let even: Vec<ChunkId> = ids(&chunks).into_iter().filter(|id| id % 2 == 0).collect();
    assert_eq!(view.chunks_with(&TextPlan::Anything).unwrap(), even);
    for chunk in &mut chunks {
        chunk.exact = false;
    }
    let view = View::new(vec![segment_of(&chunks)], &ids(&chunks)).unwrap();
    assert!(view.chunks_with(&TextPlan::Anything).unwrap().is_empty());
}
