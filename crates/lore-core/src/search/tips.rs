//! Where the refs of a repository point, read again only when the file system says that they moved.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use lore_git::{RefProbe, Repository};
use lore_model::{CommitId, Repo, Tip};

/// What refs said when they were last read.
#[derive(Debug, Clone)]
pub(super) struct Tips {
    /// The indexed tips of the repository as seen from this place.
    pub(super) tips: Vec<Tip>,
    /// HEAD of this place.
    pub(super) head: Option<CommitId>,
}

/// What is known of each place.
#[derive(Default)]
pub(super) struct TipCache {
    known: Mutex<HashMap<PathBuf, Seen>>,
}

struct Seen {
    repo: Repo,
    probe: RefProbe,
    signature: Option<u64>,
    tips: Tips,
}

impl TipCache {
    /// Where the refs point; `None` where the repository cannot be read. A few `stat` calls where nothing moved.
    pub(super) fn at(&self, repo: &Repo, place: &Path) -> Option<Tips> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = known.get(place)
            && seen.signature.is_some()
            && seen.signature == seen.probe.signature()
            && seen.repo.info == repo.info
        {
            return Some(seen.tips.clone());
        }
        known.remove(place);
        let repository = Repository::open(place).ok()?;
        let probe = RefProbe::new(&repository);
        // The signature first: what moves in between is noticed the next time.
        let signature = probe.signature();
        let refs = repository.refs(&repo.info.branches, repo.info.default_branch.as_deref()).ok()?;
        let tips = Tips { tips: refs.tips, head: refs.head };
        known.insert(place.to_owned(), Seen { repo: repo.clone(), probe, signature, tips: tips.clone() });
        Some(tips)
    }
}
