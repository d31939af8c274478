//! What went wrong, said once for every surface: command line, MCP and HTTP.

use std::{error::Error, fmt};

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

/// Declares the codes once: the variants, and the table of how each surface shows them.
macro_rules! codes {
    ($(#[doc = $meaning:literal] $code:ident = $name:literal, $exit:literal, $http:literal, $retry:literal;)*) => {
        /// The closed list of failures that programs may branch on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $meaning] $code,)*
        }

        impl Code {
            /// Every code, with how each surface shows it.
            pub const TABLE: &[CodeRow] = &[$(CodeRow {
                code: Self::$code,
                name: $name,
                exit: $exit,
                http: $http,
                retry: $retry,
                meaning: $meaning.trim_ascii(),
            }),*];
        }
    };
}

// The name for programs, the exit code, the HTTP status, and whether the same call may succeed later.
codes! {
    /// An argument is missing, malformed or out of range.
    InvalidArgument = "invalid_argument", 2, 400, false;
    /// No repository of that name is registered.
    RepoNotFound = "repo_not_found", 3, 404, false;
    /// A repository of that name or place is registered already.
    RepoExists = "repo_exists", 4, 409, false;
    /// The place named is not a git repository, or cannot be read.
    NotARepository = "not_a_repository", 3, 400, false;
    /// No such commit in the index.
    CommitNotFound = "commit_not_found", 3, 404, false;
    /// The commit is known, its patch is not stored (only binary, over 1 MB, or objects are missing).
    PatchNotFound = "patch_not_found", 3, 404, false;
    /// Several commits begin with that prefix.
    AmbiguousCommit = "ambiguous_commit", 2, 409, false;
    /// No command of that name is in the registry, or there is no registry.
    CommandNotFound = "command_not_found", 3, 404, false;
    /// A command of that name is there already.
    CommandExists = "command_exists", 4, 409, false;
    /// There is no comment of that number.
    MessageNotFound = "message_not_found", 3, 404, false;
    /// Nobody was named, or it was not shown that they are who they say.
    Unauthenticated = "unauthenticated", 9, 401, false;
    /// The caller may not do this.
    PermissionDenied = "permission_denied", 9, 403, false;
    /// There is no user of that name.
    UserNotFound = "user_not_found", 3, 404, false;
    /// There is a user of that name already.
    UserExists = "user_exists", 4, 409, false;
    /// There is no such token.
    TokenNotFound = "token_not_found", 3, 404, false;
    /// There is no such job.
    JobNotFound = "job_not_found", 3, 404, false;
    /// It cannot be done as things stand.
    Conflict = "conflict", 4, 409, false;
    /// Too much was asked for in too short a time.
    TooManyRequests = "too_many_requests", 5, 429, true;
    /// The server cannot be reached, or its answer cannot be understood.
    ServerUnreachable = "server_unreachable", 8, 502, true;
    /// The remote of a repository cannot be reached just now.
    RemoteUnreachable = "remote_unreachable", 8, 502, true;
    /// The remote of a repository is not there, lets Lore not in, or gives more than is taken.
    RemoteRefused = "remote_refused", 8, 502, false;
    /// Another process is writing the index, or other data of Lore.
    Busy = "busy", 5, 503, true;
    /// The index, or other data of Lore, was written by a newer Lore.
    IndexTooNew = "index_too_new", 6, 500, false;
    /// The index, or other data of Lore, is damaged.
    IndexDamaged = "index_damaged", 6, 500, false;
    /// The disk is full.
    DiskFull = "disk_full", 7, 507, true;
    /// A file cannot be read or written where it is.
    NoAccess = "no_access", 7, 500, false;
    /// The `git` program is missing, too old or failed.
    GitFailed = "git_failed", 8, 500, true;
    /// The configured embedding service cannot be reached or answers nonsense.
    EmbeddingFailed = "embedding_failed", 8, 502, true;
    /// The configuration cannot be understood.
    InvalidConfig = "invalid_config", 2, 500, false;
    /// The work was stopped by the user.
    Interrupted = "interrupted", 130, 499, true;
    /// A fault of Lore's own: please report it.
    Internal = "internal", 1, 500, false;
}

impl Code {
    /// The row of this code.
    pub fn row(self) -> &'static CodeRow {
        Self::TABLE.iter().find(|row| row.code == self).expect("because variants and rows are declared together")
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
    /// Whether message or hint repeat text of a repository, such as paths and branches, or of git.
    pub quotes_repository: bool,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    /// A failure without a hint.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, quotes_repository: false, source: None }
    }

    /// Says what the reader can do now.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says that message or hint repeat text of a repository.
    #[must_use]
    pub fn quoting_repository(mut self) -> Self {
        self.quotes_repository = true;
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
    fn every_code_has_a_name_of_its_own() {
        for (index, row) in Code::TABLE.iter().enumerate() {
            assert!(Code::TABLE[..index].iter().all(|other| other.name != row.name), "{}", row.name);
        }
    }
}
