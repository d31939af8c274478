//! One file of vectors: a header, then ids, names of texts, scales and rows, all in the order of ids.
//!
//! Whatever the bytes are, reading them gives less than was written, never a panic; [`VectorFile::is_whole`] finds every
//! changed byte.

use std::{io, path::Path};

use lore_store::{ChunkId, PassageKey};

use crate::{Bytes, WIDE_STEP};

const MAGIC: &[u8; 8] = b"LOREVEC1";

/// Magic, length of vectors, count, and the checksum of all that follows.
const HEADER: usize = 64;

/// A vector as it is kept: a byte for each dimension, and what a byte is worth. -128 is never used.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The chunk.
    pub chunk: ChunkId,
    /// The text that was embedded.
    pub passage: PassageKey,
    /// The value of one unit of a byte.
    pub scale: f32,
    /// One byte for each dimension.
    pub bytes: Vec<u8>,
}

impl Row {
    /// Quantises a vector.
    pub fn new(chunk: ChunkId, passage: PassageKey, vector: &[f32]) -> Self {
        let (bytes, scale) = quantise(vector);
        Self { chunk, passage, scale, bytes: bytes.into_iter().map(i8::cast_unsigned).collect() }
    }
}

/// A vector in bytes, filled up with zeros, and what a byte is worth.
pub fn quantise(vector: &[f32]) -> (Vec<i8>, f32) {
    let scale = vector.iter().fold(1e-12_f32, |most, value| most.max(value.abs())) / 127.0;
    #[expect(clippy::cast_possible_truncation, reason = "rounded values lie within -127 and 127")]
    let mut row: Vec<i8> = vector.iter().map(|value| (value / scale).round() as i8).collect();
    row.resize(width(vector.len()), 0);
    (row, scale)
}

fn width(dimensions: usize) -> usize {
    dimensions.next_multiple_of(WIDE_STEP)
}

/// The bytes of a file with these rows, which ascend by their chunks.
pub fn encode(dimensions: usize, rows: &[Row]) -> Vec<u8> {
    let width = width(dimensions);
    let number = |value: usize| u32::try_from(value).expect("dimensions and rows of a file are few").to_le_bytes();
    let mut body = Vec::with_capacity(rows.len() * (width + 24));
    body.extend(rows.iter().flat_map(|row| row.chunk.to_le_bytes()));
    body.extend(rows.iter().flat_map(|row| row.passage.0));
    body.extend(rows.iter().flat_map(|row| row.scale.to_le_bytes()));
    for row in rows {
        body.extend(&row.bytes[..row.bytes.len().min(width)]);
        body.resize(body.len() + width - row.bytes.len().min(width), 0);
    }
    let mut file = Vec::with_capacity(HEADER + body.len());
    file.extend(MAGIC);
    file.extend(number(dimensions));
    file.extend(number(rows.len()));
    file.extend(blake3::hash(&body).as_bytes());
    file.resize(HEADER, 0);
    file.extend(body);
    file
}

/// A file of vectors, open for reading.
#[derive(Debug)]
pub struct VectorFile {
    bytes: Bytes,
    rows: usize,
    width: usize,
}

impl VectorFile {
    /// Maps a file whose vectors have this length.
    pub fn open(path: &Path, dimensions: usize) -> io::Result<Self> {
        let bytes = Bytes::map(path).map_err(|error| match error {
            crate::SegmentError::Io(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
        })?;
        Self::read(bytes, dimensions).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn read(bytes: Bytes, dimensions: usize) -> Option<Self> {
        let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
        let (found, rows) = (number(8)?, number(12)?);
        let width = width(dimensions);
        let length = rows.checked_mul(width + 24)?.checked_add(HEADER)?;
        let fits = bytes.starts_with(MAGIC) && found == dimensions && bytes.len() == length;
        fits.then_some(Self { bytes, rows, width })
    }

    /// Whether everything is as it was written.
    pub fn is_whole(&self) -> bool {
        self.bytes[16..48] == *blake3::hash(&self.bytes[HEADER..]).as_bytes()
    }

    /// The chunks of all rows.
    pub fn ids(&self) -> impl Iterator<Item = ChunkId> + '_ {
        let ids = &self.bytes[HEADER..HEADER + self.rows * 4];
        ids.as_chunks::<4>().0.iter().map(|id| u32::from_le_bytes(*id))
    }

    /// The texts of all rows.
    pub fn passages(&self) -> impl Iterator<Item = PassageKey> + '_ {
        let from = HEADER + self.rows * 4;
        self.bytes[from..from + self.rows * 16].as_chunks::<16>().0.iter().map(|key| PassageKey(*key))
    }

    /// The text of a row.
    pub fn passage(&self, row: u32) -> PassageKey {
        let from = HEADER + self.rows * 4 + row as usize * 16;
        self.bytes.get(from..from + 16).and_then(|key| key.try_into().ok()).map_or(PassageKey([0; 16]), PassageKey)
    }

    /// The scale of a row.
    pub fn scale(&self, row: u32) -> f32 {
        let from = HEADER + self.rows * 20 + row as usize * 4;
        let scale = self.bytes.get(from..from + 4).and_then(|scale| scale.try_into().ok());
        scale.map_or(0.0, f32::from_le_bytes)
    }

    /// The bytes of a row; none for one that does not exist.
    pub fn row(&self, row: u32) -> &[u8] {
        let from = HEADER + self.rows * 24 + row as usize * self.width;
        self.bytes.get(from..from + self.width).unwrap_or_default()
    }

    /// Every row, as it can be written again.
    pub fn all(&self) -> impl Iterator<Item = Row> + '_ {
        (0..).zip(self.ids()).map(|(at, chunk)| self.copy(at, chunk))
    }

    /// A row, for this chunk.
    pub fn copy(&self, row: u32, chunk: ChunkId) -> Row {
        Row { chunk, passage: self.passage(row), scale: self.scale(row), bytes: self.row(row).to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let row = |chunk: u32| {
            Row::new(chunk, PassageKey([chunk.to_le_bytes()[0]; 16]), &[0.6, -0.8, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.5])
        };
        encode(9, &[row(3), row(7)])
    }

    #[test]
    fn what_was_written_is_read() {
        let file = VectorFile::read(Bytes::Owned(file()), 9).unwrap();
        assert!(file.is_whole());
        assert_eq!(file.ids().collect::<Vec<_>>(), [3, 7]);
        assert_eq!(file.passages().collect::<Vec<_>>(), [PassageKey([3; 16]), PassageKey([7; 16])]);
        // What is written again is what was written.
        assert_eq!(encode(9, &file.all().collect::<Vec<_>>()), super::tests::file());
        assert_eq!(file.copy(1, 8).passage, PassageKey([7; 16]));
        let row = file.row(1);
        assert_eq!((row.len(), row[0].cast_signed(), row[1].cast_signed(), row[9]), (32, 95, -127, 0));
        assert!((file.scale(1) - 0.8 / 127.0).abs() < 1e-6);
        assert!(VectorFile::read(Bytes::Owned(super::tests::file()), 8).is_none(), "of another length");
    }

    #[test]
    fn damage_is_found_and_never_a_panic() {
        let whole = file();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            if let Some(file) = VectorFile::read(Bytes::Owned(bytes), 9) {
                assert!(!file.is_whole() || (48..HEADER).contains(&at), "{at}");
                assert_eq!(file.all().count(), 2);
            }
            assert!(VectorFile::read(Bytes::Owned(whole[..at].to_vec()), 9).is_none());
        }
    }
}
