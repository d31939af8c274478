//! What a server has promised: kept by those who were promised it, and compared with what it says after a kill.
//!
//! What was acknowledged must be there. What was under way when the connection broke may be there or not.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

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

/// What a job says of itself when the server died while it was being done.
const DIED: &str = "waits to be tried again: the server stopped while it was being done";

/// A job that was acknowledged.
#[derive(Debug, Clone)]
pub(super) struct KnownJob {
    /// How often the server had been killed before.
    since: usize,
    /// How it ended, once that has been seen.
    pub(super) ended: Option<Value>,
}

/// Jobs that were acknowledged, and how each ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Jobs {
    pub(super) known: BTreeMap<String, KnownJob>,
    /// So many more may be there.
    pub(super) unsure: usize,
    /// How often the server was killed so far.
    pub(super) kills: usize,
}

impl Jobs {
    pub(super) fn note(&mut self, outcome: &Result<Value, Fault>) {
        match outcome {
            Ok(answer) => {
                if let Some(id) = answer["job_id"].as_str() {
                    // Whoever asks twice for what has not begun gets the same job.
                    let known = KnownJob { since: self.kills, ended: None };
                    self.known.entry(id.to_owned()).or_insert(known);
                }
            }
            Err(fault) => self.unsure += usize::from(fault.is_unsure()),
        }
    }

    /// How a job ended, where that has been seen.
    pub(super) fn over(&self, id: &str) -> Option<String> {
        self.known.get(id)?.ended.as_ref()?["status"].as_str().map(str::to_owned)
    }

    /// Asks for every job; gives those that are lost, and those that were begun or ended once too often.
    pub(super) fn look(&mut self, client: &mut Client) -> Result<(Vec<String>, Vec<String>), Fault> {
        let (mut lost, mut twice) = (Vec::new(), Vec::new());
        for (id, known) in &mut self.known {
            let mut answer = match client.tool("get_job_details", &json!({"job_id": id})) {
                Err(Fault::Failed(why)) => {
                    lost.push(format!("job {id}: {why}"));
                    continue;
                }
                answer => answer?,
            };
            let job = answer["job"].take();
            match &known.ended {
                Some(before) if *before != job => twice.push(format!("job {id} was {before} and is {job}")),
                Some(_) => {}
                None if matches!(job["status"].as_str(), Some("pending" | "running")) => {}
                None => {
                    let logs = answer["logs"].as_array().map_or(&[][..], Vec::as_slice);
                    twice.extend(begun_too_often(&job, logs, self.kills - known.since));
                    known.ended = Some(job);
                }
            }
        }
        Ok((lost, twice))
    }

    /// Whether all of them are over.
    pub(super) fn are_over(&self) -> bool {
        self.known.values().all(|known| known.ended.is_some())
    }
}

/// A job is begun once, and once more for each time that the server died while it was being done. What has nothing to do is
/// never begun.
fn begun_too_often(job: &Value, logs: &[Value], kills: usize) -> Option<String> {
    let deaths = logs.iter().filter(|line| line["text"] == DIED).count();
    let Some(begun) = job["attempts"].as_u64().and_then(|begun| usize::try_from(begun).ok()) else {
        return Some(format!("nobody knows how often it was begun: {job}"));
    };
    let is_right = begun <= deaths + 1 && deaths <= begun && deaths <= kills;
    (!is_right).then(|| format!("begun {begun} times, with {deaths} deaths of {kills}: {job}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_begun_again_only_where_the_server_died() {
        let died = json!({"at": "2024-01-01T00:00:00Z", "text": DIED});
        let said = json!({"at": "2024-01-01T00:00:00Z", "text": "fetches"});
        let is_wrong = |begun: usize, deaths: usize, kills: usize| {
            let logs: Vec<Value> = std::iter::repeat_n(died.clone(), deaths).chain([said.clone()]).collect();
            begun_too_often(&json!({"attempts": begun}), &logs, kills).is_some()
        };
        for (begun, deaths, kills) in [(0, 0, 3), (1, 0, 3), (2, 1, 3), (1, 1, 1), (4, 3, 3)] {
            assert!(!is_wrong(begun, deaths, kills), "{begun} {deaths} {kills}");
        }
        for (begun, deaths, kills) in [(2, 0, 3), (3, 1, 3), (3, 2, 1), (0, 1, 1)] {
            assert!(is_wrong(begun, deaths, kills), "{begun} {deaths} {kills}");
        }
    }
}
