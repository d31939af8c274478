//! Storage of git history: repositories, commits, file lists, patches and their full text.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

use lore_model::{
    BranchChoice, CommitId, CommitPrefix, CommitRecord, FileChange, FileStatus, NewRepo, PatchAbsence, Person, Problem,
    Repo, RepoId, RepoName, RepoPath, SyncState, Tip,
};

use crate::{IndexWriter, Result};

/// Reads history. Each call sees one consistent state and never waits for a writer.
pub trait HistoryStore: Send + Sync {
    /// Every registered repository, by name.
    fn list_repos(&self) -> Result<Vec<Repo>>;

    /// The repository of that id, however many there are besides.
    fn find_repo(&self, repo: RepoId) -> Result<Option<Repo>>;

    /// Commits that match, best first.
    fn search_commits(&self, query: &CommitQuery) -> Result<CommitMatches>;

    /// Changes of files whose path matches, newest first; the flag says whether more would have matched.
    fn list_touches(&self, query: &TouchQuery) -> Result<(Vec<TouchHit>, bool)>;

    /// Commits of a repository that begin with the prefix and are not hidden, at most `limit`.
    fn list_candidates(
        &self,
        repo: RepoId,
        prefix: &CommitPrefix,
        hidden: &Hidden,
        limit: usize,
    ) -> Result<Vec<CommitId>>;

    /// One commit without its patch.
    fn find_commit(&self, repo: RepoId, commit: CommitId) -> Result<Option<CommitDetail>>;

    /// The same, of its files only those that it left at this path, or, where there is none, took from it.
    fn find_commit_of(&self, repo: RepoId, commit: CommitId, path: &RepoPath) -> Result<Option<CommitDetail>>;

    /// The patch of one commit; `None` where there is no such commit.
    fn find_patch(&self, repo: RepoId, commit: CommitId) -> Result<Option<PatchText>>;

    /// What the commits of a repository say and which files they change, newest first: by commit time, then by id.
    ///
    /// Merges are not among them. Of a commit with more than `max_files` files only renames are told.
    fn list_subjects(&self, repo: RepoId, max_files: usize) -> Result<Subjects>;

    /// When a commit of the repository that is not hidden last changed each of these paths, by the committer's clock and in
    /// their order; `None` where no such commit is held.
    fn last_touched(&self, repo: RepoId, paths: Vec<RepoPath>, hidden: &Hidden) -> Result<Vec<Option<i64>>>;

    /// Files that change together with others, the most often first.
    ///
    /// Merges do not count, nor commits with more than `max_files` files. A file is followed through renames: what a commit
    /// changed under a name counts for the file of that name, and for files that were renamed from it at that time or later.
    fn list_co_changes(&self, query: &CoChangeQuery) -> Result<CoChanges>;

    /// Commits whose author's name or address, recorded or mapped, contains this, ASCII case ignored.
    fn commits_by(&self, repo: RepoId, author: &str) -> Result<HashSet<CommitId>>;

    /// What commits say that were made in a time (committer dates), by whoever's name or address contains this, changed a file
    /// in one of these ways (any, where none is named), and are not hidden; the newest first.
    fn list_messages(
        &self,
        repo: RepoId,
        since: Option<i64>,
        until: Option<i64>,
        author: Option<&str>,
        statuses: &[FileStatus],
        hidden: &Hidden,
    ) -> Result<Vec<CommitMessage>>;

    /// Every renamed file: the commit, its path and where it was before.
    fn list_renames(&self, repo: RepoId) -> Result<Vec<(CommitId, RepoPath, RepoPath)>>;

    /// A number that changes whenever another process or this one has written.
    fn generation(&self) -> Result<u64>;

    /// How large the index is.
    fn size(&self) -> Result<IndexSize>;

    /// Looks for damage; each finding is one line. `deep` reads everything.
    fn check(&self, deep: bool) -> Result<Vec<String>>;

    /// Puts an index aside that cannot be trusted, and begins a new one that knows the same repositories and nothing of them.
    /// Gives where the old one lies. Fails where that cannot tell its repositories any more.
    fn begin_anew(&self) -> Result<PathBuf>;

    /// Becomes the one writer, or fails with [`StoreError::Locked`](crate::StoreError::Locked) at once.
    fn try_writer(&self) -> Result<Box<dyn IndexWriter>>;
}

/// Writes history. Only one exists at a time, over all processes; dropping it lets the next one in.
pub trait HistoryWriter: Send + Sync {
    /// Registers a repository, durably, as of now.
    fn add_repo(&self, new: &NewRepo, at: i64) -> Result<Repo>;

    /// Forgets a repository and all that was read from it, at once and whole.
    fn remove_repo(&self, repo: RepoId) -> Result<()>;

    /// Replaces the aliases of a repository. One that names another repository already is a
    /// [`RepoExists`](crate::StoreError::RepoExists).
    fn set_aliases(&self, repo: RepoId, aliases: &[RepoName]) -> Result<()>;

