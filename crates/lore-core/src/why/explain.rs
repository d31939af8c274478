//! Which commits shaped some lines of a file, with the part of their diffs that did, and what reviewers said there.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use lore_git::{Blame, FileKind, Found, Repository, TreeLimits, WorkPlace, read_beneath};
use lore_model::{Code, CommitId, Failure, MessageState, RepoPath};
use lore_store::{MessageQuery, PatchText};

use super::{
    file::{FileAt, FileRequest},
    lines::{add, match_lines},
    patch::{Hunk, hunks_of},
};
use crate::{Lore, files::nearest_path, git_failure, history::Freshness, store_failure};
use lore_messages::{Placed, lines as lines_of};

/// The largest file whose lines are explained.
const FILE_MAX: u64 = 4 << 20;

/// So many commits are told; of the others only how many there are.
pub const COMMITS_MAX: usize = 50;

/// So many of them with their diff.
const HUNKS_MAX: usize = 20;

/// So many patches are read from git where the index does not have them.
const READ_MAX: usize = 10;

/// Comments of a file that are looked through, the newest.
const COMMENTS_MAX: usize = 100;

/// Earlier names of the file under which comments are looked for.
const NAMES_MAX: usize = 4;

/// A question about lines.
#[derive(Debug, Clone)]
pub struct ExplainRequest {
    /// The file.
    pub at: FileRequest,
    /// The first and the last line, from 1, as they are on disk; the whole file where none are named.
    pub lines: Option<(u32, u32)>,
}

/// How a file on disk relates to the commit that is checked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disk {
    /// Its text is the same.
    Same,
    /// It has been changed: lines are those on disk.
    Changed,
    /// It is in no commit yet.
    New,
    /// It is not on disk, or there is no work tree: lines are those of the commit.
    Absent,
}

/// The answer.
#[derive(Debug)]
pub struct Explained {
    /// The repository.
    pub repo: String,
    /// The file.
    pub path: RepoPath,
    /// The commit that is checked out, or that the branch is at that is asked about.
    pub head: Option<CommitId>,
    /// How the file on disk relates to it.
    pub disk: Disk,
    /// The lines that are explained; `None` where the file has none.
    pub lines: Option<(u32, u32)>,
    /// Those of them that are in no commit.
    pub uncommitted: Vec<(u32, u32)>,
    /// The commits that the lines come from: newest first, or those with most lines first where the whole file is asked about.
    pub commits: Vec<Shaped>,
    /// How many more there are.
    pub commits_left_out: usize,
    /// What reviewers said about the lines, the newest first.
    pub comments: Vec<Placed>,
    /// Whether older comments on the file were not looked through: some of them may be about the lines.
    pub comments_left_out: bool,
    /// How fresh the index is.
    pub freshness: Freshness,
}

/// A commit that shaped lines.
#[derive(Debug)]
pub struct Shaped {
    /// The commit.
    pub commit: CommitId,
    /// The subject line.
    pub subject: String,
    /// The author's name, by the mailmap where there is one.
    pub author: String,
    /// The author date, where git prints one.
    pub author_time: Option<i64>,
    /// The lines that come from it.
    pub lines: Vec<(u32, u32)>,
    /// How many they are.
    pub count: usize,
    /// Where they were then.
    pub origins: Vec<Origin>,
    /// Whether the known history begins here: the lines may be older.
    pub boundary: bool,
    /// What of its diff made them; none where it is not known or was not asked for.
    pub hunks: Vec<Hunk>,
}

/// Lines of a file as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub path: RepoPath,
    /// Its lines.
    pub lines: Vec<(u32, u32)>,
}

/// What is known of the file before git is asked.
struct Seen {
    head: Option<CommitId>,
    disk: Disk,
    /// The number in the commit of each line.
    numbers: Vec<Option<u32>>,
}

