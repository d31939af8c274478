//! The answer for people: grouped by file, the best file first, with the lines that say why.

use std::{
    fmt::Write as _,
    ops::Range,
    path::{Component, Path, PathBuf},
    time::Duration,
};

use lore_core::search::{CodeAnswer, CodeFreshness, CodeHit, Effect, Explanation, Role, Snippet, estimate_tokens};
use lore_model::{ChunkKind, RepoPath};

use super::{past, ready::Wanted};
use crate::{
    columns,
    commands::{Context, sync::count},
    environment,
    ui::{BOLD, CYAN, DIM, GREEN, MATCH, YELLOW, one_line},
};

/// At most so many lines of a result are shown.
const LINES: usize = 8;

/// Longer lines are cut, on terminals that are as wide, and in files.
const COLUMNS: usize = 110;

/// Columns before a line: its number and a blank.
const GUTTER: usize = 9;

/// A line of a document is shown in so many rows at most.
const ROWS: usize = 4;

/// A title is not cut to less.
const SHORTEST: usize = 20;

/// What the last line may say besides once it is known: that some had no room, and how to open one.
const FOOT: usize = 30;

/// An answer and where it came from.
pub(super) struct Page<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) wanted: &'a [Wanted],
    pub(super) answer: &'a CodeAnswer,
    pub(super) explain: bool,
}

/// A line that says what follows.
pub(super) fn rule(context: &Context<'_>, text: &str) -> String {
    context.ui.paint(YELLOW, &format!("── {text} ──"))
}

/// Cuts texts so that the answer as it is shown takes at most so many tokens.
pub(super) fn fit(context: &Context<'_>, wanted: &[Wanted], answer: &mut CodeAnswer, explain: bool, tokens: usize) {
    let whole = CodeAnswer { hits: Vec::new(), ..answer.clone() };
    let foot = Page { context, wanted, answer: &whole, explain }.foot("", Duration::from_secs(9));
    answer.fit(tokens.saturating_sub(estimate_tokens(&foot) + FOOT), &|hit| {
        let one = CodeAnswer { hits: vec![hit.clone()], ..whole.clone() };
        estimate_tokens(&Page { context, wanted, answer: &one, explain }.text("", None))
    });
}

