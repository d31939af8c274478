//! The one place that starts the `git` program, with nothing inherited that could steer it.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use lore_model::{Cancel, without_users};

use crate::{GitError, RemotePolicy, Result, ending, policy::Route};

/// Variables that decide how a user reaches their own servers; kept for clone and fetch only.
const TRANSPORT_VARIABLES: [&str; 7] = [
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_ASKPASS",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_PROXY_COMMAND",
];

/// How often work that waits for another machine looks whether it is to stop.
const CANCEL_EVERY: Duration = Duration::from_millis(100);

/// How often it is looked at how much git has written.
const MEASURE_EVERY: Duration = Duration::from_secs(1);

/// Variables that would send a connection elsewhere than where it is meant to go.
const PROXY_VARIABLES: [&str; 8] =
    ["http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

/// How much memory a git that reads a repository may take. What a few crafted objects name can fill any machine.
pub(crate) const MEMORY: u64 = 4 << 30;

/// How many bytes are taken of what a git prints about one file.
const MOST_PRINTED: u64 = 1 << 30;

/// How much of what git says about an error is kept.
const STDERR_KEPT: usize = 4096;

/// What stands for the rest.
const CUT: &str = "\n…\n";

/// The installed `git` program.
#[derive(Debug, Clone)]
pub struct Git {
    executable: OsString,
}

impl Default for Git {
    fn default() -> Self {
        Self::new("git")
    }
}

impl Git {
    /// Uses this executable, looked up in `PATH` where it has no folder.
    pub fn new(executable: impl Into<OsString>) -> Self {
        Self { executable: executable.into() }
    }

    /// The version as `(major, minor)` with the text that it was read from.
    pub fn version(&self) -> Result<((u32, u32), String)> {
        let text = String::from_utf8_lossy(&self.bare().arg("--version").run()?).trim().to_owned();
        let mut numbers = text
            .split_whitespace()
            .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
            .unwrap_or("0.0")
            .split('.')
            .map(|part| part.parse().unwrap_or(0));
        Ok(((numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)), text))
    }

    /// A call that sees no configuration and no repository.
    pub(crate) fn bare(&self) -> Call {
        let mut call = self.call(&[]);
        call.command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        call
    }

    /// A call inside a directory of Lore's own, which sees no other configuration.
    pub(crate) fn inside(&self, git_dir: &Path) -> Call {
        let mut call = self.bare();
        // The user's folder may vanish while git runs, and holds nothing that git should see.
        call.command.env("GIT_DIR", git_dir).current_dir(git_dir);
        // Ctrl-C is for Lore, which then ends git, and what git has started, in its own time.
        #[cfg(unix)]
        {
            std::os::unix::process::CommandExt::process_group(&mut call.command, 0);
            call.in_group = true;
        }
        call.memory = Some(MEMORY);
        call.args(["-c", "core.attributesFile=/dev/null", "-c", "core.commitGraph=true"])
    }

    /// A call that reaches other machines with the user's own configuration, credentials and keys.
    ///
    /// It has no group of its own: `ssh` may want to ask something on the terminal, which is for the group that is in front.
    pub(crate) fn network(&self) -> Call {
        let mut call = self.call(&TRANSPORT_VARIABLES);
        call.command.env("GIT_ALLOW_PROTOCOL", "https:http:ssh:git:file");
        call
    }

    /// A call that reaches the one place that a policy has found to be right, and nothing else.
    ///
    /// It sees no configuration but the operator's for this purpose, asks nobody, follows no redirect, and uses no proxy of
    /// the environment.
    pub(crate) fn pinned(&self, policy: &RemotePolicy, route: &Route) -> Call {
        let mut call = self.call(&[]);
        let config = policy.git_config.as_deref().unwrap_or(Path::new("/dev/null"));
        call.command.env("GIT_CONFIG_GLOBAL", config).env("GIT_CONFIG_NOSYSTEM", "1");
        call.command.env("GIT_ALLOW_PROTOCOL", route.scheme).env("GIT_ASKPASS", "").env_remove("SSH_ASKPASS");
        for name in PROXY_VARIABLES {
            call.command.env_remove(name);
        }
        if let Some(host) = &route.virtual_host {
            call.command.env("GIT_OVERRIDE_VIRTUAL_HOST", host);
        }
        #[cfg(unix)]
        {
            std::os::unix::process::CommandExt::process_group(&mut call.command, 0);
            call.in_group = true;
        }
        call.args([
            "-c",
            "http.followRedirects=false",
            "-c",
            "transfer.bundleURI=false",
            "-c",
            "fetch.uriProtocols=",
            "-c",
            "submodule.recurse=false",
            // No proxy, whatever the environment has: it would go where it likes.
            "-c",
            "http.proxy=",
        ])
        .args(route.settings.iter().flat_map(|setting| ["-c", setting]))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place that starts git")]
    fn call(&self, keep: &[&str]) -> Call {
        let mut command = Command::new(&self.executable);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GIT_") && !keep.iter().any(|kept| name == *kept) {
                command.env_remove(name);
            }
        }
        command
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("LC_ALL", "C")
            // Git takes and frees a buffer for every blob; with glibc each would go back to the system and come again.
            .env("MALLOC_MMAP_THRESHOLD_", "33554432")
            .env("MALLOC_TRIM_THRESHOLD_", "67108864")
            .env("MALLOC_TOP_PAD_", "8388608")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Call { command, name: String::new(), in_group: false, memory: None }
    }
}

