//! The handlers, one file for each thing. They read, ask the team, and tell; who may ask was decided before.

pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod golden;
pub(crate) mod jobs;
pub(crate) mod own;
pub(crate) mod tokens;
pub(crate) mod users;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many entries a list has where nobody says.
const LIST: u64 = 100;
/// The most entries of a list.
const LIST_MAX: u64 = 1000;

/// How many entries to give.
fn limit(asked: Option<u64>) -> usize {
    usize::try_from(asked.unwrap_or(LIST).clamp(1, LIST_MAX)).unwrap_or(usize::MAX)
}

/// Cuts a list; the number of all is told beside it.
fn cut<T>(mut list: Vec<T>, limit: usize) -> (Vec<T>, usize) {
    let total = list.len();
    list.truncate(limit);
    (list, total)
}

/// What a list may be asked for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuery {
    /// How many entries, up to 1000; 100 where nothing is said.
    limit: Option<u64>,
}

/// It is done.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Done {
    success: bool,
}

/// It is done, with a word about it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Told {
    success: bool,
    /// What was done.
    message: String,
}

const DONE: Done = Done { success: true };

fn told(message: impl Into<String>) -> Told {
    Told { success: true, message: message.into() }
}