    /// Chooses other branches. What is stored stays as it is until the next sync.
    fn set_branches(&self, repo: RepoId, branches: &BranchChoice) -> Result<()>;

    /// Notes that everything was already there at this moment.
    fn note_current(&self, repo: RepoId, at: i64) -> Result<()>;

    /// Notes that reading has begun under this fingerprint, and returns the state as it stood before.
    ///
    /// Where another fingerprint stood, all commits of the repository are dropped first. The boundary of a shallow clone is
    /// added to the one that is known: commits read under either may have to be read again.
    fn begin_sync(&self, repo: RepoId, fingerprint: &str, shallow: &[CommitId]) -> Result<SyncState>;

    /// Every commit of the repository that the index holds.
    fn known_commits(&self, repo: RepoId) -> Result<HashSet<CommitId>>;

    /// Commits whose patch is absent for this reason.
    fn commits_without_patch(&self, repo: RepoId, why: PatchAbsence) -> Result<Vec<CommitId>>;

    /// Adds commits, or replaces those of the same id, in one transaction. The order decides nothing.
    fn put_commits(&self, repo: RepoId, commits: Vec<CommitRecord>) -> Result<()>;

    /// Every author that occurs in the repository's commits.
    fn list_authors(&self, repo: RepoId) -> Result<Vec<Person>>;

    /// Ends a sync in one transaction: removes commits, names the new tips, counts what was left out.
    fn end_sync(&self, repo: RepoId, end: SyncEnd) -> Result<SyncState>;

    /// Notes that a sync failed; what was read stays.
    fn fail_sync(&self, repo: RepoId, error: &str) -> Result<()>;
}

/// What a complete sync leaves behind.
#[derive(Debug, Clone, Default)]
pub struct SyncEnd {
    /// The moment (seconds since 1970).
    pub at: i64,
    /// HEAD or the main branch, if the repository has a commit.
    pub head: Option<CommitId>,
    /// The branch that HEAD or the remote names.
    pub default_branch: Option<String>,
    /// Tips whose whole history is now in the index.
    pub tips: Vec<Tip>,
    /// The boundary of a shallow clone.
    pub shallow: Vec<CommitId>,
    /// Commits that no tip reaches any more.
    pub remove: Vec<CommitId>,
    /// Authors whose mailmap entry differs from what their commits say; replaces the former list.
    pub aliases: Vec<AuthorAlias>,
    /// Left out for reasons that the commits themselves do not tell.
    pub problems: Vec<Problem>,
}

/// A person as commits spell them, and as the mailmap does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorAlias {
    /// As in the commits.
    pub recorded: Person,
    /// As in the mailmap.
    pub mapped: Person,
}

/// Commits that a question is not about although the index holds them: those of branches that it is not about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hidden(HashMap<RepoId, Arc<HashSet<CommitId>>>);

impl Hidden {
    /// Hides these commits of a repository, and no others of it.
    pub fn hide(&mut self, repo: RepoId, commits: Arc<HashSet<CommitId>>) {
        if commits.is_empty() {
            self.0.remove(&repo);
        } else {
            self.0.insert(repo, commits);
        }
    }

    /// Whether a commit is hidden.
    pub fn has(&self, repo: RepoId, commit: CommitId) -> bool {
        self.0.get(&repo).is_some_and(|commits| commits.contains(&commit))
    }

    /// Whether nothing is hidden.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every hidden commit, with its repository.
    pub fn iter(&self) -> impl Iterator<Item = (RepoId, CommitId)> {
        self.0.iter().flat_map(|(repo, commits)| commits.iter().map(|commit| (*repo, *commit)))
    }
}

/// A search over commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitQuery {
    /// Words in FTS5 syntax; where that is not valid syntax, every word counts as quoted.
    pub text: String,
    /// Only these repositories; `None` for all.
    pub repos: Option<Vec<RepoId>>,
    /// What the paths of a repository begin with in this question; nothing where it is not here.
    pub prefixes: Vec<(RepoId, String)>,
    /// None of these commits.
    pub hidden: Hidden,
    /// Only commits with a file whose path contains one of these, ASCII case ignored; empty for all.
    pub paths: Vec<String>,
    /// Only author dates from here on (seconds since 1970).
    pub since: Option<i64>,
    /// Only author dates up to here.
    pub until: Option<i64>,
    /// Only authors whose name or address, recorded or mapped, contains this, ASCII case ignored.
    pub author: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// The answer to a [`CommitQuery`].
#[derive(Debug, Clone, PartialEq)]
pub struct CommitMatches {
    /// The best ones.
    pub hits: Vec<CommitHit>,
    /// Whether more would have matched.
    pub more: bool,
    /// Whether the query was not valid syntax and its words were quoted.
    pub quoted: bool,
}

