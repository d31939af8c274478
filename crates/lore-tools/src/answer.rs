//! The parts that answers have in common.

use lore_core::{
    history::{FreshState, Freshness},
    search::{CodeFreshness, CodeState, estimate_tokens},
};
use lore_model::{Failure, escape_controls};
use serde_json::{Map, Value, json};

use crate::{
    Answer, Body, Content, Receipt,
    cold::{code_notice, history_notice},
};

/// Names of repositories that are listed before the rest is only counted.
const LISTED_MAX: usize = 50;

/// Names of repositories that a model is told before the rest is only counted.
const STATES_MAX: usize = 5;

/// Puts an answer together: the contract's value, and beside it what its text cannot carry.
pub(crate) struct AnswerBuilder(Answer);

impl AnswerBuilder {
    /// A list of text from repositories.
    pub(crate) fn list(results: Vec<Value>) -> Self {
        let content = Content::Repository.unless(results.is_empty());
        Self(Answer::json(results.into())).content(content)
    }

    /// An object that holds text of repositories.
    pub(crate) fn object(fields: Map<String, Value>) -> Self {
        Self(Answer::json(fields.into()))
    }

    /// A text as it is.
    pub(crate) fn text(text: String) -> Self {
        Self(Answer { body: Body::Text(text), ..Answer::json(Value::Null) })
    }

    /// The contract's object for a failure.
    pub(crate) fn failed(fields: Map<String, Value>, failure: Failure) -> Self {
        let mut answer = Self::object(fields).content(Content::Own);
        answer.0.failure = Some(failure);
        answer
    }

    /// Says something that the reader must know besides.
    pub(crate) fn remark(&mut self, text: impl Into<String>) {
        self.0.remarks.push(text.into());
    }

    /// Says whose words the body carries.
    #[must_use]
    pub(crate) fn content(mut self, content: Content) -> Self {
        self.0.content = content;
        self
    }

    /// Says that a remark repeats text of a repository.
    pub(crate) fn quote_repository(&mut self) {
        if self.0.content == Content::Own {
            self.0.content = Content::Repository;
        }
    }

    /// Tells somebody when the answer is out.
    pub(crate) fn receipt(&mut self, receipt: Receipt) {
        self.0.receipt = Some(receipt);
    }

    /// Says something about the answer, to programs.
    pub(crate) fn note(&mut self, key: &str, value: impl Into<Value>) {
        self.0.meta.insert(format!("lore/{key}"), value.into());
    }

    /// Says something about the answer that a model must know too, with these words.
    pub(crate) fn note_text(&mut self, key: &str, value: impl Into<Value>, words: impl Into<String>) {
        self.note(key, value);
        self.remark(words);
    }

    /// The same where it holds.
    pub(crate) fn note_text_if(&mut self, holds: bool, key: &str, value: impl Into<Value>, words: impl Into<String>) {
        if holds {
            self.note_text(key, value, words);
        }
    }

    /// Says it to programs where it holds.
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

    /// Says that the whole history was searched and nothing was found. Where the index is not current, that is said instead.
    pub(crate) fn nothing_found(&mut self, what: &str, freshness: &Freshness) {
        let names: Vec<&str> = freshness.repos.iter().map(|repo| repo.name.as_str()).collect();
        if freshness.repos.iter().all(|repo| repo.state == FreshState::Current) && !names.is_empty() {
            let more = names.len().saturating_sub(STATES_MAX);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            self.remark(format!("{what} in the history of {}{more}", names[..names.len().min(STATES_MAX)].join(", ")));
        }
    }

    /// Tells a model where the index of code is not current.
    pub(crate) fn code_states<'a>(&mut self, freshness: impl Iterator<Item = &'a CodeFreshness> + Clone) {
        self.0.remarks.extend(code_notice(freshness.clone()));
        let old = freshness.filter(|fresh| matches!(fresh.state, CodeState::Stale | CodeState::Missing));
        self.remark_state(old.map(|fresh| (fresh.repo.as_str(), fresh.state.as_str())));
    }

    /// Adds how fresh the index is; repositories in `mentioned` are listed in any case.
    pub(crate) fn finish(mut self, freshness: &Freshness, mentioned: &dyn Fn(&str) -> bool) -> Answer {
        self.note("freshness", freshness_json(freshness, mentioned));
        self.0.remarks.extend(history_notice(freshness));
        let is_old = |state| matches!(state, FreshState::Stale | FreshState::Missing);
        let old = freshness.repos.iter().filter(|repo| is_old(repo.state));
        self.remark_state(old.map(|repo| (repo.name.as_str(), repo.state.as_str())));
        self.done()
    }

    /// Tells a model of repositories whose index is not current, each with its state.
    fn remark_state<'a>(&mut self, states: impl Iterator<Item = (&'a str, &'a str)>) {
        let states: Vec<String> = states.map(|(name, state)| format!("{name} ({state})")).collect();
        if !states.is_empty() {
            let more = states.len().saturating_sub(STATES_MAX);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            self.remark(format!("index not current: {}{more}", states[..states.len().min(STATES_MAX)].join(", ")));
        }
    }

    /// The answer, where the index has no part in it.
    pub(crate) fn done(self) -> Answer {
        self.0
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
