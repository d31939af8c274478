//! The texts of chunks, exactly, in compressed blocks of neighbours.
//!
//! A block ends with the chunk that brings it to 24 KiB: large enough to compress well, small enough to read one chunk.
//! Raw, it is a varint per chunk with the length of its text, then the texts. The index has for every block its first
//! ordinal (u32), its raw length (u32) and where its frame begins (u64).

use std::{cell::RefCell, mem, sync::Arc, thread};

use zstd::{
    bulk,
    zstd_safe::{compress_bound, get_frame_content_size},
};

use super::{
    Result, SegmentError,
    bytes::{Input, put_varint},
    text_cache::CachedTexts,
};

const BLOCK: usize = 24 << 10;
const LEVEL: i32 = 3;
const INDEX_ROW: usize = 16;

/// So many blocks wait to be compressed together, on several threads.
const BATCH: usize = 256;
const THREADS: usize = 2;

/// Collects texts in the order of ordinals.
#[derive(Default)]
pub(super) struct TextWriter {
    chunks: u32,
    /// The block at hand: its first chunk, and what it holds so far.
    first: u32,
    lengths: Vec<u8>,
    texts: Vec<u8>,
    pending: Vec<Block>,
    index: Vec<u8>,
    frames: Vec<u8>,
}

struct Block {
    first: u32,
    raw: Vec<u8>,
}

impl TextWriter {
    pub(super) fn push(&mut self, text: &[u8]) {
        put_varint(&mut self.lengths, u32::try_from(text.len()).expect("a chunk is smaller than 4 GiB"));
        self.texts.extend_from_slice(text);
        self.chunks += 1;
        if self.texts.len() >= BLOCK {
            self.end_block();
        }
        if self.pending.len() >= BATCH {
            self.compress();
        }
    }

    pub(super) fn memory(&self) -> usize {
        let pending: usize = self.pending.iter().map(|block| block.raw.capacity()).sum();
        self.frames.capacity() + self.index.capacity() + self.texts.capacity() + pending
    }

    /// The index and the frames.
    pub(super) fn finish(mut self) -> (Vec<u8>, Vec<u8>) {
        if self.first < self.chunks {
            self.end_block();
        }
        self.compress();
        (self.index, self.frames)
    }

    fn end_block(&mut self) {
        let mut raw = Vec::with_capacity(self.lengths.len() + self.texts.len());
        raw.extend_from_slice(&self.lengths);
        raw.extend_from_slice(&self.texts);
        self.lengths.clear();
        self.texts.clear();
        self.pending.push(Block { first: self.first, raw });
        self.first = self.chunks;
    }

    /// Compresses what waits. How it is shared among threads does not show in the result.
    fn compress(&mut self) {
        let blocks = mem::take(&mut self.pending);
        let (mine, theirs) = blocks.split_at(blocks.len().div_ceil(THREADS));
        let frames = thread::scope(|scope| {
            let other = (!theirs.is_empty()).then(|| scope.spawn(|| compress_all(theirs)));
            let mut frames = compress_all(mine);
            if let Some(other) = other {
                frames.append(&mut other.join().expect("compressing does not panic"));
            }
            frames
        });
        for (block, frame) in blocks.iter().zip(frames) {
            self.index.extend_from_slice(&block.first.to_le_bytes());
            let raw = u32::try_from(block.raw.len()).expect("a block is smaller than 4 GiB");
            self.index.extend_from_slice(&raw.to_le_bytes());
            self.index.extend_from_slice(&(self.frames.len() as u64).to_le_bytes());
            self.frames.extend_from_slice(&frame);
        }
    }
}

fn compress_all(blocks: &[Block]) -> Vec<Vec<u8>> {
    let mut compressor = bulk::Compressor::new(LEVEL).expect("the level is a level");
    let mut room = Vec::new();
    let mut compress = |block: &Block| {
        room.clear();
        room.reserve(compress_bound(block.raw.len()));
        compressor.compress_to_buffer(&block.raw, &mut room).expect("there is room for the longest frame");
        room.clone()
    };
    blocks.iter().map(&mut compress).collect()
}

