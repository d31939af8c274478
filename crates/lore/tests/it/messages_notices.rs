//! An agent that wants to know hears of a message when it comes, in both eras of the protocol.
//!
//! That nothing was said is seen by what was said after it: notifications come in the order of the messages.

use std::{fs, io::Write as _, path::Path, process::Command, time::Instant};

use serde_json::{Value, json};

use crate::{
    messages_agent::{Agent, Desk, URI, finished},
    switches,
};

const UPDATED: &str = "notifications/resources/updated";
const LOGGED: &str = "notifications/message";

/// What a request of the stateless era says about its client.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A server that nobody shook hands with.
fn stateless(desk: &Desk) -> Agent {
    Agent::start(desk.lore(&["serve", "--toolsets", "messages"]))
}

/// Opens a stream for the messages; it is acknowledged.
#[track_caller]
fn listen(agent: &mut Agent, meta: &Value) -> u64 {
    let asked = json!({"notifications": {"resourceSubscriptions": [URI]}, "_meta": meta});
    let id = agent.send("subscriptions/listen", &asked);
    let told = agent.notification();
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged", "{told}");
    assert_eq!(told["params"]["notifications"]["resourceSubscriptions"], json!([URI]), "{told}");
    assert_eq!(subscription(&told), id, "{told}");
    id
}

fn subscription(told: &Value) -> &Value {
    &told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

#[test]
fn a_subscriber_is_told_of_each_message_of_its_project() {
    let desk = Desk::new();
    desk.say("there before");
    let other = desk.place.repo("other");
    other.write("a.rs", "fn a() {}\n");
    let mut agent = desk.agent();
    agent.request("resources/subscribe", &json!({"uri": URI}));
    agent.request("logging/setLevel", &json!({"level": "info"}));
    desk.say_at(other.path(), "a.rs", "for another project");
    desk.say("first");
    for comment in ["first", "second"] {
        let told = agent.notification();
        assert_eq!(told, json!({"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": URI}}));
        let told = agent.notification();
        assert_eq!(told["params"]["data"], json!({"file": "src/main.rs"}), "{told}");
        let content = agent.read();
        assert!(content["text"].as_str().is_some_and(|text| text.contains(comment)), "{content}");
        if comment == "first" {
            desk.say("second");
        }
    }
    assert_eq!(agent.passed(), Vec::<String>::new());
}

#[test]
fn log_messages_come_to_who_asked_for_them_as_documented() {
    let desk = Desk::new();
    let mut agent = desk.agent();
    let answer = agent.request("logging/setLevel", &json!({"level": "info"}));
    assert_eq!(answer["result"], json!({}), "{answer}");
    desk.say("first");
    let told = agent.notification();
    assert_eq!(told["method"], LOGGED, "{told}");
    let params = &told["params"];
    assert_eq!(
        (&params["level"], &params["message"], &params["data"]),
        (&json!("info"), &json!("New message from lazygit"), &json!({"file": "src/main.rs"})),
        "{told}"
    );
    // Who wants only what is worse is not told; `debug` tells again, and nothing came in between.
    agent.request("logging/setLevel", &json!({"level": "warning"}));
    agent.request("resources/subscribe", &json!({"uri": URI}));
    desk.say("second");
    assert_eq!(agent.notification()["method"], UPDATED);
    agent.request("logging/setLevel", &json!({"level": "debug"}));
    agent.request("resources/unsubscribe", &json!({"uri": URI}));
    desk.say("third");
    assert_eq!(agent.notification()["method"], LOGGED);
    assert_eq!(agent.passed(), Vec::<String>::new());
}

#[test]
fn who_did_not_ask_for_log_messages_gets_none() {
    let desk = Desk::new();
    let mut agent = desk.agent();
    agent.request("resources/subscribe", &json!({"uri": URI}));
    for number in 0..3 {
        desk.say(&format!("comment {number}"));
        // The log message of the one before would have come before this.
        assert_eq!(agent.notification()["method"], UPDATED);
    }
    agent.request("ping", &json!({}));
    assert_eq!(agent.passed(), Vec::<String>::new());
}

