//! What is indexed of a repository's code, for those who look after it.

use std::sync::PoisonError;

use lore_model::{Failure, Repo};
use lore_store::{LeftOut, SnapshotInfo, SnapshotSummary};

use super::{CodeFreshness, Search};
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
}

impl Search {
    /// What is indexed of a repository.
    pub async fn overview(&self, repo: &Repo) -> Result<CodeOverview, Failure> {
        let state = self.state(repo.id).await?;
        let part = self.part(repo, &state, None).await?;
        let committed_at = match &part {
            Some(part) => self.commit_time(repo, part.snapshot.commit).await,
            None => None,
        };
        let freshness = CodeFreshness {
            repo: repo.name().to_owned(),
            state: self.code_state(repo, &state, part.as_ref()).await,
            commit: part.as_ref().map(|part| part.snapshot.commit),
            committed_at,
            indexed_at: state.at,
            uncommitted: part.as_ref().map_or(0, |part| part.uncommitted),
        };
        let Some(part) = part else {
            let (summary, uncommitted_left_out) = (SnapshotSummary::default(), Vec::new());
            return Ok(CodeOverview { freshness, snapshot: None, summary, uncommitted_left_out });
        };
        let summary = self.summarise(part.snapshot.id).await?;
        let work = part.work.as_ref().map(|work| work.lock().unwrap_or_else(PoisonError::into_inner));
        let uncommitted_left_out = work.map_or_else(Vec::new, |work| work.overlay.left_out());
        Ok(CodeOverview { freshness, snapshot: Some(part.snapshot), summary, uncommitted_left_out })
    }

    /// Looks for damage in what is derived of code; `deep` reads everything.
    pub async fn check(&self, deep: bool) -> Result<Vec<String>, Failure> {
        self.store.check_code(deep).await.map_err(store_failure)
    }
}
