//! The nearest vectors of a view.
//!
//! Few rows are all compared, and all where it must be sure. Of many, a first look at sign codes leaves the nearest few in a
//! hundred, with all that tie with the last of them; only these are compared. Both the choice and the codes depend on rows alone, so it makes
//! no difference which segments they are in.
#![expect(clippy::cast_precision_loss, reason = "a product of two rows is below 2^24, so f32 holds it exactly")]

use lore_store::{Accuracy, Ask, DIMENSIONS};

use super::{
    Segment, View,
    bits::Bits,
    kernels::{Code, distances, distances_of_rows, dots},
    search::Best,
    vectors::Quantised,
    view::Share,
};

/// How many rows the codes leave.
struct Keep {
    /// From so many rows on, codes are looked at first.
    codes_from: usize,
    at_least: usize,
    /// One in so many is kept.
    one_in: usize,
}

/// What is looked at first, by how sure it must be; `None` for nothing.
fn keep(accuracy: Accuracy) -> Option<Keep> {
    match accuracy {
        Accuracy::Fast => Some(Keep { codes_from: 4_000, at_least: 1_000, one_in: 200 }),
        Accuracy::Balanced => Some(Keep { codes_from: 20_000, at_least: 4_500, one_in: 50 }),
        Accuracy::High => None,
    }
}

/// Where fewer than one in so many rows of a segment are wanted, codes are made of these rows alone.
const DENSE: usize = 4;

/// Chunks of a segment that have a row.
#[derive(Default)]
pub(super) struct WithRows {
    ordinals: Vec<u32>,
    rows: Vec<u32>,
}

impl WithRows {
    /// Those of `members`.
    pub(super) fn new(segment: &Segment, members: &Bits) -> Self {
        let vectors = segment.vectors();
        let mut all = Self::default();
        members.for_each(|ordinal| {
            if let Some(row) = vectors.row_of(ordinal) {
                all.push(u32::try_from(ordinal).expect("ordinals are u32"), row);
            }
        });
        all
    }

    pub(super) fn ordinals(&self) -> &[u32] {
        &self.ordinals
    }

    fn memory(&self) -> usize {
        (self.ordinals.capacity() + self.rows.capacity()) * size_of::<u32>()
    }

    fn push(&mut self, ordinal: u32, row: u32) {
        self.ordinals.push(ordinal);
        self.rows.push(row);
    }

    fn clear(&mut self) {
        self.ordinals.clear();
        self.rows.clear();
    }
}

/// A query's vector, as rows are.
pub(super) struct Nearest {
    query: Quantised,
    code: Code,
}

/// Room, used again.
#[derive(Default)]
pub(super) struct Near {
    /// What is allowed of each share.
    allowed: Vec<WithRows>,
    /// What the codes leave of a share.
    kept: WithRows,
    /// How far each wanted row is by its code, share by share.
    distances: Vec<u16>,
    /// How far all rows of a segment are.
    all: Vec<u16>,
    /// Where those lie that are near enough.
    places: Vec<u32>,
    dots: Vec<i32>,
}

impl Near {
    /// Bytes that it takes.
    pub(super) fn memory(&self) -> usize {
        let Self { allowed, kept, distances, all, places, dots } = self;
        let with_rows: usize = allowed.iter().chain([kept]).map(WithRows::memory).sum();
        let numbers = (distances.capacity() + all.capacity()) * size_of::<u16>();
        with_rows + numbers + places.capacity() * size_of::<u32>() + dots.capacity() * size_of::<i32>()
    }
}

impl Nearest {
    /// `None` where the vector has not the length that rows have.
    pub(super) fn new(vector: &[f32]) -> Option<Self> {
        let query = Quantised::new(<&[f32; DIMENSIONS]>::try_from(vector).ok()?);
        let code = query.code();
        Some(Self { query, code })
    }

    /// The cosine with the vector of a slot, where it has one.
    pub(super) fn score(&self, view: &View, slot: usize) -> Option<f32> {
        let (share, ordinal) = view.place(slot);
        let vectors = view.shares[share].segment.vectors();
        let row = vectors.row_of(ordinal as usize)?;
        let mut dot = Vec::with_capacity(1);
        dots(&self.query.row, vectors.rows, &[row], &mut dot);
        Some(self.scaled(dot[0], vectors.scale(row)))
    }

    #[inline]
    fn scaled(&self, dot: i32, scale: f32) -> f32 {
        dot as f32 * (scale * self.query.scale)
    }

