//! The command line: one file per command, one spelling for each thing.

mod add;
mod administration;
mod bridge;
#[expect(clippy::module_inception, reason = "that is the name of the command")]
mod commands;
mod comment;
mod comments;
mod completions;
mod config;
mod doctor;
mod export;
mod golden;
mod grep;
mod import;
mod jobs;
mod local;
mod log;
mod login;
mod logout;
mod model;
mod password;
mod patch;
mod project;
mod reindex;
mod related;
mod remote;
mod remove;
mod repos;
mod search;
mod serve;
mod server;
mod setup;
mod show;
mod status;
mod sync;
mod table;
mod tokens;
mod tools;
mod touches;
mod users;
mod why;

#[cfg(feature = "transformer")]
pub(crate) use project::cancel_on_interrupt;
#[cfg(feature = "transformer")]
pub(crate) use status::megabytes;
#[cfg(test)]
pub(crate) use tools::cost as tool_cost;

use std::{path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use clap::{Parser, Subcommand};
use lore_core::{
    Lore,
    history::{FreshState, Freshness, SyncOptions},
    search::{Second, SecondState},
};
use lore_embed::ProviderConfig;
use lore_model::Failure;

use crate::{
    config::{Flags, Loaded},
    cortex::{self, Cortex},
    environment,
    ui::{BROKEN_PIPE, Color, Ui},
    wire,
};

/// What `--version` prints. A release tells the commit that it was built from (`cargo xtask dist`); other builds do not ask
/// git, so that a commit alone compiles nothing anew and a tree without git builds as well.
const VERSION: &str = match option_env!("LORE_BUILD_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

/// The memory of a team's code, for coding agents and the people who work with them.
///
/// Lore reads the code and the git history of your repositories into one local index and answers from it: on this
/// command line, and over MCP to agents (`lore setup claude-code`). Nothing leaves the machine, nothing is written into
/// your repositories.
#[derive(Parser)]
#[command(name = "lore", version = VERSION, max_term_width = 100, arg_required_else_help = true)]
#[command(
    after_help = "Examples:\n  lore search \"where are retries limited\"  search the code of the repository you are in\n  lore grep 'fn \\w+_lock'         lines, with the options of grep\n  lore log \"rate limiter\"          search the history of all your repositories\n  lore touches src/auth/           what changed there lately\n  lore why src/auth.rs:42          why that line is as it is\n  lore add ~/src/api --name api    register another repository\n  lore setup claude-code           let an agent ask\n\nExit codes: 0 done, 1 internal error, 2 wrong usage, 3 not found, 4 exists already, 5 busy, 6 index unusable, 7 disk or permissions, 8 git or a server failed, 9 not allowed, 130 interrupted."
)]
pub(crate) struct Cli {
    /// Where Lore keeps its index [default: `$LORE_HOME` or `~/.lore`]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    home: Option<PathBuf>,
    /// Print JSON for programs (errors too, on standard error)
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", help_heading = "Global options")]
    pub(crate) color: Color,
    /// Say only what is asked for: no progress, no notes
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,
    /// Log more to standard error (twice for even more)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Global options")]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Add(add::Args),
    Remove(remove::Args),
    Repos(repos::Args),
    Sync(sync::Args),
    Status(status::Args),
    Search(search::Args),
    Grep(grep::Args),
    Log(log::Args),
    Touches(touches::Args),
    Show(show::Args),
    Patch(patch::Args),
    Why(why::Args),
    Related(related::Args),
    Commands(commands::Args),
    Comment(comment::Args),
    Comments(comments::Args),
    Serve(serve::Args),
    Bridge(bridge::Args),
    Login(login::Args),
    Logout(logout::Args),
    Password(password::Args),
    Users(users::Args),
    Tokens(tokens::Args),
    Golden(golden::Args),
    Jobs(jobs::Args),
    Server(server::Args),
    Setup(setup::Args),
    Tools(tools::Args),
    Model(model::Args),
    Doctor(doctor::Args),
    Import(import::Args),
    Export(export::Args),
    Reindex(reindex::Args),
    Config(config::Args),
    Completions(completions::Args),
}

