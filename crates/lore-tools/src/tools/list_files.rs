//! `list_files`: the files of one directory.

use lore_core::files::Depth;
use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{list, run, succeeded},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "list_files",
    title: "List the files of a directory",
    toolset: Toolset::Code,
    about: "List files in a repository: those of one directory, with its subdirectories beside them. Shows what lies on disk (uncommitted files too, what git ignores not); of a mirror and on a server, the branch that is asked about. In a composite, the first directory is the repository. modified_at is the last commit that changed the file, or the time on disk of an uncommitted one; is_indexed tells whether searches see it.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, list_files),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Repository alias; left out: the project, or your only one
    repository_alias: Option<String>,
    /// Directory path, relative to the root of the repository; left out: the root
    path: Option<String>,
}

fn list_files(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let listed = list(context, input.repository_alias.as_deref(), input.path.as_deref(), Depth::Folder)?;
    let mut fields = json!({
        "files": listed.files,
        "total": listed.total,
        "directories": listed.directories,
    });
    if let Value::Object(fields) = &mut fields {
        fields.extend(listed.about);
    }
    Ok(succeeded(fields))
}
