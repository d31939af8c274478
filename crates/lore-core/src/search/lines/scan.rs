//! Looks through the chunks that may have what is wanted, and puts what was found in its place.
#![expect(clippy::cast_possible_truncation, reason = "a chunk is smaller than 4 GiB, and so are its lines")]

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    num::NonZero,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use lore_model::{Cancel, RepoId};
use lore_store::{ChunkId, FieldWeight, Result as StoreResult, begin_on_own_thread, lower_when_long};

use super::{AROUND_LEAST, AROUND_MAX, LineHit, LinesAnswer, terms::Terms};
use crate::search::{
    Loaded, PastGaps,
    answer::standing,
    filter::Files,
    index::{UNREAD_LANGUAGE, too_large_reason},
    past::Line,
    rank::FIELDS,
    signals::Role,
};

/// From so many chunks on, two threads look at them.
const WORTH_A_THREAD: usize = 64;

/// Threads of this process that look at chunks now.
static SCANNING: AtomicUsize = AtomicUsize::new(0);

/// Counts a thread that looks at chunks.
struct Scanning;

impl Scanning {
    fn begin() -> Self {
        SCANNING.fetch_add(1, Ordering::Relaxed);
        Self
    }

    /// Whether a core is left for another thread. Where none is, one more would only slow what others ask for.
    fn has_idle_core() -> bool {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        SCANNING.load(Ordering::Relaxed) < cores
    }
}

impl Drop for Scanning {
    fn drop(&mut self) {
        SCANNING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// So much of a very long line is shown.
const LONGEST_SHOWN: usize = 400;

/// A line that was found in a chunk.
#[derive(Debug, Clone)]
struct InChunk {
    number: u32,
    line: Range<u32>,
    found: Range<u32>,
    changes: u8,
}

/// What was found in a chunk.
struct Found {
    /// The first match.
    first: Vec<u8>,
    lines: Vec<InChunk>,
    /// How well the chunk fits, where that was asked for.
    score: f32,
}

/// The same in a file.
struct Placed<'a> {
    is_definition: bool,
    role: Role,
    /// How well the best chunk of the file fits.
    score: f32,
    file: usize,
    line: u32,
    chunk: ChunkId,
    entry: usize,
    at: &'a InChunk,
}

impl Placed<'_> {
    /// Those that come first have less.
    fn order(&self) -> (u8, bool, u8, Reverse<u32>, usize, u32) {
        // Scores are not negative, and such numbers are ordered as their bits are.
        let score = Reverse(self.score.max(0.0).to_bits());
        (self.at.changes, !self.is_definition, rank(self.role), score, self.file, self.line)
    }
}

/// So many times as many chunks as lines are wanted are looked at where the best are enough.
const LOOKED_AT: usize = 3;

/// What defines a word is among the best, however often others mention it.
const DEFINING: [FieldWeight; 3] = [FieldWeight { weight: 12.0, length: 0.0 }, FIELDS[1], FIELDS[2]];

/// What was found, by chunk.
type Texts = BTreeMap<ChunkId, Found>;

/// What is looked for, and where.
pub(super) struct Scan<'a> {
    pub(super) loaded: &'a Loaded,
    pub(super) terms: &'a Terms,
    pub(super) files: &'a Files,
    pub(super) names: Vec<(RepoId, String)>,
    /// Only the first line of each file.
    pub(super) once: bool,
    /// The lines that fit best are enough.
    pub(super) best: bool,
    /// Cancelled when time is up.
    pub(super) stop: Cancel,
    /// The lines of the pasts that are shown.
    pub(super) pasts: Vec<Line>,
}

