//! A server with three users, in a folder of its own, at a time of the test's choice.

use std::{
    net::IpAddr,
    path::Path,
    sync::{
        Arc, Once,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
};

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use lore_core::LoreOptions;
use lore_core::{Clock, Lore};
use lore_mcp::{Server, ServerText, SessionLimits, Sessions};
use lore_model::{Role, User};
use lore_server::{App, McpSetup, Peer, ServerOptions, ServerSetup};
use lore_store_embedded::{EmbeddedMessages, EmbeddedStore, EmbeddedTeam};
use lore_team::{Asker, Team, TeamSettings};
use lore_tools::{Context, Toolset};
use serde_json::Value;

/// When tests begin.
pub(crate) const NOW: i64 = 1_800_000_000;

pub(crate) const PASSWORD: &str = "seven pale lanterns drift";

/// A clock that tests set, and that can be made to fail.
pub(crate) struct TestClock {
    now: AtomicI64,
    panics: AtomicBool,
}

impl TestClock {
    pub(crate) fn pass(&self, seconds: i64) {
        self.now.fetch_add(seconds, Ordering::Relaxed);
    }

    pub(crate) fn panic_from_now_on(&self, panics: bool) {
        self.panics.store(panics, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> i64 {
        assert!(!self.panics.load(Ordering::Relaxed), "the clock is broken");
        self.now.load(Ordering::Relaxed)
    }
}

/// A server.
pub(crate) struct Fixture {
    pub(crate) app: Arc<App>,
    pub(crate) team: Arc<Team>,
    pub(crate) store: Arc<EmbeddedTeam>,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) folder: tempfile::TempDir,
}

fn lore(home: &Path) -> Arc<Lore> {
    let messages = Arc::new(EmbeddedMessages::new(home));
    Arc::new(Lore::new(home, Arc::new(EmbeddedStore::new(home)), messages, LoreOptions::default()))
}

/// Keeps tests of one process from deciding for each other what is logged.
///
/// What is thought of a place that logs is remembered for the whole process when it is first come by. As long as there is one
/// subscriber only, `tracing` then asks the thread that comes by: a test without one would turn the place off for the test that
/// captures the log. With several it asks all of them, so there are always several, and before any server is.
fn ask_all_subscribers() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for _ in 0..2 {
            std::mem::forget(tracing::Dispatch::new(tracing::subscriber::NoSubscriber::default()));
        }
    });
}

/// A server with the users `admin`, `power` and `normal`.
pub(crate) async fn server(options: ServerOptions) -> Fixture {
    server_with(options, SessionLimits::default(), Vec::new()).await
}

/// The same with other limits, and more endpoints at `/mcp/<name>`.
pub(crate) async fn server_with(options: ServerOptions, limits: SessionLimits, more: Vec<(String, Server)>) -> Fixture {
    ask_all_subscribers();
    let folder = tempfile::tempdir().unwrap();
    let lore = lore(folder.path());
    let clock = Arc::new(TestClock { now: AtomicI64::new(NOW), panics: AtomicBool::new(false) });
    let store = Arc::new(EmbeddedTeam::new(folder.path()));
    let settings = TeamSettings::default();
    let team = Arc::new(Team::new(Arc::clone(&store) as _, Arc::clone(&lore), Arc::clone(&clock) as _, settings));
    for (name, role) in [("admin", Role::Admin), ("power", Role::PowerUser), ("normal", Role::NormalUser)] {
        team.create_user(&Asker::local(), name, PASSWORD, role).unwrap();
    }
    let context = Context::for_team(Arc::clone(&team));
    let serving = |sets: &[Toolset]| {
        let text = ServerText { version: "0".to_owned(), instructions: String::new() };
        Server::new(lore_tools::server_tools(sets), &context, text)
    };
    let mcp = McpSetup {
        all: serving(&[Toolset::History, Toolset::Repos, Toolset::Admin]),
        toolsets: [("history".to_owned(), serving(&[Toolset::History]))].into_iter().chain(more).collect(),
        sessions: Sessions::new(limits),
    };
    let setup = ServerSetup { team: Arc::clone(&team), clock: Arc::clone(&clock) as _, mcp, options };
    let app = App::new(setup).unwrap();
    Fixture { app, team, store, clock, folder }
}

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Told {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The code of an error.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// A request that is being put together.
pub(crate) struct Ask {
    method: String,
    path: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    peer: IpAddr,
}

/// A request like `GET /auth/me`.
pub(crate) fn ask(line: &str) -> Ask {
    let (method, path) = line.split_once(' ').unwrap();
    let peer = [9, 9, 9, 9].into();
    Ask { method: method.to_owned(), path: path.to_owned(), headers: Vec::new(), body: Vec::new(), peer }
        .header("host", "localhost:8000")
}

impl Ask {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.as_bytes().to_owned()));
        self
    }

    /// The same with another value, or with none.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string().as_bytes())
    }

    pub(crate) fn body(mut self, media: &str, body: &[u8]) -> Self {
        body.clone_into(&mut self.body);
        self.header("content-type", media)
    }

    pub(crate) fn from(mut self, peer: &str) -> Self {
        self.peer = peer.parse().unwrap();
        self
    }

    pub(crate) async fn of(self, server: &Fixture) -> Told {
        let mut request = Request::builder().method(self.method.as_str()).uri(self.path.as_str());
        for (name, value) in &self.headers {
            request = request.header(name, value.as_slice());
        }
        let request = request.body(Full::new(Bytes::from(self.body))).unwrap();
        let response = server.app.handle(request, Peer { address: self.peer, tls: false }).await;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Told { status: parts.status, headers: parts.headers, text }
    }
}

impl Fixture {
    /// A personal token of a user.
    pub(crate) fn token_of(&self, name: &str) -> String {
        let user = self.user(name);
        self.team.create_token(&Asker::local(), user.id, "test", None).unwrap().secret
    }

    pub(crate) fn user(&self, name: &str) -> User {
        self.team.user(name).unwrap()
    }

    /// What logging in gives.
    pub(crate) async fn login(&self, name: &str) -> Value {
        let told = login(name, PASSWORD).of(self).await;
        assert_eq!(told.status, 200, "{}", told.text);
        told.json()
    }
}

pub(crate) fn login(name: &str, password: &str) -> Ask {
    ask("POST /auth/login").json(&serde_json::json!({"username": name, "password": password}))
}

/// A path of the table with something in the place of names.
pub(crate) fn filled(path: &str) -> String {
    path.split('/').map(|part| if part.starts_with('{') { "999" } else { part }).collect::<Vec<_>>().join("/")
}

/// Whether a status says that somebody was let in.
pub(crate) fn is_in(status: StatusCode) -> bool {
    status != StatusCode::UNAUTHORIZED && status != StatusCode::FORBIDDEN
}

pub(crate) const BODY_TYPE: header::HeaderName = header::CONTENT_TYPE;
