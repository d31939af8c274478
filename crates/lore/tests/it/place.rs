//! A place for a test: the real `lore` with an empty index, and folders for repositories beside it.

use std::{ffi::OsStr, path::Path};

use lore_testkit::{Lore, Output, Repo};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use tempfile::TempDir;

use crate::stdio::Server;

pub(crate) struct Place {
    pub(crate) lore: Lore,
    dir: TempDir,
}

impl Place {
    #[track_caller]
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        Self { lore: Lore::new(Path::new(env!("CARGO_BIN_EXE_lore"))), dir }
    }

    /// A path beside the index.
    #[track_caller]
    pub(crate) fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().expect("temporary paths are UTF-8").to_owned()
    }

    /// An empty repository.
    #[track_caller]
    pub(crate) fn repo(&self, name: &str) -> Repo {
        Repo::init(self.path(name))
    }

    /// Registers and indexes a repository, and gives what was read.
    #[track_caller]
    pub(crate) fn add<S: AsRef<OsStr> + ?Sized>(&self, target: &S, flags: &[&str]) -> Value {
        let mut args = vec![OsStr::new("add"), target.as_ref(), OsStr::new("--json")];
        args.extend(flags.iter().map(OsStr::new));
        self.lore.json(&args)["repos"][0].take()
    }

    /// Syncs everything, and gives what was read of the first repository.
    #[track_caller]
    pub(crate) fn sync(&self) -> Value {
        self.lore.json(&["sync", "--json"])["repos"][0].take()
    }

    /// What `lore status` says of a repository.
    #[track_caller]
    pub(crate) fn status(&self, name: &str) -> Value {
        let mut status = self.lore.json(&["status", "--json"]);
        let rows = status["repos"].as_array_mut().expect("status lists repositories");
        let found = rows.iter_mut().find(|row| row["name"] == name).map(Value::take);
        found.unwrap_or_else(|| panic!("status does not know {name}: {status}"))
    }

    /// Runs what must fail, in words that end with this code.
    #[track_caller]
    pub(crate) fn refused<S: AsRef<OsStr>>(&self, code: i32, args: &[S]) -> String {
        let output: Output = self.lore.run(args);
        assert_eq!(output.status.code(), Some(code), "{}", output.stderr);
        output.stderr
    }

    /// The index as a user's own SQL sees it: the first column of every row.
    #[track_caller]
    pub(crate) fn sql(&self, query: &str) -> Vec<String> {
        let file = self.lore.home().join("lore.db");
        let read = || -> rusqlite::Result<Vec<String>> {
            let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            let mut statement = connection.prepare(&format!("SELECT CAST(one AS TEXT) FROM ({query})"))?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        read().unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    /// The subjects of all indexed commits, in alphabetical order.
    #[track_caller]
    pub(crate) fn subjects(&self) -> Vec<String> {
        self.sql("SELECT subject AS one FROM commits ORDER BY subject")
    }

    /// A server that has shaken hands.
    #[track_caller]
    pub(crate) fn serve(&self, flags: &[&str]) -> Server {
        Server::start(self.lore.command(&[&["serve"], flags].concat()))
    }
}
