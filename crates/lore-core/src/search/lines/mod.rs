//! Exact search: every line that has a literal, matches an expression, or has words, be they misspelt.
//!
//! Trigrams and terms find the chunks that may have it, the real bytes decide. Nothing that `git grep` finds is missing, and
//! nothing else is found. What cannot use the index takes longer; then the answer says how far it came in its time.

pub(super) mod pattern;
mod plan;
mod posix;
mod scan;
mod terms;

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use lore_model::{Cancel, Failure, Repo, RepoPath};
use lore_store::{StoreError, on_own_thread};

use self::scan::Scan;
pub use self::terms::MAX_CHANGES;
pub(super) use self::terms::{Match, Terms};
use super::{
    CodeFreshness, CodeQuery, FileFilter, PastGaps, Role, Standing, TRIES, Told, When, answer::Seen, filter::Files,
    past::Line,
};
use crate::store_failure;

/// At most so many lines are given, whatever is asked for: more cannot be held.
const LINES_MAX: usize = 4_000_000;

/// At most so many lines around each are given.
pub const CONTEXT_MAX: usize = 1000;

/// At most so many lines around all of them are given.
const AROUND_MAX: usize = 4_000_000;

/// So many lines are given with those around them even where time is up.
const AROUND_LEAST: usize = 100;

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinesWanted {
    /// These characters.
    Literal(String),
    /// What this expression matches.
    Regex(String),
    /// Words, `prefix*` and "quoted phrases", all in one chunk; a part of a compound word is a word too.
    Words(String),
    /// Words of which so many letters are added, missing or others.
    Near {
        /// The words.
        text: String,
        /// At most so many changes of each: 0 to 3.
        changes: usize,
    },
}

/// A question for lines.
#[derive(Debug, Clone)]
pub struct LinesRequest {
    /// What is looked for.
    pub wanted: LinesWanted,
    /// Whether capital letters differ from small ones.
    pub case_sensitive: bool,
    /// Only these files.
    pub files: FileFilter,
    /// Which repositories, each with the work tree that is meant where that is not the registered one.
    pub repos: Vec<(Repo, Option<PathBuf>)>,
    /// Which time is asked about.
    pub when: When,
    /// At most so many lines; 0 for all.
    pub limit: usize,
    /// So many lines before and after each.
    pub context: usize,
    /// Only the first line of each file.
    pub once: bool,
    /// Whether the lines of the chunks that fit best are enough: of words, the others are neither looked for nor counted then.
    pub best: bool,
    /// How long it may take.
    pub time: Duration,
}

/// One line that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct LineHit {
    /// The repository.
    pub repo: String,
    /// The file.
    pub path: RepoPath,
    /// Its language.
    pub language: String,
    /// What role it plays.
    pub role: Role,
    /// Whether it is uncommitted.
    pub uncommitted: bool,
    /// The number of the line, from 1.
    pub line: u32,
    /// The line, or the part of a very long one around the match.
    pub text: String,
    /// Whether the text is a part of the line.
    pub cut: bool,
    /// Where the match is in `text`, in bytes.
    pub found: std::ops::Range<usize>,
    /// Lines before it. What is found in one file shares the lines of that file.
    pub before: Vec<Arc<str>>,
    /// Lines after it.
    pub after: Vec<Arc<str>>,
    /// What it stands in.
    pub name: Option<String>,
    /// What that stands in.
    pub container: Option<String>,
    /// How many letters differ from what was asked for.
    pub changes: usize,
    /// When it was there, where the question is about the past.
    pub standing: Option<Standing>,
    /// What is told of that, after [`TemporalSearch::tell_past`](super::TemporalSearch::tell_past).
    pub told: Option<Arc<Told>>,
}

/// Lines that were found.
#[derive(Debug, Clone)]
pub struct LinesAnswer {
    /// What differs least from what was asked for first, then definitions, then the project's own code before tests and documents,
    /// then, of words, the files that fit best, then in order of paths and lines.
    pub hits: Vec<LineHit>,
    /// How many lines there are in all; of each file one, where only that was wanted.
    pub lines: usize,
    /// Whether there may be more, because those that fit best were enough.
    pub more: bool,
    /// In how many files.
    pub files: usize,
    /// How many of the hits lack the lines around them: these would be too many to hold, or time was up.
    pub without_context: usize,
    /// How many of the chunks that might have it were looked at, where time was up before all were.
    pub unfinished: Option<(usize, usize)>,
    /// If there are no lines: filters that no file matches and files that are not searched, one sentence each.
    pub unmatched: Vec<String>,
    /// How fresh the answer is.
    pub freshness: Vec<CodeFreshness>,
    /// What of the past was asked for and is not there.
    pub gaps: PastGaps,
}

impl LinesRequest {
    /// Whether it can be answered.
    pub fn check(&self) -> Result<(), Failure> {
        self.when.check()?;
        Files::new(&self.files)?;
        Terms::new(&self.wanted, self.case_sensitive).map(|_| ())
    }
}

impl CodeQuery {
    /// Every line that has what is looked for.
    pub fn find_lines(&self, request: &LinesRequest) -> Result<LinesAnswer, Failure> {
        request.when.check()?;
        let case_sensitive = request.case_sensitive;
        let terms = Terms::new(&request.wanted, case_sensitive)?;
        let files = Files::new(&request.files)?.of(&request.repos);
        let cancel = Cancel::current();
        let stop = cancel.until(Instant::now() + request.time);
        let mut tries = 0;
        loop {
            tries += 1;
            let Seen { parts, freshness, mut gaps, former, .. } = self.see(&request.repos, &request.when)?;
            let loaded = self.reader.load(&parts)?;
            drop(former);
            let found = match loaded {
                Ok(loaded) => {
                    gaps.lacking = loaded.lacking;
                    let names = parts.iter().map(|part| (part.repo.id, part.repo.name().to_owned())).collect();
                    let pasts: Vec<Line> = parts.iter().filter_map(|part| part.past.as_ref()?.line.clone()).collect();
                    let limit = if request.limit == 0 { LINES_MAX } else { request.limit.min(LINES_MAX) };
                    let (context, once, best) = (request.context.min(CONTEXT_MAX), request.once, request.best);
                    let stop = stop.clone();
                    let scan = Scan { loaded: &loaded, terms: &terms, files: &files, names, once, best, stop, pasts };
                    let found = on_own_thread(|| scan.run(limit, context));
                    // What a cancelled scan has found is of no use: it looks like one whose time was up.
                    found.and_then(|found| Ok(cancel.check().map(|()| found)?))
                }
                Err(error) => Err(error),
            };
            match found {
                Ok(found) => return Ok(LinesAnswer { freshness, gaps, ..found }),
                // What was read was replaced by a newer state meanwhile.
                Err(StoreError::Absent(_)) if tries < TRIES => {
                    self.reader.views.forget(&request.repos.iter().map(|(repo, _)| repo.id).collect::<Vec<_>>());
                }
                Err(error) => return Err(store_failure(error)),
            }
        }
    }
}
