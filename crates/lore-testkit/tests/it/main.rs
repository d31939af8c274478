//! Proves that the odd repositories contain what they promise, by asking git, and that the oracle notices every kind of difference.

mod builders;
mod content;
mod messages;
#[cfg(unix)]
mod oracle;
mod paths;
mod shape;
mod variants;

use std::sync::{Arc, Mutex, PoisonError, Weak};

use lore_testkit::{
    Git,
    odd::{self, OddRepo},
};
use tempfile::TempDir;

/// The odd repository, and git in it.
struct Odd {
    repo: OddRepo,
    git: Git,
    _dir: TempDir,
}

impl Odd {
    /// Tests only read it, so those that run at the same time share one; the last one deletes it.
    fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Odd>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let repo = odd::main_repo(&dir.path().join("repo")).expect("git makes the repository");
            let odd = Arc::new(Self { git: Git::at(&repo.path), repo, _dir: dir });
            *shared = Arc::downgrade(&odd);
            odd
        })
    }

    /// What git prints about a commit with this format.
    fn format(&self, label: &str, format: &str) -> Vec<u8> {
        let format = format!("--format=tformat:{format}");
        let mut printed = self
            .git
            .bytes(&["show", "-s", "--no-show-signature", "--encoding=UTF-8", &format, self.repo.id(label)])
            .expect("git shows the commit");
        printed.pop();
        printed
    }

    fn text(&self, label: &str, format: &str) -> String {
        String::from_utf8(self.format(label, format)).expect("UTF-8")
    }

    /// The changed files with their status letters, against the first parent and without any exclude.
    fn status(&self, label: &str) -> String {
        let printed = self.diff(label, &["--name-status", "--diff-merges=first-parent"]);
        let text = String::from_utf8(printed).expect("paths are quoted");
        text.trim_end().replace('\n', " | ").replace('\t', " ")
    }

    /// The patch, likewise.
    fn patch(&self, label: &str) -> Vec<u8> {
        self.diff(label, &["-U3", "--diff-merges=first-parent"])
    }

    /// Flags undo what the repository configures.
    fn diff(&self, label: &str, more: &[&str]) -> Vec<u8> {
        let undo = [
            "-c",
            "core.quotePath=true",
            "-c",
            "diff.noprefix=false",
            "-c",
            "diff.mnemonicPrefix=false",
            "-c",
            "core.attributesFile=/dev/null",
        ];
        let flags = [
            "show",
            "--format=",
            "-M",
            "-C",
            "-l1000",
            "-O/dev/null",
            "--root",
            "--full-index",
            "--no-color",
            "--no-textconv",
            "--no-show-signature",
        ];
        let same =
            ["--diff-algorithm=myers", "--submodule=short", "--ignore-submodules=none", "--inter-hunk-context=0"];
        let args = [&undo, &flags[..], &same, more, &[self.repo.id(label)]].concat();
        self.git.bytes(&args).expect("git shows the diff")
    }
}
