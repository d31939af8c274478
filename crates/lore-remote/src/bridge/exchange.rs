//! One request from the host's line to the server's answer: tried again, taken up again, in a new session where needed.

use std::{
    io::Read as _,
    time::{Duration, Instant},
};

use ureq::{
    Body,
    http::{Response, StatusCode, header},
};

use super::{
    Inner,
    answer::{Answer, Gathered, Said},
    message::{Message, Request, read},
    session::Session,
    trouble::Trouble,
    wire::{Flight, Parcel, body_text},
};
use crate::{Parser, http};

/// So often a request is tried again, with pauses that double.
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// A server that wants to be left alone for longer is asked earlier, one that wants no pause at all not at once.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// So often a broken stream is taken up again without a word from the server in between.
const RESUMES: u32 = 5;

/// The largest answer that is not a stream.
const LARGEST_ANSWER: u64 = 64 << 20;

/// The notification with which a handshake ends.
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The pause before an attempt.
pub(super) fn pause_before(attempt: u32) -> Duration {
    (FIRST_PAUSE * 2_u32.saturating_pow(attempt.saturating_sub(1))).min(LONGEST_PAUSE)
}

/// The pause that a server wants, within reason.
pub(super) fn pause_wanted(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds).clamp(FIRST_PAUSE, LONGEST_PAUSE)
}

impl Inner {
    /// Asks until there is an answer or no sense in asking again.
    pub(super) fn ask(&self, request: &Request, flight: &Flight) -> Result<Answer, Trouble> {
        let mut was_renewed = false;
        let mut attempt: u32 = 0;
        loop {
            // It may have been taken back during a pause.
            if flight.is_cut() {
                return Err(Trouble::Dropped);
            }
            let session = self.session_for(&request.message);
            let asked = self.ask_once(request, flight, session.as_ref());
            let is_endless = request.is_endless();
            if flight.take_heard() && is_endless {
                // It was a good stream: what comes now is another trouble than the last one.
                (attempt, was_renewed) = (0, false);
            }
            // Where the session is lost, the server has not done what it was asked, and beginning another can be tried again too.
            let (asked, is_harmless) = match asked {
                Err(Trouble::SessionLost) if !was_renewed && !flight.is_cut() => {
                    match self.renew(session.map_or(0, |session| session.number)) {
                        Ok(()) => {
                            was_renewed = true;
                            continue;
                        }
                        Err(trouble) => (Err(trouble), true),
                    }
                }
                asked => (asked, request.is_read_only()),
            };
            match asked {
                Err(_) if flight.is_cut() => return Err(Trouble::Dropped),
                Err(trouble) if self.may_wait(&trouble, is_harmless) && attempt < ATTEMPTS && !is_endless => {
                    attempt += 1;
                    tracing::info!(%trouble, attempt, method = request.method(), "the server is asked again");
                    let wanted = trouble.pause_wanted().unwrap_or_default().min(LONGEST_PAUSE);
                    if !self.sessions.pause(pause_before(attempt).max(wanted)) {
                        return Err(trouble);
                    }
                }
                // What is listened to is listened to again, for as long as the host wants.
                Err(trouble) if is_endless && trouble.may_pass() => {
                    attempt = attempt.saturating_add(1);
                    tracing::info!(%trouble, attempt, "the server is listened to again");
                    if !self.sessions.pause(pause_before(attempt)) {
                        return Err(Trouble::Dropped);
                    }
                }
                done => return done,
            }
        }
    }

    /// Whether asking again soon may go better. A server that has answered before may be restarting; one that has not may have
    /// another address, or nobody has started it, which is told at once.
    fn may_wait(&self, trouble: &Trouble, read_only: bool) -> bool {
        let is_unknown = matches!(trouble, Trouble::NoConnection(_)) && !self.wire.was_reached();
        trouble.is_passing(read_only) && !is_unknown
    }

