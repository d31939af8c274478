//! Golden repositories that were indexed before and have no index now, as where `team.db` alone was restored: a server that
//! starts asks for them to be read again, and is not ready before that.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use lore_model::{Failure, GoldenState, Job, Operation, Repo, RepoName};
use lore_store::TeamChange;

use super::Team;

/// What is known of them since the start.
#[derive(Debug, Default)]
pub(super) struct Unread(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Those without an index, and whether reading them has failed since the start.
    missing: BTreeMap<RepoName, bool>,
    /// Whether any other golden repository has an index.
    others: bool,
}

/// How many golden repositories have no index although they had one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    /// Those that a job is to read.
    pub waiting: usize,
    /// Those that could not be read.
    pub failed: usize,
    /// Whether no golden repository has an index.
    pub all: bool,
}

impl Missing {
    /// Whether the server should get no questions: as long as jobs will bring an index back, and where there is none at all. What
    /// cannot be read now does not keep everybody from the others.
    pub fn keeps_from_answering(&self) -> bool {
        self.waiting > 0 || (self.failed > 0 && self.all)
    }
}

impl Unread {
    /// Notes what a job that is over did: what it read has an index, and what it could not read is waited for no longer.
    pub(super) fn note(&self, job: &Job, changes: &[TeamChange], has_failed: bool) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for change in changes {
            match change {
                TeamChange::Refreshed { alias, .. } => {
                    known.missing.remove(alias);
                    known.others = true;
                }
                TeamChange::RemoveGolden(alias) => drop(known.missing.remove(alias)),
                _ => {}
            }
        }
        if has_failed && job.task.operation == Operation::RefreshGolden {
            for alias in &job.task.golden {
                if let Some(failed) = known.missing.get_mut(alias) {
                    *failed = true;
                }
            }
        }
    }
}

impl Team {
    /// Asks for golden repositories to be read again that were indexed before and are not now. Call it once, at the start. Tells
    /// how many there are, and of how many.
    pub fn read_again(&self) -> Result<(usize, usize), Failure> {
        let repos = self.lore.history.repos()?;
        let (mut missing, mut of) = (BTreeMap::new(), 0);
        for golden in self.golden()? {
            // What is being added, or removed, has no index to miss.
            if golden.state != GoldenState::Ready || golden.refreshed_at.is_none() {
                continue;
            }
            of += 1;
            let repo = repos.iter().find(|repo| repo.name() == golden.alias.as_str());
            let is_read = match repo {
                Some(repo) => self.has_index(repo)?,
                None => false,
            };
            if !is_read {
                missing.insert(golden.alias, false);
            }
        }
        let (count, now) = (missing.len(), self.clock.now());
        let aliases: Vec<RepoName> = missing.keys().cloned().collect();
        *self.unread.0.lock().unwrap_or_else(PoisonError::into_inner) = Known { missing, others: count < of };
        for alias in aliases {
            self.refresh_by_itself(alias, now)?;
        }
        self.wake.notify();
        Ok((count, of))
    }

    /// Whether both the history and the code of a repository were read to their end.
    fn has_index(&self, repo: &Repo) -> Result<bool, Failure> {
        if repo.sync.last_synced_at.is_none() {
            return Ok(false);
        }
        Ok(repo.sync.commit_count == 0 || !self.lore.search.reader.state(repo.id)?.snapshots.is_empty())
    }

    /// Whether a golden repository has no index and a job is to read it again.
    pub fn is_waited_for(&self, alias: &RepoName) -> bool {
        let known = self.unread.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.missing.get(alias).is_some_and(|has_failed| !has_failed)
    }

    /// What has no index although it had one; `None` where nothing is missing.
    pub fn missing(&self) -> Option<Missing> {
        let known = self.unread.0.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = known.missing.values().filter(|failed| **failed).count();
        let missing = Missing { waiting: known.missing.len() - failed, failed, all: !known.others };
        (!known.missing.is_empty()).then_some(missing)
    }
}
