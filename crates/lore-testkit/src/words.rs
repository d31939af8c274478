//! What questions about a repository are made of: the words of its history and the folders that it changed.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::{Git, Random};

/// The words and folders of a repository's history, as often as they occur there.
#[derive(Debug, Clone)]
pub struct Words {
    words: Vec<String>,
    folders: Vec<String>,
}

impl Words {
    /// Reads the subjects of commits and the folders of changed files.
    pub fn of(repo: &Path) -> Result<Self> {
        let git = Git::at(repo);
        let log = |args: &[&str]| -> Result<String> { Ok(String::from_utf8_lossy(&git.bytes(args)?).into_owned()) };
        let subjects = log(&["log", "--format=%s", "--max-count=5000"])?;
        let words = subjects.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2);
        let words: Vec<String> = words.map(str::to_owned).collect();
        let changed = log(&["log", "--format=", "--name-only", "--max-count=500"])?;
        let folders = changed.lines().filter(|line| !line.is_empty());
        let folders: Vec<String> =
            folders.map(|path| path.rsplit_once('/').map_or(path, |(folder, _)| folder).to_owned()).collect();
        ensure!(!words.is_empty() && !folders.is_empty(), "the repository has no history to ask about");
        Ok(Self { words, folders })
    }

    /// One to three words.
    pub fn some(&self, random: &mut Random) -> String {
        let count = 1 + random.below(3);
        let words: Vec<&str> = (0..count).map(|_| self.word(random)).collect();
        words.join(" ")
    }

    /// One word.
    pub fn word(&self, random: &mut Random) -> &str {
        random.pick(&self.words).as_str()
    }

    /// A folder, or a file at the root.
    pub fn folder(&self, random: &mut Random) -> &str {
        random.pick(&self.folders).as_str()
    }
}