impl Lore {
    /// Tells why lines are as they are.
    pub fn explain_lines(&self, request: &ExplainRequest) -> Result<Explained, Failure> {
        let at = self.find_file(&request.at)?;
        let seen = look(&at.place, &at.path, at.repo.shown.as_deref())?;
        let lines = asked(&at.path, seen.numbers.len(), request.lines)?;
        let numbered = || {
            let from = lines.map_or(1, |(first, _)| first);
            let all = lines.map_or(0..0, |(first, last)| index(first)..index(last) + 1);
            (from..).zip(seen.numbers[all].iter().copied())
        };
        let mut uncommitted = Vec::new();
        numbered().filter(|(_, then)| then.is_none()).for_each(|(now, _)| add(&mut uncommitted, now));
        let committed: Vec<(u32, u32)> = numbered().filter_map(|(now, then)| Some((now, then?))).collect();
        let mut commits = match seen.head {
            Some(head) if !committed.is_empty() => {
                shaped(&*self.history.blame(&at.repo, &at.place, head, &at.path)?, &committed)
            }
            _ => Vec::new(),
        };
        if request.lines.is_none() {
            // Equal ones stay as they are: newest first.
            commits.sort_by_key(|shaped| std::cmp::Reverse(shaped.count));
        }
        let (comments, comments_left_out) = self.comments(&at, lines, &commits)?;
        let commits_left_out = commits.len().saturating_sub(COMMITS_MAX);
        commits.truncate(COMMITS_MAX);
        self.describe(&at, &mut commits)?;
        if request.lines.is_some() {
            self.add_hunks(&at, &mut commits)?;
        }
        let freshness = self.history.freshness(std::slice::from_ref(&at.repo), None);
        Ok(Explained {
            repo: at.repo.name().to_owned(),
            path: at.path,
            head: seen.head,
            disk: seen.disk,
            lines,
            uncommitted,
            commits,
            commits_left_out,
            comments,
            comments_left_out,
            freshness,
        })
    }

    /// Tells commits as every other answer does, where the index has them.
    fn describe(&self, at: &FileAt, commits: &mut [Shaped]) -> Result<(), Failure> {
        for shaped in commits {
            let found = self.history.store().find_commit(at.repo.id, shaped.commit).map_err(store_failure)?;
            if let Some(found) = found {
                (shaped.subject, shaped.author_time) = (found.subject, found.author_time);
                shaped.author = found.mapped_author.unwrap_or(found.author).name;
            }
        }
        Ok(())
    }

    /// Adds what of their diffs made the lines.
    fn add_hunks(&self, at: &FileAt, commits: &mut [Shaped]) -> Result<(), Failure> {
        let mut unknown: HashMap<CommitId, usize> = HashMap::new();
        for (number, shaped) in commits.iter_mut().enumerate().take(HUNKS_MAX) {
            let patch = self.history.store().find_patch(at.repo.id, shaped.commit).map_err(store_failure)?;
            let is_told = match patch {
                Some(PatchText::Bytes(patch)) => shaped.take_hunks(&patch),
                Some(PatchText::Absent(_)) | None => false,
            };
            // The index leaves out large patches and some folders, and may not have the newest commits yet.
            if !is_told && unknown.len() < READ_MAX {
                unknown.insert(shaped.commit, number);
            }
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let read = self.history.read_patches(&at.repo, &at.place, unknown.keys().copied().collect());
        // The commits themselves are the answer; a diff that cannot be read is missing from it.
        match read {
            Err(failure) if failure.code == Code::Interrupted => return Err(failure),
            Err(failure) => tracing::debug!(%failure, "patches could not be read"),
            Ok(read) => {
                for (commit, patch) in read {
                    if let Some(shaped) = unknown.get(&commit).and_then(|number| commits.get_mut(*number)) {
                        shaped.take_hunks(&patch);
                    }
                }
            }
        }
        Ok(())
    }

    /// What reviewers said about these lines, wherever the code was when they said it, and whether there is more that was
    /// not looked through. Nothing counts as delivered by this.
    fn comments(
        &self,
        at: &FileAt,
        lines: Option<(u32, u32)>,
        commits: &[Shaped],
    ) -> Result<(Vec<Placed>, bool), Failure> {
        let mut names = vec![&at.path];
        let origins = commits.iter().flat_map(|shaped| &shaped.origins).map(|origin| &origin.path);
        for name in origins {
            if names.len() <= NAMES_MAX && !names.contains(&name) {
                names.push(name);
            }
        }
        let (mut found, mut left_out) = (Vec::new(), false);
        for name in names {
            let query = MessageQuery {
                project: Some(at.place.clone()),
                file: Some(name.clone()),
                limit: COMMENTS_MAX,
                ..MessageQuery::default()
            };
            let (placed, more) = self.messages.list(&query)?;
            left_out |= more;
            let is_here = |placed: &Placed| {
                let overlaps =
                    placed.place.lines.zip(lines).is_some_and(|(its, these)| its.0 <= these.1 && these.0 <= its.1);
                placed.place.file == at.path && overlaps && !matches!(placed.message.state, MessageState::Withdrawn(_))
            };
            found.extend(placed.into_iter().filter(is_here));
        }
        found.sort_by_key(|placed| std::cmp::Reverse(placed.message.id));
        Ok((found, left_out))
    }
}

impl Shaped {
    /// Takes the hunks that made the lines; `false` where the patch does not tell.
    fn take_hunks(&mut self, patch: &[u8]) -> bool {
        let found = self.origins.iter().filter_map(|origin| hunks_of(patch, &origin.path, &origin.lines));
        self.hunks = found.flatten().collect();
        !self.hunks.is_empty()
    }
}

fn index(line: u32) -> usize {
    usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX)
}

