//! A `lore server` on a free port, in folders of its own.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::{Client, pause};
use crate::Lore;

/// What it prints before where it listens.
const LISTENS: &str = "is listening on http://";

/// What the kernel counts times of processes in, on every Linux there is.
const TICKS: f64 = 100.0;

/// A server that can be started again and again on the same data.
#[derive(Debug)]
pub struct Server {
    lore: Lore,
    data: PathBuf,
    allowed: Vec<PathBuf>,
    options: Vec<String>,
}

/// A process that is killed when this is dropped.
#[derive(Debug)]
struct Process(Child);

/// A server that was started and does not listen yet. It is killed when this is dropped.
#[derive(Debug)]
pub struct Starting {
    process: Process,
    errors: BufReader<ChildStderr>,
    since: Instant,
}

/// A server that runs. It is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    process: Process,
    /// How long it took until it listened.
    took: Duration,
    address: SocketAddr,
    /// The password of the first user, where it was made by this start.
    password: Option<String>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// With an empty data folder; it may clone from below `allowed`.
    pub fn new(binary: &Path, allowed: &[&Path]) -> Self {
        let lore = Lore::new(binary);
        let data = lore.home().join("team");
        Self { lore, data, allowed: allowed.iter().map(|dir| dir.to_path_buf()).collect(), options: Vec::new() }
    }

    /// The same with more options.
    #[must_use]
    pub fn with(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(|&option| option.to_owned()));
        self
    }

    /// Its data folder.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The program, for commands on the data.
    pub fn lore(&self) -> &Lore {
        &self.lore
    }

    /// Starts it and waits until it listens.
    pub fn start(&self) -> Result<Running> {
        self.spawn()?.listen()
    }

    /// Starts it and does not wait.
    pub fn spawn(&self) -> Result<Starting> {
        let mut command = self.lore.command(&["server", "--listen", "127.0.0.1:0"]);
        command.arg("--data").arg(&self.data);
        for dir in &self.allowed {
            command.arg("--allow-local").arg(dir);
        }
        command.args(&self.options);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let since = Instant::now();
        let mut process = Process(command.spawn().context("cannot start lore")?);
        let errors = BufReader::new(process.0.stderr.take().context("lore has no standard error")?);
        Ok(Starting { process, errors, since })
    }

    /// What is wrong with the index, where something is. No server may be running.
    pub(super) fn diagnosis(&self) -> Result<Option<String>> {
        let data = self.data.to_str().context("the data folder is no text")?;
        let output = self.lore.run(&["doctor", "--deep", "--json", "--home", data]);
        let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let findings = told["findings"].as_array().cloned().unwrap_or_default();
        ensure!(!findings.is_empty(), "`lore doctor` printed nothing: {}", output.stderr);
        let about = |finding: &&Value| finding["about"] == "index" || finding["about"] == "code";
        let bad: Vec<String> = findings
            .iter()
            .filter(about)
            .filter(|finding| finding["level"] != "ok")
            .map(|finding| finding["text"].to_string())
            .collect();
        if output.status.success() && bad.is_empty() {
            return Ok(None);
        }
        Ok(Some(format!("lore doctor ({}): {}", output.status, bad.join("; "))))
    }
}

