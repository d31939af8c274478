//! Delivers messages to agents: each once, in their order, and none lost whoever dies when.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
    time::Duration,
};

use lore_model::{Failure, MessageId};
use lore_store::{Claimed, Others};
use tokio::time::Instant;

use super::{Messages, Placed, Unreadable, failure, place, project_root};
use crate::blocking;

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
    pub async fn acknowledge(mut self) {
        let ids = std::mem::take(&mut self.ids);
        self.messages.settle(ids, Vec::new()).await;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let ids = std::mem::take(&mut self.ids);
        // Where nothing runs any more, the process ends, and with it what it claims.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if ids.is_empty() {
            return;
        }
        let messages = Arc::clone(&self.messages);
        drop(runtime.spawn(async move { messages.settle(Vec::new(), ids).await }));
    }
}

impl Messages {
    /// Claims what waits for the project that this folder is in.
    pub async fn deliver(self: &Arc<Self>, folder: &Path) -> Result<Delivery, Failure> {
        let unreadable = self.take_inbox().await?;
        self.settle(Vec::new(), Vec::new()).await;
        let root = root(folder).await;
        let deadline = Instant::now() + ANSWERING;
        let (claimed, left) = loop {
            let others = if Instant::now() < deadline { Others::Wait } else { Others::PassOver };
            match self.store.claim(&root, PER_CALL, others).await.map_err(failure)? {
                Claimed::Messages(messages, left) => break (messages, left),
                Claimed::Busy => tokio::time::sleep(STEP).await,
            }
        };
        let ids = claimed.iter().map(|message| message.id).collect();
        // From here on it is given back, whatever happens.
        let claim = Claim { messages: Arc::clone(self), ids };
        Ok(Delivery { messages: place::all(claimed).await, left, unreadable, claim })
    }

    /// What waits for the project that this folder is in, without claiming it.
    pub async fn waiting(&self, folder: &Path) -> Result<Waiting, Failure> {
        let unreadable = self.take_inbox().await?;
        let root = root(folder).await;
        let (messages, all) = self.store.list_waiting(&root, PER_CALL).await.map_err(failure)?;
        let left = all.saturating_sub(messages.len());
        Ok(Waiting { messages: place::all(messages).await, left, unreadable })
    }

    /// Notes which claims came to an end, delivered or not; those before that could not be noted as well.
    ///
    /// Where that fails they stay claimed, so nobody gets them twice while this process lives; it is tried again. Whoever
    /// waits for this may go away: it is done all the same, and what fails then is not forgotten either.
    pub async fn settle(self: &Arc<Self>, delivered: Vec<MessageId>, undelivered: Vec<MessageId>) {
        {
            let mut open = self.unsettled.lock().unwrap_or_else(PoisonError::into_inner);
            open.0.extend(delivered);
            open.1.extend(undelivered);
            if open.0.is_empty() && open.1.is_empty() {
                return;
            }
        }
        let messages = Arc::clone(self);
        let settled = tokio::spawn(async move { messages.settle_all().await }).await;
        if let Err(error) = settled {
            tracing::debug!(%error, "what became of some messages was not noted to the end");
        }
    }

    async fn settle_all(&self) {
        let (delivered, undelivered) =
            std::mem::take(&mut *self.unsettled.lock().unwrap_or_else(PoisonError::into_inner));
        let again = |error: lore_store::StoreError, ids: (Vec<MessageId>, Vec<MessageId>)| {
            tracing::warn!(%error, "what became of some messages could not be noted; it is tried again");
            let mut open = self.unsettled.lock().unwrap_or_else(PoisonError::into_inner);
            open.0.extend(ids.0);
            open.1.extend(ids.1);
        };
        if !delivered.is_empty()
            && let Err(error) = self.store.acknowledge(&delivered, self.clock.now()).await
        {
            again(error, (delivered, Vec::new()));
        }
        if !undelivered.is_empty()
            && let Err(error) = self.store.release(&undelivered).await
        {
            again(error, (Vec::new(), undelivered));
        }
    }
}

async fn root(folder: &Path) -> PathBuf {
    let folder = folder.to_owned();
    blocking(move || project_root(&folder)).await
}

#[cfg(test)]
mod tests {
    use std::fs;

    use lore_model::MessageState;
    use lore_store_embedded::EmbeddedMessages;

    use super::*;
    use crate::{SystemClock, messages::CommentRequest};

    #[tokio::test(flavor = "multi_thread")]
    async fn what_could_not_be_noted_is_noted_later_also_if_nobody_waited() {
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
        let id = messages.comment(request).await.unwrap().id;
        let mut delivery = messages.deliver(&project).await.unwrap();
        assert_eq!(std::mem::take(&mut delivery.claim.ids), [id]);
        // Another file stands in the place of the comments for a while.
        let (kept, aside) = (home.join("messages.db"), home.join("aside.db"));
        fs::rename(&kept, &aside).unwrap();
        fs::create_dir(&kept).unwrap();
        // Whoever waits goes away as soon as it has begun.
        tokio::select! {
            biased;
            () = messages.settle(vec![id], Vec::new()) => {}
            () = std::future::ready(()) => {}
        }
        let deadline = Instant::now() + Duration::from_secs(30);
        while messages.unsettled.lock().unwrap().0.is_empty() {
            assert!(Instant::now() < deadline, "what failed is forgotten");
            tokio::time::sleep(STEP).await;
        }
        fs::remove_dir(&kept).unwrap();
        fs::rename(&aside, &kept).unwrap();
        while !matches!(messages.get(id).await.unwrap().message.state, MessageState::Delivered(_)) {
            assert!(Instant::now() < deadline, "it would be delivered again");
            messages.settle(Vec::new(), Vec::new()).await;
            tokio::time::sleep(STEP).await;
        }
    }
}
