//! Misspelt words against a look at every word, and words that must all be there against those that may.

use lore_store::{WordDistance, tokens};

use super::{Chunk, Random, ask, ask_words, corpus, segment_of};
use crate::View;

/// Words of few letters, so that many are near each other and share stems.
fn word(random: &mut Random) -> String {
    let ends = ["", "", "", "s", "es", "ed", "ing", "ies", "_x", "Ab", "ä"];
    let length = 2 + random.below(6);
    let start: String = (0..length).map(|_| ['a', 'b', 'c', 'e'][random.below(4)]).collect();
    start + ends[random.below(ends.len())]
}

fn texts(seed: u64) -> Vec<Chunk> {
    let mut random = Random(seed);
    let mut chunks = corpus(seed, 600);
    for chunk in &mut chunks {
        let words: Vec<String> = (0..=random.below(8)).map(|_| word(&mut random)).collect();
        chunk.text = words.join(" ").into_bytes();
        chunk.fields = [String::new(), words.join(" "), String::new()];
        chunk.exact = true;
    }
    chunks
}

#[test]
fn no_chunk_with_a_word_that_is_near_is_missing() {
    let chunks = texts(5);
    let (a, b) = chunks.split_at(400);
    let members: Vec<u32> = chunks.iter().map(|chunk| chunk.id).filter(|id| id % 7 != 0).collect();
    let view = View::new(vec![segment_of(a), segment_of(b)], &members).unwrap();
    let mut random = Random(6);
    let (mut asked, mut found, mut needed) = (0, 0, 0);
    for changes in 0..4 {
        for _ in 0..40 {
            let wanted = word(&mut random).to_lowercase();
            let distance = WordDistance::new(&wanted, false);
            let answer = view.chunks_with_word_near(&wanted, changes).unwrap();
            let is_near = |chunk: &&Chunk| {
                let text = std::str::from_utf8(&chunk.text).unwrap();
                text.split(' ').any(|word| distance.to(word, changes).is_some())
            };
            for chunk in chunks.iter().filter(|chunk| members.contains(&chunk.id)).filter(is_near) {
                assert!(answer.contains(&chunk.id), "{wanted} {changes}: {}", String::from_utf8_lossy(&chunk.text));
                needed += 1;
            }
            assert!(answer.is_sorted() && answer.iter().all(|id| members.contains(id)));
            asked += members.len();
            found += answer.len();
        }
    }
    // Parts of compound words are words too, so some more are found.
    assert!(needed > asked / 20 && found < asked / 3, "{asked} {found} {needed}");
}

#[test]
fn where_all_words_must_be_there_the_others_are_left_out() {
    let chunks = corpus(11, 900);
    let (a, b) = chunks.split_at(500);
    let members: Vec<u32> = chunks.iter().map(|chunk| chunk.id).filter(|id| id % 5 != 0).collect();
    let segments = vec![segment_of(a), segment_of(b)];
    let mut random = Random(12);
    let mut kept = 0;
    for _ in 0..200 {
        let words: Vec<String> = (0..=random.below(3)).map(|_| tokens(&super::word(&mut random)).remove(0)).collect();
        let words: Vec<(&str, f32)> = words.iter().map(|word| (word.as_str(), 1.0)).collect();
        let words = ask_words(&words);
        let view = View::new(segments.clone(), &members).unwrap();
        let mut question = ask(&words, 10_000);
        // Whether the frequency of a word is known already makes no difference.
        question.all_words = true;
        let first = view.search(&question).unwrap();
        question.all_words = false;
        let some = view.search(&question).unwrap();
        question.all_words = true;
        let again = view.search(&question).unwrap();
        let all = (1 << words.len()) - 1;
        let expected: Vec<_> = some.into_iter().filter(|scored| scored.matched == all).collect();
        assert_eq!(first, expected);
        assert_eq!(again, expected);
        kept += expected.len();
    }
    assert!(kept > 1000, "{kept}");
}
