//! The outer form of a segment: a header that names the parts, then the parts without gaps.
//!
//! Header: magic 8 | version u32 | chunks u32 | rows u32 | terms u32 | per part: length u64, checksum 16 | zeros |
//! checksum of the header 16. The parts that are scanned by SIMD come first: a mapped file then has them at multiples
//! of 64. Numbers are little-endian. Checksums are the first half of BLAKE3.

use super::{Result, SegmentError};

const MAGIC: [u8; 8] = *b"LORESEG\n";
const VERSION: u32 = 2;
const PARTS: usize = Part::ALL.len();
const HEADER: usize = 512;
const CHECKSUM: usize = 16;
const PART_ROW: usize = 8 + CHECKSUM;
const PARTS_AT: usize = 24;

/// What a segment consists of, in the order in which it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Sign codes of the vectors, eight rows to a block; empty in small segments.
    Codes,
    /// Vectors, one byte per dimension.
    Rows,
    /// f32 per row: what a byte of it is worth.
    Scales,
    /// A bit per chunk: whether it has a row. Empty where no chunk has.
    WithRow,
    /// u32 per chunk, ascending.
    Ids,
    /// 16 bytes per chunk.
    Keys,
    /// Ordinals in the order of their keys.
    KeyOrder,
    /// u16 per field and chunk: how many tokens.
    Lengths,
    /// (field, ordinal, tokens) of the few that do not fit a u16.
    LongLengths,
    /// Where blocks of terms begin.
    TermIndex,
    /// Terms, front-coded.
    Terms,
    /// For each term, ordinals and frequencies per field.
    Postings,
    /// Where blocks of texts begin.
    TextIndex,
    /// Texts, compressed.
    Texts,
    /// A bit per chunk: whether exact search looks at it. Empty where it looks at none.
    Exact,
    /// u32 per unit of chunks: its first ordinal.
    Units,
    /// Where blocks of trigrams begin.
    TrigramIndex,
    /// Trigrams, with the number of units that have them.
    Trigrams,
    /// For each trigram, its units.
    UnitLists,
}

impl Part {
    /// Every part.
    pub(crate) const ALL: [Self; 19] = [
        Self::Codes,
        Self::Rows,
        Self::Scales,
        Self::WithRow,
        Self::Ids,
        Self::Keys,
        Self::KeyOrder,
        Self::Lengths,
        Self::LongLengths,
        Self::TermIndex,
        Self::Terms,
        Self::Postings,
        Self::TextIndex,
        Self::Texts,
        Self::Exact,
        Self::Units,
        Self::TrigramIndex,
        Self::Trigrams,
        Self::UnitLists,
    ];
}

/// How many of everything.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) chunks: u32,
    pub(super) rows: u32,
    pub(super) terms: u32,
}

/// The header as read.
pub(super) struct Layout {
    pub(super) counts: Counts,
    ends: [usize; PARTS],
    checksums: [[u8; CHECKSUM]; PARTS],
}

impl Layout {
    /// Reads and checks the header, and that the parts fill the bytes exactly.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let header: &[u8; HEADER] = bytes.first_chunk().ok_or(SegmentError::Damaged("it has no header"))?;
        if header[..8] != MAGIC {
            return Err(SegmentError::Damaged("it is no segment"));
        }
        let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        if number(8) != VERSION {
            return Err(SegmentError::Version { found: number(8), known: VERSION });
        }
        if header[HEADER - CHECKSUM..] != checksum(&header[..HEADER - CHECKSUM]) {
            return Err(SegmentError::Damaged("its header is not what was written"));
        }
        let counts = Counts { chunks: number(12), rows: number(16), terms: number(20) };
        let mut layout = Self { counts, ends: [0; PARTS], checksums: [[0; CHECKSUM]; PARTS] };
        let mut end = HEADER;
        for (at, row) in header[PARTS_AT..].chunks_exact(PART_ROW).take(PARTS).enumerate() {
            let (length, sum) = row.split_at(8);
            let length = u64::from_le_bytes(length.try_into().expect("eight bytes were split off"));
            end = usize::try_from(length)
                .ok()
                .and_then(|length| end.checked_add(length))
                .ok_or(SegmentError::Damaged("a part is longer than memory"))?;
            layout.ends[at] = end;
            layout.checksums[at].copy_from_slice(sum);
        }
        if end != bytes.len() {
            return Err(SegmentError::Damaged("its length is not what the header says"));
        }
        Ok(layout)
    }

    /// The bytes of a part of `bytes`, which are those that were read.
    pub(super) fn part<'a>(&self, bytes: &'a [u8], part: Part) -> &'a [u8] {
        let at = part as usize;
        let start = if at == 0 { HEADER } else { self.ends[at - 1] };
        bytes.get(start..self.ends[at]).unwrap_or_default()
    }

    /// Compares every part with its checksum.
    pub(super) fn verify(&self, bytes: &[u8]) -> Result<()> {
        let whole = |part: &Part| checksum(self.part(bytes, *part)) == self.checksums[*part as usize];
        if Part::ALL.iter().all(whole) { Ok(()) } else { Err(SegmentError::Damaged("a part is not what was written")) }
    }
}

/// The bytes of a segment. Parts are given up one after the other, so they are not held twice.
pub(super) fn assemble(counts: Counts, parts: [Vec<u8>; PARTS]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + parts.iter().map(Vec::len).sum::<usize>());
    bytes.resize(HEADER, 0);
    bytes[..8].copy_from_slice(&MAGIC);
    for (at, number) in [VERSION, counts.chunks, counts.rows, counts.terms].into_iter().enumerate() {
        bytes[8 + at * 4..12 + at * 4].copy_from_slice(&number.to_le_bytes());
    }
    for (at, part) in parts.into_iter().enumerate() {
        let row = PARTS_AT + at * PART_ROW;
        bytes[row..row + 8].copy_from_slice(&(part.len() as u64).to_le_bytes());
        bytes[row + 8..row + PART_ROW].copy_from_slice(&checksum(&part));
        bytes.extend_from_slice(&part);
    }
    let sum = checksum(&bytes[..HEADER - CHECKSUM]);
    bytes[HEADER - CHECKSUM..HEADER].copy_from_slice(&sum);
    bytes
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    *blake3::hash(bytes).as_bytes().first_chunk().expect("a hash has 32 bytes")
}

const _: () = assert!(PARTS_AT + PARTS * PART_ROW + CHECKSUM <= HEADER && HEADER.is_multiple_of(64));
