//! `co_changed`: files that change together.

use std::path::PathBuf;

use lore_core::why::{CoChangeAnswer, CoChangeRequest, CoChanged, LIMIT_MAX, MAX_FILES, OtherRepo};
use lore_model::{Code, Failure, Permission, Repo, RepoPath, brief};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::run;
use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    answer::AnswerBuilder,
    repositories::line,
    schema,
    scope::{Names, others},
    why::{Fields, day, server_file},
};

const LIMIT: i64 = 10;

pub(super) static TOOL: Tool = Tool {
    name: "co_changed",
    title: "Files that change together",
    toolset: Toolset::Why,
    about: "Files that the same commits changed: what else a change may need. Also other repositories' commits on the same issues.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, co_changed),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Paths from the repository's root
    files: Vec<String>,
    /// Instead of the project
    repo: Option<String>,
    /// 1-200, default 10
    #[schemars(extend("minimum" = 1, "maximum" = LIMIT_MAX, "default" = LIMIT))]
    limit: Option<i64>,
}

fn co_changed(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let (mut known, mut names, mut files): (Option<Repo>, _, _) = (None, Names::default(), Vec::new());
    for file in input.files.clone() {
        if context.team()?.is_none() {
            files.push(PathBuf::from(file));
            continue;
        }
        let (repo, its_names, path) = server_file(context, input.repo.as_deref(), "files", &file)?;
        if let Some(other) = known.as_ref().filter(|other| other.id != repo.id) {
            let message = format!("`files` are of two repositories, {} and {}", other.name(), repo.name());
            return Err(Failure::new(Code::InvalidArgument, message)
                .hint("commits change files of one repository: ask about each repository by itself"));
        }
        files.push(path);
        (known, names) = (Some(repo), its_names);
    }
    let request = CoChangeRequest {
        folder: context.folder(),
        repo: input.repo.clone(),
        known,
        from: None,
        files,
        others: others(context)?,
        limit: input.limit.unwrap_or(LIMIT),
    };
    let found = context.lore.co_changed(&request)?;
    let mut answer = AnswerBuilder::object(fields(&found, &names).0);
    for unchanged in &found.unchanged {
        let path = names.path(&found.repo, &unchanged.path.to_text());
        let why = match (&unchanged.near, unchanged.exists) {
            (_, true) => "although the file exists: it is new, or its history is not indexed".to_owned(),
            (Some(near), false) => {
                format!("and no such file exists: did you mean `{}`?", names.path(&found.repo, near))
            }
            (None, false) => "and no such file exists: pass the path of a file, from the repository's root".to_owned(),
        };
        answer.remark(format!("no indexed commit changes `{}`, {why}", brief(&path)));
    }
    Ok(answer.finish(&found.freshness, &|_| true))
}

fn fields(found: &CoChangeAnswer, names: &Names) -> Fields {
    let named = |path: &RepoPath| names.path(&found.repo, &path.to_text());
    let paths = |paths: &[RepoPath]| -> Vec<Value> { paths.iter().map(|path| named(path).into()).collect() };
    let mut fields = Fields::default();
    fields.put("repo", names.repo(&found.repo));
    fields.put("files", paths(&found.asked));
    fields.put_some("earlier_names", Some(paths(&found.earlier)).filter(|names| !names.is_empty()));
    fields.put("commits", found.commits);
    let mut left_out = Fields::default();
    left_out.put_count(&format!("commits_over_{MAX_FILES}_files"), found.too_large);
    left_out.put_count("older_commits", found.too_old);
    fields.put_some("left_out", Some(left_out.0).filter(|left_out| !left_out.is_empty()));
    fields.put("results", found.files.iter().map(|found| file(found, named(&found.file.path))).collect::<Vec<Value>>());
    fields.put_some("more", found.more.then_some(true));
    let others: Vec<Value> = found.others.iter().map(other).collect();
    fields.put_some("other_repositories", Some(others).filter(|others| !others.is_empty()));
    fields
}

fn file(found: &CoChanged, path: String) -> Value {
    let file = &found.file;
    let mut fields = Fields::default();
    fields.put("path", path);
    fields.put("support", file.support);
    fields.put("confidence", (found.confidence * 1000.0).round() / 1000.0);
    fields.put_some("gone", found.gone.then_some(true));
    fields.put(
        "newest",
        json!({"sha": file.newest.to_hex(), "date": day(file.author_time), "subject": line(&file.subject)}),
    );
    Value::Object(fields.0)
}

fn other(found: &OtherRepo) -> Value {
    let commits = found.commits.iter().map(
        |commit| json!({"sha": commit.commit.to_hex(), "date": day(commit.author_time), "subject": line(&commit.subject)}),
    );
    let mut fields = Fields::default();
    fields.put("repo", found.repo.as_str());
    fields.put("key", found.key.as_str());
    fields.put("commits", commits.collect::<Vec<Value>>());
    fields.put_count("more", found.more);
    Value::Object(fields.0)
}
