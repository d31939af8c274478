//! Blocks of texts that were unpacked lately, for all segments of a store together.
//!
//! Many people ask about the same code, and unpacking is a third of what answering them takes.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use quick_cache::{Weighter, sync::Cache};

use super::texts::TextBlock;

/// What texts take of memory where nobody says otherwise, in bytes.
pub const TEXT_MEMORY: u64 = 32 << 20;

/// A typical block, in bytes: only to say how many there may be.
const TYPICAL: u64 = 25_000;

/// The number of a segment among those that were opened, and the first chunk of a block.
type Key = (u64, u32);

/// Keeps blocks, up to so many bytes.
pub struct TextCache {
    blocks: Cache<Key, Arc<TextBlock>, Bytes>,
    segments: AtomicU64,
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Arc<TextBlock>> for Bytes {
    fn weight(&self, _: &Key, block: &Arc<TextBlock>) -> u64 {
        block.memory()
    }
}

impl TextCache {
    /// Keeps at most so many bytes.
    pub fn new(bytes: u64) -> Arc<Self> {
        let count = usize::try_from(bytes / TYPICAL).unwrap_or(usize::MAX).max(16);
        Arc::new(Self { blocks: Cache::with_weighter(count, bytes, Bytes), segments: AtomicU64::new(0) })
    }

    /// The share of a segment that is being opened: no other one has its number.
    pub fn share(self: &Arc<Self>) -> CachedTexts {
        let segment = self.segments.fetch_add(1, Ordering::Relaxed);
        CachedTexts { cache: Arc::clone(self), segment, kept: Mutex::default() }
    }

    /// Forgets all texts.
    pub fn clear(&self) {
        self.blocks.clear();
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.blocks.weight()
    }
}

impl std::fmt::Debug for TextCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextCache").field("blocks", &self.blocks.len()).finish_non_exhaustive()
    }
}

/// What is kept of one segment. It goes with it: nobody asks for it again, and after a while of refreshes there would be
/// little else.
pub struct CachedTexts {
    cache: Arc<TextCache>,
    segment: u64,
    /// Where the blocks begin that were ever kept.
    kept: Mutex<HashSet<u32>>,
}

impl Drop for CachedTexts {
    fn drop(&mut self) {
        for first in self.kept.get_mut().unwrap_or_else(PoisonError::into_inner).drain() {
            self.cache.blocks.remove(&(self.segment, first));
        }
    }
}

impl CachedTexts {
    /// The block that begins with this chunk.
    pub(super) fn get(&self, first: u32) -> Option<Arc<TextBlock>> {
        self.cache.blocks.get(&(self.segment, first))
    }

    pub(super) fn put(&self, first: u32, block: &Arc<TextBlock>) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).insert(first);
        self.cache.blocks.insert((self.segment, first), Arc::clone(block));
    }
}
