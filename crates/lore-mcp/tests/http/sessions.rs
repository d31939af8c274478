//! Sessions: whose they are, where they hold, how many there may be, and when they end.

use std::time::Duration;

use lore_mcp::{HttpOptions, SessionLimits};
use serde_json::json;

use crate::support::{Ask, Place, ada, bob, call, initialize, read_until, request, shake_hands, stateless};

/// Every way to use a session.
fn uses(session: &str) -> Vec<Ask> {
    let list = request("tools/list", &json!({}));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    vec![
        Ask::post(&list),
        Ask::post(&list).header("accept", "application/json"),
        Ask::post(&initialize()),
        Ask::post(&cancel),
        Ask::post(&json!({"jsonrpc": "2.0", "id": 1, "result": {}})),
        Ask::post(&request("no/such/method", &json!({}))),
        Ask::method("GET").header("accept", "text/event-stream"),
        Ask::method("GET").header("accept", "text/event-stream").header("last-event-id", "0/0"),
        Ask::method("DELETE"),
    ]
    .into_iter()
    .map(|ask| ask.header("mcp-session-id", session))
    .collect()
}

#[tokio::test]
async fn a_session_does_not_exist_for_another_user() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    let unknown = "6f0f1a5e-0000-4000-8000-000000000000";
    for (foreign, unknown) in uses(&session).into_iter().zip(uses(unknown)) {
        let foreign = foreign.by(&bob()).send(&place.mcp).await;
        let unknown = unknown.by(&bob()).send(&place.mcp).await;
        assert_eq!(foreign.refused(), (404, -32001, "Session not found".to_owned()));
        assert_eq!((foreign.text, foreign.headers), (unknown.text, unknown.headers), "nobody can tell the two apart");
    }
    let own = place.post(&ada(), Some(&session), &call("whoami", &json!({}))).await;
    assert_eq!(own.said(), "\"user1\"", "it is still there for its own user");
}

#[tokio::test]
async fn a_session_does_not_exist_at_another_endpoint() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    for ask in uses(&session) {
        assert_eq!(ask.by(&ada()).send(&place.other).await.status, 404);
    }
    let elsewhere = shake_hands(&place.other, &ada()).await;
    assert_eq!(place.post(&ada(), Some(&elsewhere), &request("ping", &json!({}))).await.status, 404);
}

#[tokio::test]
async fn a_request_without_a_session_joins_none() {
    let place = Place::new();
    place.shake_hands(&ada()).await;
    for method in ["GET", "DELETE"] {
        let answered = Ask::method(method).by(&ada()).header("accept", "text/event-stream").send(&place.mcp).await;
        assert_eq!((answered.status.as_u16(), &answered.headers["allow"]), (405, &"POST".parse().unwrap()));
    }
    let alone = place.post(&ada(), None, &call("echo", &json!({}))).await;
    assert!(!alone.headers.contains_key("mcp-session-id") && !alone.is_stream());
    assert_eq!(place.sessions.count(), 1);
}

#[tokio::test]
async fn two_session_headers_name_no_session() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    let mut twice = http::Request::post("/mcp").header("host", "localhost").header("content-type", "application/json");
    for id in [session.as_str(), "x"] {
        twice = twice.header("mcp-session-id", id);
    }
    let twice = twice.header("accept", "application/json, text/event-stream").extension(ada());
    let body = http_body_util::Full::new(bytes::Bytes::from(request("ping", &json!({})).to_string()));
    assert_eq!(place.mcp.handle(twice.body(body).unwrap()).await.status(), 404);
}

#[tokio::test]
async fn a_session_that_its_user_ends_is_gone() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    let ended = Ask::method("DELETE").by(&ada()).header("mcp-session-id", &session).send(&place.mcp).await;
    assert_eq!(ended.status, 204);
    assert_eq!(place.sessions.count(), 0);
    for ask in uses(&session) {
        assert_eq!(ask.by(&ada()).send(&place.mcp).await.status, 404);
    }
}

