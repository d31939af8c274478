//! An MCP session with `lore serve`, in the plain form that the oldest clients use.
//!
//! It knows just enough of the protocol to ask and to wait; what real clients do is tested with real clients.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    thread::JoinHandle,
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

/// A running server and its pipes. It is killed when this value goes, unless [`Self::end`] ended it.
#[derive(Debug)]
pub struct Session {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    log: Option<JoinHandle<String>>,
    last_id: u64,
}

/// What a tool answered.
#[derive(Debug, Clone)]
pub struct ToolAnswer {
    /// Whether it is a failure.
    pub is_error: bool,
    /// The text of the answer.
    pub text: String,
}

/// How a server ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// All of its standard error.
    pub log: String,
}

impl Session {
    /// Starts the server and does nothing else.
    pub fn start(mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let mut errors = child.stderr.take().context("standard error was piped")?;
        let log = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // What could be read before the pipe failed is all there is to know.
            let whole = errors.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned() + if whole.is_ok() { "" } else { " (cut)" }
        });
        let output = BufReader::new(output.context("standard output was piped")?);
        Ok(Self { child, input, output, log: Some(log), last_id: 0 })
    }

    /// Shakes hands.
    pub fn initialize(&mut self) -> Result<Value> {
        let client = json!({"name": "testkit", "version": "1"});
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let result = self.request("initialize", &params)?;
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(result)
    }

    /// Asks and waits for the result; an error of the protocol is an error here.
    pub fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        let mut answer = self.answer(method, params)?;
        match answer.get("error") {
            None => Ok(answer["result"].take()),
            Some(error) => bail!("request {}: {error}", answer["id"]),
        }
    }

    /// Calls a tool.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<ToolAnswer> {
        let result = self.request("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let text = result["content"][0]["text"].as_str().with_context(|| format!("{tool}: no text in {result}"))?;
        Ok(ToolAnswer { is_error: result["isError"] == true, text: text.to_owned() })
    }

    /// Asks without waiting, and gives the number of the request.
    pub fn send(&mut self, method: &str, params: &Value) -> Result<u64> {
        self.last_id += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}))?;
        Ok(self.last_id)
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: &Value) -> Result<()> {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    /// Asks and waits for the whole answer, whatever it is; notifications on the way are passed over.
    pub fn answer(&mut self, method: &str, params: &Value) -> Result<Value> {
        let id = self.send(method, params)?;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                bail!("the server ended its output before it answered request {id}");
            }
            let message: Value = serde_json::from_str(&line).with_context(|| format!("not JSON: {line}"))?;
            if message["id"] == id {
                return Ok(message);
            }
        }
    }

    /// Sends lines as they are, whatever they hold, and gives the next message of the server.
    pub fn raw(&mut self, line: &str) -> Result<Value> {
        let input = self.input.as_mut().context("the input is open until the end")?;
        input.write_all(format!("{line}\n").as_bytes()).context("the server does not read")?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        serde_json::from_str(&answer).with_context(|| format!("not JSON: {answer}"))
    }

    /// The server's process id.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the server has ended by itself: its input stays open.
    pub fn ended(mut self) -> Result<Ended> {
        let input = self.input.take();
        let ended = self.wait();
        drop(input);
        ended
    }

    /// Closes the server's input and waits for its end.
    pub fn end(mut self) -> Result<Ended> {
        drop(self.input.take());
        self.wait()
    }

    fn wait(mut self) -> Result<Ended> {
        let status = self.child.wait()?;
        let log = self.log.take().and_then(|log| log.join().ok()).unwrap_or_default();
        Ok(Ended { status, log })
    }

    fn write(&mut self, message: &Value) -> Result<()> {
        let input = self.input.as_mut().context("the input is open until the end")?;
        // One write for each message: the server sees whole lines.
        input.write_all(format!("{message}\n").as_bytes()).context("the server does not read")?;
        Ok(())
    }
}

impl ToolAnswer {
    /// The text as JSON; a failure is an error.
    pub fn value(&self) -> Result<Value> {
        if self.is_error {
            bail!("the tool failed: {}", self.text);
        }
        serde_json::from_str(&self.text).with_context(|| format!("not JSON: {}", self.text))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.child.kill().and_then(|()| self.child.wait()).is_err() {
            // It has ended already.
        }
    }
}
