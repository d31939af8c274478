//! Starting programs with nothing inherited but the search path, so that a test gives the same result on every machine.

use std::{
    ffi::OsStr,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};

/// Set for every git that is started here: no system, user or attribute configuration, no questions, no fetching behind our back.
const ENVIRONMENT: [(&str, &str); 8] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_PAGER", "cat"),
    // A directory that does not exist: `$HOME/.config/git/attributes` is read whatever the other variables say.
    ("HOME", "/nonexistent"),
];

/// Settings that make results the same everywhere, or only save time.
const SETTINGS: [&str; 8] = [
    "init.defaultBranch=main",
    "core.fsync=none",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.autocrlf=false",
    "protocol.file.allow=always",
    "safe.directory=*",
    "advice.detachedHead=false",
];

/// A command that inherits no variable but `PATH`.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place of the testkit that starts programs, and it clears their environment"
)]
pub(crate) fn isolated(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    if let Some((name, value)) = std::env::vars_os().find(|(name, _)| name == "PATH") {
        command.env(name, value);
    }
    command
}

/// The real `git`, isolated, started in one directory.
#[derive(Debug, Clone)]
pub struct Git {
    dir: PathBuf,
    variables: Vec<(String, String)>,
}

impl Git {
    /// Runs in this directory.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), variables: Vec::new() }
    }

    /// The same with one more environment variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Where it runs.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The command, for uses that the other functions do not cover.
    pub fn command(&self) -> Command {
        let mut command = isolated("git");
        command.current_dir(&self.dir).envs(ENVIRONMENT);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command
    }

    /// Runs git and gives its standard output; fails with its standard error.
    pub fn bytes<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>> {
        self.feed(args, b"")
    }

    /// Runs git and gives its standard output as text without the last line ends.
    pub fn text<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String> {
        let text = String::from_utf8(self.bytes(args)?).context("git printed something that is not UTF-8")?;
        Ok(text.trim_end_matches('\n').to_owned())
    }

    /// Runs git with this standard input.
    pub fn feed<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<Vec<u8>> {
        let mut child = self
            .command()
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start git in {}", self.dir.display()))?;
        let stdin = child.stdin.take();
        let output = std::thread::scope(|scope| {
            // A git that ends early closes the pipe; its exit status tells more than the failed write.
            scope.spawn(move || stdin.is_some_and(|mut pipe| pipe.write_all(input).is_ok()));
            child.wait_with_output()
        })?;
        if !output.status.success() {
            let args: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect();
            bail!("git {} ({}): {}", args.join(" "), output.status, String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(output.stdout)
    }
}
