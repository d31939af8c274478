//! MCP over HTTP: one endpoint, in both protocol eras, with sessions and without.
//!
//! It opens no socket and knows no token. Whoever embeds it has found out who is asking, and puts a
//! [`Caller`] into the extensions of the request.
//!
//! rmcp has sessions or none; here three of its services stand side by side, and each request goes to the one that suits
//! its client: a session where one is opened or named, a single JSON answer or a stream where not.

mod accept;
mod allowed;
mod body;
mod resume;
mod scheduler;
mod sessions;
mod under_way;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header, request::Parts};
use http_body::Body;
use http_body_util::{BodyExt as _, Full};
use lore_model::Caller;
use lore_tools::Held;
use rmcp::{
    ServerHandler,
    model::{
        ClientJsonRpcMessage, ClientRequest, ErrorCode, GetMeta as _, JsonRpcMessage, ProgressToken, ProtocolVersion,
        RequestId,
    },
    transport::streamable_http_server::{
        SessionManager, StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};
use serde_json::{Value, json};
use tokio::time::Instant;

pub(crate) use self::under_way::UnderWay;
use self::{
    accept::Takes,
    body::{HttpResponse, Listening, Unread, empty, refusal},
    sessions::{Endpoint, InUse, Key, Owner},
};
pub use self::{
    accept::is_json,
    allowed::{Allowed, Forbidden},
    body::{Keeping, ListensUntil},
    sessions::{SessionLimits, Sessions},
};
use crate::{
    access::Who,
    called::{Ended, McpCalled},
    message::{self, Incoming},
    progress::AnswerOnly,
    server::Server,
    shown::shown,
};

/// The header that names a session.
const SESSION: &str = "mcp-session-id";
/// The header that names the version of the protocol.
const VERSION: &str = "mcp-protocol-version";
/// The code of the protocol for a request that the server refuses by its own rules.
const REFUSED: i32 = -32000;
/// The code for a session that is not there.
const NO_SESSION: i32 = -32001;

/// How long the end of a call that is answered is waited for at most, and how long each time.
const ENDING: Duration = Duration::from_secs(5);
const MOMENT: Duration = Duration::from_millis(2);

/// Who may make requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// Requests with a [`Caller`] in their extensions. Each may do what the caller's role includes.
    Required,
    /// Anybody, and everything: for tests of the protocol.
    Anonymous,
}

/// What an endpoint allows.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Who may make requests.
    pub identity: Identity,
    /// The names of the server and the pages that may use it.
    pub allowed: Allowed,
    /// The most bytes that a request may have.
    pub max_body: usize,
}

impl Default for HttpOptions {
    /// Callers only, on this machine's own names, no pages, 4 MiB.
    fn default() -> Self {
        Self { identity: Identity::Required, allowed: Allowed::loopback(), max_body: 4 * 1024 * 1024 }
    }
}

/// An MCP server at one path of an HTTP server. Clones are the same endpoint.
#[derive(Clone)]
pub struct HttpMcp(Arc<Inner>);

struct Inner {
    /// Keeps sessions and answers with streams.
    session: Box<dyn Answers>,
    /// Answers with one JSON text where one message is the whole answer.
    single: Box<dyn Answers>,
    /// Answers with streams.
    stream: Box<dyn Answers>,
    options: HttpOptions,
    sessions: Sessions,
    endpoint: Endpoint,
}

/// What answers a request that was found to be in order.
trait Answers: Send + Sync {
    fn answer(&self, request: Request<Full<Bytes>>) -> BoxFuture<'_, HttpResponse>;
}

impl<H: ServerHandler, M: SessionManager> Answers for StreamableHttpService<H, M> {
    fn answer(&self, request: Request<Full<Bytes>>) -> BoxFuture<'_, HttpResponse> {
        Box::pin(self.handle(request))
    }
}

impl HttpMcp {
    /// An endpoint that offers the tools of a server. Endpoints of one program share `sessions`.
    pub fn new(server: &Server, options: HttpOptions, sessions: &Sessions) -> Self {
        let who = match options.identity {
            Identity::Required => Who::Users,
            Identity::Anonymous => Who::Anybody,
        };
        let server = server.clone();
        Self::serving(move || server.for_client(who), options, sessions)
    }

