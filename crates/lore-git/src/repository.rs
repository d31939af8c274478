//! A repository on disk: its refs and where its objects lie. Read in-process; nothing it configures is run.

use std::path::{Path, PathBuf};

use gix::{bstr::ByteSlice, sec::Trust};
use lore_model::{BranchChoice, CommitId, RepoPath, Tip};

use crate::{GitError, Head, Mailmap, Result};

/// A mailmap has a line for each person.
const MAX_MAILMAP: u64 = 16 << 20;

/// An opened repository.
#[derive(Debug, Clone)]
pub struct Repository {
    inner: gix::ThreadSafeRepository,
    path: PathBuf,
}

/// What the refs of a repository say at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refs {
    /// HEAD (for a mirror: the main branch), unless there is no commit yet.
    pub head: Option<CommitId>,
    /// The short name of the branch that counts as the main line.
    pub default_branch: Option<String>,
    /// The tips that were chosen, sorted and unique by name.
    pub tips: Vec<Tip>,
    /// Branches that were asked for and are not there.
    pub missing: Vec<String>,
}

impl Repository {
    /// Finds the repository that the folder is in and opens it.
    pub fn discover(folder: &Path) -> Result<Self> {
        if !folder.exists() {
            return Err(GitError::Vanished(folder.to_owned()));
        }
        let (found, _) = gix::discover::upwards(folder)
            .map_err(|error| GitError::NotARepository { path: folder.to_owned(), why: error.to_string() })?;
        let (git_dir, work_tree) = found.into_repository_and_work_tree_directories();
        Self::open(&work_tree.unwrap_or(git_dir))
    }

