//! The questions: search, touches, one commit, one patch.

use std::path::Path;

use lore_git::Repository;
use lore_model::{Code, CommitId, CommitPrefix, Failure, PatchAbsence, Repo, RepoId, brief};
use lore_store::{CommitDetail, CommitHit, CommitQuery, PatchText, TouchHit, TouchQuery};

use super::{Freshness, History, named};
use crate::{search::prefixes, store_failure};

/// No list is longer than this.
pub const LIMIT_MAX: usize = 500;

/// The most paths that are listed of one hit.
const MATCHED_PATHS_MAX: usize = 1000;

/// The most files that are listed of one commit.
const CHANGED_FILES_MAX: usize = 10_000;

/// The most names of repositories, extensions and the like that one question may have.
const NAMES_MAX: usize = 5000;

/// The most paths that one question may have: SQLite nests a condition for each.
const PATHS_MAX: usize = 500;

/// The longest text that is searched for.
const TEXT_MAX: usize = 8192;

/// How many candidates an ambiguous prefix lists.
const CANDIDATES_MAX: usize = 10;

/// Which repositories a question is about.
#[derive(Debug, Clone, Default)]
pub enum Repos {
    /// Every registered one.
    #[default]
    All,
    /// Those of these names.
    Named(Vec<String>),
    /// These, which the caller has found already, each on the branch and under the name that they are asked about.
    Known(Vec<Repo>),
}

impl From<Vec<String>> for Repos {
    /// No names mean every repository.
    fn from(names: Vec<String>) -> Self {
        if names.is_empty() { Self::All } else { Self::Named(names) }
    }
}

