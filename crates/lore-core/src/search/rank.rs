//! From candidates to an order that a programmer would choose.

use std::{collections::HashMap, sync::Arc};

use lore_embed::StaticModel;
use lore_model::{ChunkKind, RepoId};
use lore_store::{
    Accuracy, Ask, AskWord, BlobRecord, ChunkId, CodeView, Entry, FieldWeight, Result as StoreResult, Scored,
    ViewVectors, for_each_token, tokens,
};

use super::{
    evidence::Asking,
    exact::{RESCORED, rescore},
    query::{Query, QueryKind, fold},
    signals::{PathIndex, Role, stem},
};

/// So many candidates by text and as many by meaning are looked at.
const CANDIDATES: usize = 200;

/// So many files are candidates because of their path.
const PATH_FILES: usize = 40;

/// How much of meaning is what the second model says, where a chunk has a vector of it.
const SECOND_SHARE: f32 = 0.5;

/// How names, source text and prose count in BM25.
pub(super) const FIELDS: [FieldWeight; 3] = [
    FieldWeight { weight: 2.5, length: 0.3 },
    FieldWeight { weight: 1.0, length: 0.75 },
    FieldWeight { weight: 1.2, length: 0.6 },
];

/// The larger, the more stands out what fits best, by words and by meaning.
const TEXT_SHARP: f32 = 1.15;
const MEANING_SHARP: f32 = 1.6;

/// What the rules add, as shares of the best score of text and meaning together.
const COVERED: f32 = 0.10;
const NAME_SHARE: f32 = 0.05;
const DEFINES: f32 = 0.80;
const HANDS_ON: f32 = 0.50;
const STEM: f32 = 0.15;
const PATH_SHARE: f32 = 0.40;
const PHRASE: f32 = 0.40;
const SAID: f32 = 0.80;

/// Whoever names a thing wants where it is, not where somebody wrote of it.
const SAID_OF_NAMES: f32 = 0.4 * SAID;

/// What lacks all quoted words loses so much.
const UNQUOTED: f32 = 0.6;
const SUPPORT: f32 = 0.20;

/// What is written in other letters than the query counts so much less as what it names.
const OTHER_CASE: f32 = 0.7;

/// So many results decide how sure an answer is.
const FIRST: usize = 5;

/// How evidence adds up to a score, and how much of it is needed for a half.
struct Sure {
    covered: f32,
    cosine: f32,
    defines: f32,
    path: f32,
    doubt: f32,
}

const SURE: Sure = Sure { covered: 7.5, cosine: 12.0, defines: 2.6, path: 3.3, doubt: 6.7 };

/// Each further chunk of one file counts so much less.
const AGAIN: f32 = 0.75;

/// An outline says where things are, not how they are done.
const OUTLINE: f32 = 0.8;

/// Which parts of the ranking are on: all of them, but for measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Words.
    pub text: bool,
    /// Meaning.
    pub meaning: bool,
    /// What a configured model besides the built-in one says of meaning.
    pub second: bool,
    /// The programmer's rules.
    pub rules: bool,
    /// What commits say; a rule like the others.
    pub history: bool,
}

impl Default for Parts {
    fn default() -> Self {
        Self { text: true, meaning: true, second: true, rules: true, history: true }
    }
}

/// Why a chunk stands where it does.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Explanation {
    /// How well words fit, against the best candidate: 0 to 1.
    pub text: f32,
    /// How near it is in meaning, against the other candidates: 0 to 1.
    pub meaning: f32,
    /// The cosine itself, where there is one.
    pub cosine: Option<f32>,
    /// The cosine that the second model gives, where there is one.
    pub second: Option<f32>,
    /// Words of the query that occur in it.
    pub matched: Vec<String>,
    /// What rules did, by name, in this order.
    pub rules: Vec<(&'static str, Effect)>,
}

/// What a rule does to a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effect {
    /// It adds this.
    Adds(f32),
    /// It multiplies by this.
    Times(f32),
}

