//! Keeps the last answers of a session for clients whose connection broke before they had them.
//!
//! rmcp lets a client go on with a stream while its call runs, and forgets the answer as soon as it was sent, be it into
//! a connection that is gone.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures::{Stream, StreamExt as _};
use rmcp::{
    model::JsonRpcMessage,
    transport::streamable_http_server::{SessionId, session::ServerSseMessage},
};
use tokio::{runtime::Handle, time::Instant};

use super::sessions::Sessions;

/// How long an answer is kept.
const KEPT_FOR: Duration = Duration::from_mins(1);
/// Answers that are kept for one session.
const ANSWERS: usize = 4;
/// Events that are kept of one stream.
const EVENTS: usize = 16;

/// Events on their way to a client.
pub(super) type Events = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

/// The last answers of one session.
#[derive(Default)]
pub(super) struct Answers(VecDeque<Kept>);

struct Kept {
    request: u64,
    events: VecDeque<ServerSseMessage>,
    until: Instant,
}

impl Answers {
    /// What a client has missed that had this event last.
    pub(super) fn after(&self, last_event: &str) -> Option<Vec<ServerSseMessage>> {
        let (index, request) = place(last_event)?;
        let kept = self.0.iter().rev().find(|kept| kept.request == request && kept.until > Instant::now())?;
        let is_later = |event: &&ServerSseMessage| {
            event.event_id.as_deref().and_then(place).is_some_and(|(other, _)| other > index)
        };
        Some(kept.events.iter().filter(is_later).cloned().collect())
    }

    /// Keeps a stream that ended, if it ended with an answer.
    pub(super) fn keep(&mut self, events: VecDeque<ServerSseMessage>) {
        let now = Instant::now();
        self.0.retain(|kept| kept.until > now);
        let Some(last) = events.back() else { return };
        let is_answer = matches!(last.message.as_deref(), Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)));
        let Some((_, request)) = last.event_id.as_deref().and_then(place).filter(|_| is_answer) else { return };
        self.0.retain(|kept| kept.request != request);
        if self.0.len() >= ANSWERS {
            self.0.pop_front();
        }
        self.0.push_back(Kept { request, events, until: now + KEPT_FOR });
    }
}

/// Which event of which request an id names: rmcp writes `index/request`.
fn place(event_id: &str) -> Option<(u64, u64)> {
    let (index, request) = event_id.split_once('/')?;
    Some((index.parse().ok()?, request.parse().ok()?))
}

/// The events of one request, which are kept when they end. Where nobody takes them any more, they are still heard out.
pub(super) struct Recorded {
    /// `None` at its end.
    events: Option<Events>,
    heard: VecDeque<ServerSseMessage>,
    session: SessionId,
    sessions: Sessions,
}

impl Recorded {
    pub(super) fn new(events: Events, session: &SessionId, sessions: &Sessions) -> Self {
        let heard = VecDeque::new();
        Self { events: Some(events), heard, session: session.clone(), sessions: sessions.clone() }
    }
}

fn hear(heard: &mut VecDeque<ServerSseMessage>, event: ServerSseMessage) {
    if heard.len() >= EVENTS {
        heard.pop_front();
    }
    heard.push_back(event);
}

impl Stream for Recorded {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        let Some(events) = &mut self.events else { return Poll::Ready(None) };
        let polled = events.as_mut().poll_next(context);
        match &polled {
            Poll::Ready(Some(event)) => hear(&mut self.heard, event.clone()),
            Poll::Ready(None) => {
                self.events = None;
                let heard = std::mem::take(&mut self.heard);
                self.sessions.keep_answer(&self.session, heard);
            }
            Poll::Pending => {}
        }
        polled
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        // Where the program ends, nobody will ask.
        if let (Some(mut events), Ok(runtime)) = (self.events.take(), Handle::try_current()) {
            let (mut heard, session, sessions) =
                (std::mem::take(&mut self.heard), self.session.clone(), self.sessions.clone());
            runtime.spawn(async move {
                while let Some(event) = events.next().await {
                    hear(&mut heard, event);
                }
                sessions.keep_answer(&session, heard);
            });
        }
    }
}
