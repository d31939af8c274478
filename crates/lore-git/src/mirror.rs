//! Bare mirrors of repositories elsewhere: cloned once, fetched at every sync, nothing checked out.

use std::{
    fmt,
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{
    Cancel, Git, GitError, RemotePolicy, Repository, Result, left, own_dir,
    policy::Route,
    program::{Call, Watch},
};

/// How often it is looked at whether another process is done with a mirror.
const LOCK_EVERY: Duration = Duration::from_millis(100);

/// How long a lock of git's is left to whoever may hold it: gits of Lore hold one for moments.
const LOCK_STALE: Duration = Duration::from_secs(3);

/// A mirror with more packs than this, or with about so many objects in none, is packed.
const MANY_PACKS: usize = 20;
const MANY_LOOSE: usize = 2048;

/// How many bytes a git may print that works on a mirror. It is asked for one ref alone, but what it prints is what another
/// machine says: that may go on for ever.
const MOST_PRINTED: u64 = 16 << 20;

/// Old public histories contain these faults; everything else that fsck finds is refused.
const TOLERATED: [&str; 5] = ["badTimezone", "zeroPaddedFilemode", "missingSpaceBeforeDate", "missingEmail", "badDate"];

/// Words of git's about objects and refs that it has, not about the other machine.
const LOCAL: [&str; 10] = [
    "bad object",
    "did not send all necessary objects",
    "corrupt",
    "loose object",
    "packfile",
    "packed-refs",
    "unable to read",
    "inflate",
    "object file",
    "unresolved delta",
];

/// Schemes of URLs, and transports of git, that are written without `//` as well. Git would take each for the name of a host;
/// a host of that name is reached with `user@host:path` or `ssh://host/path`.
const SCHEMES: [&str; 46] = [
    "about",
    "acct",
    "blob",
    "cid",
    "chrome",
    "data",
    "dns",
    "ext",
    "facetime",
    "fd",
    "feed",
    "file",
    "filesystem",
    "ftp",
    "ftps",
    "geo",
    "git",
    "gopher",
    "http",
    "https",
    "im",
    "intent",
    "jar",
    "javascript",
    "ldap",
    "ldaps",
    "livescript",
    "magnet",
    "mailto",
    "mhtml",
    "mid",
    "news",
    "nntp",
    "rsync",
    "sftp",
    "sip",
    "sips",
    "sms",
    "ssh",
    "tel",
    "urn",
    "vbscript",
    "view-source",
    "ws",
    "wss",
    "xmpp",
];

/// A URL that Lore is willing to fetch from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneUrl(String);

impl CloneUrl {
    /// Whether the text is meant as a URL (and not as a folder).
    pub fn looks_like(text: &str) -> bool {
        text.contains("://") || text.contains("::") || scp_like(text).is_some()
    }

    /// Accepts https, http, ssh, git and file URLs and `user@host:path`; refuses whatever could be taken for an option, a program
    /// or a URL of another kind.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = |why| Err(GitError::BadUrl { url: redact(text), why });
        if text.starts_with('-') || text.chars().any(char::is_control) {
            return bad("it is not a URL");
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return match scp_like(text) {
                Some((host, path)) if !text.contains("::") => {
                    if host.rsplit('@').next().is_none_or(|host| host.starts_with('-'))
                        || host.starts_with('-')
                        || path.starts_with('-')
                    {
                        return bad("its host could be taken for an option");
                    }
                    if SCHEMES.iter().any(|scheme| host.eq_ignore_ascii_case(scheme)) {
                        return bad(
                            "before its colon is the scheme of a URL: use an https://, ssh://, git:// or file:// URL, or \
                             user@host:path",
                        );
                    }
                    Ok(Self(text.to_owned()))
                }
                _ => bad("use an https://, ssh://, git:// or file:// URL, or user@host:path"),
            };
        };
        if !["https", "http", "ssh", "git", "file"].contains(&scheme) {
            return bad("only https, http, ssh, git and file URLs are fetched");
        }
        let authority = rest.split('/').next().unwrap_or_default();
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        if host.starts_with('-') || user.starts_with('-') {
            return bad("its host could be taken for an option");
        }
        if user.contains(':') {
            return bad("it holds a password: leave that to git's credential helper or an SSH key");
        }
        if scheme != "file" && host.is_empty() {
            return bad("it names no host");
        }
        Ok(Self(text.to_owned()))
    }

    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last part of its path without `.git`: what people call the repository.
    pub fn base_name(&self) -> &str {
        let path = self.0.trim_end_matches('/');
        let last = path.rsplit(['/', ':']).next().unwrap_or(path);
        last.strip_suffix(".git").unwrap_or(last)
    }
}

