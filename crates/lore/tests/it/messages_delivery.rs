//! Messages go to one reader, once, oldest first, and none is lost whoever goes away when.

use std::{
    fs::{self, File},
    io::Write as _,
    process::Stdio,
    time::{Duration, Instant},
};

use lore_testkit::Random;
use rusqlite::Connection;
use serde_json::json;

use crate::messages_agent::{Agent, Desk, NOTHING, PATIENCE, TOOL, URI, checked, json_of};

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("comment {number}")).collect()
}

#[test]
fn only_the_tool_call_clears() {
    let desk = Desk::new();
    desk.say("once");
    let mut agent = desk.agent();
    for _ in 0..3 {
        let content = agent.read();
        assert!(content["text"].as_str().is_some_and(|text| text.contains("Comment: once")), "{content}");
    }
    assert_eq!(desk.waiting(), ["once"], "looking leaves it there");
    assert_eq!(agent.check().comments(), ["once"]);
    assert_eq!(agent.check().text, NOTHING);
    assert_eq!(agent.read()["text"], NOTHING);
    assert_eq!(desk.waiting(), Vec::<String>::new());
}

#[test]
fn ten_come_at_a_time_oldest_first_and_the_rest_is_announced() {
    let desk = Desk::new();
    let said = texts(23);
    for text in &said {
        desk.say(text);
    }
    let mut agent = desk.agent();
    let content = agent.read();
    assert!(content["text"].as_str().is_some_and(|text| text.contains("13 more messages are waiting")), "{content}");
    let mut got = Vec::new();
    for (count, left, told) in [
        (10, 13, "13 more messages are waiting: call check_lazygit_messages again"),
        (10, 3, "3 more messages are waiting"),
        (3, 0, "Message 3:"),
    ] {
        let checked = agent.check();
        assert_eq!((checked.comments().len(), checked.waiting), (count, left), "{}", checked.text);
        assert!(checked.text.contains(told), "{}", checked.text);
        assert!(!checked.text.contains("Message 11:"), "{}", checked.text);
        got.extend(checked.comments());
    }
    assert_eq!(got, said);
    assert_eq!(agent.check().text, NOTHING);
}

#[test]
fn two_servers_of_one_project_share_and_each_message_comes_once() {
    let desk = Desk::new();
    let said = texts(60);
    for text in &said {
        desk.say(text);
    }
    let mut agents = [desk.agent(), desk.agent()];
    let got = std::thread::scope(|scope| {
        let readers: Vec<_> = agents.iter_mut().map(|agent| scope.spawn(|| agent.check_all())).collect();
        readers.into_iter().map(|reader| reader.join().expect("every call is answered")).collect::<Vec<_>>()
    });
    // One may find nothing while the other answers, so together they may stop early.
    let rest = agents[0].check_all();
    let mut all: Vec<String> = got.iter().flatten().chain(&rest).cloned().collect();
    let number = |text: &String| said.iter().position(|known| known == text).expect("only what was said");
    for one in &got {
        assert!(one.is_sorted_by_key(number), "a reader gets its messages in their order: {one:?}");
    }
    all.sort_by_key(number);
    assert_eq!(all, said, "each once, none lost");
}

/// A reader that has claimed a message and not answered yet, as its files show it: a lock that it holds, and a row.
fn busy_reader(desk: &Desk, message: i64) -> File {
    let home = desk.place.lore.home();
    fs::create_dir_all(home.join("readers")).expect("a folder can be made");
    let lock = File::create(home.join("readers/busy.lock")).expect("a file can be made");
    lock.lock().expect("a file can be locked");
    let database = Connection::open(home.join("messages.db")).expect("the database opens");
    let claimed = database.execute("INSERT INTO claims (message, reader) VALUES (?1, 'busy')", [message]);
    assert_eq!(claimed, Ok(1));
    lock
}

#[test]
fn what_another_reader_is_about_to_give_is_waited_for_but_not_for_ever() {
    let desk = Desk::new();
    let [first, _] = ["first", "second"].map(|text| desk.say(text));
    let mut agent = desk.agent();
    // It dies before it answered: then the order is kept.
    let lock = busy_reader(&desk, first);
    let began = Instant::now();
    let id = agent.send("tools/call", &json!({"name": TOOL, "arguments": {}}));
    pause(Duration::from_millis(100));
    drop(lock);
    let answer = agent.answer_to(&json!(id)).expect("the call is answered");
    let mut got = checked(&answer).comments();
    if began.elapsed() > Duration::from_millis(1_900) && got == ["second"] {
        // On a machine so slow that the other one took too long, it is passed over.
        got.splice(..0, agent.check().comments());
    }
    assert_eq!(got, ["first", "second"]);
    // It hangs: then others go on, and what it has comes when it is gone.
    let [third, _] = ["third", "fourth"].map(|text| desk.say(text));
    let lock = busy_reader(&desk, third);
    let said = desk.refused(5, &["comments", "withdraw", &third.to_string()]);
    assert!(said.contains("is being delivered"), "{said}");
    assert_eq!(agent.check().comments(), ["fourth"]);
    drop(lock);
    assert_eq!(agent.check().comments(), ["third"]);
}

