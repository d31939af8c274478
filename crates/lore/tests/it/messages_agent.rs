//! A reviewer's desk and the agents beside it: `lore comment` on one side, `lore serve` on the other.
//!
//! An agent here hears everything that its server says, in order, and waits for it with patience instead of sleeping.

use std::{
    collections::VecDeque,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::Duration,
};

use lore_testkit::{Output, Repo};
use serde_json::{Value, json};

use crate::place::Place;

/// How long anything may take that has to happen: no test fails because a machine is slow.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) const TOOL: &str = "check_lazygit_messages";
pub(crate) const URI: &str = "lazygit://messages";
pub(crate) const NOTHING: &str = "No new messages from lazygit";

/// The file of every desk's project, committed.
pub(crate) const CODE: &str =
    "use std::fs;\n\nfn open() {\n    read();\n    close();\n}\n\nfn shut() {\n    write();\n    close();\n}\n";

/// A project with one file, `src/main.rs`, and a reviewer of it.
pub(crate) struct Desk {
    pub(crate) place: Place,
    pub(crate) repo: Repo,
    pub(crate) head: String,
}

impl Desk {
    #[track_caller]
    pub(crate) fn new() -> Self {
        let place = Place::new();
        let repo = place.repo("proj");
        repo.write("src/main.rs", CODE);
        let head = repo.commit("Begin");
        Self { place, repo, head }
    }

    /// `lore` in the project's folder.
    pub(crate) fn lore(&self, args: &[&str]) -> Command {
        self.lore_at(self.repo.path(), args)
    }

    /// `lore` in another folder.
    pub(crate) fn lore_at(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = self.place.lore.command(args);
        command.current_dir(folder);
        command
    }

    /// Says something about the file as a whole, and gives the number of the comment.
    #[track_caller]
    pub(crate) fn say(&self, text: &str) -> i64 {
        self.say_at(self.repo.path(), "src/main.rs", text)
    }

    /// The same about a file of another folder.
    #[track_caller]
    pub(crate) fn say_at(&self, folder: &Path, file: &str, text: &str) -> i64 {
        let kept = json_of(self.lore_at(folder, &["comment", "--json", "--file", file, "--", text]));
        assert_eq!(kept["known"], false, "{kept}");
        kept["id"].as_i64().expect("a comment has a number")
    }

    /// Says something about these lines of the file.
    #[track_caller]
    pub(crate) fn say_on(&self, file: &str, line: &str, text: &str) -> Value {
        json_of(self.lore(&["comment", "--json", "--file", file, "--line", line, "--", text]))
    }

    /// What `lore` prints in the project's folder, as JSON.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        json_of(self.lore(args))
    }

    /// Runs what must fail with this code, and gives what it says.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, args: &[&str]) -> String {
        let output = finished(&mut self.lore(args));
        assert_eq!(output.status.code(), Some(code), "{}", output.stderr);
        assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
        output.stderr
    }

    /// An agent that works on the project.
    #[track_caller]
    pub(crate) fn agent(&self) -> Agent {
        self.agent_at(self.repo.path())
    }

    /// An agent that works in another folder.
    #[track_caller]
    pub(crate) fn agent_at(&self, folder: &Path) -> Agent {
        let mut agent = Agent::start(self.lore_at(folder, &["serve", "--toolsets", "messages"]));
        agent.shake_hands();
        agent
    }

    /// The texts of the waiting comments of the project, oldest first, as `lore comments` tells.
    #[track_caller]
    pub(crate) fn waiting(&self) -> Vec<String> {
        let listed = self.json(&["comments", "list", "--state", "waiting", "--limit", "500", "--json"]);
        let mut texts = comments_of(&listed["comments"]);
        texts.reverse();
        texts
    }

    /// Where the old bridge leaves a message.
    pub(crate) fn inbox(&self) -> PathBuf {
        self.place.lore.user_home().join(".config/jesseduffield/lazygit/mcp-messages.json")
    }

    /// Leaves a message as the old bridge's lazygit command does.
    #[track_caller]
    pub(crate) fn leave(&self, message: &str) {
        let inbox = self.inbox();
        fs::create_dir_all(inbox.parent().expect("a file has a folder")).expect("a folder can be made");
        fs::write(inbox, message).expect("a file can be written");
    }
}

