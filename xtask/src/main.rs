//! Automation of the project; `cargo xtask --help` lists it.
#![forbid(unsafe_code)]

mod abuse;
mod bench;
mod check_history;
mod check_past;
mod check_search;
mod check_symbols;
mod check_why;
mod clients;
mod conformance;
mod dist;
mod fuzz;
mod kill_server;
mod kill_sync;
mod program;
mod supply;
mod test;
mod tidy;
mod tour;

use clap::Parser as _;

/// Automation of the Lore project.
#[derive(clap::Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Installs what the tests need and runs all of them.
    Test(test::Args),
    /// Runs what every change must pass: format, lints, and all tests.
    Ci(test::Args),
    /// Treats Lore badly and checks what it does.
    Abuse(abuse::Args),
    /// Compares the lock file with published advisories.
    Audit(supply::audit::Args),
    /// Writes a list of everything in the program, as `CycloneDX`.
    Sbom(supply::sbom::Args),
    /// Builds the release archive: a static program with all that belongs to it.
    Dist(dist::Args),
    /// Checks facts about the project that no compiler checks.
    Tidy,
    /// Writes the reference pages and the README's tables from the program.
    Codegen,
    /// Compares Lore's history with git's.
    CheckHistory(check_history::Args),
    /// Compares what Lore keeps of the past of code with git's.
    CheckPast(check_past::Args),
    /// Compares the lines that Lore finds with those of `git grep`.
    CheckSearch(check_search::Args),
    /// Compares Lore's symbols with those of universal-ctags.
    CheckSymbols(check_symbols::Args),
    /// Compares why lines are as they are, and what changes together, with git.
    CheckWhy(check_why::Args),
    /// Runs the conformance suite of MCP.
    Conformance(conformance::Args),
    /// Runs libFuzzer on parsers of foreign bytes.
    Fuzz(fuzz::Args),
    /// Kills a team server at random moments and compares what it keeps.
    KillServer(kill_server::Args),
    /// Kills syncs at random moments and compares what they leave.
    KillSync(kill_sync::Args),
    /// Plays the commands of the README and the guides.
    Tour(tour::Args),
    /// Measures Lore.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Runs a program and prints what it cost; the benchmarks use it.
    #[command(hide = true)]
    Measured(bench::MeasuredArgs),
    /// Starts a program in a terminal of its own; the tour uses it.
    #[command(hide = true)]
    InTerminal(tour::InTerminal),
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Test(args) => test::run_tests(&args),
        Task::Ci(args) => test::run_ci(&args),
        Task::Abuse(args) => abuse::run(args),
        Task::Audit(args) => supply::audit::check(&args),
        Task::Sbom(args) => supply::sbom::run(&args),
        Task::Dist(args) => dist::run(&args),
        Task::Tidy => tidy::run(),
        Task::Codegen => test::run_codegen(),
        Task::CheckHistory(args) => check_history::run(args),
        Task::CheckPast(args) => check_past::run(&args),
        Task::CheckSearch(args) => check_search::run(args),
        Task::CheckSymbols(args) => check_symbols::run(&args),
        Task::CheckWhy(args) => check_why::run(&args),
        Task::Conformance(args) => conformance::run_asked(&clients::install(&program::target_dir()?)?, &args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::KillServer(args) => kill_server::run(args),
        Task::KillSync(args) => kill_sync::run(args),
        Task::Tour(args) => tour::run(&args),
        Task::InTerminal(args) => tour::run_in_terminal(&args),
        Task::Bench(bench) => bench::run(bench),
        Task::Measured(args) => bench::run_measured(&args),
    }
}
