//! `lore search`: code by words, names and meaning; and lines, as grep finds them.

mod json;
pub(super) mod lines;
mod page;
mod past;
pub(super) mod ready;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use lore_core::search::{
    Accuracy, CodeAnswer, CodeFreshness, CodeHit, CodeRequest, CodeState, FileFilter, LIMIT_DEFAULT, LIMIT_MAX,
    SecondState,
};
use lore_model::{ChunkKind, Code, Failure, Repo, SymbolKind};
pub(super) use page::seen_from_here;
use ready::{Scope, Wanted};

use super::{Context, names_here, sync::count};
use crate::{editor, ui::one_line};

/// Search code by words, names and meaning
///
/// A question, some words, or the name of a function, a type or a file: the definition of what you name comes first.
/// The repository you are in is searched: it is registered and indexed at first use, and its uncommitted files count. Others are
/// searched with --all-repos or --repo; outside a repository, all that are registered. (`lore log` covers all of them.)
///
/// With --regex, --literal, --words or --fuzzy, every line that has it is found, from the index; `lore grep` does the same
/// with the options of grep.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore search where are retries limited\n  lore search parseConfig --open 1\n  lore search '\"connection reset\" handling' --lang rust --path src/net\n  lore search token bucket --kind struct --all-repos --json\n  lore search --regex 'fn \\w+_lock\\(' --lang rust --limit 0\n  lore search --fuzzy=2 authentcation\n  lore search open connections --compact"
)]
pub(crate) struct Args {
    /// What you look for: a question, some words, or a name
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// Only this repository, `.` for the one you are in (may be repeated)
    #[arg(long, value_name = "NAME")]
    repo: Vec<String>,
    /// Every registered repository
    #[arg(long, conflicts_with = "repo")]
    all_repos: bool,
    /// Only files in this language, by name or extension (may be repeated)
    #[arg(long, value_name = "LANGUAGE")]
    lang: Vec<String>,
    /// Only files whose path contains this or fits this glob (may be repeated)
    #[arg(long, value_name = "TEXT|GLOB")]
    path: Vec<String>,
    /// Only what defines this kind of symbol (may be repeated)
    #[arg(long, value_name = "KIND", value_parser = symbol_kinds(), hide_possible_values = true)]
    #[arg(long_help = symbol_help())]
    kind: Vec<SymbolKind>,
    /// Only this type of chunk: documentation, symbols (outlines), definitions or data (may be repeated)
    #[arg(long = "type", value_name = "TYPE", value_parser = chunk_kinds(), hide_possible_values = true)]
    chunk_type: Vec<ChunkKind>,
    /// Only chunks with this tag (repeated: with all of them)
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// No files in this language (may be repeated)
    #[arg(long, value_name = "LANGUAGE")]
    not_lang: Vec<String>,
    /// No files whose whole path fits this glob, or that are in this folder (may be repeated)
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    #[command(flatten)]
    lines: lines::Args,
    #[command(flatten)]
    past: past::Args,
    /// At most so many results: 1–100, 15 unless you say; of lines 100, and 0 for all
    #[arg(long, short = 'n', value_name = "NUMBER")]
    limit: Option<usize>,
    /// Only results with at least this score, 0 to 1; 0.5 leaves out what is probably wrong
    #[arg(long, value_name = "SCORE", default_value_t = 0.0)]
    min_score: f32,
    /// How surely what is nearest in meaning is found: fast, balanced or high
    #[arg(long, value_name = "HOW", value_parser = accuracies(), hide_possible_values = true, default_value = "balanced")]
    accuracy: Accuracy,
    /// Cut texts so that the whole answer fits into so many tokens
    #[arg(long, value_name = "NUMBER")]
    max_tokens: Option<usize>,
    /// One line for each result: path and line, score, title
    #[arg(long, conflicts_with_all = ["explain", "open", "max_tokens"])]
    compact: bool,
    /// Show why each result stands where it does
    #[arg(long)]
    explain: bool,
    /// Open the result of this number in `$VISUAL` or `$EDITOR`
    #[arg(long, value_name = "NUMBER")]
    open: Option<usize>,
    /// Answer from the index as it is
    #[arg(long)]
    no_sync: bool,
}

impl Args {
    /// Whether only the repository the user stands in is meant.
    pub(super) fn is_about_here(&self) -> bool {
        !self.all_repos && (self.repo.is_empty() || names_here(&self.repo))
    }

