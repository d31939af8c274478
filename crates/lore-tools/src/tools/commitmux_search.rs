//! `commitmux_search`: commits by words.

use lore_core::history::{LIMIT_MAX, SearchRequest, glob_hints};
use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{date, run};
use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    answer::AnswerBuilder,
    arguments::Clamped,
    repositories::{is_long, line},
    schema,
    scope::{Histories, histories},
};

/// How much of the diff an excerpt shows.
const EXCERPT_CHARS: usize = 300;

const LIMIT: i64 = 20;

/// What is said of a query that FTS5 rejects.
const QUOTED: &str = "the query is not valid FTS5 syntax: every word was taken literally";

pub(super) static TOOL: Tool = Tool {
    name: "commitmux_search",
    title: "Search commits",
    toolset: Toolset::History,
    about: "Full-text search over commit messages and the beginning of each diff, in all registered repositories. Use it first: was this done, tried or fixed before, and how?",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, search),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// FTS5 query string: words (all must occur), "a phrase", prefix*, OR, NOT
    query: String,
    /// Unix timestamp lower bound on author date
    since: Option<i64>,
    /// Filter by repo names
    #[serde(default)]
    #[schemars(extend("default" = null))]
    repos: Vec<String>,
    /// Filter by path substrings
    #[serde(default)]
    #[schemars(extend("default" = null))]
    paths: Vec<String>,
    /// Max results (default 20, at most 500)
    limit: Option<i64>,
}

fn search(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let Histories { repos, names, mut notes } = histories(context, input.repos.clone())?;
    let request = SearchRequest {
        query: input.query.clone(),
        repos,
        paths: input.paths.clone(),
        since: input.since,
        limit: input.limit.unwrap_or(LIMIT),
        ..SearchRequest::default()
    };
    let found = context.lore.history.search(request)?;
    let results = found.hits.iter().map(|hit| {
        let commit = &hit.hit;
        json!({
            "repo": names.repo(&hit.repo),
            "sha": commit.commit.to_hex(),
            "subject": line(&commit.subject),
            "author": line(&commit.author),
            "date": date(commit.author_time),
            "matched_paths": commit.matched_paths.iter().map(|path| names.path(&hit.repo, path)).collect::<Vec<_>>(),
            "patch_excerpt": commit.patch_preview.chars().take(EXCERPT_CHARS).collect::<String>(),
        })
    });
    let mut answer = AnswerBuilder::list(results.collect());
    let paths_left_out: usize = found.hits.iter().map(|hit| hit.paths_left_out).sum();
    let undated: Vec<Value> = found
        .hits
        .iter()
        .filter(|hit| hit.hit.author_time.is_none())
        .map(|hit| hit.hit.commit.to_hex().into())
        .collect();
    let matches = |text: &str| {
        let mut paths = found.hits.iter().flat_map(|hit| &hit.hit.matched_paths);
        let text = text.to_ascii_lowercase();
        paths.any(|path| path.to_ascii_lowercase().contains(&text))
    };
    let hints = glob_hints(input.paths.iter().map(String::as_str), matches);
    let has_hint = !hints.is_empty();
    notes.extend(hints);
    answer.notes(&notes);
    if found.hits.is_empty() && !has_hint {
        let filters = [("since", input.since.is_some()), ("paths", !input.paths.is_empty())];
        let filters: Vec<&str> = filters.iter().filter(|(_, is_used)| *is_used).map(|(name, _)| *name).collect();
        let with = if filters.is_empty() { String::new() } else { format!(" with {}", filters.join(" and ")) };
        answer.nothing_found(&format!("no commit matches the query{with}"), &found.freshness);
    }
    answer.note_text_if(found.more, "more", true, "more commits match than these");
    answer.note_text_if(found.quoted, "query_quoted", QUOTED, QUOTED);
    answer.note_if(found.hits.iter().any(|hit| is_long(&hit.hit.subject)), "subjects_cut", true);
    let left_out = format!("{paths_left_out} matched paths are left out");
    answer.note_text_if(paths_left_out > 0, "matched_paths_left_out", paths_left_out, left_out);
    answer.note_if(!undated.is_empty(), "no_date", undated);
    answer.note_if(found.hits.iter().any(|hit| hit.hit.lossy), "replaced_invalid_utf8", true);
    let mut answer = answer.finish(&found.freshness, &|name| found.hits.iter().any(|hit| hit.repo == name));
    if let Some(limit) = found.clamped {
        Clamped::new("limit", (&json!(1), &json!(LIMIT_MAX)), limit.into()).announce(&mut answer);
    }
    Ok(answer)
}
