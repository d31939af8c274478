//! Tests of segments and views, on corpora made of random words.
#![expect(clippy::cast_precision_loss, reason = "counts in tests are small")]

mod damage;
mod layouts;
mod near;
mod recall;
mod reference;
mod texts;
mod trigrams;

use std::sync::Arc;

use lore_store::{Accuracy, Ask, AskWord, ChunkId, ChunkInput, ChunkKey, DIMENSIONS, FieldWeight};

use super::{Prepared, Scratch, Segment, SegmentBuilder};

/// A small random number generator (splitmix64): the same numbers on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        value ^ (value >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// Within -1 and 1, more often near 0.
    fn number(&mut self) -> f32 {
        let mut unit = || f32::from(u16::try_from(self.next() >> 48).unwrap()) / 65_535.0;
        (unit() + unit() + unit() - unit() - unit() - unit()) / 3.0
    }

    fn vector(&mut self) -> [f32; DIMENSIONS] {
        normalised(&std::array::from_fn(|_| self.number()))
    }
}

fn normalised(vector: &[f32; DIMENSIONS]) -> [f32; DIMENSIONS] {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-9);
    vector.map(|value| value / length)
}

#[derive(Clone)]
struct Chunk {
    id: ChunkId,
    text: Vec<u8>,
    fields: [String; 3],
    vector: Option<[f32; DIMENSIONS]>,
    exact: bool,
}

impl Chunk {
    /// By content, as keys are, whatever the id.
    fn key(&self) -> ChunkKey {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.text);
        self.fields.iter().for_each(|field| {
            hasher.update(field.as_bytes());
        });
        ChunkKey(*hasher.finalize().as_bytes().first_chunk().unwrap())
    }

    fn prepared(&self, scratch: &mut Scratch) -> Prepared {
        let [names, code, prose] = &self.fields;
        let (vector, exact) = (self.vector.as_ref(), self.exact);
        Prepared::new(&ChunkInput { key: self.key(), text: &self.text, names, code, prose, vector, exact }, scratch)
    }
}

/// A word of a language in which few words are frequent and most are rare.
fn word(random: &mut Random) -> String {
    let rank = random.below(40).pow(2) * random.below(20) / 16;
    format!("word{rank}x")
}

fn words(random: &mut Random, most: usize) -> String {
    let count = random.below(most + 1);
    (0..count).map(|_| word(random)).collect::<Vec<_>>().join(" ")
}

/// Chunks with rising ids and holes between them.
fn corpus(seed: u64, count: usize) -> Vec<Chunk> {
    let mut random = Random(seed);
    let mut id = 0;
    let mut chunks = Vec::new();
    while chunks.len() < count {
        id += 1 + u32::try_from(random.below(3)).unwrap();
        let fields = [words(&mut random, 3), words(&mut random, 40), words(&mut random, 12)];
        let mut text = fields[1].clone().into_bytes();
        text.extend(random.next().to_le_bytes());
        text.extend(vec![b'x'; random.below(900)]);
        let vector = (random.below(10) > 0).then(|| random.vector());
        let exact = random.below(9) > 0;
        chunks.push(Chunk { id, text, fields, vector, exact });
    }
    chunks
}

fn bytes_of<'a>(chunks: impl IntoIterator<Item = &'a Chunk>) -> Vec<u8> {
    let mut chunks: Vec<&Chunk> = chunks.into_iter().collect();
    chunks.sort_by_key(|chunk| chunk.id);
    let mut builder = SegmentBuilder::new();
    let mut scratch = Scratch::default();
    for chunk in &chunks {
        builder.push(chunk.prepared(&mut scratch));
    }
    builder.finish(&chunks.iter().map(|chunk| chunk.id).collect::<Vec<_>>())
}

fn segment_of<'a>(chunks: impl IntoIterator<Item = &'a Chunk>) -> Arc<Segment> {
    Arc::new(Segment::from_bytes(bytes_of(chunks)).unwrap())
}

const FIELDS: [FieldWeight; 3] = [
    FieldWeight { weight: 2.5, length: 0.3 },
    FieldWeight { weight: 1.0, length: 0.75 },
    FieldWeight { weight: 0.7, length: 0.6 },
];

fn ask_words(words: &[(&str, f32)]) -> Vec<AskWord> {
    words.iter().map(|(token, weight)| AskWord { token: (*token).to_owned(), weight: *weight }).collect()
}

/// A question of words alone.
fn ask(words: &[AskWord], top: usize) -> Ask<'_> {
    Ask {
        words,
        all_words: false,
        fields: FIELDS,
        vector: None,
        boosts: &[],
        allowed: None,
        also: &[],
        top,
        accuracy: Accuracy::Balanced,
    }
}
