//! Logging in, going on, logging out.

use http::StatusCode;
use lore_server::ServerOptions;
use serde_json::{Value, json};

use crate::support::{Fixture, PASSWORD, Told, ask, login, server};

async fn refresh(server: &Fixture, tokens: &Value) -> Told {
    ask("POST /auth/refresh").json(&json!({"refresh_token": tokens["refresh_token"]})).of(server).await
}

async fn me(server: &Fixture, tokens: &Value) -> StatusCode {
    ask("GET /auth/me").token(tokens["access_token"].as_str().unwrap()).of(server).await.status
}

#[tokio::test]
async fn a_login_has_the_shape_of_the_contract() {
    let server = server(ServerOptions::default()).await;
    let told = login("Power", PASSWORD).of(&server).await;
    assert_eq!(told.header("cache-control"), Some("no-store"));
    assert_eq!(told.header("x-content-type-options"), Some("nosniff"));
    let tokens = told.json();
    let keys: Vec<&str> = tokens.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = ["access_token", "token_type", "expires_in", "user", "refresh_token", "refresh_token_expires_in"];
    assert_eq!(keys, expected);
    assert_eq!((&tokens["token_type"], &tokens["expires_in"]), (&json!("bearer"), &json!(900)));
    let user = json!({"username": "power", "role": "power_user", "created_at": "2027-01-15T08:00:00Z"});
    assert_eq!(tokens["user"], user);
    let told = ask("GET /auth/me").token(tokens["access_token"].as_str().unwrap()).of(&server).await;
    assert_eq!(told.json(), json!({"user": user, "permissions": ["query_repos", "activate_repos"]}));
}

