//! Who did what.

use lore_tools::shown::AuditShown;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ListQuery, limit};
use crate::{
    answer::{Json, Refusal},
    app::App,
    routes::Asked,
};

/// The newest acts.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Audit {
    /// The newest first.
    entries: Vec<AuditShown>,
    /// How many there are.
    total: usize,
}

pub(crate) fn list(app: &App, _: &Asked, query: &ListQuery) -> Result<Json<Audit>, Refusal> {
    let (entries, total) = app.team.acts(limit(query.limit))?;
    Ok(Json(Audit { entries: entries.into_iter().map(AuditShown::from).collect(), total }))
}
