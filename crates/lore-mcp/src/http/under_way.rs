//! Calls in progress: how many of them a user may have, how long each may take, and whether its client still waits for it.
//!
//! Streams on which a client only listens are not calls.

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
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    scheduler::Scheduler,
    sessions::{Claim, Owner, SessionLimits},
};

/// How long a client whose connection broke may take to resume the stream of a call before the call is cancelled. The official
/// TypeScript client waits for a second before it reconnects.
const RESUME_WITHIN: Duration = Duration::from_millis(1_500);

/// The calls of all users, over all endpoints of a server.
pub(super) struct Calls {
    most: usize,
    waiting: Duration,
    longest: Duration,
    users: Mutex<HashMap<UserId, Weak<Semaphore>>>,
    scheduler: Arc<Scheduler>,
}

/// One call. It travels with the request, which rmcp keeps until the work on it has ended: a client that goes away does
/// not make room for more.
#[derive(Clone)]
pub(crate) struct UnderWay(Arc<Call>);

struct Call {
    deadline: Instant,
    owner: Owner,
    scheduler: Arc<Scheduler>,
    /// What its message takes of the server's memory until the work begins.
    message: Mutex<Option<Held>>,
    _place: Option<OwnedSemaphorePermit>,
    claim: Option<Claim>,
    /// Streams that wait for the answer.
    listeners: AtomicUsize,
    /// Cancelled when no client has waited for the answer for a while.
    abandoned: CancellationToken,
}

/// A stream that waits for the answer of a call. When the last one is dropped and none takes its place in time, the call is
/// cancelled.
pub(super) struct Listener(UnderWay);

impl Drop for Listener {
    fn drop(&mut self) {
        let call = &self.0.0;
        if call.listeners.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        // When the program ends, there is no runtime and nothing to cancel.
        let Ok(runtime) = Handle::try_current() else { return };
        let call = Arc::downgrade(call);
        runtime.spawn(async move {
            tokio::time::sleep(RESUME_WITHIN).await;
            if let Some(call) = call.upgrade().filter(|call| call.listeners.load(Ordering::Acquire) == 0) {
                call.abandoned.cancel();
            }
        });
    }
}

impl Calls {
    pub(super) fn new(limits: &SessionLimits) -> Self {
        let per_user = limits.working_per_user.unwrap_or_else(|| limits.working.div_ceil(4));
        Self {
            most: limits.calls,
            waiting: limits.waiting,
            longest: limits.call,
            users: Mutex::default(),
            scheduler: Scheduler::new(limits.working, per_user),
        }
    }

    /// Begins a call of a user once there is room for it; `None` where that takes too long. Where nobody has to say who
    /// they are, there is no telling whose it is.
    pub(super) async fn begin(&self, owner: Owner, claim: Option<Claim>, message: Option<Held>) -> Option<UnderWay> {
        let place = match owner {
            Some(user) => Some(timeout(self.waiting, self.calls_of(user).acquire_owned()).await.ok()?.ok()?),
            None => None,
        };
        Some(UnderWay(Arc::new(Call {
            deadline: Instant::now() + self.longest,
            owner,
            scheduler: Arc::clone(&self.scheduler),
            message: Mutex::new(message),
            _place: place,
            claim,
            listeners: AtomicUsize::new(0),
            abandoned: CancellationToken::new(),
        })))
    }

    /// Shares the workers between the calls.
    pub(super) fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    fn calls_of(&self, user: UserId) -> Arc<Semaphore> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(calls) = users.get(&user).and_then(Weak::upgrade) {
            return calls;
        }
        // Users without a call are forgotten.
        users.retain(|_, calls| calls.strong_count() > 0);
        let calls = Arc::new(Semaphore::new(self.most));
        users.insert(user, Arc::downgrade(&calls));
        calls
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

    /// Waits for a worker for the call that these extensions belong to; `None` where calls need none.
    pub(crate) async fn worker(extensions: &Extensions) -> Option<Held> {
        let call = &*Self::of(extensions)?.0;
        let worker = call.scheduler.acquire(call.owner).await;
        drop(call.message.lock().unwrap_or_else(PoisonError::into_inner).take());
        Some(Held::new(worker))
    }

    /// Ready once no client waits for the answer any more.
    pub(crate) async fn abandoned(extensions: &Extensions) {
        match Self::of(extensions) {
            Some(call) => call.0.abandoned.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// Notes that a stream waits for the answer.
    pub(super) fn listen(&self) -> Listener {
        self.0.listeners.fetch_add(1, Ordering::AcqRel);
        Listener(self.clone())
    }

    /// The same call without keeping it in progress.
    pub(super) fn downgrade(&self) -> WeakCall {
        WeakCall(Arc::downgrade(&self.0))
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

/// A call that may have ended.
pub(super) struct WeakCall(Weak<Call>);

impl WeakCall {
    /// The call, if it is still in progress.
    pub(super) fn upgrade(&self) -> Option<UnderWay> {
        self.0.upgrade().map(UnderWay)
    }
}
