//! More like a place in the code: what means the same, and what shares its rare names.

use std::{path::PathBuf, sync::Arc};

use lore_chunk::Encoding;
use lore_embed::Mode;
use lore_model::{ChunkKind, Code, Failure, Repo, RepoPath};
use lore_store::{Accuracy, AskWord, ChunkId, CodeView, Entry, StoreError, tokens};

use super::{
    CodeFreshness, CodeHit, CodeQuery, CodeRequest, CodeState, Loaded, Part, TRIES,
    answer::{LIMIT_MAX, Work},
    filter::Filter,
    index::embed_failure,
    query::{Query, QueryKind, Wants, is_stop_word},
    rank::Parts,
    reading,
    snippet::Snippet,
};
use crate::{files::nearest_path, store_failure};

/// So many of the rarest words of a place are looked for elsewhere.
const WORDS: usize = 24;

/// Shorter words name nothing.
const SHORTEST: usize = 3;

/// No more of a text is embedded: what it is about is said by then.
const PASSAGE_MAX: usize = 16 << 10;

/// Answers beyond those that are wanted, in place of copies that are found only when their texts are compared.
const SPARE: usize = 10;

/// A question for more of the same.
#[derive(Debug, Clone)]
pub struct RelatedRequest {
    /// The repository, with the work tree that is meant where that is not the registered one.
    pub repo: (Repo, Option<PathBuf>),
    /// The file.
    pub path: RepoPath,
    /// The line, from 1.
    pub line: u32,
    /// At most so many answers.
    pub limit: usize,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct RelatedAnswer {
    /// The file.
    pub path: RepoPath,
    /// The lines of what stands at the place.
    pub lines: (u32, u32),
    /// What that defines.
    pub name: Option<String>,
    /// Other places with the same text: files and lines.
    pub copies: Vec<(RepoPath, u32)>,
    /// What is most like it.
    pub hits: Vec<CodeHit>,
    /// Whether there would have been more.
    pub more: bool,
    /// How many answers there was no room for.
    pub no_room: usize,
    /// How fresh it is.
    pub freshness: CodeFreshness,
}

impl RelatedAnswer {
    /// Leaves so many lines of each text: those with the words that it shares.
    pub fn shorten(&mut self, lines: usize) {
        for hit in &mut self.hits {
            let snippet = std::mem::replace(&mut hit.snippet, Snippet::whole(String::new(), 0));
            hit.snippet = snippet.without_margins().around(&hit.explanation.matched, lines);
        }
    }

