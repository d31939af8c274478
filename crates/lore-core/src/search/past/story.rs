//! What happened to a file along the line: commits that changed it, where it was before, and what each changed.

use std::{
    collections::HashMap,
    ops::Range,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use lore_git::{Found, GitError, Repository};
use lore_model::{BlobId, Failure, FileStatus, LineCommit, Repo, RepoId, RepoPath};
use lore_store::{CommitDetail, PathVersion, Touch};
use similar::{Algorithm, TextDiff};

use super::{ChangeKind, Standing};
use crate::{
    git_failure,
    search::{CodeHit, LineHit, TemporalSearch},
    store_failure,
};

/// Larger files are not compared.
const MAX_COMPARED: u64 = 1 << 20;

/// So many lines of one diff are shown.
const MAX_DIFF_LINES: usize = 60;

/// And so many bytes: a line that a program wrote may be as long as its file.
const MAX_DIFF_BYTES: usize = 16 << 10;

/// How long two versions may be compared.
const PATIENCE: Duration = Duration::from_millis(500);

/// And all versions of one file.
const PATIENCE_IN_ALL: Duration = Duration::from_secs(5);

/// Why a step has no diff although there is one.
const NO_ROOM: &str = "the answer has no room for more diffs";

/// A commit that changed a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// The commit.
    pub commit: LineCommit,
    /// What it did to the file.
    pub kind: ChangeKind,
    /// Its subject line, where the history has it.
    pub subject: Option<String>,
    /// Its author's name, as the mailmap has it.
    pub author: Option<String>,
    /// The rest of its message.
    pub body: Option<String>,
}

/// One step of a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryEntry {
    /// The commit and what it did.
    pub happened: Happened,
    /// What the file was called from then on; before, where it was deleted.
    pub path: RepoPath,
    /// What it was called before, where that was something else.
    pub old_path: Option<RepoPath>,
    /// What changed, as git would print it without a header; why not, where it is not compared.
    pub diff: Result<String, &'static str>,
    /// How many lines of that are left out.
    pub diff_left_out: usize,
}

/// What happened to a file, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Story {
    /// The newest steps.
    pub entries: Vec<StoryEntry>,
    /// Whether there are older ones.
    pub more: bool,
}

/// What the stories of all hits of an answer may take together, and what was left out for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoryBudget {
    /// How many more steps.
    pub steps: usize,
    /// How many more bytes of diffs.
    pub diff_bytes: usize,
    /// How much longer versions may be compared.
    pub time: Duration,
    /// Whether there would have been more steps.
    pub steps_cut: bool,
    /// How many diffs were left out.
    pub diffs_cut: usize,
}

impl StoryBudget {
    /// Everything.
    pub const UNLIMITED: Self =
        Self { steps: usize::MAX, diff_bytes: usize::MAX, time: Duration::MAX, steps_cut: false, diffs_cut: 0 };

    /// Charges a diff, or leaves it out. After one that has no room none is shown: the diffs that are shown are the newest,
    /// without a gap.
    fn charge(&mut self, diff: Result<String, &'static str>) -> Result<String, &'static str> {
        match diff {
            Ok(text) if self.diffs_cut == 0 && text.len() <= self.diff_bytes => {
                self.diff_bytes -= text.len();
                Ok(text)
            }
            Ok(_) | Err(NO_ROOM) => {
                self.diffs_cut += 1;
                Err(NO_ROOM)
            }
            Err(why) => Err(why),
        }
    }

    /// Charges a story that another hit has already: it stands in the answer once more.
    fn charge_again(&mut self, told: &Arc<Told>) -> Arc<Told> {
        let mut told = Arc::clone(told);
        let Some(story) = &told.story else { return told };
        if self.diffs_cut == 0 && story.entries.len() <= self.steps && diff_bytes(story) <= self.diff_bytes {
            self.steps -= story.entries.len();
            self.diff_bytes -= diff_bytes(story);
            return told;
        }
        if let Some(story) = &mut Arc::make_mut(&mut told).story {
            if story.entries.len() > self.steps {
                story.entries.truncate(self.steps);
                (story.more, self.steps_cut) = (true, true);
            }
            self.steps -= story.entries.len();
            for entry in &mut story.entries {
                entry.diff = self.charge(std::mem::replace(&mut entry.diff, Err(NO_ROOM)));
            }
        }
        told
    }
}

fn diff_bytes(story: &Story) -> usize {
    story.entries.iter().filter_map(|entry| entry.diff.as_ref().ok()).map(String::len).sum()
}

/// What is told of a hit of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// When it was there.
    pub standing: Standing,
    /// The commits of the asked time that changed the file while it stood there, the newest first.
    pub happened: Vec<Happened>,
    /// How many there are.
    pub happened_count: usize,
    /// The commit that took it away.
    pub removed_by: Option<Happened>,
    /// What happened to the file, where that is asked for.
    pub story: Option<Story>,
}

