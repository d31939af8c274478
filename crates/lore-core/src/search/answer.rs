//! The answer to a question about code.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use lore_chunk::Encoding;
use lore_embed::{Embedder, Mode};
use lore_model::{ChunkKind, Code, CommitId, Failure, Repo, RepoId, RepoPath, SymbolKind};
use lore_store::{Accuracy, BlobRecord, ChunkId, Entry, StoreError};

use super::{
    CodeQuery, IndexReader, Loaded, Part, TRIES,
    evidence::{Asking, Evidence},
    filter::{FileFilter, Filter, dialect_of},
    index::embed_failure,
    past::{Line, PastGaps, Standing, Then, Told, When},
    query::{Query, QueryKind},
    rank::{Explanation, Parts, Ranked, Ranking, SecondAsk},
    second::{SecondQuery, SecondState},
    signals::{Role, folder_tags},
    snippet::{Snippet, estimate_tokens},
};
use crate::{Extent, store_failure};

/// How many answers there are unless somebody says otherwise.
pub const LIMIT_DEFAULT: usize = 15;

/// At most so many.
pub const LIMIT_MAX: usize = 100;

/// A question about code.
#[derive(Debug, Clone)]
pub struct CodeRequest {
    /// Any text.
    pub query: String,
    /// At most so many answers.
    pub limit: usize,
    /// Only these kinds of chunks; empty for all.
    pub chunk_kinds: Vec<ChunkKind>,
    /// Only what defines these kinds of symbols; empty for all.
    pub symbols: Vec<SymbolKind>,
    /// Only chunks that have all of these tags.
    pub tags: Vec<String>,
    /// Only these files.
    pub files: FileFilter,
    /// Which repositories, each with the work tree that is meant where that is not the registered one.
    pub repos: Vec<(Repo, Option<PathBuf>)>,
    /// Which time is asked about.
    pub when: When,
    /// Only answers with at least this score, 0 to 1.
    pub min_score: f32,
    /// How surely what is nearest in meaning is found.
    pub accuracy: Accuracy,
    /// Which parts of the ranking are on.
    pub parts: Parts,
}

impl CodeRequest {
    /// A question with everything else at its default.
    pub fn new(query: impl Into<String>, repos: Vec<(Repo, Option<PathBuf>)>) -> Self {
        Self {
            query: query.into(),
            limit: LIMIT_DEFAULT,
            chunk_kinds: Vec::new(),
            symbols: Vec::new(),
            tags: Vec::new(),
            files: FileFilter::default(),
            repos,
            when: When::Now,
            min_score: 0.0,
            accuracy: Accuracy::default(),
            parts: Parts::default(),
        }
    }

    /// Says what is wrong with it, without asking anything.
    pub fn check(&self) -> Result<(), Failure> {
        if self.query.trim().is_empty() {
            return Err(Failure::new(Code::InvalidArgument, "query is empty")
                .hint("say what you look for: a question, some words, or the name of a function, a type or a file"));
        }
        if !(0.0..=1.0).contains(&self.min_score) {
            return Err(Failure::new(Code::InvalidArgument, format!("{} is no score", self.min_score))
                .hint("scores are from 0 to 1; 0.5 leaves out what is probably wrong"));
        }
        self.when.check()?;
        Filter::new(self).map(|_| ())
    }
}

/// How the index of a repository's code relates to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeState {
    /// Everything is there.
    Current,
    /// HEAD or a branch has moved since, or uncommitted work could not be read.
    Stale,
    /// Only a part is there yet.
    Partial,
    /// Nothing is there yet.
    NeverIndexed,
    /// The repository is not where it was.
    Missing,
}

impl CodeState {
    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Stale => "stale",
            Self::Partial => "partial",
            Self::NeverIndexed => "never_indexed",
            Self::Missing => "missing",
        }
    }
}

/// How fresh an answer is, for one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeFreshness {
    /// The repository.
    pub repo: String,
    /// How its index relates to it.
    pub state: CodeState,
    /// The commit that was searched.
    pub commit: Option<CommitId>,
    /// When that was made (seconds since 1970); `None` where the repository cannot tell any more.
    pub committed_at: Option<i64>,
    /// When it was indexed (seconds since 1970).
    pub indexed_at: Option<i64>,
    /// How many uncommitted files were taken into account.
    pub uncommitted: usize,
    /// Why uncommitted work could not be read, or not all of it.
    pub uncommitted_error: Option<String>,
    /// Why the repository's own list of files to leave out cannot be used.
    pub ignore_error: Option<String>,
    /// How much of the sync is done, in percent, while this process syncs it.
    pub progress: Option<u8>,
    /// Why the last sync failed, where nothing is indexed.
    pub error: Option<String>,
}

