//! Keeps the last answers of a session for clients whose connection broke before they had them.
//!
//! rmcp lets a client go on with a stream while its call runs, and forgets the answer as soon as it was sent, be it into
//! a connection that is gone.

use std::{
    collections::VecDeque,
    io,
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

use super::{
    sessions::Sessions,
    under_way::{Listener, UnderWay},
};

/// How long an answer is kept.
const KEPT_FOR: Duration = Duration::from_mins(1);
/// Answers that are kept for one session.
const ANSWERS: usize = 4;
/// Events that are kept of one stream.
const EVENTS: usize = 16;

/// Events on their way to a client.
pub(super) type Events = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

/// The last answers of all sessions, the oldest first. They are held in memory, so their bytes are counted.
#[derive(Default)]
pub(super) struct Answers {
    kept: VecDeque<Kept>,
    bytes: usize,
}

struct Kept {
    session: SessionId,
    request: u64,
    events: VecDeque<ServerSseMessage>,
    bytes: usize,
    until: Instant,
}

impl Answers {
    /// What a client of a session has missed that had this event last.
    pub(super) fn after(&self, session: &SessionId, last_event: &str) -> Option<Vec<ServerSseMessage>> {
        let (index, request) = place(last_event)?;
        let is_it = |kept: &&Kept| kept.session == *session && kept.request == request && kept.until > Instant::now();
        let kept = self.kept.iter().rev().find(is_it)?;
        let is_later = |event: &&ServerSseMessage| {
            event.event_id.as_deref().and_then(place).is_some_and(|(other, _)| other > index)
        };
        Some(kept.events.iter().filter(is_later).cloned().collect())
    }

    /// Keeps a stream that ended, if it ended with an answer. Of all answers so many bytes are kept at most.
    pub(super) fn keep(&mut self, session: &SessionId, events: VecDeque<ServerSseMessage>, most: usize) {
        let Some(last) = events.back().filter(|last| is_answer(last)) else { return };
        let Some((_, request)) = last.event_id.as_deref().and_then(place) else { return };
        self.remove(|kept| kept.session == *session && kept.request == request);
        if self.kept.iter().filter(|kept| kept.session == *session).count() >= ANSWERS {
            let oldest = self.kept.iter().find(|kept| kept.session == *session).map(|kept| kept.request);
            self.remove(|kept| kept.session == *session && Some(kept.request) == oldest);
        }
        let bytes = events.iter().map(size).sum();
        if bytes > most {
            return;
        }
        self.bytes += bytes;
        self.kept.push_back(Kept {
            session: session.clone(),
            request,
            events,
            bytes,
            until: Instant::now() + KEPT_FOR,
        });
        while self.bytes > most
            && let Some(oldest) = self.kept.pop_front()
        {
            self.bytes -= oldest.bytes;
        }
    }

    /// Drops what was kept for a session.
    pub(super) fn forget(&mut self, session: &SessionId) {
        self.remove(|kept| kept.session == *session);
    }

    /// Drops what was kept long enough, and says when there will be more of it.
    pub(super) fn expire(&mut self) -> Option<Instant> {
        let now = Instant::now();
        self.remove(|kept| kept.until <= now);
        self.kept.front().map(|kept| kept.until)
    }

    /// How many bytes are kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn remove(&mut self, is_it: impl Fn(&Kept) -> bool) {
        let bytes = &mut self.bytes;
        self.kept.retain(|kept| {
            let goes = is_it(kept);
            if goes {
                *bytes -= kept.bytes;
            }
            !goes
        });
    }
}

/// How many bytes an event has, as it is written.
fn size(event: &ServerSseMessage) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(size_of::<ServerSseMessage>());
    if let Some(message) = &event.message
        && let Err(error) = serde_json::to_writer(&mut count, message)
    {
        tracing::debug!(%error, "an answer cannot be written");
    }
    count.0
}

fn is_answer(event: &ServerSseMessage) -> bool {
    matches!(event.message.as_deref(), Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)))
}

/// Which event of which request an id names: rmcp writes `index/request`.
pub(super) fn place(event_id: &str) -> Option<(u64, u64)> {
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
    /// The call that they come from is in progress until they end.
    under_way: Option<UnderWay>,
    /// The client waits for the answer of that call.
    listener: Option<Listener>,
    /// Whether the session knows the stream by its number.
    noted: bool,
}