/// A hit that may be of the past.
pub trait OfPast {
    /// Its repository, its path, and when it was there.
    fn place(&self) -> (&str, &RepoPath, Option<&Standing>);

    /// Lets it know what is told of it.
    fn tell(&mut self, told: Arc<Told>);
}

impl OfPast for CodeHit {
    fn place(&self) -> (&str, &RepoPath, Option<&Standing>) {
        (&self.repo, &self.path, self.standing.as_ref())
    }

    fn tell(&mut self, told: Arc<Told>) {
        self.told = Some(told);
    }
}

impl OfPast for LineHit {
    fn place(&self) -> (&str, &RepoPath, Option<&Standing>) {
        (&self.repo, &self.path, self.standing.as_ref())
    }

    fn tell(&mut self, told: Arc<Told>) {
        self.told = Some(told);
    }
}

/// So many commits are told of a hit.
const MAX_HAPPENED: usize = 10;

/// A change of a path.
#[derive(Debug, Clone, Copy)]
struct Event {
    commit: u32,
    touch: Touch,
    before: Option<BlobId>,
    after: Option<BlobId>,
    binary: bool,
}

/// What happened to a path, the newest first; `end` is the number of commits.
fn events(versions: &[PathVersion], end: u32) -> Vec<Event> {
    let mut events = Vec::new();
    for (at, version) in versions.iter().enumerate() {
        let Range { start, end: gone } = version.commits;
        let before = at.checked_sub(1).map(|at| &versions[at]).filter(|before| before.commits.end == start);
        events.push(Event {
            commit: start,
            touch: if before.is_some() { Touch::Modified } else { Touch::Added },
            before: before.map(|before| before.blob),
            after: Some(version.blob),
            binary: version.binary,
        });
        let is_replaced = versions.get(at + 1).is_some_and(|next| next.commits.start == gone);
        if gone < end && !is_replaced {
            let (before, after, binary) = (Some(version.blob), None, version.binary);
            events.push(Event { commit: gone, touch: Touch::Deleted, before, after, binary });
        }
    }
    events.reverse();
    events
}

impl TemporalSearch {
    /// Has hits of the past tell of it; `evolution` is how many steps of their files are wanted.
    pub fn tell_past<H: OfPast>(
        &self,
        repos: &[(Repo, Option<PathBuf>)],
        hits: &mut [H],
        evolution: Option<usize>,
    ) -> Result<(), Failure> {
        let mut budget = StoryBudget::UNLIMITED;
        self.tell_past_within(repos, hits, evolution, &mut budget)
    }

    /// The same within a budget, from which what the hits take is taken.
    pub fn tell_past_within<H: OfPast>(
        &self,
        repos: &[(Repo, Option<PathBuf>)],
        hits: &mut [H],
        evolution: Option<usize>,
        budget: &mut StoryBudget,
    ) -> Result<(), Failure> {
        let mut asked = Vec::new();
        for (at, hit) in hits.iter().enumerate() {
            let (name, path, standing) = hit.place();
            let repo = repos.iter().map(|(repo, _)| repo).find(|repo| repo.name() == name);
            asked.extend(repo.zip(standing).map(|(repo, standing)| (at, repo.clone(), path.clone(), standing.clone())));
        }
        if asked.is_empty() {
            return Ok(());
        }
        let mut known: HashMap<(RepoId, RepoPath, Range<u32>), Arc<Told>> = HashMap::new();
        for (at, repo, path, standing) in asked {
            let key = (repo.id, path, standing.commits.clone());
            let told = if let Some(told) = known.get(&key) {
                budget.charge_again(told)
            } else {
                let told = Arc::new(self.told(&repo, &key.1, &standing, evolution, budget)?);
                known.insert(key, Arc::clone(&told));
                told
            };
            hits[at].tell(told);
        }
        Ok(())
    }

