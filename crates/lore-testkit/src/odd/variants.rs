//! The odd repository as it can lie on disk: bare, linked, shallow, partial, borrowed, with long object names, empty.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{OddRepo, full_repo, init, main_repo};
use crate::Git;

/// Cuts the history amid the merges, so that the boundary has several commits.
const DEPTH: &str = "--depth=39";

/// A bare clone, in `dir/clone.git`.
pub fn bare(dir: &Path) -> Result<OddRepo> {
    clone(dir, "clone.git", &["--bare"])
}

/// The second working tree, in `dir/linked`, with its own branch and commit; the first is `dir/source`.
pub(super) fn linked_worktree(dir: &Path) -> Result<OddRepo> {
    let mut repo = source(dir)?;
    Git::at(&repo.path).bytes(&["worktree", "add", "--quiet", "-b", "linked", "../linked"])?;
    repo.path = dir.join("linked");
    let date = "1650000000 +0000";
    let git = Git::at(&repo.path)
        .with("GIT_AUTHOR_NAME", "Ada Author")
        .with("GIT_AUTHOR_EMAIL", "ada@example.com")
        .with("GIT_AUTHOR_DATE", date)
        .with("GIT_COMMITTER_NAME", "Cleo Committer")
        .with("GIT_COMMITTER_EMAIL", "cleo@example.com")
        .with("GIT_COMMITTER_DATE", date);
    std::fs::write(repo.path.join("linked.txt"), "only here\n")?;
    git.bytes(&["add", "linked.txt"])?;
    git.bytes(&["commit", "--quiet", "-m", "Commit linked"])?;
    repo.commits.insert("linked".to_owned(), git.text(&["rev-parse", "HEAD"])?);
    Ok(repo)
}

/// A clone without the older commits, in `dir/clone`.
pub fn shallow(dir: &Path) -> Result<OddRepo> {
    clone(dir, "clone", &[DEPTH])
}

/// A partial clone without most files, in `dir/clone`; it has those of its working tree.
pub(super) fn blobless(dir: &Path) -> Result<OddRepo> {
    clone(dir, "clone", &["--filter=blob:none"])
}

/// A partial clone without any directory or file, in `dir/clone.git`.
pub(super) fn treeless(dir: &Path) -> Result<OddRepo> {
    clone(dir, "clone.git", &["--bare", "--filter=tree:0"])
}

/// A clone that borrows every object through `objects/info/alternates`, in a directory whose name needs care.
pub fn shared(dir: &Path) -> Result<OddRepo> {
    let repo = source(dir)?;
    let path = dir.join("a: \"shared\" clone");
    let (from, to) = (repo.path.to_string_lossy(), path.to_string_lossy());
    Git::at(dir).bytes(&["clone", "--quiet", "--shared", &from, &to])?;
    Ok(OddRepo { path, ..repo })
}

/// Everything of the main repository with SHA-256 object names, in `dir` itself.
pub fn sha256(dir: &Path) -> Result<OddRepo> {
    full_repo(dir, "sha256")
}

/// A repository without a commit, in `dir` itself.
pub fn empty(dir: &Path) -> Result<OddRepo> {
    init(dir, "sha1")?;
    Ok(OddRepo { path: dir.to_owned(), commits: std::collections::BTreeMap::new() })
}

fn source(dir: &Path) -> Result<OddRepo> {
    main_repo(&dir.join("source"))
}

/// Clones through the network protocol, without which git ignores depth and filters.
fn clone(dir: &Path, name: &str, options: &[&str]) -> Result<OddRepo> {
    let repo = source(dir)?;
    Git::at(&repo.path).bytes(&["config", "uploadpack.allowFilter", "true"])?;
    let path: PathBuf = dir.join(name);
    let url = format!("file://{}", repo.path.display());
    let target = path.to_string_lossy();
    let args = [&["clone", "--quiet"], options, &["--", &url, &target]].concat();
    // A partial clone fetches the files of its working tree afterwards.
    Git::at(dir).with("GIT_NO_LAZY_FETCH", "0").bytes(&args)?;
    Ok(OddRepo { path, ..repo })
}
