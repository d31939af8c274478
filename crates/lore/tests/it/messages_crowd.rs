//! Many writers and a few readers that come and go, some of them killed: none lost, none out of order, none repeated
//! but where its reader was killed.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::Path,
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use lore_testkit::{Lore, Random};
use serde_json::{Value, json};

use crate::{
    messages_agent::{Agent, Desk, NOTHING, TOOL, checked, finished},
    switches,
};

const WRITERS: usize = 10;
const READERS: usize = 3;

/// How long a call may wait for another reader before it gives what that one has not claimed, out of order.
const PASSES_OVER: Duration = Duration::from_millis(1_900);

/// A call that was answered.
#[derive(Debug)]
struct Call {
    /// Numbers that only grow, taken before it was asked and after its answer was heard.
    began: u64,
    ended: u64,
    took: Duration,
    /// Which server answered, and whether that was killed later.
    server: u64,
    /// The number and the text of each message.
    gave: Vec<(i64, String)>,
}

/// All that happened.
#[derive(Default)]
struct Record {
    ticks: AtomicU64,
    servers: AtomicU64,
    calls: Mutex<Vec<Call>>,
    killed: Mutex<Vec<u64>>,
}

impl Record {
    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    fn note(&self, began: (u64, Instant), server: u64, answer: &Value) -> bool {
        let checked = checked(answer);
        let messages = checked.messages.as_array().expect("a list").iter();
        let ids = messages.map(|message| message["id"].as_i64().expect("a number"));
        let gave = ids.zip(checked.comments()).collect();
        let call = Call { began: began.0, ended: self.tick(), took: began.1.elapsed(), server, gave };
        self.calls.lock().expect("no reader panicked").push(call);
        checked.text != NOTHING
    }
}

/// Where everybody works.
#[derive(Clone, Copy)]
struct Project<'a> {
    lore: &'a Lore,
    folder: &'a Path,
}

impl Project<'_> {
    fn command(self, args: &[&str]) -> Command {
        let mut command = self.lore.command(args);
        command.current_dir(self.folder);
        command
    }

    fn agent(self) -> Agent {
        let mut agent = Agent::start(self.command(&["serve", "--toolsets", "messages"]));
        agent.shake_hands();
        agent
    }
}

/// One reader: server after server, each asked a few times, and then ended in one of four ways.
fn read(project: Project<'_>, record: &Record, seed: u64, are_done: &AtomicBool) {
    let mut random = Random::new(seed);
    let mut is_last = false;
    while !is_last {
        let server = record.servers.fetch_add(1, Ordering::SeqCst);
        let mut agent = project.agent();
        let ask = |agent: &mut Agent| {
            ((record.tick(), Instant::now()), agent.send("tools/call", &json!({"name": TOOL, "arguments": {}})))
        };
        for _ in 0..random.below(6) {
            let was_done = are_done.load(Ordering::SeqCst);
            let (began, id) = ask(&mut agent);
            let answer = agent.answer_to(&json!(id)).unwrap_or_else(|why| panic!("reader {seed}: {why}"));
            is_last |= !record.note(began, server, &answer) && was_done;
        }
        match random.below(4) {
            // Killed while it answers, at any moment of that; what it had written before, its client has.
            0 | 1 => {
                record.killed.lock().expect("no reader panicked").push(server);
                let (began, _) = ask(&mut agent);
                std::thread::park_timeout(random.within(Duration::from_millis(20)));
                for answer in agent.kill().iter().filter(|said| said.get("result").is_some()) {
                    record.note(began, server, answer);
                }
            }
            // Killed right after an answer.
            2 => {
                record.killed.lock().expect("no reader panicked").push(server);
                agent.kill();
            }
            // Ended in peace, with a call under way.
            _ => {
                let (began, id) = ask(&mut agent);
                let mut agent = agent.close_input();
                let answer = agent.answer_to(&json!(id)).unwrap_or_else(|why| panic!("reader {seed}: {why}"));
                record.note(began, server, &answer);
            }
        }
    }
}

fn write(project: Project<'_>, writer: usize, comments: usize) {
    for number in 0..comments {
        let text = format!("{writer} {number}");
        let output = finished(&mut project.command(&["comment", "--file", "src/main.rs", "--line", "4", &text]));
        assert!(output.status.success(), "{text}: {}", output.stderr);
    }
}

