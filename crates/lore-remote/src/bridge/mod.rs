//! The bridge: lines of JSON-RPC from a host on one side, a server's MCP endpoint on the other.
//!
//! Every request gets its answer, in whatever order they come; nothing but messages is ever written. Requests are blocking
//! exchanges on threads of their own: a host has a few under way, and each can be cut off alone. What a message means is the
//! business of the host and the server; only the handshake, cancelling and what a new session needs is looked at.

mod answer;
mod exchange;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod message;
mod session;
mod stream;
mod trouble;
mod wire;

use std::{
    collections::{HashMap, VecDeque},
    io::{BufRead, Write},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use lore_model::{Code, Failure};
use serde_json::Value;

use self::{
    message::{Line, Message, Request, error_response, read},
    session::{Session, Sessions},
    trouble::Trouble,
    wire::{Flight, Parcel, Wire},
};
use crate::{Authority, Connection};

/// The longest line of a host.
const LONGEST_LINE: usize = 16 << 20;

/// So many requests are under way at once; so many more wait for their turn.
const IN_FLIGHT: usize = 64;
const WAITING: usize = 1024;

/// How long a stream without an end may be silent, as it is for ever after a laptop slept. Lore's own server sends a comment
/// every 15 seconds.
const QUIET: Duration = Duration::from_mins(1);

/// How long a server that refused the token for its stream is left alone.
const REFUSED: Duration = Duration::from_mins(1);

/// How long the end of a session may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// How a bridge works.
#[derive(Debug)]
pub struct BridgeOptions {
    /// The toolset, where not all tools are wanted.
    pub toolset: Option<String>,
    /// How long a request waits for a word from the server.
    pub timeout: Duration,
}

/// A bridge that is ready to run.
pub struct Bridge {
    inner: Arc<Inner>,
    events: (mpsc::Sender<Event>, mpsc::Receiver<Event>),
}

/// Ends a bridge from elsewhere.
#[derive(Clone)]
pub struct Stop {
    inner: Arc<Inner>,
    events: mpsc::Sender<Event>,
}

/// What the bridge waits for.
enum Event {
    Line(Vec<u8>),
    TooLong,
    /// The host says no more.
    Closed,
    /// A request is done.
    Finished,
    Stop,
}

/// What is told without an answer, and the request that is cut off when it has been told.
struct Told {
    message: Message,
    then_cut: Vec<Arc<Flight>>,
}

struct Inner {
    wire: Wire,
    sessions: Sessions,
    out: Out,
    timeout: Duration,
    /// After so long without a byte a stream that has no end is taken for dead.
    quiet: Duration,
    /// So long a server is left alone that does not take the token for its stream: somebody may log in again.
    refused: Duration,
    flights: Mutex<HashMap<u64, Flying>>,
    last_flight: AtomicU64,
}

struct Flying {
    /// The request; absent for what the bridge does by itself.
    id: Option<Value>,
    is_endless: bool,
    /// The session that is listened to, where it is that.
    listens_to: Option<u64>,
    flight: Arc<Flight>,
}

/// The host's side. Once it has gone nothing is written any more.
struct Out {
    writer: Mutex<Box<dyn Write + Send>>,
    gone: AtomicBool,
}

impl Out {
    fn line(&self, line: &str) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        if writer.write_all(&bytes).and_then(|()| writer.flush()).is_err() {
            self.gone.store(true, Ordering::SeqCst);
        }
    }
}

impl Stop {
    /// Ends the bridge now: what is under way is cut off.
    pub fn stop(&self) {
        self.inner.sessions.end();
        self.inner.cut_all(|_| true);
        // The bridge has ended by itself where nobody listens.
        drop(self.events.send(Event::Stop));
    }
}

