//! A client of HTTP/1.1 with one connection that is kept: what a host has, in a few lines and without a choice of its own.

use std::{
    fmt,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::{Value, json};

/// No answer takes longer, unless something is wrong.
const PATIENCE: Duration = Duration::from_mins(1);

/// Why there is no answer.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The connection broke: nobody knows whether it was done.
    Lost(String),
    /// The server said no, with a status.
    Refused(u16, String),
    /// The tool said no.
    Failed(String),
}

impl Fault {
    /// A few words that are the same for the same kind of fault.
    pub fn kind(&self) -> String {
        match self {
            Self::Lost(why) => format!("connection: {why}"),
            Self::Refused(status, _) => format!("status {status}"),
            Self::Failed(why) => format!("tool: {}", why.chars().take(80).collect::<String>()),
        }
    }

    /// Whether it may have been done all the same.
    pub(super) fn is_unsure(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Refused(500.., _))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(why) => write!(f, "the connection broke: {why}"),
            Self::Refused(status, why) => write!(f, "{status}: {why}"),
            Self::Failed(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for Fault {}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// A user's connection to a server.
#[derive(Debug)]
pub struct Client {
    address: SocketAddr,
    token: Option<String>,
    connection: Option<BufReader<TcpStream>>,
}

impl Client {
    /// Connects when it is first asked.
    pub fn new(address: SocketAddr, token: Option<&str>) -> Self {
        Self { address, token: token.map(str::to_owned), connection: None }
    }

    /// Sends a request and reads the answer, whatever its status.
    pub fn send(&mut self, method: &str, path: &str, body: Option<&Value>) -> Result<Reply, Fault> {
        let sent = self.exchange(method, path, body);
        if sent.is_err() {
            self.connection = None;
        }
        sent.map_err(|error| Fault::Lost(error.kind().to_string()))
    }

    /// An answer of the REST interface.
    pub fn rest(&mut self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Fault> {
        let reply = self.send(method, path, body)?;
        let value: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        if reply.status == 200 {
            return Ok(value);
        }
        Err(Fault::Refused(reply.status, value["error"]["message"].as_str().unwrap_or_default().to_owned()))
    }

    /// A JSON-RPC request to `/mcp`; its result.
    pub fn mcp(&mut self, method: &str, params: &Value) -> Result<Value, Fault> {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let reply = self.send("POST", "/mcp", Some(&message))?;
        let mut value: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        if reply.status != 200 || value["result"].is_null() {
            return Err(Fault::Refused(
                reply.status,
                value["error"]["message"].as_str().unwrap_or_default().to_owned(),
            ));
        }
        Ok(value["result"].take())
    }

    /// Calls a tool; what it answers as a value.
    pub fn tool(&mut self, name: &str, arguments: &Value) -> Result<Value, Fault> {
        let result = self.mcp("tools/call", &json!({"name": name, "arguments": arguments}))?;
        let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        if result["isError"] == true {
            return Err(Fault::Failed(text));
        }
        let value: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
        if value["success"] == false {
            return Err(Fault::Failed(value["error"].to_string()));
        }
        Ok(value)
    }

    fn exchange(&mut self, method: &str, path: &str, body: Option<&Value>) -> std::io::Result<Reply> {
        let connection = match self.connection.take() {
            Some(connection) => self.connection.insert(connection),
            None => self.connection.insert(connect(self.address)?),
        };
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n", self.address, body.len());
        head += "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n";
        if let Some(token) = &self.token {
            for piece in ["authorization: Bearer ", token, "\r\n"] {
                head += piece;
            }
        }
        connection.get_mut().write_all((head + "\r\n" + &body).as_bytes())?;
        let (reply, keep) = read(connection)?;
        if !keep {
            self.connection = None;
        }
        Ok(reply)
    }
}

fn connect(address: SocketAddr) -> std::io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(BufReader::new(stream))
}

/// Reads an answer; whether the connection is of use afterwards.
fn read(connection: &mut BufReader<TcpStream>) -> std::io::Result<(Reply, bool)> {
    let broken = || std::io::Error::from(std::io::ErrorKind::InvalidData);
    let mut line = || -> std::io::Result<String> {
        let mut line = String::new();
        if connection.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    };
    let status = line()?.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
    let (mut length, mut chunked, mut keep) = (0, false, true);
    loop {
        let header = line()?.to_ascii_lowercase();
        let Some((name, value)) = header.split_once(':') else { break };
        match (name, value.trim()) {
            ("content-length", value) => length = value.parse().map_err(|_| broken())?,
            ("transfer-encoding", value) => chunked = value == "chunked",
            ("connection", "close") => keep = false,
            _ => {}
        }
    }
    let mut body = Vec::new();
    if chunked {
        loop {
            let mut size = String::new();
            connection.read_line(&mut size)?;
            let size = u64::from_str_radix(size.trim(), 16).map_err(|_| broken())?;
            let before = body.len();
            connection.take(size).read_to_end(&mut body)?;
            connection.read_line(&mut String::new())?;
            if size == 0 {
                break;
            }
            if body.len() == before {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
    } else {
        body.resize(length, 0);
        connection.read_exact(&mut body)?;
    }
    Ok((Reply { status, body }, keep))
}
