//! Writes commits for `git fast-import`, which makes hundreds of them in one process and takes any bytes as path or message.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

use crate::Git;

/// Seconds since 1970 of the first commit (13 September 2020); each further one is a minute later.
pub(super) const START: i64 = 1_600_000_000;

/// The branch that everything is merged into.
pub(super) const MAIN: &str = "refs/heads/main";

/// One commit to be made.
#[derive(Debug, Clone)]
pub(super) struct Commit {
    label: String,
    branch: &'static str,
    from: Option<String>,
    merges: Vec<String>,
    author: Vec<u8>,
    date: Option<String>,
    encoding: Option<&'static str>,
    message: Vec<u8>,
    changes: Vec<u8>,
}

impl Commit {
    /// A commit on `main`, whose label finds it again and is its message unless another one is given.
    pub(super) fn new(label: impl Into<String>) -> Self {
        let label = label.into();
        Self {
            message: format!("Commit {label}\n").into_bytes(),
            label,
            branch: MAIN,
            from: None,
            merges: Vec::new(),
            author: b"Ada Author <ada@example.com>".to_vec(),
            date: None,
            encoding: None,
            changes: Vec::new(),
        }
    }

    /// On another branch.
    pub(super) fn on(mut self, branch: &'static str) -> Self {
        self.branch = branch;
        self
    }

    /// With this parent, a label or a full object name; without it, the branch's last commit of the same stream.
    pub(super) fn from(mut self, parent: &str) -> Self {
        self.from = Some(parent.to_owned());
        self
    }

    /// With one more parent.
    pub(super) fn merge(mut self, parent: &str) -> Self {
        self.merges.push(parent.to_owned());
        self
    }

    /// With this message, taken as it is.
    pub(super) fn message(mut self, message: impl AsRef<[u8]>) -> Self {
        message.as_ref().clone_into(&mut self.message);
        self
    }

    /// With an `encoding` header.
    pub(super) fn encoding(mut self, name: &'static str) -> Self {
        self.encoding = Some(name);
        self
    }

    /// By another author, `Name <email>`.
    pub(super) fn author(mut self, author: impl AsRef<[u8]>) -> Self {
        author.as_ref().clone_into(&mut self.author);
        self
    }

    /// With this author and committer date, as the object spells it.
    pub(super) fn date(mut self, date: &str) -> Self {
        self.date = Some(date.to_owned());
        self
    }

    /// Adds or replaces a regular file.
    pub(super) fn file(self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        self.entry("100644", path, content)
    }

    /// Adds or replaces an entry of this mode.
    pub(super) fn entry(mut self, mode: &str, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        self.changes.extend(format!("M {mode} inline ").into_bytes());
        self.changes.extend(quoted(path.as_ref()));
        self.changes.push(b'\n');
        data(&mut self.changes, content.as_ref());
        self
    }

    /// Adds or replaces a symbolic link.
    pub(super) fn symlink(self, path: &str, target: impl AsRef<[u8]>) -> Self {
        self.entry("120000", path, target)
    }

    /// Adds or replaces a submodule that stands at this commit.
    pub(super) fn submodule(mut self, path: &str, commit: &str) -> Self {
        self.changes.extend(format!("M 160000 {commit} {path}\n").into_bytes());
        self
    }

    /// Renames a file or a directory.
    pub(super) fn rename(self, old: impl AsRef<[u8]>, new: impl AsRef<[u8]>) -> Self {
        self.two_paths("R ", old.as_ref(), new.as_ref())
    }

    /// Copies a file or a directory.
    pub(super) fn copy(self, old: impl AsRef<[u8]>, new: impl AsRef<[u8]>) -> Self {
        self.two_paths("C ", old.as_ref(), new.as_ref())
    }

    /// Deletes a file or a directory.
    pub(super) fn delete(mut self, path: impl AsRef<[u8]>) -> Self {
        self.changes.extend(b"D ");
        self.changes.extend(quoted(path.as_ref()));
        self.changes.push(b'\n');
        self
    }

    /// Deletes every file.
    pub(super) fn delete_everything(mut self) -> Self {
        self.changes.extend(b"deleteall\n");
        self
    }

    fn two_paths(mut self, what: &str, old: &[u8], new: &[u8]) -> Self {
        self.changes.extend(what.as_bytes());
        self.changes.extend(quoted(old));
        self.changes.push(b' ');
        self.changes.extend(quoted(new));
        self.changes.push(b'\n');
        self
    }
}

/// Commits in the order in which they are made.
#[derive(Debug, Default)]
pub(super) struct Stream {
    bytes: Vec<u8>,
    labels: Vec<String>,
    made_before: usize,
}

impl Stream {
    /// Goes on after this many commits, so that dates keep growing.
    pub(super) fn after(made_before: usize) -> Self {
        Self { made_before, ..Self::default() }
    }

    /// Adds a commit.
    pub(super) fn push(&mut self, commit: Commit) {
        let seconds = START + 60 * i64::try_from(self.made_before + self.labels.len()).expect("few commits");
        let date = commit.date.unwrap_or_else(|| format!("{seconds} +0000"));
        self.labels.push(commit.label);
        let out = &mut self.bytes;
        out.extend(format!("commit {}\nmark :{}\nauthor ", commit.branch, self.labels.len()).into_bytes());
        out.extend(commit.author);
        out.extend(format!(" {date}\ncommitter Cleo Committer <cleo@example.com> {date}\n").into_bytes());
        if let Some(encoding) = commit.encoding {
            out.extend(format!("encoding {encoding}\n").into_bytes());
        }
        data(out, &commit.message);
        let parents = commit.from.iter().map(|p| ("from", p)).chain(commit.merges.iter().map(|p| ("merge", p)));
        for (word, parent) in parents {
            // A label of this stream is a mark; anything else is an object name.
            let mark = self.labels.iter().position(|label| label == parent).map(|index| format!(":{}", index + 1));
            let named = mark.unwrap_or_else(|| parent.clone());
            self.bytes.extend(format!("{word} {named}\n").into_bytes());
        }
        self.bytes.extend(commit.changes);
        self.bytes.push(b'\n');
    }

    /// Makes the commits and gives their object names by label.
    pub(super) fn import(mut self, git: &Git) -> Result<BTreeMap<String, String>> {
        for mark in 1..=self.labels.len() {
            self.bytes.extend(format!("get-mark :{mark}\n").into_bytes());
        }
        self.bytes.extend(b"done\n");
        let printed = git.feed(&["fast-import", "--quiet", "--done", "--date-format=raw-permissive"], &self.bytes)?;
        let printed = String::from_utf8(printed).context("object names are ASCII")?;
        let ids: Vec<_> = printed.lines().map(str::to_owned).collect();
        anyhow::ensure!(
            ids.len() == self.labels.len(),
            "fast-import named {} of {} commits",
            ids.len(),
            self.labels.len()
        );
        Ok(self.labels.into_iter().zip(ids).collect())
    }
}

fn data(out: &mut Vec<u8>, content: &[u8]) {
    out.extend(format!("data {}\n", content.len()).into_bytes());
    out.extend(content);
    out.push(b'\n');
}

/// A path in fast-import's C-style quotes, everything unusual as three octal digits.
fn quoted(path: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for &byte in path {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            out.push(byte);
        } else {
            out.extend(format!("\\{byte:03o}").into_bytes());
        }
    }
    out.push(b'"');
    out
}