impl Bridge {
    /// A bridge to that server, in that name; nothing is sent yet.
    pub fn new(
        connection: Connection,
        authority: Authority,
        options: &BridgeOptions,
        output: Box<dyn Write + Send>,
    ) -> Result<Self, Failure> {
        let address = connection.url().mcp(options.toolset.as_deref())?;
        let inner = Arc::new(Inner {
            wire: Wire::new(connection, address, authority),
            sessions: Sessions::default(),
            out: Out { writer: Mutex::new(output), gone: AtomicBool::new(false) },
            timeout: options.timeout,
            quiet: QUIET,
            refused: REFUSED,
            flights: Mutex::default(),
            last_flight: AtomicU64::new(0),
        });
        Ok(Self { inner, events: mpsc::channel() })
    }

    /// Something with which it can be ended.
    pub fn stop(&self) -> Stop {
        Stop { inner: Arc::clone(&self.inner), events: self.events.0.clone() }
    }

    /// Passes messages on until the host says no more and everything is answered, or somebody stops it.
    pub fn run(self, input: Box<dyn BufRead + Send>) -> Result<(), Failure> {
        let Self { inner, events: (sender, events) } = self;
        let (tell, told) = mpsc::channel::<Told>();
        let reader = sender.clone();
        spawn("lore-bridge-in", move || read_lines(input, &reader))?;
        let listener = Arc::clone(&inner);
        spawn("lore-bridge-listen", move || listener.listen_beside())?;
        let teller = Arc::clone(&inner);
        let telling = spawn("lore-bridge-tell", move || teller.tell_all(told))?;
        let mut desk = Desk { inner: &inner, sender, tell, waiting: VecDeque::new(), active: 0 };
        desk.work(&events)?;
        // What was told goes out before the session ends.
        drop(desk);
        let until = Instant::now() + FAREWELL;
        while !telling.is_finished() && Instant::now() < until {
            thread::park_timeout(Duration::from_millis(10));
        }
        inner.end();
        Ok(())
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<thread::JoinHandle<()>, Failure> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| Failure::new(Code::Internal, format!("a thread did not start: {error}")))
}

/// Reads lines until there are no more. A line that is too long is skipped.
fn read_lines(mut input: Box<dyn BufRead + Send>, events: &mpsc::Sender<Event>) {
    let mut line = Vec::new();
    let mut skips = false;
    loop {
        let part = match input.fill_buf() {
            Ok(part) if !part.is_empty() => part,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            _ => break,
        };
        let end = part.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(part.len(), |end| end + 1);
        let content = &part[..end.unwrap_or(part.len())];
        let fits = line.len() + content.len() <= LONGEST_LINE;
        if !skips && fits {
            line.extend_from_slice(content);
        } else if !skips {
            skips = true;
            line.clear();
        }
        input.consume(taken);
        if end.is_some() {
            let line = std::mem::take(&mut line);
            let event = if std::mem::take(&mut skips) { Event::TooLong } else { Event::Line(line) };
            if events.send(event).is_err() {
                return;
            }
        }
    }
    if !line.is_empty() {
        drop(events.send(Event::Line(line)));
    }
    drop(events.send(Event::Closed));
}

/// Who takes the lines and hands them out.
struct Desk<'a> {
    inner: &'a Arc<Inner>,
    sender: mpsc::Sender<Event>,
    tell: mpsc::Sender<Told>,
    waiting: VecDeque<Request>,
    active: usize,
}

