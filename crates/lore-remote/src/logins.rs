//! Who is logged in where: one file of the user's own.
//!
//! A refresh token is good for one use; a second use makes the server end the whole login, as it must take it for a theft.
//! So the file is read, the server asked and the file written under a lock that all processes of the user respect: several
//! bridges share one login.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use lore_model::{Code, Failure};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::{Issued, Now, PlainHttp, Secret, ServerUrl, authority::no_login};

const FILE: &str = "servers.json";
const LOCK: &str = "servers.json.lock";
const VERSION: u32 = 1;

/// So long another process may keep the file: longer than it takes to renew a login.
const PATIENCE: Duration = Duration::from_mins(1);

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

/// Tokens that were renewed.
#[derive(Debug, Clone)]
pub(crate) struct Renewed {
    pub(crate) tokens: Tokens,
    /// The refresh token that the file still has, where the new ones could not be written. It is used up: to use it again
    /// would look like a theft.
    pub(crate) stale: Option<Secret>,
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
    pub(crate) fn now(&self) -> Now {
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
    /// The new ones are on the disk before anybody uses them. `held` is what this process had last: it counts where it is
    /// newer than what the file has.
    pub(crate) fn renew(
        &self,
        url: &ServerUrl,
        held: Option<&Renewed>,
        fits: impl Fn(&Tokens) -> bool,
        refresh: impl FnOnce(&Secret) -> Result<Issued, Failure>,
    ) -> Result<Renewed, Failure> {
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
            return Ok(Renewed { tokens: login.tokens.clone(), stale: None });
        }
        let kept = login.tokens.refresh_token.clone();
        let newer = held.filter(|held| held.stale.as_ref() == Some(&kept)).map(|held| &held.tokens.refresh_token);
        // The old token is used up once the server was asked. That the file can be written is seen before; where what the
        // file has is used up already, there is nothing to lose.
        let draft = match self.draft() {
            Err(failure) if newer.is_none() => return Err(failure),
            draft => draft,
        };
        let issued = refresh(newer.unwrap_or(&kept))?;
        login.tokens = Tokens::new(issued, (self.now)());
        let tokens = login.tokens.clone();
        let written = draft.and_then(|draft| self.write(draft, &content));
        if let Err(failure) = &written {
            // This process can go on, and tries again to write; until then another one must log in again.
            tracing::warn!(%failure, "the renewed login could not be kept");
        }
        Ok(Renewed { tokens, stale: written.is_err().then_some(kept) })
    }

    /// Writes down what could not be written when it was renewed. Where the file has something else by now, that stays.
    pub(crate) fn keep(&self, url: &ServerUrl, held: &Renewed) -> Result<(), Failure> {
        let _lock = self.lock()?;
        let mut content = self.read()?;
        let login = content.servers.iter_mut().find(|login| login.url == url.as_str());
        let Some(login) = login.filter(|login| held.stale.as_ref() == Some(&login.tokens.refresh_token)) else {
            return Ok(());
        };
        login.tokens = held.tokens.clone();
        self.write(self.draft()?, &content)
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

    /// Waits for the others, in bounded time, and keeps them waiting as long as the value lives.
    fn lock(&self) -> Result<File, Failure> {
        self.lock_within(PATIENCE)
    }

    fn lock_within(&self, patience: Duration) -> Result<File, Failure> {
        let path = self.folder.join(LOCK);
        let mut folder = fs::DirBuilder::new();
        folder.recursive(true);
        // Closed to other users of the machine, as it is where the index makes it.
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        folder.create(&self.folder).map_err(|error| refused("create", &self.folder, &error))?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| refused("open", &path, &error))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(refused("lock", &path, &error)),
                Err(TryLockError::WouldBlock) if begun.elapsed() > patience => {
                    let message =
                        format!("another process has kept {} for {} seconds", path.display(), patience.as_secs());
                    return Err(Failure::new(Code::Busy, message)
                        .hint("end the `lore` that hangs: nothing else keeps that file for so long"));
                }
                // The system tells nobody that a file is free.
                Err(TryLockError::WouldBlock) => std::thread::park_timeout(Duration::from_millis(20)),
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::User;

    fn issued(number: u32) -> Issued {
        Issued {
            access_token: Secret::new(format!("access-{number}")),
            expires_in: Some(100),
            refresh_token: Secret::new(format!("refresh-{number}")),
            refresh_token_expires_in: None,
            user: User { username: "ada".to_owned(), role: "admin".to_owned(), created_at: None },
        }
    }

    /// Renews whatever is kept, and gives the refresh token that was used for it.
    fn renewed(logins: &Logins, url: &ServerUrl, held: Option<&Renewed>, is_full: bool) -> (Renewed, String) {
        let mut used = String::new();
        let renewed = logins.renew(
            url,
            held,
            |_| false,
            |token| {
                token.expose().clone_into(&mut used);
                if is_full {
                    // The disk fills up while the server answers: nothing can be put in the place of the file.
                    fs::rename(logins.path(), logins.folder.join("aside")).unwrap();
                    fs::create_dir(logins.path()).unwrap();
                }
                let number = used.rsplit('-').next().unwrap().parse::<u32>().unwrap();
                Ok(issued(number + 1))
            },
        );
        if is_full {
            fs::remove_dir(logins.path()).unwrap();
            fs::rename(logins.folder.join("aside"), logins.path()).unwrap();
        }
        (renewed.unwrap(), used)
    }

    #[test]
    fn a_process_that_hangs_keeps_the_others_waiting_in_bounded_time() {
        let folder = tempfile::tempdir().unwrap();
        let logins = Logins::new(folder.path(), || 0);
        let held = logins.lock().unwrap();
        let failure = logins.lock_within(Duration::from_millis(50)).unwrap_err();
        assert_eq!(failure.code, Code::Busy);
        drop(held);
        logins.lock_within(Duration::from_millis(50)).unwrap();
    }

    #[test]
    fn a_renewed_login_that_could_not_be_written_is_not_used_up_twice() {
        let folder = tempfile::tempdir().unwrap();
        let logins = Logins::new(folder.path(), || 0);
        let url = ServerUrl::parse("https://lore.example.com", PlainHttp::default()).unwrap();
        logins.put(Login::new(&url, "ada", None, Tokens::new(issued(1), 0))).unwrap();
        let kept = || logins.find(&url).unwrap().unwrap().tokens.refresh_token;
        let (first, used) = renewed(&logins, &url, None, true);
        assert_eq!((used.as_str(), kept().expose()), ("refresh-1", "refresh-1"));
        // The token of the file is used up; the one that this process has is not.
        let (second, used) = renewed(&logins, &url, Some(&first), true);
        assert_eq!((used.as_str(), kept().expose()), ("refresh-2", "refresh-1"));
        logins.keep(&url, &second).unwrap();
        assert_eq!(kept().expose(), "refresh-3");
        // Somebody has logged in again meanwhile: that counts.
        logins.put(Login::new(&url, "ada", None, Tokens::new(issued(7), 0))).unwrap();
        logins.keep(&url, &second).unwrap();
        assert_eq!(kept().expose(), "refresh-7");
        let (third, used) = renewed(&logins, &url, Some(&second), false);
        assert_eq!((used.as_str(), kept().expose(), third.stale), ("refresh-7", "refresh-8", None));
    }
}
