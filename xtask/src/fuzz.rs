//! `cargo xtask fuzz`: libFuzzer on the parsers of `crates/lore-fuzz`, one after the other.
//!
//! The tests try what is kept in `fuzz/corpus` and a bounded number of changed inputs; this is for hours. New inputs go to
//! `fuzz/work`; `--keep` takes over those that reach something that no kept input reaches.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::program::{output, program, root, run as run_program, say};

/// Longer inputs are not kept: they are to be read.
const LONGEST: usize = 2048;

/// Runs libFuzzer on parsers of foreign bytes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The targets; all where none is named.
    targets: Vec<String>,

    /// How long each is fuzzed, in seconds; 0 until something is found.
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u64,

    /// Only says which targets there are.
    #[arg(long)]
    list: bool,

    /// Adds new inputs to `fuzz/corpus`, the smallest ones that reach everything that was reached.
    #[arg(long)]
    keep: bool,

    /// A sanitizer besides: `address` needs a toolchain that has it.
    #[arg(long, default_value = "none", value_name = "NAME")]
    sanitizer: String,
}

/// Fuzzes what was asked for; fails where something was found.
pub(crate) fn run(args: &Args) -> Result<()> {
    let known = targets(&folder())?;
    if args.list {
        say(&known.join("\n"));
        return Ok(());
    }
    if let Some(name) = args.targets.iter().find(|name| !known.contains(name)) {
        bail!("there is no target `{name}`: `cargo xtask fuzz --list` names them");
    }
    ensure!(
        output(program("cargo").args(["fuzz", "--version"])).is_ok(),
        "cargo-fuzz is missing: `cargo install cargo-fuzz` (and a C++ compiler, for libFuzzer)"
    );
    // The same versions as in the program; cargo adds libFuzzer.
    fs::copy(root().join("Cargo.lock"), folder().join("Cargo.lock")).context("cannot copy Cargo.lock")?;
    let wanted = if args.targets.is_empty() { &known } else { &args.targets };
    let mut found = Vec::new();
    for name in wanted {
        say(&format!("fuzz: {name}"));
        if let Err(error) = fuzz(name, args) {
            say(&format!("fuzz: {name}: {error}"));
            found.push(name.as_str());
        } else if args.keep {
            keep(name, args)?;
        }
    }
    ensure!(
        found.is_empty(),
        "something was found by {}: the input is below fuzz/artifacts; mend it, and keep the input in fuzz/corpus",
        found.join(", ")
    );
    Ok(())
}

fn folder() -> PathBuf {
    root().join("fuzz")
}

/// The targets, by name: each is a program.
fn targets(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder.join("targets")).context("there is no fuzz/targets")?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

/// `cargo fuzz` with what it needs to run on the toolchain of the project: without a sanitizer no flag is unstable.
fn cargo_fuzz(subcommand: &str, name: &str, args: &Args) -> std::process::Command {
    let mut command = program("cargo");
    command.current_dir(folder()).args(["fuzz", subcommand, "--debug-assertions"]);
    command.args(["--sanitizer", &args.sanitizer, name]);
    command
}

fn fuzz(name: &str, args: &Args) -> Result<()> {
    let (work, corpus) = (folder().join("work").join(name), folder().join("corpus").join(name));
    fs::create_dir_all(&work)?;
    fs::create_dir_all(&corpus)?;
    let mut command = cargo_fuzz("run", name, args);
    command.arg(&work).arg(&corpus).arg("--");
    command.arg(format!("-max_total_time={}", args.seconds)).args([
        "-timeout=20",
        "-rss_limit_mb=4096",
        "-print_final_stats=1",
    ]);
    run_program(&mut command)
}

/// Adds to the corpus what reaches more, the shortest first, and names it by what it is.
fn keep(name: &str, args: &Args) -> Result<()> {
    let (work, corpus) = (folder().join("work").join(name), folder().join("corpus").join(name));
    let mut command = cargo_fuzz("run", name, args);
    command.arg(&corpus).arg(&work).args(["--", "-merge=1", &format!("-max_len={LONGEST}")]);
    run_program(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_program_and_inputs_that_are_kept() {
        let names = targets(&folder()).unwrap();
        let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
        let listed = fs::read_to_string(root().join("crates/lore-fuzz/src/targets/mod.rs")).unwrap();
        for name in &names {
            assert!(manifest.contains(&format!("path = \"targets/{name}.rs\"")), "{name} is not in fuzz/Cargo.toml");
            assert!(listed.contains(&format!("{name}::run")), "{name} is no target of lore-fuzz");
            let inputs = fs::read_dir(folder().join("corpus").join(name)).map_or(0, Iterator::count);
            assert!(inputs > 0, "{name} has no kept input");
        }
        assert_eq!(listed.matches("::run,").count(), names.len(), "a target of lore-fuzz has no program");
    }
}