#[tokio::test]
async fn requests_of_the_era_without_sessions_ignore_them() {
    let place = Place::new();
    let foreign = place.shake_hands(&bob()).await;
    let ask = stateless(call("whoami", &json!({}))).by(&ada()).header("mcp-session-id", &foreign);
    let answered = ask.send(&place.mcp).await;
    assert_eq!(answered.said(), "\"user1\"");
    assert!(!answered.headers.contains_key("mcp-session-id"));
    for method in ["GET", "DELETE"] {
        let ask = Ask::method(method).by(&bob()).header("accept", "text/event-stream");
        let ask = ask.header("mcp-session-id", &foreign).header("mcp-protocol-version", "2026-07-28");
        assert_eq!(ask.send(&place.mcp).await.status, 405, "{method}");
    }
    assert_eq!(place.sessions.count(), 1);
}

fn limited(per_user: usize, total: usize) -> Place {
    let idle = Duration::from_mins(5);
    Place::with(HttpOptions::default(), SessionLimits { per_user, total, idle, ..SessionLimits::default() })
}

#[tokio::test(start_paused = true)]
async fn one_session_too_many_closes_the_users_own_that_was_idle_longest() {
    let place = limited(2, 100);
    let others = place.shake_hands(&bob()).await;
    let mut mine = Vec::new();
    for _ in 0..2 {
        mine.push(place.shake_hands(&ada()).await);
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    let ping = request("ping", &json!({}));
    assert_eq!(place.post(&ada(), Some(&mine[0]), &ping).await.status, 200);
    mine.push(place.shake_hands(&ada()).await);
    for (session, status) in mine.iter().zip([200, 404, 200]) {
        assert_eq!(place.post(&ada(), Some(session), &ping).await.status, status);
    }
    assert_eq!(place.post(&bob(), Some(&others), &ping).await.status, 200);
    assert_eq!(place.sessions.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn sessions_in_use_are_not_closed_for_a_new_one() {
    let place = limited(1, 100);
    let session = place.shake_hands(&ada()).await;
    let listening =
        Ask::method("GET").by(&ada()).header("accept", "text/event-stream").header("mcp-session-id", &session);
    let listening = listening.begin(&place.mcp).await;
    let refused = place.post(&ada(), None, &initialize()).await;
    assert_eq!(refused.status, 429);
    drop(listening);
    assert_eq!(place.post(&ada(), None, &initialize()).await.status, 200);
    assert_eq!(place.sessions.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn nobody_loses_a_session_to_another_user() {
    let place = limited(10, 2);
    let (first, second) = (place.shake_hands(&ada()).await, place.shake_hands(&ada()).await);
    assert_eq!(place.post(&bob(), None, &initialize()).await.status, 429);
    let ping = request("ping", &json!({}));
    for session in [first, second] {
        assert_eq!(place.post(&ada(), Some(&session), &ping).await.status, 200);
    }
    assert_eq!(place.post(&bob(), None, &ping).await.status, 200, "without a session there is always an answer");
}

#[tokio::test(start_paused = true)]
async fn a_session_in_which_nothing_happens_ends() {
    let place = limited(10, 10);
    let session = place.shake_hands(&ada()).await;
    tokio::time::sleep(Duration::from_mins(4)).await;
    let ping = request("ping", &json!({}));
    assert_eq!(place.post(&ada(), Some(&session), &ping).await.status, 200);
    tokio::time::sleep(Duration::from_mins(6)).await;
    assert_eq!(place.sessions.count(), 0);
    assert_eq!(place.post(&ada(), Some(&session), &ping).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn sessions_and_their_streams_end_when_the_server_stops() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    let hang = Ask::post(&call("hang", &json!({}))).by(&ada()).header("mcp-session-id", &session);
    let mut hanging = hang.begin(&place.mcp).await;
    read_until(hanging.body_mut(), "data").await;
    let listen = Ask::method("GET").by(&ada()).header("accept", "text/event-stream").header("mcp-session-id", &session);
    let mut listening = listen.begin(&place.mcp).await;
    read_until(listening.body_mut(), "data").await;
    place.sessions.stop().await;
    for response in [hanging, listening] {
        tokio::time::timeout(Duration::from_secs(5), crate::support::Answered::of(response)).await.expect("it ends");
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(place.seen.dropped.load(std::sync::atomic::Ordering::SeqCst), 1);
    assert_eq!(place.post(&ada(), None, &initialize()).await.status, 503);
}

#[tokio::test(start_paused = true)]
async fn what_is_under_way_is_answered_after_the_server_takes_nothing_new() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    let slow = call("slow", &json!({}));
    let asks = [
        Ask::post(&slow).header("mcp-session-id", &session),
        Ask::post(&slow).header("mcp-session-id", &session).header("accept", "application/json"),
        Ask::post(&slow),
        Ask::post(&slow).header("accept", "text/event-stream"),
        stateless(slow),
    ];
    let mut answers = Vec::new();
    for ask in asks {
        let mcp = place.mcp.clone();
        answers.push(tokio::spawn(async move { ask.by(&ada()).send(&mcp).await }));
    }
    let listen = Ask::method("GET").by(&ada()).header("accept", "text/event-stream").header("mcp-session-id", &session);
    let listening = listen.begin(&place.mcp).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    place.sessions.close();
    let ended = tokio::time::timeout(Duration::from_secs(1), crate::support::Answered::of(listening)).await;
    assert_eq!(ended.expect("who only listens is sent away").status, 200);
    for ask in uses(&session).into_iter().chain([Ask::post(&initialize()), stateless(call("echo", &json!({})))]) {
        assert_eq!(ask.by(&ada()).send(&place.mcp).await.status, 503, "nothing new is taken");
    }
    for (index, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.await.unwrap().said(), "\"slow\"", "{index}");
    }
    place.sessions.stop().await;
    assert_eq!(place.sessions.count(), 0);
}

fn with_id(mut message: serde_json::Value, id: i64) -> serde_json::Value {
    message["id"] = json!(id);
    message
}

#[tokio::test(start_paused = true)]
async fn an_id_belongs_to_one_call_of_a_session_at_a_time() {
    let place = Place::new();
    let (session, other) = (place.shake_hands(&ada()).await, place.shake_hands(&ada()).await);
    let (slow, echo) = (call("slow", &json!({})), call("echo", &json!({})));
    let begin = |message: &serde_json::Value| Ask::post(message).by(&ada()).header("mcp-session-id", &session);
    let first = begin(&slow).begin(&place.mcp).await;
    for second in [&echo, &request("no/such/method", &json!({}))] {
        let refused = place.post(&ada(), Some(&session), second).await;
        let why = "Invalid Request: another request with this id is not answered yet";
        assert_eq!(refused.refused(), (400, -32600, why.to_owned()));
        assert_eq!(refused.answer()["id"], 1);
    }
    assert_eq!(place.post(&ada(), Some(&other), &echo).await.said(), "{}", "another session has ids of its own");
    assert_eq!(place.post(&ada(), Some(&session), &with_id(echo.clone(), 2)).await.said(), "{}");
    assert_eq!(crate::support::Answered::of(first).await.said(), "\"slow\"", "the first is answered as ever");
    assert_eq!(place.post(&ada(), Some(&session), &echo).await.said(), "{}", "then the id is free again");
    // A call whose client went away is still under way.
    drop(begin(&slow).begin(&place.mcp).await);
    assert_eq!(place.post(&ada(), Some(&session), &echo).await.status, 400);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(place.post(&ada(), Some(&session), &echo).await.status, 200);
    // So is one whose request rmcp refuses: it never began.
    let unfit = begin(&echo).header("mcp-protocol-version", "1999-01-01").send(&place.mcp).await;
    assert_eq!(unfit.status, 400);
    assert_eq!(place.post(&ada(), Some(&session), &echo).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn an_id_whose_answer_was_read_may_be_used_at_once() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    let echo = call("echo", &json!({}));
    let ask = || Ask::post(&echo).by(&ada()).header("mcp-session-id", &session);
    let mut first = ask().begin(&place.mcp).await.into_body();
    read_until(&mut first, "\"result\"").await;
    // The client has its answer, and the server is not done with the call.
    let end = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(first);
    };
    let (second, ()) = tokio::join!(ask().send(&place.mcp), end);
    assert_eq!(second.said(), "{}", "it waits for the end of the first");
    // Not for ever: an end that never comes is told.
    let mut first = ask().begin(&place.mcp).await.into_body();
    read_until(&mut first, "\"result\"").await;
    assert_eq!(ask().send(&place.mcp).await.status, 400);
}

#[tokio::test(start_paused = true)]
async fn a_progress_token_belongs_to_one_call_of_a_session_at_a_time() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    let mut steps = call("steps", &json!({}));
    steps["params"]["_meta"]["progressToken"] = json!("t");
    let first = Ask::post(&steps).by(&ada()).header("mcp-session-id", &session).begin(&place.mcp).await;
    let refused = place.post(&ada(), Some(&session), &with_id(steps.clone(), 2)).await;
    let why = "Invalid Request: another request with this progress token is not answered yet";
    assert_eq!(refused.refused(), (400, -32600, why.to_owned()));
    assert_eq!(crate::support::Answered::of(first).await.said(), "true");
    assert_eq!(place.post(&ada(), Some(&session), &with_id(steps, 2)).await.said(), "true");
}

#[tokio::test(start_paused = true)]
async fn a_user_has_only_so_many_calls_under_way() {
    let limits = SessionLimits { calls: 2, ..SessionLimits::default() };
    let place = Place::with(HttpOptions::default(), limits);
    let session = place.shake_hands(&ada()).await;
    let hang = |id| Ask::post(&with_id(call("hang", &json!({})), id)).by(&ada()).header("mcp-session-id", &session);
    let listen = Ask::method("GET").by(&ada()).header("accept", "text/event-stream").header("mcp-session-id", &session);
    let _listening = listen.begin(&place.mcp).await;
    let waiting = [hang(11).begin(&place.mcp).await, hang(12).begin(&place.mcp).await];
    let echo = call("echo", &json!({}));
    for ask in [Ask::post(&echo), Ask::post(&echo).header("mcp-session-id", &session), stateless(echo.clone())] {
        let begun = tokio::time::Instant::now();
        let refused = ask.by(&ada()).send(&place.mcp).await;
        let why = "too many of your calls are under way: wait for their answers";
        assert_eq!(refused.refused(), (429, -32000, why.to_owned()));
        assert_eq!((&refused.answer()["id"], &refused.headers["retry-after"]), (&json!(1), &"1".parse().unwrap()));
        assert_eq!(begun.elapsed().as_secs(), 3, "it may have its turn in a moment");
    }
    assert_eq!(place.post(&bob(), None, &echo).await.said(), "{}", "others have places of their own");
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 11}});
    assert_eq!(place.post(&ada(), Some(&session), &cancel).await.status, 202);
    drop(waiting);
    assert_eq!(place.post(&ada(), None, &echo).await.said(), "{}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_given_up() {
    // Short, since rmcp's pings of a stream do not know of the clock of tests.
    let limits = SessionLimits { call: Duration::from_secs(5), ..SessionLimits::default() };
    let place = Place::with(HttpOptions::default(), limits);
    let session = place.shake_hands(&ada()).await;
    let hang = call("hang", &json!({}));
    for (index, session) in [None, Some(session.as_str())].into_iter().enumerate() {
        let answered = place.post(&ada(), session, &hang).await;
        assert!(answered.said().contains("hang took too long and was given up"), "{}", answered.text);
        assert_eq!(answered.called.unwrap().outcome(), Some("too_long"));
        assert_eq!(place.seen.dropped.load(std::sync::atomic::Ordering::SeqCst), index + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn answers_are_kept_for_a_while_and_only_so_many_bytes_of_them() {
    let place = Place::with(HttpOptions::default(), SessionLimits { kept: 10_000, ..SessionLimits::default() });
    let mut sessions = Vec::new();
    for _ in 0..5 {
        let session = place.shake_hands(&ada()).await;
        let echo = call("echo", &json!({"text": "x".repeat(3000)}));
        assert_eq!(place.post(&ada(), Some(&session), &echo).await.status, 200);
        sessions.push(session);
    }
    assert!((3000..=10_000).contains(&place.sessions.kept_bytes()), "{}", place.sessions.kept_bytes());
    let before = place.sessions.kept_bytes();
    let end = Ask::method("DELETE").by(&ada()).header("mcp-session-id", &sessions[4]).send(&place.mcp).await;
    assert!(end.status.is_success() && place.sessions.kept_bytes() < before, "a session takes its answers with it");
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(place.sessions.kept_bytes(), 0, "nobody has to ask for them to go");
}
