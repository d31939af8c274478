//! What the tools about repositories and their files have in common: whom a call is about, and how success and failure
//! are told.

use lore_core::{
    browse::{Report, Standing},
    files::Depth,
};
use lore_model::{Code, Failure, Job, Repo, RepoPath, Source, brief, without_user};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::{
    Answer, Content, Context, Tool,
    answer::AnswerBuilder,
    arguments,
    scope::{Composite, Found, composite, find},
};

/// So many repositories are told of at once.
pub(crate) const REPOS_MAX: usize = 1000;

/// Longer texts of one line are cut.
const LINE_MAX: usize = 500;

/// Reads the arguments, runs the tool on them and tells the outcome as the contract has it.
#[expect(clippy::unnecessary_wraps, reason = "the signature of `Tool::call`")]
pub(crate) fn run<I: DeserializeOwned>(
    tool: &'static Tool,
    context: &Context,
    args: Map<String, Value>,
    call: fn(&Context, &I) -> Result<Answer, Failure>,
) -> Result<Answer, Failure> {
    let (outcome, clamped) = match arguments::read(tool.name, &(tool.input)(), args) {
        Ok((input, clamped)) => (call(context, &input), clamped),
        Err(failure) => (Err(failure), Vec::new()),
    };
    let mut answer = outcome.unwrap_or_else(|failure| failed(failure, Map::new()));
    for clamped in clamped {
        clamped.announce(&mut answer);
    }
    Ok(answer)
}

/// The same for a tool that mostly waits: it has no place among those that are worked on.
pub(crate) fn run_waiting<I: DeserializeOwned>(
    tool: &'static Tool,
    context: &Context,
    args: Map<String, Value>,
    call: fn(&Context, &I) -> Result<Answer, Failure>,
) -> Result<Answer, Failure> {
    if let Some(place) = &context.asked.place {
        place.release();
    }
    run(tool, context, args, call)
}

/// `{"success": true, …}`, with text of repositories.
pub(crate) fn succeeded(fields: Value) -> Answer {
    let mut object = Map::from_iter([("success".to_owned(), Value::Bool(true))]);
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    AnswerBuilder::object(object).done()
}

/// The same in Lore's own words.
pub(crate) fn reported(fields: Value) -> Answer {
    Answer { content: Content::Own, ..succeeded(fields) }
}

/// `{"success": false, "error": …}`, with these fields behind it.
pub(crate) fn failed(failure: Failure, more: Map<String, Value>) -> Answer {
    let mut object = Map::new();
    object.insert("success".to_owned(), false.into());
    object.insert("error".to_owned(), failure.message.as_str().into());
    if let Some(hint) = &failure.hint {
        object.insert("hint".to_owned(), hint.as_str().into());
    }
    object.extend(more);
    AnswerBuilder::failed(object, failure).done()
}

/// A list of repositories, of which there are so many.
pub(crate) fn repositories(rows: Vec<Value>, total: usize) -> Answer {
    let shown = rows.len();
    let mut fields = json!({"repositories": Value::Array(rows), "total": total});
    if shown < total {
        fields["truncated"] = true.into();
        fields["note"] = format!("this is not all: the first {shown} of {total} repositories are listed").into();
    }
    succeeded(fields)
}

/// Where a repository lies, as far as that is somebody's business: on a server only within its own folder.
pub(crate) fn place(context: &Context, repo: &Repo) -> String {
    let path = &repo.info.local_path;
    let home = context.team.as_ref().and_then(|_| context.lore.home());
    let within = home.as_deref().and_then(|home| path.strip_prefix(home).ok());
    match within {
        Some(within) => within.to_string_lossy().into_owned(),
        None if context.team.is_some() => String::new(),
        None => path.to_string_lossy().into_owned(),
    }
}

/// How well a repository fares, and what is less than it could be.
pub(crate) fn health(context: &Context, report: &Report) -> (f64, Vec<String>) {
    let (score, issues) = report.health();
    (score, issues.iter().map(|issue| context.told(issue)).collect())
}

/// What is told of a job that was asked for.
pub(crate) fn job(job: &Job, message: &str) -> Answer {
    reported(json!({"job_id": job.id.as_str(), "message": message, "status": job.status.as_str()}))
}

