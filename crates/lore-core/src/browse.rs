//! Where files, history and code meet: what lies in a repository, since when, and whether it is searched.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use lore_model::{CommitId, Failure, Repo, RepoPath};

use crate::{
    Lore,
    files::{Branch, Depth, Files, Listing, Place, Range, ReadFile},
    history::{FreshState, RepoFreshness},
    search::{CodeOverview, CodeState, IndexedFiles},
    store_failure,
};

/// So many branches are listed.
pub const BRANCHES_MAX: usize = 1000;

/// So many reasons for leaving files out are told.
const REASONS_MAX: usize = 10;

/// Where a repository stands.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The commit that is checked out, or that the main branch is at.
    pub commit: Option<CommitId>,
    /// The branch, where there is one.
    pub branch: Option<String>,
    /// Whether files lie on disk, and not only in git.
    pub has_work_tree: bool,
}

impl Standing {
    fn of(files: &Files) -> Self {
        Self { commit: files.commit, branch: files.branch.clone(), has_work_tree: files.has_work_tree() }
    }
}

/// The files of a folder, with what is known of them.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Where the repository stands.
    pub at: Standing,
    /// The files.
    pub listing: Listing,
    /// When each was last changed, in their order (seconds since 1970).
    pub modified: Vec<Option<i64>>,
    /// Which of them are searched, with their languages.
    pub indexed: Arc<IndexedFiles>,
    /// Why nothing is known of what is searched.
    pub index_error: Option<String>,
}

/// A file, with what is known of it.
#[derive(Debug, Clone)]
pub struct FileContent {
    /// Where the repository stands.
    pub at: Standing,
    /// The file.
    pub file: ReadFile,
    /// When it was last changed (seconds since 1970).
    pub modified: Option<i64>,
}

/// How the index of code relates to a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchIndex {
    /// The files of its last commit are searched.
    Indexed,
    /// Those of an earlier commit are, or not all.
    Stale,
    /// It is not searched.
    NotIndexed,
}

impl BranchIndex {
    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Indexed => "indexed",
            Self::Stale => "stale",
            Self::NotIndexed => "not_indexed",
        }
    }
}

/// What is known of a repository as a whole.
#[derive(Debug)]
pub struct Report {
    /// The repository.
    pub repo: Repo,
    /// How fresh its history is.
    pub history: RepoFreshness,
    /// How many commits are indexed of what is asked about.
    pub commits: u64,
    /// What is indexed of its code.
    pub code: Result<CodeOverview, Failure>,
    /// Its share of what all code takes on disk, by the bytes of its files.
    pub index_bytes: u64,
}

impl Report {
    /// When any part of it was last brought up to date (seconds since 1970).
    pub fn updated_at(&self) -> Option<i64> {
        let code = self.code.as_ref().ok().and_then(|code| code.freshness.indexed_at);
        code.max(self.history.last_synced_at)
    }