impl CodeFreshness {
    /// Whether all was read and there is nothing: no branch that is indexed has a commit.
    pub fn has_nothing(&self) -> bool {
        self.state == CodeState::Current && self.commit.is_none()
    }
}

/// The answer.
#[derive(Debug, Clone)]
pub struct CodeAnswer {
    /// The best ones.
    pub hits: Vec<CodeHit>,
    /// What kind of question it was taken for.
    pub kind: QueryKind,
    /// The words that were looked for.
    pub words: Vec<String>,
    /// Whether the question was so long that only its beginning counted.
    pub query_cut: bool,
    /// Whether there would have been more.
    pub more: bool,
    /// How many answers [`Self::fit`] had no room for.
    pub no_room: usize,
    /// How many of the best were left out because their score is too low.
    pub too_low: usize,
    /// If there are no hits: the filters that no file matches, one sentence each.
    pub unmatched: Vec<String>,
    /// How fresh it is, for each repository.
    pub freshness: Vec<CodeFreshness>,
    /// What a second model contributed, where one is configured.
    pub second: Option<SecondState>,
    /// What of the past was asked for and is not there.
    pub gaps: PastGaps,
}

impl CodeAnswer {
    /// Cuts texts so that all hits together take at most so many tokens where they are shown; `size` tells how many one does.
    pub fn fit(&mut self, tokens: usize, size: &dyn Fn(&CodeHit) -> usize) {
        let hits = std::mem::take(&mut self.hits);
        (self.hits, self.no_room) = fit(hits, tokens, size, |hit| &mut hit.snippet);
    }

    /// Leaves the lines of each text that say most: many of the best, few of those that are probably not wanted.
    pub fn shorten(&mut self) {
        for (rank, hit) in self.hits.iter_mut().enumerate() {
            let lines = match rank {
                0 => 16,
                1..5 => 8,
                _ => 5,
            };
            // Where it says its own name is as good a place as where it says what was asked for.
            let mut words = self.words.clone();
            words.extend(hit.name.as_deref().map(lore_store::tokens).unwrap_or_default());
            let snippet = std::mem::replace(&mut hit.snippet, Snippet::whole(String::new(), 0));
            hit.snippet = snippet.without_margins().around(&words, lines);
        }
    }
}

/// One chunk in its place.
#[derive(Debug, Clone)]
pub struct CodeHit {
    /// The repository.
    pub repo: String,
    /// The file.
    pub path: RepoPath,
    /// Other files of the repository that hold the same text and could have been the answer: the first ones.
    pub also_at: Vec<RepoPath>,
    /// How many more of them there are.
    pub also_at_more: usize,
    /// The language of the file.
    pub language: String,
    /// What role the file plays.
    pub role: Role,
    /// Whether the file is uncommitted.
    pub uncommitted: bool,
    /// What the chunk is.
    pub kind: ChunkKind,
    /// What it defines.
    pub name: Option<String>,
    /// What that is.
    pub symbol: Option<SymbolKind>,
    /// What it is defined in.
    pub container: Option<String>,
    /// Which part of how many, where a large definition was split.
    pub part: Option<(u32, u32)>,
    /// The lines of the chunk.
    pub lines: (u32, u32),
    /// Its text, or as much of it as there was room for.
    pub snippet: Snippet,
    /// Names the chunk among those of its repository.
    pub id: String,
    /// A title for people.
    pub title: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The package that the file declares.
    pub package: Option<String>,
    /// Imports, types and functions of the file.
    pub counts: [u32; 3],
    /// How sure it is that this is what was asked for: 0 to 1. What is right mostly has at least a half; where a question is
    /// about something else, all have less.
    pub score: f32,
    /// Why.
    pub explanation: Explanation,
    /// How many other versions of the same definition answer less well, where the question is about the past.
    pub other_versions: usize,
    /// When it was there, where the question is about the past.
    pub standing: Option<Standing>,
    /// What is told of that, after [`TemporalSearch::tell_past`](super::TemporalSearch::tell_past).
    pub told: Option<Arc<Told>>,
}