/// A chunk in its place in the answer.
#[derive(Debug, Clone)]
pub(super) struct Ranked {
    pub(super) chunk: ChunkId,
    /// Bit n: word n of the query occurs in it.
    pub(super) matched: u64,
    /// The file it is shown in.
    pub(super) file: usize,
    /// Its place in that file's record.
    pub(super) entry: usize,
    pub(super) record: Arc<BlobRecord<ChunkId>>,
    pub(super) score: f32,
    pub(super) explanation: Explanation,
}

/// Whether an entry of the file with this index may be an answer.
type Admits<'a> = &'a (dyn Fn(usize, &BlobRecord<ChunkId>, &Entry<ChunkId>) -> bool + Sync);

/// A file, a place in its record, and the record.
type Place = (usize, usize, Arc<BlobRecord<ChunkId>>);

/// A set of chunks. Their numbers lie close together, in few places.
#[derive(Default)]
struct ChunkSet(Vec<Option<Box<[u64; 1024]>>>);

impl ChunkSet {
    fn insert(&mut self, chunk: ChunkId) {
        let (page, word) = (chunk as usize >> 16, chunk as usize >> 6 & 1023);
        if self.0.len() <= page {
            self.0.resize(page + 1, None);
        }
        self.0[page].get_or_insert_with(|| Box::new([0; 1024]))[word] |= 1 << (chunk & 63);
    }

    fn contains(&self, chunk: ChunkId) -> bool {
        let (page, word) = (chunk as usize >> 16, chunk as usize >> 6 & 1023);
        self.0.get(page).and_then(Option::as_ref).is_some_and(|page| page[word] >> (chunk & 63) & 1 == 1)
    }
}

impl FromIterator<ChunkId> for ChunkSet {
    fn from_iter<I: IntoIterator<Item = ChunkId>>(chunks: I) -> Self {
        let mut set = Self::default();
        chunks.into_iter().for_each(|chunk| set.insert(chunk));
        set
    }
}

/// What the rules look at in each candidate, made once for a question.
struct Asked<'a> {
    /// How rare each word of the query is in the view.
    rarity: HashMap<&'a str, f32>,
    /// The same of all words together, in the order of the query: a sum in another order can differ in its last bit.
    total: f32,
    /// The quoted phrases, each with the bits of [`Scored::matched`] that whatever has it has.
    phrases: Vec<(&'a str, u64)>,
}

/// A question to the vectors of a second model.
#[derive(Clone, Copy)]
pub(super) struct SecondAsk<'a> {
    pub(super) vectors: &'a dyn ViewVectors,
    pub(super) query: &'a [f32],
}

/// What is ranked, and by what.
pub(super) struct Ranking<'a> {
    pub(super) query: &'a Query,
    /// The words of the query, as they count in this view.
    pub(super) words: &'a [AskWord],
    pub(super) vector: Option<&'a [f32]>,
    pub(super) second: Option<SecondAsk<'a>>,
    pub(super) view: &'a dyn CodeView,
    pub(super) paths: &'a PathIndex,
    pub(super) accuracy: Accuracy,
    /// Compares the nearest again, by whole vectors.
    pub(super) model: Option<&'a StaticModel>,
    pub(super) parts: Parts,
    /// What commits say about the files of each repository.
    pub(super) said: &'a [(RepoId, Asking<'a>)],
    /// Files that may be answers; `None` for all.
    pub(super) files: Option<&'a [bool]>,
    /// Whether an entry may be an answer; `None` where all may.
    pub(super) admits: Option<Admits<'a>>,
    /// At least so many answers are wanted.
    pub(super) wanted: usize,
}

