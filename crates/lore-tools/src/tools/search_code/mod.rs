//! `search_code`: code by meaning, by words, by regular expression, and misspelt; as it is and as it was.

#[cfg(test)]
mod any_arguments;
mod idle;
mod past;

use std::{
    panic::resume_unwind,
    thread,
    time::{Duration, Instant},
};

use lore_core::{
    history::few,
    search::{
        Accuracy, CodeFreshness, CodeHit, CodeRequest, CodeState, CommitFound, FileFilter, LineHit, LinesRequest,
        LinesWanted, MAX_CHANGES, PastGaps, Standing, When,
    },
};
use lore_model::{Cancel, ChunkKind, Code, Failure, Permission, brief};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::past::{ChunkType, Past};
use crate::{
    Answer, Content, Context, Effect, Errors, Offered, Tool, Toolset,
    answer::nothing_committed,
    cold::code_failure,
    repositories::{run, succeeded},
    schema,
    scope::{self, Found, Names},
};

/// What cannot use the index may take so long.
const TIME: Duration = Duration::from_secs(10);

const LIMIT: i64 = 10;
const MIN_SCORE: f64 = 0.5;
const SNIPPET_LINES: i64 = 5;
const ACCURACY: &str = "balanced";

pub(super) static TOOL: Tool = Tool {
    name: "search_code",
    title: "Search code in every way",
    toolset: Toolset::Code,
    about: "Search code: by meaning (search_mode semantic, the default), by words, prefix* and \"phrases\" (fts), by regular expression (fts with regex: every line, as git grep finds it), misspelt (fts with fuzzy), or both (hybrid). Filters by language, path and extension hold in every mode. Start with limit 5.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, search),
};

#[expect(clippy::doc_markdown, reason = "these lines are descriptions that agents read, where marks cost tokens")]
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// What you look for: a question, words, or a pattern
    query_text: String,
    /// Only this repository (default: all that are registered)
    repository_alias: Option<String>,
    /// Max results (1-100, default 10)
    #[schemars(extend("minimum" = 1, "maximum" = 100, "default" = LIMIT))]
    limit: Option<i64>,
    /// Results by meaning have at least this score, 0 to 1 (default 0.5); exact ones are never left out
    #[schemars(extend("minimum" = 0, "maximum" = 1, "default" = MIN_SCORE))]
    min_score: Option<f64>,
    /// semantic (default), fts or hybrid
    #[schemars(extend("enum" = ["semantic", "fts", "hybrid"], "default" = "semantic"))]
    search_mode: Option<String>,
    /// How surely the nearest by meaning are found: fast, balanced (default), high
    #[schemars(extend("enum" = ["fast", "balanced", "high"], "default" = ACCURACY))]
    accuracy: Option<String>,
    /// Only files in this language: a name (python) or an extension (py)
    language: Option<String>,
    /// No files in this language
    exclude_language: Option<String>,
    /// Only paths that fit this glob: */tests/*, */src/**/*.py
    path_filter: Option<String>,
    /// No paths that fit this glob
    exclude_path: Option<String>,
    /// Only files that end so: .py, .js
    #[serde(default)]
    #[schemars(extend("default" = null))]
    file_extensions: Vec<String>,
    /// fts, hybrid: capital letters matter (default false)
    #[schemars(extend("default" = false))]
    case_sensitive: Option<bool>,
    /// fts, hybrid: words may be misspelt (default false)
    #[schemars(extend("default" = false))]
    fuzzy: Option<bool>,
    /// With fuzzy: so many letters may differ (0-3, default 0; 0 means 1)
    #[schemars(extend("minimum" = 0, "maximum" = MAX_CHANGES, "default" = 0))]
    edit_distance: Option<i64>,
    /// fts, hybrid: lines around each match (0-50, default 5); 0 lists files only
    #[schemars(extend("minimum" = 0, "maximum" = 50, "default" = SNIPPET_LINES))]
    snippet_lines: Option<i64>,
    /// fts, hybrid: the query is a regular expression, matched line by line (default false)
    #[schemars(extend("default" = false))]
    regex: Option<bool>,
    /// Code that was there in this time, UTC days: 2024-01-01..2024-12-31
    time_range: Option<String>,
    /// Code of all times (default false)
    #[schemars(extend("default" = false))]
    time_range_all: Option<bool>,
    /// Code of this commit: a hash, a tag, a branch, HEAD~5
    at_commit: Option<String>,
    /// Files too that are not there any more (default false)
    #[schemars(extend("default" = false))]
    include_removed: Option<bool>,
    /// What happened to the file of each result, with diffs (default false)
    #[schemars(extend("default" = false))]
    show_evolution: Option<bool>,
    /// With show_evolution: so many commits of each file, at least 1 (default 5)
    #[schemars(extend("minimum" = 1))]
    evolution_limit: Option<i64>,
    /// Only code that commits of that time brought or took away so: added,modified,deleted,renamed; with chunk_type only commits that changed a file so, or binary
    diff_type: Option<String>,
    /// Only code that commits of this author brought or took away: a name or an address
    author: Option<String>,
    /// Search commits instead of code: `commit_message`, or `commit_diff` for the lines that they added and removed
    #[schemars(extend("enum" = ["commit_message", "commit_diff"]))]
    chunk_type: Option<String>,
}

