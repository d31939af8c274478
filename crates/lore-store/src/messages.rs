//! Storage of what reviewers said: kept for good, and delivered once.

use std::path::{Path, PathBuf};

use lore_model::{Message, MessageId, NewMessage, RepoPath, Signal};

use crate::Result;

/// Keeps messages. Many processes may write at once; each call is one step, whole or not at all.
///
/// A message is delivered in two steps, so that it is never lost: a reader claims it, and acknowledges it once its own
/// reader has it. The claims of a reader that dies are void, whenever it dies.
pub trait MessageStore: Send + Sync {
    /// Keeps a message, durably. What was sent before under the same key is not kept again.
    fn add(&self, message: &NewMessage, at: i64) -> Result<Added>;

    /// The message of this key, unless it was taken back.
    fn find_key(&self, key: [u8; 32]) -> Result<Option<MessageId>>;

    /// Claims the oldest waiting messages of a project.
    fn claim(&self, project: &Path, limit: usize, others: Others) -> Result<Claimed>;

    /// Notes that the reader of these claims has the messages.
    fn acknowledge(&self, messages: &[MessageId], at: i64) -> Result<()>;

    /// Gives claims back: the messages were not delivered.
    fn release(&self, messages: &[MessageId]) -> Result<()>;

    /// The oldest waiting messages of a project, and how many there are in all.
    fn list_waiting(&self, project: &Path, limit: usize) -> Result<(Vec<Message>, usize)>;

    /// Messages that fit, newest first (a search: best first); the flag says whether more would have.
    ///
    /// More than [`MESSAGE_WORDS_MAX`] words, or [`MESSAGE_WORDS_BYTES`] bytes of them, are a
    /// [`BadQuery`](crate::StoreError::BadQuery).
    fn list_messages(&self, query: &MessageQuery) -> Result<(Vec<Message>, bool)>;

    /// The messages after this one, oldest first and each without its anchor: where only what was said counts, no code is
    /// unpacked for it.
    fn list_bare(&self, after: MessageId, limit: usize) -> Result<Vec<Message>>;

    /// One message.
    fn find_message(&self, message: MessageId) -> Result<Option<Message>>;

    /// The newest message that waits for a project, or the newest of all: its number and its file.
    fn newest(&self, project: Option<&Path>) -> Result<Option<(MessageId, RepoPath)>>;

    /// Takes a message back.
    fn withdraw(&self, message: MessageId, at: i64) -> Result<Withdrawal>;

    /// Notifies soon after a message was added, in this process or another. Now and then it may miss one.
    fn watch(&self) -> Result<Signal>;

    /// Looks for damage; each finding is one line.
    fn check_messages(&self) -> Result<Vec<String>>;
}

/// What became of a message that was to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is kept.
    New(MessageId),
    /// It was kept already.
    Known(MessageId),
}

/// What to do where another reader has claimed messages of the project and not acknowledged them yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// Claim nothing: messages are delivered in their order.
    Wait,
    /// Claim what is left.
    PassOver,
}

/// What a claim gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// These messages, oldest first, and how many more are waiting that nobody has claimed.
    Messages(Vec<Message>, usize),
    /// Another reader is about to deliver messages of the project.
    Busy,
}

/// What became of the wish to take a message back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Withdrawal {
    /// It is taken back.
    Done,
    /// There is no such message.
    Absent,
    /// It is too late: so it stands.
    TooLate(Box<Message>),
    /// It is being delivered at this moment.
    Claimed,
}

/// So many words may be asked for at a time.
pub const MESSAGE_WORDS_MAX: usize = 1000;

/// So long may they be together.
pub const MESSAGE_WORDS_BYTES: usize = 20_000;

/// Which messages are asked for.
#[derive(Debug, Clone, Default)]
pub struct MessageQuery {
    /// Words that all occur in what was said, the file, the definition or the hunk.
    pub words: Option<String>,
    /// The project; all where none is named.
    pub project: Option<PathBuf>,
    /// Text that the file's path contains.
    pub path: Option<String>,
    /// The file itself.
    pub file: Option<RepoPath>,
    /// Only messages in this state ([`lore_model::MessageState::as_str`]).
    pub state: Option<&'static str>,
    /// Stored at this time or later (seconds since 1970).
    pub since: Option<i64>,
    /// The most that are given.
    pub limit: usize,
}
