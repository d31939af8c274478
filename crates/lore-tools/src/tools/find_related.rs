//! `find_related`: more like a place in the code.

use lore_core::{
    search::{CodeHit, LIMIT_MAX, RelatedAnswer, RelatedRequest},
    why::FileAt,
};
use lore_model::{Failure, Permission, RepoPath, SymbolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::run;
use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    answer::{AnswerBuilder, size},
    schema,
    scope::Names,
    why::{Fields, MAX_TOKENS, file},
};

const LIMIT: i64 = 8;

/// So many lines of a result say what it is.
const LINES: usize = 6;

/// So many shared words are named.
const SHARED: usize = 8;

/// So many copies are named.
const COPIES: usize = 10;

pub(super) static TOOL: Tool = Tool {
    name: "find_related",
    title: "More like this place",
    toolset: Toolset::Why,
    about: "Code like that at a line: it does the same, or shares its rare names. Copies are named apart.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, related),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Path from the repository's root
    file: String,
    /// The line, from 1
    #[schemars(extend("minimum" = 1))]
    line: i64,
    /// Instead of the project
    repo: Option<String>,
    /// 1-100, default 8
    #[schemars(extend("minimum" = 1, "maximum" = LIMIT_MAX, "default" = LIMIT))]
    limit: Option<i64>,
}

fn related(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let (at, names) = file(context, input.repo.clone(), input.file.clone())?;
    let FileAt { repo, place, path } = context.lore.find_file(&at)?;
    let request = RelatedRequest {
        repo: (repo, Some(place)),
        path,
        line: u32::try_from(input.line).unwrap_or(u32::MAX),
        limit: usize::try_from(input.limit.unwrap_or(LIMIT)).unwrap_or(LIMIT_MAX),
    };
    let mut found = context.lore.search.query.related(&request)?;
    found.shorten(LINES);
    let hits = std::mem::take(&mut found.hits);
    let frame = size(&Value::Object(fields(&found, &names).0)) + 10;
    found.hits = hits;
    found.fit(MAX_TOKENS.saturating_sub(frame), &|found| size(&hit(found, &names)));
    let mut answer = AnswerBuilder::object(fields(&found, &names).0);
    let fresh = &found.freshness;
    let mut row = Fields::default();
    row.put("repo", fresh.repo.as_str());
    row.put("state", fresh.state.as_str());
    row.put_some("commit", fresh.commit.map(|commit| commit.to_hex()));
    row.put("uncommitted_files", fresh.uncommitted);
    row.put_some("uncommitted_error", fresh.uncommitted_error.as_deref());
    answer.note("freshness", json!({"state": fresh.state.as_str(), "repos": [row.0]}));
    answer.code_states([fresh].into_iter());
    Ok(answer.done())
}

fn fields(found: &RelatedAnswer, names: &Names) -> Fields {
    let repo = found.freshness.repo.as_str();
    let mut fields = Fields::default();
    fields.put("repo", names.repo(repo));
    fields.put("file", names.path(repo, &found.path.to_text()));
    fields.put("lines", json!([found.lines.0, found.lines.1]));
    fields.put_some("name", found.name.as_deref());
    let copy = |(path, line): &(RepoPath, u32)| format!("{}:{line}", names.path(repo, &path.to_string())).into();
    let copies: Vec<Value> = found.copies.iter().take(COPIES).map(copy).collect();
    fields.put_count("copies_more", found.copies.len() - copies.len());
    fields.put_some("copies", Some(copies).filter(|copies| !copies.is_empty()));
    fields.put("results", found.hits.iter().map(|found| hit(found, names)).collect::<Vec<Value>>());
    fields.put_some("more", found.more.then_some(true));
    fields.put_count("left_out_by_size", found.no_room);
    fields
}

fn hit(hit: &CodeHit, names: &Names) -> Value {
    let mut fields = Fields::default();
    fields.put("path", names.path(&hit.repo, &hit.path.to_text()));
    fields.put("lines", json!([hit.lines.0, hit.lines.1]));
    fields.put_some("name", hit.name.as_deref());
    fields.put_some("symbol", hit.symbol.map(SymbolKind::as_str));
    fields.put_some("container", hit.container.as_deref());
    fields.put_some("uncommitted", hit.uncommitted.then_some(true));
    let also_at: Vec<Value> = hit.also_at.iter().map(|path| names.path(&hit.repo, &path.to_text()).into()).collect();
    fields.put_some("also_at", Some(also_at).filter(|others| !others.is_empty()));
    fields.put_count("also_at_more", hit.also_at_more);
    fields.put("score", (f64::from(hit.score) * 1000.0).round() / 1000.0);
    fields.put_some("shares", Some(shared(&hit.explanation.matched)).filter(|words| !words.is_empty()));
    fields.put("text", hit.snippet.text.as_str());
    let shown = json!([hit.snippet.first_line, hit.snippet.last_line]);
    fields.put_some("shown_lines", hit.snippet.cut.then_some(shown));
    Value::Object(fields.0)
}

/// The rarest words that a result shares, without parts of others.
fn shared(words: &[String]) -> Vec<&str> {
    let is_part = |word: &str| words.iter().any(|other| other.len() > word.len() && other.contains(word));
    words.iter().map(String::as_str).filter(|word| !is_part(word)).take(SHARED).collect()
}
