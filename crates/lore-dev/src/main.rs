//! `lore-dev`: what `cargo xtask` measures, compares and packs the program with.
//!
//! It opens the same index as `lore`, with the same settings, and prints JSON. It is not shipped, and its commands may
//! change at any time.
#![forbid(unsafe_code)]

mod index;
mod lines;
mod man;
mod past;
mod queries;
mod recall;
mod symbols;

use std::{
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
    time::Duration,
};

use clap::Parser as _;
use lore_core::{
    Lore,
    history::{AddRequest, Target},
};
use lore_model::{Code, Failure, Repo};
use serde_json::Value;

/// Measures Lore from the inside
#[derive(clap::Parser)]
#[command(name = "lore-dev", version)]
enum Command {
    Symbols(symbols::Args),
    Index(index::Args),
    Lines(lines::Args),
    Man,
    Past(past::Args),
    Queries(queries::Args),
    Recall(recall::Args),
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Symbols(args) => symbols::run(args),
        Command::Index(args) => index::run(&args),
        Command::Lines(args) => lines::run(&args),
        Command::Man => man::run(),
        Command::Past(args) => past::run(&args),
        Command::Queries(args) => queries::run(&args),
        Command::Recall(args) => recall::run(&args),
    };
    let Err(failure) = done else { return ExitCode::SUCCESS };
    let hint = failure.hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    // Without a standard error there is only the exit code.
    drop(writeln!(io::stderr(), "error: {failure}{hint}"));
    ExitCode::from(failure.code.row().exit)
}

/// Prints an answer on a line of its own.
fn print(value: &Value) -> Result<(), Failure> {
    let written = writeln!(io::stdout(), "{value}");
    written.map_err(|error| Failure::new(Code::NoAccess, format!("cannot write to standard output: {error}")))
}

/// Gets the repository in a folder, and registers it first if necessary.
fn register(lore: &Lore, folder: &Path) -> Result<Repo, Failure> {
    let folder = absolute(folder)?;
    if let Some(repo) = lore.history.find_project(&folder)? {
        return Ok(repo);
    }
    let writer = lore.history.writer(|| {})?;
    lore.history.add(&*writer, AddRequest::new(Target::Folder(folder)))
}

/// Gets the registered repository in a folder.
fn registered(lore: &Lore, folder: &Path) -> Result<Repo, Failure> {
    let folder = absolute(folder)?;
    lore.history.find_project(&folder)?.ok_or_else(|| {
        Failure::new(Code::RepoNotFound, format!("{} is not registered", folder.display()))
            .hint("run `lore-dev index` with the same path first")
    })
}

fn absolute(path: &Path) -> Result<std::path::PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| unreadable(path, &error))
}

/// Reads the queries of a file: one on each line, as plain text or as an object with `query`.
fn read_queries(file: &Path) -> Result<Vec<String>, Failure> {
    let query = |line: &str| {
        let value: Option<Value> = line.starts_with('{').then(|| serde_json::from_str(line).ok()).flatten();
        value.and_then(|value| value["query"].as_str().map(str::to_owned)).unwrap_or_else(|| line.to_owned())
    };
    Ok(read(file)?.lines().filter(|line| !line.trim().is_empty()).map(query).collect())
}

fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::InvalidArgument, format!("cannot read {}: {error}", file.display()))
}

/// Converts a duration to microseconds, for JSON.
fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
