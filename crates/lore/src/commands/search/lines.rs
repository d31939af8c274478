//! `lore search --regex`, `--literal`, `--words` and `--fuzzy`: every line that has it.

use std::{fmt::Write as _, time::Duration};

use lore_core::search::{CONTEXT_MAX, FileFilter, LineHit, LinesAnswer, LinesRequest, LinesWanted, MAX_CHANGES, When};
use lore_model::Failure;
use serde_json::{Map, Value, json};

use super::{
    json::{freshness, gaps},
    page::{Place, searched},
    past,
    ready::{self, Scope, Wanted},
    warn_if_not_fresh,
};
use crate::{
    columns,
    commands::{Context, path_json, sync::count},
    ui::{BOLD, CYAN, DIM, MATCH, Ui, one_line},
};

/// So many lines are shown unless somebody says otherwise.
const LIMIT: usize = 100;

/// What happened to lines of the past is told of no more than so many.
const TOLD_MAX: usize = 1000;

/// What cannot use the index may take so long.
pub(in crate::commands) const TIME: Duration = Duration::from_mins(1);

/// So many letters of a word may be other ones.
const CHANGES_MAX: usize = 3;

/// The columns of the number of a line.
const NUMBER: usize = 6;

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
    /// Takes the nearest numbers that are in range, and tells which.
    pub(super) fn keep_in_range(&mut self, context: &Context<'_>) {
        self.fuzzy = self.fuzzy.map(|changes| context.in_range("--fuzzy", changes, (1, MAX_CHANGES)));
        self.context = context.in_range("--context", self.context, (0, CONTEXT_MAX));
    }

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

/// A question for lines, besides what the index is asked.
pub(in crate::commands) struct Asked<'a> {
    /// As the user wrote it.
    pub(in crate::commands) query: &'a str,
    pub(in crate::commands) scope: Scope<'a>,
    /// How many steps of each file are wanted.
    pub(in crate::commands) evolution: Option<usize>,
    pub(in crate::commands) shown: Shown,
    /// What else to try where nothing is found, after a semicolon.
    pub(in crate::commands) hint: &'a str,
}

/// How lines are shown to people.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Shown {
    /// On a terminal by file, elsewhere like [`Self::Plain`].
    Page,
    /// Each with its file and its number, as grep prints them.
    Plain,
    /// In order of files and lines, with at most so many lines before and after each.
    InOrder { before: usize, after: usize },
    /// Only the files.
    Files,
    /// How many lines of each file.
    Counts,
}

/// Answers a question for lines; says how many there are.
pub(in crate::commands) fn run(
    context: &Context<'_>,
    asked: &Asked<'_>,
    mut request: LinesRequest,
) -> Result<usize, Failure> {
    // Told before anything is registered or read.
    request.check()?;
    let mut wanted = ready::find(context, &asked.scope)?;
    request.repos = wanted.iter().map(Wanted::asked).collect();
    if !asked.scope.no_sync {
        ready::refresh(context, &mut wanted, None)?;
    }
    let begun = std::time::Instant::now();
    let mut answer = context.lore.search.query.find_lines(&request)?;
    if answer.hits.len() <= TOLD_MAX {
        context.lore.search.temporal.tell_past(&request.repos, &mut answer.hits, asked.evolution)?;
    }
    let took = begun.elapsed();
    if !matches!(asked.shown, Shown::Page | Shown::Plain) {
        answer.hits.sort_by(|a, b| (&a.repo, &a.path, a.line).cmp(&(&b.repo, &b.path, b.line)));
    }
    if context.ui.is_json() {
        context.ui.value(&value(asked.query, &answer, took))?;
        return Ok(answer.lines);
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
        let others = ready::not_asked(context, &asked.scope, &wanted)?;
        context.ui.note(&format!("{}{others}", nothing(&request, &answer, asked.hint)));
        return Ok(0);
    }
    let page = Page { ui: context.ui, places: wanted.iter().map(Place::new).collect(), shown: asked.shown };
    context.ui.to_page(page.text(context, &answer).as_bytes());
    if context.ui.is_terminal() && asked.shown == Shown::Page {
        let (lines, files) = (count(answer.lines as u64, "line"), count(answer.files as u64, "file"));
        let mut said = format!("{lines} in {files} of {}, {} ms", searched(&answer.freshness), took.as_millis());
        if answer.hits.len() < answer.lines {
            write!(said, "; {} are shown, --limit 0 shows all", answer.hits.len())
                .expect("writing to a string cannot fail");
        }
        context.ui.to_page(context.ui.prose(&said, 0).as_bytes());
    } else if answer.hits.len() < answer.lines {
        let (shown, all) = (answer.hits.len(), answer.lines);
        context.ui.note(&format!("note: {shown} of {all} lines are shown; --limit 0 shows all"));
    }
    context.ui.show_page(&context.loaded.config.pager)?;
    Ok(answer.lines)
}