    /// The session that a message belongs to.
    fn session_for(&self, message: &Message) -> Option<Session> {
        if message.standalone.is_some() || message.is("initialize") { None } else { self.sessions.current() }
    }

    fn ask_once(&self, request: &Request, flight: &Flight, session: Option<&Session>) -> Result<Answer, Trouble> {
        let mut headers = request.message.standalone_headers();
        headers.extend(session.iter().flat_map(|session| session.headers()));
        let patience = Some(self.patience(request));
        let parcel = Parcel { method: "POST", body: Some(&request.message.text), headers, patience };
        let mut response = self.wire.send(flight, &parcel)?;
        let status = response.status();
        if status != StatusCode::OK {
            return refused(&mut response, request, session);
        }
        let id = response.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        let answer = if is_stream(&response) {
            self.follow(response, request, flight, session)?
        } else {
            self.whole(response, request, flight)?
        };
        if request.message.is("initialize") && answer.value.get("result").is_some() {
            self.sessions.begin(request, id, &answer.value);
        }
        Ok(answer)
    }

    /// How long nothing may be heard.
    fn patience(&self, request: &Request) -> Duration {
        if request.is_endless() { self.quiet } else { self.timeout }
    }

    /// An answer that is one JSON.
    fn whole(&self, response: Response<Body>, request: &Request, flight: &Flight) -> Result<Answer, Trouble> {
        let begun = Instant::now();
        let mut reader = response.into_body().into_with_config().limit(LARGEST_ANSWER).reader();
        let (mut bytes, mut buffer) = (Vec::new(), [0; 16 << 10]);
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(_) if begun.elapsed() > self.timeout => return Err(self.late()),
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                Err(error) => return Err(self.broken(&error, request, flight)),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        match Gathered::default().take(&text, &request.id) {
            Said::Answer(answer) => Ok(answer),
            _ => Err(Trouble::Nonsense(format!("no answer to this request: {}", http::shortened(&text)))),
        }
    }

    /// An answer that is a stream, taken up again where it breaks and the server can.
    fn follow(
        &self,
        mut response: Response<Body>,
        request: &Request,
        flight: &Flight,
        session: Option<&Session>,
    ) -> Result<Answer, Trouble> {
        let mut gathered = Gathered::default();
        let mut resumes = 0;
        let mut last_id: Option<String> = None;
        loop {
            let mut parser = Parser::default();
            let mut has_spoken = false;
            let broken = match self.listen(response, &mut parser, request, flight, &mut gathered, &mut has_spoken) {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => Trouble::Broken("the stream ended without an answer".to_owned()),
                Err(trouble @ Trouble::Broken(_)) => trouble,
                Err(trouble) => return Err(trouble),
            };
            last_id = parser.last_id().map(str::to_owned).or(last_id);
            let Some(last) = &last_id else { return Err(broken) };
            resumes = if has_spoken { 1 } else { resumes + 1 };
            if resumes > RESUMES {
                return Err(broken);
            }
            let pause = parser.retry_ms().map_or_else(|| pause_before(resumes), pause_wanted);
            tracing::info!(resumes, "a broken stream is taken up again");
            if !self.sessions.pause(pause) {
                return Err(Trouble::Dropped);
            }
            response = match self.resume(request, flight, session, last) {
                Ok(response) => response,
                Err(Trouble::NoConnection(_)) if resumes < RESUMES => {
                    continue_later(self, resumes, request, flight, session, last)?
                }
                Err(trouble) => return Err(trouble),
            };
        }
    }

    /// Asks for what came after an event.
    fn resume(
        &self,
        request: &Request,
        flight: &Flight,
        session: Option<&Session>,
        last: &str,
    ) -> Result<Response<Body>, Trouble> {
        let mut headers = request.message.standalone_headers();
        headers.extend(session.iter().flat_map(|session| session.headers()));
        headers.push(("Last-Event-ID", last.to_owned()));
        let patience = Some(self.patience(request));
        let mut response = self.wire.send(flight, &Parcel { method: "GET", body: None, headers, patience })?;
        if response.status() == StatusCode::OK && is_stream(&response) {
            return Ok(response);
        }
        let said = body_text(&mut response);
        Err(Trouble::Broken(format!("the stream broke and was not given again: {} {said}", response.status())))
    }

