//! A fresh checkout of one commit on a branch of its own. Objects are borrowed from the repository; nothing is written there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use lore_testkit::Git;
use tempfile::TempDir;

use super::{all::place_of, history::warm_files};

/// The checkout; it vanishes with this value.
pub(super) struct Checkout {
    /// The name of the repository.
    pub(super) name: String,
    /// The work tree.
    pub(super) path: PathBuf,
    /// The hash of the commit.
    pub(super) commit: String,
    objects: PathBuf,
    _dir: TempDir,
}

impl Checkout {
    /// Checks a commit out, with the history that leads to it.
    pub(super) fn new(repo: &Path, commit: &str) -> Result<Self> {
        let (name, repo) = place_of(repo)?;
        let source = Git::at(&repo);
        let commit = source.text(&["rev-parse", "--verify", "--end-of-options", &format!("{commit}^{{commit}}")])?;
        let of_source =
            |name: &str| Ok::<_, anyhow::Error>(repo.join(source.text(&["rev-parse", "--git-path", name])?));
        let objects = of_source("objects")?;
        let dir = tempfile::tempdir()?;
        let path = dir.path().join(&name);
        fs::create_dir(&path)?;
        let git = Git::at(&path);
        git.text(&["init", "--quiet"])?;
        fs::write(path.join(".git/objects/info/alternates"), format!("{}\n", objects.display()))?;
        let shallow = of_source("shallow")?;
        if shallow.exists() {
            fs::copy(shallow, path.join(".git/shallow"))?;
        }
        git.text(&["reset", "--quiet", "--hard", &commit]).with_context(|| format!("cannot check out {commit}"))?;
        Ok(Self { name, path, commit, objects, _dir: dir })
    }

    /// Makes the commit the only one.
    pub(super) fn drop_history(&self) -> Result<()> {
        Ok(fs::write(self.path.join(".git/shallow"), format!("{}\n", self.commit))?)
    }

    /// Reads everything once, so that no run pays for the disk.
    pub(super) fn warm(&self) -> Result<()> {
        warm_files(&self.objects)?;
        warm_files(&self.path)
    }

    /// How many commits lead to it, itself included.
    pub(super) fn commits(&self) -> Result<String> {
        Git::at(&self.path).text(&["rev-list", "--count", "HEAD"])
    }
}

#[cfg(test)]
mod tests {
    use lore_testkit::Repo;

    use super::*;

    #[test]
    fn a_checkout_has_one_commit_and_what_leads_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::init(dir.path().join("shop"));
        for text in ["one", "two", "three"] {
            repo.write("a.txt", text).commit(text);
        }
        let checkout = Checkout::new(repo.path(), "HEAD~1").unwrap();
        assert_eq!(checkout.name, "shop");
        assert_eq!(fs::read_to_string(checkout.path.join("a.txt")).unwrap(), "two");
        assert_eq!(checkout.commits().unwrap(), "2");
        let branches = Git::at(&checkout.path).text(&["for-each-ref", "--format=%(refname)"]).unwrap();
        assert_eq!(branches, "refs/heads/main");
        checkout.drop_history().unwrap();
        assert_eq!(checkout.commits().unwrap(), "1");
        assert!(Checkout::new(repo.path(), "no-such-commit").is_err());
    }
}
