//! The binary: reads arguments, configuration and environment, wires the parts together, prints, and exits.
#![forbid(unsafe_code)]

mod commands;
mod config;
mod cortex;
mod editor;
mod environment;
mod instructions;
mod models;
mod pager;
mod policy;
mod private;
mod progress;
#[cfg(test)]
mod reference;
mod setup;
mod time;
mod ui;
mod wire;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = match commands::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let ui = ui::Ui::new(cli.json, cli.quiet, cli.color);
    start_log(cli.verbosity());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let done = match runtime {
        Ok(runtime) => {
            let done = runtime.block_on(cli.run(&ui));
            // Work that is still blocked in a system call must not keep the program from ending.
            runtime.shutdown_timeout(std::time::Duration::from_millis(100));
            done
        }
        Err(error) => Err(lore_model::Failure::new(
            lore_model::Code::Internal,
            format!("the async runtime did not start: {error}"),
        )),
    };
    match done {
        Ok(code) => code,
        Err(failure) => {
            ui.failure(&failure);
            ExitCode::from(failure.code.row().exit)
        }
    }
}

/// Help and version go to standard output; wrong usage is a failure like any other.
fn usage(error: &clap::Error) -> ExitCode {
    let wrong = error.use_stderr();
    if wrong && environment::arguments().any(|argument| argument == "--json") {
        let text = error.render().to_string();
        let failure =
            lore_model::Failure::new(lore_model::Code::InvalidArgument, text.trim_start_matches("error: ").trim());
        ui::Ui::new(true, false, ui::Color::Never).failure(&failure);
    } else if let Err(error) = error.print() {
        tracing::debug!(%error, "the usage could not be printed");
    }
    if wrong { ExitCode::from(lore_model::Code::InvalidArgument.row().exit) } else { ExitCode::SUCCESS }
}

/// Logs go to standard error, never to standard output: that belongs to answers and to the protocol.
fn start_log(verbose: u8) {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = environment::variable("LORE_LOG").unwrap_or_else(|| level.to_owned());
    // rmcp logs whole messages at debug, file contents included.
    let filter = if filter.contains("rmcp") { filter } else { format!("{filter},rmcp=warn") };
    let filter =
        tracing_subscriber::EnvFilter::try_new(filter).unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(level));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false).init();
}