impl fmt::Display for CloneUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `host:path` where the host is more than a drive letter and no slash comes first.
fn scp_like(text: &str) -> Option<(&str, &str)> {
    let (host, path) = text.split_once(':')?;
    (host.len() > 1 && !host.contains('/') && !path.is_empty()).then_some((host, path))
}

fn redact(text: &str) -> String {
    match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}…{}", &text[..scheme + 3], &text[at..]),
        _ => text.to_owned(),
    }
}

/// What a clone or fetch is bound by.
#[derive(Debug, Clone, Default)]
pub struct Fetching {
    /// What may be reached; everything that [`CloneUrl`] takes where nothing is said.
    pub policy: Option<RemotePolicy>,
    /// The branch that HEAD names, in place of the one that the remote's HEAD does.
    pub main_branch: Option<String>,
    /// How long it may take in all.
    pub time: Option<Duration>,
    /// How many bytes the mirror may take on disk.
    pub bytes: Option<u64>,
}

/// A bare mirror on disk.
#[derive(Debug)]
pub struct Mirror<'a> {
    git: &'a Git,
    path: PathBuf,
    url: &'a CloneUrl,
    cancel: &'a Cancel,
    fetching: Fetching,
}

impl<'a> Mirror<'a> {
    /// The mirror of a URL at this place, which need not exist yet.
    pub fn new(git: &'a Git, path: PathBuf, url: &'a CloneUrl, cancel: &'a Cancel) -> Self {
        Self { git, path, url, cancel, fetching: Fetching::default() }
    }

    /// The same, bound by these limits.
    #[must_use]
    pub fn fetching(mut self, fetching: &Fetching) -> Self {
        self.fetching = fetching.clone();
        self
    }

    /// What is wrong with the mirror at this place, where something is: git reads all of it.
    pub fn check(git: &Git, path: &Path) -> Result<Option<String>> {
        if let Some(what) = not_whole(path) {
            return Ok(Some(what));
        }
        let tolerated = TOLERATED.iter().flat_map(|id| ["-c".to_owned(), format!("fsck.{id}=ignore")]);
        let call = git.inside(path).args(tolerated).subcommand("fsck");
        let call = call.args(["--full", "--no-dangling", "--no-progress"]);
        match call.run() {
            Ok(_) => Ok(None),
            Err(error @ GitError::Failed { .. }) => Ok(Some(error.to_string())),
            Err(error) => Err(error),
        }
    }

    /// Removes the mirror at a place, if there is one.
    pub fn remove(path: &Path) -> Result<()> {
        let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let lock = lock_file(path);
        // Whoever clones holds the lock; what lies there while nobody does was left by somebody who died. It is held to the end,
        // so that nobody begins to clone meanwhile.
        let turn = File::open(&lock).ok().filter(|file| file.try_lock().is_ok() && is_at(file, &lock));
        if turn.is_some() {
            remove_unfinished(path);
        }
        match fs::remove_dir_all(path) {
            Err(error) if !gone(&error) => return Err(GitError::Io { path: path.to_owned(), source: error }),
            _ => {}
        }
        // A lock that somebody else holds stays: the next would make another file, and two would have their turn at once.
        if turn.is_none() {
            return Ok(());
        }
        match fs::remove_file(&lock) {
            Err(error) if !gone(&error) => Err(GitError::Io { path: lock, source: error }),
            _ => Ok(()),
        }
    }

    /// Clones where nothing is there yet, fetches otherwise; then HEAD names the remote's main branch.
    ///
    /// What the policy says is asked each time: a name may lead elsewhere than it did.
    pub fn update(&self) -> Result<()> {
        let until = self.fetching.time.map(|time| Instant::now() + time);
        let route = self.route()?;
        let _turn = self.take_turn(until)?;
        self.free_locks()?;
        left::clear(&self.path);
        let remote = Remote { route: &route, until };
        self.renew(&remote)?;
        match &self.fetching.main_branch {
            Some(branch) => self.point_head(branch),
            None => self.follow_head(&remote),
        }?;
        self.pack(&remote)
    }

