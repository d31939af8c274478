//! `cortex_search`: code and documents by words, names and meaning.

use std::time::Instant;

use lore_core::{
    FoundProject,
    search::{
        ChunkAnswer, ChunkHit, CodeAnswer, CodeFreshness, CodeHit, CodeRequest, CodeState, LIMIT_DEFAULT, LIMIT_MAX,
    },
};
use lore_model::{ChunkKind, Code, Failure, Permission, Repo, brief, closest};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::run;
use crate::{
    Answer, Content, Context, Effect, Errors, Offered, Source, Tool, Toolset, Upkeep,
    answer::{AnswerBuilder, nothing_committed, size},
    cold::{code_failure, code_notice},
    schema,
};

/// What is said of a question that is too long.
const QUERY_CUT: &str = "the query is very long: only its first 64 words, of at most 8 KiB, were looked for";

pub(super) static TOOL: Tool = Tool {
    name: "cortex_search",
    title: "Search code and documents",
    toolset: Toolset::Context,
    about: "Search for relevant context in the project codebase and documentation. Finds code by what it does or is called (a question, some words, an identifier, a path), uncommitted edits included, and returns functions, types and sections with their files and lines: the lines that say most, or all with `full`. Use it before grep and opening files.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Protocol,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, search),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// A question, words, an identifier or a path
    query: String,
    /// 1-100, default 15
    #[schemars(extend("minimum" = 1, "maximum" = LIMIT_MAX, "default" = LIMIT_DEFAULT))]
    limit: Option<i64>,
    /// Only results with ALL these tags: a language (go), code or documentation, a folder, a document's own
    #[serde(default)]
    #[schemars(extend("default" = null))]
    tags: Vec<String>,
    /// Only these types: documentation (guides, READMEs), symbols (outline of a file), definitions (functions, types), data (constants, configs). Empty: all
    #[serde(default)]
    #[schemars(extend("default" = null))]
    chunk_types: Vec<String>,
    /// Whole texts (default false)
    full: Option<bool>,
    /// Budget of the whole answer
    max_tokens: Option<i64>,
    /// Instead of the project
    repo: Option<String>,
    /// Only files whose path matches: a glob (src/**/*.rs) or a part of the path
    path: Option<String>,
}

fn search(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let started = Instant::now();
    let (repo, full) = (input.repo.clone(), input.full.unwrap_or(false));
    let (request, max_tokens) = request(input)?;
    let took = |mut metadata: Map<String, Value>| {
        let took = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        metadata.insert("took_ms".to_owned(), took.into());
        metadata
    };
    match (context.project.source()?, repo) {
        (Source::Files(_), Some(repo)) => Err(Failure::new(
            Code::InvalidArgument,
            format!(
                "`repo` cannot be {}: this server answers from chunk files, which belong to one project",
                brief(&repo)
            ),
        )
        .hint("leave `repo` out")),
        (Source::Files(files), None) => {
            let mut found = files.search(&request)?;
            if let Some(tokens) = room(max_tokens, &file_metadata(&found)) {
                found.fit(tokens, &|hit| size(&file_hit_json(hit)));
            }
            let results = found.hits.iter().map(file_hit_json).collect();
            Ok(answer(results, took(file_metadata(&found))))
        }
        (Source::Index(folder, upkeep), repo) => {
            let (mut found, coming) = search_index(context, request, repo.as_deref(), (&folder, upkeep))?;
            if !full {
                found.shorten();
            }
            if let Some(tokens) = room(max_tokens, &index_metadata(&found, &coming)) {
                let freshness = found.freshness.clone();
                found.fit(tokens, &|hit| size(&hit_json(hit, &freshness)));
            }
            let results = found.hits.iter().map(|hit| hit_json(hit, &found.freshness)).collect();
            let mut answer = answer(results, took(index_metadata(&found, &coming)));
            answer.remarks.extend(found.unmatched);
            if found.hits.is_empty() && found.no_room > 0 {
                answer.remarks.push(format!("{} results do not fit in max_tokens", found.no_room));
            }
            answer.remarks.extend(match coming.unregistered() {
                Some(name) => Some(format!("the code of {name} has not been indexed yet: {}", coming.note())),
                None => code_notice(found.freshness.iter()),
            });
            Ok(answer)
        }
    }
}

/// How many tokens there are for results, where the whole answer may have so many.
fn room(max_tokens: Option<usize>, metadata: &Map<String, Value>) -> Option<usize> {
    /// What is not known yet: how long it took, how many results there are and how many had no room; and whose words it has.
    const BESIDES: usize = 42;
    let frame = Value::Object(fields(Vec::new(), metadata.clone()));
    Some(max_tokens?.saturating_sub(size(&frame) + BESIDES))
}

