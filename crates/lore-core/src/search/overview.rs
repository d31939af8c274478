//! What is indexed of a repository's code, for those who look after it.

use lore_model::{Failure, Repo};
use lore_store::{LeftOut, PastInfo, SnapshotId, SnapshotInfo, SnapshotSummary, StoreError, ViewPart};

use super::{CodeFreshness, CodeQuery, IndexReader, SecondState, work_tree::left_out_of};
use crate::store_failure;

/// What is indexed of one repository.
#[derive(Debug, Clone)]
pub struct CodeOverview {
    /// How it relates to the repository.
    pub freshness: CodeFreshness,
    /// The snapshot that questions are answered from; `None` where nothing is indexed.
    pub snapshot: Option<SnapshotInfo>,
    /// Its languages, and what is left out of it.
    pub summary: SnapshotSummary,
    /// Uncommitted files that are not searched.
    pub uncommitted_left_out: Vec<LeftOut>,
    /// How much of it the second model covers, where one is configured.
    pub second: Option<SecondState>,
    /// What is kept of its past, where that is wanted.
    pub past: Option<PastInfo>,
    /// Whether that is as new as the repository.
    pub past_is_current: bool,
}

impl CodeQuery {
    /// What is indexed of a repository.
    pub fn overview(&self, repo: &Repo) -> Result<CodeOverview, Failure> {
        let state = self.reader.state(repo.id)?;
        let part = self.reader.part(repo, &state, None, false)?;
        let freshness = self.reader.freshness(repo, &state, part.as_ref());
        let (past, past_is_current) = (state.past, self.reader.has_past(repo));
        let Some(part) = part else {
            return Ok(CodeOverview {
                freshness,
                snapshot: None,
                summary: SnapshotSummary::default(),
                uncommitted_left_out: Vec::new(),
                second: None,
                past,
                past_is_current,
            });
        };
        let summary = self.reader.summarise(part.snapshot.id)?;
        let second = self.coverage(part.snapshot.id)?;
        let uncommitted_left_out = left_out_of(part.work);
        let snapshot = Some(part.snapshot);
        Ok(CodeOverview { freshness, snapshot, summary, uncommitted_left_out, second, past, past_is_current })
    }

    /// How many chunks of what is indexed of these repositories have a vector of a model, and of how many.
    pub fn covered_by(&self, repos: &[Repo], model: &str) -> Result<(u64, u64), Failure> {
        let mut sum = (0, 0);
        for repo in repos {
            let state = self.reader.state(repo.id)?;
            let Some(snapshot) = state.snapshots.last() else { continue };
            if let Some(state) = self.coverage_of(snapshot.id, model)? {
                sum = (sum.0 + state.covered as u64, sum.1 + state.chunks as u64);
            }
        }
        Ok(sum)
    }

    /// How much of a snapshot the second model covers.
    fn coverage(&self, snapshot: SnapshotId) -> Result<Option<SecondState>, Failure> {
        match &self.second {
            Some(second) => self.coverage_of(snapshot, second.model()),
            None => Ok(None),
        }
    }

    fn coverage_of(&self, snapshot: SnapshotId, model: &str) -> Result<Option<SecondState>, Failure> {
        let part = ViewPart::snapshot(snapshot);
        let view = match self.reader.store.open_view(vec![part]) {
            Err(StoreError::Absent(_)) => return Ok(None),
            other => other.map_err(store_failure)?,
        };
        let covered = view.vectors(model).map_err(store_failure)?.map_or(0, |vectors| vectors.covered());
        Ok(Some(SecondState { covered, chunks: view.meant().len(), model: model.to_owned(), problem: None }))
    }
}

impl IndexReader {
    /// Looks for damage in what is derived of code; `deep` reads everything.
    pub fn check(&self, deep: bool) -> Result<Vec<String>, Failure> {
        self.store.check_code(deep).map_err(store_failure)
    }
}
