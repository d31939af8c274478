//! Calls that are under way: how many of them a user may have, and when each is given up.
//!
//! Streams on which somebody only listens are no calls.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use http::request::Parts;
use lore_model::UserId;
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
    users: Mutex<HashMap<UserId, Weak<Semaphore>>>,
}

/// One call. It travels with the request, which rmcp keeps until the work on it has ended: a client that goes away does
/// not make room for more.
#[derive(Clone)]
pub(crate) struct UnderWay(Arc<Held>);

struct Held {
    deadline: Instant,
    _place: Option<OwnedSemaphorePermit>,
    _claim: Option<Claim>,
}

impl Calls {
    pub(super) fn new(limits: &SessionLimits) -> Self {
        let users = Mutex::default();
        Self { most: limits.calls, waiting: limits.waiting, longest: limits.call, users }
    }

    /// Begins a call of a user once there is room for it; `None` where that takes too long. Where nobody has to say who
    /// they are, there is no telling whose it is.
    pub(super) async fn begin(&self, owner: Owner, claim: Option<Claim>) -> Option<UnderWay> {
        let place = match owner {
            Some(user) => Some(timeout(self.waiting, self.places(user).acquire_owned()).await.ok()?.ok()?),
            None => None,
        };
        Some(UnderWay(Arc::new(Held { deadline: Instant::now() + self.longest, _place: place, _claim: claim })))
    }

    fn places(&self, user: UserId) -> Arc<Semaphore> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = users.get(&user).and_then(Weak::upgrade) {
            return places;
        }
        // Those of whom nothing is under way are forgotten.
        users.retain(|_, places| places.strong_count() > 0);
        let places = Arc::new(Semaphore::new(self.most));
        users.insert(user, Arc::downgrade(&places));
        places
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

    fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get::<Parts>()?.extensions.get()
    }
}