impl Starting {
    /// The next line that it says.
    pub fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.errors.read_line(&mut line)? > 0, "lore server ended with {}", self.process.0.wait()?);
        Ok(line)
    }

    /// Waits until it listens.
    pub fn listen(self) -> Result<Running> {
        let Self { mut process, mut errors, since } = self;
        let log = Arc::new(Mutex::new(Vec::new()));
        let (mut password, mut line) = (None, String::new());
        let address = loop {
            line.clear();
            if errors.read_line(&mut line)? == 0 {
                let said = log.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
                bail!("lore server ended with {} instead of listening: {said}", process.0.wait()?);
            }
            if let Some((_, file)) = line.split_once("its password is in ") {
                password = Some(fs::read_to_string(file.trim())?.trim().to_owned());
            }
            if let Some((_, url)) = line.split_once(LISTENS) {
                break url.trim().parse()?;
            }
            log.lock().unwrap_or_else(PoisonError::into_inner).push(line.trim_end().to_owned());
        };
        let took = since.elapsed();
        let told = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                told.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        Ok(Running { process, took, address, password, log })
    }

    /// Kills it at a moment after its start; says whether it listened already.
    pub fn cut(self, moment: Duration, kill: &mut dyn FnMut(&mut Child) -> Result<()>) -> Result<bool> {
        let Self { mut process, errors, since } = self;
        let listened = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&listened);
        // Programs that it has started may hold the other end longer than it lives, so nobody waits for the last line.
        std::thread::spawn(move || {
            let mut lines = errors.lines().map_while(Result::ok);
            noted.store(lines.any(|line| line.contains(LISTENS)), Ordering::Relaxed);
            lines.for_each(drop);
        });
        pause(moment.saturating_sub(since.elapsed()));
        kill(&mut process.0)?;
        Ok(listened.load(Ordering::Relaxed))
    }
}

impl Running {
    /// How long it took from its start until it listened.
    pub fn took(&self) -> Duration {
        self.took
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The password of the first user, where it was made by this start.
    pub fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.process.0.id()
    }

    /// A connection without a token.
    pub fn client(&self) -> Client {
        Client::new(self.address, None)
    }

    /// A connection of a user.
    pub fn client_of(&self, token: &str) -> Client {
        Client::new(self.address, Some(token))
    }

    /// A personal token of the first user, after the very first start.
    pub fn admin_token(&self) -> Result<String> {
        let password = self.password.as_deref().context("this was not the first start")?;
        self.token_of("admin", password, "driver")
    }

    /// Logs a user in and makes a personal token.
    pub fn token_of(&self, user: &str, password: &str, name: &str) -> Result<String> {
        let login = json!({"username": user, "password": password});
        let access = self.client().rest("POST", "/auth/login", Some(&login))?;
        let access = access["access_token"].as_str().context("the login has no token")?.to_owned();
        let made = self.client_of(&access).rest("POST", "/api/tokens", Some(&json!({"name": name})))?;
        Ok(made["token"].as_str().context("there is no token")?.to_owned())
    }

    /// Waits until a job is over, and gives it; fails where that takes too long.
    pub fn wait_for(&self, client: &mut Client, job: &str, most: Duration) -> Result<Value> {
        let started = Instant::now();
        loop {
            let told = client.rest("GET", &format!("/api/jobs/{job}"), None)?["job"].take();
            if !matches!(told["status"].as_str(), Some("pending" | "running")) {
                return Ok(told);
            }
            ensure!(started.elapsed() < most, "job {job} is not over after {most:?}: {told}");
            pause(Duration::from_millis(100));
        }
    }

    /// Adds a golden repository and waits until it is ready.
    pub fn add_golden(&self, client: &mut Client, source: &Path, alias: &str, most: Duration) -> Result<()> {
        let asked = json!({"url": source, "alias": alias});
        let answer = client.rest("POST", "/api/golden", Some(&asked))?;
        let id = answer["job_id"].as_str().context("there is no job")?;
        let job = self.wait_for(client, id, most)?;
        ensure!(job["status"] == "completed", "`{alias}` was not added: {job}");
        Ok(())
    }

    /// The process.
    pub fn child(&mut self) -> &mut Child {
        &mut self.process.0
    }

    /// What it has logged so far.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The memory it holds in bytes, without files that are mapped into it: the system takes those pages back when it needs them.
    pub fn anonymous_memory(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.0.id()))?;
        let line =
            status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("the kernel tells no memory")?;
        let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kilobytes * 1024)
    }

    /// User and system time in seconds: its own, and that of the programs that it has started and waited for.
    pub fn cpu(&self) -> Result<(f64, f64)> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.0.id()))?;
        let fields: Vec<&str> = stat.rsplit_once(')').context("no stat")?.1.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        Ok(((ticks(11) + ticks(12)) / TICKS, (ticks(13) + ticks(14)) / TICKS))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be dead already; that is what is wanted.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