    /// An endpoint with another handler of requests, made anew for each client: for tests of the protocol.
    #[doc(hidden)]
    pub fn serving<H: ServerHandler>(
        handler: impl Fn() -> H + Clone + Send + Sync + 'static,
        options: HttpOptions,
        sessions: &Sessions,
    ) -> Self {
        let (endpoint, manager) = sessions.endpoint();
        let config = StreamableHttpServerConfig::default()
            // Looked at before anything else is, once, for all three.
            .disable_allowed_hosts()
            .with_max_request_body_bytes(usize::MAX)
            .with_cancellation_token(sessions.stopping().child_token());
        let made = move || Ok(handler());
        let stateless = |config| {
            Box::new(StreamableHttpService::new(made.clone(), Arc::new(NeverSessionManager::default()), config))
        };
        let config_stateless = config.clone().with_legacy_session_mode(false);
        Self(Arc::new(Inner {
            single: stateless(config_stateless.clone().with_json_response(true)),
            stream: stateless(config_stateless),
            session: Box::new(StreamableHttpService::new(made, Arc::new(manager), config)),
            options,
            sessions: sessions.clone(),
            endpoint,
        }))
    }

    /// Answers one request. What it asked for is told by [`McpCalled`] in the extensions of the response.
    pub async fn handle<B: Body + Send>(&self, request: Request<B>) -> HttpResponse {
        let (parts, body) = request.into_parts();
        self.0.handle(parts, body).await
    }
}

/// What a request says about itself.
struct Asking {
    parts: Parts,
    owner: Owner,
    takes: Takes,
    /// What its body takes of the server's memory.
    held: Option<Held>,
    /// For how long it may be listened, where that has an end.
    until: Option<ListensUntil>,
}

