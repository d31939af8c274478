//! What a server says by itself: the stream that is open beside all requests.

use std::{
    io::Read as _,
    time::{Duration, Instant},
};

use ureq::http::StatusCode;

use super::{
    Inner,
    answer::{Gathered, Said},
    exchange::{is_stream, pause_before, pause_wanted},
    session::Session,
    trouble::Trouble,
    wire::Parcel,
};
use crate::Parser;

/// A stream that lasted so long was a good one: the next pause is short again.
const GOOD: Duration = Duration::from_secs(10);

/// How a stream ended.
enum End {
    /// The server offers none.
    Never,
    /// The server does not know the session.
    SessionLost,
    /// It broke, or the server wants it to be opened again.
    Again(Option<Duration>),
}

impl Inner {
    /// Listens in one session after the other, until the end.
    pub(super) fn listen_beside(&self) {
        let mut last = 0;
        while let Some(session) = self.sessions.next_ready(last) {
            last = session.number;
            self.listen_in(&session);
        }
    }

    fn listen_in(&self, session: &Session) {
        let (mut attempt, mut last_id) = (0, None);
        loop {
            let begun = Instant::now();
            let end = self.listen_once(session, &mut last_id);
            let current = self.sessions.current().map(|session| session.number);
            attempt = if begun.elapsed() > GOOD { 1 } else { attempt + 1 };
            let pause = match end {
                _ if current != Some(session.number) => return,
                End::Never => return,
                End::SessionLost => match self.renew(session.number) {
                    Ok(()) => return,
                    Err(_) => pause_before(attempt),
                },
                End::Again(wanted) => wanted.unwrap_or_else(|| pause_before(attempt)),
            };
            if !self.sessions.pause_within(session.number, pause) {
                return;
            }
        }
    }

    fn listen_once(&self, session: &Session, last_id: &mut Option<String>) -> End {
        let mut headers = session.headers();
        headers.extend(last_id.iter().map(|id| ("Last-Event-ID", id.clone())));
        let flight = self.fly_listening(session.number);
        let opened =
            self.wire.send(&flight, &Parcel { method: "GET", body: None, headers, patience: Some(self.quiet) });
        let end = match opened {
            Ok(response) if response.status() == StatusCode::OK && is_stream(&response) => {
                let mut reader = response.into_body().into_with_config().limit(u64::MAX).reader();
                let mut parser = Parser::default();
                let mut buffer = [0; 16 << 10];
                while let Ok(count @ 1..) = reader.read(&mut buffer) {
                    for event in parser.push(&buffer[..count]) {
                        // Nothing that comes here is the answer to a request that waits.
                        if let Said::Aside(line) = Gathered::default().take(&event.data, &serde_json::Value::Null) {
                            self.out.line(&line);
                        }
                    }
                    if let Some(id) = parser.last_id() {
                        *last_id = Some(id.to_owned());
                    }
                    if parser.is_too_large() {
                        break;
                    }
                }
                End::Again(parser.retry_ms().map(pause_wanted))
            }
            Ok(response) => match response.status() {
                StatusCode::NOT_FOUND if session.has_id() => End::SessionLost,
                status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => End::Again(None),
                // Most servers that offer none say 405.
                _ => End::Never,
            },
            Err(Trouble::Unauthorized(_)) => End::Again(Some(self.refused)),
            Err(_) => End::Again(None),
        };
        self.landed(&flight, false);
        end
    }
}