#[test]
fn after_unsubscribe_nothing_is_told() {
    let desk = Desk::new();
    let mut agent = desk.agent();
    agent.request("resources/subscribe", &json!({"uri": URI}));
    agent.request("logging/setLevel", &json!({"level": "info"}));
    desk.say("first");
    assert_eq!(
        (agent.notification()["method"].take(), agent.notification()["method"].take()),
        (json!(UPDATED), json!(LOGGED))
    );
    let answer = agent.request("resources/unsubscribe", &json!({"uri": URI}));
    assert_eq!(answer["result"], json!({}), "{answer}");
    for number in 0..2 {
        desk.say(&format!("comment {number}"));
        // Subscribers are told first, so it would stand before this.
        assert_eq!(agent.notification()["method"], LOGGED);
    }
    agent.request("resources/subscribe", &json!({"uri": URI}));
    desk.say("again");
    assert_eq!(agent.notification()["method"], UPDATED);
}

#[test]
fn an_open_request_of_the_stateless_era_hears_of_each_message() {
    let desk = Desk::new();
    let mut agent = stateless(&desk);
    let id = listen(&mut agent, &meta());
    for number in 0..3 {
        desk.say(&format!("comment {number}"));
        let told = agent.notification();
        assert_eq!((&told["method"], &told["params"]["uri"]), (&json!(UPDATED), &json!(URI)), "{told}");
        assert_eq!(subscription(&told), id, "{told}");
    }
    let answer =
        agent.request("tools/call", &json!({"name": crate::messages_agent::TOOL, "arguments": {}, "_meta": meta()}));
    let messages = &answer["result"]["_meta"]["lore/messages"];
    assert_eq!(messages.as_array().map(Vec::len), Some(3), "{answer}");
    // Nothing was logged that was not asked for.
    assert_eq!(agent.passed(), Vec::<String>::new());
}

#[test]
fn an_open_request_may_ask_for_log_messages_too() {
    let desk = Desk::new();
    let mut agent = stateless(&desk);
    let mut meta = meta();
    meta["io.modelcontextprotocol/logLevel"] = json!("info");
    let id = listen(&mut agent, &meta);
    desk.say("first");
    let mut told = [agent.notification(), agent.notification()];
    told.sort_by_key(|told| told["method"].to_string());
    assert_eq!((&told[0]["method"], &told[1]["method"]), (&json!(LOGGED), &json!(UPDATED)));
    assert_eq!(told[0]["params"]["data"]["file"], "src/main.rs");
    assert!(told.iter().all(|told| subscription(told) == id), "{told:?}");
}

#[test]
fn several_open_requests_are_told_each_and_a_cancelled_one_is_not() {
    let desk = Desk::new();
    let mut agent = stateless(&desk);
    let ids = [listen(&mut agent, &meta()), listen(&mut agent, &meta())];
    desk.say("for both");
    let mut told = [agent.notification(), agent.notification()].map(|told| subscription(&told).as_u64());
    told.sort_unstable();
    assert_eq!(told, ids.map(Some));
    let cancelled = json!({"requestId": ids[0], "_meta": meta()});
    agent.write(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}).to_string());
    // Its number is free again only once it is over.
    let fence = agent.request("tools/list", &json!({"_meta": meta()}));
    assert!(fence["result"].is_object(), "{fence}");
    for number in 0..3 {
        desk.say(&format!("comment {number}"));
        let told = agent.notification();
        assert_eq!((&told["method"], subscription(&told)), (&json!(UPDATED), &json!(ids[1])), "{told}");
    }
}

#[test]
fn the_end_of_the_input_ends_the_server_though_a_request_is_open() {
    let desk = Desk::new();
    let mut agent = stateless(&desk);
    listen(&mut agent, &meta());
    let began = Instant::now();
    let (status, log) = agent.end();
    assert!(status.success(), "{log}");
    // Answers that are under way get a minute; this one would never come.
    assert!(began.elapsed().as_secs() < 50, "it took {:?}: {log}", began.elapsed());
    let mut agent = desk.agent();
    agent.request("resources/subscribe", &json!({"uri": URI}));
    let (status, log) = agent.end();
    assert!(status.success(), "{log}");
}