/// A call of git that is being put together.
pub(crate) struct Call {
    command: Command,
    name: String,
    /// Whether what it starts is ended with it.
    in_group: bool,
    /// How many bytes of memory it may take; files that it maps do not count.
    memory: Option<u64>,
}

impl Call {
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    /// The subcommand, which also names the call in errors.
    pub(crate) fn subcommand(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self.arg(name)
    }

    /// Gives it an open file that it reads nothing from: a lock on that file lasts as long as git does, whoever else dies.
    pub(crate) fn holding(mut self, file: std::fs::File) -> Self {
        self.command.stdin(file);
        self
    }

    /// Lets it take so many bytes of memory.
    pub(crate) fn within_memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Starts it.
    fn spawn(&mut self) -> Result<Child> {
        let child = self.command.spawn().map_err(GitError::NoProgram)?;
        if let Some(bytes) = self.memory {
            limit_memory(child.id(), bytes);
        }
        Ok(child)
    }

    /// Runs it to its end and returns what it printed.
    pub(crate) fn run(self) -> Result<Vec<u8>> {
        let mut printed = Vec::new();
        self.stream(Vec::new(), None, |out| {
            out.read_to_end(&mut printed).map(|_| ()).map_err(|error| broken_pipe(&error))
        })?;
        Ok(printed)
    }

    /// Runs it to its end, or ends it when the caller asks to stop or it takes longer than this.
    pub(crate) fn run_within(self, limit: Duration, cancel: &Cancel) -> Result<Vec<u8>> {
        self.run_watched(&Watch { limit, printed: MOST_PRINTED, growing: None }, cancel)
    }