/// One commit that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitHit {
    /// Its repository.
    pub repo: RepoId,
    /// The commit.
    pub commit: CommitId,
    /// The subject line.
    pub subject: String,
    /// The author's name as recorded.
    pub author: String,
    /// The author date, where git prints one.
    pub author_time: Option<i64>,
    /// Paths that matched the filter, or all of them without one.
    pub matched_paths: Vec<String>,
    /// The beginning of the diff.
    pub patch_preview: String,
    /// Relevance: higher is better, comparable within one answer only.
    pub score: f64,
    /// Whether text above was not UTF-8 and was replaced.
    pub lossy: bool,
}

/// A search for changes of paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchQuery {
    /// The path contains this, ASCII case ignored.
    pub path: String,
    /// Only these repositories; `None` for all.
    pub repos: Option<Vec<RepoId>>,
    /// What the paths of a repository begin with in this question; nothing where it is not here.
    pub prefixes: Vec<(RepoId, String)>,
    /// None of these commits.
    pub hidden: Hidden,
    /// Only author dates from here on.
    pub since: Option<i64>,
    /// Only author dates up to here.
    pub until: Option<i64>,
    /// Only authors whose name or address, recorded or mapped, contains this, ASCII case ignored.
    pub author: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// One file of one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchHit {
    /// Its repository.
    pub repo: RepoId,
    /// The commit.
    pub commit: CommitId,
    /// The subject line.
    pub subject: String,
    /// The author date, where git prints one.
    pub author_time: Option<i64>,
    /// What happened to which file.
    pub change: FileChange,
}

/// A search for files that change together with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoChangeQuery {
    /// The repository.
    pub repo: RepoId,
    /// These commits do not count.
    pub hidden: Hidden,
    /// The files: a commit counts where it changes one of them.
    pub paths: Vec<RepoPath>,
    /// Commits with more files than this say nothing.
    pub max_files: usize,
    /// Only the newest commits of the files count, so many.
    pub max_commits: usize,
    /// At most so many files.
    pub limit: usize,
}

/// The answer to a [`CoChangeQuery`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CoChanges {
    /// How many commits changed the asked files and count.
    pub commits: usize,
    /// How many did and were left out because they change too many files.
    pub too_large: usize,
    /// How many older ones did and were not looked at.
    pub too_old: usize,
    /// The newest subjects of the commits that count.
    pub subjects: Vec<String>,
    /// Earlier names of the asked files.
    pub earlier: Vec<RepoPath>,
    /// The other files: by how many commits changed both, then the newest first, then by path.
    pub files: Vec<CoChange>,
    /// Whether there would have been more.
    pub more: bool,
}

/// A file that changed together with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoChange {
    /// Its path.
    pub path: RepoPath,
    /// How many commits changed both.
    pub support: usize,
    /// The newest of them.
    pub newest: CommitId,
    /// Its subject line.
    pub subject: String,
    /// Its author date, where git prints one.
    pub author_time: Option<i64>,
}

/// Subjects of commits, and the files that they are about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subjects {
    /// Commits, newest first.
    pub commits: Vec<CommitSubject>,
    /// The paths that they name by number.
    pub paths: Vec<RepoPath>,
}

/// The subject of one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitSubject {
    /// The subject line.
    pub subject: String,
    /// How many files the commit changes.
    pub file_count: usize,
    /// The files, or only the renamed ones where there are too many.
    pub files: Vec<SubjectFile>,
}

/// One file of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubjectFile {
    /// The number of its path.
    pub path: u32,
    /// What happened to it.
    pub status: FileStatus,
    /// Where a renamed file was before.
    pub old_path: Option<u32>,
}

/// What a commit says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitMessage {
    /// The commit.
    pub commit: CommitId,
    /// The committer date, where git prints one.
    pub at: Option<i64>,
    /// The author's name, as the mailmap has it.
    pub author: String,
    /// The subject line.
    pub subject: String,
    /// The rest of the message.
    pub body: Option<String>,
}

/// A commit without its patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitDetail {
    /// The commit.
    pub commit: CommitId,
    /// The subject line.
    pub subject: String,
    /// The rest of the message.
    pub body: Option<String>,
    /// The author as recorded.
    pub author: Person,
    /// The author as the mailmap has them, where that differs.
    pub mapped_author: Option<Person>,
    /// The committer as recorded.
    pub committer: Person,
    /// The author date, where git prints one.
    pub author_time: Option<i64>,
    /// The committer date, where git prints one.
    pub commit_time: Option<i64>,
    /// How many parents it has.
    pub parent_count: u32,
    /// Its files, in git's order.
    pub files: Vec<FileChange>,
    /// Why it has no patch, if it has none.
    pub patch_absence: Option<PatchAbsence>,
    /// Whether text above was not UTF-8 and was replaced.
    pub lossy: bool,
}

/// A patch, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchText {
    /// Git's exact bytes.
    Bytes(Vec<u8>),
    /// None is kept.
    Absent(PatchAbsence),
}

/// How large the index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexSize {
    /// Bytes on disk.
    pub bytes: u64,
    /// Commits of all repositories.
    pub commits: u64,
}
