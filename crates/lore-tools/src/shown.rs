//! What a team server tells of users, tokens, jobs and golden repositories, in one shape for tools, for HTTP and for the command
//! line beside a server.
//!
//! Texts of failures may name places of the server: whoever makes a value says how they are told.

use lore_core::rfc3339;
use lore_model::{AuditEntry, Golden, GoldenState, Job, JobLine, JobStatus, Repo, Role, Token, User, without_user};
use lore_team::main_branch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A user.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "User")]
pub struct UserShown {
    /// Their name.
    username: String,
    /// What they are.
    role: RoleWord,
    /// Since when.
    created_at: String,
}

impl From<&User> for UserShown {
    fn from(user: &User) -> Self {
        Self { username: user.name.to_string(), role: user.role.into(), created_at: rfc3339(user.created_at) }
    }
}

/// What a user is.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Role")]
pub enum RoleWord {
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

/// A personal token without its secret.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Token")]
pub struct TokenShown {
    id: i64,
    /// What its owner calls it.
    name: String,
    /// Its owner.
    username: String,
    /// Since when.
    created_at: String,
    /// Until when; null for as long as it is not revoked.
    expires_at: Option<String>,
    /// When it was last used.
    last_used_at: Option<String>,
}

impl From<Token> for TokenShown {
    fn from(token: Token) -> Self {
        Self {
            id: token.id.0,
            name: token.name,
            username: token.username.to_string(),
            created_at: rfc3339(token.created_at),
            expires_at: token.expires_at.map(rfc3339),
            last_used_at: token.last_used_at.map(rfc3339),
        }
    }
}

/// One administrative act.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Entry")]
pub struct AuditShown {
    /// When.
    at: String,
    /// Who.
    username: String,
    /// From where.
    address: Option<String>,
    /// What was done.
    act: String,
    /// To whom or what.
    subject: String,
    /// What came of it.
    outcome: String,
}

impl From<AuditEntry> for AuditShown {
    fn from(entry: AuditEntry) -> Self {
        let AuditEntry { at, username, address, act, subject, outcome } = entry;
        Self { at: rfc3339(at), username, address, act, subject, outcome }
    }
}

/// A job.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Job")]
pub struct JobShown {
    job_id: String,
    /// What is done.
    operation_type: &'static str,
    /// How it stands.
    status: StatusWord,
    /// When it was asked for.
    created_at: String,
    /// When it was last begun.
    started_at: Option<String>,
    /// When it was over.
    completed_at: Option<String>,
    /// How much of it is done, 0 to 100.
    progress: u8,
    /// What came of it.
    result: Option<String>,
    /// Why it failed.
    error: Option<String>,
    /// For whom.
    username: String,
    /// The golden repositories that it is about.
    repositories: Vec<String>,
    /// The user's alias that it is about.
    user_alias: Option<String>,
    /// The branch that it is about.
    branch: Option<String>,
    /// How often it was begun.
    attempts: u32,
}

impl JobShown {
    /// A job, whose error is told so.
    pub fn new(job: Job, told: impl Fn(&str) -> String) -> Self {
        Self {
            job_id: job.id.to_string(),
            operation_type: job.task.operation.as_str(),
            status: job.status.into(),
            created_at: rfc3339(job.created_at),
            started_at: job.started_at.map(rfc3339),
            completed_at: job.completed_at.map(rfc3339),
            progress: job.progress,
            result: job.result,
            error: job.error.as_deref().map(told),
            username: job.username,
            repositories: job.task.golden.iter().map(ToString::to_string).collect(),
            user_alias: job.task.alias.map(|alias| alias.to_string()),
            branch: job.task.branch,
            attempts: job.attempts,
        }
    }
}

/// How a job stands.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "JobStatus")]
pub enum StatusWord {
    /// It waits for its turn.
    Pending,
    /// It is being done.
    Running,
    /// It is done.
    Completed,
    /// It could not be done.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}

impl From<JobStatus> for StatusWord {
    fn from(status: JobStatus) -> Self {
        match status {
            JobStatus::Pending => Self::Pending,
            JobStatus::Running => Self::Running,
            JobStatus::Completed => Self::Completed,
            JobStatus::Failed => Self::Failed,
            JobStatus::Cancelled => Self::Cancelled,
        }
    }
}

impl From<StatusWord> for JobStatus {
    fn from(word: StatusWord) -> Self {
        match word {
            StatusWord::Pending => Self::Pending,
            StatusWord::Running => Self::Running,
            StatusWord::Completed => Self::Completed,
            StatusWord::Failed => Self::Failed,
            StatusWord::Cancelled => Self::Cancelled,
        }
    }
}

/// One line about what a job did.
#[derive(Serialize, JsonSchema)]
pub struct JobLog {
    /// When.
    at: String,
    /// What.
    text: String,
}

impl JobLog {
    /// A line, whose text is told so.
    pub fn new(line: &JobLine, told: impl Fn(&str) -> String) -> Self {
        Self { at: rfc3339(line.at), text: told(&line.text) }
    }
}

/// A repository that the server keeps.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Golden")]
pub struct GoldenShown {
    alias: String,
    /// Where it is cloned from.
    repo_url: String,
    /// The branch that counts as its main one; null as long as that is not known.
    default_branch: Option<String>,
    /// Whether its past is kept.
    enable_temporal: bool,
    /// How often it is fetched by itself, in seconds; null for never.
    refresh_every: Option<i64>,
    /// How far it is.
    state: StateWord,
    /// Since when.
    created_at: String,
    /// When it was last fetched and read.
    refreshed_at: Option<String>,
    /// Why the last attempt failed, for those who manage repositories.
    last_error: Option<String>,
}

impl GoldenShown {
    /// A golden repository, whose clone is among these, and whose error is told so, if it is.
    pub fn new(golden: &Golden, repos: &[Repo], told: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            default_branch: main_branch(golden, repos),
            alias: golden.alias.to_string(),
            // Tokens that stand in a URL are shown to nobody.
            repo_url: without_user(&golden.url),
            enable_temporal: golden.temporal,
            refresh_every: golden.refresh_every,
            state: match golden.state {
                GoldenState::Adding => StateWord::Adding,
                GoldenState::Ready => StateWord::Ready,
                GoldenState::Removing => StateWord::Removing,
            },
            created_at: rfc3339(golden.created_at),
            refreshed_at: golden.refreshed_at.map(rfc3339),
            last_error: golden.last_error.as_deref().and_then(told),
        }
    }
}

/// How far a repository is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StateWord {
    /// It is being cloned and read for the first time.
    Adding,
    /// It answers.
    Ready,
    /// It is being removed.
    Removing,
}
