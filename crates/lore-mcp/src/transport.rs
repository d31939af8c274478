//! Carries messages between two streams of lines and rmcp.
//!
//! It admits a bounded number of requests at a time, and at the end of the input lets those it admitted finish. While
//! all slots are taken nothing is read, not even a cancellation, so a flood waits in the client and not in memory.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    future, io,
    sync::Arc,
    time::Duration,
};

use rmcp::{
    RoleServer,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions as _, JsonRpcMessage, RequestId,
        ServerJsonRpcMessage,
    },
    transport::Transport,
};
use serde_json::Value;
use tokio::{
    io::AsyncRead,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc::UnboundedSender},
    time::{Instant, timeout_at},
};

use crate::{
    lines::{Line, Lines},
    message::{self, Incoming},
    notices::Notices,
    receipts::Receipts,
    writer::{self, Outgoing},
};

/// Requests that are worked on at a time.
const SLOTS: u32 = 64;

/// Requests that may stay open for notices at a time.
const LISTENING: usize = 16;

/// Cancelled requests whose ids are not taken again. A client has no reason to: no id is used twice in a session.
const CANCELLED: usize = 256;

/// How long answers may take after the input ended.
const LAST_ANSWERS: Duration = Duration::from_mins(1);

/// Lines in, lines out.
pub(crate) struct LineTransport<R> {
    lines: Lines<R>,
    output: UnboundedSender<Outgoing>,
    slots: Arc<Semaphore>,
    /// The slots of the requests that rmcp is working on.
    open: HashMap<RequestId, OwnedSemaphorePermit>,
    /// The requests that stay open for notices. They take no slot: nobody waits for their answer.
    listening: HashSet<RequestId>,
    /// The requests that were cancelled last.
    cancelled: VecDeque<RequestId>,
    receipts: Receipts,
    notices: Arc<Notices>,
    /// What waits for a slot. It lives here because rmcp drops the future of `receive` at any moment.
    waiting: Option<Waiting>,
    /// When to give up, once the input has ended.
    deadline: Option<Instant>,
}

enum Waiting {
    Request { id: RequestId, slots: u32, message: Box<ClientJsonRpcMessage> },
    Refusal(Value),
}

impl<R: AsyncRead + Send + Unpin + 'static> LineTransport<R> {
    /// A transport that reads `input`, and writes through the writer behind `output`.
    ///
    /// `heeded` are told that answers are out, and that there will be no more requests.
    pub(crate) fn new(input: R, output: UnboundedSender<Outgoing>, heeded: (Receipts, Arc<Notices>)) -> Self {
        let (receipts, notices) = heeded;
        Self {
            lines: Lines::new(input),
            output,
            slots: Arc::new(Semaphore::new(SLOTS as usize)),
            open: HashMap::new(),
            listening: HashSet::new(),
            cancelled: VecDeque::new(),
            receipts,
            notices,
            waiting: None,
            deadline: None,
        }
    }

    /// The next message for rmcp, or `None` when there will be none.
    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(waiting) = &self.waiting {
                let slots = match waiting {
                    Waiting::Request { slots, .. } => *slots,
                    Waiting::Refusal(_) => 1,
                };
                let slot = self.slots.clone().acquire_many_owned(slots).await.ok()?;
                match self.waiting.take()? {
                    Waiting::Refusal(answer) => {
                        let line = writer::encode(&answer).ok()?;
                        self.output.send(Outgoing { line, slot: Some(slot), receipt: None }).ok()?;
                    }
                    Waiting::Request { id, mut message, .. } => {
                        let ticket = self.receipts.open(id.clone());
                        if let JsonRpcMessage::Request(request) = &mut *message {
                            request.request.extensions_mut().insert(ticket);
                        }
                        self.open.insert(id, slot);
                        return Some(*message);
                    }
                }
            }
            let incoming = match self.lines.next().await {
                Ok(Some(Line::Text(line))) => message::read(&line),
                Ok(Some(Line::TooLong)) => message::too_large(),
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "the input cannot be read any further");
                    break;
                }
            };
            if let Some(message) = self.admit(incoming) {
                return Some(message);
            }
        }
        self.finish().await;
        None
    }

    /// Lets notifications and responses go on at once; what has an answer waits for a slot.
    fn admit(&mut self, incoming: Incoming) -> Option<ClientJsonRpcMessage> {
        let message = match incoming {
            Incoming::Message(message) => message,
            Incoming::Refused(answer) => {
                self.waiting = Some(Waiting::Refusal(answer));
                return None;
            }
            Incoming::Ignored => return None,
        };
        match &*message {
            JsonRpcMessage::Request(request)
                if self.is_open(&request.id) || self.is_ambiguous(&request.id, &request.request) =>
            {
                return self.admit(message::id_in_use(&request.id));
            }
            JsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) =>
            {
                if self.listening.len() >= LISTENING {
                    return self.admit(message::too_many_listening(&request.id));
                }
                self.listening.insert(request.id.clone());
            }
            JsonRpcMessage::Request(request) => {
                // The handshake takes all slots: what was sent before it is answered before it, what was sent after, after.
                let is_handshake = matches!(request.request, ClientRequest::InitializeRequest(_));
                let slots = if is_handshake { SLOTS } else { 1 };
                self.waiting = Some(Waiting::Request { id: request.id.clone(), slots, message });
                return None;
            }
            JsonRpcMessage::Notification(notification) => {
                // rmcp sends no answer to a request that was cancelled.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    let was_open = self.open.remove(id).is_some() | self.listening.remove(id);
                    drop(self.receipts.close(id));
                    if was_open {
                        self.cancelled.push_back(id.clone());
                    }
                    if self.cancelled.len() > CANCELLED {
                        self.cancelled.pop_front();
                    }
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Some(*message)
    }

    fn is_open(&self, id: &RequestId) -> bool {
        self.open.contains_key(id) || self.listening.contains(id)
    }

    /// Whether the old answer to a call of this id might be taken for the answer to this one: what was cancelled may still be
    /// worked on, and nobody tells when that has ended.
    fn is_ambiguous(&self, id: &RequestId, request: &ClientRequest) -> bool {
        matches!(request, ClientRequest::CallToolRequest(_)) && self.cancelled.contains(id)
    }

    /// Waits until every answer is out: all slots are free.
    async fn finish(&mut self) {
        self.notices.close();
        let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + LAST_ANSWERS);
        if timeout_at(deadline, self.slots.acquire_many(SLOTS)).await.is_err() {
            tracing::warn!(unanswered = self.open.len(), "the input ended a while ago; stopping now");
        }
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for LineTransport<R> {
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let receipt = answered.and_then(|id| self.receipts.close(id));
        let slot = answered.and_then(|id| self.open.remove(id));
        answered.map(|id| self.listening.remove(id));
        let sent = writer::encode(&message).and_then(|line| {
            self.output.send(Outgoing { line, slot, receipt }).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
        });
        future::ready(sent)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let output = self.output.clone();
        tokio::select! {
            message = self.next() => message,
            // Nobody reads the answers any more.
            () = output.closed() => None,
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
