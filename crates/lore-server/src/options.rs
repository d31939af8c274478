//! What whoever runs the server may choose.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use lore_model::{Code, Failure, brief};

use crate::Network;

/// What whoever runs the server may choose.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Names it is reached by beside those of the machine to itself and the address it listens on.
    pub hosts: Vec<String>,
    /// Origins of web pages that may use it.
    pub origins: Vec<String>,
    /// Who may say for whom they ask: reverse proxies.
    pub trusted_proxies: Vec<Network>,
    /// The certificate, where it speaks TLS itself.
    pub tls: Option<TlsFiles>,
    /// An authorization server that clients are told about.
    pub oauth_issuer: Option<String>,
    /// How clients reach it, where that is not the name they use: `https://lore.example`.
    pub public_url: Option<String>,
    /// How much, and how long.
    pub limits: Limits,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8000)),
            hosts: Vec::new(),
            origins: Vec::new(),
            trusted_proxies: Vec::new(),
            tls: None,
            oauth_issuer: None,
            public_url: None,
            limits: Limits::default(),
        }
    }
}

impl ServerOptions {
    /// Whether passwords and tokens could be read on their way: other machines reach it, and it does not encrypt. That a
    /// proxy does is no help for whoever goes around it.
    pub fn is_open(&self) -> bool {
        !self.listen.ip().is_loopback() && self.tls.is_none()
    }
}

/// Files with a certificate chain and its key, in PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate, and those that vouch for it.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// How much, and how long.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The most bytes of a request, except for MCP.
    pub body: usize,
    /// The most bytes of a request about logins and passwords.
    pub auth_body: usize,
    /// The most bytes of an MCP message.
    pub mcp_body: usize,
    /// The most bytes of all bodies that are being read or wait for their turn. One user has an eighth of them.
    pub reading: usize,
    /// The same for logins and passwords, which nothing else keeps waiting. One address has a thirty-second part of them.
    pub auth_reading: usize,
    /// How long a client may take for the head of its first request, and for the TLS handshake.
    pub head: Duration,
    /// How long a connection of HTTP/1 is kept for the next request: longer than proxies keep theirs.
    pub keep_alive: Duration,
    /// A connection of HTTP/2 without a new request for so long takes no more.
    pub idle: Duration,
    /// What is under way on a connection of HTTP/2 that takes no more may go on for so long: longer than any call.
    pub lingering: Duration,
    /// How long a client may take nothing of what is being written to it.
    pub writing: Duration,
    /// How long a client may take for the body of a request.
    pub sending: Duration,
    /// How long an answer may take, except for MCP.
    pub request: Duration,
    /// How often it is looked whether somebody who only listens may still do so.
    pub listening: Duration,
    /// How long writes to the team's records may fail before callers that wait for a job are told.
    pub failing_writes: Duration,
    /// How many connections there are at a time.
    pub connections: usize,
    /// How many of them may come from one address that is no trusted proxy.
    pub per_address: usize,
    /// How often it is looked whether the certificate was replaced.
    pub certificate: Duration,
    /// How long requests that are under way may take when the server stops.
    pub stopping: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 1024 * 1024,
            auth_body: 16 * 1024,
            mcp_body: 4 * 1024 * 1024,
            reading: 64 * 1024 * 1024,
            auth_reading: 8 * 1024 * 1024,
            head: Duration::from_secs(10),
            keep_alive: Duration::from_secs(90),
            idle: Duration::from_mins(5),
            lingering: Duration::from_mins(15),
            writing: Duration::from_mins(1),
            sending: Duration::from_secs(30),
            request: Duration::from_mins(1),
            listening: Duration::from_secs(15),
            failing_writes: Duration::from_secs(5),
            connections: 4096,
            per_address: 1024,
            certificate: Duration::from_secs(30),
            stopping: Duration::from_secs(10),
        }
    }
}

/// A URL as it may stand in a header: `http` or `https`, printable. It is kept as it is: the name of an issuer is compared
/// to the byte (RFC 8414), and a slash at its end is part of it.
pub(crate) fn plain_url(what: &str, text: &str) -> Result<String, Failure> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let fits = rest.is_some_and(|rest| {
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '?' | '#' | '@'))
    });
    if !fits {
        return Err(Failure::new(Code::InvalidArgument, format!("`{}` cannot be the {what}", brief(text)))
            .hint("it is like `https://lore.example`"));
    }
    Ok(text.to_owned())
}