/// The arguments as a question, or what is wrong with them.
fn request(input: &Input) -> Result<(CodeRequest, Option<usize>), Failure> {
    let invalid = |message: String| Failure::new(Code::InvalidArgument, message);
    if input.query.trim().is_empty() {
        return Err(invalid("`query` is empty".to_owned())
            .hint("say what you look for: a question, some words, or the name of a function, a type or a file"));
    }
    let mut request = CodeRequest::new(input.query.clone(), Vec::new());
    request.limit = input.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(LIMIT_DEFAULT);
    request.tags.clone_from(&input.tags);
    request.chunk_kinds = input.chunk_types.iter().map(|name| chunk_kind(name)).collect::<Result<_, _>>()?;
    request.files.paths = input.path.clone().into_iter().filter(|path| !path.trim().is_empty()).collect();
    let max_tokens = input.max_tokens.map(usize::try_from).transpose();
    let max_tokens =
        max_tokens.map_err(|_| invalid("`max_tokens` is negative".to_owned()).hint("leave it out for whole texts"))?;
    Ok((request, max_tokens))
}

fn chunk_kind(name: &str) -> Result<ChunkKind, Failure> {
    let lower = name.trim().to_lowercase();
    let known = ChunkKind::ALL.map(ChunkKind::as_str);
    // The singular, and what documents are called for short.
    let plural = format!("{lower}s");
    let meant = if ["doc", "docs"].contains(&lower.as_str()) { "documentation" } else { lower.as_str() };
    ChunkKind::parse(meant).or_else(|| ChunkKind::parse(&plural)).ok_or_else(|| {
        let near = closest(&lower, known).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        Failure::new(Code::InvalidArgument, format!("there is no chunk type `{}`", brief(name)))
            .hint(format!("{near}`chunk_types` may have {}", known.join(", ")))
    })
}

/// How the code comes into the index where not all of it is there.
enum Coming {
    /// By itself: asking again helps. With the name of a project that is not registered yet.
    ByItself(Option<String>),
    /// Somebody has to run this. With the name of a project that is not registered yet.
    ByCommand(Option<String>, String),
}

impl Coming {
    /// A project that is not registered yet.
    fn unregistered(&self) -> Option<&str> {
        let (Self::ByItself(name) | Self::ByCommand(name, _)) = self;
        name.as_deref()
    }

    /// What to do.
    fn note(&self) -> String {
        match self {
            Self::ByItself(_) => "not all of the code is indexed yet: ask again in a few seconds for more".to_owned(),
            Self::ByCommand(_, command) => {
                format!("not all of the code is indexed yet, and this server does not do it: run `{command}`")
            }
        }
    }
}

/// Asks the index, and tells how what is not in it comes there.
fn search_index(
    context: &Context,
    mut request: CodeRequest,
    repo: Option<&str>,
    (folder, upkeep): (&std::path::Path, Upkeep),
) -> Result<(CodeAnswer, Coming), Failure> {
    let lore = &context.lore;
    let project = match lore.find_project(folder) {
        Ok(project) => Some(project),
        Err(failure) if failure.code == Code::NotARepository && repo.is_some() => None,
        Err(failure) if failure.code == Code::NotARepository => return Err(no_project(context, &failure)),
        Err(failure) => return Err(failure),
    };
    let repo = match (repo, &project) {
        (Some(name), _) => Some(lore.history.repo(name)?),
        (None, Some(project)) => project.repo.clone(),
        (None, None) => None,
    };
    // The project may be another work tree of a repository than the registered one.
    let is_project =
        |repo: &Repo, project: &FoundProject| project.repo.as_ref().is_some_and(|known| known.id == repo.id);
    let by_command = |repo: &Repo| Coming::ByCommand(None, format!("lore sync --repo {}", repo.name()));
    let coming = match (repo, project) {
        (Some(repo), Some(project)) if is_project(&repo, &project) => {
            let coming = match upkeep {
                Upkeep::Nothing => by_command(&repo),
                Upkeep::Registered | Upkeep::Project => Coming::ByItself(None),
            };
            request.repos = vec![(repo, Some(project.place))];
            coming
        }
        (Some(repo), _) => {
            let coming = by_command(&repo);
            request.repos = vec![(repo, None)];
            coming
        }
        (None, Some(project)) => {
            let name = project.place.file_name().map(|name| name.to_string_lossy().into_owned());
            match upkeep {
                Upkeep::Project => Coming::ByItself(name),
                Upkeep::Nothing | Upkeep::Registered => {
                    Coming::ByCommand(name, format!("lore add {}", project.place.display()))
                }
            }
        }
        (None, None) => Coming::ByItself(None),
    };
    let answer = lore.search.query.search(&request)?;
    Ok((answer, coming))
}

