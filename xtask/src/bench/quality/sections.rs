//! Sections of documents in Markdown, reStructuredText and `AsciiDoc`: their headings, their lines, how much they say.
//!
//! It knows as much of these languages as headings need, and shares no code with what is measured.

use std::path::Path;

/// What stands under a heading, up to the next one of any level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// The heading, without its markup.
    pub(super) heading: String,
    /// First line, which is that of the heading, and last line.
    pub(super) lines: (u64, u64),
    /// How many words there are below the heading.
    pub(super) words: usize,
}

/// How headings are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Markup {
    Markdown,
    ReStructured,
    AsciiDoc,
}

/// The sections of a document; none for a file in another language.
pub(super) fn sections(path: &str, text: &str) -> Vec<Section> {
    let extension = Path::new(path).extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let markup = match extension.as_str() {
        "md" | "markdown" | "mdx" => Markup::Markdown,
        "rst" | "txt" => Markup::ReStructured,
        "adoc" | "asciidoc" => Markup::AsciiDoc,
        _ => return Vec::new(),
    };
    let lines: Vec<&str> = text.lines().collect();
    let headings = headings(markup, &lines);
    let mut sections = Vec::new();
    for (at, (first, body, heading)) in headings.iter().enumerate() {
        let end = headings.get(at + 1).map_or(lines.len(), |(next, _, _)| *next);
        let words = lines[(*body).min(end)..end].iter().map(|line| line.split_whitespace().count()).sum();
        sections.push(Section { heading: plain(heading), lines: (*first as u64 + 1, end as u64), words });
    }
    sections
}

/// Where each heading begins, where its text does, and what it says.
fn headings(markup: Markup, lines: &[&str]) -> Vec<(usize, usize, String)> {
    let mut found = Vec::new();
    let mut fence: Option<String> = None;
    let mut at = front_matter(markup, lines);
    while at < lines.len() {
        let line = lines[at];
        if let Some(open) = &fence {
            if closes(markup, line, open) {
                fence = None;
            }
            at += 1;
            continue;
        }
        if let Some(opened) = opens(markup, line) {
            fence = Some(opened);
            at += 1;
            continue;
        }
        match heading(markup, lines, at) {
            Some((first, body, text)) => {
                found.push((first, body, text));
                at = body;
            }
            None => at += 1,
        }
    }
    found
}

/// The first line after what a site generator reads.
fn front_matter(markup: Markup, lines: &[&str]) -> usize {
    if markup != Markup::Markdown || lines.first().is_none_or(|line| line.trim_end() != "---") {
        return 0;
    }
    lines.iter().skip(1).position(|line| line.trim_end() == "---").map_or(0, |end| end + 2)
}

/// What opens a block in which nothing is a heading.
fn opens(markup: Markup, line: &str) -> Option<String> {
    let line = line.trim_start();
    let marks = match markup {
        Markup::Markdown => ["```", "~~~"],
        Markup::AsciiDoc => ["----", "...."],
        Markup::ReStructured => return None,
    };
    let mark = marks.into_iter().find(|mark| line.starts_with(mark))?;
    let only = line.trim_end().chars().all(|c| mark.starts_with(c));
    (markup == Markup::Markdown || only).then(|| {
        let first = mark.chars().next().unwrap_or_default();
        line.chars().take_while(|c| *c == first).collect()
    })
}

fn closes(markup: Markup, line: &str, open: &str) -> bool {
    let line = line.trim();
    match markup {
        Markup::Markdown => line.starts_with(open) && line.chars().all(|c| open.starts_with(c)),
        Markup::AsciiDoc | Markup::ReStructured => line == open,
    }
}

