//! Ids, plain values and failure codes that every other crate of Lore speaks in.
//!
//! Nothing here does I/O or depends on how anything is stored or sent.
#![forbid(unsafe_code)]

mod cancel;
mod chunk;
mod clock;
mod commit;
mod failure;
mod id;
mod invisible;
mod message;
mod path;
mod repo;
mod signal;
mod team;
mod text;
mod url;

pub use cancel::{Cancel, CancelOnDrop, Cancelled, Entered};
pub use chunk::{ChunkKind, SymbolKind};
pub use clock::{Clock, SystemClock, millis};
pub use commit::{CommitRecord, FileChange, FileStatus, Patch, PatchAbsence, Person};
pub use failure::{Code, CodeRow, Failure};
pub use id::{BlobId, CommitId, CommitPrefix, InvalidCommitId, LineCommit, RepoId};
pub use invisible::is_invisible;
pub use message::{Anchor, Message, MessageId, MessageState, NewMessage};
pub use path::RepoPath;
pub use repo::{BranchChoice, DEFAULT_EXCLUDES, NewRepo, Problem, Repo, RepoName, Source, SyncState, Tip};
pub use signal::Signal;
pub use team::{
    Activation, Actor, AuditEntry, Caller, CallerAddress, Golden, GoldenState, Job, JobId, JobLine, JobStatus, JobTask,
    LogId, LoginId, Operation, Permission, Role, Token, TokenId, User, UserId, UserName, parse_interval,
};
pub use text::{brief, closest, escape_controls, escape_for_terminal};
pub use url::{is_this_machine, without_secrets, without_user, without_users};