impl Inner {
    async fn handle<B: Body + Send>(&self, mut parts: Parts, body: B) -> HttpResponse {
        if let Err(forbidden) = self.options.allowed.check(&parts.uri, &parts.headers) {
            return refusal(StatusCode::FORBIDDEN, REFUSED, forbidden.message());
        }
        let caller = parts.extensions.get::<Caller>();
        if caller.is_none() && self.options.identity == Identity::Required {
            return refusal(StatusCode::UNAUTHORIZED, REFUSED, "Authentication failed: 401 Unauthorized");
        }
        if self.sessions.closing().is_cancelled() {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, REFUSED, "the server is stopping");
        }
        let owner = caller.map(|caller| caller.id);
        let (held, until) = (parts.extensions.remove(), parts.extensions.remove());
        let asking = Asking { owner, takes: Takes::of(&parts.headers), held, until, parts };
        match asking.parts.method {
            Method::POST => self.post(asking, body).await,
            Method::GET | Method::DELETE => self.of_session(asking).await,
            _ => not_allowed("GET, POST, DELETE"),
        }
    }

    /// Listens to a session, goes on listening, or ends it.
    async fn of_session(&self, asking: Asking) -> HttpResponse {
        let Asking { parts, owner, takes, held: _, until } = asking;
        if parts.method == Method::GET && !takes.events() {
            return refusal(StatusCode::NOT_ACCEPTABLE, REFUSED, "Not Acceptable: accept text/event-stream");
        }
        if !parts.headers.contains_key(SESSION) || names_stateless_version(&parts.headers) {
            // Without a session there is nothing to listen to and nothing to end.
            return not_allowed("POST");
        }
        let Some(in_use) = self.enter(&parts.headers, owner) else { return no_session() };
        // Whoever goes on with the stream of a call waits for its answer.
        let only_listens = parts.method == Method::GET && !resumes_call(&parts.headers);
        let ends = parts.method == Method::DELETE;
        let mut response = keep(self.session.answer(Request::from_parts(parts, Full::default())).await, in_use);
        if ends && response.status() == StatusCode::ACCEPTED {
            // It has ended: the Python client takes an "accepted" for a failure and warns its user.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        if only_listens { self.listening(response, until.as_ref()) } else { response }
    }

    /// Ends a stream without an answer when the server takes nothing new any more, or its reader may not listen any longer.
    fn listening(&self, response: HttpResponse, until: Option<&ListensUntil>) -> HttpResponse {
        response.map(|body| Listening::new(body, self.sessions.closing(), until).boxed())
    }

    async fn post<B: Body + Send>(&self, asking: Asking, body: B) -> HttpResponse {
        if !is_json(&asking.parts.headers) {
            let why = "Unsupported Media Type: Content-Type must be application/json, in UTF-8";
            return refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, REFUSED, why);
        }
        if asking.takes == Takes::Nothing {
            let why = "Not Acceptable: accept application/json and text/event-stream";
            return refusal(StatusCode::NOT_ACCEPTABLE, REFUSED, why);
        }
        let bytes = match body::read(body, self.options.max_body).await {
            Ok(bytes) => bytes,
            Err(Unread::TooLarge) => {
                let why = format!("Invalid Request: message too large, the limit is {} bytes", self.options.max_body);
                return refusal(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::INVALID_REQUEST.0, &why);
            }
            Err(Unread::Broken) => return refusal(StatusCode::BAD_REQUEST, REFUSED, "the body ended early"),
        };
        if bytes.trim_ascii().is_empty() {
            let why = "Parse error: the body is empty";
            return refusal(StatusCode::BAD_REQUEST, ErrorCode::PARSE_ERROR.0, why);
        }
        match message::read(&bytes) {
            Incoming::Message(message) => {
                // From here on there is the message; it may wait for long.
                drop(bytes);
                self.message(asking, *message).await
            }
            Incoming::Refused(answer) => self.refused(asking, answer, bytes).await,
            Incoming::Ignored => empty(StatusCode::ACCEPTED),
        }
    }

    /// Answers what is no request that Lore serves.
    async fn refused(&self, asking: Asking, answer: Value, bytes: Vec<u8>) -> HttpResponse {
        let called = McpCalled { method: "unknown".to_owned(), tool: None, ended: Ended::default() };
        called.ended.say("refused");
        let code = answer["error"]["code"].as_i64().and_then(|code| i32::try_from(code).ok()).map(ErrorCode);
        let mut response = match code {
            // rmcp would shake hands in whatever era.
            Some(ErrorCode::METHOD_NOT_FOUND) if answer["error"]["data"]["method"] == "initialize" => {
                body::json(StatusCode::NOT_FOUND, &answer)
            }
            // The eras differ in what they want to hear, and rmcp knows both.
            Some(ErrorCode::METHOD_NOT_FOUND) => {
                let era = if names_stateless_version(&asking.parts.headers) { Era::Stateless } else { Era::Handshake };
                let id = serde_json::from_value(answer["id"].clone()).ok();
                self.route(asking, Message { kind: Kind::Request, era, id, progress: None, bytes }).await
            }
            Some(ErrorCode::INVALID_PARAMS) => body::json(StatusCode::OK, &answer),
            _ => body::json(StatusCode::BAD_REQUEST, &answer),
        };
        response.extensions_mut().insert(called);
        response
    }

    async fn message(&self, mut asking: Asking, message: ClientJsonRpcMessage) -> HttpResponse {
        let called = McpCalled {
            method: method(&message),
            tool: tool(&message).map(|name| shown(name).into_owned()),
            ended: Ended::default(),
        };
        asking.parts.extensions.insert(called.ended.clone());
        let written = serde_json::to_vec(&message).map(|bytes| Message::new(&message, &asking.parts.headers, bytes));
        drop(message);
        let mut response = match written {
            Ok(message) => self.route(asking, message).await,
            Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, REFUSED, &error.to_string()),
        };
        if response.status().is_client_error() {
            called.ended.say("refused");
        }
        response.extensions_mut().insert(called);
        response
    }

    /// Hands a message to the service that suits its client.
    async fn route(&self, asking: Asking, message: Message) -> HttpResponse {
        let Asking { mut parts, owner, takes, held, until } = asking;
        let Message { kind, era, .. } = message;
        if kind == Kind::Listen && !takes.events() {
            return refusal(StatusCode::NOT_ACCEPTABLE, REFUSED, "Not Acceptable: accept text/event-stream");
        }
        // rmcp insists on both, and has been told what to answer with.
        parts.headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        parts.headers.remove(header::CONTENT_LENGTH);
        let mut in_use = None;
        if era == Era::Stateless {
            // Requests of this era belong to no session, whatever they say.
            parts.headers.remove(SESSION);
        } else if parts.headers.contains_key(SESSION) {
            let Some(entered) = self.enter(&parts.headers, owner) else { return no_session() };
            if kind == Kind::Other || takes.events() {
                return self.in_session(parts, owner, entered, held, message).await;
            }
            // Sessions answer with streams, which this client does not take.
            parts.headers.remove(SESSION);
            in_use = Some(entered);
        } else if kind == Kind::Initialize && takes.events() {
            let Ok(opening) = self.sessions.admit(owner, self.endpoint).await else {
                let why = "too many sessions are open: close one, or use one again";
                let mut response = refusal(StatusCode::TOO_MANY_REQUESTS, REFUSED, why);
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
                return response;
            };
            let request = Request::from_parts(parts, Full::from(message.bytes));
            return opening.during(self.session.answer(request)).await;
        }
        // What is no call is over when its answer begins.
        let mut held = held;
        if kind == Kind::Request {
            match self.sessions.calls().begin(owner, None, held.take()).await {
                Some(under_way) => drop(parts.extensions.insert(under_way)),
                None => return too_many_calls(message.id.as_ref()),
            }
        }
        if takes == Takes::Json {
            parts.extensions.insert(AnswerOnly);
        }
        let service = if takes == Takes::Events { &self.stream } else { &self.single };
        let response = service.answer(Request::from_parts(parts, Full::from(message.bytes))).await;
        let response = if kind == Kind::Listen { self.listening(response, until.as_ref()) } else { response };
        match in_use {
            Some(in_use) => keep(response, in_use),
            None => response,
        }
    }

    /// Hands a message to its session.
    async fn in_session(
        &self,
        mut parts: Parts,
        owner: Owner,
        entered: InUse,
        mut held: Option<Held>,
        message: Message,
    ) -> HttpResponse {
        if message.kind != Kind::Other {
            let until = Instant::now() + ENDING;
            let claim = loop {
                match entered.claim(message.keys()) {
                    Ok(claim) => break claim,
                    // A client that has an answer may be faster with the next request than the call with its end.
                    Err(taken) if taken.is_answered && Instant::now() < until => tokio::time::sleep(MOMENT).await,
                    Err(taken) => return in_use(message.id.as_ref(), &taken.key),
                }
            };
            match self.sessions.calls().begin(owner, Some(claim), held.take()).await {
                Some(under_way) => drop(parts.extensions.insert(under_way)),
                None => return too_many_calls(message.id.as_ref()),
            }
        }
        keep(self.session.answer(Request::from_parts(parts, Full::from(message.bytes))).await, entered)
    }

    /// Lets a user into the session that a request names, if it is theirs and of this endpoint.
    fn enter(&self, headers: &HeaderMap, owner: Owner) -> Option<InUse> {
        let mut named = headers.get_all(SESSION).iter();
        let (Some(id), None) = (named.next(), named.next()) else { return None };
        self.sessions.enter(id.to_str().ok()?, owner, self.endpoint)
    }
}

