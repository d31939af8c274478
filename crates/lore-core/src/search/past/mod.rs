//! Code as it was: at a commit, in a time, and what of it is gone.
//!
//! The past is kept along the first-parent line, where [`When`] says what of it is asked for. Each chunk is an answer once
//! for each path, in the newest version of the file that has it.

mod commits;
mod story;
mod sync;

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    path::Path,
    sync::Arc,
};

pub use commits::{CommitFound, CommitText, CommitsAnswer, CommitsRequest};
use lore_git::{Found, GitError, Repository, TreeLimits};
use lore_model::{BlobId, Code, CommitId, Failure, LineCommit, Repo, RepoId, RepoPath};
use lore_store::{
    Base, BlobKey, CodeState, OverlayFile, OverlayInput, PastInfo, PastPart, PastSlice, PathVersion, Touch,
    TouchFilter, TreePart,
};
pub use story::{Happened, OfPast, Story, StoryBudget, StoryEntry, Told};
pub use sync::PastReport;

use super::{
    IndexReader, TemporalSearch,
    index::{take, too_large_reason, unread_record},
    reading::{FileReader, MAX_FILE, rules},
};
use crate::{git_failure, store_failure};

/// So many files of a commit that is on no kept line may have to be read for one question.
const MAX_READ: usize = 5_000;

/// Which time is asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum When {
    /// What is there, uncommitted work included.
    #[default]
    Now,
    /// The tree of a commit: a name that git would understand.
    At(String),
    /// Everything that was there at some moment of a time.
    During(Period),
}

/// A time, and what of it counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Period {
    /// Its first second (since 1970, committer dates); `None` for the beginning.
    pub from: Option<i64>,
    /// Its last second; `None` for no end.
    pub to: Option<i64>,
    /// Whether files count that are not there any more.
    pub removed: bool,
    /// Whether only code counts that is not there any more.
    pub gone: bool,
    /// Whether only code counts that a commit of the time brought or took away.
    pub changed: bool,
    /// Only code that a commit of the time brought or took away in one of these ways; empty for all.
    pub kinds: Vec<ChangeKind>,
    /// Only code that a commit of this author brought or took away: a part of a name or an address.
    pub author: Option<String>,
}

/// What a commit did to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeKind {
    /// The file is new.
    Added,
    /// It was there and is another.
    Modified,
    /// It is gone.
    Deleted,
    /// It was elsewhere before, or is from then on.
    Renamed,
    /// It is no text.
    Binary,
}

impl ChangeKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Added, Self::Modified, Self::Deleted, Self::Renamed, Self::Binary];

    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Renamed => "renamed",
            Self::Binary => "binary",
        }
    }

    /// The kind that a word means.
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.trim();
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(word))
    }
}

impl When {
    /// Whether it is about the past.
    pub(crate) fn is_past(&self) -> bool {
        *self != Self::Now
    }

    /// Says what is wrong with it, without asking anything.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let invalid = |message: String| Failure::new(Code::InvalidArgument, message);
        match self {
            Self::At(name) if name.trim().is_empty() => Err(invalid("the commit has no name".to_owned())
                .hint("name it as git does: a hash, a tag, a branch, HEAD~5")),
            Self::During(Period { from: Some(from), to: Some(to), .. }) if from > to => {
                Err(invalid("the time ends before it begins".to_owned()).hint("put the earlier date first"))
            }
            _ => Ok(()),
        }
    }
}

/// Where a hit of the past stands in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The repository.
    pub repo: RepoId,
    /// The first commit that had the chunk at this path, of those that belong together with what is shown.
    pub first: LineCommit,
    /// The last one that had it.
    pub last: LineCommit,
    /// The commit that took it away.
    pub removed_by: Option<LineCommit>,
    /// Whether the newest commit has no such file any more.
    pub file_is_gone: bool,
    /// The numbers of the commits that had it.
    pub(crate) commits: Range<u32>,
    /// The numbers of the commits that count.
    pub(crate) period: Vec<Range<u32>>,
}

impl Standing {
    /// Whether these are the commits that it counts: after a rebase, a sync may have put others into their place since.
    pub(super) fn is_on(&self, commits: &[LineCommit]) -> bool {
        let at = |number: u32| commits.get(number as usize).map(|commit| commit.id);
        let last = self.commits.end.checked_sub(1).and_then(at);
        last == Some(self.last.id) && self.removed_by.is_none_or(|by| at(self.commits.end) == Some(by.id))
    }
}