#[test]
fn what_was_delivered_stays_delivered_after_a_restart() {
    let desk = Desk::new();
    desk.say("once");
    let mut agent = desk.agent();
    assert_eq!(agent.check().comments(), ["once"]);
    let (status, log) = agent.end();
    assert!(status.success(), "{log}");
    assert_eq!(desk.agent().check().text, NOTHING);
}

#[test]
fn the_last_answer_before_the_input_ends_is_noted() {
    let desk = Desk::new();
    for number in 0..5 {
        desk.say(&format!("comment {number}"));
        let mut agent = desk.agent();
        let id = agent.send("tools/call", &json!({"name": TOOL, "arguments": {}}));
        // The input is closed while the call runs; the answer comes, and is not repeated to the next.
        let mut heard = agent.close_input();
        let answer = heard.answer_to(&json!(id)).expect("an admitted request is answered");
        assert_eq!(checked(&answer).comments(), [format!("comment {number}")]);
        let (status, log) = heard.end();
        assert!(status.success(), "{log}");
    }
    assert_eq!(desk.agent().check().text, NOTHING);
}

#[test]
fn the_same_comment_twice_is_two_comments() {
    let desk = Desk::new();
    let said = [(); 8].map(|()| desk.say_on("src/main.rs", "4", "again"));
    assert!(said.iter().all(|one| one["known"] == false), "{said:?}");
    let mut times: Vec<&str> = said.iter().map(|one| one["time"].as_str().expect("a time")).collect();
    // Seconds and milliseconds: 2025-07-01T10:30:00.123Z.
    assert!(times.iter().all(|time| time.len() == 24 && time.as_bytes()[19] == b'.'), "{times:?}");
    times.dedup();
    assert_eq!(times.len(), 8);
    assert_eq!(desk.agent().check_all(), ["again"; 8]);
}

#[test]
fn what_is_withdrawn_is_not_delivered_and_what_is_delivered_is_not_withdrawn() {
    let desk = Desk::new();
    let [first, second] = ["keep", "drop"].map(|text| desk.say(text));
    let done = desk.json(&["comments", "withdraw", &second.to_string(), "--json"]);
    assert_eq!(done, json!({"withdrawn": [second]}));
    assert_eq!(desk.agent().check().comments(), ["keep"]);
    let said = desk.refused(2, &["comments", "withdraw", &first.to_string()]);
    assert!(said.contains("delivered already") && said.contains("hint:"), "{said}");
    let said = desk.refused(2, &["comments", "withdraw", &second.to_string()]);
    assert!(said.contains("withdrawn already"), "{said}");
    // What was taken back can be said again, even in the same second.
    assert_eq!(json_of(desk.lore(&["comment", "--json", "--file", "src/main.rs", "drop"]))["known"], false);
    assert_eq!(desk.agent().check().comments(), ["drop"]);
}

#[test]
fn a_client_that_stopped_reading_leaves_the_messages_to_the_next() {
    let desk = Desk::new();
    let said = texts(4);
    for text in &said {
        desk.say(text);
    }
    for _ in 0..5 {
        let mut command = desk.lore(&["serve", "--toolsets", "messages"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        // Nobody will ever read the answer; the request comes after that is so.
        drop(child.stdout.take());
        let mut input = child.stdin.take().expect("standard input is a pipe");
        let call =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": TOOL, "arguments": {}}});
        writeln!(input, "{call}").expect("the server reads");
        // It ends by itself, since nobody hears it.
        child.wait().expect("a child can be waited for");
        assert_eq!(desk.waiting(), said);
    }
    assert_eq!(desk.agent().check_all(), said);
}

fn cancel(agent: &mut Agent, id: u64) {
    agent.write(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}).to_string(),
    );
}

