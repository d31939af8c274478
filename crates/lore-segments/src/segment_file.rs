//! Reads a segment: a file that is mapped, or bytes in memory.
//!
//! Opening looks at the header and at sizes, so it costs the same for every size. Whatever the bytes are, reading them
//! gives an error or less than was written, never a panic; [`Segment::verify`] finds every changed byte.

use std::{
    ops::Range,
    path::Path,
    sync::{Arc, OnceLock},
};

use lore_store::{ChunkId, ChunkKey};

use super::{
    Result, SegmentError,
    bytes::u32_at,
    dictionary::Dictionary,
    kernels::{CODE_BLOCK, ROW},
    layout::{Layout, Part},
    lengths::Lengths,
    map::Bytes,
    text_cache::CachedTexts,
    texts::{TextBlock, Texts},
    trigrams::INDEX_ROW,
    trigrams_read::Trigrams,
    vectors::{Vectors, codes},
};

/// A segment, open for reading.
pub struct Segment {
    bytes: Bytes,
    layout: Layout,
    ranks: Vec<u32>,
    /// Codes of a segment that has none in its file, once they were wanted.
    made_codes: OnceLock<Vec<u8>>,
    /// Terms that are not ASCII, once they were wanted.
    foreign_terms: OnceLock<Option<Vec<ForeignTerm>>>,
    cached_texts: Option<CachedTexts>,
}

/// A term that is not ASCII.
pub(super) struct ForeignTerm {
    pub(super) term: Box<str>,
    /// Where its record lies.
    record: Range<usize>,
}

impl Segment {
    /// Maps the file at `path`.
    pub fn open(path: &Path) -> Result<Self> {
        Self::new(Bytes::map(path)?)
    }

    /// The same segment; from now on texts that are read are kept there.
    #[must_use]
    pub fn keeping(self, texts: CachedTexts) -> Self {
        Self { cached_texts: Some(texts), ..self }
    }

