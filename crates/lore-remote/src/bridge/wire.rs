//! One exchange of HTTP, in somebody's name, that can be cut off at any moment.

use std::{
    io::Read as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use lore_model::{Code, Failure};
use ureq::{
    Agent, Body, BodyReader,
    http::{Request, Response, StatusCode, header},
};

use super::trouble::Trouble;
use crate::{
    Authority, Connection, Secret,
    http::{self, LARGEST_REFUSAL},
};

/// So many connections are kept for the next requests.
const KEPT: usize = 8;

/// The server's MCP endpoint.
pub(super) struct Wire {
    connection: Connection,
    address: String,
    authority: Authority,
    idle: Mutex<Vec<Agent>>,
    /// How many streams are being read to their end.
    draining: AtomicUsize,
    /// Whether the server has ever answered.
    reached: AtomicBool,
}

/// A request on its way: its connection is nobody else's, so that it can be cut without harm to others.
pub(super) struct Flight {
    agent: Agent,
    cut: AtomicBool,
    /// Whether the server has said something since this was last asked.
    heard: AtomicBool,
    /// The stream that the answer was in, not yet read to its end.
    rest: Mutex<Option<BodyReader<'static>>>,
}

impl Flight {
    /// Says that nobody waits for its answer any more. Its connection is nobody else's from then on: it never lands.
    pub(super) fn forsake(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }

    /// Ends the exchange wherever it is. Only what was forsaken before it landed may be ended: what has landed serves another
    /// request already.
    pub(super) fn shut(&self) {
        self.agent.clone().shutdown();
    }

    /// Notes that the server has said something.
    pub(super) fn hear(&self) {
        self.heard.store(true, Ordering::SeqCst);
    }

    /// Whether it has since this was last asked.
    pub(super) fn take_heard(&self) -> bool {
        self.heard.swap(false, Ordering::SeqCst)
    }

    /// Keeps what follows the answer: only when that has been read can the connection serve another request.
    pub(super) fn keep_rest(&self, rest: BodyReader<'static>) {
        *self.rest.lock().unwrap_or_else(PoisonError::into_inner) = Some(rest);
    }

    pub(super) fn has_rest(&self) -> bool {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(super) fn is_cut(&self) -> bool {
        self.cut.load(Ordering::SeqCst)
    }
}

/// What is sent.
pub(super) struct Parcel<'a> {
    pub(super) method: &'static str,
    pub(super) body: Option<&'a str>,
    pub(super) headers: Vec<(&'static str, String)>,
    /// How long nothing may be heard.
    pub(super) patience: Option<Duration>,
}

impl Wire {
    pub(super) fn new(connection: Connection, address: String, authority: Authority) -> Self {
        Self {
            connection,
            address,
            authority,
            idle: Mutex::default(),
            draining: AtomicUsize::new(0),
            reached: AtomicBool::new(false),
        }
    }

    /// The server, for messages.
    pub(super) fn server(&self) -> &str {
        self.connection.url().as_str()
    }

    /// Whether the server has answered anything since the bridge began.
    pub(super) fn was_reached(&self) -> bool {
        self.reached.load(Ordering::Relaxed)
    }

    /// Begins a flight, on a connection that is there already where one is idle.
    pub(super) fn flight(&self) -> Arc<Flight> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Arc::new(Flight {
            agent: idle.unwrap_or_else(|| self.connection.agent()),
            cut: AtomicBool::new(false),
            heard: AtomicBool::new(false),
            rest: Mutex::default(),
        })
    }

    /// Ends a flight whose answer was read to its end.
    pub(super) fn land(&self, flight: &Flight) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(flight.agent.clone());
        }
    }

    /// Reads what follows an answer, so that the connection can be used again. Nearly always that is the end, and there
    /// already. A server that keeps its streams open holds up a thread for each, so there are only so many.
    pub(super) fn drain(&self, flight: &Flight) {
        let Some(rest) = flight.rest.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let is_in_line = self.draining.fetch_add(1, Ordering::SeqCst) < KEPT;
        // What was forsaken never lands: its connection is closed.
        if is_in_line && !flight.is_cut() {
            let mut rest = rest.take(LARGEST_REFUSAL);
            if std::io::copy(&mut rest, &mut std::io::sink()).is_ok_and(|count| count < LARGEST_REFUSAL) {
                drop(rest);
                self.land(flight);
            }
        }
        self.draining.fetch_sub(1, Ordering::SeqCst);
    }

    /// Sends, and sends once more with a new token where the old one is not taken.
    pub(super) fn send(&self, flight: &Flight, parcel: &Parcel<'_>) -> Result<Response<Body>, Trouble> {
        let bearer = self.authority.bearer().map_err(|failure| unauthorized(&failure))?;
        let mut response = self.send_as(flight, parcel, &bearer)?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let said = said(&mut response, &bearer);
        match self.authority.renewed(&bearer).map_err(|failure| unauthorized(&failure))? {
            None => Err(Trouble::Unauthorized(said)),
            Some(bearer) => {
                let mut response = self.send_as(flight, parcel, &bearer)?;
                match response.status() {
                    StatusCode::UNAUTHORIZED => Err(Trouble::Unauthorized(self::said(&mut response, &bearer))),
                    _ => Ok(response),
                }
            }
        }
    }

    fn send_as(&self, flight: &Flight, parcel: &Parcel<'_>, bearer: &Secret) -> Result<Response<Body>, Trouble> {
        let unfit = |_| Trouble::Nonsense("the request cannot be written as HTTP".to_owned());
        let authorization =
            http::authorization(bearer).map_err(|failure| Trouble::Unauthorized(failure.message.clone()))?;
        let accept = if parcel.method == "GET" { "text/event-stream" } else { "text/event-stream, application/json" };
        let mut request = Request::builder()
            .method(parcel.method)
            .uri(&self.address)
            .header(header::ACCEPT, accept)
            .header(header::AUTHORIZATION, authorization);
        for (name, value) in &parcel.headers {
            request = request.header(*name, value);
        }
        if parcel.body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let agent = &flight.agent;
        let patience = parcel.patience;
        let sent = if let Some(body) = parcel.body {
            let request = request.body(body).map_err(unfit)?;
            let settings = agent.configure_request(request).timeout_per_read(patience);
            agent.run(settings.timeout_send_body(patience).build())
        } else {
            let request = request.body(()).map_err(unfit)?;
            agent.run(agent.configure_request(request).timeout_per_read(patience).build())
        };
        sent.inspect(|_| self.reached.store(true, Ordering::Relaxed)).map_err(|error| {
            if flight.is_cut() {
                return Trouble::Dropped;
            }
            Trouble::of(&error, patience.map_or(0, |patience| patience.as_secs()))
        })
    }
}

/// What a refusal says, without the token, which some servers repeat.
fn said(response: &mut Response<Body>, bearer: &Secret) -> String {
    let text = body_text(response);
    http::shortened(&text.replace(bearer.expose(), "(token)"))
}

/// The body of a refusal.
pub(super) fn body_text(response: &mut Response<Body>) -> String {
    let said = response.body_mut().with_config().limit(LARGEST_REFUSAL).read_to_vec().unwrap_or_default();
    String::from_utf8_lossy(&said).into_owned()
}

/// What it means that there is no token to send.
fn unauthorized(failure: &Failure) -> Trouble {
    let hint = failure.hint.as_ref().map_or_else(String::new, |hint| format!(": {hint}"));
    let detail = format!("{}{hint}", failure.message);
    match failure.code {
        Code::ServerUnreachable => Trouble::NoConnection(detail),
        _ => Trouble::Unauthorized(detail),
    }
}
