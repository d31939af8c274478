//! Repositories that contain what real ones contain: every oddity that a reader of git history has to survive.
//!
//! All are made by the real `git` from fixed names and dates, so that object names never change. The commits of the
//! main repository have labels; [`OddRepo::id`] finds them, and the tests of this crate ask git whether each is what
//! its label says.

mod bombs;
mod content;
mod crafted;
mod hostile;
mod messages;
mod paths;
mod raw;
mod shape;
mod stream;
mod variants;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::Result;

pub use bombs::{Bomb, ORDINARY, Place, bomb};
pub use crafted::{BESIDE_CRAFTED, crafted};
pub use hostile::{COMMAND_KEYS, Hostile, hostile, hostile_by};
pub use variants::{bare, empty, sha256, shallow, shared};
use variants::{blobless, linked_worktree, treeless};

use crate::Git;
use stream::{Commit, MAIN, Stream};

/// The largest patch that is kept, in bytes.
pub const PATCH_CAP: usize = 1_048_576;

/// A repository with odd things in it.
#[derive(Debug, Clone)]
pub struct OddRepo {
    /// The repository: a working directory, or a bare git directory.
    pub path: PathBuf,
    /// Full commit names by label. A shallow clone lacks some of them.
    pub commits: BTreeMap<String, String>,
}

impl OddRepo {
    /// The commit with this label.
    #[track_caller]
    pub fn id(&self, label: &str) -> &str {
        self.commits.get(label).unwrap_or_else(|| panic!("no commit is labelled `{label}`"))
    }
}

/// One way in which a repository can lie on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// A working tree with everything in it.
    Main,
    /// A bare clone.
    Bare,
    /// A second working tree of the same repository, with a branch and a commit of its own.
    LinkedWorktree,
    /// A clone without the older commits.
    Shallow,
    /// A clone that fetches files only when they are needed.
    Blobless,
    /// A clone that fetches directories and files only when they are needed.
    Treeless,
    /// A clone that borrows its objects from another repository.
    Shared,
    /// Object names of 64 digits.
    Sha256,
    /// No commit yet.
    Empty,
}

impl Variant {
    /// Every variant.
    pub const ALL: [Self; 9] = [
        Self::Main,
        Self::Bare,
        Self::LinkedWorktree,
        Self::Shallow,
        Self::Blobless,
        Self::Treeless,
        Self::Shared,
        Self::Sha256,
        Self::Empty,
    ];

    /// A name that can stand in a path and name a repository.
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Bare => "bare",
            Self::LinkedWorktree => "linked-worktree",
            Self::Shallow => "shallow",
            Self::Blobless => "blobless",
            Self::Treeless => "treeless",
            Self::Shared => "shared",
            Self::Sha256 => "sha256",
            Self::Empty => "empty",
        }
    }
}

/// Makes one variant below an empty or absent directory.
pub fn build(variant: Variant, dir: &Path) -> Result<OddRepo> {
    match variant {
        Variant::Main => main_repo(dir),
        Variant::Bare => bare(dir),
        Variant::LinkedWorktree => linked_worktree(dir),
        Variant::Shallow => shallow(dir),
        Variant::Blobless => blobless(dir),
        Variant::Treeless => treeless(dir),
        Variant::Shared => shared(dir),
        Variant::Sha256 => sha256(dir),
        Variant::Empty => empty(dir),
    }
}

/// Makes the repository that contains every oddity, with a working tree, in this directory.
pub fn main_repo(dir: &Path) -> Result<OddRepo> {
    full_repo(dir, "sha1")
}

fn full_repo(dir: &Path, object_format: &str) -> Result<OddRepo> {
    let hex_len = if object_format == "sha256" { 64 } else { 40 };
    let git = init(dir, object_format)?;
    let mut stream = Stream::default();
    shape::beginnings(&mut stream);
    shape::renames(&mut stream);
    shape::kinds(&mut stream, hex_len);
    content::binaries(&mut stream, hex_len);
    content::sizes(&mut stream, hex_len);
    content::texts(&mut stream);
    paths::paths(&mut stream);
    paths::excluded(&mut stream);
    messages::messages(&mut stream);
    messages::people(&mut stream);
    shape::merges(&mut stream);
    stream.push(Commit::new("toggle-off").file("toggle.txt", "off\n"));
    stream.push(Commit::new("toggle-on").file("toggle.txt", "on\n"));
    let mut commits = stream.import(&git)?;
    let tip = raw::write(&git, &mut commits)?;
    let mut stream = Stream::after(commits.len());
    stream.push(Commit::new("after-raw").from(&tip).file("toggle.txt", "after\n"));
    stream.push(Commit::new("last").file("README.md", "# Odd, and complete\n"));
    commits.append(&mut stream.import(&git)?);
    distract(&git)?;
    git.bytes(&["reset", "--quiet", "--hard", MAIN])?;
    Ok(OddRepo { path: dir.to_owned(), commits })
}

fn init(dir: &Path, object_format: &str) -> Result<Git> {
    std::fs::create_dir_all(dir)?;
    let git = Git::at(dir);
    git.bytes(&["init", "--quiet", &format!("--object-format={object_format}")])?;
    Ok(git)
}

/// Sets everything in the repository's own configuration that would change what git prints; none of it may have an effect.
fn distract(git: &Git) -> Result<()> {
    const CONFIG: &str = "[diff]\n\tnoprefix = true\n\tmnemonicPrefix = true\n\talgorithm = patience\n\tcontext = 1\n\tinterHunkContext = 9\n\
        \trenames = false\n\trenameLimit = 1\n\tsubmodule = log\n\tignoreSubmodules = all\n\tcolorMoved = zebra\n\
        [diff \"shout\"]\n\ttextconv = tr a-z A-Z <\n\
        [color]\n\tui = always\n[core]\n\tquotePath = false\n\tabbrev = 5\n\
        [log]\n\tdate = iso\n\tshowSignature = true\n\tshowRoot = false\n\tmailmap = true\n\tdiffMerges = off\n\
        [format]\n\tpretty = oneline\n[i18n]\n\tlogOutputEncoding = ISO-8859-1\n";
    let dir = git.dir().join(".git");
    let config = dir.join("config");
    let mut text = std::fs::read_to_string(&config)?;
    text.push_str(CONFIG);
    std::fs::write(config, text)?;
    for (key, file, content) in
        [("diff.orderFile", "order", "*.txt\n*\n"), ("core.attributesFile", "attributes", "*.md -diff\n")]
    {
        let file = dir.join(file);
        std::fs::write(&file, content)?;
        git.bytes(&["config", key, &file.to_string_lossy()])?;
    }
    Ok(())
}
