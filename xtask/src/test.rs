//! `cargo xtask test` and `cargo xtask ci`: everything that a change must pass, on a machine with only Rust, git and Python.

use std::{process::Command, time::Instant};

use anyhow::{Context as _, Result};

use crate::{
    clients, conformance,
    program::{cargo, output, run, say, target_dir},
    tidy, tour,
};

/// Features that are off in a build of `lore`, and tested.
const FEATURES: [&str; 2] = ["--features", "transformer"];

/// Installs what the tests need and runs all of them: tests, doc tests, documentation, tidy.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Leaves out the tests that drive other people's MCP clients, and their installation.
    #[arg(long)]
    no_clients: bool,
}

/// Runs all tests.
pub(crate) fn run_tests(args: &Args) -> Result<()> {
    let clients = if args.no_clients { None } else { Some(clients::install(&target_dir()?)?) };
    let mut tests = cargo();
    if output(cargo().args(["nextest", "--version"])).is_ok() {
        tests.args(["nextest", "run", "--workspace"]).args(FEATURES);
    } else {
        say("cargo-nextest is not installed: `cargo test` runs the tests, one crate after the other");
        tests.args(["test", "--workspace", "--tests", "--no-fail-fast"]).args(FEATURES);
    }
    tests.env("LORE_SLOW_TESTS", "1").env_remove("LORE_TEST_CLIENTS");
    if let Some(dir) = &clients {
        tests.env("LORE_TEST_CLIENTS", dir);
    }
    step("tests", &mut tests)?;
    let without = ["test", "--package", "lore-embed", "--package", "lore", "without_the_transformer"];
    step("tests without the transformer", cargo().args(without))?;
    if let Some(dir) = &clients {
        say("── conformance");
        conformance::run(dir)?;
    }
    say("── tour");
    tour::run_all()?;
    step("doc tests", cargo().args(["test", "--workspace", "--doc"]))?;
    step(
        "documentation",
        cargo().args(["doc", "--workspace", "--no-deps"]).args(FEATURES).env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    say("── tidy");
    tidy::run()
}

/// What `.ci/run` runs.
pub(crate) fn run_ci(args: &Args) -> Result<()> {
    step("format", cargo().args(["fmt", "--all", "--check"]))?;
    let clippy = |what: &[&str]| step("clippy", cargo().arg("clippy").args(what).args(["--", "-D", "warnings"]));
    clippy(&[&["--workspace", "--all-targets"], &FEATURES[..]].concat())?;
    clippy(&["--package", "lore"])?;
    run_tests(args)
}

/// Lets the tests that compare the written pages write them instead.
pub(crate) fn run_codegen() -> Result<()> {
    let mut command = cargo();
    command.args(["test", "--quiet", "--package", "lore", "--lib", "reference::"]).env("UPDATE_EXPECT", "1");
    step("codegen", &mut command)
}

fn step(name: &str, command: &mut Command) -> Result<()> {
    say(&format!("── {name}"));
    let started = Instant::now();
    run(command).with_context(|| format!("{name} did not pass"))?;
    say(&format!("── {name}: {:.1} s", started.elapsed().as_secs_f32()));
    Ok(())
}
