//! Kills and I/O errors at each single write of a comment and of its delivery, with strace as the hand that does it.
//!
//! Where there is no strace, or it may not trace, these tests say so and end.

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::{
    messages_agent::{Agent, Desk, TOOL, URI, checked, fed, finished},
    switches,
};

/// More writes than a comment or its delivery has: the loops end by themselves long before.
const MOST: usize = 300;

/// `lore` with a fault at its N-th call of one of these kinds.
#[expect(clippy::disallowed_methods, reason = "strace starts lore here, in the environment that the desk gives it")]
fn traced(desk: &Desk, fault: &str, calls: &str, number: usize, args: &[&str]) -> Command {
    let lore = desk.lore(args);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", &desk.place.path("trace"), "-e", &format!("trace={calls}")]);
    command.args(["-e", &format!("inject={calls}:{fault}:when={number}")]);
    command.arg(lore.get_program()).args(lore.get_args()).current_dir(desk.repo.path()).env_clear();
    command.envs(lore.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// Whether there is a strace that works here.
#[expect(clippy::disallowed_methods, reason = "whether there is such a program is what is asked")]
pub(crate) fn can_trace() -> bool {
    let tried = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        let said = writeln!(std::io::stderr(), "skipped: strace is missing or may not trace");
        said.expect("standard error is open");
    }
    can
}

/// The faults, each at its N-th call of these.
fn faults() -> Vec<(&'static str, &'static str)> {
    let quick = [("signal=SIGKILL", "pwrite64"), ("error=ENOSPC", "pwrite64")];
    let slow = [
        ("signal=SIGKILL", "fsync,fdatasync"),
        ("signal=SIGKILL", "ftruncate,unlink,mkdir,flock"),
        ("error=EIO", "pwrite64"),
        ("error=EIO", "fsync,fdatasync"),
    ];
    let slow = slow.into_iter().filter(|_| switches::slow_tests());
    quick.into_iter().chain(slow).collect()
}

/// Whether the fault came about: after the last call there is none.
fn struck(desk: &Desk) -> bool {
    let trace = fs::read_to_string(desk.place.path("trace")).expect("strace wrote its trace");
    trace.contains("INJECTED") || trace.contains("killed by SIGKILL")
}

#[track_caller]
fn assert_sound(desk: &Desk) {
    let file = desk.place.lore.home().join("messages.db");
    if file.exists() {
        let database = Connection::open(file).expect("the database opens");
        let said: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("it is checked");
        assert_eq!(said, "ok");
    }
}

/// A fault at each write of a comment, the first in its home or a later one: it is kept, or its writer is told.
fn check_writer(desk: &Desk, begins_anew: bool) {
    let mut struck_in_all = 0;
    for (fault, calls) in faults() {
        let mut kept = Vec::new();
        for number in 1..MOST {
            // One that was killed early made none.
            if begins_anew && desk.place.lore.home().exists() {
                fs::remove_dir_all(desk.place.lore.home()).expect("a home can be removed");
            }
            kept.retain(|_| !begins_anew);
            let text = format!("{fault} {calls} {number} {begins_anew}");
            let output =
                finished(&mut traced(desk, fault, calls, number, &["comment", "--file", "src/main.rs", &text]));
            if output.status.success() {
                kept.push(text.clone());
            } else {
                let is_killed = fault.starts_with("signal");
                assert!(is_killed || output.stderr.contains(&text), "what was typed is shown: {}", output.stderr);
            }
            let waiting = desk.waiting();
            assert!(kept.iter().all(|text| waiting.contains(text)), "{text}: what was confirmed is lost");
            let told_failed = !output.status.success() && !fault.starts_with("signal");
            assert!(!told_failed || !waiting.contains(&text), "{text}: told to have failed, and kept");
            assert_sound(desk);
            if !struck(desk) {
                assert!(output.status.success(), "{}", output.stderr);
                break;
            }
            struck_in_all += 1;
        }
    }
    let told = writeln!(std::io::stderr(), "a comment was struck at {struck_in_all} points");
    told.expect("standard error is open");
    assert!(struck_in_all > 20, "{struck_in_all}");
}

#[test]
fn a_comment_is_kept_or_its_writer_is_told_whichever_write_fails() {
    if !can_trace() {
        return;
    }
    let desk = Desk::new();
    desk.say("the first");
    check_writer(&desk, false);
    if switches::slow_tests() {
        check_writer(&desk, true);
    }
}

#[test]
fn what_comes_while_the_watch_is_being_set_up_is_announced() {
    if !can_trace() {
        return;
    }
    let desk = Desk::new();
    desk.say("there before");
    let version = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for era in ["handshake", "stateless"] {
        // The system takes its time, so the client has subscribed long before.
        let fault = "delay_enter=1500000";
        let mut agent =
            Agent::start(traced(&desk, fault, "inotify_add_watch", 1, &["serve", "--toolsets", "messages"]));
        if era == "handshake" {
            agent.shake_hands();
            agent.request("resources/subscribe", &json!({"uri": URI}));
        } else {
            let asked = json!({"notifications": {"resourceSubscriptions": [URI]}, "_meta": version});
            agent.send("subscriptions/listen", &asked);
            let told = agent.notification();
            assert_eq!(told["method"], "notifications/subscriptions/acknowledged", "{told}");
        }
        desk.say(era);
        let told = agent.notification();
        assert_eq!(told["method"], "notifications/resources/updated", "{told}");
    }
}

/// A whole session as its input: a handshake and one call of the tool.
fn session() -> Vec<u8> {
    let client =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": TOOL, "arguments": {}}}),
    ];
    lines.map(|line| format!("{line}\n")).concat().into_bytes()
}

/// The comments that a server gave; none where it died or said that it failed.
fn given(output: &[u8]) -> Vec<String> {
    let answers = output.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let answer = answers.into_iter().find(|answer| answer["id"] == 2 && answer["result"]["isError"] != true);
    answer.map(|answer| checked(&answer).comments()).unwrap_or_default()
}

#[test]
fn a_message_is_delivered_whichever_write_of_its_delivery_fails() {
    if !can_trace() {
        return;
    }
    let desk = Desk::new();
    let mut struck_in_all = 0;
    for (fault, calls) in faults() {
        for number in 1..MOST {
            let text = format!("{fault} {calls} {number}");
            desk.say(&text);
            let args = ["serve", "--toolsets", "messages"];
            let first = given(&fed(traced(&desk, fault, calls, number, &args), &session()).stdout);
            let was_struck = struck(&desk);
            let second = given(&fed(desk.lore(&args), &session()).stdout);
            assert!(first.contains(&text) || second.contains(&text), "{text} is lost");
            assert!(was_struck || !second.contains(&text), "{text} is repeated for no reason");
            assert_eq!(desk.waiting(), Vec::<String>::new(), "{text}");
            assert_sound(&desk);
            if !was_struck {
                break;
            }
            struck_in_all += 1;
        }
    }
    let told = writeln!(std::io::stderr(), "a delivery was struck at {struck_in_all} points");
    told.expect("standard error is open");
    assert!(struck_in_all > 5, "{struck_in_all}");
}
