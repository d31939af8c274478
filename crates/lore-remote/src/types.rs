//! What a server tells about users, tokens, repositories and jobs.
//!
//! Read leniently: a field that a newer server adds is kept, one that an older lacks is absent.

use lore_model::{Code, Failure};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{Secret, http::shortened};

/// Some entries of a list, and how many there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T> {
    /// The entries.
    pub entries: Vec<T>,
    /// How many there are, be they among the entries or not.
    pub total: usize,
}

impl<T> FromIterator<T> for Listed<T> {
    /// A list of all that there is.
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let entries = Vec::from_iter(all);
        Self { total: entries.len(), entries }
    }
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Their name.
    pub username: String,
    /// What they are: `admin`, `power_user` or `normal_user`.
    pub role: String,
    /// Since when.
    #[serde(default, deserialize_with = "time")]
    pub created_at: Option<String>,
}

/// Who asks, and what they may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Me {
    /// Who.
    pub user: User,
    /// What.
    #[serde(default)]
    pub permissions: Vec<String>,
}

/// What a login or a renewal gives.
#[derive(Debug, Clone, Deserialize)]
pub struct Issued {
    /// Shows who asks, for some minutes.
    pub access_token: Secret,
    /// For how many seconds.
    #[serde(default)]
    pub expires_in: Option<i64>,
    /// Gets the next pair, once.
    pub refresh_token: Secret,
    /// For how many seconds.
    #[serde(default)]
    pub refresh_token_expires_in: Option<i64>,
    /// Whose they are.
    pub user: User,
}

/// A personal token; the token itself is known to its owner alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its id.
    #[serde(deserialize_with = "text")]
    pub id: String,
    /// What its owner calls it.
    #[serde(default)]
    pub name: String,
    /// Its owner.
    #[serde(default)]
    pub username: Option<String>,
    /// Since when.
    #[serde(default, deserialize_with = "time")]
    pub created_at: Option<String>,
    /// Until when; absent for as long as it is not revoked.
    #[serde(default, deserialize_with = "time")]
    pub expires_at: Option<String>,
    /// When somebody showed it last.
    #[serde(default, deserialize_with = "time")]
    pub last_used_at: Option<String>,
}

/// A token that was just made: the only time that it is told.
#[derive(Debug, Clone, Deserialize)]
pub struct NewToken {
    /// The token.
    pub token: Secret,
    /// Its id.
    #[serde(deserialize_with = "text")]
    pub id: String,
    /// What its owner calls it.
    #[serde(default)]
    pub name: String,
    /// Until when.
    #[serde(default, deserialize_with = "time")]
    pub expires_at: Option<String>,
}

/// A repository that the server keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Golden {
    /// Its name.
    pub alias: String,
    /// Where it comes from.
    #[serde(default)]
    pub repo_url: Option<String>,
    /// Its branch.
    #[serde(default)]
    pub default_branch: Option<String>,
    /// Since when.
    #[serde(default, deserialize_with = "time")]
    pub created_at: Option<String>,
    /// Whether its former versions are kept.
    #[serde(default)]
    pub enable_temporal: bool,
    /// After how many seconds it is brought up to date by itself.
    #[serde(default)]
    pub refresh_every: Option<u64>,
    /// What else is told.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// How often a repository is brought up to date by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshEvery {
    /// After so many seconds.
    Seconds(u64),
    /// Only when somebody asks for it.
    Never,
}

/// A repository to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGolden {
    /// Where it comes from.
    pub url: String,
    /// Its name.
    pub alias: String,
    /// Its branch, where it is not the usual one.
    pub branch: Option<String>,
    /// Whether its former versions are kept.
    pub temporal: bool,
    /// How often it is brought up to date; the server's choice where absent.
    pub refresh_every: Option<RefreshEvery>,
}

/// What is to change about a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GoldenChange {
    /// How often it is brought up to date.
    pub refresh_every: Option<RefreshEvery>,
    /// Whether its former versions are kept.
    pub temporal: Option<bool>,
    /// The branch that counts as its main one; empty for the remote's own choice.
    pub branch: Option<String>,
}

/// What was begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The job that does it, where there is something to do.
    #[serde(default)]
    pub job_id: Option<String>,
    /// What the server says about it.
    #[serde(default)]
    pub message: String,
}

/// Work that the server does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its id.
    pub job_id: String,
    /// What is done.
    #[serde(default)]
    pub operation_type: String,
    /// `pending`, `running`, `completed`, `failed` or `cancelled`.
    pub status: String,
    /// When it was asked for.
    #[serde(default, deserialize_with = "time")]
    pub created_at: Option<String>,
    /// When it began.
    #[serde(default, deserialize_with = "time")]
    pub started_at: Option<String>,
    /// When it ended.
    #[serde(default, deserialize_with = "time")]
    pub completed_at: Option<String>,
    /// How much is done, 0 to 100.
    #[serde(default)]
    pub progress: Option<f64>,
    /// What came of it.
    #[serde(default)]
    pub result: Value,
    /// What went wrong.
    #[serde(default)]
    pub error: Value,
    /// For whom.
    #[serde(default)]
    pub username: Option<String>,
    /// The golden repositories that it is about.
    #[serde(default)]
    pub repositories: Vec<String>,
    /// The user's alias that it is about.
    #[serde(default)]
    pub user_alias: Option<String>,
    /// The branch that it is about.
    #[serde(default)]
    pub branch: Option<String>,
    /// How often it was begun.
    #[serde(default)]
    pub attempts: Option<u32>,
}

impl Job {
    /// What it is about, for people.
    pub fn about(&self) -> String {
        let name = self.user_alias.clone().unwrap_or_else(|| self.repositories.join(", "));
        match &self.branch {
            Some(branch) => format!("{name} ({branch})"),
            None => name,
        }
    }
}

/// A job and what it noted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobDetails {
    /// The job.
    pub job: Job,
    /// Its notes, the oldest first.
    #[serde(default)]
    pub logs: Vec<JobLog>,
    /// Why the server cannot go on with it, where it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwritten: Option<Unwritten>,
}

/// Why a server cannot write down what becomes of jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwritten {
    /// One of the codes of failures.
    #[serde(default)]
    pub code: String,
    /// In words.
    #[serde(default)]
    pub message: String,
}

impl Unwritten {
    /// The same as a failure.
    pub fn failure(&self) -> Failure {
        let row = Code::TABLE.iter().find(|row| row.name == self.code);
        Failure::new(row.map_or(Code::Conflict, |row| row.code), shortened(&self.message))
    }
}

/// A note of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobLog {
    /// When.
    #[serde(default, deserialize_with = "time")]
    pub at: Option<String>,
    /// What.
    #[serde(default)]
    pub text: String,
}

/// Something that somebody did or tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When.
    #[serde(default, deserialize_with = "time")]
    pub at: Option<String>,
    /// Who, as far as it is known.
    #[serde(default)]
    pub username: Option<String>,
    /// From where.
    #[serde(default)]
    pub address: Option<String>,
    /// What.
    #[serde(default)]
    pub act: String,
    /// To whom or what.
    #[serde(default)]
    pub subject: Option<String>,
    /// How it ended.
    #[serde(default)]
    pub outcome: Option<String>,
}

/// A text, or a number for one.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    time(deserializer).map(Option::unwrap_or_default)
}

/// A time as the server writes it; a number is kept as it is.
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}
