//! The questions: search, touches, one commit, one patch.

use lore_model::{Code, CommitId, CommitPrefix, Failure, PatchAbsence, Repo, RepoId};
use lore_store::{CommitDetail, CommitHit, CommitQuery, PatchText, TouchHit, TouchQuery};

use super::{Freshness, History, named};
use crate::store_failure;

/// No list is longer than this.
pub const LIMIT_MAX: usize = 500;

/// The most paths that are listed of one hit.
pub const MATCHED_PATHS_MAX: usize = 1000;

/// The most files that are listed of one commit.
const CHANGED_FILES_MAX: usize = 10_000;

/// The most repositories or paths that one question may name.
const NAMES_MAX: usize = 5000;

/// The longest text that is searched for.
const TEXT_MAX: usize = 8192;

/// How many candidates an ambiguous prefix lists.
const CANDIDATES_MAX: usize = 10;

/// A search over commits.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    /// Words, in FTS5 syntax where that is valid.
    pub query: String,
    /// Only these repositories; empty for all.
    pub repos: Vec<String>,
    /// Only commits with a file whose path contains one of these.
    pub paths: Vec<String>,
    /// Only author dates from here on.
    pub since: Option<i64>,
    /// Only author dates up to here.
    pub until: Option<i64>,
    /// Only authors whose name or address contains this.
    pub author: Option<String>,
    /// At most so many (clamped to 1–500).
    pub limit: i64,
}

/// The answer to a search.
#[derive(Debug)]
pub struct SearchAnswer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Whether more would have matched.
    pub more: bool,
    /// Whether the query was no valid syntax and its words were quoted.
    pub quoted: bool,
    /// The limit that was applied, where it is not the one asked for.
    pub clamped: Option<usize>,
    /// How fresh the index is.
    pub freshness: Freshness,
}

/// A commit that was found, with its repository's name.
#[derive(Debug)]
pub struct Hit {
    /// The repository.
    pub repo: String,
    /// The commit.
    pub hit: CommitHit,
    /// How many paths were left out of the list.
    pub paths_left_out: usize,
}

/// A search for changes of paths.
#[derive(Debug, Clone, Default)]
pub struct TouchRequest {
    /// The path contains this.
    pub path: String,
    /// Only these repositories; empty for all.
    pub repos: Vec<String>,
    /// Only author dates from here on.
    pub since: Option<i64>,
    /// Only author dates up to here.
    pub until: Option<i64>,
    /// Only authors whose name or address contains this.
    pub author: Option<String>,
    /// At most so many (clamped to 1–500).
    pub limit: i64,
}

/// The answer to a search for changes.
#[derive(Debug)]
pub struct TouchAnswer {
    /// Newest first.
    pub touches: Vec<Touched>,
    /// Whether more would have matched.
    pub more: bool,
    /// The limit that was applied, where it is not the one asked for.
    pub clamped: Option<usize>,
    /// How fresh the index is.
    pub freshness: Freshness,
}

/// A change of a file, with its repository's name.
#[derive(Debug)]
pub struct Touched {
    /// The repository.
    pub repo: String,
    /// The change.
    pub hit: TouchHit,
}

/// One commit.
#[derive(Debug)]
pub struct CommitAnswer {
    /// The repository.
    pub repo: String,
    /// The commit.
    pub commit: CommitDetail,
    /// How many files were left out of its list.
    pub files_left_out: usize,
    /// How fresh the index is.
    pub freshness: Freshness,
}

/// The patch of one commit.
#[derive(Debug)]
pub struct PatchAnswer {
    /// The repository.
    pub repo: String,
    /// The commit.
    pub commit: CommitId,
    /// Git's exact bytes.
    pub bytes: Vec<u8>,
    /// How fresh the index is.
    pub freshness: Freshness,
}

impl History {
    /// Finds commits by words.
    pub async fn search(&self, request: SearchRequest) -> Result<SearchAnswer, Failure> {
        let text = checked("query", &request.query)?;
        let repos = self.repos().await?;
        let scope = scope(&repos, &request.repos)?;
        let (limit, clamped) = clamp(request.limit);
        request.author.as_deref().map(|author| checked("author", author)).transpose()?;
        few("paths", &request.paths)?;
        for path in &request.paths {
            checked("path", path)?;
        }
        let query = CommitQuery {
            text,
            repos: scope.clone(),
            paths: request.paths,
            since: request.since,
            until: request.until,
            author: request.author,
            limit,
        };
        let found = self.store.search_commits(&query).await.map_err(store_failure)?;
        let hits = found.hits.into_iter().filter_map(|mut hit| {
            let repo = name_of(&repos, hit.repo)?;
            let paths_left_out = hit.matched_paths.len().saturating_sub(MATCHED_PATHS_MAX);
            hit.matched_paths.truncate(MATCHED_PATHS_MAX);
            Some(Hit { repo, hit, paths_left_out })
        });
        let hits: Vec<Hit> = hits.collect();
        let freshness = self.freshness(&repos, scope.as_deref()).await;
        Ok(SearchAnswer { hits, more: found.more, quoted: found.quoted, clamped, freshness })
    }

