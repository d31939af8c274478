//! `lore bridge` between a host and a server that a test stands in for.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use lore_testkit::{Asked, Gate, Lore, Reply, StandIn};
use serde_json::{Value, json};

/// How long a test waits for something that must come.
const LONG: Duration = Duration::from_secs(20);
/// How long it waits for something that must not come.
const SHORT: Duration = Duration::from_millis(300);

pub(crate) const TOKEN: &str = "lore_pat_hunter2";

/// A bridge and its pipes.
pub(crate) struct Host {
    child: Child,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    log: Option<std::thread::JoinHandle<String>>,
}

impl Host {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().expect("it goes well"));
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                drop(sender.send(line));
            }
        });
        let errors = child.stderr.take().expect("it goes well");
        let log = std::thread::spawn(move || std::io::read_to_string(errors).unwrap_or_default());
        Self { input: child.stdin.take(), child, lines, log: Some(log) }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it goes well");
        writeln!(input, "{line}").expect("it goes well");
        input.flush().expect("it goes well");
    }

    /// The next message.
    #[track_caller]
    pub(crate) fn next(&self) -> Value {
        let line = self.lines.recv_timeout(LONG).expect("there is another message");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Asks and gives the next message.
    #[track_caller]
    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.next()
    }

    #[track_caller]
    fn says_nothing(&self) {
        if let Ok(line) = self.lines.recv_timeout(SHORT) {
            panic!("nothing was to be said: {line}");
        }
    }

    /// Closes its input, and gives what it still says and its log.
    #[track_caller]
    pub(crate) fn end(mut self) -> (Vec<String>, String) {
        drop(self.input.take());
        let status = self.child.wait().expect("it goes well");
        let log = self.log.take().expect("it goes well").join().expect("it goes well");
        assert!(status.success(), "{status}: {log}");
        (self.lines.iter().collect(), log)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It has ended already where the test came to its end.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) fn lore() -> Lore {
    Lore::new(Path::new(env!("CARGO_BIN_EXE_lore")))
}

/// A bridge to that address with a personal token.
fn bridge(lore: &Lore, url: &str, more: &[&str]) -> Host {
    let args: Vec<&str> = ["bridge", "--url", url].into_iter().chain(more.iter().copied()).collect();
    let mut command = lore.command(&args);
    command.env("LORE_TOKEN", TOKEN);
    Host::start(command)
}

pub(crate) fn request(id: i64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn initialize() -> Value {
    let client = json!({"name": "it", "version": "1"});
    request(0, "initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}))
}

fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

fn result(asked: &Asked, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result})
}