impl Page<'_> {
    /// Everything, ready to be shown.
    pub(super) fn text(&self, query: &str, took: Option<Duration>) -> String {
        let ui = self.context.ui;
        let mut text = String::new();
        let mut files: Vec<(&CodeHit, Vec<(usize, &CodeHit)>)> = Vec::new();
        for (at, hit) in self.answer.hits.iter().enumerate() {
            match files.iter_mut().find(|(first, _)| first.repo == hit.repo && first.path == hit.path) {
                Some((_, hits)) => hits.push((at + 1, hit)),
                None => files.push((hit, vec![(at + 1, hit)])),
            }
        }
        let places: Vec<Place> = self.wanted.iter().map(Place::new).collect();
        for (first, hits) in files {
            let place = places.iter().find(|place| place.repo == first.repo);
            let path = place.map_or_else(|| first.path.to_text().into_owned(), |place| place.shown(&first.path));
            let path = one_line(&path);
            let about = self.about(first);
            writeln!(text, "{}:{}{}", ui.paint(BOLD, &path), first_line(first), ui.paint(DIM, &about))
                .expect("writing to a string cannot fail");
            for (number, hit) in hits {
                let place = if number > 1 && hit.lines != first.lines {
                    format!("  {path}:{}", first_line(hit))
                } else {
                    String::new()
                };
                // A number, the score, and what stands around them.
                let taken = 4 + 6 + columns::width(&place);
                let head = format!(
                    "{} {}  {}{}",
                    ui.paint(CYAN, &format!("{number:>3}")),
                    self.symbol(hit, ui.width().map(|width| width.saturating_sub(taken))),
                    ui.paint(GREEN, &format!("{:.2}", hit.score)),
                    ui.paint(DIM, &place)
                );
                text.push_str(head.trim_end());
                text.push('\n');
                if self.explain {
                    text.push_str(&self.explanation(&hit.explanation));
                }
                text.push_str(&self.snippet(hit));
                if hit.other_versions > 0 {
                    let others = format!("and {} of it", count(hit.other_versions as u64, "other version"));
                    text.push_str(&ui.prose(&others, 3));
                }
                if let Some(told) = &hit.told {
                    text.push_str(&past::told_text(self.context, told));
                }
            }
            text.push('\n');
        }
        if let Some(took) = took {
            text.push_str(&self.foot(query, took));
        }
        text
    }

    /// One line for each result.
    pub(super) fn compact(&self, took: Duration) -> String {
        let ui = self.context.ui;
        let places: Vec<Place> = self.wanted.iter().map(Place::new).collect();
        let mut text = String::new();
        for hit in &self.answer.hits {
            let place = places.iter().find(|place| place.repo == hit.repo);
            let path = place.map_or_else(|| hit.path.to_text().into_owned(), |place| place.shown(&hit.path));
            let (path, line) = (one_line(&path), first_line(hit));
            let taken = columns::width(&path) + line.to_string().len() + 9;
            let title = self.symbol(hit, ui.width().map(|width| width.saturating_sub(taken).max(SHORTEST)));
            let score = ui.paint(GREEN, &format!("{:.2}", hit.score));
            writeln!(text, "{}:{line}  {score}  {title}", ui.paint(BOLD, &path))
                .expect("writing to a string cannot fail");
        }
        if ui.is_terminal() {
            text.push_str(&self.foot("", took));
        }
        text
    }

    /// What is worth knowing of a file.
    fn about(&self, hit: &CodeHit) -> String {
        let mut about = String::new();
        if self.wanted.len() > 1 {
            write!(about, "  {}", hit.repo).expect("writing to a string cannot fail");
        }
        if !matches!(hit.role, Role::Source | Role::Document) {
            write!(about, "  {}", hit.role.as_str()).expect("writing to a string cannot fail");
        }
        if hit.uncommitted {
            about.push_str("  uncommitted");
        }
        about
    }

    /// What a result is, in so many columns.
    fn symbol(&self, hit: &CodeHit, room: Option<usize>) -> String {
        let ui = self.context.ui;
        let fit = |text: String| room.map_or_else(|| text.clone(), |room| columns::cut(&text, room));
        let part = hit.part.map_or_else(String::new, |(part, of)| format!(" (part {part} of {of})"));
        match (&hit.name, hit.symbol) {
            (Some(name), symbol) => {
                let within =
                    hit.container.as_ref().filter(|within| !within.is_empty() && !within.ends_with(name.as_str()));
                let joint = if hit.kind == ChunkKind::Documentation { " › " } else { "::" };
                let within = within.map_or_else(String::new, |within| format!("{within}{joint}"));
                let kind = symbol.map_or_else(String::new, |symbol| format!("{symbol} "));
                let text = fit(format!("{kind}{}", one_line(&format!("{within}{name}{part}"))));
                let (kind, name) = text.split_at(if text.starts_with(&kind) { kind.len() } else { 0 });
                format!("{}{name}", ui.paint(DIM, kind))
            }
            (None, _) if hit.kind == ChunkKind::Symbols => ui.paint(DIM, "outline of the file"),
            (None, _) => ui.paint(DIM, &format!("lines {}–{}{part}", hit.lines.0, hit.lines.1)),
        }
    }

    fn explanation(&self, why: &Explanation) -> String {
        let mut said = vec![format!("words {:.2}", why.text)];
        if !why.matched.is_empty() {
            said[0] = format!("{} ({})", said[0], why.matched.join(", "));
        }
        let cosine = match (why.cosine, why.second) {
            (None, None) => String::new(),
            (Some(cosine), None) => format!(" (cosine {cosine:.2})"),
            (None, Some(second)) => format!(" (second cosine {second:.2})"),
            (Some(cosine), Some(second)) => format!(" (cosine {cosine:.2}, second {second:.2})"),
        };
        said.push(format!("meaning {:.2}{cosine}", why.meaning));
        said.extend(why.rules.iter().map(|(rule, effect)| match effect {
            Effect::Adds(value) => format!("{rule} {value:+.2}"),
            Effect::Times(factor) => format!("{rule} ×{factor:.2}"),
        }));
        self.context.ui.prose(&one_line(&said.join(" · ")), 6)
    }

    fn snippet(&self, hit: &CodeHit) -> String {
        let ui = self.context.ui;
        let mut text = String::new();
        let snippet: Snippet = hit.snippet.clone().around(&self.answer.words, LINES);
        // An outline is not in the file, so its lines have no numbers.
        let is_outline = hit.kind == ChunkKind::Symbols;
        let lines: Vec<&str> = snippet.text.lines().collect();
        let end = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
        let begin = lines.iter().position(|line| !line.trim().is_empty()).unwrap_or(0);
        for (number, line) in (snippet.first_line..).zip(&lines[..end]).skip(begin) {
            let mut number = if is_outline { String::new() } else { number.to_string() };
            for row in self.rows(line, hit.kind == ChunkKind::Documentation) {
                text.push_str(format!("{} {row}", ui.paint(DIM, &format!("{number:>8}"))).trim_end());
                text.push('\n');
                number.clear();
            }
        }
        let mut others = hit.also_at.iter().map(|path| one_line(&path.to_text()));
        if let Some(first) = others.next() {
            let more = match others.count() + hit.also_at_more {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            text.push_str(&ui.prose(&format!("the same in {first}{more}"), GUTTER));
        }
        text
    }

    /// A line of a file: nothing that steers the terminal, with the words marked. On a terminal prose is broken between words;
    /// other lines are cut where they are long.
    fn rows(&self, line: &str, is_document: bool) -> Vec<String> {
        let line = one_line(&line.replace('\t', "    "));
        let marks = marks(&line, &self.answer.words);
        let about = marks.first().map_or(0, |mark| mark.0);
        let width = self.context.ui.width();
        let room = width.map_or(COLUMNS, |width| width.saturating_sub(GUTTER).min(COLUMNS));
        let row = |part: Range<usize>, begin: bool, end: bool| {
            let dots = |is_cut: bool| if is_cut { "…" } else { "" };
            format!("{}{}{}", dots(begin), self.painted(&line, part, &marks), dots(end))
        };
        if width.is_none() || !is_document || !is_prose(&line) {
            let part = columns::part(&line, room, about);
            let (begin, end) = (part.start > 0, part.end < line.len());
            return vec![row(part, begin, end)];
        }
        // With a column at each end for what says that there is more.
        let rows = columns::rows(&line, room.saturating_sub(2));
        let found = rows.iter().position(|row| row.end > about).unwrap_or(0);
        let first = if found < ROWS { 0 } else { found - 1 };
        let last = (first + ROWS).min(rows.len()) - 1;
        let shown = rows.iter().enumerate().take(last + 1).skip(first);
        shown.map(|(at, part)| row(part.clone(), at == first && first > 0, at == last && at + 1 < rows.len())).collect()
    }

    /// A part of a line, with the words marked that are in it as a whole.
    fn painted(&self, line: &str, part: Range<usize>, marks: &[(usize, usize)]) -> String {
        let (mut text, mut at) = (String::new(), part.start);
        for (from, to) in marks.iter().copied().filter(|(from, to)| *from >= part.start && *to <= part.end) {
            text.push_str(&line[at..from]);
            text.push_str(&self.context.ui.paint(MATCH, &line[from..to]));
            at = to;
        }
        text + &line[at..part.end]
    }

    /// How many, from where, how fresh, how fast.
    fn foot(&self, query: &str, took: Duration) -> String {
        let ui = self.context.ui;
        let hits = self.answer.hits.len();
        let from = searched(&self.answer.freshness);
        let mut said = format!("{} in {from}, {} ms", count(hits as u64, "result"), took.as_millis());
        if let Some(second) = self.answer.second.as_ref().filter(|second| second.covered < second.chunks) {
            write!(said, "; {} covers {} % of the code", one_line(&second.model), second.percent())
                .expect("writing to a string cannot fail");
        }
        if self.answer.more {
            said.push_str("; --limit shows more");
        }
        if self.answer.no_room > 0 {
            write!(said, "; {} more had no room within --max-tokens", self.answer.no_room)
                .expect("writing to a string cannot fail");
        }
        if self.answer.too_low > 0 {
            write!(said, "; {} below --min-score", self.answer.too_low).expect("writing to a string cannot fail");
        }
        if ui.is_terminal() && hits > 0 && query.len() < 60 {
            said.push_str("; --open N opens one");
        }
        ui.prose(&said, 0)
    }
}

