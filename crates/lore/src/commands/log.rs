//! `lore log`: finds commits by words.

use lore_core::history::{Hit, SearchRequest, glob_hints};
use lore_model::Failure;
use serde_json::{Value, json};

use super::{Context, freshness_json, table};
use crate::{
    time::{self, Edge},
    ui::{BOLD, CYAN, DIM, YELLOW, one_line},
};

/// How many paths of a hit are shown to people.
const PATHS_SHOWN: usize = 4;

/// Search commits by words, in all registered repositories
///
/// Words must all occur in the message or the beginning of the diff; "a phrase", prefix*, OR and NOT work too. The
/// repository you are in is registered and indexed at first use.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore log rate limiter\n  lore log '\"connection pool\" timeout' --since 6mo --path src/db\n  lore log 'deadlock OR \"lock order\"' --repo api --author dana --json"
)]
pub(crate) struct Args {
    /// Words to look for
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    #[command(flatten)]
    filter: Filter,
    /// Only commits with a file whose path contains this (may be repeated)
    #[arg(long, value_name = "TEXT")]
    path: Vec<String>,
    /// At most so many (1–500)
    #[arg(long, default_value_t = 20, value_name = "NUMBER")]
    limit: i64,
}

/// What `log` and `touches` have in common.
#[derive(clap::Args)]
pub(crate) struct Filter {
    /// Only author dates from here on: 2w, 6mo, 2025-03-01
    #[arg(long, value_name = "AGE|DATE")]
    pub(super) since: Option<String>,
    /// Only author dates up to here (a day counts to its end)
    #[arg(long, value_name = "AGE|DATE")]
    pub(super) until: Option<String>,
    /// Only authors whose name or email (also by mailmap) contains this
    #[arg(long, value_name = "TEXT")]
    pub(super) author: Option<String>,
    /// Only this repository, `.` for the one you are in (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub(super) repo: Vec<String>,
    /// Answer from the index as it is
    #[arg(long)]
    pub(super) no_sync: bool,
}

/// A filter in the terms of the index.
pub(super) struct Resolved {
    pub(super) since: Option<i64>,
    pub(super) until: Option<i64>,
    pub(super) repos: Vec<String>,
}

impl Filter {
    /// The options that leave commits out.
    fn given(&self) -> Vec<&'static str> {
        let options = [("--since", &self.since), ("--until", &self.until), ("--author", &self.author)];
        options.into_iter().filter(|(_, value)| value.is_some()).map(|(name, _)| name).collect()
    }

    /// Reads dates and names, after bringing the current repository up to date.
    pub(super) fn resolve(&self, context: &Context<'_>) -> Result<Resolved, Failure> {
        let now = context.lore.history.now();
        let since = self.since.as_deref().map(|text| time::parse(text, now, Edge::Start)).transpose()?;
        let until = self.until.as_deref().map(|text| time::parse(text, now, Edge::End)).transpose()?;
        if !self.no_sync {
            context.refresh_project()?;
        }
        let mut repos = Vec::new();
        for name in &self.repo {
            // It is up to date by now, unless it was to be left as it is.
            repos.push(if name == "." { context.project_name()? } else { name.clone() });
        }
        Ok(Resolved { since, until, repos })
    }
}

pub(super) fn run(context: &Context<'_>, args: Args) -> Result<(), Failure> {
    let Resolved { since, until, repos } = args.filter.resolve(context)?;
    let mut given = args.filter.given();
    given.extend((!args.path.is_empty()).then_some("--path"));
    let request = SearchRequest {
        query: args.query.join(" "),
        repos: repos.into(),
        paths: args.path.clone(),
        since,
        until,
        author: args.filter.author,
        limit: args.limit,
    };
    let found = context.lore.history.search(request)?;
    let ui = context.ui;
    if ui.is_json() {
        let results: Vec<Value> = found.hits.iter().map(hit_json).collect();
        return ui.value(&json!({"results": results, "more": found.more, "query_quoted": found.quoted, "limit_clamped": found.clamped, "freshness": freshness_json(&found.freshness)}));
    }
    context.warn_if_not_fresh(&found.freshness);
    if found.quoted {
        ui.note("note: this is no valid query syntax, so every word was taken literally (AND must stand around parentheses)");
    }
    context.note_clamped(found.clamped);
    let matches = |text: &str| {
        let mut paths = found.hits.iter().flat_map(|hit| &hit.hit.matched_paths);
        let text = text.to_ascii_lowercase();
        paths.any(|path| path.to_ascii_lowercase().contains(&text))
    };
    for hint in glob_hints(args.path.iter().map(String::as_str), matches) {
        ui.note(&format!("note: {hint}"));
    }
    if found.hits.is_empty() {
        let without = if given.is_empty() { String::new() } else { format!(", or leave out {}", given.join(", ")) };
        let hint = format!("nothing found; try fewer words, a prefix* or OR between them{without}");
        context.note_nothing(&found.freshness, &hint);
        return Ok(());
    }
    for hit in &found.hits {
        ui.to_page(person_hit(context, hit).as_bytes());
    }
    if found.more {
        ui.to_page(ui.paint(DIM, &table::only("the best", found.hits.len())).as_bytes());
    }
    ui.show_page(&context.loaded.config.pager)
}

fn person_hit(context: &Context<'_>, hit: &Hit) -> String {
    let (ui, commit) = (context.ui, &hit.hit);
    let mut paths: Vec<String> = commit.matched_paths.iter().take(PATHS_SHOWN).map(|path| one_line(path)).collect();
    let others = commit.matched_paths.len() + hit.paths_left_out - paths.len();
    if others > 0 {
        paths.push(format!("and {others} more"));
    }
    let head = format!(
        "{} {} {} {}",
        ui.paint(YELLOW, &commit.commit.to_hex()[..12]),
        ui.paint(CYAN, &hit.repo),
        time::date(commit.author_time),
        ui.paint(DIM, &one_line(&commit.author))
    );
    let files = if paths.is_empty() { String::new() } else { format!("  {}\n", ui.paint(DIM, &paths.join(", "))) };
    format!("{head}\n  {}\n{files}", ui.paint(BOLD, &one_line(&commit.subject)))
}

fn hit_json(hit: &Hit) -> Value {
    let commit = &hit.hit;
    json!({
        "repo": hit.repo,
        "sha": commit.commit.to_hex(),
        "subject": commit.subject,
        "author": commit.author,
        "date": commit.author_time.unwrap_or(0),
        "matched_paths": commit.matched_paths,
        "matched_paths_left_out": hit.paths_left_out,
        "patch_preview": commit.patch_preview,
        "score": commit.score,
    })
}
