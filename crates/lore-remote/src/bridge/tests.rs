//! What of a bridge only shows from within: who may use which connection.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Condvar, atomic::AtomicUsize},
};

use serde_json::json;

use super::*;
use crate::{ConnectionOptions, PlainHttp, Secret, ServerUrl};

/// A server that keeps its connections open. It answers each request with the next of these texts, and with the last of them
/// from then on. It counts connections.
fn server(answers: &'static [&'static str]) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let connections = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&connections);
    let asked = Arc::<AtomicUsize>::default();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            counted.fetch_add(1, Ordering::SeqCst);
            let asked = Arc::clone(&asked);
            thread::spawn(move || {
                serve(&stream, || answers[asked.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1)]);
            });
        }
    });
    (url, connections)
}

fn serve(mut stream: &TcpStream, answer: impl Fn() -> &'static str) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            match reader.read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line.trim().is_empty() => break,
                Ok(_) => {}
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
        }
        if reader.read_exact(&mut vec![0; length]).is_err() || stream.write_all(answer().as_bytes()).is_err() {
            return;
        }
    }
}

/// What a bridge has written.
#[derive(Clone, Default)]
struct Written(Arc<(Mutex<Vec<u8>>, Condvar)>);

impl Written {
    fn text(&self) -> String {
        String::from_utf8(self.0.0.lock().unwrap().clone()).unwrap()
    }

    /// Waits for so many lines.
    #[track_caller]
    fn has_lines(&self, count: usize) {
        let has = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').count() > count;
        let held = self.0.0.lock().unwrap();
        let (held, _) = self.0.1.wait_timeout_while(held, Duration::from_secs(20), |bytes| !has(bytes)).unwrap();
        assert!(has(&held), "{}", String::from_utf8_lossy(&held));
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.0.lock().unwrap().extend_from_slice(bytes);
        self.0.1.notify_all();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn bridge(url: &str) -> (Arc<Inner>, Written) {
    let url = ServerUrl::parse(url, PlainHttp::default()).unwrap();
    let connection = Connection::new(&ConnectionOptions { url, ca_file: None }).unwrap();
    let options = BridgeOptions { toolset: None, timeout: Duration::from_secs(10) };
    let written = Written::default();
    let authority = Authority::Token(Secret::new("x"));
    let bridge = Bridge::new(connection, authority, &options, Box::new(written.clone())).unwrap();
    let mut inner = bridge.inner;
    let impatient = Arc::get_mut(&mut inner).unwrap();
    (impatient.quiet, impatient.refused) = (Duration::from_millis(50), Duration::from_millis(50));
    (inner, written)
}

fn request(id: i64) -> Request {
    request_of("tools/call", id)
}

fn request_of(method: &str, id: i64) -> Request {
    let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}}).to_string();
    match read(text.as_bytes()) {
        Line::Request(request) => request,
        other => panic!("{other:?}"),
    }
}

const ANSWER: &str = concat!(
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 48\r\n\r\n",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{\"ok\":true}}",
);

#[test]
fn what_is_taken_back_while_its_answer_arrives_harms_no_other_request() {
    let (url, _) = server(&[ANSWER]);
    let (inner, written) = bridge(&url);
    // The answer is there, but the host has taken the request back before it could be written.
    let first = inner.fly(Some(&request(1)));
    let asked = inner.ask(&request(1), &first);
    assert!(asked.is_ok(), "{asked:?}");
    let taken = inner.forsake(|flying| flying.id == Some(json!(1)));
    assert!(!inner.landed(&first, true), "nobody waits for it");
    // Another request begins before the server has been told, and the connection of the first is closed then.
    let second = inner.fly(Some(&request(2)));
    for flight in taken {
        flight.shut();
    }
    inner.answer_on(&request(2), &second);
    assert_eq!(written.text(), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"ok\":true}}\n");
}

#[test]
fn what_has_landed_cannot_be_taken_back() {
    let (url, connections) = server(&[ANSWER]);
    let (inner, written) = bridge(&url);
    inner.answer(&request(1));
    assert!(inner.forsake(|flying| flying.id == Some(json!(1))).is_empty());
    inner.answer(&request(2));
    assert_eq!(written.text().lines().count(), 2);
    assert_eq!(connections.load(Ordering::SeqCst), 1, "the connection is used again");
}