/// A message on its way to rmcp.
struct Message {
    kind: Kind,
    era: Era,
    /// Where it is a request.
    id: Option<RequestId>,
    progress: Option<ProgressToken>,
    bytes: Vec<u8>,
}

impl Message {
    fn new(message: &ClientJsonRpcMessage, headers: &HeaderMap, bytes: Vec<u8>) -> Self {
        let request = match message {
            JsonRpcMessage::Request(request) => Some(request),
            _ => None,
        };
        Self {
            kind: Kind::of(message),
            era: Era::of(message, headers),
            id: request.map(|request| request.id.clone()),
            progress: request.and_then(|request| request.request.get_meta().get_progress_token()),
            bytes,
        }
    }

    /// What no other call of its session may have meanwhile.
    fn keys(&self) -> Vec<Key> {
        let (id, progress) = (self.id.clone().map(Key::Id), self.progress.clone().map(Key::Progress));
        id.into_iter().chain(progress).collect()
    }
}

/// What matters of a message for the way it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Initialize,
    /// A request that stays open.
    Listen,
    Request,
    /// A notification or a response: it is not answered.
    Other,
}

impl Kind {
    fn of(message: &ClientJsonRpcMessage) -> Self {
        match message {
            JsonRpcMessage::Request(request) => match request.request {
                ClientRequest::InitializeRequest(_) => Self::Initialize,
                ClientRequest::SubscriptionsListenRequest(_) => Self::Listen,
                _ => Self::Request,
            },
            _ => Self::Other,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Handshake,
    Stateless,
}

impl Era {
    fn of(message: &ClientJsonRpcMessage, headers: &HeaderMap) -> Self {
        let is_stateless = match message {
            JsonRpcMessage::Request(request) => match &request.request {
                ClientRequest::InitializeRequest(_) => false,
                ClientRequest::DiscoverRequest(_) => true,
                request => match request.get_meta().protocol_version() {
                    Some(version) => !version.has_initialize(),
                    None => names_stateless_version(headers),
                },
            },
            _ => names_stateless_version(headers),
        };
        if is_stateless { Self::Stateless } else { Self::Handshake }
    }
}

/// Whether the header names a version without sessions.
fn names_stateless_version(headers: &HeaderMap) -> bool {
    let version = headers.get(VERSION).and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}

fn method(message: &ClientJsonRpcMessage) -> String {
    match message {
        JsonRpcMessage::Request(request) => request.request.method().to_owned(),
        JsonRpcMessage::Notification(_) => "notification".to_owned(),
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => "response".to_owned(),
    }
}

fn tool(message: &ClientJsonRpcMessage) -> Option<&str> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::CallToolRequest(call) = &request.request else { return None };
    Some(&call.params.name)
}

/// Whether a request goes on with the stream of a call, and not with that of its session.
fn resumes_call(headers: &HeaderMap) -> bool {
    // One that is no text is none to the transport.
    headers.get("last-event-id").and_then(|id| id.to_str().ok()).is_some_and(|id| id.contains('/'))
}

/// The answer to a request with something that another one has which is not answered yet.
fn in_use(id: Option<&RequestId>, taken: &Key) -> HttpResponse {
    let what = match taken {
        Key::Id(_) => "id",
        Key::Progress(_) => "progress token",
    };
    let why = format!("Invalid Request: another request with this {what} is not answered yet");
    let error = json!({ "code": ErrorCode::INVALID_REQUEST, "message": why });
    body::json(StatusCode::BAD_REQUEST, &json!({ "jsonrpc": "2.0", "id": id, "error": error }))
}

/// The answer to one call more than a user may have at a time.
fn too_many_calls(id: Option<&RequestId>) -> HttpResponse {
    let why = "too many of your calls are under way: wait for their answers";
    let error = json!({ "code": REFUSED, "message": why });
    let mut response =
        body::json(StatusCode::TOO_MANY_REQUESTS, &json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// A session that is not there, or not this user's: nobody can tell which.
fn no_session() -> HttpResponse {
    refusal(StatusCode::NOT_FOUND, NO_SESSION, "Session not found")
}

fn not_allowed(methods: &'static str) -> HttpResponse {
    let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, REFUSED, "Method Not Allowed");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
    response
}

/// The session is in use for as long as its answer is being written.
fn keep(response: HttpResponse, in_use: InUse) -> HttpResponse {
    response.map(|body| Keeping::new(body, in_use).boxed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_id_that_the_transport_reads_goes_on_with_a_call() {
        let resumes = |id: &[u8]| {
            let value = HeaderValue::from_bytes(id).expect("a header may hold it");
            resumes_call(&HeaderMap::from_iter([(http::HeaderName::from_static("last-event-id"), value)]))
        };
        assert!(resumes(b"7/1") && !resumes(b"7") && !resumes_call(&HeaderMap::new()));
        assert!(!resumes(b"\xff/"), "the transport takes it for none, and opens a stream that only listens");
    }
}
