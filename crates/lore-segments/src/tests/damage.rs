//! Damaged bytes are errors, or less than was written; never a panic.

use std::sync::Arc;

use lore_store::{ChunkId, TextPlan};
use proptest::prelude::*;

use super::{
    super::{Segment, View, merge},
    Random, ask, ask_words, bytes_of, corpus,
};

/// Does everything that can be done with a segment.
fn use_all(bytes: Vec<u8>) {
    let Ok(segment) = Segment::from_bytes(bytes) else { return };
    let segment = Arc::new(segment);
    for ordinal in (0..segment.chunk_count()).step_by(7).chain([segment.chunk_count(), u32::MAX]) {
        let _text = segment.text(ordinal);
        let _found = segment.key(ordinal).and_then(|key| segment.find(&key));
    }
    let _merged = merge(&[&segment], &|_| true);
    let mut members: Vec<ChunkId> = segment.ids().collect();
    members.sort_unstable();
    members.dedup();
    let Ok(view) = View::new(vec![segment], &members) else { return };
    let words = ask_words(&[("word0x", 1.0), ("word7x", 1.0), ("word500x", 1.0), ("zzz", 1.0)]);
    let vector = Random(4).vector();
    let mut question = ask(&words, 20);
    question.vector = Some(&vector);
    let _found = view.search(&question);
    let _count = view.frequency("word1x");
    for text in ["word0x", "word7x word", "xxxx", "0x", "zzz"] {
        let _chunks = view.chunks_with(&TextPlan::literal(text.as_bytes()));
    }
}

/// Bytes whose header is in order although `change` was made: what an attacker with the checksums in mind would write.
fn resealed(bytes: &[u8], change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    change(&mut bytes);
    if bytes.len() >= 512 {
        let sum = blake3::hash(&bytes[..496]);
        bytes[496..512].copy_from_slice(&sum.as_bytes()[..16]);
    }
    bytes
}

#[test]
fn every_flipped_bit_is_found() {
    let bytes = bytes_of(&corpus(6, 150));
    let mut random = Random(6);
    let places = (0..512).chain((0..1000).map(|_| random.below(bytes.len()))).collect::<Vec<_>>();
    for at in places {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(Segment::from_bytes(damaged).and_then(|segment| segment.verify()).is_err(), "byte {at}");
    }
}

#[test]
fn short_and_long_files_are_errors() {
    let bytes = bytes_of(&corpus(6, 60));
    for length in (0..bytes.len()).step_by(97).chain([0, 1, 511, 512, bytes.len() - 1]) {
        assert!(Segment::from_bytes(bytes[..length].to_vec()).is_err(), "{length}");
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(Segment::from_bytes(longer).is_err());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("empty"), "").unwrap();
    assert!(Segment::open(&folder.path().join("empty")).is_err());
    assert!(Segment::open(&folder.path().join("absent")).is_err());
}

#[test]
fn a_later_version_says_so() {
    let bytes = resealed(&bytes_of(&corpus(6, 5)), |bytes| bytes[8] = 3);
    let error = Segment::from_bytes(bytes).err().unwrap();
    assert_eq!(error.to_string(), "the segment has format version 3, this program knows version 2");
}

#[test]
fn damaged_parts_never_panic() {
    let bytes = bytes_of(&corpus(6, 300));
    let mut random = Random(9);
    for round in 0..200 {
        let changes: Vec<(usize, u8)> =
            (0..=round % 40).map(|_| (512 + random.below(bytes.len() - 512), random.next().to_le_bytes()[0])).collect();
        use_all(resealed(&bytes, |bytes| changes.iter().for_each(|(at, byte)| bytes[*at] = *byte)));
    }
    // Vectors are most of the bytes and the rest deserves as much: without them.
    let mut chunks = corpus(6, 300);
    for chunk in &mut chunks {
        chunk.vector = None;
        chunk.text.truncate(20);
    }
    let bytes = bytes_of(&chunks);
    for round in 0..500 {
        let changes: Vec<(usize, u8)> =
            (0..=round % 40).map(|_| (512 + random.below(bytes.len() - 512), random.next().to_le_bytes()[0])).collect();
        use_all(resealed(&bytes, |bytes| changes.iter().for_each(|(at, byte)| bytes[*at] = *byte)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn random_bytes_never_panic(noise in prop::collection::vec(any::<u8>(), 0..3000), lengths in any::<[u16; 19]>()) {
        use_all(noise.clone());
        let plausible = resealed(&bytes_of(&corpus(1, 3)), |bytes| {
            bytes.truncate(512);
            bytes.extend_from_slice(&noise);
            for (part, length) in lengths.iter().enumerate() {
                let at = 24 + part * 24;
                bytes[at..at + 8].copy_from_slice(&u64::from(*length % 400).to_le_bytes());
            }
        });
        use_all(plausible);
    }
}

#[test]
fn a_list_that_cannot_be_read_is_no_shorter_answer() {
    let bytes = bytes_of(&corpus(7, 400));
    let words = ask_words(&[("word0x", 1.0), ("word1x", 1.0)]);
    let ids = |bytes: Vec<u8>, all_words: bool| {
        let segment = Segment::from_bytes(bytes)?;
        let mut members: Vec<ChunkId> = segment.ids().collect();
        members.sort_unstable();
        members.dedup();
        let view = View::new(vec![Arc::new(segment)], &members)?;
        let mut question = ask(&words, 1_000);
        question.all_words = all_words;
        // Room is used again: what is left of one question must not be found by the next.
        let first = view.search(&question).map(|found| found.len());
        let again = view.search(&question).map(|found| found.len());
        assert_eq!(first.is_ok(), again.is_ok());
        first
    };
    let (mut told, mut random) = ([0, 0], Random(9));
    for _ in 0..800 {
        let mut damaged = bytes.clone();
        let at = 512 + random.below(bytes.len() - 512);
        damaged[at] = 0xff;
        for all_words in [false, true] {
            told[usize::from(all_words)] += usize::from(ids(damaged.clone(), all_words).is_err());
        }
    }
    assert!(told.iter().all(|times| *times > 0), "{told:?}");
}