/// What every server does: shakes hands in a session, accepts notifications, has no stream of its own.
fn usual(asked: &Asked, session: &str) -> Option<Reply> {
    match (asked.method.as_str(), asked.body["method"].as_str()) {
        ("POST", Some("initialize")) => {
            let begun = result(asked, &json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
            Some(Reply::json(200, &begun).header("Mcp-Session-Id", session))
        }
        ("POST", Some(method)) if method.starts_with("notifications/") => Some(Reply::status(202)),
        ("POST", None) => Some(Reply::status(202)),
        ("GET", _) => Some(Reply::status(405)),
        ("DELETE", _) => Some(Reply::status(200)),
        _ => None,
    }
}

#[test]
fn messages_are_passed_on_within_a_session() {
    let server = StandIn::start(|asked| {
        usual(asked, "s-1").unwrap_or_else(|| Reply::json(200, &result(asked, &asked.body["params"])))
    });
    let lore = lore();
    let mut host = bridge(&lore, &server.url(), &["--toolset", "code"]);
    assert_eq!(host.ask(&initialize())["result"]["protocolVersion"], "2025-06-18");
    host.send(&initialized());
    // Numbers and texts arrive as they were written.
    host.send_line(r#"{"jsonrpc":"2.0","id":"a-1","method":"tools/call","params":{"name":"x","arguments":{"n":1.50,"t":"\u0001\n"}}}"#);
    assert_eq!(
        host.next(),
        json!({"jsonrpc": "2.0", "id": "a-1", "result": {"name": "x", "arguments": {"n": 1.5, "t": "\u{1}\n"}}})
    );
    let (rest, log) = host.end();
    assert_eq!((rest, log), (vec![], String::new()));
    let asked = server.asked();
    assert!(asked.iter().all(|asked| asked.path == "/mcp/code"));
    assert!(asked.iter().all(|asked| asked.header("authorization") == Some(&format!("Bearer {TOKEN}"))));
    let posts: Vec<&Asked> = asked.iter().filter(|asked| asked.method == "POST").collect();
    assert_eq!(posts.len(), 3);
    for post in &posts {
        assert_eq!(post.header("accept"), Some("text/event-stream, application/json"));
        assert_eq!(post.header("content-type"), Some("application/json"));
    }
    assert_eq!((posts[0].header("mcp-session-id"), posts[0].header("mcp-protocol-version")), (None, None));
    let ended = asked.iter().find(|asked| asked.method == "DELETE").expect("the session is ended");
    for within in [posts[1], posts[2], ended] {
        assert_eq!(within.header("mcp-session-id"), Some("s-1"));
        assert_eq!(within.header("mcp-protocol-version"), Some("2025-06-18"));
    }
}

#[test]
fn streams_of_messages_and_streams_of_pieces_become_lines() {
    let server = StandIn::start(|asked| {
        match asked.body["params"]["name"].as_str() {
        Some("pieces") => Reply::stream(concat!(
            "data: {\"type\":\"chunk\",\"content\":\"partial \"}\n\n",
            "data: {\"type\":\"chunk\",\"content\":\"result\"}\n\n",
            "data: {\"type\":\"complete\",\"content\":{\"final\":\"result\"}}\n\n",
        )),
        _ => Reply::stream(": hello\n\nretry: 10\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/progress\",\"params\":{\"progress\":1}}\n\n")
            .text("data: {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"roots/list\"}\r\n\r\n: ping\n\n")
            .text(&format!("event: message\nid: 4\ndata: {}\n\n", result(asked, &json!({"ok": true})))),
    }
    });
    let lore = lore();
    let mut host = bridge(&lore, &server.url(), &[]);
    host.send(&request(1, "tools/call", &json!({"name": "messages"})));
    assert_eq!(host.next()["method"], "notifications/progress");
    assert_eq!(host.next()["method"], "roots/list");
    assert_eq!(host.next(), json!({"jsonrpc": "2.0", "id": 1, "result": {"ok": true}}));
    assert_eq!(
        host.ask(&request(2, "tools/call", &json!({"name": "pieces"}))),
        json!({"jsonrpc": "2.0", "id": 2, "result": {"final": "result", "content": [{"type": "text", "text": "partial result"}]}})
    );
    host.send(&json!({"jsonrpc": "2.0", "id": 9, "result": {"roots": []}}));
    host.end();
    let told = server.asked().into_iter().find(|asked| asked.body["result"]["roots"].is_array());
    assert_eq!(told.expect("the host's answer is passed on").body["id"], 9);
}

#[test]
fn failures_are_those_of_the_contract() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let elsewhere = StandIn::start(|_| Reply::json(200, &json!({})));
    let target = elsewhere.url();
    let server = StandIn::start(move |asked| match asked.body["method"].as_str() {
        Some("unauthorized") => {
            let body = json!({"jsonrpc": "2.0", "error": {"code": -32000, "message": "no"}, "id": null});
            Reply::json(401, &body)
        }
        Some("late") => Reply::status(200).header("Content-Type", "application/json").wait(&Gate::default()),
        Some("redirect") => Reply::status(307).header("Location", &target),
        Some("broken") => {
            Reply::json(500, &json!({"error": {"code": "internal", "message": "it burns", "hint": null}}))
        }
        Some("html") => Reply::status(200).header("Content-Type", "text/html").text("<h1>hello</h1>"),
        Some("protocol") => Reply::json(
            400,
            &json!({"jsonrpc": "2.0", "id": asked.body["id"], "error": {"code": -32602, "message": "bad"}}),
        ),
        _ => Reply::status(202),
    });
    let lore = lore();
    let mut host = bridge(&lore, &server.url(), &["--timeout", "1"]);
    let mut check = |method: &str, code: i64, message: &str, detail: &str| {
        let answer = host.ask(&request(5, method, &json!({})));
        assert_eq!(answer["id"], 5, "{answer}");
        assert_eq!((&answer["error"]["code"], &answer["error"]["message"]), (&json!(code), &json!(message)));
        let told = answer["error"]["data"]["detail"].as_str().unwrap_or_default();
        assert!(told.contains(detail), "{answer}");
        assert!(!answer.to_string().contains("hunter2"), "{answer}");
    };
    check("unauthorized", -32000, "Authentication failed: 401 Unauthorized", "no");
    check("late", -32000, "Request timed out after 1 seconds", "did not answer in time");
    check("redirect", -32000, "HTTP error: 307 Temporary Redirect", "not followed");
    check("broken", -32000, "Server error: 500 Internal Server Error", "it burns");
    check("html", -32000, &format!("The answer of {} cannot be understood", server.url()), "<h1>");
    check("protocol", -32602, "bad", "");
    assert_eq!(elsewhere.asked().len(), 0, "a received address is never opened");
    host.send_line("{nonsense");
    assert_eq!(host.next()["error"]["code"], -32700);
    host.send_line("[]");
    assert_eq!(host.next()["error"]["code"], -32600);
    host.send_line(r#"{"jsonrpc":"2.0","id":8}"#);
    let invalid = host.next();
    assert_eq!((&invalid["id"], &invalid["error"]["code"]), (&json!(8), &json!(-32600)));
    host.send(&json!({"jsonrpc": "2.0", "method": "notifications/whatever"}));
    host.send_line("");
    host.says_nothing();
    let (rest, log) = host.end();
    assert!(rest.is_empty() && !log.contains("hunter2"), "{rest:?} {log}");
    let mut nowhere = bridge(&lore, &format!("http://127.0.0.1:{closed}"), &["-v"]);
    let answer = nowhere.ask(&request(1, "tools/call", &json!({})));
    assert_eq!(answer["error"]["code"], -32000);
    assert_eq!(answer["error"]["message"], format!("Connection failed to http://127.0.0.1:{closed}"));
    assert!(answer["error"]["data"]["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
    let (_, log) = nowhere.end();
    // A wrong address, or a server that nobody has started, is told at once.
    assert!(!log.contains("asked again") && log.contains("there is no answer"), "{log}");
    assert!(!log.contains("NoConnection"), "{log}");
}

#[test]
fn nobody_is_logged_in() {
    let server = StandIn::start(|_| Reply::status(500));
    let lore = lore();
    let mut host = Host::start(lore.command(&["bridge", "--url", &server.url()]));
    let answer = host.ask(&request(1, "tools/list", &json!({})));
    assert_eq!(answer["error"]["message"], "Authentication failed: 401 Unauthorized");
    assert!(answer["error"]["data"]["detail"].as_str().unwrap().contains("lore login"), "{answer}");
    assert_eq!(server.asked().len(), 0);
    assert_eq!(std::fs::read_dir(lore.home()).unwrap().count(), 0, "asking leaves no trace");
}

#[test]
fn a_lost_session_is_begun_anew() {
    let begun = Arc::new(AtomicUsize::new(0));
    let restarted = Arc::clone(&begun);
    let server = StandIn::start(move |asked| {
        if asked.body["method"] == "initialize" {
            let number = restarted.fetch_add(1, Ordering::SeqCst) + 1;
            return usual(asked, &format!("s-{number}")).unwrap();
        }
        // The first session ends with its third request.
        let is_known = asked.header("mcp-session-id") != Some("s-1") || asked.body["method"] != "tools/call";
        if !is_known {
            return Reply::status(404).text("Not Found: Session not found");
        }
        usual(asked, "").unwrap_or_else(|| Reply::json(200, &result(asked, &json!({}))))
    });
    let lore = lore();
    let mut host = bridge(&lore, &server.url(), &[]);
    host.ask(&initialize());
    host.send(&initialized());
    host.ask(&request(1, "resources/subscribe", &json!({"uri": "lazygit://messages"})));
    assert_eq!(
        host.ask(&request(2, "tools/call", &json!({"name": "x"}))),
        json!({"jsonrpc": "2.0", "id": 2, "result": {}})
    );
    host.end();
    assert_eq!(begun.load(Ordering::SeqCst), 2);
    let posts: Vec<(String, String)> = server
        .asked()
        .iter()
        .filter(|asked| asked.method == "POST")
        .map(|asked| {
            let session = asked.header("mcp-session-id").unwrap_or("-").to_owned();
            (asked.body["method"].as_str().unwrap_or_default().to_owned(), session)
        })
        .collect();
    let expected = [
        ("initialize", "-"),
        ("notifications/initialized", "s-1"),
        ("resources/subscribe", "s-1"),
        ("tools/call", "s-1"),
        ("initialize", "-"),
        ("notifications/initialized", "s-2"),
        ("resources/subscribe", "s-2"),
        ("tools/call", "s-2"),
    ];
    assert_eq!(posts, expected.map(|(method, session)| (method.to_owned(), session.to_owned())));
}

#[test]
fn a_broken_stream_is_taken_up_again() {
    let server = StandIn::start(|asked| {
        match (asked.method.as_str(), asked.header("last-event-id")) {
        ("POST", _) => Reply::stream("id: 1\nretry: 20\ndata:\n\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\nid: 3\ndata: cut off").breaks(),
        ("GET", Some("2")) => {
            Reply::stream("id: 3\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"whole\":true}}\n\n")
        }
        other => panic!("{other:?}"),
    }
    });
    let lore = lore();
    let mut host = bridge(&lore, &server.url(), &[]);
    host.send(&request(1, "tools/call", &json!({})));
    assert_eq!(host.next()["method"], "notifications/progress");
    assert_eq!(host.next(), json!({"jsonrpc": "2.0", "id": 1, "result": {"whole": true}}));
    host.end();
    assert_eq!(server.asked().iter().filter(|asked| asked.method == "POST").count(), 1);
}

#[test]
fn only_what_changes_nothing_is_asked_twice() {
    let server = StandIn::start(|asked| match asked.body["id"].as_i64() {
        Some(1) => Reply::nothing(),
        _ => Reply::stream(": hello\n\n").breaks(),
    });
    let lore = lore();
    let mut host = bridge(&lore, &server.url(), &[]);
    for (id, method, times) in [(1, "tools/call", 1), (2, "tools/call", 1), (2, "tools/list", 5)] {
        let answer = host.ask(&request(id, method, &json!({})));
        assert_eq!(answer["error"]["message"], format!("Connection lost to {}", server.url()), "{answer}");
        let asked = server.asked();
        let same = asked.iter().filter(|asked| asked.body["id"] == id && asked.body["method"] == method);
        assert_eq!(same.count(), times, "{method}");
    }
    host.end();
}

#[test]
fn a_server_that_restarts_is_waited_for() {
    let answers = |asked: &Asked| Reply::json(200, &result(asked, &json!({})));
    let server = StandIn::start(answers);
    let (lore, url) = (lore(), server.url());
    let mut host = bridge(&lore, &url, &[]);
    assert_eq!(host.ask(&request(1, "tools/call", &json!({})))["id"], 1);
    drop(server);
    let address = url.strip_prefix("http://").unwrap();
    let listener = loop {
        // The port is free once nobody listens there any more.
        if let Ok(listener) = TcpListener::bind(address) {
            break listener;
        }
    };
    drop(listener);
    host.send(&request(2, "tools/call", &json!({})));
    host.says_nothing();
    let listener = TcpListener::bind(address).expect("the port is still free");
    let _server = StandIn::start_on(listener, answers);
    assert_eq!(host.next(), json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
}

#[test]
fn many_requests_are_under_way_and_one_is_taken_back() {
    let gate = Gate::default();
    let (opened, cancelled) = (gate.clone(), Gate::default());
    let seen = cancelled.clone();
    let server = StandIn::start(move |asked| match asked.body["params"]["name"].as_str() {
        Some("slow") => {
            Reply::stream(": wait\n\n").wait(&gate).text(&format!("data: {}\n\n", result(asked, &json!({}))))
        }
        Some("endless") => Reply::stream(": wait\n\n").wait(&Gate::default()),
        Some("quick") => {
            gate.open();
            Reply::json(200, &result(asked, &json!({})))
        }
        _ => {
            if asked.body["method"] == "notifications/cancelled" {
                seen.open();
            }
            Reply::status(202)
        }
    });
    let lore = lore();
    let mut host = bridge(&lore, &server.url(), &[]);
    for id in 1..=20 {
        host.send(&request(id, "tools/call", &json!({"name": "slow"})));
    }
    host.send(&request(30, "tools/call", &json!({"name": "endless"})));
    host.send(&request(99, "tools/call", &json!({"name": "quick"})));
    let mut ids: Vec<i64> = (0..21).map(|_| host.next()["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=20).chain([99]).collect::<Vec<_>>());
    assert!(opened.passed(Duration::ZERO));
    host.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 30}}));
    assert!(cancelled.passed(LONG), "the server is told");
    host.says_nothing();
    // It does not keep the bridge from ending, which would otherwise wait for ten seconds.
    let begun = std::time::Instant::now();
    let (rest, _) = host.end();
    assert!(rest.is_empty() && begun.elapsed() < Duration::from_secs(8), "{rest:?}");
}

#[test]
fn newer_requests_stand_for_themselves() {
    let server = StandIn::start(|asked| Reply::json(200, &result(asked, &json!({}))));
    let lore = lore();
    let mut host = bridge(&lore, &server.url(), &[]);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    host.ask(&request(1, "tools/call", &json!({"name": "search_code", "_meta": meta})));
    host.end();
    let asked = server.asked();
    assert_eq!(asked.len(), 1, "no session is kept");
    for (name, value) in [
        ("mcp-protocol-version", Some("2026-07-28")),
        ("mcp-method", Some("tools/call")),
        ("mcp-name", Some("search_code")),
        ("mcp-session-id", None),
    ] {
        assert_eq!(asked[0].header(name), value, "{name}");
    }
}

#[test]
fn what_a_server_says_by_itself_reaches_the_host() {
    let server = StandIn::start(|asked| match (asked.method.as_str(), asked.header("last-event-id")) {
        ("GET", None) => {
            Reply::stream("id: 7\nretry: 10\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/one\"}\n\n")
        }
        ("GET", Some("7")) => Reply::stream("id: 8\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/two\"}\n\n")
            .wait(&Gate::default()),
        _ => usual(asked, "s-1").unwrap_or_else(|| Reply::json(200, &result(asked, &json!({})))),
    });
    let lore = lore();
    let mut host = bridge(&lore, &server.url(), &[]);
    host.ask(&initialize());
    host.send(&initialized());
    assert_eq!(host.next()["method"], "notifications/one");
    assert_eq!(host.next()["method"], "notifications/two");
    host.end();
    let listened = server.asked().into_iter().find(|asked| asked.method == "GET").unwrap();
    assert_eq!(listened.header("mcp-session-id"), Some("s-1"));
    assert_eq!(listened.header("accept"), Some("text/event-stream"));
}

#[test]
fn what_is_listened_to_is_listened_to_again() {
    let server = StandIn::start(|asked| match asked.body["method"].as_str() {
        Some("subscriptions/listen") => {
            Reply::stream("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/one\"}\n\n").breaks()
        }
        _ => Reply::status(202),
    });
    let lore = lore();
    let mut host = bridge(&lore, &server.url(), &[]);
    host.send(&request(1, "subscriptions/listen", &json!({})));
    let begun = std::time::Instant::now();
    for _ in 0..8 {
        assert_eq!(host.next()["method"], "notifications/one");
    }
    // Each stream was a good one: the pauses stay short, however often they break. Pauses that double take half a minute.
    assert!(begun.elapsed() < LONG, "{:?}", begun.elapsed());
    host.end();
}

#[test]
fn a_listener_in_a_pause_does_not_keep_the_bridge() {
    let server = StandIn::start(|_| Reply::status(503));
    let lore = lore();
    let mut host = bridge(&lore, &server.url(), &[]);
    host.send(&request(1, "subscriptions/listen", &json!({})));
    host.says_nothing();
    let begun = std::time::Instant::now();
    let (rest, _) = host.end();
    assert!(rest.is_empty() && begun.elapsed() < Duration::from_secs(8), "{rest:?}");
}

#[test]
fn what_has_no_answer_at_the_end_gets_one() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let lore = lore();
    let mut host = bridge(&lore, &format!("http://127.0.0.1:{closed}"), &["--timeout", "1"]);
    // It is tried again for longer than the host's end allows.
    for id in 1..=3 {
        host.send(&request(id, "tools/list", &json!({})));
    }
    let (rest, _) = host.end();
    let answers: Vec<Value> = rest.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut ids: Vec<i64> = answers.iter().filter_map(|answer| answer["id"].as_i64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3], "{rest:?}");
    for answer in &answers {
        assert_eq!(answer["error"]["code"], -32000, "{answer}");
        assert!(answer["error"]["data"]["detail"].is_string(), "{answer}");
    }
}

#[test]
fn another_handshake_leaves_the_former_session() {
    let begun = AtomicUsize::new(0);
    let server = StandIn::start(move |asked| match (asked.method.as_str(), asked.header("mcp-session-id")) {
        ("GET", Some(session)) => {
            let said = json!({"jsonrpc": "2.0", "method": format!("notifications/{session}")});
            Reply::stream(&format!("data: {said}\n\n")).wait(&Gate::default())
        }
        _ if asked.body["method"] == "initialize" => {
            usual(asked, &format!("s-{}", begun.fetch_add(1, Ordering::SeqCst) + 1)).unwrap()
        }
        _ => usual(asked, "").unwrap_or_else(|| Reply::json(200, &result(asked, &json!({})))),
    });
    let lore = lore();
    let mut host = bridge(&lore, &server.url(), &[]);
    for session in ["s-1", "s-2"] {
        host.ask(&initialize());
        host.send(&initialized());
        assert_eq!(host.next()["method"], format!("notifications/{session}"));
    }
    let ended = |session: &str| {
        let deleted = server.asked_for("DELETE", "/mcp");
        deleted.iter().filter(|asked| asked.header("mcp-session-id") == Some(session)).count()
    };
    assert_eq!((ended("s-1"), ended("s-2")), (1, 0));
    host.end();
    assert_eq!((ended("s-1"), ended("s-2")), (1, 1));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_cleanly() {
    let server = StandIn::start(|asked| match asked.body["method"].as_str() {
        Some("tools/call") => Reply::stream(": wait\n\n").wait(&Gate::default()),
        _ => usual(asked, "s-1").unwrap_or_else(|| Reply::status(202)),
    });
    let lore = lore();
    let mut host = bridge(&lore, &server.url(), &[]);
    host.ask(&initialize());
    host.send(&initialized());
    host.send(&request(1, "tools/call", &json!({})));
    host.says_nothing();
    let id = nix::unistd::Pid::from_raw(host.child.id().cast_signed());
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert!(host.child.wait().unwrap().success());
    assert_eq!(host.lines.iter().count(), 0);
    assert_eq!(server.asked_for("DELETE", "/mcp").len(), 1);
}
