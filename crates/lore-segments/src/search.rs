//! Scores the chunks of a view: BM25 over fields, boosts, and the nearest vectors.
//!
//! For each word: tf' = Σ weight · tf / (1 - b + b · length / average) over the fields, then
//! weight · idf · (k1 + 1) · tf' / (k1 + tf'), with idf = ln(1 + (N - df + ½) / (df + ½)). N, df and averages are those
//! of the view. Words are taken in the order of their letters and fields in theirs, so the sums are the same bits
//! whatever the segments are.
#![expect(clippy::cast_precision_loss, reason = "scores are f32; counts beyond 2^24 are rounded alike everywhere")]

use std::sync::{Mutex, PoisonError};

use lore_model::Cancel;
use lore_store::{Ask, AskWord, Scored};

use super::{
    Result, SegmentError, View,
    bits::Bits,
    nearest::{Near, Nearest},
    postings::{List, lists},
    view::Share,
};

const K1: f32 = 1.2;
const FIELDS: usize = 3;

/// So many lengths have their factor computed once for a question.
const TABLE: usize = 512;

/// Words beyond these have no bit.
const MASKED: usize = 64;

/// Room that no question uses at the moment. All views share it: there are more views than questions at a time, and a new one
/// is opened after each refresh.
static ROOM: Mutex<Room> = Mutex::new(Room { kept: Vec::new(), bytes: 0 });

/// So much of it is kept: for so many questions, and so many bytes.
const ROOM_KEPT: usize = 16;
const ROOM_BYTES: usize = 128 << 20;

/// Room that is kept, and what it takes.
struct Room {
    kept: Vec<Work>,
    bytes: usize,
}

impl Room {
    fn take(&mut self) -> Work {
        let work = self.kept.pop().unwrap_or_default();
        self.bytes -= work.memory().min(self.bytes);
        work
    }

    /// Keeps room, where there is place for it. Gives back what is not kept: whoever has the lock should not free it.
    fn give(&mut self, work: Work) -> Option<Work> {
        let bytes = work.memory();
        if self.kept.len() >= ROOM_KEPT || self.bytes + bytes > ROOM_BYTES {
            return Some(work);
        }
        self.bytes += bytes;
        self.kept.push(work);
        None
    }
}

/// Room for one question at a time, used again. Between questions all numbers in it are zero. It is as large as the largest
/// view that it was used for.
#[derive(Default)]
struct Work {
    /// tf' of the word at hand, by slot.
    frequencies: Vec<f32>,
    /// Scores, by slot.
    scores: Vec<f32>,
    /// Slots that any word is in, or that are boosted.
    found: Bits,
    /// The slots that each word is in.
    words: Vec<Bits>,
    near: Near,
}

/// A word of the question, once, however often it is given.
struct Word<'a> {
    token: &'a str,
    /// The greatest that was given.
    weight: f32,
    /// Its places in the question.
    mask: u64,
}

/// What a posting counts, by the length of its chunk.
struct Factors {
    table: Vec<f32>,
    weight: f32,
    fixed: f32,
    per_token: f32,
}

impl Factors {
    fn new(ask: &Ask<'_>, view: &View, field: usize) -> Self {
        let average = view.tokens[field].max(1) as f32 / view.chunks.max(1) as f32;
        let length = ask.fields[field].length;
        let (weight, fixed, per_token) = (ask.fields[field].weight, 1.0 - length, length / average);
        let mut factors = Self { table: Vec::new(), weight, fixed, per_token };
        factors.table = (0u32..).take(TABLE).map(|length| factors.compute(length)).collect();
        factors
    }

    fn compute(&self, length: u32) -> f32 {
        self.weight / (self.fixed + self.per_token * length as f32)
    }

    #[inline]
    fn get(&self, length: u32) -> f32 {
        self.table.get(length as usize).copied().unwrap_or_else(|| self.compute(length))
    }
}

/// The answer to `ask` within `view`.
pub(super) fn search(view: &View, ask: &Ask<'_>) -> Result<Vec<Scored>> {
    let mut work = ROOM.lock().unwrap_or_else(PoisonError::into_inner).take();
    // Where it panics, the room is gone with its numbers.
    let found = search_with(view, ask, &mut work);
    let left = ROOM.lock().unwrap_or_else(PoisonError::into_inner).give(work);
    drop(left);
    found
}

