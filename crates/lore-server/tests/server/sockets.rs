//! Real sockets: TLS, clients that do not finish, and the end.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use http_body_util::BodyExt as _;
use hyper_util::rt::{TokioExecutor, TokioIo};
use lore_server::{Bound, Limits, ServerOptions, TlsFiles};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinHandle,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::support::{Fixture, server};

/// Longer than anything here takes, shorter than anybody waits.
const LONG: Duration = Duration::from_secs(20);

struct Running {
    fixture: Fixture,
    address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

async fn start(options: ServerOptions) -> Running {
    let fixture = server(ServerOptions { listen: "127.0.0.1:0".parse().unwrap(), ..options }).await;
    let bound = Bound::open(Arc::clone(&fixture.app)).await.unwrap();
    let (address, stop) = (bound.address(), CancellationToken::new());
    let stopped = stop.clone();
    let task = tokio::spawn(bound.serve(async move { stopped.cancelled().await }));
    Running { fixture, address, stop, task }
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn stopped(self) -> Duration {
        let begun = Instant::now();
        self.stop.cancel();
        timeout(LONG, self.task).await.expect("the server hangs").unwrap();
        begun.elapsed()
    }
}

fn short() -> Limits {
    Limits {
        head: Duration::from_millis(300),
        keep_alive: Duration::from_millis(300),
        sending: Duration::from_millis(300),
        stopping: Duration::from_millis(800),
        ..Limits::default()
    }
}

/// All that comes until the other end closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // An end that is no clean one is an end.
    drop(timeout(LONG, stream.read_to_end(&mut bytes)).await.expect("the connection stays open"));
    String::from_utf8(bytes).unwrap()
}

const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn a_request_over_a_socket_is_answered() {
    let server = start(ServerOptions::default()).await;
    let mut stream = server.connect().await;
    stream.write_all(HEALTH).await.unwrap();
    let text = rest(&mut stream).await;
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nok"), "{text}");
    server.stopped().await;
}

#[tokio::test]
async fn clients_that_do_not_finish_are_let_go() {
    let server = start(ServerOptions { limits: short(), ..ServerOptions::default() }).await;
    let head = b"POST /auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let body = [&head[..], b"Content-Length: 100\r\n\r\n{\"user"].concat();
    for (what, sent) in
        [("nothing", &b""[..]), ("half a head", &b"GET /healthz HTTP/1.1\r\nHost:"[..]), ("half a body", &body)]
    {
        let mut stream = server.connect().await;
        stream.write_all(sent).await.unwrap();
        let text = rest(&mut stream).await;
        assert!(!text.contains("200 OK"), "{what}: {text}");
        assert_eq!(text.starts_with("HTTP/1.1 408"), what == "half a body", "{what}: {text}");
    }
    server.stopped().await;
}

#[tokio::test]
async fn heads_are_bounded() {
    let server = start(ServerOptions::default()).await;
    let mut stream = server.connect().await;
    let large = format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: {}\r\n\r\n", "a".repeat(200_000));
    drop(stream.write_all(large.as_bytes()).await);
    let text = rest(&mut stream).await;
    assert!(!text.contains("200 OK"), "{text}");
    server.stopped().await;
}

#[tokio::test]
async fn a_body_that_does_not_say_how_long_it_is_is_bounded_too() {
    let limits = Limits { auth_body: 1000, ..Limits::default() };
    let server = start(ServerOptions { limits, ..ServerOptions::default() }).await;
    let mut stream = server.connect().await;
    let head = "POST /auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let chunks = format!("3e8\r\n{}\r\n", " ".repeat(1000)).repeat(2);
    let request = format!("{head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n");
    drop(stream.write_all(request.as_bytes()).await);
    let text = rest(&mut stream).await;
    assert!(text.starts_with("HTTP/1.1 413"), "{text}");
    server.stopped().await;
}

/// Begins a request that announces more than it sends.
async fn stalled(server: &Running, head: &str, bytes: usize) -> TcpStream {
    let mut stream = server.connect().await;
    let rest = format!("Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", bytes + 1);
    stream.write_all(format!("{head}{rest}").as_bytes()).await.unwrap();
    // What the server does not read stays here.
    drop(timeout(Duration::from_millis(200), stream.write_all(" ".repeat(bytes).as_bytes())).await);
    stream
}

