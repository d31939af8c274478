//! Answers from trigrams: which chunks of a view may be what a plan asks for.
//!
//! A unit that cannot be read is an error: an exact search must not miss anything in silence.

use std::ops::Range;

use lore_model::Cancel;
use lore_store::{ChunkId, TextPlan, Trigram};

use super::{
    Result, SegmentError, View,
    bits::Bits,
    bytes::{Input, u32_at},
    trigrams::{INDEX_ROW, single_width},
    trigrams_coding::read_list,
    view::Share,
};

const MALFORMED: SegmentError = SegmentError::Damaged("its trigrams are malformed");

/// Where fewer than one in so many chunks are wanted, units without any are not looked at.
const SPARSE: usize = 4;

/// Verifying a unit takes about as long as reading so many numbers of a list.
const UNIT_COST: usize = 512;

/// Reads trigrams.
#[derive(Clone, Copy)]
pub(super) struct Trigrams<'a> {
    pub(super) exact: &'a [u8],
    pub(super) units: &'a [u8],
    pub(super) index: &'a [u8],
    pub(super) entries: &'a [u8],
    pub(super) lists: &'a [u8],
    pub(super) chunks: u32,
}

/// The units that have a trigram.
struct List<'a> {
    count: u32,
    bytes: &'a [u8],
}

/// A plan with the lists of one segment.
enum Wanted<'a> {
    Anything,
    Has(List<'a>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

/// A row of the index.
struct Row {
    trigram: u32,
    entries: usize,
    lists: usize,
}

impl<'a> Trigrams<'a> {
    /// How many units there are.
    fn len(&self) -> u32 {
        u32::try_from(self.units.len() / 4).unwrap_or(u32::MAX)
    }

    /// Whether exact search looks at a chunk.
    pub(super) fn has(&self, ordinal: usize) -> bool {
        self.exact.get(ordinal / 8).is_some_and(|byte| byte >> (ordinal % 8) & 1 == 1)
    }

    /// Calls `emit` with every chunk of `members` that may be what the plan asks for, in order.
    pub(super) fn for_each(&self, plan: &TextPlan, members: &Bits, mut emit: impl FnMut(usize)) -> Option<()> {
        let wanted = self.wanted(plan)?;
        let borders = |unit: usize| {
            let first = u32_at(self.units, unit).unwrap_or(0) as usize;
            first..u32_at(self.units, unit + 1).unwrap_or(self.chunks) as usize
        };
        let mut all = Bits::below(self.len() as usize);
        let has_members = |unit: &usize| {
            let Range { start, end } = borders(*unit);
            members.any_within(start, end.saturating_sub(1))
        };
        // Most views have something of every unit.
        let is_sparse = members.count() * SPARSE < self.chunks as usize;
        (0..self.len() as usize).filter(|unit| !is_sparse || has_members(unit)).for_each(|unit| all.insert(unit));
        let mut end = 0;
        let mut whole = true;
        self.units_with(&wanted, &all)?.for_each(|unit| {
            let Range { start: first, end: next } = borders(unit);
            whole &= end <= first && first < next && next <= self.chunks as usize;
            if whole {
                (first..next).filter(|ordinal| members.contains(*ordinal) && self.has(*ordinal)).for_each(&mut emit);
                end = next;
            }
        });
        whole.then_some(())
    }

    fn row(&self, at: usize) -> Option<Row> {
        let mut row = Input(self.index.get(at.checked_mul(INDEX_ROW)?..)?);
        Some(Row {
            trigram: u32::from_le_bytes(row.array()?),
            entries: u32::from_le_bytes(row.array()?) as usize,
            lists: usize::try_from(u64::from_le_bytes(row.array()?)).ok()?,
        })
    }

    /// The units with a trigram; `None` where the bytes are damaged.
    fn find(&self, trigram: Trigram) -> Option<List<'a>> {
        const NONE: List<'_> = List { count: 0, bytes: &[] };
        let wanted = trigram.number();
        let (mut low, mut high) = (0, self.index.len() / INDEX_ROW);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.row(middle)?.trigram <= wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let Some(block) = low.checked_sub(1) else { return Some(NONE) };
        let row = self.row(block)?;
        let end = if low < self.index.len() / INDEX_ROW { self.row(low)?.entries } else { self.entries.len() };
        let mut input = Input(self.entries.get(row.entries..end)?);
        let (mut here, mut at) = (row.trigram, row.lists);
        while !input.0.is_empty() {
            here = here.checked_add(input.varint()?)?;
            let count = input.varint()?;
            let length = if count == 1 { single_width(self.len()) } else { input.varint()? as usize };
            let next = at.checked_add(length)?;
            if here >= wanted {
                return Some(if here == wanted { List { count, bytes: self.lists.get(at..next)? } } else { NONE });
            }
            at = next;
        }
        Some(NONE)
    }

    fn wanted(&self, plan: &TextPlan) -> Option<Wanted<'a>> {
        Some(match plan {
            TextPlan::Anything => Wanted::Anything,
            TextPlan::Has(trigram) => Wanted::Has(self.find(*trigram)?),
            TextPlan::All(plans) => Wanted::All(plans.iter().map(|plan| self.wanted(plan)).collect::<Option<_>>()?),
            TextPlan::Any(plans) => Wanted::Any(plans.iter().map(|plan| self.wanted(plan)).collect::<Option<_>>()?),
        })
    }

    /// At most so many units are wanted, without reading a list.
    fn estimate(&self, wanted: &Wanted<'_>) -> u32 {
        match wanted {
            Wanted::Anything => self.len(),
            Wanted::Has(list) => list.count,
            Wanted::All(parts) => parts.iter().map(|part| self.estimate(part)).min().unwrap_or(self.len()),
            Wanted::Any(parts) => {
                parts.iter().map(|part| self.estimate(part)).fold(0, u32::saturating_add).min(self.len())
            }
        }
    }

    /// The units of `among` that are wanted.
    fn units_with(&self, wanted: &Wanted<'_>, among: &Bits) -> Option<Bits> {
        Some(match wanted {
            Wanted::Anything => among.clone(),
            Wanted::Has(list) => {
                let mut found = self.read(list)?;
                found.intersect(among);
                found
            }
            Wanted::All(parts) => {
                let mut order: Vec<(u32, &Wanted<'_>)> = parts.iter().map(|part| (self.estimate(part), part)).collect();
                order.sort_by_key(|(estimate, _)| *estimate);
                let mut found = among.clone();
                for (estimate, part) in order {
                    // With few units left, verifying them is cheaper than asking for more.
                    if found.count() * UNIT_COST < estimate as usize {
                        break;
                    }
                    found = self.units_with(part, &found)?;
                }
                found
            }
            Wanted::Any(parts) => {
                let mut found = Bits::below(self.len() as usize);
                for part in parts {
                    found.unite(&self.units_with(part, among)?);
                }
                found
            }
        })
    }

    fn read(&self, list: &List<'_>) -> Option<Bits> {
        let mut found = Bits::below(self.len() as usize);
        if list.count == 1 {
            let mut number = [0; 4];
            number.get_mut(..list.bytes.len())?.copy_from_slice(list.bytes);
            let unit = u32::from_le_bytes(number);
            if unit >= self.len() {
                return None;
            }
            found.insert(unit as usize);
        } else {
            read_list(list.bytes, list.count, self.len(), &mut found)?;
        }
        Some(found)
    }
}

