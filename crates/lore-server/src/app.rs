//! What happens to every request, in this order: names and pages, the table, who asks, whether they may, the handler.
//!
//! Nothing is remembered from one request to the next: who a user is and what they may do is looked up each time.

use std::{
    any::Any,
    borrow::Cow,
    net::IpAddr,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures::FutureExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header, request::Parts};
use http_body::Body;
use http_body_util::BodyExt as _;
use lore_core::Clock;
use lore_mcp::{Allowed, Forbidden, Keeping, ListensUntil, McpCalled, blocking};
use lore_model::{Caller, CallerAddress, Cancel, Code, Failure, LogId};
use lore_team::{Known, Team};
use lore_tools::Held;
use serde_json::Value;

use crate::{
    McpSetup, RouteRow, ServerOptions,
    answer::{HttpResponse, Refusal, Surface, empty},
    bearer,
    finish::Noted,
    input::{Budget, Reading, Whose},
    mcp::Endpoints,
    metrics::Metrics,
    options::plain_url,
    origin, proxies,
    routes::{self, Asked, Found, Handler, Route, Run, Who},
};

/// Where the metadata for clients of an authorization server are.
const METADATA: &str = "/.well-known/oauth-protected-resource";

/// How long work waits before it is begun again, at first and where it keeps failing.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_mins(1);

/// How long the message of somebody who shows no token may take to arrive.
const UNKNOWN: Duration = Duration::from_secs(1);

/// For a year browsers come back with TLS only (RFC 6797). Other hosts below this name are not the server's to speak for.
const STAY_WITH_TLS: &str = "max-age=31536000";

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What a server is made of.
pub struct ServerSetup {
    /// Whose server it is.
    pub team: Arc<Team>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// The tools.
    pub mcp: McpSetup,
    /// What was chosen.
    pub options: ServerOptions,
}

/// A server without a socket: requests in, responses out.
pub struct App {
    pub(crate) team: Arc<Team>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) mcp: Endpoints,
    pub(crate) metrics: Metrics,
    pub(crate) options: ServerOptions,
    pub(crate) issuer: Option<String>,
    pub(crate) routes: Vec<Route>,
    public: Option<String>,
    allowed: Allowed,
    stopping: AtomicBool,
    jobs_run: AtomicBool,
    reading: Budget,
    auth_reading: Budget,
}

/// The other end of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    /// Whether it speaks TLS with us.
    pub tls: bool,
}

impl App {
    /// A server. Fails where an option cannot be understood.
    pub fn new(setup: ServerSetup) -> Result<Arc<Self>, Failure> {
        let ServerSetup { team, clock, mcp, options } = setup;
        let public = options.public_url.as_deref().map(|url| plain_url("public URL", url)).transpose()?;
        // A slash at its end is left out: paths are added to it.
        let public = public.map(|url| url.trim_end_matches('/').to_owned());
        let issuer = options.oauth_issuer.as_deref().map(|url| plain_url("OAuth issuer", url)).transpose()?;
        let allowed = origin::allowed(&options, public.as_deref())?;
        let routes = routes::table();
        let limits = &options.limits;
        // The largest body has room in the share of one.
        let reading = Budget::new(limits.reading, (limits.reading / 8).max(limits.mcp_body).max(limits.body));
        let auth_reading = Budget::new(limits.auth_reading, (limits.auth_reading / 32).max(limits.auth_body));
        Ok(Arc::new(Self {
            team,
            reading,
            auth_reading,
            mcp: Endpoints::new(mcp, &allowed, &options.limits),
            metrics: Metrics::new(&routes, clock.now()),
            clock,
            options,
            issuer,
            routes,
            public,
            allowed,
            stopping: AtomicBool::new(false),
            jobs_run: AtomicBool::new(true),
        }))
    }

    /// The paths, and who may use them.
    pub fn rows(&self) -> Vec<RouteRow> {
        let row = |route: &Route| RouteRow { method: route.method.clone(), path: route.path, who: route.who };
        self.routes.iter().map(row).collect()
    }

    /// Says that the server is about to end: it is not ready any more, takes no new calls, and ends the streams on which
    /// somebody only listens. What is under way goes on.
    pub fn close(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.mcp.sessions.close();
    }

    /// Cuts off the calls that are still under way.
    pub async fn stop(&self) {
        self.close();
        self.mcp.sessions.stop().await;
    }

