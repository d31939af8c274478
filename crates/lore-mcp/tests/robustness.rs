//! Whatever arrives, the server goes on and answers; whatever happens to its streams, it ends.

mod support;

use std::{collections::BTreeMap, future, time::Duration};

use proptest::prelude::*;
use serde_json::{Value, json};
use support::{server, session, transcript, virtual_time};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

const PING: &str = r#"{"jsonrpc":"2.0","id":"the last","method":"ping"}"#;

/// The answers to an input, each on its line.
fn answers(input: impl Into<Vec<u8>>) -> Vec<Value> {
    transcript(input).lines().map(|line| serde_json::from_str(line).expect("an answer is JSON")).collect()
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Something like a request: each part right, wrong or missing.
fn near_request() -> impl Strategy<Value = Value> {
    let method = prop_oneof![
        Just(json!("ping")),
        Just(json!("initialize")),
        Just(json!("server/discover")),
        Just(json!("tools/list")),
        Just(json!("tools/call")),
        Just(json!("resources/read")),
        json_value(),
    ];
    let params = prop_oneof![
        Just(json!({})),
        json_value().prop_map(|arguments| json!({ "name": "echo", "arguments": arguments })),
        json_value().prop_map(|name| json!({ "name": name })),
        Just(json!({ "name": "panic" })),
        json_value().prop_map(|meta| json!({ "name": "echo", "_meta": meta })),
        json_value().prop_map(|meta| json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": meta } })),
        json_value(),
    ];
    let version = prop_oneof![9 => Just(json!("2.0")), 1 => json_value()];
    let part = |name: &'static str, value: BoxedStrategy<Value>| {
        prop_oneof![8 => value.prop_map(Some), 1 => Just(None)].prop_map(move |value| value.map(|value| (name, value)))
    };
    (
        part("jsonrpc", version.boxed()),
        part("id", json_value().boxed()),
        part("method", method.boxed()),
        part("params", params.boxed()),
    )
        .prop_map(|(a, b, c, d)| {
            [a, b, c, d].into_iter().flatten().map(|(name, value)| (name.to_owned(), value)).collect()
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_end_the_server(
        lines in prop::collection::vec(prop::collection::vec(any::<u8>().prop_filter("no line end", |b| *b != b'\n'), 0..200), 0..20)
    ) {
        let mut input = lines.join(&b'\n');
        input.extend_from_slice(format!("\n{PING}\n").as_bytes());
        let answers = answers(input);
        let last = json!({ "jsonrpc": "2.0", "id": "the last", "result": {} });
        prop_assert!(answers.contains(&last));
    }

    #[test]
    fn everything_but_notifications_and_responses_is_answered(
        messages in prop::collection::vec(prop_oneof![4 => near_request(), 1 => json_value()], 1..10)
    ) {
        let mut lines: Vec<String> = messages.iter().map(Value::to_string).collect();
        lines.push(PING.to_owned());
        let input = lines.join("\n");
        let silent = |message: &&Value| {
            let method = message.get("method");
            method.is_some_and(Value::is_string) && message.get("id").is_none()
        };
        let expected = messages.len() - messages.iter().filter(silent).count();
        let answers = answers(input);
        prop_assert_eq!(answers.len(), expected + 1, "{:?}", answers);
    }
}

#[test]
fn a_flood_is_answered_to_the_last_request() {
    let calls = (0..5_000).map(|id| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\"}}}}\nnoise\n"
        )
    });
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for answer in answers(calls.collect::<String>()) {
        *times.entry(answer["id"].to_string()).or_default() += 1;
    }
    assert_eq!(times.remove("null"), Some(5_000));
    assert_eq!(times.len(), 5_000);
    assert!(times.values().all(|times| *times == 1));
}

#[test]
fn shutdown_ends_the_server_and_what_it_is_doing() {
    let hang = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}"#;
    let output = virtual_time(async {
        let started = tokio::time::Instant::now();
        let output = session(hang.into(), tokio::time::sleep(Duration::from_secs(5))).await;
        assert!(started.elapsed() < Duration::from_secs(9));
        output
    });
    assert_eq!(
        String::from_utf8(output).expect("answers are text"),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"the server is stopping\"}}\n"
    );
}

#[test]
fn shutdown_does_not_wait_for_a_client_that_does_not_read() {
    virtual_time(async {
        let (client, ours) = tokio::io::duplex(64);
        let (read, write) = tokio::io::split(ours);
        let (_unread, mut requests) = tokio::io::split(client);
        let send = async {
            // The answer to this is longer than what fits between the two.
            requests
                .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n")
                .await
                .expect("the server reads");
            tokio::time::sleep(Duration::from_secs(1)).await;
        };
        lore_mcp::serve(server(), read, write, send).await.expect("the server ends well");
    });
}

#[test]
fn a_client_that_is_gone_ends_the_server() {
    virtual_time(async {
        let (mut requests, read) = tokio::io::duplex(1024);
        let (answers, write) = tokio::io::duplex(1024);
        drop(answers);
        requests.write_all(format!("{PING}\n").as_bytes()).await.expect("the server reads");
        lore_mcp::serve(server(), read, write, future::pending()).await.expect("the server ends well");
    });
}

#[test]
fn answers_come_while_the_input_stays_open() {
    virtual_time(async {
        let (mut requests, read) = tokio::io::duplex(1024);
        let (answers, write) = tokio::io::duplex(1024);
        let talk = async {
            let mut answers = BufReader::new(answers).lines();
            for id in 0..3 {
                // A request may come in pieces.
                let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
                for piece in request.as_bytes().chunks(7) {
                    requests.write_all(piece).await.expect("the server reads");
                    tokio::task::yield_now().await;
                }
                let answer = answers.next_line().await.expect("the answer is text");
                assert_eq!(answer, Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}")));
            }
            drop(requests);
        };
        let (served, ()) = tokio::join!(lore_mcp::serve(server(), read, write, future::pending()), talk);
        served.expect("the server ends well");
    });
}
