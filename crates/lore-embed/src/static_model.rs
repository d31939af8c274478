//! The built-in model: the weighted sum of the rows of a text's tokens, made one long.
//!
//! A token counts more where it is in the first line: Lore puts the names of a passage there. In a text of one line, as
//! most queries are, that changes nothing.
//!
//! The same bits come out on every machine: the order of summation is fixed, logarithms come from a table that the
//! compiler computes, and nothing but IEEE addition, multiplication, division and square root is used.

use std::sync::LazyLock;

use crate::{BadModel, DIMENSIONS, EmbedError, Embedder, Mode, table::Table, vocabulary::Hashes, words::for_each_word};

const BUILT_IN_FILE: &[u8] = include_bytes!("../model/static.bin");

/// Tokens after these do not count.
const MOST_TOKENS: usize = 600;

/// What a token counts that occurs so often: 1 + ln n.
const FREQUENCY: [f32; MOST_TOKENS + 1] = {
    let mut table = [0.0; MOST_TOKENS + 1];
    let (mut n, mut at, mut logarithm) = (1.0_f64, 1, 0.0_f64);
    while at <= MOST_TOKENS {
        #[expect(clippy::cast_possible_truncation, reason = "computed with more digits than are kept")]
        let value = (1.0 + logarithm) as f32;
        table[at] = value;
        // ln (n+1) − ln n = 2 artanh (1 / (2n+1)), by its series.
        let x = 1.0 / (2.0 * n + 1.0);
        let (mut power, mut term) = (x, 1.0);
        while term < 60.0 {
            logarithm += 2.0 * power / term;
            power *= x * x;
            term += 2.0;
        }
        n += 1.0;
        at += 1;
    }
    table
};

/// A static model.
pub struct StaticModel {
    table: Table,
}

/// Room to work in, kept from text to text.
#[derive(Default)]
pub struct Scratch {
    word: Vec<u8>,
    hashes: Hashes,
    tokens: Vec<u32>,
}

impl StaticModel {
    /// Gives the model that is compiled in.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<StaticModel> = LazyLock::new(|| {
            StaticModel::from_bytes(BUILT_IN_FILE).expect("the file is compiled in, and a test reads it")
        });
        &BUILT_IN
    }

    /// Reads a model from its file, to try one that is not compiled in. The checksum is not looked at.
    pub fn from_bytes(file: &'static [u8]) -> Result<Self, BadModel> {
        Ok(Self { table: Table::read(file)? })
    }

    /// Names the vector space.
    pub fn name(&self) -> &str {
        self.table.name
    }

    /// Writes the vector of a text. It has length 1, or is all zero where no token counts.
    pub fn embed_into(&self, text: &str, mode: Mode, out: &mut [f32; DIMENSIONS], scratch: &mut Scratch) {
        let in_first_line = self.tokenize(text, scratch);
        // The lowest bit is 0 in the first line: of a run of the same token, the first says whether any is in it.
        for (at, token) in scratch.tokens.iter_mut().enumerate() {
            *token = *token << 1 | u32::from(at >= in_first_line);
        }
        // Runs of the same token, and one order of summation for all texts with the same tokens.
        scratch.tokens.sort_unstable();
        out.fill(0.0);
        // Four rows in one go spare three of four loads and stores of the sum; the order stays the same.
        let mut runs = scratch.tokens.chunk_by(|a, b| a >> 1 == b >> 1).map(|run| {
            let (row, weight) = self.table.row(run[0] >> 1, mode);
            let place = if run[0] & 1 == 0 { self.table.lead } else { 1.0 };
            (row, weight * FREQUENCY[run.len()] * place)
        });
        while let Some(first) = runs.next() {
            let nothing = (first.0, 0.0);
            let mut next = || runs.next().unwrap_or(nothing);
            add(out, [first, next(), next(), next()]);
        }
        make_one_long(out);
    }

    /// Leaves the first tokens of the text in the scratch, in their order. Gives how many are in the first line.
    fn tokenize(&self, text: &str, scratch: &mut Scratch) -> usize {
        let Scratch { word, hashes, tokens } = scratch;
        tokens.clear();
        let vocabulary = self.table.vocabulary();
        let mut add = |part: &str| {
            for_each_word(part, word, |word| {
                vocabulary.cut(word, hashes, tokens);
                tokens.len() < MOST_TOKENS
            });
            tokens.len()
        };
        let (first, behind) = text.split_once('\n').unwrap_or((text, ""));
        let in_first_line = add(first);
        if in_first_line < MOST_TOKENS {
            add(behind);
        }
        tokens.truncate(MOST_TOKENS);
        in_first_line
    }
}

impl Embedder for &'static StaticModel {
    fn model(&self) -> &str {
        self.name()
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn embed(&self, texts: &[&str], mode: Mode) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut scratch = Scratch::default();
        let vector = |text: &&str| {
            let mut out = [0.0; DIMENSIONS];
            self.embed_into(text, mode, &mut out, &mut scratch);
            out.to_vec()
        };
        Ok(texts.iter().map(vector).collect())
    }

    fn as_local(&self) -> Option<&StaticModel> {
        Some(self)
    }
}

/// Adds rows, of signed bytes, each with a factor. Written so that the compiler makes vector instructions of it.
#[inline]
fn add<const N: usize>(sum: &mut [f32; DIMENSIONS], rows: [(&[u8; DIMENSIONS], f32); N]) {
    for (at, sum) in sum.iter_mut().enumerate() {
        for (row, factor) in rows {
            *sum += factor * f32::from(row[at].cast_signed());
        }
    }
}

