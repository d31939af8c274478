//! What an agent is given to read: the text of a `cortex_search` answer.

use std::{path::PathBuf, sync::Arc};

use lore_core::{
    Lore,
    search::{CodeHit, estimate_tokens},
};
use lore_model::{Code, Failure};
use lore_tools::{Body, Toolset};
use serde_json::{Map, Value};

/// The text that an agent would get, asked in a folder, with everything else at its default.
pub(in crate::commands) fn text(
    lore: &Arc<Lore>,
    folder: PathBuf,
    query: &str,
    max_tokens: Option<usize>,
    path: Option<&str>,
) -> Result<String, Failure> {
    let tools = lore_tools::tools(&[Toolset::Context]);
    let tool = tools.into_iter().find(|tool| tool.name == "cortex_search");
    let tool = tool.ok_or_else(|| Failure::new(Code::Internal, "there is no tool `cortex_search`"))?;
    let mut arguments = Map::from_iter([("query".to_owned(), Value::from(query))]);
    arguments.extend(max_tokens.map(|most| ("max_tokens".to_owned(), Value::from(most))));
    arguments.extend(path.map(|path| ("path".to_owned(), Value::from(path))));
    let context = lore_tools::Context::new(Arc::clone(lore), crate::wire::commands(), folder);
    let answer = (tool.call)(&context, arguments)?;
    Ok(match answer.body {
        Body::Json(value) => value.to_string(),
        Body::Text(text) => text,
    })
}

/// How many tokens a result's own text is where it stands in JSON.
pub(super) fn text_tokens(hit: &CodeHit) -> usize {
    estimate_tokens(&Value::from(hit.snippet.text.as_str()).to_string())
}