/// A search over commits.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    /// Words, in FTS5 syntax where that is valid.
    pub query: String,
    /// In which repositories.
    pub repos: Repos,
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
    /// In which repositories.
    pub repos: Repos,
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
    pub fn search(&self, request: SearchRequest) -> Result<SearchAnswer, Failure> {
        let text = checked("query", &request.query)?;
        let (repos, scope) = self.scope(request.repos)?;
        let (limit, clamped) = clamp(request.limit);
        request.author.as_deref().map(|author| checked("author", author)).transpose()?;
        at_most("paths", &request.paths, PATHS_MAX)?;
        for path in &request.paths {
            checked("path", path)?;
        }
        let query = CommitQuery {
            text,
            hidden: self.hidden(&repos)?,
            prefixes: prefixes(&repos),
            repos: scope.clone(),
            paths: request.paths,
            since: request.since,
            until: request.until,
            author: request.author,
            limit,
        };
        let found = self.store.search_commits(&query).map_err(store_failure)?;
        let hits = found.hits.into_iter().filter_map(|mut hit| {
            let repo = name_of(&repos, hit.repo)?;
            let paths_left_out = hit.matched_paths.len().saturating_sub(MATCHED_PATHS_MAX);
            hit.matched_paths.truncate(MATCHED_PATHS_MAX);
            Some(Hit { repo, hit, paths_left_out })
        });
        let hits: Vec<Hit> = hits.collect();
        let freshness = self.freshness(&repos, scope.as_deref());
        Ok(SearchAnswer { hits, more: found.more, quoted: found.quoted, clamped, freshness })
    }

    /// Finds changes of files by path.
    pub fn touches(&self, request: TouchRequest) -> Result<TouchAnswer, Failure> {
        let path = checked("path_glob", &request.path)?;
        request.author.as_deref().map(|author| checked("author", author)).transpose()?;
        let (repos, scope) = self.scope(request.repos)?;
        let (limit, clamped) = clamp(request.limit);
        let query = TouchQuery {
            path,
            hidden: self.hidden(&repos)?,
            prefixes: prefixes(&repos),
            repos: scope.clone(),
            since: request.since,
            until: request.until,
            author: request.author,
            limit,
        };
        let (hits, more) = self.store.list_touches(&query).map_err(store_failure)?;
        let touches =
            hits.into_iter().filter_map(|hit| Some(Touched { repo: name_of(&repos, hit.repo)?, hit })).collect();
        let freshness = self.freshness(&repos, scope.as_deref());
        Ok(TouchAnswer { touches, more, clamped, freshness })
    }

    /// One commit by the beginning of its SHA, or by a name as git understands it from a work tree: a tag, a branch, `HEAD~5`.
    /// Where no work tree is given, it is the registered one.
    pub fn commit(&self, repo: &Repo, place: Option<&Path>, sha: &str) -> Result<CommitAnswer, Failure> {
        let name = repo.name();
        let not_found = || Failure::new(Code::CommitNotFound, format!("Commit {name}:{} not found", brief(sha)));
        let commit = self.resolve(repo, place, sha, &not_found)?;
        let commit = self.store.find_commit(repo.id, commit).map_err(store_failure)?.ok_or_else(not_found)?;
        let mut commit = commit;
        let files_left_out = commit.files.len().saturating_sub(CHANGED_FILES_MAX);
        commit.files.truncate(CHANGED_FILES_MAX);
        let freshness = self.freshness(std::slice::from_ref(repo), None);
        Ok(CommitAnswer { repo: name.to_owned(), commit, files_left_out, freshness })
    }

    /// The patch of one commit, named like it.
    pub fn patch(&self, repo: &Repo, place: Option<&Path>, sha: &str) -> Result<PatchAnswer, Failure> {
        let name = repo.name();
        let not_found = || Failure::new(Code::PatchNotFound, format!("Patch {name}:{} not found", brief(sha)));
        let commit = self.resolve(repo, place, sha, &not_found)?;
        let bytes = match self.store.find_patch(repo.id, commit).map_err(store_failure)? {
            Some(PatchText::Bytes(bytes)) => bytes,
            Some(PatchText::Absent(why)) => return Err(not_found().hint(absence_hint(why))),
            None => return Err(not_found()),
        };
        let freshness = self.freshness(std::slice::from_ref(repo), None);
        Ok(PatchAnswer { repo: name.to_owned(), commit, bytes, freshness })
    }

    /// The commit that the text names.
    fn resolve(
        &self,
        repo: &Repo,
        place: Option<&Path>,
        text: &str,
        not_found: &(dyn Fn() -> Failure + Sync),
    ) -> Result<CommitId, Failure> {
        let (name, text) = (repo.name(), text.trim());
        let digits = CommitPrefix::parse(text);
        let named = named_by_git(repo, place, text, digits.as_ref().ok());
        if let Ok(Some(commit)) = named {
            let whole = CommitPrefix::parse(&commit.to_hex()).map_err(|why| Failure::new(Code::Internal, why))?;
            if let Some(commit) = self.beginning_with(repo, &whole)? {
                return Ok(commit);
            }
        }
        let hint = match (digits, named) {
            (Ok(prefix), _) => match self.beginning_with(repo, &prefix)? {
                Some(commit) => return Ok(commit),
                None => format!(
                    "no commit of {name} begins with these digits: a search or touches result names it, and `lore status` shows how fresh the index is"
                ),
            },
            (Err(why), _) if text.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                return Err(
                    Failure::new(Code::InvalidArgument, why).hint("take the `sha` of a search or touches result")
                );
            }
            (Err(_), Ok(Some(commit))) if !repo.is_one_branch() => {
                format!(
                    "`{}` is {commit}, which is not indexed: `lore status` shows how fresh the index is",
                    brief(text)
                )
            }
            // What is there of other branches is not told from what is not there.
            (Err(_), Ok(_)) => {
                format!("{name} has no commit, tag or branch of that name: a search or touches result has the `sha`")
            }
            (Err(_), Err(_)) => {
                format!("{name} cannot be asked for names now: give the `sha` of a search or touches result")
            }
        };
        Err(not_found().hint(hint))
    }

    /// The only commit whose SHA begins so.
    fn beginning_with(&self, repo: &Repo, prefix: &CommitPrefix) -> Result<Option<CommitId>, Failure> {
        let hidden = self.hidden(std::slice::from_ref(repo))?;
        let candidates = self.store.list_candidates(repo.id, prefix, &hidden, CANDIDATES_MAX + 1);
        match candidates.map_err(store_failure)?.as_slice() {
            [] => Ok(None),
            [commit] => Ok(Some(*commit)),
            several => {
                let mut list: Vec<String> = several.iter().take(CANDIDATES_MAX).map(CommitId::to_hex).collect();
                if several.len() > CANDIDATES_MAX {
                    list.push("and more".to_owned());
                }
                let (name, digits) = (repo.name(), prefix.as_str());
                let message = format!("The prefix {digits} is ambiguous in {name}. Candidates: {}", list.join(", "));
                Err(Failure::new(Code::AmbiguousCommit, message).hint("give more digits"))
            }
        }
    }

    /// The repositories that answers may name, and the ids of those that are asked; `None` for all.
    fn scope(&self, asked: Repos) -> Result<(Vec<Repo>, Option<Vec<RepoId>>), Failure> {
        match asked {
            Repos::All => Ok((self.repos()?, None)),
            Repos::Named(names) => {
                few("repos", &names)?;
                let repos = self.repos()?;
                let ids = names.iter().map(|name| named(&repos, name).map(|repo| repo.id)).collect::<Result<_, _>>()?;
                Ok((repos, Some(ids)))
            }
            Repos::Known(repos) => {
                let ids = repos.iter().map(|repo| repo.id).collect();
                Ok((repos, Some(ids)))
            }
        }
    }
}

/// What git takes a text for. Digits are the beginning of a SHA, unless something is called so; all of them are one in any case.
fn named_by_git(
    repo: &Repo,
    place: Option<&Path>,
    text: &str,
    digits: Option<&CommitPrefix>,
) -> lore_git::Result<Option<CommitId>> {
    if digits.is_some_and(CommitPrefix::is_whole) {
        return Ok(None);
    }
    let repository = Repository::open(place.unwrap_or(&repo.info.local_path))?;
    if digits.is_some() && !repository.has_ref(text) {
        return Ok(None);
    }
    repository.resolve_on(text, repo.shown.as_deref())
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

/// Refuses a list under that name which is too long to be meant.
pub fn few(name: &str, list: &[String]) -> Result<(), Failure> {
    at_most(name, list, NAMES_MAX)
}

fn at_most(name: &str, list: &[String], most: usize) -> Result<(), Failure> {
    if list.len() <= most {
        return Ok(());
    }
    Err(Failure::new(Code::InvalidArgument, format!("`{name}` names {}", list.len()))
        .hint(format!("name at most {most}")))
}

/// The name of a repository; `None` where it was registered after the list was taken.
fn name_of(repos: &[Repo], id: RepoId) -> Option<String> {
    repos.iter().find(|repo| repo.id == id).map(|repo| repo.name().to_owned())
}
