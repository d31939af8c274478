//! `commitmux_get_commit`: one commit with its file list.

use lore_model::{Code, Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{date, run};
use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    answer::AnswerBuilder,
    repositories::{is_long, line},
    schema,
    scope::{Holder, holder},
};

/// So many characters of a message are told: whoever wrote more of them did not write for a reader.
const MESSAGE_MAX: usize = 100_000;

pub(super) static TOOL: Tool = Tool {
    name: "commitmux_get_commit",
    title: "One commit",
    toolset: Toolset::History,
    about: "The full message and file list of one commit. Use it on a search or touches result before fetching its patch.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, get_commit),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Repo name as registered
    repo: String,
    /// Commit SHA or its first digits (at least 4), tag, branch or HEAD~5
    sha: String,
}

fn get_commit(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let missing = |name: &str| {
        Failure::new(Code::CommitNotFound, format!("Commit {name} not found"))
            .hint("no repository of the composite has it: a search or touches result has the `sha`")
    };
    let Holder { repo, place, names } = holder(context, &input.repo, &input.sha, missing)?;
    let found = context.lore.history.commit(&repo, place.as_deref(), &input.sha)?;
    let commit = &found.commit;
    let files = commit.files.iter().map(|file| {
        json!({
            "path": names.path(&found.repo, &file.path.to_text()),
            "status": file.status.letter().to_string(),
            "old_path": file.old_path.as_ref().map(|path| names.path(&found.repo, &path.to_text())),
        })
    });
    let whole = commit.body.as_deref();
    let body = whole.map(|body| body.char_indices().nth(MESSAGE_MAX).map_or(body, |(end, _)| &body[..end]));
    let fields: [(&str, Value); 7] = [
        ("repo", names.repo(&found.repo).into()),
        ("sha", commit.commit.to_hex().into()),
        ("subject", line(&commit.subject).into()),
        ("body", body.into()),
        ("author", line(&commit.author.name).into()),
        ("date", date(commit.author_time).into()),
        ("changed_files", files.collect()),
    ];
    let fields: Map<String, Value> = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let mut answer = AnswerBuilder::object(fields);
    if is_long(&commit.subject) || body != whole {
        let bytes = commit.subject.len() + whole.map_or(0, str::len);
        // The command is for those who have the index.
        let whole = if context.team.is_some() { "" } else { "; `lore show` prints all of it" };
        let words = format!("the message has {bytes} bytes{whole}");
        answer.note_text("message_cut", words.as_str(), words.as_str());
    }
    answer.note_if(commit.author_time.is_none(), "no_date", true);
    if let Some(person) = &commit.mapped_author {
        answer.note("mailmap_author", format!("{} <{}>", person.name, person.email));
    }
    if let Some(why) = commit.patch_absence {
        answer.note_text("no_patch", why.reason(), format!("no patch is stored: {}", why.reason()));
    }
    let left_out = found.files_left_out;
    let words = format!("{left_out} changed files are left out");
    answer.note_text_if(left_out > 0, "changed_files_left_out", left_out, words);
    let invalid_path = |file: &lore_model::FileChange| {
        !file.path.is_text() || file.old_path.as_ref().is_some_and(|path| !path.is_text())
    };
    answer.note_if(commit.lossy || commit.files.iter().any(invalid_path), "replaced_invalid_utf8", true);
    Ok(answer.finish(&found.freshness, &|name| name == found.repo))
}
