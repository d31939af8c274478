//! Who did what, and whether the team can be read at all.

use lore_model::{AuditEntry, Failure};

use super::Team;
use crate::store_failure;

impl Team {
    /// The newest administrative acts, and how many there are.
    pub async fn acts(&self, limit: usize) -> Result<(Vec<AuditEntry>, usize), Failure> {
        self.store.list_acts(limit).await.map_err(store_failure)
    }

    /// Fails where what the team has cannot be read.
    pub async fn check(&self) -> Result<(), Failure> {
        self.store.check().await.map_err(store_failure)
    }
}
