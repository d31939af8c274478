//! Full disks, read-only disks, damaged files, crowds and kills: a comment is kept whole, or its writer is told.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use lore_testkit::Random;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::messages_agent::{Agent, Desk, NOTHING, TOOL, checked, comments_of, fed, finished, json_of};
use crate::tiny_disk::TinyDisk;

/// The waiting comments in another home, oldest first.
#[track_caller]
fn waiting_in(desk: &Desk, home: &str) -> Vec<String> {
    let listed = desk.json(&["--home", home, "--json", "comments", "list", "--state", "waiting", "--limit", "500"]);
    let mut texts = comments_of(&listed["comments"]);
    texts.reverse();
    texts
}

fn agent_in(desk: &Desk, home: &str) -> Agent {
    let mut agent = Agent::start(desk.lore(&["--home", home, "serve", "--toolsets", "messages"]));
    agent.shake_hands();
    agent
}

#[test]
fn a_full_disk_loses_no_comment_and_shows_the_one_it_cannot_keep() {
    let desk = Desk::new();
    let Some(disk) = TinyDisk::mount(&desk.place.path("disk")) else { return };
    let home = disk.home();
    let filler = format!("{}/filler", disk.0);
    fs::write(&filler, vec![0; 500 << 10]).expect("there is space");
    let mut random = Random::new(3);
    let mut kept = Vec::new();
    let refused = loop {
        // What hardly compresses fills the disk.
        let noise = (0..500).map(|_| format!("{:016x}", random.number())).collect::<Vec<_>>().join(" ");
        let text = format!("comment {} {noise}", kept.len());
        let output =
            fed(desk.lore(&["--home", &home, "comment", "--file", "src/main.rs", "--line", "4"]), text.as_bytes());
        if !output.status.success() {
            assert_eq!(output.status.code(), Some(7), "{}", output.stderr);
            assert!(output.stderr.contains(&text), "what was typed is shown");
            break output.stderr.replace(&noise, "…");
        }
        kept.push(text);
        assert!(kept.len() < 1_000, "the disk is never full");
    };
    assert!(refused.contains("no space is left") && refused.contains("free some space"), "{refused}");
    assert!(kept.len() > 5, "{}", kept.len());
    assert_eq!(waiting_in(&desk, &home), kept, "nothing half-stored, all others intact");
    // Whether a full disk lets them be delivered is up to the disk; a failure is told, and nothing is lost.
    let mut agent = agent_in(&desk, &home);
    let answer = agent.request("tools/call", &json!({"name": TOOL, "arguments": {}}));
    let mut got = if answer["result"]["isError"] == true {
        let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(said.contains("no space is left"), "{said}");
        Vec::new()
    } else {
        checked(&answer).comments()
    };
    fs::remove_file(filler).expect("space can be made");
    got.extend(agent.check_all());
    assert_eq!(got, kept, "each once");
    drop(agent);
    assert_eq!(agent_in(&desk, &home).check().text, NOTHING);
    json_of(desk.lore(&["--home", &home, "comment", "--json", "--file", "src/main.rs", "now it fits"]));
    assert_eq!(waiting_in(&desk, &home), ["now it fits"]);
}

#[test]
fn a_read_only_home_shows_the_comment_it_cannot_keep() {
    let desk = Desk::new();
    let Some(disk) = TinyDisk::mount(&desk.place.path("disk")) else { return };
    let home = disk.home();
    json_of(desk.lore(&["--home", &home, "comment", "--json", "--file", "src/main.rs", "before"]));
    disk.remount("ro");
    let said = desk.refused(7, &["--home", &home, "comment", "--file", "src/main.rs", "typed with care"]);
    assert!(said.contains("typed with care") && said.contains("hint: "), "{said}");
    let mut agent = agent_in(&desk, &home);
    let answer = agent.request("tools/call", &json!({"name": TOOL, "arguments": {}}));
    assert_eq!(answer["result"]["isError"], true, "what cannot be noted is not delivered: {answer}");
    drop(agent);
    disk.remount("rw");
    assert_eq!(waiting_in(&desk, &home), ["before"]);
    assert_eq!(agent_in(&desk, &home).check().comments(), ["before"]);
}

