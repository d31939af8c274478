//! Which files change together with others, in their repository and, by keys of issues, in others.

use std::path::{Path, PathBuf};

use lore_git::{Repository, TreeLimits};
use lore_model::{Code, CommitId, Failure, Repo, RepoPath, Source};
use lore_store::{CoChange, CoChangeQuery, CoChanges, CommitHit, CommitQuery};

use super::{
    file::path_in,
    keys::{keys_in, slug},
};
use crate::{Lore, files::nearest_path, history::Freshness, store_failure};

/// Commits with more files than this say nothing of what belongs together.
pub const MAX_FILES: usize = 50;

/// No list is longer than this.
pub const LIMIT_MAX: usize = 200;

/// Only so many of the newest commits count: a file that every commit changes says nothing anyway.
const MAX_COMMITS: usize = 20_000;

/// So many files may be asked about at once.
const ASKED_MAX: usize = 50;

/// So many of the newest keys are looked for in other repositories, and so many commits are looked at.
const KEYS_MAX: usize = 30;
const OTHERS_MAX: usize = 100;

/// So many commits of another repository are told for one key.
const OTHERS_SHOWN: usize = 3;

/// A question about what changes together.
#[derive(Debug, Clone)]
pub struct CoChangeRequest {
    /// The folder of the project.
    pub folder: PathBuf,
    /// Another registered repository than the project.
    pub repo: Option<String>,
    /// The repository itself, where the caller has found it already, on the branch that it is asked about; then neither
    /// project nor name counts.
    pub known: Option<Repo>,
    /// What relative paths count from; the repository's root where nothing is said.
    pub from: Option<PathBuf>,
    /// The files.
    pub files: Vec<PathBuf>,
    /// The repositories whose commits may be told of besides, on the branches that they are asked about; `None` for all.
    pub others: Option<Vec<Repo>>,
    /// At most so many (clamped to 1–200).
    pub limit: i64,
}

/// The answer.
#[derive(Debug)]
pub struct CoChangeAnswer {
    /// The repository.
    pub repo: String,
    /// The files that were asked about.
    pub asked: Vec<RepoPath>,
    /// Their earlier names.
    pub earlier: Vec<RepoPath>,
    /// How many commits changed them and count.
    pub commits: usize,
    /// How many did and were left out because they change more than [`MAX_FILES`] files.
    pub too_large: usize,
    /// How many older ones did and were not looked at.
    pub too_old: usize,
    /// The files among those asked about that no commit changed.
    pub unchanged: Vec<Unchanged>,
    /// The other files, the most often changed first.
    pub files: Vec<CoChanged>,
    /// Whether there would have been more.
    pub more: bool,
    /// Commits of other repositories about the same issues.
    pub others: Vec<OtherRepo>,
    /// How fresh the index is.
    pub freshness: Freshness,
}

/// A file that no commit changed.
#[derive(Debug)]
pub struct Unchanged {
    /// The file.
    pub path: RepoPath,
    /// Whether it exists, in the work tree or in the newest commit.
    pub exists: bool,
    /// The file that was probably meant, where it does not exist.
    pub near: Option<String>,
}

/// A file that changes together with others.
#[derive(Debug)]
pub struct CoChanged {
    /// What is known of it.
    pub file: CoChange,
    /// Of all commits that changed the asked files, the share that changed this one too.
    pub confidence: f64,
    /// Whether it is not there any more.
    pub gone: bool,
}

/// What was done in another repository about the same issue.
#[derive(Debug)]
pub struct OtherRepo {
    /// The repository.
    pub repo: String,
    /// The key of the issue.
    pub key: String,
    /// The commits that name it: the first ones.
    pub commits: Vec<OtherCommit>,
    /// How many more there are at least.
    pub more: usize,
}

/// A commit of another repository.
#[derive(Debug)]
pub struct OtherCommit {
    /// The commit.
    pub commit: CommitId,
    /// The subject line.
    pub subject: String,
    /// The author date, where git prints one.
    pub author_time: Option<i64>,
}