/// A heading that begins at this line: where, where its text begins, and what it says.
fn heading(markup: Markup, lines: &[&str], at: usize) -> Option<(usize, usize, String)> {
    let line = lines[at];
    let next = lines.get(at + 1).copied().unwrap_or_default();
    let marked = |mark: char| {
        let level = line.chars().take_while(|c| *c == mark).count();
        let rest = line.get(level..).filter(|rest| (1..=6).contains(&level) && rest.starts_with([' ', '\t']))?;
        Some((at, at + 1, rest.trim().trim_end_matches(mark).trim().to_owned()))
    };
    let is_text = !line.trim().is_empty() && !line.starts_with([' ', '\t']);
    match markup {
        Markup::Markdown => marked('#').or_else(|| {
            let under = next.trim_end();
            let is_line = under.len() >= 3 && (under.chars().all(|c| c == '=') || under.chars().all(|c| c == '-'));
            let begins = at == 0 || lines[at - 1].trim().is_empty();
            (is_text && is_line && begins && !line.starts_with(['-', '*', '>', '|', '=', '<']))
                .then(|| (at, at + 2, line.trim().to_owned()))
        }),
        Markup::AsciiDoc => marked('='),
        Markup::ReStructured => {
            let is_under = is_adornment(next) && next.trim_end().chars().count() >= line.trim_end().chars().count();
            let has_over = at > 0 && is_adornment(lines[at - 1]);
            (is_text && is_under && !is_adornment(line))
                .then(|| (if has_over { at - 1 } else { at }, at + 2, line.trim().to_owned()))
                .or_else(|| {
                    // Text below an overline may be indented.
                    let over = is_adornment(line)
                        && lines.get(at + 2).is_some_and(|under| under.trim_end() == line.trim_end());
                    (over && !next.trim().is_empty() && !is_adornment(next))
                        .then(|| (at, at + 3, next.trim().to_owned()))
                })
        }
    }
}

/// A line of one repeated mark, as reStructuredText puts under titles.
fn is_adornment(line: &str) -> bool {
    let line = line.trim_end();
    let first = line.chars().next().unwrap_or(' ');
    line.len() >= 3 && "=-~`'\"^_*+#<>:.".contains(first) && line.chars().all(|c| c == first)
}

/// A heading as people read it: no links, no marks, no anchors.
fn plain(heading: &str) -> String {
    let without_anchor = match heading.rfind("{#").or_else(|| heading.rfind("{:")) {
        Some(at) if heading.ends_with('}') => &heading[..at],
        _ => heading,
    };
    let mut text = String::new();
    let mut rest = without_anchor;
    while let Some(open) = rest.find('[') {
        let (before, link) = rest.split_at(open);
        text.push_str(before.strip_suffix('!').unwrap_or(before));
        let Some((shown, after)) = link[1..].split_once(']') else {
            rest = link;
            break;
        };
        text.push_str(shown);
        rest = after;
        for (open, close) in [('(', ')'), ('[', ']')] {
            if let Some((_, after)) = rest.strip_prefix(open).and_then(|target| target.split_once(close)) {
                rest = after;
            }
        }
    }
    text.push_str(rest);
    // Roles of reStructuredText: :func:`text`.
    let text: Vec<String> = text.split_whitespace().map(without_role).collect();
    text.join(" ").replace(['`', '*'], "").replace('\\', "").trim().to_owned()
}

fn without_role(word: &str) -> String {
    let role = word.strip_prefix(':').and_then(|word| word.split_once(":`"));
    role.filter(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == ':' || c == '-'))
        .map_or_else(|| word.to_owned(), |(_, text)| text.trim_start_matches('~').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[(&str, u64, u64, usize)]) {
        let found = sections(path, text);
        let found: Vec<_> =
            found.iter().map(|found| (found.heading.as_str(), found.lines.0, found.lines.1, found.words)).collect();
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn markdown() {
        check(
            "a.md",
            "---\ntitle: x\n---\n# Using `themes` ##\none two\n\n```sh\n# no heading\n```\n## [Links](http://x) are *text* {#anchor}\nthree\n\nSetext title\n------------\nfour five six\n",
            &[("Using themes", 4, 9, 7), ("Links are text", 10, 12, 1), ("Setext title", 13, 15, 3)],
        );
        check("a.md", "#no space\n- item\n---\n|a|\n|---|\n", &[]);
        check("a.md", "````\n```\n# inside\n```\n````\n# outside\n", &[("outside", 6, 6, 0)]);
    }

    #[test]
    fn restructured_text() {
        check(
            "a.rst",
            "=====\nTitle\n=====\n\none two\n\nThe :func:`~app.run` call\n-------------------------\nthree::\n\n    =====\n",
            &[("Title", 1, 6, 2), ("The app.run call", 7, 11, 2)],
        );
        check("docs/a.txt", "Title one\n===\ntoo short\n", &[]);
        check("docs/a.txt", "=======\n Title\n=======\nwords\n", &[("Title", 1, 4, 1)]);
    }

    #[test]
    fn asciidoc() {
        check(
            "a.adoc",
            "= Title\n\none\n\n== Second\n----\n== code\n----\ntwo three\n",
            &[("Title", 1, 4, 1), ("Second", 5, 9, 6)],
        );
    }

    #[test]
    fn nothing_else_has_sections() {
        check("a.rs", "# Title\n", &[]);
        check("a.md", "", &[]);
    }
}