impl CodeQuery {
    /// Answers a question about code.
    pub fn search(&self, request: &CodeRequest) -> Result<CodeAnswer, Failure> {
        request.check()?;
        let filter = Arc::new(Filter::new(request)?);
        let query = Arc::new(Query::new(&request.query));
        let vector = if request.parts.meaning { self.embed(&query.text)? } else { None };
        let mut tries = 0;
        loop {
            tries += 1;
            match self.try_search(request, &query, vector.clone(), &filter)? {
                Ok(answer) => return Ok(answer),
                // What was read was replaced by a newer state meanwhile.
                Err(StoreError::Absent(_)) if tries < TRIES => {
                    self.reader.views.forget(&request.repos.iter().map(|(repo, _)| repo.id).collect::<Vec<_>>());
                }
                Err(error) => return Err(store_failure(error)),
            }
        }
    }

    fn embed(&self, query: &str) -> Result<Option<Vec<f32>>, Failure> {
        let mut vectors = self.reader.embedder.embed(&[query], Mode::Query).map_err(embed_failure)?;
        Ok(vectors.pop().filter(|vector| vector.iter().any(|value| *value != 0.0)))
    }

    fn try_search(
        &self,
        request: &CodeRequest,
        query: &Arc<Query>,
        vector: Option<Vec<f32>>,
        filter: &Arc<Filter>,
    ) -> Result<Result<CodeAnswer, StoreError>, Failure> {
        let Seen { parts, freshness, states, mut gaps, former } = self.see(&request.repos, &request.when)?;
        let rules = super::reading::rules(&*self.reader.embedder);
        // Vectors of another model cannot be compared; until all is read anew, words alone decide. Only what is shown counts:
        // a repository of which nothing is indexed, or a past that is not kept yet, was read by no rules at all.
        let is_comparable = |part: &Part| {
            let known = request.repos.iter().zip(&states).find(|((repo, _), _)| repo.id == part.repo.id);
            known.is_some_and(|(_, state)| match part.past {
                Some(_) => state.past.as_ref().is_some_and(|past| past.rules == rules),
                None => state.rules == rules,
            })
        };
        let comparable = parts.iter().all(is_comparable);
        let mut said = Vec::new();
        for ((repo, _), state) in request.repos.iter().zip(&states) {
            if let Some(kept) = state.evidence.as_ref().filter(|_| request.parts.history) {
                match self.evidence(repo.id, kept.number) {
                    Ok(evidence) => said.extend(evidence.map(|evidence| (repo.id, evidence))),
                    Err(error) => return Ok(Err(error)),
                }
            }
        }
        let loaded = match self.reader.load(&parts)? {
            Ok(loaded) => loaded,
            Err(error) => return Ok(Err(error)),
        };
        drop(former);
        gaps.lacking = loaded.lacking;
        let names: Vec<(RepoId, String)> =
            parts.iter().map(|part| (part.repo.id, part.repo.name().to_owned())).collect();
        let (second, second_query) = match self.ask_second(request, &loaded, &query.text) {
            Ok(Some((state, query))) => (Some(state), query),
            Ok(None) => (None, None),
            Err(error) => return Ok(Err(error)),
        };
        let work = Work {
            loaded,
            second: second_query,
            query: Arc::clone(query),
            vector: vector.filter(|_| comparable),
            filter: Arc::clone(filter),
            names,
            limit: request.limit.clamp(1, LIMIT_MAX),
            min_score: request.min_score,
            accuracy: request.accuracy,
            embedder: Arc::clone(&self.reader.embedder),
            parts: request.parts,
            said,
            except: None,
            lines: parts.iter().filter_map(|part| part.past.as_ref()?.line.clone()).collect(),
        };
        let answered = || {
            let (hits, more, too_low) = work.run()?;
            let unmatched = if hits.is_empty() { filter.unmatched(work.loaded.view.files()) } else { Vec::new() };
            Ok((hits, more, too_low, unmatched))
        };
        Ok(answered().map(|(hits, more, too_low, unmatched)| CodeAnswer {
            hits,
            kind: query.kind,
            words: query.words.iter().map(|word| word.token.clone()).collect(),
            query_cut: query.cut,
            more,
            no_room: 0,
            too_low,
            unmatched,
            freshness,
            second,
            gaps,
        }))
    }