    /// The name of the subcommand.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The same, and ends it when what it writes or prints grows too large.
    pub(crate) fn run_watched(mut self, watch: &Watch<'_>, cancel: &Cancel) -> Result<Vec<u8>> {
        let (started, limit) = (Instant::now(), watch.limit);
        let is_late = move || started.elapsed() >= limit;
        let [is_large, is_endless, is_killed] = [const { AtomicBool::new(false) }; 3];
        let (large, endless, killed, in_group) = (&is_large, &is_endless, &is_killed, self.in_group);
        let mut child = self.spawn()?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (ended, watched) = mpsc::channel::<()>();
        let (pid, room) = (child.id(), watch.printed.saturating_add(1));
        let (printed, said) = thread::scope(|scope| {
            scope.spawn(move || {
                let mut measured = Instant::now();
                while watched.recv_timeout(CANCEL_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                    if let Some((path, most)) = watch.growing.filter(|_| measured.elapsed() >= MEASURE_EVERY) {
                        measured = Instant::now();
                        large.store(bytes_below(path) > most, Ordering::Relaxed);
                    }
                    let is_much = [large, endless].iter().any(|flag| flag.load(Ordering::Relaxed));
                    if cancel.is_cancelled() || is_late() || is_much {
                        ending::end(pid, in_group, &watched);
                        killed.store(true, Ordering::Relaxed);
                        return;
                    }
                }
            });
            let said = Heard::of(move || stderr.map(|mut pipe| both_ends(&mut pipe)).unwrap_or_default());
            let printed = Heard::of(move || {
                let mut printed = Vec::new();
                stdout.map_or(Ok(0), |pipe| pipe.take(room).read_to_end(&mut printed)).map(|_| printed)
            });
            let printed = printed.wait(killed);
            let is_much = matches!(&printed, Some(Ok(printed)) if printed.len() as u64 > watch.printed);
            endless.store(is_much, Ordering::Relaxed);
            let said = said.wait(killed).unwrap_or_default();
            drop(ended);
            (printed, said)
        });
        let status = child.wait().map_err(GitError::NoProgram)?;
        cancel.check()?;
        // What is written after the last look counts too.
        let too_large =
            watch.growing.filter(|(path, most)| is_large.load(Ordering::Relaxed) || bytes_below(path) > *most);
        if let Some((_, limit)) = too_large {
            return Err(GitError::TooLarge { command: self.name.clone(), limit });
        }
        if is_endless.load(Ordering::Relaxed) {
            return Err(GitError::TooMuch { command: self.name.clone(), limit: watch.printed });
        }
        let late = GitError::TooSlow { command: self.name.clone(), limit };
        // What has ended well was in time, however closely.
        if !status.success() {
            return Err(if is_late() { late } else { self.failed(status, &said) });
        }
        printed.ok_or(late)?.map_err(|error| broken_pipe(&error))
    }

    /// Runs it with the given standard input while `read` takes what it prints.
    ///
    /// Where `read` stops early, by an error or otherwise, git is ended. So it is when it prints nothing for as long as `stall`
    /// while it is waited for: that counts as overwhelmed.
    pub(crate) fn stream<T>(
        mut self,
        input: Vec<u8>,
        stall: Option<Duration>,
        read: impl FnOnce(&mut dyn Read) -> Result<T>,
    ) -> Result<T> {
        if !input.is_empty() {
            self.command.stdin(Stdio::piped());
        }
        let mut child = self.spawn()?;
        let (stdin, in_group) = (child.stdin.take(), self.in_group);
        let mut stdout = child.stdout.take().expect("standard output is piped");
        let mut stderr = child.stderr.take().expect("standard error is piped");
        widen(&stdout);
        let (pid, watch) = (child.id(), StallWatch::default());
        let (answer, said) = thread::scope(|scope| {
            // Git may read its input slowly or not at all; writing it here would wait for ever.
            scope.spawn(move || stdin.map(|mut pipe| io::Write::write_all(&mut pipe, &input)));
            let said = scope.spawn(move || both_ends(&mut stderr));
            let (ended, watched) = mpsc::channel::<()>();
            if let Some(stall) = stall {
                let watch = &watch;
                scope.spawn(move || {
                    while watched.recv_timeout(CANCEL_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                        if watch.is_stalled(stall) {
                            ending::end(pid, in_group, &watched);
                            return;
                        }
                    }
                });
            }
            let answer = read(&mut WatchedPipe { pipe: &mut stdout, watch: &watch });
            drop((stdout, ended));
            if answer.is_err() {
                ending::kill(&mut child, in_group);
            }
            (answer, said.join().unwrap_or_default())
        });
        let status = child.wait().map_err(GitError::NoProgram)?;
        if let Some(stall) = stall.filter(|_| watch.has_stalled.load(Ordering::Relaxed) && !status.success()) {
            let how = format!("it printed nothing for {} s", stall.as_secs());
            return Err(GitError::Overwhelmed { command: self.name.clone(), how });
        }
        match answer {
            Err(GitError::Stream(_)) | Ok(_) if !status.success() => Err(self.failed(status, &said)),
            answer => answer,
        }
    }