#[tokio::test]
async fn nobody_keeps_the_server_from_reading_what_others_send() {
    let (mcp_body, auth_body) = (64 << 10, 16 << 10);
    let limits = Limits { body: mcp_body, mcp_body, auth_body, sending: LONG, ..Limits::default() };
    let limits = Limits { reading: 4 * mcp_body, auth_reading: 8 * auth_body, ..limits };
    let trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    let server = start(ServerOptions { limits, trusted_proxies, ..ServerOptions::default() }).await;
    let (greedy, other) = (server.fixture.token_of("normal"), server.fixture.token_of("power"));
    let mut waiting = Vec::new();
    for _ in 0..6 {
        let head = format!("POST /mcp HTTP/1.1\r\nAuthorization: Bearer {greedy}\r\n");
        waiting.push(stalled(&server, &head, mcp_body - 1).await);
    }
    for _ in 0..10 {
        let head = "POST /auth/login HTTP/1.1\r\nX-Forwarded-For: 9.9.9.9\r\n";
        waiting.push(stalled(&server, head, auth_body - 1).await);
    }
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let login = json!({"username": "admin", "password": crate::support::PASSWORD}).to_string();
    for (head, body) in [
        (format!("POST /mcp HTTP/1.1\r\nAuthorization: Bearer {other}\r\nAccept: application/json\r\n"), list),
        ("POST /auth/login HTTP/1.1\r\nX-Forwarded-For: 8.8.8.8\r\n".to_owned(), login),
    ] {
        let rest = "Host: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n";
        let request = format!("{head}{rest}Content-Length: {}\r\n\r\n{body}", body.len());
        let mut stream = server.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let text = self::rest(&mut stream).await;
        assert!(text.starts_with("HTTP/1.1 200"), "{head}: {text}");
    }
    drop(waiting);
    server.stopped().await;
}

#[tokio::test]
async fn only_so_many_connections_are_served_at_a_time() {
    let limits = Limits { connections: 2, ..short() };
    let server = start(ServerOptions { limits, ..ServerOptions::default() }).await;
    let _idle = [server.connect().await, server.connect().await];
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut third = server.connect().await;
    third.write_all(HEALTH).await.unwrap();
    let mut byte = [0];
    assert!(timeout(Duration::from_millis(100), third.read(&mut byte)).await.is_err(), "there is no place yet");
    let text = rest(&mut third).await;
    assert!(text.contains("200 OK"), "it has its turn when the others were let go: {text}");
    server.stopped().await;
}

#[tokio::test]
async fn a_client_that_asks_and_does_not_read_loses_its_place() {
    let limits = Limits { connections: 1, writing: Duration::from_millis(300), ..Limits::default() };
    let server = start(ServerOptions { limits, ..ServerOptions::default() }).await;
    let token = server.fixture.token_of("normal");
    let greedy = tokio::net::TcpSocket::new_v4().unwrap();
    greedy.set_recv_buffer_size(4096).unwrap();
    let mut greedy = greedy.connect(server.address).await.unwrap();
    let request = format!("GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n");
    greedy.write_all(request.repeat(300).as_bytes()).await.unwrap();
    let mut next = server.connect().await;
    next.write_all(HEALTH).await.unwrap();
    let text = rest(&mut next).await;
    assert!(text.contains("200 OK"), "{text}");
    drop(greedy);
    server.stopped().await;
}

#[tokio::test]
async fn a_client_that_keeps_its_windows_shut_loses_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let (files, roots) = certificate(folder.path());
    let limits = Limits { idle: Duration::from_millis(200), lingering: Duration::from_millis(300), ..short() };
    let server = start(ServerOptions { tls: Some(files), limits, ..ServerOptions::default() }).await;
    let stream = tls(server.address, &roots, b"h2").await;
    let mut client = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    client.initial_stream_window_size(0);
    let (mut sender, connection) = client.handshake(TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = http::Request::get("https://localhost/healthz").body(String::new()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), 200);
    // It answers pings, asks for nothing, and takes not one byte.
    let ended = timeout(LONG, connection).await.expect("the connection stays open");
    drop((ended, response, sender));
    server.stopped().await;
}

