//! An endpoint of small tools, and users who ask it.

use std::{
    convert::Infallible,
    future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures::FutureExt as _;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use lore_mcp::{
    BoundTool, Call, HttpMcp, HttpOptions, Identity, McpCalled, Server, ServerText, SessionLimits, Sessions,
};
use lore_model::{Caller, Permission, Role, UserId, UserName};
use lore_tools::{Answer, Effect, Errors, Held};
use serde_json::{Map, Value, json};

pub(crate) type Body = BoxBody<Bytes, Infallible>;

/// What the tools did, over all calls.
#[derive(Default)]
pub(crate) struct Seen {
    /// Calls of `hang` that began.
    pub(crate) begun: AtomicUsize,
    /// Calls of `hang` that were dropped.
    pub(crate) dropped: AtomicUsize,
    /// Calls of `stubborn` wait for this.
    pub(crate) released: AtomicBool,
}

/// Two endpoints that share their sessions.
pub(crate) struct Place {
    pub(crate) mcp: HttpMcp,
    pub(crate) other: HttpMcp,
    pub(crate) sessions: Sessions,
    pub(crate) seen: Arc<Seen>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::with(HttpOptions::default(), SessionLimits::default())
    }

    pub(crate) fn open() -> Self {
        let options = HttpOptions { identity: Identity::Anonymous, ..HttpOptions::default() };
        Self::with(options, SessionLimits::default())
    }

    pub(crate) fn with(options: HttpOptions, limits: SessionLimits) -> Self {
        Self::of(options, limits, |_| Vec::new())
    }

    /// With tools that keep threads busy, besides.
    pub(crate) fn busy(limits: SessionLimits) -> Self {
        Self::of(HttpOptions::default(), limits, busy_tools)
    }

    fn of(options: HttpOptions, limits: SessionLimits, more: fn(&Arc<Seen>) -> Vec<BoundTool>) -> Self {
        let seen = Arc::new(Seen::default());
        let sessions = Sessions::new(limits);
        let server = server(&seen, more(&seen));
        let mcp = HttpMcp::new(&server, options.clone(), &sessions);
        let other = HttpMcp::new(&server, options, &sessions);
        Self { mcp, other, sessions, seen }
    }

    /// Posts a message as the protocol wants it.
    pub(crate) async fn post(&self, who: &Caller, session: Option<&str>, message: &Value) -> Answered {
        let mut ask = Ask::post(message).by(who);
        if let Some(session) = session {
            ask = ask.header("mcp-session-id", session);
        }
        ask.send(&self.mcp).await
    }

    /// Opens a session.
    pub(crate) async fn shake_hands(&self, who: &Caller) -> String {
        shake_hands(&self.mcp, who).await
    }
}

pub(crate) async fn shake_hands(mcp: &HttpMcp, who: &Caller) -> String {
    let answered = Ask::post(&initialize()).by(who).send(mcp).await;
    assert_eq!(answered.status, StatusCode::OK);
    let session = answered.headers["mcp-session-id"].to_str().expect("it is as the test made it").to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let answered = Ask::post(&ready).by(who).header("mcp-session-id", &session).send(mcp).await;
    assert_eq!(answered.status, StatusCode::ACCEPTED);
    session
}