    fn told(
        &self,
        repo: &Repo,
        path: &RepoPath,
        standing: &Standing,
        evolution: Option<usize>,
        budget: &mut StoryBudget,
    ) -> Result<Told, Failure> {
        let (happened, happened_count) = self.happenings(repo, path, standing, MAX_HAPPENED)?;
        let removed_by = standing.removed_by.and_then(|by| happened.iter().find(|one| one.commit == by).cloned());
        let story = match evolution {
            Some(limit) => Some(self.story_within(repo, path, Some(standing), limit, budget)?),
            None => None,
        };
        Ok(Told { standing: standing.clone(), happened, happened_count, removed_by, story })
    }

    /// The commits of the asked time that changed the file while the chunk stood in it, the newest first, and how many
    /// there are.
    fn happenings(
        &self,
        repo: &Repo,
        path: &RepoPath,
        standing: &Standing,
        limit: usize,
    ) -> Result<(Vec<Happened>, usize), Failure> {
        let Some((past, commits)) = self.reader.store.past_commits(repo.id).map_err(store_failure)? else {
            return Ok((Vec::new(), 0));
        };
        if !standing.is_on(&commits) {
            return Ok((Vec::new(), 0));
        }
        let end = u32::try_from(commits.len()).unwrap_or(u32::MAX);
        let versions = self.reader.store.path_versions(repo.id, past, path).map_err(store_failure)?;
        let Range { start, end: gone } = standing.commits;
        let is_asked = |event: &Event| {
            (start..=gone).contains(&event.commit)
                && (event.commit == start
                    || event.commit == gone
                    || standing.period.iter().any(|range| range.contains(&event.commit)))
        };
        let events: Vec<Event> = events(&versions, end).into_iter().filter(is_asked).collect();
        let mut happened = Vec::new();
        for event in events.iter().take(limit) {
            let Some(commit) = commits.get(event.commit as usize) else { continue };
            let detail = self.reader.store.find_commit_of(repo.id, commit.id, path).map_err(store_failure)?;
            happened.push(tell(*commit, event, path, detail.as_ref()));
        }
        Ok((happened, events.len()))
    }

    /// What happened to a file up to the commit with this number, the newest first: where it was renamed, under its former
    /// names as well.
    pub fn story(
        &self,
        repo: &Repo,
        path: &RepoPath,
        until: Option<&Standing>,
        limit: usize,
    ) -> Result<Story, Failure> {
        let mut budget = StoryBudget::UNLIMITED;
        self.story_within(repo, path, until, limit, &mut budget)
    }

