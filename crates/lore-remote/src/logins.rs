//! Who is logged in where: one file of the user's own.
//!
//! A refresh token is good for one use; a second use makes the server end the whole login, as it must take it for a theft.
//! So the file is read, the server asked and the file written under a lock that all processes of the user respect: several
//! bridges share one login.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use lore_model::{Code, Failure};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::{Issued, Now, PlainHttp, Secret, ServerUrl, authority::no_login};

const FILE: &str = "servers.json";
const LOCK: &str = "servers.json.lock";
const VERSION: u32 = 1;

/// A server may say how long a token is good; where it does not, this many seconds are assumed.
const ASSUMED: i64 = 300;

/// The tokens of a login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Shows who asks.
    pub access_token: Secret,
    /// Until when (seconds since 1970).
    pub access_expires_at: i64,
    /// Gets the next pair, once.
    pub refresh_token: Secret,
    /// Until when, where the server says so.
    pub refresh_expires_at: Option<i64>,
}

impl Tokens {
    /// What a server gave at that time.
    pub fn new(issued: Issued, now: i64) -> Self {
        Self {
            access_token: issued.access_token,
            access_expires_at: now.saturating_add(issued.expires_in.unwrap_or(ASSUMED)),
            refresh_token: issued.refresh_token,
            refresh_expires_at: issued.refresh_token_expires_in.map(|seconds| now.saturating_add(seconds)),
        }
    }
}

/// Who is logged in at a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    url: String,
    /// Who.
    pub username: String,
    /// Certificates to trust there besides those of the system.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// The tokens.
    #[serde(flatten)]
    pub tokens: Tokens,
}

impl Login {
    /// Somebody's login.
    pub fn new(url: &ServerUrl, username: &str, ca_file: Option<PathBuf>, tokens: Tokens) -> Self {
        Self { url: url.as_str().to_owned(), username: username.to_owned(), ca_file, tokens }
    }

    /// Where. Whoever logged in at a plain address of another machine has said that they want to.
    pub fn url(&self) -> Result<ServerUrl, Failure> {
        ServerUrl::parse(&self.url, PlainHttp::Allowed)
    }
}

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    servers: Vec<Login>,
}

/// The file of the logins.
#[derive(Debug, Clone)]
pub struct Logins {
    folder: PathBuf,
    now: Now,
}

impl Logins {
    /// The logins that are kept in that folder, `$LORE_HOME`. Nothing is read yet.
    pub fn new(folder: &Path, now: Now) -> Self {
        Self { folder: folder.to_owned(), now }
    }

    /// The clock that decides what is still good.
    pub fn now(&self) -> Now {
        self.now
    }

    /// Every login, in the order in which they were made.
    pub fn list(&self) -> Result<Vec<Login>, Failure> {
        Ok(self.read()?.servers)
    }

    /// The login at a server.
    pub fn find(&self, url: &ServerUrl) -> Result<Option<Login>, Failure> {
        Ok(self.list()?.into_iter().find(|login| login.url == url.as_str()))
    }

    /// Keeps a login in place of an earlier one at the same server.
    pub fn put(&self, login: Login) -> Result<(), Failure> {
        let _lock = self.lock()?;
        let draft = self.draft()?;
        let mut content = self.read()?;
        content.servers.retain(|other| other.url != login.url);
        content.servers.push(login);
        self.write(draft, &content)
    }

    /// Forgets a login and gives it, so that it can be ended at the server.
    pub fn remove(&self, url: &ServerUrl) -> Result<Option<Login>, Failure> {
        if self.find(url)?.is_none() {
            return Ok(None);
        }
        let _lock = self.lock()?;
        let draft = self.draft()?;
        let mut content = self.read()?;
        let at = content.servers.iter().position(|login| login.url == url.as_str());
        let removed = at.map(|at| content.servers.remove(at));
        self.write(draft, &content)?;
        Ok(removed)
    }