    /// Reads a stream to the answer; `None` where it ends before.
    fn listen(
        &self,
        response: Response<Body>,
        parser: &mut Parser,
        request: &Request,
        flight: &Flight,
        gathered: &mut Gathered,
        has_spoken: &mut bool,
    ) -> Result<Option<Answer>, Trouble> {
        let mut reader = response.into_body().into_with_config().limit(u64::MAX).reader();
        let mut buffer = [0; 16 << 10];
        let mut last_word = Instant::now();
        loop {
            let count = match reader.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(count) => count,
                Err(error) => return Err(self.broken(&error, request, flight)),
            };
            for event in parser.push(&buffer[..count]) {
                *has_spoken = true;
                flight.hear();
                last_word = Instant::now();
                match gathered.take(&event.data, &request.id) {
                    Said::Answer(answer) => {
                        flight.keep_rest(reader);
                        return Ok(Some(answer));
                    }
                    Said::TooMuch => return Err(Trouble::Nonsense("an answer is larger than 64 MiB".to_owned())),
                    Said::Aside(line) if !flight.is_cut() => self.out.line(&line),
                    Said::Aside(_) | Said::Nothing => {}
                }
            }
            if parser.is_too_large() {
                return Err(Trouble::Nonsense("an event is larger than 64 MiB".to_owned()));
            }
            // What only keeps a connection open is no word.
            if !request.is_endless() && last_word.elapsed() > self.timeout {
                return Err(self.late());
            }
        }
    }

    fn late(&self) -> Trouble {
        Trouble::Late(self.timeout.as_secs())
    }

    fn broken(&self, error: &std::io::Error, request: &Request, flight: &Flight) -> Trouble {
        if flight.is_cut() {
            Trouble::Dropped
        } else if http::is_late_io(error) && request.is_endless() {
            // It can be taken up again.
            Trouble::Broken(format!("nothing was heard for {} seconds", self.quiet.as_secs()))
        } else if http::is_late_io(error) {
            self.late()
        } else {
            Trouble::Broken(http::shortened(&error.to_string()))
        }
    }

    /// Begins the session anew with what the host said at first, and repeats what lasted.
    pub(super) fn renew(&self, lost: u64) -> Result<(), Trouble> {
        let Some(renewal) = self.sessions.renewal(lost) else { return Ok(()) };
        tracing::info!("the server does not know the session any more: another one is begun");
        let flight = self.fly(None);
        let begun = self.ask_once(&renewal.initialize, &flight, None).and_then(|answer| {
            if answer.value.get("result").is_none() {
                return Err(Trouble::SessionLost);
            }
            self.tell_ready();
            for request in &renewal.lasting {
                let session = self.sessions.current();
                if let Err(trouble) = self.ask_once(request, &flight, session.as_ref()) {
                    tracing::warn!(%trouble, method = request.method(), "the server does not take up what lasted");
                }
            }
            Ok(())
        });
        self.landed(&flight, begun.is_ok());
        begun
    }

    /// Says that the handshake is done, and lets the server speak. There is a session even where it does not hear that: whoever
    /// waits for one that is ready would wait for ever.
    fn tell_ready(&self) {
        if let super::message::Line::Other(message) = read(INITIALIZED.as_bytes())
            && let Err(trouble) = self.tell(&message)
        {
            tracing::warn!(%trouble, "the server was not told that the handshake is done");
        }
        self.sessions.set_ready();
    }

    /// Passes on what wants no answer.
    pub(super) fn tell(&self, message: &Message) -> Result<(), Trouble> {
        let flight = self.fly(None);
        let mut attempt = 0;
        let mut was_renewed = message.is("notifications/initialized");
        let told = loop {
            let session = self.session_for(message);
            let told = match self.tell_once(message, &flight, session.as_ref()) {
                Err(Trouble::SessionLost) if !was_renewed => {
                    match self.renew(session.map_or(0, |session| session.number)) {
                        Ok(()) => {
                            was_renewed = true;
                            continue;
                        }
                        Err(trouble) => Err(trouble),
                    }
                }
                told => told,
            };
            match told {
                Err(trouble @ Trouble::NoConnection(_)) if self.may_wait(&trouble, false) && attempt < ATTEMPTS => {
                    attempt += 1;
                    if !self.sessions.pause(pause_before(attempt)) {
                        break Err(trouble);
                    }
                }
                done => break done,
            }
        };
        self.landed(&flight, told.is_ok());
        told
    }

    fn tell_once(&self, message: &Message, flight: &Flight, session: Option<&Session>) -> Result<(), Trouble> {
        let mut headers = message.standalone_headers();
        headers.extend(session.iter().flat_map(|session| session.headers()));
        let patience = Some(self.timeout.min(http::CALL_TIMEOUT));
        let parcel = Parcel { method: "POST", body: Some(&message.text), headers, patience };
        let mut response = self.wire.send(flight, &parcel)?;
        let status = response.status();
        let said = body_text(&mut response);
        if status.is_success() {
            return Ok(());
        }
        if status == StatusCode::NOT_FOUND && session.is_some_and(Session::has_id) {
            return Err(Trouble::SessionLost);
        }
        Err(Trouble::Refused(status, http::shortened(&said)))
    }
}