    /// What there is of these repositories at this moment.
    pub(super) fn see(&self, repos: &[(Repo, Option<PathBuf>)], when: &When) -> Result<Seen, Failure> {
        one_branch_of_each(repos)?;
        let mut seen = Seen::default();
        for (repo, place) in repos {
            let state = self.reader.store.code_state(repo.id).map_err(store_failure)?;
            seen.former.extend(self.reader.views.keep_only(repo.id, &state.snapshots));
            let mut part = self.reader.part(repo, &state, place.as_deref(), repos.len() == 1 && !when.is_past())?;
            let freshness = self.reader.freshness(repo, &state, part.as_ref());
            if let Some(shown) = part.as_mut().filter(|_| when.is_past()) {
                match self.temporal.past(repo, place.as_deref(), &state, when)? {
                    Then::Shown(past) => {
                        let (name, kept) = (repo.name().to_owned(), state.past.as_ref());
                        let head = state.tips.iter().find(|tip| tip.name == "HEAD").map(|tip| tip.commit);
                        let is_behind = kept.is_some_and(|kept| !kept.complete || (head.is_some() && kept.tip != head));
                        if past.line.is_none() {
                            seen.gaps.beside.push(name);
                        } else if is_behind {
                            seen.gaps.behind.push(name.clone());
                        }
                        if let When::During(_) = when {
                            let line = self.temporal.other_line(repo, kept.and_then(|kept| kept.tip));
                            seen.gaps.other_line.extend(line.map(|line| (repo.name().to_owned(), line)));
                        }
                        shown.past = Some(past);
                    }
                    Then::NotKept => seen.gaps.not_kept.push(repo.name().to_owned()),
                    Then::NoCommit => {
                        seen.gaps.no_commit.push(repo.name().to_owned());
                        part = None;
                    }
                }
            }
            seen.freshness.push(freshness);
            seen.parts.extend(part);
            seen.states.push(state);
        }
        if let (When::At(name), true) = (when, seen.parts.is_empty() && !seen.gaps.no_commit.is_empty()) {
            let message = format!("{} has no commit `{}`", seen.gaps.no_commit.join(", "), lore_model::brief(name));
            return Err(Failure::new(Code::CommitNotFound, message)
                .hint("name it as git does: a hash, a tag, a branch, HEAD~5"));
        }
        Ok(seen)
    }

    /// What the second model says of the question, where one is configured.
    fn ask_second(
        &self,
        request: &CodeRequest,
        loaded: &Arc<Loaded>,
        text: &str,
    ) -> Result<Option<(SecondState, Option<SecondQuery>)>, StoreError> {
        let wanted = request.parts.second && request.parts.meaning;
        let Some(second) = self.second.as_ref().filter(|_| wanted) else { return Ok(None) };
        let model = second.model().to_owned();
        let vectors = loaded.view.vectors(&model)?;
        Ok(Some(second.ask(loaded, vectors, text)))
    }
}

impl IndexReader {
    /// How fresh what a part shows of a repository is.
    pub(super) fn freshness(&self, repo: &Repo, state: &lore_store::CodeState, part: Option<&Part>) -> CodeFreshness {
        let committed_at = match part {
            Some(part) => self.commit_time(repo, part.snapshot.commit),
            None => None,
        };
        let uncommitted_error = part.and_then(|part| part.work_error.clone());
        let code_state = match self.code_state(repo, state, part) {
            CodeState::Current if uncommitted_error.is_some() => CodeState::Stale,
            other => other,
        };
        let has_failed = code_state == CodeState::NeverIndexed;
        CodeFreshness {
            repo: repo.name().to_owned(),
            state: code_state,
            commit: part.map(|part| part.snapshot.commit),
            committed_at,
            indexed_at: state.at,
            uncommitted: part.map_or(0, |part| part.uncommitted),
            uncommitted_error,
            ignore_error: self
                .settings
                .ignore_problem(&repo.info.local_path)
                .or_else(|| part.filter(|part| !part.notes.is_empty()).map(|part| some_of(&part.notes))),
            progress: self.syncing.percent(repo.id),
            error: repo.sync.last_error.clone().filter(|_| has_failed),
        }
    }

    /// How much of a repository's code is indexed, and how much of the sync in progress is done, in percent.
    pub(crate) fn extent(&self, repo: &Repo) -> Result<(Extent, Option<u8>), Failure> {
        let state = self.store.code_state(repo.id).map_err(store_failure)?;
        let extent = if state.snapshots.iter().any(|snapshot| snapshot.files > 0) {
            if state.partial && !state.complete { Extent::Partial } else { Extent::Whole }
        } else if self.holds(repo, &state) == Some(false) {
            Extent::Absent
        } else {
            // Of branches without a commit there is nothing, and that is all of it.
            Extent::Whole
        };
        let progress = self.syncing.percent(repo.id);
        // After a sync that failed, nothing is about to come.
        let is_coming = progress.is_some() || repo.sync.last_error.is_none();
        let extent = if extent == Extent::Absent && !is_coming { Extent::Whole } else { extent };
        Ok((extent, progress))
    }