    /// What is wrong, or less than it could be, and how well the repository fares: 1 is well.
    pub fn health(&self) -> (f64, Vec<String>) {
        let mut issues: Vec<(f64, String)> = Vec::new();
        let mut note = |lost: f64, text: String| issues.push((lost, text));
        let sync = format!("run `lore sync --repo {}`", self.repo.name());
        match self.history.state {
            FreshState::Current => {}
            FreshState::Partial | FreshState::NeverSynced if let Some(percent) = self.history.progress => {
                note(0.2, format!("the history is being read: {percent} %"));
            }
            FreshState::Stale => note(0.1, format!("stale: branches have moved since the history was read; {sync}")),
            FreshState::Partial => note(0.2, format!("partial: not all of the history is read; {sync}")),
            FreshState::NeverSynced => note(0.3, format!("the history was never read; {sync}")),
            FreshState::Missing => {
                let place = self.repo.info.local_path.display();
                note(0.5, format!("missing: {place} is no repository any more; what was indexed still answers"));
            }
        }
        if let Some(error) = &self.repo.sync.last_error {
            note(0.2, format!("the last sync failed: {error}"));
        }
        match &self.code {
            Err(failure) => note(0.5, format!("the index of its code cannot be read: {failure}")),
            Ok(code) => {
                match code.freshness.state {
                    // What is missing was told already.
                    CodeState::Current | CodeState::Missing => {}
                    CodeState::Partial | CodeState::NeverIndexed if let Some(percent) = code.freshness.progress => {
                        note(0.2, format!("the code is being indexed: {percent} %"));
                    }
                    CodeState::Stale => note(0.1, format!("stale: the code changed since it was indexed; {sync}")),
                    CodeState::Partial => note(0.2, format!("partial: not all of the code is indexed; {sync}")),
                    CodeState::NeverIndexed => note(0.3, format!("the code was never indexed; {sync}")),
                }
                if let Some(error) = &code.freshness.uncommitted_error {
                    note(0.1, format!("uncommitted work could not be read, or not all of it: {error}"));
                }
                if let Some(error) = &code.freshness.ignore_error {
                    note(0.1, format!("what it wants to be left out cannot be read: {error}"));
                }
            }
        }
        let lost: f64 = issues.iter().map(|(lost, _)| lost).sum();
        let mut issues: Vec<String> = issues.into_iter().map(|(_, text)| text).collect();
        issues.extend(self.left_out());
        (((1.0 - lost).max(0.0) * 100.0).round() / 100.0, issues)
    }

    /// Files that are not searched, or not by meaning, counted by reason. Most of that is as it should be.
    fn left_out(&self) -> Vec<String> {
        let Ok(code) = &self.code else { return Vec::new() };
        let mut reasons: Vec<(&str, usize)> = Vec::new();
        for file in code.summary.left_out.iter().chain(&code.uncommitted_left_out) {
            match reasons.iter_mut().find(|(reason, _)| *reason == file.reason) {
                Some((_, count)) => *count += 1,
                None => reasons.push((&file.reason, 1)),
            }
        }
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let more = reasons.len().saturating_sub(REASONS_MAX);
        let files = |count: usize| if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        let told = reasons.iter().take(REASONS_MAX);
        let mut told: Vec<String> = told
            .map(|(reason, count)| format!("{} without vectors or not searched: {reason}", files(*count)))
            .collect();
        if more > 0 {
            told.push(format!("and {more} more reasons: `lore status --left-out` lists them"));
        }
        told
    }
}

impl Lore {
    fn place_of(&self, repo: &Repo, place: &Path) -> Place {
        Place::new(repo, place.to_owned(), self.search.reader.user_excludes())
    }

    /// Lists the files of a folder, seen from one of the repository's work trees.
    pub fn list_files(&self, repo: &Repo, place: &Path, folder: &RepoPath, depth: Depth) -> Result<Listed, Failure> {
        let from = self.place_of(repo, place);
        let listed = || {
            let files = Files::open(&from)?;
            Ok::<_, Failure>((Standing::of(&files), files.committed_at(), files.list(folder, depth)?))
        };
        let (at, committed_at, listing) = listed()?;
        let paths = listing.files.iter().map(|file| file.path.clone()).collect();
        let touched = self.last_touched(repo, paths)?;
        let known = listing.files.iter().zip(touched);
        let modified = known.map(|(file, touched)| file.modified.or(touched).or(committed_at)).collect();
        let (indexed, index_error) = match self.search.reader.indexed_files(repo, Some(place)) {
            Ok(indexed) => (indexed, None),
            Err(failure) => (Arc::default(), Some(failure.message)),
        };
        Ok(Listed { at, listing, modified, indexed, index_error })
    }

    /// When a commit last changed each of these paths, on the branch that is asked about.
    fn last_touched(&self, repo: &Repo, paths: Vec<RepoPath>) -> Result<Vec<Option<i64>>, Failure> {
        let hidden = self.history.hidden(std::slice::from_ref(repo))?;
        self.history.store().last_touched(repo.id, paths, &hidden).map_err(store_failure)
    }

