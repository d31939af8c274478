//! What happens to every request, in this order: names and pages, the table, who asks, whether they may, the handler.
//!
//! Nothing is remembered from one request to the next: who a user is and what they may do is looked up each time.

use std::{
    any::Any,
    net::IpAddr,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use futures::FutureExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header, request::Parts};
use http_body::Body;
use http_body_util::BodyExt as _;
use lore_core::{
    Clock,
    team::{Known, Team},
};
use lore_mcp::{Allowed, McpCalled};
use lore_model::{Code, Failure};

use crate::{
    McpSetup, RouteRow, ServerOptions,
    answer::{HttpResponse, Refusal, Surface, empty},
    bearer,
    finish::{Finishing, Noted},
    input,
    mcp::Endpoints,
    metrics::Metrics,
    options::plain_url,
    origin, proxies,
    routes::{self, Asked, Found, Handler, Route, Who},
};

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
    pub(crate) mcp: Endpoints,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) options: ServerOptions,
    pub(crate) issuer: Option<String>,
    pub(crate) routes: Vec<Route>,
    public: Option<String>,
    allowed: Allowed,
    stopping: AtomicBool,
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
        let issuer = options.oauth_issuer.as_deref().map(|url| plain_url("OAuth issuer", url)).transpose()?;
        let allowed = origin::allowed(&options, public.as_deref())?;
        let routes = routes::table();
        Ok(Arc::new(Self {
            team,
            mcp: Endpoints::new(mcp, &allowed, &options.limits),
            metrics: Arc::new(Metrics::new(&routes, clock.now())),
            options,
            issuer,
            routes,
            public,
            allowed,
            stopping: AtomicBool::new(false),
        }))
    }

    /// The paths, and who may use them.
    pub fn rows(&self) -> Vec<RouteRow> {
        let row = |route: &Route| RouteRow { method: route.method.clone(), path: route.path, who: route.who };
        self.routes.iter().map(row).collect()
    }

    /// Says that the server is about to end: it is not ready any more, and streams end.
    pub async fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.mcp.sessions.stop().await;
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
            metrics: Arc::clone(&self.metrics),
            id: id.clone(),
            method: method_word(&parts.method),
            route: None,
            user: None,
            begun: Instant::now(),
            status: 500,
            called: None,
        };
        let mut page = None;
        let serving = AssertUnwindSafe(self.serve(parts, body, peer, &mut noted, &mut page)).catch_unwind();
        let mut response = match serving.await {
            Ok(Ok(response)) => response,
            Ok(Err(refusal)) => refusal.respond(surface),
            Err(panic) => panicked(&*panic, &id).respond(surface),
        };
        let headers = response.headers_mut();
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        // Event streams of MCP bring their own.
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        if let Ok(id) = HeaderValue::from_str(&id) {
            headers.insert(REQUEST_ID, id);
        }
        if let Some(page) = page {
            origin::admit(page, headers);
        }
        noted.status = response.status().as_u16();
        noted.called = response.extensions_mut().remove::<McpCalled>();
        let (head, body) = response.into_parts();
        let body = if is_head { empty(StatusCode::OK).into_body() } else { body };
        HttpResponse::from_parts(head, Finishing { body, noted: Some(noted) }.boxed())
    }

    async fn serve<B>(
        self: &Arc<Self>,
        parts: Parts,
        body: B,
        peer: Peer,
        noted: &mut Noted,
        page: &mut Option<origin::Page>,
    ) -> Result<HttpResponse, Refusal>
    where
        B: Body<Data: Send> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let trusted = &self.options.trusted_proxies;
        let tls = proxies::client_tls(peer.address, &parts.headers, trusted).unwrap_or(peer.tls);
        let scheme = if tls { "https" } else { "http" };
        *page = origin::check(&self.allowed, &parts.uri, &parts.headers, scheme)?;
        if page.is_some() && origin::is_preflight(&parts.method, &parts.headers) {
            return Ok(origin::preflight());
        }
        let base = self.public.clone().unwrap_or_else(|| {
            format!("{scheme}://{}", origin::host(&parts.uri, &parts.headers).unwrap_or("localhost"))
        });
        let found = routes::find(&self.routes, &parts.method, parts.uri.path());
        if let Found::Route(place, route, _) = &found {
            noted.route = Some((*place, route.path));
        }
        let known = self.let_in(&found, &parts, &base, noted).await?;
        let (route, named) = match found {
            Found::Route(_, route, named) => (route, named),
            Found::Methods(there) => return wrong_method(&parts.method, &there),
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
                let body = input::read(body, limits.mcp_body, limits).await?;
                let address = proxies::client_address(peer.address, &parts.headers, trusted).to_string();
                self.mcp.answer(named.first().map(String::as_str), caller, address, parts, body).await
            }
            Handler::Run(run) => {
                let address = proxies::client_address(peer.address, &parts.headers, trusted);
                let query = parts.uri.query().unwrap_or_default().to_owned();
                let mut asked =
                    Asked { known, address, named, headers: parts.headers, query, body: bytes::Bytes::new(), base };
                let answering = async {
                    if !routes::takes_query(&route.method) {
                        asked.body = input::read(body, limits.body, limits).await?;
                    }
                    run(Arc::clone(self), asked).await
                };
                tokio::time::timeout(limits.request, answering).await.unwrap_or_else(|_| {
                    Err(Failure::new(Code::Busy, "a request took too long and was given up").into())
                })
            }
        }
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
            // Whoever shows no token is not told which paths there are.
            Found::Methods(_) | Found::Nothing => Who::AnyUser,
        };
        if who == Who::Anyone {
            return Ok(None);
        }
        let metadata = self.issuer.as_ref().map(|_| format!("{base}/.well-known/oauth-protected-resource/mcp"));
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

fn surface(path: &str) -> Surface {
    if path == "/mcp" || path.starts_with("/mcp/") { Surface::Mcp } else { Surface::Rest }
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
