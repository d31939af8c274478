//! What commits say about the files of repositories: when it is made anew, and read once for each time that it was.

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError},
};

use lore_git::Cancel;
use lore_model::{Failure, Repo, RepoId, RepoPath};
use lore_store::{IndexWriter, StoreError, ViewPart};

use super::{
    CodeIndex, CodeQuery, IndexReader,
    evidence::{self, Evidence},
};
use crate::store_failure;

impl IndexReader {
    /// Whether what is kept of a repository's commits is as new as its history.
    pub(crate) fn has_evidence(&self, repo: &Repo) -> bool {
        let state = self.store.code_state(repo.id);
        // Where the history is not whole, the sync that ends it comes first.
        repo.sync.partial || state.is_ok_and(|state| is_made_of(&state, repo))
    }
}

impl CodeIndex {
    /// Keeps what the commits of a repository say about its files, unless that is kept already and `anew` is not asked for.
    pub(crate) fn sync_evidence(
        &self,
        repo: &Repo,
        writer: &dyn IndexWriter,
        anew: bool,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        let state = self.reader.store.code_state(repo.id).map_err(store_failure)?;
        if repo.sync.partial || (!anew && is_made_of(&state, repo) && self.can_read_evidence(repo.id)?) {
            return Ok(());
        }
        cancel.check()?;
        let mut there: HashSet<RepoPath> = HashSet::new();
        for snapshot in &state.snapshots {
            let part = ViewPart::snapshot(snapshot.id);
            let view = self.reader.store.open_view(vec![part]).map_err(store_failure)?;
            there.extend(view.files().iter().map(|file| file.path.clone()));
        }
        let subjects = self.reader.store.list_subjects(repo.id, evidence::MAX_FILES).map_err(store_failure)?;
        cancel.check()?;
        let packed = evidence::pack(&subjects, &|path| there.contains(path));
        let made_of = evidence::made_of(&repo.sync, &state);
        writer.put_evidence(repo.id, &made_of, packed).map_err(store_failure)
    }

    fn can_read_evidence(&self, repo: RepoId) -> Result<bool, Failure> {
        let kept = self.reader.store.evidence(repo).map_err(store_failure)?;
        Ok(kept.is_some_and(|(_, bytes)| Evidence::open(bytes).is_some()))
    }
}

impl CodeQuery {
    /// What the commits of a repository say about its files, read once for each time that it was made.
    pub(super) fn evidence(&self, repo: RepoId, number: i64) -> Result<Option<Arc<Evidence>>, StoreError> {
        let known = self.evidence.lock().unwrap_or_else(PoisonError::into_inner).find(repo, number);
        if known.is_some() {
            return Ok(known);
        }
        self.reading.get(&(repo, number), || self.read_evidence(repo))
    }

    fn read_evidence(&self, repo: RepoId) -> Result<Option<Arc<Evidence>>, StoreError> {
        let Some((number, bytes)) = self.reader.store.evidence(repo)? else { return Ok(None) };
        let Some(evidence) = Evidence::open(bytes).map(Arc::new) else {
            tracing::warn!(%repo, "what commits say cannot be read: `lore sync` makes it anew");
            return Ok(None);
        };
        let former = self.evidence.lock().unwrap_or_else(PoisonError::into_inner).keep(repo, number, &evidence);
        drop(former);
        Ok(Some(evidence))
    }
}

/// Whether the evidence that is kept was made of the history and the trees as they are.
fn is_made_of(state: &lore_store::CodeState, repo: &Repo) -> bool {
    state.evidence.as_ref().is_some_and(|kept| kept.made_of == evidence::made_of(&repo.sync, state))
}
