//! `lore serve` on its standard streams, with all that an answer carries.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use lore_testkit::{Ended, Session};
use serde_json::{Value, json};

/// How long something that happens by itself may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server that has shaken hands.
pub(crate) struct Server(Session);

/// What a tool answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) is_error: bool,
    pub(crate) text: String,
    /// The texts behind the first one.
    pub(crate) more: String,
    /// The text as JSON; null where the tool failed.
    pub(crate) value: Value,
    pub(crate) meta: Value,
}

impl Answer {
    /// What the reader is told besides, a line each.
    pub(crate) fn notes(&self) -> Vec<&str> {
        self.more.lines().filter_map(|line| line.strip_prefix("note: ")).collect()
    }
}

impl Server {
    #[track_caller]
    pub(crate) fn start(command: Command) -> Self {
        let mut session = Session::start(command).expect("the server starts");
        session.initialize().expect("the server shakes hands");
        Self(session)
    }

    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        self.0.request(method, params).unwrap_or_else(|error| panic!("{method} {params}: {error:#}"))
    }

    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Answer {
        let mut result = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        let is_error = result["isError"] == true;
        let texts = result["content"].as_array().expect("an answer has content").iter();
        let mut texts = texts.map(|content| content["text"].as_str().expect("all content is text"));
        let text = texts.next().expect("an answer has a text").to_owned();
        let more = texts.collect::<Vec<_>>().join("\n");
        let value = if is_error {
            Value::Null
        } else {
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{tool}: not JSON ({error}): {text}"))
        };
        assert!(result["structuredContent"].is_null(), "{tool}: the text has it already: {result}");
        Answer { is_error, text, more, value, meta: result["_meta"].take() }
    }

    /// Sends a request without waiting for its answer, and gives its id.
    #[track_caller]
    pub(crate) fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.0.send(method, params).expect("the server reads")
    }

    /// Sends a notification.
    #[track_caller]
    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.0.notify(method, params).expect("the server reads");
    }

    /// Asks the same again and again until the answer is right.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, tool: &str, arguments: &Value, right: impl Fn(&Answer) -> bool) -> Answer {
        let started = Instant::now();
        loop {
            let answer = self.call(tool, arguments);
            if right(&answer) {
                return answer;
            }
            assert!(started.elapsed() < PATIENCE, "{tool} {arguments} still gives {answer:?}");
        }
    }

    /// Sends lines as they are and gives the next message of the server.
    #[track_caller]
    pub(crate) fn raw(&mut self, line: &str) -> Value {
        self.0.raw(line).unwrap_or_else(|error| panic!("{error:#}"))
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.0.process_id()
    }

    /// Closes its input and waits for its end.
    #[track_caller]
    pub(crate) fn end(self) -> Ended {
        self.0.end().expect("the server can be waited for")
    }

    /// Waits for its end with the input open.
    #[track_caller]
    pub(crate) fn ended(self) -> Ended {
        self.0.ended().expect("the server can be waited for")
    }
}