/// Unpacks a frame into the room that `raw` has. What zstd works with is made once for each thread.
fn decompress(frame: &[u8], raw: &mut Vec<u8>) -> Option<()> {
    thread_local! {
        static UNPACKING: RefCell<Option<bulk::Decompressor<'static>>> = const { RefCell::new(None) };
    }
    UNPACKING.with_borrow_mut(|unpacking| {
        if unpacking.is_none() {
            *unpacking = bulk::Decompressor::new().ok();
        }
        unpacking.as_mut()?.decompress_to_buffer(frame, raw).ok().map(|_| ())
    })
}

/// Reads texts.
#[derive(Clone, Copy)]
pub(super) struct Texts<'a> {
    pub(super) index: &'a [u8],
    pub(super) frames: &'a [u8],
    pub(super) chunks: u32,
}

/// A row of the index.
struct Row {
    first: u32,
    raw: usize,
    frame: usize,
}

/// A block in its file.
struct Place {
    row: Row,
    /// Where its frame ends.
    end: usize,
    chunks: u32,
}

const MISPLACED: SegmentError = SegmentError::Damaged("a text is not where it should be");

/// A block, unpacked.
pub(super) struct TextBlock {
    first: u32,
    raw: Vec<u8>,
    /// Where the texts begin, and where each ends.
    borders: Vec<usize>,
}

impl TextBlock {
    /// Bytes that it takes.
    pub(super) fn memory(&self) -> u64 {
        (size_of::<Self>() + self.raw.capacity() + self.borders.capacity() * size_of::<usize>()) as u64
    }

    /// The text of a chunk, where it is in this block.
    pub(super) fn get(&self, ordinal: u32) -> Option<&[u8]> {
        let at = ordinal.checked_sub(self.first)? as usize;
        self.raw.get(*self.borders.get(at)?..*self.borders.get(at + 1)?)
    }
}

impl Texts<'_> {
    fn row(&self, at: usize) -> Option<Row> {
        let mut row = Input(self.index.get(at * INDEX_ROW..)?);
        let (first, raw) = (u32::from_le_bytes(row.array()?), u32::from_le_bytes(row.array()?));
        Some(Row { first, raw: raw as usize, frame: usize::try_from(u64::from_le_bytes(row.array()?)).ok()? })
    }

    /// The block that a chunk is in.
    pub(super) fn block(&self, ordinal: u32) -> Result<TextBlock> {
        self.place(ordinal).and_then(|place| self.unpack(place)).ok_or(MISPLACED)
    }

    /// The same, kept or to be kept.
    pub(super) fn cached_block(&self, ordinal: u32, cached: &CachedTexts) -> Result<Arc<TextBlock>> {
        let place = self.place(ordinal).ok_or(MISPLACED)?;
        let first = place.row.first;
        if let Some(block) = cached.get(first) {
            return Ok(block);
        }
        let block = Arc::new(self.unpack(place).ok_or(MISPLACED)?);
        cached.put(first, &block);
        Ok(block)
    }

    /// Where the block lies that a chunk is in.
    fn place(&self, ordinal: u32) -> Option<Place> {
        let (mut low, mut high) = (0, self.index.len() / INDEX_ROW);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.row(middle)?.first <= ordinal {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let row = self.row(low.checked_sub(1)?)?;
        let next = self.row(low);
        let end = next.as_ref().map_or(self.frames.len(), |next| next.frame);
        let chunks = next.map_or(self.chunks, |next| next.first).checked_sub(row.first)?;
        Some(Place { row, end, chunks })
    }

    fn unpack(&self, Place { row, end, chunks }: Place) -> Option<TextBlock> {
        let frame = self.frames.get(row.frame..end)?;
        // Damaged bytes may ask for more memory than there is. The frame knows its length as well.
        if get_frame_content_size(frame).ok()?? != row.raw as u64 {
            return None;
        }
        let mut raw = Vec::new();
        raw.try_reserve_exact(row.raw).ok()?;
        decompress(frame, &mut raw)?;
        let mut input = Input(&raw);
        let mut borders = vec![0usize];
        for _ in 0..chunks {
            borders.push(borders.last()?.checked_add(input.varint()? as usize)?);
        }
        let texts = raw.len() - input.0.len();
        for border in &mut borders {
            *border = border.saturating_add(texts);
        }
        Some(TextBlock { first: row.first, raw, borders })
    }
}
