//! `lore search --regex`, `--literal`, `--words` and `--fuzzy`: every line that has it.

use std::{fmt::Write as _, time::Duration};

use lore_core::search::{LineHit, LinesAnswer, LinesRequest, LinesWanted, When};
use lore_model::Failure;
use serde_json::{Map, Value, json};

use super::{
    json::{freshness, gaps},
    page::{Place, searched},
    past,
    ready::{self, Wanted},
    warn_if_not_fresh,
};
use crate::{
    commands::{Context, path_json, sync::count},
    ui::{BOLD, CYAN, DIM, MATCH, Ui, one_line},
};

/// So many lines are shown unless somebody says otherwise.
const LIMIT: usize = 100;

/// What happened to lines of the past is told of no more than so many.
const TOLD_MAX: usize = 1000;

/// What cannot use the index may take so long.
const TIME: Duration = Duration::from_mins(1);

/// Not with what chooses among chunks, which lines are not.
const NOT_WITH: [&str; 7] = ["kind", "chunk_type", "tag", "min_score", "max_tokens", "explain", "open"];

/// How lines are looked for.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Every line that this regular expression matches (the syntax of Rust's regex crate)
    #[arg(long, group = "exact", conflicts_with_all = NOT_WITH)]
    regex: bool,
    /// Every line that has exactly these characters
    #[arg(long, short = 'F', group = "exact", conflicts_with_all = NOT_WITH)]
    literal: bool,
    /// Lines that have all these words, prefix* or "phrases"
    #[arg(long, group = "exact", conflicts_with_all = NOT_WITH)]
    words: bool,
    /// Lines with words that differ from these in up to N letters: 1 (without a number) to 3
    #[arg(long, group = "exact", conflicts_with_all = NOT_WITH, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    fuzzy: Option<usize>,
    /// With these: capital letters differ from small ones
    #[arg(long, short = 's', requires = "exact")]
    case_sensitive: bool,
    /// With these: show so many lines before and after
    #[arg(long, short = 'C', value_name = "LINES", default_value_t = 0, requires = "exact")]
    context: usize,
}

impl Args {
    /// As a question, about no repository yet; `None` where it is no question for lines.
    pub(super) fn request(&self, args: &super::Args, when: &When) -> Option<LinesRequest> {
        let text = args.query.join(" ");
        let wanted = match self.fuzzy {
            _ if self.regex => LinesWanted::Regex(text),
            _ if self.literal => LinesWanted::Literal(text),
            _ if self.words => LinesWanted::Words(text),
            Some(changes) => LinesWanted::Near { text, changes },
            None => return None,
        };
        Some(LinesRequest {
            wanted,
            case_sensitive: self.case_sensitive,
            files: args.files(),
            repos: Vec::new(),
            when: when.clone(),
            limit: args.limit.unwrap_or(LIMIT),
            context: self.context,
            once: false,
            best: false,
            time: TIME,
        })
    }
}

pub(super) async fn run(context: &Context<'_>, args: &super::Args, mut request: LinesRequest) -> Result<(), Failure> {
    // Told before anything is registered or read.
    request.check()?;
    let mut wanted = ready::find(context, args).await?;
    request.repos = wanted.iter().map(Wanted::asked).collect();
    if !args.no_sync {
        Box::pin(ready::refresh(context, &mut wanted, None)).await?;
    }
    let asked = std::time::Instant::now();
    let mut answer = context.lore.search.find_lines(&request).await?;
    if answer.hits.len() <= TOLD_MAX {
        context.lore.search.tell_past(&request.repos, &mut answer.hits, args.past.evolution()).await?;
    }
    let took = asked.elapsed();
    if context.ui.is_json() {
        return context.ui.value(&value(&args.query.join(" "), &answer, took));
    }
    warn_if_not_fresh(context, &answer.freshness);
    past::warn_of_gaps(context, &answer.gaps);
    if let Some((looked, all)) = answer.unfinished {
        let message = format!(
            "time was up after {looked} of {all} pieces of code that may have it: narrow it with --path or --lang"
        );
        context.ui.warn(&message);
    }
    if answer.without_context > 0 {
        let message = format!(
            "{} lines are shown without those around them, which would be too many or take too long: narrow it with --path or --lang, or give a smaller --context",
            answer.without_context
        );
        context.ui.warn(&message);
    }
    if answer.hits.is_empty() {
        context.ui.note("no line has it");
        return Ok(());
    }
    context.ui.to_page(page(context, &wanted, &answer).as_bytes());
    if context.ui.is_terminal() {
        let (lines, files) = (count(answer.lines as u64, "line"), count(answer.files as u64, "file"));
        let mut said = format!("{lines} in {files} of {}, {} ms", searched(&answer.freshness), took.as_millis());
        if answer.hits.len() < answer.lines {
            write!(said, "; {} are shown, --limit 0 shows all", answer.hits.len())
                .expect("writing to a string cannot fail");
        }
        context.ui.to_page(format!("{}\n", context.ui.paint(DIM, &said)).as_bytes());
    } else if answer.hits.len() < answer.lines {
        let (shown, all) = (answer.hits.len(), answer.lines);
        context.ui.note(&format!("note: {shown} of {all} lines are shown; --limit 0 shows all"));
    }
    context.ui.show_page(&context.loaded.config.pager)
}