    fn failed(&self, status: ExitStatus, said: &[u8]) -> GitError {
        // The operator's configuration may write a token into the address, which git names then.
        let said = without_users(String::from_utf8_lossy(said).trim());
        let how = if said.is_empty() || said == CUT.trim() { status.to_string() } else { said };
        let command = self.name.clone();
        if is_overwhelmed(status, &how) {
            return GitError::Overwhelmed { command, how };
        }
        // Without an exit code it was ended by a signal.
        if status.code().is_none() {
            return GitError::CutOff { command, how };
        }
        GitError::Failed { command, stderr: how }
    }
}

/// Whether git could not go on with what it was given: its memory was used up, its stack, or the depth that it follows.
fn is_overwhelmed(status: ExitStatus, said: &str) -> bool {
    #[cfg(unix)]
    let crashed = {
        use std::os::unix::process::ExitStatusExt as _;
        // Whoever kills it does so with other signals.
        status.signal() == Some(rustix::process::Signal::SEGV.as_raw())
    };
    #[cfg(not(unix))]
    let crashed = false;
    crashed || said.contains("ut of memory") || said.contains("maximum allowed tree depth")
}

/// Bounds what a program may take; where the system cannot, nothing is bounded. It has hardly begun by then.
#[cfg(target_os = "linux")]
fn limit_memory(pid: u32, bytes: u64) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let Some(Err(error)) = pid.map(|pid| prlimit(Some(pid), Resource::Data, limit)) {
        tracing::debug!(%error, "the memory of git is not bounded");
    }
}

#[cfg(not(target_os = "linux"))]
fn limit_memory(_: u32, _: u64) {}

/// Since when something has been waited for that a program prints.
#[derive(Default)]
struct StallWatch {
    waiting_since: Mutex<Option<Instant>>,
    has_stalled: AtomicBool,
}

impl StallWatch {
    /// Notes that the program is waited for, or is not any more: what it printed is being worked on then.
    fn note(&self, waiting_since: Option<Instant>) {
        *self.waiting_since.lock().unwrap_or_else(PoisonError::into_inner) = waiting_since;
    }

    fn is_stalled(&self, stall: Duration) -> bool {
        let since = *self.waiting_since.lock().unwrap_or_else(PoisonError::into_inner);
        let is_stalled = since.is_some_and(|since| since.elapsed() >= stall);
        self.has_stalled.fetch_or(is_stalled, Ordering::Relaxed);
        is_stalled
    }
}

/// What a program prints, while it is watched for stalls.
struct WatchedPipe<'a> {
    pipe: &'a mut std::process::ChildStdout,
    watch: &'a StallWatch,
}

impl Read for WatchedPipe<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.watch.note(Some(Instant::now()));
        let read = self.pipe.read(buffer);
        self.watch.note(None);
        read
    }
}

/// What a call is watched for while it runs.
pub(crate) struct Watch<'a> {
    /// How long it may take.
    pub(crate) limit: Duration,
    /// How many bytes it may print.
    pub(crate) printed: u64,
    /// The folder that it writes, and how many bytes there may be in it.
    pub(crate) growing: Option<(&'a Path, u64)>,
}

/// How many bytes the files below a folder have. No link is followed.
fn bytes_below(folder: &Path) -> u64 {
    let (mut folders, mut bytes) = (vec![folder.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => folders.push(entry.path()),
                Ok(meta) => bytes += meta.len(),
                // It went away meanwhile.
                Err(_) => {}
            }
        }
    }
    bytes
}

/// What is read from a pipe to its end, by a thread of its own.
struct Heard<T>(mpsc::Receiver<T>);