/// A status other than 200: what the server says as MCP is passed on, the rest is told in our words.
fn refused(response: &mut Response<Body>, request: &Request, session: Option<&Session>) -> Result<Answer, Trouble> {
    let status = response.status();
    let after =
        response.headers().get(header::RETRY_AFTER).and_then(|seconds| seconds.to_str().ok()?.trim().parse().ok());
    let said = body_text(response);
    let value = serde_json::from_str::<serde_json::Value>(&said).unwrap_or_default();
    let is_mcp = value.get("jsonrpc").is_some();
    // What speaks MCP is the server itself, which says so before it begins. A gateway may have lost an answer.
    if is_mcp && matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        let said = value["error"]["message"].as_str().unwrap_or(&said);
        return Err(Trouble::NotNow(status, http::shortened(said), after.map(Duration::from_secs)));
    }
    if is_mcp
        && value.get("id") == Some(&request.id)
        && let Said::Answer(answer) = Gathered::default().take(&said, &request.id)
    {
        return Ok(answer);
    }
    if status == StatusCode::NOT_FOUND && session.is_some_and(Session::has_id) {
        return Err(Trouble::SessionLost);
    }
    if status.is_redirection() {
        let detail = "it answers with a redirect, which is not followed: give the address of the server itself";
        return Err(Trouble::Refused(status, detail.to_owned()));
    }
    if status.is_success() {
        return Err(Trouble::Nonsense(format!("{status} without an answer")));
    }
    let said = match &value {
        serde_json::Value::Null => said,
        value => value["error"]["message"].as_str().map_or_else(|| value.to_string(), str::to_owned),
    };
    Err(Trouble::Refused(status, http::shortened(&said)))
}

/// A server that restarts is not there for a moment: the stream is asked for again until it is.
fn continue_later(
    inner: &Inner,
    begun: u32,
    request: &Request,
    flight: &Flight,
    session: Option<&Session>,
    last: &str,
) -> Result<Response<Body>, Trouble> {
    let mut attempt = begun;
    loop {
        attempt += 1;
        if !inner.sessions.pause(pause_before(attempt)) {
            return Err(Trouble::Dropped);
        }
        match inner.resume(request, flight, session, last) {
            Err(Trouble::NoConnection(_)) if attempt <= RESUMES => {}
            done => return done,
        }
    }
}

/// Whether an answer is a stream of events.
pub(super) fn is_stream(response: &Response<Body>) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}