    fn story_within(
        &self,
        repo: &Repo,
        path: &RepoPath,
        until: Option<&Standing>,
        limit: usize,
        budget: &mut StoryBudget,
    ) -> Result<Story, Failure> {
        let Some((past, commits)) = self.reader.store.past_commits(repo.id).map_err(store_failure)? else {
            return Ok(Story::default());
        };
        let end = u32::try_from(commits.len()).unwrap_or(u32::MAX);
        let until = until.filter(|standing| standing.is_on(&commits));
        // What happened after the time that is asked about is no part of it.
        let asked = until.and_then(|standing| standing.period.last()).map_or(end, |range| range.end);
        let gone = until.map_or(end, |standing| standing.commits.end.saturating_add(1));
        let mut bound = gone.min(asked).min(end);
        let (mut path, mut told, mut more) = (path.clone(), Vec::new(), false);
        let room = limit.min(budget.steps);
        'paths: loop {
            let versions = self.reader.store.path_versions(repo.id, past, &path).map_err(store_failure)?;
            for event in events(&versions, end).into_iter().filter(|event| event.commit < bound) {
                if told.len() == room {
                    more = true;
                    budget.steps_cut |= room < limit;
                    break 'paths;
                }
                let Some(commit) = commits.get(event.commit as usize) else { continue };
                let detail = self.reader.store.find_commit_of(repo.id, commit.id, &path).map_err(store_failure)?;
                let happened = tell(*commit, &event, &path, detail.as_ref());
                let source = detail.as_ref().filter(|_| event.touch == Touch::Added).and_then(|d| source(d, &path));
                let Some(source) = source else {
                    told.push((happened, event, path.clone(), None));
                    continue;
                };
                let of_source = self.reader.store.path_versions(repo.id, past, &source).map_err(store_failure)?;
                let before = of_source.iter().rev().find(|version| version.commits.start < event.commit);
                let event = Event { before: before.map(|version| version.blob), ..event };
                bound = event.commit;
                told.push((happened, event, path, Some(source.clone())));
                path = source;
                continue 'paths;
            }
            break;
        }
        budget.steps -= told.len();
        let mut left = *budget;
        let entries = || {
            let repository = Repository::open(&repo.info.local_path)?;
            let (begun, patience) = (Instant::now(), left.time.min(PATIENCE_IN_ALL));
            let entries = told.into_iter().map(|(happened, event, path, old_path)| {
                let (diff, diff_left_out) = if left.diffs_cut > 0 {
                    (Err(NO_ROOM), 0)
                } else if begun.elapsed() < patience {
                    compare(&repository, &event)?
                } else {
                    (Err("there was no time left to compare it"), 0)
                };
                let diff = left.charge(diff);
                let diff_left_out = if diff.is_ok() { diff_left_out } else { 0 };
                Ok(StoryEntry { happened, path, old_path, diff, diff_left_out })
            });
            let entries = entries.collect::<lore_git::Result<Vec<_>>>()?;
            left.time = left.time.saturating_sub(begun.elapsed());
            Ok((entries, left))
        };
        let (entries, left) = entries().map_err(git_failure)?;
        *budget = left;
        Ok(Story { entries, more })
    }
}

/// Where a file that is new in a commit was before.
fn source(detail: &CommitDetail, path: &RepoPath) -> Option<RepoPath> {
    let is_it = |file: &&lore_model::FileChange| {
        file.path == *path && matches!(file.status, FileStatus::Renamed | FileStatus::Copied)
    };
    detail.files.iter().find(is_it)?.old_path.clone()
}

fn tell(commit: LineCommit, event: &Event, path: &RepoPath, detail: Option<&CommitDetail>) -> Happened {
    let is_renamed = detail.is_some_and(|detail| {
        detail.files.iter().any(|file| {
            let moved = match event.touch {
                Touch::Added => &file.path == path,
                Touch::Deleted => file.old_path.as_ref() == Some(path),
                Touch::Modified => false,
            };
            file.status == FileStatus::Renamed && moved
        })
    });
    let kind = if event.binary { ChangeKind::Binary } else { super::kind_of(event.touch, is_renamed) };
    Happened {
        commit,
        kind,
        subject: detail.map(|detail| detail.subject.clone()),
        author: detail.map(|detail| detail.mapped_author.as_ref().unwrap_or(&detail.author).name.clone()),
        body: detail.and_then(|detail| detail.body.clone()),
    }
}

type Compared = (Result<String, &'static str>, usize);

/// What differs between what was there before and after, and how many lines of that are left out.
fn compare(repository: &Repository, event: &Event) -> lore_git::Result<Compared> {
    if event.binary {
        return Ok((Err("it is no text"), 0));
    }
    let mut blobs = repository.blobs();
    let mut read = |blob: Option<BlobId>| -> lore_git::Result<Result<String, &'static str>> {
        let Some(blob) = blob else { return Ok(Ok(String::new())) };
        let mut bytes = Vec::new();
        Ok(match blobs.read(blob, MAX_COMPARED, &mut bytes) {
            Ok(Found::Read) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Ok(Found::TooLarge(_)) => Err("it is too large to be compared"),
            Ok(Found::Missing) => Err("its content is missing (a partial clone)"),
            // One damaged object does not take the rest of the story.
            Err(GitError::Unreadable { .. }) => Err("its content cannot be read"),
            Err(error) => return Err(error),
        })
    };
    let (old, new) = (read(event.before)?, read(event.after)?);
    let (old, new) = match (old, new) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(why), _) | (_, Err(why)) => return Ok((Err(why), 0)),
    };
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .deadline(Instant::now() + PATIENCE)
        .diff_lines(&old, &new)
        .unified_diff()
        .context_radius(3)
        .to_string();
    Ok(beginning(diff))
}

