//! What is checked out, and single files: of a commit, or below a folder.

use std::{borrow::Cow, io, path::Path};

use gix::objs::tree::EntryKind;
use lore_model::{CommitId, RepoPath};

use crate::{
    FileKind, Found, Repository, Result, TreeFile,
    beneath::{Content, Folder},
    own_folders::{leads_into, own_folders},
    repository::{commit_id, object_id},
    tree::{blob_id, is_impossible},
    worktree::is_gone,
};

/// No name of a commit is longer: each `~` and `^` in it is a step that git takes.
const NAME_MAX: usize = 1000;

/// What is checked out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// The commit, once there is one.
    pub commit: Option<CommitId>,
    /// The short name of the branch; none where HEAD is detached.
    pub branch: Option<String>,
}

impl Repository {
    /// What is checked out here.
    pub fn head(&self) -> Result<Head> {
        let repo = self.local();
        let mut head = repo.head().map_err(|error| self.unreadable("HEAD", &error))?;
        let branch = head.referent_name().map(|name| name.shorten().to_string());
        let commit = head.try_peel_to_id().map_err(|error| self.unreadable("HEAD", &error))?;
        Ok(Head { commit: commit.map(|id| commit_id(id.detach())), branch })
    }

    /// The commit that a name means, as git understands it: a hash or the beginning of one, a tag, a branch, `HEAD~5`. None
    /// where it means none.
    pub fn resolve(&self, name: &str) -> Result<Option<CommitId>> {
        // What searches all messages, or the place of a file, is no name of a commit; nor is what takes long to follow.
        if name.is_empty()
            || name.len() > NAME_MAX
            || name.contains(':')
            || name.contains("^{/")
            || name.contains("..")
            || stands_for_several(name)
        {
            return Ok(None);
        }
        let mut repo = self.local();
        repo.objects.ignore_replacements = true;
        let Ok(found) = repo.rev_parse_single(name) else { return Ok(None) };
        let Ok(object) = found.object() else { return Ok(None) };
        Ok(object.peel_to_commit().ok().map(|commit| commit_id(commit.id)))
    }

    /// Whether a tag or a branch is called so, as git looks for it.
    pub fn has_ref(&self, name: &str) -> bool {
        self.local().try_find_reference(name).is_ok_and(|found| found.is_some())
    }

    /// The same, where HEAD is the branch that is asked about.
    pub fn resolve_on(&self, name: &str, shown: Option<&str>) -> Result<Option<CommitId>> {
        self.name_on(name, shown)?.map_or(Ok(None), |name| self.resolve(&name))
    }

    /// A name in which HEAD is the branch that is asked about; none where it would still mean another branch's.
    pub fn name_on<'a>(&self, name: &'a str, shown: Option<&str>) -> Result<Option<Cow<'a, str>>> {
        let Some(branch) = shown else { return Ok(Some(name.into())) };
        let Some(rest) = name.strip_prefix("HEAD").or_else(|| name.strip_prefix('@')) else {
            return Ok(Some(name.into()));
        };
        match rest.bytes().next() {
            None | Some(b'~' | b'^') => {
                let tip = self.find_branch(branch)?;
                Ok(tip.map(|tip| format!("{}{rest}", tip.commit).into()))
            }
            // `HEAD@{1}`: where HEAD was, and not where the branch was.
            Some(b'@' | b'{') => Ok(None),
            // A name that only begins like it.
            Some(_) => Ok(Some(name.into())),
        }
    }

    /// The file or link at a path of a commit; none where there is none.
    pub fn find_file(&self, commit: CommitId, path: &RepoPath) -> Result<Option<TreeFile>> {
        let mut repo = self.local();
        repo.objects.ignore_replacements = true;
        let unreadable = |error: &dyn std::fmt::Display| self.unreadable("the tree of a commit", &error);
        // A hostile tree may have names that no file can have.
        if is_impossible(path.as_bytes()) {
            return Ok(None);
        }
        let tree = repo
            .find_commit(object_id(commit))
            .map_err(|error| unreadable(&error))?
            .tree()
            .map_err(|error| unreadable(&error))?;
        let names = path.as_bytes().split(|byte| *byte == b'/');
        let Some(entry) = tree.lookup_entry(names).map_err(|error| unreadable(&error))? else { return Ok(None) };
        let kind = match entry.mode().kind() {
            EntryKind::Blob => FileKind::Regular,
            EntryKind::BlobExecutable => FileKind::Executable,
            EntryKind::Link => FileKind::Symlink,
            EntryKind::Tree | EntryKind::Commit => return Ok(None),
        };
        Ok(Some(TreeFile { path: path.clone(), blob: blob_id(entry.object_id().as_ref()), kind }))
    }

    /// The address that `origin` was cloned from, as the repository's own configuration has it.
    pub fn origin_url(&self) -> Option<String> {
        let url = self.local().config_snapshot().string("remote.origin.url")?;
        Some(url.to_string())
    }

    /// Whether a commit has a file, link or submodule of this name; none where its trees cannot be read, as in a partial clone.
    pub fn has_file(&self, commit: CommitId, path: &RepoPath) -> Option<bool> {
        let mut repo = self.local();
        repo.objects.ignore_replacements = true;
        let tree = repo.find_commit(object_id(commit)).ok()?.tree().ok()?;
        let entry = tree.lookup_entry(path.as_bytes().split(|byte| *byte == b'/')).ok()?;
        Some(entry.is_some_and(|entry| !entry.mode().is_tree()))
    }

    /// The content of a file in a commit; none where there is no such file, or one of more than `max` bytes.
    pub fn file_of(&self, commit: CommitId, path: &RepoPath, max: u64) -> Result<Option<Vec<u8>>> {
        let file = self.find_file(commit, path)?.filter(|file| file.kind != FileKind::Symlink);
        let Some(file) = file else { return Ok(None) };
        let mut content = Vec::new();
        let found = self.blobs().read(file.blob, max, &mut content)?;
        Ok((found == Found::Read).then_some(content))
    }
}

/// Whether a name means commits rather than one: all but the parents, all parents, all since one of them.
fn stands_for_several(name: &str) -> bool {
    ["^!", "^@", "^-"].iter().any(|several| name.contains(several))
}

/// Reads a regular file below a folder; none where there is no such file, or one of more than `max` bytes.
///
/// No link is followed on the way, so nothing outside the folder is ever read.
pub fn read_beneath(root: &Path, path: &RepoPath, max: u64) -> io::Result<Option<Vec<u8>>> {
    if is_impossible(path.as_bytes()) || leads_into(&own_folders(root), path.as_bytes()) {
        return Ok(None);
    }
    let read = || {
        let (folder, name) = Folder::open_above(root, path.as_bytes())?;
        let mut buffer = Vec::new();
        let content = folder.read(name, max, &mut buffer)?;
        Ok(matches!(content, Content::Read { .. }).then_some(buffer))
    };
    match read() {
        Err(error) if is_gone(&error) => Ok(None),
        other => other,
    }
}
