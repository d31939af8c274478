//! What is understood of a body, and what is answered to the rest.

use std::convert::Infallible;

use bytes::Bytes;
use futures::stream;
use http_body::Frame;
use http_body_util::StreamBody;
use lore_mcp::{HttpOptions, SessionLimits};
use serde_json::{Value, json};

use crate::support::{Answered, Ask, Place, ada, call, initialize, request, stateless};

async fn refused(body: impl Into<Vec<u8>>) -> (u16, i64, Value) {
    let answered = Ask::text(body).by(&ada()).send(&Place::new().mcp).await;
    let (status, code, _) = answered.refused();
    (status, code, answered.answer()["id"].clone())
}

#[tokio::test]
async fn what_is_no_message_is_answered_without_an_id() {
    for text in
        ["{", "nonsense", "", "  ", "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", "\"\\ud800\""]
    {
        assert_eq!(refused(text).await, (400, -32700, Value::Null), "{text}");
    }
    assert_eq!(
        refused(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec()).await,
        (400, -32700, Value::Null)
    );
    assert_eq!(refused("[".repeat(100_000)).await, (400, -32700, Value::Null));
    assert_eq!(refused(format!("[{}0]", "0,".repeat(150_000))).await, (400, -32600, Value::Null));
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for text in ["[]".to_owned(), json!([ping, ping]).to_string(), "1".to_owned(), "null".to_owned(), "{}".to_owned()] {
        assert_eq!(refused(text.clone()).await, (400, -32600, Value::Null), "{text}");
    }
}

#[tokio::test]
async fn a_known_method_with_unfit_params_is_answered_by_its_id() {
    for message in [
        request("tools/call", &json!({"name": 1})),
        request("tools/call", &json!({"name": "echo", "arguments": []})),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}),
        request("tools/list", &json!({"cursor": "x"})),
        request("initialize", &json!({"protocolVersion": 1})),
    ] {
        assert_eq!(refused(message.to_string()).await, (200, -32602, json!(1)), "{message}");
    }
}

#[tokio::test]
async fn an_unknown_method_is_answered_as_its_era_wants() {
    let place = Place::new();
    let unknown = request("no/such", &json!({}));
    let session = place.shake_hands(&ada()).await;
    for answered in [place.post(&ada(), None, &unknown).await, place.post(&ada(), Some(&session), &unknown).await] {
        assert_eq!(answered.refused(), (200, -32601, "Method not found".to_owned()));
        assert_eq!(answered.answer()["error"]["data"], json!({"method": "no/such"}));
        assert_eq!(answered.answer()["id"], 1);
    }
    let removed =
        ["initialize", "ping", "resources/subscribe", "logging/setLevel"].map(|name| request(name, &json!({})));
    for removed in removed.into_iter().chain([unknown]) {
        let modern = stateless(removed).by(&ada()).send(&place.mcp).await;
        assert_eq!((modern.refused().0, modern.refused().1), (404, -32601));
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_before_it_is_read_to_its_end() {
    let options = HttpOptions { max_body: 10_000, ..HttpOptions::default() };
    let place = Place::with(options, SessionLimits::default());
    let large = call("echo", &json!({"text": "x".repeat(10_000)}));
    let answered = Ask::post(&large).by(&ada()).send(&place.mcp).await;
    assert_eq!((answered.refused().0, answered.refused().1, &answered.answer()["id"]), (413, -32600, &Value::Null));
    let endless = stream::repeat_with(|| Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[b' '; 1000]))));
    let request = http::Request::post("/mcp").header("host", "localhost").header("content-type", "application/json");
    let request = request.header("accept", "*/*").extension(ada()).body(StreamBody::new(endless)).unwrap();
    assert_eq!(Answered::of(place.mcp.handle(request).await).await.status, 413);
    let fits = call("echo", &json!({"text": "x".repeat(9_000)}));
    assert_eq!(Ask::post(&fits).by(&ada()).send(&place.mcp).await.status, 200);
}

#[tokio::test]
async fn a_handshake_may_leave_everything_out() {
    let place = Place::new();
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}),
    ] {
        let answered = place.post(&ada(), None, &message).await;
        let result = &answered.answer()["result"];
        assert_eq!((&result["protocolVersion"], &result["serverInfo"]["name"]), (&json!("2024-11-05"), &json!("lore")));
        assert_eq!(result["instructions"], "Use `echo`.");
        assert!(answered.is_stream() && answered.headers.contains_key("mcp-session-id"));
    }
}

