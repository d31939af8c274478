//! Which commits of the index a question is not about: an index holds several branches, and where one of them is asked about,
//! what only the others have is not there.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, PoisonError},
};

use lore_git::{GitError, Reader, Repository, is_ref_of};
use lore_model::{BranchChoice, CommitId, Failure, Repo, RepoId, SyncState};
use lore_store::Hidden;

use super::{History, blame::open_repository};
use crate::{git_failure, store_failure};

/// So many branches are remembered; with more, git is asked again.
const KEPT: usize = 128;

/// What decides which commits are hidden.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Apart {
    /// Where the others stand.
    others: Vec<CommitId>,
    /// Where a shallow history begins.
    shallow: Vec<CommitId>,
    hidden: Arc<HashSet<CommitId>>,
}

/// What was found before, by where the branch stands that is asked about.
pub(super) type Branches = HashMap<(RepoId, CommitId), Apart>;

impl History {
    /// The commits that questions about these repositories are not about: where one branch is asked about, those that the
    /// index holds for others and that this one does not reach.
    ///
    /// Where all that is indexed is asked about, and where nothing but the branch is, that is known without looking.
    pub fn hidden(&self, repos: &[Repo]) -> Result<Hidden, Failure> {
        let mut hidden = Hidden::default();
        for repo in repos.iter().filter(|repo| repo.is_one_branch()) {
            hidden.hide(repo.id, self.apart(repo)?);
        }
        Ok(hidden)
    }

    /// How many commits of a repository are asked about.
    pub fn commit_count(&self, repo: &Repo) -> Result<u64, Failure> {
        // Of what a sync is reading now, it is not known yet how much has been stored.
        let settled = Repo { sync: SyncState { partial: false, ..repo.sync.clone() }, ..repo.clone() };
        let hidden = if repo.is_one_branch() { self.apart(&settled)?.len() } else { 0 };
        Ok(repo.sync.commit_count.saturating_sub(hidden as u64))
    }

    fn apart(&self, repo: &Repo) -> Result<Arc<HashSet<CommitId>>, Failure> {
        let (tip, mut others) = match indexed_tip(repo) {
            Some(tip) if !repo.sync.partial => (tip, Vec::new()),
            // What is being read now may be of any branch.
            indexed => {
                let (at, all) = stand(repo).map_err(git_failure)?;
                let Some(tip) = indexed.or(at) else { return Ok(Arc::default()) };
                (tip, all)
            }
        };
        others.extend(repo.sync.tips.iter().map(|tip| tip.commit));
        others.sort_unstable();
        others.dedup();
        others.retain(|other| *other != tip);
        if others.is_empty() {
            return Ok(Arc::default());
        }
        let shallow = repo.sync.shallow.clone();
        {
            let known = self.branches.lock().unwrap_or_else(PoisonError::into_inner);
            let known = known.get(&(repo.id, tip));
            if let Some(known) = known.filter(|known| known.others == others && known.shallow == shallow) {
                return Ok(Arc::clone(&known.hidden));
            }
        }
        let repository = open_repository(&repo.info.local_path)?;
        let walked = self.with_reader(repo, repository, |reader| walk(reader, repo, tip, &others))?;
        let hidden: Arc<HashSet<CommitId>> = match walked {
            Walked::Apart(apart) => Arc::new(apart.into_iter().collect()),
            // This is for the time until the next sync; it is not worth to be remembered, and may be other a moment later.
            Walked::Reached(reached) => {
                // Every author's name contains nothing.
                let indexed = self.store().commits_by(repo.id, "").map_err(store_failure)?;
                let reached: HashSet<CommitId> = reached.into_iter().collect();
                return Ok(Arc::new(indexed.difference(&reached).copied().collect()));
            }
        };
        let mut known = self.branches.lock().unwrap_or_else(PoisonError::into_inner);
        // Where a branch stood before is not asked about again.
        known.retain(|(of, at), _| *of != repo.id || *at == tip || others.contains(at));
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert((repo.id, tip), Apart { others, shallow, hidden: Arc::clone(&hidden) });
        Ok(hidden)
    }
}

/// What git says about a branch.
enum Walked {
    /// The commits that others have and it does not.
    Apart(Vec<CommitId>),
    /// The commits that it has, where somewhere that others stood is not known any more.
    Reached(Vec<CommitId>),
}

fn walk(reader: &Reader, repo: &Repo, tip: CommitId, others: &[CommitId]) -> lore_git::Result<Walked> {
    match reader.rev_list(others, &[tip]) {
        // A mirror that was cloned again has nothing of what was forced away before.
        Err(GitError::Failed { .. }) => {}
        other => return other.map(Walked::Apart),
    }
    match reader.rev_list(&[tip], &[]) {
        // Nor of the branch itself: what it had is known as far as it still has it.
        Err(GitError::Failed { .. }) => {
            let now: Vec<CommitId> = now(repo)?.into_iter().collect();
            reader.rev_list(&now, &[]).map(Walked::Reached)
        }
        other => other.map(Walked::Reached),
    }
}

/// Where the branch that is asked about stands in the repository.
fn now(repo: &Repo) -> lore_git::Result<Option<CommitId>> {
    let repository = Repository::open(&repo.info.local_path)?;
    match &repo.shown {
        Some(branch) => Ok(Some(repository.get_branch(branch)?.commit)),
        None => Ok(repository.refs(&BranchChoice::All, repo.info.default_branch.as_deref())?.head),
    }
}

/// Where the branch stood that is asked about when its history was read.
fn indexed_tip(repo: &Repo) -> Option<CommitId> {
    match &repo.shown {
        Some(branch) => repo.sync.tips.iter().find(|tip| is_ref_of(&tip.name, branch)).map(|tip| tip.commit),
        None => repo.sync.last_synced_sha,
    }
}

/// Where the branch that is asked about stands in the repository, and where every branch does.
fn stand(repo: &Repo) -> lore_git::Result<(Option<CommitId>, Vec<CommitId>)> {
    let repository = Repository::open(&repo.info.local_path)?;
    let refs = repository.refs(&BranchChoice::All, repo.info.default_branch.as_deref())?;
    let at = match &repo.shown {
        Some(branch) if indexed_tip(repo).is_none() => Some(repository.get_branch(branch)?.commit),
        Some(_) => None,
        None => refs.head,
    };
    Ok((at, refs.tips.into_iter().map(|tip| tip.commit).collect()))
}
