//! A repository made by the real `git`, and what git says of it.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use lore_git::Repository;
use lore_model::{BlobId, CommitId, RepoPath};

pub(crate) struct Repo {
    pub(crate) path: PathBuf,
    /// Kept so that the folder lives as long as this.
    pub(crate) folder: tempfile::TempDir,
}

impl Repo {
    pub(crate) fn new() -> Self {
        Self::with_format("sha1")
    }

    pub(crate) fn with_format(format: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("repo");
        fs::create_dir(&path).unwrap();
        let repo = Self { path, folder };
        repo.git(&["init", "--quiet", "-b", "main", &format!("--object-format={format}")]);
        repo
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let place = self.path.join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, content).unwrap();
        self
    }

    pub(crate) fn remove(&self, path: impl AsRef<Path>) -> &Self {
        fs::remove_file(self.path.join(path)).unwrap();
        self
    }

    pub(crate) fn commit(&self) -> CommitId {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", "x"]);
        self.head()
    }

    pub(crate) fn head(&self) -> CommitId {
        CommitId::from_hex(self.git(&["rev-parse", "HEAD"]).trim_ascii()).unwrap()
    }

    pub(crate) fn open(&self) -> Repository {
        Repository::open(&self.path).unwrap()
    }

    pub(crate) fn git(&self, args: &[&str]) -> Vec<u8> {
        git(&self.path, args, b"")
    }
}

/// Runs git with nothing of the machine's configuration.
pub(crate) fn git(folder: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
    let (ok, said) = try_git(folder, args, input);
    assert!(ok, "git {args:?}: {}", String::from_utf8_lossy(&said));
    said
}

pub(crate) fn try_git(folder: &Path, args: &[&str], input: &[u8]) -> (bool, Vec<u8>) {
    #[expect(
        clippy::disallowed_methods,
        reason = "the reference that the crate is compared with shares no code with it"
    )]
    let mut command = Command::new("git");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "XDG_CONFIG_HOME"] {
        command.env_remove(name);
    }
    let mut child = command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("HOME", "/nonexistent")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Git may not want its input.
    let wrote = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    assert!(wrote.is_ok() || input.is_empty() || !output.status.success(), "git {args:?} took no input");
    let said = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), said)
}

/// The files of a commit, as `git ls-tree` lists them: mode and blob by path.
pub(crate) fn ls_tree(folder: &Path, commit: &str) -> BTreeMap<RepoPath, (String, BlobId)> {
    let text = git(folder, &["ls-tree", "-r", "-z", "--full-tree", commit], b"");
    let lines = text.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let tab = line.iter().position(|byte| *byte == b'\t').unwrap();
            let words: Vec<&str> = std::str::from_utf8(&line[..tab]).unwrap().split(' ').collect();
            let blob = BlobId::from_hex(words[2].as_bytes()).unwrap();
            (RepoPath::new(&line[tab + 1..]), (words[0].to_owned(), blob))
        })
        .collect()
}
