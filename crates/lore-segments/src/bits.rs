//! A dense set of small numbers, for the inner loops.

/// Members are bits; asking beyond the end is answered with no.
#[derive(Default, Clone)]
pub(super) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// An empty set with room for numbers below `limit`.
    pub(super) fn below(limit: usize) -> Self {
        Self { words: vec![0; limit.div_ceil(64)] }
    }

    /// Empties the set, with room for numbers below `limit`.
    pub(super) fn reset(&mut self, limit: usize) {
        self.words.clear();
        self.words.resize(limit.div_ceil(64), 0);
    }

    /// Bytes that it takes.
    pub(super) fn memory(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    pub(super) fn insert(&mut self, value: usize) {
        self.words[value / 64] |= 1 << (value % 64);
    }

    #[inline]
    pub(super) fn contains(&self, value: usize) -> bool {
        self.words.get(value / 64).is_some_and(|word| word >> (value % 64) & 1 == 1)
    }

    /// Whether a member lies in `from..=to`.
    #[inline]
    pub(super) fn any_within(&self, from: usize, to: usize) -> bool {
        let mut at = from / 64;
        let Some(&word) = self.words.get(at) else { return false };
        let mut word = word & (u64::MAX << (from % 64));
        while word == 0 {
            at += 1;
            if at > to / 64 {
                return false;
            }
            let Some(&next) = self.words.get(at) else { return false };
            word = next;
        }
        at * 64 + word.trailing_zeros() as usize <= to
    }

    pub(super) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Calls `visit` with every member, in order.
    #[inline]
    pub(super) fn for_each(&self, mut visit: impl FnMut(usize)) {
        for (at, &word) in self.words.iter().enumerate() {
            let mut word = word;
            while word != 0 {
                visit(at * 64 + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
    }

    /// Keeps what is in `other` too; both have the same room.
    pub(super) fn intersect(&mut self, other: &Self) {
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine &= theirs;
        }
    }

    /// Takes the members of `other` in; both have the same room.
    pub(super) fn unite(&mut self, other: &Self) {
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine |= theirs;
        }
    }
}