    /// Opens the repository at exactly this place (a work tree or a git directory).
    pub fn open(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Err(GitError::Vanished(path.to_owned()));
        }
        let not_a_repository = |why: String| GitError::NotARepository { path: path.to_owned(), why };
        let absolute = path.canonicalize().map_err(GitError::io(path))?;
        // Isolated: no file outside the repository is read. Reduced trust: nothing it configures is run.
        // And no object may ask for more memory than git itself would ever unpack to make one from another, nor stand for
        // another: git is not let either.
        let options = gix::open::Options::isolated()
            .with(Trust::Reduced)
            .config_overrides(["gitoxide.objects.allocLimit=512m", "core.useReplaceRefs=false"]);
        let inner = gix::ThreadSafeRepository::open_opts(&absolute, options)
            .map_err(|error| not_a_repository(error.to_string()))?;
        let repository = Self { inner, path: absolute };
        let objects = repository.objects_dir();
        if !objects.is_dir() {
            return Err(not_a_repository(format!("{} is missing", objects.display())));
        }
        if repository.common_dir().join("reftable").is_dir() {
            return Err(not_a_repository(
                "it keeps its refs in the reftable format, which Lore cannot read yet".to_owned(),
            ));
        }
        Ok(repository)
    }

    /// The work tree, or the git directory of a bare repository.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where refs, objects and configuration lie; shared by all linked work trees.
    pub fn common_dir(&self) -> PathBuf {
        let repo = self.local();
        let dir = repo.common_dir();
        dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
    }

    /// The git directory of this work tree.
    pub fn git_dir(&self) -> PathBuf {
        self.local().git_dir().to_owned()
    }

    pub(crate) fn objects_dir(&self) -> PathBuf {
        self.common_dir().join("objects")
    }

    pub(crate) fn shallow_file(&self) -> PathBuf {
        self.common_dir().join("shallow")
    }

    pub(crate) fn object_format(&self) -> &'static str {
        match self.local().object_hash() {
            gix::hash::Kind::Sha256 => "sha256",
            _ => "sha1",
        }
    }

    pub(crate) fn local(&self) -> gix::Repository {
        self.inner.to_thread_local()
    }

    /// The boundary of a shallow clone, sorted, each commit once; empty otherwise. Git names a commit several times where it
    /// clones a clone that is shallow itself.
    pub fn shallow(&self) -> Vec<CommitId> {
        let mut ids: Vec<CommitId> = std::fs::read(self.shallow_file())
            .unwrap_or_default()
            .lines()
            .filter_map(|line| CommitId::from_hex(line).ok())
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Reads HEAD and the chosen branches.
    pub fn refs(&self, choice: &BranchChoice, known_default: Option<&str>) -> Result<Refs> {
        let repo = self.local();
        let Head { commit: head_id, branch: head_branch } = self.head()?;
        let bare = repo.workdir().is_none();
        let unreadable = |error: gix::Error| self.unreadable("a branch", &error);
        let default_branch = default_branch(&repo, known_default, head_branch.as_deref()).map_err(unreadable)?;
        let mut refs = Refs { head: head_id, default_branch, tips: Vec::new(), missing: Vec::new() };
        match choice {
            BranchChoice::Default | BranchChoice::DefaultAnd(_) => {
                if let Some(name) = &refs.default_branch {
                    refs.tips.extend(branch(&repo, name).map_err(unreadable)?);
                }
                refs.tips.extend(head_id.map(|commit| Tip { name: "HEAD".to_owned(), commit }));
                refs.tips.extend(linked_heads(&repo).map_err(unreadable)?);
            }
            BranchChoice::Named(_) => {}
            BranchChoice::All => {
                refs.tips = self.branches(&repo)?;
                if !bare {
                    refs.tips.extend(head_id.map(|commit| Tip { name: "HEAD".to_owned(), commit }));
                }
                refs.tips.extend(linked_heads(&repo).map_err(unreadable)?);
            }
        }
        if let BranchChoice::Named(names) | BranchChoice::DefaultAnd(names) = choice {
            for name in names {
                match branch(&repo, name).map_err(unreadable)? {
                    Some(tip) => refs.tips.push(tip),
                    None => refs.missing.push(name.clone()),
                }
            }
        }
        refs.tips.sort_unstable();
        refs.tips.dedup();
        Ok(refs)
    }

    /// Where a branch stands, be it a local one or one that was fetched from `origin`; none where there is no such branch.
    pub fn find_branch(&self, name: &str) -> Result<Option<Tip>> {
        branch(&self.local(), name).map_err(|error| self.unreadable("a branch", &error))
    }

    /// The same, and an error that names the branches that there are.
    pub fn get_branch(&self, name: &str) -> Result<Tip> {
        self.find_branch(name)?
            .ok_or_else(|| GitError::no_such_branch(&self.path, name, &self.branch_names().unwrap_or_default()))
    }

    /// When a commit was made, by its committer's clock (seconds since 1970).
    pub fn commit_time(&self, commit: CommitId) -> Result<i64> {
        let repo = self.local();
        let found = repo.find_commit(object_id(commit)).map_err(|error| self.unreadable("a commit", &error))?;
        let time = found.time().map_err(|error| self.unreadable("a commit", &error))?;
        Ok(time.seconds)
    }

    /// The full name of the ref that HEAD points to.
    pub(crate) fn head_name(&self) -> Option<String> {
        Some(self.local().head_name().ok()??.as_bstr().to_str_lossy().into_owned())
    }

    /// The short names of all branches.
    pub fn branch_names(&self) -> Result<Vec<String>> {
        let short = |tip: Tip| tip.name.strip_prefix("refs/heads/").unwrap_or(&tip.name).to_owned();
        Ok(self.branches(&self.local())?.into_iter().map(short).collect())
    }

    /// The mailmap at HEAD; an empty one where there is none, or one that is larger than any that people write.
    pub fn mailmap(&self) -> Mailmap {
        let content = || self.file_of(self.head().ok()?.commit?, &RepoPath::from(".mailmap"), MAX_MAILMAP).ok()?;
        Mailmap::parse(&content().unwrap_or_default())
    }

    fn branches(&self, repo: &gix::Repository) -> Result<Vec<Tip>> {
        let platform = repo.references().map_err(|error| self.unreadable("refs", &error))?;
        let mut tips = Vec::new();
        for reference in platform.prefixed("refs/heads/").map_err(|error| self.unreadable("refs", &error))? {
            let reference = reference.map_err(|error| self.unreadable("refs", &error))?;
            let name = reference.name().as_bstr().to_str_lossy().into_owned();
            let commit = commit_of(repo, reference).map_err(|error| self.unreadable("a branch", &error))?;
            tips.extend(commit.map(|commit| Tip { name, commit }));
        }
        tips.sort_unstable();
        Ok(tips)
    }

    pub(crate) fn unreadable(&self, what: &'static str, error: &impl std::fmt::Display) -> GitError {
        GitError::Unreadable { path: self.path.clone(), what, why: error.to_string() }
    }
}