    /// The branches that the remote has now, by name. Nothing is written, and no mirror need be there.
    pub fn remote_branches(&self) -> Result<Vec<String>> {
        let until = self.fetching.time.map(|time| Instant::now() + time);
        let route = self.route()?;
        let remote = Remote { route: &route, until };
        let call = self.checked(&remote).subcommand("ls-remote").args(["--quiet", "--heads", "--"]).arg(&route.url);
        let printed = self.run(call, &self.path, &remote)?;
        // A name that is no text cannot be asked for.
        let names = printed.split(|byte| *byte == b'\n').filter_map(|line| {
            let line = std::str::from_utf8(line).ok()?;
            Some(line.split_once("\trefs/heads/")?.1.to_owned())
        });
        Ok(names.collect())
    }

    fn route(&self) -> Result<Route> {
        match &self.fetching.policy {
            Some(policy) => policy.route(self.git, self.url),
            None => Ok(Route::any(self.url)),
        }
    }

    /// Fetches, or clones where there is nothing to fetch into. A power cut or a failing disk may have left a mirror into which
    /// git cannot fetch any more: all of it can be had again.
    fn renew(&self, remote: &Remote<'_>) -> Result<()> {
        if not_whole(&self.path).is_some() {
            return self.clone_whole(remote);
        }
        // What was cut off for its size would count against every fetch after it.
        match self.fetch(remote).inspect_err(|_| left::clear(&self.path)) {
            Err(GitError::Failed { stderr, .. }) if self.is_damaged(&stderr) => self.clone_whole(remote),
            other => other,
        }
    }

    /// Whether git failed because the mirror is damaged. That takes long to find out, so it is asked only where git's words
    /// are about what lies on this disk.
    fn is_damaged(&self, said: &str) -> bool {
        LOCAL.iter().any(|text| said.contains(text)) && matches!(Self::check(self.git, &self.path), Ok(Some(_)))
    }

    /// Joins what many fetches have left: each leaves objects or a pack of its own, and refs in files of their own, and
    /// everybody who opens the mirror looks at all of them. Nothing goes that is not in a larger pack then, and whoever reads
    /// meanwhile finds it there.
    fn pack(&self, remote: &Remote<'_>) -> Result<()> {
        if !self.is_scattered() {
            return Ok(());
        }
        let inside = |name: &str| self.git.inside(&self.path).subcommand(name);
        left::clear_objects(&self.path);
        // Only what is small is written again, so that it costs what was fetched. Nobody fetches from a mirror by plain HTTP, so
        // no lists for those who would are written.
        let repack = inside("repack").args(["-d", "-l", "-n", "-q", "--geometric=2"]);
        let packed = self
            .run(left::at_work(repack, &self.path), &self.path, remote)
            .inspect_err(|_| left::clear(&self.path))
            .and_then(|_| self.run(inside("pack-refs").args(["--all", "--prune"]), &self.path, remote));
        match packed {
            // The mirror is whole without it.
            Err(error) if !matches!(error, GitError::Cancelled) => {
                tracing::warn!(mirror = %self.path.display(), %error, "a clone could not be packed");
                Ok(())
            }
            other => other.map(|_| ()),
        }
    }

    /// Whether there are many packs, or many objects in none; those are looked at in one folder of 256.
    fn is_scattered(&self) -> bool {
        let count = |folder: &str, counts: &dyn Fn(&Path) -> bool| {
            let entries = fs::read_dir(self.path.join("objects").join(folder)).into_iter().flatten().flatten();
            entries.filter(|entry| counts(&entry.path())).count()
        };
        let is_pack = |path: &Path| path.extension().is_some_and(|end| end == "pack");
        count("pack", &is_pack) > MANY_PACKS || count("17", &|_| true) > MANY_LOOSE / 256
    }