impl Names {
    /// Names the repository and the files of a result as the caller does.
    fn put_into(&self, result: &mut Value) {
        let Some(repo) = result["source_repo"].as_str().map(str::to_owned) else { return };
        result["repository_alias"] = self.repo(&repo).into();
        let rename = |file: &mut Value| {
            // A commit message is of no file.
            if let Some(path) = file.as_str().filter(|path| !path.is_empty()) {
                *file = self.path(&repo, path).into();
            }
        };
        rename(&mut result["file_path"]);
        for step in
            result.pointer_mut("/temporal_context/evolution").and_then(Value::as_array_mut).into_iter().flatten()
        {
            rename(&mut step["file_path"]);
            if let Some(old) = step.get_mut("old_path") {
                rename(old);
            }
        }
    }
}

/// How code is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Semantic,
    Fts,
    Hybrid,
}

/// The question, understood.
struct Asked {
    mode: Mode,
    limit: usize,
    meaning: CodeRequest,
    lines: LinesRequest,
    /// Whether files are listed instead of lines.
    files_only: bool,
    /// How many steps of each file are wanted.
    evolution: Option<usize>,
    chunk_type: Option<ChunkType>,
    notes: Vec<String>,
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(Code::InvalidArgument, message)
}

impl Asked {
    fn new(input: &Input) -> Result<Self, Failure> {
        if input.query_text.trim().is_empty() {
            return Err(invalid("`query_text` is empty").hint("say what you look for"));
        }
        let mode = match input.search_mode.as_deref().map(|mode| mode.trim().to_lowercase()).as_deref() {
            None | Some("" | "semantic") => Mode::Semantic,
            Some("fts") => Mode::Fts,
            Some("hybrid") => Mode::Hybrid,
            Some(other) => {
                return Err(invalid(format!("there is no search_mode `{}`", brief(other)))
                    .hint("it is semantic, fts or hybrid"));
            }
        };
        let count = |number: i64| usize::try_from(number).unwrap_or(0);
        let limit = count(input.limit.unwrap_or(LIMIT));
        let context = count(input.snippet_lines.unwrap_or(SNIPPET_LINES));
        let min_score = input.min_score.unwrap_or(MIN_SCORE);
        let accuracy = match input.accuracy.as_deref().map(|word| word.trim().to_lowercase()) {
            None => Accuracy::default(),
            Some(word) if word.is_empty() => Accuracy::default(),
            Some(word) => Accuracy::parse(&word).ok_or_else(|| {
                invalid(format!("there is no accuracy `{}`", brief(&word))).hint("it is fast, balanced or high")
            })?,
        };
        let (regex, fuzzy) = (input.regex.unwrap_or(false), input.fuzzy.unwrap_or(false));
        if fuzzy && regex {
            return Err(invalid("`fuzzy` and `regex` cannot be used together").hint("leave one of them out"));
        }
        let wanted = match count(input.edit_distance.unwrap_or(0)).max(1) {
            _ if regex => LinesWanted::Regex(input.query_text.clone()),
            changes if fuzzy => LinesWanted::Near { text: input.query_text.clone(), changes },
            _ => LinesWanted::Words(input.query_text.clone()),
        };
        let chunk_type = past::chunk_type(input.chunk_type.as_deref())?;
        let notes = idle::notes(input, mode, chunk_type);
        let past = Past {
            time_range: input.time_range.clone(),
            time_range_all: input.time_range_all.unwrap_or(false),
            at_commit: input.at_commit.clone(),
            include_removed: input.include_removed.unwrap_or(false),
            show_evolution: input.show_evolution.unwrap_or(false),
            evolution_limit: input.evolution_limit,
            diff_type: input.diff_type.clone(),
            author: input.author.clone(),
        };
        let (when, evolution) = past::when(&past, chunk_type)?;
        few("file_extensions", &input.file_extensions)?;
        let one = |text: Option<String>| text.into_iter().filter(|text| !text.trim().is_empty()).collect();
        let files = FileFilter {
            languages: one(input.language.clone()),
            not_languages: one(input.exclude_language.clone()),
            paths: Vec::new(),
            globs: one(input.path_filter.clone()),
            not_globs: one(input.exclude_path.clone()),
            extensions: input.file_extensions.clone(),
        };
        let mut meaning = CodeRequest::new(input.query_text.clone(), Vec::new());
        meaning.limit = limit;
        meaning.accuracy = accuracy;
        #[expect(clippy::cast_possible_truncation, reason = "a score needs no precision")]
        {
            meaning.min_score = min_score as f32;
        }
        meaning.files = files.clone();
        meaning.when = when.clone();
        let lines = LinesRequest {
            wanted,
            case_sensitive: input.case_sensitive.unwrap_or(false),
            files,
            repos: Vec::new(),
            when,
            limit,
            context,
            once: false,
            best: mode == Mode::Hybrid,
            time: TIME,
        };
        Ok(Self { mode, limit, meaning, lines, files_only: context == 0, evolution, chunk_type, notes })
    }
}