    fn scope(&self) -> Scope<'_> {
        Scope { repos: &self.repo, all_repos: self.all_repos, no_sync: self.no_sync }
    }

    /// The files that are searched.
    fn files(&self) -> FileFilter {
        FileFilter {
            languages: self.lang.clone(),
            not_languages: self.not_lang.clone(),
            paths: self.path.clone(),
            not_globs: self.exclude.clone(),
            ..FileFilter::default()
        }
    }

    /// As a question, about no repository yet.
    fn request(&self) -> CodeRequest {
        CodeRequest {
            limit: self.limit.unwrap_or(LIMIT_DEFAULT),
            chunk_kinds: self.chunk_type.clone(),
            symbols: self.kind.clone(),
            tags: self.tag.clone(),
            files: self.files(),
            min_score: self.min_score,
            accuracy: self.accuracy,
            ..CodeRequest::new(self.query.join(" "), Vec::new())
        }
    }
}

fn symbol_kinds() -> impl TypedValueParser<Value = SymbolKind> {
    PossibleValuesParser::new(SymbolKind::ALL.map(SymbolKind::as_str))
        .try_map(|text| SymbolKind::parse(&text).ok_or("not a kind of symbol"))
}

fn symbol_help() -> String {
    let names = SymbolKind::ALL.map(SymbolKind::as_str).join(", ");
    format!("Only what defines this kind of symbol (may be repeated): {names}")
}

fn accuracies() -> impl TypedValueParser<Value = Accuracy> {
    PossibleValuesParser::new(Accuracy::ALL.map(Accuracy::as_str))
        .try_map(|text| Accuracy::parse(&text).ok_or("not an accuracy"))
}

fn chunk_kinds() -> impl TypedValueParser<Value = ChunkKind> {
    PossibleValuesParser::new(ChunkKind::ALL.map(ChunkKind::as_str))
        .try_map(|text| ChunkKind::parse(&text).ok_or("not a type of chunk"))
}

pub(super) fn run(context: &Context<'_>, mut args: Args) -> Result<(), Failure> {
    args.min_score = context.in_range("--min-score", args.min_score, (0.0, 1.0));
    args.lines.keep_in_range(context);
    let when = args.past.when(context.lore.history.now())?;
    if let Some(request) = args.lines.request(&args, &when) {
        let shown = if args.compact { lines::Shown::Plain } else { lines::Shown::Page };
        let query = args.query.join(" ");
        let (scope, evolution) = (args.scope(), args.past.evolution());
        let asked = lines::Asked { query: &query, scope, evolution, shown, hint: "" };
        return lines::run(context, &asked, request).map(|_| ());
    }
    let mut request = args.request();
    request.when = when;
    // Told before anything is registered or read.
    request.check()?;
    let mut wanted = ready::find(context, &args.scope())?;
    request.repos = wanted.iter().map(Wanted::asked).collect();
    let shown_early = if args.no_sync { false } else { ready::refresh(context, &mut wanted, Some(&request))? };
    let asked = std::time::Instant::now();
    let mut answer = context.lore.search.query.search(&request)?;
    context.lore.search.temporal.tell_past(&request.repos, &mut answer.hits, args.past.evolution())?;
    let took = asked.elapsed();
    if let Some(number) = args.open {
        return open(context, &wanted, &answer, number);
    }
    if context.ui.is_json() {
        let shown = |answer: &CodeAnswer| json::answer(&request, answer, took, args.explain);
        if let Some(tokens) = args.max_tokens {
            json::fit(&mut answer, tokens, &shown);
        }
        return context.ui.value(&shown(&answer));
    }
    if let Some(tokens) = args.max_tokens {
        page::fit(context, &wanted, &mut answer, args.explain, tokens);
    }
    warn_if_not_fresh(context, &answer.freshness);
    past::warn_of_gaps(context, &answer.gaps);
    let problem = answer.second.as_ref().filter(|second| second.problem.is_some() && !context.ui.is_quiet());
    if let Some(remark) = problem.and_then(SecondState::remark) {
        context.ui.warn(&remark);
    }
    if answer.query_cut {
        context.ui.note("note: the question is very long: only its first 64 words, of at most 8 KiB, were looked for");
    }
    if request.limit != request.limit.clamp(1, LIMIT_MAX) {
        let limit = request.limit.clamp(1, LIMIT_MAX);
        context.ui.note(&format!("note: the limit is {limit}; it may be 1 to {LIMIT_MAX}"));
    }
    if answer.hits.is_empty() {
        let others = ready::not_asked(context, &args.scope(), &wanted)?;
        context.ui.note(&format!("{}{others}", nothing(&request, &answer)));
        return Ok(());
    }
    if shown_early {
        context.ui.line(&page::rule(context, "the complete answer"))?;
    }
    let page = page::Page { context, wanted: &wanted, answer: &answer, explain: args.explain };
    let text = if args.compact { page.compact(took) } else { page.text(&request.query, Some(took)) };
    context.ui.to_page(text.as_bytes());
    context.ui.show_page(&context.loaded.config.pager)
}

/// `1 result has` or `3 results have`.
fn count_have(results: usize) -> String {
    format!("{} {}", count(results as u64, "result"), if results == 1 { "has" } else { "have" })
}