    /// Reads bytes that [`SegmentBuilder::finish`](super::SegmentBuilder::finish) or [`merge`](super::merge) gave.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::new(Bytes::Owned(bytes))
    }

    fn new(bytes: Bytes) -> Result<Self> {
        let layout = Layout::read(&bytes)?;
        let size = |part| layout.part(&bytes, part).len();
        let (chunks, rows) = (layout.counts.chunks as usize, layout.counts.rows as usize);
        let fits = size(Part::Ids) == chunks * 4
            && size(Part::Keys) == chunks * 16
            && size(Part::KeyOrder) == chunks * 4
            && size(Part::Lengths) == chunks * 6
            && size(Part::LongLengths).is_multiple_of(12)
            && size(Part::TermIndex) == Dictionary::index_size(layout.counts.terms)
            && size(Part::TextIndex).is_multiple_of(16)
            && [0, chunks.div_ceil(64) * 8].contains(&size(Part::Exact))
            && size(Part::Units).is_multiple_of(4)
            && size(Part::Units) <= chunks * 4
            && size(Part::TrigramIndex).is_multiple_of(INDEX_ROW)
            && size(Part::Rows) == rows * ROW
            && size(Part::Scales) == rows * 4
            && size(Part::WithRow) == if rows == 0 { 0 } else { chunks.div_ceil(64) * 8 }
            && [0, rows.div_ceil(8) * CODE_BLOCK].contains(&size(Part::Codes));
        if !fits {
            return Err(SegmentError::Damaged("a part has not the size that the header implies"));
        }
        let ranks = Vectors::ranks(layout.part(&bytes, Part::WithRow), layout.counts.chunks, layout.counts.rows)
            .ok_or(SegmentError::Damaged("its vectors belong to no chunks"))?;
        Ok(Self {
            bytes,
            layout,
            ranks,
            made_codes: OnceLock::new(),
            foreign_terms: OnceLock::new(),
            cached_texts: None,
        })
    }

    /// Compares everything with the checksums.
    pub fn verify(&self) -> Result<()> {
        self.layout.verify(&self.bytes)
    }

    /// How many chunks it has.
    pub fn chunk_count(&self) -> u32 {
        self.layout.counts.chunks
    }

    /// How many of its chunks have a vector.
    pub fn rows(&self) -> u32 {
        self.layout.counts.rows
    }

    /// The bytes of one part.
    pub(super) fn part(&self, part: Part) -> &[u8] {
        self.layout.part(&self.bytes, part)
    }

    /// The id of a chunk.
    pub fn id(&self, ordinal: u32) -> Option<ChunkId> {
        u32_at(self.part(Part::Ids), ordinal as usize)
    }

    /// The ids of all chunks, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = ChunkId> + '_ {
        self.part(Part::Ids).as_chunks::<4>().0.iter().map(|id| u32::from_le_bytes(*id))
    }

    /// The key of a chunk.
    pub fn key(&self, ordinal: u32) -> Option<ChunkKey> {
        self.part(Part::Keys).as_chunks::<16>().0.get(ordinal as usize).map(|key| ChunkKey(*key))
    }

    /// The ordinal of a chunk.
    pub(super) fn ordinal(&self, id: ChunkId) -> Option<u32> {
        let ids = self.part(Part::Ids).as_chunks::<4>().0;
        let at = ids.binary_search_by(|probe| u32::from_le_bytes(*probe).cmp(&id)).ok()?;
        u32::try_from(at).ok()
    }

    /// The chunk of that key.
    pub fn find(&self, key: &ChunkKey) -> Option<ChunkId> {
        let order = self.part(Part::KeyOrder).as_chunks::<4>().0;
        let key_at = |ordinal: &[u8; 4]| self.key(u32::from_le_bytes(*ordinal));
        let at = order.partition_point(|ordinal| key_at(ordinal).is_some_and(|probe| probe < *key));
        let found = order.get(at).filter(|ordinal| key_at(ordinal) == Some(*key))?;
        self.id(u32::from_le_bytes(*found))
    }

    /// The text of a chunk.
    pub fn text(&self, ordinal: u32) -> Result<Vec<u8>> {
        let text = self.text_block(ordinal)?.get(ordinal).map(<[u8]>::to_vec);
        text.ok_or(SegmentError::Damaged("a text is not where it should be"))
    }

    /// The block with the text of a chunk; its neighbours are in it too.
    pub(super) fn text_block(&self, ordinal: u32) -> Result<Arc<TextBlock>> {
        match &self.cached_texts {
            Some(cached) => self.texts().cached_block(ordinal, cached),
            None => self.text_block_once(ordinal).map(Arc::new),
        }
    }

    /// The same for those who read everything: it is not kept.
    pub(super) fn text_block_once(&self, ordinal: u32) -> Result<TextBlock> {
        self.texts().block(ordinal)
    }

    fn texts(&self) -> Texts<'_> {
        Texts { index: self.part(Part::TextIndex), frames: self.part(Part::Texts), chunks: self.chunk_count() }
    }

    /// How many tokens chunks have in a field.
    pub(super) fn lengths(&self, field: usize) -> Lengths<'_> {
        Lengths::new(self.part(Part::Lengths), self.part(Part::LongLengths), self.chunk_count() as usize, field)
    }

    pub(super) fn dictionary(&self) -> Dictionary<'_> {
        Dictionary {
            index: self.part(Part::TermIndex),
            terms: self.part(Part::Terms),
            postings: self.part(Part::Postings),
            count: self.layout.counts.terms,
        }
    }

    /// Terms that are not ASCII, with their records; `None` where the terms are damaged. They are looked up once.
    pub(super) fn foreign_terms(&self) -> Option<impl Iterator<Item = (&str, &[u8])>> {
        let all = self.foreign_terms.get_or_init(|| {
            let (mut all, mut terms) = (Vec::new(), self.dictionary().cursor());
            while terms.advance()? {
                if !terms.term.is_ascii() {
                    let term = std::str::from_utf8(&terms.term).ok()?.into();
                    all.push(ForeignTerm { term, record: terms.record_place() });
                }
            }
            Some(all)
        });
        let postings = self.dictionary().postings;
        let with_record = move |known: &'_ ForeignTerm| postings.get(known.record.clone());
        Some(all.as_ref()?.iter().filter_map(move |known| Some((&*known.term, with_record(known)?))))
    }

    pub(super) fn trigrams(&self) -> Trigrams<'_> {
        Trigrams {
            exact: self.part(Part::Exact),
            units: self.part(Part::Units),
            index: self.part(Part::TrigramIndex),
            entries: self.part(Part::Trigrams),
            lists: self.part(Part::UnitLists),
            chunks: self.chunk_count(),
        }
    }

    pub(super) fn vectors(&self) -> Vectors<'_> {
        Vectors {
            rows: self.part(Part::Rows).as_chunks().0,
            scales: self.part(Part::Scales).as_chunks().0,
            with_row: self.part(Part::WithRow).as_chunks().0,
            ranks: &self.ranks,
        }
    }

    /// The sign codes of all rows. A small segment makes them when it is asked first.
    pub(super) fn codes(&self) -> &[[u8; CODE_BLOCK]] {
        let written = self.part(Part::Codes);
        let bytes =
            if written.is_empty() { self.made_codes.get_or_init(|| codes(self.vectors().rows)) } else { written };
        bytes.as_chunks().0
    }
}