impl Ranking<'_> {
    /// The answers, best first: at most one for each chunk.
    pub(super) fn run(&self) -> StoreResult<Vec<Ranked>> {
        let path_scores: HashMap<u32, f32> = if self.parts.rules {
            self.paths.score(self.words, PATH_FILES).into_iter().collect()
        } else {
            HashMap::new()
        };
        let rescored = if self.model.is_some() { RESCORED } else { 0 };
        let top = CANDIDATES.max(self.wanted * 4).max(rescored);
        let allowed = self.files.map(|files| {
            let files = (0..).zip(files).filter(|(_, allowed)| **allowed);
            files.flat_map(|(file, _)| self.view.chunks_of(file)).copied().collect::<ChunkSet>()
        });
        let candidates = self.candidates(&path_scores, allowed.as_ref(), top)?;
        let asked = self.asked()?;
        let ranked = self.rank(&candidates, &path_scores, &asked)?;
        let Some(admits) = self.admits.filter(|_| ranked.len() < self.wanted && candidates.len() >= top) else {
            return Ok(ranked);
        };
        // What is asked of entries leaves too few of the best: now every record is asked, and then those that pass compete.
        let candidates = self.candidates(&path_scores, Some(&self.admitted(admits)?), top)?;
        self.rank(&candidates, &path_scores, &asked)
    }

    /// All chunks that may be answers.
    fn admitted(&self, admits: Admits<'_>) -> StoreResult<ChunkSet> {
        let files = 0..u32::try_from(self.view.files().len()).unwrap_or(u32::MAX);
        let files: Vec<u32> = files.filter(|file| self.files.is_none_or(|allowed| allowed[*file as usize])).collect();
        let mut admitted = ChunkSet::default();
        for some in files.chunks(1024) {
            self.view.prefetch(some)?;
            for &file in some {
                let record = self.view.record(file as usize)?;
                let entries = record.entries.iter().filter(|entry| admits(file as usize, &record, entry));
                entries.for_each(|entry| admitted.insert(entry.chunk));
            }
        }
        Ok(admitted)
    }

    /// What the rules look at.
    fn asked(&self) -> StoreResult<Asked<'_>> {
        #[expect(clippy::cast_precision_loss, reason = "a weight needs no precision")]
        let count = self.view.chunk_count() as f32;
        let mut rarity = HashMap::new();
        for word in self.words {
            #[expect(clippy::cast_precision_loss, reason = "a weight needs no precision")]
            let holders = self.view.frequency(&word.token)? as f32;
            rarity.insert(word.token.as_str(), word.weight * (1.0 + count / (1.0 + holders)).ln());
        }
        let total = self.words.iter().filter_map(|word| rarity.get(word.token.as_str())).sum();
        let phrases = self.query.phrases.iter().map(|phrase| (phrase.as_str(), self.bits_of_phrase(phrase))).collect();
        Ok(Asked { rarity, total, phrases })
    }

    /// What lacks one of these words lacks the phrase.
    fn bits_of_phrase(&self, phrase: &str) -> u64 {
        let tokens = tokens(phrase);
        // A compound word may go on in the text, its parts are there all the same.
        let is_compound =
            |token: &str| tokens.iter().any(|part| part.len() < token.len() && token.contains(part.as_str()));
        self.bits(|token| tokens.iter().any(|other| other == token) && !is_compound(token))
    }

    fn candidates(
        &self,
        path_scores: &HashMap<u32, f32>,
        allowed: Option<&ChunkSet>,
        top: usize,
    ) -> StoreResult<Vec<Scored>> {
        let none: [AskWord; 0] = [];
        let words = if self.parts.text { self.words } else { &none };
        let is_allowed = |chunk: ChunkId| allowed.is_some_and(|allowed| allowed.contains(chunk));
        // A file whose path fits becomes a candidate by its first chunks even where its text does not say the words.
        let mut boosts: Vec<(ChunkId, f32)> = Vec::new();
        if self.parts.text {
            let mut files: Vec<(u32, f32)> = path_scores.iter().map(|(file, score)| (*file, *score)).collect();
            files.sort_unstable_by_key(|(file, _)| *file);
            for (file, score) in files {
                boosts.extend(self.view.chunks_of(file as usize).iter().take(3).map(|chunk| (*chunk, score)));
            }
            boosts.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
            boosts.dedup_by_key(|(chunk, _)| *chunk);
        }
        let is_allowed: Option<&(dyn Fn(ChunkId) -> bool + Sync)> = allowed.is_some().then_some(&is_allowed);
        let also = self.second.map_or_else(Vec::new, |second| second.vectors.nearest(second.query, is_allowed, top));
        let mut candidates = self.view.search(&Ask {
            words,
            all_words: false,
            fields: FIELDS,
            vector: self.vector.filter(|_| self.parts.meaning),
            boosts: &boosts,
            allowed: is_allowed,
            also: &also,
            top,
            accuracy: self.accuracy,
        })?;
        if let (Some(model), Some(query)) = (self.model, self.vector) {
            rescore(self.view, model, query, &mut candidates)?;
        }
        Ok(candidates)
    }

    fn rank(
        &self,
        candidates: &[Scored],
        path_scores: &HashMap<u32, f32>,
        asked: &Asked<'_>,
    ) -> StoreResult<Vec<Ranked>> {
        let best_text = candidates.iter().map(|scored| scored.text).fold(0.0, f32::max).max(1e-6);
        let cosines = candidates.iter().filter_map(|scored| scored.vector);
        let (low, high) = cosines.fold((f32::MAX, f32::MIN), |(low, high), cosine| (low.min(cosine), high.max(cosine)));
        let seconds = self.seconds(candidates);
        // As long as few candidates have a vector of it, the second model knows little of how they compare.
        #[expect(clippy::cast_precision_loss, reason = "a share needs no precision")]
        let second_share = SECOND_SHARE * seconds.iter().flatten().count() as f32 / (candidates.len().max(1) as f32);
        let meaning_share = match self.parts {
            Parts { text: false, .. } => 1.0,
            Parts { meaning: false, .. } => 0.0,
            _ if self.vector.is_none() && self.second.is_none() => 0.0,
            _ => self.query.meaning(),
        };
        let mut ranked = Vec::with_capacity(candidates.len());
        for ((scored, second), place) in candidates.iter().zip(seconds).zip(self.places(candidates, path_scores)?) {
            let Some((file, entry, record)) = place else { continue };
            let text = (scored.text / best_text).powf(TEXT_SHARP);
            let meaning =
                scored.vector.map_or(0.0, |cosine| (cosine - low) / (high - low).max(1e-6)).powf(MEANING_SHARP);
            let meaning = match second {
                // The built-in model knows no word of the question.
                Some((_, second)) if self.vector.is_none() => second,
                Some((_, second)) => second_share * second + (1.0 - second_share) * meaning,
                None => meaning,
            };
            let second = second.map(|(cosine, _)| cosine);
            let mut explanation =
                Explanation { text, meaning, cosine: scored.vector, second, ..Explanation::default() };
            // What no model has seen stands by its words alone.
            let meaning_share =
                if self.vector.is_none() && second.is_none() && self.parts.text { 0.0 } else { meaning_share };
            let mut score = meaning_share * meaning + (1.0 - meaning_share) * text;
            if self.parts.rules {
                score = self.apply_rules(
                    score,
                    file,
                    &record.entries[entry],
                    scored,
                    path_scores,
                    asked,
                    &mut explanation,
                )?;
            }
            ranked.push(Ranked {
                chunk: scored.chunk,
                matched: scored.matched,
                file,
                entry,
                record,
                score,
                explanation,
            });
        }
        if self.parts.rules {
            self.hand_on(&mut ranked)?;
            support(&mut ranked);
        }
        self.order(&mut ranked);
        let best = ranked.first().map_or(0.0, |first| first.score).max(1e-6);
        let sure = self.sure(&ranked, path_scores, asked);
        for ranked in &mut ranked {
            ranked.score = sure * (ranked.score / best).clamp(0.0, 1.0);
        }
        Ok(ranked)
    }

    /// How sure it is that the first results are what was asked for: 0 to 1.
    ///
    /// What is compared with the other candidates says nothing of that: one of them is always the best. So only what does
    /// not depend on them counts. The weights were fitted to questions that have an answer and to questions about
    /// something else (`docs/decisions/018-ranking.md`).
    fn sure(&self, ranked: &[Ranked], path_scores: &HashMap<u32, f32>, asked: &Asked<'_>) -> f32 {
        let first = &ranked[..ranked.len().min(FIRST)];
        let most = |value: &dyn Fn(&Ranked) -> f32| first.iter().map(value).fold(0.0, f32::max);
        let covered = most(&|ranked| self.covered(ranked.matched, asked));
        let cosine = most(&|ranked| ranked.explanation.cosine.unwrap_or(0.0));
        let defines = most(&|ranked| self.defines(&ranked.record.entries[ranked.entry]).unwrap_or(0.0));
        let path = most(&|ranked| {
            u32::try_from(ranked.file).ok().and_then(|file| path_scores.get(&file)).copied().unwrap_or(0.0)
        });
        let evidence =
            SURE.covered * covered + SURE.cosine * cosine + SURE.defines * defines.min(1.0) + SURE.path * path;
        1.0 / (1.0 + (SURE.doubt - evidence).exp())
    }

    /// The cosine that the second model gives for each candidate, and the same against the others: 0 to 1.
    fn seconds(&self, candidates: &[Scored]) -> Vec<Option<(f32, f32)>> {
        let Some(second) = self.second else { return vec![None; candidates.len()] };
        let chunks: Vec<ChunkId> = candidates.iter().map(|scored| scored.chunk).collect();
        let cosines = second.vectors.cosines(second.query, &chunks);
        let (low, high) = cosines
            .iter()
            .flatten()
            .fold((f32::MAX, f32::MIN), |(low, high), cosine| (low.min(*cosine), high.max(*cosine)));
        // One alone cannot be compared.
        if high - low < 1e-6 {
            return vec![None; candidates.len()];
        }
        let against = |cosine: f32| (cosine, ((cosine - low) / (high - low).max(1e-6)).powf(MEANING_SHARP));
        cosines.into_iter().map(|cosine| cosine.map(against)).collect()
    }

    /// Where each candidate is shown: in the allowed file whose path fits best, the real thing before copies of it.
    fn places(&self, candidates: &[Scored], path_scores: &HashMap<u32, f32>) -> StoreResult<Vec<Option<Place>>> {
        let worth = |file: &u32| {
            let role = self.paths.roles[*file as usize].factor(self.query.wants);
            role * (1.0 + path_scores.get(file).copied().unwrap_or(0.0))
        };
        let (mut holders, mut ends) = (Vec::with_capacity(candidates.len()), Vec::with_capacity(candidates.len()));
        for scored in candidates {
            let from = holders.len();
            let all = self.view.files_with(scored.chunk).iter().copied();
            holders.extend(all.filter(|file| self.files.is_none_or(|files| files[*file as usize])));
            if holders.len() > from + 1 {
                holders[from..].sort_by(|a, b| worth(b).total_cmp(&worth(a)).then(a.cmp(b)));
            }
            ends.push(holders.len());
        }
        let mut from = 0;
        let first =
            ends.iter().filter_map(|&end| holders.get(std::mem::replace(&mut from, end)..end)?.first().copied());
        self.view.prefetch(&first.collect::<Vec<u32>>())?;
        let mut from = 0;
        let place = |(scored, end): (&Scored, usize)| {
            let holders = &holders[std::mem::replace(&mut from, end)..end];
            self.place(scored.chunk, holders)
        };
        candidates.iter().zip(ends.iter().copied()).map(place).collect()
    }

    /// The first of these files that shows the chunk as it is wanted.
    fn place(&self, chunk: ChunkId, holders: &[u32]) -> StoreResult<Option<Place>> {
        for &file in holders {
            let file = file as usize;
            let record = self.view.record(file)?;
            let wanted = |entry: &Entry<ChunkId>| {
                entry.chunk == chunk && self.admits.is_none_or(|admits| admits(file, &record, entry))
            };
            if let Some(entry) = record.entries.iter().position(wanted) {
                return Ok(Some((file, entry, record)));
            }
        }
        Ok(None)
    }

    #[expect(clippy::too_many_arguments, reason = "everything that the rules look at")]
    fn apply_rules(
        &self,
        mut score: f32,
        file: usize,
        entry: &Entry<ChunkId>,
        scored: &Scored,
        path_scores: &HashMap<u32, f32>,
        asked: &Asked<'_>,
        explanation: &mut Explanation,
    ) -> StoreResult<f32> {
        let mut add = |name: &'static str, value: f32, score: &mut f32| {
            if value.abs() > 0.001 {
                *score += value;
                explanation.rules.push((name, Effect::Adds(value)));
            }
        };
        add("has the rare words", COVERED * self.covered(scored.matched, asked), &mut score);
        if entry.kind != ChunkKind::Symbols {
            add("its name has the words", NAME_SHARE * name_share(entry, asked), &mut score);
            if let Some(value) = self.defines(entry) {
                add("defines what was named", DEFINES * value, &mut score);
            }
        }
        let mut quoted = 1.0;
        let path = path_scores.get(&(u32::try_from(file).unwrap_or(u32::MAX))).copied().unwrap_or(0.0);
        let path_share = if self.query.kind == QueryKind::Path { 2.0 * PATH_SHARE } else { PATH_SHARE };
        if !self.query.names.is_empty() {
            let stem = stem(&self.view.files()[file].path);
            if stem.len() > 1 && self.query.names.contains(&stem) {
                add("its file is named so", STEM, &mut score);
            }
        }
        add("its path has the words", path_share * path, &mut score);
        let said = if self.query.kind == QueryKind::Name { SAID_OF_NAMES } else { SAID };
        add("its commits say so", said * self.said(file), &mut score);
        if !asked.phrases.is_empty() {
            // Where words of all phrases are lacking, the text need not be read.
            let may_have = |words: u64| scored.matched & words == words;
            let mut found = 0;
            if asked.phrases.iter().any(|(_, words)| may_have(*words)) {
                let text = String::from_utf8_lossy(&self.view.text(scored.chunk)?).to_lowercase();
                found =
                    asked.phrases.iter().filter(|(phrase, words)| may_have(*words) && text.contains(phrase)).count();
            }
            #[expect(clippy::cast_precision_loss, reason = "a share needs no precision")]
            let share = found as f32 / asked.phrases.len() as f32;
            add("has the quoted words", PHRASE * share, &mut score);
            quoted = share;
        }
        let mut times = |name: &'static str, factor: f32| {
            if (factor - 1.0).abs() > 0.001 {
                score *= factor;
                explanation.rules.push((name, Effect::Times(factor)));
            }
        };
        // Who quotes wants these words and no others.
        times("lacks the quoted words", 1.0 - (1.0 - quoted) * UNQUOTED);
        let role = self.paths.roles[file];
        times(
            role_rule(role),
            1.0 - (1.0 - role.factor(self.query.wants)) * (1.0 - self.is_heading(role, entry, asked)),
        );
        if role != Role::Test && in_tests(entry) {
            times(role_rule(Role::Test), Role::Test.factor(self.query.wants));
        }
        if entry.kind == ChunkKind::Symbols {
            times("only an outline", OUTLINE);
        }
        Ok(score)
    }

    /// How much of the query, by rarity, occurs in a chunk.
    fn covered(&self, matched: u64, asked: &Asked<'_>) -> f32 {
        let found = (0..).zip(self.words).filter(|(bit, _)| matched >> bit & 1 == 1);
        let rare = found.filter_map(|(_, word)| asked.rarity.get(word.token.as_str()));
        rare.sum::<f32>() / asked.total.max(1e-6)
    }

    /// How well the words fit what commits say about a file: 0 to 1.
    fn said(&self, file: usize) -> f32 {
        let file = &self.view.files()[file];
        self.said.iter().find(|(repo, _)| *repo == file.repo).map_or(0.0, |(_, said)| said.of(&file.path))
    }

    /// How far a question is the heading of a section, which is then no aside: 0 to 1.
    fn is_heading(&self, role: Role, entry: &Entry<ChunkId>, asked: &Asked<'_>) -> f32 {
        let is_question = matches!(self.query.kind, QueryKind::Words | QueryKind::Sentence);
        if role != Role::Document || !is_question {
            return 0.0;
        }
        // One word of several makes no heading of it.
        (2.0 * name_share(entry, asked) - 1.0).max(0.0)
    }

    /// Whether a chunk defines a thing that the query names: 1 where it does, less for a part of it.
    fn defines(&self, entry: &Entry<ChunkId>) -> Option<f32> {
        let name = fold(entry.name.as_deref()?);
        let at = self.query.names.iter().rposition(|wanted| *wanted == name)?;
        let mut value: f32 = if self.query.kind == QueryKind::Name { 1.0 } else { 0.4 };
        // Written exactly so: `Engine` is the type, not the function `engine`.
        if !entry.name.as_deref().is_some_and(|name| self.query.text.contains(name)) {
            value *= OTHER_CASE;
        }
        // Of `Router::route` the last is wanted, and best the one in `Router`.
        if at + 1 < self.query.names.len() && self.query.kind == QueryKind::Name {
            value *= 0.4;
        }
        if let Some(container) = &entry.container
            && at > 0
            && fold(container).ends_with(&self.query.names[at - 1])
        {
            value *= 1.5;
        }
        if entry.symbol.is_some_and(|symbol| symbol == lore_model::SymbolKind::Impl)
            || entry.part.is_some_and(|(part, _)| part > 1)
        {
            value *= 0.6;
        }
        // A type of that name rather than a method of that name somewhere.
        if entry.symbol.is_some_and(lore_model::SymbolKind::is_type) {
            value *= 1.15;
        }
        Some(value)
    }

    /// The bits of [`Scored::matched`] for words like these.
    fn bits(&self, is_meant: impl Fn(&str) -> bool) -> u64 {
        if !self.parts.text {
            return 0;
        }
        let meant = self.words.iter().take(64).enumerate().filter(|(_, word)| is_meant(&word.token));
        meant.fold(0, |bits, (at, _)| bits | 1 << at)
    }

    /// Where nothing that may be an answer defines what was named, the place that hands it on is the best there is.
    fn hand_on(&self, ranked: &mut [Ranked]) -> StoreResult<()> {
        let is_defined = |name: &String| {
            let is_it = |entry: &Entry<ChunkId>| entry.name.as_deref().is_some_and(|known| fold(known) == *name);
            ranked.iter().any(|ranked| is_it(&ranked.record.entries[ranked.entry]))
        };
        // Only what has the name as a word can hand it on; nothing else has to be read.
        let names: Vec<(&String, u64)> = self
            .query
            .names
            .iter()
            .filter(|name| !is_defined(name))
            .map(|name| (name, self.bits(|token| fold(token) == **name)))
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        let value = HANDS_ON * if self.query.kind == QueryKind::Name { 1.0 } else { 0.4 };
        for ranked in ranked.iter_mut().filter(|ranked| ranked.matched != 0) {
            let entry = &ranked.record.entries[ranked.entry];
            if matches!(entry.kind, ChunkKind::Symbols | ChunkKind::Documentation) {
                continue;
            }
            if names.iter().all(|(_, word)| *word != 0 && ranked.matched & word == 0) {
                continue;
            }
            let text = String::from_utf8_lossy(&self.view.text(ranked.chunk)?).into_owned();
            if names.iter().any(|(name, _)| hands_on(&text, name)) {
                let role = self.paths.roles[ranked.file].factor(self.query.wants);
                ranked.score += value * role;
                ranked.explanation.rules.push(("hands on what was named", Effect::Adds(value * role)));
            }
        }
        Ok(())
    }

    /// Best first; one file must not fill the page; equal scores in order of path and line.
    fn order(&self, ranked: &mut [Ranked]) {
        let before = |a: &Ranked, b: &Ranked| {
            let line = |ranked: &Ranked| ranked.record.entries[ranked.entry].first_line;
            b.score.total_cmp(&a.score).then_with(|| (a.file, line(a), a.entry).cmp(&(b.file, line(b), b.entry)))
        };
        ranked.sort_by(before);
        if self.parts.rules {
            let mut seen: HashMap<usize, i32> = HashMap::new();
            for ranked in ranked.iter_mut() {
                let times = seen.entry(ranked.file).or_default();
                if *times > 0 {
                    let factor = AGAIN.powi((*times).min(6));
                    ranked.score *= factor;
                    ranked.explanation.rules.push(("not the first of its file", Effect::Times(factor)));
                }
                *times += 1;
            }
            ranked.sort_by(before);
        }
    }
}

