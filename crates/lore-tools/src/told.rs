//! What users of a team server are told of how it fares and of what failed: nothing of where its files are, what only an
//! admin can mend under the name that it has in the log, and tools instead of commands on a machine that is not theirs.
//!
//! Answers that are right are not touched: what repositories hold is told as it is.

use std::{error::Error as _, sync::Arc};

use lore_core::Lore;
use lore_model::{Caller, Code, Failure, Permission};
use serde_json::Value;

use crate::{Answer, Body, Context};

/// How a call on a team server tells what went wrong.
pub(crate) struct Telling {
    lore: Arc<Lore>,
    sync: &'static str,
    log_id: Option<String>,
}

impl Context {
    /// A text about how things are, for whoever calls: on one machine as it is.
    pub(crate) fn told(&self, text: &str) -> String {
        Telling::on_server(self).map_or_else(|| text.to_owned(), |telling| telling.text(text))
    }

    /// What the caller can do where the index is behind.
    pub(crate) fn how_to_sync(&self) -> &'static str {
        if self.team.is_some() { sync(self.asked.caller.as_ref()) } else { "run `lore sync`" }
    }
}

fn sync(caller: Option<&Caller>) -> &'static str {
    let may = |permission| caller.is_some_and(|caller| caller.role.may(permission));
    if may(Permission::ManageGoldenRepos) {
        "call `refresh_golden_repo`"
    } else if may(Permission::ActivateRepos) {
        "call `sync_repository` for what you have activated"
    } else {
        "an admin can refresh it"
    }
}

impl Telling {
    /// `None` on one machine, where everything is its user's own.
    pub(crate) fn on_server(context: &Context) -> Option<Self> {
        context.team.as_ref()?;
        Some(Self {
            lore: Arc::clone(&context.lore),
            sync: sync(context.asked.caller.as_ref()),
            log_id: context.asked.log_id.clone(),
        })
    }

    /// What is told of a failure. Where it is the server's own, its words are for the log.
    pub(crate) fn failure(&self, tool: &str, mut failure: Failure) -> Failure {
        let row = failure.code.row();
        let is_own = row.http >= 500;
        if is_own || failure.code == Code::NotARepository {
            let (id, cause) = (self.log_id.as_deref(), failure.source());
            tracing::error!(id, tool, code = row.name, cause, "{failure}");
        }
        if is_own {
            let again = if row.retry { "try again in a while; " } else { "" };
            let log = self.log_id.as_ref().map(|id| format!(" under {id}")).unwrap_or_default();
            return Failure::new(failure.code, row.meaning)
                .hint(format!("{again}an admin finds what happened in the server's log{log}"));
        }
        failure.message = self.text(&failure.message);
        failure.hint = match failure.code {
            // What is named is the server's clone: whoever asks has chosen an alias and no place.
            Code::NotARepository => Some("an admin can look after it: the server's log tells more".to_owned()),
            _ => failure.hint.map(|hint| self.text(&hint)),
        };
        failure
    }

    /// The same for an answer that tells of a failure.
    pub(crate) fn answer(&self, tool: &str, mut answer: Answer) -> Answer {
        let Some(failure) = answer.failure.take() else { return answer };
        let failure = self.failure(tool, failure);
        match &mut answer.body {
            Body::Json(value) => {
                if let Value::Object(fields) = value
                    && fields.contains_key("error")
                {
                    fields.insert("error".to_owned(), failure.message.as_str().into());
                    match &failure.hint {
                        Some(hint) => fields.insert("hint".to_owned(), hint.as_str().into()),
                        None => fields.remove("hint"),
                    };
                }
                self.value(value);
            }
            Body::Text(text) => *text = self.text(text),
        }
        answer.failure = Some(failure);
        answer
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&self, text: &str) -> String {
        with_tools(&self.lore.without_home(text), self.sync)
    }
}

/// A text that names tools where it named commands that only help on the machine where Lore runs.
fn with_tools(text: &str, sync: &str) -> String {
    let (mut told, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("`lore ") {
        let Some((command, behind)) = after.split_once('`') else { break };
        let instead = match command.split(' ').next() {
            Some("sync") => Some(sync),
            Some("status") if command.contains("left-out") => Some("`get_repository_statistics`"),
            Some("status") => Some("`get_repository_status`"),
            Some("repos") => Some("`discover_repositories`"),
            Some("doctor") => Some("`check_health`"),
            Some("add" | "remove" | "reindex") => Some("ask an admin"),
            // What is for a team server works from anywhere.
            _ => None,
        };
        match instead {
            Some(instead) => {
                told.push_str(before.strip_suffix("run ").unwrap_or(before));
                told.push_str(instead);
            }
            None => told.extend([before, "`lore ", command, "`"]),
        }
        rest = behind;
    }
    told + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_another_machine_are_not_named() {
        for (text, expected) in [
            ("stale; run `lore sync --repo api`", "stale; call `sync_repository`"),
            ("run `lore sync`, or name a commit", "call `sync_repository`, or name a commit"),
            ("`lore status --left-out` lists them", "`get_repository_statistics` lists them"),
            ("and `lore status` shows it", "and `get_repository_status` shows it"),
            ("an admin adds one with `lore golden add`", "an admin adds one with `lore golden add`"),
            ("allow it with `lore server --allow-host x`", "allow it with `lore server --allow-host x`"),
            ("use one, or run `lore add PATH` to register", "use one, or ask an admin to register"),
            ("`lore is open", "`lore is open"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(with_tools(text, "call `sync_repository`"), expected);
        }
    }
}
