//! Drives the real `lore` binary in a home of its own.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use tempfile::TempDir;

use crate::process::isolated;

/// The `lore` binary with an empty index, an empty home directory and a clean environment.
#[derive(Debug)]
pub struct Lore {
    binary: PathBuf,
    home: PathBuf,
    user_home: PathBuf,
    _root: Option<TempDir>,
}

/// What a run of `lore` gave.
#[derive(Debug, Clone)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output, byte for byte.
    pub stdout: Vec<u8>,
    /// Its standard error as text.
    pub stderr: String,
}

impl Lore {
    /// Prepares directories that vanish with this value.
    #[track_caller]
    pub fn new(binary: &Path) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let home = root.path().join("lore");
        let user_home = root.path().join("home");
        for dir in [&home, &user_home] {
            std::fs::create_dir(dir).expect("a fresh directory is writable");
        }
        Self { binary: binary.to_owned(), home, user_home, _root: Some(root) }
    }

    /// The same in a folder that stays, and that may hold an index.
    #[track_caller]
    pub fn at(binary: &Path, root: &Path) -> Self {
        let (home, user_home) = (root.join("lore"), root.join("home"));
        for dir in [&home, &user_home] {
            std::fs::create_dir_all(dir).expect("the folder is writable");
        }
        Self { binary: binary.to_owned(), home, user_home, _root: None }
    }

    /// The directory of the index, `LORE_HOME`.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The user's home directory, `HOME`.
    pub fn user_home(&self) -> &Path {
        &self.user_home
    }

    /// A command that is ready to start, for tests that need its pipes or its process.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        self.start(&self.binary, args)
    }

    /// A command of the `lore-dev` that lies beside the binary.
    pub fn dev<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        self.start(&self.binary.with_file_name("lore-dev"), args)
    }

    fn start<S: AsRef<OsStr>>(&self, binary: &Path, args: &[S]) -> Command {
        let mut command = isolated(binary);
        // Not where the tests run: that is inside a repository, which `lore` would take for the user's project.
        command.current_dir(self.user_home());
        command.env("LORE_HOME", self.home()).env("HOME", self.user_home()).env("TZ", "UTC").args(args);
        command
    }

    /// Runs to the end, however it ends.
    #[track_caller]
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Output {
        let output = self
            .command(args)
            .output()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", self.binary.display()));
        Output {
            status: output.status,
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs and gives standard output; panics with standard error where it fails.
    #[track_caller]
    pub fn ok<S: AsRef<OsStr>>(&self, args: &[S]) -> Vec<u8> {
        let output = self.run(args);
        assert!(output.status.success(), "lore {} ({}): {}", shown(args), output.status, output.stderr);
        output.stdout
    }

    /// Runs and reads standard output as JSON.
    #[track_caller]
    pub fn json<S: AsRef<OsStr>>(&self, args: &[S]) -> serde_json::Value {
        let stdout = self.ok(args);
        serde_json::from_slice(&stdout).unwrap_or_else(|error| {
            panic!("lore {}: not JSON ({error}): {}", shown(args), String::from_utf8_lossy(&stdout))
        })
    }
}

fn shown<S: AsRef<OsStr>>(args: &[S]) -> String {
    let args: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect();
    args.join(" ")
}
