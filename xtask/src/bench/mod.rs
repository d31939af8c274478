//! `cargo xtask bench`: measures the program from outside, against git and against a peer, in one run.
//!
//! It prints and judges nothing but the aims: no test fails because a machine is slow.

mod history;
mod latency;
mod measure;
mod table;

use anyhow::Result;

pub(crate) use measure::{Args as MeasuredArgs, run_measured};

/// Measures Lore.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Bench {
    /// Indexing and searching git history.
    History(history::Args),
}

/// Runs the benchmark.
pub(crate) fn run(bench: Bench) -> Result<()> {
    match bench {
        Bench::History(args) => history::run(&args),
    }
}
