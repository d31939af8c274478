//! The inner loops over vectors. Each has a portable form; x86-64 takes AVX2 where the processor has it.
//!
//! All forms give the same numbers: integers only. AVX-512 is left out until it can be tested where we build.
#![expect(unsafe_code, reason = "vector instructions exist only as unsafe functions, and loads take pointers")]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _MM_HINT_T0, _mm_add_epi32, _mm_cvtsi128_si32, _mm_prefetch, _mm_shuffle_epi32, _mm256_abs_epi8, _mm256_add_epi8,
    _mm256_add_epi32, _mm256_and_si256, _mm256_castsi256_si128, _mm256_cmpgt_epi8, _mm256_extracti128_si256,
    _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_movemask_epi8, _mm256_sad_epu8,
    _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_sign_epi8, _mm256_srli_epi16, _mm256_storeu_si256, _mm256_xor_si256,
};

use lore_store::DIMENSIONS;

/// The bytes of a row.
pub(super) const ROW: usize = DIMENSIONS;

const WORDS: usize = ROW / 64;

/// The bytes of the codes of eight rows.
pub(super) const CODE_BLOCK: usize = WORDS * 8 * 8;

/// So many rows are asked for before they are needed: those of a filter lie far apart, and waiting for them is what
/// costs.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 12;

/// A bit per dimension.
pub(super) type Code = [u64; WORDS];

/// The code of a row: which bytes, read as signed, are above zero.
pub(super) fn code_of(row: &[u8; ROW]) -> Code {
    let mut code = Code::default();
    for (word, bytes) in code.iter_mut().zip(row.as_chunks::<64>().0) {
        for (bit, byte) in bytes.iter().enumerate() {
            *word |= u64::from(byte.cast_signed() > 0) << bit;
        }
    }
    code
}

/// Appends the products of `query` with the rows of these numbers; 0 for a row that does not exist.
pub(super) fn dots(query: &[i8; ROW], rows: &[[u8; ROW]], wanted: &[u32], out: &mut Vec<i32>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { dots_avx2(query, rows, wanted, out) };
    }
    dots_portable(query, rows, wanted, out);
}

fn dots_portable(query: &[i8; ROW], rows: &[[u8; ROW]], wanted: &[u32], out: &mut Vec<i32>) {
    let product = |(a, b): (&i8, &u8)| i32::from(*a) * i32::from(b.cast_signed());
    let dot = |row: &[u8; ROW]| query.iter().zip(row).map(product).sum();
    out.extend(wanted.iter().map(|&at| rows.get(at as usize).map_or(0, dot)));
}

/// `maddubs` wants unsigned times signed: |query| times the row with the query's sign. Both lie within -127 and 127, so
/// a pair sums to at most 32,258 and cannot saturate an i16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dots_avx2(query: &[i8; ROW], rows: &[[u8; ROW]], wanted: &[u32], out: &mut Vec<i32>) {
    let ones = _mm256_set1_epi16(1);
    for (at, &number) in wanted.iter().enumerate() {
        if let Some(next) = wanted.get(at + AHEAD).and_then(|&next| rows.get(next as usize)) {
            prefetch(next);
        }
        let Some(row) = rows.get(number as usize) else {
            out.push(0);
            continue;
        };
        let mut sums = [_mm256_setzero_si256(); 2];
        for (part, (a, b)) in query.as_chunks::<32>().0.iter().zip(row.as_chunks::<32>().0).enumerate() {
            // SAFETY: both are 32 bytes long, and the load needs no alignment.
            let (a, b) = unsafe { (_mm256_loadu_si256(a.as_ptr().cast()), _mm256_loadu_si256(b.as_ptr().cast())) };
            let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a));
            sums[part & 1] = _mm256_add_epi32(sums[part & 1], _mm256_madd_epi16(pairs, ones));
        }
        let sum = _mm256_add_epi32(sums[0], sums[1]);
        let sum = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
        let sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0b01_00_11_10));
        out.push(_mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0b10_11_00_01))));
    }
}

/// Rows of other models are filled up with zeros to a multiple of this.
pub const WIDE_STEP: usize = 32;

