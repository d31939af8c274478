//! Joins segments into one, without the chunks that nobody needs any more.
//!
//! The result is byte for byte what a builder gives for the same chunks in the order of their ids.

use lore_store::ChunkId;

use super::{
    Result, Segment, SegmentError,
    bits::Bits,
    builder::Content,
    dictionary::{DictionaryWriter, TermCursor},
    postings::{Occurrences, lists},
    texts::TextBlock,
};

const FIELDS: usize = 3;
const MALFORMED: SegmentError = SegmentError::Damaged("its postings are malformed");

/// Where a chunk of the result comes from.
struct Source {
    id: ChunkId,
    segment: usize,
    ordinal: u32,
}

/// A segment on its way into another.
struct Move<'a> {
    segment: &'a Segment,
    /// What is taken of it.
    taken: Bits,
    /// The new ordinals of what is taken.
    ordinals: Vec<u32>,
    block: Option<TextBlock>,
}

/// The bytes of one segment with the chunks of all that are `alive`. A chunk that is in several is taken once.
///
/// Segments are verified first: damage must not get a new checksum.
pub fn merge<'a>(segments: &[&'a Segment], alive: &dyn Fn(ChunkId) -> bool) -> Result<Vec<u8>> {
    segments.iter().try_for_each(|segment| segment.verify())?;
    let sources = sources(segments, alive)?;
    let moving = |segment: &&'a Segment| {
        let chunks = segment.chunk_count() as usize;
        Move { segment, taken: Bits::below(chunks), ordinals: vec![0; chunks], block: None }
    };
    let mut moves: Vec<Move<'_>> = segments.iter().map(moving).collect();
    let mut content = Content::default();
    for (ordinal, source) in (0u32..).zip(&sources) {
        let from = &mut moves[source.segment];
        from.taken.insert(source.ordinal as usize);
        from.ordinals[source.ordinal as usize] = ordinal;
        from.copy(source.ordinal, &mut content)?;
    }
    let dictionary = merge_terms(&moves)?;
    let ids: Vec<ChunkId> = sources.iter().map(|source| source.id).collect();
    Ok(content.seal(&ids, dictionary))
}

/// What is taken, in the order of ids.
fn sources(segments: &[&Segment], alive: &dyn Fn(ChunkId) -> bool) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for (number, segment) in segments.iter().enumerate() {
        if !segment.ids().is_sorted_by(|a, b| a < b) {
            return Err(SegmentError::Damaged("its ids do not ascend"));
        }
        let living = (0u32..).zip(segment.ids()).filter(|(_, id)| alive(*id));
        sources.extend(living.map(|(ordinal, id)| Source { id, segment: number, ordinal }));
    }
    sources.sort_by_key(|source| (source.id, source.segment));
    sources.dedup_by_key(|source| source.id);
    Ok(sources)
}

impl Move<'_> {
    fn copy(&mut self, ordinal: u32, content: &mut Content) -> Result<()> {
        const GONE: SegmentError = SegmentError::Damaged("a chunk is not where it should be");
        content.keys.push(self.segment.key(ordinal).ok_or(GONE)?);
        content.lengths.push(std::array::from_fn(|field| self.segment.lengths(field).get(ordinal as usize)));
        content.vectors.push(self.segment.vectors().find(ordinal as usize));
        if self.block.as_ref().is_none_or(|block| block.get(ordinal).is_none()) {
            self.block = Some(self.segment.text_block_once(ordinal)?);
        }
        let text = self.block.as_ref().and_then(|block| block.get(ordinal)).ok_or(GONE)?;
        content.texts.push(text);
        if self.segment.trigrams().has(ordinal as usize) {
            content.trigrams.push_text(text);
        } else {
            content.trigrams.skip();
        }
        Ok(())
    }
}

fn merge_terms(moves: &[Move<'_>]) -> Result<DictionaryWriter> {
    let mut cursors: Vec<(usize, TermCursor<'_>)> = Vec::new();
    for (number, from) in moves.iter().enumerate() {
        let mut cursor = from.segment.dictionary().cursor();
        if cursor.advance().ok_or(MALFORMED)? {
            cursors.push((number, cursor));
        }
    }
    let mut dictionary = DictionaryWriter::default();
    let mut term = Vec::new();
    let mut found: [Vec<(u32, u32)>; FIELDS] = Default::default();
    let mut columns: [(Vec<u32>, Vec<u32>); FIELDS] = Default::default();
    while let Some((_, smallest)) = cursors.iter().min_by(|a, b| a.1.term.cmp(&b.1.term)) {
        term.clone_from(&smallest.term);
        found.iter_mut().for_each(Vec::clear);
        for (number, cursor) in cursors.iter().filter(|(_, cursor)| cursor.term == term) {
            take(&moves[*number], cursor.record, &mut found)?;
        }
        for (found, (ordinals, frequencies)) in found.iter_mut().zip(&mut columns) {
            // Ids of the segments may lie between each other.
            if !found.is_sorted() {
                found.sort_unstable();
            }
            ordinals.clear();
            frequencies.clear();
            ordinals.extend(found.iter().map(|posting| posting.0));
            frequencies.extend(found.iter().map(|posting| posting.1));
        }
        if found.iter().any(|found| !found.is_empty()) {
            let fields = columns.each_ref().map(|(ordinals, frequencies)| Occurrences { ordinals, frequencies });
            dictionary.push(&term, fields);
        }
        let mut at = 0;
        while at < cursors.len() {
            if cursors[at].1.term != term || cursors[at].1.advance().ok_or(MALFORMED)? {
                at += 1;
            } else {
                cursors.remove(at);
            }
        }
    }
    Ok(dictionary)
}

fn take(from: &Move<'_>, record: &[u8], found: &mut [Vec<(u32, u32)>; FIELDS]) -> Result<()> {
    for (list, found) in lists(record).ok_or(MALFORMED)?.iter().zip(found) {
        let emit = |ordinal: usize, frequency: u32| found.push((from.ordinals[ordinal], frequency));
        list.for_each(&from.taken, emit).ok_or(MALFORMED)?;
    }
    Ok(())
}
