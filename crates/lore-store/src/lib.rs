//! What Lore asks of its storage: one trait per domain, values in and out, no word of how.
//!
//! Every backend passes [`conformance`]. Nothing here assumes SQLite. Calls are synchronous and may block: whoever must not be
//! blocked makes them on another thread, and a backend that is a server elsewhere waits for it inside of the call.
#![forbid(unsafe_code)]

mod code;
pub mod conformance;
mod error;
mod failure;
mod history;
mod long;
mod messages;
mod past;
mod patch;
mod team;
mod text_plan;
mod tokens;
mod vectors;
mod word_distance;

pub use code::{
    Accuracy, Ask, AskWord, Base, BlobKey, BlobRecord, ChunkId, ChunkInput, ChunkKey, ChunkSink, CodeEnd, CodeState,
    CodeStore, CodeView, CodeWriter, Collected, DIMENSIONS, Entry, EvidenceInfo, Field, FieldWeight, LeftOut, NewBlob,
    NewSnapshot, OverlayFile, OverlayInput, PreparedChunk, Scored, SnapshotFile, SnapshotId, SnapshotInfo,
    SnapshotSummary, TreePart, ViewFile, ViewPart,
};
pub use error::StoreError;
pub use failure::{Kept, kept_failure, store_failure};
pub use history::{
    AuthorAlias, CoChange, CoChangeQuery, CoChanges, CommitDetail, CommitHit, CommitMatches, CommitMessage,
    CommitQuery, CommitSubject, Hidden, HistoryStore, HistoryWriter, IndexSize, PatchText, SubjectFile, Subjects,
    SyncEnd, TouchHit, TouchQuery,
};

pub use long::{begin_on_own_thread, lower_when_long, on_own_thread, serve_several_users};
pub use messages::{
    Added, Claimed, MESSAGE_WORDS_BYTES, MESSAGE_WORDS_MAX, MessageQuery, MessageStore, Others, Withdrawal,
};
pub use past::{NewPast, NewVersion, PastInfo, PastPart, PastSlice, PathVersion, Touch, TouchFilter};
pub use patch::{PatchPacker, unpack_patch};
pub use team::{
    Cancelled, JOB_WAIT_MAX, JobEnd, JobLimits, JobQuery, NewJob, NewToken, RefreshToken, Renewal, Requeue, Rotation,
    SecretHash, TeamChange, TeamStore,
};
pub use text_plan::{TextPlan, Trigram};
pub use tokens::{ENDS, LONGEST_TOKEN, for_each_token, is_word_border, spellings, tokens};
pub use vectors::{NewVector, PassageKey, SET_DIMENSIONS, VectorSet, VectorStore, VectorWriter, ViewVectors};
pub use word_distance::WordDistance;

/// A store that holds everything.
pub trait IndexStore: HistoryStore + CodeStore + VectorStore {}

impl<S: HistoryStore + CodeStore + VectorStore> IndexStore for S {}

/// The one writer of an index.
pub trait IndexWriter: HistoryWriter + CodeWriter {}

impl<W: HistoryWriter + CodeWriter> IndexWriter for W {}

/// The result of a call to a store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;
