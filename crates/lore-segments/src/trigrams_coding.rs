//! Lists of ascending numbers in as few bits as it takes: binary interpolative coding.
//!
//! The number in the middle is written first, in no more bits than the numbers around it leave open, then both halves
//! in the same way. Numbers that stand close together, as those of neighbouring files do, leave little open, and a run
//! without gaps takes nothing. On django that is a sixth less than Rice codes and half of varints. A list begins at a
//! byte; how many numbers it has and below which limit they are is kept elsewhere.
#![expect(clippy::cast_possible_truncation, reason = "numbers are cut into bytes on purpose; what is counted is u32")]

use super::bits::Bits;

/// Appends a list; its numbers ascend and are below `limit`.
pub(super) fn put_list(out: &mut Vec<u8>, numbers: &[u32], limit: u32) {
    let mut writer = BitWriter { out, bits: 0, count: 0 };
    if let Some(last) = limit.checked_sub(1) {
        writer.put_between(numbers, 0, last);
    }
    writer.finish();
}

/// Adds the numbers of a list to a set with room for all below `limit`; `None` where bytes are missing.
pub(super) fn read_list(bytes: &[u8], count: u32, limit: u32, found: &mut Bits) -> Option<()> {
    if count > limit {
        return None;
    }
    BitReader { bytes, bits: 0, count: 0 }.read_between(count, 0, limit.saturating_sub(1), found)
}

/// How many values the middle one of `count` numbers within `low..=high` can have, and the smallest of them.
#[inline]
fn room(count: u32, low: u32, high: u32) -> (u32, u32) {
    (high - low - count + 2, low + count / 2)
}

struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// Bits that are not yet in `out`, the next one highest of those not set.
    bits: u64,
    count: u32,
}

impl BitWriter<'_> {
    fn put_between(&mut self, numbers: &[u32], low: u32, high: u32) {
        let count = numbers.len() as u32;
        if count == 0 || high - low == count - 1 {
            return;
        }
        let (values, smallest) = room(count, low, high);
        let (before, [middle, after @ ..]) = numbers.split_at(numbers.len() / 2) else { return };
        self.put(middle - smallest, values);
        if !before.is_empty() {
            self.put_between(before, low, middle - 1);
        }
        if !after.is_empty() {
            self.put_between(after, middle + 1, high);
        }
    }

    /// One of so many values. The smaller ones take one bit less where the values are no power of two.
    #[inline]
    fn put(&mut self, value: u32, values: u32) {
        let (width, short) = widths(values);
        if value < short {
            self.put_bits(value, width);
        } else {
            let value = value + short;
            self.put_bits(value >> 1, width);
            self.put_bits(value & 1, 1);
        }
    }

    #[inline]
    fn put_bits(&mut self, value: u32, width: u32) {
        self.bits |= u64::from(value) << self.count;
        self.count += width;
        if self.count >= 32 {
            self.out.extend_from_slice(&(self.bits as u32).to_le_bytes());
            self.bits >>= 32;
            self.count -= 32;
        }
    }

    fn finish(self) {
        let bytes = self.bits.to_le_bytes();
        self.out.extend_from_slice(&bytes[..self.count.div_ceil(8) as usize]);
    }
}

/// The width of the shorter codes for so many values, and how many values have them. There are at least two values.
#[inline]
fn widths(values: u32) -> (u32, u32) {
    let width = values.ilog2();
    if values.is_power_of_two() { (width, values) } else { (width, (2u32 << width).wrapping_sub(values)) }
}

struct BitReader<'a> {
    bytes: &'a [u8],
    bits: u64,
    count: u32,
}

