//! A second model beside the built-in one: what it says of a question.
//!
//! Nothing depends on it. While it cannot be asked, or has no vectors yet, answers are those of the built-in model, and
//! say so.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use lore_embed::{EmbedError, Embedder};
use lore_model::Failure;
use lore_store::{SnapshotId, ViewVectors};

use super::{Loaded, index::embed_failure};

/// After a failure the model is left alone for this time, after each further one twice as long, up to the longest.
const PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The vectors of so many questions are remembered.
const REMEMBERED: usize = 256;

/// A question and its vector.
type Known = (String, Arc<[f32]>);

/// The second model, and what is remembered of it.
pub struct Second {
    pub(super) embedder: Arc<dyn Embedder>,
    /// How long a question may wait for it.
    limit: Duration,
    /// Questions, the last asked last.
    known: Mutex<Vec<Known>>,
    failed: Mutex<Option<Failed>>,
    /// Snapshots whose chunks all have vectors.
    pub(super) complete: Mutex<HashSet<SnapshotId>>,
}

/// The last failures in a row.
#[derive(Debug, Clone)]
struct Failed {
    until: Instant,
    times: u32,
    why: String,
}

/// What an answer owes to the second model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecondState {
    /// Its name.
    pub model: String,
    /// How many chunks of what was searched have a vector of it.
    pub covered: usize,
    /// Of how many.
    pub chunks: usize,
    /// Why it was not asked, or gave no answer.
    pub problem: Option<String>,
}

impl SecondState {
    /// How much of the code it covers, rounded down: 100 means all.
    pub fn percent(&self) -> usize {
        (self.covered.min(self.chunks) * 100).checked_div(self.chunks).unwrap_or(100)
    }

    /// What is worth saying, in one sentence; `None` where it has done its part.
    pub fn remark(&self) -> Option<String> {
        match &self.problem {
            Some(why) => Some(format!("{} was not asked, the built-in model answers: {why}", self.model)),
            None if self.covered < self.chunks => {
                Some(format!("{} covers {} % of the code: `lore sync` goes on", self.model, self.percent()))
            }
            None => None,
        }
    }
}

/// A question to the vectors of a view.
pub(super) struct SecondQuery {
    pub(super) vectors: Arc<dyn ViewVectors>,
    pub(super) vector: Arc<[f32]>,
}

impl Second {
    /// Uses this model; a question waits for it so long at most.
    pub fn new(embedder: Arc<dyn Embedder>, limit: Duration) -> Self {
        Self { embedder, limit, known: Mutex::default(), failed: Mutex::default(), complete: Mutex::default() }
    }

    /// The name of the model.
    pub fn model(&self) -> &str {
        self.embedder.model()
    }

    /// Asks it for a vector, and tells how long that is.
    pub fn probe(&self) -> Result<usize, Failure> {
        let vector = self.embedder.embed_query("hello", super::CHOSEN_WAIT).map_err(embed_failure)?;
        Ok(vector.len())
    }

    /// Asks it, where it has vectors for what is searched.
    pub(super) fn ask(
        &self,
        loaded: &Loaded,
        vectors: Option<Arc<dyn ViewVectors>>,
        text: &str,
    ) -> (SecondState, Option<SecondQuery>) {
        let covered = vectors.as_ref().map_or(0, |vectors| vectors.covered());
        let model = self.model().to_owned();
        let mut state = SecondState { model, covered, chunks: loaded.meant(), problem: None };
        let Some(vectors) = vectors.filter(|_| covered > 0) else { return (state, None) };
        match self.vector(text) {
            Ok(vector) if vector.len() == vectors.dimensions() => {
                let is_known = vector.iter().any(|value| *value != 0.0);
                (state, is_known.then_some(SecondQuery { vectors, vector }))
            }
            Ok(vector) => {
                let (got, kept) = (vector.len(), vectors.dimensions());
                state.problem = Some(format!("it gives vectors of {got} dimensions, those that are kept have {kept}"));
                (state, None)
            }
            Err(why) => {
                state.problem = Some(why);
                (state, None)
            }
        }
    }

    /// The vector of a question, or why there is none.
    fn vector(&self, text: &str) -> Result<Arc<[f32]>, String> {
        if let Some(vector) = self.remembered(text) {
            return Ok(vector);
        }
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(failed) = failed.as_ref().filter(|failed| failed.until > Instant::now()) {
            return Err(failed.why.clone());
        }
        let answer = match self.embedder.embed_query(text, self.limit) {
            Err(EmbedError::Cancelled) => return Err(EmbedError::Cancelled.to_string()),
            answer => answer.map_err(|error| error.to_string()),
        };
        let mut note = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match answer {
            Ok(vector) => {
                *note = None;
                drop(note);
                let vector: Arc<[f32]> = vector.into();
                self.remember(text, &vector);
                Ok(vector)
            }
            Err(why) => {
                let times = failed.map_or(0, |failed| failed.times);
                let pause = (PAUSE * 2_u32.pow(times.min(8))).min(LONGEST_PAUSE);
                tracing::warn!(model = self.model(), %why, "the second model gave no answer");
                *note = Some(Failed { until: Instant::now() + pause, times: times + 1, why: why.clone() });
                Err(why)
            }
        }
    }

    fn remembered(&self, text: &str) -> Option<Arc<[f32]>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let at = known.iter().position(|(asked, _)| asked == text)?;
        let found = known.remove(at);
        let vector = Arc::clone(&found.1);
        known.push(found);
        Some(vector)
    }

    fn remember(&self, text: &str, vector: &Arc<[f32]>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.remove(0);
        }
        known.push((text.to_owned(), Arc::clone(vector)));
    }
}