impl<T: Send + 'static> Heard<T> {
    fn of(read: impl FnOnce() -> T + Send + 'static) -> Self {
        let (tell, heard) = mpsc::channel();
        thread::spawn(move || drop(tell.send(read())));
        Self(heard)
    }

    /// All of it. None where everybody was killed that could be found, and somebody still has the pipe: they are not waited for.
    fn wait(&self, killed: &AtomicBool) -> Option<T> {
        loop {
            let was_killed = killed.load(Ordering::Relaxed);
            match self.0.recv_timeout(CANCEL_EVERY) {
                Ok(heard) => return Some(heard),
                Err(mpsc::RecvTimeoutError::Timeout) if !was_killed => {}
                Err(_) => return None,
            }
        }
    }
}

/// Lets git write ahead: with the usual 64 KiB the two programs wake each other for every piece.
#[cfg(target_os = "linux")]
fn widen(pipe: &std::process::ChildStdout) {
    // The system may allow less for this user; then it stays as it is.
    if let Err(error) = rustix::pipe::fcntl_setpipe_size(pipe, 1 << 20) {
        tracing::debug!(%error, "the pipe from git stays small");
    }
}

#[cfg(not(target_os = "linux"))]
fn widen(_: &std::process::ChildStdout) {}

pub(crate) fn broken_pipe(error: &io::Error) -> GitError {
    GitError::Stream(format!("the pipe from git broke: {error}"))
}