/// The product of two rows of any one length, a multiple of [`WIDE_STEP`]. Neither has a byte of -128.
pub fn dot_wide(query: &[i8], row: &[u8]) -> i32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { dot_wide_avx2(query, row) };
    }
    dot_wide_portable(query, row)
}

fn dot_wide_portable(query: &[i8], row: &[u8]) -> i32 {
    query.iter().zip(row).map(|(a, b)| i32::from(*a) * i32::from(b.cast_signed())).sum()
}

/// As [`dots_avx2`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dot_wide_avx2(query: &[i8], row: &[u8]) -> i32 {
    let ones = _mm256_set1_epi16(1);
    let mut sums = [_mm256_setzero_si256(); 2];
    for (part, (a, b)) in query.as_chunks::<32>().0.iter().zip(row.as_chunks::<32>().0).enumerate() {
        // SAFETY: both are 32 bytes long, and the load needs no alignment.
        let (a, b) = unsafe { (_mm256_loadu_si256(a.as_ptr().cast()), _mm256_loadu_si256(b.as_ptr().cast())) };
        let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a));
        sums[part & 1] = _mm256_add_epi32(sums[part & 1], _mm256_madd_epi16(pairs, ones));
    }
    let sum = _mm256_add_epi32(sums[0], sums[1]);
    let sum = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    let sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0b01_00_11_10));
    _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0b10_11_00_01)))
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch(row: &[u8; ROW]) {
    for line in row.as_chunks::<64>().0 {
        // SAFETY: the address is one of `row`, and asking for memory changes nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
}

/// Appends in how many bits `query` differs from every code, eight for each block.
pub(super) fn distances(query: &Code, blocks: &[[u8; CODE_BLOCK]], out: &mut Vec<u16>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { distances_avx2(query, blocks, out) };
    }
    distances_portable(query, blocks, out);
}

fn distances_portable(query: &Code, blocks: &[[u8; CODE_BLOCK]], out: &mut Vec<u16>) {
    for block in blocks {
        let words = block.as_chunks::<8>().0;
        for lane in 0..8 {
            let differ = |word: usize| (u64::from_le_bytes(words[word * 8 + lane]) ^ query[word]).count_ones();
            out.push(u16::try_from((0..WORDS).map(differ).sum::<u32>()).unwrap_or(u16::MAX));
        }
    }
}

/// Bits are counted by looking up four at a time; bytes hold the sums of all words, at most 48, and are added up once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn distances_avx2(query: &Code, blocks: &[[u8; CODE_BLOCK]], out: &mut Vec<u16>) {
    const COUNTS: [u8; 32] = {
        let mut counts = [0; 32];
        let mut at = 0u8;
        while at < 32 {
            counts[at as usize] = (at & 15).count_ones().to_le_bytes()[0];
            at += 1;
        }
        counts
    };
    // SAFETY: the array is 32 bytes long, and the load needs no alignment.
    let counts = unsafe { _mm256_loadu_si256(COUNTS.as_ptr().cast()) };
    let low = _mm256_set1_epi8(15);
    for block in blocks {
        let mut sums = [_mm256_setzero_si256(); 2];
        for (word, lanes) in block.as_chunks::<64>().0.iter().enumerate() {
            let wanted = _mm256_set1_epi64x(query[word].cast_signed());
            for (sum, four) in sums.iter_mut().zip(lanes.as_chunks::<32>().0) {
                // SAFETY: `four` is 32 bytes long, and the load needs no alignment.
                let differ = _mm256_xor_si256(unsafe { _mm256_loadu_si256(four.as_ptr().cast()) }, wanted);
                let few = _mm256_shuffle_epi8(counts, _mm256_and_si256(differ, low));
                let many = _mm256_shuffle_epi8(counts, _mm256_and_si256(_mm256_srli_epi16::<4>(differ), low));
                *sum = _mm256_add_epi8(*sum, _mm256_add_epi8(few, many));
            }
        }
        for sum in sums {
            let rows = _mm256_sad_epu8(sum, _mm256_setzero_si256());
            let mut four = [0u64; 4];
            // SAFETY: `four` is 32 bytes long, and the store needs no alignment.
            unsafe { _mm256_storeu_si256(four.as_mut_ptr().cast(), rows) };
            out.extend(four.map(|distance| u16::try_from(distance).unwrap_or(u16::MAX)));
        }
    }
}

