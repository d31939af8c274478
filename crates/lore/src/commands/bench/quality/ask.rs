//! Asks one question in every way: once for the ranks, once as a user does for the time and the length.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use lore_bench::{Found, Question, RESULTS, Reading, Score, WAYS, Way, first_right, results_end, score};
use lore_core::{
    Lore,
    search::{CodeAnswer, CodeHit, CodeRequest, estimate_tokens},
};
use lore_model::{Code, CommitId, Failure, Repo};

use super::super::{agent, parts::parts};

/// The ways that users are shown, the current settings last.
pub(super) fn ways() -> impl DoubleEndedIterator<Item = &'static Way> {
    WAYS.iter().filter(|way| way.about.is_some())
}

/// A question with its answer in each of [`ways`].
pub(super) struct Asked {
    pub(super) question: Question,
    pub(super) answers: Vec<Answered>,
}

/// How it was answered in one way.
pub(super) struct Answered {
    pub(super) score: Score,
    pub(super) took: Duration,
    pub(super) reading: Reading,
}

/// Who asks.
pub(super) struct Asker<'a> {
    pub(super) lore: &'a Arc<Lore>,
    pub(super) repo: &'a Repo,
    pub(super) place: &'a Path,
    /// The commit that has to be searched.
    pub(super) at: CommitId,
}

impl Asker<'_> {
    pub(super) fn ask(&self, question: &Question) -> Result<Asked, Failure> {
        let text = agent::text(self.lore, self.place.to_owned(), &question.query, None, None)?;
        let mut answers = Vec::new();
        for way in ways() {
            answers.push(self.ask_one(question, way, &text)?);
        }
        Ok(Asked { question: question.clone(), answers })
    }

    /// Asks in one way; `text` is what an agent gets with the current settings.
    fn ask_one(&self, question: &Question, way: &Way, text: &str) -> Result<Answered, Failure> {
        let internal = |message: String| Failure::new(Code::Internal, message);
        // The first question after a sync opens the index; the one that is timed is never the first.
        let mut request = CodeRequest::new(&question.query, vec![(self.repo.clone(), None)]);
        request.parts = parts(way.parts).map_err(internal)?;
        let ranked = self.lore.search.query.search(&CodeRequest { limit: RESULTS, ..request.clone() })?;
        self.check(&ranked)?;
        let started = Instant::now();
        let mut shown = self.lore.search.query.search(&request)?;
        let took = started.elapsed();
        shown.shorten();
        let found: Vec<Found> = ranked.hits.iter().map(found).collect();
        let is_current = way.name == lore_bench::ALL;
        Ok(Answered { score: score(&found, question), took, reading: reading(&shown, question, text, is_current) })
    }

    fn check(&self, answer: &CodeAnswer) -> Result<(), Failure> {
        let searched = answer.freshness.first().and_then(|fresh| fresh.commit);
        if searched == Some(self.at) {
            return Ok(());
        }
        let searched = searched.map_or_else(|| "nothing".to_owned(), |commit| commit.to_hex());
        Err(Failure::new(Code::Internal, format!("{searched} was searched instead of {}", self.at)))
    }
}

pub(super) fn found(hit: &CodeHit) -> Found {
    Found {
        path: hit.path.to_text().into_owned(),
        also_at: hit.also_at.iter().map(|path| path.to_text().into_owned()).collect(),
        lines: (hit.lines.0.into(), hit.lines.1.into()),
    }
}

/// How far an agent reads.
///
/// With the current settings, that is a part of the text. Other settings have no text, since no agent can choose them: there
/// a result counts as its own text with a frame as large as that of the current answer's results on average.
fn reading(answer: &CodeAnswer, question: &Question, text: &str, is_current: bool) -> Reading {
    let results: Vec<Found> = answer.hits.iter().map(found).collect();
    let right = first_right(&results, &question.relevant);
    let ends = results_end(text).unwrap_or_default();
    let exact = is_current && ends.len() == answer.hits.len();
    let tokens = match right {
        Some(right) if exact => estimate_tokens(&text[..ends[right]]),
        None if exact => estimate_tokens(text),
        right => {
            let read = right.map_or(answer.hits.len(), |right| right + 1);
            let texts: usize = answer.hits.iter().take(read).map(agent::text_tokens).sum();
            texts + read * frame(text)
        }
    };
    Reading { tokens, found: right.is_some() }
}

/// How many tokens of a text there are for each result beside the result's own text.
fn frame(text: &str) -> usize {
    let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let results = value["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: usize = results.iter().map(|result| estimate_tokens(&result["chunk"]["text"].to_string())).sum();
    estimate_tokens(text).saturating_sub(texts).checked_div(results.len()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_frame_is_what_is_not_text() {
        let text = json!({"results": [{"chunk": {"text": "abc"}}, {"chunk": {"text": "\n"}}]}).to_string();
        let texts = estimate_tokens("\"abc\"") + estimate_tokens("\"\\n\"");
        assert_eq!(frame(&text), (estimate_tokens(&text) - texts) / 2);
        assert_eq!(frame("{\"results\":[]}"), 0);
        assert_eq!(frame("nothing"), 0);
    }
}