#[test]
fn ten_writers_and_three_readers_that_are_killed_lose_nothing() {
    let comments = if switches::slow_tests() { 100 } else { 15 };
    let desk = Desk::new();
    let project = Project { lore: &desk.place.lore, folder: desk.repo.path() };
    let (record, are_done) = (Record::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for seed in 0..READERS as u64 {
            let (record, are_done) = (&record, &are_done);
            scope.spawn(move || read(project, record, seed, are_done));
        }
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || write(project, writer, comments))).collect();
        for writer in writers {
            writer.join().expect("every comment is kept");
        }
        are_done.store(true, Ordering::SeqCst);
    });
    // What killed readers held is there for the next.
    let mut last = desk.agent();
    let server = record.servers.fetch_add(1, Ordering::SeqCst);
    loop {
        let began = (record.tick(), Instant::now());
        let answer = last.request("tools/call", &json!({"name": TOOL, "arguments": {}}));
        if !record.note(began, server, &answer) {
            break;
        }
    }
    assert_eq!(desk.waiting(), Vec::<String>::new());
    let listed = desk.json(&["--json", "comments", "list", "--state", "delivered", "--limit", "500"]);
    assert_eq!(listed["comments"].as_array().map(Vec::len), Some((WRITERS * comments).min(500)));
    judge(
        &record.calls.into_inner().expect("nobody panicked"),
        &record.killed.into_inner().expect("nobody panicked"),
        comments,
    );
}

fn judge(calls: &[Call], killed: &[u64], comments: usize) {
    let mut given: BTreeMap<(usize, usize), Vec<(&Call, i64)>> = BTreeMap::new();
    let mut by_time: Vec<&Call> = calls.iter().collect();
    by_time.sort_by_key(|call| call.ended);
    for call in by_time {
        let mut within: BTreeMap<usize, usize> = BTreeMap::new();
        for (id, text) in &call.gave {
            let (writer, number) = text.split_once(' ').expect("one of ours");
            let (writer, number): (usize, usize) =
                (writer.parse().expect("a number"), number.parse().expect("a number"));
            let before = within.insert(writer, number);
            assert!(before.is_none_or(|before| before < number), "out of order in one answer: {call:?}");
            given.entry((writer, number)).or_default().push((call, *id));
        }
    }
    let mut repeats = 0;
    for writer in 0..WRITERS {
        for number in 0..comments {
            let times =
                given.get(&(writer, number)).unwrap_or_else(|| panic!("comment {number} of writer {writer} is lost"));
            assert!(times.iter().all(|(_, id)| *id == times[0].1), "a repeat has the same number: {times:?}");
            repeats += times.len() - 1;
            // Only one reader may have had it and lived.
            let lived: Vec<_> = times.iter().filter(|(call, _)| !killed.contains(&call.server)).collect();
            assert!(lived.len() <= 1, "repeated though nobody was killed: {lived:?}");
        }
    }
    // What a server gave before its last answer was noted by then.
    for times in given.values().filter(|times| times.len() > 1) {
        for (call, _) in &times[..times.len() - 1] {
            let after = calls.iter().filter(|other| other.server == call.server && other.began > call.began);
            let is_noted = after.into_iter().any(|other| !other.gave.is_empty() && other.took < PASSES_OVER);
            // What a killed reader had written is noted after it was killed: it may have been the first all the same.
            let is_second = times.iter().any(|(other, _)| {
                other.server != call.server && other.began < call.ended && killed.contains(&other.server)
            });
            assert!(!is_noted || is_second, "repeated though its reader went on: {times:?}");
        }
    }
    let mut passed_over = 0;
    for writer in 0..WRITERS {
        for number in 1..comments {
            let (earlier, later) = (given[&(writer, number - 1)][0].0, given[&(writer, number)][0].0);
            if later.ended < earlier.began {
                assert!(
                    later.took >= PASSES_OVER,
                    "{number} of writer {writer} came before {}: {later:?} {earlier:?}",
                    number - 1
                );
                passed_over += 1;
            }
        }
    }
    let told = writeln!(
        std::io::stderr(),
        "{} comments in {} answers of {} servers, {} of them killed; {repeats} repeats, {passed_over} passed over; the slowest answer took {:?}",
        given.len(),
        calls.iter().filter(|call| !call.gave.is_empty()).count(),
        calls.iter().map(|call| call.server).max().unwrap_or(0) + 1,
        killed.len(),
        calls.iter().map(|call| call.took).max().unwrap_or_default(),
    );
    told.expect("standard error is open");
}
