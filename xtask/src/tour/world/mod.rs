//! The machine on which a page is played: an empty home with a git identity, the program on the path, and repositories in
//! `~/src` and `/srv/git`.
//!
//! The repositories are small stand-ins for those that the pages show: they have the files, commits and words that the shown
//! output has, and little else. `--repo NAME=PATH` puts the real ones in their place, and the same comparison holds.

use std::{
    ffi::OsStr,
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::{Context as _, Result, ensure};
use lore_testkit::Git;
use tempfile::TempDir;

use super::play::place;
use crate::program::{program, run, variable};

mod api;
mod others;

/// A repository that was given in place of one that the tour makes.
#[derive(Debug, Clone)]
pub(super) struct Given {
    name: String,
    path: PathBuf,
}

impl FromStr for Given {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = text.split_once('=').ok_or("NAME=PATH is wanted")?;
        let path = Path::new(path).canonicalize().map_err(|error| format!("{path}: {error}"))?;
        Ok(Self { name: name.to_owned(), path })
    }
}

/// A commit of a stand-in.
struct Commit {
    /// How long ago it was made.
    days: i64,
    author: &'static str,
    message: &'static str,
    files: &'static [(&'static str, &'static str)],
}

/// Makes a repository in a folder, with commits of the time before now.
type Make = fn(&Path, i64) -> Result<()>;

/// Somebody whose commits nobody shows.
const ADA: &str = "Ada Byron <ada@example.com>";

/// What every world is a copy of.
#[derive(Debug)]
pub(super) struct Template {
    folder: TempDir,
}

impl Template {
    /// Makes the repositories, and puts the program where they are.
    pub(super) fn make(lore: &Path, given: &[Given]) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let root = folder.path();
        let home = root.join("home/ada");
        let source = home.join("src");
        for dir in [&source, &home.join(".cargo/bin"), &root.join("srv/git"), &root.join("etc/lore")] {
            fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        }
        // Beside the folders that are copied: it is large, and a link is as good.
        place(lore, &root.join("lore"))?;
        fs::write(home.join(".gitconfig"), "[user]\n\tname = Ada Byron\n\temail = ada@example.com\n")?;
        let now = now(root)?;
        let made: [(&str, Make); 4] =
            [("api", api::make), ("redis", others::redis), ("tokio", others::tokio), ("web", others::web)];
        for (name, make) in made {
            let path = source.join(name);
            match given.iter().find(|given| given.name == name) {
                Some(given) => clone(&given.path, &path, &[])?,
                None => make(&path, now)?,
            }
        }
        if let Some(unknown) = given.iter().find(|given| !made.iter().any(|(name, _)| *name == given.name)) {
            anyhow::bail!("no page has a repository named {}", unknown.name);
        }
        for name in ["docs", "shop"] {
            let work = root.join("made").join(name);
            others::shop(&work, now)?;
            clone(&work, &root.join(format!("srv/git/{name}.git")), &["--bare"])?;
        }
        fs::remove_dir_all(root.join("made"))?;
        Ok(Self { folder })
    }

    /// A machine that nobody has used.
    pub(super) fn world(&self) -> Result<World> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let root = folder.path().canonicalize().context("a new folder is there")?;
        let from = self.folder.path();
        let mut copy = program("cp");
        copy.arg("-R").args(["home", "srv", "etc"].map(|name| from.join(name))).arg(&root);
        run(&mut copy)?;
        place(&from.join("lore"), &root.join("home/ada/.cargo/bin/lore"))?;
        fs::create_dir(root.join("state"))?;
        let port =
            TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr()).context("no port is free")?.port();
        Ok(World { _folder: folder, root, port })
    }
}

/// A machine on which one page is played.
#[derive(Debug)]
pub(super) struct World {
    _folder: TempDir,
    root: PathBuf,
    port: u16,
}

impl World {
    /// What stands for `/`.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home/ada")
    }

    /// Where the session keeps what outlives a command.
    pub(super) fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// A port that nobody listened on.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The whole environment of a command.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let home = self.home().display().to_string();
        let path = format!("{home}/.cargo/bin:{}", variable("PATH").unwrap_or_default());
        vec![
            ("HOME", home),
            ("PATH", path),
            ("USER", "ada".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "xterm-256color".to_owned()),
            ("TZ", "UTC".to_owned()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
        ]
    }
}

/// Makes a repository of these commits, oldest first.
fn make(path: &Path, now: i64, commits: &[Commit]) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))?;
    Git::at(path).text(&["init", "--quiet"])?;
    add(path, now, commits)
}

/// Adds commits to a repository, oldest first.
fn add(path: &Path, now: i64, commits: &[Commit]) -> Result<()> {
    for commit in commits {
        for (name, text) in commit.files {
            write(&path.join(name), text)?;
        }
        put(path, now, commit)?;
    }
    Ok(())
}

/// Writes a file; an empty text deletes it.
fn write(file: &Path, text: &str) -> Result<()> {
    if text.is_empty() {
        return fs::remove_file(file).with_context(|| format!("cannot delete {}", file.display()));
    }
    let dir = file.parent().context("a file is in a folder")?;
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Commits what is there.
fn put(path: &Path, now: i64, commit: &Commit) -> Result<()> {
    let (name, email) = commit.author.split_once(" <").context("an author has an address")?;
    let email = email.trim_end_matches('>');
    let date = format!("{} +0000", now - commit.days * 86_400);
    let git = Git::at(path)
        .with("GIT_AUTHOR_NAME", name)
        .with("GIT_AUTHOR_EMAIL", email)
        .with("GIT_AUTHOR_DATE", &date)
        .with("GIT_COMMITTER_NAME", "GitHub")
        .with("GIT_COMMITTER_EMAIL", "noreply@github.com")
        .with("GIT_COMMITTER_DATE", &date);
    git.text(&["add", "--all"])?;
    git.text(&["commit", "--quiet", "-m", commit.message])?;
    Ok(())
}

fn clone(from: &Path, to: &Path, options: &[&str]) -> Result<()> {
    let parent = to.parent().context("a clone is in a folder")?;
    let args = [&["clone", "--quiet"], options].concat();
    let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).chain([from.as_os_str(), to.as_os_str()]).collect();
    Git::at(parent).bytes(&args)?;
    Ok(())
}

/// Now, as git has it.
fn now(dir: &Path) -> Result<i64> {
    let git = Git::at(dir).with("GIT_COMMITTER_NAME", "a").with("GIT_COMMITTER_EMAIL", "a");
    let ident = git.text(&["var", "GIT_COMMITTER_IDENT"])?;
    let seconds = ident.rsplit(' ').nth(1).context("git tells no time")?;
    let seconds = seconds.parse().context("git tells no time")?;
    ensure!(seconds > 0, "the clock stands before 1970");
    Ok(seconds)
}
