//! Vectors as they are kept: a byte per dimension with a scale per row, and sign codes for a first look at many.
//!
//! A code has a bit per dimension: whether the byte is above zero. So it can be made from the row at any time, and it
//! does not matter to an answer which segments have codes in their file: they are only faster to read.

use lore_store::DIMENSIONS;

use super::{
    bytes::u64_bytes,
    kernels::{CODE_BLOCK, Code, ROW, code_of},
};

/// Segments with fewer rows do not carry codes: where they are wanted they are made in memory.
const CODES_FROM: usize = 8_000;

/// A vector in bytes, and what a byte is worth. -128 is never used.
pub(super) struct Quantised {
    pub(super) row: [i8; ROW],
    pub(super) scale: f32,
}

impl Quantised {
    pub(super) fn new(vector: &[f32; DIMENSIONS]) -> Self {
        let scale = vector.iter().fold(1e-12f32, |most, value| most.max(value.abs())) / 127.0;
        #[expect(clippy::cast_possible_truncation, reason = "rounded values lie within -127 and 127")]
        let row = vector.map(|value| (value / scale).round() as i8);
        Self { row, scale }
    }

    pub(super) fn code(&self) -> Code {
        code_of(&self.row.map(i8::cast_unsigned))
    }
}

/// Collects rows in the order of ordinals.
#[derive(Default)]
pub(super) struct VectorWriter {
    chunks: usize,
    rows: Vec<u8>,
    scales: Vec<u8>,
    with_row: Vec<u64>,
}

/// The finished parts.
pub(super) struct VectorParts {
    pub(super) codes: Vec<u8>,
    pub(super) rows: Vec<u8>,
    pub(super) scales: Vec<u8>,
    pub(super) with_row: Vec<u8>,
    pub(super) count: u32,
}

impl VectorWriter {
    /// Takes the next chunk, with the bytes of its row and scale where it has them.
    pub(super) fn push(&mut self, row: Option<(&[u8; ROW], [u8; 4])>) {
        if self.chunks.is_multiple_of(64) {
            self.with_row.push(0);
        }
        if let Some((row, scale)) = row {
            self.with_row[self.chunks / 64] |= 1 << (self.chunks % 64);
            self.rows.extend_from_slice(row);
            self.scales.extend_from_slice(&scale);
        }
        self.chunks += 1;
    }

    pub(super) fn memory(&self) -> usize {
        self.rows.capacity() + self.scales.capacity() + self.with_row.capacity() * 8
    }

    pub(super) fn finish(self) -> VectorParts {
        let rows = self.rows.as_chunks::<ROW>().0;
        let count = u32::try_from(rows.len()).expect("there are no more rows than chunks");
        let codes = if rows.len() < CODES_FROM { Vec::new() } else { codes(rows) };
        let with_row = if count == 0 { Vec::new() } else { u64_bytes(self.with_row) };
        VectorParts { codes, rows: self.rows, scales: self.scales, with_row, count }
    }
}

/// Word by word, eight rows side by side, so that one instruction works on several.
pub(super) fn codes(rows: &[[u8; ROW]]) -> Vec<u8> {
    let mut out = Vec::with_capacity(rows.len().div_ceil(8) * CODE_BLOCK);
    for eight in rows.chunks(8) {
        let mut lanes = [Code::default(); 8];
        for (lane, row) in lanes.iter_mut().zip(eight) {
            *lane = code_of(row);
        }
        for word in 0..Code::default().len() {
            out.extend(lanes.iter().flat_map(|lane| lane[word].to_le_bytes()));
        }
    }
    out
}

/// The rows of a segment.
#[derive(Clone, Copy)]
pub(super) struct Vectors<'a> {
    pub(super) rows: &'a [[u8; ROW]],
    pub(super) scales: &'a [[u8; 4]],
    /// Bits, 64 chunks to a word.
    pub(super) with_row: &'a [[u8; 8]],
    /// How many rows are before each word.
    pub(super) ranks: &'a [u32],
}

impl<'a> Vectors<'a> {
    /// What each word of the bits adds to; `None` where the bits do not name `rows` rows.
    pub(super) fn ranks(with_row: &[u8], chunks: u32, rows: u32) -> Option<Vec<u32>> {
        let mut sum = 0;
        let mut ranks = Vec::with_capacity(with_row.len() / 8);
        for word in with_row.as_chunks::<8>().0 {
            ranks.push(sum);
            sum += u64::from_le_bytes(*word).count_ones();
        }
        let beyond = ranks.len() * 64 - if ranks.is_empty() { 0 } else { chunks as usize };
        let last = with_row.as_chunks::<8>().0.last().map_or(0, |word| u64::from_le_bytes(*word));
        (sum == rows && last.leading_zeros() as usize >= beyond).then_some(ranks)
    }

    /// Which 64 chunks of that word have rows.
    #[inline]
    pub(super) fn word(&self, at: usize) -> u64 {
        self.with_row.get(at).map_or(0, |word| u64::from_le_bytes(*word))
    }

    /// The row of a chunk.
    #[inline]
    pub(super) fn row_of(&self, ordinal: usize) -> Option<u32> {
        let (word, bit) = (self.word(ordinal / 64), ordinal % 64);
        let below = (word & ((1 << bit) - 1)).count_ones();
        (word >> bit & 1 == 1).then(|| self.ranks[ordinal / 64] + below)
    }

    #[inline]
    pub(super) fn scale(&self, row: u32) -> f32 {
        self.scales.get(row as usize).map_or(0.0, |scale| f32::from_le_bytes(*scale))
    }

    /// The bytes of a chunk's row, and of its scale.
    pub(super) fn find(&self, ordinal: usize) -> Option<(&'a [u8; ROW], [u8; 4])> {
        let row = self.row_of(ordinal)? as usize;
        Some((self.rows.get(row)?, *self.scales.get(row)?))
    }
}
