//! Where a term occurs: for each field, ordinals and how often.
//!
//! A record belongs to one term. Its first byte has a bit per field that the term occurs in; where that is one field
//! with less than 32 chunks, the upper five bits are their number. Otherwise the number of each field follows as a
//! varint, and for all fields but the last the length of their list in bytes. A list is blocks of 128, each with its
//! last ordinal u32, two bit widths, packed gaps and packed frequencies less one, so that a block without wanted chunks
//! is skipped; then a tail of varints: the gap, doubled, with 1 added where the frequency is 1; otherwise the frequency
//! less two follows.
#![expect(clippy::cast_possible_truncation, reason = "a segment has less than 2^31 chunks, asserted by the builder")]

use bitpacking::{BitPacker as _, BitPacker4x};

use super::{
    bits::Bits,
    bytes::{Input, put_varint},
};

const BLOCK: usize = <BitPacker4x as bitpacking::BitPacker>::BLOCK_LEN;
const WIDEST: u8 = 32;
const FIELDS: usize = 3;

/// Ordinals, ascending, and the frequency of each.
#[derive(Clone, Copy, Default)]
pub(super) struct Occurrences<'a> {
    pub(super) ordinals: &'a [u32],
    pub(super) frequencies: &'a [u32],
}

/// Appends the record of a term that occurs at least once.
pub(super) fn put_record(out: &mut Vec<u8>, fields: [Occurrences<'_>; FIELDS]) {
    let present = |field: usize| !fields[field].ordinals.is_empty();
    let mask = (0..FIELDS).fold(0u8, |mask, field| mask | u8::from(present(field)) << field);
    let only = fields[mask.trailing_zeros() as usize % FIELDS];
    if mask.is_power_of_two() && only.ordinals.len() < 32 {
        out.push(mask | (only.ordinals.len() as u8) << 3);
        put_list(out, only);
        return;
    }
    out.push(mask);
    let last = mask.ilog2() as usize;
    let mut list = Vec::new();
    for (field, occurrences) in fields.into_iter().enumerate().filter(|(field, _)| present(*field)) {
        put_varint(out, occurrences.ordinals.len() as u32);
        if field == last {
            put_list(out, occurrences);
        } else {
            list.clear();
            put_list(&mut list, occurrences);
            put_varint(out, list.len() as u32);
            out.extend_from_slice(&list);
        }
    }
}

fn put_list(out: &mut Vec<u8>, occurrences: Occurrences<'_>) {
    let packer = BitPacker4x::new();
    let (blocks, tail) = occurrences.ordinals.as_chunks::<BLOCK>();
    let (frequency_blocks, frequency_tail) = occurrences.frequencies.as_chunks::<BLOCK>();
    let mut packed = [0; 4 * BLOCK];
    let mut previous = None;
    for (ordinals, frequencies) in blocks.iter().zip(frequency_blocks) {
        let less_one = frequencies.map(|frequency| frequency - 1);
        let (gap_bits, frequency_bits) =
            (packer.num_bits_strictly_sorted(previous, ordinals), packer.num_bits(&less_one));
        let last = ordinals[BLOCK - 1];
        out.extend_from_slice(&last.to_le_bytes());
        out.extend_from_slice(&[gap_bits, frequency_bits]);
        let size = packer.compress_strictly_sorted(previous, ordinals, &mut packed, gap_bits);
        out.extend_from_slice(&packed[..size]);
        let size = packer.compress(&less_one, &mut packed, frequency_bits);
        out.extend_from_slice(&packed[..size]);
        previous = Some(last);
    }
    let mut next = previous.map_or(0, |previous| previous + 1);
    for (&ordinal, &frequency) in tail.iter().zip(frequency_tail) {
        put_varint(out, (ordinal - next) << 1 | u32::from(frequency == 1));
        if frequency > 1 {
            put_varint(out, frequency - 2);
        }
        next = ordinal + 1;
    }
}

/// The list of one field of one term.
#[derive(Clone, Copy, Default)]
pub(super) struct List<'a> {
    count: u32,
    bytes: &'a [u8],
}

/// The lists of a record; `None` where it is malformed.
pub(super) fn lists(record: &[u8]) -> Option<[List<'_>; FIELDS]> {
    let mut input = Input(record);
    let head = input.byte()?;
    let (mask, few) = (head & 7, head >> 3);
    let mut lists = [List::default(); FIELDS];
    if few > 0 {
        *lists.get_mut(mask.trailing_zeros() as usize)? = List { count: u32::from(few), bytes: input.0 };
        return Some(lists);
    }
    let last = mask.checked_ilog2()? as usize;
    for field in (0..FIELDS).filter(|field| mask >> field & 1 == 1) {
        let count = input.varint()?;
        let size = if field == last { input.0.len() } else { input.varint()? as usize };
        lists[field] = List { count, bytes: input.take(size)? };
    }
    Some(lists)
}

impl List<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many chunks it has, whatever the view.
    pub(super) fn len(&self) -> usize {
        self.count as usize
    }

    /// Calls `emit` with ordinal and frequency of every chunk in `wanted`, in order; blocks without any are skipped.
    ///
    /// Malformed bytes end it early with `None`. Ordinals are within `wanted`, so they are ordinals of the segment.
    #[inline]
    pub(super) fn for_each(&self, wanted: &Bits, mut emit: impl FnMut(usize, u32)) -> Option<()> {
        let packer = BitPacker4x::new();
        let mut input = Input(self.bytes);
        let (mut ordinals, mut frequencies) = ([0; BLOCK], [0; BLOCK]);
        let mut previous: Option<u32> = None;
        for _ in 0..self.count as usize / BLOCK {
            let last = u32::from_le_bytes(input.array()?);
            let [gap_bits, frequency_bits] = input.array()?;
            if gap_bits > WIDEST || frequency_bits > WIDEST {
                return None;
            }
            let gaps = input.take(gap_bits as usize * BLOCK / 8)?;
            let packed = input.take(frequency_bits as usize * BLOCK / 8)?;
            let from = previous.map_or(0, |previous| previous as usize + 1);
            if wanted.any_within(from, last as usize) {
                packer.decompress_strictly_sorted(previous, gaps, &mut ordinals, gap_bits);
                packer.decompress(packed, &mut frequencies, frequency_bits);
                for (&ordinal, &less_one) in ordinals.iter().zip(&frequencies) {
                    if wanted.contains(ordinal as usize) {
                        emit(ordinal as usize, less_one.wrapping_add(1));
                    }
                }
            }
            previous = Some(last);
        }
        let mut next = previous.map_or(0, |previous| previous.wrapping_add(1));
        for _ in 0..self.count as usize % BLOCK {
            let head = input.varint()?;
            let ordinal = next.checked_add(head >> 1)?;
            let frequency = if head & 1 == 1 { 1 } else { input.varint()?.checked_add(2)? };
            if wanted.contains(ordinal as usize) {
                emit(ordinal as usize, frequency);
            }
            next = ordinal.checked_add(1)?;
        }
        Some(())
    }
}