    pub(super) fn code_state(&self, repo: &Repo, state: &lore_store::CodeState, part: Option<&Part>) -> CodeState {
        match (part, self.holds(repo, state)) {
            (_, None) => CodeState::Missing,
            // Of branches without a commit there is nothing, and that is all of it.
            (_, Some(true)) => CodeState::Current,
            (None, Some(false)) => CodeState::NeverIndexed,
            (Some(_), Some(false)) if state.partial && state.snapshots.iter().all(|snapshot| snapshot.files == 0) => {
                CodeState::NeverIndexed
            }
            // Before a sync was cut off, or while one goes on, all may have been there.
            (Some(_), Some(false)) if state.partial && !state.complete => CodeState::Partial,
            (Some(_), Some(false)) => CodeState::Stale,
        }
    }
}

/// What there is of some repositories.
#[derive(Default)]
pub(super) struct Seen {
    /// What can be searched of them, one for each that has something.
    pub(super) parts: Vec<Part>,
    /// How fresh that is, one for each.
    pub(super) freshness: Vec<CodeFreshness>,
    /// What is indexed, one for each.
    pub(super) states: Vec<lore_store::CodeState>,
    /// What of the past is not there, but for what is lacking: a view tells that when it is open.
    pub(super) gaps: PastGaps,
    /// Views of what was there before, to be let go when those of now are open.
    pub(super) former: Vec<Arc<Loaded>>,
}

/// A view tells files apart by their repository, not by its branch: two of one would be mixed.
fn one_branch_of_each(repos: &[(Repo, Option<PathBuf>)]) -> Result<(), Failure> {
    let mut known: HashMap<RepoId, &Repo> = HashMap::new();
    for (repo, _) in repos {
        if let Some(other) = known.insert(repo.id, repo).filter(|other| other.shown != repo.shown) {
            let branch = |repo: &Repo| repo.shown.clone().unwrap_or_else(|| "HEAD".to_owned());
            return Err(Failure::new(
                Code::InvalidArgument,
                format!(
                    "`{}` ({}) and `{}` ({}) are branches of one repository, and one question is about one of them",
                    other.name(),
                    branch(other),
                    repo.name(),
                    branch(repo),
                ),
            )
            .hint("ask about each of them in a question of its own"));
        }
    }
    Ok(())
}

/// The first of some notes, and how many more there are.
fn some_of(notes: &[String]) -> String {
    const SHOWN: usize = 3;
    let mut text = notes.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("; ");
    if notes.len() > SHOWN {
        text = format!("{text}; and {} more", notes.len() - SHOWN);
    }
    text
}

/// Whether an entry of the file with this index is no answer.
pub(super) type Except = Box<dyn Fn(usize, &Entry<ChunkId>) -> bool + Send + Sync>;

/// Everything that ranking needs, on the thread that does it.
pub(super) struct Work {
    pub(super) loaded: Arc<Loaded>,
    pub(super) second: Option<SecondQuery>,
    pub(super) query: Arc<Query>,
    pub(super) vector: Option<Vec<f32>>,
    pub(super) filter: Arc<Filter>,
    pub(super) names: Vec<(RepoId, String)>,
    pub(super) limit: usize,
    pub(super) min_score: f32,
    pub(super) accuracy: Accuracy,
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) parts: Parts,
    /// What commits say about files.
    pub(super) said: Vec<(RepoId, Arc<Evidence>)>,
    /// What is no answer, besides what the filter leaves out.
    pub(super) except: Option<Except>,
    /// The lines of the pasts that are shown.
    pub(super) lines: Vec<Line>,
}

/// So many versions of one definition are expected among the best.
const VERSIONS: usize = 5;

/// So many other places of a text are named; the rest is counted.
const MAX_ALSO_AT: usize = 20;