impl Desk<'_> {
    fn work(&mut self, events: &mpsc::Receiver<Event>) -> Result<(), Failure> {
        let mut deadline = None;
        loop {
            let event = match deadline {
                None => events.recv().ok(),
                Some(deadline) => {
                    events.recv_timeout(Instant::saturating_duration_since(&deadline, Instant::now())).ok()
                }
            };
            match event {
                Some(Event::Line(line)) => self.line(&line)?,
                Some(Event::TooLong) => {
                    let detail = "the line is longer than 16 MiB";
                    self.answer(&error_response(&Value::Null, -32700, "Parse error", detail));
                }
                Some(Event::Closed) => {
                    // Nobody can end what has no end any more.
                    self.inner.cut_all(|flying| flying.is_endless);
                    self.waiting.retain(|request| !request.is_endless());
                    deadline = Some(Instant::now() + self.inner.timeout + FAREWELL);
                }
                Some(Event::Finished) => {
                    self.active -= 1;
                    if let Some(request) = self.waiting.pop_front() {
                        self.start(request)?;
                    }
                }
                Some(Event::Stop) => return Ok(()),
                None => {
                    self.give_up();
                    return Ok(());
                }
            }
            // Nothing comes of what was forsaken: a thread may still pause for it.
            let is_done = deadline.is_some() && self.waiting.is_empty() && self.active <= self.inner.count_forsaken();
            if is_done || self.inner.out.gone.load(Ordering::SeqCst) {
                return Ok(());
            }
        }
    }

    fn answer(&self, answer: &Value) {
        self.inner.out.line(&answer.to_string());
    }

    fn line(&mut self, line: &[u8]) -> Result<(), Failure> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        match read(line) {
            Line::Invalid(answer) => self.answer(&answer),
            // All that follows needs the session, so it waits.
            Line::Request(request) if request.message.is("initialize") => {
                let former = self.inner.sessions.current();
                self.inner.answer(&request);
                if let Some(former) = former {
                    self.inner.leave(&former);
                }
            }
            Line::Request(request) if self.active < IN_FLIGHT => self.start(request)?,
            Line::Request(request) if self.waiting.len() < WAITING => self.waiting.push_back(request),
            Line::Request(request) => {
                let detail = format!("{WAITING} requests wait already");
                self.answer(&error_response(&request.id, -32000, "Too many requests", &detail));
            }
            Line::Other(message) if message.is("notifications/initialized") => {
                if let Err(trouble) = self.inner.tell(&message) {
                    tracing::warn!(%trouble, "the server was not told that the host is ready");
                }
                self.inner.sessions.set_ready();
            }
            Line::Other(message) => {
                let then_cut = message.cancels.as_ref().map_or_else(Vec::new, |id| self.forget(id));
                // The teller goes only after this desk.
                drop(self.tell.send(Told { message, then_cut }));
            }
        }
        Ok(())
    }

    /// Takes a request back, be it that it waits or that it is under way.
    fn forget(&mut self, id: &Value) -> Vec<Arc<Flight>> {
        self.waiting.retain(|request| request.id != *id);
        self.inner.forsake(|flying| flying.id.as_ref() == Some(id))
    }

    /// The time is up: what has no answer gets one that says so.
    fn give_up(&mut self) {
        let late = Trouble::Late(self.inner.timeout.as_secs());
        let waiting = self.waiting.drain(..).map(|request| request.id);
        for id in self.inner.unanswered().into_iter().chain(waiting) {
            if let Some(answer) = late.response(&id, self.inner.wire.server()) {
                self.inner.out.line(&answer.to_string());
            }
        }
    }

    fn start(&mut self, request: Request) -> Result<(), Failure> {
        let (inner, sender) = (Arc::clone(self.inner), self.sender.clone());
        self.active += 1;
        // Before the thread runs, so that it can be cancelled from now on.
        let flight = inner.fly(Some(&request));
        spawn("lore-bridge-ask", move || {
            inner.answer_on(&request, &flight);
            drop(sender.send(Event::Finished));
            inner.wire.drain(&flight);
        })?;
        Ok(())
    }
}

impl Inner {
    fn flights(&self) -> MutexGuard<'_, HashMap<u64, Flying>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an exchange that can be cut off.
    fn fly(&self, request: Option<&Request>) -> Arc<Flight> {
        let flight = self.wire.flight();
        self.put(Flying {
            id: request.map(|request| request.id.clone()),
            is_endless: request.is_some_and(Request::is_endless),
            listens_to: None,
            flight: Arc::clone(&flight),
        });
        flight
    }

    /// The same for the stream beside all requests.
    fn fly_listening(&self, session: u64) -> Arc<Flight> {
        let flight = self.wire.flight();
        let flight_kept = Arc::clone(&flight);
        self.put(Flying { id: None, is_endless: false, listens_to: Some(session), flight: flight_kept });
        flight
    }

    fn put(&self, flying: Flying) {
        self.flights().insert(self.last_flight.fetch_add(1, Ordering::SeqCst), flying);
    }