    /// Does what has to be done beside requests until it is done. Where a fault of its own ends it, it is begun again after
    /// a pause, during which the server is not ready.
    pub fn supervise(&self, work: impl Fn(), cancel: &Cancel) {
        let mut pause = PAUSE;
        loop {
            let begun = Instant::now();
            if catch_unwind(AssertUnwindSafe(&work)).is_ok() {
                return;
            }
            self.jobs_run.store(false, Ordering::Relaxed);
            tracing::error!("the work on jobs was ended by a fault of Lore's own; it is begun again");
            cancel.sleep(pause);
            pause = if begun.elapsed() > PAUSE_MAX { PAUSE } else { PAUSE_MAX.min(pause * 2) };
            self.jobs_run.store(true, Ordering::Relaxed);
        }
    }

    /// Whether jobs are being done.
    pub(crate) fn jobs_run(&self) -> bool {
        self.jobs_run.load(Ordering::Relaxed)
    }

    /// How clients reach it, where that was said.
    pub(crate) fn public(&self) -> Option<&str> {
        self.public.as_deref()
    }

    /// Whether the server is about to end.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Answers one request.
    pub async fn handle<B>(self: &Arc<Self>, request: Request<B>, peer: Peer) -> HttpResponse
    where
        B: Body<Data: Send> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let id = request_id(&parts.headers);
        let is_head = parts.method == Method::HEAD;
        let surface = surface(parts.uri.path());
        let mut noted = Noted {
            app: Arc::clone(self),
            id: id.clone(),
            method: method_word(&parts.method),
            route: None,
            user: None,
            from: None,
            address: None,
            begun: Instant::now(),
            status: None,
            called: None,
        };
        let trusted = &self.options.trusted_proxies;
        // What the client speaks, with us or with the proxy in front.
        let tls = proxies::client_tls(peer.address, &parts.headers, trusted).unwrap_or(peer.tls);
        let peer = Peer { tls, ..peer };
        let mut page = None;
        let serving = AssertUnwindSafe(self.serve(parts, body, peer, &mut noted, &mut page)).catch_unwind();
        let mut response = match serving.await {
            Ok(Ok(response)) => response,
            Ok(Err(refusal)) => {
                self.note_denied(&noted, &refusal).await;
                refusal.respond(surface)
            }
            Err(panic) => panicked(&*panic, &id).respond(surface),
        };
        let headers = response.headers_mut();
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if tls {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(STAY_WITH_TLS));
        }
        // Event streams of MCP bring their own.
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        if let Ok(id) = HeaderValue::from_str(&id) {
            headers.insert(REQUEST_ID, id);
        }
        if let Some(page) = page {
            origin::admit(page, headers);
        }
        noted.status = Some(response.status().as_u16());
        noted.called = response.extensions_mut().remove::<McpCalled>();
        let (head, body) = response.into_parts();
        let body = if is_head { empty(StatusCode::OK).into_body() } else { body };
        HttpResponse::from_parts(head, Keeping::new(body, noted).boxed())
    }

    async fn serve<B>(
        self: &Arc<Self>,
        mut parts: Parts,
        body: B,
        peer: Peer,
        noted: &mut Noted,
        page: &mut Option<origin::Page>,
    ) -> Result<HttpResponse, Refusal>
    where
        B: Body<Data: Send> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let scheme = if peer.tls { "https" } else { "http" };
        let address = proxies::client_address(peer.address, &parts.headers, &self.options.trusted_proxies);
        (noted.from, noted.address) = (Some(address), Some(proxies::counted(address)));
        *page = match origin::check(&self.allowed, &parts.uri, &parts.headers, scheme) {
            // Whoever looks whether a server is well often knows no more of it than its address.
            Err((Forbidden::Host, _)) if origin::is_probe(&parts) => None,
            checked => checked.map_err(|(_, refusal)| refusal)?,
        };
        if page.is_some() && origin::is_preflight(&parts.method, &parts.headers) {
            return Ok(origin::preflight());
        }
        let base = self.public.clone().unwrap_or_else(|| {
            format!("{scheme}://{}", origin::host(&parts.uri, &parts.headers).unwrap_or("localhost"))
        });
        let found = routes::find(&self.routes, &parts.method, &self.own_path(parts.uri.path()));
        if let Found::Route(place, route, _) = &found {
            noted.route = Some((*place, route.path));
        }
        let known = match self.let_in(&found, &parts, &base, noted).await {
            Err(refusal) if refusal.is_unauthenticated() && is_message(&parts) => {
                return Err(refusal.answering(self.message_id(body, address).await));
            }
            other => other?,
        };
        let (route, named) = match found {
            Found::Route(_, route, named) => (route, named),
            Found::Methods(there) => return wrong_method(&parts.method, &there),
            // Clients look for what is not there, and take a refusal for a sign that it is.
            Found::Nothing if is_well_known(parts.uri.path()) => {
                return Err(Refusal::new(StatusCode::NOT_FOUND, Code::InvalidArgument, "there is no such path"));
            }
            Found::Nothing => {
                return Err(Refusal::new(StatusCode::NOT_FOUND, Code::InvalidArgument, "there is no such path")
                    .hint("`GET /openapi.json` tells which there are"));
            }
        };
        let limits = &self.options.limits;
        match &route.handler {
            Handler::Mcp => {
                let caller = known.map(|known| known.caller);
                let caller = caller.ok_or_else(|| Failure::new(Code::Unauthenticated, "this needs a token"))?;
                let whose = Whose::User(caller.id);
                let reading = Reading { most: limits.mcp_body, limits, budget: &self.reading, whose };
                let (body, share) = reading.read(body).await?;
                if let Some(until) = self.listens_until(&parts.headers, &caller) {
                    parts.extensions.insert(until);
                }
                parts.extensions.insert(caller);
                parts.extensions.insert(CallerAddress(address.to_string()));
                parts.extensions.insert(LogId(noted.id.clone()));
                // A message takes room until the work on it begins.
                parts.extensions.insert(Held::new(share));
                self.mcp.answer(named.first().map(String::as_str), parts, body).await
            }
            Handler::Run(run) => {
                let query = parts.uri.query().unwrap_or_default().to_owned();
                let mut asked =
                    Asked { known, address, named, headers: parts.headers, query, body: bytes::Bytes::new(), base };
                let answering = async {
                    if !routes::takes_query(&route.method) {
                        // Names, passwords and tokens are short, and anybody may send them.
                        let (most, budget) = if route.path.starts_with("/auth/") {
                            (limits.auth_body, &self.auth_reading)
                        } else {
                            (limits.body, &self.reading)
                        };
                        let user = asked.known.as_ref().map(|known| Whose::User(known.caller.id));
                        let whose = user.unwrap_or_else(|| Whose::Address(proxies::counted(address)));
                        let (read, _share) = Reading { most, limits, budget, whose }.read(body).await?;
                        asked.body = read;
                        return answer(run, self, asked).await;
                    }
                    answer(run, self, asked).await
                };
                tokio::time::timeout(limits.request, answering).await.unwrap_or_else(|_| {
                    let message = "the request took too long and was given up";
                    let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::Busy, message);
                    Err(refusal.header(header::RETRY_AFTER, "5"))
                })
            }
        }
    }

    /// Until when somebody may listen who is let in now: for as long as they would be let in again.
    fn listens_until(&self, headers: &HeaderMap, caller: &Caller) -> Option<ListensUntil> {
        let token = bearer::token(headers)?.to_owned();
        let (team, caller, every) = (Arc::clone(&self.team), caller.clone(), self.options.limits.listening);
        Some(ListensUntil::new(move || {
            Box::pin(bearer::until_refused(Arc::clone(&team), token.clone(), caller.clone(), every))
        }))
    }

    /// The id of an MCP message that is not let in, for its answer. Of whoever shows no token little is read, and not for long.
    async fn message_id<B>(&self, body: B, address: IpAddr) -> Value
    where
        B: Body<Data: Send> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let limits = &self.options.limits;
        let whose = Whose::Address(proxies::counted(address));
        let reading = Reading { most: limits.auth_body, limits, budget: &self.auth_reading, whose };
        let Ok(Ok((body, _share))) = tokio::time::timeout(UNKNOWN, reading.read(body)).await else {
            return Value::Null;
        };
        let message = serde_json::from_slice::<Value>(&body).unwrap_or_default();
        match &message["id"] {
            id @ (Value::String(_) | Value::Number(_)) => id.clone(),
            _ => Value::Null,
        }
    }

    /// A path without what the public URL has before the paths of the server: in a well-known one that stands in the middle.
    fn own_path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let below = self.public().and_then(|url| url.split_once("://")?.1.split_once('/')).map(|(_, below)| below);
        let rest = below
            .zip(path.strip_prefix(METADATA))
            .and_then(|(below, rest)| rest.strip_prefix('/')?.strip_prefix(below));
        match rest {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => Cow::Owned(format!("{METADATA}{rest}")),
            _ => Cow::Borrowed(path),
        }
    }

    /// Writes down that somebody whom the server knows asked for what they may not. Tools say so themselves.
    async fn note_denied(&self, noted: &Noted, refusal: &Refusal) {
        let (Some(user), Some(why)) = (&noted.user, refusal.denial()) else { return };
        let what = format!("{} {}", noted.method, noted.route.map_or("(none)", |(_, path)| path));
        let (team, user, why) = (Arc::clone(&self.team), user.clone(), why.to_owned());
        let from = noted.from.map(|from| from.to_string());
        blocking(move || team.note_denied(&user, from, &what, &why)).await;
    }

    /// Finds out who asks, and refuses whoever may not: the only place where that is decided.
    async fn let_in(
        &self,
        found: &Found<'_>,
        parts: &Parts,
        base: &str,
        noted: &mut Noted,
    ) -> Result<Option<Known>, Refusal> {
        let who = match found {
            Found::Route(_, route, _) => route.who,
            Found::Methods(there) if there.iter().any(|route| route.who == Who::Anyone) => Who::Anyone,
            Found::Nothing if is_well_known(parts.uri.path()) => Who::Anyone,
            // Whoever shows no token is not told which paths there are.
            Found::Methods(_) | Found::Nothing => Who::AnyUser,
        };
        if who == Who::Anyone {
            return Ok(None);
        }
        let metadata = self.issuer.as_ref().map(|_| metadata_url(base, parts.uri.path()));
        let known = bearer::authenticate(&self.team, &parts.headers, metadata.as_deref()).await?;
        noted.user = Some(known.caller.name.clone());
        match who {
            Who::May(permission) if !known.caller.role.may(permission) => {
                let message = format!("this needs the permission `{}`", permission.as_str());
                let role = known.caller.role.as_str();
                Err(Refusal::from(Failure::new(Code::PermissionDenied, message))
                    .hint(format!("you are `{role}`; an admin can change that")))
            }
            _ => Ok(Some(known)),
        }
    }
}

