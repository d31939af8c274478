//! `lore debug`: what `cargo xtask` measures and packs the program with, from outside.
//!
//! It is hidden from the help and promises nothing to anyone else. Answers are JSON.

mod index;
mod lines;
mod man;
mod past;
mod queries;
mod recall;
mod symbols;

use std::path::{Path, PathBuf};

use lore_core::history::{AddRequest, Target};
use lore_model::{Code, Failure, Repo};

use super::Context;
use crate::environment;

/// Measure the program itself
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Symbols(symbols::Args),
    Index(index::Args),
    Lines(lines::Args),
    Man(man::Args),
    Past(past::Args),
    Queries(queries::Args),
    Recall(recall::Args),
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    match args.command {
        Command::Symbols(args) => symbols::run(context, args),
        Command::Index(args) => index::run(context, &args),
        Command::Lines(args) => lines::run(context, &args),
        Command::Man(_) => man::run(context),
        Command::Past(args) => past::run(context, &args),
        Command::Queries(args) => queries::run(context, &args),
        Command::Recall(args) => recall::run(context, &args),
    }
}

/// A path as the user means it.
fn absolute(path: &Path) -> PathBuf {
    environment::working_directory().join(path)
}

/// The registered repository of a folder; it is registered where it is not.
fn register(context: &Context<'_>, folder: PathBuf) -> Result<Repo, Failure> {
    let history = &context.lore.history;
    if let Some(repo) = history.find_project(&folder)? {
        return Ok(repo);
    }
    let writer = context.writer()?;
    history.add(&*writer, AddRequest::new(Target::Folder(folder)))
}

/// The registered repository of a folder.
fn registered(context: &Context<'_>, folder: &Path) -> Result<Repo, Failure> {
    context.lore.history.find_project(folder)?.ok_or_else(|| {
        Failure::new(Code::RepoNotFound, format!("{} is not registered", folder.display()))
            .hint("run `lore debug index` with the same path first")
    })
}

/// The queries of a file: one on each line, as it is or as an object with `query`.
fn read_queries(file: &Path) -> Result<Vec<String>, Failure> {
    let query = |line: &str| {
        let value: Option<serde_json::Value> = line.starts_with('{').then(|| serde_json::from_str(line).ok()).flatten();
        value.and_then(|value| value["query"].as_str().map(str::to_owned)).unwrap_or_else(|| line.to_owned())
    };
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
    Ok(text.lines().filter(|line| !line.trim().is_empty()).map(query).collect())
}

fn unreadable(file: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Code::InvalidArgument, format!("cannot read {}: {error}", file.display()))
}

/// A duration in microseconds, for JSON.
fn micros(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
