//! The file of a static model, read in place.
//!
//! Little endian: magic; rows; dimensions; name with its length, padded with zeros to a multiple of four; what a token of
//! the first line counts, as f32; scales, passage weights and query weights as f32; the rows as i8; the vocabulary with
//! its length; SHA-256 of all that. The sum is checked by a test and not at start: it would read the whole file, of which
//! a start only counts the lines of the vocabulary. A file of the first format has no factor for the first line, and is read with 1.

use std::sync::OnceLock;

use crate::{DIMENSIONS, Mode, vocabulary::Vocabulary};

const MAGIC: &[u8] = b"LOREEMB2";
const FIRST_MAGIC: &[u8] = b"LOREEMB1";
const SUM_LENGTH: usize = 32;

/// A file that is no model.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a static model: {0}")]
pub struct BadModel(&'static str);

/// A model that was read.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// One token in each line, as many as rows.
    tokens: &'static [u8],
    /// Built by the first text that is cut: most commands embed nothing.
    vocabulary: OnceLock<Vocabulary>,
    /// What a token counts that is in the first line, where Lore puts names.
    pub(crate) lead: f32,
    scales: &'static [u8],
    passage_weights: &'static [u8],
    query_weights: &'static [u8],
    rows: &'static [u8],
}

impl Table {
    /// Finds the parts.
    pub(crate) fn read(file: &'static [u8]) -> Result<Self, BadModel> {
        let body = file.len().checked_sub(SUM_LENGTH).map(|end| &file[..end]).ok_or(BadModel("too short"))?;
        let mut parts = Parts { body, at: 0 };
        let magic = parts.take(MAGIC.len())?;
        if magic != MAGIC && magic != FIRST_MAGIC {
            return Err(BadModel("it does not begin with LOREEMB2"));
        }
        let (count, dimensions) = (parts.number()?, parts.number()?);
        if dimensions != DIMENSIONS {
            return Err(BadModel("its vectors have another length than 384"));
        }
        let name_length = parts.number()?;
        let name = std::str::from_utf8(parts.take(name_length)?).map_err(|_| BadModel("its name is not UTF-8"))?;
        parts.take(parts.at.next_multiple_of(4) - parts.at)?;
        let lead = if magic == MAGIC { float(parts.take(4)?, 0) } else { 1.0 };
        let floats = count.checked_mul(4).ok_or(BadModel("too many rows"))?;
        let (scales, passage_weights, query_weights) = (parts.take(floats)?, parts.take(floats)?, parts.take(floats)?);
        let rows = parts.take(count.checked_mul(DIMENSIONS).ok_or(BadModel("too many rows"))?)?;
        let text_length = parts.number()?;
        let tokens = parts.take(text_length)?;
        if parts.at != body.len() {
            return Err(BadModel("something follows its vocabulary"));
        }
        if !Vocabulary::has(tokens, count) {
            return Err(BadModel("it has another number of tokens than of rows"));
        }
        Ok(Self { name, tokens, vocabulary: OnceLock::new(), lead, scales, passage_weights, query_weights, rows })
    }

    /// The lookup of tokens.
    pub(crate) fn vocabulary(&self) -> &Vocabulary {
        self.vocabulary.get_or_init(|| Vocabulary::read(self.tokens))
    }

    /// The row of a token, and what one occurrence of it counts.
    #[inline]
    pub(crate) fn row(&self, id: u32, mode: Mode) -> (&'static [u8; DIMENSIONS], f32) {
        let weights = match mode {
            Mode::Passage => self.passage_weights,
            Mode::Query => self.query_weights,
        };
        let row = &self.rows.as_chunks().0[id as usize];
        (row, float(self.scales, id) * float(weights, id))
    }
}

#[inline]
fn float(floats: &[u8], at: u32) -> f32 {
    f32::from_le_bytes(floats.as_chunks().0[at as usize])
}

struct Parts {
    body: &'static [u8],
    at: usize,
}

impl Parts {
    fn take(&mut self, length: usize) -> Result<&'static [u8], BadModel> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.body.len()).ok_or(BadModel("cut off"))?;
        let part = &self.body[self.at..end];
        self.at = end;
        Ok(part)
    }

    fn number(&mut self) -> Result<usize, BadModel> {
        let bytes = self.take(4)?.try_into().map_err(|_| BadModel("cut off"))?;
        usize::try_from(u32::from_le_bytes(bytes)).map_err(|_| BadModel("too large for this machine"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Writes a model whose rows follow from the numbers of their tokens.
    pub(crate) fn pack(tokens: &[&str], dimensions: u32) -> Vec<u8> {
        let count = u32::try_from(tokens.len()).unwrap();
        let mut file =
            [MAGIC, &count.to_le_bytes(), &dimensions.to_le_bytes(), &7_u32.to_le_bytes(), b"trial-1"].concat();
        file.resize(file.len().next_multiple_of(4), 0);
        file.extend_from_slice(&f32::to_le_bytes(1.5));
        for (step, base) in [(0.001, 0.01), (0.1, 0.5), (0.2, 0.7)] {
            let mut value = base;
            for _ in tokens {
                file.extend_from_slice(&f32::to_le_bytes(value));
                value += step;
            }
        }
        let mut state = 7_u32;
        for _ in 0..count * dimensions {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            file.push(state.to_be_bytes()[0]);
        }
        let text = tokens.join("\n");
        file.extend_from_slice(&u32::try_from(text.len()).unwrap().to_le_bytes());
        file.extend_from_slice(text.as_bytes());
        file.extend_from_slice(&[0; SUM_LENGTH]);
        file
    }

    fn check(file: Vec<u8>, expected: Result<&str, &'static str>) {
        let read = Table::read(file.leak()).map(|table| table.name);
        assert_eq!(read, expected.map_err(BadModel));
    }

    #[test]
    fn a_model_is_read_back() {
        check(pack(&["[UNK]", "parse"], 384), Ok("trial-1"));
        let table = Table::read(pack(&["[UNK]", "parse"], 384).leak()).unwrap();
        for (mode, weight) in [(Mode::Passage, 0.6), (Mode::Query, 0.9)] {
            assert!((table.row(1, mode).1 - 0.011 * weight).abs() < 1e-6);
        }
    }

    #[test]
    fn a_model_of_the_first_format_is_read() {
        let file = pack(&["[UNK]", "parse"], 384);
        let second = Table::read(file.clone().leak()).unwrap();
        // The header is 28 bytes long with its padding; the factor follows.
        let file = [FIRST_MAGIC, &file[8..28], &file[32..]].concat();
        let first = Table::read(file.leak()).unwrap();
        assert!((first.lead - 1.0).abs() < 1e-6 && (second.lead - 1.5).abs() < 1e-6);
        assert_eq!(first.row(1, Mode::Query), second.row(1, Mode::Query));
    }

    #[test]
    fn what_is_no_model_is_refused() {
        let good = pack(&["[UNK]", "parse"], 384);
        check(Vec::new(), Err("too short"));
        check(b"x".repeat(100), Err("it does not begin with LOREEMB2"));
        check(pack(&["[UNK]"], 256), Err("its vectors have another length than 384"));
        check(pack(&["[UNK]", "two\nlines"], 384), Err("it has another number of tokens than of rows"));
        check([&good[..], b"more"].concat(), Err("something follows its vocabulary"));
        for cut in [50, 300, good.len() - 40] {
            check(good[..cut].to_vec(), Err("cut off"));
        }
    }
}
