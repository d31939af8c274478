//! Where the refs of a repository point, read again only when the file system says that they moved.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use lore_git::{RefProbe, Repository};
use lore_model::{BranchChoice, CommitId, Repo, Tip};

/// What refs said when they were last read.
#[derive(Debug, Clone)]
pub(super) struct Tips {
    /// The indexed tips of the repository as seen from this place.
    pub(super) indexed: Vec<Tip>,
    /// HEAD of this place.
    pub(super) head: Option<CommitId>,
    /// The branch that HEAD is on.
    pub(super) head_branch: Option<String>,
    /// Where the branch stands that is asked about in place of HEAD; none where none is, and where it is gone.
    pub(super) shown: Option<CommitId>,
}

/// What is known of each place.
#[derive(Default)]
pub(super) struct TipCache {
    known: Mutex<HashMap<PathBuf, Seen>>,
}

struct Seen {
    /// What decided which tips are given. The name does not: many users may have names of their own for one repository.
    chosen: (BranchChoice, Option<String>),
    probe: RefProbe,
    signature: Option<u64>,
    tips: Tips,
    /// Where the branches stand that were asked about.
    branches: HashMap<String, Option<CommitId>>,
}

/// So many branches are remembered at a place; with more, they are read again.
const MAX_BRANCHES: usize = 256;

impl TipCache {
    /// Where the refs point; `None` where the repository cannot be read. A few `stat` calls where nothing moved.
    pub(super) fn at(&self, repo: &Repo, place: &Path) -> Option<Tips> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let chosen = (repo.info.branches.clone(), repo.info.default_branch.clone());
        let is_same =
            |seen: &Seen| seen.signature.is_some() && seen.chosen == chosen && seen.signature == seen.probe.signature();
        if !known.get(place).is_some_and(is_same) {
            known.remove(place);
            known.insert(place.to_owned(), read(chosen, place)?);
        }
        let seen = known.get_mut(place)?;
        let mut tips = seen.tips.clone();
        if let Some(name) = &repo.shown {
            tips.shown = if let Some(commit) = seen.branches.get(name) {
                *commit
            } else {
                let found = Repository::open(place).and_then(|repository| repository.find_branch(name)).ok()?;
                let commit = found.map(|tip| tip.commit);
                if seen.branches.len() >= MAX_BRANCHES {
                    seen.branches.clear();
                }
                seen.branches.insert(name.clone(), commit);
                commit
            };
        }
        Some(tips)
    }
}

fn read(chosen: (BranchChoice, Option<String>), place: &Path) -> Option<Seen> {
    let repository = Repository::open(place).ok()?;
    let probe = RefProbe::new(&repository);
    // The signature first: what moves in between is noticed the next time.
    let signature = probe.signature();
    let refs = repository.refs(&chosen.0, chosen.1.as_deref()).ok()?;
    let head_branch = repository.head().ok()?.branch;
    let tips = Tips { indexed: refs.tips, head: refs.head, head_branch, shown: None };
    Some(Seen { chosen, probe, signature, tips, branches: HashMap::new() })
}