impl Lore {
    /// Tells which files change together with these.
    pub fn co_changed(&self, request: &CoChangeRequest) -> Result<CoChangeAnswer, Failure> {
        if request.files.is_empty() || request.files.len() > ASKED_MAX {
            return Err(Failure::new(Code::InvalidArgument, format!("`files` names {}", request.files.len()))
                .hint(format!("name 1 to {ASKED_MAX} files")));
        }
        let (repo, place) = match &request.known {
            Some(repo) => (repo.clone(), repo.info.local_path.clone()),
            None => self.find_place(&request.folder, request.repo.as_deref())?,
        };
        let path = |file: &PathBuf| path_in(&place, request.from.as_deref(), file);
        let asked = request.files.iter().map(path).collect::<Result<Vec<_>, _>>()?;
        let limit = usize::try_from(request.limit.max(1)).unwrap_or(LIMIT_MAX).min(LIMIT_MAX);
        let query = CoChangeQuery {
            repo: repo.id,
            hidden: self.history.hidden(std::slice::from_ref(&repo))?,
            paths: asked.clone(),
            max_files: MAX_FILES,
            max_commits: MAX_COMMITS,
            limit,
        };
        let found = self.history.store().list_co_changes(&query).map_err(store_failure)?;
        let unchanged = self.unchanged(&query, &found)?;
        let unchanged = look_for(&place, repo.shown.as_deref(), unchanged);
        let paths: Vec<RepoPath> = found.files.iter().map(|file| file.path.clone()).collect();
        let shown = repo.shown.clone();
        let gone = gone(&place, shown.as_deref(), &paths);
        #[expect(clippy::cast_precision_loss, reason = "a share needs no precision")]
        let confidence = |support: usize| support as f64 / found.commits.max(1) as f64;
        let files = found.files.into_iter().zip(gone);
        let files = files.map(|(file, gone)| CoChanged { confidence: confidence(file.support), gone, file }).collect();
        let mut told = match &request.others {
            Some(others) => others.clone(),
            None => self.history.repos()?,
        };
        told.retain(|other| other.id != repo.id);
        let others = self.others(&repo, &told, &found.subjects)?;
        let freshness = self.history.freshness(std::slice::from_ref(&repo), None);
        Ok(CoChangeAnswer {
            repo: repo.name().to_owned(),
            asked,
            earlier: found.earlier,
            commits: found.commits,
            too_large: found.too_large,
            too_old: found.too_old,
            unchanged,
            files,
            more: found.more,
            others,
            freshness,
        })
    }

    /// The files that no commit changed.
    fn unchanged(&self, query: &CoChangeQuery, found: &CoChanges) -> Result<Vec<RepoPath>, Failure> {
        let changed_by = |found: &CoChanges| found.commits + found.too_large + found.too_old;
        if let [_] = query.paths.as_slice() {
            return Ok(if changed_by(found) == 0 { query.paths.clone() } else { Vec::new() });
        }
        let mut unchanged = Vec::new();
        for path in &query.paths {
            let alone = CoChangeQuery { paths: vec![path.clone()], limit: 1, max_commits: 1, ..query.clone() };
            let found = self.history.store().list_co_changes(&alone).map_err(store_failure)?;
            if changed_by(&found) == 0 {
                unchanged.push(path.clone());
            }
        }
        Ok(unchanged)
    }

    /// Commits of other repositories whose subjects name the same issues as these.
    fn others(&self, repo: &Repo, repos: &[Repo], subjects: &[String]) -> Result<Vec<OtherRepo>, Failure> {
        if repos.is_empty() {
            return Ok(Vec::new());
        }
        let all: Vec<Repo> = std::iter::once(repo).chain(repos).cloned().collect();
        let mut slugs: Vec<Option<String>> = all.iter().map(slug_of).collect();
        let own = slugs.remove(0);
        let mut keys: Vec<String> = Vec::new();
        for key in subjects.iter().flat_map(|subject| keys_in(subject, own.as_deref())) {
            if keys.len() < KEYS_MAX && !keys.contains(&key) {
                keys.push(key);
            }
        }
        // Another copy of the same repository says nothing new.
        let is_other = |(_, slug): &(&Repo, &Option<String>)| slug.is_none() || **slug != own;
        let others: Vec<(&Repo, &Option<String>)> = repos.iter().zip(&slugs).filter(is_other).collect();
        if keys.is_empty() || others.is_empty() {
            return Ok(Vec::new());
        }
        let phrases: Vec<String> = keys.iter().map(|key| format!("\"{key}\"")).collect();
        let query = CommitQuery {
            text: format!("subject : ({})", phrases.join(" OR ")),
            repos: Some(others.iter().map(|(other, _)| other.id).collect()),
            prefixes: Vec::new(),
            hidden: self.history.hidden(repos)?,
            paths: Vec::new(),
            since: None,
            until: None,
            author: None,
            limit: OTHERS_MAX,
        };
        let mut hits = self.history.store().search_commits(&query).map_err(store_failure)?.hits;
        hits.sort_by(|a, b| b.author_time.cmp(&a.author_time).then(a.commit.cmp(&b.commit)));
        let mut found: Vec<OtherRepo> = Vec::new();
        for hit in hits {
            let Some((other, slug)) = others.iter().find(|(other, _)| other.id == hit.repo) else { continue };
            // The index finds words; the key must be written as a key.
            let named = keys_in(&hit.subject, slug.as_deref());
            // The same commit in both is one piece of work, seen twice.
            if !keys.iter().any(|key| named.contains(key)) || self.has_commit(repo, &hit)? {
                continue;
            }
            for key in keys.iter().filter(|key| named.contains(key)) {
                add(&mut found, other.name(), key, &hit);
            }
        }
        Ok(found)
    }

