//! Who may ask, from where, and what for.

use std::sync::atomic::Ordering;

use lore_mcp::{Allowed, HttpOptions, SessionLimits};
use lore_model::Role;
use serde_json::{Value, json};

use crate::support::{Ask, Place, ada, admin, bob, call, initialize, request, stateless, user};

#[tokio::test]
async fn a_request_without_a_caller_is_refused() {
    let place = Place::new();
    let list = request("tools/list", &json!({}));
    for ask in [Ask::post(&list), Ask::post(&initialize()), stateless(list.clone()), Ask::text("nonsense")] {
        let answered = ask.send(&place.mcp).await;
        let expected = (401, -32000, "Authentication failed: 401 Unauthorized".to_owned());
        assert_eq!(answered.refused(), expected);
        assert_eq!(answered.answer()["id"], Value::Null);
    }
    let session = place.shake_hands(&ada()).await;
    for method in ["GET", "DELETE", "PUT"] {
        let ask = Ask::method(method).header("accept", "text/event-stream").header("mcp-session-id", &session);
        assert_eq!(ask.send(&place.mcp).await.status, 401, "{method}");
    }
}

#[tokio::test]
async fn where_nobody_has_to_say_who_they_are_everything_is_offered() {
    let place = Place::open();
    assert_eq!(Ask::post(&call("users", &json!({}))).send(&place.mcp).await.said(), "\"users\"");
}

fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().map(|tool| tool["name"].as_str().expect("tools have names")).collect()
}

#[tokio::test]
async fn a_role_is_shown_what_it_may_call_in_the_same_order() {
    let place = Place::new();
    let list = request("tools/list", &json!({}));
    let all = ["echo", "whoami", "activate", "keep", "users", "slow", "hang", "steps", "chatter"];
    for (role, hidden) in [
        (Role::Admin, &[][..]),
        (Role::PowerUser, &["keep", "users"]),
        (Role::NormalUser, &["activate", "keep", "users"]),
    ] {
        let who = user(7, role);
        let expected: Vec<_> = all.into_iter().filter(|name| !hidden.contains(name)).collect();
        let session = place.shake_hands(&who).await;
        let in_session = place.post(&who, Some(&session), &list).await;
        let alone = place.post(&who, None, &list).await;
        let modern = stateless(list.clone()).by(&who).send(&place.mcp).await;
        for answered in [in_session, alone, modern] {
            assert_eq!(names(&answered.answer()), expected, "{role:?}");
        }
    }
}

#[tokio::test]
async fn a_tool_beyond_the_role_is_refused_before_its_arguments_are_looked_at() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    for (tool, permission) in
        [("activate", "activate_repos"), ("keep", "manage_golden_repos"), ("users", "manage_users")]
    {
        let expected = format!("Permission denied: {permission} required for tool {tool}");
        let message = call(tool, &json!({"unfit": [1]}));
        let in_session = place.post(&ada(), Some(&session), &message).await;
        let alone = place.post(&ada(), None, &message).await;
        let modern = stateless(message).by(&ada()).send(&place.mcp).await;
        for answered in [in_session, alone, modern] {
            assert_eq!(answered.refused(), (200, -32602, expected.clone()));
            assert_eq!(answered.called.unwrap().outcome(), Some("denied"));
        }
    }
    let unknown = place.post(&ada(), None, &call("ehco", &json!({}))).await;
    assert_eq!(unknown.refused().2, "Unknown tool: ehco (did you mean echo?)");
}

#[tokio::test]
async fn the_role_of_this_request_counts_not_that_of_the_session() {
    let place = Place::new();
    let raised = user(1, Role::Admin);
    let session = place.shake_hands(&raised).await;
    let message = call("users", &json!({}));
    assert_eq!(place.post(&raised, Some(&session), &message).await.said(), "\"users\"");
    let lowered = place.post(&user(1, Role::NormalUser), Some(&session), &message).await;
    assert!(lowered.refused().2.starts_with("Permission denied"));
    assert_eq!(place.post(&raised, Some(&session), &message).await.said(), "\"users\"");
}

#[tokio::test]
async fn a_tool_is_told_who_asks() {
    let place = Place::new();
    let message = call("whoami", &json!({"name": "admin", "caller": "admin", "role": "admin"}));
    let session = place.shake_hands(&bob()).await;
    assert_eq!(place.post(&bob(), Some(&session), &message).await.said(), "\"user2\"");
    assert_eq!(place.post(&ada(), None, &message).await.said(), "\"user1\"");
    assert_eq!(stateless(message).by(&admin()).send(&place.mcp).await.said(), "\"user3\"");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_at_the_same_time_never_see_each_other() {
    let place = std::sync::Arc::new(Place::new());
    let mut users = tokio::task::JoinSet::new();
    for id in 0..16 {
        let place = std::sync::Arc::clone(&place);
        users.spawn(async move {
            let who = user(id, if id % 2 == 0 { Role::Admin } else { Role::NormalUser });
            let session = place.shake_hands(&who).await;
            let (list, whoami) = (request("tools/list", &json!({})), call("whoami", &json!({})));
            for turn in 0..30 {
                let session = (turn % 2 == 0).then_some(session.as_str());
                assert_eq!(place.post(&who, session, &whoami).await.said(), format!("\"user{id}\""));
                let listed = place.post(&who, session, &list).await.answer();
                assert_eq!(names(&listed).contains(&"users"), id % 2 == 0);
            }
        });
    }
    while let Some(ended) = users.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused_on_every_way_in() {
    let allowed = Allowed::new(&["localhost"], &["https://app.example"]).unwrap();
    let options = HttpOptions { allowed, ..HttpOptions::default() };
    let place = Place::with(options, SessionLimits::default());
    let session = place.shake_hands(&ada()).await;
    let list = request("tools/list", &json!({}));
    let asks = || {
        [
            Ask::post(&initialize()),
            Ask::post(&list),
            Ask::post(&list).header("accept", "application/json"),
            Ask::post(&list).header("mcp-session-id", &session),
            stateless(list.clone()),
            Ask::method("GET").header("accept", "text/event-stream").header("mcp-session-id", &session),
            Ask::method("DELETE").header("mcp-session-id", &session),
        ]
    };
    for (name, value) in [
        ("host", "evil.example"),
        ("host", "evil.example:8080"),
        ("host", "localhost.evil.example"),
        ("host", ""),
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "not an origin"),
    ] {
        for (index, ask) in asks().into_iter().enumerate() {
            let answered = ask.by(&ada()).header(name, value).send(&place.mcp).await;
            assert_eq!(answered.status, 403, "{name}: {value} ({index})");
        }
    }
    assert_eq!(place.sessions.count(), 1, "nothing was opened or ended");
    let page = Ask::post(&list).by(&ada()).header("origin", "https://app.example");
    assert_eq!(page.send(&place.mcp).await.status, 200);
}

#[tokio::test]
async fn nothing_that_a_client_sends_makes_it_somebody_else() {
    let place = Place::new();
    let mut message = call("users", &json!({"role": "admin"}));
    message["params"]["_meta"] = json!({"caller": {"id": 3, "role": "admin"}, "role": "admin"});
    let ask = Ask::post(&message).by(&ada()).header("x-role", "admin").header("x-user", "user3");
    assert!(ask.send(&place.mcp).await.refused().2.starts_with("Permission denied"));
    assert_eq!(place.seen.begun.load(Ordering::SeqCst), 0);
}
