//! A real `lore server` with users, each with a personal token, and a client that asks it over plain HTTP.

use std::{
    collections::BTreeMap,
    io::{BufReader, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::{
    Lore, Repo,
    team::{Running, Server},
};

/// How long the server may take to answer.
const LIMIT: Duration = Duration::from_mins(3);

/// The password of every user that a test adds.
pub const PASSWORD: &str = "tall green river 7";

/// A running team server. It is stopped when this value goes.
#[derive(Debug)]
pub struct TeamServer {
    server: Server,
    root: tempfile::TempDir,
    running: Option<Running>,
    /// Where it listens, or did last.
    address: SocketAddr,
    admin_password: Option<String>,
    tokens: BTreeMap<String, String>,
}

/// What came back over HTTP.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// The headers, their names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body as text.
    pub text: String,
}

impl HttpAnswer {
    /// A header, by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON, out of an event stream too; null where it is none.
    pub fn json(&self) -> Value {
        let data = self.text.lines().filter_map(|line| line.strip_prefix("data:"));
        let event = data.filter_map(|text| serde_json::from_str(text).ok()).next_back();
        serde_json::from_str(&self.text).ok().or(event).unwrap_or_default()
    }
}

impl TeamServer {
    /// Starts one on a free port. Repositories below [`Self::repos`] may be cloned.
    #[track_caller]
    pub fn start(binary: &Path) -> Self {
        Self::start_with(binary, &[])
    }

    /// The same with more options.
    #[track_caller]
    pub fn start_with(binary: &Path, options: &[&str]) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let repos = root.path().join("repos");
        std::fs::create_dir(&repos).expect("a fresh directory is writable");
        let mut server = Self {
            server: Server::new(binary, &[&repos]).with(options),
            root,
            running: None,
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            admin_password: None,
            tokens: BTreeMap::new(),
        };
        server.restart();
        server
    }

    /// The folder beneath which repositories may be cloned.
    pub fn repos(&self) -> PathBuf {
        self.root.path().join("repos")
    }

    /// The server's own folder.
    pub fn data(&self) -> PathBuf {
        self.server.data().to_owned()
    }

    /// The binary, in a home of its own.
    pub fn lore(&self) -> &Lore {
        self.server.lore()
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The password that the first start left in a file.
    #[track_caller]
    pub fn admin_password(&self) -> &str {
        self.admin_password.as_deref().expect("the first start tells where it is")
    }

    /// A new repository that the server may clone.
    #[track_caller]
    pub fn repo(&self, name: &str) -> Repo {
        Repo::init(self.repos().join(name))
    }

    /// Ends the process at once, as a crash would.
    pub fn kill(&mut self) {
        self.running = None;
    }

    /// The process, for whoever sends it a signal.
    #[track_caller]
    pub fn process_id(&self) -> u32 {
        self.running.as_ref().expect("it runs").id()
    }

    /// Waits until it has ended by itself, and gives how.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        self.running.take().expect("it runs").child().wait().expect("it can be waited for")
    }

    /// Starts it again with what it has on disk, and waits until it is ready.
    #[track_caller]
    pub fn restart(&mut self) {
        self.start_again();
        let ready = self.http("GET", "/readyz", &[], b"").expect("the server answers");
        assert_eq!(ready.status, 200, "{ready:?}");
    }

    /// The same, and whether it is ready is for the test to ask.
    #[track_caller]
    pub fn start_again(&mut self) {
        self.kill();
        let running = self.server.start().unwrap_or_else(|error| panic!("the server does not start: {error:#}"));
        self.address = running.address();
        if let Some(password) = running.password() {
            self.admin_password = Some(password.to_owned());
        }
        self.running = Some(running);
    }

    /// What it has logged since its start.
    #[track_caller]
    pub fn log(&self) -> String {
        self.running.as_ref().expect("it runs").log().join("\n")
    }

    /// Adds a user with a personal token, by the command line beside the server.
    #[track_caller]
    pub fn add_user(&mut self, name: &str, role: &str) {
        let data = self.data();
        let data = data.to_str().expect("the path is UTF-8");
        let mut command =
            self.lore().command(&["users", "add", name, "--role", role, "--password-stdin", "--data", data]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut input = child.stdin.take().expect("it was piped");
        input.write_all(PASSWORD.as_bytes()).expect("it reads the password");
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.add_token(name);
    }

    /// Makes a personal token for a user, which is used for them from now on.
    #[track_caller]
    pub fn add_token(&mut self, name: &str) {
        let data = self.data();
        let data = data.to_str().expect("the path is UTF-8");
        let made = self.lore().json(&["tokens", "create", "test", "--user", name, "--data", data, "--json"]);
        let token = made["token"].as_str().unwrap_or_else(|| panic!("no token in {made}"));
        self.tokens.insert(name.to_owned(), token.to_owned());
    }

    /// The personal token of a user.
    #[track_caller]
    pub fn token(&self, user: &str) -> &str {
        self.tokens.get(user).unwrap_or_else(|| panic!("{user} was not added"))
    }

    /// One request over a connection of its own.
    pub fn http(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<HttpAnswer> {
        let mut stream = TcpStream::connect(self.address).context("the server does not listen")?;
        stream.set_read_timeout(Some(LIMIT))?;
        let named = |wanted: &str| headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let mut head = vec![
            format!("{method} {path} HTTP/1.1"),
            "Connection: close".to_owned(),
            format!("Content-Length: {}", body.len()),
        ];
        if !named("host") {
            head.push(format!("Host: {}", self.address));
        }
        if !body.is_empty() && !named("content-type") {
            head.push("Content-Type: application/json".to_owned());
        }
        head.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
        stream.write_all((head.join("\r\n") + "\r\n\r\n").as_bytes())?;
        stream.write_all(body)?;
        read(&mut BufReader::new(stream))
    }

    /// Asks a path of the server as a user.
    #[track_caller]
    pub fn rest(&self, user: &str, method: &str, path: &str, body: &Value) -> HttpAnswer {
        let bearer = format!("Bearer {}", self.token(user));
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let asked = self.http(method, path, &[("Authorization", &bearer)], &body);
        asked.unwrap_or_else(|error| panic!("{method} {path}: {error:#}"))
    }

    /// Sends an MCP message as a user, outside any session.
    #[track_caller]
    pub fn message(&self, user: &str, method: &str, params: &Value) -> Value {
        self.message_with(user, method, params, &[])
    }

    /// The same with more headers.
    #[track_caller]
    pub fn message_with(&self, user: &str, method: &str, params: &Value, headers: &[(&str, &str)]) -> Value {
        let bearer = format!("Bearer {}", self.token(user));
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut all = vec![("Authorization", bearer.as_str()), ("Accept", "application/json, text/event-stream")];
        all.extend(headers);
        let answer = self.http("POST", "/mcp", &all, message.to_string().as_bytes());
        let answer = answer.unwrap_or_else(|error| panic!("{method} {params}: {error:#}"));
        assert_eq!(answer.status, 200, "{method} {params}: {answer:?}");
        answer.json()
    }

    /// Calls a tool as a user, and gives the whole JSON-RPC answer.
    #[track_caller]
    pub fn call(&self, user: &str, tool: &str, arguments: &Value) -> Value {
        self.message(user, "tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool that must succeed, and gives what its text says.
    #[track_caller]
    pub fn ask(&self, user: &str, tool: &str, arguments: &Value) -> Value {
        let answer = self.call(user, tool, arguments);
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{user} {tool} {arguments}: {answer}"));
        assert_ne!(answer["result"]["isError"], true, "{user} {tool} {arguments}: {text}");
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{tool}: {error}: {text}"))
    }

    /// Calls a tool that must fail, and gives all that is told.
    #[track_caller]
    pub fn refused(&self, user: &str, tool: &str, arguments: &Value) -> String {
        let answer = self.call(user, tool, arguments);
        assert!(
            answer["result"]["isError"] == true || answer["error"].is_object(),
            "{user} {tool} {arguments} is answered: {answer}"
        );
        answer.to_string()
    }

    /// Waits for the end of the job of an answer, and gives the job.
    #[track_caller]
    pub fn job_of(&self, user: &str, answer: &Value) -> Value {
        let id = &answer["job_id"];
        assert!(id.is_string(), "no job in {answer}");
        self.ask(user, "get_job_details", &json!({"job_id": id, "wait_seconds": 120}))
    }

    /// The same where the job must have been done.
    #[track_caller]
    pub fn done(&self, user: &str, answer: &Value) -> Value {
        let told = self.job_of(user, answer);
        assert_eq!(told["job"]["status"], "completed", "{told}");
        told
    }

    /// Adds a golden repository and waits until it is there.
    #[track_caller]
    pub fn add_golden(&self, admin: &str, repo: &Repo, alias: &str, more: &Value) {
        let mut asked = json!({"url": repo.path(), "alias": alias});
        if let (Value::Object(asked), Value::Object(more)) = (&mut asked, more) {
            asked.extend(more.clone());
        }
        let answer = self.ask(admin, "add_golden_repo", &asked);
        self.done(admin, &answer);
    }
}

/// Reads an answer of HTTP/1.1.
fn read(reader: &mut impl std::io::BufRead) -> Result<HttpAnswer> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split_whitespace().nth(1).and_then(|status| status.parse().ok());
    let Some(status) = status else { bail!("no answer of HTTP: {line:?}") };
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut answer = HttpAnswer { status, headers, text: String::new() };
    let mut body = Vec::new();
    if answer.header("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let size = u64::from_str_radix(line.trim(), 16).context("the size of a chunk is a number")?;
            reader.take(size).read_to_end(&mut body)?;
            reader.read_line(&mut line)?;
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = answer.header("content-length") {
        reader.take(length.parse()?).read_to_end(&mut body)?;
    } else {
        reader.read_to_end(&mut body)?;
    }
    answer.text = String::from_utf8_lossy(&body).into_owned();
    Ok(answer)
}
