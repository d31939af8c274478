//! What requests bring: too much, the wrong thing, or something that breaks the server.

use http::StatusCode;
use lore_server::ServerOptions;
use serde_json::json;

use crate::support::{ask, login, server};

#[tokio::test]
async fn bodies_are_bounded() {
    let server = server(ServerOptions::default()).await;
    let token = server.token_of("admin");
    let large = format!(r#"{{"username":"a","password":"{}"}}"#, "x".repeat(1024 * 1024));
    for line in ["POST /auth/login", "POST /auth/refresh", "POST /api/users"] {
        let told = ask(line).token(&token).body("application/json", large.as_bytes()).of(&server).await;
        assert_eq!(told.status, StatusCode::PAYLOAD_TOO_LARGE, "{line}");
    }
    let some = &large.as_bytes()[..20 * 1024];
    for (line, expected) in [
        ("POST /auth/login", StatusCode::PAYLOAD_TOO_LARGE),
        ("POST /auth/refresh", StatusCode::PAYLOAD_TOO_LARGE),
        ("POST /api/users", StatusCode::BAD_REQUEST),
    ] {
        let told = ask(line).token(&token).body("application/json", some).of(&server).await;
        assert_eq!(told.status, expected, "{line}: whoever logs in has little to say");
    }
    let told =
        ask("POST /mcp").token(&token).body("application/json", &vec![b' '; 4 * 1024 * 1024 + 1]).of(&server).await;
    assert_eq!(told.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(told.json()["jsonrpc"], "2.0");
    let told = ask("POST /mcp").body("application/json", &vec![b' '; 4 * 1024 * 1024 + 1]).of(&server).await;
    assert_eq!(told.status, StatusCode::UNAUTHORIZED, "nothing is read of whoever shows no token");
}

#[tokio::test]
async fn only_json_is_taken() {
    let server = server(ServerOptions::default()).await;
    let body = json!({"username": "power", "password": crate::support::PASSWORD}).to_string();
    for media in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/jsonp",
        "application/json; charset=utf-16",
        "",
    ] {
        let told = ask("POST /auth/login").body(media, body.as_bytes()).of(&server).await;
        assert_eq!(told.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{media}");
    }
    let told = ask("POST /auth/login").body("Application/JSON; charset=utf-8", body.as_bytes()).of(&server).await;
    assert_eq!(told.status, StatusCode::OK);
}

#[tokio::test]
async fn a_wrong_name_is_answered_with_the_right_one() {
    let server = server(ServerOptions::default()).await;
    let token = server.token_of("admin");
    for (line, body, message, hint) in [
        (
            "POST /auth/login",
            r#"{"user_name":"a","password":"b"}"#,
            "there is no field `user_name`",
            "did you mean `username`?",
        ),
        (
            "POST /auth/login",
            r#"{"username":"a"}"#,
            "the field `password` is missing",
            "this needs: username, password",
        ),
        ("POST /auth/login", "", "the field `username` is missing", "this needs: username, password"),
        ("POST /api/jobs/1/cancel", r#"{"x":1}"#, "there is no field `x`", "this takes none"),
        ("GET /api/jobs?statsu=running", "", "there is no parameter `statsu`", "did you mean `status`?"),
        ("GET /api/jobs?limit=x", "", "the parameter `limit` cannot be `x`", ""),
        ("GET /api/jobs?limit=1&limit=2", "", "the parameter `limit` is there twice", ""),
        ("POST /api/tokens?name=x", r#"{"name":"a"}"#, "there is no parameter `name`", "this takes none"),
    ] {
        let asked = ask(line).token(&token);
        let asked = if body.is_empty() { asked } else { asked.body("application/json", body.as_bytes()) };
        let told = asked.of(&server).await;
        assert_eq!((told.status, told.code().as_str()), (StatusCode::BAD_REQUEST, "invalid_argument"), "{line}");
        let error = &told.json()["error"];
        assert_eq!((error["message"].as_str(), error["hint"].as_str().unwrap_or_default()), (Some(message), hint));
    }
}

#[tokio::test]
async fn nonsense_is_refused_and_the_server_goes_on() {
    let server = server(ServerOptions::default()).await;
    let deep = "[".repeat(10_000);
    let bodies: [&[u8]; 11] = [
        b"{",
        b"null",
        b"[]",
        b"\"x\"",
        b"\xff\xfe",
        b"{\"username\":\"a\",\"username\":\"b\",\"password\":\"c\"}",
        b"{\"username\":1,\"password\":\"c\"}",
        b"{\"username\":\"a\",\"password\":\"c\"} x",
        b"{\"username\":\"a\",\"password\":1e999}",
        b"{\"username\":\"\\ud800\",\"password\":\"c\"}",
        deep.as_bytes(),
    ];
    for body in bodies {
        let told = ask("POST /auth/login").body("application/json", body).of(&server).await;
        assert_eq!(told.status, StatusCode::BAD_REQUEST, "{:?}", String::from_utf8_lossy(&body[..body.len().min(80)]));
    }
    let token = server.token_of("admin");
    for path in
        ["/api/users/%00", "/api/users/..%2f..%2fetc", "/api/golden/%ff", "/api/jobs/%F0%9F%92%A9", "/api/tokens/-1"]
    {
        let told = ask(&format!("DELETE {path}")).token(&token).of(&server).await;
        let expected = [StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED];
        assert!(expected.contains(&told.status), "{path}: {} {}", told.status, told.text);
    }
    assert_eq!(ask("GET /healthz").of(&server).await.text, "ok");
}

#[tokio::test]
async fn a_panic_ends_one_request_and_nothing_else() {
    let server = server(ServerOptions::default()).await;
    server.clock.panic_from_now_on(true);
    let told = login("power", "x").header("x-request-id", "my-id.1").of(&server).await;
    assert_eq!((told.status, told.code().as_str()), (StatusCode::INTERNAL_SERVER_ERROR, "internal"));
    assert!(told.text.contains("my-id.1") && !told.text.contains("the clock is broken"), "{}", told.text);
    assert_eq!(told.header("x-request-id"), Some("my-id.1"));
    server.clock.panic_from_now_on(false);
    assert_eq!(login("power", crate::support::PASSWORD).of(&server).await.status, StatusCode::OK);
}

#[tokio::test]
async fn every_answer_has_an_id() {
    let server = server(ServerOptions::default()).await;
    for (given, kept) in [("abc-1_2.3", true), ("a b", false), ("", false), ("x\"y", false)] {
        let told = ask("GET /healthz").header("x-request-id", given).of(&server).await;
        assert_eq!(told.header("x-request-id") == Some(given), kept, "{given}");
        assert!(!told.header("x-request-id").unwrap().is_empty());
    }
    let long = "x".repeat(65);
    assert_ne!(
        ask("GET /healthz").header("x-request-id", &long).of(&server).await.header("x-request-id"),
        Some(&*long)
    );
    let first = ask("GET /nothing").of(&server).await;
    let second = ask("GET /nothing").of(&server).await;
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
}
