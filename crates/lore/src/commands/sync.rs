//! `lore sync`: brings the index up to date.

use std::{collections::HashMap, process::ExitCode, sync::Arc};

use lore_core::{flows::FlowReport, history::SyncOptions, search::EmbedReport};
use lore_model::{Code, Failure, Repo};
use serde_json::{Value, json};

use super::{Context, names_here, project::cancel_on_interrupt};
use crate::{
    config::Flags,
    ui::{BOLD, DIM, one_line},
};

/// Files that are too large are named up to this many.
const SHOWN_FILES: usize = 5;

/// Read what is new in all registered repositories: code and history
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
    /// Keep every former version of the code as well, so that it can be searched; from then on always
    #[arg(long, overrides_with = "no_temporal")]
    temporal: bool,
    /// Keep former versions no longer, and forget those that are kept
    #[arg(long)]
    no_temporal: bool,
    /// Stay, and sync local repositories whenever their branches move, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// Runs of git side by side [default: one on each core]
    #[arg(long, value_name = "NUMBER")]
    jobs: Option<usize>,
}

impl Args {
    pub(super) fn flags(&self) -> Flags {
        Flags(self.jobs.map(|jobs| ("jobs", jobs.into())).into_iter().collect())
    }

    /// Whether only the repository the user stands in is meant.
    pub(super) fn is_about_here(&self) -> bool {
        names_here(&self.repo)
    }
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<ExitCode, Failure> {
    // Unknown names are told before anything is waited for.
    let repos = context.named_repos(&args.repo)?;
    let past = (args.temporal || args.no_temporal).then_some(args.temporal);
    let options = SyncOptions { retry_missing: args.retry_missing, past, ..context.sync_options() };
    let names: Vec<String> =
        if args.repo.is_empty() { Vec::new() } else { repos.iter().map(|repo| repo.name().to_owned()).collect() };
    let reports = sync_all(context, repos, &options)?;
    print(context, &reports)?;
    // A text that is read again is known by its old vector: only when everything is embedded is something garbage.
    let is_embedded = |report: &Report| {
        let embedding = report.as_ref().ok().and_then(|report| report.embedding.as_ref());
        embedding.is_some_and(|embedding| embedding.failure.is_none())
    };
    if args.repo.is_empty() && reports.iter().all(is_embedded) {
        collect_vectors(context);
    }
    let interrupted = |report: &Report| report.as_ref().is_err_and(|(_, failure)| failure.code == Code::Interrupted);
    if args.watch && !reports.iter().any(interrupted) {
        watch(context, &names, &options)?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(exit_code(&reports))
}

/// Stays, and tells of each sync on a line of its own.
fn watch(context: &Context<'_>, names: &[String], options: &SyncOptions) -> Result<(), Failure> {
    let (ui, cancel) = (context.ui, cancel_on_interrupt());
    ui.note("watching; Ctrl-C ends it");
    let heard = |repo: &Repo, done: Result<&FlowReport, &Failure>| {
        let printed = match done {
            Ok(report) if ui.is_json() => ui.line(&done_json(report).to_string()),
            Err(failure) if ui.is_json() => ui.line(&failure_json(repo.name(), failure).to_string()),
            Ok(_) if ui.is_quiet() => Ok(()),
            Ok(report) => {
                let now = crate::time::clock(context.lore.history.now());
                ui.line(&format!("{} {}: {}", ui.paint(DIM, &now), ui.paint(BOLD, repo.name()), done_line(report)))
            }
            Err(failure) => {
                ui.warn(&format!("{} could not be synced: {failure}", repo.name()));
                Ok(())
            }
        };
        if printed.is_err() {
            // Nobody reads it any more.
            cancel.cancel();
        }
    };
    context.lore.watch_all(names, options, &cancel, &heard)
}

/// What was done, in a few words.
fn done_line(FlowReport { history, code, past, embedding }: &FlowReport) -> String {
    let mut done = Vec::new();
    if history.added > 0 {
        done.push(format!("{} read", count(history.added, "commit")));
    }
    if history.removed > 0 {
        done.push(format!("{} removed", count(history.removed, "commit")));
    }
    if code.read > 0 {
        done.push(format!("{} read", count(code.read, "file")));
    }
    if let Some(past) = past.as_ref().filter(|past| past.read > 0) {
        done.push(format!("{} read", count(past.read, "former version")));
    }
    if let Some(embedding) = embedding.as_ref().filter(|embedding| embedding.embedded > 0) {
        done.push(format!("{} embedded with {}", count(embedding.embedded, "chunk"), one_line(&embedding.model)));
    }
    if done.is_empty() {
        done.push("up to date".to_owned());
    }
    let (commits, files) = (count(history.total, "commit"), count(code.files, "file"));
    let kept = match past {
        Some(past) => {
            let lost = if past.lost > 0 { format!(", {} could not be read", past.lost) } else { String::new() };
            format!("{commits}, {files} and {} of files in the index{lost}", count(past.versions, "version"))
        }
        None => format!("{commits} and {files} in the index"),
    };
    format!("{}; {kept}", done.join(", "))
}

/// What a sync of one repository came to.
pub(super) type Report = Result<FlowReport, (String, Failure)>;

/// Syncs these repositories one after the other; one that fails does not keep the others from being read.
pub(super) fn sync_all(context: &Context<'_>, repos: Vec<Repo>, options: &SyncOptions) -> Result<Vec<Report>, Failure> {
    let cancel = cancel_on_interrupt();
    let writer = context.writer()?;
    let (mut reports, mut synced) = (Vec::new(), Vec::new());
    // Another process may have synced or removed some while this one waited; from now on nobody can.
    let known: Vec<Repo> = context.lore.history.repos()?;
    let mut known: HashMap<String, Repo> = known.into_iter().map(|repo| (repo.name().to_owned(), repo)).collect();
    for repo in repos {
        let Some(repo) = known.remove(repo.name()) else { continue };
        let done = context.sync_one(&*writer, &repo, options, &cancel);
        let stop = done.as_ref().is_err_and(|failure| matches!(failure.code, Code::Interrupted | Code::DiskFull));
        reports.push(done.map_err(|failure| (repo.name().to_owned(), failure)));
        synced.push(repo);
        if stop {
            return Ok(reports);
        }
    }
    // Vectors of a second model can take long, and others may write meanwhile.
    drop(writer);
    for (repo, report) in synced.iter().zip(&mut reports) {
        let Ok(report) = report else { continue };
        report.embedding = context.embed_one(repo, &cancel);
        if cancel.is_cancelled() {
            break;
        }
    }
    Ok(reports)
}

/// Removes vectors of chunks that are gone. It can wait where that is not possible now.
fn collect_vectors(context: &Context<'_>) {
    if let Err(failure) = context.lore.search.index.collect_vectors() {
        tracing::debug!(%failure, "vectors of chunks that are gone are still there");
    }
}

/// The exit code of the first failure.
pub(super) fn exit_code(reports: &[Report]) -> ExitCode {
    let failed = |report: &Report| match report {
        Err((_, failure)) => Some(failure.code),
        Ok(report) => report.embedding.as_ref()?.failure.as_ref().map(|failure| failure.code),
    };
    let first = reports.iter().find_map(failed).map(|code| code.row().exit);
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
                ui.line(&format!("{}: {}", ui.paint(BOLD, &report.history.repo), done_line(report)))?;
                if report.code.lost > 0 {
                    let lost = count(report.code.lost, "file");
                    ui.warn(&format!(
                        "{lost} of {} cannot be read, so nothing in them is found: `lore status --left-out` says why",
                        report.history.repo
                    ));
                }
                let too_large = &report.code.too_large;
                for path in too_large.iter().take(SHOWN_FILES) {
                    let path = one_line(&path.to_text());
                    ui.line(&ui.paint(DIM, &format!("  {path} is not searched: it is too large")))?;
                }
                if too_large.len() > SHOWN_FILES {
                    let others = count((too_large.len() - SHOWN_FILES) as u64, "other file");
                    ui.line(&ui.paint(DIM, &format!("  nor are {others}: `lore status --left-out` lists them")))?;
                }
                for problem in &report.history.problems {
                    ui.line(&ui.paint(DIM, &format!("  {}", problem.told())))?;
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
        Ok(report) => done_json(report),
        Err((name, failure)) => failure_json(name, failure),
    }
}

fn done_json(FlowReport { history, code, past, embedding }: &FlowReport) -> Value {
    json!({
        "repo": history.repo,
        "added": history.added,
        "removed": history.removed,
        "commits": history.total,
        "code": {"read": code.read, "files": code.files, "chunks": code.chunks, "lines": code.lines, "lost": code.lost,
            "too_large": code.too_large.iter().map(|path| path.to_text().into_owned()).collect::<Vec<_>>(),
        },
        "temporal": past.map(|past| json!({
            "read": past.read, "commits": past.commits, "versions": past.versions, "chunks": past.chunks, "lost": past.lost,
        })),
        "embedding": embedding.as_ref().map(embedding_json),
        "left_out": history.problems.iter().map(|problem| json!({"reason": problem.reason, "count": problem.count})).collect::<Vec<_>>(),
    })
}

/// What was done to the vectors of a second model, for `--json`.
pub(super) fn embedding_json(report: &EmbedReport) -> Value {
    let error =
        |failure: &Arc<Failure>| json!({"code": failure.code.name(), "message": failure.message, "hint": failure.hint});
    json!({
        "model": report.model,
        "embedded": report.embedded,
        "known": report.known,
        "chunks": report.chunks,
        "error": report.failure.as_ref().map(error),
    })
}

/// What went wrong with one repository, for `--json`.
pub(super) fn failure_json(name: &str, failure: &Failure) -> Value {
    json!({"repo": name, "error": {"code": failure.code.name(), "message": failure.message, "hint": failure.hint}})
}
