//! `explain_lines`: the commits that shaped some lines.

use lore_core::why::{Disk, ExplainRequest, Explained, Hunk, Shaped, parse_lines, shown};
use lore_messages::Placed;
use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::run;
use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    answer::{AnswerBuilder, size},
    repositories::line,
    schema,
    scope::Names,
    why::{Fields, day, file, room},
};

pub(super) static TOOL: Tool = Tool {
    name: "explain_lines",
    title: "Why these lines are as they are",
    toolset: Toolset::Why,
    about: "The commits that shaped lines, newest first, with their hunks and what reviewers said there; through renames, moves and copies.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, explain),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Path from the repository's root
    file: String,
    /// 10 or 10-20, as on disk; without: the whole file, no hunks
    lines: Option<String>,
    /// Instead of the project
    repo: Option<String>,
    /// Default 1500
    max_tokens: Option<i64>,
}

fn explain(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let lines = input.lines.as_deref().map(str::trim).filter(|lines| !lines.is_empty());
    let lines = lines.map(parse_lines).transpose()?;
    let tokens = room(input.max_tokens)?;
    let (at, names) = file(context, input.repo.clone(), input.file.clone())?;
    let found = context.lore.explain_lines(&ExplainRequest { at, lines })?;
    let mut answer = AnswerBuilder::object(fields(&found, &names, tokens).0);
    if let (Some(asked), Some(told)) = (lines, found.lines)
        && told != asked
    {
        let (asked, told) = (shown(&[asked]), shown(&[told]));
        answer.remark(format!("the file ends before line {asked}: this is about {told}"));
    }
    Ok(answer.finish(&found.freshness, &|_| true))
}

/// The answer, cut so that it takes at most so many tokens: comments first, then what the commits are, then their hunks.
fn fields(found: &Explained, names: &Names, tokens: usize) -> Fields {
    let mut left = tokens.saturating_sub(size(&Value::Object(frame(found, names).0)) + 40);
    let comments = fitting(found.comments.iter().map(comment), &mut left, tokens / 3);
    let mut commits = fitting(found.commits.iter().map(|shaped| commit(shaped, &found.repo, names)), &mut left, tokens);
    let (mut hunks_left_out, mut lines_left_out) = (0, 0);
    let with_hunks = commits.iter_mut().zip(&found.commits).filter(|(_, shaped)| !shaped.hunks.is_empty());
    let mut with_hunks: Vec<_> = with_hunks.collect();
    let mut waiting = with_hunks.len();
    for (shown, shaped) in &mut with_hunks {
        // Each has an even share, and what those before it did not need.
        let mut share = left / waiting;
        (left, waiting) = (left - share, waiting - 1);
        let (text, cut) = hunks(&shaped.hunks, &mut share);
        left += share;
        if text.is_empty() {
            hunks_left_out += 1;
            continue;
        }
        lines_left_out += cut;
        if let Value::Object(fields) = shown {
            fields.insert("hunk".to_owned(), text.into());
        }
    }
    let mut left_out = Fields::default();
    left_out.put_count("commits", found.commits_left_out + found.commits.len() - commits.len());
    left_out.put_count("hunks", hunks_left_out);
    left_out.put_count("hunk_lines", lines_left_out);
    left_out.put_count("comments", found.comments.len() - comments.len());
    left_out.put_some("older_comments", found.comments_left_out.then_some("not looked through"));
    let mut fields = frame(found, names);
    fields.put("commits", commits);
    fields.put_some("comments", Some(comments).filter(|comments| !comments.is_empty()));
    fields.put_some("left_out", Some(left_out.0).filter(|left_out| !left_out.is_empty()));
    fields
}

/// What the answer is about.
fn frame(found: &Explained, names: &Names) -> Fields {
    let mut fields = Fields::default();
    fields.put("repo", names.repo(&found.repo));
    fields.put("file", names.path(&found.repo, &found.path.to_text()));
    fields.put_some("lines", found.lines.map(|lines| shown(&[lines])));
    fields.put_some("head", found.head.map(|head| head.to_hex()));
    fields.put_some("uncommitted", Some(shown(&found.uncommitted)).filter(|lines| !lines.is_empty()));
    fields.put_some(
        "note",
        match found.disk {
            Disk::Same | Disk::Changed => None,
            Disk::New => Some("the file is in no commit yet"),
            Disk::Absent => Some("the file is not on disk: these are lines of the commit"),
        },
    );
    fields
}

fn commit(shaped: &Shaped, repo: &str, names: &Names) -> Value {
    let mut fields = Fields::default();
    fields.put("sha", shaped.commit.to_hex());
    fields.put("subject", line(&shaped.subject));
    fields.put("author", line(&shaped.author));
    fields.put("date", day(shaped.author_time));
    fields.put("lines", shown(&shaped.lines));
    let then = shaped.origins.iter().map(|origin| {
        let path = names.path(repo, &origin.path.to_string());
        format!("{path}:{}", shown(&origin.lines)).into()
    });
    fields.put("then", then.collect::<Vec<Value>>());
    fields.put_some("boundary", shaped.boundary.then_some("the known history begins here: the lines may be older"));
    Value::Object(fields.0)
}

fn comment(placed: &Placed) -> Value {
    let sent = &placed.message.sent;
    let mut fields = Fields::default();
    fields.put("id", placed.message.id.0);
    fields.put_some("lines", placed.place.lines.map(|lines| shown(&[lines])));
    fields.put("text", sent.comment.as_str());
    fields.put("time", sent.time.as_str());
    fields.put("state", placed.message.state.as_str());
    fields.put("code", placed.place.fate.as_str());
    Value::Object(fields.0)
}

/// The first of these that have room together.
fn fitting(values: impl Iterator<Item = Value>, left: &mut usize, most: usize) -> Vec<Value> {
    let floor = left.saturating_sub(most);
    values
        .map_while(|value| {
            *left = left.checked_sub(size(&value)).filter(|left| *left >= floor)?;
            Some(value)
        })
        .collect()
}

/// As much of hunks as there is room for, and how many of their lines are missing.
fn hunks(hunks: &[Hunk], left: &mut usize) -> (String, usize) {
    let (mut text, mut cut) = (String::new(), 0);
    for hunk in hunks {
        let mut lines = std::iter::once(&hunk.head).chain(&hunk.lines);
        // A head without a line says nothing.
        let mut part = String::new();
        let mut kept = 0;
        for line in lines.by_ref() {
            let needed = size(&Value::from(line.as_str())) + 1;
            let Some(rest) = left.checked_sub(needed) else { break };
            *left = rest;
            part.push_str(line);
            part.push('\n');
            kept += 1;
        }
        cut += hunk.lines.len() + 1 - kept;
        if kept > 1 {
            text.push_str(&part);
            cut += hunk.left_out;
        }
    }
    (text, cut)
}
