//! The program `lore`: reads arguments, configuration and environment, wires the parts together, prints, and exits.
//!
//! It is a library so that `lore-dev`, which measures it, opens the same index with the same settings.
#![deny(unsafe_code)]

mod allocator;
mod columns;
mod commands;
mod config;
mod cortex;
mod editor;
mod environment;
mod instructions;
#[cfg(feature = "transformer")]
mod models;
mod pager;
mod policy;
mod private;
mod progress;
mod quiet;
#[cfg(test)]
mod reference;
mod runtime;
mod setup;
mod time;
mod ui;
mod wire;

use std::{process::ExitCode, sync::Arc};

use clap::{CommandFactory as _, Parser};
use lore_core::{Lore, history::SyncOptions};
use lore_model::Failure;
use tracing_subscriber::{layer::SubscriberExt as _, util::SubscriberInitExt as _};

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = match commands::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let ui = ui::Ui::new(cli.json, cli.quiet, cli.color);
    start_log(cli.verbosity());
    allocator::return_freed_memory();
    match cli.run(&ui) {
        Ok(code) => code,
        Err(failure) => {
            ui.failure(&failure);
            ExitCode::from(failure.code.row().exit)
        }
    }
}

/// The command line, for manual pages.
pub fn command() -> clap::Command {
    commands::Cli::command()
}

/// Opens the index with the user's settings, as the program's own commands do.
pub fn open() -> Result<(Arc<Lore>, SyncOptions), Failure> {
    let loaded = config::load(None, config::Flags::default())?;
    let second = commands::connect(&loaded, cortex::provider_config(&loaded, None)?)?;
    allocator::return_freed_memory();
    Ok((wire::lore(&loaded, second), loaded.sync_options()))
}

/// Help and version go to standard output; wrong usage is a failure like any other.
fn usage(error: &clap::Error) -> ExitCode {
    let wrong = error.use_stderr();
    if wrong && environment::arguments().any(|argument| argument == "--json") {
        let text = error.render().to_string();
        let failure =
            lore_model::Failure::new(lore_model::Code::InvalidArgument, text.trim_start_matches("error: ").trim());
        ui::Ui::new(true, false, ui::Color::Never).failure(&failure);
    } else if let Err(error) = harmless(error).as_ref().unwrap_or(error).print() {
        tracing::debug!(%error, "the usage could not be printed");
    }
    if wrong { ExitCode::from(lore_model::Code::InvalidArgument.row().exit) } else { ExitCode::SUCCESS }
}

/// The same error about arguments that cannot steer a terminal, where some could: it quotes them.
fn harmless(error: &clap::Error) -> Option<clap::Error> {
    let harmless = |argument: String| lore_model::escape_for_terminal(&argument).replace('\n', "⏎");
    let arguments = environment::arguments().map(|argument| harmless(argument.to_string_lossy().into_owned()));
    let words = std::iter::once("lore".to_owned()).chain(arguments);
    commands::Cli::try_parse_from(words).err().filter(|other| error.use_stderr() && other.use_stderr())
}

/// Logs go to standard error, never to standard output: that belongs to answers and to the protocol.
fn start_log(verbose: u8) {
    let asked = environment::variable("LORE_LOG");
    log(asked.as_deref(), verbose, std::io::stderr).init();
}

/// Where rmcp says why it answers a request with status 500.
const RMCP_FAULTS: &str = "rmcp::transport::common::server_side_http";

/// What is logged: what was asked for, or what the flags say where nothing was or it cannot be read.
fn log<W>(asked: Option<&str>, verbose: u8, writer: W) -> impl tracing::Subscriber + Send + Sync + use<W>
where
    W: for<'a> tracing_subscriber::fmt::MakeWriter<'a> + Send + Sync + 'static,
{
    let level = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let asked = asked.and_then(|asked| tracing_subscriber::EnvFilter::try_new(asked).ok());
    let filter = asked.unwrap_or_else(|| tracing_subscriber::EnvFilter::new(level));
    // rmcp logs messages of clients, passwords and names of their choice included, and takes a client that leaves for an error.
    // What is worth knowing of a call Lore logs itself; of rmcp's own faults only those are heard that a client hears of. No
    // filter is asked about it: a narrower one would win.
    let no_messages = tracing_subscriber::filter::filter_fn(|metadata| {
        let is_fault = *metadata.level() == tracing::Level::ERROR && metadata.target() == RMCP_FAULTS;
        is_fault || !metadata.target().starts_with("rmcp")
    });
    let shown = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_target(false);
    shown.finish().with(no_messages)
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        sync::{Arc, Mutex, PoisonError},
    };

    #[derive(Clone, Default)]
    struct Captured(Arc<Mutex<Vec<u8>>>);

    impl Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged(asked: Option<&str>, verbose: u8) -> String {
        let captured = Captured::default();
        let writer = captured.clone();
        tracing::subscriber::with_default(super::log(asked, verbose, move || writer.clone()), || {
            tracing::debug!("of lore");
            tracing::debug!(target: "rmcp::service", "a message");
            let span = tracing::info_span!(target: "rmcp", "streamable_http_session", id = 1);
            span.in_scope(|| {
                tracing::trace!(target: "rmcp::transport::streamable_http_server", "a message");
                tracing::info!(target: "rmcp", "a message");
            });
            tracing::warn!(target: "rmcp::service", "a message");
            tracing::error!(target: "rmcp::service", "a message");
            tracing::error!(target: "rmcp::transport::common::server_side_http", "a fault");
        });
        let bytes = captured.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        String::from_utf8(bytes).expect("logs are text")
    }

    #[test]
    fn no_setting_makes_it_log_the_messages_of_clients() {
        for asked in [
            None,
            Some("trace"),
            Some("rmcp"),
            Some("rmcp=trace"),
            Some("debug,rmcp::service=trace"),
            Some("rmcp::transport::streamable_http_server=trace,debug"),
            Some("[streamable_http_session]=trace,debug"),
            Some("debug,rmcp[{id}]=trace"),
            Some("not a=filter=at all"),
        ] {
            let log = logged(asked, 2);
            assert!(!log.contains("a message"), "{asked:?}: {log}");
            assert!(log.contains("a fault"), "{asked:?}: {log}");
        }
        assert!(logged(None, 2).contains("of lore") && !logged(None, 1).contains("of lore"));
        assert!(logged(Some("not a=filter=at all"), 2).contains("of lore"), "what cannot be read changes nothing");
    }
}
