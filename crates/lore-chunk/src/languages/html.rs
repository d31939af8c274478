//! HTML pages: cut at their headings. Scripts and styles are code.
//!
//! The headings are looked for as text: a page is a document, and templates of all kinds are full of what a grammar
//! takes for errors.

use std::ops::Range;

use crate::{
    engine::{Heading, Page},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "html",
    extensions: &["html", "htm", "xhtml", "shtml"],
    method: Method::Document(scan),
    ..Row::LINES
};

/// A heading with more text than this is none.
const LONGEST: usize = 400;

/// How the end of a heading begins.
const CLOSE: &str = "</h";

fn scan(text: &str) -> Page {
    let bytes = text.as_bytes();
    let mut page = Page::default();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'<', &bytes[at..]) {
        let start = at + found;
        let rest = &bytes[start..];
        at = start + 1;
        let skipped = [("<!--", "-->"), ("<script", "</script"), ("<style", "</style"), ("<pre", "</pre")];
        if let Some((open, close)) = skipped.iter().find(|(open, _)| starts_with(rest, open)) {
            let end = find(bytes, start + open.len(), close);
            if *open != "<!--" {
                page.code.push(start..end);
            }
            at = end;
        } else if let [_, b'h' | b'H', level @ b'1'..=b'6', b' ' | b'>' | b'\n' | b'\t', ..] = rest {
            // A page may have as many beginnings of headings as it has bytes, and the end of none.
            let near = &bytes[..bytes.len().min(start + LONGEST + CLOSE.len())];
            let end = find(near, start, CLOSE);
            if end - start > LONGEST {
                continue;
            }
            let title = title(text, start..end);
            if !title.is_empty() {
                let end = find(bytes, end, ">");
                page.headings.push(Heading { level: usize::from(level - b'0'), range: start..end, title });
                at = end;
            }
        }
    }
    page
}

fn starts_with(bytes: &[u8], tag: &str) -> bool {
    bytes.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()))
}

/// Where a text begins, in small letters or large ones, or where the page ends.
fn find(bytes: &[u8], from: usize, what: &str) -> usize {
    let first = what.as_bytes()[0];
    let mut places = memchr::memchr_iter(first, &bytes[from..]).map(|at| from + at);
    places.find(|at| starts_with(&bytes[*at..], what)).unwrap_or(bytes.len())
}

/// The text of a heading, without tags.
fn title(text: &str, range: Range<usize>) -> String {
    let mut title = String::new();
    let mut in_tag = false;
    for c in text[range].chars() {
        match c {
            '<' => in_tag = true,
            '>' => in_tag = false,
            _ if in_tag => {}
            _ => title.push(c),
        }
    }
    let words: Vec<&str> = title.split_whitespace().collect();
    words.join(" ").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn pages_are_cut_at_headings() {
        check("html", "<!DOCTYPE html>\n<html>\n<head><title>x</title>\n<script>\nif (a < b) { '<h1>no</h1>' }\n</script>\n</head>\n<body>\n<!-- <h1>no</h1> -->\n<H1 class=\"a\">The <b>guide</b> &amp; more</H1>\n<p>Words.</p>\n<h2\n id=\"x\">Install</h2>\n<p>More.</p>\n<hr>\n<header>no</header>\n</body>\n</html>\n", &expect![[r#"
            documentation 1-9
            documentation 10-11 heading `The guide & more`
            documentation 12-18 heading `Install` in `The guide & more`
              10-18 heading `The guide & more`: The guide & more
              12-18 heading `Install` in `The guide & more`: Install
        "#]]);
    }

    #[test]
    fn pages_without_headings_or_ends_are_cut_somewhere() {
        check("html", "<div>\n  <p>{% if x %}</p>\n", &expect![[r#"
            documentation 1-2
        "#]]);
        check("html", "<p>a</p>\n<script>\nlet x = '<h1>no</h1>'\n", &expect![[r#"
            documentation 1-3
        "#]]);
        check("html", "<h1>é<\n", &expect![[r#"
            documentation 1-1 heading `é`
              1-1 heading `é`: é
        "#]]);
    }

    #[test]
    fn a_heading_is_as_long_as_headings_are() {
        let of = |length: usize| format!("<h1>{}</h1>\n", "x".repeat(length - "<h1>".len()));
        let titles = |text: &str| super::scan(text).headings.into_iter().map(|heading| heading.title.len()).collect::<Vec<_>>();
        assert_eq!(titles(&of(400)), [396]);
        assert_eq!(titles(&of(401)), Vec::<usize>::new());
        assert_eq!(titles(&format!("{}<h2>é</h2>\n", of(401))), ["é".len()]);
    }

    /// So many that whoever runs this notices work that grows with the square of it.
    #[test]
    fn headings_may_end_nowhere() {
        let text = "<h1>\n".repeat(200_000);
        assert_eq!(super::scan(&text).headings.len(), 0);
    }
}