    /// Finds changes of files by path.
    pub async fn touches(&self, request: TouchRequest) -> Result<TouchAnswer, Failure> {
        let path = checked("path_glob", &request.path)?;
        request.author.as_deref().map(|author| checked("author", author)).transpose()?;
        let repos = self.repos().await?;
        let scope = scope(&repos, &request.repos)?;
        let (limit, clamped) = clamp(request.limit);
        let query = TouchQuery {
            path,
            repos: scope.clone(),
            since: request.since,
            until: request.until,
            author: request.author,
            limit,
        };
        let (hits, more) = self.store.list_touches(&query).await.map_err(store_failure)?;
        let touches =
            hits.into_iter().filter_map(|hit| Some(Touched { repo: name_of(&repos, hit.repo)?, hit })).collect();
        let freshness = self.freshness(&repos, scope.as_deref()).await;
        Ok(TouchAnswer { touches, more, clamped, freshness })
    }

    /// One commit by the beginning of its SHA.
    pub async fn commit(&self, repo: &str, sha: &str) -> Result<CommitAnswer, Failure> {
        let not_found = || Failure::new(Code::CommitNotFound, format!("Commit {repo}:{sha} not found"));
        let (repos, id, commit) = self.resolve(repo, sha, &not_found).await?;
        let commit = self.store.find_commit(id, commit).await.map_err(store_failure)?.ok_or_else(not_found)?;
        let mut commit = commit;
        let files_left_out = commit.files.len().saturating_sub(CHANGED_FILES_MAX);
        commit.files.truncate(CHANGED_FILES_MAX);
        let freshness = self.freshness(&repos, Some(&[id])).await;
        Ok(CommitAnswer { repo: repo.to_owned(), commit, files_left_out, freshness })
    }

    /// The patch of one commit by the beginning of its SHA.
    pub async fn patch(&self, repo: &str, sha: &str) -> Result<PatchAnswer, Failure> {
        let not_found = || Failure::new(Code::PatchNotFound, format!("Patch {repo}:{sha} not found"));
        let (repos, id, commit) = self.resolve(repo, sha, &not_found).await?;
        let bytes = match self.store.find_patch(id, commit).await.map_err(store_failure)? {
            Some(PatchText::Bytes(bytes)) => bytes,
            Some(PatchText::Absent(why)) => return Err(not_found().hint(absence_hint(why))),
            None => return Err(not_found()),
        };
        let freshness = self.freshness(&repos, Some(&[id])).await;
        Ok(PatchAnswer { repo: repo.to_owned(), commit, bytes, freshness })
    }

    /// The commit that the text names, together with its repository.
    async fn resolve(
        &self,
        repo: &str,
        sha: &str,
        not_found: &(dyn Fn() -> Failure + Sync),
    ) -> Result<(Vec<Repo>, RepoId, CommitId), Failure> {
        let prefix = CommitPrefix::parse(sha).map_err(|message| {
            Failure::new(Code::InvalidArgument, message).hint("take the `sha` of a search or touches result")
        })?;
        let repos = self.repos().await?;
        let id = named(&repos, repo)?.id;
        let candidates = self.store.list_candidates(id, &prefix, CANDIDATES_MAX + 1).await.map_err(store_failure)?;
        match candidates.as_slice() {
            [] => Err(not_found().hint(format!(
                "no commit of {repo} begins with these digits: a search or touches result names it, and `lore status` shows how fresh the index is"
            ))),
            [commit] => Ok((repos, id, *commit)),
            several => {
                let mut list: Vec<String> = several.iter().take(CANDIDATES_MAX).map(CommitId::to_hex).collect();
                if several.len() > CANDIDATES_MAX {
                    list.push("and more".to_owned());
                }
                let message = format!("The prefix {sha} is ambiguous in {repo}. Candidates: {}", list.join(", "));
                Err(Failure::new(Code::AmbiguousCommit, message).hint("give more digits"))
            }
        }
    }
}

/// What to tell where a commit is known and its patch is not.
fn absence_hint(why: PatchAbsence) -> String {
    format!("no patch is stored because {}; the commit's message and file list are there", why.reason())
}

/// A text that is worth searching for.
fn checked(name: &str, text: &str) -> Result<String, Failure> {
    if text.trim_matches(|c: char| c.is_whitespace() || c == '\0').is_empty() {
        return Err(Failure::new(Code::InvalidArgument, format!("`{name}` is empty"))
            .hint(format!("say in `{name}` what to look for")));
    }
    if text.len() > TEXT_MAX {
        return Err(Failure::new(Code::InvalidArgument, format!("`{name}` has {} bytes", text.len()))
            .hint(format!("use at most {TEXT_MAX}")));
    }
    Ok(text.to_owned())
}

fn clamp(limit: i64) -> (usize, Option<usize>) {
    let applied = usize::try_from(limit.max(1)).unwrap_or(LIMIT_MAX).min(LIMIT_MAX);
    (applied, (i64::try_from(applied).ok() != Some(limit)).then_some(applied))
}

/// A list that is short enough to be meant.
fn few(name: &str, list: &[String]) -> Result<(), Failure> {
    if list.len() <= NAMES_MAX {
        return Ok(());
    }
    Err(Failure::new(Code::InvalidArgument, format!("`{name}` names {}", list.len()))
        .hint(format!("name at most {NAMES_MAX}")))
}

fn scope(repos: &[Repo], names: &[String]) -> Result<Option<Vec<RepoId>>, Failure> {
    if names.is_empty() {
        return Ok(None);
    }
    few("repos", names)?;
    names.iter().map(|name| named(repos, name).map(|repo| repo.id)).collect::<Result<_, _>>().map(Some)
}

/// The name of a repository; `None` where it was registered after the list was taken.
fn name_of(repos: &[Repo], id: RepoId) -> Option<String> {
    repos.iter().find(|repo| repo.id == id).map(|repo| repo.name().to_owned())
}
