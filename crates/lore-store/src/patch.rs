//! How patches are packed: ordinary zstd frames, readable by anyone's SQL and `zstd` program.

use std::io;

use lore_model::Patch;

const LEVEL: i32 = 1;

/// The most that a stored patch may unpack to; the cap on patches is far below.
const MAX_UNPACKED: usize = 64 << 20;

/// Packs patches. One per thread: the compressor's memory is reused.
pub struct PatchPacker {
    compressor: zstd::bulk::Compressor<'static>,
    /// Room for the largest frame so far; what is kept is copied out of it, as short as it is.
    room: Vec<u8>,
}

impl PatchPacker {
    /// A packer.
    pub fn new() -> io::Result<Self> {
        let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
        // So that a changed byte is an error, not another patch.
        compressor.include_checksum(true)?;
        Ok(Self { compressor, room: Vec::new() })
    }

    /// Packs a patch (an empty one too).
    pub fn pack(&mut self, bytes: &[u8]) -> io::Result<Patch> {
        self.room.clear();
        self.room.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
        self.compressor.compress_to_buffer(bytes, &mut self.room)?;
        Ok(Patch::Stored { zstd: self.room.clone(), raw_len: bytes.len() as u64 })
    }
}

/// The bytes of a packed patch.
pub fn unpack_patch(frame: &[u8]) -> io::Result<Vec<u8>> {
    let size = zstd::bulk::Decompressor::upper_bound(frame).unwrap_or(MAX_UNPACKED).min(MAX_UNPACKED);
    zstd::bulk::decompress(frame, size)
}
