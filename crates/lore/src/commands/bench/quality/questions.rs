//! The questions that a repository asks of itself, each with the commit whose tree is searched.

use std::{collections::HashMap, ops::ControlFlow, path::Path};

use lore_bench::{Change, Commit, Question, choose, commit_question, document_commit_question, section_questions};
use lore_core::Cancel;
use lore_git::git_failure;
use lore_git::{FileKind, Found, Git, ReadCommit, Reader, Repository, Scope, TreeLimits};
use lore_model::{BranchChoice, Code, CommitId, Failure, FileStatus};

/// Commits among which the questions are chosen.
const AMONG: usize = 2_000;

/// A parent is looked for among so many newer commits first.
const NEAR: usize = 500;

/// A longer document was not written by hand.
const MAX_DOCUMENT: u64 = 1 << 20;

/// What is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Commits,
    Documents,
}

/// A question and the commit at which it is asked.
pub(super) struct Planned {
    pub(super) at: CommitId,
    pub(super) question: Question,
}

/// The questions, oldest first.
pub(super) fn plan(
    git: &Git,
    own: &Path,
    repository: &Repository,
    kind: Kind,
    count: usize,
    cancel: &Cancel,
) -> Result<Vec<Planned>, Failure> {
    let refs = repository.refs(&BranchChoice::Default, None).map_err(git_failure)?;
    let Some(head) = refs.head else {
        let message = format!("{} has no commit yet", repository.path().display());
        return Err(Failure::new(Code::InvalidArgument, message).hint("commit something first"));
    };
    let reader = Reader::open(git, own, "history", repository.clone(), cancel.clone()).map_err(git_failure)?;
    let ids = reader.rev_list(&[head], &[]).map_err(git_failure)?;
    let commits = read(&reader, &ids[..ids.len().min(AMONG)])?;
    let question = |commit: &Commit| match kind {
        Kind::Commits => commit_question(commit),
        Kind::Documents => {
            document_commit_question(commit).map(|asked| Question { category: "commit".to_owned(), ..asked })
        }
    };
    let mut usable: Vec<(usize, Question)> =
        commits.iter().filter_map(|(at, commit)| Some((*at, question(commit)?))).collect();
    usable.reverse();
    let mut planned = Vec::new();
    for (at, question) in choose(usable, count) {
        if let Some(parent) = parent(&reader, &ids, at)? {
            planned.push(Planned { at: parent, question });
        }
    }
    if kind == Kind::Documents {
        let sections = choose(section_questions(&documents(repository, head)?), count);
        planned.extend(sections.into_iter().map(|question| Planned { at: head, question }));
    }
    Ok(planned)
}

/// Commits with one parent, by their place in the list.
fn read(reader: &Reader, ids: &[CommitId]) -> Result<Vec<(usize, Commit)>, Failure> {
    let places: HashMap<CommitId, usize> = ids.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    let mut commits = Vec::new();
    reader
        .read(ids, &Scope::default(), &mut |commit| {
            if commit.parent_count == 1 {
                commits.extend(places.get(&commit.id).map(|at| (*at, plain(&commit))));
            }
            ControlFlow::Continue(())
        })
        .map_err(git_failure)?;
    commits.sort_unstable_by_key(|(at, _)| *at);
    Ok(commits)
}

/// A commit as questions are made of; a renamed file was there before under its old path.
fn plain(commit: &ReadCommit) -> Commit {
    let mut files = Vec::new();
    for file in &commit.files {
        let change =
            |was_there: bool, path: &lore_model::RepoPath| Change { was_there, path: path.to_text().into_owned() };
        match (file.status, &file.old_path) {
            (FileStatus::Modified | FileStatus::Deleted, _) => files.push(change(true, &file.path)),
            (FileStatus::Renamed, Some(old)) => files.extend([change(true, old), change(false, &file.path)]),
            _ => files.push(change(false, &file.path)),
        }
    }
    Commit { subject: commit.subject.clone(), files }
}

/// The parent of a commit that has one: of what the commit reaches, it comes next.
fn parent(reader: &Reader, ids: &[CommitId], at: usize) -> Result<Option<CommitId>, Failure> {
    let far: Vec<CommitId> = ids.get(at + NEAR).copied().into_iter().collect();
    // What an old branch grew from may lie beyond what is near.
    for hidden in [far.as_slice(), &[]] {
        let reached = reader.rev_list(&ids[at..=at], hidden).map_err(git_failure)?;
        if let Some(parent) = reached.get(1) {
            return Ok(Some(*parent));
        }
    }
    Ok(None)
}

/// The documents of a commit, with their texts.
fn documents(repository: &Repository, head: CommitId) -> Result<Vec<(String, String)>, Failure> {
    let tree = repository.tree_of(head, &TreeLimits::default()).map_err(git_failure)?;
    let (mut blobs, mut buffer, mut documents) = (repository.blobs(), Vec::new(), Vec::new());
    for file in tree.files.iter().filter(|file| file.kind != FileKind::Symlink) {
        let path = file.path.to_text();
        if lore_bench::is_document(&path)
            && blobs.read(file.blob, MAX_DOCUMENT, &mut buffer).map_err(git_failure)? == Found::Read
        {
            documents.push((path.into_owned(), String::from_utf8_lossy(&buffer).into_owned()));
        }
    }
    Ok(documents)
}