    /// Reads a file, or some lines of it, seen from one of the repository's work trees.
    pub fn read_file(&self, repo: &Repo, place: &Path, path: &RepoPath, range: Range) -> Result<FileContent, Failure> {
        let from = self.place_of(repo, place);
        let read = || {
            let files = Files::open(&from)?;
            Ok::<_, Failure>((Standing::of(&files), files.committed_at(), files.read(path, range)?))
        };
        let (at, committed_at, file) = read()?;
        let touched = self.last_touched(repo, vec![file.path.clone()])?.first().copied().flatten();
        let modified = file.modified.or(touched).or(committed_at);
        Ok(FileContent { at, file, modified })
    }

    /// The local branches, each with how the index of code relates to it, and how many there are.
    pub fn list_branches(&self, repo: &Repo, place: &Path) -> Result<(Vec<(Branch, BranchIndex)>, usize), Failure> {
        let from = self.place_of(repo, place);
        let (branches, total) = Files::open(&from)?.branches(BRANCHES_MAX)?;
        let state = self.search.reader.state(repo.id)?;
        let status = |branch: &Branch| {
            let commit = branch.tip.as_ref().map(|tip| tip.commit);
            let full = format!("refs/heads/{}", branch.name);
            // HEAD is another branch than the one that is asked about in its place.
            let is_head = branch.is_current && repo.shown.is_none();
            let is_followed = |name: &str| name == full || (is_head && name == "HEAD");
            if state.snapshots.iter().any(|snapshot| Some(snapshot.commit) == commit) {
                return if state.complete { BranchIndex::Indexed } else { BranchIndex::Stale };
            }
            let was_followed = state.tips.iter().any(|tip| is_followed(&tip.name));
            if was_followed { BranchIndex::Stale } else { BranchIndex::NotIndexed }
        };
        let with_status = |branch: Branch| (status(&branch), branch);
        Ok((branches.into_iter().map(with_status).map(|(status, branch)| (branch, status)).collect(), total))
    }

    /// Where a repository stands; none where it cannot be read.
    pub fn standing(&self, repo: &Repo) -> Option<Standing> {
        let from = self.place_of(repo, &repo.info.local_path);
        Files::open(&from).ok().map(|files| Standing::of(&files))
    }

    /// How many files a repository has, and how many bytes these have.
    pub fn measure(&self, repo: &Repo) -> Result<(usize, u64), Failure> {
        let from = self.place_of(repo, &repo.info.local_path);
        Files::open(&from)?.measure()
    }

    /// What is known of these repositories as a whole.
    pub fn report(&self, repos: Vec<Repo>) -> Result<Vec<Report>, Failure> {
        let freshness = self.history.freshness(&repos, None);
        let all = self.search.reader.bytes()?;
        let mut sum: u64 = 0;
        for repo in self.history.repos()? {
            sum += bytes_of(&self.search.reader.state(repo.id)?);
        }
        let mut reports = Vec::new();
        for (repo, history) in repos.into_iter().zip(freshness.repos) {
            let bytes = bytes_of(&self.search.reader.state(repo.id)?);
            let index_bytes = share(all, bytes, sum);
            let code = self.search.query.overview(&repo);
            // A branch that is gone, or a repository, does not keep the rest from being told.
            let commits = self.history.commit_count(&repo).unwrap_or(0);
            reports.push(Report { repo, history, commits, code, index_bytes });
        }
        Ok(reports)
    }

    /// A text that tells nothing of where on this machine Lore keeps what is its own.
    pub fn without_home(&self, text: &str) -> String {
        self.history.without_home(text)
    }

    /// The folder in which Lore keeps what is its own.
    pub fn home(&self) -> Option<PathBuf> {
        self.history.places().git.parent().map(Path::to_owned)
    }
}

fn bytes_of(state: &lore_store::CodeState) -> u64 {
    state.snapshots.iter().map(|snapshot| snapshot.bytes).sum()
}

fn share(all: u64, part: u64, sum: u64) -> u64 {
    let share = u128::from(all) * u128::from(part) / u128::from(sum.max(1));
    u64::try_from(share).unwrap_or(all).min(all)
}
