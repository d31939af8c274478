//! `get_file_content`: the text of a file, or some lines of it.

use lore_core::{
    browse::FileContent,
    files::{FileKind, Origin, Range, Shown},
};
use lore_model::{Code, Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{enter_file, failed, run, succeeded, time},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "get_file_content",
    title: "Read a file",
    toolset: Toolset::Code,
    about: "Get content of a specific file, as it is on disk now (uncommitted edits included); of a mirror and on a server, on the branch that is asked about; metadata tells which. Up to 1 MB at once: read large files in parts with offset and limit. Links are shown, not followed.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, get),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Repository alias; left out: the project, or your only one
    repository_alias: Option<String>,
    /// File path relative to repository root; in a composite, after the repository's alias and a slash
    file_path: String,
    /// The first line to read, counted from 1 (default 1)
    #[schemars(extend("minimum" = 1, "default" = 1))]
    offset: Option<i64>,
    /// How many lines to read, such as 200 (default: to the end)
    #[schemars(extend("minimum" = 1))]
    limit: Option<i64>,
}

fn get(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let range = range(input.offset, input.limit);
    let alias = input.repository_alias.as_deref();
    let (found, wanted, before) = enter_file(context, alias, "file_path", &input.file_path)?;
    let read = context.lore.read_file(&found.repo, &found.place(), &wanted, range)?;
    let (name, size) = (format!("{before}{}", read.file.path.to_text()), read.file.size);
    let mut metadata = metadata(&read, &name, &found.alias);
    // The metadata has the name of the branch.
    let invalid = |message: String| Failure::new(Code::InvalidArgument, message).quoting_repository();
    let about = |metadata| Map::from_iter([("metadata".to_owned(), Value::Object(metadata))]);
    let text = match read.file.shown {
        Shown::Binary { utf16 } => {
            metadata.insert("binary".to_owned(), true.into());
            let what = if utf16 { "UTF-16 text, which git takes for binary" } else { "binary" };
            let failure = invalid(format!("`{name}` is {what} ({size} bytes), so no text of it is shown"));
            return Ok(failed(failure, about(metadata)));
        }
        Shown::TooLarge { lines: Some(lines) } => {
            metadata.insert("total_lines".to_owned(), lines.into());
            let failure = invalid(format!("`{name}` is too large to be shown at once: {size} bytes in {lines} lines"))
                .hint("read a part: `offset` is its first line and `limit` the number of lines, such as 1 and 500");
            return Ok(failed(failure, about(metadata)));
        }
        Shown::TooLarge { lines: None } => {
            let failure = invalid(format!("`{name}` is too large to be read here: {size} bytes are more than 64 MB"));
            return Ok(failed(failure, about(metadata)));
        }
        Shown::Link(target) => {
            metadata.insert("link_target".to_owned(), target.as_str().into());
            metadata.insert("note".to_owned(), "a symbolic link: the text is its target, which is not read".into());
            target
        }
        Shown::Text { text, lines, of, cut, lossy } => {
            metadata.insert("total_lines".to_owned(), of.into());
            metadata.insert("shown_lines".to_owned(), lines.map_or(Value::Null, |(first, last)| json!([first, last])));
            if lossy {
                metadata.insert("replaced_invalid_utf8".to_owned(), true.into());
            }
            if cut {
                let last = lines.map_or(0, |(_, last)| last);
                let next = if last < of { format!(": go on with `offset` {}", last + 1) } else { String::new() };
                metadata.insert("truncated".to_owned(), true.into());
                metadata.insert("note".to_owned(), format!("cut at 1 MB, in or after line {last}{next}").into());
            }
            text
        }
    };
    Ok(succeeded(json!({"content": [{"type": "text", "text": text}], "metadata": metadata})))
}

fn range(offset: Option<i64>, limit: Option<i64>) -> Range {
    if offset.is_none() && limit.is_none() {
        return Range::All;
    }
    let number = |number: i64| usize::try_from(number).unwrap_or(1).max(1);
    Range::Lines { first: offset.map_or(1, number), count: limit.map(number) }
}

fn metadata(read: &FileContent, path: &str, alias: &str) -> Map<String, Value> {
    let file = &read.file;
    let mut metadata = Map::new();
    let mut put = |name: &str, value: Value| drop(metadata.insert(name.to_owned(), value));
    put("size", file.size.into());
    put("modified_at", time(read.modified));
    put("language", file.language.into());
    put("path", path.into());
    put("repository_alias", alias.into());
    put("read_from", if file.origin == Origin::WorkTree { "working_tree" } else { "commit" }.into());
    put("commit", json!(read.at.commit.map(|commit| commit.to_hex())));
    put("branch", json!(read.at.branch));
    put("uncommitted", file.uncommitted.into());
    match file.kind {
        FileKind::Symlink => put("kind", "symlink".into()),
        FileKind::Executable => put("kind", "executable".into()),
        FileKind::Regular => {}
    }
    if !file.path.is_text() {
        put("path_replaced_invalid_utf8", true.into());
    }
    metadata
}
