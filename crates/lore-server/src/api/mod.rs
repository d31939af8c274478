//! The handlers, one file for each thing. They read, ask the team, and tell; who may ask was decided before.

pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod golden;
pub(crate) mod jobs;
pub(crate) mod own;
pub(crate) mod tokens;
pub(crate) mod users;

use lore_model::{Role, User};
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

/// A moment as RFC 3339 writes it.
fn time(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

/// What a list may be asked for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuery {
    /// How many entries, up to 1000; 100 where nothing is said.
    limit: Option<u64>,
}

/// A user.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "User")]
pub(crate) struct UserShown {
    /// Their name.
    username: String,
    /// What they are.
    role: RoleWord,
    /// Since when.
    created_at: String,
}

impl From<&User> for UserShown {
    fn from(user: &User) -> Self {
        Self { username: user.name.to_string(), role: user.role.into(), created_at: time(user.created_at) }
    }
}

/// What a user is.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Role")]
pub(crate) enum RoleWord {
    /// May do everything.
    Admin,
    /// May ask, and activate repositories.
    PowerUser,
    /// May ask.
    NormalUser,
}

impl From<RoleWord> for Role {
    fn from(word: RoleWord) -> Self {
        match word {
            RoleWord::Admin => Self::Admin,
            RoleWord::PowerUser => Self::PowerUser,
            RoleWord::NormalUser => Self::NormalUser,
        }
    }
}

impl From<Role> for RoleWord {
    fn from(role: Role) -> Self {
        match role {
            Role::Admin => Self::Admin,
            Role::PowerUser => Self::PowerUser,
            Role::NormalUser => Self::NormalUser,
        }
    }
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