#[tokio::test]
async fn an_access_token_ends_after_its_time_and_a_refresh_token_gives_the_next() {
    let server = server(ServerOptions::default()).await;
    let first = server.login("power").await;
    server.clock.pass(899);
    assert_eq!(me(&server, &first).await, StatusCode::OK);
    server.clock.pass(1);
    assert_eq!(me(&server, &first).await, StatusCode::UNAUTHORIZED);
    let second = refresh(&server, &first).await.json();
    assert_eq!(me(&server, &second).await, StatusCode::OK);
    server.clock.pass(31 * 86_400);
    assert_eq!(refresh(&server, &second).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_refresh_token_that_is_used_twice_ends_the_login() {
    let server = server(ServerOptions::default()).await;
    let first = server.login("power").await;
    let other = server.login("power").await;
    let second = refresh(&server, &first).await.json();
    assert_eq!(me(&server, &second).await, StatusCode::OK);
    let again = refresh(&server, &first).await;
    assert_eq!((again.status, again.code().as_str()), (StatusCode::UNAUTHORIZED, "unauthenticated"));
    assert_eq!(me(&server, &first).await, StatusCode::UNAUTHORIZED);
    assert_eq!(me(&server, &second).await, StatusCode::UNAUTHORIZED, "whoever has the other one is out too");
    assert_eq!(refresh(&server, &second).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(me(&server, &other).await, StatusCode::OK, "another login has nothing to do with it");
}

#[tokio::test]
async fn logging_out_ends_all_tokens_of_the_login() {
    let server = server(ServerOptions::default()).await;
    let tokens = server.login("power").await;
    let out = ask("POST /auth/logout").token(tokens["access_token"].as_str().unwrap());
    assert_eq!(out.of(&server).await.json(), json!({"success": true}));
    assert_eq!(me(&server, &tokens).await, StatusCode::UNAUTHORIZED);
    assert_eq!(refresh(&server, &tokens).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_new_password_ends_all_logins() {
    let server = server(ServerOptions::default()).await;
    let tokens = server.login("power").await;
    let change = |current: &str, new: &str| {
        ask("POST /auth/password")
            .token(tokens["access_token"].as_str().unwrap())
            .json(&json!({"current_password": current, "new_password": new}))
    };
    let wrong = change("wrong password", "another long password").of(&server).await;
    assert_eq!(wrong.status, StatusCode::FORBIDDEN);
    let weak = change(PASSWORD, "short").of(&server).await;
    assert_eq!(weak.status, StatusCode::BAD_REQUEST, "{}", weak.text);
    let done = change(PASSWORD, "another long password").of(&server).await;
    assert_eq!(done.json(), json!({"success": true}));
    assert_eq!(me(&server, &tokens).await, StatusCode::UNAUTHORIZED);
    assert_eq!(login("power", PASSWORD).of(&server).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(login("power", "another long password").of(&server).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_login_does_not_tell_who_there_is() {
    let server = server(ServerOptions::default()).await;
    let known = login("power", "wrong password").of(&server).await;
    let unknown = login("nobody", "wrong password").of(&server).await;
    let odd = login("no body\u{0}'; --", "wrong password").of(&server).await;
    assert_eq!((known.status, &known.text), (unknown.status, &unknown.text));
    assert_eq!((known.status, &known.text), (odd.status, &odd.text));
    // HTTP wants it with each 401. Of this scheme no browser asks for a password by itself.
    assert_eq!(known.header("www-authenticate"), Some(r#"Bearer realm="lore""#));
    let used_up = ask("POST /auth/refresh").json(&json!({"refresh_token": "x"})).of(&server).await;
    assert_eq!((used_up.status, used_up.header("www-authenticate").is_some()), (StatusCode::UNAUTHORIZED, true));
}

#[tokio::test]
async fn whoever_has_a_network_of_ipv6_has_no_more_attempts_than_others() {
    let server = server(ServerOptions::default()).await;
    let attempt = |from: &str| login("power", "wrong password").from(from);
    for number in 1..7 {
        let told = attempt(&format!("2001:db8:1:2:{number}::{number}")).of(&server).await;
        assert_eq!(told.status, StatusCode::UNAUTHORIZED, "{number}");
    }
    let held = attempt("2001:db8:1:2:ffff:ffff:ffff:ffff").of(&server).await;
    assert_eq!((held.status, held.header("retry-after")), (StatusCode::TOO_MANY_REQUESTS, Some("1")));
    let elsewhere = login("power", PASSWORD).from("2001:db8:1:3::1").of(&server).await;
    assert_eq!(elsewhere.status, StatusCode::OK, "{}", elsewhere.text);
    // One address of IPv4 is one, however it is written.
    for number in 0..6 {
        let from = if number % 2 == 0 { "192.0.2.7" } else { "::ffff:192.0.2.7" };
        assert_eq!(attempt(from).of(&server).await.status, StatusCode::UNAUTHORIZED, "{number}");
    }
    assert_eq!(attempt("::ffff:192.0.2.7").of(&server).await.status, StatusCode::TOO_MANY_REQUESTS);
    let neighbour = login("power", PASSWORD).from("::ffff:192.0.2.8").of(&server).await;
    assert_eq!(neighbour.status, StatusCode::OK, "{}", neighbour.text);
}

#[tokio::test]
async fn a_personal_token_is_no_login_that_could_end() {
    let server = server(ServerOptions::default()).await;
    let token = server.token_of("power");
    let told = ask("POST /auth/logout").token(&token).of(&server).await;
    assert_eq!((told.status, told.code().as_str()), (StatusCode::BAD_REQUEST, "invalid_argument"));
    // Of another login it can tell.
    let tokens = server.login("power").await;
    let out = ask("POST /auth/logout").token(&token).json(&json!({"refresh_token": tokens["refresh_token"]}));
    assert_eq!(out.of(&server).await.status, StatusCode::OK);
    assert_eq!(me(&server, &tokens).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_message_that_is_not_let_in_is_answered_by_its_id() {
    let server = server(ServerOptions::default()).await;
    let long = format!(r#"{{"jsonrpc":"2.0","id":4,"method":"x","params":{{"a":"{}"}}}}"#, "x".repeat(20_000));
    for (body, id) in [
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#, json!(7)),
        (r#"{"jsonrpc":"2.0","id":"a-1","method":"tools/list"}"#, json!("a-1")),
        (r#"{"jsonrpc":"2.0","id":{"x":1},"method":"tools/list"}"#, Value::Null),
        ("nonsense", Value::Null),
        ("", Value::Null),
        (&long, Value::Null),
    ] {
        let told = ask("POST /mcp").body("application/json", body.as_bytes()).of(&server).await;
        assert_eq!((told.status, &told.json()["id"]), (StatusCode::UNAUTHORIZED, &id), "{body}");
        assert_eq!(told.json()["error"]["message"], "Authentication failed: 401 Unauthorized");
    }
}
