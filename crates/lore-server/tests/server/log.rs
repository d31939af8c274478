//! What is logged, and what never is.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures::{FutureExt as _, stream};
use http::Request;
use http_body::Frame;
use http_body_util::StreamBody;
use lore_server::{Peer, ServerOptions};
use serde_json::json;

use crate::support::{PASSWORD, ask, login, server};

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Captured {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// Keeps the log of this thread for as long as what it gives is kept.
fn capture(captured: &Captured) -> tracing::subscriber::DefaultGuard {
    let writer = captured.clone();
    let subscriber = tracing_subscriber::fmt()
        // As the program has it: rmcp logs what clients send.
        .with_env_filter("trace,rmcp=off")
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_default(subscriber)
}

#[tokio::test]
async fn secrets_are_never_logged() {
    let captured = Captured::default();
    let _guard = capture(&captured);
    let server = server(ServerOptions::default()).await;
    let mut secrets = vec![PASSWORD.to_owned(), "a wrong secret".to_owned(), "query-secret".to_owned()];
    login("power", "a wrong secret").of(&server).await;
    let tokens = server.login("power").await;
    let access = tokens["access_token"].as_str().unwrap().to_owned();
    let refreshed = ask("POST /auth/refresh").json(&json!({"refresh_token": tokens["refresh_token"]}));
    let next = refreshed.of(&server).await.json();
    let again = ask("POST /auth/refresh").json(&json!({"refresh_token": tokens["refresh_token"]}));
    again.of(&server).await;
    let personal = server.token_of("admin");
    secrets.extend([access.clone(), personal.clone()]);
    secrets.extend(["access_token", "refresh_token"].map(|key| next[key].as_str().unwrap().to_owned()));
    secrets.push(tokens["refresh_token"].as_str().unwrap().to_owned());
    ask("GET /auth/me?access_token=query-secret").token(&access).of(&server).await;
    ask("GET /api/golden/query-secret").token(&personal).header("cookie", "a=query-secret").of(&server).await;
    ask("POST /api/users").token(&personal).json(&json!({"password": PASSWORD, "role": 5})).of(&server).await;
    ask("POST /api/tokens").token(&personal).json(&json!({"name": "t"})).of(&server).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "list_repositories", "arguments": {"x": "query-secret"}}});
    ask("POST /mcp").token(&personal).json(&call).of(&server).await;
    let new = json!({"username": "eve", "password": "a password of eve", "role": "normal_user"});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "create_user", "arguments": new}});
    let told = ask("POST /mcp").token(&personal).json(&call).of(&server).await;
    assert!(told.text.contains("eve") && server.team.user("eve").is_ok(), "{}", told.text);
    secrets.push("a password of eve".to_owned());
    server.clock.panic_from_now_on(true);
    login("power", PASSWORD).of(&server).await;
    server.clock.panic_from_now_on(false);
    let log = captured.text();
    for secret in &secrets {
        assert!(!log.contains(secret.as_str()), "{secret} is in the log:\n{log}");
    }
    assert!(!log.contains("lore_pat_") && !log.contains("lore_rt_"), "{log}");
    let requests: Vec<&str> = log.lines().filter(|line| line.contains(" INFO ") && line.contains("request")).collect();
    let has = |words: &[&str]| requests.iter().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(has(&["path=\"/auth/login\"", "status=401", "method=\"POST\"", "took_ms="]), "{log}");
    assert!(has(&["path=\"/mcp\"", "user=admin", "tool=\"list_repositories\"", "outcome="]), "{log}");
    assert!(has(&["path=\"/api/users\"", "user=admin", "status=400"]), "{log}");
    assert!(requests.iter().all(|line| line.contains("address=\"9.9.9.9\"")), "{log}");
    assert!(has(&["path=\"(none)\"", "status=405"]) || has(&["path=\"(none)\""]), "{log}");
    assert!(log.contains("a request panicked"), "{log}");
}

#[tokio::test]
async fn only_names_that_the_server_has_are_logged() {
    let captured = Captured::default();
    let _guard = capture(&captured);
    let server = server(ServerOptions::default()).await;
    let token = server.token_of("normal");
    let message = |method: &str, params: serde_json::Value| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        ask("POST /mcp").token(&token).json(&message)
    };
    for told in [
        message("chosen/method", json!({})),
        message("tools/call", json!({"name": "chosen_tool"})),
        message("prompts/get", json!({"name": "chosen_prompt"})),
        message("resources/read", json!({"uri": "chosen://resource"})),
        ask("CHOSEN /chosen/path").token(&token),
        ask("POST /mcp/chosen").token(&token).json(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})),
        message("tools/call", json!({"name": "list_repositories"})),
    ] {
        told.of(&server).await;
    }
    let log = captured.text();
    assert!(!log.to_lowercase().contains("chosen"), "{log}");
    assert!(log.contains("tool=\"(unknown)\" outcome=\"unknown_tool\""), "{log}");
    assert!(log.contains("rpc=\"unknown\"") && log.contains("tool=\"list_repositories\" outcome=\"ok\""), "{log}");
}

#[tokio::test]
async fn a_client_that_leaves_is_no_fault_of_the_server() {
    let captured = Captured::default();
    let _guard = capture(&captured);
    let server = server(ServerOptions::default()).await;
    let leaves = async || {
        let body = StreamBody::new(stream::pending::<Result<Frame<Bytes>, std::io::Error>>());
        let request = Request::post("/auth/login").header("host", "localhost").body(body).unwrap();
        let peer = Peer { address: [9, 9, 9, 9].into(), tls: false };
        assert!(server.app.handle(request, peer).now_or_never().is_none(), "it waits for the body");
    };
    leaves().await;
    let log = captured.text();
    let is_line = |line: &&str| line.contains(" INFO ") && line.contains("status=499");
    assert_eq!(log.lines().filter(is_line).count(), 1, "{log}");
    assert!(!log.contains("ERROR") && !log.contains("WARN") && !log.contains("status=500"), "{log}");
    let metrics = ask("GET /metrics").token(&server.token_of("admin")).of(&server).await.text;
    let counted = "lore_http_requests_total{method=\"POST\",route=\"/auth/login\",status=\"499\"} 1";
    assert!(metrics.contains(counted), "{metrics}");
    // It is the server that leaves then.
    server.app.close();
    leaves().await;
    assert!(captured.text().contains("status=503"), "{}", captured.text());
}