/// What every command is given.
pub(crate) struct Context<'a> {
    pub(crate) ui: &'a Ui,
    pub(crate) loaded: Loaded,
    pub(crate) lore: Arc<Lore>,
    pub(crate) commands: Arc<lore_commands::Commands>,
    /// Why the configured model cannot be used, for commands that can do without.
    pub(crate) no_embedder: Option<Failure>,
    /// Whether the user wants to be told more.
    pub(crate) verbose: bool,
}

/// Whether a command has to do with the model that is configured besides the built-in one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Embedding {
    Needed,
    /// It says what is wrong, and goes on without.
    Wanted,
    Unused,
}

impl Command {
    fn embedding(&self) -> Embedding {
        match self {
            Self::Add(_)
            | Self::Sync(_)
            | Self::Search(_)
            | Self::Grep(_)
            | Self::Serve(_)
            | Self::Server(_)
            | Self::Import(_)
            | Self::Export(_)
            | Self::Reindex(_) => Embedding::Needed,
            Self::Status(_) | Self::Doctor(_) | Self::Model(_) => Embedding::Wanted,
            Self::Remove(_)
            | Self::Repos(_)
            | Self::Log(_)
            | Self::Touches(_)
            | Self::Show(_)
            | Self::Patch(_)
            | Self::Why(_)
            | Self::Related(_)
            | Self::Commands(_)
            | Self::Comment(_)
            | Self::Comments(_)
            | Self::Bridge(_)
            | Self::Login(_)
            | Self::Logout(_)
            | Self::Password(_)
            | Self::Users(_)
            | Self::Tokens(_)
            | Self::Golden(_)
            | Self::Jobs(_)
            | Self::Setup(_)
            | Self::Tools(_)
            | Self::Config(_)
            | Self::Completions(_) => Embedding::Unused,
        }
    }

    /// The folder of the one repository that this command works on; `None` where it may work on others too.
    fn one_project(&self) -> Option<PathBuf> {
        let here = |is_meant: bool| is_meant.then(environment::working_directory);
        match self {
            Self::Serve(args) => Some(args.folder()),
            Self::Add(args) => args.folder(),
            Self::Search(args) => here(args.is_about_here()),
            Self::Grep(args) => here(args.is_about_here()),
            Self::Sync(args) => here(args.is_about_here()),
            Self::Reindex(args) => here(args.is_about_here()),
            Self::Export(args) => here(args.is_about_here()),
            _ => None,
        }
    }

    /// The embedder that was chosen. A project's own choice counts for that project alone. A server must not start with a
    /// project's file that it cannot follow.
    fn provider(&self, loaded: &Loaded) -> Result<ProviderConfig, Failure> {
        let users = || cortex::provider_config(loaded, None);
        let Some(folder) = self.one_project() else { return users() };
        let chosen = Cortex::find(&folder).and_then(|cortex| cortex::provider_config(loaded, Some(&cortex)));
        match (self, chosen) {
            (Self::Serve(_), chosen) => chosen,
            // Outside a repository, all of them are searched.
            (_, Ok(_)) if lore_git::Repository::discover(&folder).is_err() => users(),
            (_, Ok(chosen)) => Ok(chosen),
            (_, Err(failure)) => {
                tracing::warn!(%failure, "the project's choice of an embedding provider is passed over");
                users()
            }
        }
    }

    /// The model that is configured besides the built-in one, and why it cannot be used where it cannot. Nothing is
    /// asked of it yet.
    fn second(&self, loaded: &Loaded) -> Result<(Option<Second>, Option<Failure>), Failure> {
        let wanted = self.embedding();
        if wanted == Embedding::Unused {
            return Ok((None, None));
        }
        match connect(loaded, self.provider(loaded)?) {
            Ok(second) => Ok((second, None)),
            Err(failure) if wanted == Embedding::Needed => Err(failure),
            Err(failure) => Ok((None, Some(failure))),
        }
    }
}

