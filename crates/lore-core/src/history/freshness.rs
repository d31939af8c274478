//! How fresh the index is: whether refs have moved since they were read.

use std::{collections::HashMap, sync::PoisonError};

use lore_git::{RefProbe, Repository};
use lore_model::{CommitId, Repo, RepoId, Source, Tip};

use super::{History, sync::is_up_to_rules};
use crate::blocking;

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
    /// HEAD as indexed.
    pub head: Option<CommitId>,
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
    probe: RefProbe,
    signature: Option<u64>,
    /// Tips and shallow boundary; `None` where the repository could not be read.
    refs: Option<(Vec<Tip>, Vec<CommitId>)>,
}

impl History {
    /// How fresh the index of these repositories is; `None` for all of them.
    pub async fn freshness(&self, repos: &[Repo], scope: Option<&[RepoId]>) -> Freshness {
        let asked: Vec<Repo> =
            repos.iter().filter(|repo| scope.is_none_or(|ids| ids.contains(&repo.id))).cloned().collect();
        let before = self.probes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // A few `stat` calls for each repository; a slow disk must not hold up other calls.
        let (fresh, seen) = blocking(move || look(&asked, before)).await;
        self.probes.lock().unwrap_or_else(PoisonError::into_inner).extend(seen);
        Freshness { repos: fresh }
    }
}

fn look(repos: &[Repo], mut before: Probes) -> (Vec<RepoFreshness>, Probes) {
    let mut seen = Probes::new();
    let fresh = repos.iter().map(|repo| {
        let now = observe(repo, before.remove(&repo.id));
        let state = state(repo, now.as_ref().and_then(|now| now.refs.as_ref()));
        seen.extend(now.map(|now| (repo.id, now)));
        RepoFreshness {
            name: repo.name().to_owned(),
            state,
            last_synced_at: repo.sync.last_synced_at,
            head: repo.sync.last_synced_sha,
        }
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

/// Reads the refs again only where the probe says that something moved.
fn observe(repo: &Repo, before: Option<Seen>) -> Option<Seen> {
    if let Some(before) = before {
        let signature = before.probe.signature();
        if signature.is_some() && signature == before.signature && before.refs.is_some() {
            return Some(before);
        }
    }
    let repository = Repository::open(&repo.info.local_path).ok()?;
    let probe = RefProbe::new(&repository);
    // The signature first: what moves in between is noticed the next time.
    let signature = probe.signature();
    let refs = repository.refs(&repo.info.branches, repo.info.default_branch.as_deref()).ok();
    let refs = refs.map(|refs| (refs.tips, repository.shallow()));
    Some(Seen { probe, signature, refs })
}