    /// Ends an exchange; its connection is used again where its answer was read to the end.
    ///
    /// Says whether somebody still waits for it. That and who may use the connection next are decided at once: a request
    /// that is taken back while its answer arrives has either landed or is forsaken, never both.
    fn landed(&self, flight: &Arc<Flight>, is_whole: bool) -> bool {
        let mut flights = self.flights();
        flights.retain(|_, flying| !Arc::ptr_eq(&flying.flight, flight));
        let is_awaited = !flight.is_cut();
        if is_whole && is_awaited && !flight.has_rest() {
            self.wire.land(flight);
        }
        is_awaited
    }

    /// Forsakes what is under way, and gives it so that it can be ended.
    fn forsake(&self, which: impl Fn(&Flying) -> bool) -> Vec<Arc<Flight>> {
        let flights = self.flights();
        let chosen = flights.values().filter(|flying| which(flying));
        chosen.inspect(|flying| flying.flight.forsake()).map(|flying| Arc::clone(&flying.flight)).collect()
    }

    /// Forsakes every request that somebody still waits for, and says which they are.
    fn unanswered(&self) -> Vec<Value> {
        let flights = self.flights();
        let awaited = flights.values().filter(|flying| flying.id.is_some() && !flying.flight.is_cut());
        awaited.inspect(|flying| flying.flight.forsake()).filter_map(|flying| flying.id.clone()).collect()
    }

    /// How many requests nobody waits for any more although they have not ended.
    fn count_forsaken(&self) -> usize {
        self.flights().values().filter(|flying| flying.id.is_some() && flying.flight.is_cut()).count()
    }

    fn cut_all(&self, which: impl Fn(&Flying) -> bool) {
        for flight in self.forsake(which) {
            flight.shut();
        }
    }

    fn answer(&self, request: &Request) {
        let flight = self.fly(Some(request));
        self.answer_on(request, &flight);
    }

    /// Asks, and writes the answer or what went wrong.
    fn answer_on(&self, request: &Request, flight: &Arc<Flight>) {
        let answered = if flight.is_cut() { Err(Trouble::Dropped) } else { self.ask(request, flight) };
        if !self.landed(flight, answered.is_ok()) {
            return;
        }
        match answered {
            Ok(answer) => {
                if answer.value.get("result").is_some() {
                    self.sessions.remember(request);
                }
                self.out.line(&answer.line);
            }
            Err(trouble) => {
                tracing::info!(%trouble, method = request.method(), "there is no answer");
                if let Some(answer) = trouble.response(&request.id, self.wire.server()) {
                    self.out.line(&answer.to_string());
                }
            }
        }
    }

    /// Tells one thing after the other, in the order of the host.
    fn tell_all(&self, told: mpsc::Receiver<Told>) {
        for Told { message, then_cut } in told {
            if let Err(trouble) = self.tell(&message) {
                tracing::info!(%trouble, method = message.method, "the server was not told");
            }
            for flight in &then_cut {
                flight.shut();
            }
        }
    }

    /// Ends the session at the server, in a short time.
    fn end(&self) {
        self.sessions.end();
        self.cut_all(|_| true);
        if let Some(session) = self.sessions.current() {
            self.delete(&session);
        }
    }

    /// Leaves a session where the host has begun another one itself: nobody listens there, and the server may forget it.
    fn leave(&self, former: &Session) {
        if self.sessions.current().is_none_or(|session| session.number == former.number) {
            return;
        }
        self.sessions.forget_lasting();
        self.cut_all(|flying| flying.listens_to == Some(former.number));
        self.delete(former);
    }

    fn delete(&self, session: &Session) {
        if !session.has_id() {
            return;
        }
        let flight = self.wire.flight();
        let parcel = Parcel { method: "DELETE", body: None, headers: session.headers(), patience: Some(FAREWELL) };
        if let Err(trouble) = self.wire.send(&flight, &parcel) {
            tracing::debug!(%trouble, "the session was not ended");
        }
    }
}

#[cfg(test)]
mod tests;