#[tokio::test]
async fn one_address_has_only_so_many_connections() {
    let limits = Limits { per_address: 2, ..Limits::default() };
    let server = start(ServerOptions { limits, ..ServerOptions::default() }).await;
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut stream = server.connect().await;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        assert!(stream.read(&mut [0; 64]).await.unwrap() > 0);
        kept.push(stream);
    }
    let mut third = server.connect().await;
    drop(third.write_all(HEALTH).await);
    assert_eq!(rest(&mut third).await, "", "it is let go at once");
    drop(kept);
    // The others are gone when the server has seen it.
    for _ in 0..1000 {
        let mut next = server.connect().await;
        drop(next.write_all(HEALTH).await);
        if rest(&mut next).await.contains("200 OK") {
            server.stopped().await;
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("places do not become free");
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request_longer_than_a_head_may_take() {
    let limits = Limits { keep_alive: Duration::from_secs(2), ..short() };
    let server = start(ServerOptions { limits, ..ServerOptions::default() }).await;
    let mut stream = server.connect().await;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    assert!(stream.read(&mut [0; 512]).await.unwrap() > 0);
    tokio::time::sleep(Duration::from_millis(600)).await;
    stream.write_all(HEALTH).await.unwrap();
    let text = rest(&mut stream).await;
    assert!(text.contains("200 OK"), "{text}");
    // Without another request it is let go.
    let mut idle = server.connect().await;
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let begun = Instant::now();
    rest(&mut idle).await;
    assert!(begun.elapsed() > Duration::from_secs(1));
    server.stopped().await;
}

/// What this process has in memory, in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse::<u64>().unwrap() * 1024
}

/// Sends requests one after the other over one connection, some ahead, and gives how often each status came.
async fn flood(
    stream: &mut TcpStream,
    requests: &[String],
    rounds: usize,
) -> std::collections::BTreeMap<String, usize> {
    let mut statuses = std::collections::BTreeMap::new();
    let mut read = Vec::new();
    for _ in 0..rounds {
        stream.write_all(requests.concat().as_bytes()).await.unwrap();
        let mut answered = 0;
        while answered < requests.len() {
            let length = timeout(LONG, stream.read_buf(&mut read)).await.expect("it answers").unwrap();
            assert!(length > 0, "the connection was closed: {}", String::from_utf8_lossy(&read));
            // An answer is whole when all of its body is there.
            while let Some(head) = read.windows(4).position(|window| window == b"\r\n\r\n") {
                let text = String::from_utf8(read[..head].to_vec()).unwrap().to_ascii_lowercase();
                let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
                let length: usize = length.map_or(0, |length| length.parse().unwrap());
                if read.len() < head + 4 + length {
                    break;
                }
                let status = text.split(' ').nth(1).unwrap().to_owned();
                *statuses.entry(status).or_default() += 1;
                read.drain(..head + 4 + length);
                answered += 1;
            }
        }
    }
    statuses
}

#[tokio::test]
async fn a_flood_of_requests_and_of_nonsense_leaves_memory_as_it_was() {
    let server = start(ServerOptions::default()).await;
    let token = server.fixture.token_of("normal");
    let post = |path: &str, body: &str| {
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n");
        let media = "Accept: application/json\r\nContent-Type: application/json\r\n";
        format!("{head}{media}Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let ping = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let requests = [
        post("/mcp", &ping("1")),
        post("/mcp", &ping(r#""a long id that is new each time""#)),
        post("/mcp", r#"{"jsonrpc":"2.0","id":1,"method":"no/such/method"}"#),
        post("/mcp", "{"),
        post("/mcp", r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#),
        post("/mcp", &"[".repeat(2000)),
        post("/mcp", r#"{"jsonrpc":"2.0","id":1e999,"method":"ping"}"#),
        post("/mcp/nothing", &ping("1")),
        post("/auth/login", "nonsense"),
        "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
    ];
    let mut stream = server.connect().await;
    flood(&mut stream, &requests, 100).await;
    let mut grown = u64::MAX;
    // Other tests may take memory in the same process meanwhile. What these requests leave they leave each time.
    for _ in 0..5 {
        let before = memory();
        let statuses = flood(&mut stream, &requests, 500).await;
        grown = grown.min(memory().saturating_sub(before));
        assert_eq!(
            statuses.iter().map(|(status, count)| (status.as_str(), *count)).collect::<Vec<_>>(),
            [("200", 1500), ("400", 2500), ("401", 500), ("404", 500)]
        );
        if grown < 16 * 1024 * 1024 {
            break;
        }
    }
    assert!(grown < 16 * 1024 * 1024, "{grown} bytes more after 5,000 requests");
    server.stopped().await;
}

#[tokio::test]
async fn a_stopped_server_ends_idle_connections_and_streams() {
    let limits = Limits { head: LONG, stopping: LONG, ..Limits::default() };
    let server = start(ServerOptions { limits, ..ServerOptions::default() }).await;
    let token = server.fixture.token_of("normal");
    let _silent = server.connect().await;
    let mut kept = server.connect().await;
    kept.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut answer = [0; 64];
    assert!(kept.read(&mut answer).await.unwrap() > 0);
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;
    let head =
        format!("Host: localhost\r\nAuthorization: Bearer {token}\r\nAccept: application/json, text/event-stream\r\n");
    let mut opening = server.connect().await;
    let request = format!(
        "POST /mcp HTTP/1.1\r\n{head}Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{hello}",
        hello.len()
    );
    opening.write_all(request.as_bytes()).await.unwrap();
    let opened = rest(&mut opening).await;
    let session = opened.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
    let mut listening = server.connect().await;
    let request = format!("GET /mcp HTTP/1.1\r\n{head}Mcp-Session-Id: {session}\r\n\r\n");
    listening.write_all(request.as_bytes()).await.unwrap();
    let read = timeout(LONG, listening.read(&mut answer)).await.unwrap().unwrap();
    assert!(answer[..read].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer[..read]));
    let address = server.address;
    let took = server.stopped().await;
    assert!(took < Duration::from_secs(5), "{took:?}");
    rest(&mut listening).await;
    assert!(TcpStream::connect(address).await.is_err(), "nobody is let in any more");
}

#[tokio::test]
async fn a_call_under_way_is_answered_after_the_server_was_told_to_stop() {
    let server =
        start(ServerOptions { limits: Limits { stopping: LONG, ..short() }, ..ServerOptions::default() }).await;
    let token = server.fixture.token_of("admin");
    let new = json!({"url": "https://git.example/api.git", "alias": "api"});
    let begun = crate::support::ask("POST /api/golden").token(&token).json(&new).of(&server.fixture).await.json();
    // Nobody does the job, so this takes as long as it may.
    let arguments = json!({"job_id": begun["job_id"], "wait_seconds": 2});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "get_job_details", "arguments": arguments}})
    .to_string();
    let mut waiting = Vec::new();
    for accept in ["application/json", "text/event-stream"] {
        let mut stream = server.connect().await;
        let head =
            format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nAccept: {accept}\r\n");
        let rest = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{call}", call.len());
        stream.write_all(format!("{head}{rest}").as_bytes()).await.unwrap();
        waiting.push(stream);
    }
    // Long enough for both to begin.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let took = server.stopped().await;
    for mut stream in waiting {
        let text = rest(&mut stream).await;
        assert!(text.starts_with("HTTP/1.1 200") && text.contains("pending"), "{text}");
    }
    assert!(took > Duration::from_secs(1) && took < Duration::from_secs(10), "{took:?}");
}

#[tokio::test]
async fn the_address_that_is_told_is_one_that_works() {
    let all = || ServerOptions { listen: "0.0.0.0:0".parse().unwrap(), ..ServerOptions::default() };
    let hosts = vec!["lore.example".to_owned()];
    let public = Some("https://lore.example/".to_owned());
    for (options, expected) in [
        (all(), "http://localhost:PORT"),
        (ServerOptions { hosts, ..all() }, "http://lore.example:PORT"),
        (ServerOptions { public_url: public, ..all() }, "https://lore.example"),
        (ServerOptions { listen: "127.0.0.1:0".parse().unwrap(), ..all() }, "http://127.0.0.1:PORT"),
    ] {
        let bound = Bound::open(server(options).await.app).await.unwrap();
        assert_eq!(bound.url(), expected.replace("PORT", &bound.address().port().to_string()));
    }
}

#[tokio::test]
async fn a_server_that_does_not_encrypt_says_so_behind_a_proxy_too() {
    let proxied = ServerOptions {
        listen: "10.0.0.5:8000".parse().unwrap(),
        trusted_proxies: vec!["10.0.0.2".parse().unwrap()],
        ..ServerOptions::default()
    };
    assert!(proxied.is_open() && !ServerOptions::default().is_open());
    let folder = tempfile::tempdir().unwrap();
    assert!(!ServerOptions { tls: Some(certificate(folder.path()).0), ..proxied }.is_open());
}

#[tokio::test]
async fn a_stopped_server_waits_for_nobody_for_ever() {
    let limits = Limits { sending: LONG, ..short() };
    let server = start(ServerOptions { limits, ..ServerOptions::default() }).await;
    let mut stream = server.connect().await;
    let head = b"POST /auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    stream.write_all(head).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let took = server.stopped().await;
    assert!(took >= Duration::from_millis(700) && took < Duration::from_secs(5), "{took:?}");
}

/// A certificate for `localhost` in files of this folder.
fn certificate(folder: &std::path::Path) -> (TlsFiles, rustls::RootCertStore) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = TlsFiles { certificate: folder.join("cert.pem"), key: folder.join("key.pem") };
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&files.certificate).unwrap()).unwrap();
    (files, roots)
}

