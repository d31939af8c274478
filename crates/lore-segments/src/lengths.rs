//! How many tokens every chunk has in every field, exactly.
//!
//! Two bytes each: chunks are small. The few longer ones stand in a list besides.

use super::bytes::{u32_at, u32_bytes};

const FIELDS: usize = 3;

/// Stands in the array for a length that is in the list.
const LONG: u16 = u16::MAX;

/// Collects lengths.
#[derive(Default)]
pub(super) struct LengthWriter {
    fields: [Vec<u32>; FIELDS],
}

impl LengthWriter {
    pub(super) fn push(&mut self, lengths: [u32; FIELDS]) {
        for (field, length) in self.fields.iter_mut().zip(lengths) {
            field.push(length);
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.fields.iter().map(|field| field.capacity() * 4).sum()
    }

    /// The array, and the list of long ones.
    pub(super) fn finish(self) -> (Vec<u8>, Vec<u8>) {
        let short = |length: u32| u16::try_from(length).unwrap_or(LONG);
        let array = self.fields.iter().flatten().flat_map(|&length| short(length).to_le_bytes()).collect();
        let mut long = Vec::new();
        for (field, lengths) in (0u32..).zip(&self.fields) {
            for (ordinal, &length) in (0u32..).zip(lengths) {
                if short(length) == LONG {
                    long.extend([field, ordinal, length]);
                }
            }
        }
        (array, u32_bytes(long))
    }
}

/// The lengths of one field in one segment.
#[derive(Clone, Copy)]
pub(super) struct Lengths<'a> {
    array: &'a [[u8; 2]],
    long: &'a [u8],
    field: usize,
}

impl<'a> Lengths<'a> {
    /// The field of that number in `array` and `long`, as [`LengthWriter::finish`] gave them for `chunks` chunks.
    pub(super) fn new(array: &'a [u8], long: &'a [u8], chunks: usize, field: usize) -> Self {
        let array = array.as_chunks::<2>().0;
        Self { array: array.get(field * chunks..(field + 1) * chunks).unwrap_or_default(), long, field }
    }

    #[inline]
    pub(super) fn get(&self, ordinal: usize) -> u32 {
        match self.array.get(ordinal).map_or(0, |length| u16::from_le_bytes(*length)) {
            LONG => self.long(ordinal),
            short => u32::from(short),
        }
    }

    #[cold]
    fn long(&self, ordinal: usize) -> u32 {
        let row = |at: usize| {
            let number = |column: usize| u32_at(self.long, at * 3 + column).unwrap_or(0);
            ((number(0) as usize, number(1) as usize), number(2))
        };
        let (mut low, mut high) = (0, self.long.len() / 12);
        while low < high {
            let middle = usize::midpoint(low, high);
            if row(middle).0 < (self.field, ordinal) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let (place, length) = row(low);
        if place == (self.field, ordinal) { length } else { u32::from(LONG) }
    }
}
