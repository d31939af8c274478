//! A registered repository: where it is, what of it is indexed, and how far that has come.

use std::{fmt, path::PathBuf};

use crate::{CommitId, RepoId, brief};

/// Root prefixes that are left out of file lists, patches and full text unless lifted.
pub const DEFAULT_EXCLUDES: [&str; 4] = ["node_modules/", "vendor/", "dist/", ".git/"];

/// A repository's name: what people and agents call it, unique in an index.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepoName(String);

impl RepoName {
    /// Accepts 1 to 100 letters, digits, `.`, `_`, `-`, beginning with a letter or a digit; says what is wrong otherwise.
    pub fn parse(text: &str) -> Result<Self, String> {
        let allowed = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
        let quoted = brief(text);
        if text.is_empty() || text.chars().count() > 100 {
            return Err(format!("`{quoted}` cannot name a repository: use 1 to 100 characters"));
        }
        if !text.starts_with(char::is_alphanumeric) || !text.chars().all(allowed) {
            return Err(format!(
                "`{quoted}` cannot name a repository: use letters, digits, `.`, `_` and `-`, beginning with a letter or a digit"
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// Makes a name out of any text, for example a folder's.
    pub fn from_any(text: &str) -> Self {
        let cleaned: String = text
            .chars()
            .map(|c| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
            .skip_while(|c| !c.is_alphanumeric())
            .take(100)
            .collect();
        Self(if cleaned.is_empty() { "repo".to_owned() } else { cleaned })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name in small letters, by which two are told apart: those that differ in case alone would be taken for each other.
    pub fn folded(&self) -> String {
        self.0.to_lowercase()
    }
}

impl fmt::Display for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a repository comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A repository of the user's, read where it stands.
    Local,
    /// A URL, mirrored into a bare clone of Lore's own and fetched at every sync.
    Url(String),
}

/// Which branches are indexed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum BranchChoice {
    /// The default branch, and HEAD of a local repository.
    #[default]
    Default,
    /// The same (wherever the remote's HEAD points), and these branches.
    DefaultAnd(Vec<String>),
    /// These branches.
    Named(Vec<String>),
    /// Every branch.
    All,
}

/// What is said of a repository when it is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRepo {
    /// Its name.
    pub name: RepoName,
    /// The repository on disk: the user's, or Lore's own mirror.
    pub local_path: PathBuf,
    /// Where it comes from.
    pub source: Source,
    /// The branch that counts as its main line, where known.
    pub default_branch: Option<String>,
    /// Prefixes of paths that are left out.
    pub excludes: Vec<String>,
    /// Only commits whose author matches this text are kept.
    pub author_filter: Option<String>,
    /// The name or URL of the repository it was forked from.
    pub fork_of: Option<String>,
    /// Which branches are indexed.
    pub branches: BranchChoice,
}

/// A registered repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repo {
    /// Its id in the index.
    pub id: RepoId,
    /// What was said when it was registered.
    pub info: NewRepo,
    /// Other names that it answers to. They are unique like its own.
    pub aliases: Vec<RepoName>,
    /// When that was (seconds since 1970); `None` where an earlier Lore did it.
    pub added_at: Option<i64>,
    /// How far its history has been read.
    pub sync: SyncState,
    /// The branch that is asked about in place of HEAD; none for HEAD.
    ///
    /// Stores know of none: whoever asks sets it on its copy, as it may set a name of its own in [`NewRepo::name`]. Ids decide
    /// which repository is meant, names only say what it is called in the answer.
    pub shown: Option<String>,
    /// Whether questions about its history are about that branch alone, and not about every branch that is indexed.
    ///
    /// It is where others choose what is indexed, as on a team server; a branch that is shown is alone in any case. Stores do
    /// not know this either.
    pub alone: bool,
    /// The folder that it is in, where it is asked about as a part of a composite: paths of filters and answers begin with it.
    /// Stores do not know this either.
    pub mount: Option<RepoName>,
}

impl Repo {
    /// The repository's name as text.
    pub fn name(&self) -> &str {
        self.info.name.as_str()
    }

    /// Whether this is its name or an alias.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name() == name || self.aliases.iter().any(|alias| alias.as_str() == name)
    }

    /// What its paths begin with: the folder that it is in and a slash, or nothing.
    pub fn prefix(&self) -> String {
        self.mount.as_ref().map(|mount| format!("{mount}/")).unwrap_or_default()
    }

    /// Whether its history is that of one branch: the one that is shown, or HEAD's.
    pub fn is_one_branch(&self) -> bool {
        self.alone || self.shown.is_some()
    }
}

/// A ref and the commit it named.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tip {
    /// The full ref name, or `HEAD`.
    pub name: String,
    /// The commit.
    pub commit: CommitId,
}

/// How far a repository's history has been read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyncState {
    /// When the last sync ended well (seconds since 1970).
    pub last_synced_at: Option<i64>,
    /// HEAD (or the main branch) at that time.
    pub last_synced_sha: Option<CommitId>,
    /// What went wrong at the last try, if it did.
    pub last_error: Option<String>,
    /// The tips whose whole history the index holds; empty before the first complete sync.
    pub tips: Vec<Tip>,
    /// The boundary of a shallow clone at that time.
    pub shallow: Vec<CommitId>,
    /// Everything but the tips that decides what is stored; another value means reading all anew.
    pub fingerprint: String,
    /// Whether reading has begun and has not ended: the index may lack commits, or hold some that are gone.
    pub partial: bool,
    /// How many commits the index holds.
    pub commit_count: u64,
    /// How many syncs ended well.
    pub sync_count: u64,
    /// What the last sync left out, with reasons.
    pub problems: Vec<Problem>,
}

/// Something that was left out, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Why, in words that follow a count: "patches left out: …".
    pub reason: String,
    /// How many commits it concerns.
    pub count: u64,
}

impl Problem {
    /// The count and why, as a sentence for people.
    pub fn told(&self) -> String {
        match self.reason.strip_prefix("patches ") {
            Some(rest) if self.count == 1 => format!("1 patch {rest}"),
            _ => format!("{} {}", self.count, self.reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_patch_is_one() {
        let told = |count| Problem { reason: "patches left out: too large".to_owned(), count }.told();
        assert_eq!([told(1), told(2)], ["1 patch left out: too large", "2 patches left out: too large"]);
    }

    #[test]
    fn names_cannot_be_options_or_paths() {
        for bad in ["", "-rf", "a/b", "..", "a b", ".hidden", &"x".repeat(101)] {
            assert!(RepoName::parse(bad).is_err(), "{bad}");
        }
        for good in ["api-server", "v2.0_x", "日本", &"x".repeat(100)] {
            assert!(RepoName::parse(good).is_ok(), "{good}");
        }
        assert!(RepoName::parse(&"x".repeat(1 << 20)).unwrap_err().len() < 300);
        assert_eq!(RepoName::from_any("../my repo").as_str(), "my-repo");
        assert_eq!(RepoName::from_any("///").as_str(), "repo");
        assert_eq!(RepoName::from_any("My-Repo").folded(), "my-repo");
    }
}
