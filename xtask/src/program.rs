//! Starts programs and reads the environment: the one place of xtask that does.

use std::{
    ffi::OsStr,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// The top of the project.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// A program with the environment that xtask was given, started at the top of the project.
#[expect(clippy::disallowed_methods, reason = "xtask drives tools that need the user's own environment")]
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// The cargo that started xtask.
pub(crate) fn cargo() -> Command {
    program(variable("CARGO").unwrap_or_else(|| "cargo".to_owned()))
}

/// A variable of the environment, where it is text.
#[expect(clippy::disallowed_methods, reason = "xtask has no configuration but its arguments and the environment")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The names of all variables of the environment that are text.
pub(crate) fn variables() -> impl Iterator<Item = String> {
    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())
}

/// Prints a line; a closed standard output is no reason to stop.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        // Nobody reads: there is nothing to tell.
    }
}

/// Ends a comparison of Lore with git: tells the first differences, and fails where there are any.
pub(crate) fn agree(differences: &[String]) -> Result<()> {
    /// The first few show what is wrong.
    const SHOWN: usize = 50;
    for difference in differences.iter().take(SHOWN) {
        say(&format!("  {difference}"));
    }
    if differences.len() > SHOWN {
        say(&format!("  … and {} more", differences.len() - SHOWN));
    }
    ensure!(differences.is_empty(), "{} differences between lore and git", differences.len());
    say("lore and git agree");
    Ok(())
}

/// A path as an argument.
pub(crate) fn utf8(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is no text", path.display()))
}

/// Runs to the end and fails where the program does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    ensure!(status.success(), "{} failed ({status})", shown(command));
    Ok(())
}

/// Runs to the end and gives standard output as text without the last line end.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::piped()).output().with_context(|| format!("cannot start {}", shown(command)))?;
    ensure!(
        output.status.success(),
        "{} failed ({}): {}",
        shown(command),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

/// The command as one would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
    command.get_args().fold(name.into_owned(), |line, arg| line + " " + &arg.to_string_lossy())
}

/// Where cargo puts what it builds.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let text = output(cargo().args(["metadata", "--no-deps", "--offline", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&text)?;
    Ok(metadata["target_directory"].as_str().context("cargo did not name its target directory")?.into())
}

/// Builds `lore` in the release profile and asks cargo where it is.
pub(crate) fn build_release() -> Result<PathBuf> {
    build("lore", &["--release"])
}

/// Builds `lore` as the tests do and asks cargo where it is.
pub(crate) fn build_debug() -> Result<PathBuf> {
    build("lore", &[])
}

/// The `lore` to measure: the given one, or a fresh release build.
pub(crate) fn release(given: Option<&Path>) -> Result<PathBuf> {
    let binary = given.map_or_else(build_release, |given| Ok(given.to_owned()))?;
    binary.canonicalize().with_context(|| format!("cannot find {}", binary.display()))
}

/// The `lore` to measure, with `lore-dev` of the same build beside it.
pub(crate) fn release_with_dev(given: Option<&Path>) -> Result<PathBuf> {
    let binary = release(given)?;
    if given.is_none() {
        build_dev()?;
    }
    let dev = binary.with_file_name(DEV);
    ensure!(dev.exists(), "there is no {}: `cargo build --release --package {DEV}` builds it", dev.display());
    Ok(binary)
}

/// The program that looks inside Lore.
const DEV: &str = "lore-dev";

/// Builds `lore-dev` in the release profile and asks cargo where it is.
pub(crate) fn build_dev() -> Result<PathBuf> {
    // Not together with `lore`: that would unite the features of their dependencies.
    build(DEV, &["--release"])
}

fn build(name: &str, options: &[&str]) -> Result<PathBuf> {
    let mut command = cargo();
    command.args(["build", "--package", name, "--message-format=json-render-diagnostics"]).args(options);
    let built = command.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    ensure!(built.status.success(), "the build failed");
    String::from_utf8(built.stdout)?
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == name)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo did not say where the binary is")
}
