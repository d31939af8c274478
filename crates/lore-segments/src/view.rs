//! A set of chunks over some segments: what a question is asked of.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use lore_model::Cancel;
use lore_store::{Ask, ChunkId, ChunkKey, Scored};

use super::{
    Result, Segment, SegmentError,
    bits::Bits,
    nearest::WithRows,
    search::{lists_of, read, search},
    texts::TextBlock,
};

/// A snapshot, ready to be searched by any number of threads. It does not change.
pub struct View {
    pub(super) shares: Vec<Share>,
    /// Segments of which nothing is in the view.
    others: Vec<Arc<Segment>>,
    /// Slots are places in arrays over all shares: a share's base, and the ordinal.
    pub(super) slots: usize,
    pub(super) chunks: u32,
    /// How many tokens the chunks have, per field.
    pub(super) tokens: [u64; 3],
    /// In how many chunks tokens occur that were asked for.
    frequencies: Mutex<HashMap<Box<str>, u32>>,
}

/// So many frequencies are remembered.
const MAX_FREQUENCIES: usize = 4096;

/// What a view has of one segment.
pub(super) struct Share {
    pub(super) segment: Arc<Segment>,
    pub(super) members: Bits,
    /// The first slot, a multiple of 64.
    pub(super) base: usize,
    with_rows: OnceLock<WithRows>,
    wordless: OnceLock<Bits>,
}

impl Share {
    /// The members that have a vector.
    pub(super) fn with_rows(&self) -> &WithRows {
        self.with_rows.get_or_init(|| WithRows::new(&self.segment, &self.members))
    }

    /// The members of whose text no word is known.
    pub(super) fn wordless(&self) -> &Bits {
        self.wordless.get_or_init(|| {
            let mut wordless = Bits::below(self.segment.chunk_count() as usize);
            // The first field is names, which are not of the text.
            let fields = [1, 2].map(|field| self.segment.lengths(field));
            self.members.for_each(|ordinal| {
                if fields.iter().all(|lengths| lengths.get(ordinal) == 0) {
                    wordless.insert(ordinal);
                }
            });
            wordless
        })
    }
}

impl View {
    /// The view of `members` (ascending, each once), which must all be in the segments.
    pub fn new(segments: Vec<Arc<Segment>>, members: &[ChunkId]) -> Result<Self> {
        assert!(members.is_sorted_by(|a, b| a < b), "members ascend");
        let mut view = Self {
            shares: Vec::new(),
            others: Vec::new(),
            slots: 0,
            chunks: 0,
            tokens: [0; 3],
            frequencies: Mutex::default(),
        };
        let mut missing = members.to_vec();
        for segment in segments {
            let members = take_members(&segment, &mut missing)?;
            let share =
                Share { segment, members, base: view.slots, with_rows: OnceLock::new(), wordless: OnceLock::new() };
            let count = share.members.count();
            if count == 0 {
                view.others.push(share.segment);
                continue;
            }
            view.slots += (share.segment.chunk_count() as usize).next_multiple_of(64);
            view.chunks += u32::try_from(count).expect("members are a slice of u32");
            for (field, tokens) in view.tokens.iter_mut().enumerate() {
                let lengths = share.segment.lengths(field);
                share.members.for_each(|ordinal| *tokens += u64::from(lengths.get(ordinal)));
            }
            view.shares.push(share);
        }
        missing.first().map_or(Ok(view), |id| Err(SegmentError::Missing(*id)))
    }

    /// How many chunks it has.
    pub fn chunk_count(&self) -> u32 {
        self.chunks
    }

    /// The chunks that have a vector, ascending.
    pub fn with_vectors(&self) -> Vec<ChunkId> {
        let of = |share: &Share| {
            let ordinals = share.with_rows().ordinals();
            ordinals.iter().filter_map(|ordinal| share.segment.id(*ordinal)).collect::<Vec<_>>()
        };
        let mut all: Vec<ChunkId> = self.shares.iter().flat_map(of).collect();
        all.sort_unstable();
        all
    }

    /// The best chunks by text and the best by vector, each with both scores, in the order of their keys.
    ///
    /// Where scores are equal at a cut, smaller keys win. So the answer depends on the chunks of the view alone: not on
    /// their numbers, not on segments, not on what else is in the segments.
    pub fn search(&self, ask: &Ask<'_>) -> Result<Vec<Scored>> {
        search(self, ask)
    }

