//! The file of lazygit-mcp-bridge, as existing set-ups go on writing it.

use std::{
    fs,
    io::Write as _,
    time::{Duration, UNIX_EPOCH},
};

use serde_json::{Value, json};

use crate::messages_agent::{Agent, Desk, NOTHING, TOOL, URI, finished};

const TIME: &str = "2025-07-01T10:30:00Z";

fn message(desk: &Desk, comment: &str) -> Value {
    json!({"file": "src/main.rs", "line": "4", "comment": comment, "project_root": desk.repo.path(), "time": TIME})
}

/// Files of the old bridge that are there, by their names.
fn files(desk: &Desk) -> Vec<String> {
    let folder = desk.inbox().parent().expect("a file has a folder").to_owned();
    let entries = fs::read_dir(folder).expect("the folder is there");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_line_may_be_a_number_or_text_or_missing() {
    let desk = Desk::new();
    let mut agent = desk.agent();
    let cases = [
        (json!("42"), Some("42")),
        (json!(42), Some("42")),
        (json!("7-9"), Some("7-9")),
        (json!(""), None),
        (json!(null), None),
        (json!(0), None),
        (json!("x"), None),
    ];
    for (number, (line, expected)) in cases.into_iter().enumerate() {
        let mut left = message(&desk, &format!("comment {number}"));
        left["line"] = line.clone();
        desk.leave(&left.to_string());
        let checked = agent.check();
        let row = expected.map(|line| format!("Line: {line}\n")).unwrap_or_default();
        let text = format!(
            "Message 1:\nFile: src/main.rs\n{row}Comment: comment {number}\nTime: {TIME}\n\nPlease improve this code."
        );
        assert_eq!(checked.text, text, "{line}");
    }
    let mut left = message(&desk, "without");
    left.as_object_mut().expect("an object").remove("line");
    desk.leave(&left.to_string());
    assert!(!agent.check().text.contains("Line:"));
}

#[test]
fn a_message_without_a_project_goes_to_whoever_asks_first() {
    let desk = Desk::new();
    let other = desk.place.repo("other");
    for (number, left) in [
        json!({"file": "a.go", "comment": "0", "time": TIME}),
        json!({"file": "a.go", "comment": "1", "project_root": "", "time": TIME}),
    ]
    .into_iter()
    .enumerate()
    {
        desk.leave(&left.to_string());
        assert_eq!(desk.agent_at(other.path()).check().comments(), [number.to_string()]);
        assert_eq!(desk.agent().check().text, NOTHING);
    }
}

#[test]
fn the_same_file_written_twice_is_one_message() {
    let desk = Desk::new();
    let mut agent = desk.agent();
    for _ in 0..3 {
        desk.leave(&message(&desk, "again").to_string());
        agent.read();
        assert_eq!(files(&desk), Vec::<String>::new());
    }
    assert_eq!(agent.check().comments(), ["again"]);
    // Not even after it was delivered, nor by another server.
    desk.leave(&message(&desk, "again").to_string());
    assert_eq!(desk.agent().check().text, NOTHING);
    assert_eq!(files(&desk), Vec::<String>::new());
    // The line is no part of what tells two apart.
    let mut elsewhere = message(&desk, "again");
    elsewhere["line"] = json!("7");
    desk.leave(&elsewhere.to_string());
    assert_eq!(agent.check().text, NOTHING);
    assert_eq!(files(&desk), Vec::<String>::new());
    // Another time is another message.
    let mut later = message(&desk, "again");
    later["time"] = json!("2025-07-01T10:30:01Z");
    desk.leave(&later.to_string());
    assert_eq!(agent.check().comments(), ["again"]);
}

#[test]
fn a_half_written_file_is_left_until_it_is_whole() {
    let desk = Desk::new();
    let mut agent = desk.agent();
    agent.request("resources/subscribe", &json!({"uri": URI}));
    let whole = message(&desk, "in two parts").to_string();
    let (first, second) = whole.split_at(whole.len() / 2);
    desk.leave(first);
    for _ in 0..3 {
        assert_eq!(agent.check().text, NOTHING);
    }
    assert_eq!(fs::read_to_string(desk.inbox()).expect("it is still there"), first);
    let mut file = fs::OpenOptions::new().append(true).open(desk.inbox()).expect("the writer goes on");
    file.write_all(second.as_bytes()).expect("it can be written");
    drop(file);
    let told = agent.notification();
    assert_eq!(told["params"]["uri"], URI, "{told}");
    assert_eq!(agent.check().comments(), ["in two parts"]);
    assert_eq!(files(&desk), Vec::<String>::new());
}

#[test]
fn what_cannot_be_read_is_told_and_stays() {
    let desk = Desk::new();
    desk.say("unharmed");
    for garbage in ["not JSON", "", "{}", "[1]", r#"{"file": 5, "comment": "x", "time": "t"}"#, "\u{0}\u{1}"] {
        desk.leave(garbage);
        // It has been lying there for long: nobody is at it any more.
        let file = fs::OpenOptions::new().write(true).open(desk.inbox()).expect("the file is there");
        file.set_modified(UNIX_EPOCH + Duration::from_hours(400_000)).expect("a time can be set");
        let mut agent = desk.agent();
        let shown = agent.read();
        assert!(shown["text"].as_str().is_some_and(|text| text.contains("unharmed")), "{garbage}");
        assert!(
            shown["_meta"]["lore/notes"][0].as_str().is_some_and(|note| note.contains("mcp-messages.json")),
            "{shown}"
        );
        agent.logged("mcp-messages.json");
        let listed = finished(&mut desk.lore(&["comments", "list"]));
        assert!(listed.status.success() && listed.stderr.contains("mcp-messages.json"), "{garbage}: {}", listed.stderr);
        assert_eq!(fs::read(desk.inbox()).expect("it is still there"), garbage.as_bytes());
    }
    // A folder of that name, and a file beyond all measure.
    fs::remove_file(desk.inbox()).expect("it can be removed");
    fs::create_dir(desk.inbox()).expect("a folder can be made");
    assert_eq!(desk.agent().read()["_meta"]["lore/messages"].as_array().map(Vec::len), Some(1));
    fs::remove_dir(desk.inbox()).expect("it can be removed");
    let mut huge = message(&desk, "huge");
    huge["comment"] = json!("x".repeat(1 << 20));
    desk.leave(&huge.to_string());
    assert_eq!(desk.agent().check().comments(), ["unharmed"]);
    assert!(desk.inbox().exists());
}

#[test]
fn what_cannot_be_read_is_reported_once_for_each_content_and_holds_up_nothing() {
    let desk = Desk::new();
    let old = |content: &str| {
        desk.leave(content);
        let file = fs::OpenOptions::new().write(true).open(desk.inbox()).expect("the file is there");
        file.set_modified(UNIX_EPOCH + Duration::from_hours(400_000)).expect("a time can be set");
    };
    let mut agent = desk.agent();
    agent.request("resources/subscribe", &json!({"uri": URI}));
    // The reason is the same for both.
    for content in ["[1]", "[2]"] {
        old(content);
        for _ in 0..3 {
            let answer = agent.request("tools/call", &json!({"name": TOOL, "arguments": {}}));
            let content = &answer["result"]["content"];
            assert_eq!(content[0]["text"], NOTHING, "{answer}");
            assert!(content[1]["text"].as_str().is_some_and(|note| note.contains("mcp-messages.json")), "{answer}");
        }
        let said = finished(&mut desk.lore(&["doctor"]));
        assert!(String::from_utf8_lossy(&said.stdout).contains("mcp-messages.json"), "{}", said.stderr);
    }
    // The next message replaces it, as the next message always does.
    desk.leave(&message(&desk, "valid").to_string());
    agent.notification();
    assert_eq!(agent.check().comments(), ["valid"]);
    let (_, log) = agent.end();
    assert_eq!(log.matches("mcp-messages.json").count(), 2, "{log}");
    // Whoever asks right after the file was written wants to know at once.
    desk.leave("not JSON");
    let listed = finished(&mut desk.lore(&["comments", "list"]));
    assert!(listed.stderr.contains("mcp-messages.json holds no message that can be read"), "{}", listed.stderr);
    assert_eq!(fs::read_to_string(desk.inbox()).expect("it is still there"), "not JSON");
}

#[test]
fn what_is_written_while_the_server_runs_is_taken_over_and_announced() {
    let desk = Desk::new();
    let mut agent = desk.agent();
    agent.request("resources/subscribe", &json!({"uri": URI}));
    for number in 0..3 {
        desk.leave(&message(&desk, &format!("comment {number}")).to_string());
        let told = agent.notification();
        assert_eq!((&told["method"], &told["params"]["uri"]), (&json!("notifications/resources/updated"), &json!(URI)));
        assert_eq!(files(&desk), Vec::<String>::new(), "it is removed when it is kept");
    }
    assert_eq!(agent.check().comments(), ["comment 0", "comment 1", "comment 2"]);
}

#[test]
fn what_a_killed_server_moved_aside_is_taken_over_by_the_next() {
    let desk = Desk::new();
    desk.leave(&message(&desk, "in place").to_string());
    for (name, comment) in [("lore-4711-0", "aside"), ("lore-4711-1", "aside too")] {
        let path = desk.inbox().with_file_name(format!("mcp-messages.json.{name}"));
        fs::write(path, message(&desk, comment).to_string()).expect("a file can be written");
    }
    // Not ours.
    fs::write(desk.inbox().with_file_name("mcp-messages.json.bak"), "{}").expect("a file can be written");
    let mut got = desk.agent().check().comments();
    got.sort();
    assert_eq!(got, ["aside", "aside too", "in place"]);
    assert_eq!(files(&desk), ["mcp-messages.json.bak"]);
}

#[test]
fn the_configuration_folder_of_the_system_is_followed() {
    let desk = Desk::new();
    let config = desk.place.path("config");
    let inbox = format!("{config}/jesseduffield/lazygit/mcp-messages.json");
    fs::create_dir_all(format!("{config}/jesseduffield/lazygit")).expect("a folder can be made");
    fs::write(&inbox, message(&desk, "elsewhere").to_string()).expect("a file can be written");
    desk.leave(&message(&desk, "at home").to_string());
    let mut command = desk.lore(&["serve", "--toolsets", "messages"]);
    let mut agent = Agent::start({
        command.env("XDG_CONFIG_HOME", &config);
        command
    });
    agent.shake_hands();
    assert_eq!(agent.check().comments(), ["elsewhere"]);
    assert!(!std::path::Path::new(&inbox).exists() && desk.inbox().exists());
}

#[test]
fn many_servers_take_one_file_over_once() {
    let desk = Desk::new();
    let mut agents = [(); 4].map(|()| desk.agent());
    for round in 0..5 {
        let comment = format!("comment {round}");
        desk.leave(&message(&desk, &comment).to_string());
        let got: Vec<String> = std::thread::scope(|scope| {
            let asked: Vec<_> = agents.iter_mut().map(|agent| scope.spawn(|| agent.check_all())).collect();
            asked.into_iter().flat_map(|asked| asked.join().expect("every call is answered")).collect()
        });
        let rest = agents[0].check_all();
        assert_eq!([got, rest].concat(), [comment]);
    }
    assert_eq!(files(&desk), Vec::<String>::new());
}
