//! Texts, keys and lengths come back as they went in.

use super::{
    super::{
        Segment, TextCache, View,
        texts::{TextWriter, Texts},
        write_atomically,
    },
    Chunk, Random, ask, ask_words, corpus, segment_of,
};

#[test]
fn any_bytes_come_back() {
    let mut chunks = corpus(2, 200);
    chunks[3].text = vec![0xff, 0xfe, 0, b'\n', 0xc3];
    chunks[4].text = Vec::new();
    let mut random = Random(1);
    chunks[5].text = (0..100_000).map(|_| random.next().to_le_bytes()[0]).collect();
    let segment = segment_of(&chunks);
    let ids: Vec<u32> = chunks.iter().map(|chunk| chunk.id).collect();
    let view = View::new(vec![segment.clone()], &ids).unwrap();
    for (ordinal, chunk) in (0u32..).zip(&chunks) {
        assert!(segment.text(ordinal).unwrap() == chunk.text);
        assert!(view.text(chunk.id).unwrap() == chunk.text);
        assert_eq!(segment.find(&chunk.key()), Some(chunk.id));
        assert_eq!((segment.id(ordinal), segment.key(ordinal)), (Some(chunk.id), Some(chunk.key())));
    }
    assert!(segment.text(200).is_err() && view.text(0).is_err());
    let mut key = chunks[0].key();
    key.0[15] ^= 1;
    assert_eq!(segment.find(&key), None);
    assert_eq!(segment.rows() as usize, chunks.iter().filter(|chunk| chunk.vector.is_some()).count());
}

#[test]
fn a_length_that_the_frame_does_not_have_is_damage() {
    let mut writer = TextWriter::default();
    writer.push(b"the heron stands");
    let (mut index, frames) = writer.finish();
    let read = |index: &[u8]| {
        let texts = Texts { index, frames: &frames, chunks: 1 };
        texts.block(0).ok()?.get(0).map(<[u8]>::to_vec)
    };
    assert_eq!(read(&index), Some(b"the heron stands".to_vec()));
    index[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(read(&index), None);
}

#[test]
fn long_chunks_count_exactly() {
    let mut chunks = corpus(2, 20);
    chunks[7].fields[1] = "deep ".repeat(70_000) + "word0x";
    chunks[9].fields[1] = "deep ".repeat(300);
    chunks[11].fields[2] = "deep ".repeat(65_535);
    let segment = segment_of(&chunks);
    assert_eq!(segment.lengths(1).get(7), 70_001);
    assert_eq!(segment.lengths(1).get(9), 300);
    assert_eq!(segment.lengths(2).get(11), 65_535);
    let ids: Vec<u32> = chunks.iter().map(|chunk| chunk.id).collect();
    let view = View::new(vec![segment], &ids).unwrap();
    assert_eq!(view.frequency("deep").unwrap(), 3);
    let found = view.search(&ask(&ask_words(&[("deep", 1.0)]), 5)).unwrap();
    let ids: Vec<u32> = [7, 9, 11].map(|at: usize| chunks[at].id).into();
    assert!(found.len() == 3 && found.iter().all(|scored| ids.contains(&scored.chunk) && scored.text > 0.0));
}

#[test]
fn a_published_file_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.seg");
    let chunks = corpus(8, 100);
    write_atomically(&path, &super::bytes_of(&chunks)).unwrap();
    let segment = Segment::open(&path).unwrap();
    segment.verify().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(segment.text(99).unwrap() == chunks[99].text);
    // An unlinked file stays readable.
    std::fs::remove_file(&path).unwrap();
    assert!(segment.text(50).unwrap() == chunks[50].text);
}

#[test]
fn no_chunks_are_a_segment_too() {
    let none: [Chunk; 0] = [];
    let segment = segment_of(&none);
    segment.verify().unwrap();
    assert!(segment.chunk_count() == 0 && segment.ids().next().is_none() && segment.text(0).is_err());
}

#[test]
fn texts_that_are_kept_are_those_of_their_segment_and_take_no_more_than_they_may() {
    let most = 300_000;
    let cache = TextCache::new(most);
    let corpora = [corpus(3, 400), corpus(4, 400)];
    let segments = corpora.each_ref().map(|chunks| {
        let segment = Segment::from_bytes(super::bytes_of(chunks)).unwrap();
        segment.keeping(cache.share())
    });
    for _ in 0..3 {
        for ordinal in 0..400_usize {
            for (chunks, segment) in corpora.iter().zip(&segments) {
                assert!(segment.text(u32::try_from(ordinal).unwrap()).unwrap() == chunks[ordinal].text);
                assert!(cache.bytes() <= most, "{}", cache.bytes());
            }
        }
    }
    assert!(cache.bytes() > 0, "something is kept");
    let first = segments[1].text_block(399).unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &segments[1].text_block(399).unwrap()), "it is not unpacked again");
    let both = cache.bytes();
    let [first, second] = segments;
    drop(first);
    assert!((1..both).contains(&cache.bytes()), "what was kept of a segment goes with it");
    cache.clear();
    assert_eq!(cache.bytes(), 0);
    assert!(second.text(399).unwrap() == corpora[1][399].text, "it is read again");
    assert!(cache.bytes() > 0);
    drop(second);
    assert_eq!(cache.bytes(), 0);
}
