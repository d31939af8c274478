//! Scores against a plain implementation of the formula that shares nothing with ours but the tokenizer.

use std::collections::HashMap;

use lore_store::{AskWord, FieldWeight, tokens};

use super::{super::View, Chunk, FIELDS, Random, ask, ask_words, corpus, segment_of, word};

fn counts(text: &str) -> HashMap<String, f64> {
    let mut counts = HashMap::new();
    for token in tokens(text) {
        *counts.entry(token).or_insert(0.0) += 1.0;
    }
    counts
}

/// BM25 over fields, in f64, straight from the formula.
fn naive(chunks: &[Chunk], words: &[AskWord], fields: [FieldWeight; 3]) -> HashMap<u32, f64> {
    let all = chunks.len() as f64;
    let length = |chunk: &Chunk, field: usize| tokens(&chunk.fields[field]).len() as f64;
    let average = |field: usize| chunks.iter().map(|chunk| length(chunk, field)).sum::<f64>() / all;
    let averages = [average(0), average(1), average(2)];
    let counted: Vec<[HashMap<String, f64>; 3]> =
        chunks.iter().map(|chunk| chunk.fields.each_ref().map(|text| counts(text))).collect();
    let mut scores = HashMap::new();
    for word in words {
        let has = |fields: &&[HashMap<String, f64>; 3]| fields.iter().any(|field| field.contains_key(&word.token));
        let df = counted.iter().filter(has).count() as f64;
        let idf = (1.0 + (all - df + 0.5) / (df + 0.5)).ln();
        for (chunk, counted) in chunks.iter().zip(&counted).filter(|(_, counted)| has(counted)) {
            let mut sum = 0.0;
            for (field, weights) in fields.iter().enumerate() {
                let frequency = counted[field].get(&word.token).copied().unwrap_or(0.0);
                let b = f64::from(weights.length);
                let norm = 1.0 - b + b * length(chunk, field) / averages[field];
                sum += f64::from(weights.weight) * frequency / norm;
            }
            *scores.entry(chunk.id).or_insert(0.0) += f64::from(word.weight) * idf * 2.2 * sum / (1.2 + sum);
        }
    }
    scores
}

#[test]
fn scores_are_those_of_the_formula() {
    for seed in 0..12 {
        let chunks = corpus(seed, 400);
        let mut random = Random(seed + 100);
        // Every second chunk is a member: statistics must be those of the members.
        let members: Vec<Chunk> = chunks.iter().filter(|_| random.below(2) == 0).cloned().collect();
        let ids: Vec<u32> = members.iter().map(|chunk| chunk.id).collect();
        let view = View::new(vec![segment_of(&chunks)], &ids).unwrap();
        for count in [1, 3, 8] {
            let mut words: Vec<AskWord> =
                (0..count).map(|_| AskWord { token: word(&mut random), weight: 1.0 + random.number() }).collect();
            words.sort_by(|a, b| a.token.cmp(&b.token));
            words.dedup_by(|a, b| a.token == b.token);
            let expected = naive(&members, &words, FIELDS);
            let found = view.search(&ask(&words, 10_000)).unwrap();
            assert_eq!(found.len(), expected.len());
            for scored in &found {
                let wanted = expected[&scored.chunk];
                assert!((f64::from(scored.text) - wanted).abs() <= wanted.abs() * 1e-5, "{scored:?} {wanted}");
            }
            let few = view.search(&ask(&words, 10)).unwrap();
            let worst = few.iter().map(|scored| f64::from(scored.text)).fold(f64::MAX, f64::min);
            let better = expected.values().filter(|score| **score > worst * (1.0 + 1e-5)).count();
            assert!(few.len() == expected.len().min(10) && better <= few.len());
            for word in &words {
                let has = |chunk: &&Chunk| chunk.fields.iter().any(|text| tokens(text).contains(&word.token));
                assert_eq!(view.frequency(&word.token).unwrap() as usize, members.iter().filter(has).count());
            }
        }
    }
}

#[test]
fn masks_say_which_words_occur() {
    let chunk = |id: u32, names: &str, code: &str| Chunk {
        id,
        text: code.into(),
        fields: [names.to_owned(), code.to_owned(), String::new()],
        vector: None,
        exact: true,
    };
    let chunks = [chunk(3, "parseConfig", "read file"), chunk(5, "", "parse file"), chunk(9, "other", "nothing")];
    let view = View::new(vec![segment_of(&chunks)], &[3, 5, 9]).unwrap();
    let words = ask_words(&[("file", 1.0), ("pars", 1.0), ("absent", 1.0), ("file", 0.5)]);
    let mut found = view.search(&ask(&words, 10)).unwrap();
    found.sort_by_key(|scored| scored.chunk);
    let masks: Vec<_> = found.iter().map(|scored| (scored.chunk, scored.matched)).collect();
    assert_eq!(masks, [(3, 0b1011), (5, 0b1011)]);
}

#[test]
fn boosts_and_filters_apply_before_the_best_are_chosen() {
    let chunks = corpus(3, 300);
    let ids: Vec<u32> = chunks.iter().map(|chunk| chunk.id).collect();
    let view = View::new(vec![segment_of(&chunks)], &ids).unwrap();
    let words = ask_words(&[("word0x", 1.0), ("word1x", 1.0)]);
    let plain = view.search(&ask(&words, 300)).unwrap();
    let silent = ids.iter().copied().find(|id| plain.iter().all(|scored| scored.chunk != *id)).unwrap();
    let boosts = [(silent, 100.0), (plain[0].chunk, 200.0), (4_000_000, 5.0)];
    let mut question = ask(&words, 2);
    question.boosts = &boosts;
    let mut best: Vec<_> = view.search(&question).unwrap().iter().map(|scored| scored.chunk).collect();
    best.sort_unstable();
    let mut expected = [silent, plain[0].chunk];
    expected.sort_unstable();
    assert_eq!(best, expected);
    // What was boosted is forgotten, and a filter leaves scores as they are.
    assert_eq!(view.search(&ask(&words, 300)).unwrap(), plain);
    let odd = |id: u32| id % 2 == 1;
    let vector = Random(1).vector();
    let mut question = ask(&words, 20);
    question.allowed = Some(&odd);
    question.vector = Some(&vector);
    let found = view.search(&question).unwrap();
    assert!(found.len() > 20 && found.iter().all(|scored| odd(scored.chunk)));
    for scored in found.iter().filter(|scored| scored.matched != 0) {
        assert_eq!(
            plain.iter().find(|other| other.chunk == scored.chunk).unwrap().text.to_bits(),
            scored.text.to_bits()
        );
    }
}