/// Reads all of it, keeping the beginning and the end: git warns first, and says last why it failed. No word is cut in two:
/// half of an address with a token in it would not be known as one.
fn both_ends(from: &mut impl Read) -> Vec<u8> {
    const HALF: usize = STDERR_KEPT / 2;
    let (mut kept, mut last, mut is_cut) = (Vec::new(), Vec::new(), false);
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let room = HALF.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&buffer[..room]);
        last.extend_from_slice(&buffer[room..count]);
        if last.len() > STDERR_KEPT {
            last.drain(..last.len() - HALF);
            is_cut = true;
        }
    }
    let mut more = last.len().saturating_sub(HALF);
    if is_cut || more > 0 {
        let whole = kept.iter().rposition(u8::is_ascii_whitespace);
        kept.truncate(whole.unwrap_or(0));
        more += last[more..].iter().position(u8::is_ascii_whitespace).unwrap_or(last.len() - more);
        kept.extend_from_slice(CUT.as_bytes());
    }
    kept.extend_from_slice(&last[more..]);
    kept
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn of_what_git_says_the_beginning_and_the_end_are_kept() {
        let said = |text: &str| String::from_utf8(both_ends(&mut text.as_bytes())).unwrap();
        for whole in ["", "fatal: early EOF\n", &"x".repeat(STDERR_KEPT)] {
            assert_eq!(said(whole), whole);
        }
        for length in [STDERR_KEPT + 1, 2 * STDERR_KEPT, 100_000] {
            let cut = said(&format!("first{}last", " x".repeat(length)));
            assert!(cut.starts_with("first") && cut.contains('…') && cut.ends_with("last"), "{cut}");
            assert!((STDERR_KEPT - 4..STDERR_KEPT + 8).contains(&cut.len()), "{}", cut.len());
        }
    }

    #[test]
    fn no_word_that_git_says_is_cut_in_two() {
        let url = "https://user:token@example.com/x";
        for shift in 0..2 * url.len() {
            let text = format!("{}{}", "a".repeat(shift), format!(" {url}").repeat(400));
            let cut = String::from_utf8(both_ends(&mut text.as_bytes())).unwrap();
            let is_whole = |word: &&str| *word == url || *word == "…" || word.bytes().all(|byte| byte == b'a');
            assert!(cut.contains('…') && cut.split_ascii_whitespace().all(|word| is_whole(&word)), "{shift}: {cut}");
        }
        // One that is longer than all that is kept is not there.
        assert_eq!(both_ends(&mut "x".repeat(3 * STDERR_KEPT).as_bytes()), CUT.as_bytes());
        let call = Git::new("sh").bare().args(["-c", "head -c 20000 /dev/zero | tr '\\0' x >&2; exit 3"]);
        let failed = call.run();
        assert!(
            matches!(&failed, Err(GitError::Failed { stderr, .. }) if stderr.contains("exit status: 3")),
            "{failed:?}"
        );
    }

    #[test]
    fn a_token_that_git_names_is_not_told() {
        let says = "echo \"fatal: could not read Password for 'http://ghp_x@example.com'\" >&2; exit 128";
        let call = || Git::new("sh").bare().args(["-c", says]);
        let expected = "fatal: could not read Password for 'http://example.com'";
        for failed in [call().run().map(drop), call().stream(Vec::new(), None, |_| Ok(()))] {
            assert!(matches!(&failed, Err(GitError::Failed { stderr, .. }) if stderr == expected), "{failed:?}");
        }
    }

    #[test]
    fn what_takes_too_long_or_is_not_wanted_any_more_is_ended() {
        let started = Instant::now();
        // It takes the time that its argument says.
        let call = || Git::new("sleep").bare().arg("60");
        let late = call().run_within(Duration::from_millis(50), &Cancel::default());
        assert!(matches!(late, Err(GitError::TooSlow { .. })), "{late:?}");
        let cancel = Cancel::default();
        let ended = thread::scope(|scope| {
            let running = scope.spawn(|| call().run_within(Duration::from_secs(50), &cancel));
            cancel.cancel();
            running.join().unwrap()
        });
        assert!(matches!(ended, Err(GitError::Cancelled)), "{ended:?}");
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn what_prints_without_end_is_ended() {
        let within = |call: Call, printed| {
            let watch = Watch { limit: Duration::from_secs(50), printed, growing: None };
            call.run_watched(&watch, &Cancel::default())
        };
        let word = || Git::new("echo").bare().arg("word");
        assert_eq!(within(word(), 5).unwrap(), b"word\n");
        for (call, printed) in [(word(), 4), (Git::new("yes").bare(), 1000)] {
            let ended = within(call, printed);
            assert!(matches!(&ended, Err(GitError::TooMuch { limit, .. }) if *limit == printed), "{ended:?}");
        }
    }

    /// Only here is there a program that leaves.
    #[cfg(target_os = "linux")]
    #[test]
    fn who_has_left_is_not_waited_for() {
        // It has a session of its own, and the pipes of the one that started it, which is over.
        let leaves = "setsid sleep 50 & sleep 0.2; kill -9 $$";
        let started = Instant::now();
        let call = Git::new("sh").bare().args(["-c", leaves]);
        let late = call.run_within(Duration::from_millis(500), &Cancel::default());
        assert!(matches!(late, Err(GitError::TooSlow { .. })), "{late:?}");
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn what_does_not_end_when_it_is_asked_to_is_killed_with_what_it_has_started() {
        let (started, folder) = (Instant::now(), tempfile::tempdir().unwrap());
        // Neither listens, and the second has nothing that is read from here: only the file, which is locked while it lives.
        let deaf = "trap '' TERM; exec 3<&0; sleep 60 > /dev/null 2>&1 & wait";
        // Which processes belong together is not known everywhere where they are no group.
        for in_group in [true, !cfg!(target_os = "linux")] {
            let place = folder.path().join("alive");
            let alive = File::create(&place).unwrap();
            alive.lock().unwrap();
            let mut call = Git::new("sh").bare().args(["-c", deaf]).holding(alive);
            if in_group {
                std::os::unix::process::CommandExt::process_group(&mut call.command, 0);
                call.in_group = true;
            }
            let late = call.run_within(Duration::from_millis(50), &Cancel::default());
            assert!(matches!(late, Err(GitError::TooSlow { .. })), "{late:?}");
            File::open(&place).unwrap().lock().unwrap();
        }
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}
