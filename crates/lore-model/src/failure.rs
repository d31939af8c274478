//! What went wrong, said once for every surface: command line, MCP and HTTP.

use std::{error::Error, fmt};

/// The closed list of failures that programs may branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// An argument is missing, malformed or out of range.
    InvalidArgument,
    /// No repository of that name is registered.
    RepoNotFound,
    /// A repository of that name or place is registered already.
    RepoExists,
    /// The place named is not a git repository, or cannot be read.
    NotARepository,
    /// No such commit in the index.
    CommitNotFound,
    /// The commit is known, its patch is not stored.
    PatchNotFound,
    /// Several commits begin with that prefix.
    AmbiguousCommit,
    /// There is no comment of that number.
    MessageNotFound,
    /// No command of that name is in the registry, or there is no registry.
    CommandNotFound,
    /// A command of that name is there already.
    CommandExists,
    /// Nobody was named, or it was not shown that they are who they say.
    Unauthenticated,
    /// The caller may not do this.
    PermissionDenied,
    /// There is no user of that name.
    UserNotFound,
    /// There is a user of that name already.
    UserExists,
    /// There is no such token.
    TokenNotFound,
    /// There is no such job.
    JobNotFound,
    /// It cannot be done as things stand.
    Conflict,
    /// Too much was asked for in too short a time.
    TooManyRequests,
    /// The server cannot be reached, or its answer cannot be understood.
    ServerUnreachable,
    /// The remote of a repository cannot be reached just now.
    RemoteUnreachable,
    /// The remote of a repository is not there, lets Lore not in, or gives more than is taken.
    RemoteRefused,
    /// Another process is writing the index.
    Busy,
    /// The index was written by a newer Lore.
    IndexTooNew,
    /// The index is damaged.
    IndexDamaged,
    /// The disk is full.
    DiskFull,
    /// The index cannot be written or read where it is.
    NoAccess,
    /// The `git` program is missing, too old or failed.
    GitFailed,
    /// The embedding service that was configured cannot be reached or answers nonsense.
    EmbeddingFailed,
    /// The configuration cannot be understood.
    InvalidConfig,
    /// The user stopped the work.
    Interrupted,
    /// A fault of Lore's own.
    Internal,
}

/// One row of [`Code::TABLE`].
#[derive(Debug, Clone, Copy)]
pub struct CodeRow {
    /// The code.
    pub code: Code,
    /// Its name for programs.
    pub name: &'static str,
    /// The exit code of the command line.
    pub exit: u8,
    /// The status of an HTTP answer.
    pub http: u16,
    /// Whether the same call may succeed later.
    pub retry: bool,
    /// What it means.
    pub meaning: &'static str,
}