/// The lines that are asked about, as far as the file has them.
fn asked(path: &RepoPath, count: usize, lines: Option<(u32, u32)>) -> Result<Option<(u32, u32)>, Failure> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    match lines {
        None if count == 0 => Ok(None),
        None => Ok(Some((1, count))),
        Some((first, last)) if first <= count => Ok(Some((first, last.min(count)))),
        Some((first, _)) => {
            let lines = if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
            Err(Failure::new(Code::InvalidArgument, format!("{path} has {lines}: there is no line {first}"))
                .hint("lines are those of the file on disk, from 1"))
        }
    }
}

/// Reads the file on disk and in the commit, and finds the lines of one in the other. Of a branch that is shown in place of
/// what is checked out, nothing is on disk.
fn look(place: &Path, path: &RepoPath, shown: Option<&str>) -> Result<Seen, Failure> {
    let repository = Repository::open(place).map_err(git_failure)?;
    let head = match shown {
        Some(branch) => Some(repository.get_branch(branch).map_err(git_failure)?.commit),
        None => repository.head().map_err(git_failure)?.commit,
    };
    let committed = match head {
        Some(head) => committed(&repository, head, path)?,
        None => None,
    };
    let on_disk = match repository.work_tree().filter(|_| shown.is_none()) {
        Some(root) => on_disk(&repository, &root, path)?,
        None => None,
    };
    let all = |text: &[u8]| (1..).zip(lines_of(text)).map(|(number, _)| Some(number)).collect();
    let (disk, text, numbers) = match (&on_disk, &committed) {
        (Some(now), Some(then)) => {
            let numbers = match_lines(now, then);
            let is_same = numbers.len() == lines_of(then).len() && numbers.iter().all(Option::is_some);
            (if is_same { Disk::Same } else { Disk::Changed }, now, numbers)
        }
        (Some(now), None) => (Disk::New, now, vec![None; lines_of(now).len()]),
        (None, Some(then)) => (Disk::Absent, then, all(then)),
        (None, None) => {
            let failure = Failure::new(Code::InvalidArgument, format!("{path} is not a file of the repository"));
            let tree = head.and_then(|head| repository.tree_of(head, &TreeLimits::default()).ok());
            let known: Vec<_> = tree.iter().flat_map(|tree| &tree.files).map(|file| file.path.to_text()).collect();
            return Err(match nearest_path(&path.to_text(), known.iter().map(AsRef::as_ref)) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")).quoting_repository(),
                None => failure.hint("name a file as `git ls-files` does; links and folders have no lines"),
            });
        }
    };
    if lore_chunk::is_binary(text) {
        return Err(Failure::new(Code::InvalidArgument, format!("{path} is no text"))
            .hint("what changed it is told by its path: which commits touched it"));
    }
    Ok(Seen { head, disk, numbers })
}