/// How much of a chunk's name the query says, and how much of the query that is.
fn name_share(entry: &Entry<ChunkId>, asked: &Asked<'_>) -> f32 {
    let Some(name) = &entry.name else { return 0.0 };
    let (mut said, mut all) = (0.0, 0.0);
    let common = 1.0;
    for_each_token(name, |token| match asked.rarity.get(token) {
        Some(rare) => {
            said += rare;
            all += rare;
        }
        None => all += common * 3.0,
    });
    if all <= 0.0 {
        return 0.0;
    }
    let of_query = said / asked.total.max(1e-6);
    (said / all) * (0.5 + 0.5 * of_query.min(1.0))
}

/// Whether a text gives others something of this name (in small letters, without separators) that is defined elsewhere.
fn hands_on(text: &str, name: &str) -> bool {
    let begins = |line: &str| {
        let line = line.trim_start();
        let is_use = line.starts_with("pub") && line.split_whitespace().nth(1) == Some("use");
        let is_export = line.starts_with("export {") || line.starts_with("export type {");
        is_use || is_export || (line.starts_with("from ") && line.contains(" import "))
    };
    let (mut open, mut is_inside) = (0, false);
    for line in text.lines() {
        is_inside = is_inside || begins(line);
        if !is_inside {
            continue;
        }
        if line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| fold(word) == name) {
            return true;
        }
        for letter in line.chars() {
            match letter {
                '(' | '{' => open += 1,
                ')' | '}' => open -= 1,
                _ => {}
            }
        }
        open = open.max(0);
        is_inside = open > 0;
    }
    false
}

