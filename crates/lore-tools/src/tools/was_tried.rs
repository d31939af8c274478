//! `was_tried`: code like this that was there and is not any more, and why.

use lore_core::{
    search::{CodeHit, Happened, LIMIT_MAX, estimate_tokens},
    why::{Reverted, Tried, TriedRequest},
};
use lore_model::{Failure, Permission, SymbolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::run;
use crate::{
    Answer, Content, Context, Effect, Errors, Offered, Tool, Toolset,
    answer::{AnswerBuilder, size},
    cold::history_notice,
    repositories::line,
    schema,
    scope::{Names, composite, find},
    why::{Fields, day, room},
};

const LIMIT: i64 = 5;

/// So many lines of a result say what it was.
const LINES: usize = 8;

/// So much of a message says why.
const REASON: usize = 400;

pub(super) static TOOL: Tool = Tool {
    name: "was_tried",
    title: "Was this tried before",
    toolset: Toolset::Why,
    about: "Code like this that was removed, and why; reverts.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, tried),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Words or code
    text: String,
    /// Instead of the project
    repo: Option<String>,
    /// 1-100, default 5
    #[schemars(extend("minimum" = 1, "maximum" = LIMIT_MAX, "default" = LIMIT))]
    limit: Option<i64>,
    /// Default 1500
    max_tokens: Option<i64>,
}

fn tried(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let room = room(input.max_tokens)?;
    let limit = usize::try_from(input.limit.unwrap_or(LIMIT)).unwrap_or(LIMIT_MAX);
    let composite = composite(context, input.repo.as_deref())?;
    let (asked, alias, notes) = if let Some(composite) = composite {
        (composite.members, composite.activation.alias.to_string(), composite.notes)
    } else {
        let found = find(context, input.repo.as_deref())?;
        let alias = found.alias.clone();
        (vec![found], alias, Vec::new())
    };
    let (mut names, mut found, mut repos) = (Names::default(), Tried::default(), Vec::new());
    for one in asked {
        let (place, prefix, repo) = (one.place(), one.repo.prefix(), one.named());
        names.note(repo.name(), &alias, prefix);
        repos.push(repo.clone());
        let request = TriedRequest { repo: (repo, Some(place)), text: input.text.clone(), limit };
        found.add(context.lore.was_tried(&request)?, limit);
    }
    for hit in &mut found.removed {
        let words = hit.explanation.matched.clone();
        let snippet = std::mem::replace(&mut hit.snippet, lore_core::search::Snippet::whole(String::new(), 0));
        hit.snippet = snippet.without_margins().around(&words, LINES);
    }
    let mut fields = Fields::default();
    fields.put("repo", alias);
    if !found.gaps.not_kept.is_empty() {
        let keep = match context.team {
            Some(_) => "an admin can have them kept",
            None => "run `lore sync --temporal`",
        };
        fields.put("not_kept", format!("former versions are not kept, so removed code cannot be found: {keep}"));
    }
    let (mut left, mut left_out) = (room.saturating_sub(40), 0);
    let mut fitting = |values: Vec<Value>| {
        let mut kept = Vec::new();
        for value in values {
            let taken = size(&value);
            if taken <= left {
                left -= taken;
                kept.push(value);
            } else {
                left_out += 1;
            }
        }
        kept
    };
    fields.put("removed", fitting(found.removed.iter().map(|found| hit(found, &names)).collect()));
    fields.put("reverted", fitting(found.reverted.iter().map(reverted).collect()));
    fields.put_count("left_out_by_size", left_out);
    let is_empty = found.removed.is_empty() && found.reverted.is_empty();
    let mut answer = AnswerBuilder::object(fields.0).content(Content::Repository.unless(is_empty));
    answer.code_states(found.freshness.iter());
    let fresh = found.freshness.iter().map(|fresh| json!({"repo": fresh.repo, "state": fresh.state.as_str()}));
    answer.notes(&notes);
    answer.note("freshness", fresh.collect::<Vec<Value>>());
    let history = context.lore.history.freshness(&repos, None);
    if let Some(notice) = history_notice(&history) {
        answer.remark(notice);
    } else if is_empty {
        answer.nothing_found("nothing like it was removed or reverted", &history);
    }
    Ok(answer.done())
}

fn hit(hit: &CodeHit, names: &Names) -> Value {
    let mut fields = Fields::default();
    fields.put("path", names.path(&hit.repo, &hit.path.to_text()));
    fields.put("lines", json!([hit.lines.0, hit.lines.1]));
    fields.put_some("name", hit.name.as_deref());
    fields.put_some("symbol", hit.symbol.map(SymbolKind::as_str));
    fields.put_some("container", hit.container.as_deref());
    fields.put("score", (f64::from(hit.score) * 1000.0).round() / 1000.0);
    if let Some(told) = &hit.told {
        fields.put("since", day(Some(told.standing.first.at)));
        fields.put_some("removed_by", told.removed_by.as_ref().map(happened));
    }
    fields.put_count("other_versions", hit.other_versions);
    fields.put("text", hit.snippet.text.as_str());
    Value::Object(fields.0)
}

fn happened(happened: &Happened) -> Value {
    let mut fields = Fields::default();
    fields.put("commit", happened.commit.id.to_hex());
    fields.put("date", day(Some(happened.commit.at)));
    fields.put_some("author", happened.author.as_deref());
    fields.put_some("subject", happened.subject.as_deref().map(line));
    fields.put_some("reason", happened.body.as_deref().map(reason));
    Value::Object(fields.0)
}

fn reverted(reverted: &Reverted) -> Value {
    let mut fields = Fields::default();
    fields.put("commit", reverted.commit.to_hex());
    fields.put("date", day(reverted.at));
    fields.put("author", reverted.author.as_str());
    fields.put("subject", line(&reverted.subject));
    fields.put_some("reason", reverted.body.as_deref().map(reason));
    Value::Object(fields.0)
}

/// The beginning of a message; where it is cut, that is told.
fn reason(body: &str) -> String {
    if estimate_tokens(body) <= REASON / 4 {
        return body.to_owned();
    }
    let cut: String = body.chars().take(REASON).collect();
    if cut.len() < body.len() { format!("{cut}…") } else { cut }
}