/// The comments in a list of messages.
pub(crate) fn comments_of(messages: &Value) -> Vec<String> {
    let messages = messages.as_array().expect("a list of messages").iter();
    messages.map(|message| message["comment"].as_str().expect("a comment is text").to_owned()).collect()
}

/// Runs to the end, with nothing to read unless the command says otherwise.
#[track_caller]
pub(crate) fn finished(command: &mut Command) -> Output {
    let output = command.output().expect("lore starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Output { status: output.status, stdout: output.stdout, stderr }
}

/// Runs what must succeed, and reads what it prints.
#[track_caller]
pub(crate) fn json_of(mut command: Command) -> Value {
    let output = finished(&mut command);
    assert!(output.status.success(), "{}: {}", output.status, output.stderr);
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

/// Runs with this on standard input.
#[track_caller]
pub(crate) fn fed(mut command: Command, input: &[u8]) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut pipe = child.stdin.take().expect("standard input is a pipe");
    let output = std::thread::scope(|scope| {
        // Whoever refuses the arguments does not read; its exit code tells.
        scope.spawn(move || pipe.write_all(input).is_ok());
        child.wait_with_output().expect("it can be waited for")
    });
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Output { status: output.status, stdout: output.stdout, stderr }
}

/// A server and its client. It ends when this value goes.
pub(crate) struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    heard: Receiver<Value>,
    /// Notifications that came while an answer was waited for.
    passed: VecDeque<Value>,
    log: Receiver<String>,
    last_id: u64,
}

/// What the tool gave.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) text: String,
    pub(crate) messages: Value,
    pub(crate) waiting: u64,
}

impl Checked {
    /// What the comments say: the text has that, and `_meta` what it does not say.
    #[track_caller]
    pub(crate) fn comments(&self) -> Vec<String> {
        let mut rest = self.text.as_str();
        let messages = self.messages.as_array().expect("a list of messages").iter();
        let comments = messages.map(|message| {
            assert_eq!(message["comment"], Value::Null, "the text has it already");
            let end = format!("\nTime: {}", message["time"].as_str().expect("a time is text"));
            let (_, said) = rest.split_once("\nComment: ").expect("the text has each comment");
            let (comment, behind) = said.split_once(&end).expect("the time is behind it");
            rest = behind;
            comment.to_owned()
        });
        comments.collect()
    }
}

