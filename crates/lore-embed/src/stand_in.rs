//! Stands in for the trained table while there is none: each word has a direction of its own, drawn from its hash.
//!
//! It knows nothing of meaning. It goes, with `build.rs`, once `model/static.bin` is there.

use crate::DIMENSIONS;

/// The name of the vector space.
pub(crate) const NAME: &str = "lore-stand-in";

/// A hash of the word, with its length in the highest bits.
pub(crate) fn id(word: &[u8]) -> u32 {
    let hash = word.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    let length = u32::try_from(word.len().min(15)).unwrap_or(15);
    hash >> 4 | length << 28
}

/// The row of a word and its weight: long words say more.
pub(crate) fn row(id: u32) -> ([u8; DIMENSIONS], f32) {
    let mut row = [0; DIMENSIONS];
    let mut state = u64::from(id) << 1 | 1;
    for eight in row.as_chunks_mut::<8>().0 {
        state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ 0xd1b5_4a32_d192_ed03;
        *eight = state.to_le_bytes();
    }
    let length = u8::try_from(id >> 28).unwrap_or(15);
    (row, f32::from(length.min(8)) / 8.0)
}