    /// Waits until nobody else updates the mirror, in whichever process. A crash cannot leave the lock behind.
    fn take_turn(&self, until: Option<Instant>) -> Result<File> {
        let path = lock_file(&self.path);
        let parent = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(GitError::io(parent))?;
        loop {
            // Opened each time: whoever removes a mirror takes the file away as well, and the next makes another.
            let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
            let file = file.map_err(GitError::io(&path))?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => return Ok(file),
                Err(TryLockError::Error(source)) => return Err(GitError::Io { path, source }),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
            }
            self.cancel.check()?;
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(self.too_slow("fetch"));
            }
            std::thread::park_timeout(LOCK_EVERY);
        }
    }

    /// Takes away the locks of a git that was killed: no other git could ever write here again.
    ///
    /// Nobody but Lore writes into a mirror, and it is this one's turn. Only a git that outlived its Lore may still be at work,
    /// so each lock gets the time to go by itself.
    fn free_locks(&self) -> Result<()> {
        let found = Instant::now();
        loop {
            let mut locks = Vec::new();
            locks_in(&self.path, false, &mut locks);
            locks_in(&self.path.join("refs"), true, &mut locks);
            // Not called a lock, but as good as one: git writes packed refs anew only where it is not there.
            locks.extend(Some(self.path.join("packed-refs.new")).filter(|path| path.exists()));
            if locks.is_empty() {
                return Ok(());
            }
            if found.elapsed() >= LOCK_STALE {
                for lock in locks {
                    match fs::remove_file(&lock) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => {
                            return Err(GitError::io(&lock)(error));
                        }
                        _ => {}
                    }
                }
                return Ok(());
            }
            self.cancel.check()?;
            std::thread::park_timeout(LOCK_EVERY);
        }
    }

    fn too_slow(&self, command: &str) -> GitError {
        GitError::TooSlow { command: command.to_owned(), limit: self.fetching.time.unwrap_or_default() }
    }

    /// Points HEAD to a branch that must be there.
    fn point_head(&self, branch: &str) -> Result<()> {
        let tip = Repository::open(&self.path)?.get_branch(branch)?;
        self.set_head(&tip.name)
    }

    fn set_head(&self, full: &str) -> Result<()> {
        let head = self.path.join("HEAD");
        // Written only where it changes: each time, a power cut could take it.
        if fs::read(&head).is_ok_and(|now| now == format!("ref: {full}\n").as_bytes()) {
            return Ok(());
        }
        self.git.inside(&self.path).subcommand("symbolic-ref").arg("HEAD").arg(full).run()?;
        sync(&head)
    }

    /// Clones beside the final place and moves it there whole, so that a half clone is never taken for a mirror.
    fn clone_whole(&self, remote: &Remote<'_>) -> Result<()> {
        let parent = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(GitError::io(parent))?;
        remove_unfinished(&self.path);
        // A name of its own: a git that outlived its Lore may still be writing under the last one.
        let unfinished = parent.join(format!("{}{}", unfinished_prefix(&self.path), std::process::id()));
        let call = self.checked(remote).subcommand("clone").args([
            "--quiet",
            "--bare",
            "--template=",
            "--no-local",
            "--no-hardlinks",
            "--no-recurse-submodules",
        ]);
        let cloned = self.wait(call.arg("--").arg(&remote.route.url).arg(&unfinished), &unfinished, remote);
        let moved = cloned.and_then(|()| {
            // Git makes objects and refs durable, but not these.
            for file in ["HEAD", "config"] {
                sync(&unfinished.join(file))?;
            }
            sync(&unfinished)?;
            own_dir::remove(&self.path)?;
            fs::rename(&unfinished, &self.path).map_err(GitError::io(&self.path))?;
            sync(parent)
        });
        if moved.is_err() {
            // A git that was ended takes it away by itself. One that ended well has left something too large.
            remove_unfinished(&self.path);
        }
        moved
    }

    fn fetch(&self, remote: &Remote<'_>) -> Result<()> {
        let call = self.inside(remote).subcommand("fetch").args([
            "--quiet",
            "--prune",
            // Of their own accord tags only come with what is fetched anyway; all are named below.
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--force",
        ]);
        let call = left::at_work(call, &self.path).arg("--").arg(&remote.route.url);
        self.wait(call.args(["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]), &self.path, remote)
    }

    /// Points the mirror's HEAD to where the remote's HEAD points.
    fn follow_head(&self, remote: &Remote<'_>) -> Result<()> {
        let call = self
            .inside(remote)
            .subcommand("ls-remote")
            .args(["--quiet", "--symref", "--"])
            .arg(&remote.route.url)
            .arg("HEAD");
        let printed = self.run(call, &self.path, remote)?;
        // Others whose names end like that are listed as well, and a name that is no text cannot be asked for here.
        let mut lines = printed.split(|byte| *byte == b'\n');
        let target = lines.find_map(|line| line.strip_prefix(b"ref: ")?.strip_suffix(b"\tHEAD"));
        let branch = target.and_then(|target| std::str::from_utf8(target).ok());
        if let Some(branch) = branch.filter(|branch| branch.starts_with("refs/heads/")) {
            self.set_head(branch)?;
        }
        Ok(())
    }

    fn inside(&self, remote: &Remote<'_>) -> Call {
        self.checked(remote).arg("--git-dir").arg(&self.path)
    }

    /// A call that checks what it receives, and goes where the policy lets it.
    fn checked(&self, remote: &Remote<'_>) -> Call {
        let tolerated = TOLERATED.iter().flat_map(|id| ["-c".to_owned(), format!("fetch.fsck.{id}=warn")]);
        let call = match &self.fetching.policy {
            Some(policy) => self.git.pinned(policy, remote.route),
            None => self.git.network(),
        };
        call.args([
            "-c",
            "fetch.fsckObjects=true",
            // Of its own accord git lets a power cut take the objects that refs name.
            "-c",
            "core.fsync=all",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "gc.auto=0",
            "-c",
            "init.defaultRefFormat=files",
        ])
        .args(tolerated)
    }

    fn wait(&self, call: Call, growing: &Path, remote: &Remote<'_>) -> Result<()> {
        self.run(call, growing, remote).map(|_| ())
    }

    /// Runs a call as long as there is time and room. A git that is stopped takes away what it has begun.
    fn run(&self, call: Call, growing: &Path, remote: &Remote<'_>) -> Result<Vec<u8>> {
        self.cancel.check()?;
        let limit = match remote.until {
            Some(until) => until.saturating_duration_since(Instant::now()),
            None => Duration::MAX,
        };
        let command = call.name().to_owned();
        let growing = self.fetching.bytes.map(|most| (growing, most));
        let watch = Watch { limit, printed: MOST_PRINTED, growing };
        match call.run_watched(&watch, self.cancel) {
            Err(GitError::TooSlow { .. }) => Err(self.too_slow(&command)),
            other => other,
        }
    }
}

/// Where a mirror comes from, this time.
struct Remote<'a> {
    route: &'a Route,
    until: Option<Instant>,
}

/// Files of git's that keep others from writing. No ref is called like them.
fn locks_in(folder: &Path, below: bool, found: &mut Vec<PathBuf>) {
    // What cannot be listed is not there, or git will say so.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && below => locks_in(&entry.path(), true, found),
            Ok(kind) if kind.is_file() => {
                found.extend(Some(entry.path()).filter(|path| path.extension().is_some_and(|end| end == "lock")));
            }
            _ => {}
        }
    }
}