impl Work {
    /// The answers, whether there would be more, and how many of them have too low a score.
    pub(super) fn run(&self) -> Result<(Vec<CodeHit>, bool, usize), StoreError> {
        let view = &*self.loaded.view;
        let files: Option<Vec<bool>> = self.filter.filters_files().then(|| {
            view.files().iter().map(|file| self.filter.admits_file(file.repo, &file.path, &file.language)).collect()
        });
        let admits = |file: usize, record: &BlobRecord<ChunkId>, entry: &Entry<ChunkId>| {
            !self.except.as_ref().is_some_and(|is_none| is_none(file, entry))
                && self.filter.admits(record, entry, &view.files()[file].path)
        };
        let words = self.loaded.paths.weighed(&self.query.words);
        let said: Vec<(RepoId, Asking<'_>)> =
            self.said.iter().map(|(repo, evidence)| (*repo, evidence.asking(&words))).collect();
        let ranking = Ranking {
            query: &self.query,
            words: &words,
            vector: self.vector.as_deref(),
            second: self.second.as_ref().map(|second| SecondAsk { vectors: &*second.vectors, query: &second.vector }),
            view,
            paths: &self.loaded.paths,
            accuracy: self.accuracy,
            // A service is not asked for each of them again.
            model: self.embedder.as_local().filter(|_| self.accuracy == Accuracy::High),
            parts: self.parts,
            said: &said,
            files: files.as_deref(),
            admits: (self.filter.filters_entries() || self.except.is_some()).then_some(&admits),
            wanted: if self.lines.is_empty() { self.limit + 1 } else { (self.limit + 1) * VERSIONS },
        };
        let mut ranked = ranking.run()?;
        let other_versions = self.keep_best_versions(&mut ranked);
        let enough = ranked.iter().take_while(|ranked| ranked.score >= self.min_score).count();
        let (more, too_low) = (enough > self.limit, ranked.len().min(self.limit).saturating_sub(enough));
        let mut hits = Vec::new();
        for (at, ranked) in ranked.into_iter().enumerate().take(enough.min(self.limit)) {
            let text = view.text(ranked.chunk)?;
            let text = Encoding::of(&text).decode(&text).into_owned();
            let first_line = ranked.record.entries[ranked.entry].first_line;
            let others = self.others(&ranked, files.as_deref())?;
            let hit = self.hit(ranked, Snippet::whole(text, first_line), others);
            hits.push(CodeHit { other_versions: other_versions.get(at).copied().unwrap_or(0), ..hit });
        }
        Ok((hits, more, too_low))
    }

    /// Of the versions of one definition, leaves the one that answers best, and counts the others for each that is left.
    fn keep_best_versions(&self, ranked: &mut Vec<Ranked>) -> Vec<usize> {
        if self.lines.is_empty() {
            return Vec::new();
        }
        let files = self.loaded.view.files();
        let mut known: HashMap<(RepoId, RepoPath, Option<String>, String), usize> = HashMap::new();
        let mut others: Vec<usize> = Vec::new();
        ranked.retain(|one| {
            let (file, entry) = (&files[one.file], &one.record.entries[one.entry]);
            let Some(name) = entry.name.clone().filter(|_| entry.part.is_none_or(|(part, _)| part <= 1)) else {
                others.push(0);
                return true;
            };
            let key = (file.repo, file.path.clone(), entry.container.clone(), name);
            if let Some(at) = known.get(&key) {
                others[*at] += 1;
                return false;
            }
            known.insert(key, others.len());
            others.push(0);
            true
        });
        others
    }

    /// The other files of the repository that hold the same text and could have been the answer.
    fn others(&self, ranked: &Ranked, files: Option<&[bool]>) -> Result<Vec<u32>, StoreError> {
        let view = &*self.loaded.view;
        let repo = view.files()[ranked.file].repo;
        let mut others: Vec<u32> = view.files_with(ranked.chunk).to_vec();
        others.sort_unstable();
        others.dedup();
        others.retain(|file| {
            let at = *file as usize;
            at != ranked.file && view.files()[at].repo == repo && files.is_none_or(|files| files[at])
        });
        if !self.filter.depends_on_path() {
            return Ok(others);
        }
        let mut admitted = Vec::new();
        for file in others {
            let (record, path) = (view.record(file as usize)?, &view.files()[file as usize].path);
            let is_it = |entry: &&Entry<ChunkId>| entry.chunk == ranked.chunk;
            if record.entries.iter().filter(is_it).any(|entry| self.filter.admits(&record, entry, path)) {
                admitted.push(file);
            }
        }
        Ok(admitted)
    }

    fn hit(&self, ranked: Ranked, snippet: Snippet, others: Vec<u32>) -> CodeHit {
        let Ranked { chunk, matched, file, entry: at, record, score, mut explanation } = ranked;
        let standing = standing(&self.lines, &self.loaded, file, chunk);
        let word = |at: usize| self.query.words.get(at).map(|word| word.token.clone());
        explanation.matched = (0..64).filter(|bit| matched >> bit & 1 == 1).filter_map(word).collect();
        let view = &*self.loaded.view;
        let place = &view.files()[file];
        let entry = &record.entries[at];
        let repo = self.names.iter().find(|(id, _)| *id == place.repo).map(|(_, name)| name.clone());
        let also_at_more = others.len().saturating_sub(MAX_ALSO_AT);
        let others = others.into_iter().take(MAX_ALSO_AT);
        CodeHit {
            repo: repo.unwrap_or_default(),
            path: place.path.clone(),
            also_at: others.map(|other| view.files()[other as usize].path.clone()).collect(),
            also_at_more,
            language: record.language.clone(),
            role: self.loaded.paths.roles[file],
            uncommitted: place.uncommitted,
            kind: entry.kind,
            name: entry.name.clone(),
            symbol: entry.symbol,
            container: entry.container.clone(),
            part: entry.part,
            lines: (entry.first_line, entry.last_line),
            snippet,
            id: id(&record, at, &place.path),
            title: heading(entry, &place.path),
            tags: tags(&record, entry, &place.path),
            package: record.package.clone(),
            counts: record.counts,
            score,
            explanation,
            other_versions: 0,
            standing,
            told: None,
        }
    }
}

/// When a chunk stood in the file with this index, in a view of the past.
pub(super) fn standing(lines: &[Line], loaded: &Loaded, file: usize, chunk: ChunkId) -> Option<Standing> {
    let place = &loaded.view.files()[file];
    let version = place.version.as_ref()?;
    let line = lines.iter().find(|line| line.repo == place.repo)?;
    line.standing(version, &loaded.view.standing(file, chunk), !loaded.view.is_at_tip(file))
}

/// Those that have room in so many tokens, their texts cut where they must be, and how many have none.
pub(super) fn fit<H>(
    hits: Vec<H>,
    tokens: usize,
    size: &dyn Fn(&H) -> usize,
    snippet: fn(&mut H) -> &mut Snippet,
) -> (Vec<H>, usize) {
    let (mut left, mut kept, mut no_room) = (tokens, Vec::new(), 0);
    for mut hit in hits {
        let mut taken = size(&hit);
        if taken > left {
            let whole = snippet(&mut hit).clone();
            snippet(&mut hit).text.clear();
            let room = left.saturating_sub(size(&hit));
            // How much longer a text gets where it is shown is not known before it is: quotation marks, line ends.
            let mut tokens = room;
            let fits = loop {
                let Some(cut) = whole.clone().within(tokens) else { break false };
                let length = estimate_tokens(&cut.text);
                *snippet(&mut hit) = cut;
                taken = size(&hit);
                if taken <= left {
                    break true;
                }
                // In proportion: what made it longer is mostly spread over all of it.
                tokens = (tokens * left / taken.max(1)).min(tokens.saturating_sub(1)).min(length);
                if tokens == 0 {
                    break false;
                }
            };
            if !fits {
                no_room += 1;
                continue;
            }
        }
        left -= taken;
        kept.push(hit);
    }
    (kept, no_room)
}

/// The tags of a chunk in its place.
pub(super) fn tags(record: &BlobRecord<ChunkId>, entry: &Entry<ChunkId>, path: &RepoPath) -> Vec<String> {
    let source = if entry.kind == ChunkKind::Documentation { "documentation" } else { "code" };
    let mut tags: Vec<String> = vec![source.to_owned(), record.language.clone()];
    tags.extend(dialect_of(&record.language).map(str::to_owned));
    tags.push(entry.kind.as_str().to_owned());
    for tag in folder_tags(path).into_iter().chain(record.tags.iter().cloned()) {
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags.dedup();
    tags
}

/// The id of a chunk in its place: stable as long as it stays there.
pub(super) fn id(record: &BlobRecord<ChunkId>, at: usize, path: &RepoPath) -> String {
    let entry = &record.entries[at];
    match entry.kind {
        ChunkKind::Symbols => format!("code-symbols-{path}"),
        ChunkKind::Definitions | ChunkKind::Data => format!("code-{}-{path}-L{}", entry.kind, entry.first_line),
        ChunkKind::Documentation => {
            let begins = |entry: &&Entry<ChunkId>| {
                entry.kind == ChunkKind::Documentation && entry.part.is_none_or(|(part, _)| part <= 1)
            };
            let section = record.entries[..=at].iter().filter(begins).count().max(1) - 1;
            let part = entry.part.map_or_else(String::new, |(part, _)| format!("-c{}", part.max(1) - 1));
            format!("doc-{path}-s{section}{part}")
        }
    }
}

/// What a chunk is called among chunks of other files.
pub(super) fn title(entry: &Entry<ChunkId>, path: &RepoPath) -> String {
    match (entry.kind, &entry.name) {
        (ChunkKind::Documentation, Some(_)) => format!("{} ({path})", heading(entry, path)),
        (ChunkKind::Definitions | ChunkKind::Data, Some(_)) => {
            format!("{} ({path}:{}-{})", heading(entry, path), entry.first_line, entry.last_line)
        }
        _ => heading(entry, path),
    }
}

/// What a chunk is called where its place is told beside it.
fn heading(entry: &Entry<ChunkId>, path: &RepoPath) -> String {
    match (entry.kind, &entry.name, &entry.container) {
        (ChunkKind::Symbols, ..) => format!("{path} symbols"),
        (ChunkKind::Documentation, Some(name), Some(container)) if !container.ends_with(name) => {
            format!("{container} > {name}")
        }
        (ChunkKind::Definitions | ChunkKind::Data, Some(name), Some(container)) => format!("{container}::{name}"),
        (_, Some(name), _) => name.clone(),
        (_, None, _) => format!("{path}:{}-{}", entry.first_line, entry.last_line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: ChunkKind, name: Option<&str>, container: Option<&str>, part: Option<(u32, u32)>) -> Entry<ChunkId> {
        Entry {
            chunk: ChunkId::default(),
            kind,
            bytes: 0..1,
            first_line: 3,
            last_line: 9,
            name: name.map(str::to_owned),
            names: Vec::new(),
            symbol: None,
            container: container.map(str::to_owned),
            part,
        }
    }

    #[test]
    fn chunks_of_many_files_are_told_apart_by_their_titles() {
        let path = RepoPath::new(b"src/a.rs".as_slice());
        for (kind, name, container, expected) in [
            (ChunkKind::Definitions, Some("run"), None, "run (src/a.rs:3-9)"),
            (ChunkKind::Definitions, Some("run"), Some("Engine"), "Engine::run (src/a.rs:3-9)"),
            (ChunkKind::Data, None, Some("Engine"), "src/a.rs:3-9"),
            (ChunkKind::Documentation, Some("Use"), Some("Guide"), "Guide > Use (src/a.rs)"),
            (ChunkKind::Documentation, Some("Use"), Some("Guide > Use"), "Use (src/a.rs)"),
            (ChunkKind::Documentation, None, None, "src/a.rs:3-9"),
            (ChunkKind::Symbols, Some("run"), None, "src/a.rs symbols"),
        ] {
            assert_eq!(title(&entry(kind, name, container, None), &path), expected);
        }
    }

    #[test]
    fn chunks_have_ids_that_tell_where_they_stand() {
        let said = |part| entry(ChunkKind::Documentation, Some("Use"), None, part);
        let entries = vec![
            said(None),
            entry(ChunkKind::Definitions, Some("run"), None, None),
            said(Some((1, 2))),
            said(Some((2, 2))),
            said(None),
            entry(ChunkKind::Symbols, None, None, None),
        ];
        let record = BlobRecord {
            language: "rust".to_owned(),
            size: 1,
            lines: 9,
            plain: None,
            package: None,
            counts: [0; 3],
            tags: Vec::new(),
            entries,
        };
        let ids: Vec<String> = (0..6).map(|at| id(&record, at, &RepoPath::new(b"a.md".as_slice()))).collect();
        let expected = [
            "doc-a.md-s0",
            "code-definitions-a.md-L3",
            "doc-a.md-s1-c0",
            "doc-a.md-s1-c1",
            "doc-a.md-s2",
            "code-symbols-a.md",
        ];
        assert_eq!(ids, expected);
    }

    #[test]
    fn texts_are_cut_so_that_everything_fits() {
        let hits: Vec<Snippet> = (1..=5).map(|at| Snippet::whole("\"a line\"\n".repeat(at * 20), 1)).collect();
        // As JSON, with something around it.
        let size = |hit: &Snippet| estimate_tokens(&serde_json::to_string(&hit.text).unwrap_or_default()) + 12;
        let all: usize = hits.iter().map(size).sum();
        for bytes in [0, 10, 60, 100, 500, 1000, 2000, all] {
            let (kept, no_room) = fit(hits.clone(), bytes, &size, |hit| hit);
            assert_eq!(kept.len() + no_room, hits.len());
            assert!(kept.iter().map(size).sum::<usize>() <= bytes, "{bytes}");
            assert!(kept.iter().all(|hit| hit.text.ends_with('\n')), "{bytes}");
        }
        let (kept, _) = fit(hits.clone(), 500, &size, |hit| hit);
        assert!(!kept.is_empty() && kept.last().is_some_and(|hit| hit.cut), "{kept:?}");
        assert_eq!(fit(hits.clone(), all, &size, |hit| hit), (hits, 0));
    }
}
