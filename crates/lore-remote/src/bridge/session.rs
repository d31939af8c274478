//! The session that a server keeps for the host, and what is needed to begin it anew without the host.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;

use super::message::Request;

/// A session.
#[derive(Debug, Clone)]
pub(super) struct Session {
    id: Option<String>,
    version: Option<String>,
    /// Which one it is: another after each beginning.
    pub(super) number: u64,
}

impl Session {
    /// The headers of a message within it.
    pub(super) fn headers(&self) -> Vec<(&'static str, String)> {
        let id = self.id.iter().map(|id| ("Mcp-Session-Id", id.clone()));
        id.chain(self.version.iter().map(|version| ("MCP-Protocol-Version", version.clone()))).collect()
    }

    /// Whether the server keeps something for it.
    pub(super) fn has_id(&self) -> bool {
        self.id.is_some()
    }
}

/// The present session and how it was begun.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    state: Mutex<State>,
    changed: Condvar,
    /// Held by who begins a session anew, so that nobody else does.
    renewing: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    current: Option<Session>,
    begun: u64,
    /// Whether the host has said that it is ready, so that the server may speak.
    ready: bool,
    ended: bool,
    /// What the host said at the beginning.
    initialize: Option<Request>,
    /// What it asked for that lasts as long as the session: subscriptions and the level of logs.
    lasting: Vec<Request>,
}

impl Sessions {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn current(&self) -> Option<Session> {
        self.state().current.clone()
    }

    /// Notes a session that has begun with that request and that answer.
    pub(super) fn begin(&self, initialize: &Request, id: Option<String>, answer: &Value) {
        let version = answer["result"]["protocolVersion"].as_str().map(str::to_owned);
        let mut state = self.state();
        state.begun += 1;
        state.ready = false;
        state.current = Some(Session { id, version, number: state.begun });
        state.initialize = Some(initialize.clone());
        // Who listens in the former one need not wait any longer.
        self.changed.notify_all();
    }

    /// Forgets what lasted as long as a session that the host itself has left for another.
    pub(super) fn forget_lasting(&self) {
        self.state().lasting.clear();
    }

    /// From now on the server may speak by itself.
    pub(super) fn set_ready(&self) {
        self.state().ready = true;
        self.changed.notify_all();
    }

    pub(super) fn end(&self) {
        self.state().ended = true;
        self.changed.notify_all();
    }

    /// Waits for a session that is ready and not that one; `None` at the end.
    pub(super) fn next_ready(&self, not: u64) -> Option<Session> {
        let mut state = self.state();
        loop {
            if state.ended {
                return None;
            }
            if let Some(session) = state.current.as_ref().filter(|session| state.ready && session.number != not) {
                return Some(session.clone());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits, and says whether there is a reason to go on: not the end.
    pub(super) fn pause(&self, time: Duration) -> bool {
        let state = self.state();
        let waited = self.changed.wait_timeout_while(state, time, |state| !state.ended);
        !waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }

    /// The same within a session: its end, or another one, is no reason to go on either.
    pub(super) fn pause_within(&self, number: u64, time: Duration) -> bool {
        let goes_on =
            |state: &State| !state.ended && state.current.as_ref().is_some_and(|session| session.number == number);
        let waited = self.changed.wait_timeout_while(self.state(), time, |state| goes_on(state));
        goes_on(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// The right to begin a session anew, and with what; `None` where another has done it meanwhile.
    pub(super) fn renewal(&self, lost: u64) -> Option<Renewal<'_>> {
        let turn = self.renewing.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.state();
        let is_same = state.current.as_ref().is_some_and(|session| session.number == lost);
        let initialize = state.initialize.clone().filter(|_| is_same)?;
        Some(Renewal { initialize, lasting: state.lasting.clone(), _turn: turn })
    }

    /// Remembers what lasts as long as the session.
    pub(super) fn remember(&self, request: &Request) {
        let mut state = self.state();
        let about = request.message.name.clone();
        match request.method() {
            "resources/subscribe" => {
                state.lasting.retain(|other| other.method() != request.method() || other.message.name != about);
                state.lasting.push(request.clone());
            }
            "resources/unsubscribe" => {
                state.lasting.retain(|other| other.method() != "resources/subscribe" || other.message.name != about);
            }
            "logging/setLevel" => {
                state.lasting.retain(|other| other.method() != request.method());
                state.lasting.push(request.clone());
            }
            _ => {}
        }
    }
}

/// What a session is begun with anew.
pub(super) struct Renewal<'a> {
    pub(super) initialize: Request,
    pub(super) lasting: Vec<Request>,
    _turn: MutexGuard<'a, ()>,
}
