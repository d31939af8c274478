//! The parts that answers have in common.

use lore_core::{
    history::{FreshState, Freshness},
    search::{CodeFreshness, estimate_tokens},
};
use lore_model::{Failure, escape_controls};
use serde_json::{Map, Value, json};

use crate::{Answer, Body, Receipt, cold::history_notice};

/// Names of repositories that are listed before the rest is only counted.
const LISTED_MAX: usize = 50;

/// Puts an answer together: the contract's value, and beside it what its text cannot carry.
pub(crate) struct AnswerBuilder {
    body: Body,
    structured: Map<String, Value>,
    meta: Map<String, Value>,
    remarks: Vec<String>,
    failure: Option<Failure>,
    receipt: Option<Receipt>,
}

impl AnswerBuilder {
    /// A list, found under `results` in the structured part.
    pub(crate) fn list(results: Vec<Value>) -> Self {
        let structured = Map::from_iter([("results".to_owned(), Value::Array(results.clone()))]);
        Self::new(Body::Json(Value::Array(results)), structured)
    }

    /// An object, whose fields are those of the structured part too.
    pub(crate) fn object(fields: Map<String, Value>) -> Self {
        Self::new(Body::Json(Value::Object(fields.clone())), fields)
    }

    /// A text, with these fields in the structured part.
    pub(crate) fn text(text: String, fields: Map<String, Value>) -> Self {
        Self::new(Body::Text(text), fields)
    }

    /// The contract's object for a failure.
    pub(crate) fn failed(fields: Map<String, Value>, failure: Failure) -> Self {
        Self { failure: Some(failure), ..Self::object(fields) }
    }

    fn new(body: Body, structured: Map<String, Value>) -> Self {
        Self { body, structured, meta: Map::new(), remarks: Vec::new(), failure: None, receipt: None }
    }

    /// Says something that the reader must know besides.
    pub(crate) fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }

    /// Says what the text is to its reader, where it is more than text of a repository.
    pub(crate) fn content(&mut self, what: &str) {
        self.meta.insert("lore/content".to_owned(), what.into());
    }

    /// Tells somebody when the answer is out.
    pub(crate) fn receipt(&mut self, receipt: Receipt) {
        self.receipt = Some(receipt);
    }

    /// Says something about the answer.
    pub(crate) fn note(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        self.structured.insert(key.to_owned(), value.clone());
        self.meta.insert(format!("lore/{key}"), value);
    }

    /// Says it where it holds.
    pub(crate) fn note_if(&mut self, holds: bool, key: &str, value: impl Into<Value>) {
        if holds {
            self.note(key, value);
        }
    }

    /// Says what the reader must know besides, for programs too.
    pub(crate) fn notes(&mut self, notes: &[String]) {
        self.note_if(!notes.is_empty(), "notes", notes.to_vec());
        for note in notes {
            self.remark(note);
        }
    }

    /// Adds how fresh the index is; repositories in `mentioned` are listed in any case.
    pub(crate) fn finish(mut self, freshness: &Freshness, mentioned: &dyn Fn(&str) -> bool) -> Answer {
        self.note("freshness", freshness_json(freshness, mentioned));
        self.remarks.extend(history_notice(freshness));
        self.done()
    }

    /// The answer, where the index has no part in it.
    pub(crate) fn done(self) -> Answer {
        let Self { body, structured, meta, remarks, failure, receipt } = self;
        Answer { body, structured, meta, remarks, failure, receipt }
    }
}

/// Repositories that the answer mentions or that are not current, each with its state; the others are only counted.
fn freshness_json(freshness: &Freshness, mentioned: &dyn Fn(&str) -> bool) -> Value {
    let (listed, others): (Vec<_>, Vec<_>) =
        freshness.repos.iter().partition(|repo| repo.state != FreshState::Current || mentioned(&repo.name));
    let rows = listed.iter().take(LISTED_MAX).map(|repo| {
        json!({
            "repo": repo.name,
            "state": repo.state.as_str(),
            "head": repo.head.map(|head| head.to_hex()),
            "last_synced_at": repo.last_synced_at,
        })
    });
    let names = |state: FreshState| -> Vec<&str> {
        listed.iter().filter(|repo| repo.state == state).map(|repo| repo.name.as_str()).take(LISTED_MAX).collect()
    };
    let mut object = Map::new();
    for state in [FreshState::Stale, FreshState::Partial, FreshState::NeverSynced, FreshState::Missing] {
        let names = names(state);
        if !names.is_empty() {
            object.insert(state.as_str().to_owned(), json!(names));
        }
    }
    object.insert("repos".to_owned(), rows.collect());
    let unlisted = others.len() + listed.len().saturating_sub(LISTED_MAX);
    if unlisted > 0 {
        object.insert("other_repos".to_owned(), json!(unlisted));
    }
    Value::Object(object)
}

/// What is said of repositories of which nothing can be found yet, where there are some.
pub(crate) fn nothing_committed(freshness: &[CodeFreshness]) -> Option<String> {
    let names: Vec<&str> =
        freshness.iter().filter(|fresh| fresh.has_nothing()).map(|fresh| fresh.repo.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!("no indexed branch of {} has a commit: code is searched from the first commit on", names.join(", "))
    })
}

/// How many tokens a value is as text, with a comma behind it. What is invisible is shown, which takes more room.
pub(crate) fn size(value: &Value) -> usize {
    let text = value.to_string();
    estimate_tokens(&escape_controls(&text)) + 2 * text.matches("\\u00").count() + 1
}