fn search(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let started = Instant::now();
    let (query, alias) = (input.query_text.clone(), input.repository_alias.clone());
    let mut asked = Asked::new(input)?;
    let found = scope::search(context, alias.as_deref())?;
    let searched = found.repos.len();
    let names = Names::of(&found.repos);
    asked.notes.extend(outside(&asked.lines.files, &found.repos));
    asked.notes.extend(found.notes);
    let repos: Vec<_> = found.repos.into_iter().map(|one| (one.repo, one.place)).collect();
    asked.meaning.repos.clone_from(&repos);
    asked.lines.repos = repos;
    if let Some(chunk_type) = asked.chunk_type {
        let commits = past::Commits { chunk_type, mode: asked.mode, meaning: &asked.meaning, lines: &asked.lines };
        let requests = commits.requests();
        if !requests.is_empty() {
            let mut outcome = Outcome { searched, names, ..Outcome::default() };
            let mut all: [Vec<CommitFound>; 2] = Default::default();
            for (request, all) in requests.iter().zip(&mut all) {
                let found = context.lore.find_commits(request)?;
                asked.notes.extend(past::commit_notes(&found, chunk_type));
                outcome.timeout |= found.unfinished.is_some();
                outcome.total += found.total;
                outcome.freshness = found.freshness;
                *all = found.found;
            }
            let [exact, near] = &all;
            let is_same = |a: &CommitFound, b: &CommitFound| a.repo == b.repo && a.commit.commit == b.commit.commit;
            outcome.total -= near.iter().filter(|near| exact.iter().any(|exact| is_same(exact, near))).count();
            outcome.results = in_turn(exact, near, asked.limit, is_same, past::commit_json, past::commit_json);
            outcome.notes = warning(&outcome.freshness, context.how_to_sync()).into_iter().chain(asked.notes).collect();
            return Ok(outcome.answer(&query, started));
        }
        // By meaning, the changed code itself is what was changed.
        if let When::During(period) = &mut asked.meaning.when {
            period.changed = true;
            period.removed = true;
        }
    }
    let search = &context.lore.search;
    if asked.files_only {
        asked.lines.once = true;
    }
    let find_lines = || search.query.find_lines(&asked.lines).map(Some);
    let find_meaning = || search.query.search(&asked.meaning).map(Some);
    let (lines, meaning) = match asked.mode {
        Mode::Fts => (find_lines(), Ok(None)),
        Mode::Semantic => (Ok(None), find_meaning()),
        Mode::Hybrid => thread::scope(|threads| {
            let cancel = Cancel::current();
            let lines = threads.spawn(move || {
                let _entered = cancel.enter();
                find_lines()
            });
            let meaning = find_meaning();
            (lines.join().unwrap_or_else(|panic| resume_unwind(panic)), meaning)
        }),
    };
    let mut outcome = Outcome { searched, names, ..Outcome::default() };
    let (mut gaps, mut by_line, mut by_meaning) = (PastGaps::default(), Vec::new(), Vec::new());
    let mut budget = past::BUDGET;
    if let Some(mut found) = lines? {
        search.temporal.tell_past_within(&asked.lines.repos, &mut found.hits, asked.evolution, &mut budget)?;
        gaps = found.gaps;
        outcome.total = found.lines;
        if found.more {
            outcome.more = true;
            asked.notes.push(
                "hybrid shows the lines that fit best, and there may be more: search_mode fts finds and counts all"
                    .to_owned(),
            );
        }
        if let Some((looked, all)) = found.unfinished {
            outcome.timeout = true;
            asked.notes.push(format!("time was up after {looked} of {all} pieces of code that may have it: narrow it with path_filter or language"));
        }
        outcome.freshness = found.freshness;
        asked.notes.extend(found.unmatched);
        by_line = found.hits;
    }
    if let Some(mut found) = meaning? {
        found.shorten();
        search.temporal.tell_past_within(&asked.meaning.repos, &mut found.hits, asked.evolution, &mut budget)?;
        gaps = std::mem::take(&mut found.gaps);
        outcome.total += found.hits.iter().filter(|hit| !by_line.iter().any(|line| is_in(line, hit))).count();
        by_meaning = found.hits;
        if found.too_low > 0 {
            asked.notes.push(format!("{} semantic results scored below min_score", found.too_low));
        }
        let is_new = |note: &String| !asked.notes.contains(note);
        asked.notes.extend(found.unmatched.into_iter().filter(is_new).collect::<Vec<_>>());
        outcome.freshness = found.freshness;
    }
    let shown = |line: &LineHit| line_json(line, asked.files_only, &query);
    outcome.results = in_turn(&by_line, &by_meaning, asked.limit, is_in, shown, hit_json);
    asked.notes.extend(past::over_budget(&budget));
    let mend = past::Mend::of(context);
    let of_past = past::warning(&gaps, searched, mend).into_iter();
    outcome.notes = of_past.chain(warning(&outcome.freshness, mend.sync)).chain(asked.notes).collect();
    Ok(outcome.answer(&query, started))
}