/// Runs a handler on a thread that may block.
async fn answer(run: &Arc<Run>, app: &Arc<App>, asked: Asked) -> Result<HttpResponse, Refusal> {
    let (run, app) = (Arc::clone(run), Arc::clone(app));
    blocking(move || run(&app, &asked)).await
}

/// Whether a request brings an MCP message.
fn is_message(parts: &Parts) -> bool {
    parts.method == Method::POST && surface(parts.uri.path()) == Surface::Mcp
}

fn surface(path: &str) -> Surface {
    if path == "/mcp" || path.starts_with("/mcp/") { Surface::Mcp } else { Surface::Rest }
}

fn is_well_known(path: &str) -> bool {
    path.starts_with("/.well-known/")
}

/// Where the metadata of what a request asks for are (RFC 9728, section 3.1): the well-known part stands between the host
/// and the path.
fn metadata_url(base: &str, path: &str) -> String {
    let (scheme, rest) = base.split_once("://").unwrap_or(("https", base));
    let (host, below) = rest.split_once('/').map_or((rest, String::new()), |(host, path)| (host, format!("/{path}")));
    // What is no endpoint of MCP is asked for with the tokens of one.
    let safe = |path: &str| path.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_'));
    let resource = if surface(path) == Surface::Mcp && safe(path) { path } else { "/mcp" };
    format!("{scheme}://{host}{METADATA}{below}{resource}")
}

