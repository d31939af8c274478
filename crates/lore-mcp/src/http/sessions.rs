//! Who has which sessions open, over all endpoints of a server.
//!
//! rmcp knows sessions by id alone. Here each belongs to the user who opened it and to the endpoint where it was opened;
//! for anybody else, and anywhere else, it does not exist.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::{Stream, StreamExt as _, future, stream};
use lore_model::UserId;
use rmcp::{
    model::{ClientJsonRpcMessage, ProgressToken, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_server::{
        SessionId, SessionManager,
        session::{
            ServerSseMessage,
            local::{LocalSessionManager, LocalSessionManagerError, SessionConfig},
        },
    },
};
use tokio::{runtime::Handle, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    resume::{Answers, Recorded, place},
    under_way::{Calls, UnderWay, WeakCall},
};

/// How many sessions and calls there may be, and how long they wait.
#[derive(Debug, Clone)]
pub struct SessionLimits {
    /// Sessions of one user. One more closes that of their idle ones which was used longest ago.
    pub per_user: usize,
    /// Sessions of all users. At this number only users with an idle session get a new one, for that one.
    pub total: usize,
    /// How long nothing may happen in a session before it is closed.
    pub idle: Duration,
    /// Calls of one user that are worked on at a time, in whatever sessions.
    pub calls: usize,
    /// How long one more waits for its turn before it is refused.
    pub waiting: Duration,
    /// Workers: calls of all users that run at a time; the others wait. More than the machine has cores for makes each call
    /// slower, and none faster.
    pub working: usize,
    /// Workers that one user may hold; a quarter of them where it is not set.
    pub working_per_user: Option<usize>,
    /// How long a call of a tool may take: longer than any tool waits by itself.
    pub call: Duration,
    /// The most bytes of answers that are kept for clients whose connection broke.
    pub kept: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            per_user: 64,
            total: 4096,
            idle: Duration::from_mins(30),
            calls: 16,
            waiting: Duration::from_secs(3),
            working: std::thread::available_parallelism().map_or(8, |cores| (4 * cores.get()).max(8)),
            working_per_user: None,
            call: Duration::from_mins(10),
            kept: 64 * 1024 * 1024,
        }
    }
}

/// The sessions of a server: all its endpoints share one value, and with it the limits and the end.
#[derive(Clone)]
pub struct Sessions(Arc<Shared>);

struct Shared {
    limits: SessionLimits,
    endpoints: AtomicU64,
    /// Fires when nothing new is taken any more.
    closing: CancellationToken,
    /// Fires when what is still under way is cut off.
    stop: CancellationToken,
    calls: Calls,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    sessions: HashMap<SessionId, Session>,
    /// Sessions that are about to be opened, by user.
    opening: HashMap<Owner, usize>,
    answers: Answers,
    /// Whether somebody sees to it that answers are not kept for too long.
    sweeping: bool,
}

/// Whose a session is; `None` where nobody has to say who they are.
pub(super) type Owner = Option<UserId>;

struct Session {
    owner: Owner,
    endpoint: Endpoint,
    used: Instant,
    /// Responses that are being written.
    responses: usize,
    manager: Arc<LocalSessionManager>,
    /// What rmcp finds the stream of an answer by, for the calls under way, and whether each is answered.
    claimed: HashMap<Key, Arc<AtomicBool>>,
    /// The calls in progress, by the number under which rmcp resumes their streams.
    streams: HashMap<u64, WeakCall>,
}

/// What only one call of a session may have at a time: rmcp would send the answer of one to the client of the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// Its id.
    Id(RequestId),
    /// The token that its progress is told under.
    Progress(ProgressToken),
}

/// The keys of one call. They are free again when this is dropped.
pub(super) struct Claim {
    session: SessionId,
    keys: Vec<Key>,
    sessions: Sessions,
    answered: Arc<AtomicBool>,
}

impl Claim {
    /// Notes that the client is sent the answer: what is left of the call is a matter of moments.
    pub(super) fn note_answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }
}

/// What another call of the session has.
pub(super) struct Taken {
    /// Which of the keys.
    pub(super) key: Key,
    /// Whether the client may have the other call's answer already.
    pub(super) is_answered: bool,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(session) = self.sessions.lock().sessions.get_mut(&self.session) {
            for key in &self.keys {
                session.claimed.remove(key);
            }
        }
    }
}

/// One path of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Endpoint(u64);

/// There are as many sessions as there may be, and none of this user's is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMany;

impl Sessions {
    /// No sessions yet.
    pub fn new(limits: SessionLimits) -> Self {
        let (closing, stop) = (CancellationToken::new(), CancellationToken::new());
        let (endpoints, calls) = (AtomicU64::new(0), Calls::new(&limits));
        Self(Arc::new(Shared { limits, endpoints, closing, stop, calls, open: Mutex::default() }))
    }