fn search_with(view: &View, ask: &Ask<'_>, work: &mut Work) -> Result<Vec<Scored>> {
    if ask.top == 0 || view.chunks == 0 {
        return Ok(Vec::new());
    }
    let words = distinct(ask.words);
    let nearest = ask.vector.and_then(Nearest::new);
    let clear = |work: &mut Work| work.found.for_each(|slot| work.scores[slot] = 0.0);
    if let Err(error) = work.score(view, ask, &words) {
        clear(work);
        return Err(error);
    }
    let mut slots = best_by_text(view, ask, work);
    if let Some(nearest) = &nearest {
        slots.extend(nearest.best(view, ask, &mut work.near));
    }
    slots.extend(ask.also.iter().filter_map(|id| view.slot(*id)));
    slots.sort_by_cached_key(|slot| (view.key(*slot), *slot));
    slots.dedup();
    let matched = |slot: usize| {
        let has = |(word, found): (&Word<'_>, &Bits)| if found.contains(slot) { word.mask } else { 0 };
        words.iter().zip(&work.words).map(has).fold(0, |masks, mask| masks | mask)
    };
    let scored = |slot: usize| Scored {
        chunk: view.id(slot),
        text: work.scores[slot],
        vector: nearest.as_ref().and_then(|nearest| nearest.score(view, slot)),
        matched: matched(slot),
    };
    let answer = slots.into_iter().map(scored).collect();
    clear(work);
    Ok(answer)
}

/// The words of a question in the order of their letters.
fn distinct(words: &[AskWord]) -> Vec<Word<'_>> {
    let mask = |at: usize| if at < MASKED { 1 << at } else { 0 };
    let mut order: Vec<usize> = (0..words.len()).collect();
    order.sort_by(|a, b| words[*a].token.cmp(&words[*b].token));
    let mut distinct: Vec<Word<'_>> = Vec::with_capacity(words.len());
    for at in order {
        let weight = words[at].weight;
        match distinct.last_mut().filter(|last| last.token == words[at].token) {
            Some(last) => {
                last.weight = last.weight.max(weight);
                last.mask |= mask(at);
            }
            None => distinct.push(Word { token: &words[at].token, weight, mask: mask(at) }),
        }
    }
    distinct
}

impl Work {
    /// Bytes that it takes.
    fn memory(&self) -> usize {
        let Self { frequencies, scores, found, words, near } = self;
        let numbers = (frequencies.capacity() + scores.capacity()) * size_of::<f32>();
        let words: usize = words.iter().map(Bits::memory).sum();
        numbers + found.memory() + words + near.memory()
    }

    /// Scores everything that can be read, and tells where something could not: an answer would lack it.
    fn score(&mut self, view: &View, ask: &Ask<'_>, words: &[Word<'_>]) -> Result<()> {
        let slots = self.scores.len().max(view.slots);
        self.frequencies.resize(slots, 0.0);
        self.scores.resize(slots, 0.0);
        self.found.reset(view.slots);
        let all_read = self.score_words(view, ask, words);
        for &(id, boost) in ask.boosts {
            if let Some(slot) = view.slot(id) {
                self.scores[slot] += boost;
                self.found.insert(slot);
            }
        }
        all_read
    }

    fn score_words(&mut self, view: &View, ask: &Ask<'_>, words: &[Word<'_>]) -> Result<()> {
        let factors: [Factors; FIELDS] = std::array::from_fn(|field| Factors::new(ask, view, field));
        self.words.resize_with(self.words.len().max(words.len()), Bits::default);
        let having_all: Option<Vec<Bits>> =
            ask.all_words.then(|| view.shares.iter().map(|share| having_all(share, words)).collect()).transpose()?;
        let mut all_read = Ok(());
        let cancel = Cancel::current();
        for (word, bits) in words.iter().zip(&mut self.words) {
            cancel.check()?;
            bits.reset(view.slots);
            for (at, share) in view.shares.iter().enumerate() {
                let wanted = having_all.as_ref().map_or(&share.members, |having| &having[at]);
                let added = add_frequencies(share, wanted, word.token, &factors, &mut self.frequencies, bits);
                all_read = all_read.and(added);
            }
            let chunks = if ask.all_words {
                view.frequency(word.token).unwrap_or(1) as usize
            } else {
                let chunks = bits.count();
                if all_read.is_ok() {
                    view.remember_frequency(word.token, chunks);
                }
                chunks
            };
            let chunks = chunks as f32;
            let idf = (1.0 + (view.chunks as f32 - chunks + 0.5) / (chunks + 0.5)).ln();
            let weight = word.weight * idf * (K1 + 1.0);
            bits.for_each(|slot| {
                let frequency = std::mem::take(&mut self.frequencies[slot]);
                self.scores[slot] += weight * (frequency / (K1 + frequency));
            });
            self.found.unite(bits);
        }
        all_read
    }
}

/// Postings that are not what was written.
const DAMAGED: SegmentError = SegmentError::Damaged("the list of a word cannot be read");

/// The lists of a word; `None` where the segment does not have it.
pub(super) fn lists_of<'a>(share: &'a Share, token: &str) -> Result<Option<[List<'a>; FIELDS]>> {
    share.segment.dictionary().record(token.as_bytes()).map(|record| lists(record).ok_or(DAMAGED)).transpose()
}