/// Appends in how many bits `query` differs from the codes of these rows; all where a row does not exist.
pub(super) fn distances_of_rows(query: &Code, rows: &[[u8; ROW]], wanted: &[u32], out: &mut Vec<u16>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has AVX2 and POPCNT.
        return unsafe { distances_of_rows_avx2(query, rows, wanted, out) };
    }
    distances_of_rows_portable(query, rows, wanted, out);
}

fn distances_of_rows_portable(query: &Code, rows: &[[u8; ROW]], wanted: &[u32], out: &mut Vec<u16>) {
    let distance = |row: &[u8; ROW]| {
        let differ: u32 = code_of(row).iter().zip(query).map(|(a, b)| (a ^ b).count_ones()).sum();
        u16::try_from(differ).unwrap_or(u16::MAX)
    };
    out.extend(wanted.iter().map(|&at| rows.get(at as usize).map_or(u16::MAX, distance)));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn distances_of_rows_avx2(query: &Code, rows: &[[u8; ROW]], wanted: &[u32], out: &mut Vec<u16>) {
    for (at, &number) in wanted.iter().enumerate() {
        if let Some(next) = wanted.get(at + AHEAD).and_then(|&next| rows.get(next as usize)) {
            prefetch(next);
        }
        let Some(row) = rows.get(number as usize) else {
            out.push(u16::MAX);
            continue;
        };
        let mut differ = 0;
        for (half, bytes) in row.as_chunks::<32>().0.iter().enumerate() {
            // SAFETY: `bytes` is 32 bytes long, and the load needs no alignment.
            let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
            let signs = _mm256_movemask_epi8(_mm256_cmpgt_epi8(bytes, _mm256_setzero_si256())).cast_unsigned();
            let wanted = query[half / 2] >> (half % 2 * 32);
            differ += (u64::from(signs) ^ (wanted & u64::from(u32::MAX))).count_ones();
        }
        out.push(u16::try_from(differ).unwrap_or(u16::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: u64) -> Vec<[u8; ROW]> {
        let mut state = 7u64;
        let mut byte = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 56).to_le_bytes()[0]).max(1) ^ 128
        };
        (0..count).map(|_| std::array::from_fn(|_| byte())).collect()
    }

    #[test]
    fn every_form_gives_the_same_numbers() {
        let rows = rows(41);
        let query = rows[40].map(u8::cast_signed);
        let code = code_of(&rows[40]);
        let wanted: Vec<u32> = (0..40).rev().chain([99]).collect();
        let (mut fast, mut plain) = (Vec::new(), Vec::new());
        dots(&query, &rows, &wanted, &mut fast);
        dots_portable(&query, &rows, &wanted, &mut plain);
        assert_eq!(fast, plain);
        let (mut fast, mut plain) = (Vec::new(), Vec::new());
        distances_of_rows(&code, &rows, &wanted, &mut fast);
        distances_of_rows_portable(&code, &rows, &wanted, &mut plain);
        assert_eq!(fast, plain);
        let mut block = [0; CODE_BLOCK];
        for (lane, row) in rows[..8].iter().enumerate() {
            for (word, bits) in code_of(row).iter().enumerate() {
                block[(word * 8 + lane) * 8..][..8].copy_from_slice(&bits.to_le_bytes());
            }
        }
        let (mut blocks, mut plain) = (Vec::new(), Vec::new());
        distances(&code, &[block], &mut blocks);
        distances_portable(&code, &[block], &mut plain);
        assert_eq!(blocks, plain);
        for length in [0, 32, 64, 352, ROW] {
            let (a, b) = (&query[..length], &rows[3][..length]);
            assert_eq!(dot_wide(a, b), dot_wide_portable(a, b));
        }
        let mut single = Vec::new();
        distances_of_rows(&code, &rows, &(0..8).collect::<Vec<_>>(), &mut single);
        assert_eq!(blocks, single);
    }
}
