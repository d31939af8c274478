//! `lore-dev index`: indexes the code of a repository and prints how long it took.

use std::{
    path::PathBuf,
    sync::OnceLock,
    time::{Duration, Instant},
};

use lore_core::{
    Cancel,
    flows::{FlowEvent, FlowTask},
    history::SyncOptions,
    search::CodeEvent,
};
use lore_model::Failure;
use serde_json::json;

use super::{micros, print, register};

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

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let (lore, options) = lore::open()?;
    let repo = register(&lore, &args.path)?;
    let writer = lore.history.writer(|| {})?;
    let started = Instant::now();
    let published: OnceLock<Duration> = OnceLock::new();
    let progress = |event| {
        if matches!(event, FlowEvent::Code(CodeEvent::Published)) {
            published.get_or_init(|| started.elapsed());
        }
    };
    let options = SyncOptions { past: args.temporal.then_some(true), ..options };
    let cancel = Cancel::default();
    let task = FlowTask { writer: &*writer, options: &options, cancel: &cancel, progress: &progress };
    let (done, past) = if args.history {
        let done = lore.sync(&repo, &task)?;
        (done.code, done.past)
    } else {
        (lore.sync_code(&repo, &task)?, None)
    };
    let wall = started.elapsed();
    drop(writer);
    let embedded = lore.search.index.embed_all(&repo, &cancel, &|_| {})?;
    let state = lore.search.reader.state(repo.id)?;
    print(&json!({
        "repo": repo.name(),
        "model": lore.search.query.model(),
        "read": done.read,
        "files": done.files,
        "lines": done.lines,
        "chunks": done.chunks,
        "source_bytes": state.snapshots.last().map_or(0, |snapshot| snapshot.bytes),
        "code_bytes": lore.search.reader.bytes()?,
        "wall_us": micros(wall),
        "first_answer_us": published.get().copied().map(micros),
        "past": past.map(|past| json!({
            "read": past.read, "commits": past.commits, "versions": past.versions, "chunks": past.chunks, "lost": past.lost,
            "bytes": state.past.as_ref().map(|past| past.bytes),
        })),
        "embedded": embedded.map(|report| report.embedded),
    }))
}