/// As many lines of a diff as are shown, and how many are left out.
fn beginning(mut diff: String) -> Compared {
    let mut end = 0;
    let fitting = diff.split_inclusive('\n').take(MAX_DIFF_LINES).take_while(|line| {
        end += line.len();
        end <= MAX_DIFF_BYTES
    });
    let (mut shown, mut bytes) = (0, 0);
    for line in fitting {
        (shown, bytes) = (shown + 1, bytes + line.len());
    }
    let left_out = diff.lines().count() - shown;
    diff.truncate(bytes);
    (Ok(diff), left_out)
}

#[cfg(test)]
mod tests {
    use lore_model::CommitId;

    use super::*;

    /// What is told of a hit whose file has these diffs.
    fn told(diffs: &[usize]) -> Arc<Told> {
        let commit = LineCommit { id: CommitId::from_bytes(&[1; 20]).expect("a name"), at: 1 };
        let standing = Standing {
            repo: RepoId(1),
            first: commit,
            last: commit,
            removed_by: None,
            file_is_gone: false,
            commits: 0..1,
            period: Vec::new(),
        };
        let entries = diffs.iter().map(|bytes| StoryEntry {
            happened: Happened { commit, kind: ChangeKind::Modified, subject: None, author: None, body: None },
            path: RepoPath::from("a"),
            old_path: None,
            diff: Ok("x".repeat(*bytes)),
            diff_left_out: 0,
        });
        let story = Some(Story { entries: entries.collect(), more: false });
        Arc::new(Told { standing, happened: Vec::new(), happened_count: 0, removed_by: None, story })
    }

    #[test]
    fn what_has_no_room_is_left_out_from_there_on_and_counted() {
        let mut budget = StoryBudget { steps: 8, diff_bytes: 25, ..StoryBudget::UNLIMITED };
        let one = told(&[10, 5]);
        let shown = |told: &Told| -> Vec<Option<usize>> {
            let story = told.story.as_ref().expect("a story");
            story.entries.iter().map(|entry| entry.diff.as_ref().ok().map(String::len)).collect()
        };
        let first = budget.charge_again(&one);
        assert!(Arc::ptr_eq(&first, &one), "what fits is shared");
        assert_eq!((budget.steps, budget.diff_bytes), (6, 10));
        let second = budget.charge_again(&told(&[10, 5, 0]));
        assert_eq!(shown(&second), [Some(10), None, None], "what follows a gap would not be what follows");
        assert_eq!(shown(&budget.charge_again(&told(&[0, 0]))), [None, None]);
        assert_eq!((budget.steps, budget.diffs_cut, budget.steps_cut), (1, 4, false));
        let last = budget.charge_again(&told(&[1, 1]));
        assert!(shown(&last) == [None] && last.story.as_ref().is_some_and(|story| story.more));
        assert_eq!((budget.steps, budget.diffs_cut, budget.steps_cut), (0, 5, true));
    }

    #[test]
    fn a_diff_is_shown_as_far_as_somebody_reads_it() {
        let long = format!("+{}\n", "x".repeat(MAX_DIFF_BYTES));
        for (diff, shown, left_out) in [
            ("@@\n-a\n+b\n".to_owned(), "@@\n-a\n+b\n".to_owned(), 0),
            (String::new(), String::new(), 0),
            ("+a\n".repeat(100), "+a\n".repeat(MAX_DIFF_LINES), 40),
            (format!("@@\n{long}+b\n"), "@@\n".to_owned(), 2),
            (long, String::new(), 1),
        ] {
            assert_eq!(beginning(diff), (Ok(shown), left_out));
        }
    }
}