/// Why git would not take a folder for the mirror that it was, where something is missing. Without its configuration it would
/// be a repository with a work tree.
fn not_whole(mirror: &Path) -> Option<String> {
    for file in ["HEAD", "config"] {
        if fs::metadata(mirror.join(file)).map_or(true, |meta| meta.len() == 0) {
            return Some(format!("{} is missing or empty", mirror.join(file).display()));
        }
    }
    Repository::open(mirror).err().map(|error| error.to_string())
}

/// Makes a file or a folder durable. Windows cannot open a folder, and does not need it.
fn sync(path: &Path) -> Result<()> {
    if cfg!(unix) {
        File::open(path).and_then(|file| file.sync_all()).map_err(GitError::io(path))?;
    }
    Ok(())
}

/// How the names of clones begin that are not whole yet.
fn unfinished_prefix(mirror: &Path) -> String {
    format!("{}.unfinished-", mirror.file_name().unwrap_or_default().to_string_lossy())
}

/// Takes away what clones of this mirror have left; for whoever has its lock, since nobody else may be cloning then.
///
/// A git that outlived its Lore may still be writing there. What cannot be taken away now goes the next time.
fn remove_unfinished(mirror: &Path) {
    let prefix = unfinished_prefix(mirror);
    let parent = mirror.parent().unwrap_or(Path::new("."));
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(&prefix) {
            continue;
        }
        if let Err(error) = fs::remove_dir_all(entry.path()) {
            tracing::debug!(%error, "what a clone has left stays for now");
        }
    }
}

/// Whether the file is still the one at that place. A lock on another keeps nobody out.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let place = |meta: &fs::Metadata| (meta.dev(), meta.ino());
    matches!((file.metadata(), fs::metadata(path)), (Ok(held), Ok(there)) if place(&held) == place(&there))
}

/// Elsewhere a file has no number by which it is known.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