/// What is shown of one repository's past, in place of what is there.
pub(super) struct PastShown {
    /// Names what is shown, besides the snapshot.
    pub(super) key: Arc<str>,
    pub(super) base: Base,
    /// What the index does not hold of it.
    pub(super) missing: Option<Arc<Missing>>,
    pub(super) line: Option<Line>,
}

/// Files of a commit that are read when a view of them is opened: not where it is at hand.
pub(super) struct Missing {
    repository: Repository,
    files: Vec<(BlobId, RepoPath)>,
}

/// The line of a repository, and which of its commits count.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) repo: RepoId,
    pub(super) commits: Arc<Vec<LineCommit>>,
    pub(super) period: Vec<Range<u32>>,
}

impl Line {
    /// Where a chunk that stood at a path for these times is in it.
    pub(super) fn standing(&self, version: &Range<u32>, spans: &[Range<u32>], file_is_gone: bool) -> Option<Standing> {
        let span = spans.iter().find(|span| span.contains(&version.start)).or_else(|| spans.last())?;
        let at = |number: u32| self.commits.get(number as usize).copied();
        Some(Standing {
            repo: self.repo,
            first: at(span.start)?,
            last: at(span.end.checked_sub(1)?)?,
            removed_by: at(span.end),
            file_is_gone,
            commits: span.clone(),
            period: self.period.clone(),
        })
    }
}

/// The commit that a name means.
enum Named {
    /// The one of that number on the line.
    OfLine(usize),
    Beside(CommitId),
}

/// What a name means, as git understands it. Steps back along the line are counted on the line: git reads each commit for them.
fn named(repository: &Repository, name: &str, line: &[LineCommit]) -> Result<Option<Named>, GitError> {
    let on_line = |commit: CommitId| line.iter().rposition(|known| known.id == commit);
    let (begin, steps) = steps_back(name);
    if steps > 0
        && let Some(commit) = repository.resolve(begin)?
        && let Some(at) = on_line(commit).and_then(|at| at.checked_sub(steps))
    {
        return Ok(Some(Named::OfLine(at)));
    }
    let of = |commit: CommitId| on_line(commit).map_or(Named::Beside(commit), Named::OfLine);
    Ok(repository.resolve(name)?.map(of))
}

/// A name without the `~5`, `~` and `^` that it ends with, and how many first parents these go back.
fn steps_back(name: &str) -> (&str, usize) {
    let (mut begin, mut steps) = (name, 0_usize);
    loop {
        let (before, count) = match begin.rsplit_once(['~', '^']) {
            Some((before, "")) => (before, 1),
            Some((before, digits)) if begin.as_bytes()[before.len()] == b'~' => match digits.parse::<u32>() {
                Ok(count) if digits.bytes().all(|byte| byte.is_ascii_digit()) => (before, count as usize),
                _ => return (begin, steps),
            },
            _ => return (begin, steps),
        };
        if before.is_empty() {
            return (name, 0);
        }
        (begin, steps) = (before, steps.saturating_add(count));
    }
}

/// What there is of a repository at the time that is asked about.
pub(super) enum Then {
    Shown(PastShown),
    /// Nobody asked for its past to be kept.
    NotKept,
    /// It has no such commit.
    NoCommit,
}

/// What there is where nothing of the past is kept: a commit that never was is not there all the same.
fn not_kept(repo: &Repo, place: Option<&Path>, when: &When) -> Then {
    let When::At(name) = when else { return Then::NotKept };
    let open = Repository::open(place.unwrap_or(&repo.info.local_path));
    // Of a repository that has gone, what was indexed still answers.
    match open.and_then(|repository| repository.resolve_on(name.trim(), repo.shown.as_deref())) {
        Ok(None) => Then::NoCommit,
        Ok(Some(_)) | Err(_) => Then::NotKept,
    }
}