    /// How many sessions are open.
    pub fn count(&self) -> usize {
        self.lock().sessions.len()
    }

    /// How many bytes of answers are kept for clients whose connection broke.
    pub fn kept_bytes(&self) -> usize {
        self.lock().answers.bytes()
    }

    /// How many calls of tools are worked on, and how many wait for their turn.
    pub fn load(&self) -> (usize, usize) {
        self.0.calls.scheduler().load()
    }

    /// How long a call has been waiting while other calls held every worker; zero where none waits for that.
    pub fn starving_for(&self) -> Duration {
        self.0.calls.scheduler().starving_for()
    }

    /// Takes nothing new, and ends the streams on which somebody only listens. Calls that are under way go on.
    pub fn close(&self) {
        self.0.closing.cancel();
    }

    /// Ends everything: calls that are still under way are cut off.
    pub async fn stop(&self) {
        self.close();
        self.0.stop.cancel();
        let sessions = std::mem::take(&mut self.lock().sessions);
        for (id, session) in sessions {
            close(&session.manager, &id).await;
        }
    }

    /// Fires when nothing new is taken any more.
    pub(super) fn closing(&self) -> &CancellationToken {
        &self.0.closing
    }

    /// Fires when what is under way is cut off.
    pub(super) fn stopping(&self) -> &CancellationToken {
        &self.0.stop
    }

    /// The calls of all users.
    pub(super) fn calls(&self) -> &Calls {
        &self.0.calls
    }

    /// What rmcp keeps the sessions of one more endpoint with.
    pub(super) fn endpoint(&self) -> (Endpoint, Manager) {
        let endpoint = Endpoint(self.0.endpoints.fetch_add(1, Ordering::Relaxed));
        let mut config = SessionConfig::default();
        config.keep_alive = Some(self.0.limits.idle);
        let mut local = LocalSessionManager::default();
        local.session_config = config;
        (endpoint, Manager { local: Arc::new(local), sessions: self.clone() })
    }

    /// Makes room for one more session of a user.
    pub(super) async fn admit(&self, owner: Owner, endpoint: Endpoint) -> Result<Opening, TooMany> {
        let given_up = {
            let mut open = self.lock();
            let of_owner = open.sessions.values().filter(|session| session.owner == owner).count();
            let of_owner = of_owner + open.opening.get(&owner).copied().unwrap_or_default();
            let total = open.sessions.len() + open.opening.values().sum::<usize>();
            let is_full = of_owner >= self.0.limits.per_user || total >= self.0.limits.total;
            let given_up = if is_full { Some(open.give_up_idle(owner).ok_or(TooMany)?) } else { None };
            *open.opening.entry(owner).or_default() += 1;
            given_up
        };
        let opening = Opening { owner, endpoint, sessions: self.clone() };
        if let Some((id, session)) = given_up {
            close(&session.manager, &id).await;
        }
        Ok(opening)
    }

    /// Lets a user into one of their sessions; it is in use until the answer is dropped.
    pub(super) fn enter(&self, id: &str, owner: Owner, endpoint: Endpoint) -> Option<InUse> {
        let mut open = self.lock();
        let (id, session) = open.sessions.get_key_value(id).map(|(id, _)| id.clone()).and_then(|id| {
            let session = open.sessions.get_mut(&id)?;
            Some((id, session))
        })?;
        if session.owner != owner || session.endpoint != endpoint {
            return None;
        }
        session.used = Instant::now();
        session.responses += 1;
        Some(InUse { id, sessions: self.clone() })
    }

    /// Notes under which number the stream of a call is resumed.
    pub(super) fn note_stream(&self, id: &SessionId, number: u64, call: &UnderWay) {
        if let Some(session) = self.lock().sessions.get_mut(id) {
            session.streams.retain(|_, call| call.upgrade().is_some());
            session.streams.insert(number, call.downgrade());
        }
    }

    /// The call in progress whose stream is resumed under this number.
    fn call_of_stream(&self, id: &SessionId, number: u64) -> Option<UnderWay> {
        self.lock().sessions.get(id)?.streams.get(&number)?.upgrade()
    }

