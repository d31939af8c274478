//! `lore touches`: finds commits by path.

use lore_core::history::{TouchRequest, glob_hints};
use lore_model::Failure;
use serde_json::{Map, Value, json};

use super::{
    Context, freshness_json,
    log::{Filter, Resolved},
    path_json, table,
};
use crate::{
    time,
    ui::{BOLD, CYAN, DIM, YELLOW, one_line},
};

/// Show what changed files whose path contains a text, newest first
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  lore touches src/auth/\n  lore touches Cargo.toml --since 2w --repo .")]
pub(crate) struct Args {
    /// The path contains this
    #[arg(value_name = "PATH")]
    path: String,
    #[command(flatten)]
    filter: Filter,
    /// At most so many (1–500)
    #[arg(long, default_value_t = 50, value_name = "NUMBER")]
    limit: i64,
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let Resolved { since, until, repos } = args.filter.resolve(context)?;
    let author = args.filter.author;
    let request =
        TouchRequest { path: args.path.clone(), repos: repos.into(), since, until, author, limit: args.limit };
    let found = context.lore.history.touches(request)?;
    let ui = context.ui;
    if ui.is_json() {
        let results: Vec<Value> = found
            .touches
            .iter()
            .map(|touched| {
                let hit = &touched.hit;
                let mut object = Map::new();
                object.insert("repo".to_owned(), touched.repo.clone().into());
                object.insert("sha".to_owned(), hit.commit.to_hex().into());
                object.insert("subject".to_owned(), hit.subject.clone().into());
                object.insert("date".to_owned(), hit.author_time.unwrap_or(0).into());
                path_json(&mut object, "path", Some(&hit.change.path));
                object.insert("status".to_owned(), hit.change.status.letter().to_string().into());
                path_json(&mut object, "old_path", hit.change.old_path.as_ref());
                Value::Object(object)
            })
            .collect();
        return ui
            .value(&json!({"results": results, "more": found.more, "limit_clamped": found.clamped, "freshness": freshness_json(&found.freshness)}));
    }
    context.warn_if_not_fresh(&found.freshness);
    context.note_clamped(found.clamped);
    for hint in glob_hints([args.path.as_str()], |_| !found.touches.is_empty()) {
        ui.note(&format!("note: {hint}"));
    }
    if found.touches.is_empty() {
        context.note_nothing(&found.freshness, "nothing found: no indexed commit changed such a path");
        return Ok(());
    }
    for touched in &found.touches {
        let hit = &touched.hit;
        let from = hit
            .change
            .old_path
            .as_ref()
            .map_or_else(String::new, |path| format!(" (from {})", one_line(&path.to_text())));
        let line = format!(
            "{} {} {} {} {}{}  {}\n",
            ui.paint(YELLOW, &hit.commit.to_hex()[..12]),
            ui.paint(CYAN, &touched.repo),
            time::date(hit.author_time),
            hit.change.status.letter(),
            ui.paint(BOLD, &one_line(&hit.change.path.to_text())),
            ui.paint(DIM, &from),
            one_line(&hit.subject)
        );
        ui.to_page(line.as_bytes());
    }
    if found.more {
        ui.to_page(ui.paint(DIM, &table::only("the newest", found.touches.len())).as_bytes());
    }
    ui.show_page(&context.loaded.config.pager)
}