/// That nothing was found, and what to try.
fn nothing(request: &LinesRequest, answer: &LinesAnswer, hint: &str) -> String {
    let mut said = "no line matches".to_owned();
    if !answer.unmatched.is_empty() {
        write!(said, ": {}", one_line(&answer.unmatched.join("; "))).expect("writing to a string cannot fail");
        return said;
    }
    match &request.wanted {
        LinesWanted::Near { changes, .. } if *changes < CHANGES_MAX => {
            write!(said, "; --fuzzy={} allows more letters to differ (two swapped letters count as two)", changes + 1)
                .expect("writing to a string cannot fail");
        }
        LinesWanted::Words(_) => said.push_str("; --fuzzy finds words with other letters"),
        _ => said.push_str(hint),
    }
    if request.files != FileFilter::default() {
        said.push_str("; try it without the options that choose files");
    }
    said
}

/// Lines as people see them.
struct Page<'a> {
    ui: &'a Ui,
    places: Vec<Place>,
    shown: Shown,
}

impl Page<'_> {
    fn text(&self, context: &Context<'_>, answer: &LinesAnswer) -> String {
        match self.shown {
            Shown::Files | Shown::Counts => self.files(&answer.hits),
            Shown::Page if self.ui.is_terminal() => self.by_file(context, &answer.hits),
            Shown::Page | Shown::Plain => self.plain(&answer.hits, (usize::MAX, usize::MAX)),
            Shown::InOrder { before, after } => self.plain(&answer.hits, (before, after)),
        }
    }

    fn path(&self, hit: &LineHit) -> String {
        let place = self.places.iter().find(|place| place.repo == hit.repo);
        one_line(&place.map_or_else(|| hit.path.to_text().into_owned(), |place| place.shown(&hit.path)))
    }

    /// Each file once.
    fn files(&self, hits: &[LineHit]) -> String {
        let mut text = String::new();
        for lines in hits.chunk_by(is_same_file) {
            let path = self.ui.paint(BOLD, &self.path(&lines[0]));
            let line =
                if self.shown == Shown::Counts { format!("{path}:{}\n", lines.len()) } else { format!("{path}\n") };
            text.push_str(&line);
        }
        text
    }

    /// Below the name of each file, cut to the width of the terminal.
    fn by_file(&self, context: &Context<'_>, hits: &[LineHit]) -> String {
        let ui = self.ui;
        let room = ui.width().map(|width| width.saturating_sub(NUMBER + 1));
        let mut text = String::new();
        for lines in hits.chunk_by(is_same_file) {
            let gap = if text.is_empty() { "" } else { "\n" };
            let about = if lines[0].uncommitted { "  uncommitted" } else { "" };
            writeln!(text, "{gap}{}{}", ui.paint(BOLD, &self.path(&lines[0])), ui.paint(DIM, about))
                .expect("writing to a string cannot fail");
            for row in with_context(lines, (usize::MAX, usize::MAX)) {
                let line = match row {
                    Row::Gap => ui.paint(DIM, "     --"),
                    Row::Around(number, line) => {
                        let line = one_line(line);
                        let line = room.map_or(line.clone(), |room| columns::cut(&line, room));
                        format!("{}{line}", ui.paint(CYAN, &format!("{number:>NUMBER$}-")))
                    }
                    Row::Hit(hit) => {
                        format!("{}{}", ui.paint(CYAN, &format!("{:>NUMBER$}:", hit.line)), marked(ui, hit, room))
                    }
                };
                writeln!(text, "{line}").expect("writing to a string cannot fail");
                // Lines of one piece have one past: it is told below the last of them.
                if let Row::Hit(hit) = row
                    && let Some(told) = &hit.told
                {
                    let at = lines.iter().position(|line| std::ptr::eq(line, hit)).unwrap_or(0);
                    if lines.get(at + 1).is_none_or(|next| next.told != hit.told) {
                        text.push_str(&past::told_text(context, told));
                    }
                }
            }
        }
        text
    }

    /// Each line by itself, with at most so many before and after it.
    fn plain(&self, hits: &[LineHit], around: (usize, usize)) -> String {
        let ui = self.ui;
        let mut text = String::new();
        let has_context = hits.iter().any(|hit| !hit.before.is_empty() || !hit.after.is_empty());
        for lines in hits.chunk_by(is_same_file) {
            let path = self.path(&lines[0]);
            if has_context && !text.is_empty() {
                text.push_str("--\n");
            }
            for row in with_context(lines, around) {
                let place = |sign: char, number: u32| ui.paint(CYAN, &format!("{path}{sign}{number}{sign}"));
                let line = match row {
                    Row::Gap => "--".to_owned(),
                    Row::Around(number, line) => format!("{}{}", place('-', number), one_line(line)),
                    Row::Hit(hit) => format!("{}{}", place(':', hit.line), marked(ui, hit, None)),
                };
                writeln!(text, "{line}").expect("writing to a string cannot fail");
            }
        }
        let is_gone = |hit: &&LineHit| hit.told.as_ref().is_some_and(|told| told.standing.file_is_gone);
        match hits.iter().filter(is_gone).count() {
            0 => {}
            1 => ui.note("note: 1 line is in a file that is not there any more; `--json` says since when"),
            gone => ui.note(&format!(
                "note: {gone} lines are in files that are not there any more; `--json` says since when"
            )),
        }
        text
    }
}