/// Everything that touches the messages fails in words that say what to do, and leaves the file as it is.
#[track_caller]
fn assert_left_alone(desk: &Desk, words: &[&str]) {
    let file = desk.place.lore.home().join("messages.db");
    let before = fs::read(&file).expect("the file is there");
    let says = |said: &str| {
        for word in words.iter().chain(&["messages.db"]) {
            assert!(said.contains(word), "{word:?} is not in {said}");
        }
    };
    for args in [
        &["comment", "--file", "src/main.rs", "typed with care"][..],
        &["comments", "list"],
        &["comments", "show", "1"],
        &["comments", "withdraw", "1"],
    ] {
        let output = finished(&mut desk.lore(args));
        assert!(!output.status.success(), "{args:?} works");
        says(&output.stderr);
        assert!(args[0] != "comment" || output.stderr.contains("typed with care"), "{}", output.stderr);
    }
    let mut agent = desk.agent();
    let answer = agent.request("tools/call", &json!({"name": TOOL, "arguments": {}}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    says(&answer["result"]["content"].to_string());
    let answer = agent.request("resources/read", &json!({"uri": crate::messages_agent::URI}));
    says(answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")));
    drop(agent);
    assert!(fs::read(&file).expect("the file is there") == before, "the file was changed");
}

#[test]
fn a_damaged_database_is_told_and_never_overwritten() {
    let desk = Desk::new();
    let file = desk.place.lore.home().join("messages.db");
    for damage in ["head", "all", "text"] {
        desk.say("before");
        let mut bytes = fs::read(&file).expect("the file is there");
        match damage {
            "head" => bytes[..100].fill(0x55),
            "all" => bytes.iter_mut().for_each(|byte| *byte = !*byte),
            _ => bytes = b"this is no database\n".repeat(400),
        }
        fs::write(&file, &bytes).expect("the file can be written");
        assert_left_alone(&desk, &["damaged"]);
        fs::remove_file(&file).expect("a user can move it away");
        assert_eq!(desk.agent().check().text, NOTHING, "then all begins anew");
    }
}

#[test]
fn a_page_that_is_damaged_is_told() {
    let desk = Desk::new();
    for number in 0..20 {
        desk.say(&format!("comment {number} {}", "x".repeat(500)));
    }
    let file = desk.place.lore.home().join("messages.db");
    let clean = fs::read(&file).expect("the file is there");
    let mut told = 0;
    for page in 1..clean.len() / 4096 {
        let mut bytes = clean.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
        fs::write(&file, &bytes).expect("the file can be written");
        let listed = finished(&mut desk.lore(&["--json", "comments", "list", "--limit", "500"]));
        if listed.status.success() {
            // A page that is not needed for it.
            let listed: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
            assert_eq!(comments_of(&listed["comments"]).len(), 20, "page {page}: some are silently missing");
        } else {
            told += 1;
            assert!(
                listed.stderr.contains("messages.db") && listed.stderr.contains("damaged"),
                "page {page}: {}",
                listed.stderr
            );
        }
        assert!(fs::read(&file).expect("the file is there") == bytes, "page {page}: the file was changed");
    }
    assert!(told > 0, "no damage was ever found");
}

#[test]
fn what_a_newer_lore_wrote_is_left_alone() {
    let desk = Desk::new();
    desk.say("before");
    let database = Connection::open(desk.place.lore.home().join("messages.db")).expect("the database opens");
    database.pragma_update(None, "user_version", 99).expect("a version can be set");
    database.close().expect("it closes");
    assert_left_alone(&desk, &["newer"]);
}

#[test]
fn two_hundred_writers_at_once_make_the_database_together() {
    let desk = Desk::new();
    let writers: Vec<Child> = (0..200)
        .map(|number| {
            let mut command = desk.lore(&["comment", "--json", "--file", "src/main.rs", "--line", "4"]);
            command.arg(format!("comment {number}"));
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("lore starts")
        })
        .collect();
    let mut ids: Vec<i64> = writers
        .into_iter()
        .map(|writer| {
            let output = writer.wait_with_output().expect("it can be waited for");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let kept: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            kept["id"].as_i64().expect("a number")
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=200).collect::<Vec<_>>());
    assert_eq!(desk.agent().check_all().len(), 200);
}

/// Whether SQLite itself finds nothing wrong.
#[track_caller]
fn assert_sound(file: &Path) {
    let database = Connection::open(file).expect("the database opens");
    let said: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("it can be checked");
    assert_eq!(said, "ok");
}

#[test]
fn a_killed_writer_leaves_a_database_that_opens() {
    let desk = Desk::new();
    let mut random = Random::new(7);
    let (mut kept, mut killed) = (Vec::new(), 0);
    // A debug build takes about so long; moments are spread over all of it, from the first start on.
    let began = Instant::now();
    finished(&mut desk.lore(&["comments", "list"]));
    let usual = began.elapsed() * 3;
    for number in 0..60 {
        let text = format!("comment {number}");
        let mut command = desk.lore(&["comment", "--file", "src/main.rs", "--line", "4", &text]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("lore starts");
        std::thread::park_timeout(random.within(usual.min(Duration::from_secs(1))));
        child.kill().expect("a child can be killed");
        let output = child.wait_with_output().expect("it can be waited for");
        let told = String::from_utf8_lossy(&output.stdout).contains("is waiting for the agent");
        if told {
            kept.push(text.clone());
        }
        killed += usize::from(!output.status.success());
        let waiting = desk.waiting();
        assert!(kept.iter().all(|text| waiting.contains(text)), "what was confirmed is lost: {kept:?} {waiting:?}");
        if desk.place.lore.home().join("messages.db").exists() {
            assert_sound(&desk.place.lore.home().join("messages.db"));
        }
    }
    // Whether kills came in time is up to the machine, so it is told and not asserted.
    let told =
        writeln!(std::io::stderr(), "{killed} of 60 writers were killed, {} had told that they were done", kept.len());
    told.expect("standard error is open");
    desk.say("the last one");
    let got = desk.agent().check_all();
    assert_eq!(got.last().map(String::as_str), Some("the last one"));
    assert!(kept.iter().all(|text| got.contains(text)), "{kept:?} {got:?}");
}
