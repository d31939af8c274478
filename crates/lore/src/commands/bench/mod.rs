//! `lore bench`: measures Lore on the user's own repository.
//!
//! Everything is done in a home of its own, which is removed at the end: neither the user's index nor the repository is
//! written to.

pub(super) mod agent;
pub(super) mod parts;
mod quality;

use std::{path::PathBuf, process::ExitCode};

use lore_git::Repository;
use lore_model::{Code, Failure};
use tempfile::TempDir;

use super::Context;
use crate::{config::Loaded, cortex};

/// Measure Lore on your own repository
///
/// Your index is not touched: everything is read into a temporary folder, which is removed at the end.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Quality(quality::Args),
}

impl Args {
    /// The folder that is measured.
    pub(super) fn folder(&self) -> PathBuf {
        match &self.command {
            Command::Quality(args) => args.folder(),
        }
    }

    /// Gives the measurement a home of its own, with the user's settings and what the project wants to be left out.
    pub(super) fn take_own_home(&self, loaded: &mut Loaded) -> Result<TempDir, Failure> {
        let made = tempfile::Builder::new().prefix("lore-bench-").tempdir();
        let dir =
            made.map_err(|error| Failure::new(Code::NoAccess, format!("no temporary folder can be made: {error}")))?;
        loaded.home = dir.path().join("home");
        // What is searched is not where the project's file lies.
        let left_out = Repository::discover(&self.folder()).ok().and_then(|found| cortex::ignored(found.path()).ok());
        loaded.config.ignore.extend(left_out.unwrap_or_default());
        Ok(dir)
    }
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<ExitCode, Failure> {
    match args.command {
        Command::Quality(args) => quality::run(context, &args),
    }
}
