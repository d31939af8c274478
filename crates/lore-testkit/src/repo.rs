//! A small repository for tests that need a few commits: the same calls give the same object names everywhere.

use std::{
    cell::Cell,
    ffi::OsStr,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use crate::Git;

/// Author and committer date of the first commit (14 November 2023); each further one is a minute later.
const START: i64 = 1_700_000_000;

/// A repository made by real git. Every function panics with git's own words where something goes wrong.
#[derive(Debug)]
pub struct Repo {
    path: PathBuf,
    commits: Cell<i64>,
}

impl Repo {
    /// Makes an empty repository with the branch `main`; the directory may exist.
    #[track_caller]
    pub fn init(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        std::fs::create_dir_all(&path).expect("the directory of a test repository can be made");
        let repo = Self { path, commits: Cell::new(0) };
        repo.git(&["init", "--quiet"]);
        repo
    }

    /// Clones a repository with all its branches; objects stay where they are, and nothing is written there. Further commits
    /// are later than its own.
    pub fn clone_of(source: &Path, path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let parent = path.parent().context("a clone has a directory above it")?;
        std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        let args = ["clone", "--quiet", "--shared"].map(AsRef::<OsStr>::as_ref);
        Git::at(parent).bytes(&[&args[..], &[source.as_os_str(), path.as_os_str()]].concat())?;
        let git = Git::at(&path);
        git.text(&["symbolic-ref", "HEAD"]).with_context(|| format!("{} is on no branch", source.display()))?;
        git.text(&["fetch", "--quiet", "--update-head-ok", "origin", "+refs/heads/*:refs/heads/*"])?;
        let last: i64 = git.text(&["log", "-1", "--format=%ct"])?.parse().context("git tells no time")?;
        Ok(Self { path, commits: Cell::new((last - START).max(0) / 60 + 1) })
    }

    /// The working directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file, with the directories above it.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let file = self.path.join(path);
        write(&file, content.as_ref()).unwrap_or_else(|error| panic!("{error:#}"));
        self
    }

    /// Deletes a file.
    #[track_caller]
    pub fn remove(&self, path: impl AsRef<Path>) -> &Self {
        let file = self.path.join(path);
        std::fs::remove_file(&file).unwrap_or_else(|error| panic!("cannot delete {}: {error}", file.display()));
        self
    }

    /// Commits everything that changed, or nothing at all, and gives the commit's full name.
    #[track_caller]
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--allow-empty-message", "--cleanup=verbatim", "-m", message]);
        self.commits.set(self.commits.get() + 1);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git in the repository and gives what it prints, without the last line end.
    ///
    /// A command that commits by itself (`merge`, `revert`) gets the date of the next [`Self::commit`].
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        self.runner().text(args).unwrap_or_else(|error| panic!("{error:#}"))
    }

    fn runner(&self) -> Git {
        let date = format!("{} +0000", START + 60 * self.commits.get());
        Git::at(&self.path)
            .with("GIT_AUTHOR_NAME", "Ada Author")
            .with("GIT_AUTHOR_EMAIL", "ada@example.com")
            .with("GIT_AUTHOR_DATE", &date)
            .with("GIT_COMMITTER_NAME", "Cleo Committer")
            .with("GIT_COMMITTER_EMAIL", "cleo@example.com")
            .with("GIT_COMMITTER_DATE", &date)
            .with("GIT_MERGE_AUTOEDIT", "no")
    }
}

fn write(file: &Path, content: &[u8]) -> Result<()> {
    let dir = file.parent().context("a file has a directory")?;
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    std::fs::write(file, content).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_has_all_branches_and_leaves_its_source_alone() {
        let dir = tempfile::tempdir().unwrap();
        let source = Repo::init(dir.path().join("source"));
        source.write("a", "1\n").commit("One");
        source.git(&["branch", "other"]);
        let before = source.git(&["for-each-ref"]);
        let clone = Repo::clone_of(source.path(), dir.path().join("below/clone")).unwrap();
        clone.write("b", "2\n").commit("Two");
        assert_eq!(clone.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]), "main\nother");
        let dates: Vec<String> = clone.git(&["log", "--format=%ct"]).lines().map(str::to_owned).collect();
        assert!(dates.len() == 2 && dates[0] > dates[1], "{dates:?}");
        assert_eq!(source.git(&["for-each-ref"]), before);
    }
}
