//! `lore related`: more like a place in the code.

use std::ffi::OsString;

use lore_core::{
    flows::FlowTask,
    search::{CodeAnswer, LIMIT_MAX, PastGaps, QueryKind, RelatedAnswer, RelatedRequest},
    why::FileAt,
};
use lore_model::{Code, Failure, Repo, Source};
use lore_store::store_failure;
use serde_json::{Map, Value, json};

use super::{
    Context, path_json,
    project::cancel_on_interrupt,
    search::{hit_json, print_hits, seen_from_here, warn_if_not_fresh},
    why::{needs_line, request, target},
};
use crate::{
    progress::SyncProgress,
    ui::{BOLD, DIM, one_line},
};

/// So many copies are shown to people.
const COPIES: usize = 5;

/// Show code that is like the code at a line
///
/// What does the same elsewhere, or shares its rare names, best first: see what else has to change, or what can be reused.
/// Copies of the code are named apart. Uncommitted files are searched too.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore related src/auth.rs:42\n  lore related src/auth.rs:42 --limit 3 --json\n  lore related axum/src/routing/mod.rs:120 --repo axum"
)]
pub(crate) struct Args {
    /// The file and a line of it
    #[arg(value_name = "FILE:LINE")]
    target: OsString,
    /// The file is in this repository, and named from its root
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,
    /// At most so many results (1–100)
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 10)]
    limit: usize,
    /// Answer from the index as it is
    #[arg(long)]
    no_sync: bool,
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let (file, lines) = target(&args.target)?;
    let line = needs_line(lines)?;
    if !args.no_sync {
        context.refresh_project()?;
    }
    let FileAt { repo, place, path } = context.lore.find_file(&request(args.repo, file))?;
    if !args.no_sync {
        refresh(context, &repo)?;
    }
    let limit = context.in_range("--limit", args.limit, (1, LIMIT_MAX));
    let asked = RelatedRequest { repo: (repo.clone(), Some(place.clone())), path, line, limit };
    let started = std::time::Instant::now();
    let found = context.lore.search.query.related(&asked)?;
    let took = started.elapsed();
    let ui = context.ui;
    if ui.is_json() {
        return ui.value(&answer_json(&found));
    }
    let name = found.name.as_deref().map_or_else(String::new, |name| format!("  {}", one_line(name)));
    let at = format!("{}:{}-{}", one_line(&seen_from_here(&place, &found.path)), found.lines.0, found.lines.1);
    ui.to_page(format!("Like {}{}\n", ui.paint(BOLD, &at), ui.paint(DIM, &name)).as_bytes());
    let mut copies: Vec<String> = found
        .copies
        .iter()
        .take(COPIES)
        .map(|(path, line)| format!("{}:{line}", one_line(&seen_from_here(&place, path))))
        .collect();
    if found.copies.len() > COPIES {
        copies.push(format!("and {} more", found.copies.len() - COPIES));
    }
    if !copies.is_empty() {
        ui.to_page(format!("The same in {}\n", copies.join(", ")).as_bytes());
    }
    ui.to_page(b"\n");
    let answer = as_answer(found);
    warn_if_not_fresh(context, &answer.freshness);
    if answer.hits.is_empty() {
        ui.note("nothing else is like it");
    }
    print_hits(context, (repo, place), &answer, took)
}

/// Brings the code of a repository up to date, unless another process is doing that.
fn refresh(context: &Context<'_>, repo: &Repo) -> Result<(), Failure> {
    let search = &context.lore.search;
    if repo.info.source != Source::Local || search.reader.is_indexed(repo)?.unwrap_or(true) {
        return Ok(());
    }
    let usable = !search.reader.state(repo.id)?.snapshots.is_empty();
    let writer =
        if usable { context.lore.history.store().try_writer().map_err(store_failure) } else { context.writer() };
    let done = match writer {
        Ok(writer) => {
            let progress = SyncProgress::new(context.ui, repo.name());
            let (cancel, options) = (cancel_on_interrupt(), context.sync_options());
            let heard = |event| progress.event(event);
            let task = FlowTask { writer: &*writer, options: &options, cancel: &cancel, progress: &heard };
            let done = context.lore.sync_code(repo, &task);
            progress.finish();
            done.map(|_| ())
        }
        Err(failure) => Err(failure),
    };
    match done {
        Err(failure) if !usable || failure.code == Code::Interrupted => Err(failure),
        Err(failure) if failure.code == Code::Busy => {
            context.ui.note("another lore process is writing the index; the answer is from what is there");
            Ok(())
        }
        Err(failure) => {
            context.ui.warn(&format!("{} could not be brought up to date: {failure}", repo.name()));
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// As the answer to a question that asks for what they share.
fn as_answer(found: RelatedAnswer) -> CodeAnswer {
    let mut words: Vec<String> = found.hits.iter().flat_map(|hit| hit.explanation.matched.clone()).collect();
    words.sort_unstable();
    words.dedup();
    CodeAnswer {
        hits: found.hits,
        kind: QueryKind::Sentence,
        words,
        query_cut: false,
        more: found.more,
        no_room: found.no_room,
        too_low: 0,
        unmatched: Vec::new(),
        freshness: vec![found.freshness],
        second: None,
        gaps: PastGaps::default(),
    }
}

fn answer_json(found: &RelatedAnswer) -> Value {
    let mut object = Map::new();
    object.insert("repo".to_owned(), found.freshness.repo.clone().into());
    path_json(&mut object, "path", Some(&found.path));
    let copies = found.copies.iter().map(|(path, line)| {
        let mut object = Map::new();
        path_json(&mut object, "path", Some(path));
        object.insert("line".to_owned(), (*line).into());
        Value::Object(object)
    });
    let copies: Vec<Value> = copies.collect();
    let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    put("lines", json!([found.lines.0, found.lines.1]));
    put("name", found.name.clone().into());
    put("copies", copies.into());
    put("results", found.hits.iter().map(hit_json).collect());
    put("more", found.more.into());
    let fresh = &found.freshness;
    put(
        "freshness",
        json!([{
            "repo": fresh.repo,
            "state": fresh.state.as_str(),
            "commit": fresh.commit.map(|commit| commit.to_hex()),
            "indexed_at": fresh.indexed_at,
            "uncommitted": fresh.uncommitted,
            "uncommitted_error": fresh.uncommitted_error,
        }]),
    );
    Value::Object(object)
}