/// Whether a line of a document may be broken anywhere between words: no table, no code.
fn is_prose(line: &str) -> bool {
    !line.starts_with(['|', '`']) && !line.starts_with("    ")
}

/// What an answer is from.
pub(super) fn searched(freshness: &[CodeFreshness]) -> String {
    match freshness {
        [one] => {
            let commit = one.commit.map_or_else(String::new, |commit| format!(" at {}", &commit.to_hex()[..10]));
            let uncommitted = match one.uncommitted {
                0 => String::new(),
                many => format!(" with {}", count(many as u64, "uncommitted file")),
            };
            format!("{}{commit}{uncommitted}", one.repo)
        }
        many => format!("{} repositories", many.len()),
    }
}

/// The first line of a result that has something on it.
pub(super) fn first_line(hit: &CodeHit) -> u32 {
    let blank = hit.snippet.text.lines().take_while(|line| line.trim().is_empty()).count();
    let first = hit.lines.0.saturating_add(u32::try_from(blank).unwrap_or(0));
    if hit.kind != ChunkKind::Symbols && first <= hit.lines.1 { first } else { hit.lines.0 }
}

/// Where the words of the question stand in a line.
fn marks(line: &str, words: &[String]) -> Vec<(usize, usize)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || !c.is_ascii();
    let mut marks = Vec::new();
    let mut at = 0;
    while let Some(start) = line[at..].find(is_word).map(|found| at + found) {
        let end = line[start..].find(|c| !is_word(c)).map_or(line.len(), |found| start + found);
        let mut found = false;
        lore_store::for_each_token(&line[start..end], |token| found |= words.iter().any(|word| word == token));
        if found {
            marks.push((start, end));
        }
        at = end;
    }
    marks
}