/// The model of a provider, unless it is the built-in one.
pub(crate) fn connect(loaded: &Loaded, provider: ProviderConfig) -> Result<Option<Second>, Failure> {
    let limit = Duration::from_millis(loaded.config.embedding_query_timeout_ms);
    let embedder = lore_embed::connect(&ProviderConfig { models: Some(loaded.models()), ..provider });
    let embedder = embedder.map_err(embedding)?;
    Ok(embedder.as_local().is_none().then(|| Second::new(embedder, limit)))
}

impl Cli {
    /// How much is logged: a server logs each request unless it is told to be quiet.
    pub(crate) fn verbosity(&self) -> u8 {
        match self.command {
            Command::Server(_) if !self.quiet => self.verbose.max(1),
            _ => self.verbose,
        }
    }

    /// Runs the command.
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode, Failure> {
        let flags = match &self.command {
            Command::Sync(args) => args.flags(),
            Command::Serve(args) => args.flags(),
            _ => Flags::default(),
        };
        if let Command::Completions(args) = &self.command {
            return done(completions::run(ui, args).map(|()| ExitCode::SUCCESS));
        }
        if let Command::Config(args) = &self.command
            && args.needs_no_values()
        {
            // Whoever has to correct them asks for these.
            return done(config::run_without_values(ui, self.home.as_deref(), args).map(|()| ExitCode::SUCCESS));
        }
        let mut loaded = crate::config::load(self.home.as_deref(), flags)?;
        // A model that is installed lies in the user's home.
        let (second, no_embedder) = self.command.second(&loaded)?;
        if let Command::Server(args) = &self.command {
            args.take_data(&mut loaded);
        }
        let lore = wire::lore(&loaded, second);
        let context = Context { ui, loaded, lore, commands: wire::commands(), no_embedder, verbose: self.verbose > 0 };
        let success = |()| ExitCode::SUCCESS;
        let ended = match self.command {
            Command::Add(args) => add::run(&context, args).map(success),
            Command::Remove(args) => remove::run(&context, &args).map(success),
            Command::Repos(args) => repos::run(&context, args).map(success),
            Command::Sync(args) => sync::run(&context, &args),
            Command::Status(args) => status::run(&context, &args).map(success),
            Command::Search(args) => search::run(&context, args).map(success),
            Command::Grep(args) => grep::run(&context, &args),
            Command::Log(args) => log::run(&context, args).map(success),
            Command::Touches(args) => touches::run(&context, args).map(success),
            Command::Show(args) => show::run(&context, &args).map(success),
            Command::Patch(args) => patch::run(&context, &args).map(success),
            Command::Why(args) => why::run(&context, args).map(success),
            Command::Related(args) => related::run(&context, args).map(success),
            Command::Commands(args) => commands::run(&context, args),
            Command::Comment(args) => comment::run(&context, args).map(success),
            Command::Comments(args) => comments::run(&context, args).map(success),
            Command::Serve(args) => serve::run(&context, &args).map(success),
            Command::Bridge(args) => bridge::run(&context, args).map(success),
            Command::Login(args) => login::run(&context, args).map(success),
            Command::Logout(args) => logout::run(&context, &args).map(success),
            Command::Password(args) => password::run(&context, &args).map(success),
            Command::Users(args) => users::run(&context, args).map(success),
            Command::Tokens(args) => tokens::run(&context, args).map(success),
            Command::Golden(args) => golden::run(&context, args).map(success),
            Command::Jobs(args) => jobs::run(&context, args).map(success),
            Command::Server(args) => server::run(&context, &args).map(success),
            Command::Setup(args) => setup::run(&context, &args).map(success),
            Command::Tools(args) => tools::run(&context, &args).map(success),
            Command::Model(args) => model::run(&context, args).map(success),
            Command::Doctor(args) => doctor::run(&context, &args),
            Command::Import(args) => import::run(&context, args),
            Command::Export(args) => export::run(&context, args).map(success),
            Command::Reindex(args) => reindex::run(&context, &args),
            Command::Config(args) => config::run(&context, &args).map(success),
            Command::Completions(_) => Ok(ExitCode::SUCCESS),
        };
        done(ended)
    }
}

