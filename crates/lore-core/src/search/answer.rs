//! The answer to a question about code.

use std::{path::PathBuf, sync::Arc};

use globset::{Glob, GlobSet, GlobSetBuilder};
use lore_chunk::Encoding;
use lore_embed::Mode;
use lore_model::{ChunkKind, Code, CommitId, Failure, Repo, RepoId, RepoPath, SymbolKind, brief, closest};
use lore_store::{BlobRecord, ChunkId, Entry, StoreError};

use super::{
    Loaded, Part, Search, TRIES,
    index::embed_failure,
    query::{Query, QueryKind},
    rank::{Explanation, Parts, Ranked, Ranking},
    signals::{Role, folder_tags},
    snippet::{Snippet, estimate_tokens},
};
use crate::{blocking, store_failure};

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
    /// Only files in one of these languages; empty for all.
    pub languages: Vec<String>,
    /// Only files whose path fits one of these: globs, or parts of paths; empty for all.
    pub paths: Vec<String>,
    /// Which repositories, each with the work tree that is meant where that is not the registered one.
    pub repos: Vec<(Repo, Option<PathBuf>)>,
    /// At most so many tokens of text in all.
    pub max_tokens: Option<usize>,
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
            languages: Vec::new(),
            paths: Vec::new(),
            repos,
            max_tokens: None,
            parts: Parts::default(),
        }
    }
}

/// How the index of a repository's code relates to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeState {
    /// Everything is there.
    Current,
    /// HEAD or a branch has moved since.
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
    /// Whether there would have been more.
    pub more: bool,
    /// How many answers had no room within `max_tokens`.
    pub no_room: usize,
    /// How fresh it is, for each repository.
    pub freshness: Vec<CodeFreshness>,
}

/// One chunk in its place.
#[derive(Debug, Clone)]
pub struct CodeHit {
    /// The repository.
    pub repo: String,
    /// The file.
    pub path: RepoPath,
    /// Other files that hold the same text.
    pub also_at: Vec<RepoPath>,
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
    /// How well it fits: 0 to 1, higher is better, comparable within one answer.
    pub score: f32,
    /// Why.
    pub explanation: Explanation,
}

impl Search {
    /// Answers a question about code.
    pub async fn search(&self, request: &CodeRequest) -> Result<CodeAnswer, Failure> {
        if request.query.trim().is_empty() {
            return Err(Failure::new(Code::InvalidArgument, "query is empty")
                .hint("say what you look for: a question, some words, or the name of a function, a type or a file"));
        }
        let filter = Arc::new(Filter::new(request)?);
        let query = Arc::new(Query::new(&request.query));
        let vector = if request.parts.meaning { self.embed(&request.query).await? } else { None };
        let mut tries = 0;
        loop {
            tries += 1;
            match self.try_search(request, &query, vector.clone(), &filter).await? {
                Ok(answer) => return Ok(answer),
                // What was read was replaced by a newer state meanwhile.
                Err(StoreError::Absent(_)) if tries < TRIES => {
                    self.views.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
                }
                Err(error) => return Err(store_failure(error)),
            }
        }
    }

    async fn embed(&self, query: &str) -> Result<Option<Vec<f32>>, Failure> {
        let mut vectors = self.embedder.embed(&[query], Mode::Query).await.map_err(embed_failure)?;
        Ok(vectors.pop().filter(|vector| vector.iter().any(|value| *value != 0.0)))
    }

    async fn try_search(
        &self,
        request: &CodeRequest,
        query: &Arc<Query>,
        vector: Option<Vec<f32>>,
        filter: &Arc<Filter>,
    ) -> Result<Result<CodeAnswer, StoreError>, Failure> {
        let mut parts = Vec::new();
        let mut freshness = Vec::new();
        let rules = super::reading::rules(&*self.embedder);
        // Vectors of another model cannot be compared; until all is read anew, words alone decide.
        let mut comparable = true;
        for (repo, place) in &request.repos {
            let state = self.store.code_state(repo.id).await.map_err(store_failure)?;
            let part = self.part(repo, &state, place.as_deref()).await?;
            comparable &= state.rules == rules;
            let committed_at = match &part {
                Some(part) => self.commit_time(repo, part.snapshot.commit).await,
                None => None,
            };
            freshness.push(CodeFreshness {
                repo: repo.name().to_owned(),
                state: self.code_state(repo, &state, part.as_ref()).await,
                commit: part.as_ref().map(|part| part.snapshot.commit),
                committed_at,
                indexed_at: state.at,
                uncommitted: part.as_ref().map_or(0, |part| part.uncommitted),
            });
            parts.extend(part);
        }
        let loaded = match self.load(&parts).await {
            Ok(loaded) => loaded,
            Err(error) => return Ok(Err(error)),
        };
        let names: Vec<(RepoId, String)> =
            parts.iter().map(|part| (part.repo.id, part.repo.name().to_owned())).collect();
        let work = Work {
            loaded,
            query: Arc::clone(query),
            vector: vector.filter(|_| comparable),
            filter: Arc::clone(filter),
            names,
            limit: request.limit.clamp(1, LIMIT_MAX),
            max_tokens: request.max_tokens,
            parts: request.parts,
        };
        let answered = blocking(move || work.run()).await;
        Ok(answered.map(|(hits, more, no_room)| CodeAnswer {
            hits,
            kind: query.kind,
            words: query.words.iter().map(|word| word.token.clone()).collect(),
            more,
            no_room,
            freshness,
        }))
    }