impl View {
    /// The chunks of exact text that may be what the plan asks for, ascending. None that is so is missing.
    pub fn chunks_with(&self, plan: &TextPlan) -> Result<Vec<ChunkId>> {
        self.members_with(plan, |share| &share.members)
    }

    /// Of the chunks without words, those that may be what the plan asks for, ascending.
    pub fn wordless_chunks_with(&self, plan: &TextPlan) -> Result<Vec<ChunkId>> {
        self.members_with(plan, Share::wordless)
    }

    fn members_with(&self, plan: &TextPlan, members: fn(&Share) -> &Bits) -> Result<Vec<ChunkId>> {
        let (mut chunks, cancel) = (Vec::new(), Cancel::current());
        for share in &self.shares {
            cancel.check()?;
            let mut lost = false;
            let emit = |ordinal: usize| match u32::try_from(ordinal).ok().and_then(|at| share.segment.id(at)) {
                Some(id) => chunks.push(id),
                None => lost = true,
            };
            share.segment.trigrams().for_each(plan, members(share), emit).ok_or(MALFORMED)?;
            if lost {
                return Err(MALFORMED);
            }
        }
        // Ids of the segments may lie between each other.
        if !chunks.is_sorted() {
            chunks.sort_unstable();
        }
        Ok(chunks)
    }
}
