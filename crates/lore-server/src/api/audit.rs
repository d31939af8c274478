//! Who did what.

use std::sync::Arc;

use lore_model::AuditEntry;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ListQuery, limit, time};
use crate::{
    answer::{Json, Refusal},
    app::App,
    routes::Asked,
};

/// One administrative act.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Entry {
    /// When.
    at: String,
    /// Who.
    username: String,
    /// From where.
    address: Option<String>,
    /// What was done.
    act: String,
    /// To whom or what.
    subject: String,
    /// What came of it.
    outcome: String,
}

impl From<AuditEntry> for Entry {
    fn from(entry: AuditEntry) -> Self {
        let AuditEntry { at, username, address, act, subject, outcome } = entry;
        Self { at: time(at), username, address, act, subject, outcome }
    }
}

/// The newest acts.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Audit {
    /// The newest first.
    entries: Vec<Entry>,
    /// How many there are.
    total: usize,
}

pub(crate) async fn list(app: Arc<App>, _: Asked, query: ListQuery) -> Result<Json<Audit>, Refusal> {
    let (entries, total) = app.team.acts(limit(query.limit)).await?;
    Ok(Json(Audit { entries: entries.into_iter().map(Entry::from).collect(), total }))
}