pub(crate) fn initialize() -> Value {
    let client = json!({"name": "test", "version": "1"});
    request("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}))
}

pub(crate) fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

pub(crate) fn call(tool: &str, arguments: &Value) -> Value {
    request("tools/call", &json!({"name": tool, "arguments": arguments}))
}

/// The same in the era without sessions.
pub(crate) fn stateless(mut message: Value) -> Ask {
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
    let method = message["method"].as_str().expect("it is as the test made it").to_owned();
    let name = message["params"]["name"].as_str().map(str::to_owned);
    let ask = Ask::post(&message).header("mcp-protocol-version", "2026-07-28").header("mcp-method", &method);
    match name {
        Some(name) => ask.header("mcp-name", &name),
        None => ask,
    }
}

/// A request that is being made up.
pub(crate) struct Ask(http::request::Builder, Vec<u8>);

impl Ask {
    /// A POST with the headers of a proper client.
    pub(crate) fn post(message: &Value) -> Self {
        Self::text(message.to_string())
    }

    pub(crate) fn text(body: impl Into<Vec<u8>>) -> Self {
        let ask = Self::method("POST").header("content-type", "application/json");
        Self(ask.header("accept", "text/event-stream, application/json").0, body.into())
    }

    pub(crate) fn method(method: &str) -> Self {
        Self(Request::builder().method(method).uri("/mcp").header("host", "localhost:8080"), Vec::new())
    }

    /// Sets a header, or takes it away where the value is empty.
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        let headers = self.0.headers_mut().expect("it is as the test made it");
        if value.is_empty() {
            headers.remove(name);
        } else {
            headers.insert(name, value.parse().expect("it is as the test made it"));
        }
        self
    }

    pub(crate) fn by(mut self, who: &Caller) -> Self {
        self.0.extensions_mut().expect("it is as the test made it").insert(who.clone());
        self
    }

    /// Something is held for it.
    pub(crate) fn holding(mut self, held: Held) -> Self {
        self.0.extensions_mut().expect("it is as the test made it").insert(held);
        self
    }

    pub(crate) async fn begin(self, mcp: &HttpMcp) -> Response<Body> {
        mcp.handle(self.0.body(Full::new(Bytes::from(self.1))).expect("it is as the test made it")).await
    }

    pub(crate) async fn send(self, mcp: &HttpMcp) -> Answered {
        Answered::of(self.begin(mcp).await).await
    }
}

/// A whole response.
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) called: Option<McpCalled>,
}

impl Answered {
    pub(crate) async fn of(response: Response<Body>) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("it is as the test made it").to_bytes();
        let text = String::from_utf8(bytes.to_vec()).expect("it is as the test made it");
        Self { status: parts.status, headers: parts.headers, text, called: parts.extensions.get().cloned() }
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.headers["content-type"] == "text/event-stream"
    }

    /// The messages of a stream, or the one of a JSON answer.
    pub(crate) fn messages(&self) -> Vec<Value> {
        if !self.headers.contains_key("content-type") {
            return Vec::new();
        }
        if !self.is_stream() {
            return vec![serde_json::from_str(&self.text).expect("it is as the test made it")];
        }
        let data = self.text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
        data.filter(|data| !data.is_empty())
            .map(|data| serde_json::from_str(data).expect("it is as the test made it"))
            .collect()
    }

    /// The last message: the answer.
    pub(crate) fn answer(&self) -> Value {
        self.messages().pop().unwrap_or_else(|| panic!("no answer in {:?} {}", self.status, self.text))
    }

    /// What a tool said.
    pub(crate) fn said(&self) -> String {
        self.answer()["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{}", self.text)).to_owned()
    }

    /// Status, code and message of a refusal.
    pub(crate) fn refused(&self) -> (u16, i64, String) {
        let error = self.answer()["error"].clone();
        let message = error["message"].as_str().unwrap_or_default().to_owned();
        (self.status.as_u16(), error["code"].as_i64().unwrap_or_default(), message)
    }
}

/// Reads from a stream until a text was there.
pub(crate) async fn read_until(body: &mut Body, text: &str) -> String {
    let mut read = String::new();
    while !read.contains(text) {
        let frame = body
            .frame()
            .await
            .unwrap_or_else(|| panic!("`{text}` is not in {read}"))
            .expect("it is as the test made it");
        read += std::str::from_utf8(frame.data_ref().expect("it is as the test made it"))
            .expect("it is as the test made it");
    }
    read
}

pub(crate) fn user(id: i64, role: Role) -> Caller {
    Caller { id: UserId(id), name: UserName::parse(&format!("user{id}")).expect("it is as the test made it"), role }
}

pub(crate) fn ada() -> Caller {
    user(1, Role::NormalUser)
}

pub(crate) fn bob() -> Caller {
    user(2, Role::NormalUser)
}

pub(crate) fn admin() -> Caller {
    user(3, Role::Admin)
}