    /// In how many chunks a token occurs, in whatever field. This is counted once.
    pub fn frequency(&self, token: &str) -> Result<u32> {
        let known = self.frequencies.lock().unwrap_or_else(PoisonError::into_inner).get(token).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let count = self.count(token)?;
        self.remember_frequency(token, count);
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Remembers in how many chunks a token occurs.
    pub(super) fn remember_frequency(&self, token: &str, count: usize) {
        let mut known = self.frequencies.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_FREQUENCIES {
            known.clear();
        }
        known.insert(token.into(), u32::try_from(count).unwrap_or(u32::MAX));
    }

    fn count(&self, token: &str) -> Result<usize> {
        let (mut count, cancel) = (0, Cancel::current());
        for share in &self.shares {
            cancel.check()?;
            let Some(lists) = lists_of(share, token)? else { continue };
            let mut found = Bits::below(share.segment.chunk_count() as usize);
            for list in &lists {
                read(list, &share.members, |ordinal, _| found.insert(ordinal))?;
            }
            count += found.count();
        }
        Ok(count)
    }

    /// The text of a chunk, be it in the view or not: what stands around it may have been left out. Neighbours are cheap.
    pub fn text(&self, id: ChunkId) -> Result<Vec<u8>> {
        let mut segments = self.shares.iter().map(|share| &share.segment).chain(&self.others);
        let found = segments.find_map(|segment| Some((segment, segment.ordinal(id)?)));
        let (segment, ordinal) = found.ok_or(SegmentError::Missing(id))?;
        segment.text(ordinal)
    }

    /// Calls `visit` with the texts of these chunks, which ascend, until it returns false. Neighbours are read together.
    pub fn for_each_text(&self, ids: &[ChunkId], visit: &mut dyn FnMut(ChunkId, &[u8]) -> bool) -> Result<()> {
        const ABSENT: SegmentError = SegmentError::Damaged("a text is not where it should be");
        let (mut last, cancel): (Option<(usize, Arc<TextBlock>)>, _) = (None, Cancel::current());
        for &id in ids {
            cancel.check()?;
            let (share, ordinal) = self.place(self.slot(id).ok_or(SegmentError::Missing(id))?);
            let is_known = |(known, block): &(usize, Arc<TextBlock>)| *known == share && block.get(ordinal).is_some();
            let (_, block) = match last.take().filter(is_known) {
                Some(known) => last.insert(known),
                None => last.insert((share, self.shares[share].segment.text_block(ordinal)?)),
            };
            if !visit(id, block.get(ordinal).ok_or(ABSENT)?) {
                break;
            }
        }
        Ok(())
    }

    /// Whether exact search looks at a chunk of the view.
    pub fn is_exact(&self, id: ChunkId) -> bool {
        self.slot(id)
            .map(|slot| self.place(slot))
            .is_some_and(|(share, ordinal)| self.shares[share].segment.trigrams().has(ordinal as usize))
    }

    /// The slot of a chunk, where it is in the view.
    pub(super) fn slot(&self, id: ChunkId) -> Option<usize> {
        self.shares.iter().find_map(|share| {
            let ordinal = share.segment.ordinal(id)? as usize;
            share.members.contains(ordinal).then_some(share.base + ordinal)
        })
    }

    /// The share and the ordinal of a slot.
    pub(super) fn place(&self, slot: usize) -> (usize, u32) {
        let share = self.shares.partition_point(|share| share.base <= slot) - 1;
        let ordinal = slot - self.shares[share].base;
        (share, u32::try_from(ordinal).expect("ordinals are u32"))
    }

    pub(super) fn id(&self, slot: usize) -> ChunkId {
        let (share, ordinal) = self.place(slot);
        self.shares[share].segment.id(ordinal).unwrap_or(ChunkId::MAX)
    }

    pub(super) fn key(&self, slot: usize) -> ChunkKey {
        let (share, ordinal) = self.place(slot);
        self.shares[share].segment.key(ordinal).unwrap_or(ChunkKey([0; 16]))
    }
}

/// Takes out of `missing` what the segment has, and says which ordinals these are.
fn take_members(segment: &Segment, missing: &mut Vec<ChunkId>) -> Result<Bits> {
    let mut members = Bits::below(segment.chunk_count() as usize);
    let (Some(first), Some(last)) = (segment.ids().next(), segment.ids().next_back()) else { return Ok(members) };
    let from = missing.partition_point(|id| *id < first);
    let to = missing.partition_point(|id| *id <= last);
    if from >= to {
        return Ok(members);
    }
    let mut ids = segment.ids().enumerate();
    let mut at = ids.next();
    let mut before = None;
    let mut kept = from;
    for next in from..to {
        let wanted = missing[next];
        while let Some((_, id)) = at
            && id < wanted
        {
            if before.replace(id).is_some_and(|before| before >= id) {
                return Err(SegmentError::Damaged("its ids do not ascend"));
            }
            at = ids.next();
        }
        match at {
            Some((ordinal, id)) if id == wanted => members.insert(ordinal),
            _ => {
                missing[kept] = wanted;
                kept += 1;
            }
        }
    }
    missing.drain(kept..to);
    Ok(members)
}