impl Code {
    /// Every code, with how each surface shows it.
    pub const TABLE: [CodeRow; 31] = {
        const fn row(
            code: Code,
            name: &'static str,
            exit: u8,
            http: u16,
            retry: bool,
            meaning: &'static str,
        ) -> CodeRow {
            CodeRow { code, name, exit, http, retry, meaning }
        }
        [
            row(
                Self::InvalidArgument,
                "invalid_argument",
                2,
                400,
                false,
                "An argument is missing, malformed or out of range.",
            ),
            row(Self::RepoNotFound, "repo_not_found", 3, 404, false, "No repository of that name is registered."),
            row(
                Self::RepoExists,
                "repo_exists",
                4,
                409,
                false,
                "A repository of that name or place is registered already.",
            ),
            row(
                Self::NotARepository,
                "not_a_repository",
                3,
                400,
                false,
                "The place named is not a git repository, or cannot be read.",
            ),
            row(Self::CommitNotFound, "commit_not_found", 3, 404, false, "No such commit in the index."),
            row(
                Self::PatchNotFound,
                "patch_not_found",
                3,
                404,
                false,
                "The commit is known, its patch is not stored (only binary, over 1 MB, or objects are missing).",
            ),
            row(Self::AmbiguousCommit, "ambiguous_commit", 2, 409, false, "Several commits begin with that prefix."),
            row(
                Self::CommandNotFound,
                "command_not_found",
                3,
                404,
                false,
                "No command of that name is in the registry, or there is no registry.",
            ),
            row(Self::CommandExists, "command_exists", 4, 409, false, "A command of that name is there already."),
            row(Self::MessageNotFound, "message_not_found", 3, 404, false, "There is no comment of that number."),
            row(
                Self::Unauthenticated,
                "unauthenticated",
                9,
                401,
                false,
                "Nobody was named, or it was not shown that they are who they say.",
            ),
            row(Self::PermissionDenied, "permission_denied", 9, 403, false, "The caller may not do this."),
            row(Self::UserNotFound, "user_not_found", 3, 404, false, "There is no user of that name."),
            row(Self::UserExists, "user_exists", 4, 409, false, "There is a user of that name already."),
            row(Self::TokenNotFound, "token_not_found", 3, 404, false, "There is no such token."),
            row(Self::JobNotFound, "job_not_found", 3, 404, false, "There is no such job."),
            row(Self::Conflict, "conflict", 4, 409, false, "It cannot be done as things stand."),
            row(
                Self::TooManyRequests,
                "too_many_requests",
                5,
                429,
                true,
                "Too much was asked for in too short a time.",
            ),
            row(
                Self::ServerUnreachable,
                "server_unreachable",
                8,
                502,
                true,
                "The server cannot be reached, or its answer cannot be understood.",
            ),
            row(
                Self::RemoteUnreachable,
                "remote_unreachable",
                8,
                502,
                true,
                "The remote of a repository cannot be reached just now.",
            ),
            row(
                Self::RemoteRefused,
                "remote_refused",
                8,
                502,
                false,
                "The remote of a repository is not there, lets Lore not in, or gives more than is taken.",
            ),
            row(Self::Busy, "busy", 5, 503, true, "Another process is writing the index."),
            row(Self::IndexTooNew, "index_too_new", 6, 500, false, "The index was written by a newer Lore."),
            row(Self::IndexDamaged, "index_damaged", 6, 500, false, "The index is damaged."),
            row(Self::DiskFull, "disk_full", 7, 507, true, "The disk is full."),
            row(Self::NoAccess, "no_access", 7, 500, false, "A file cannot be read or written where it is."),
            row(Self::GitFailed, "git_failed", 8, 500, true, "The `git` program is missing, too old or failed."),
            row(
                Self::EmbeddingFailed,
                "embedding_failed",
                8,
                502,
                true,
                "The configured embedding service cannot be reached or answers nonsense.",
            ),
            row(Self::InvalidConfig, "invalid_config", 2, 500, false, "The configuration cannot be understood."),
            row(Self::Interrupted, "interrupted", 130, 499, true, "The work was stopped by the user."),
            row(Self::Internal, "internal", 1, 500, false, "A fault of Lore's own: please report it."),
        ]
    };

    /// The row of this code.
    pub fn row(self) -> &'static CodeRow {
        Self::TABLE.iter().find(|row| row.code == self).expect("a test shows that every code has a row")
    }

    /// The name for programs.
    pub fn name(self) -> &'static str {
        self.row().name
    }
}

/// What went wrong, for programs (`code`), for people and agents (`message`), and what they can do now (`hint`).
#[derive(Debug)]
pub struct Failure {
    /// The kind of failure.
    pub code: Code,
    /// Names the thing and the value.
    pub message: String,
    /// A command or an argument that helps.
    pub hint: Option<String>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    /// A failure without a hint.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, source: None }
    }

    /// Says what the reader can do now.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Keeps what caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_row_and_a_name_of_its_own() {
        // The match makes the compiler point here when a code is added.
        let all = |code| match code {
            Code::InvalidArgument
            | Code::RepoNotFound
            | Code::RepoExists
            | Code::NotARepository
            | Code::CommitNotFound
            | Code::PatchNotFound
            | Code::AmbiguousCommit
            | Code::CommandNotFound
            | Code::CommandExists
            | Code::MessageNotFound
            | Code::Unauthenticated
            | Code::PermissionDenied
            | Code::UserNotFound
            | Code::UserExists
            | Code::TokenNotFound
            | Code::JobNotFound
            | Code::Conflict
            | Code::TooManyRequests
            | Code::ServerUnreachable
            | Code::RemoteUnreachable
            | Code::RemoteRefused
            | Code::Busy
            | Code::IndexTooNew
            | Code::IndexDamaged
            | Code::DiskFull
            | Code::NoAccess
            | Code::GitFailed
            | Code::EmbeddingFailed
            | Code::InvalidConfig
            | Code::Interrupted
            | Code::Internal => 31,
        };
        assert_eq!(Code::TABLE.len(), all(Code::Internal));
        for (index, row) in Code::TABLE.iter().enumerate() {
            assert!(Code::TABLE[..index].iter().all(|other| other.code != row.code && other.name != row.name));
        }
    }
}
