//! A home of its own in which the program is run again and again, with what each run took and what was wrong.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result};
use lore_testkit::{Lore, Session};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Bench, Outcome};
use crate::bench::{Ran, run_to_the_end};

/// No run takes longer unless something is broken.
const PATIENCE: Duration = Duration::from_mins(10);

/// The program in a home of its own, and what was seen of it.
pub(super) struct Trial {
    pub(super) lore: Lore,
    folder: TempDir,
    outcome: Outcome,
    told: Vec<String>,
    slowest: (Duration, String),
    largest: (u64, String),
    memory: u64,
}

impl Trial {
    /// A fresh home and a folder for repositories beside it.
    pub(super) fn new(bench: &Bench) -> Result<Self> {
        Ok(Self {
            lore: Lore::new(&bench.lore),
            folder: tempfile::tempdir()?,
            outcome: Outcome::default(),
            told: Vec::new(),
            slowest: (Duration::ZERO, String::new()),
            largest: (0, String::new()),
            memory: u64::MAX,
        })
    }

    /// No run may take more memory than this, git's included.
    pub(super) fn bound_memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// A path beside the index.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder with everything but the index.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs the program outside any repository.
    pub(super) fn run<S: AsRef<OsStr>>(&mut self, args: &[S]) -> Result<Ran> {
        let home = self.lore.user_home().to_owned();
        self.run_in(&home, args)
    }

    /// Runs the program in a folder. It may say what it likes, but it may not crash, hang, or steer a terminal.
    pub(super) fn run_in<S: AsRef<OsStr>>(&mut self, folder: &Path, args: &[S]) -> Result<Ran> {
        let mut command = self.lore.command(args);
        command.current_dir(folder);
        let words: Vec<String> = args.iter().map(|arg| clipped(&arg.as_ref().to_string_lossy(), 60)).collect();
        // What is tried steers terminals, and this is shown on one.
        let name = clipped(&words.join(" "), 100).replace(char::is_control, "�");
        let ran = run_to_the_end(&command, PATIENCE).with_context(|| name.clone())?;
        self.outcome.points += 1;
        let said = clipped(ran.stderr.trim(), 400);
        match ran.code {
            _ if ran.late => self.fault(&format!("`{name}` took longer than {} s", PATIENCE.as_secs())),
            None => self.fault(&format!("`{name}` was ended by a signal: {said}")),
            // `lore doctor` says so that something is broken.
            Some(1) if words.first().is_some_and(|word| word == "doctor") => {}
            Some(1 | 10..) => self.fault(&format!("`{name}` ended with {:?}: {said}", ran.code)),
            Some(_) => {}
        }
        if ran.stderr.contains("panicked at") {
            self.fault(&format!("`{name}` panicked: {said}"));
        }
        if ran.stderr.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
            self.fault(&format!("`{name}` printed control characters: {said:?}"));
        }
        if ran.cost.peak_bytes > self.memory {
            self.fault(&format!("`{name}` took {} of memory", megabytes(ran.cost.peak_bytes)));
        }
        if ran.cost.wall > self.slowest.0 {
            self.slowest = (ran.cost.wall, name.clone());
        }
        if ran.cost.peak_bytes > self.largest.0 {
            self.largest = (ran.cost.peak_bytes, name);
        }
        Ok(ran)
    }

    /// Runs what must succeed.
    pub(super) fn ok<S: AsRef<OsStr>>(&mut self, args: &[S]) -> Result<Ran> {
        let ran = self.run(args)?;
        if ran.code.is_some_and(|code| code != 0) {
            let words: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect();
            let said = clipped(&ran.stderr, 400);
            self.fault(&format!("`{}` ended with {:?}: {said}", clipped(&words.join(" "), 100), ran.code));
        }
        Ok(ran)
    }

    /// Runs what must succeed, and reads what it prints as JSON; null where it is none.
    pub(super) fn json<S: AsRef<OsStr>>(&mut self, args: &[S]) -> Result<Value> {
        let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).chain([OsStr::new("--json")]).collect();
        let ran = self.ok(&args)?;
        let read = serde_json::from_slice(&ran.stdout);
        if let Err(error) = &read
            && ran.code == Some(0)
        {
            self.fault(&format!("{args:?} printed no JSON: {error}"));
        }
        Ok(read.unwrap_or_default())
    }

    /// Counts a point, and notes a fault where it does not hold.
    pub(super) fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        self.outcome.points += 1;
        if !holds {
            self.fault(&what());
        }
    }

    /// Notes what was not as it must be.
    pub(super) fn fault(&mut self, what: &str) {
        self.outcome.faults.push(clipped(&what.replace('\n', " / "), 600));
    }

    /// Says something in the table.
    pub(super) fn tell(&mut self, what: impl Into<String>) {
        self.told.push(what.into());
    }

    /// A server that has shaken hands.
    pub(super) fn serve(&self, project: &Path, flags: &[&str]) -> Result<Session> {
        let project = project.to_str().context("the path is UTF-8")?;
        let args = [&["serve", "--project", project], flags].concat();
        let mut session = Session::start(self.lore.command(&args))?;
        session.initialize()?;
        Ok(session)
    }

    /// Calls a tool; what it answers must not be a fault of the server.
    pub(super) fn call(&mut self, session: &mut Session, tool: &str, arguments: &Value) -> Result<Value> {
        let asked = clipped(&arguments.to_string(), 100);
        let answer = session.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        self.outcome.points += 1;
        match answer {
            Ok(answer) => {
                if answer["_meta"]["lore/error"]["code"] == "internal" {
                    self.fault(&format!("{tool} {asked}: {}", clipped(&answer.to_string(), 300)));
                }
                Ok(answer)
            }
            // A refusal by the protocol's own means is an answer.
            Err(error) if error.to_string().contains("-32602") => Ok(Value::Null),
            Err(error) => {
                self.fault(&format!("{tool} {asked}: {}", clipped(&format!("{error:#}"), 300)));
                Err(error)
            }
        }
    }

    /// What came of it, with the slowest and the largest run.
    pub(super) fn end(mut self) -> Outcome {
        let (time, what) = &self.slowest;
        let slowest = format!("slowest {:.1} s (`{}`)", time.as_secs_f64(), clipped(what, 40));
        let (bytes, what) = &self.largest;
        let largest = format!("peak {} (`{}`)", megabytes(*bytes), clipped(what, 40));
        self.told.extend([slowest, largest]);
        self.outcome.told = self.told.join("; ");
        self.outcome
    }
}

/// The most memory that a process has held so far.
pub(super) fn peak_of(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

pub(super) fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

pub(super) fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

/// The beginning of a text.
pub(super) fn clipped(text: &str, chars: usize) -> String {
    let mut short: String = text.chars().take(chars).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
