//! A bare repository of Lore's own that borrows all objects of the user's, so that its branch can be put anywhere.
//!
//! It is a few small files: nothing of the user's configuration, attributes or hooks comes along, and no git is run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use lore_git::Repository;
use lore_model::{Code, CommitId, Failure};

const BRANCH: &str = "refs/heads/main";

/// The repository.
pub(super) struct Borrowed {
    path: PathBuf,
}

/// What a repository is called: the name of its folder.
pub(super) fn name_of(repository: &Repository) -> String {
    let named = |path: &Path| path.file_name().map(|name| name.to_string_lossy().trim_end_matches(".git").to_owned());
    let name = named(repository.path()).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| "repository".to_owned())
}

impl Borrowed {
    /// Makes it, without a commit on its branch yet.
    pub(super) fn new(path: &Path, of: &Repository) -> Result<Self, Failure> {
        let made = Self { path: path.to_owned() };
        let objects = of.common_dir().join("objects");
        let line = objects.as_os_str().as_encoded_bytes();
        if line.contains(&b'\n') {
            return Err(Failure::new(Code::InvalidArgument, "a path with a line end in it cannot be measured"));
        }
        made.write("objects/info/alternates", &[line, b"\n"].concat())?;
        made.write("HEAD", format!("ref: {BRANCH}\n").as_bytes())?;
        let head = of.head().ok().and_then(|head| head.commit);
        // SHA-256 has longer names.
        let config = if head.is_some_and(|head| head.to_hex().len() > 40) {
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
        } else {
            "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
        };
        made.write("config", config.as_bytes())?;
        let shallow: Vec<String> = of.shallow().iter().map(CommitId::to_hex).collect();
        if !shallow.is_empty() {
            made.write("shallow", (shallow.join("\n") + "\n").as_bytes())?;
        }
        Ok(made)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the branch at a commit.
    pub(super) fn put(&self, commit: CommitId) -> Result<(), Failure> {
        self.write(BRANCH, format!("{commit}\n").as_bytes())
    }

    fn write(&self, file: &str, bytes: &[u8]) -> Result<(), Failure> {
        let file = self.path.join(file);
        let folder = file.parent().unwrap_or(&self.path);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&file, bytes));
        written.map_err(|error| Failure::new(Code::NoAccess, format!("cannot write {}: {error}", file.display())))
    }
}
