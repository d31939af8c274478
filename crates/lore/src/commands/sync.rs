//! `lore sync`: brings the index up to date.

use std::{num::NonZero, process::ExitCode};

use lore_core::history::{SyncOptions, SyncReport};
use lore_model::{Code, Failure, Repo};
use serde_json::{Value, json};

use super::{Context, project::cancel_on_interrupt};
use crate::{
    config::Flags,
    ui::{BOLD, DIM},
};

/// Read what is new in all registered repositories
///
/// Repositories that were registered by URL are fetched first. It can be stopped at any moment and goes on where it was.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only this repository, `.` for the one you are in (may be repeated)
    #[arg(long, value_name = "N")]
    repo: Vec<String>,
    /// Read commits again whose objects were missing (after `git fetch` in a partial clone)
    #[arg(long)]
    retry_missing: bool,
    /// Runs of git side by side [default: one on each core]
    #[arg(long, value_name = "NUMBER")]
    jobs: Option<usize>,
}

impl Args {
    pub(super) fn flags(&self) -> Flags {
        Flags(self.jobs.map(|jobs| ("jobs", jobs.into())).into_iter().collect())
    }
}

pub(super) async fn run(context: &Context<'_>, args: Args) -> Result<ExitCode, Failure> {
    // Unknown names are told before anything is waited for.
    let mut names = Vec::new();
    for name in &args.repo {
        let name = if name == "." { context.project_name().await? } else { name.clone() };
        names.push(context.lore.history.repo(&name).await?.name().to_owned());
    }
    let options = SyncOptions { jobs: NonZero::new(context.loaded.config.jobs), retry_missing: args.retry_missing };
    let repos = context.lore.history.repos().await?;
    if repos.is_empty() {
        return Err(Failure::new(Code::RepoNotFound, "no repository is registered").hint("run `lore add PATH` first"));
    }
    let wanted = repos.into_iter().filter(|repo| names.is_empty() || names.iter().any(|name| name == repo.name()));
    let reports = sync_all(context, wanted.collect(), &options).await?;
    print(context, &reports)?;
    Ok(exit_code(&reports))
}

/// What a sync of one repository came to.
pub(super) type Report = Result<SyncReport, (String, Failure)>;

/// Syncs these repositories one after the other; one that fails does not keep the others from being read.
pub(super) async fn sync_all(
    context: &Context<'_>,
    repos: Vec<Repo>,
    options: &SyncOptions,
) -> Result<Vec<Report>, Failure> {
    let cancel = cancel_on_interrupt();
    let writer = context.writer().await?;
    let mut reports = Vec::new();
    for repo in repos {
        // Another process may have synced it while this one waited.
        let repo = match context.lore.history.repo(repo.name()).await {
            Err(failure) if failure.code == Code::RepoNotFound => continue,
            other => other?,
        };
        let done = context.sync_one(&*writer, &repo, options, &cancel).await;
        let stop = done.as_ref().is_err_and(|failure| matches!(failure.code, Code::Interrupted | Code::DiskFull));
        reports.push(done.map_err(|failure| (repo.name().to_owned(), failure)));
        if stop {
            break;
        }
    }
    Ok(reports)
}

/// The exit code of the first failure.
pub(super) fn exit_code(reports: &[Report]) -> ExitCode {
    let first = reports.iter().find_map(|report| report.as_ref().err()).map(|(_, failure)| failure.code.row().exit);
    first.map_or(ExitCode::SUCCESS, ExitCode::from)
}

/// `1 commit`, `2 commits`.
pub(super) fn count(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// Tells what was done and what was left out.
pub(super) fn print(context: &Context<'_>, reports: &[Report]) -> Result<(), Failure> {
    let ui = context.ui;
    if ui.is_json() {
        return ui.value(&json!({"repos": reports_json(reports)}));
    }
    for report in reports {
        match report {
            // A hook or a timer calls it so: only what failed is worth a word.
            Ok(_) if ui.is_quiet() => {}
            Ok(report) => {
                let name = ui.paint(BOLD, &report.repo);
                let removed = if report.removed > 0 { format!(", {} removed", report.removed) } else { String::new() };
                let done = if report.added == 0 && report.removed == 0 {
                    "up to date".to_owned()
                } else {
                    format!("{} read{removed}", count(report.added, "commit"))
                };
                ui.line(&format!("{name}: {done}, {} in the index", report.total))?;
                for problem in &report.problems {
                    ui.line(&ui.paint(DIM, &format!("  {} {}", problem.count, problem.reason)))?;
                }
            }
            Err((name, failure)) => {
                ui.warn(&format!("{name} could not be synced"));
                ui.failure(failure);
            }
        }
    }
    Ok(())
}

/// The reports for `--json`.
pub(super) fn reports_json(reports: &[Report]) -> Vec<Value> {
    reports.iter().map(report_json).collect()
}

fn report_json(report: &Report) -> Value {
    match report {
        Ok(report) => json!({
            "repo": report.repo,
            "added": report.added,
            "removed": report.removed,
            "commits": report.total,
            "left_out": report.problems.iter().map(|problem| json!({"reason": problem.reason, "count": problem.count})).collect::<Vec<_>>(),
        }),
        Err((name, failure)) => json!({
            "repo": name,
            "error": {"code": failure.code.name(), "message": failure.message, "hint": failure.hint},
        }),
    }
}