    pub(super) async fn code_state(
        &self,
        repo: &Repo,
        state: &lore_store::CodeState,
        part: Option<&Part>,
    ) -> CodeState {
        match (part, self.holds(repo, state).await) {
            (None, Some(_)) => CodeState::NeverIndexed,
            (_, None) => CodeState::Missing,
            (Some(_), Some(true)) => CodeState::Current,
            (Some(_), Some(false)) if state.partial && state.snapshots.iter().all(|snapshot| snapshot.files == 0) => {
                CodeState::NeverIndexed
            }
            (Some(_), Some(false)) if state.partial => CodeState::Partial,
            (Some(_), Some(false)) => CodeState::Stale,
        }
    }
}

/// What may be an answer.
pub(super) struct Filter {
    chunk_kinds: Vec<ChunkKind>,
    symbols: Vec<SymbolKind>,
    tags: Vec<String>,
    languages: Vec<String>,
    globs: GlobSet,
    parts_of_paths: Vec<String>,
}

impl Filter {
    pub(super) fn new(request: &CodeRequest) -> Result<Self, Failure> {
        let mut globs = GlobSetBuilder::new();
        let mut parts_of_paths = Vec::new();
        for path in &request.paths {
            if path.contains(['*', '?', '[', '{']) {
                let bad = |error: globset::Error| {
                    Failure::new(
                        Code::InvalidArgument,
                        format!("path `{}` is not a valid glob: {}", brief(path), error.kind()),
                    )
                    .hint("use for example `src/**/*.rs`, or a part of a path without wildcards")
                };
                globs.add(Glob::new(path).map_err(bad)?);
            } else {
                parts_of_paths.push(path.trim_start_matches("./").to_lowercase());
            }
        }
        let bad = |error: globset::Error| Failure::new(Code::InvalidArgument, error.to_string());
        let mut languages = Vec::new();
        for language in &request.languages {
            languages.push(language_named(language)?);
        }
        Ok(Self {
            chunk_kinds: request.chunk_kinds.clone(),
            symbols: request.symbols.clone(),
            tags: request.tags.iter().map(|tag| tag.trim_start_matches('#').to_lowercase()).collect(),
            languages,
            globs: globs.build().map_err(bad)?,
            parts_of_paths,
        })
    }

    pub(super) fn filters_files(&self) -> bool {
        !self.languages.is_empty() || !self.globs.is_empty() || !self.parts_of_paths.is_empty()
    }

    pub(super) fn admits_file(&self, path: &RepoPath, language: &str) -> bool {
        if !self.languages.is_empty() && !self.languages.iter().any(|wanted| wanted == language) {
            return false;
        }
        if self.globs.is_empty() && self.parts_of_paths.is_empty() {
            return true;
        }
        let path = path.to_text();
        self.globs.is_match(&*path) || {
            let lower = path.to_lowercase();
            self.parts_of_paths.iter().any(|part| lower.contains(part.as_str()))
        }
    }

    fn admits(&self, record: &BlobRecord<ChunkId>, entry: &Entry<ChunkId>, path: &RepoPath) -> bool {
        if !self.chunk_kinds.is_empty() && !self.chunk_kinds.contains(&entry.kind) {
            return false;
        }
        if !self.symbols.is_empty() && !entry.symbol.is_some_and(|symbol| self.symbols.contains(&symbol)) {
            return false;
        }
        if self.tags.is_empty() {
            return true;
        }
        let tags = tags(record, entry, path);
        self.tags.iter().all(|wanted| tags.iter().any(|tag| tag.to_lowercase() == *wanted))
    }
}

