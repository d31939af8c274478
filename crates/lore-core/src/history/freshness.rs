//! How fresh the index is: whether refs have moved since they were read.

use std::{collections::HashMap, sync::PoisonError};

use lore_git::{RefProbe, Repository, is_ref_of};
use lore_model::{BranchChoice, CommitId, Repo, RepoId, Source, Tip};

use super::{History, sync::is_up_to_rules};
use crate::sync_progress::SyncProgress;

/// How fresh an answer is.
#[derive(Debug, Clone, Default)]
pub struct Freshness {
    /// The repositories that were asked.
    pub repos: Vec<RepoFreshness>,
}

/// How fresh one repository's part of the index is.
#[derive(Debug, Clone)]
pub struct RepoFreshness {
    /// Its name.
    pub name: String,
    /// In one word.
    pub state: FreshState,
    /// When it was last known to be current.
    pub last_synced_at: Option<i64>,
    /// HEAD as indexed, or the branch that is asked about in its place.
    pub head: Option<CommitId>,
    /// How much of the sync is done, in percent, while this process syncs it.
    pub progress: Option<u8>,
}

/// How an index relates to its repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FreshState {
    /// Everything is there.
    Current,
    /// HEAD or a branch has moved since the last sync.
    Stale,
    /// A sync is under way or was cut off.
    Partial,
    /// It was registered and never read.
    NeverSynced,
    /// The repository is not where it was.
    Missing,
}

impl FreshState {
    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Stale => "stale",
            Self::Partial => "partial",
            Self::NeverSynced => "never_synced",
            Self::Missing => "missing",
        }
    }
}

/// What was seen of each repository's refs when it was last looked at.
pub(super) type Probes = HashMap<RepoId, Seen>;

#[derive(Clone)]
pub(super) struct Seen {
    /// What decided which tips were read.
    branches: BranchChoice,
    probe: RefProbe,
    signature: Option<u64>,
    /// Tips and shallow boundary; `None` where the repository could not be read.
    refs: Option<(Vec<Tip>, Vec<CommitId>)>,
}

impl History {
    /// How fresh the index of these repositories is; `None` for all of them.
    pub fn freshness(&self, repos: &[Repo], scope: Option<&[RepoId]>) -> Freshness {
        let asked: Vec<Repo> =
            repos.iter().filter(|repo| scope.is_none_or(|ids| ids.contains(&repo.id))).cloned().collect();
        let before = self.probes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // A few `stat` calls for each repository; a slow disk must not hold up other calls.
        let (fresh, seen) = look(&asked, before, &self.syncing);
        self.probes.lock().unwrap_or_else(PoisonError::into_inner).extend(seen);
        Freshness { repos: fresh }
    }
}

fn look(repos: &[Repo], mut before: Probes, syncing: &SyncProgress) -> (Vec<RepoFreshness>, Probes) {
    let mut seen = Probes::new();
    let fresh = repos.iter().map(|repo| {
        let now = observe(repo, before.remove(&repo.id));
        let refs = now.as_ref().and_then(|now| now.refs.as_ref());
        let (state, head) = match &repo.shown {
            Some(branch) => state_of(repo, branch, refs),
            None => (state(repo, refs), repo.sync.last_synced_sha),
        };
        seen.extend(now.map(|now| (repo.id, now)));
        let progress = syncing.percent(repo.id);
        RepoFreshness { name: repo.name().to_owned(), state, last_synced_at: repo.sync.last_synced_at, head, progress }
    });
    (fresh.collect(), seen)
}

fn state(repo: &Repo, refs: Option<&(Vec<Tip>, Vec<CommitId>)>) -> FreshState {
    let never = repo.sync.last_synced_at.is_none();
    if repo.sync.partial {
        let started = repo.sync.commit_count > 0 || !never;
        return if started { FreshState::Partial } else { FreshState::NeverSynced };
    }
    match refs {
        None if matches!(repo.info.source, Source::Url(_)) && never => FreshState::NeverSynced,
        None => FreshState::Missing,
        Some((tips, shallow))
            if *tips == repo.sync.tips && *shallow == repo.sync.shallow && is_up_to_rules(&repo.sync) =>
        {
            FreshState::Current
        }
        Some(_) => FreshState::Stale,
    }
}

/// The same for one branch, and where it stood when its history was read.
fn state_of(repo: &Repo, branch: &str, refs: Option<&(Vec<Tip>, Vec<CommitId>)>) -> (FreshState, Option<CommitId>) {
    let of = |tips: &[Tip]| tips.iter().find(|tip| is_ref_of(&tip.name, branch)).map(|tip| tip.commit);
    let read = of(&repo.sync.tips);
    let state = match (state(repo, refs), read) {
        (state @ (FreshState::Missing | FreshState::NeverSynced | FreshState::Current), Some(_)) => state,
        (FreshState::Missing, None) => FreshState::Missing,
        // Nothing of it was read, whatever was read of the others.
        (_, None) => FreshState::NeverSynced,
        // Where the others stand says nothing of this one.
        (FreshState::Stale, Some(_)) => match refs {
            Some((tips, shallow))
                if of(tips) == read && *shallow == repo.sync.shallow && is_up_to_rules(&repo.sync) =>
            {
                FreshState::Current
            }
            _ => FreshState::Stale,
        },
        (FreshState::Partial, Some(_)) => FreshState::Partial,
    };
    (state, read)
}

/// Reads the refs again only where the probe says that something moved.
fn observe(repo: &Repo, before: Option<Seen>) -> Option<Seen> {
    if let Some(before) = before {
        let signature = before.probe.signature();
        let is_same = signature.is_some() && signature == before.signature && before.branches == repo.info.branches;
        if is_same && before.refs.is_some() {
            return Some(before);
        }
    }
    let repository = Repository::open(&repo.info.local_path).ok()?;
    let probe = RefProbe::new(&repository);
    // The signature first: what moves in between is noticed the next time.
    let signature = probe.signature();
    let refs = repository.refs(&repo.info.branches, repo.info.default_branch.as_deref()).ok();
    let refs = refs.map(|refs| (refs.tips, repository.shallow()));
    Some(Seen { branches: repo.info.branches.clone(), probe, signature, refs })
}