/// Tools that keep threads busy or fail by themselves.
fn busy_tools(seen: &Arc<Seen>) -> Vec<BoundTool> {
    let stubborn = Arc::clone(seen);
    vec![
        tool(
            "stubborn",
            Permission::QueryRepos,
            Box::new(move |_, asked| {
                let seen = Arc::clone(&stubborn);
                // It goes on where nobody waits for it any more.
                let work = tokio::task::spawn_blocking(move || {
                    let _asked = asked;
                    while !seen.released.load(Ordering::SeqCst) {
                        std::thread::park_timeout(Duration::from_millis(5));
                    }
                });
                work.then(|_| done(json!("done"))).boxed()
            }),
        ),
        tool(
            "nested",
            Permission::QueryRepos,
            Box::new(|_, _| {
                let runtime = tokio::runtime::Handle::current();
                let inner = async { tokio::task::spawn_blocking(|| ()).await };
                let work = tokio::task::spawn_blocking(move || runtime.block_on(inner));
                work.then(|_| done(json!("nested"))).boxed()
            }),
        ),
        tool("panic", Permission::QueryRepos, Box::new(|_, _| panic!("it is a test"))),
        BoundTool {
            errors: Errors::Object,
            ..tool("panic_object", Permission::QueryRepos, Box::new(|_, _| panic!("it is a test")))
        },
        BoundTool {
            errors: Errors::Object,
            ..tool("hang_object", Permission::QueryRepos, Box::new(|_, _| future::pending().boxed()))
        },
    ]
}

pub(crate) fn server(seen: &Arc<Seen>, more: Vec<BoundTool>) -> Server {
    let hang = Arc::clone(seen);
    let mut tools = vec![
        tool("echo", Permission::QueryRepos, Box::new(|arguments, _| done(json!(arguments)))),
        tool(
            "whoami",
            Permission::QueryRepos,
            Box::new(|_, asked| done(json!(asked.caller.map(|who| who.name.to_string())))),
        ),
        tool("activate", Permission::ActivateRepos, Box::new(|_, _| done(json!("activated")))),
        tool("keep", Permission::ManageGoldenRepos, Box::new(|_, _| done(json!("kept")))),
        tool("users", Permission::ManageUsers, Box::new(|_, _| done(json!("users")))),
        tool(
            "slow",
            Permission::QueryRepos,
            Box::new(|_, _| tokio::time::sleep(Duration::from_secs(10)).then(|()| done(json!("slow"))).boxed()),
        ),
        tool(
            "hang",
            Permission::QueryRepos,
            Box::new(move |_, _| {
                hang.begun.fetch_add(1, Ordering::SeqCst);
                let guard = Dropped(Arc::clone(&hang));
                async move {
                    let _guard = guard;
                    future::pending().await
                }
                .boxed()
            }),
        ),
        tool(
            "steps",
            Permission::QueryRepos,
            Box::new(|_, asked| {
                async move {
                    for step in [1.0, 2.0, 1.5, 2.0, 3.0, f64::NAN] {
                        if let Some(progress) = &asked.progress {
                            progress.tell(step, Some(3.0), "step");
                        }
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                    done(json!(asked.progress.is_some())).await
                }
                .boxed()
            }),
        ),
        tool(
            "chatter",
            Permission::QueryRepos,
            Box::new(|_, asked| {
                for step in 0..100_000 {
                    if let Some(progress) = &asked.progress {
                        progress.tell(f64::from(step), None, "on and on");
                    }
                }
                done(json!("done"))
            }),
        ),
    ];
    tools.extend(more);
    Server::of(tools, ServerText { version: "1.2.3".into(), instructions: "Use `echo`.".into() })
}

struct Dropped(Arc<Seen>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

fn tool(name: &str, permission: Permission, call: Call) -> BoundTool {
    BoundTool {
        name: name.into(),
        title: name.to_uppercase(),
        about: "A tool.".into(),
        permission,
        effect: Effect::Reads,
        errors: Errors::Result,
        about_project: false,
        toolset: None,
        ready: None,
        input: Arc::new(object(json!({"type": "object", "properties": {}}))),
        call,
    }
}

fn done(value: Value) -> futures::future::BoxFuture<'static, Result<Answer, lore_model::Failure>> {
    future::ready(Ok(Answer::json(value))).boxed()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is not an object"),
    }
}