/// The text of the file in the commit; none where that has no such file. One that is too large is not taken for one that is
/// not there: all its lines would seem to be new.
fn committed(repository: &Repository, head: CommitId, path: &RepoPath) -> Result<Option<Vec<u8>>, Failure> {
    let file = repository.find_file(head, path).map_err(git_failure)?;
    let Some(file) = file.filter(|file| file.kind != FileKind::Symlink) else { return Ok(None) };
    let mut text = Vec::new();
    match repository.blobs().read(file.blob, FILE_MAX, &mut text).map_err(git_failure)? {
        Found::Read => Ok(Some(text)),
        Found::TooLarge(_) => Err(too_large(path, "in the commit")),
        Found::Missing => {
            let why = "this clone does not hold its content (a partial clone)";
            Err(Failure::new(Code::NoAccess, format!("{path} cannot be read: {why}")))
        }
    }
}

/// The text of the file on disk; none where there is no such file. One that is too large is not taken for one that is not
/// there: lines of the commit would be told in place of those that are meant.
fn on_disk(repository: &Repository, root: &Path, path: &RepoPath) -> Result<Option<Vec<u8>>, Failure> {
    let text = read_beneath(root, path, FILE_MAX).map_err(|error| {
        Failure::new(Code::NoAccess, format!("{path} cannot be read: {error}")).hint("check its permissions")
    })?;
    if text.is_none()
        && let WorkPlace::File { kind, size, .. } = repository.work_place(path).map_err(git_failure)?
        && kind != FileKind::Symlink
        && size > FILE_MAX
    {
        return Err(too_large(path, "on disk"));
    }
    Ok(text)
}

fn too_large(path: &RepoPath, place: &str) -> Failure {
    Failure::new(Code::InvalidArgument, format!("{path} has more than {} MB {place}", FILE_MAX >> 20)).hint(
        "lines of so large a file are not explained; what changed it is told by its path: which commits touched it",
    )
}

/// The commits of these lines (on disk, and in the commit), newest first.
fn shaped(blame: &Blame, lines: &[(u32, u32)]) -> Vec<Shaped> {
    let mut found: BTreeMap<usize, Shaped> = BTreeMap::new();
    let mut then: BTreeMap<usize, BTreeMap<&RepoPath, Vec<u32>>> = BTreeMap::new();
    for (now, line) in lines {
        let at = blame.runs.partition_point(|run| run.first <= *line);
        let Some(run) = at.checked_sub(1).and_then(|at| blame.runs.get(at)) else { continue };
        let commit = &blame.commits[run.commit];
        let shaped = found.entry(run.commit).or_insert_with(|| Shaped {
            commit: commit.id,
            subject: commit.subject.clone(),
            author: commit.author.name.clone(),
            author_time: commit.author_time,
            lines: Vec::new(),
            count: 0,
            origins: Vec::new(),
            boundary: commit.boundary,
            hunks: Vec::new(),
        });
        add(&mut shaped.lines, *now);
        shaped.count += 1;
        then.entry(run.commit).or_default().entry(&run.path).or_default().push(line - run.first + run.origin);
    }
    for (commit, origins) in then {
        let Some(shaped) = found.get_mut(&commit) else { continue };
        for (path, mut numbers) in origins {
            numbers.sort_unstable();
            // A line may have been copied twice.
            numbers.dedup();
            let mut lines = Vec::new();
            for line in numbers {
                add(&mut lines, line);
            }
            shaped.origins.push(Origin { path: path.clone(), lines });
        }
    }
    let mut shaped: Vec<Shaped> = found.into_values().collect();
    shaped.sort_by(|a, b| b.author_time.cmp(&a.author_time).then(a.commit.cmp(&b.commit)));
    shaped
}
