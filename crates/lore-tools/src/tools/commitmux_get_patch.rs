//! `commitmux_get_patch`: the diff of one commit.

use lore_model::{Code, Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::run;
use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    answer::AnswerBuilder,
    schema,
    scope::{Holder, holder},
};

pub(super) static TOOL: Tool = Tool {
    name: "commitmux_get_patch",
    title: "Patch of a commit",
    toolset: Toolset::History,
    about: "The unified diff of one commit, as git prints it (renames and copies found; merges against the first parent). Can be long: use max_bytes to see its beginning only.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, get_patch),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Repo name
    repo: String,
    /// Commit SHA
    sha: String,
    /// Truncate patch text to this many bytes
    max_bytes: Option<i64>,
}

fn get_patch(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let max = input.max_bytes.map(usize::try_from).transpose().map_err(|_| {
        Failure::new(Code::InvalidArgument, "`max_bytes` is negative")
            .hint("leave it out for the whole patch, or give the number of bytes to see")
    })?;
    let missing = |name: &str| {
        Failure::new(Code::PatchNotFound, format!("Patch {name} not found"))
            .hint("no repository of the composite has the commit: a search or touches result has the `sha`")
    };
    let Holder { repo, place, names } = holder(context, &input.repo, &input.sha, missing)?;
    let found = context.lore.history.patch(&repo, place.as_deref(), &input.sha)?;
    let text = String::from_utf8_lossy(&found.bytes);
    let end = max.map_or(text.len(), |max| text.floor_char_boundary(max));
    let fields: [(&str, Value); 3] = [
        ("repo", names.repo(&found.repo).into()),
        ("sha", found.commit.to_hex().into()),
        ("patch_text", text[..end].into()),
    ];
    let fields: Map<String, Value> = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let mut answer = AnswerBuilder::object(fields);
    let bytes = text.len();
    answer.note_text_if(end < bytes, "truncated_from_bytes", bytes, format!("cut: the whole patch has {bytes} bytes"));
    let is_lossy = std::str::from_utf8(&found.bytes).is_err();
    answer.note_text_if(is_lossy, "replaced_invalid_utf8", true, "bytes that are not UTF-8 were replaced");
    Ok(answer.finish(&found.freshness, &|name| name == found.repo))
}