fn wrong_method(method: &Method, there: &[&Route]) -> Result<HttpResponse, Refusal> {
    let mut methods: Vec<&str> = there.iter().map(|route| route.method.as_str()).collect();
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    methods.push("OPTIONS");
    let allow = methods.join(", ");
    if method == Method::OPTIONS {
        let mut response = empty(StatusCode::NO_CONTENT);
        if let Ok(allow) = HeaderValue::from_str(&allow) {
            response.headers_mut().insert(header::ALLOW, allow);
        }
        return Ok(response);
    }
    let message = "this path does not have this method";
    Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, Code::InvalidArgument, message)
        .hint(format!("use {allow}"))
        .header(header::ALLOW, &allow))
}

fn panicked(panic: &(dyn Any + Send), id: &str) -> Refusal {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text");
    tracing::error!(id, panic = text, "a request panicked");
    let message = format!("a fault of Lore's own ended this request; the server's log has it under {id}");
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, Code::Internal, message)
}

/// The client's own id for a request where it can be one, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
    let fits = |text: &&str| {
        (1..=64).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    };
    given.filter(fits).map_or_else(
        || {
            let mut random = [0; 8];
            // Without randomness ids are all alike, which is no reason to refuse a request.
            if let Err(error) = getrandom::fill(&mut random) {
                tracing::debug!(%error, "the system gives no random numbers");
            }
            format!("{:016x}", u64::from_be_bytes(random))
        },
        str::to_owned,
    )
}

/// The method, if it is one that there is.
fn method_word(method: &Method) -> &'static str {
    ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"]
        .into_iter()
        .find(|word| method.as_str() == *word)
        .unwrap_or("other")
}