/// What is told of globs that begin with the name of a folder, where no repository of the composite is called so.
fn outside(files: &FileFilter, repos: &[Found]) -> Option<String> {
    let members: Vec<String> = repos.iter().map(|found| found.repo.prefix()).filter(|one| !one.is_empty()).collect();
    let first = |glob: &String| {
        let glob = glob.trim().trim_start_matches("./").trim_start_matches('/');
        let first = glob.split('/').next().unwrap_or_default();
        let is_name = !first.is_empty() && first != "." && !first.contains(['*', '?', '[', '{', '\\']);
        is_name.then(|| format!("{first}/"))
    };
    let strange = files
        .globs
        .iter()
        .chain(&files.not_globs)
        .find(|glob| first(glob).is_some_and(|first| !members.contains(&first)));
    let glob = strange.filter(|_| !members.is_empty())?;
    Some(format!(
        "`{}` fits no file: in a composite a path begins with its repository ({}), which `*/` stands for",
        brief(glob),
        members.join(", ")
    ))
}

/// What was found, as it is told.
#[derive(Default)]
struct Outcome {
    searched: usize,
    names: Names,
    results: Vec<Value>,
    total: usize,
    /// Whether there may be more than the total.
    more: bool,
    /// Whether time was up.
    timeout: bool,
    notes: Vec<String>,
    freshness: Vec<CodeFreshness>,
}

