//! Whether a remote has what somebody asks for: told at once, and not by the job that would fail of it. Where the remote cannot be
//! asked now, the job finds out.

use std::time::Duration;

use lore_git::GitError;
use lore_model::{Code, Failure, Golden, RepoName, brief, closest, without_user};

use super::Team;

/// How long a remote may take to name its branches.
const TIME: Duration = Duration::from_secs(10);

/// So many branches are named where one is not known.
const NAMES_MAX: usize = 20;

impl Team {
    /// Fails where the remote of a golden repository says that it has no such branch.
    pub(super) fn check_remote_branch(&self, golden: &Golden, branch: &str) -> Result<(), Failure> {
        match self.lore.history.remote_branches(&golden.url, TIME) {
            Ok(branches) => check(&golden.alias, branch, &branches),
            Err(failure) => {
                tracing::debug!(alias = %golden.alias, %failure, "the remote could not be asked for its branches");
                Ok(())
            }
        }
    }

    /// Fails where nothing can be cloned from a URL, or no such branch.
    pub(super) fn check_remote(&self, url: &str, alias: &RepoName, branch: Option<&str>) -> Result<(), Failure> {
        match self.lore.history.remote_branches(url, TIME) {
            Ok(branches) => branch.map_or(Ok(()), |branch| check(alias, branch, &branches)),
            Err(failure) => match git_error(&failure) {
                Some(error @ GitError::Failed { .. }) if !error.is_transient() => {
                    let what = format!("{} cannot be cloned: {}", without_user(url), failure.message);
                    let refused = Failure::new(Code::InvalidArgument, what);
                    Err(match failure.hint {
                        Some(hint) => refused.hint(hint),
                        None => refused,
                    })
                }
                Some(GitError::Refused { .. } | GitError::BadUrl { .. }) => Err(failure),
                _ => Ok(()),
            },
        }
    }
}

fn git_error(failure: &Failure) -> Option<&GitError> {
    std::error::Error::source(failure)?.downcast_ref()
}

fn check(alias: &RepoName, branch: &str, branches: &[String]) -> Result<(), Failure> {
    if branches.iter().any(|known| known == branch) {
        return Ok(());
    }
    Err(no_branch(alias.as_str(), branch, &branches.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// What is told of a branch that a repository does not have, with those that it has.
pub(super) fn no_branch(alias: &str, branch: &str, branches: &[&str]) -> Failure {
    let failure = Failure::new(Code::InvalidArgument, format!("`{alias}` has no branch `{}`", brief(branch)));
    let mut names: Vec<&str> = branches.iter().copied().take(NAMES_MAX).collect();
    if branches.len() > names.len() {
        names.push("…");
    }
    let names = names.join(", ");
    failure.hint(match closest(branch, branches.iter().copied()) {
        _ if branches.is_empty() => "it has no branch yet".to_owned(),
        Some(near) => format!("did you mean `{near}`? Its branches are: {names}"),
        None => format!("its branches are: {names}"),
    })
}