/// Why nothing was found, and what to try.
fn nothing(request: &CodeRequest, answer: &CodeAnswer) -> String {
    if answer.no_room > 0 {
        return "no result has room within --max-tokens: allow more".to_owned();
    }
    if answer.too_low > 0 {
        return format!("{} a score below --min-score", count_have(answer.too_low));
    }
    if answer.freshness.iter().all(CodeFreshness::has_nothing) {
        return "there is nothing to search: no branch that is indexed has a commit yet".to_owned();
    }
    if answer.freshness.iter().all(|fresh| fresh.commit.is_none()) {
        return "nothing is indexed yet".to_owned();
    }
    if !answer.unmatched.is_empty() {
        return format!("nothing found: {}", one_line(&answer.unmatched.join("; ")));
    }
    let filtered = !(request.chunk_kinds.is_empty()
        && request.symbols.is_empty()
        && request.tags.is_empty()
        && request.files == FileFilter::default());
    if filtered {
        return "nothing found; try it without --lang, --path, --kind, --type or --tag".to_owned();
    }
    "nothing found; try other words, or `lore log` for the history; `lore status --left-out` lists what is not searched"
        .to_owned()
}

/// One result, for programs.
pub(super) fn hit_json(hit: &CodeHit) -> serde_json::Value {
    json::hit(hit, false)
}

/// Shows results of one repository to a person.
pub(super) fn print_hits(
    context: &Context<'_>,
    (repo, place): (Repo, PathBuf),
    answer: &CodeAnswer,
    took: std::time::Duration,
) -> Result<(), Failure> {
    let wanted = [Wanted::new(repo, Some(place), false)];
    let page = page::Page { context, wanted: &wanted, answer, explain: false };
    context.ui.to_page(page.text("", Some(took)).as_bytes());
    context.ui.show_page(&context.loaded.config.pager)
}

/// Tells people what the answer may lack.
pub(super) fn warn_if_not_fresh(context: &Context<'_>, freshness: &[CodeFreshness]) {
    for (state, what) in [
        (CodeState::Stale, "has moved since its code was indexed: run `lore sync`"),
        (CodeState::Partial, "is not completely indexed yet (partial): run `lore sync`"),
        (CodeState::NeverIndexed, "has not been indexed yet: run `lore sync`"),
        (CodeState::Missing, "is no longer where it was; the answer is from the index"),
    ] {
        // Where uncommitted work is what is not there, that is told below.
        let is_so =
            |fresh: &&CodeFreshness| fresh.state == state && fresh.uncommitted_error.is_none() && fresh.error.is_none();
        let names: Vec<&str> = freshness.iter().filter(is_so).map(|fresh| fresh.repo.as_str()).collect();
        if !names.is_empty() && !context.ui.is_quiet() {
            context.ui.warn(&format!("{} {what}", names.join(", ")));
        }
    }
    for fresh in freshness.iter().filter(|_| !context.ui.is_quiet()) {
        if let Some(error) = &fresh.error {
            context.ui.warn(&format!("the code of {} could not be indexed: {}", fresh.repo, one_line(error)));
        }
        if let Some(error) = &fresh.uncommitted_error {
            context
                .ui
                .warn(&format!("uncommitted work of {} could not be read, or not all of it: {error}", fresh.repo));
        }
        if let Some(error) = &fresh.ignore_error {
            context.ui.warn(&format!("what {} wants to be left out cannot be read: {error}", fresh.repo));
        }
    }
}

/// Opens one result in the user's editor.
fn open(context: &Context<'_>, wanted: &[Wanted], answer: &CodeAnswer, number: usize) -> Result<(), Failure> {
    let hit: &CodeHit = number.checked_sub(1).and_then(|at| answer.hits.get(at)).ok_or_else(|| {
        let count = answer.hits.len();
        Failure::new(Code::InvalidArgument, format!("there is no result {number}: there are {count}"))
            .hint("results are numbered from 1; `lore search` without --open shows them")
    })?;
    let file = wanted.iter().find(|wanted| wanted.repo.name() == hit.repo).and_then(|wanted| wanted.file(&hit.path));
    let file = file.filter(|file| file.is_file()).ok_or_else(|| {
        if hit.told.as_ref().is_some_and(|told| told.standing.file_is_gone) {
            return Failure::new(Code::NotARepository, format!("{} is not there any more", hit.path))
                .hint("the answer names the commit that took it away: `lore show . SHA` shows it");
        }
        Failure::new(Code::NotARepository, format!("{} is in no work tree of {}", hit.path, hit.repo))
            .hint("a repository that was registered by URL, or is bare, has no files to open")
    })?;
    let line = page::first_line(hit);
    context.ui.note(&format!("opening {}:{line}", one_line(&file.to_string_lossy())));
    editor::open(&file, line)
}
