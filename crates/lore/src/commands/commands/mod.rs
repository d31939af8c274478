//! `lore commands`: the team's commands, for people: find, read, check and make them.

mod build;
mod check;
mod list;
mod new;
mod run;
mod search;
mod show;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use lore_commands::{CommandName, Origin};
use lore_model::{Code, Failure};
use serde_json::{Map, Value, json};

use super::Context;
use crate::environment;

/// Find, print, check and make the commands that the team keeps in its repository
///
/// A command is a prompt: instructions for an agent, kept as a Markdown file under `.agent` and listed in
/// `.agent/climpt/registry.json`. It is named by three words: domain, action and target. Agents find the same commands with
/// the tools `search`, `describe` and `execute`, and hosts show them as slash commands.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore commands list\n  lore commands search \"commit my changes in groups\"\n  lore commands run git group-commit unstaged-changes\n  git diff | lore commands run code review diff -\n  lore commands new code review diff --description \"Review a diff\" --stdin\n  lore commands check"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    List(list::Args),
    Search(search::Args),
    Show(show::Args),
    Run(run::Args),
    Check(check::Args),
    Build(build::Args),
    New(new::Args),
}

/// Which project is meant.
#[derive(clap::Args)]
struct Place {
    /// The project [default: where you are]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// Which command is meant.
#[derive(clap::Args)]
struct Name {
    /// The domain
    #[arg(value_name = "C1")]
    c1: String,
    /// The action
    #[arg(value_name = "C2")]
    c2: String,
    /// The target
    #[arg(value_name = "C3")]
    c3: String,
}

/// Whose commands are meant.
#[derive(clap::Args)]
struct Agent {
    /// Whose commands
    #[arg(long, value_name = "NAME", default_value = lore_commands::DEFAULT_AGENT)]
    agent: String,
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode, Failure> {
    let done = |()| ExitCode::SUCCESS;
    match args.command {
        Command::List(args) => list::run(context, &args).map(done),
        Command::Search(args) => search::run(context, args).map(done),
        Command::Show(args) => show::run(context, args).map(done),
        Command::Run(args) => run::run(context, args).map(done),
        Command::Check(args) => check::run(context, &args),
        Command::Build(args) => build::run(context, args).map(done),
        Command::New(args) => new::run(context, args).map(done),
    }
}

impl Place {
    /// The folder as the user means it.
    fn folder(&self) -> Result<PathBuf, Failure> {
        let folder = environment::working_directory().join(self.project.as_deref().unwrap_or(Path::new("")));
        if folder.is_dir() {
            return Ok(folder);
        }
        Err(Failure::new(Code::InvalidArgument, format!("{} is not a folder", folder.display()))
            .hint("`--project` names the folder of a project"))
    }
}

impl From<Name> for CommandName {
    fn from(name: Name) -> Self {
        Self::new(name.c1, name.c2, name.c3)
    }
}

/// Tells people what is wrong with the files of an answer.
fn note_origin(context: &Context<'_>, origin: &Origin) {
    if !context.ui.is_quiet() && !context.ui.is_json() {
        origin.notes.iter().for_each(|note| context.ui.warn(note));
    }
}

/// How many there are of something.
fn count(number: usize, thing: &str) -> String {
    super::sync::count(u64::try_from(number).unwrap_or(u64::MAX), thing)
}

/// Where an answer is from, for `--json`.
fn origin_json(fields: &mut Map<String, Value>, origin: &Origin) {
    for (key, value) in [
        ("agent", json!(origin.agent)),
        ("registry", json!(origin.registry)),
        ("folder", json!(origin.folder.to_string_lossy())),
        ("notes", json!(origin.notes)),
    ] {
        fields.insert(key.to_owned(), value);
    }
}