/// How a command ends: `lore log x | head` has done what it was asked to.
fn done(ended: Result<ExitCode, Failure>) -> Result<ExitCode, Failure> {
    match ended {
        Err(failure) if failure.message == BROKEN_PIPE => Ok(ExitCode::SUCCESS),
        other => other,
    }
}

/// Whether `--repo` names the repository the user stands in, and no other.
fn names_here(repos: &[String]) -> bool {
    !repos.is_empty() && repos.iter().all(|name| name == ".")
}

impl Context<'_> {
    /// Where models that run on this machine are installed.
    fn models(&self) -> PathBuf {
        self.loaded.models()
    }

    /// How syncs are done, as configured.
    fn sync_options(&self) -> SyncOptions {
        self.loaded.sync_options()
    }

    /// Says why nothing was found.
    fn note_nothing(&self, freshness: &Freshness, otherwise: &str) {
        let none = freshness.repos.is_empty();
        self.ui.note(if none { "no repository is registered; `lore add PATH` registers one" } else { otherwise });
    }

    /// Says that another limit was applied than was asked for.
    fn note_clamped(&self, clamped: Option<usize>) {
        if let Some(limit) = clamped {
            self.ui.note(&format!("note: the limit is {limit}; it may be 1 to {}", lore_core::history::LIMIT_MAX));
        }
    }

    /// The number that an option gives, or the nearest one in its range, of which the user is told.
    fn in_range<T: PartialOrd + std::fmt::Display>(&self, option: &str, given: T, (least, most): (T, T)) -> T {
        let range = format!("{least} to {most}");
        let taken = match () {
            () if given < least => least,
            () if given > most => most,
            () => return given,
        };
        self.ui.note(&format!("note: {option} is {range}: {taken} was taken"));
        taken
    }

    /// Tells people what the answer may lack.
    fn warn_if_not_fresh(&self, freshness: &Freshness) {
        let names = |state: FreshState| -> Vec<&str> {
            freshness.repos.iter().filter(|repo| repo.state == state).map(|repo| repo.name.as_str()).collect()
        };
        for (state, what) in [
            (FreshState::Stale, "has moved since it was indexed: run `lore sync`"),
            (FreshState::Partial, "is not completely indexed yet: run `lore sync`"),
            (FreshState::NeverSynced, "has not been indexed yet: run `lore sync`"),
            (FreshState::Missing, "is no longer where it was; the answer is from the index"),
        ] {
            let names = names(state);
            if !names.is_empty() && !self.ui.is_quiet() && !self.ui.is_json() {
                self.ui.warn(&format!("{} {what}", names.join(", ")));
            }
        }
    }
}

/// What a fault of the embedding service means to the user.
fn embedding(error: lore_embed::EmbedError) -> Failure {
    Failure::new(lore_model::Code::EmbeddingFailed, error.to_string()).hint(error.hint()).caused_by(error)
}

/// How fresh an answer is, for `--json`.
fn freshness_json(freshness: &Freshness) -> serde_json::Value {
    freshness
        .repos
        .iter()
        .map(|repo| {
            serde_json::json!({
                "repo": repo.name,
                "state": repo.state.as_str(),
                "head": repo.head.map(|head| head.to_hex()),
                "last_synced_at": repo.last_synced_at,
            })
        })
        .collect()
}

/// What a second model contributes, for `--json`.
fn second_json(second: &SecondState) -> serde_json::Value {
    serde_json::json!({
        "model": second.model,
        "covered": second.covered,
        "chunks": second.chunks,
        "problem": second.problem,
    })
}

/// Lower-case hexadecimal digits of bytes that are no text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}

/// A path for `--json`: as text, and as bytes where it is no text.
fn path_json(object: &mut serde_json::Map<String, serde_json::Value>, key: &str, path: Option<&lore_model::RepoPath>) {
    object.insert(key.to_owned(), path.map(|path| path.to_text().into_owned()).into());
    if let Some(path) = path.filter(|path| !path.is_text()) {
        object.insert(format!("{key}_hex"), hex(path.as_bytes()).into());
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
