//! `lore status`: how the index is.

use std::fmt::Write as _;

use lore_core::{
    history::{FreshState, RepoFreshness},
    search::{CodeOverview, CodeState},
};
use lore_model::{Failure, Repo};
use lore_store::LeftOut;
use lore_store::store_failure;
use serde_json::{Value, json};

use super::{Context, path_json, sync::count};
use crate::{
    time,
    ui::{BOLD, DIM, GREEN, RED, YELLOW, one_line},
};

/// So many languages and reasons are shown to people.
const SHOWN: usize = 5;

/// Show how fresh and how large the index is
///
/// With `-v`, every language.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// List the files that are not searched, or not by meaning, and why
    #[arg(long)]
    left_out: bool,
}

/// What is known of one repository.
struct Row {
    repo: Repo,
    fresh: RepoFreshness,
    code: Result<CodeOverview, Failure>,
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<(), Failure> {
    let history = &context.lore.history;
    let repos = history.repos()?;
    let freshness = history.freshness(&repos, None);
    let size = history.store().size().map_err(store_failure)?;
    let code_bytes = context.lore.search.reader.bytes()?;
    let mut rows = Vec::new();
    for (repo, fresh) in repos.into_iter().zip(freshness.repos) {
        let code = context.lore.search.query.overview(&repo);
        rows.push(Row { repo, fresh, code });
    }
    let ui = context.ui;
    if ui.is_json() {
        let repos: Vec<Value> = rows.iter().map(|row| row.json(args.left_out)).collect();
        return ui.value(&json!({
            "home": context.loaded.home.to_string_lossy(),
            "index_bytes": size.bytes,
            "code_bytes": code_bytes,
            "history_bytes": size.bytes.saturating_sub(code_bytes),
            "commits": size.commits,
            "repos": repos,
        }));
    }
    if let Some(failure) = &context.no_embedder {
        ui.warn(&format!("the configured embedding model cannot be used: {failure}"));
    }
    ui.line(&format!(
        "{}, {}, {:.1} MB in {} ({:.1} MB code, {:.1} MB history)",
        if rows.len() == 1 { "1 repository".to_owned() } else { format!("{} repositories", rows.len()) },
        count(size.commits, "commit"),
        megabytes(size.bytes),
        context.loaded.home.display(),
        megabytes(code_bytes),
        megabytes(size.bytes.saturating_sub(code_bytes))
    ))?;
    for row in &rows {
        row.print(context, args.left_out)?;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "one digit after the point is shown")]
pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// How many there are of each reason, the most first.
fn by_reason(left_out: &[LeftOut]) -> Vec<(&str, u64)> {
    let mut counts: Vec<(&str, u64)> = Vec::new();
    for file in left_out {
        match counts.iter_mut().find(|(reason, _)| *reason == file.reason) {
            Some((_, count)) => *count += 1,
            None => counts.push((&file.reason, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// The first of a list, and how many more there are.
fn first_of(parts: impl Iterator<Item = String>, shown: usize) -> String {
    let mut parts: Vec<String> = parts.collect();
    let more = parts.len().saturating_sub(shown);
    parts.truncate(shown);
    if more > 0 {
        parts.push(format!("{more} more"));
    }
    parts.join(", ")
}

impl Row {
    fn print(&self, context: &Context<'_>, left_out: bool) -> Result<(), Failure> {
        let (ui, repo) = (context.ui, &self.repo);
        let now = context.lore.history.now();
        let (style, word) = match self.fresh.state {
            FreshState::Current => (GREEN, "current"),
            FreshState::Stale => (YELLOW, "stale: its branches have moved, run `lore sync`"),
            FreshState::Partial => (YELLOW, "partial: run `lore sync` to complete it"),
            FreshState::NeverSynced => (YELLOW, "not read yet: `lore log` or `lore sync` reads it"),
            FreshState::Missing => (RED, "missing: the repository is not there; the index still answers"),
        };
        let age =
            |then: Option<i64>| then.map_or_else(String::new, |then| format!(", synced {}", time::age(then, now)));
        ui.line(&ui.paint(BOLD, repo.name()))?;
        let commits = count(repo.sync.commit_count, "commit");
        ui.line(&format!("  history  {commits}{}, {}", age(repo.sync.last_synced_at), ui.paint(style, word)))?;
        for problem in &repo.sync.problems {
            ui.line(&ui.paint(DIM, &format!("           {}", problem.told())))?;
        }
        if let Some(error) = &repo.sync.last_error {
            ui.line(&ui.paint(RED, &format!("           last sync failed: {}", one_line(error))))?;
        }
        match &self.code {
            Ok(code) => print_code(context, code, now, left_out),
            Err(failure) => ui.line(&format!("  code     {}", ui.paint(RED, &one_line(&failure.to_string())))),
        }
    }

    fn json(&self, list: bool) -> Value {
        let repo = &self.repo;
        json!({
            "name": repo.name(),
            "path": repo.info.local_path.to_string_lossy(),
            "state": self.fresh.state.as_str(),
            "commits": repo.sync.commit_count,
            "head": repo.sync.last_synced_sha.map(|sha| sha.to_hex()),
            "last_synced_at": repo.sync.last_synced_at,
            "last_error": repo.sync.last_error,
            "left_out": repo.sync.problems.iter().map(|problem| json!({"reason": problem.reason, "count": problem.count})).collect::<Vec<_>>(),
            "temporal": self.code.as_ref().ok().and_then(|code| code.past.as_ref()).map(|past| json!({
                "commits": past.commits, "versions": past.versions, "chunks": past.chunks, "synced_at": past.at,
                "complete": past.complete,
            })),
            "code": match &self.code {
                Ok(code) => code_json(code, list),
                Err(failure) => json!({"error": {"code": failure.code.name(), "message": failure.message, "hint": failure.hint}}),
            },
        })
    }
}

fn print_code(context: &Context<'_>, code: &CodeOverview, now: i64, list: bool) -> Result<(), Failure> {
    let ui = context.ui;
    let fresh = &code.freshness;
    let (style, word) = match fresh.state {
        CodeState::Current if code.snapshot.is_none() => (GREEN, "nothing: no branch that is indexed has a commit"),
        CodeState::Current => (GREEN, "current"),
        CodeState::Stale => (YELLOW, "stale: run `lore sync`"),
        CodeState::Partial => (YELLOW, "partial: run `lore sync` to complete it"),
        CodeState::NeverIndexed => (YELLOW, "not read yet: `lore search` or `lore sync` reads it"),
        CodeState::Missing => (RED, "missing: the repository is not there; the index still answers"),
    };
    let (style, word) = if fresh.error.is_some() { (RED, "could not be indexed") } else { (style, word) };
    let Some(snapshot) = &code.snapshot else {
        return ui.line(&format!("  code     {}", ui.paint(style, word)));
    };
    let mut line = format!(
        "{}, {}, {} at {}",
        count(snapshot.files, "file"),
        count(snapshot.chunks, "chunk"),
        count(snapshot.lines, "line"),
        &snapshot.commit.to_hex()[..10]
    );
    if fresh.uncommitted > 0 {
        write!(line, " and {}", count(fresh.uncommitted as u64, "uncommitted file"))
            .expect("writing to a string cannot fail");
    }
    if let Some(then) = fresh.indexed_at {
        write!(line, ", indexed {}", time::age(then, now)).expect("writing to a string cannot fail");
    }
    ui.line(&format!("  code     {line}, {}", ui.paint(style, word)))?;
    let problems = [
        ("uncommitted work could not be read, or not all of it", &fresh.uncommitted_error),
        ("what it wants to be left out cannot be read", &fresh.ignore_error),
    ];
    for (what, error) in problems {
        if let Some(error) = error {
            ui.line(&ui.paint(RED, &format!("           {what}: {}", one_line(error))))?;
        }
    }
    if let Some(past) = &code.past {
        let (style, word) = match past.at {
            None => (YELLOW, "not read yet: run `lore sync`"),
            Some(_) if !code.past_is_current => (YELLOW, "stale: run `lore sync`"),
            Some(_) if !past.complete => (YELLOW, "not all content is there (a partial clone)"),
            Some(_) => (GREEN, "current"),
        };
        let (versions, commits) = (count(past.versions, "version"), count(past.commits, "commit"));
        ui.line(&format!("  past     {versions} of files at {commits}, {}", ui.paint(style, word)))?;
    }
    if let Some(second) = &code.second {
        let (covered, chunks) = (second.covered as u64, count(second.chunks as u64, "chunk"));
        let line =
            format!("  meaning  {} covers {covered} of {chunks} ({} %)", one_line(&second.model), second.percent());
        let is_whole = second.covered >= second.chunks;
        let rest = if is_whole { String::new() } else { ui.paint(YELLOW, ", `lore sync` goes on") };
        ui.line(&format!("{line}{rest}"))?;
    }
    let languages = code.summary.languages.iter().filter(|(_, counts)| counts[1] > 0);
    let languages = languages.map(|(name, counts)| format!("{name} {}", count(counts[1], "line")));
    let shown = if context.verbose { usize::MAX } else { SHOWN };
    let languages = first_of(languages, shown);
    if !languages.is_empty() {
        ui.line(&ui.paint(DIM, &format!("           {languages}")))?;
    }
    let left_out = &code.summary.left_out;
    let uncommitted = &code.uncommitted_left_out;
    if !left_out.is_empty() || !uncommitted.is_empty() {
        let all: Vec<LeftOut> = left_out.iter().chain(uncommitted).cloned().collect();
        let reasons = by_reason(&all);
        let reasons = first_of(reasons.iter().map(|(reason, count)| format!("{count} {}", one_line(reason))), shown);
        let files = count(all.len() as u64, "file");
        let more = if list { "" } else { " (--left-out lists them)" };
        ui.line(&ui.paint(DIM, &format!("           {files} without vectors or not searched: {reasons}{more}")))?;
    }
    if list {
        for (file, note) in
            left_out.iter().map(|file| (file, "")).chain(uncommitted.iter().map(|file| (file, ", uncommitted")))
        {
            let (path, reason) = (one_line(&file.path.to_text()), one_line(&file.reason));
            ui.line(&format!("           {path}  {}", ui.paint(DIM, &format!("{reason}{note}"))))?;
        }
    }
    Ok(())
}

fn code_json(code: &CodeOverview, list: bool) -> Value {
    let snapshot = code.snapshot.as_ref();
    let languages = code.summary.languages.iter().map(
        |(name, [files, lines, chunks])| json!({"language": name, "files": files, "lines": lines, "chunks": chunks}),
    );
    let reasons = |left_out: &[LeftOut]| -> Vec<Value> {
        by_reason(left_out).into_iter().map(|(reason, count)| json!({"reason": reason, "count": count})).collect()
    };
    let mut value = json!({
        "state": code.freshness.state.as_str(),
        "commit": code.freshness.commit.map(|commit| commit.to_hex()),
        "indexed_at": code.freshness.indexed_at,
        "files": snapshot.map_or(0, |snapshot| snapshot.files),
        "chunks": snapshot.map_or(0, |snapshot| snapshot.chunks),
        "lines": snapshot.map_or(0, |snapshot| snapshot.lines),
        "bytes": snapshot.map_or(0, |snapshot| snapshot.bytes),
        "languages": languages.collect::<Vec<_>>(),
        "left_out": reasons(&code.summary.left_out),
        "uncommitted": code.freshness.uncommitted,
        "uncommitted_error": code.freshness.uncommitted_error,
        "ignore_error": code.freshness.ignore_error,
        "embedding": code.second.as_ref().map(super::second_json),
        "uncommitted_left_out": reasons(&code.uncommitted_left_out),
    });
    if list {
        let files = |left_out: &[LeftOut], uncommitted: bool| -> Vec<Value> {
            let file = |file: &LeftOut| {
                let mut object = serde_json::Map::new();
                path_json(&mut object, "path", Some(&file.path));
                object.insert("reason".to_owned(), file.reason.as_str().into());
                object.insert("uncommitted".to_owned(), uncommitted.into());
                Value::Object(object)
            };
            left_out.iter().map(file).collect()
        };
        let mut all = files(&code.summary.left_out, false);
        all.extend(files(&code.uncommitted_left_out, true));
        value["left_out_files"] = all.into();
    }
    value
}
