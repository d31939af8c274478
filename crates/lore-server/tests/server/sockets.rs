//! Real sockets: TLS, clients that do not finish, and the end.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use http_body_util::BodyExt as _;
use hyper_util::rt::{TokioExecutor, TokioIo};
use lore_server::{Bound, Limits, ServerOptions, TlsFiles};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
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
    let limits = Limits { body: 1000, ..Limits::default() };
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
async fn a_stopped_server_ends_idle_connections_and_streams() {
    let limits = Limits { head: LONG, stopping: LONG, ..Limits::default() };
    let server = start(ServerOptions { limits, ..ServerOptions::default() }).await;
    let token = server.fixture.token_of("normal").await;
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
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots.clone())
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let stream = TcpStream::connect(address).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap()
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
    let second = tls(server.address, &roots, b"h2").await;
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(second)).await.unwrap();
    tokio::spawn(connection);
    for (host, expected) in [("localhost", 200), ("evil.example", 403)] {
        let request = http::Request::get(format!("https://{host}/healthz"));
        let response = sender.send_request(request.body(String::new()).unwrap()).await.unwrap();
        assert_eq!(response.status(), expected);
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