impl Scan<'_> {
    /// The first lines in the order of the answer, without freshness.
    pub(super) fn run(&self, limit: usize, context: usize) -> StoreResult<LinesAnswer> {
        let view = &*self.loaded.view;
        let allowed: Option<Vec<bool>> = (!self.files.is_any()).then(|| {
            view.files().iter().map(|file| self.files.admits(file.repo, &file.path, &file.language)).collect()
        });
        let is_allowed = |file: &u32| allowed.as_ref().is_none_or(|allowed| allowed[*file as usize]);
        if self.best {
            let found = self.look_at_best(limit, &is_allowed)?;
            let answer = self.answer(&found, limit, context, &is_allowed)?;
            if answer.lines >= limit {
                return Ok(LinesAnswer { more: true, ..answer });
            }
        }
        let (found, unfinished) = self.look_at_all(&is_allowed)?;
        Ok(LinesAnswer { unfinished, ..self.answer(&found, limit, context, &is_allowed)? })
    }

    /// What was found, in its order.
    fn answer(
        &self,
        found: &Texts,
        limit: usize,
        context: usize,
        is_allowed: &(dyn Fn(&u32) -> bool + Sync),
    ) -> StoreResult<LinesAnswer> {
        let view = &*self.loaded.view;
        let mut files: Vec<u32> =
            found.keys().flat_map(|chunk| view.files_with(*chunk)).copied().filter(is_allowed).collect();
        files.sort_unstable();
        files.dedup();
        let (mut placed, mut of_file, mut lines) = (Vec::new(), Vec::new(), 0);
        for some in files.chunks(1024) {
            view.prefetch(some)?;
            for &file in some {
                self.place(file as usize, found, &mut of_file)?;
                if self.once {
                    of_file.sort_unstable_by_key(Placed::order);
                    of_file.truncate(1);
                }
                lines += of_file.len();
                placed.append(&mut of_file);
                // One text may stand in very many files: no more is kept than can be shown.
                if placed.len() > limit.saturating_mul(2).max(4096) {
                    placed.sort_unstable_by_key(Placed::order);
                    placed.truncate(limit);
                }
            }
        }
        placed.sort_unstable_by_key(Placed::order);
        placed.truncate(limit);
        let mut hits = self.shown(&placed)?;
        let without_context = if context == 0 { 0 } else { self.surround(&placed, context, &mut hits)? };
        Ok(LinesAnswer {
            hits,
            lines,
            more: false,
            files: files.len(),
            without_context,
            unfinished: None,
            unmatched: if lines == 0 { self.unmatched()? } else { Vec::new() },
            freshness: Vec::new(),
            gaps: PastGaps::default(),
        })
    }

    /// Why there may be no lines although a file has them.
    fn unmatched(&self) -> StoreResult<Vec<String>> {
        /// So many files without text are asked why.
        const ASKED: usize = 1_000;
        let view = &*self.loaded.view;
        let mut notes = self.files.unmatched(view.files());
        let without_text = view.files().iter().enumerate().filter(|(_, file)| {
            &*file.language == UNREAD_LANGUAGE && self.files.admits(file.repo, &file.path, &file.language)
        });
        let (mut large, reason) = (0, too_large_reason());
        for (at, _) in without_text.take(ASKED) {
            large += usize::from(view.record(at)?.plain.as_ref() == Some(&reason));
        }
        if large > 0 {
            let files = if large == 1 { "1 file is" } else { &format!("{large} files are") };
            notes.push(format!("{files} too large to be searched: `lore status --left-out` lists them"));
        }
        Ok(notes)
    }

    /// Looks at every chunk that may have it, and how far it came where time was up.
    fn look_at_all(&self, is_allowed: &(dyn Fn(&u32) -> bool + Sync)) -> StoreResult<(Texts, Option<(usize, usize)>)> {
        let view = &*self.loaded.view;
        let mut chunks = self.terms.candidates(view)?;
        if !self.files.is_any() {
            chunks.retain(|chunk| view.files_with(*chunk).iter().any(is_allowed));
        }
        let (mut found, looked) = self.look(&chunks)?;
        let with_it: Vec<ChunkId> = found.keys().copied().collect();
        let is_found = |chunk: ChunkId| with_it.binary_search(&chunk).is_ok();
        if with_it.len() > 1 {
            for (chunk, score) in self.terms.scores(view, FIELDS, false, &is_found, with_it.len())? {
                found.entry(chunk).and_modify(|found| found.score = score);
            }
        }
        Ok((found, (looked < chunks.len()).then_some((looked, chunks.len()))))
    }

    /// Looks at the chunks that fit best.
    fn look_at_best(&self, limit: usize, is_allowed: &(dyn Fn(&u32) -> bool + Sync)) -> StoreResult<Texts> {
        let view = &*self.loaded.view;
        let is_any = self.files.is_any();
        let counts = |chunk: ChunkId| view.is_exact(chunk) && (is_any || view.files_with(chunk).iter().any(is_allowed));
        let scores = self.terms.scores(view, DEFINING, true, &counts, limit.saturating_mul(LOOKED_AT))?;
        let chosen: Vec<ChunkId> = scores.iter().map(|(chunk, _)| *chunk).collect();
        let (mut found, _) = self.look(&chosen)?;
        for (chunk, score) in scores {
            found.entry(chunk).and_modify(|found| found.score = score);
        }
        Ok(found)
    }

    /// Looks at the texts of chunks until time is up; gives what was found, and how many were looked at.
    fn look(&self, chunks: &[ChunkId]) -> StoreResult<(Texts, usize)> {
        let (is_over, looked) = (AtomicBool::new(false), AtomicUsize::new(0));
        let part = |chunks: &[ChunkId]| -> StoreResult<Vec<(ChunkId, Found)>> {
            let mut found = Vec::new();
            self.loaded.view.for_each_text(chunks, &mut |chunk, text| {
                lower_when_long();
                if is_over.load(Ordering::Relaxed) || self.stop.is_cancelled() {
                    is_over.store(true, Ordering::Relaxed);
                    return false;
                }
                let Some(lines) = self.terms.lines(text, &self.stop) else {
                    is_over.store(true, Ordering::Relaxed);
                    return false;
                };
                looked.fetch_add(1, Ordering::Relaxed);
                let lines: Vec<InChunk> = lines.into_iter().map(InChunk::from).collect();
                if let Some(one) = lines.first() {
                    let first = text[one.found.start as usize..one.found.end as usize].to_vec();
                    found.push((chunk, Found { first, lines, score: 0.0 }));
                }
                true
            })?;
            Ok(found)
        };
        let _scanning = Scanning::begin();
        let is_shared = chunks.len() >= WORTH_A_THREAD && Scanning::has_idle_core();
        let (mine, theirs) = chunks.split_at(if is_shared { chunks.len() / 2 } else { chunks.len() });
        let found = thread::scope(|scope| -> StoreResult<Vec<_>> {
            let other = (!theirs.is_empty()).then(|| {
                scope.spawn(|| {
                    let _scanning = Scanning::begin();
                    begin_on_own_thread();
                    part(theirs)
                })
            });
            let mut found = part(mine)?;
            match other.map(thread::ScopedJoinHandle::join) {
                Some(Ok(others)) => found.extend(others?),
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                None => {}
            }
            Ok(found)
        })?;
        Ok((found.into_iter().collect(), looked.into_inner()))
    }

    /// Where in a file the lines stand.
    fn place<'a>(
        &self,
        file: usize,
        found: &'a BTreeMap<ChunkId, Found>,
        placed: &mut Vec<Placed<'a>>,
    ) -> StoreResult<()> {
        let view = &*self.loaded.view;
        let record = view.record(file)?;
        let is_past = view.files()[file].version.is_some();
        // The lines of a file stay together.
        let scores = record.entries.iter().filter_map(|known| Some(found.get(&known.chunk)?.score));
        let score = scores.fold(0.0, f32::max);
        for (entry, known) in record.entries.iter().enumerate() {
            // An outline is made of lines that stand elsewhere.
            let Some(Found { first, lines, .. }) = found.get(&known.chunk).filter(|_| !known.bytes.is_empty()) else {
                continue;
            };
            // Of the past, each version of a file answers only for what no newer one has.
            if is_past && !view.chunks_of(file).contains(&known.chunk) {
                continue;
            }
            let is_named = known.symbol.is_some()
                && known.part.is_none_or(|(part, _)| part <= 1)
                && known.name.as_ref().is_some_and(|name| name.as_bytes().eq_ignore_ascii_case(first));
            for (number, at) in lines.iter().enumerate() {
                let is_definition = is_named && number == 0;
                placed.push(Placed {
                    is_definition,
                    role: self.loaded.paths.roles[file],
                    score,
                    file,
                    line: known.first_line + at.number,
                    chunk: known.chunk,
                    entry,
                    at,
                });
            }
        }
        Ok(())
    }

    /// What is shown of these, without the lines around them.
    fn shown(&self, placed: &[Placed<'_>]) -> StoreResult<Vec<LineHit>> {
        let view = &*self.loaded.view;
        let mut wanted: Vec<ChunkId> = placed.iter().map(|one| one.chunk).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut texts: HashMap<ChunkId, Vec<u8>> = HashMap::new();
        view.for_each_text(&wanted, &mut |chunk, text| {
            texts.insert(chunk, text.to_vec());
            true
        })?;
        let mut hits = Vec::with_capacity(placed.len());
        for one in placed {
            let place = &view.files()[one.file];
            let record = view.record(one.file)?;
            let entry = &record.entries[one.entry];
            let text = texts.get(&one.chunk).map_or(&[][..], Vec::as_slice);
            let (line, found, cut) = excerpt(text, &one.at.line, &one.at.found);
            let repo = self.names.iter().find(|(id, _)| *id == place.repo).map(|(_, name)| name.clone());
            hits.push(LineHit {
                repo: repo.unwrap_or_default(),
                path: place.path.clone(),
                language: record.language.clone(),
                role: one.role,
                uncommitted: place.uncommitted,
                line: one.line,
                text: line,
                cut,
                found,
                before: Vec::new(),
                after: Vec::new(),
                name: entry.name.clone(),
                container: entry.container.clone(),
                changes: one.at.changes.into(),
                standing: standing(&self.pasts, self.loaded, one.file, one.chunk),
                told: None,
            });
        }
        Ok(hits)
    }

    /// Adds the lines around the first of these; gives how many are left without.
    fn surround(&self, placed: &[Placed<'_>], context: usize, hits: &mut [LineHit]) -> StoreResult<usize> {
        let most = placed.len().min(AROUND_MAX / (2 * context));
        // Each file is read once for all that was found in it, and that of what comes first before the others.
        let (mut files, mut of_file) = (Vec::new(), HashMap::<usize, Vec<usize>>::new());
        for (at, one) in placed[..most].iter().enumerate() {
            let here = of_file.entry(one.file).or_default();
            if here.is_empty() {
                files.push(one.file);
            }
            here.push(at);
        }
        let context = u32::try_from(context).unwrap_or(u32::MAX);
        let mut done = 0;
        for file in files {
            if done >= AROUND_LEAST && self.stop.is_cancelled() {
                break;
            }
            let here = &of_file[&file];
            let lines = self.lines_near(file, here.iter().map(|at| placed[*at].line).collect(), context)?;
            for &at in here {
                let line = placed[at].line;
                let some = |range: Range<u32>| lines.range(range).map(|(_, line)| Arc::clone(line)).collect();
                hits[at].before = some(line.saturating_sub(context)..line);
                hits[at].after = some(line + 1..line.saturating_add(context).saturating_add(1));
            }
            done += here.len();
        }
        Ok(placed.len() - done)
    }

    /// The lines of a file that are at most so far from one of these, by number. They may stand in any of its chunks.
    fn lines_near(&self, file: usize, mut wanted: Vec<u32>, context: u32) -> StoreResult<BTreeMap<u32, Arc<str>>> {
        let view = &*self.loaded.view;
        wanted.sort_unstable();
        let is_near = |first: u32, last: u32| {
            let at = wanted.partition_point(|line| line.saturating_add(context) < first);
            wanted.get(at).is_some_and(|line| line.saturating_sub(context) <= last)
        };
        let mut near = BTreeMap::new();
        for entry in &view.record(file)?.entries {
            if entry.bytes.is_empty() || !is_near(entry.first_line, entry.last_line) {
                continue;
            }
            let text = view.text(entry.chunk)?;
            let lines = text.strip_suffix(b"\n").unwrap_or(&text).split(|byte| *byte == b'\n');
            for (number, line) in (entry.first_line..).zip(lines).filter(|(number, _)| is_near(*number, *number)) {
                near.insert(number, excerpt(line, &(0..line.len() as u32), &(0..0)).0.into());
            }
        }
        Ok(near)
    }
}

impl From<super::terms::Match> for InChunk {
    fn from(found: super::terms::Match) -> Self {
        let super::terms::Match { line, changes } = found;
        Self {
            number: line.number as u32,
            line: line.begin as u32..line.end as u32,
            found: line.found.start as u32..line.found.end as u32,
            changes: u8::try_from(changes).unwrap_or(u8::MAX),
        }
    }
}

/// The project's own code comes first.
fn rank(role: Role) -> u8 {
    match role {
        Role::Source => 0,
        Role::Declarations | Role::Compatibility => 1,
        Role::Test | Role::Example | Role::Bench => 2,
        Role::Document => 3,
        Role::Vendored => 4,
    }
}

/// A line, or the part of a very long one around a match: as text, with the place of the match, and whether it is a part.
fn excerpt(text: &[u8], line: &Range<u32>, found: &Range<u32>) -> (String, Range<usize>, bool) {
    let bytes = text.get(line.start as usize..line.end as usize).unwrap_or_default();
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let at = (found.start.saturating_sub(line.start) as usize).min(bytes.len());
    let end = (found.end.saturating_sub(line.start) as usize).clamp(at, bytes.len());
    let (from, to) = if bytes.len() <= LONGEST_SHOWN {
        (0, bytes.len())
    } else {
        let from = at.saturating_sub(LONGEST_SHOWN / 4).min(bytes.len() - LONGEST_SHOWN);
        (from, from + LONGEST_SHOWN)
    };
    // Characters stay whole.
    let is_inside = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xC0 == 0x80);
    let from = (from..=at).find(|at| !is_inside(at)).unwrap_or(from);
    let to = (0..=to).rev().take(4).find(|at| !is_inside(at)).unwrap_or(to).max(from);
    let (at, end) = (at.clamp(from, to), end.clamp(from, to));
    let text = |range: Range<usize>| String::from_utf8_lossy(&bytes[range]).into_owned();
    let (before, matched, after) = (text(from..at), text(at..end), text(end..to));
    let place = before.len()..before.len() + matched.len();
    (before + &matched + &after, place, to - from < bytes.len())
}