/// The path that an argument names.
pub(crate) fn path(argument: &str, text: Option<&str>) -> Result<RepoPath, Failure> {
    let text = text.unwrap_or_default();
    lore_core::files::path_inside(text).map_err(|bad| {
        Failure::new(Code::InvalidArgument, format!("`{argument}` `{}` {}", brief(text), bad.reason()))
            .hint("give a path relative to the root of the repository, such as `src/main.rs`")
    })
}

/// Seconds since 1970 as RFC 3339 in UTC; null where they are not known.
pub(crate) fn time(seconds: Option<i64>) -> Value {
    // Dates of commits may be beyond all calendars.
    seconds.filter(|seconds| jiff::Timestamp::from_second(*seconds).is_ok()).map(lore_core::rfc3339).into()
}

/// A text of one line that is short enough.
pub(crate) fn line(text: &str) -> String {
    match text.char_indices().nth(LINE_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Whether a line is cut.
pub(crate) fn is_long(text: &str) -> bool {
    text.char_indices().nth(LINE_MAX).is_some()
}

/// Where a repository comes from: its URL, or its place, which git takes for one.
pub(crate) fn url(repo: &Repo) -> String {
    match &repo.info.source {
        Source::Url(url) => without_user(url),
        Source::Local => repo.info.local_path.to_string_lossy().into_owned(),
    }
}

/// What was read: a commit, or the working tree over it.
pub(crate) fn source(at: &Standing) -> Value {
    json!({
        "read_from": if at.has_work_tree { "working_tree" } else { "commit" },
        "commit": at.commit.map(|commit| commit.to_hex()),
        "branch": at.branch,
    })
}

/// The repositories of a composite: what is told of each, and its report.
#[derive(Default)]
pub(crate) struct Members {
    pub(crate) told: Vec<Value>,
    pub(crate) reports: Vec<Report>,
}

impl Members {
    /// Asks each of them.
    pub(crate) fn ask(
        found: Vec<Found>,
        tell: impl Fn(Found) -> Result<(Value, Report), Failure>,
    ) -> Result<Self, Failure> {
        let mut members = Self { told: Vec::new(), reports: Vec::new() };
        for found in found {
            let (told, report) = tell(found)?;
            members.told.push(told);
            members.reports.push(report);
        }
        Ok(members)
    }

    /// What they have together, of what each tells at this place.
    pub(crate) fn sum(&self, pointer: &str) -> Value {
        self.told.iter().filter_map(|member| member.pointer(pointer)?.as_u64()).sum::<u64>().into()
    }

    /// When one of them was brought up to date last.
    pub(crate) fn updated_at(&self) -> Value {
        time(self.reports.iter().filter_map(Report::updated_at).max())
    }

    /// How they fare: as the worst of them, with whose each issue is. `name` is the field of their names.
    pub(crate) fn health(&self, name: &str) -> Value {
        let (mut score, mut issues) = (1.0_f64, Vec::new());
        for member in &self.told {
            let (name, health) = (member[name].as_str().unwrap_or_default(), &member["health"]);
            score = score.min(health["score"].as_f64().unwrap_or(0.0));
            let its = health["issues"].as_array().into_iter().flatten().filter_map(Value::as_str);
            issues.extend(its.map(|issue| format!("{name}: {issue}")));
        }
        json!({"score": score, "issues": issues})
    }
}

/// The repository and the path in it that are meant, and what its paths begin with in the answer: in a composite the first
/// folder names one of its repositories. The root of a composite is in none: the composite is given back.
pub(crate) fn enter(
    context: &Context,
    alias: Option<&str>,
    path: RepoPath,
) -> Result<Result<(Found, RepoPath, String), Composite>, Failure> {
    let Some(composite) = composite(context, alias)? else {
        return Ok(Ok((find(context, alias)?, path, String::new())));
    };
    if path.as_bytes().is_empty() {
        return Ok(Err(composite));
    }
    let name = composite.activation.alias.to_string();
    let (found, path) = composite.enter(&path)?;
    let before = found.repo.prefix();
    Ok(Ok((Found { alias: name, ..found }, path, before)))
}

/// The file that is meant, in the same way: it cannot be the root.
pub(crate) fn enter_file(
    context: &Context,
    alias: Option<&str>,
    argument: &str,
    text: &str,
) -> Result<(Found, RepoPath, String), Failure> {
    enter(context, alias, path(argument, Some(text))?)?.map_err(|composite| {
        let names: Vec<&str> = composite.members.iter().map(|member| member.alias.as_str()).collect();
        let what = format!("`{}` is a composite, and `{argument}` names no file of it", composite.activation.alias);
        Failure::new(Code::InvalidArgument, what)
            .hint(format!("begin it with one of its repositories: {}", names.join(", ")))
    })
}

/// The files of a folder as the contract has them: the files, and what is said about the list.
pub(crate) fn list(
    context: &Context,
    alias: Option<&str>,
    folder: Option<&str>,
    depth: Depth,
) -> Result<FileList, Failure> {
    let (found, folder, before) = match enter(context, alias, path("path", folder)?)? {
        Ok(entered) => entered,
        Err(composite) => return Ok(members(context, &composite)),
    };
    let told = |path: &RepoPath| format!("{before}{}", path.to_text());
    let (repo, place) = (&found.repo, found.place());
    let listed = context.lore.list_files(repo, &place, &folder, depth)?;
    let listing = &listed.listing;
    let files = listing.files.iter().zip(&listed.modified).map(|(file, modified)| {
        let indexed = listed.indexed.language(&file.path);
        let mut entry = Map::new();
        entry.insert("path".to_owned(), told(&file.path).into());
        entry.insert("size_bytes".to_owned(), json!(file.size));
        entry.insert("modified_at".to_owned(), time(*modified));
        entry.insert("language".to_owned(), indexed.unwrap_or(file.language).into());
        entry.insert("is_indexed".to_owned(), indexed.is_some().into());
        if file.uncommitted {
            entry.insert("uncommitted".to_owned(), true.into());
        }
        if let Some(target) = &file.target {
            entry.insert("link_target".to_owned(), target.as_str().into());
        }
        if !file.path.is_text() {
            entry.insert("replaced_invalid_utf8".to_owned(), true.into());
        }
        Value::Object(entry)
    });
    let files: Vec<Value> = files.collect();
    let directories = listing.folders.iter().map(|(path, files)| json!({"path": told(path), "files": files})).collect();
    let mut about = Map::new();
    about.insert("repository_alias".to_owned(), found.alias.as_str().into());
    about.insert("source".to_owned(), source(&listed.at));
    if listing.total > listing.files.len() || listing.folders_total > listing.folders.len() {
        let note = format!(
            "this is not all: {} of {} files and {} of {} directories are listed; pass `path` for a directory",
            listing.files.len(),
            listing.total,
            listing.folders.len(),
            listing.folders_total
        );
        about.insert("truncated".to_owned(), true.into());
        about.insert("note".to_owned(), note.into());
    }
    if listing.submodules > 0 {
        about.insert("submodules_not_listed".to_owned(), listing.submodules.into());
    }
    if listing.impossible > 0 {
        about.insert("impossible_names_not_listed".to_owned(), listing.impossible.into());
    }
    if let Some(error) = &listed.index_error {
        about.insert("index_error".to_owned(), context.told(error).into());
    }
    Ok(FileList {
        folder: told(&listing.folder).trim_end_matches('/').to_owned(),
        files,
        total: listing.total,
        directories,
        about,
    })
}

/// The repositories of a composite, as the folders that they are in it.
fn members(context: &Context, composite: &Composite) -> FileList {
    let mut directories = Vec::new();
    for member in &composite.members {
        // One that cannot be read keeps the others no more from being told than it does elsewhere.
        directories.push(match context.lore.measure(&member.repo) {
            Ok((files, _)) => json!({"path": member.alias, "files": files}),
            Err(failure) => json!({"path": member.alias, "files": null, "error": context.told(&failure.message)}),
        });
    }
    let mut about = composite.head("repository_alias");
    about
        .insert("note".to_owned(), "a composite: each directory is one of its repositories; pass `path` for it".into());
    about.insert("directories".to_owned(), directories.clone().into());
    FileList { folder: String::new(), files: Vec::new(), total: 0, directories, about }
}

/// A list of files, ready to be told.
pub(crate) struct FileList {
    /// The folder; empty for the root.
    pub(crate) folder: String,
    /// Its files.
    pub(crate) files: Vec<Value>,
    /// How many there are.
    pub(crate) total: usize,
    /// The folders in it.
    pub(crate) directories: Vec<Value>,
    /// Of which repository and commit, and what is not listed.
    pub(crate) about: Map<String, Value>,
}
