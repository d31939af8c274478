//! `get_repository_statistics`: one repository in numbers.

use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{run, succeeded, time},
    schema,
    scope::{Found, find},
};

pub(super) static TOOL: Tool = Tool {
    name: "get_repository_statistics",
    title: "Statistics of a repository",
    toolset: Toolset::Insight,
    about: "Get repository statistics (file counts, language breakdown, index status): files there are and files that searches see, sizes, vectors, when it was synced, and a health score from 0 to 1 with what is wrong or left out. index_size_bytes is its share of the one index that all repositories have.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, statistics),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Repository alias; left out: the project
    repository_alias: Option<String>,
}

async fn statistics(context: Context, input: Input) -> Result<Answer, Failure> {
    let Found { repo, alias, shown, .. } = find(&context, input.repository_alias.as_deref()).await?;
    let lore = &context.lore;
    let accessed_at = shown.and_then(|shown| shown.activation?.accessed_at);
    let indexed = lore.search.indexed_files(&repo, None).await.unwrap_or_default();
    let measured = lore.measure(&repo).await;
    let report = lore.report(vec![repo]).await?.pop();
    let report = report.ok_or_else(|| Failure::new(lore_model::Code::Internal, "a repository has no report"))?;
    let (score, mut issues) = report.health();
    let snapshot = report.code.as_ref().ok().and_then(|code| code.snapshot.as_ref());
    // Where the repository cannot be read, what was indexed is all that is known.
    let (total, bytes) = measured.unwrap_or_else(|failure| {
        issues.push(format!("its files could not be counted: {failure}"));
        (indexed.len(), snapshot.map_or(0, |snapshot| snapshot.bytes))
    });
    Ok(succeeded(json!({"statistics": {
        "repository_id": alias,
        "files": {
            "total": total,
            "indexed": indexed.len(),
            "by_language": indexed.by_language(),
        },
        "storage": {
            "repository_size_bytes": bytes,
            "index_size_bytes": report.index_bytes,
            "embedding_count": indexed.embeddings,
        },
        "activity": {
            "created_at": time(report.repo.added_at),
            "last_sync_at": time(report.updated_at()),
            // A question writes nothing, so only a team server knows when the last one was.
            "last_accessed_at": time(accessed_at),
            "sync_count": report.repo.sync.sync_count,
            "commit_count": report.repo.sync.commit_count,
        },
        "health": {"score": score, "issues": issues},
    }})))
}