fn lock_file(mirror: &Path) -> PathBuf {
    let mut name = mirror.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_of_git_are_found_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let refs = dir.path().join("refs/heads/topic");
        fs::create_dir_all(&refs).unwrap();
        fs::create_dir_all(dir.path().join("objects")).unwrap();
        for name in ["HEAD", "HEAD.lock", "refs/heads/main", "refs/heads/topic/a.lock", "objects/kept.lock"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let mut found = Vec::new();
        locks_in(dir.path(), false, &mut found);
        locks_in(&dir.path().join("refs"), true, &mut found);
        assert_eq!(found, [dir.path().join("HEAD.lock"), refs.join("a.lock")]);
    }

    #[test]
    fn what_a_dead_clone_has_left_goes_with_the_mirror_and_what_a_living_one_writes_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (mirror, other) = (dir.path().join("m.git"), dir.path().join("m2.git.unfinished-7"));
        let left = dir.path().join("m.git.unfinished-7");
        for folder in [&mirror, &left, &other] {
            fs::create_dir_all(folder.join("objects")).unwrap();
        }
        let lock = File::create(lock_file(&mirror)).unwrap();
        lock.lock().unwrap();
        Mirror::remove(&mirror).unwrap();
        assert!(!mirror.exists() && left.exists(), "somebody clones");
        assert!(lock_file(&mirror).exists(), "and goes on to keep the others out");
        drop(lock);
        Mirror::remove(&mirror).unwrap();
        assert!(!left.exists() && other.exists());
        let names: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["m2.git.unfinished-7"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_whose_file_was_taken_away_is_no_turn() {
        let dir = tempfile::tempdir().unwrap();
        let (git, cancel, place) = (Git::default(), Cancel::default(), dir.path().join("m.git"));
        let url = CloneUrl::parse("file:///nowhere").unwrap();
        let mirror = Mirror::new(&git, place.clone(), &url, &cancel);
        let first = mirror.take_turn(None).unwrap();
        let second = std::thread::scope(|scope| {
            let second = scope.spawn(|| mirror.take_turn(None).unwrap());
            // It waits for the lock of this file, and then the file is another.
            std::thread::park_timeout(3 * LOCK_EVERY);
            fs::remove_file(lock_file(&place)).unwrap();
            drop(first);
            second.join().unwrap()
        });
        let third = mirror.take_turn(Some(Instant::now()));
        assert!(matches!(third, Err(GitError::TooSlow { .. })), "{third:?}");
        drop(second);
        mirror.take_turn(Some(Instant::now())).unwrap();
        Mirror::remove(&place).unwrap();
        assert!(!lock_file(&place).exists());
    }

    #[test]
    fn urls_that_could_run_or_steer_something_are_refused() {
        for bad in [
            "ext::sh -c touch% /tmp/x",
            "-uevil",
            "--upload-pack=evil",
            "ssh://-oProxyCommand=evil/x",
            "ssh://u@-oProxy/x",
            "-oProxyCommand=x@host:path",
            "u@-host:path",
            "ftp://host/x",
            "fd::17",
            "https://",
            "javascript://x",
            "https://user:secret@host/x",
            "https://host/x\nfoo",
            "javascript:alert(1)",
            "JavaScript:alert/1",
            "vbscript:x",
            "data:text/html,x",
            "file:/etc/passwd",
            "file:x",
            "FILE:x",
            "https:host/x",
            "ssh:host/x",
            "ext:sh",
            "mailto:team@example.com",
        ] {
            let error = CloneUrl::parse(bad).expect_err(bad).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        for (good, name) in [
            ("https://example.com/team/api-server.git", "api-server"),
            ("git@example.com:team/web", "web"),
            ("ssh://git@example.com:22/x/y.git/", "y"),
            ("file:///srv/git/z.git", "z"),
            ("https://user@host/x", "x"),
            ("nas:repos/api.git", "api"),
            ("git@data:team/web", "web"),
            ("data.example.com:web", "web"),
        ] {
            assert_eq!(CloneUrl::parse(good).expect(good).base_name(), name);
        }
        let error = CloneUrl::parse("javascript:alert(1)").unwrap_err().to_string();
        expect_test::expect!["`javascript:alert(1)` cannot be cloned: before its colon is the scheme of a URL: use an https://, ssh://, git:// or file:// URL, or user@host:path"].assert_eq(&error);
        assert!(CloneUrl::looks_like("javascript:alert(1)"), "it is not taken for a folder either");
        assert!(!CloneUrl::looks_like("./folder"));
        assert!(!CloneUrl::looks_like("/a/b"));
        assert!(!CloneUrl::looks_like("C:\\x"));
    }
}
