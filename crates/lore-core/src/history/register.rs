//! Registering repositories and forgetting them.

use std::{
    collections::HashMap,
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use lore_git::{CloneUrl, GitError, Mirror, Reader, Repository, is_branch_name};
use lore_model::{BranchChoice, Code, DEFAULT_EXCLUDES, Failure, NewRepo, Repo, RepoName, Source, brief};
use lore_store::HistoryWriter;

use super::History;
use crate::{git_failure, store_failure};

/// What is to be registered.
#[derive(Debug, Clone)]
pub enum Target {
    /// A folder inside a repository on this machine.
    Folder(PathBuf),
    /// A repository elsewhere.
    Url(String),
}

impl Target {
    /// Reads what a user typed: a URL where it looks like one and no such folder exists.
    pub fn parse(text: &OsStr) -> Self {
        match text.to_str().filter(|text| CloneUrl::looks_like(text)) {
            Some(url) if !Path::new(url).exists() => Self::Url(url.to_owned()),
            _ => Self::Folder(text.into()),
        }
    }
}

/// How a repository is to be registered.
#[derive(Debug, Clone)]
pub struct AddRequest {
    /// Which one.
    pub target: Target,
    /// Its name; `None` for the folder's or the URL's last part.
    pub name: Option<String>,
    /// Prefixes to leave out beside the default ones.
    pub excludes: Vec<String>,
    /// Whether the default prefixes are left out.
    pub default_excludes: bool,
    /// Keeps only commits of these authors.
    pub author: Option<String>,
    /// Which branches to index.
    pub branches: BranchChoice,
    /// What it was forked from.
    pub fork_of: Option<String>,
    /// Its main branch, where known.
    pub default_branch: Option<String>,
}

impl AddRequest {
    /// Registers with every option at its default.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            name: None,
            excludes: Vec::new(),
            default_excludes: true,
            author: None,
            branches: BranchChoice::Default,
            fork_of: None,
            default_branch: None,
        }
    }
}

impl History {
    /// Registers a repository; nothing of it is read yet.
    pub fn add(&self, writer: &dyn HistoryWriter, request: AddRequest) -> Result<Repo, Failure> {
        let invalid = |message: String| Failure::new(Code::InvalidArgument, message);
        let given = request.name.as_deref().map(RepoName::parse).transpose().map_err(invalid)?;
        let excludes = excludes(&request)?;
        let (source, folder, suggested) = match &request.target {
            Target::Url(url) => {
                let url = CloneUrl::parse(url).map_err(git_failure)?;
                (Source::Url(url.as_str().to_owned()), None, url.base_name().to_owned())
            }
            Target::Folder(folder) => {
                let path = open_root(folder, &request.branches)?;
                let name = path.file_name().unwrap_or_default().to_string_lossy().trim_end_matches(".git").to_owned();
                (Source::Local, Some(path), name)
            }
        };
        let repos = self.repos()?;
        let name = given.unwrap_or_else(|| free_name(&suggested, &repos));
        let local_path = folder.unwrap_or_else(|| self.places.clones.join(format!("{name}.git")));
        let new = NewRepo {
            name,
            local_path,
            source,
            default_branch: request.default_branch,
            excludes,
            author_filter: request.author.filter(|text| !text.trim().is_empty()),
            fork_of: request.fork_of,
            branches: request.branches,
        };
        let repo = writer.add_repo(&new, self.clock.now()).map_err(store_failure)?;
        // A mirror that an interrupted removal left behind is nobody's.
        let same = |other: &Repo| {
            other.info.local_path.to_string_lossy().to_lowercase()
                == repo.info.local_path.to_string_lossy().to_lowercase()
        };
        if matches!(repo.info.source, Source::Url(_)) && repo.info.local_path.exists() && !repos.iter().any(same) {
            let path = repo.info.local_path.clone();
            std::fs::remove_dir_all(&path).map_err(|source| git_failure(GitError::Io { path, source }))?;
        }
        Ok(repo)
    }

    /// Gives a repository another name to be asked by.
    pub fn add_alias(&self, writer: &dyn HistoryWriter, repo: &Repo, alias: &RepoName) -> Result<(), Failure> {
        let mut aliases = self.get_repo(repo.id)?.aliases;
        aliases.push(alias.clone());
        writer.set_aliases(repo.id, &aliases).map_err(store_failure)
    }