impl TemporalSearch {
    /// What is shown of a repository's past.
    pub(super) fn past(
        &self,
        repo: &Repo,
        place: Option<&Path>,
        state: &CodeState,
        when: &When,
    ) -> Result<Then, Failure> {
        let Some(past) = state.past.as_ref().filter(|past| past.at.is_some()) else {
            return Ok(not_kept(repo, place, when));
        };
        let Some((number, commits)) = self.reader.store.past_commits(repo.id).map_err(store_failure)? else {
            return Ok(not_kept(repo, place, when));
        };
        let period = match when {
            When::Now => return Ok(Then::NotKept),
            When::At(name) => {
                // HEAD is that of the work tree that is asked from.
                let place = place.unwrap_or(&repo.info.local_path).to_owned();
                let name = name.trim().to_owned();
                let resolve = || {
                    let repository = Repository::open(&place)?;
                    let Some(name) = repository.name_on(&name, repo.shown.as_deref())? else { return Ok(None) };
                    named(&repository, &name, &commits)
                };
                let at = match resolve().map_err(git_failure)? {
                    Some(Named::OfLine(at)) => u32::try_from(at).unwrap_or(u32::MAX),
                    Some(Named::Beside(commit)) => return self.reader.tree(repo, commit, past).map(Then::Shown),
                    None => return Ok(Then::NoCommit),
                };
                return Ok(Then::Shown(shown(
                    repo.id,
                    number,
                    commits,
                    std::iter::once(at..at + 1).collect(),
                    PastSlice { removed: true, ..PastSlice::default() },
                    &format!("at {at}"),
                )));
            }
            When::During(period) => period,
        };
        let counted = counted(&commits, period);
        let touched = self.touched(repo, &commits, period)?;
        let slice = PastSlice { removed: period.removed, gone: period.gone, touched, ..PastSlice::default() };
        let key = format!("{period:?}");
        Ok(Then::Shown(shown(repo.id, number, commits, counted, slice, &key)))
    }

    /// The branch whose line is kept, where another one is asked about.
    pub(super) fn other_line(&self, repo: &Repo, kept: Option<CommitId>) -> Option<String> {
        let shown = repo.shown.as_deref()?;
        let tips = self.reader.tips(repo, &repo.info.local_path)?;
        let is_same = tips.head_branch.as_deref() == Some(shown) || (tips.shown.is_some() && tips.shown == kept);
        (!is_same).then(|| tips.head_branch.unwrap_or_else(|| "HEAD".to_owned()))
    }

    /// The contents that a path had at some moment of a time, oldest first.
    pub fn contents_of(&self, repo: &Repo, path: &RepoPath, period: &Period) -> Result<Vec<BlobId>, Failure> {
        let Some((past, commits)) = self.reader.store.past_commits(repo.id).map_err(store_failure)? else {
            return Ok(Vec::new());
        };
        let counted = counted(&commits, period);
        let versions = self.reader.store.path_versions(repo.id, past, path).map_err(store_failure)?;
        let overlaps = |a: &Range<u32>, b: &Range<u32>| a.start < b.end && b.start < a.end;
        let is_asked = |version: &&PathVersion| counted.iter().any(|range| overlaps(range, &version.commits));
        Ok(versions.iter().filter(is_asked).map(|version| version.blob).collect())
    }

    /// Which touches count for a period.
    fn touched(&self, repo: &Repo, commits: &[LineCommit], period: &Period) -> Result<Option<TouchFilter>, Failure> {
        if period.kinds.is_empty() && period.author.is_none() && !period.changed {
            return Ok(None);
        }
        let by = match &period.author {
            Some(author) => Some(self.reader.store.commits_by(repo.id, author).map_err(store_failure)?),
            None => None,
        };
        let counts: Vec<bool> = commits
            .iter()
            .map(|commit| is_in(commit.at, period) && by.as_ref().is_none_or(|by| by.contains(&commit.id)))
            .collect();
        let kinds: HashSet<ChangeKind> = period.kinds.iter().copied().collect();
        let mut renames: HashSet<(u32, RepoPath)> = HashSet::new();
        if !kinds.is_empty() {
            let numbers: HashMap<CommitId, u32> =
                (0_u32..).zip(commits).map(|(number, commit)| (commit.id, number)).collect();
            for (commit, path, old_path) in self.reader.store.list_renames(repo.id).map_err(store_failure)? {
                if let Some(number) = numbers.get(&commit) {
                    renames.extend([(*number, path), (*number, old_path)]);
                }
            }
        }
        Ok(Some(Arc::new(move |commit, path, touch| {
            counts.get(commit as usize).copied().unwrap_or(false)
                && (kinds.is_empty() || kinds.contains(&kind_of(touch, renames.contains(&(commit, path.clone())))))
        })))
    }
}