pub(crate) fn commit_id(id: gix::ObjectId) -> CommitId {
    CommitId::from_hex(id.to_string().as_bytes()).expect("an object id is 40 or 64 hexadecimal digits")
}

pub(crate) fn object_id(id: CommitId) -> gix::ObjectId {
    gix::ObjectId::from_bytes_or_panic(id.as_bytes())
}

/// Whether git would let a branch have this name, so that it can neither be an option nor stand for something else.
pub fn is_branch_name(name: &str) -> bool {
    let full = format!("refs/heads/{name}");
    name != "HEAD" && !name.starts_with('-') && gix::refs::FullName::try_from(full.as_str()).is_ok()
}

/// Whether the full name of a ref is that of this branch, be it a local one or one that was fetched from `origin`.
pub fn is_ref_of(full: &str, branch: &str) -> bool {
    full.strip_prefix("refs/heads/").or_else(|| full.strip_prefix("refs/remotes/origin/")) == Some(branch)
}

/// The branch that counts as the main line: what `origin` calls its HEAD (a mirror's own HEAD is just that), what was said
/// before, a usual name, or what HEAD is on.
fn default_branch(repo: &gix::Repository, known: Option<&str>, head: Option<&str>) -> gix::Result<Option<String>> {
    let remote_head = || {
        let reference = repo.try_find_reference("refs/remotes/origin/HEAD").ok()??;
        let target = reference.target().try_name()?.shorten().to_str_lossy().into_owned();
        Some(target.strip_prefix("origin/")?.to_owned())
    };
    let first = if repo.workdir().is_none() { head.map(str::to_owned) } else { remote_head() };
    for name in first.into_iter().chain(known.map(str::to_owned)) {
        if branch(repo, &name)?.is_some() {
            return Ok(Some(name));
        }
    }
    // These are guesses: one that cannot be read is a wrong guess.
    let usual = ["main", "master", "trunk"].into_iter().find(|name| matches!(branch(repo, name), Ok(Some(_))));
    Ok(usual.or(head).map(str::to_owned))
}

/// The HEADs of linked work trees, which are work on the same repository. Seen from one of these, the others are not.
/// Neither is one whose folder was removed, which is what `git worktree prune` would drop: a locked one is kept, as git does.
fn linked_heads(repo: &gix::Repository) -> gix::Result<Vec<Tip>> {
    let mut tips = Vec::new();
    if repo.git_dir() != repo.common_dir() {
        return Ok(tips);
    }
    for proxy in repo.worktrees()? {
        if proxy.is_prunable() {
            continue;
        }
        let name = format!("worktrees/{}/HEAD", proxy.id()?.to_str_lossy());
        let linked = proxy.into_repo_with_possibly_inaccessible_worktree()?;
        // A branch without a commit yet has nothing to follow.
        if let Some(head) = linked.head()?.try_peel_to_id()? {
            tips.push(Tip { name, commit: commit_id(head.detach()) });
        }
    }
    Ok(tips)
}

/// The commit that a ref leads to; none where it points to a ref that does not exist, as git has it.
fn commit_of(repo: &gix::Repository, mut reference: gix::Reference<'_>) -> gix::Result<Option<CommitId>> {
    if let Some(target) = reference.target().try_name()
        && repo.try_find_reference(target)?.is_none()
    {
        return Ok(None);
    }
    Ok(Some(commit_id(reference.peel_to_commit()?.id)))
}

/// A local branch, or one that was fetched from `origin`. Only what is not there is absent: what cannot be read is an error.
fn branch(repo: &gix::Repository, name: &str) -> gix::Result<Option<Tip>> {
    for prefix in ["refs/heads/", "refs/remotes/origin/"] {
        let full = format!("{prefix}{name}");
        // What cannot be a name names nothing.
        if gix::refs::FullName::try_from(full.as_str()).is_err() {
            continue;
        }
        if let Some(reference) = repo.try_find_reference(full.as_str())?
            && let Some(commit) = commit_of(repo, reference)?
        {
            return Ok(Some(Tip { name: full, commit }));
        }
    }
    Ok(None)
}

/// The least that is a repository, for tests.
#[cfg(test)]
pub(crate) fn empty(folder: &Path) -> Repository {
    for name in [".git/objects", ".git/refs"] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
    }
    std::fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    Repository::open(folder).unwrap()
}