/// The squares are added in eight lanes, because one long chain of additions would wait for itself.
fn make_one_long(vector: &mut [f32; DIMENSIONS]) {
    let mut lanes = [0.0_f32; 8];
    for eight in vector.as_chunks::<8>().0 {
        for (lane, value) in lanes.iter_mut().zip(eight) {
            *lane += value * value;
        }
    }
    let norm = lanes.iter().sum::<f32>().sqrt();
    if norm > 0.0 {
        for value in vector {
            *value /= norm;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::pack;

    fn trial() -> StaticModel {
        let tokens = ["[UNK]", "parse", "http", "body", "2", "##r", "read", "a", "file"];
        StaticModel::from_bytes(pack(&tokens, 384).leak()).unwrap()
    }

    fn bits(vector: &[f32]) -> Vec<u32> {
        vector.iter().map(|value| value.to_bits()).collect()
    }

    fn embed(model: &StaticModel, text: &str, mode: Mode) -> [f32; DIMENSIONS] {
        let mut out = [1.0; DIMENSIONS];
        model.embed_into(text, mode, &mut out, &mut Scratch::default());
        out
    }

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn logarithms_are_right() {
        for (times, value) in FREQUENCY.iter().enumerate().skip(1) {
            let times = f32::from(u16::try_from(times).unwrap());
            assert!((value - (1.0 + times.ln())).abs() < 2e-6, "{times}: {value}");
        }
    }

    #[test]
    fn a_vector_is_the_weighted_sum_of_rows() {
        let model = trial();
        let table = &model.table;
        for mode in [Mode::Query, Mode::Passage] {
            let mut expected = vec![0.0_f64; DIMENSIONS];
            for (id, times, place) in [(1, 2.0_f64, 1.5), (2, 1.0, 1.5), (5, 1.0, 1.0), (0, 1.0, 1.0)] {
                let (row, weight) = table.row(id, mode);
                for (sum, value) in expected.iter_mut().zip(row) {
                    *sum += f64::from(weight) * (1.0 + times.ln()) * place * f64::from(value.cast_signed());
                }
            }
            let norm = expected.iter().map(|value| value * value).sum::<f64>().sqrt();
            let found = embed(&model, "parseHTTP\n(parser) unheard", mode);
            for (found, expected) in found.iter().zip(expected) {
                assert!((f64::from(*found) - expected / norm).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn vectors_are_one_long_or_zero() {
        for model in [&trial(), StaticModel::built_in()] {
            for mode in [Mode::Query, Mode::Passage] {
                let vector = embed(model, "read a file; parse the HTTP body", mode);
                assert!((dot(&vector, &vector) - 1.0).abs() < 1e-5);
                assert!(embed(model, " -- ü \n", mode).iter().all(|value| *value == 0.0));
            }
        }
    }

    #[test]
    fn the_bits_are_the_same_on_every_machine() {
        let text = format!("read a\n{}", "parseHTTPBody2 reader a file ".repeat(3));
        let vector = embed(&trial(), &text, Mode::Passage);
        let bits = vector.iter().flat_map(|value| value.to_bits().to_le_bytes());
        let hash =
            bits.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        assert_eq!(format!("{hash:016x}"), "49d5ace71ce244c6");
    }

    #[test]
    fn order_does_not_count_and_tokens_past_the_limit_do_not() {
        let model = trial();
        let lines = "read a\nfile read";
        assert_ne!(bits(&embed(&model, lines, Mode::Query)), bits(&embed(&model, "read a file read", Mode::Query)));
        assert_eq!(bits(&embed(&model, "read a file", Mode::Query)), bits(&embed(&model, "file_a read", Mode::Query)));
        let full = "read ".repeat(599);
        // The word at the limit is cut: `##r` is the token after the last.
        let expected = embed(&model, &format!("{full} parse"), Mode::Query);
        assert_eq!(bits(&embed(&model, &format!("{full} parser http"), Mode::Query)), bits(&expected));
    }

    #[test]
    fn like_texts_are_near() {
        let model = StaticModel::built_in();
        let query = embed(model, "parse the http header", Mode::Query);
        let near = embed(model, "fn parse_header(http: &str) -> Header", Mode::Passage);
        let far = embed(model, "let volume = radius.powi(3) * 4.0 / 3.0 * PI;", Mode::Passage);
        assert!(dot(&query, &near) > dot(&query, &far) + 0.2);
    }

    #[test]
    fn the_built_in_file_is_whole() {
        use sha2::{Digest as _, Sha256};
        let (body, sum) = BUILT_IN_FILE.split_last_chunk::<32>().unwrap();
        assert_eq!(&Sha256::digest(body)[..], sum);
    }

    /// Training wrote down what its own code makes of some texts.
    #[test]
    fn training_and_program_agree() {
        let reference: serde_json::Value = serde_json::from_str(include_str!("../model/reference.json")).unwrap();
        let model = StaticModel::built_in();
        assert_eq!(model.name(), reference["model"]);
        let samples = reference["samples"].as_array().unwrap();
        assert!(samples.len() > 20);
        for sample in samples {
            let text = sample["text"].as_str().unwrap();
            let mut scratch = Scratch::default();
            model.tokenize(text, &mut scratch);
            assert_eq!(serde_json::json!(scratch.tokens), sample["tokens"], "{text:?}");
            for (mode, name) in [(Mode::Query, "query"), (Mode::Passage, "passage")] {
                let found = embed(model, text, mode);
                for (found, expected) in found.iter().zip(sample[name].as_array().unwrap()) {
                    let expected = expected.as_f64().unwrap();
                    assert!((f64::from(*found) - expected).abs() < 2e-4, "{text:?} {name}: {found} {expected}");
                }
            }
        }
    }
}
