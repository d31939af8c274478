//! Numbers in bytes: variable length, and little-endian arrays. Reading beyond the end gives `None`, never a panic.
#![expect(clippy::cast_possible_truncation, reason = "varints are cut into seven bits on purpose")]

/// Appends `value`, seven bits to a byte, least first.
pub(super) fn put_varint(out: &mut Vec<u8>, value: u32) {
    let mut value = value;
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads from the front of a slice.
#[derive(Clone, Copy)]
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// A number as [`put_varint`] writes it; `None` where it has more than 32 bits.
    #[inline]
    pub(super) fn varint(&mut self) -> Option<u32> {
        let first = self.byte()?;
        if first < 128 {
            return Some(u32::from(first));
        }
        let mut value = u32::from(first & 127);
        for shift in [7, 14, 21, 28] {
            let byte = self.byte()?;
            if shift == 28 && byte > 15 {
                return None;
            }
            value |= u32::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }

    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }
}

/// Number `index` of an array of u32.
#[inline]
pub(super) fn u32_at(bytes: &[u8], index: usize) -> Option<u32> {
    bytes.as_chunks::<4>().0.get(index).map(|bytes| u32::from_le_bytes(*bytes))
}

/// The bytes of an array of u32.
pub(super) fn u32_bytes(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// The bytes of an array of u64.
pub(super) fn u64_bytes(values: impl IntoIterator<Item = u64>) -> Vec<u8> {
    values.into_iter().flat_map(u64::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 16_383, 16_384, 1 << 28, u32::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(Input(&out).varint(), Some(value));
            assert_eq!(Input(&out[..out.len() - 1]).varint(), None);
        }
        assert_eq!(Input(&[255; 9]).varint(), None);
    }
}
