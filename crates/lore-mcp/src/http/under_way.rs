//! Calls that are under way: how many of them a user may have, how many are worked on at a time, and when each is given up.
//!
//! Streams on which somebody only listens are no calls.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::request::Parts;
use lore_model::UserId;
use lore_tools::Held;
use rmcp::model::{ClientJsonRpcMessage, Extensions, GetExtensions as _, JsonRpcMessage};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

use super::sessions::{Claim, Owner, SessionLimits};

/// The calls of all users, over all endpoints of a server.
pub(super) struct Calls {
    most: usize,
    waiting: Duration,
    longest: Duration,
    users: Mutex<HashMap<UserId, Weak<Own>>>,
    turns: Arc<Turns>,
}

/// What one user has.
struct Own {
    calls: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

/// The places of the calls that are worked on: first come, first served. There are far fewer than threads for them, since a
/// call that waits on its thread for another thread would wait for ever where all threads do so.
struct Turns {
    places: Arc<Semaphore>,
    all: usize,
    /// One user leaves some for the others.
    each: usize,
    waiting: AtomicUsize,
}

/// One call. It travels with the request, which rmcp keeps until the work on it has ended: a client that goes away does
/// not make room for more.
#[derive(Clone)]
pub(crate) struct UnderWay(Arc<Call>);

struct Call {
    deadline: Instant,
    own: Option<Arc<Own>>,
    turns: Arc<Turns>,
    /// What its message takes of the server's memory until the work begins.
    message: Mutex<Option<Held>>,
    _place: Option<OwnedSemaphorePermit>,
    claim: Option<Claim>,
}

/// A call that waits for its turn.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn begin(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Calls {
    pub(super) fn new(limits: &SessionLimits) -> Self {
        let all = limits.working.max(1);
        let turns =
            Turns { places: Arc::new(Semaphore::new(all)), all, each: all.div_ceil(2), waiting: AtomicUsize::new(0) };
        Self {
            most: limits.calls,
            waiting: limits.waiting,
            longest: limits.call,
            users: Mutex::default(),
            turns: Arc::new(turns),
        }
    }

    /// Begins a call of a user once there is room for it; `None` where that takes too long. Where nobody has to say who
    /// they are, there is no telling whose it is.
    pub(super) async fn begin(&self, owner: Owner, claim: Option<Claim>, message: Option<Held>) -> Option<UnderWay> {
        let own = owner.map(|user| self.own(user));
        let place = match &own {
            Some(own) => Some(timeout(self.waiting, Arc::clone(&own.calls).acquire_owned()).await.ok()?.ok()?),
            None => None,
        };
        Some(UnderWay(Arc::new(Call {
            deadline: Instant::now() + self.longest,
            own,
            turns: Arc::clone(&self.turns),
            message: Mutex::new(message),
            _place: place,
            claim,
        })))
    }

    /// How many calls are worked on, and how many wait for that.
    pub(super) fn load(&self) -> (usize, usize) {
        let Turns { places, all, waiting, .. } = &*self.turns;
        (all.saturating_sub(places.available_permits()), waiting.load(Ordering::Relaxed))
    }

    fn own(&self, user: UserId) -> Arc<Own> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = users.get(&user).and_then(Weak::upgrade) {
            return own;
        }
        // Those of whom nothing is under way are forgotten.
        users.retain(|_, own| own.strong_count() > 0);
        let (calls, turns) = (Semaphore::new(self.most), Semaphore::new(self.turns.each));
        let own = Arc::new(Own { calls: Arc::new(calls), turns: Arc::new(turns) });
        users.insert(user, Arc::downgrade(&own));
        own
    }
}

impl UnderWay {
    /// The call that a message begins.
    pub(super) fn of_message(message: &ClientJsonRpcMessage) -> Option<Self> {
        let JsonRpcMessage::Request(request) = message else { return None };
        Self::of(request.request.extensions()).cloned()
    }

    /// When the call that these extensions belong to is given up; `None` where it may take as long as it takes.
    pub(crate) fn deadline(extensions: &Extensions) -> Option<Instant> {
        Self::of(extensions).map(|under_way| under_way.0.deadline)
    }

    /// Waits for the turn of the call that these extensions belong to, and gives its place; `None` where nobody waits for
    /// anybody.
    pub(crate) async fn turn(extensions: &Extensions) -> Option<Held> {
        let call = &*Self::of(extensions)?.0;
        let waits = Waits::begin(&call.turns.waiting);
        let own = match &call.own {
            // The user stays known as long as one of their calls has a place.
            Some(own) => Some((Arc::clone(&own.turns).acquire_owned().await.ok()?, Arc::clone(own))),
            None => None,
        };
        let place = Arc::clone(&call.turns.places).acquire_owned().await.ok()?;
        drop(waits);
        drop(call.message.lock().unwrap_or_else(PoisonError::into_inner).take());
        Some(Held::new((own, place)))
    }

    /// Notes that the client is sent the answer.
    pub(super) fn note_answered(&self) {
        if let Some(claim) = &self.0.claim {
            claim.note_answered();
        }
    }

    fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get::<Parts>()?.extensions.get()
    }
}
