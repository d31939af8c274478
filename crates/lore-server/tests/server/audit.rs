//! What the audit log has of those who were refused.

use lore_server::ServerOptions;
use serde_json::json;

use crate::support::{Fixture, PASSWORD, ask, login, server};

/// What is in the log of these kinds, the newest first: who, from where, what, why.
fn refusals(server: &Fixture, acts: &[&str]) -> Vec<[String; 4]> {
    let (entries, _) = server.team.acts(1000).unwrap();
    let told = entries.into_iter().filter(|entry| acts.contains(&entry.act.as_str()));
    told.map(|entry| [entry.username, entry.address.unwrap_or_default(), entry.subject, entry.outcome]).collect()
}

#[tokio::test]
async fn what_a_role_does_not_allow_is_in_the_audit_log() {
    let server = server(ServerOptions::default()).await;
    let token = server.token_of("normal");
    let call = |tool: &str| {
        let params = json!({"name": tool, "arguments": {"username": "eve", "password": "a secret of eve"}});
        ask("POST /mcp").json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
    };
    for _ in 0..5 {
        assert_eq!(ask("DELETE /api/users/power").token(&token).of(&server).await.status, 403);
        assert!(call("create_user").token(&token).from("8.8.8.8").of(&server).await.text.contains("Permission denied"));
        assert_eq!(ask("GET /api/tokens?all=true").token(&token).of(&server).await.status, 403);
    }
    let why = "this needs the permission `manage_users`";
    let tokens = "the tokens of all users are for those with the permission `manage_users`";
    let expected = [
        ["normal", "9.9.9.9", "GET /api/tokens", tokens],
        ["normal", "8.8.8.8", "create_user", why],
        ["normal", "9.9.9.9", "DELETE /api/users/{name}", why],
    ];
    assert_eq!(refusals(&server, &["denied"]), expected, "once, however often it is tried");
    server.clock.pass(60);
    ask("DELETE /api/users/power").token(&token).of(&server).await;
    assert_eq!(refusals(&server, &["denied"]).len(), 4, "and again after a minute");
    // What is allowed and what is not there are no denials, nor is what nobody is known to have asked.
    ask("GET /auth/me").token(&token).of(&server).await;
    ask("GET /api/nothing").token(&token).of(&server).await;
    ask("DELETE /api/users/power").of(&server).await;
    ask("GET /auth/me").token(&token).header("origin", "https://evil.example").of(&server).await;
    assert_eq!(refusals(&server, &["denied"]).len(), 4);
}

#[tokio::test]
async fn who_tries_passwords_is_in_the_audit_log_also_when_told_to_wait() {
    let server = server(ServerOptions::default()).await;
    for _ in 0..20 {
        login("power", "a wrong secret").from("8.8.8.8").of(&server).await;
    }
    let held_back = refusals(&server, &["login_held_back"]);
    let [[who, address, subject, why]] = held_back.as_slice() else { panic!("once: {held_back:?}") };
    assert_eq!([who, address, subject], ["power", "8.8.8.8", "power"]);
    assert!(why.starts_with("too many wrong passwords: told to wait "), "{why}");
    let refused = refusals(&server, &["login_refused"]);
    assert!((5..10).contains(&refused.len()), "each that was looked at: {refused:?}");
    // Whoever tries many names is one, and what was typed in place of a name is not written.
    for number in 0..60 {
        login(&format!("{PASSWORD} {number}"), "x").from("7.7.7.7").of(&server).await;
    }
    let held_back = refusals(&server, &["login_held_back"]);
    assert_eq!(held_back.len(), 2, "{held_back:?}");
    assert_eq!(held_back[0][..3], ["(unknown)", "7.7.7.7", "(unknown)"]);
    let log = format!("{:?}", refusals(&server, &["login_held_back", "login_refused"]));
    assert!(!log.contains(PASSWORD) && !log.contains("a wrong secret"), "{log}");
}

#[tokio::test]
async fn a_refresh_token_that_comes_twice_is_in_the_audit_log_with_where_it_came_from() {
    let server = server(ServerOptions::default()).await;
    let tokens = server.login("power").await;
    let refresh =
        |from: &str| ask("POST /auth/refresh").json(&json!({"refresh_token": tokens["refresh_token"]})).from(from);
    assert_eq!(refresh("8.8.8.8").of(&server).await.status, 200);
    assert_eq!(refresh("2001:db8::7").of(&server).await.status, 401);
    let expected = [["power", "2001:db8::7", "power", "the login was ended"]];
    assert_eq!(refusals(&server, &["refresh_reused"]), expected);
}