    /// Cuts texts so that all hits together take at most so many tokens where they are shown; `size` tells how many one does.
    pub fn fit(&mut self, tokens: usize, size: &dyn Fn(&CodeHit) -> usize) {
        let hits = std::mem::take(&mut self.hits);
        (self.hits, self.no_room) = super::answer::fit(hits, tokens, size, |hit| &mut hit.snippet);
    }
}

/// What stands at the place.
struct Origin {
    file: usize,
    entry: Entry<ChunkId>,
    text: String,
    /// Whether it is found by meaning at all.
    is_meant: bool,
    words: Vec<AskWord>,
    copies: Vec<(RepoPath, u32)>,
}

impl CodeQuery {
    /// Finds what is like the code at a place.
    pub fn related(&self, request: &RelatedRequest) -> Result<RelatedAnswer, Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.try_related(request)? {
                Ok(answer) => return Ok(answer),
                // What was read was replaced by a newer state meanwhile.
                Err(StoreError::Absent(_)) if tries < TRIES => self.reader.views.forget(&[request.repo.0.id]),
                Err(error) => return Err(store_failure(error)),
            }
        }
    }

    fn try_related(&self, request: &RelatedRequest) -> Result<Result<RelatedAnswer, StoreError>, Failure> {
        let (repo, place) = &request.repo;
        let state = self.reader.store.code_state(repo.id).map_err(store_failure)?;
        let part = self.reader.part(repo, &state, place.as_deref(), true)?;
        let freshness = self.reader.freshness(repo, &state, part.as_ref());
        let parts: Vec<Part> = part.into_iter().collect();
        let loaded = match self.reader.load(&parts)? {
            Ok(loaded) => loaded,
            Err(error) => return Ok(Err(error)),
        };
        let line = request.line;
        let origin = match find(&loaded, &request.path, line) {
            Ok(origin) => origin.map_err(|why| absent(request, &why, &freshness))?,
            Err(error) => return Ok(Err(error)),
        };
        // Vectors of another model cannot be compared; until all is read anew, words alone decide.
        let comparable = state.rules == reading::rules(&*self.reader.embedder) && origin.is_meant;
        let vector = if comparable { self.embed_passage(&origin)? } else { None };
        let limit = request.limit.clamp(1, LIMIT_MAX);
        let Origin { file, entry, text, is_meant: _, words, mut copies } = origin;
        let own = entry.clone();
        let work = Work {
            loaded,
            second: None,
            query: Arc::new(question(words)),
            vector,
            filter: Arc::new(Filter::new(&CodeRequest::new("", Vec::new()))?),
            names: vec![(repo.id, repo.name().to_owned())],
            limit: limit + SPARE,
            min_score: 0.0,
            accuracy: Accuracy::default(),
            embedder: Arc::clone(&self.reader.embedder),
            parts: Parts { second: false, rules: false, history: false, ..Parts::default() },
            said: Vec::new(),
            except: Some(Box::new(move |at, other| is_same(at == file, &own, other))),
            lines: Vec::new(),
        };
        let (mut hits, mut more, _) = match work.run() {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        // The same text under another name or in another language is a copy too.
        hits.retain(|hit| {
            let is_copy = hit.snippet.text.trim() == text.trim();
            if is_copy {
                copies.push((hit.path.clone(), hit.lines.0));
            }
            !is_copy
        });
        more |= hits.len() > limit;
        hits.truncate(limit);
        Ok(Ok(RelatedAnswer {
            path: request.path.clone(),
            lines: (entry.first_line, entry.last_line),
            name: entry.name,
            copies,
            hits,
            more,
            no_room: 0,
            freshness,
        }))
    }

    fn embed_passage(&self, origin: &Origin) -> Result<Option<Vec<f32>>, Failure> {
        let text = &origin.text[..origin.text.floor_char_boundary(PASSAGE_MAX)];
        let passage = reading::passage(&origin.entry, text);
        let mut vectors = self.reader.embedder.embed(&[passage.as_str()], Mode::Passage).map_err(embed_failure)?;
        Ok(vectors.pop().filter(|vector| vector.iter().any(|value| *value != 0.0)))
    }
}

/// Whether a chunk is what stands at the place: itself, a copy, another part of it, or an outline, which is no code.
fn is_same(in_file: bool, own: &Entry<ChunkId>, other: &Entry<ChunkId>) -> bool {
    let is_part = in_file
        && own.part.is_some()
        && other.part.is_some()
        && (&own.name, &own.container, own.symbol) == (&other.name, &other.container, other.symbol);
    other.chunk == own.chunk || other.kind == ChunkKind::Symbols || is_part
}

/// Words that are looked for as they are, by no rule but how well they fit.
fn question(words: Vec<AskWord>) -> Query {
    Query {
        text: String::new(),
        cut: false,
        kind: QueryKind::Sentence,
        words,
        names: Vec::new(),
        phrases: Vec::new(),
        wants: Wants::default(),
    }
}

fn absent(request: &RelatedRequest, why: &str, freshness: &CodeFreshness) -> Failure {
    let failure = Failure::new(Code::InvalidArgument, format!("{}:{} {why}", request.path, request.line));
    let repo = &freshness.repo;
    if matches!(freshness.state, CodeState::Partial | CodeState::NeverIndexed) {
        let progress = freshness.progress.map(|percent| format!(" ({percent} %)")).unwrap_or_default();
        return failure.hint(format!("the code of {repo} is not completely indexed yet{progress}: ask again later"));
    }
    failure.hint(format!(
        "name a line of a file that is searched, uncommitted ones included; the index of {repo} is {}, and `lore status \
         --left-out` lists what is not searched",
        freshness.state.as_str()
    ))
}

