//! What a reviewer said about a place in a project.

use std::{fmt, path::PathBuf};

use crate::{CommitId, RepoPath};

/// Names one message. Numbers grow in the order in which messages were stored, and are never reused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub i64);

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A message that is still to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The root of the project it is about; without one, it is for whoever asks first.
    pub project: Option<PathBuf>,
    /// The file, below the project's root.
    pub file: RepoPath,
    /// The first and the last line, from 1.
    pub lines: Option<(u32, u32)>,
    /// What was said.
    pub comment: String,
    /// When it was said, as it is shown: RFC 3339.
    pub time: String,
    /// The branch that was checked out.
    pub branch: Option<String>,
    /// The commit that was checked out.
    pub head: Option<CommitId>,
    /// What the reviewer saw there: a hunk of a diff, or the lines around.
    pub hunk: Option<String>,
    /// What the code looked like, to find it again.
    pub anchor: Option<Anchor>,
    /// Equal for what is one and the same message, sent twice.
    pub key: [u8; 32],
}

/// The code that a message is about, as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The file, or the part of it around the lines.
    pub text: Vec<u8>,
    /// The number of the first line in `text`.
    pub first_line: u32,
    /// Whether `text` is all of the file.
    pub whole: bool,
    /// The definition that holds the lines: `Router::add`.
    pub symbol: Option<String>,
}

/// A message as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its number.
    pub id: MessageId,
    /// What was sent.
    pub sent: NewMessage,
    /// When it was stored (seconds since 1970).
    pub stored_at: i64,
    /// What became of it.
    pub state: MessageState,
}

/// What became of a message, with the time (seconds since 1970).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageState {
    /// No agent has it yet.
    Waiting,
    /// An agent has it.
    Delivered(i64),
    /// Its writer took it back before an agent had it.
    Withdrawn(i64),
}

impl MessageState {
    /// The word for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered(_) => "delivered",
            Self::Withdrawn(_) => "withdrawn",
        }
    }

    /// Since when, where it is no longer waiting.
    pub fn since(self) -> Option<i64> {
        match self {
            Self::Waiting => None,
            Self::Delivered(at) | Self::Withdrawn(at) => Some(at),
        }
    }
}