impl Outcome {
    /// The answer as the document has it.
    fn answer(mut self, query: &str, started: Instant) -> Answer {
        for result in &mut self.results {
            self.names.put_into(result);
        }
        let took = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let is_empty = self.results.is_empty();
        let mut fields = Map::new();
        fields.insert("results".to_owned(), self.results.into());
        fields.insert("total_results".to_owned(), self.total.into());
        if self.more {
            fields.insert("more_results".to_owned(), true.into());
        }
        fields.insert(
            "query_metadata".to_owned(),
            json!({"query_text": query, "execution_time_ms": took, "repositories_searched": self.searched, "timeout_occurred": self.timeout}),
        );
        if !self.notes.is_empty() {
            fields.insert("warning".to_owned(), self.notes.join("; ").into());
        }
        let content = Content::Repository.unless(is_empty);
        let mut answer = Answer { content, ..succeeded(json!({"results": fields})) };
        let fresh: Value = self.freshness.iter().map(fresh_json).collect();
        answer.meta.insert("lore/freshness".to_owned(), fresh);
        answer
    }
}

fn line_json(hit: &LineHit, file_only: bool, query: &str) -> Value {
    let mut snippet = String::new();
    if !file_only {
        let (before, after) = (hit.before.iter().map(|line| &**line), hit.after.iter().map(|line| &**line));
        for line in before.chain([hit.text.as_str()]).chain(after) {
            snippet.push_str(line);
            snippet.push('\n');
        }
    }
    let letters = query.chars().count().max(1);
    #[expect(clippy::cast_precision_loss, reason = "a share needs no precision")]
    let score = 1.0 - hit.changes as f64 / letters as f64;
    let mut value = json!({
        "file_path": hit.path.to_text(),
        "line_number": hit.line,
        "code_snippet": snippet,
        "similarity_score": (score.max(0.0) * 1e4).round() / 1e4,
        "repository_alias": hit.repo,
        "source_repo": hit.repo,
        "match": hit.text.get(hit.found.clone()),
    });
    if hit.cut {
        value["truncated"] = true.into();
    }
    if hit.changes > 0 {
        value["edit_distance"] = hit.changes.into();
    }
    if hit.uncommitted {
        value["uncommitted"] = true.into();
    }
    if let Some(told) = &hit.told {
        value["temporal_context"] = past::context(told);
    }
    value
}

fn hit_json(hit: &CodeHit) -> Value {
    let mut value = json!({
        "file_path": hit.path.to_text(),
        "line_number": if hit.kind == ChunkKind::Symbols { hit.lines.0 } else { hit.snippet.first_line },
        "code_snippet": hit.snippet.text,
        "similarity_score": (f64::from(hit.score) * 1e4).round() / 1e4,
        "repository_alias": hit.repo,
        "source_repo": hit.repo,
        "lines": [hit.lines.0, hit.lines.1],
        "name": hit.title,
    });
    if hit.snippet.cut {
        value["truncated"] = true.into();
    }
    if hit.uncommitted {
        value["uncommitted"] = true.into();
    }
    if let Some(told) = &hit.told {
        value["temporal_context"] = past::context(told);
    }
    value
}

