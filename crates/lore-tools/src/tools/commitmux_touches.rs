//! `commitmux_touches`: commits by path.

use lore_core::history::{LIMIT_MAX, TouchRequest, glob_hints};
use lore_model::{Failure, Permission, brief};
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

const LIMIT: i64 = 50;

pub(super) static TOOL: Tool = Tool {
    name: "commitmux_touches",
    title: "Commits that touched a path",
    toolset: Toolset::History,
    about: "Commits that changed files whose path contains a text, newest first; one result for each file. Use it before changing an area: what happened there lately?",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, touches),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Substring to match against file paths
    path_glob: String,
    /// Unix timestamp lower bound on author date
    since: Option<i64>,
    /// Filter by repo names
    #[serde(default)]
    #[schemars(extend("default" = null))]
    repos: Vec<String>,
    /// Max results (default 50, at most 500)
    limit: Option<i64>,
}

fn touches(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let Histories { repos, names, mut notes } = histories(context, input.repos.clone())?;
    let request = TouchRequest {
        path: input.path_glob.clone(),
        repos,
        since: input.since,
        limit: input.limit.unwrap_or(LIMIT),
        ..TouchRequest::default()
    };
    let found = context.lore.history.touches(request)?;
    let results = found.touches.iter().map(|touched| {
        let hit = &touched.hit;
        json!({
            "repo": names.repo(&touched.repo),
            "sha": hit.commit.to_hex(),
            "subject": line(&hit.subject),
            "date": date(hit.author_time),
            "path": names.path(&touched.repo, &hit.change.path.to_text()),
            "status": hit.change.status.letter().to_string(),
        })
    });
    let mut answer = AnswerBuilder::list(results.collect());
    let hints = glob_hints([input.path_glob.as_str()], |_| !found.touches.is_empty());
    let has_hint = !hints.is_empty();
    notes.extend(hints);
    answer.notes(&notes);
    if found.touches.is_empty() && !has_hint {
        let what = format!("no commit changes a path that contains `{}`", brief(&input.path_glob));
        let since = if input.since.is_some() { " since then" } else { "" };
        answer.nothing_found(&format!("{what}{since}"), &found.freshness);
    }
    answer.note_text_if(found.more, "more", true, "more commits match than these");
    answer.note_if(found.touches.iter().any(|touched| is_long(&touched.hit.subject)), "subjects_cut", true);
    let undated = found.touches.iter().filter(|touched| touched.hit.author_time.is_none());
    let undated: Vec<Value> = undated.map(|touched| touched.hit.commit.to_hex().into()).collect();
    answer.note_if(!undated.is_empty(), "no_date", undated);
    answer.note_if(
        found.touches.iter().any(|touched| !touched.hit.change.path.is_text()),
        "replaced_invalid_utf8",
        true,
    );
    let mut answer = answer.finish(&found.freshness, &|name| found.touches.iter().any(|touched| touched.repo == name));
    if let Some(limit) = found.clamped {
        Clamped::new("limit", (&json!(1), &json!(LIMIT_MAX)), limit.into()).announce(&mut answer);
    }
    Ok(answer)
}
