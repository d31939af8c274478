//! `lore debug index`: indexes the code of one repository and says how long it took.

use std::{
    num::NonZero,
    path::PathBuf,
    sync::OnceLock,
    time::{Duration, Instant},
};

use lore_core::{
    flows::{FlowEvent, FlowTask},
    history::SyncOptions,
    search::CodeEvent,
};
use lore_model::Failure;
use serde_json::json;

use super::{super::project::cancel_on_interrupt, Context, absolute, micros, register};

/// Index the code of a repository
#[derive(clap::Args)]
pub(super) struct Args {
    /// The repository
    path: PathBuf,
    /// Read the history too, which ranking uses
    #[arg(long)]
    history: bool,
    /// Keep former versions as well
    #[arg(long, requires = "history")]
    temporal: bool,
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    let repo = register(context, absolute(&args.path))?;
    let writer = context.writer()?;
    let started = Instant::now();
    let published: OnceLock<Duration> = OnceLock::new();
    let progress = |event| {
        if matches!(event, FlowEvent::Code(CodeEvent::Published)) {
            published.get_or_init(|| started.elapsed());
        }
    };
    let options = SyncOptions {
        jobs: NonZero::new(context.loaded.config.jobs),
        past: args.temporal.then_some(true),
        ..SyncOptions::default()
    };
    let cancel = cancel_on_interrupt();
    let task = FlowTask { writer: &*writer, options: &options, cancel: &cancel, progress: &progress };
    let (done, past) = if args.history {
        let done = context.lore.sync(&repo, &task)?;
        (done.code, done.past)
    } else {
        (context.lore.sync_code(&repo, &task)?, None)
    };
    let wall = started.elapsed();
    drop(writer);
    let embedded = context.lore.search.index.embed_all(&repo, &cancel, &|_| {})?;
    let state = context.lore.search.reader.state(repo.id)?;
    context.ui.value(&json!({
        "repo": repo.name(),
        "model": context.lore.search.query.model(),
        "read": done.read,
        "files": done.files,
        "lines": done.lines,
        "chunks": done.chunks,
        "source_bytes": state.snapshots.last().map_or(0, |snapshot| snapshot.bytes),
        "code_bytes": context.lore.search.reader.bytes()?,
        "wall_us": micros(wall),
        "first_answer_us": published.get().copied().map(micros),
        "past": past.map(|past| json!({
            "read": past.read, "commits": past.commits, "versions": past.versions, "chunks": past.chunks, "lost": past.lost,
            "bytes": state.past.as_ref().map(|past| past.bytes),
        })),
        "embedded": embedded.map(|report| report.embedded),
    }))
}
