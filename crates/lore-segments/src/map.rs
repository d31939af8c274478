//! The bytes of a segment, or of a set of vectors: a mapped file, or memory.
//!
//! A mapped file must keep its content and length while it is mapped: cut short by somebody else, it would end the
//! process with SIGBUS. Lore writes a segment under another name, publishes it by renaming, never changes it after
//! that, and only ever unlinks it; an unlinked file stays readable until the last map is gone.
#![expect(unsafe_code, reason = "a map is only as immutable as the file, and the compiler cannot know files")]

use std::{fs::File, ops::Deref, path::Path};

use memmap2::Mmap;

use super::Result;

/// Bytes that do not change.
#[derive(Debug)]
pub enum Bytes {
    /// A file.
    Mapped(Mmap),
    /// Memory.
    Owned(Vec<u8>),
}

impl Bytes {
    /// Maps a file.
    pub fn map(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        // SAFETY: nobody changes a published segment (see above), so the slice stays what it is.
        let map = unsafe { Mmap::map(&file) }?;
        Ok(Self::Mapped(map))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}
