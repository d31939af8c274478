//! Runs a program and tells what it and everything that it started cost.
//!
//! The kernel adds up what a process's children have used, and keeps the largest memory of any of them for ever. So a
//! small process of its own runs each measured program: xtask itself, as `cargo xtask measured`.

use std::{
    ffi::OsString,
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

use crate::program::{output, program};

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
    let mut helper = program(std::env::current_exe()?);
    helper.arg("measured").arg("--").arg(command.get_program()).args(command.get_args());
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
    let told: Value = serde_json::from_str(&output(&mut helper)?)?;
    let number = |key: &str| told[key].as_u64().with_context(|| format!("`measured` did not tell {key}"));
    Ok(Cost {
        wall: Duration::from_micros(number("wall_us")?),
        cpu: Duration::from_micros(number("cpu_us")?),
        peak_bytes: number("peak_bytes")?,
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
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

/// Runs a program and prints its cost.
pub(crate) fn run_measured(args: &Args) -> Result<()> {
    let (name, rest) = args.program.split_first().context("no program was named")?;
    let started = Instant::now();
    let mut command = program(PathBuf::from(name));
    command.current_dir(".").args(rest).stdout(Stdio::null());
    let status = command.status().with_context(|| format!("cannot start {}", name.display()))?;
    let wall = started.elapsed();
    ensure!(status.success(), "{} ended with {status}", name.display());
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    // Linux counts in kilobytes, macOS in bytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    let cost = json!({
        "wall_us": u64::try_from(wall.as_micros())?,
        "cpu_us": usage.user_time().num_microseconds() + usage.system_time().num_microseconds(),
        "peak_bytes": u64::try_from(usage.max_rss())? * unit,
    });
    crate::program::say(&cost.to_string());
    Ok(())
}
