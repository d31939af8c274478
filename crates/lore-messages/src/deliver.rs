//! Delivers messages to agents: each once, in their order, and none lost whoever dies when.

use std::{
    path::Path,
    sync::{Arc, PoisonError},
    thread,
    time::{Duration, Instant},
};

use lore_model::{Cancel, Failure, MessageId};
use lore_store::{Claimed, Others};

use super::{Messages, Placed, Unreadable, failure, place, project_root};

/// Messages that one call gives.
const PER_CALL: usize = 10;

/// How long another reader of the project may take to answer before what it has not claimed is given out of order.
const ANSWERING: Duration = Duration::from_secs(2);

/// How often to look whether it has.
const STEP: Duration = Duration::from_millis(10);

/// Messages on their way to an agent.
#[derive(Debug)]
pub struct Delivery {
    /// The oldest that were waiting.
    pub messages: Vec<Placed>,
    /// How many more are waiting.
    pub left: usize,
    /// Files in the inbox that hold no message.
    pub unreadable: Vec<Unreadable>,
    /// To be acknowledged once the agent has them.
    pub claim: Claim,
}

/// Messages that are still waiting.
#[derive(Debug)]
pub struct Waiting {
    /// The oldest.
    pub messages: Vec<Placed>,
    /// How many more there are.
    pub left: usize,
    /// Files in the inbox that hold no message.
    pub unreadable: Vec<Unreadable>,
}

/// The right to deliver messages. Dropped without having been acknowledged, it lets the next reader deliver them.
pub struct Claim {
    messages: Arc<Messages>,
    ids: Vec<MessageId>,
}

impl std::fmt::Debug for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Claim").field(&self.ids).finish()
    }
}

impl Claim {
    /// The agent has the messages.
    pub fn acknowledge(mut self) {
        let ids = std::mem::take(&mut self.ids);
        self.messages.settle(ids, Vec::new());
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let ids = std::mem::take(&mut self.ids);
        if ids.is_empty() {
            return;
        }
        // Whoever drops it may have to answer others. Where the process ends before this is done, so does what it claims.
        let messages = Arc::clone(&self.messages);
        thread::spawn(move || messages.settle(Vec::new(), ids));
    }
}

impl Messages {
    /// Claims what waits for the project that this folder is in.
    pub fn deliver(self: &Arc<Self>, folder: &Path) -> Result<Delivery, Failure> {
        let unreadable = self.take_inbox()?;
        self.settle(Vec::new(), Vec::new());
        let root = project_root(folder);
        let deadline = Instant::now() + ANSWERING;
        let (claimed, left) = loop {
            let others = if Instant::now() < deadline { Others::Wait } else { Others::PassOver };
            match self.store.claim(&root, PER_CALL, others).map_err(failure)? {
                Claimed::Messages(messages, left) => break (messages, left),
                Claimed::Busy => {
                    let cancel = Cancel::current();
                    cancel.sleep(STEP);
                    cancel.check()?;
                }
            }
        };
        let ids = claimed.iter().map(|message| message.id).collect();
        // From here on it is given back, whatever happens.
        let claim = Claim { messages: Arc::clone(self), ids };
        Ok(Delivery { messages: place::all(claimed), left, unreadable, claim })
    }

    /// What waits for the project that this folder is in, without claiming it.
    pub fn waiting(&self, folder: &Path) -> Result<Waiting, Failure> {
        let unreadable = self.take_inbox()?;
        let root = project_root(folder);
        let (messages, all) = self.store.list_waiting(&root, PER_CALL).map_err(failure)?;
        let left = all.saturating_sub(messages.len());
        Ok(Waiting { messages: place::all(messages), left, unreadable })
    }

    /// Notes which claims came to an end, delivered or not; those before that could not be noted as well.
    ///
    /// Where that fails they stay claimed, so nobody gets them twice while this process lives; it is tried again.
    pub fn settle(&self, delivered: Vec<MessageId>, undelivered: Vec<MessageId>) {
        let (delivered, undelivered) = {
            let mut open = self.unsettled.lock().unwrap_or_else(PoisonError::into_inner);
            open.0.extend(delivered);
            open.1.extend(undelivered);
            std::mem::take(&mut *open)
        };
        let again = |error: lore_store::StoreError, ids: (Vec<MessageId>, Vec<MessageId>)| {
            tracing::warn!(%error, "what became of some messages could not be noted; it is tried again");
            let mut open = self.unsettled.lock().unwrap_or_else(PoisonError::into_inner);
            open.0.extend(ids.0);
            open.1.extend(ids.1);
        };
        if !delivered.is_empty()
            && let Err(error) = self.store.acknowledge(&delivered, self.clock.now())
        {
            again(error, (delivered, Vec::new()));
        }
        if !undelivered.is_empty()
            && let Err(error) = self.store.release(&undelivered)
        {
            again(error, (Vec::new(), undelivered));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use lore_model::MessageState;
    use lore_store_embedded::EmbeddedMessages;

    use super::*;
    use lore_model::SystemClock;

    use crate::CommentRequest;

    #[test]
    fn what_could_not_be_noted_is_noted_later() {
        let folder = tempfile::tempdir().unwrap();
        let (home, project) = (folder.path().join("home"), folder.path().join("project"));
        fs::create_dir(&project).unwrap();
        let store = Arc::new(EmbeddedMessages::new(&home));
        let messages = Arc::new(Messages::new(store, Arc::new(SystemClock), None));
        let request = CommentRequest {
            folder: project.clone(),
            project: None,
            file: "a.rs".into(),
            lines: None,
            text: "about this".to_owned(),
        };
        let id = messages.comment(&request).unwrap().id;
        let mut delivery = messages.deliver(&project).unwrap();
        assert_eq!(std::mem::take(&mut delivery.claim.ids), [id]);
        // Another file stands in the place of the comments for a while.
        let (kept, aside) = (home.join("messages.db"), home.join("aside.db"));
        fs::rename(&kept, &aside).unwrap();
        fs::create_dir(&kept).unwrap();
        messages.settle(vec![id], Vec::new());
        assert_eq!(messages.unsettled.lock().unwrap().0, [id], "what failed is not forgotten");
        fs::remove_dir(&kept).unwrap();
        fs::rename(&aside, &kept).unwrap();
        messages.settle(Vec::new(), Vec::new());
        assert!(matches!(messages.get(id).unwrap().message.state, MessageState::Delivered(_)));
    }
}
