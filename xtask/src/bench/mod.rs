//! `cargo xtask bench`: measures the program from outside, against git and against a peer, in one run.
//!
//! It prints and judges nothing but the aims: no test fails because a machine is slow.

mod history;
mod index;
mod latency;
mod measure;
mod quality;
mod search;
mod semble;
mod server;
mod table;

use anyhow::Result;

pub(crate) use lore_bench::grid;
pub(crate) use measure::{Args as MeasuredArgs, Ran, run_measured, run_to_the_end};

/// Measures Lore.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Bench {
    /// Indexing and searching git history.
    History(history::Args),
    /// Indexing and searching code.
    Index(index::Args),
    /// Finding lines, beside ripgrep.
    Search(search::Args),
    /// A team server under load.
    Server(server::Args),
    /// How well questions about code are answered.
    Quality(quality::Args),
}

/// Runs the benchmark.
pub(crate) fn run(bench: Bench) -> Result<()> {
    match bench {
        Bench::History(args) => history::run(&args),
        Bench::Index(args) => index::run(&args),
        Bench::Search(args) => search::run(&args),
        Bench::Server(args) => server::run(&args),
        Bench::Quality(args) => quality::run(&args),
    }
}