/// Whether a result by meaning shows a line.
fn is_in(line: &LineHit, hit: &CodeHit) -> bool {
    let times = |standing: &Option<Standing>| standing.as_ref().map(|standing| (standing.first, standing.last));
    line.repo == hit.repo
        && line.path == hit.path
        && (hit.lines.0..=hit.lines.1).contains(&line.line)
        && times(&line.standing) == times(&hit.standing)
}

/// One of each in turn, but for what is the same as one of the others that is there already.
fn in_turn<A, B>(
    first: &[A],
    second: &[B],
    limit: usize,
    is_same: impl Fn(&A, &B) -> bool,
    shown: impl Fn(&A) -> Value,
    other: impl Fn(&B) -> Value,
) -> Vec<Value> {
    let (mut all, mut firsts, mut seconds) = (Vec::new(), Vec::<&A>::new(), Vec::<&B>::new());
    let (mut first, mut second) = (first.iter(), second.iter());
    while all.len() < limit {
        let before = all.len();
        if let Some(one) = first.find(|one| !seconds.iter().any(|known| is_same(one, known))) {
            firsts.push(one);
            all.push(shown(one));
        }
        if let Some(one) = second.find(|one| !firsts.iter().any(|known| is_same(known, one))) {
            seconds.push(one);
            all.push(other(one));
        }
        if all.len() == before {
            break;
        }
    }
    all.truncate(limit);
    all
}

fn warning(freshness: &[CodeFreshness], sync: &str) -> Vec<String> {
    let about = |state: CodeState, what: &str| {
        // Where uncommitted work is what is not there, that is told instead.
        let is_so = |fresh: &&CodeFreshness| fresh.state == state && fresh.uncommitted_error.is_none();
        let has_index = |fresh: &&CodeFreshness| fresh.state != CodeState::Missing || fresh.commit.is_some();
        let is_idle =
            |fresh: &&CodeFreshness| (fresh.progress.is_none() && fresh.error.is_none()) || state == CodeState::Stale;
        let named = freshness.iter().filter(is_so).filter(has_index).filter(is_idle);
        let names: Vec<&str> = named.map(|fresh| fresh.repo.as_str()).collect();
        (!names.is_empty()).then(|| format!("{} {what}", names.join(", ")))
    };
    let in_progress = freshness.iter().filter_map(|fresh| {
        let is_incomplete = matches!(fresh.state, CodeState::Partial | CodeState::NeverIndexed);
        let percent = fresh.progress.filter(|_| is_incomplete)?;
        Some(format!("{} is being indexed ({percent} %): what is missing here may still exist", fresh.repo))
    });
    let lost = freshness.iter().filter(|fresh| fresh.state == CodeState::Missing && fresh.commit.is_none());
    [
        nothing_committed(freshness),
        about(CodeState::Stale, &format!("moved since it was indexed: {sync}")),
        about(CodeState::Partial, "is not completely indexed yet"),
        about(CodeState::NeverIndexed, &format!("is not indexed yet: {sync}")),
        about(CodeState::Missing, "is no longer where it was; the answer is from the index"),
    ]
    .into_iter()
    .flatten()
    .chain(in_progress)
    .chain(freshness.iter().filter_map(code_failure))
    .chain(lost.map(|fresh| format!("{} does not exist and is not indexed: nothing of it was searched", fresh.repo)))
    .chain(freshness.iter().filter_map(|fresh| {
        let error = fresh.uncommitted_error.as_ref()?;
        Some(format!("uncommitted work of {} could not be read, or not all of it: {error}", fresh.repo))
    }))
    .collect()
}

fn fresh_json(fresh: &CodeFreshness) -> Value {
    json!({
        "repo": fresh.repo,
        "state": fresh.state.as_str(),
        "commit": fresh.commit.map(|commit| commit.to_hex()),
        "uncommitted_files": fresh.uncommitted,
    })
}