    /// The slots of the nearest that are allowed.
    pub(super) fn best(&self, view: &View, ask: &Ask<'_>, near: &mut Near) -> Vec<usize> {
        let Near { allowed, kept, distances, all, places, dots } = near;
        let mut wanted: Vec<&WithRows> = view.shares.iter().map(Share::with_rows).collect();
        if let Some(is_allowed) = ask.allowed {
            allowed.resize_with(allowed.len().max(wanted.len()), WithRows::default);
            for ((share, wanted), allowed) in view.shares.iter().zip(&wanted).zip(allowed.iter_mut()) {
                allowed.clear();
                for (&ordinal, &row) in wanted.ordinals.iter().zip(&wanted.rows) {
                    if share.segment.id(ordinal).is_some_and(is_allowed) {
                        allowed.push(ordinal, row);
                    }
                }
            }
            wanted = allowed.iter().take(wanted.len()).collect();
        }
        let rows: usize = wanted.iter().map(|wanted| wanted.rows.len()).sum();
        let limit = keep(ask.accuracy).filter(|keep| rows >= keep.codes_from).map(|keep| {
            distances.clear();
            for (share, wanted) in view.shares.iter().zip(&wanted) {
                measure(&share.segment, &self.code, &wanted.rows, all, distances);
            }
            limit(distances, keep.at_least.max(ask.top).max(rows / keep.one_in))
        });
        let mut best = Best::new(ask.top);
        let mut from = 0;
        for (share, &wanted) in view.shares.iter().zip(&wanted) {
            let mut wanted = wanted;
            if let Some(limit) = limit {
                let distances = &distances[from..from + wanted.rows.len()];
                from += distances.len();
                kept.clear();
                near_ones(distances, limit, places);
                for &at in places.iter() {
                    kept.push(wanted.ordinals[at as usize], wanted.rows[at as usize]);
                }
                wanted = kept;
            }
            self.compare(view, share, wanted, dots, &mut best);
        }
        best.finish(view)
    }

    /// Offers all of `wanted`.
    fn compare(&self, view: &View, share: &Share, wanted: &WithRows, room: &mut Vec<i32>, best: &mut Best) {
        let vectors = share.segment.vectors();
        room.clear();
        dots(&self.query.row, vectors.rows, &wanted.rows, room);
        for ((&ordinal, &row), &dot) in wanted.ordinals.iter().zip(&wanted.rows).zip(room.iter()) {
            let score = self.scaled(dot, vectors.scale(row));
            if best.may_take(score) {
                best.offer(score, share.base + ordinal as usize, view);
            }
        }
    }
}

/// Appends the distances of `rows`. `all` is room.
fn measure(segment: &Segment, code: &Code, rows: &[u32], all: &mut Vec<u16>, out: &mut Vec<u16>) {
    let vectors = segment.vectors();
    if rows.len() * DENSE < vectors.rows.len() {
        return distances_of_rows(code, vectors.rows, rows, out);
    }
    if rows.len() == vectors.rows.len() {
        let end = out.len() + rows.len();
        distances(code, segment.codes(), out);
        // The last block may have room for more rows than there are.
        return out.truncate(end);
    }
    all.clear();
    distances(code, segment.codes(), all);
    out.extend(rows.iter().map(|&row| all.get(row as usize).copied().unwrap_or(u16::MAX)));
}

/// Where the distances within the limit are. Few are, and nobody can tell which: so nothing branches on a single one.
fn near_ones(distances: &[u16], limit: u16, places: &mut Vec<u32>) {
    const GROUP: usize = 32;
    places.clear();
    for (group, from) in distances.chunks(GROUP).zip((0_u32..).step_by(GROUP)) {
        if group.iter().fold(u16::MAX, |least, distance| least.min(*distance)) > limit {
            continue;
        }
        let (mut near, mut count) = ([0; GROUP], 0);
        for (at, &distance) in (from..).zip(group) {
            near[count] = at;
            count += usize::from(distance <= limit);
        }
        places.extend_from_slice(&near[..count]);
    }
}

/// The smallest distance that at least `keep` lie within.
fn limit(distances: &[u16], keep: usize) -> u16 {
    // Near distances are often equal, and a count that was just written is slow to read: four take turns.
    let mut turns = [[0u32; DIMENSIONS + 1]; 4];
    for four in distances.chunks(4) {
        for (counts, &distance) in turns.iter_mut().zip(four) {
            counts[usize::from(distance).min(DIMENSIONS)] += 1;
        }
    }
    let mut sum = 0;
    let within = |distance: &usize| {
        sum += turns.iter().map(|counts| counts[*distance] as usize).sum::<usize>();
        sum >= keep
    };
    (0..=DIMENSIONS).find(within).and_then(|limit| u16::try_from(limit).ok()).unwrap_or(u16::MAX)
}
