//! What reviewers say about code: kept, delivered to the agent that works on the project, and found again.
#![forbid(unsafe_code)]

mod deliver;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod inbox;
mod place;
mod relocate;
mod write;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use lore_model::{Clock, Code, Failure, MessageId, NewMessage, RepoPath, Signal};
use lore_store::{Kept, MessageQuery, MessageStore, StoreError, Withdrawal, kept_failure};

pub use self::{
    deliver::{Claim, Delivery, Waiting},
    inbox::{Imported, Unreadable},
    place::{Fate, Place, Placed, SymbolAt},
    relocate::lines,
    write::{COMMENT_MAX, CommentRequest, Commented, project_root},
};

/// The most messages that a list gives.
pub const LIST_MAX: usize = 500;

/// A SHA-256 hash.
type Sha256Hash = [u8; 32];

/// The messages of all projects.
pub struct Messages {
    store: Arc<dyn MessageStore>,
    clock: Arc<dyn Clock>,
    /// Where lazygit-mcp-bridge leaves its messages.
    inbox: Option<PathBuf>,
    /// Claims that came to an end and could not be noted yet: delivered, and not delivered.
    unsettled: Mutex<(Vec<MessageId>, Vec<MessageId>)>,
    importing: Mutex<()>,
    /// Contents of the inbox that hold no message and were logged.
    reported: Mutex<HashSet<Sha256Hash>>,
}

impl Messages {
    /// Messages kept in this store. What appears in the file `inbox` is taken over.
    pub fn new(store: Arc<dyn MessageStore>, clock: Arc<dyn Clock>, inbox: Option<PathBuf>) -> Self {
        Self {
            store,
            clock,
            inbox,
            unsettled: Mutex::default(),
            importing: Mutex::default(),
            reported: Mutex::default(),
        }
    }

    /// Messages that fit, newest first (a search: best first), each with where its code is now; the flag says whether more
    /// would have fitted.
    pub fn list(&self, query: &MessageQuery) -> Result<(Vec<Placed>, bool), Failure> {
        let (found, more) = self.store.list_messages(query).map_err(failure)?;
        Ok((place::all(found), more))
    }

    /// One message, with where its code is now.
    pub fn get(&self, id: MessageId) -> Result<Placed, Failure> {
        let found = self.store.find_message(id).map_err(failure)?;
        let found = found.ok_or_else(|| absent(id))?;
        Ok(place::one(found))
    }

    /// Takes a message back before an agent has it.
    pub fn withdraw(&self, id: MessageId) -> Result<(), Failure> {
        match self.store.withdraw(id, self.clock.now()).map_err(failure)? {
            Withdrawal::Done => Ok(()),
            Withdrawal::Absent => Err(absent(id)),
            Withdrawal::TooLate(message) => Err(Failure::new(
                Code::InvalidArgument,
                format!("comment {id} cannot be taken back: it is {} already", message.state.as_str()),
            )
            .hint("send another comment that corrects it")),
            Withdrawal::Claimed => {
                Err(Failure::new(Code::Busy, format!("comment {id} is being delivered at this moment"))
                    .hint("look with `lore comments show` whether it was, and try again if not"))
            }
        }
    }

    /// The newest message that waits for this project: its number and its file.
    pub fn newest(&self, folder: &Path) -> Result<Option<(MessageId, RepoPath)>, Failure> {
        let root = project_root(folder);
        self.store.newest(Some(&root)).map_err(failure)
    }

    /// The number of the message that was stored last, of any project.
    pub fn last(&self) -> Result<MessageId, Failure> {
        let found = self.store.newest(None).map_err(failure)?;
        Ok(found.map(|(id, _)| id).unwrap_or_default())
    }

    /// Notifies some time after a message was stored, here or by another process.
    pub fn changes(&self) -> Result<Signal, Failure> {
        self.store.watch().map_err(failure)
    }

    /// Looks for damage; each finding is one line.
    pub fn check_store(&self) -> Result<Vec<String>, Failure> {
        /// Messages that are in memory at a time: each may be a megabyte long.
        const PAGE: usize = 50;
        let mut damage = self.store.check_messages().map_err(failure)?;
        if !damage.is_empty() {
            return Ok(damage);
        }
        let mut after = MessageId::default();
        loop {
            let messages = self.store.list_bare(after, PAGE).map_err(failure)?;
            let Some(last) = messages.last() else { return Ok(damage) };
            after = last.id;
            let is_changed =
                |sent: &NewMessage| ![write::comment_key(sent), write::bridge_key(sent)].contains(&sent.key);
            let changed = messages.iter().filter(|message| is_changed(&message.sent));
            damage.extend(changed.map(|message| format!("comment {} is not what was said", message.id.0)));
        }
    }
}

const COMMENTS: Kept = Kept {
    what: "the comments",
    elsewhere: "set LORE_HOME to another one",
    go_on: "Move it aside to go on with a new one",
};

/// What a fault of storage means here.
fn failure(error: StoreError) -> Failure {
    kept_failure(&COMMENTS, error)
}

fn absent(id: MessageId) -> Failure {
    Failure::new(Code::MessageNotFound, format!("there is no comment {id}")).hint("`lore comments list` shows them")
}

/// A moment (milliseconds since 1970) as RFC 3339 in UTC, always with its milliseconds.
fn rfc3339_millis(millis: i64) -> String {
    format!("{:.3}", jiff::Timestamp::from_millisecond(millis).unwrap_or_default())
}