/// What stands at a line of a file; inside, why nothing does.
fn find(loaded: &Loaded, path: &RepoPath, line: u32) -> Result<Result<Origin, String>, StoreError> {
    let view = &*loaded.view;
    let Some(file) = view.files().iter().position(|file| file.path == *path) else {
        let known: Vec<_> = view.files().iter().map(|file| file.path.to_text()).collect();
        let near = nearest_path(&path.to_text(), known.iter().map(AsRef::as_ref));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Ok(Err(format!("is not in the index{near}")));
    };
    let record = view.record(file)?;
    let is_there = |entry: &&Entry<ChunkId>| {
        entry.kind != ChunkKind::Symbols && (entry.first_line..=entry.last_line).contains(&line)
    };
    let Some(entry) = record.entries.iter().find(is_there).cloned() else {
        return Ok(Err(format!("is not there: the file has {} lines", record.lines)));
    };
    let text = view.text(entry.chunk)?;
    let text = Encoding::of(&text).decode(&text).into_owned();
    let words = rare_words(view, &text)?;
    let copies = copies(view, file, &entry)?;
    Ok(Ok(Origin { file, entry, text, is_meant: record.plain.is_none(), words, copies }))
}

/// The rarest words that others have too, the rarest first.
fn rare_words(view: &dyn CodeView, text: &str) -> Result<Vec<AskWord>, StoreError> {
    let mut words = tokens(text);
    words.sort_unstable();
    words.dedup();
    words.retain(|word| word.len() >= SHORTEST && !is_stop_word(word));
    let mut counted = Vec::with_capacity(words.len());
    for word in words {
        let holders = view.frequency(&word)?;
        // Nobody shares a word that occurs once.
        if holders > 1 {
            counted.push((holders, word));
        }
    }
    counted.sort_unstable();
    Ok(counted.into_iter().take(WORDS).map(|(_, token)| AskWord { token, weight: 1.0 }).collect())
}

/// Other places that hold the very chunk.
fn copies(view: &dyn CodeView, file: usize, own: &Entry<ChunkId>) -> Result<Vec<(RepoPath, u32)>, StoreError> {
    let mut copies = Vec::new();
    let mut holders = view.files_with(own.chunk).to_vec();
    holders.dedup();
    for holder in holders {
        let record = view.record(holder as usize)?;
        let others = record.entries.iter().filter(|entry| entry.chunk == own.chunk);
        let others = others.filter(|entry| holder as usize != file || entry.first_line != own.first_line);
        let path = &view.files()[holder as usize].path;
        copies.extend(others.map(|entry| (path.clone(), entry.first_line)));
    }
    Ok(copies)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(chunk: u32, name: &str, part: Option<(u32, u32)>) -> Entry<ChunkId> {
        Entry {
            chunk,
            kind: ChunkKind::Definitions,
            bytes: 0..1,
            first_line: 1,
            last_line: 2,
            name: Some(name.to_owned()),
            names: Vec::new(),
            symbol: None,
            container: None,
            part,
        }
    }

    #[test]
    fn what_stands_there_itself_is_not_like_it() {
        let own = entry(1, "run", Some((1, 2)));
        assert!(is_same(true, &own, &own) && is_same(false, &own, &own), "a copy is told as one");
        let rest = entry(2, "run", Some((2, 2)));
        assert!(is_same(true, &own, &rest), "the rest of the same function");
        assert!(!is_same(false, &own, &rest), "another file has a long function of that name too");
        assert!(!is_same(true, &own, &entry(2, "walk", Some((2, 2)))));
        assert!(!is_same(true, &own, &entry(2, "run", None)) && !is_same(true, &entry(2, "run", None), &own));
        assert!(
            is_same(false, &own, &Entry { kind: ChunkKind::Symbols, ..entry(3, "x", None) }),
            "an outline is no code"
        );
    }
}