/// Several good chunks of one file support the best of them.
fn support(ranked: &mut [Ranked]) {
    let mut sums: HashMap<usize, (f32, f32)> = HashMap::new();
    // An outline only repeats what the others say.
    for ranked in ranked.iter().filter(|ranked| ranked.record.entries[ranked.entry].kind != ChunkKind::Symbols) {
        let (sum, best) = sums.entry(ranked.file).or_default();
        *sum += ranked.score;
        *best = best.max(ranked.score);
    }
    let others = |sum: f32, best: f32| (sum - best) / (1.0 + sum - best);
    for ranked in ranked.iter_mut() {
        let (sum, best) = sums.get(&ranked.file).copied().unwrap_or_default();
        let value = SUPPORT * others(sum, best) * (ranked.score / best.max(1e-6)).min(1.0);
        if value > 0.001 {
            ranked.score += value;
            ranked.explanation.rules.push(("others of its file fit too", Effect::Adds(value)));
        }
    }
}

/// Whether a chunk stands in a module of tests inside a source file.
fn in_tests(entry: &Entry<ChunkId>) -> bool {
    let is_tests = |name: &str| name.split("::").any(|part| matches!(part, "tests" | "test" | "Tests"));
    entry.container.as_deref().is_some_and(is_tests) || entry.name.as_deref().is_some_and(|name| name == "tests")
}

fn role_rule(role: Role) -> &'static str {
    match role {
        Role::Test => "a test",
        Role::Example => "an example",
        Role::Bench => "a benchmark",
        Role::Vendored => "not the project's own",
        Role::Compatibility => "kept for compatibility",
        Role::Declarations => "only declarations",
        Role::Document => "a document",
        Role::Source => "source",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_handed_on_by_a_statement_that_exports_it() {
        for text in [
            "mod a;\npub use a::{\n    Other, FromRequest,\n};\n",
            "pub(crate) use a::FromRequest as It;",
            "from .a import (\n    other,\n    from_request,\n)\n",
            "export { FromRequest } from './a'",
        ] {
            assert!(hands_on(text, "fromrequest"), "{text}");
        }
        for text in [
            "use a::FromRequest;",
            "pub use a::FromRequestParts;\nstruct A(FromRequest);",
            "pub use a::{\n    Other,\n};\nimpl FromRequest for A {}",
            "export function a(b: FromRequest) {}",
            "}}}\npub use a::B;\nimpl FromRequest",
        ] {
            assert!(!hands_on(text, "fromrequest"), "{text}");
        }
    }
}