impl Agent {
    /// A server that nothing was said to.
    #[track_caller]
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let output = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        let errors = BufReader::new(child.stderr.take().expect("standard error is a pipe"));
        let (sender, heard) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { return };
                let said = serde_json::from_str(&line).unwrap_or_else(|_| json!({"unreadable": line}));
                if sender.send(said).is_err() {
                    return;
                }
            }
        });
        let (logging, log) = mpsc::channel();
        std::thread::spawn(move || {
            for line in errors.split(b'\n') {
                let Ok(line) = line else { return };
                if logging.send(String::from_utf8_lossy(&line).into_owned() + "\n").is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, heard, passed: VecDeque::new(), log, last_id: 0 }
    }

    /// The handshake of the first era.
    #[track_caller]
    pub(crate) fn shake_hands(&mut self) -> Value {
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let answer = self.request("initialize", &params);
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        answer
    }

    /// Sends a line as it is.
    #[track_caller]
    pub(crate) fn write(&mut self, line: &str) {
        self.try_write(line).expect("the server reads");
    }

    /// Sends a line to a server that may be gone.
    pub(crate) fn try_write(&mut self, line: &str) -> std::io::Result<()> {
        let input = self.input.as_mut().expect("the input is open until the end");
        input.write_all(format!("{line}\n").as_bytes())
    }

    /// Asks without waiting, and gives the number of the request.
    #[track_caller]
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}).to_string());
        self.last_id
    }

    /// Asks and gives the whole answer.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer_to(&json!(id)).unwrap_or_else(|why| panic!("{method}: {why}"))
    }

    /// Sends a line and gives the answer to it, which has this id.
    #[track_caller]
    pub(crate) fn raw(&mut self, line: &str, id: &Value) -> Value {
        self.write(line);
        self.answer_to(id).unwrap_or_else(|why| panic!("{line}: {why}"))
    }

    /// The answer with this id; what is no answer is kept for [`Self::notification`].
    pub(crate) fn answer_to(&mut self, id: &Value) -> Result<Value, String> {
        loop {
            let said = self.next()?;
            if said.get("method").is_some() {
                self.passed.push_back(said);
            } else if said["id"] == *id {
                return Ok(said);
            }
        }
    }

    /// The next notification.
    #[track_caller]
    pub(crate) fn notification(&mut self) -> Value {
        if let Some(passed) = self.passed.pop_front() {
            return passed;
        }
        let said = self.next().unwrap_or_else(|why| panic!("no notification came: {why}"));
        assert!(said.get("method").is_some(), "{said}");
        said
    }

    /// The next answer, whichever request it is to.
    #[track_caller]
    pub(crate) fn any_answer(&mut self) -> Value {
        loop {
            let said = self.next().unwrap_or_else(|why| panic!("no answer came: {why}"));
            if said.get("method").is_none() {
                return said;
            }
            self.passed.push_back(said);
        }
    }

    /// The notifications that came so far, by their methods.
    pub(crate) fn passed(&mut self) -> Vec<String> {
        self.passed.drain(..).map(|said| said["method"].as_str().unwrap_or_default().to_owned()).collect()
    }

    fn next(&mut self) -> Result<Value, String> {
        self.heard.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Timeout => format!("the server said nothing for {PATIENCE:?}"),
            RecvTimeoutError::Disconnected => "the server ended its output".to_owned(),
        })
    }

    /// Calls the tool.
    #[track_caller]
    pub(crate) fn check(&mut self) -> Checked {
        let answer = self.request("tools/call", &json!({"name": TOOL, "arguments": {}}));
        checked(&answer)
    }

    /// Calls the tool until nothing waits, and gives all comments in the order in which they came.
    #[track_caller]
    pub(crate) fn check_all(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let checked = self.check();
            if checked.text == NOTHING {
                return all;
            }
            all.extend(checked.comments());
        }
    }

    /// Reads the resource, and gives its one content.
    #[track_caller]
    pub(crate) fn read(&mut self) -> Value {
        let mut answer = self.request("resources/read", &json!({"uri": URI}));
        assert_eq!(answer["result"]["contents"].as_array().map(Vec::len), Some(1), "{answer}");
        answer["result"]["contents"][0].take()
    }

    /// Kills the server as nobody can refuse to be killed, and gives the answers that it had written.
    #[track_caller]
    pub(crate) fn kill(mut self) -> Vec<Value> {
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a child can be waited for");
        // The other end of the pipe is closed, so this ends.
        self.heard.iter().collect()
    }

    /// Waits until the server's log says this.
    #[track_caller]
    pub(crate) fn logged(&mut self, word: &str) {
        let mut seen = String::new();
        while !seen.contains(word) {
            let line = self.log.recv_timeout(PATIENCE);
            seen += &line.unwrap_or_else(|error| panic!("{word:?} is not in the log ({error}): {seen}"));
        }
    }

    /// Closes the input: the server gets no more requests.
    pub(crate) fn close_input(mut self) -> Self {
        drop(self.input.take());
        self
    }

    /// Closes the input and waits until the server has ended.
    #[track_caller]
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        drop(self.input.take());
        while self.next().is_ok() {}
        let status = self.child.wait().expect("a child can be waited for");
        let log = self.log.iter().collect();
        (status, log)
    }
}

/// An answer to a call of the tool.
#[track_caller]
pub(crate) fn checked(answer: &Value) -> Checked {
    let result = &answer["result"];
    assert!(result["isError"] != true, "{answer}");
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}")).to_owned();
    let meta = &result["_meta"];
    let waiting = meta["lore/waiting"].as_u64().unwrap_or_else(|| panic!("no number: {answer}"));
    Checked { text, messages: meta["lore/messages"].clone(), waiting }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Closing its input lets it note what it delivered; it is killed only where that is asked for.
        drop(self.input.take());
        while !std::thread::panicking() && self.next().is_ok() {}
        if self.child.kill().and_then(|()| self.child.wait()).is_err() {
            // It has ended already.
        }
    }
}
