//! `get_repository_statistics`: one repository in numbers.

use std::collections::BTreeMap;

use lore_core::browse::Report;
use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{Members, health, run, succeeded, time},
    schema,
    scope::{Found, composite, find},
};

pub(super) static TOOL: Tool = Tool {
    name: "get_repository_statistics",
    title: "Statistics of a repository",
    toolset: Toolset::Insight,
    about: "Get repository statistics (file counts, language breakdown, index status): files there are and files that searches see, sizes, vectors, when it was synced, and a health score from 0 to 1 with what is wrong or left out. index_size_bytes is its share of the one index that all repositories have.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, statistics),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Repository alias; left out: the project, or your only one
    repository_alias: Option<String>,
}

fn statistics(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let alias = input.repository_alias.as_deref();
    let Some(composite) = composite(context, alias)? else {
        let (statistics, _) = statistics_of(context, find(context, alias)?)?;
        return Ok(succeeded(json!({"statistics": statistics})));
    };
    let mut statistics = composite.head("repository_id");
    let members = Members::ask(composite.members, |member| statistics_of(context, member))?;
    let mut languages: BTreeMap<String, u64> = BTreeMap::new();
    for (language, files) in members.told.iter().filter_map(|one| one["files"]["by_language"].as_object()).flatten() {
        *languages.entry(language.clone()).or_default() += files.as_u64().unwrap_or(0);
    }
    let all = json!({
        "files": {
            "total": members.sum("/files/total"),
            "indexed": members.sum("/files/indexed"),
            "by_language": languages,
        },
        "storage": {
            "repository_size_bytes": members.sum("/storage/repository_size_bytes"),
            "index_size_bytes": members.sum("/storage/index_size_bytes"),
            "embedding_count": members.sum("/storage/embedding_count"),
        },
        "activity": {
            "created_at": time(Some(composite.activation.activated_at)),
            "last_sync_at": members.updated_at(),
            "last_accessed_at": time(composite.activation.accessed_at),
            "sync_count": members.sum("/activity/sync_count"),
            "commit_count": members.sum("/activity/commit_count"),
        },
        "health": members.health("repository_id"),
        "members": members.told,
    });
    if let Value::Object(all) = all {
        statistics.extend(all);
    }
    Ok(succeeded(json!({"statistics": statistics})))
}

fn statistics_of(context: &Context, found: Found) -> Result<(Value, Report), Failure> {
    let Found { repo, alias, shown, .. } = found;
    let lore = &context.lore;
    let accessed_at = shown.and_then(|shown| shown.activation?.accessed_at);
    let indexed = lore.search.reader.indexed_files(&repo, None).unwrap_or_default();
    let measured = lore.measure(&repo);
    let report = lore.report(vec![repo])?.pop();
    let report = report.ok_or_else(|| Failure::new(lore_model::Code::Internal, "a repository has no report"))?;
    let (score, mut issues) = health(context, &report);
    let snapshot = report.code.as_ref().ok().and_then(|code| code.snapshot.as_ref());
    // Where the repository cannot be read, what was indexed is all that is known.
    let (total, bytes) = measured.unwrap_or_else(|failure| {
        issues.push(context.told(&format!("its files could not be counted: {failure}")));
        (indexed.len(), snapshot.map_or(0, |snapshot| snapshot.bytes))
    });
    let statistics = json!({
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
            "commit_count": report.commits,
        },
        "health": {"score": score, "issues": issues},
    });
    Ok((statistics, report))
}