fn is_same_file(one: &LineHit, other: &LineHit) -> bool {
    one.path == other.path && one.repo == other.repo
}

/// A row of an answer.
#[derive(Clone, Copy)]
enum Row<'a> {
    Hit(&'a LineHit),
    /// A line before or after one.
    Around(u32, &'a str),
    /// Lines that are not shown.
    Gap,
}

/// The lines of one file with at most so many before and after each; each line once, as far as they are in order.
fn with_context(hits: &[LineHit], (before, after): (usize, usize)) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    // What follows the last line that was shown.
    let mut next: Option<u32> = None;
    for (at, hit) in hits.iter().enumerate() {
        let first = hit.line.saturating_sub(u32::try_from(hit.before.len().min(before)).unwrap_or(u32::MAX));
        let skipped = hit.before.len().saturating_sub(before);
        let is_behind = next.is_some_and(|next| hit.line >= next);
        let shown = if is_behind { next.unwrap_or(0) } else { 0 };
        let has_context = !hit.before.is_empty() || !hit.after.is_empty();
        if has_context && next.is_some_and(|next| !is_behind || first > next) {
            rows.push(Row::Gap);
        }
        let lines = (first..).zip(hit.before.iter().skip(skipped)).filter(|(number, _)| *number >= shown);
        rows.extend(lines.map(|(number, line)| Row::Around(number, line)));
        rows.push(Row::Hit(hit));
        let until = hits.get(at + 1).map(|next| next.line).filter(|line| *line > hit.line).unwrap_or(u32::MAX);
        let lines = (hit.line + 1..until).zip(hit.after.iter().take(after));
        let last = rows.len();
        rows.extend(lines.map(|(number, line)| Row::Around(number, line)));
        next = Some(hit.line + 1 + u32::try_from(rows.len() - last).unwrap_or(0));
    }
    rows
}

/// A line with the match marked, and nothing that steers the terminal; the part around the match where there is no room for all.
fn marked(ui: &Ui, hit: &LineHit, room: Option<usize>) -> String {
    let shown = |range: std::ops::Range<usize>| one_line(hit.text.get(range).unwrap_or_default());
    let (before, found) = (shown(0..hit.found.start), shown(hit.found.clone()));
    let (from, to) = (before.len(), before.len() + found.len());
    let line = before + &found + &shown(hit.found.end..hit.text.len());
    let room = room.map(|room| room - usize::from(hit.cut));
    let part = room.map_or(0..line.len(), |room| columns::part(&line, room, from));
    let (from, to) = (from.clamp(part.start, part.end), to.clamp(part.start, part.end));
    let found = if from == to { String::new() } else { ui.paint(MATCH, &line[from..to]) };
    let dots = |is_cut: bool| if is_cut { "…" } else { "" };
    let (begin, end) = (dots(part.start > 0), dots(hit.cut || part.end < line.len()));
    format!("{begin}{}{found}{}{end}", &line[part.start..from], &line[to..part.end])
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
