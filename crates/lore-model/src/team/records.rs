//! What a team server keeps: tokens, repositories, jobs, and who did what.

use crate::{JobId, JobStatus, RepoName, UserId, UserName};

/// Names a personal token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(pub i64);

/// Names a login: everything that grew out of one password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoginId(pub i64);

/// A personal token, without its secret, which nobody keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// What its owner calls it.
    pub name: String,
    /// Its owner.
    pub user: UserId,
    /// Its owner's name.
    pub username: UserName,
    /// Since when (seconds since 1970).
    pub created_at: i64,
    /// Until when; `None` for ever.
    pub expires_at: Option<i64>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<i64>,
}

/// How far a golden repository is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GoldenState {
    /// It is being cloned and read for the first time.
    Adding,
    /// It answers.
    Ready,
    /// It is being removed.
    Removing,
}

impl GoldenState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Adding, Self::Ready, Self::Removing];

    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Adding => "adding",
            Self::Ready => "ready",
            Self::Removing => "removing",
        }
    }

    /// What a word stands for.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// A repository that the server keeps for everybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Golden {
    /// Its alias, which is its name in the index too.
    pub alias: RepoName,
    /// Where it is cloned from.
    pub url: String,
    /// The branch that counts as its main one; `None` for the remote's own choice.
    pub branch: Option<String>,
    /// Whether its past is kept.
    pub temporal: bool,
    /// How often it is fetched, in seconds; `None` for never by itself.
    pub refresh_every: Option<i64>,
    /// How far it is.
    pub state: GoldenState,
    /// Since when (seconds since 1970).
    pub created_at: i64,
    /// When it was last fetched and read.
    pub refreshed_at: Option<i64>,
    /// When that was last tried.
    pub tried_at: Option<i64>,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
}

/// What a user calls a golden repository on a branch, or several of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activation {
    /// Whose it is.
    pub user: UserId,
    /// What they call it.
    pub alias: RepoName,
    /// The golden repositories: one, or those of a composite in their order.
    pub golden: Vec<RepoName>,
    /// Whether it is a composite, even of one.
    pub composite: bool,
    /// The branch; `None` for the main one, wherever that points. A composite has none.
    pub branch: Option<String>,
    /// Since when (seconds since 1970).
    pub activated_at: i64,
    /// When it was last asked about, to the minute.
    pub accessed_at: Option<i64>,
}

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Clones a golden repository and reads it.
    AddGolden,
    /// Removes one.
    RemoveGolden,
    /// Fetches one and reads what is new.
    RefreshGolden,
    /// Gives a user an alias for one or several.
    Activate,
    /// Takes it away.
    Deactivate,
    /// Fetches what is behind a user's alias.
    Sync,
    /// Points a user's alias to another branch.
    SwitchBranch,
    /// Makes, changes or removes a composite.
    ManageComposite,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 8] = [
        Self::AddGolden,
        Self::RemoveGolden,
        Self::RefreshGolden,
        Self::Activate,
        Self::Deactivate,
        Self::Sync,
        Self::SwitchBranch,
        Self::ManageComposite,
    ];

    /// The word of the contract: the tool that asks for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AddGolden => "add_golden_repo",
            Self::RemoveGolden => "remove_golden_repo",
            Self::RefreshGolden => "refresh_golden_repo",
            Self::Activate => "activate_repository",
            Self::Deactivate => "deactivate_repository",
            Self::Sync => "sync_repository",
            Self::SwitchBranch => "switch_branch",
            Self::ManageComposite => "manage_composite_repository",
        }
    }

    /// What a word stands for.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.as_str() == word)
    }
}

/// What a job is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobTask {
    /// What is done.
    pub operation: Operation,
    /// The user's alias, where it is about one.
    pub alias: Option<RepoName>,
    /// The golden repositories that it works on. Two jobs never work on one at the same time.
    pub golden: Vec<RepoName>,
    /// The branch that it needs.
    pub branch: Option<String>,
}

impl JobTask {
    /// The branch that is to be the main one of its golden repository from then on.
    pub fn main_branch(&self) -> Option<&str> {
        self.branch.as_deref().filter(|_| self.operation == Operation::RefreshGolden)
    }
}

/// A job: work that is done for somebody, and survives whatever happens to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// What it is about.
    pub task: JobTask,
    /// For whom; `None` for the server itself, or where the user is gone.
    pub user: Option<UserId>,
    /// Their name, as it was.
    pub username: String,
    /// How it stands.
    pub status: JobStatus,
    /// When it was asked for (seconds since 1970).
    pub created_at: i64,
    /// When it was last begun.
    pub started_at: Option<i64>,
    /// When it was over.
    pub completed_at: Option<i64>,
    /// How much of it is done, 0 to 100.
    pub progress: u8,
    /// What came of it.
    pub result: Option<String>,
    /// Why it failed, or why it has to be tried again, for those who manage repositories: it may name hosts and accounts.
    pub error: Option<String>,
    /// The same for everybody else.
    pub error_told: Option<String>,
    /// How often it was begun.
    pub attempts: u32,
    /// Not before this moment, where it has to be tried again.
    pub not_before: Option<i64>,
    /// Whether somebody wants it stopped.
    pub cancel_requested: bool,
}

/// One line about what a job did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobLine {
    /// When (seconds since 1970).
    pub at: i64,
    /// What.
    pub text: String,
}

/// Who does something, for the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Their name; `(local)` for somebody on the machine itself.
    pub name: String,
    /// Where the request came from.
    pub address: Option<String>,
    /// When (seconds since 1970).
    pub at: i64,
}

/// One administrative act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// When (seconds since 1970).
    pub at: i64,
    /// Who.
    pub username: String,
    /// From where.
    pub address: Option<String>,
    /// What was done.
    pub act: String,
    /// To whom or what.
    pub subject: String,
    /// What came of it.
    pub outcome: String,
}