#[test]
fn what_is_no_resource_cannot_be_listened_to() {
    let desk = Desk::new();
    let mut agent = stateless(&desk);
    let asked = json!({"notifications": {"resourceSubscriptions": ["file:///etc/passwd", URI]}, "_meta": meta()});
    agent.send("subscriptions/listen", &asked);
    let told = agent.notification();
    assert_eq!(told["params"]["notifications"]["resourceSubscriptions"], json!([URI]), "{told}");
    // Each era has its own way.
    let answer = agent.request("subscriptions/listen", &json!({"notifications": {"resourceSubscriptions": [URI]}}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    let answer = agent.request("resources/subscribe", &json!({"uri": URI, "_meta": meta()}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}

#[test]
fn a_message_from_a_second_server_s_inbox_is_announced_by_both() {
    let desk = Desk::new();
    let mut agents = [desk.agent(), desk.agent()];
    for agent in &mut agents {
        agent.request("resources/subscribe", &json!({"uri": URI}));
    }
    let left =
        json!({"file": "a.go", "comment": "left", "project_root": desk.repo.path(), "time": "2025-07-01T10:30:00Z"});
    desk.leave(&left.to_string());
    for agent in &mut agents {
        assert_eq!(agent.notification()["method"], UPDATED);
    }
}

#[test]
fn a_database_in_the_place_of_one_that_was_moved_away_is_listened_to_as_well() {
    let desk = Desk::new();
    let mut agent = desk.agent();
    agent.request("resources/subscribe", &json!({"uri": URI}));
    for number in 0..3 {
        desk.say(&format!("comment {number}"));
        assert_eq!(agent.notification()["method"], UPDATED);
    }
    for entry in fs::read_dir(desk.place.lore.home()).expect("the home is there") {
        let entry = entry.expect("an entry");
        if entry.file_name().to_string_lossy().starts_with("messages.db") {
            fs::remove_file(entry.path()).expect("a file can be removed");
        }
    }
    // Its numbers begin anew.
    assert_eq!(desk.say("in the new one"), 1);
    assert_eq!(agent.notification()["method"], UPDATED);
    assert_eq!(agent.check().comments(), ["in the new one"]);
}

/// The official Python SDK, subscribed in one of the eras: it hears of every comment. How fast is told, not judged.
#[track_caller]
fn check_sdk(mode: &str, protocol: &str) {
    const COMMENTS: usize = 10;
    let Some(clients) = switches::clients() else { return };
    let desk = Desk::new();
    let lore = desk.lore(&["serve", "--toolsets", "messages"]);
    let text = |value: &std::ffi::OsStr| value.to_str().expect("UTF-8").to_owned();
    let environment: serde_json::Map<String, Value> =
        lore.get_envs().filter_map(|(name, value)| Some((text(name), text(value?).into()))).collect();
    let program = text(lore.get_program());
    let comment =
        |number| json!([program, "comment", "--file", "src/main.rs", "--line", "4", format!("comment {number}")]);
    let plan = json!({
        "command": program, "args": lore.get_args().map(text).collect::<Vec<_>>(), "env": environment,
        "cwd": desk.repo.path(), "mode": mode, "uri": URI, "changes": (0..COMMENTS).map(comment).collect::<Vec<_>>(),
    });
    let output = finished(&mut python(&clients, &plan));
    assert!(output.status.success(), "{}", output.stderr);
    let seen: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!((&seen["protocol"], &seen["uris"]), (&json!(protocol), &json!(vec![URI; COMMENTS])), "{seen}");
    let told =
        writeln!(std::io::stderr(), "{mode}: heard so many ms after `lore comment` returned: {}", seen["took_ms"]);
    told.expect("standard error is open");
    assert_eq!(desk.waiting().len(), COMMENTS);
}

#[expect(
    clippy::disallowed_methods,
    reason = "other people's clients are started with the environment they are installed for"
)]
fn python(clients: &Path, plan: &Value) -> Command {
    let mut command = Command::new(clients.join("venv/bin/python"));
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/python_subscriber.py")).arg(plan.to_string());
    command
}

#[test]
fn a_subscribed_python_client_hears_of_a_comment_when_it_shakes_hands() {
    check_sdk("legacy", "2025-11-25");
}

#[test]
fn a_subscribed_python_client_hears_of_a_comment_in_the_stateless_era() {
    check_sdk("2026-07-28", "2026-07-28");
}