/// A language by its name or an extension.
fn language_named(text: &str) -> Result<String, Failure> {
    let lower = text.trim().trim_start_matches('.').to_lowercase();
    if let Some(language) = lore_chunk::Language::named(&lower).or_else(|| lore_chunk::Language::of_extension(&lower)) {
        return Ok(language.name().to_owned());
    }
    let names: Vec<&str> = lore_chunk::Language::ALL.iter().map(|language| language.name()).collect();
    let failure = Failure::new(Code::InvalidArgument, format!("`{}` is no language that Lore knows", brief(text)));
    Err(match closest(&lower, names.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint(format!("known are: {}", names.join(", "))),
    })
}

/// Everything that ranking needs, on the thread that does it.
struct Work {
    loaded: Arc<Loaded>,
    query: Arc<Query>,
    vector: Option<Vec<f32>>,
    filter: Arc<Filter>,
    names: Vec<(RepoId, String)>,
    limit: usize,
    max_tokens: Option<usize>,
    parts: Parts,
}

impl Work {
    fn run(&self) -> Result<(Vec<CodeHit>, bool, usize), StoreError> {
        let view = &*self.loaded.view;
        let files: Option<Vec<bool>> = self
            .filter
            .filters_files()
            .then(|| view.files().iter().map(|file| self.filter.admits_file(&file.path, &file.language)).collect());
        let admits = |file: usize, record: &BlobRecord<ChunkId>, entry: &Entry<ChunkId>| {
            self.filter.admits(record, entry, &view.files()[file].path)
        };
        let ranking = Ranking {
            query: &self.query,
            vector: self.vector.as_deref(),
            view,
            paths: &self.loaded.paths,
            parts: self.parts,
            files: files.as_deref(),
            admits: &admits,
            wanted: self.limit + 1,
        };
        let ranked = ranking.run()?;
        let more = ranked.len() > self.limit;
        let (mut hits, mut no_room) = (Vec::new(), 0);
        let mut room = self.max_tokens;
        for ranked in ranked.into_iter().take(self.limit) {
            let text = view.text(ranked.chunk)?;
            let text = Encoding::of(&text).decode(&text).into_owned();
            let first_line = ranked.record.entries[ranked.entry].first_line;
            let Some(snippet) = fit(Snippet::whole(text, first_line), &mut room) else {
                no_room += 1;
                continue;
            };
            hits.push(self.hit(ranked, snippet));
        }
        Ok((hits, more, no_room))
    }

    fn hit(&self, ranked: Ranked, snippet: Snippet) -> CodeHit {
        let Ranked { chunk, file, entry: at, record, score, explanation } = ranked;
        let view = &*self.loaded.view;
        let place = &view.files()[file];
        let entry = &record.entries[at];
        let others = view.files_with(chunk).iter().filter(|other| **other as usize != file);
        let repo = self.names.iter().find(|(id, _)| *id == place.repo).map(|(_, name)| name.clone());
        CodeHit {
            repo: repo.unwrap_or_default(),
            path: place.path.clone(),
            also_at: others.take(20).map(|other| view.files()[*other as usize].path.clone()).collect(),
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
            title: title(entry, &place.path),
            tags: tags(&record, entry, &place.path),
            package: record.package.clone(),
            counts: record.counts,
            score,
            explanation,
        }
    }
}

/// As much of a text as there is room for.
pub(super) fn fit(snippet: Snippet, room: &mut Option<usize>) -> Option<Snippet> {
    /// What stands around a text in an answer.
    const AROUND: usize = 60;
    let Some(left) = room else { return Some(snippet) };
    let snippet = snippet.within(left.checked_sub(AROUND)?)?;
    *left -= AROUND + estimate_tokens(&snippet.text);
    Some(snippet)
}

/// The tags of a chunk in its place.
pub(super) fn tags(record: &BlobRecord<ChunkId>, entry: &Entry<ChunkId>, path: &RepoPath) -> Vec<String> {
    let source = if entry.kind == ChunkKind::Documentation { "documentation" } else { "code" };
    let mut tags: Vec<String> = vec![source.to_owned(), record.language.clone(), entry.kind.as_str().to_owned()];
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

pub(super) fn title(entry: &Entry<ChunkId>, path: &RepoPath) -> String {
    let place = format!("{path}:{}-{}", entry.first_line, entry.last_line);
    match (entry.kind, &entry.name, &entry.container) {
        (ChunkKind::Symbols, ..) => format!("{path} symbols"),
        (ChunkKind::Documentation, Some(name), Some(container)) if !container.ends_with(name) => {
            format!("{container} > {name} ({path})")
        }
        (ChunkKind::Documentation, Some(name), _) => format!("{name} ({path})"),
        (_, Some(name), Some(container)) => format!("{container}::{name} ({place})"),
        (_, Some(name), None) => format!("{name} ({place})"),
        (_, None, _) => place,
    }
}
