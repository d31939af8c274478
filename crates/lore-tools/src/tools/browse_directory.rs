//! `browse_directory`: the files of a directory and of all below it.

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
    name: "browse_directory",
    title: "Browse a directory",
    toolset: Toolset::Code,
    about: "Browse directory recursively: every file below it, at most 10,000, each as `list_files` shows it. Pass a path: a whole repository is long.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, browse),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Repository alias; left out: the project, or your only one
    repository_alias: Option<String>,
    /// Directory path, relative to the root of the repository; left out: the root
    path: Option<String>,
    /// Recursive listing (default true)
    #[schemars(extend("default" = true))]
    recursive: Option<bool>,
}

fn browse(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let depth = if input.recursive.unwrap_or(true) { Depth::Everything } else { Depth::Folder };
    let listed = list(context, input.repository_alias.as_deref(), input.path.as_deref(), depth)?;
    let mut structure = json!({"path": listed.folder, "files": listed.files, "total": listed.total});
    if depth == Depth::Folder {
        structure["directories"] = listed.directories.into();
    }
    let mut fields = json!({"structure": structure});
    if let Value::Object(fields) = &mut fields {
        fields.extend(listed.about);
    }
    Ok(succeeded(fields))
}