async fn tls(
    address: SocketAddr,
    roots: &rustls::RootCertStore,
    protocol: &[u8],
) -> tokio_rustls::client::TlsStream<TcpStream> {
    try_tls(address, roots, protocol).await.unwrap()
}

async fn try_tls(
    address: SocketAddr,
    roots: &rustls::RootCertStore,
    protocol: &[u8],
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots.clone())
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let stream = TcpStream::connect(address).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    connector.connect(ServerName::try_from("localhost").unwrap(), stream).await
}

#[tokio::test]
async fn tls_carries_both_versions_of_http() {
    let folder = tempfile::tempdir().unwrap();
    let (files, roots) = certificate(folder.path());
    let server = start(ServerOptions { tls: Some(files), limits: short(), ..ServerOptions::default() }).await;
    let mut first = tls(server.address, &roots, b"http/1.1").await;
    first.write_all(HEALTH).await.unwrap();
    let mut text = String::new();
    drop(first.read_to_string(&mut text).await);
    assert!(text.contains("200 OK") && text.ends_with("ok"), "{text}");
    assert!(text.contains("\r\nstrict-transport-security: max-age=31536000\r\n"), "{text}");
    let second = tls(server.address, &roots, b"h2").await;
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(second)).await.unwrap();
    tokio::spawn(connection);
    for (host, expected) in [("localhost", 401), ("evil.example", 403)] {
        let request = http::Request::get(format!("https://{host}/auth/me"));
        let response = sender.send_request(request.body(String::new()).unwrap()).await.unwrap();
        assert_eq!(response.status(), expected);
        assert!(response.headers().contains_key("strict-transport-security"), "a refusal has it as well");
        drop(response.into_body().collect().await.unwrap());
    }
    // Whoever speaks no TLS, or nothing at all, is let go.
    for sent in [HEALTH, b""] {
        let mut stream = server.connect().await;
        stream.write_all(sent).await.unwrap();
        let mut bytes = Vec::new();
        drop(timeout(LONG, stream.read_to_end(&mut bytes)).await.expect("the connection stays open"));
        assert!(!bytes.starts_with(b"HTTP"));
    }
    // So is whoever shakes hands and says no more.
    let mut silent = tls(server.address, &roots, b"h2").await;
    let mut bytes = Vec::new();
    drop(timeout(LONG, silent.read_to_end(&mut bytes)).await.expect("the connection stays open"));
    let took = server.stopped().await;
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn a_certificate_that_was_replaced_counts_for_new_connections() {
    let folder = tempfile::tempdir().unwrap();
    let (files, first) = certificate(folder.path());
    let limits = Limits { certificate: Duration::from_millis(20), ..short() };
    let server = start(ServerOptions { tls: Some(files.clone()), limits, ..ServerOptions::default() }).await;
    let healthy = async |roots: &rustls::RootCertStore| {
        let mut stream = try_tls(server.address, roots, b"http/1.1").await.ok()?;
        stream.write_all(HEALTH).await.ok()?;
        let mut text = String::new();
        drop(stream.read_to_string(&mut text).await);
        Some(text.contains("200 OK"))
    };
    assert_eq!(healthy(&first).await, Some(true));
    let mut next = (certificate(folder.path()).1, false);
    let until = Instant::now() + LONG;
    while !next.1 && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(20)).await;
        next.1 = healthy(&next.0).await == Some(true);
    }
    assert!(next.1, "the new certificate is never used");
    assert_eq!(healthy(&first).await, None, "the old one is not used any more");
    std::fs::write(&files.key, "nonsense").unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(healthy(&next.0).await, Some(true), "what cannot be read leaves everything as it was");
    server.stopped().await;
}

#[tokio::test]
async fn what_keeps_a_server_from_starting_is_told() {
    let fixture = server(ServerOptions { listen: "127.0.0.1:0".parse().unwrap(), ..ServerOptions::default() }).await;
    let first = Bound::open(Arc::clone(&fixture.app)).await.unwrap();
    let taken = server(ServerOptions { listen: first.address(), ..ServerOptions::default() }).await;
    let failure = Bound::open(taken.app).await.err().unwrap();
    assert_eq!(failure.code, lore_model::Code::Busy);
    let folder = tempfile::tempdir().unwrap();
    let (files, _) = certificate(folder.path());
    std::fs::write(&files.key, "nonsense").unwrap();
    let unfit = ServerOptions { listen: "127.0.0.1:0".parse().unwrap(), tls: Some(files), ..ServerOptions::default() };
    let failure = Bound::open(server(unfit).await.app).await.err().unwrap();
    assert!(failure.message.contains("key.pem"), "{failure}");
}