    /// Takes such a name away from it.
    pub fn remove_alias(&self, writer: &dyn HistoryWriter, repo: &Repo, alias: &str) -> Result<(), Failure> {
        let mut aliases = self.get_repo(repo.id)?.aliases;
        aliases.retain(|known| known.as_str() != alias);
        writer.set_aliases(repo.id, &aliases).map_err(store_failure)
    }

    /// Chooses other branches of a repository; the next sync reads those that are new and forgets those that are not chosen
    /// any more. Returns it as it is registered now.
    ///
    /// That a branch is there is not asked: one that is not is reported by the sync, which goes on with the others.
    pub fn set_branches(
        &self,
        writer: &dyn HistoryWriter,
        repo: &Repo,
        branches: &BranchChoice,
    ) -> Result<Repo, Failure> {
        if let BranchChoice::Named(names) | BranchChoice::DefaultAnd(names) = branches {
            names.iter().try_for_each(|name| check_branch(name))?;
        }
        writer.set_branches(repo.id, branches).map_err(store_failure)?;
        self.get_repo(repo.id)
    }

    /// Fails where nothing can or may be cloned from this URL. That the network is down is no reason: it may be up later.
    pub fn check_url(&self, url: &str) -> Result<(), Failure> {
        let url = CloneUrl::parse(url).map_err(git_failure)?;
        let Some(policy) = &self.policy else { return Ok(()) };
        match policy.check(&url) {
            Err(error) if !error.is_transient() => Err(git_failure(error)),
            _ => Ok(()),
        }
    }

    /// Forgets a repository, what was read from it, and Lore's own mirror of it.
    pub fn remove(&self, writer: &dyn HistoryWriter, repo: &Repo) -> Result<(), Failure> {
        writer.remove_repo(repo.id).map_err(store_failure)?;
        let key = repo.id.to_string();
        let removed = || {
            Reader::remove(&self.places.git, &key)?;
            let mirror = &repo.info.local_path;
            // Only what lies in Lore's own folder is Lore's to delete.
            if matches!(repo.info.source, Source::Url(_)) && mirror.starts_with(&self.places.clones) {
                Mirror::remove(mirror)?;
            }
            Ok(())
        };
        removed().map_err(git_failure)
    }

    /// What is wrong with Lore's own mirrors of these repositories: the name of each, its place and what git says.
    pub fn check_mirrors(&self, repos: &[Repo]) -> Vec<(String, PathBuf, String)> {
        let git = self.git().clone();
        let mirrors: Vec<(String, PathBuf)> = repos
            .iter()
            .filter(|repo| matches!(repo.info.source, Source::Url(_)) && repo.info.local_path.exists())
            .map(|repo| (repo.name().to_owned(), repo.info.local_path.clone()))
            .collect();
        let look = move || {
            let wrong = |(name, place): (String, PathBuf)| {
                let found = Mirror::check(&git, &place).unwrap_or_else(|error| Some(error.to_string()))?;
                Some((name, place, found))
            };
            Ok::<_, GitError>(mirrors.into_iter().filter_map(wrong).collect())
        };
        look().unwrap_or_default()
    }

    /// Deletes the mirror that an interrupted removal of this repository has left, if nobody has it.
    pub fn remove_left(&self, name: &RepoName) -> Result<(), Failure> {
        let mirror = self.places.clones.join(format!("{name}.git"));
        let folded = |path: &Path| path.to_string_lossy().to_lowercase();
        if self.repos()?.iter().any(|repo| folded(&repo.info.local_path) == folded(&mirror)) {
            return Ok(());
        }
        Mirror::remove(&mirror).map_err(git_failure)
    }

    /// The registered repository that this folder is in, by its place or as another work tree of it.
    pub fn find_project(&self, folder: &Path) -> Result<Option<Repo>, Failure> {
        Ok(self.locate(folder)?.1)
    }