/// For people by file; for programs a line each, as grep prints them.
fn page(context: &Context<'_>, wanted: &[Wanted], answer: &LinesAnswer) -> String {
    let ui = context.ui;
    let places: Vec<Place> = wanted.iter().map(Place::new).collect();
    let path = |hit: &LineHit| {
        let place = places.iter().find(|place| place.repo == hit.repo);
        one_line(&place.map_or_else(|| hit.path.to_text().into_owned(), |place| place.shown(&hit.path)))
    };
    let mut text = String::new();
    let mut last: Option<&LineHit> = None;
    for (at, hit) in answer.hits.iter().enumerate() {
        if ui.is_terminal() {
            let is_same = last.is_some_and(|last| last.repo == hit.repo && last.path == hit.path);
            if !is_same {
                let gap = if last.is_some() { "\n" } else { "" };
                let about = if hit.uncommitted { "  uncommitted" } else { "" };
                writeln!(text, "{gap}{}{}", ui.paint(BOLD, &path(hit)), ui.paint(DIM, about))
                    .expect("writing to a string cannot fail");
            }
            last = Some(hit);
        }
        let prefix = if ui.is_terminal() { String::new() } else { path(hit) };
        let mut put = |number: u32, line: &str, sign: char| {
            let place = if prefix.is_empty() {
                ui.paint(CYAN, &format!("{number:>6}{sign}"))
            } else {
                format!("{prefix}{sign}{number}{sign}")
            };
            writeln!(text, "{place}{line}").expect("writing to a string cannot fail");
        };
        let first = hit.line.saturating_sub(u32::try_from(hit.before.len()).unwrap_or(u32::MAX));
        for (number, line) in (first..).zip(&hit.before) {
            put(number, &one_line(line), '-');
        }
        put(hit.line, &marked(ui, hit), ':');
        for (number, line) in (hit.line + 1..).zip(&hit.after) {
            put(number, &one_line(line), '-');
        }
        // Lines of one piece have one past: it is told below the last of them.
        if let Some(told) = hit.told.as_ref().filter(|_| ui.is_terminal()) {
            let next = answer.hits.get(at + 1);
            let is_same =
                next.is_some_and(|next| next.path == hit.path && next.repo == hit.repo && next.told == hit.told);
            if !is_same {
                text.push_str(&past::told_text(context, told));
            }
        }
    }
    let gone =
        answer.hits.iter().filter(|hit| hit.told.as_ref().is_some_and(|told| told.standing.file_is_gone)).count();
    if gone > 0 && !ui.is_terminal() {
        let lines = if gone == 1 {
            "1 line is in a file that is".to_owned()
        } else {
            format!("{gone} lines are in files that are")
        };
        ui.note(&format!("note: {lines} not there any more; `--json` says since when"));
    }
    text
}

/// A line with the match marked, and nothing that steers the terminal.
fn marked(ui: &Ui, hit: &LineHit) -> String {
    let part = |range: std::ops::Range<usize>| one_line(hit.text.get(range).unwrap_or_default());
    let (from, to) = (hit.found.start, hit.found.end);
    let found = part(from..to);
    let found = if found.is_empty() { found } else { ui.paint(MATCH, &found) };
    let more = if hit.cut { "…" } else { "" };
    format!("{}{found}{}{more}", part(0..from), part(to..hit.text.len()))
}

fn value(query: &str, answer: &LinesAnswer, took: Duration) -> Value {
    json!({
        "query": query,
        "results": answer.hits.iter().map(hit_value).collect::<Vec<_>>(),
        "lines": answer.lines,
        "files": answer.files,
        "more": answer.hits.len() < answer.lines,
        "without_context": answer.without_context,
        "unfinished": answer.unfinished.map(|(looked, all)| json!({"looked_at": looked, "of": all})),
        "freshness": answer.freshness.iter().map(freshness).collect::<Vec<_>>(),
        "past": gaps(&answer.gaps),
        "took_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    })
}

fn hit_value(hit: &LineHit) -> Value {
    let mut object = Map::new();
    object.insert("repo".to_owned(), hit.repo.as_str().into());
    path_json(&mut object, "path", Some(&hit.path));
    let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    put("line", hit.line.into());
    put("text", hit.text.as_str().into());
    put("text_cut", hit.cut.into());
    put("match", json!([hit.found.start, hit.found.end]));
    put("changes", hit.changes.into());
    put("before", hit.before.iter().map(|line| &**line).collect());
    put("after", hit.after.iter().map(|line| &**line).collect());
    put("name", hit.name.clone().into());
    put("container", hit.container.clone().into());
    put("language", hit.language.as_str().into());
    put("role", hit.role.as_str().into());
    put("uncommitted", hit.uncommitted.into());
    put("past", hit.told.as_deref().map(past::told_json).into());
    Value::Object(object)
}