impl Recorded {
    pub(super) fn new(events: Events, session: &SessionId, sessions: &Sessions) -> Self {
        let heard = VecDeque::new();
        let (session, sessions) = (session.clone(), sessions.clone());
        Self { events: Some(events), heard, session, sessions, under_way: None, listener: None, noted: false }
    }

    /// The same for a call in progress.
    pub(super) fn of(mut self, under_way: Option<UnderWay>) -> Self {
        self.listener = under_way.as_ref().map(UnderWay::listen);
        self.under_way = under_way;
        self
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
            Poll::Ready(Some(event)) => {
                if let Some(under_way) = self.under_way.as_ref().filter(|_| is_answer(event)) {
                    under_way.note_answered();
                }
                // The first event tells the number.
                if let (false, Some(under_way)) = (self.noted, &self.under_way)
                    && let Some((_, number)) = event.event_id.as_deref().and_then(place)
                {
                    self.sessions.note_stream(&self.session, number, under_way);
                    self.noted = true;
                }
                hear(&mut self.heard, event.clone());
            }
            Poll::Ready(None) => {
                self.events = None;
                (self.under_way, self.listener) = (None, None);
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
            let under_way = self.under_way.take();
            runtime.spawn(async move {
                while let Some(event) = events.next().await {
                    hear(&mut heard, event);
                }
                drop(under_way);
                sessions.keep_answer(&session, heard);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    /// The stream of a request that ended with an answer.
    fn stream(request: u64, text: &str) -> VecDeque<ServerSseMessage> {
        let answer = json!({"jsonrpc": "2.0", "id": request, "result": {"content": [{"type": "text", "text": text}]}});
        let mut first = ServerSseMessage::default();
        first.event_id = Some(format!("0/{request}"));
        let mut last = ServerSseMessage::default();
        last.event_id = Some(format!("1/{request}"));
        last.message = Some(Arc::new(serde_json::from_value(answer).expect("an answer")));
        VecDeque::from([first, last])
    }

    #[test]
    fn each_session_has_its_own_last_answers() {
        let (ours, theirs): (SessionId, SessionId) = ("ours".into(), "theirs".into());
        let mut answers = Answers::default();
        for request in 0..ANSWERS as u64 {
            answers.keep(&theirs, stream(request, "theirs"), usize::MAX);
        }
        for request in 0..ANSWERS as u64 + 2 {
            answers.keep(&ours, stream(request, "ours"), usize::MAX);
        }
        let kept = |answers: &Answers, session| {
            (0..9).filter(|request| answers.after(session, &format!("0/{request}")).is_some()).collect::<Vec<u64>>()
        };
        assert_eq!((kept(&answers, &ours), kept(&answers, &theirs)), (vec![2, 3, 4, 5], vec![0, 1, 2, 3]));
        // The answer alone was missed; whoever had it has missed nothing.
        assert_eq!(answers.after(&ours, "0/3").map(|events| events.len()), Some(1));
        assert_eq!(answers.after(&ours, "1/3").map(|events| events.len()), Some(0));
        // The same request once more takes the place of its answer, and of no other.
        answers.keep(&ours, stream(3, "again"), usize::MAX);
        let again = answers.after(&ours, "0/3").expect("it is kept");
        assert!(serde_json::to_string(&again[0].message).is_ok_and(|text| text.contains("again")));
        assert_eq!((kept(&answers, &ours), kept(&answers, &theirs)), (vec![2, 3, 4, 5], vec![0, 1, 2, 3]));
        answers.forget(&theirs);
        assert_eq!((kept(&answers, &ours).len(), kept(&answers, &theirs).len()), (4, 0));
        answers.forget(&ours);
        assert_eq!(answers.bytes(), 0);
    }

    #[test]
    fn the_oldest_answers_go_where_all_are_too_large() {
        let session: SessionId = "one".into();
        let mut answers = Answers::default();
        answers.keep(&session, stream(1, "first"), usize::MAX);
        let one = answers.bytes();
        answers.keep(&session, stream(2, "other"), 2 * one);
        answers.keep(&session, stream(3, "third"), 2 * one);
        assert!(answers.after(&session, "0/1").is_none() && answers.after(&session, "0/2").is_some());
        assert_eq!(answers.bytes(), 2 * one);
        answers.keep(&session, stream(4, &"large ".repeat(one)), 2 * one);
        assert!(answers.after(&session, "0/4").is_none() && answers.after(&session, "0/3").is_some());
    }
}
