//! The bridge before a real server that has no room for the moment: what was refused before it began is asked again.

use std::{
    fs::File,
    io::Write as _,
    net::TcpStream,
    path::Path,
    time::{Duration, Instant},
};

use lore_testkit::{Session, TeamServer};
use serde_json::{Value, json};

use crate::switches;

/// How long a test waits for something that must come.
const LONG: Duration = Duration::from_mins(1);

fn server() -> TeamServer {
    let mut server = TeamServer::start(Path::new(env!("CARGO_BIN_EXE_lore")));
    server.add_user("root", "admin");
    server
}

/// A bridge of that user, and its handshake done.
#[track_caller]
fn bridge(server: &TeamServer, user: &str) -> Session {
    let mut command = server.lore().command(&["bridge", "--url", &server.url()]);
    command.env("LORE_TOKEN", server.token(user));
    let mut session = Session::start(command).expect("it starts");
    session.initialize().expect("the bridge answers");
    session
}

/// How many MCP messages were answered with this status.
#[track_caller]
fn answered(server: &TeamServer, status: u16) -> u64 {
    let told = server.rest("root", "GET", "/metrics", &Value::Null).text;
    let line = format!(r#"lore_http_requests_total{{method="POST",route="/mcp",status="{status}"}} "#);
    told.lines().find_map(|told| told.strip_prefix(&line)).map_or(0, |count| count.parse().expect("it is a number"))
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "{what} did not come");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

/// Sends a message that may be refused, and gives the status.
fn status(server: &TeamServer, message: &Value) -> u16 {
    let bearer = format!("Bearer {}", server.token("root"));
    let headers = [("Authorization", bearer.as_str()), ("Accept", "application/json, text/event-stream")];
    server.http("POST", "/mcp", &headers, message.to_string().as_bytes()).expect("it answers").status
}

fn call(tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

#[test]
fn a_call_that_was_one_too_many_is_asked_again_and_done_once() {
    let server = server();
    let repo = server.repo("api");
    repo.write("a.txt", "heron");
    repo.commit("The heron stands");
    server.add_golden("root", &repo, "api", &json!({}));
    let mut bridge = bridge(&server, "root");
    // As long as somebody else writes the index, the job goes on, and all who wait for it.
    let writer = File::open(server.data().join("writer.lock")).expect("it is there");
    writer.lock().expect("nobody writes");
    let job = server.ask("root", "refresh_golden_repo", &json!({"alias": "api"}))["job_id"].clone();
    let waiting = json!({"job_id": job, "wait_seconds": 120});
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| server.call("root", "get_job_details", &waiting));
        }
        let ping = call("check_health", &json!({}));
        wait_until("a refusal", || status(&server, &ping) == 429);
        let before = answered(&server, 429);
        // One that changes something: what has not begun can be asked again all the same.
        let new = json!({"username": "dev", "password": "secure-password-here", "role": "normal_user"});
        let asked = scope.spawn(move || bridge.call("create_user", &new).expect("the bridge answers"));
        wait_until("a refusal of the bridge's call", || answered(&server, 429) > before);
        assert!(!asked.is_finished());
        drop(writer);
        let told = asked.join().expect("it ends").value().expect("it is JSON");
        assert_eq!(told["success"], true, "{told}");
    });
    let users = server.ask("root", "list_users", &json!({})).to_string();
    assert_eq!(users.matches("\"dev\"").count(), 1, "{users}");
}

#[test]
fn a_message_that_the_server_has_no_memory_for_is_sent_again() {
    // The server lets a message wait for five seconds, and then wants to be left alone for as long.
    if !switches::slow_tests() {
        return;
    }
    let server = server();
    let mut bridge = bridge(&server, "root");
    let bearer = format!("Bearer {}", server.token("root"));
    // Two messages that never end take what one user may have in memory.
    let most = 4 << 20;
    let stalled: Vec<TcpStream> = (0..2)
        .map(|_| {
            let address = server.url().replace("http://", "");
            let mut stream = TcpStream::connect(&address).expect("it listens");
            let head = format!(
                "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: {bearer}\r\nContent-Type: application/json\r\nContent-Length: {most}\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).expect("it reads");
            stream.write_all(&vec![b' '; most - 1]).expect("it reads");
            stream
        })
        .collect();
    let ping = call("check_health", &json!({}));
    wait_until("a refusal", || status(&server, &ping) == 503);
    let before = answered(&server, 503);
    std::thread::scope(|scope| {
        let asked = scope.spawn(move || bridge.call("list_users", &json!({})).expect("the bridge answers"));
        wait_until("a refusal of the bridge's call", || answered(&server, 503) > before);
        drop(stalled);
        let told = asked.join().expect("it ends").value().expect("it is JSON");
        assert_eq!(told["success"], true, "{told}");
    });
}
