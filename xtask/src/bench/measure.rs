//! Runs a program and tells what it and everything that it started cost.
//!
//! The kernel adds up what a process's children have used, and keeps the largest memory of any of them for ever. So a
//! small process of its own runs each measured program: xtask itself, as `cargo xtask measured`.

use std::{
    ffi::OsString,
    fs::File,
    io::Read as _,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike as _,
};
use serde_json::{Value, json};

use crate::{
    kill_sync::kill_tree,
    program::{output, program},
};

/// What one run cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// From start to end.
    pub(crate) wall: Duration,
    /// User and system time of the program and all that it started and waited for.
    pub(crate) cpu: Duration,
    /// The most memory that any one of these processes held, in bytes.
    pub(crate) peak_bytes: u64,
}

/// Measures one run. Standard output of the program goes nowhere; nothing of the environment reaches it but `PATH` and
/// what the command sets itself.
pub(crate) fn measure(command: &Command) -> Result<Cost> {
    let told: Value = serde_json::from_str(&output(&mut helper(command, &[])?)?)?;
    cost(&told)
}

/// The process that runs the program.
fn helper(command: &Command, options: &[OsString]) -> Result<Command> {
    let mut helper = program(std::env::current_exe()?);
    helper.arg("measured").args(options).arg("--").arg(command.get_program()).args(command.get_args());
    helper.env_clear();
    if let Some(path) = crate::program::variable("PATH") {
        helper.env("PATH", path);
    }
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            helper.env(name, value);
        }
    }
    if let Some(dir) = command.get_current_dir() {
        helper.current_dir(dir);
    }
    Ok(helper)
}

fn cost(told: &Value) -> Result<Cost> {
    let number = |key: &str| told[key].as_u64().with_context(|| format!("`measured` did not tell {key}"));
    Ok(Cost {
        wall: Duration::from_micros(number("wall_us")?),
        cpu: Duration::from_micros(number("cpu_us")?),
        peak_bytes: number("peak_bytes")?,
    })
}

/// A run that was let go on as it liked.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Its exit code; none where a signal ended it.
    pub(crate) code: Option<i32>,
    /// Whether it was ended because it took too long.
    pub(crate) late: bool,
    /// The beginning of its standard output.
    pub(crate) stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub(crate) stderr: String,
    /// What it cost.
    pub(crate) cost: Cost,
}

/// So much of what a program prints is looked at.
const KEPT: u64 = 64 << 20;

/// Measures one run, however it ends, and gives what it printed. It is killed, with all that it started, after so long.
pub(crate) fn run_to_the_end(command: &Command, within: Duration) -> Result<Ran> {
    let folder = tempfile::tempdir()?;
    let into = folder.path().join("printed");
    let mut helper = helper(
        command,
        &["--into".into(), into.clone().into(), "--within".into(), { within.as_secs().to_string().into() }],
    )?;
    let told: Value = serde_json::from_str(&output(&mut helper)?)?;
    let beginning = |name: &str| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(into.with_extension(name))?.take(KEPT).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    Ok(Ran {
        code: told["code"].as_i64().map(i32::try_from).transpose()?,
        late: told["late"] == true,
        stdout: beginning("out")?,
        stderr: String::from_utf8_lossy(&beginning("err")?).into_owned(),
        cost: cost(&told)?,
    })
}

/// The most memory that a running process ever held, in bytes; nothing where the system does not tell.
pub(crate) fn most_memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// The program to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where its standard output and error go, with `.out` and `.err` at the end; how it ends is told then, not judged.
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
    /// Ends it after so many seconds.
    #[arg(long, value_name = "SECONDS")]
    within: Option<u64>,
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

/// Runs a program and prints its cost.
pub(crate) fn run_measured(args: &Args) -> Result<()> {
    let (name, rest) = args.program.split_first().context("no program was named")?;
    let started = Instant::now();
    let mut command = program(PathBuf::from(name));
    command.current_dir(".").args(rest).stdout(Stdio::null());
    if let Some(into) = &args.into {
        command.stdout(File::create(into.with_extension("out"))?).stderr(File::create(into.with_extension("err"))?);
    }
    let mut child = command.spawn().with_context(|| format!("cannot start {}", name.display()))?;
    let limit = args.within.map(Duration::from_secs);
    let mut late = false;
    let status = loop {
        if limit.is_none() {
            break child.wait()?;
        }
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if !late && limit.is_some_and(|limit| started.elapsed() > limit) {
            late = true;
            kill_tree(&mut child)?;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    };
    let wall = started.elapsed();
    ensure!(args.into.is_some() || status.success(), "{} ended with {status}", name.display());
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    // Linux counts in kilobytes, macOS in bytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    let cost = json!({
        "wall_us": u64::try_from(wall.as_micros())?,
        "cpu_us": usage.user_time().num_microseconds() + usage.system_time().num_microseconds(),
        "peak_bytes": u64::try_from(usage.max_rss())? * unit,
        "code": status.code(),
        "late": late,
    });
    crate::program::say(&cost.to_string());
    Ok(())
}