    /// Keeps what a stream of a session ended with.
    pub(super) fn keep_answer(&self, id: &SessionId, events: VecDeque<ServerSseMessage>) {
        let mut open = self.lock();
        if !open.sessions.contains_key(id) {
            return;
        }
        open.answers.keep(id, events, self.0.limits.kept);
        let sweeps = !std::mem::replace(&mut open.sweeping, true);
        drop(open);
        if sweeps && let Ok(runtime) = Handle::try_current() {
            runtime.spawn(sweep(self.clone()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Takes out the session of a user that is idle and was used longest ago.
    fn give_up_idle(&mut self, owner: Owner) -> Option<(SessionId, Session)> {
        let idle = self.sessions.iter().filter(|(_, session)| session.owner == owner && session.responses == 0);
        let oldest = idle.min_by_key(|(_, session)| session.used).map(|(id, _)| id.clone())?;
        self.answers.forget(&oldest);
        self.sessions.remove_entry(&oldest)
    }
}

/// Drops answers when their time is over, until none is left.
async fn sweep(sessions: Sessions) {
    loop {
        let next = {
            let mut open = sessions.lock();
            let next = open.answers.expire();
            open.sweeping = next.is_some();
            next
        };
        match next {
            Some(next) => tokio::time::sleep_until(next).await,
            None => return,
        }
    }
}

async fn close(manager: &LocalSessionManager, id: &SessionId) {
    if let Err(error) = manager.close_session(id).await {
        tracing::debug!(%error, "a session could not be closed");
    }
}

/// The right to open one session.
pub(super) struct Opening {
    owner: Owner,
    endpoint: Endpoint,
    sessions: Sessions,
}

tokio::task_local! {
    /// The right that the request being handled has. rmcp makes sessions without a word about the request.
    static OPENING: Opening;
}

impl Opening {
    /// Handles a request that may open a session: it will be this user's.
    pub(super) async fn during<T>(self, handling: impl Future<Output = T>) -> T {
        OPENING.scope(self, handling).await
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let mut open = self.sessions.lock();
        if let Some(count) = open.opening.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                open.opening.remove(&self.owner);
            }
        }
    }
}

/// A session that a response is written for.
pub(super) struct InUse {
    id: SessionId,
    sessions: Sessions,
}

impl Drop for InUse {
    fn drop(&mut self) {
        if let Some(session) = self.sessions.lock().sessions.get_mut(&self.id) {
            session.responses -= 1;
            session.used = Instant::now();
        }
    }
}

impl InUse {
    /// Takes keys for a call; the one that another call has is the error.
    pub(super) fn claim(&self, keys: Vec<Key>) -> Result<Claim, Taken> {
        let answered = Arc::new(AtomicBool::new(false));
        let mut open = self.sessions.lock();
        let claimed = open.sessions.get_mut(&self.id).map(|session| &mut session.claimed);
        if let Some(claimed) = claimed {
            let is_answered = |key: &Key| claimed.get(key).map(|answered| answered.load(Ordering::Relaxed));
            // Of several the one that is not answered counts: the others are free before it.
            let taken =
                keys.iter().filter_map(|key| Some((key, is_answered(key)?))).min_by_key(|(_, answered)| *answered);
            if let Some((key, is_answered)) = taken {
                return Err(Taken { key: key.clone(), is_answered });
            }
            claimed.extend(keys.iter().map(|key| (key.clone(), Arc::clone(&answered))));
        }
        Ok(Claim { session: self.id.clone(), keys, sessions: self.sessions.clone(), answered })
    }
}

/// rmcp's sessions of one endpoint, each with its owner.
pub(super) struct Manager {
    local: Arc<LocalSessionManager>,
    sessions: Sessions,
}

impl SessionManager for Manager {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, transport) = self.local.create_session().await?;
        // Without an owner it is in nobody's reach, and ends for want of use.
        let owned = OPENING.try_with(|opening| {
            let (owner, endpoint) = (opening.owner, opening.endpoint);
            let manager = Arc::clone(&self.local);
            let (used, claimed) = (Instant::now(), HashMap::new());
            let streams = HashMap::new();
            let session = Session { owner, endpoint, used, responses: 0, manager, claimed, streams };
            self.sessions.lock().sessions.insert(id.clone(), session);
        });
        if owned.is_err() {
            tracing::error!("a session was opened by nobody");
        }
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.local.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.local.has_session(id).await
    }

    /// rmcp calls it for every session that ends, in whatever way.
    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        {
            let mut open = self.sessions.lock();
            open.sessions.remove(id);
            open.answers.forget(id);
        }
        self.local.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let under_way = UnderWay::of_message(&message);
        let events = self.local.create_stream(id, message).await?;
        Ok(Recorded::new(Box::pin(events), id, &self.sessions).of(under_way))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.local.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.local.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        match self.local.resume(id, last_event_id.clone()).await {
            Ok(events) => {
                // rmcp begins with the event that the client names, which it has. On the stream beside all requests the first
                // event is called 0 like the one before it, with which a stream begins: that one may be all that the client has.
                let has_it = last_event_id != "0";
                let call = place(&last_event_id).and_then(|(_, number)| self.sessions.call_of_stream(id, number));
                let is_missed = move |event: &ServerSseMessage| {
                    let is_named = event.event_id.as_deref() == Some(last_event_id.as_str());
                    future::ready(!(has_it && is_named))
                };
                let events = Box::pin(events.filter(is_missed));
                Ok(Recorded::new(events, id, &self.sessions).of(call).left_stream())
            }
            Err(error) => {
                let missed = self.sessions.lock().answers.after(id, &last_event_id);
                missed.map(|missed| stream::iter(missed).right_stream()).ok_or(error)
            }
        }
    }
}