/// Asks the other reader for what the first one was asked for before its client cancelled, until one of them gave it.
///
/// The first one hears nothing meanwhile: what it holds has to come free by itself.
fn given_by_one(desk: &Desk, cancelling: &mut Agent, other: &mut Agent, (id, text): (u64, &str)) {
    let began = Instant::now();
    loop {
        let got = other.check();
        if got.text != NOTHING {
            return assert_eq!(got.comments(), [text]);
        }
        if desk.waiting().is_empty() {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{text} is held by a reader whose client does not want it");
    }
    // Then the answer was out before it was cancelled.
    let answer = cancelling.answer_to(&json!(id)).unwrap_or_else(|why| panic!("{text} is lost: {why}"));
    assert_eq!(checked(&answer).comments(), [text]);
}

#[test]
fn a_cancelled_call_leaves_its_messages_to_the_next_reader() {
    let desk = Desk::new();
    let (mut cancelling, mut other) = (desk.agent(), desk.agent());
    let mut random = Random::new(11);
    for number in 0..40 {
        let text = format!("comment {number}");
        desk.say(&text);
        let id = cancelling.send("tools/call", &json!({"name": TOOL, "arguments": {}}));
        pause(random.within(Duration::from_millis(5)));
        cancel(&mut cancelling, id);
        given_by_one(&desk, &mut cancelling, &mut other, (id, &text));
    }
}

#[test]
fn a_call_cancelled_while_it_waits_for_the_disk_holds_nothing() {
    let desk = Desk::new();
    let (mut cancelling, mut other) = (desk.agent(), desk.agent());
    for number in 0..3 {
        let text = format!("comment {number}");
        desk.say(&text);
        let database = Connection::open(desk.place.lore.home().join("messages.db")).expect("the database opens");
        database.execute_batch("BEGIN IMMEDIATE").expect("nobody writes");
        let id = cancelling.send("tools/call", &json!({"name": TOOL, "arguments": {}}));
        pause(Duration::from_millis(100));
        cancel(&mut cancelling, id);
        pause(Duration::from_millis(20));
        database.execute_batch("ROLLBACK").expect("a transaction can be undone");
        drop(database);
        pause(Duration::from_millis(150));
        given_by_one(&desk, &mut cancelling, &mut other, (id, &text));
    }
}

#[test]
fn a_cancelled_call_leaves_its_messages_to_its_own_next_call() {
    let desk = Desk::new();
    let mut agent = desk.agent();
    let mut got = Vec::new();
    let said = texts(12);
    for text in &said {
        desk.say(text);
        let id = agent.send("tools/call", &json!({"name": TOOL, "arguments": {}}));
        agent.write(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}).to_string(),
        );
        // The cancelled call may have been answered before that; its answer comes before the next one's, or never.
        let next = agent.send("tools/call", &json!({"name": TOOL, "arguments": {}}));
        loop {
            let answer = agent.any_answer();
            let is_last = answer["id"] == next;
            if answer["error"].is_null() {
                got.extend(checked(&answer).comments());
            }
            if is_last {
                break;
            }
        }
    }
    got.extend(agent.check_all());
    got.sort_by_key(|text| said.iter().position(|known| known == text));
    assert_eq!(got, said, "each once, none lost");
}

#[test]
fn a_server_killed_at_any_moment_loses_nothing() {
    let desk = Desk::new();
    let mut random = Random::new(5);
    let mut got: Vec<(String, bool)> = Vec::new();
    let mut said = Vec::new();
    for round in 0..30 {
        let text = format!("comment {round}");
        desk.say(&text);
        said.push(text);
        let mut agent = desk.agent();
        agent.send("tools/call", &json!({"name": TOOL, "arguments": {}}));
        pause(random.within(Duration::from_millis(25)));
        // What it had written is delivered, and may come once more.
        for answer in agent.kill().iter().filter(|answer| answer.get("result").is_some()) {
            got.extend(checked(answer).comments().into_iter().map(|text| (text, true)));
        }
    }
    let mut last = desk.agent();
    let rest = last.check().comments();
    got.extend(rest.into_iter().chain(last.check_all()).map(|text| (text, false)));
    for text in &said {
        let times: Vec<bool> = got.iter().filter(|(known, _)| known == text).map(|(_, killed)| *killed).collect();
        assert!(!times.is_empty(), "{text} is lost: {got:?}");
        // A repeat only follows a reader that was killed.
        assert!(times[..times.len() - 1].iter().all(|killed| *killed), "{text}: {times:?}");
    }
    let mut first: Vec<&String> = Vec::new();
    for (text, _) in &got {
        if !first.contains(&text) {
            first.push(text);
        }
    }
    assert_eq!(first, said.iter().collect::<Vec<_>>(), "oldest first");
    assert_eq!(last.request("resources/read", &json!({"uri": URI}))["result"]["contents"][0]["text"], NOTHING);
}

/// Lets time pass: things are to happen at different moments, and no right outcome depends on which.
fn pause(time: Duration) {
    std::thread::park_timeout(time);
}