impl IndexReader {
    /// The tree of a commit that is not on the line that is kept: what the index does not hold is read.
    fn tree(&self, repo: &Repo, commit: CommitId, past: &PastInfo) -> Result<PastShown, Failure> {
        let (rules_kept, tip) = (past.rules.as_str(), past.tip);
        let (_, globs) = self.scope(repo);
        let listed = || {
            let repository = Repository::open(&repo.info.local_path)?;
            let tree = repository.tree_of(commit, &TreeLimits::default())?;
            let ignores = repository.tree_ignores(&tree, &globs)?;
            let mut files = take(tree, &ignores, &mut HashMap::new()).0;
            // What is left out now was not meant to be found then.
            if let Some(tip) = tip {
                let now = repository.tree_of(tip, &TreeLimits::default())?;
                let ignores = repository.tree_ignores(&now, &globs)?;
                files.retain(|file| ignores.excludes(&file.path).is_none());
            }
            Ok((repository, files))
        };
        let (repository, mut files) = listed().map_err(git_failure)?;
        let keys: Vec<BlobKey> = files.iter().map(|file| file.key.clone()).collect();
        let held = self.store.held_blobs(rules_kept, keys).map_err(store_failure)?;
        let missing: Vec<(BlobId, RepoPath)> = files
            .iter()
            .filter(|file| !held.contains(&file.key))
            .map(|file| (file.key.blob, file.path.clone()))
            .collect();
        if missing.len() > MAX_READ || (!missing.is_empty() && rules_kept != rules(&*self.embedder)) {
            let message = format!("{} files of commit {commit} are not in the index", missing.len());
            return Err(Failure::new(Code::InvalidArgument, message)
                .hint("run `lore sync`, or name a commit of the branch that is checked out"));
        }
        files.retain(|file| held.contains(&file.key));
        // What is left out may change while the commit stays, and what is held.
        let key = format!("tree {commit} {} {}", files.len(), missing.len()).into();
        let base = Base::Tree(TreePart { repo: repo.id, rules: rules_kept.to_owned(), files: Arc::new(files) });
        let missing = (!missing.is_empty()).then(|| Arc::new(Missing { repository, files: missing }));
        Ok(PastShown { key, base, missing, line: None })
    }

    /// Reads what the index does not hold, and how many files of it cannot be read.
    pub(super) fn read_missing(&self, missing: &Missing) -> Result<(OverlayInput, usize), Failure> {
        let sink = self.store.overlay_sink();
        let mut blobs = missing.repository.blobs();
        let mut reader = FileReader::new(&*sink, &*self.embedder);
        let (mut buffer, mut files) = (Vec::new(), Vec::new());
        for (blob, path) in &missing.files {
            let found = match blobs.read(*blob, MAX_FILE, &mut buffer) {
                Ok(found) => found,
                // One damaged object does not keep all others out.
                Err(GitError::Unreadable { .. }) => continue,
                Err(error) => return Err(git_failure(error)),
            };
            let (record, chunks) = match found {
                Found::Missing => continue,
                Found::TooLarge(size) => (unread_record(size, &too_large_reason()), Vec::new()),
                Found::Read => match reader.read(&path.to_text(), &buffer).map_err(super::index::embed_failure)? {
                    Ok(file) => (file.record, file.chunks),
                    Err(reason) => (unread_record(buffer.len() as u64, reason), Vec::new()),
                },
            };
            files.push(OverlayFile { path: path.clone(), record, chunks });
        }
        let lacking = missing.files.len() - files.len();
        Ok((OverlayInput { hidden: Vec::new(), files }, lacking))
    }
}

fn shown(
    repo: RepoId,
    number: i64,
    commits: Arc<Vec<LineCommit>>,
    period: Vec<Range<u32>>,
    slice: PastSlice,
    key: &str,
) -> PastShown {
    let slice = PastSlice { commits: period.clone(), ..slice };
    PastShown {
        key: format!("past {number} {key}").into(),
        base: Base::Past(PastPart { repo, number, slice }),
        missing: None,
        line: Some(Line { repo, commits, period }),
    }
}