    fn has_commit(&self, repo: &Repo, hit: &CommitHit) -> Result<bool, Failure> {
        let hidden = self.history.hidden(std::slice::from_ref(repo))?;
        let found = self.history.store().find_commit(repo.id, hit.commit).map_err(store_failure)?;
        Ok(found.is_some() && !hidden.has(repo.id, hit.commit))
    }
}

fn add(found: &mut Vec<OtherRepo>, repo: &str, key: &str, hit: &CommitHit) {
    let at = found.iter().position(|other| other.repo == repo && other.key == key).unwrap_or_else(|| {
        found.push(OtherRepo { repo: repo.to_owned(), key: key.to_owned(), commits: Vec::new(), more: 0 });
        found.len() - 1
    });
    let other = &mut found[at];
    if other.commits.len() == OTHERS_SHOWN {
        other.more += 1;
        return;
    }
    other.commits.push(OtherCommit { commit: hit.commit, subject: hit.subject.clone(), author_time: hit.author_time });
}

/// Whether each of these files is missing from the branch that is asked about, or from what is checked out.
fn gone(place: &Path, shown: Option<&str>, paths: &[RepoPath]) -> Vec<bool> {
    let at = |repository: &Repository| -> lore_git::Result<_> {
        Ok(match shown {
            Some(branch) => repository.find_branch(branch)?.map(|tip| tip.commit),
            None => repository.head()?.commit,
        })
    };
    let at = Repository::open(place).and_then(|repository| Ok((at(&repository)?, repository)));
    match at {
        Ok((Some(commit), repository)) => {
            paths.iter().map(|path| repository.has_file(commit, path) == Some(false)).collect()
        }
        // Where nothing is known, nothing is said.
        Ok((None, _)) | Err(_) => vec![false; paths.len()],
    }
}

/// Whether files exist that no commit changed, and which were meant by those that do not.
fn look_for(place: &Path, shown: Option<&str>, paths: Vec<RepoPath>) -> Vec<Unchanged> {
    if paths.is_empty() {
        return Vec::new();
    }
    let repository = Repository::open(place).ok();
    let commit = repository.as_ref().and_then(|repository| match shown {
        Some(branch) => Some(repository.find_branch(branch).ok()??.commit),
        None => repository.head().ok()?.commit,
    });
    let tree = repository.as_ref().zip(commit).and_then(|(repo, at)| repo.tree_of(at, &TreeLimits::default()).ok());
    let known: Vec<_> = tree.iter().flat_map(|tree| &tree.files).map(|file| file.path.to_text()).collect();
    let in_work_tree = |path: &RepoPath| {
        let root = repository.as_ref().and_then(Repository::work_tree).filter(|_| shown.is_none());
        root.is_some_and(|root| root.join(&*path.to_text()).symlink_metadata().is_ok())
    };
    let look = |path: RepoPath| {
        let text = path.to_text();
        let exists = known.contains(&text) || in_work_tree(&path);
        let near = (!exists).then(|| nearest_path(&text, known.iter().map(AsRef::as_ref)).map(str::to_owned)).flatten();
        Unchanged { exists, near, path: path.clone() }
    };
    paths.into_iter().map(look).collect()
}

/// `owner/name` of a repository, where its address tells.
fn slug_of(repo: &Repo) -> Option<String> {
    match &repo.info.source {
        Source::Url(url) => slug(url),
        Source::Local => slug(&Repository::open(&repo.info.local_path).ok()?.origin_url()?),
    }
}