/// Calls `emit` with ordinal and frequency of every chunk in `wanted` that the list has.
#[inline]
pub(super) fn read(list: &List<'_>, wanted: &Bits, emit: impl FnMut(usize, u32)) -> Result<()> {
    list.for_each(wanted, emit).ok_or(DAMAGED)
}

/// The chunks of a share that have all the words. The rarest word comes first: of the others, only what lies near its chunks
/// is unpacked.
fn having_all(share: &Share, words: &[Word<'_>]) -> Result<Bits> {
    let none = || Bits::below(share.segment.chunk_count() as usize);
    let all = words.iter().map(|word| lists_of(share, word.token)).collect::<Result<Option<Vec<_>>>>()?;
    let Some(mut all) = all else { return Ok(none()) };
    all.sort_by_key(|lists| lists.iter().map(List::len).sum::<usize>());
    let mut having: Option<Bits> = None;
    for lists in all {
        let mut with_it = none();
        for list in lists {
            read(&list, having.as_ref().unwrap_or(&share.members), |at, _| with_it.insert(at))?;
        }
        having = Some(with_it);
    }
    Ok(having.unwrap_or_else(none))
}

fn add_frequencies(
    share: &Share,
    wanted: &Bits,
    token: &str,
    factors: &[Factors; FIELDS],
    frequencies: &mut [f32],
    found: &mut Bits,
) -> Result<()> {
    let Some(lists) = lists_of(share, token)? else { return Ok(()) };
    for (field, list) in lists.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
        let (lengths, factors) = (share.segment.lengths(field), &factors[field]);
        let count = |ordinal: usize, frequency: u32| {
            let slot = share.base + ordinal;
            frequencies[slot] += frequency as f32 * factors.get(lengths.get(ordinal));
            found.insert(slot);
        };
        read(list, wanted, count)?;
    }
    Ok(())
}

/// The slots of the best by text.
fn best_by_text(view: &View, ask: &Ask<'_>, work: &Work) -> Vec<usize> {
    let mut best = Best::new(ask.top);
    work.found.for_each(|slot| {
        let score = work.scores[slot];
        if best.may_take(score) && ask.allowed.is_none_or(|allowed| allowed(view.id(slot))) {
            best.offer(score, slot, view);
        }
    });
    best.finish(view)
}

/// Keeps the best of many: by score, then by key.
pub(super) struct Best {
    top: usize,
    kept: Vec<(f32, usize)>,
    bar: f32,
}

impl Best {
    pub(super) fn new(top: usize) -> Self {
        Self { top, kept: Vec::new(), bar: f32::NEG_INFINITY }
    }

    /// Whether a score may be among the best. Equal ones may: keys decide.
    #[inline]
    pub(super) fn may_take(&self, score: f32) -> bool {
        score >= self.bar
    }

    pub(super) fn offer(&mut self, score: f32, slot: usize, view: &View) {
        self.kept.push((score, slot));
        if self.kept.len() >= self.top.saturating_mul(4).max(256) {
            self.cut(view);
        }
    }

    fn cut(&mut self, view: &View) {
        if self.kept.len() > self.top {
            let better = |a: &(f32, usize), b: &(f32, usize)| {
                b.0.total_cmp(&a.0).then_with(|| view.key(a.1).cmp(&view.key(b.1)))
            };
            self.kept.select_nth_unstable_by(self.top - 1, better);
            self.kept.truncate(self.top);
            self.bar = self.kept[self.top - 1].0;
        }
    }

    /// The slots of the best, in no order.
    pub(super) fn finish(mut self, view: &View) -> Vec<usize> {
        self.cut(view);
        self.kept.into_iter().map(|(_, slot)| slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_that_is_kept_is_bounded_in_number_and_in_bytes() {
        let mut room = Room { kept: Vec::new(), bytes: 0 };
        let of = |bytes: usize| Work { scores: vec![0.0; bytes / size_of::<f32>()], ..Work::default() };
        for _ in 0..ROOM_KEPT + 3 {
            room.give(of(1 << 10));
        }
        assert_eq!((room.kept.len(), room.bytes), (ROOM_KEPT, ROOM_KEPT << 10));
        for _ in 0..ROOM_KEPT {
            room.take();
        }
        assert_eq!((room.kept.len(), room.bytes), (0, 0));
        assert!(room.give(of(ROOM_BYTES + 4)).is_some(), "one that is too large by itself");
        for _ in 0..3 {
            room.give(of(ROOM_BYTES / 2));
        }
        assert_eq!((room.kept.len(), room.bytes), (2, ROOM_BYTES));
    }
}