/// Says what to do where the server stands in no repository.
fn no_project(context: &Context, failure: &Failure) -> Failure {
    let names = context.lore.history.repos().unwrap_or_default();
    let names: Vec<&str> = names.iter().map(Repo::name).take(50).collect();
    let hint = if names.is_empty() {
        "start the server in a repository or with `--project DIR`".to_owned()
    } else {
        format!("pass `repo`, one of: {}", names.join(", "))
    };
    Failure::new(failure.code, failure.message.clone()).hint(hint)
}

/// The contract's object, with what is said about the answer beside the results.
fn answer(results: Vec<Value>, metadata: Map<String, Value>) -> Answer {
    let freshness = metadata.get("freshness").cloned();
    let content = Content::Repository.unless(results.is_empty());
    let mut answer = AnswerBuilder::object(fields(results, metadata)).content(content).done();
    answer.meta.extend(freshness.map(|freshness| ("lore/freshness".to_owned(), freshness)));
    answer
}

fn fields(results: Vec<Value>, metadata: Map<String, Value>) -> Map<String, Value> {
    let total = results.len();
    let fields: [(&str, Value); 3] =
        [("results", results.into()), ("total", total.into()), ("metadata", metadata.into())];
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn hit_json(hit: &CodeHit, freshness: &[CodeFreshness]) -> Value {
    let state = freshness.iter().find(|state| state.repo == hit.repo);
    let at = lore_core::rfc3339(state.and_then(|state| state.committed_at).unwrap_or(0));
    let is_code = hit.kind != ChunkKind::Documentation;
    let mut metadata = Fields::default();
    metadata.put("source", if is_code { "code" } else { "documentation" });
    metadata.put("file_path", &*hit.path.to_text());
    metadata.put("language", hit.language.as_str());
    metadata.put_some("package", hit.package.as_deref());
    // They are those of the file, which an outline is of.
    if hit.kind == ChunkKind::Symbols {
        for (name, count) in ["imports_count", "types_count", "functions_count"].into_iter().zip(hit.counts) {
            metadata.put(name, count);
        }
    }
    metadata.put("start_line", hit.lines.0);
    metadata.put("end_line", hit.lines.1);
    metadata.put("repo", hit.repo.as_str());
    metadata.put_some("name", hit.name.as_deref());
    metadata.put_some("symbol", hit.symbol.map(lore_model::SymbolKind::as_str));
    metadata.put_some("container", hit.container.as_deref());
    metadata.put_some("part", hit.part.map(|(part, of)| format!("{part} of {of}")));
    metadata.put_some("uncommitted", hit.uncommitted.then_some(true));
    let also_at: Vec<Value> = hit.also_at.iter().map(|path| path.to_text().into()).collect();
    metadata.put_some("also_at", Some(also_at).filter(|others| !others.is_empty()));
    metadata.put_some("also_at_more", Some(hit.also_at_more).filter(|more| *more > 0));
    // The text of an outline is made of lines from all over its file.
    let shown = hit.snippet.cut && hit.kind != ChunkKind::Symbols;
    metadata.put_some("shown_lines", shown.then(|| json!([hit.snippet.first_line, hit.snippet.last_line])));
    metadata.put_some("truncated", hit.snippet.cut.then_some(true));
    metadata.put_some("replaced_invalid_utf8", (!hit.path.is_text()).then_some(true));
    json!({
        "chunk": {
            "id": hit.id,
            "chunk_type": hit.kind.as_str(),
            "title": hit.title,
            "text": hit.snippet.text,
            "tags": hit.tags,
            "metadata": metadata.0,
            "created_at": at,
            "updated_at": at,
        },
        "combined_score": score(hit.score),
    })
}

fn file_hit_json(hit: &ChunkHit) -> Value {
    let chunk = &hit.chunk;
    let mut metadata = chunk.metadata.clone();
    if hit.snippet.cut {
        metadata.insert("truncated".to_owned(), true.into());
    }
    let mut fields = Fields::default();
    fields.put("id", chunk.id.as_str());
    fields.put("chunk_type", chunk.chunk_type.as_str());
    fields.put("title", chunk.title.as_str());
    fields.put("text", hit.snippet.text.as_str());
    fields.put("tags", chunk.tags.clone());
    fields.put("metadata", metadata);
    fields.put_some("created_at", chunk.created_at.as_deref());
    fields.put_some("updated_at", chunk.updated_at.as_deref());
    json!({"chunk": fields.0, "combined_score": score(hit.score)})
}

fn index_metadata(found: &CodeAnswer, coming: &Coming) -> Map<String, Value> {
    let unregistered = coming.unregistered();
    let rows = found.freshness.iter().map(|state| {
        let mut row = Fields::default();
        row.put("repo", state.repo.as_str());
        row.put("state", state.state.as_str());
        row.put_some("commit", state.commit.map(|commit| commit.to_hex()));
        row.put_some("indexed_at", state.indexed_at);
        row.put("uncommitted_files", state.uncommitted);
        row.put_some("uncommitted_error", state.uncommitted_error.as_deref());
        row.put_some("ignore_error", state.ignore_error.as_deref());
        Value::Object(row.0)
    });
    let mut rows: Vec<Value> = rows.collect();
    rows.extend(unregistered.iter().map(|name| json!({"repo": name, "state": CodeState::NeverIndexed.as_str()})));
    let has = |wanted: CodeState| found.freshness.iter().any(|row| row.state == wanted);
    let is_partial = unregistered.is_some() || has(CodeState::Partial) || has(CodeState::NeverIndexed);
    let state = match () {
        () if is_partial => CodeState::Partial,
        () if has(CodeState::Missing) => CodeState::Missing,
        () if has(CodeState::Stale) => CodeState::Stale,
        () => CodeState::Current,
    };
    let mut freshness = Fields::default();
    freshness.put("state", state.as_str());
    let unread = found.freshness.iter().any(|row| row.uncommitted_error.is_some());
    let unread =
        unread.then(|| "uncommitted work could not be read, or not all of it: see `uncommitted_error`".to_owned());
    let failed = found.freshness.iter().find_map(code_failure);
    let note =
        failed.or_else(|| is_partial.then(|| coming.note())).or(unread).or_else(|| nothing_committed(&found.freshness));
    freshness.put_some("note", note);
    freshness.put_some("embedding", found.second.as_ref().and_then(lore_core::search::SecondState::remark));
    freshness.put("repos", rows);
    let mut metadata = Fields::default();
    metadata.put("query_kind", found.kind.as_str());
    metadata.put("freshness", freshness.0);
    metadata.put_some("query_cut", found.query_cut.then_some(QUERY_CUT));
    metadata.put_some("more", found.more.then_some(true));
    metadata.put_some("left_out_by_max_tokens", Some(found.no_room).filter(|count| *count > 0));
    metadata.0
}

fn file_metadata(found: &ChunkAnswer) -> Map<String, Value> {
    let mut freshness = Fields::default();
    let state = if found.stale.is_some() { CodeState::Stale } else { CodeState::Current };
    freshness.put("state", state.as_str());
    let note =
        |why: &String| format!("the chunk files changed and cannot be read, so this is what they said before: {why}");
    freshness.put_some("note", found.stale.as_ref().map(note));
    freshness.put("source", "chunk files");
    freshness.put("chunks", found.chunks);
    freshness.put_some("malformed_chunks", Some(found.skipped).filter(|count| *count > 0));
    let mut metadata = Fields::default();
    metadata.put("query_kind", found.kind.as_str());
    metadata.put("freshness", freshness.0);
    metadata.put_some("query_cut", found.query_cut.then_some(QUERY_CUT));
    metadata.put_some("more", found.more.then_some(true));
    metadata.put_some("left_out_by_max_tokens", Some(found.no_room).filter(|count| *count > 0));
    metadata.0
}

/// An object that is built in the order of reading.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    fn put_some(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }
}

/// Four digits tell answers apart, and more would only cost the reader.
fn score(score: f32) -> f64 {
    (f64::from(score) * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_types_are_read_as_they_are_meant() {
        for (text, kind) in [
            ("documentation", ChunkKind::Documentation),
            ("docs", ChunkKind::Documentation),
            ("symbol", ChunkKind::Symbols),
            (" Definitions ", ChunkKind::Definitions),
            ("data", ChunkKind::Data),
        ] {
            assert_eq!(chunk_kind(text).ok(), Some(kind), "{text}");
        }
        let failure = chunk_kind("definition_list").unwrap_err();
        let hint = failure.hint.as_deref().unwrap_or_default();
        assert_eq!(failure.code, Code::InvalidArgument);
        assert!(hint.ends_with("`chunk_types` may have documentation, symbols, definitions, data"), "{hint}");
    }

    #[test]
    fn scores_are_short() {
        assert_eq!(score(0.872_349_9).to_string(), "0.8723");
    }
}