#[test]
fn a_stream_is_read_to_its_end_so_that_its_connection_serves_again() {
    let (url, connections) = server(&[concat!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        "38\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{\"ok\":true}}\n\n\r\n0\r\n\r\n",
    )]);
    let (inner, written) = bridge(&url);
    for id in 1..=3 {
        let flight = inner.fly(Some(&request(id)));
        inner.answer_on(&request(id), &flight);
        inner.wire.drain(&flight);
    }
    assert_eq!(written.text().lines().count(), 3);
    assert_eq!(connections.load(Ordering::SeqCst), 1, "{}", written.text());
}

#[test]
fn a_server_is_neither_hurried_nor_waited_for_at_its_word() {
    for (wanted, pause) in [(0, 250), (250, 250), (4000, 4000), (u64::MAX, 30_000)] {
        assert_eq!(exchange::pause_wanted(wanted), Duration::from_millis(pause));
    }
}

/// One event of a stream that then says nothing, and never ends.
const SILENT: &str = concat!(
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    "34\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n\r\n",
);
const UNAUTHORIZED: &str = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";

#[test]
fn a_stream_that_fell_silent_or_was_refused_is_opened_again() {
    let (url, _) = server(&[UNAUTHORIZED, SILENT, UNAUTHORIZED, SILENT]);
    let (inner, written) = bridge(&url);
    inner.sessions.begin(&request(0), Some("s".to_owned()), &json!({}));
    inner.sessions.set_ready();
    let listener = Arc::clone(&inner);
    let listening = thread::spawn(move || listener.listen_beside());
    written.has_lines(3);
    inner.sessions.end();
    inner.cut_all(|_| true);
    listening.join().unwrap();
}

#[test]
fn what_is_listened_to_is_asked_for_again_after_a_silence() {
    let (url, _) = server(&[SILENT]);
    let (inner, written) = bridge(&url);
    let text = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen"}).to_string();
    let Line::Request(listen) = read(text.as_bytes()) else { panic!("it is a request") };
    let asker = Arc::clone(&inner);
    let asking = thread::spawn(move || asker.answer(&listen));
    written.has_lines(3);
    inner.sessions.end();
    inner.cut_all(|_| true);
    asking.join().unwrap();
    assert_eq!(written.text().matches("notifications/x").count(), written.text().lines().count());
}

const LOST: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
const NOT_NOW: &str = concat!(
    "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Type: application/json\r\nContent-Length: 71\r\n\r\n",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"not now\"}}",
);
const BEGUN: &str = concat!(
    "HTTP/1.1 200 OK\r\nMcp-Session-Id: s-2\r\nContent-Type: application/json\r\nContent-Length: 69\r\n\r\n",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{\"protocolVersion\":\"2025-06-18\"}}",
);
const ACCEPTED: &str = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
const BAD_GATEWAY: &str = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";

/// Asks in a session that the server has forgotten.
#[track_caller]
fn asked_in_a_lost_session(answers: &'static [&'static str]) -> Arc<Inner> {
    let (url, _) = server(answers);
    let (inner, written) = bridge(&url);
    inner.sessions.begin(&request_of("initialize", 0), Some("s-1".to_owned()), &json!({}));
    inner.sessions.set_ready();
    inner.answer(&request(1));
    assert_eq!(written.text(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"ok\":true}}\n");
    inner
}

#[test]
fn a_session_that_cannot_be_begun_just_now_is_begun_later() {
    asked_in_a_lost_session(&[LOST, NOT_NOW, LOST, BEGUN, ACCEPTED, ANSWER]);
    // Nothing was done, though nobody knows what a gateway has done with a beginning.
    asked_in_a_lost_session(&[LOST, BAD_GATEWAY, LOST, BEGUN, ACCEPTED, ANSWER]);
}

#[test]
fn a_session_is_ready_even_where_the_server_was_not_told() {
    let inner = asked_in_a_lost_session(&[LOST, BEGUN, BAD_GATEWAY, ANSWER]);
    let (tell, told) = std::sync::mpsc::channel();
    let waiting = Arc::clone(&inner);
    thread::spawn(move || tell.send(waiting.sessions.next_ready(1).map(|session| session.number)));
    assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(Some(2)));
}