#[tokio::test]
async fn a_client_that_takes_json_only_gets_json() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    for accept in ["application/json", "*/*", "application/json; charset=utf-8, text/plain;q=0.5", ""] {
        for ask in [
            Ask::post(&initialize()),
            Ask::post(&call("echo", &json!({}))),
            Ask::post(&call("echo", &json!({}))).header("mcp-session-id", &session),
            stateless(call("echo", &json!({}))),
        ] {
            let answered = ask.by(&ada()).header("accept", accept).send(&place.mcp).await;
            assert_eq!((answered.status.as_u16(), answered.is_stream()), (200, false), "{accept}");
            assert!(!answered.headers.contains_key("mcp-session-id"));
        }
    }
    assert_eq!(place.sessions.count(), 1);
    for accept in ["text/html", "application/xml"] {
        let answered = Ask::post(&initialize()).by(&ada()).header("accept", accept).send(&place.mcp).await;
        assert_eq!(answered.status, 406, "{accept}");
    }
    let events =
        Ask::post(&call("echo", &json!({}))).by(&ada()).header("accept", "text/event-stream").send(&place.mcp).await;
    assert!(events.is_stream() && events.said() == "{}");
}

#[tokio::test]
async fn a_client_that_only_posts_gets_json() {
    let place = Place::new();
    for message in [request("tools/list", &json!({})), call("echo", &json!({"a": 1}))] {
        let answered = place.post(&ada(), None, &message).await;
        assert_eq!((answered.status.as_u16(), answered.is_stream()), (200, false));
        assert!(answered.answer()["result"].is_object());
    }
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let answered = place.post(&ada(), None, &notification).await;
    assert_eq!((answered.status.as_u16(), answered.text.as_str()), (202, ""));
}

#[tokio::test]
async fn a_body_must_say_that_it_is_json() {
    let place = Place::new();
    let utf16 = "application/json; charset=utf-16";
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", utf16, ""] {
        let ask = Ask::post(&request("ping", &json!({}))).by(&ada()).header("content-type", kind);
        assert_eq!(ask.send(&place.mcp).await.status, 415, "{kind}");
    }
}

#[tokio::test]
async fn other_methods_and_versions_are_refused() {
    let place = Place::new();
    for method in ["PUT", "PATCH", "OPTIONS", "HEAD"] {
        let answered = Ask::method(method).by(&ada()).send(&place.mcp).await;
        assert_eq!(
            (answered.status.as_u16(), &answered.headers["allow"]),
            (405, &"GET, POST, DELETE".parse().unwrap())
        );
    }
    let session = place.shake_hands(&ada()).await;
    for (version, status) in [("2025-06-18", 200), ("1999-01-01", 400), ("nonsense", 400), ("2099-01-01", 400)] {
        let ping = Ask::post(&request("ping", &json!({}))).by(&ada()).header("mcp-protocol-version", version);
        let in_session = Ask::post(&request("ping", &json!({}))).by(&ada()).header("mcp-protocol-version", version);
        let in_session = in_session.header("mcp-session-id", &session);
        assert_eq!(ping.send(&place.mcp).await.status, status, "{version}");
        assert_eq!(in_session.send(&place.mcp).await.status, status, "{version}");
    }
}

#[tokio::test]
async fn the_later_era_needs_no_handshake_and_its_headers_must_agree_with_the_body() {
    let place = Place::new();
    let discovered = stateless(request("server/discover", &json!({}))).by(&ada()).send(&place.mcp).await;
    assert_eq!((discovered.status.as_u16(), discovered.is_stream()), (200, false));
    assert!(discovered.answer()["result"]["supportedVersions"].to_string().contains("2026-07-28"));
    let listed = stateless(request("tools/list", &json!({}))).by(&ada()).send(&place.mcp).await;
    assert_eq!(listed.answer()["result"]["tools"].as_array().unwrap().len(), 6);
    let called = stateless(call("echo", &json!({}))).by(&ada()).send(&place.mcp).await;
    assert_eq!(called.answer()["result"]["resultType"], "complete");
    for (name, value) in [("mcp-method", "tools/call"), ("mcp-method", ""), ("mcp-protocol-version", "2025-06-18")] {
        let ask = stateless(request("tools/list", &json!({}))).by(&ada()).header(name, value);
        assert_eq!(ask.send(&place.mcp).await.status, 400, "{name}: {value}");
    }
}

#[tokio::test]
async fn the_embedding_server_learns_what_was_called_and_how_it_went() {
    let place = Place::new();
    let session = place.shake_hands(&ada()).await;
    for (session, message, method, tool, outcome) in [
        (None, call("echo", &json!({"secret": 1})), "tools/call", Some("echo"), Some("ok")),
        (Some(&session), call("echo", &json!({"secret": 1})), "tools/call", Some("echo"), Some("ok")),
        (Some(&session), call("users", &json!({})), "tools/call", Some("users"), Some("denied")),
        (None, call("no\u{202e}pe", &json!({})), "tools/call", Some("no<U+202E>pe"), Some("unknown_tool")),
        (None, request("tools/list", &json!({})), "tools/list", None, None),
        (None, request("no/such", &json!({})), "unknown", None, Some("refused")),
    ] {
        let answered = place.post(&ada(), session.map(String::as_str), &message).await;
        let called = answered.called.unwrap();
        assert_eq!((called.method.as_str(), called.tool.as_deref(), called.outcome()), (method, tool, outcome));
        assert!(!format!("{called:?}").contains("secret"));
    }
}
