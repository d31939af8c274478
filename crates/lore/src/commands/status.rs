//! `lore status`: how the index is.

use lore_core::{history::FreshState, store_failure};
use lore_model::{Failure, Repo};
use serde_json::{Value, json};

use super::Context;
use crate::{
    time,
    ui::{BOLD, DIM, GREEN, RED, YELLOW, one_line},
};

/// Show how fresh and how large the index is
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(super) async fn run(context: &Context<'_>, Args {}: Args) -> Result<(), Failure> {
    let history = &context.lore.history;
    let repos = history.repos().await?;
    let freshness = history.freshness(&repos, None).await;
    let size = history.store().size().await.map_err(store_failure)?;
    let ui = context.ui;
    if ui.is_json() {
        let rows: Vec<Value> = repos.iter().zip(&freshness.repos).map(|(repo, fresh)| row(repo, fresh.state)).collect();
        return ui.value(&json!({
            "home": context.loaded.home.to_string_lossy(),
            "index_bytes": size.bytes,
            "commits": size.commits,
            "repos": rows,
        }));
    }
    ui.line(&format!(
        "{}, {}, {:.1} MB in {}",
        if repos.len() == 1 { "1 repository".to_owned() } else { format!("{} repositories", repos.len()) },
        super::sync::count(size.commits, "commit"),
        megabytes(size.bytes),
        context.loaded.home.display()
    ))?;
    let width = repos.iter().map(|repo| repo.name().chars().count()).max().unwrap_or(0);
    for (repo, fresh) in repos.iter().zip(&freshness.repos) {
        let (style, word) = match fresh.state {
            FreshState::Current => (GREEN, "current"),
            FreshState::Stale => (YELLOW, "stale: its branches have moved, run `lore sync`"),
            FreshState::Partial => (YELLOW, "partial: run `lore sync` to complete it"),
            FreshState::NeverSynced => (YELLOW, "never synced: run `lore sync`"),
            FreshState::Missing => (RED, "missing: the repository is not there; the index still answers"),
        };
        let synced = repo
            .sync
            .last_synced_at
            .map_or_else(String::new, |then| format!("synced {}  ", time::age(then, history.now())));
        let name = ui.paint(BOLD, &format!("{:width$}", repo.name()));
        ui.line(&format!("{name}  {:>8} commits  {synced}{}", repo.sync.commit_count, ui.paint(style, word)))?;
        for problem in &repo.sync.problems {
            ui.line(&ui.paint(DIM, &format!("{:width$}  {} {}", "", problem.count, problem.reason)))?;
        }
        if let Some(error) = &repo.sync.last_error {
            ui.line(&ui.paint(RED, &format!("{:width$}  last sync failed: {}", "", one_line(error))))?;
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "one digit after the point is shown")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn row(repo: &Repo, state: FreshState) -> Value {
    json!({
        "name": repo.name(),
        "path": repo.info.local_path.to_string_lossy(),
        "state": state.as_str(),
        "commits": repo.sync.commit_count,
        "head": repo.sync.last_synced_sha.map(|sha| sha.to_hex()),
        "last_synced_at": repo.sync.last_synced_at,
        "last_error": repo.sync.last_error,
        "left_out": repo.sync.problems.iter().map(|problem| json!({"reason": problem.reason, "count": problem.count})).collect::<Vec<_>>(),
    })
}
