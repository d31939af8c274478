//! `lore jobs`: what a team server is doing.

use std::time::Duration;

use clap::Subcommand;
use lore_model::{Code, Failure, JobStatus};
use lore_remote::{Job, JobDetails, Started};
use serde_json::{Value, json};

use super::{
    Context,
    administration::{self, Administration, Named},
    remote::ServerArgs,
    table::{self, or_dash},
};
use crate::{
    progress::Percent,
    ui::{BOLD, DIM, one_line},
};

/// How often a job is looked at: first often, then less.
const FIRST_LOOK: Duration = Duration::from_millis(100);
const LAST_LOOK: Duration = Duration::from_secs(2);

/// See and stop what a team server is doing
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore jobs list --status running --url https://lore.example.com\n  lore jobs show 4f2a…\n  lore jobs wait 4f2a…"
)]
pub(crate) struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List jobs, newest first
    List {
        /// Only those in this state
        #[arg(long, value_name = "STATUS", value_parser = JobStatus::ALL.map(JobStatus::as_str))]
        status: Option<String>,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Show a job and what it noted
    Show {
        /// Its id
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Stop a job
    Cancel {
        /// Its id
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Wait until a job is over
    Wait {
        /// Its id
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// Whether a command stays until its job is over.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct WaitArgs {
    /// Stay until it is done [default on a terminal]
    #[arg(long, conflicts_with = "no_wait")]
    wait: bool,
    /// Do not stay
    #[arg(long)]
    no_wait: bool,
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let there = match &args.action {
        // Whoever waits for a job may have to do it.
        Action::Wait { id } => administration::open_for(context, &args.server, Named::Job(id))?,
        _ => administration::open(context, &args.server)?,
    };
    let ui = context.ui;
    match args.action {
        Action::List { status, limit } => {
            let status = status.as_deref().and_then(JobStatus::parse);
            let jobs = there.jobs(status, limit)?;
            if ui.is_json() {
                return ui.value(&json!({"jobs": jobs.entries, "total": jobs.total}));
            }
            let rows: Vec<Vec<String>> = jobs
                .entries
                .iter()
                .map(|job| {
                    let progress = job.progress.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.0} %"));
                    let (since, who) = (or_dash(job.created_at.as_deref()), or_dash(job.username.as_deref()));
                    let (what, about) = (job.operation_type.clone(), or_dash(Some(&job.about())));
                    vec![job.job_id.clone(), what, about, job.status.clone(), progress, since, who]
                })
                .collect();
            table::show(ui, &["job", "what", "about", "status", "done", "since", "for"], &rows, "there are no jobs")?;
            table::note_rest(ui, rows.len(), jobs.total, Some(limit));
            Ok(())
        }
        Action::Show { id } => show(context, &there.job(&id)?),
        Action::Cancel { id } => {
            let message = there.cancel_job(&id)?;
            if ui.is_json() {
                return ui.value(&json!({"cancelled": id, "message": message}));
            }
            ui.line(&if message.is_empty() { format!("{id} is stopped") } else { one_line(&message) })
        }
        Action::Wait { id } => {
            let job = follow(context, there.as_ref(), &id, &args.server)?;
            over(context, &job, &args.server)
        }
    }
}

fn show(context: &Context<'_>, details: &JobDetails) -> Result<(), Failure> {
    let ui = context.ui;
    if ui.is_json() {
        return ui.value(&json!(details));
    }
    let job = &details.job;
    let what = one_line(&format!("{} {}", job.operation_type, job.about()));
    ui.line(&format!("{}  {}  {}", ui.paint(BOLD, &one_line(&job.job_id)), what.trim_end(), job.status))?;
    for (what, when) in [("asked for", &job.created_at), ("begun", &job.started_at), ("over", &job.completed_at)] {
        if let Some(when) = when {
            ui.line(&format!("  {what:9}  {}", one_line(when)))?;
        }
    }
    if let Some(error) = text(&job.error) {
        ui.line(&format!("  error      {}", one_line(&error)))?;
    }
    if let Some(result) = text(&job.result) {
        ui.line(&format!("  result     {}", one_line(&result)))?;
    }
    for log in &details.logs {
        let at = ui.paint(DIM, &one_line(&or_dash(log.at.as_deref())));
        ui.line(&format!("  {at}  {}", one_line(&log.text)))?;
    }
    Ok(())
}

/// What there is to say of a value: texts as they are.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Tells what was begun, and stays until it is done where that is wanted.
pub(super) fn report(
    context: &Context<'_>,
    there: &dyn Administration,
    started: &Started,
    wait: WaitArgs,
    server: &ServerArgs,
) -> Result<(), Failure> {
    let ui = context.ui;
    let stays = wait.wait || (ui.is_terminal() && !ui.is_json() && !wait.no_wait);
    match &started.job_id {
        Some(id) if stays => {
            if !ui.is_json() {
                ui.note(&started.message);
            }
            let job = follow(context, there, id, server)?;
            over(context, &job, server)
        }
        _ if ui.is_json() => ui.value(&json!(started)),
        Some(id) => {
            ui.line(&one_line(&started.message))?;
            ui.note(&format!("`lore jobs wait {id}{}` stays until it is done", server.repeated()));
            Ok(())
        }
        None => ui.line(&one_line(&started.message)),
    }
}

/// Looks at a job until it is over, and sees to it that somebody does it.
fn follow(context: &Context<'_>, there: &dyn Administration, id: &str, server: &ServerArgs) -> Result<Job, Failure> {
    let job = look(context, there, id, server);
    there.leave();
    job
}

fn look(context: &Context<'_>, there: &dyn Administration, id: &str, server: &ServerArgs) -> Result<Job, Failure> {
    let mut bar: Option<Percent> = None;
    let mut pause = FIRST_LOOK;
    let mut is_attended = false;
    let mut told = 0;
    loop {
        let JobDetails { job, unwritten, .. } = there.job(id)?;
        if let Some(said) = setback(&job, &mut told) {
            // A bar that does not move says nothing of why.
            if let Some(bar) = bar.take() {
                bar.finish();
            }
            context.ui.warn(&said);
        }
        let shown = bar.get_or_insert_with(|| Percent::new(context.ui, &job.operation_type));
        shown.at(job.progress.unwrap_or(0.0));
        // A state that this program does not know may be the last one: it cannot tell.
        if JobStatus::parse(&job.status).is_none_or(JobStatus::is_over) {
            shown.finish();
            return Ok(job);
        }
        // Once: a server that stops meanwhile is about to start again, and must find its folder free.
        if !std::mem::replace(&mut is_attended, true) {
            there.attend()?;
        }
        // Nothing that happens to the job from here on could be seen.
        let checked = match unwritten {
            Some(unwritten) => Err(unwritten.failure()),
            None => there.check(),
        };
        checked.map_err(|failure| {
            failure.hint(format!("the job is kept: `lore jobs wait {id}{}` goes on with it", server.repeated()))
        })?;
        lore_core::Cancel::default().sleep(pause);
        pause = (pause * 3 / 2).min(LAST_LOOK);
    }
}

/// What went wrong with a job that is tried again, once for each try.
fn setback(job: &Job, told: &mut u32) -> Option<String> {
    let tries = job.attempts.unwrap_or(0);
    if JobStatus::parse(&job.status) != Some(JobStatus::Pending) || tries <= *told {
        return None;
    }
    let error = text(&job.error)?;
    *told = tries;
    Some(format!("it did not work and is tried again: {error}"))
}

/// What became of a job: a failure where it failed.
fn over(context: &Context<'_>, job: &Job, server: &ServerArgs) -> Result<(), Failure> {
    let said = text(&job.error).map_or_else(String::new, |error| format!(": {error}"));
    match JobStatus::parse(&job.status) {
        Some(JobStatus::Failed) => Err(Failure::new(Code::Conflict, format!("the job {} failed{said}", job.job_id))
            .hint(format!("`lore jobs show {}{}` tells what it noted", job.job_id, server.repeated()))),
        Some(JobStatus::Cancelled) => {
            Err(Failure::new(Code::Interrupted, format!("the job {} was stopped{said}", job.job_id)))
        }
        _ if context.ui.is_json() => context.ui.value(&json!({"job": job})),
        _ => {
            let came = text(&job.result).map_or_else(String::new, |result| format!(": {result}"));
            context.ui.line(&one_line(&format!("{} {}{came}", job.operation_type, job.status)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setback_is_told_once() {
        let job = |status, attempts, error: Option<&str>| -> Job {
            let job = json!({"job_id": "1", "status": status, "attempts": attempts, "error": error});
            serde_json::from_value(job).unwrap()
        };
        let mut told = 0;
        assert_eq!(setback(&job("pending", 0, None), &mut told), None);
        assert_eq!(setback(&job("running", 1, None), &mut told), None);
        let first = setback(&job("pending", 1, Some("no such host")), &mut told);
        assert_eq!(first.as_deref(), Some("it did not work and is tried again: no such host"));
        assert_eq!(setback(&job("pending", 1, Some("no such host")), &mut told), None);
        assert!(setback(&job("pending", 2, Some("no such host")), &mut told).is_some());
        assert_eq!(setback(&job("failed", 3, Some("no such host")), &mut told), None);
    }
}
