//! A hash table from terms to numbers, whose hashes can be computed beforehand by other threads.
//!
//! Hashes have a seed of the process: what a repository contains cannot be made to collide. They are never stored.
#![expect(clippy::cast_possible_truncation, reason = "hashes are cut on purpose")]

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::LazyLock,
};

/// Smaller than this it does not get: emptying it costs nothing.
const SMALLEST: usize = 2048;

static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0) | 1);

/// The hash of a term.
pub(super) fn hash(term: &[u8]) -> u32 {
    let (words, rest) = term.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let seed = *SEED;
    let mut state = seed ^ term.len() as u64;
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word), seed);
    }
    (fold(state ^ u64::from_le_bytes(last), seed) >> 32) as u32
}

fn fold(value: u64, seed: u64) -> u64 {
    let product = u128::from(value ^ 0x9E37_79B9_7F4A_7C15) * u128::from(seed);
    product as u64 ^ (product >> 64) as u64
}

/// Open addressing: a slot has the hash above and the number, plus one, below; 0 is an empty slot.
#[derive(Default)]
pub(super) struct TermTable {
    slots: Vec<u64>,
    used: usize,
}

impl TermTable {
    pub(super) fn clear(&mut self) {
        if self.slots.len() > 4 * SMALLEST {
            self.slots = Vec::new();
        }
        self.slots.fill(0);
        self.used = 0;
    }

    pub(super) fn memory(&self) -> usize {
        self.slots.capacity() * 8
    }

    /// The number of a term with that hash, for which `is_same` holds; otherwise it gets the number `next`.
    #[inline]
    pub(super) fn find_or_insert(&mut self, hash: u32, next: u32, is_same: impl Fn(u32) -> bool) -> u32 {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                self.slots[at] = u64::from(hash) << 32 | u64::from(next + 1);
                self.used += 1;
                return next;
            }
            let number = slot as u32 - 1;
            if (slot >> 32) as u32 == hash && is_same(number) {
                return number;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(SMALLEST);
        let old = std::mem::replace(&mut self.slots, vec![0; size]);
        for slot in old.into_iter().filter(|slot| *slot != 0) {
            let mut at = (slot >> 32) as usize & (size - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = slot;
        }
    }
}