impl BitReader<'_> {
    fn read_between(&mut self, count: u32, low: u32, high: u32, found: &mut Bits) -> Option<()> {
        if count == 0 {
            return Some(());
        }
        if high - low == count - 1 {
            (low..=high).for_each(|number| found.insert(number as usize));
            return Some(());
        }
        let (values, smallest) = room(count, low, high);
        let middle = smallest + self.read(values)?;
        found.insert(middle as usize);
        // The halves have room: the middle leaves as many numbers on either side as there are to come.
        let before = count / 2;
        if before > 0 {
            self.read_between(before, low, middle - 1, found)?;
        }
        let after = count - before - 1;
        if after > 0 { self.read_between(after, middle + 1, high, found) } else { Some(()) }
    }

    /// A value below `values`, whatever the bits are.
    #[inline]
    fn read(&mut self, values: u32) -> Option<u32> {
        let (width, short) = widths(values);
        let value = self.read_bits(width)?;
        if value < short { Some(value) } else { Some((value << 1 | self.read_bits(1)?).wrapping_sub(short)) }
    }

    #[inline]
    fn read_bits(&mut self, width: u32) -> Option<u32> {
        while self.count < width {
            if let Some((first, rest)) = self.bytes.split_first_chunk::<4>() {
                self.bits |= u64::from(u32::from_le_bytes(*first)) << self.count;
                (self.bytes, self.count) = (rest, self.count + 32);
            } else {
                let (&first, rest) = self.bytes.split_first()?;
                self.bits |= u64::from(first) << self.count;
                (self.bytes, self.count) = (rest, self.count + 8);
            }
        }
        let value = self.bits & ((1 << width) - 1);
        self.bits >>= width;
        self.count -= width;
        Some(value as u32)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn back(bytes: &[u8], count: u32, limit: u32) -> Option<Vec<u32>> {
        let mut found = Bits::below(limit as usize);
        read_list(bytes, count, limit, &mut found)?;
        let mut numbers = Vec::new();
        found.for_each(|number| numbers.push(u32::try_from(number).unwrap()));
        Some(numbers)
    }

    #[track_caller]
    fn check(numbers: &[u32], limit: u32, size: usize) {
        let mut bytes = Vec::new();
        put_list(&mut bytes, numbers, limit);
        assert_eq!(back(&bytes, u32::try_from(numbers.len()).unwrap(), limit).unwrap(), numbers);
        assert_eq!(bytes.len(), size);
        if size > 0 {
            assert_eq!(back(&bytes[..size - 1], u32::try_from(numbers.len()).unwrap(), limit), None);
        }
    }

    #[test]
    fn what_is_certain_takes_nothing() {
        check(&[], 0, 0);
        check(&[], 9, 0);
        check(&[0], 1, 0);
        check(&(0..5000).collect::<Vec<_>>(), 5000, 0);
        check(&[7], 1000, 2);
        check(&(300..900).collect::<Vec<_>>(), 1000, 18);
        check(&[0, 999], 1000, 3);
    }

    proptest! {
        #[test]
        fn lists_come_back(numbers in prop::collection::btree_set(0u32..70_000, 0..600), above in 1u32..3_000_000_000) {
            let numbers: Vec<u32> = numbers.into_iter().collect();
            let count = u32::try_from(numbers.len()).unwrap();
            for limit in [numbers.last().map_or(0, |last| last + 1), 70_000] {
                let mut bytes = Vec::new();
                put_list(&mut bytes, &numbers, limit);
                prop_assert_eq!(back(&bytes, count, limit), Some(numbers.clone()));
            }
            // The widest numbers.
            let mut bytes = Vec::new();
            put_list(&mut bytes, &[above - 1, above, u32::MAX - 1], u32::MAX);
            let mut reader = BitReader { bytes: &bytes, bits: 0, count: 0 };
            let (values, smallest) = room(3, 0, u32::MAX - 1);
            prop_assert_eq!(reader.read(values).map(|value| value + smallest), Some(above));
        }

        #[test]
        fn any_bytes_give_numbers_below_the_limit_or_none(noise in prop::collection::vec(any::<u8>(), 0..300), count in 0u32..900, limit in 0u32..800) {
            if let Some(numbers) = back(&noise, count, limit) {
                prop_assert!(numbers.len() == count as usize && numbers.iter().all(|number| *number < limit));
            }
        }
    }
}
