//! What a server has promised: kept by those who were promised it, and compared with what it says after a kill.
//!
//! What was acknowledged must be there. What was under way when the connection broke may be there or not.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Client, Fault};

/// What is behind an alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing.
    Absent,
    /// One golden repository on a branch.
    Single(String, String),
    /// Several golden repositories.
    Composite(Vec<String>),
}

/// What is known about an alias.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) sure: State,
    /// The answer never came: this may be so at any later time.
    pub(super) maybe: Vec<State>,
    /// This will be so when that job is completed.
    pub(super) later: Option<(String, State)>,
}

impl Known {
    /// Whether it can be acted on further: nothing is open.
    pub(super) fn is_settled(&self) -> bool {
        self.maybe.is_empty() && self.later.is_none()
    }
}

/// Aliases of one user, or the golden repositories of the server.
#[derive(Debug, Clone, Default)]
pub(super) struct Aliases(pub(super) BTreeMap<String, Known>);

impl Aliases {
    /// Takes down what came of an act that was to bring an alias into a state.
    pub(super) fn note(&mut self, alias: &str, wanted: State, outcome: &Result<Value, Fault>, jobs: &mut Jobs) {
        let entry = self.0.entry(alias.to_owned());
        let known = entry.or_insert(Known { sure: State::Absent, maybe: Vec::new(), later: None });
        match outcome {
            Ok(answer) => match answer["job_id"].as_str() {
                Some(id) if answer["status"] != "completed" => known.later = Some((id.to_owned(), wanted)),
                _ => known.sure = wanted,
            },
            Err(fault) if fault.is_unsure() => known.maybe.push(wanted),
            Err(_) => {}
        }
        jobs.note(outcome);
    }

    /// How what there is differs from what there must be. `over` gives how a job ended, where it has.
    pub(super) fn compare(
        &mut self,
        whose: &str,
        found: &BTreeMap<String, State>,
        over: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        for (alias, known) in &mut self.0 {
            let mut possible = known.maybe.clone();
            if let Some((job, wanted)) = known.later.take() {
                match over(&job).as_deref() {
                    Some("completed") => known.sure = wanted,
                    Some(_) => {}
                    None => {
                        possible.push(wanted.clone());
                        known.later = Some((job, wanted));
                    }
                }
            }
            possible.push(known.sure.clone());
            let is = found.get(alias).unwrap_or(&State::Absent);
            if !possible.contains(is) {
                wrong.push(format!("`{alias}` of {whose} is {is:?}, and must be one of {possible:?}"));
            }
        }
        for alias in found.keys().filter(|alias| !self.0.contains_key(*alias)) {
            wrong.push(format!("`{alias}` of {whose} is there, and nobody asked for it"));
        }
        wrong
    }
}

/// Jobs that were acknowledged, and how each ended, once that has been seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Jobs {
    pub(super) known: BTreeMap<String, Option<Value>>,
    /// So many more may be there.
    pub(super) unsure: usize,
}

impl Jobs {
    pub(super) fn note(&mut self, outcome: &Result<Value, Fault>) {
        match outcome {
            Ok(answer) => self.known.extend(answer["job_id"].as_str().map(|id| (id.to_owned(), None))),
            Err(fault) => self.unsure += usize::from(fault.is_unsure()),
        }
    }

    /// How a job ended, where that has been seen.
    pub(super) fn over(&self, id: &str) -> Option<String> {
        self.known.get(id)?.as_ref()?["status"].as_str().map(str::to_owned)
    }

    /// Asks for every job; gives those that are lost and those that were over and are now something else.
    pub(super) fn look(&mut self, client: &mut Client) -> Result<(Vec<String>, Vec<String>), Fault> {
        let (mut lost, mut twice) = (Vec::new(), Vec::new());
        for (id, ended) in &mut self.known {
            let job = match client.rest("GET", &format!("/api/jobs/{id}"), None) {
                Ok(mut answer) => answer["job"].take(),
                Err(Fault::Refused(404, why)) => {
                    lost.push(format!("job {id}: {why}"));
                    continue;
                }
                Err(fault) => return Err(fault),
            };
            match ended {
                Some(before) if *before != job => twice.push(format!("job {id} was {before} and is {job}")),
                Some(_) => {}
                None if matches!(job["status"].as_str(), Some("pending" | "running")) => {}
                None => *ended = Some(job),
            }
        }
        Ok((lost, twice))
    }

    /// Whether all of them are over.
    pub(super) fn are_over(&self) -> bool {
        self.known.values().all(Option::is_some)
    }
}

/// Names that were made: users, tokens.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    pub(super) sure: BTreeSet<String>,
    pub(super) maybe: BTreeSet<String>,
}

impl Names {
    pub(super) fn note(&mut self, name: &str, outcome: &Result<Value, Fault>) {
        match outcome {
            Ok(_) => _ = self.sure.insert(name.to_owned()),
            Err(fault) if fault.is_unsure() => _ = self.maybe.insert(name.to_owned()),
            Err(_) => {}
        }
    }

    /// How a list of names differs: those that are missing, and those that nobody made or that are there twice.
    pub(super) fn compare(&self, what: &str, found: &[String]) -> (Vec<String>, Vec<String>) {
        let is_there: BTreeSet<&String> = found.iter().collect();
        let missing = self.sure.iter().filter(|name| !is_there.contains(name));
        let lost = missing.map(|name| format!("{what} `{name}` is lost")).collect();
        let mut extra: Vec<String> = is_there
            .iter()
            .filter(|name| !self.sure.contains(**name) && !self.maybe.contains(**name))
            .map(|name| format!("{what} `{name}` was made by nobody"))
            .collect();
        if is_there.len() < found.len() {
            extra.push(format!("{what}s are there twice"));
        }
        (lost, extra)
    }
}
