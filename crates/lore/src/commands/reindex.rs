//! `lore reindex`: everything that was derived of code is read anew from git.

use std::{process::ExitCode, time::Instant};

use lore_core::{flows::FlowTask, search::CodeReport};
use lore_model::{Code, Failure, Repo};
use lore_store::StoreError;
use lore_store::store_failure;
use serde_json::{Value, json};

use super::{Context, names_here, project::cancel_on_interrupt, sync::count};
use crate::{progress::SyncProgress, ui::BOLD};

/// Read all code anew from git
///
/// For an index of code that is damaged or that you do not trust; where the past of the code is kept, that is read anew as
/// well. Until it is done, questions are answered from what was there; afterwards they are answered the same. It can be
/// stopped at any moment; `lore sync` goes on where it was. The history is left as it is, unless the index itself is damaged:
/// then everything is read anew, of all repositories, and the old index is kept beside the new one.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only this repository, `.` for the one you are in (may be repeated)
    #[arg(long, value_name = "NAME")]
    repo: Vec<String>,
}

impl Args {
    /// Whether only the repository the user stands in is meant.
    pub(super) fn is_about_here(&self) -> bool {
        names_here(&self.repo)
    }
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<ExitCode, Failure> {
    let started = Instant::now();
    if let Some(what) = damage(context)? {
        return begin_anew(context, &what);
    }
    let repos = context.named_repos(&args.repo)?;
    let cancel = cancel_on_interrupt();
    let writer = context.writer()?;
    let before = context.lore.search.reader.bytes()?;
    writer.retire_code(repos.iter().map(|repo| repo.id).collect()).map_err(store_failure)?;
    let options = context.sync_options();
    let mut reports: Vec<(Repo, Result<CodeReport, Failure>)> = Vec::new();
    let mut pasts: Vec<Failure> = Vec::new();
    for repo in repos {
        let progress = SyncProgress::new(context.ui, repo.name());
        let heard = |event| progress.event(event);
        let task = FlowTask { writer: &*writer, options: &options, cancel: &cancel, progress: &heard };
        let done = context.lore.sync_code(&repo, &task);
        let past = if done.is_ok() { context.lore.sync_past(&repo, &task).err() } else { None };
        progress.finish();
        let failed = done.as_ref().err().or(past.as_ref());
        let stop = failed.is_some_and(|failure| matches!(failure.code, Code::Interrupted | Code::DiskFull));
        if let Some(failure) = &past {
            context.ui.warn(&format!("the past of {} could not be read anew: {failure}; run `lore sync`", repo.name()));
        }
        pasts.extend(past);
        reports.push((repo, done));
        if stop {
            break;
        }
    }
    // A text that is known keeps its vectors of a second model: only what is new is embedded.
    drop(writer);
    for (repo, done) in &reports {
        if done.is_ok() && !cancel.is_cancelled() {
            context.embed_one(repo, &cancel);
        }
    }
    let after = context.lore.search.reader.bytes()?;
    print(context, &reports, [before, after], started)?;
    let failed = reports.iter().find_map(|(_, done)| done.as_ref().err()).or(pasts.first());
    Ok(failed.map_or(ExitCode::SUCCESS, |failure| ExitCode::from(failure.code.row().exit)))
}

/// What is wrong with the index itself, where something is.
fn damage(context: &Context<'_>) -> Result<Option<String>, Failure> {
    match context.lore.history.store().check(true) {
        Ok(findings) => Ok(findings.into_iter().next()),
        Err(StoreError::Damaged { what, .. }) => Ok(Some(what)),
        Err(error) => Err(store_failure(error)),
    }
}

/// Reads everything anew into a new index: the history of one that is damaged cannot be trusted either.
fn begin_anew(context: &Context<'_>, what: &str) -> Result<ExitCode, Failure> {
    let history = &context.lore.history;
    let aside = history.store().begin_anew().map_err(|error| match error {
        StoreError::Damaged { path, what } => {
            let message = format!("the index {} is damaged: {what}", path.display());
            let hint = format!("move {} aside and `lore add` your repositories again", path.display());
            Failure::new(Code::IndexDamaged, message).hint(hint)
        }
        error => store_failure(error),
    })?;
    context.ui.warn(&format!("the index was damaged ({what}); it is kept as {}", aside.display()));
    let repos = history.repos()?;
    let reports = super::sync::sync_all(context, repos, &context.sync_options())?;
    super::sync::print(context, &reports)?;
    Ok(super::sync::exit_code(&reports))
}

fn print(
    context: &Context<'_>,
    reports: &[(Repo, Result<CodeReport, Failure>)],
    bytes: [u64; 2],
    started: Instant,
) -> Result<(), Failure> {
    let ui = context.ui;
    let seconds = started.elapsed().as_secs_f64();
    if ui.is_json() {
        let rows: Vec<Value> = reports
            .iter()
            .map(|(repo, done)| match done {
                Ok(report) => json!({
                    "repo": repo.name(),
                    "read": report.read,
                    "files": report.files,
                    "chunks": report.chunks,
                    "lines": report.lines,
                }),
                Err(failure) => super::sync::failure_json(repo.name(), failure),
            })
            .collect();
        return ui.value(&json!({
            "repos": rows,
            "code_bytes_before": bytes[0],
            "code_bytes": bytes[1],
            "seconds": (seconds * 1e3).round() / 1e3,
        }));
    }
    for (repo, done) in reports {
        match done {
            Ok(_) if ui.is_quiet() => {}
            Ok(report) => ui.line(&format!(
                "{}: {} read anew, {} and {} in the index",
                ui.paint(BOLD, repo.name()),
                count(report.read, "file content"),
                count(report.files, "file"),
                count(report.chunks, "chunk")
            ))?,
            Err(failure) => {
                ui.warn(&format!("{} could not be read anew; what was there stays", repo.name()));
                ui.failure(failure);
            }
        }
    }
    let megabytes = bytes.map(super::status::megabytes);
    ui.note(&format!("{:.1} MB before, {:.1} MB now, {seconds:.1} s", megabytes[0], megabytes[1]));
    Ok(())
}