/// Where a repository's files are, seen from where the user stands.
pub(super) struct Place {
    pub(super) repo: String,
    root: Option<PathBuf>,
    /// The user's folder below the root.
    below: Option<PathBuf>,
}

impl Place {
    pub(super) fn new(wanted: &Wanted) -> Self {
        let root = wanted.work_tree();
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let here = real(&environment::working_directory());
        let below = root.as_deref().and_then(|root| here.strip_prefix(real(root)).ok().map(Path::to_owned));
        Self { repo: wanted.repo.name().to_owned(), root, below }
    }

    /// A path that a terminal or an editor can open from here, where there is one.
    pub(super) fn shown(&self, path: &RepoPath) -> String {
        let path = path.to_text();
        match (&self.root, &self.below) {
            (_, Some(below)) => relative(&path, below),
            (Some(root), None) => format!("{}/{path}", root.display()),
            (None, None) => format!("{}:{path}", self.repo),
        }
    }
}

/// A file of a work tree as a terminal or an editor can open it from where the user stands, if they stand in that tree.
pub(in crate::commands) fn seen_from_here(root: &Path, path: &RepoPath) -> String {
    let here = environment::working_directory();
    let here = here.canonicalize().unwrap_or(here);
    match here.strip_prefix(root) {
        Ok(below) => relative(&path.to_text(), below),
        Err(_) => path.to_text().into_owned(),
    }
}

/// The path of a file as seen from a folder of the same tree.
fn relative(path: &str, folder: &Path) -> String {
    let mut folders = folder.components().filter(|part| matches!(part, Component::Normal(_))).peekable();
    let mut rest = path;
    while let Some(next) = folders.peek() {
        match rest.split_once('/') {
            Some((first, after)) if next.as_os_str() == first => rest = after,
            _ => break,
        }
        folders.next();
    }
    "../".repeat(folders.count()) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_can_be_opened_from_where_one_stands() {
        for (path, folder, expected) in [
            ("src/a.rs", "", "src/a.rs"),
            ("src/a.rs", "src", "a.rs"),
            ("src/a.rs", "src/net", "../a.rs"),
            ("docs/a.md", "src/net", "../../docs/a.md"),
            ("a.md", "a.md/b", "../../a.md"),
        ] {
            assert_eq!(relative(path, Path::new(folder)), expected, "{path} from {folder}");
        }
    }

    #[test]
    fn words_are_found_by_their_stem() {
        let words = ["retry".to_owned(), "größe".to_owned()];
        let marked = |line: &str| {
            marks(line, &words).into_iter().map(|(from, to)| line[from..to].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(marked("let retries = MAX_RETRY; // die Größe, trying"), ["retries", "MAX_RETRY", "Größe"]);
        assert_eq!(marked(""), Vec::<String>::new());
    }
}
