//! A small HTTP server that stands in for a real one: it notes what it is asked and answers what a test decides.
//!
//! It knows HTTP/1.1 as far as our clients speak it, and closes every connection after its answer.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::Value;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// `GET`, `POST`, …
    pub method: String,
    /// Path and query.
    pub path: String,
    headers: Vec<(String, String)>,
    /// The body as JSON; null where it is none.
    pub body: Value,
}

impl Asked {
    /// A header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// One step of an answer.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends this.
    Text(String),
    /// Sends nothing until the gate is open, the client is gone or ten seconds are over.
    Wait(Gate),
}

/// What a test answers.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    steps: Vec<Step>,
    is_whole: bool,
    /// The connection breaks where the answer would end.
    breaks: bool,
}

impl Reply {
    /// The connection closes without a word.
    pub fn nothing() -> Self {
        Self { breaks: true, ..Self::default() }
    }

    /// The connection breaks where the answer would end.
    #[must_use]
    pub fn breaks(self) -> Self {
        Self { breaks: true, ..self }
    }

    /// A status without a body.
    pub fn status(status: u16) -> Self {
        Self { status, is_whole: true, ..Self::default() }
    }

    /// JSON.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::status(status).header("Content-Type", "application/json").text(&body.to_string())
    }

    /// A stream of events that ends when its text does.
    pub fn stream(text: &str) -> Self {
        let whole = Self::status(200).header("Content-Type", "text/event-stream").text(text);
        Self { is_whole: false, ..whole }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds text.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.steps.push(Step::Text(text.to_owned()));
        self
    }

    /// Waits before it goes on.
    #[must_use]
    pub fn wait(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Wait(gate.clone()));
        self.is_whole = false;
        self
    }
}

/// Something that opens once.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Opens it.
    pub fn open(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    /// Waits until it is open; false where it was not in that time.
    pub fn passed(&self, limit: Duration) -> bool {
        let open = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(open, limit, |open| !*open);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// What decides the answers.
type Decide = dyn Fn(&Asked) -> Reply + Send + Sync;

/// The server. It stops to listen when this value goes.
pub struct StandIn {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    stopped: Arc<AtomicBool>,
}

impl StandIn {
    /// Starts on a port of this machine.
    pub fn start(decide: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_on(TcpListener::bind("127.0.0.1:0").expect("a port is free"), decide)
    }

    /// Starts on that socket.
    pub fn start_on(listener: TcpListener, decide: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let port = listener.local_addr().expect("it is bound").port();
        let (asked, stopped) = (Arc::<Mutex<Vec<Asked>>>::default(), Arc::<AtomicBool>::default());
        let (notes, is_over, decide): (_, _, Arc<Decide>) =
            (Arc::clone(&asked), Arc::clone(&stopped), Arc::new(decide));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                let (notes, decide) = (Arc::clone(&notes), Arc::clone(&decide));
                std::thread::spawn(move || serve(&stream, &notes, &*decide));
            }
        });
        Self { port, asked, stopped }
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Everything it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it was asked on that path with that method.
    pub fn asked_for(&self, method: &str, path: &str) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.method == method && asked.path == path).collect()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes the listener, which sees that it is over.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

fn serve(stream: &TcpStream, notes: &Mutex<Vec<Asked>>, decide: &Decide) {
    let Some(asked) = read(stream) else { return };
    notes.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
    let reply = decide(&asked);
    if reply.status == 0 {
        return;
    }
    let mut out = stream;
    let length: usize = reply.steps.iter().map(|step| if let Step::Text(text) = step { text.len() } else { 0 }).sum();
    let mut head = vec![format!("HTTP/1.1 {} Stand-in", reply.status), "Connection: close".to_owned()];
    head.extend(reply.headers.iter().map(|(name, value)| format!("{name}: {value}")));
    let framed = || "Transfer-Encoding: chunked".to_owned();
    head.push(if reply.is_whole { format!("Content-Length: {length}") } else { framed() });
    let head = head.join("\r\n") + "\r\n\r\n";
    if out.write_all(head.as_bytes()).is_err() {
        return;
    }
    for step in &reply.steps {
        let written = match step {
            Step::Text(text) if text.is_empty() => Ok(()),
            Step::Text(text) if reply.is_whole => out.write_all(text.as_bytes()),
            Step::Text(text) => out.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()),
            Step::Wait(gate) => {
                gate.passed(Duration::from_secs(10));
                Ok(())
            }
        };
        if written.is_err() {
            return;
        }
    }
    if !reply.is_whole && !reply.breaks {
        // A client that has gone needs no end.
        drop(out.write_all(b"0\r\n\r\n"));
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut asked = Asked { method, path, headers, body: Value::Null };
    let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    asked.body = serde_json::from_slice(&body).unwrap_or_default();
    Some(asked)
}
