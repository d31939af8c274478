//! How the trees of a branch followed one another: the first-parent line, and what each of its commits changed.

use std::thread;

use lore_model::{BlobId, CommitId, LineCommit, RepoPath};

use crate::{
    GitError, Reader, Result,
    program::{Call, broken_pipe},
};

/// What a commit of a line did to a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// The place of the commit among those that were asked for.
    pub commit: u32,
    /// The path.
    pub path: RepoPath,
    /// The content that the path has from then on, where that is a file.
    pub content: Option<BlobId>,
}

/// How much memory git may take for lists of paths, without any content.
const LISTS: u64 = 1 << 30;

/// How many bytes of lists are taken, from all gits that work at the same time. Commits that add and remove what a few crafted
/// objects name can go on for ever.
pub(crate) const MOST_PRINTED: u64 = 4 << 30;

impl Reader {
    /// The commits that `tip` leads to by first parents, oldest first. In a shallow clone they begin at its boundary.
    pub fn first_parents(&self, tip: CommitId) -> Result<Vec<LineCommit>> {
        let call = self.call().subcommand("rev-list").args(["--first-parent", "--timestamp", "--stdin"]);
        let printed = self.printed(call, format!("{tip}\n").into_bytes(), MOST_PRINTED)?;
        let mut commits = Vec::new();
        for line in printed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let unfit = || GitError::Stream(format!("`{}` in rev-list", String::from_utf8_lossy(line)));
            let space = memchr::memchr(b' ', line).ok_or_else(unfit)?;
            let at = std::str::from_utf8(&line[..space]).ok().and_then(|digits| digits.parse().ok());
            // A date that is none is the oldest there can be, as git takes it.
            let id = CommitId::from_hex(&line[space + 1..]).map_err(|_| unfit())?;
            commits.push(LineCommit { id, at: at.unwrap_or(0) });
        }
        commits.reverse();
        Ok(commits)
    }

    /// What each of these commits changed; each is compared with the one before it, the first with `before`, or with
    /// nothing where there is none. Changes come in order of commits, each commit's in the order of git.
    pub fn path_changes(
        &self,
        before: Option<CommitId>,
        commits: &[LineCommit],
        jobs: usize,
    ) -> Result<Vec<PathChange>> {
        let pairs: Vec<(CommitId, Option<CommitId>)> = commits
            .iter()
            .enumerate()
            .map(|(at, commit)| (commit.id, at.checked_sub(1).map(|at| commits[at].id).or(before)))
            .collect();
        let jobs = jobs.max(1);
        let (share, most) = (pairs.len().div_ceil(jobs).max(1), MOST_PRINTED / jobs as u64);
        let parts = thread::scope(|scope| {
            let parts: Vec<_> = pairs
                .chunks(share)
                .enumerate()
                .map(|(at, pairs)| scope.spawn(move || self.changes_of(pairs, at * share, most)))
                .collect();
            parts.into_iter().map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        let parts: Vec<Result<Vec<PathChange>>> = parts;
        let mut changes = Vec::new();
        for part in parts {
            changes.extend(part?);
        }
        Ok(changes)
    }

    fn changes_of(&self, pairs: &[(CommitId, Option<CommitId>)], first: usize, most: u64) -> Result<Vec<PathChange>> {
        let input: String = pairs
            .iter()
            .map(|(commit, parent)| match parent {
                Some(parent) => format!("{commit} {parent}\n"),
                None => format!("{commit}\n"),
            })
            .collect();
        let call = self.call().within_memory(LISTS).subcommand("diff-tree").args([
            "--stdin",
            "-r",
            "--root",
            "-m",
            "--raw",
            "--no-renames",
            "--no-abbrev",
            "--no-ext-diff",
            "-z",
        ]);
        parse(&self.printed(call, input.into_bytes(), most)?, pairs, first)
    }

    /// Runs a call to its end and gives everything that it prints; an error where that is more than so many bytes.
    pub(crate) fn printed(&self, call: Call, input: Vec<u8>, most: u64) -> Result<Vec<u8>> {
        let command = call.name().to_owned();
        let mut printed = Vec::new();
        call.stream(input, None, |out| {
            let mut piece = vec![0; 1 << 16];
            loop {
                self.cancel().check()?;
                match out.read(&mut piece).map_err(|error| broken_pipe(&error))? {
                    0 => return Ok(()),
                    count => printed.extend_from_slice(&piece[..count]),
                }
                if printed.len() as u64 > most {
                    return Err(GitError::Overwhelmed { command, how: format!("it prints more than {most} bytes") });
                }
            }
        })?;
        Ok(printed)
    }
}

/// Reads what `git diff-tree --stdin --raw -z` prints: the name of a commit, then its entries, all ended by NUL.
fn parse(printed: &[u8], pairs: &[(CommitId, Option<CommitId>)], first: usize) -> Result<Vec<PathChange>> {
    let unfit = |piece: &[u8]| GitError::Stream(format!("`{}` in diff-tree", String::from_utf8_lossy(piece)));
    let mut pieces = printed.split(|byte| *byte == 0).peekable();
    let (mut changes, mut at) = (Vec::new(), None::<usize>);
    while let Some(piece) = pieces.next() {
        if piece.is_empty() && pieces.peek().is_none() {
            break;
        }
        let Some(entry) = piece.strip_prefix(b":") else {
            let id = CommitId::from_hex(piece).map_err(|_| unfit(piece))?;
            // A commit that changed nothing is not printed.
            let from = at.map_or(0, |at| at + 1);
            let found = pairs.get(from..).and_then(|rest| rest.iter().position(|(commit, _)| *commit == id));
            at = Some(from + found.ok_or_else(|| unfit(piece))?);
            continue;
        };
        let mut words = entry.split(|byte| *byte == b' ').skip(1);
        let (mode, id) = (words.next(), words.nth(1));
        let (Some(mode), Some(id), Some(path), Some(at)) = (mode, id, pieces.next(), at) else {
            return Err(unfit(piece));
        };
        // Anything else is a link, a submodule, or nothing.
        let is_file = mode.starts_with(b"100");
        let content = if is_file { Some(BlobId::from_hex(id).map_err(|_| unfit(piece))?) } else { None };
        let commit = u32::try_from(first + at).map_err(|_| unfit(piece))?;
        changes.push(PathChange { commit, path: RepoPath::new(path), content });
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cancel, Git, repository::empty};

    #[test]
    fn what_git_prints_without_end_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let (root, repository) = (folder.path().join("own"), empty(folder.path()));
        let reader = Reader::open(&Git::default(), &root, "1", repository, Cancel::default()).unwrap();
        let printed = |most| reader.printed(reader.call().subcommand("version"), Vec::new(), most);
        let whole = printed(1 << 20).unwrap();
        assert_eq!(printed(whole.len() as u64).unwrap(), whole);
        let cut = printed(3);
        assert!(matches!(cut, Err(GitError::Overwhelmed { .. })), "{cut:?}");
    }
}
