//! What users and an admin do to a server until it dies.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{
    Client, Fault,
    load::PASSWORD,
    model::{Aliases, Jobs, Names, State},
};
use crate::Random;

/// The golden repositories that are there from the beginning: alias, and branches beside `main`.
pub(super) type Golden = (String, Vec<String>);

/// So many jobs of one user may wait, and no more: then this is said, and it is no fault.
const BUSY: &str = " jobs of yours are not finished: wait for them, or cancel some";

/// A user with what they were promised.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) token: String,
    pub(super) aliases: Aliases,
    pub(super) jobs: Jobs,
    pub(super) random: Random,
    pub(super) made: usize,
    pub(super) asked: usize,
    /// Answers that were failures although nothing was wrong with the question.
    pub(super) faults: Vec<String>,
}

impl Member {
    /// Acts until the connection breaks.
    pub(super) fn act(&mut self, client: &mut Client, golden: &[Golden]) {
        while self.step(client, golden).is_ok() {}
    }

    fn step(&mut self, client: &mut Client, golden: &[Golden]) -> Result<(), Fault> {
        let (alias, branches) = self.random.pick(golden).clone();
        let branch = self.random.pick(&branches).clone();
        let settled: Vec<(String, State)> = self
            .aliases
            .0
            .iter()
            .filter(|(_, known)| known.is_settled() && known.sure != State::Absent)
            .map(|(name, known)| (name.clone(), known.sure.clone()))
            .collect();
        let own = (!settled.is_empty()).then(|| self.random.pick(&settled).clone());
        let (name, tool, arguments, wanted) = match (self.random.below(10), own) {
            (0, _) => {
                self.made += 1;
                let (name, state) = (format!("own-{}", self.made), State::Single(alias.clone(), branch.clone()));
                let asked = json!({"golden_repo_alias": alias, "branch_name": branch, "user_alias": name});
                (name, "activate_repository", asked, state)
            }
            (1, _) => {
                self.made += 1;
                let name = format!("all-{}", self.made);
                let names: Vec<String> = golden.iter().map(|(alias, _)| alias.clone()).collect();
                let asked = json!({"operation": "create", "user_alias": name, "golden_repo_aliases": names});
                (name, "manage_composite_repository", asked, State::Composite(names))
            }
            (2, Some((name, State::Single(of, _)))) => {
                let branches = golden.iter().find(|(alias, _)| *alias == of).map(|(_, branches)| branches.as_slice());
                let branch = self.random.pick(branches.unwrap_or_default()).clone();
                let asked = json!({"user_alias": name, "branch_name": branch});
                (name, "switch_branch", asked, State::Single(of, branch))
            }
            (3, Some((name, _))) if settled.len() > 6 => {
                let asked = json!({"user_alias": name});
                (name, "deactivate_repository", asked, State::Absent)
            }
            (_, own) => return self.ask(client, &own.map_or(alias, |(name, _)| name)),
        };
        let outcome = client.tool(tool, &arguments);
        self.aliases.note(&name, wanted, &outcome, &mut self.jobs);
        match outcome {
            Err(Fault::Failed(why)) if why.contains(BUSY) => Ok(()),
            outcome => self.settle(&format!("{tool} {arguments}"), outcome),
        }
    }

    fn ask(&mut self, client: &mut Client, alias: &str) -> Result<(), Fault> {
        let mode = *self.random.pick(&["hybrid", "semantic", "fts"]);
        let query = *self.random.pick(&["parse the token", "merge session", "limit", "refresh each branch"]);
        let asked = json!({"query_text": query, "search_mode": mode, "repository_alias": alias});
        let outcome = client.tool("search_code", &asked);
        self.asked += 1;
        self.settle(&format!("search_code {asked}"), outcome)
    }

    fn settle(&mut self, what: &str, outcome: Result<Value, Fault>) -> Result<(), Fault> {
        match outcome {
            Ok(_) => Ok(()),
            Err(fault @ Fault::Lost(_)) => Err(fault),
            Err(fault) => {
                self.faults.push(format!("{}: {what}: {fault}", self.name));
                Ok(())
            }
        }
    }
}

/// So many tokens the admin makes: a few less than a server lets one user have.
const TOKENS: usize = 190;

/// The admin with what was promised to them.
#[derive(Debug)]
pub(super) struct Admin {
    pub(super) token: String,
    pub(super) users: Names,
    /// By name; those that were acknowledged, with their secrets.
    pub(super) tokens: Names,
    pub(super) secrets: Vec<(String, String)>,
    pub(super) added: Names,
    pub(super) golden: Aliases,
    pub(super) jobs: Jobs,
    pub(super) random: Random,
    pub(super) made: usize,
    pub(super) source: PathBuf,
    pub(super) faults: Vec<String>,
}

impl Admin {
    /// Acts until the connection breaks.
    pub(super) fn act(&mut self, client: &mut Client, golden: &[Golden]) {
        loop {
            let outcome = self.step(client, golden);
            match outcome {
                Err(Fault::Lost(_)) => return,
                Ok(_) => {}
                Err(Fault::Refused(_, why)) if why.contains(BUSY) => {}
                Err(fault) => self.faults.push(format!("admin: {fault}")),
            }
        }
    }

    fn step(&mut self, client: &mut Client, golden: &[Golden]) -> Result<Value, Fault> {
        self.made += 1;
        match self.random.below(8) {
            0 => {
                let name = format!("user{}", self.made);
                let asked = json!({"username": name, "password": PASSWORD, "role": "normal_user"});
                let outcome = client.rest("POST", "/api/users", Some(&asked));
                self.users.note(&name, &outcome);
                outcome
            }
            // A user may have so many, and no more.
            1 | 2 if self.tokens.sure.len() + self.tokens.maybe.len() < TOKENS => {
                let name = format!("token{}", self.made);
                let outcome = client.rest("POST", "/api/tokens", Some(&json!({"name": name})));
                self.tokens.note(&name, &outcome);
                let secret = outcome.as_ref().ok().and_then(|made| made["token"].as_str());
                self.secrets.extend(secret.map(|secret| (name, secret.to_owned())));
                outcome
            }
            3 => {
                let name = format!("extra{}", self.made);
                let asked = json!({"url": self.source, "alias": name});
                let outcome = client.rest("POST", "/api/golden", Some(&asked));
                self.added.note(&name, &outcome);
                let wanted = State::Single(name.clone(), "ready".to_owned());
                self.golden.note(&name, wanted, &outcome, &mut self.jobs);
                outcome
            }
            4 => {
                let settled = self.golden.0.iter().filter(|(_, known)| known.is_settled());
                let there: Vec<String> =
                    settled.filter(|(_, known)| known.sure != State::Absent).map(|(name, _)| name.clone()).collect();
                if there.len() < 3 {
                    return Ok(Value::Null);
                }
                let name = self.random.pick(&there).clone();
                let outcome = client.rest("DELETE", &format!("/api/golden/{name}?force=true"), None);
                self.golden.note(&name, State::Absent, &outcome, &mut self.jobs);
                outcome
            }
            _ => {
                let (alias, _) = self.random.pick(golden);
                let outcome = client.rest("POST", &format!("/api/golden/{alias}/refresh"), None);
                self.jobs.note(&outcome);
                outcome
            }
        }
    }
}
