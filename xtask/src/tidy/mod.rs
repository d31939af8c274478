//! `cargo xtask tidy`: facts about the project that no compiler checks.
//!
//! Each check takes data and gives a list of problems, so that its own tests need no workspace. Taste is not checked.

mod files;
mod layers;
mod licences;
mod manifests;
mod modules;

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::program::{cargo, output, program, root, say, variable};

/// Runs every check and prints what is wrong.
pub(crate) fn run() -> Result<()> {
    let metadata = metadata()?;
    let files = tracked()?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let mut problems = layers::check(packages);
    problems.extend(licences::check(packages));
    problems.extend(licences::check_deny(root())?);
    problems.extend(manifests::check_dependencies(packages));
    problems.extend(manifests::check_crates(packages)?);
    problems.extend(modules::check(root(), &files)?);
    problems.extend(files::check(root(), &files, &machine())?);
    problems.extend(crate::bench::check_pages(root())?);
    for problem in &problems {
        say(&format!("tidy: {problem}"));
    }
    ensure!(problems.is_empty(), "tidy found {} problems", problems.len());
    say(&format!("tidy: {} files and {} packages are in order", files.len(), packages.len()));
    Ok(())
}

/// The checkout, the folder around it, and the homes of whoever runs this.
fn machine() -> files::Machine {
    let folders = root().ancestors().take(2).map(|folder| folder.display().to_string());
    let homes = ["HOME", "CARGO_HOME", "RUSTUP_HOME"].into_iter().filter_map(variable);
    files::Machine { places: folders.chain(homes).collect() }
}

/// What cargo knows, for all platforms; without a network, for this one.
fn metadata() -> Result<Value> {
    let all = ["metadata", "--format-version", "1"];
    if let Ok(text) = output(cargo().args(all)) {
        return Ok(serde_json::from_str(&text)?);
    }
    let rustc = output(program("rustc").arg("-vV"))?;
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc did not name its host")?;
    say(&format!("tidy: packages of other platforms could not be fetched: only those of {host} are looked at"));
    let text = output(cargo().args(all).args(["--offline", "--filter-platform", host]))?;
    Ok(serde_json::from_str(&text)?)
}

/// Every file that git tracks or would add.
fn tracked() -> Result<Vec<PathBuf>> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"];
    let text = output(program("git").args(list)).context("tidy needs a git repository")?;
    let files = text.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from);
    // A deleted file is tracked until the deletion is committed.
    Ok(files.filter(|path| root().join(path).symlink_metadata().is_ok()).collect())
}
