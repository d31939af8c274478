//! MCP at its paths.

use std::time::Duration;

use http::StatusCode;
use lore_model::Role;
use lore_server::{Limits, ServerOptions};
use lore_team::Asker;
use serde_json::{Value, json};

use crate::support::{Ask, BODY_TYPE, Fixture, Told, ask, server};

fn rpc(path: &str, token: &str, method: &str, params: &Value) -> Ask {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    ask(&format!("POST {path}")).token(token).header("accept", "application/json").json(&message)
}

async fn tools(server: &Fixture, path: &str, token: &str) -> Vec<String> {
    let told = rpc(path, token, "tools/list", &json!({})).of(server).await;
    let answer = told.json();
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn tools_are_at_mcp_and_those_of_a_toolset_at_its_own_path() {
    let server = server(ServerOptions::default()).await;
    let token = server.token_of("normal");
    let all = tools(&server, "/mcp", &token).await;
    assert!(all.iter().any(|tool| tool == "commitmux_search") && all.iter().any(|tool| tool == "list_repositories"));
    let some = tools(&server, "/mcp/history", &token).await;
    assert!(some.iter().any(|tool| tool == "commitmux_search") && !some.iter().any(|tool| tool == "list_repositories"));
    for other in ["code", "messages", "HISTORY", "history%2f..", "%00"] {
        let told = rpc(&format!("/mcp/{other}"), &token, "tools/list", &json!({})).of(&server).await;
        assert_eq!((told.status, &told.json()["jsonrpc"]), (StatusCode::NOT_FOUND, &json!("2.0")), "{other}");
    }
    let told = ask("PUT /mcp").token(&token).of(&server).await;
    assert_eq!(
        (told.status, told.header("allow")),
        (StatusCode::METHOD_NOT_ALLOWED, Some("POST, GET, DELETE, HEAD, OPTIONS"))
    );
}

#[tokio::test]
async fn a_tool_that_is_called_is_counted() {
    let server = server(ServerOptions::default()).await;
    let token = server.token_of("normal");
    let call = |name: &str| rpc("/mcp", &token, "tools/call", &json!({"name": name, "arguments": {}}));
    let told = call("list_repositories").of(&server).await;
    assert_eq!(told.status, StatusCode::OK, "{}", told.text);
    call("no_such_tool\" x").of(&server).await;
    let denied = ask("GET /metrics").token(&token).of(&server).await;
    assert_eq!(denied.status, StatusCode::FORBIDDEN, "what others do is not everybody's business");
    let text = ask("GET /metrics").token(&server.token_of("admin")).of(&server).await.text;
    assert!(text.contains(r#"lore_mcp_tool_calls_total{tool="list_repositories",outcome="ok"} 1"#), "{text}");
    assert!(text.contains(r#"lore_mcp_tool_calls_total{tool="(unknown)",outcome="unknown_tool"} 1"#), "{text}");
    assert!(!text.contains("no_such_tool"), "{text}");
}

async fn open_session(server: &Fixture, token: &str) -> String {
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
    let told = rpc("/mcp", token, "initialize", &hello);
    let told = told.without("accept").header("accept", "application/json, text/event-stream").of(server).await;
    assert_eq!(told.status, StatusCode::OK, "{}", told.text);
    told.header("mcp-session-id").unwrap().to_owned()
}

#[tokio::test]
async fn a_session_belongs_to_its_user() {
    let server = server(ServerOptions::default()).await;
    let (normal, power) = (server.token_of("normal"), server.token_of("power"));
    let session = open_session(&server, &normal).await;
    let with = |ask: Ask| ask.header("mcp-session-id", &session);
    let is_absent = |told: Told| assert_eq!(told.status, StatusCode::NOT_FOUND, "{}", told.text);
    let events = |ask: Ask| ask.header("accept", "text/event-stream");
    is_absent(with(rpc("/mcp", &power, "tools/list", &json!({}))).of(&server).await);
    is_absent(with(events(ask("GET /mcp").token(&power))).of(&server).await);
    is_absent(with(ask("DELETE /mcp").token(&power)).of(&server).await);
    is_absent(with(ask("DELETE /mcp/history").token(&normal)).of(&server).await);
    assert_eq!(with(ask("DELETE /mcp")).of(&server).await.status, StatusCode::UNAUTHORIZED);
    let text = ask("GET /metrics").token(&server.token_of("admin")).of(&server).await.text;
    assert!(text.contains("lore_mcp_sessions 1\n"), "{text}");
    let own = with(ask("DELETE /mcp").token(&normal)).of(&server).await;
    assert!(own.status.is_success(), "{}", own.text);
}

#[tokio::test]
async fn nobody_listens_for_longer_than_they_are_let_in() {
    let limits = Limits { listening: Duration::from_millis(10), ..Limits::default() };
    let server = server(ServerOptions { limits, ..ServerOptions::default() }).await;
    let (normal, power) = (server.token_of("normal"), server.token_of("power"));
    let login = server.login("admin").await["access_token"].as_str().unwrap().to_owned();
    let other = server.token_of("admin");
    for (what, token) in [("revoked", &normal), ("another role", &power), ("removed", &power), ("expired", &login)] {
        let session = open_session(&server, token).await;
        let listening = ask("GET /mcp").token(token).header("accept", "text/event-stream");
        let mut listening = Box::pin(listening.header("mcp-session-id", &session).of(&server));
        let early = tokio::time::timeout(Duration::from_millis(100), &mut listening).await;
        assert!(early.is_err(), "{what}: {early:?}");
        let by = Asker::local();
        match what {
            "revoked" => {
                let tokens = server.team.tokens(Some(server.user("normal").id)).unwrap();
                server.team.revoke_token(&by, tokens[0].id).unwrap();
            }
            "another role" => drop(server.team.set_role(&by, "power", Role::NormalUser).unwrap()),
            "removed" => drop(server.team.remove_user(&by, "power").unwrap()),
            _ => server.clock.pass(900),
        }
        let told = tokio::time::timeout(Duration::from_secs(20), listening).await;
        assert_eq!(told.unwrap_or_else(|_| panic!("{what}: it goes on")).status, StatusCode::OK, "{what}");
    }
    // Who is let in goes on, whatever happens to others.
    let session = open_session(&server, &other).await;
    let listening = ask("GET /mcp").token(&other).header("accept", "text/event-stream");
    let listening = listening.header("mcp-session-id", &session).of(&server);
    assert!(tokio::time::timeout(Duration::from_millis(100), listening).await.is_err());
}

#[tokio::test]
async fn a_page_of_the_server_itself_may_use_mcp() {
    let server = server(ServerOptions::default()).await;
    let token = server.token_of("normal");
    let own = rpc("/mcp", &token, "tools/list", &json!({})).header("origin", "http://localhost:8000").of(&server).await;
    assert_eq!(own.status, StatusCode::OK);
    assert!(own.headers[BODY_TYPE].to_str().unwrap().starts_with("application/json"));
    let foreign =
        rpc("/mcp", &token, "tools/list", &json!({})).header("origin", "http://evil.example").of(&server).await;
    assert_eq!((foreign.status, &foreign.json()["jsonrpc"]), (StatusCode::FORBIDDEN, &json!("2.0")));
}