/// What a touch is called where it is known whether the file was renamed.
fn kind_of(touch: Touch, renamed: bool) -> ChangeKind {
    match touch {
        Touch::Added | Touch::Deleted if renamed => ChangeKind::Renamed,
        Touch::Added => ChangeKind::Added,
        Touch::Modified => ChangeKind::Modified,
        Touch::Deleted => ChangeKind::Deleted,
    }
}

fn is_in(at: i64, period: &Period) -> bool {
    period.from.is_none_or(|from| at >= from) && period.to.is_none_or(|to| at <= to)
}

/// The commits whose trees were there in a time: those that were made in it, and the one before, as git would find it.
fn counted(commits: &[LineCommit], period: &Period) -> Vec<Range<u32>> {
    let before = period.from.and_then(|from| commits.iter().rposition(|commit| commit.at < from));
    let mut ranges: Vec<Range<u32>> = Vec::new();
    for (number, commit) in (0_u32..).zip(commits) {
        if Some(number as usize) == before || is_in(commit.at, period) {
            match ranges.last_mut().filter(|range| range.end == number) {
                Some(range) => range.end += 1,
                None => ranges.push(number..number + 1),
            }
        }
    }
    ranges
}

/// What of a past was asked for and is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastGaps {
    /// Repositories whose past is not kept: the answer is about what is there now.
    pub not_kept: Vec<String>,
    /// Repositories that have no such commit: nothing of them was searched.
    pub no_commit: Vec<String>,
    /// Repositories whose commit is beside the line that is kept: nothing is told of when its code was there.
    pub beside: Vec<String>,
    /// Repositories whose past is older than their code, or not all there.
    pub behind: Vec<String>,
    /// Repositories that are asked about on a branch whose past is not kept, each with the branch whose past is: the answer
    /// is about that one's.
    pub other_line: Vec<(String, String)>,
    /// How many files of commits beside a line have no content here, as in a partial clone, or one that cannot be read.
    pub lacking: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_its_first_and_its_last_second() {
        let period = Period { from: Some(10), to: Some(20), ..Period::default() };
        let inside: Vec<i64> = (8..23).filter(|at| is_in(*at, &period)).collect();
        assert_eq!(inside, (10..=20).collect::<Vec<_>>());
        assert!(is_in(i64::MIN, &Period::default()) && is_in(i64::MAX, &Period::default()));
    }

    #[test]
    fn steps_back_are_counted() {
        for (name, begin, steps) in [
            ("HEAD~5", "HEAD", 5),
            ("HEAD~", "HEAD", 1),
            ("HEAD^", "HEAD", 1),
            ("HEAD^~2~", "HEAD", 4),
            ("main", "main", 0),
            ("HEAD^2", "HEAD^2", 0),
            ("HEAD^2~3", "HEAD^2", 3),
            ("v1^{commit}~2", "v1^{commit}", 2),
            ("HEAD~+5", "HEAD~+5", 0),
            ("HEAD~99999999999", "HEAD~99999999999", 0),
            ("~1", "~1", 0),
            ("^", "^", 0),
            ("", "", 0),
        ] {
            assert_eq!(steps_back(name), (begin, steps), "{name}");
        }
    }

    #[test]
    fn numbers_of_another_line_are_not_taken_for_those_of_this_one() {
        let commit =
            |byte: u8| LineCommit { id: CommitId::from_bytes(&[byte; 20]).expect("a name"), at: i64::from(byte) };
        let line: Vec<LineCommit> = [1, 2, 3, 4].map(commit).to_vec();
        let line = Line { repo: RepoId(1), commits: Arc::new(line), period: Vec::new() };
        let standing = line.standing(&(1..3), std::slice::from_ref(&(1..3)), false).expect("it stood there");
        assert_eq!((standing.last, standing.removed_by), (commit(3), Some(commit(4))));
        assert!(standing.is_on(&line.commits));
        assert!(standing.is_on(&[1, 2, 3, 4, 5].map(commit)), "what is new comes after it");
        for rebased in [&[1, 2][..], &[1, 2, 3], &[1, 2, 7, 8], &[1, 2, 3, 7]] {
            let rebased: Vec<LineCommit> = rebased.iter().copied().map(commit).collect();
            assert!(!standing.is_on(&rebased), "{rebased:?}");
        }
    }
}
