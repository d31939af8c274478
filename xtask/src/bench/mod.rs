//! `cargo xtask bench`: measures the program from outside, against git and against a peer, in one run.
//!
//! It prints and judges nothing but the aims: no test fails because a machine is slow.

mod all;
mod bootstrap;
mod checkout;
mod cold_start;
mod history;
mod index;
mod large;
mod latency;
mod measure;
mod memory;
mod quality;
mod query;
mod ratio;
mod search;
mod semble;
mod server;
mod starvation;
mod table;
mod times;

use std::path::Path;

use anyhow::Result;

pub(crate) use measure::{Args as MeasuredArgs, Ran, run_measured, run_to_the_end};
pub(crate) use table::grid;

/// Measures Lore.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Bench {
    /// Everything, beside every peer that is given: one table, ratios first.
    All(Box<all::Args>),
    /// Writes the pages with figures from a run that was kept.
    Docs(all::DocsArgs),
    /// Indexing and searching git history.
    History(history::Args),
    /// Indexing and searching code.
    Index(index::Args),
    /// A large repository: indexing and queries, beside another build of Lore, ripgrep and `git grep`.
    Large(large::Args),
    /// The first calls of an agent, while the index is being built.
    ColdStart(cold_start::Args),
    /// Finding lines, beside ripgrep.
    Search(search::Args),
    /// A team server under load.
    Server(server::Args),
    /// The memory of a team server under many requests, and when it is idle again.
    Memory(memory::Args),
    /// A team server under costly queries of two users.
    Starvation(starvation::Args),
    /// How well questions about code are answered.
    Quality(quality::Args),
}

/// Runs the benchmark.
pub(crate) fn run(bench: Bench) -> Result<()> {
    match bench {
        Bench::All(args) => all::run(*args),
        Bench::Docs(args) => all::write_docs(&args),
        Bench::History(args) => history::run(&args),
        Bench::Index(args) => index::run(&args),
        Bench::Large(args) => large::run(&args),
        Bench::ColdStart(args) => cold_start::run(&args),
        Bench::Search(args) => search::run(&args),
        Bench::Server(args) => server::run(&args),
        Bench::Memory(args) => memory::run(&args),
        Bench::Starvation(args) => starvation::run(&args),
        Bench::Quality(args) => quality::run(&args),
    }
}

/// Pages that do not say what the runs say that they are made from.
pub(crate) fn check_pages(root: &Path) -> Result<Vec<String>> {
    let mut problems = all::check_pages(root)?;
    problems.extend(large::check_page(root)?);
    Ok(problems)
}
