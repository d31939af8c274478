//! Cuts a document at its headings.
//!
//! A language's scanner says where headings, code and tags are ([`Page`]); the rest is the same for all kinds of
//! documents. A heading without text of its own goes with the section below it.

use std::ops::Range;

use lore_model::{ChunkKind, SymbolKind};

use super::{
    Draft, Outline, Source,
    outline::LONGEST_PATH,
    split::{self, Border},
};
use crate::{
    Symbol,
    encoding::{masked, one_line},
};

/// Finds the structure of a document. The text has the bytes of the file, but for those that are not UTF-8.
pub(crate) type Document = fn(&str) -> Page;

/// The structure of a document.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// In order.
    pub(crate) headings: Vec<Heading>,
    /// Blocks of code, in order.
    pub(crate) code: Vec<Range<usize>>,
    /// Where the text begins behind the frontmatter.
    pub(crate) begins: usize,
    pub(crate) tags: Vec<String>,
}

/// A heading of a document.
#[derive(Debug)]
pub(crate) struct Heading {
    /// 1 for the highest.
    pub(crate) level: usize,
    /// The lines of the heading, with what underlines it.
    pub(crate) range: Range<usize>,
    pub(crate) title: String,
}

/// What lies between blank lines inside of code is cut only where nothing better is near.
const IN_CODE: usize = 4;

struct Section {
    range: Range<usize>,
    level: usize,
    title: String,
    container: Option<String>,
    /// Whether there is anything below the heading.
    has_text: bool,
}

/// Cuts a document.
pub(super) fn outline(scan: Document, source: &Source<'_>) -> Outline {
    let text = masked(source.bytes);
    let page = scan(&text);
    let borders = paragraphs(source, &page.code);
    let mut outline = Outline { prose: all_but(&page.code, source.bytes.len()), ..Outline::default() };
    let sections = sections(&page, source);
    let mut at = 0;
    for (index, section) in sections.iter().enumerate() {
        describe(section, &sections[index + 1..], source, &mut outline);
        let next_is_below = sections.get(index + 1).is_some_and(|next| next.level > section.level);
        if section.has_text || (index == 0 && !next_is_below) {
            cut(section, at..section.range.end, source, &borders, &mut outline);
        } else if !next_is_below && let Some(last) = outline.drafts.last_mut() {
            last.end = section.range.end;
        } else {
            continue;
        }
        at = section.range.end;
    }
    outline.tags = page.tags;
    outline
}

fn sections(page: &Page, source: &Source<'_>) -> Vec<Section> {
    let length = source.bytes.len();
    let is_blank = |range: Range<usize>| source.bytes[range].trim_ascii().is_empty();
    let begin = |heading: &Heading| source.border_before(heading.range.start);
    let mut sections = Vec::new();
    let first = page.headings.first().map_or(length, begin);
    // Frontmatter alone belongs to the first section.
    if page.headings.is_empty() || !is_blank(page.begins.min(first)..first) {
        sections.push(Section { range: 0..first, level: 0, title: String::new(), container: None, has_text: true });
    }
    let mut above: Vec<&Heading> = Vec::new();
    for (index, heading) in page.headings.iter().enumerate() {
        let end = page.headings.get(index + 1).map_or(length, begin);
        let start = begin(heading).min(end);
        above.retain(|outer| outer.level < heading.level);
        let path: Vec<&str> = above.iter().map(|outer| outer.title.as_str()).filter(|it| !it.is_empty()).collect();
        let body = source.border_after(heading.range.end).clamp(start, end);
        sections.push(Section {
            range: start..end,
            level: heading.level,
            title: heading.title.clone(),
            container: (!path.is_empty()).then(|| one_line(&path.join(" > "), LONGEST_PATH)),
            has_text: !is_blank(body..end),
        });
        above.push(heading);
    }
    sections
}

/// A section ends where the next of its level or higher begins.
fn describe(section: &Section, after: &[Section], source: &Source<'_>, outline: &mut Outline) {
    if section.title.is_empty() {
        return;
    }
    let end = after.iter().find(|next| next.level <= section.level).map_or(source.bytes.len(), |next| next.range.start);
    let line = |at: usize| u32::try_from(source.line_of(at) + 1).unwrap_or(u32::MAX);
    let text = source.bytes[section.range.start..end].trim_ascii_end().len().max(1);
    outline.names.push((section.range.start, section.title.clone()));
    outline.symbols.push(Symbol {
        name: section.title.clone(),
        kind: SymbolKind::Heading,
        container: section.container.clone(),
        first_line: line(section.range.start),
        last_line: line(section.range.start + text - 1),
        signature: section.title.clone(),
    });
}

fn cut(section: &Section, range: Range<usize>, source: &Source<'_>, borders: &[Border], outline: &mut Outline) {
    let ends = split::cut(source, &range, borders, split::PROSE);
    let count = u32::try_from(ends.len()).unwrap_or(u32::MAX);
    for (number, end) in (1..).zip(ends) {
        let is_named = !section.title.is_empty();
        outline.drafts.push(Draft {
            end,
            kind: ChunkKind::Documentation,
            name: is_named.then(|| section.title.clone()),
            symbol: is_named.then_some(SymbolKind::Heading),
            container: section.container.clone(),
            part: (count > 1).then_some((number, count)),
        });
    }
}

/// Where paragraphs begin.
fn paragraphs(source: &Source<'_>, code: &[Range<usize>]) -> Vec<Border> {
    let mut code = code.iter().peekable();
    let mut borders = Vec::new();
    let mut after_blank = true;
    for line in 0..source.line_count() {
        let is_blank = source.line(line).is_empty();
        if after_blank && !is_blank {
            let at = source.line_start(line);
            while code.next_if(|range| range.end <= at).is_some() {}
            let in_code = code.peek().is_some_and(|range| range.start < at);
            borders.push(Border { at, depth: if in_code { IN_CODE } else { 0 } });
        }
        after_blank = is_blank;
    }
    borders
}

fn all_but(code: &[Range<usize>], length: usize) -> Vec<Range<usize>> {
    let mut prose = Vec::new();
    let mut start = 0;
    for range in code {
        if range.start > start {
            prose.push(start..range.start);
        }
        start = start.max(range.end);
    }
    if start < length {
        prose.push(start..length);
    }
    prose
}