    /// Gives the kept tokens where they fit, and gets and keeps new ones otherwise.
    ///
    /// The new ones are on the disk before anybody uses them.
    pub(crate) fn renew(
        &self,
        url: &ServerUrl,
        fits: impl Fn(&Tokens) -> bool,
        refresh: impl FnOnce(&Secret) -> Result<Issued, Failure>,
    ) -> Result<Tokens, Failure> {
        // Who only asks leaves no trace where nobody is logged in.
        if self.find(url)?.is_none() {
            return Err(no_login(url));
        }
        let _lock = self.lock()?;
        // Another process may have renewed them while this one waited.
        let mut content = self.read()?;
        let login = content.servers.iter_mut().find(|login| login.url == url.as_str());
        let Some(login) = login else { return Err(no_login(url)) };
        if fits(&login.tokens) {
            return Ok(login.tokens.clone());
        }
        // The old token is used up once the server was asked. That the file can be written is seen before.
        let draft = self.draft()?;
        let issued = refresh(&login.tokens.refresh_token)?;
        login.tokens = Tokens::new(issued, (self.now)());
        let tokens = login.tokens.clone();
        if let Err(failure) = self.write(draft, &content) {
            // This process can go on; the next one must log in again.
            tracing::warn!(%failure, "the renewed login could not be kept");
        }
        Ok(tokens)
    }

    fn path(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    fn read(&self) -> Result<Content, Failure> {
        let path = self.path();
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Content { version: VERSION, servers: Vec::new() });
            }
            Err(error) => return Err(refused("read", &path, &error)),
        };
        let damaged = |what: &str| {
            // What stands in the file must not stand in the message.
            Failure::new(Code::InvalidConfig, format!("{} cannot be understood: {what}", path.display()))
                .hint("remove it and log in again")
        };
        let content: Content = serde_json::from_slice(&bytes)
            .map_err(|error| damaged(&format!("line {}, column {}", error.line(), error.column())))?;
        if content.version != VERSION {
            return Err(damaged(&format!("it has version {}, this program knows {VERSION}", content.version)));
        }
        Ok(content)
    }

    /// An empty file beside the real one that only the user can read.
    fn draft(&self) -> Result<NamedTempFile, Failure> {
        NamedTempFile::with_prefix_in(".servers-", &self.folder).map_err(|error| refused("write", &self.path(), &error))
    }

    /// Fills the draft and puts it in the place of the file, in one step that survives a power cut.
    fn write(&self, mut draft: NamedTempFile, content: &Content) -> Result<(), Failure> {
        let path = self.path();
        let mut text = serde_json::to_string_pretty(content)
            .map_err(|error| Failure::new(Code::Internal, format!("cannot write down a login: {error}")))?;
        text.push('\n');
        let written = draft
            .write_all(text.as_bytes())
            .and_then(|()| draft.as_file().sync_all())
            .and_then(|()| draft.persist(&path).map_err(|error| error.error))
            .and_then(|_| sync_folder(&self.folder));
        written.map_err(|error| refused("write", &path, &error))
    }

    /// Waits for the others and keeps them waiting as long as the value lives.
    fn lock(&self) -> Result<File, Failure> {
        let path = self.folder.join(LOCK);
        fs::create_dir_all(&self.folder).map_err(|error| refused("create", &self.folder, &error))?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| refused("open", &path, &error))?;
        file.lock().map_err(|error| refused("lock", &path, &error))?;
        Ok(file)
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        // Some file systems cannot do it for a folder, which is no reason to fail.
        drop(File::open(folder)?.sync_all());
    }
    Ok(())
}

fn refused(what: &str, path: &Path, error: &io::Error) -> Failure {
    let code = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::DiskFull,
        _ => Code::NoAccess,
    };
    Failure::new(code, format!("cannot {what} {}: {error}", path.display()))
        .hint("see who may write there, or choose another folder with `--home`")
}
