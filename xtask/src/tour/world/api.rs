//! `~/src/api`: a small service of the team's own, which most guides stand in.

use std::path::Path;

use anyhow::Result;
use lore_testkit::Git;

use super::{ADA, Commit, make as make_repo};

const DANA: &str = "Dana Reyes <dana@example.com>";

pub(super) fn make(path: &Path, now: i64) -> Result<()> {
    make_repo(path, now, FIRST)?;
    let git = Git::at(path);
    git.text(&["tag", "v1.0.0"])?;
    git.text(&["branch", "release-2"])?;
    super::add(path, now, LATER)
}

const FIRST: &[Commit] = &[
    Commit {
        days: 400,
        author: ADA,
        message: "Read the configuration",
        files: &[
            ("Cargo.toml", "[package]\nname = \"api\"\nversion = \"0.9.0\"\nedition = \"2024\"\n"),
            (
                "README.md",
                "# api\n\nThe service behind the shop.\n\n## Retries\n\nA failed request is sent three times.\n",
            ),
            ("src/config.rs", CONFIG),
            ("src/main.rs", "mod config;\n\nfn main() {\n    config::parse_config(\"api.toml\");\n}\n"),
        ],
    },
    Commit {
        days: 390,
        author: DANA,
        message: "Send a failed request again\n\nThe network drops one request in a thousand.",
        files: &[("src/net/retry.rs", RETRY), ("src/net/tcp.rs", TCP)],
    },
    Commit {
        days: 300,
        author: DANA,
        message: "Add a rate limiter to the login",
        files: &[("src/auth/limit.rs", LIMIT), ("src/auth.rs", AUTH), ("Cargo.toml", CARGO)],
    },
];

const LATER: &[Commit] = &[
    Commit {
        days: 120,
        author: ADA,
        message: "pool: a connection pool timeout no longer keeps the slot\n\nFixes a deadlock: the lock order was the wrong way round.",
        files: &[("src/net/pool.rs", POOL)],
    },
    Commit { days: 60, author: DANA, message: "cache: keep sessions for an hour", files: &[("src/cache.rs", CACHE)] },
    Commit {
        days: 20,
        author: ADA,
        message: "net: leave retries to the client\n\nThey doubled the load when the database was slow.",
        files: &[("src/net/retry.rs", "")],
    },
    Commit {
        days: 3,
        author: DANA,
        message: "auth: refuse tokens that have expired",
        files: &[
            ("src/auth/token.rs", TOKEN),
            ("Cargo.toml", "[package]\nname = \"api\"\nversion = \"1.1.0\"\nedition = \"2024\"\n"),
        ],
    },
];

const CARGO: &str = "[package]\nname = \"api\"\nversion = \"1.0.0\"\nedition = \"2024\"\n";

const CONFIG: &str = r#"//! Settings of the service.

/// What `api.toml` says.
pub struct Config {
    pub listen: String,
    pub retries: u32,
}

/// Reads the file of settings, with the defaults where it says nothing.
pub fn parse_config(path: &str) -> Config {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let retries = text.lines().find_map(|line| line.strip_prefix("retries = ")).and_then(|n| n.parse().ok());
    Config { listen: "127.0.0.1:8080".to_owned(), retries: retries.unwrap_or(3) }
}
"#;

const RETRY: &str = r"//! Retries of requests.

/// Where retries are limited: no request is sent more often than this.
const MOST: u32 = 3;

/// Retries a failed request until it succeeds or the limit is reached.
pub fn retry<T, E>(mut send: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let mut tries = 1;
    loop {
        match send() {
            Err(_) if tries < MOST => tries += 1,
            answer => return answer,
        }
    }
}
";

const TCP: &str = r#"//! Connections over TCP.

use std::net::TcpStream;

/// Opens a connection; "connection reset" by the other side is tried once more, the handling of everything else is left
/// to the caller.
pub fn connect(address: &str) -> std::io::Result<TcpStream> {
    match TcpStream::connect(address) {
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => TcpStream::connect(address),
        answer => answer,
    }
}

/// Serves a connection on a thread of its own.
pub fn spawn(stream: TcpStream) {
    std::thread::spawn(move || drop(stream));
}
"#;

const LIMIT: &str = r"//! How often one address may try to log in.

/// A rate limiter: so many tries in a minute.
pub struct RateLimiter {
    left: u32,
}

impl RateLimiter {
    /// Whether another try is allowed.
    pub fn allow(&mut self) -> bool {
        let allowed = self.left > 0;
        self.left = self.left.saturating_sub(1);
        allowed
    }
}
";

const POOL: &str = r"//! Connections that are used again.

/// How long a caller waits for a connection of the pool.
pub const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

/// Takes a connection out of the pool; gives its slot back when the wait is over.
pub fn take() -> Option<usize> {
    None
}
";

const CACHE: &str = r"//! What was asked a moment ago.

/// How long a session is kept, in seconds.
pub const SESSION: u64 = 3600;

/// Forgets sessions that are older.
pub fn forget_old(sessions: &mut Vec<u64>, now: u64) {
    sessions.retain(|begun| now - begun < SESSION);
}
";

const TOKEN: &str = r"//! Tokens that users bring.

/// A token and the second at which it ends.
pub struct Token {
    pub ends: u64,
}

impl Token {
    /// Whether it is over.
    pub fn has_expired(&self, now: u64) -> bool {
        self.ends <= now
    }
}
";

const AUTH: &str = r#"//! Who is asking, and what they may do.

/// Somebody who logged in.
pub struct User {
    pub name: String,
    pub is_admin: bool,
}

/// Why somebody is not let in.
#[derive(Debug)]
pub enum Denied {
    /// The name or the password is wrong.
    Credentials,
    /// There were too many tries.
    TooOften,
}

/// Looks a user up.
fn find(name: &str) -> Option<User> {
    let known = ["ada", "grace"];
    known.contains(&name).then(|| User { name: name.to_owned(), is_admin: name == "ada" })
}

/// Lets somebody in who knows the password.
pub fn log_in(name: &str, password: &str) -> Result<User, Denied> {
    if password.is_empty() {
        return Err(Denied::Credentials);
    }
    find(name).ok_or(Denied::Credentials)
}

/// The user that a token was given to.
pub fn user_of(token: &str) -> Result<User, Denied> {
    let Some((name, secret)) = token.split_once(':') else {
        return Err(Denied::Credentials);
    };
    if secret != "secret" {
        return Err(Denied::Credentials);
    }
    find(name).ok_or(Denied::Credentials)
}

/// Whether this user may change that.
pub fn may_change(user: &User, path: &str) -> bool {
    if user.is_admin {
        return true;
    }
    if path.starts_with("/settings") {
        return false;
    }
    if path.starts_with("/users") {
        return path == format!("/users/{}", user.name);
    }
    !path.starts_with("/audit")
}
"#;