    /// The root of the repository that a folder is in, and the registered repository, if it is.
    pub(crate) fn locate(&self, folder: &Path) -> Result<(PathBuf, Option<Repo>), Failure> {
        let repos = self.repos()?;
        let found = || {
            // In a root that is known, nothing need be read.
            if let Some(place) = self.roots.known(folder)
                && let Some(repo) = repos.iter().find(|repo| repo.info.local_path == place)
            {
                return Ok((place, Some(repo.clone())));
            }
            let here = Repository::discover(folder)?;
            self.roots.remember(folder, here.path());
            let same_place = repos.iter().find(|repo| repo.info.local_path == here.path());
            let same_objects = || {
                let common = here.common_dir();
                let local = repos.iter().filter(|repo| repo.info.source == Source::Local);
                local.into_iter().find(|repo| {
                    Repository::open(&repo.info.local_path).is_ok_and(|other| other.common_dir() == common)
                })
            };
            Ok((here.path().to_owned(), same_place.or_else(same_objects).cloned()))
        };
        found().map_err(git_failure)
    }
}

/// Checks that the folder is in a repository that can be read, and returns its root.
fn open_root(folder: &Path, branches: &BranchChoice) -> Result<PathBuf, Failure> {
    if !folder.exists() {
        return Err(Failure::new(Code::NotARepository, format!("{} does not exist", folder.display()))
            .hint("go into a git repository, or name one: `lore add PATH` takes a folder in it, or a URL to clone"));
    }
    let opened = || {
        let repository = Repository::discover(folder)?;
        let refs = repository.refs(branches, None)?;
        if let Some(branch) = refs.missing.into_iter().next() {
            let known = repository.branch_names()?;
            return Err(GitError::no_such_branch(repository.path(), &branch, &known));
        }
        Ok(repository.path().to_owned())
    };
    opened().map_err(git_failure)
}

/// Folders that are roots of repositories, as long as their `.git` is the one that was seen.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    known: Mutex<HashMap<PathBuf, (PathBuf, SystemTime)>>,
}

impl Roots {
    /// More are not asked about in turn.
    const MOST: usize = 64;

    fn known(&self, folder: &Path) -> Option<PathBuf> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(folder).cloned();
        known.filter(|(_, stamp)| Self::stamp(folder) == Some(*stamp)).map(|(place, _)| place)
    }

    fn remember(&self, folder: &Path, place: &Path) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // From below a root, another repository could come in between.
        match Self::stamp(folder).filter(|_| folder == place) {
            Some(stamp) => {
                if known.len() >= Self::MOST {
                    known.clear();
                }
                known.insert(folder.to_owned(), (place.to_owned(), stamp));
            }
            None => drop(known.remove(folder)),
        }
    }

    /// When the repository was made or taken apart last: its configuration is written then.
    fn stamp(folder: &Path) -> Option<SystemTime> {
        std::fs::metadata(folder.join(".git/config")).and_then(|config| config.modified()).ok()
    }
}

/// Refuses what can be the name of no branch.
pub(super) fn check_branch(name: &str) -> Result<(), Failure> {
    if is_branch_name(name) {
        return Ok(());
    }
    let message = format!("`{}` cannot be the name of a branch", brief(name));
    Err(Failure::new(Code::InvalidArgument, message)
        .hint("name a branch as `git branch --list` does, for example main"))
}

/// The prefixes to leave out, each once.
fn excludes(request: &AddRequest) -> Result<Vec<String>, Failure> {
    let default = DEFAULT_EXCLUDES.iter().filter(|_| request.default_excludes).map(|prefix| (*prefix).to_owned());
    let mut excludes: Vec<String> = default.collect();
    for prefix in &request.excludes {
        // A leading `./` or `/` can only mean the root.
        let prefix = prefix.trim_start_matches("./").trim_start_matches('/');
        if prefix.is_empty() {
            return Err(Failure::new(
                Code::InvalidArgument,
                "an exclude prefix is empty: it would leave out everything",
            )
            .hint("give the beginning of a path, for example `--exclude generated/`"));
        }
        if !excludes.iter().any(|known| known == prefix) {
            excludes.push(prefix.to_owned());
        }
    }
    Ok(excludes)
}

/// The suggested name, with a number where it is taken.
fn free_name(suggested: &str, repos: &[Repo]) -> RepoName {
    let first = RepoName::from_any(suggested);
    let taken = |name: &RepoName| repos.iter().any(|repo| repo.answers_to(name.as_str()));
    if !taken(&first) {
        return first;
    }
    let numbered = (2..).map(|number| RepoName::from_any(&format!("{first}-{number}")));
    numbered.into_iter().find(|name| !taken(name)).unwrap_or(first)
}
