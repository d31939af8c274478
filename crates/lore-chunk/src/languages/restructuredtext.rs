//! reStructuredText: sections by underlined titles. Which character means which level, the document decides.

use std::ops::Range;

use crate::{
    encoding::one_line,
    engine::{Heading, Page, hashtags},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "restructuredtext",
    extensions: &["rst", "rest"],
    method: Method::Document(scan),
    ..Row::LINES
};

const TITLE: usize = 120;
/// Directives whose content is code.
const CODE: &[&str] = &["code", "code-block", "sourcecode", "literalinclude", "doctest", "testcode", "prompt", "console"];

fn scan(text: &str) -> Page {
    let mut page = Page::default();
    // The styles seen so far, highest first: the character, and whether there is a line above the title too.
    let mut styles: Vec<(u8, bool)> = Vec::new();
    let lines: Vec<Range<usize>> = lines(text);
    let line = |index: usize| lines.get(index).map_or("", |range| text[range.clone()].trim_end());
    let mut index = 0;
    while index < lines.len() {
        let over = rule(line(index));
        let titled = usize::from(over.is_some());
        let title = line(index + titled);
        let under = rule(line(index + titled + 1));
        let is_heading = match (over, under) {
            (Some(over), Some(under)) => over == under && !title.trim().is_empty() && rule(title).is_none(),
            (None, Some((_, length))) => {
                !title.is_empty() && !title.starts_with(char::is_whitespace) && length >= title.chars().count().min(4)
            }
            _ => false,
        };
        if is_heading && let Some((mark, _)) = under {
            let style = (mark, over.is_some());
            let level = styles.iter().position(|known| *known == style).unwrap_or_else(|| {
                styles.push(style);
                styles.len() - 1
            });
            let last = index + titled + 1;
            let range = lines[index].start..lines[last].end;
            page.headings.push(Heading { level: level + 1, range, title: one_line(title, TITLE) });
            index = last + 1;
            continue;
        }
        if let Some(end) = code(&lines, index, &line) {
            page.code.push(lines[index].end..lines[end - 1].end);
            index = end;
            continue;
        }
        hashtags(&mut page.tags, line(index), None);
        index += 1;
    }
    page
}

fn lines(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let ranges = text.split_inclusive('\n').map(|line| {
        let range = at..at + line.len();
        at = range.end;
        range
    });
    ranges.collect()
}

/// The character and the length of a line of one repeated character.
fn rule(line: &str) -> Option<(u8, usize)> {
    let bytes = line.as_bytes();
    let first = *bytes.first()?;
    (bytes.len() >= 2 && first.is_ascii_punctuation() && bytes.iter().all(|byte| *byte == first))
        .then_some((first, bytes.len()))
}

/// Where the literal block ends that a line announces with `::`.
fn code<'t>(lines: &[Range<usize>], index: usize, line: &dyn Fn(usize) -> &'t str) -> Option<usize> {
    let announces = line(index);
    let directive = announces.trim_start().strip_prefix(".. ").and_then(|it| it.split_once("::")).map(|it| it.0);
    let is_code = directive.map_or(announces.ends_with("::"), |name| CODE.contains(&name.trim()));
    if !is_code {
        return None;
    }
    let indent = |text: &str| text.len() - text.trim_start().len();
    let outer = indent(announces);
    let mut end = index + 1;
    let mut last = end;
    while end < lines.len() && (line(end).is_empty() || indent(line(end)) > outer) {
        end += 1;
        if !line(end - 1).is_empty() {
            last = end;
        }
    }
    (last > index + 1).then_some(last)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn titles_are_underlined_and_levels_come_in_order_of_appearance() {
        let text = "=====\nGuide\n=====\n\nIntro #tagged here.\n\nInstall\n=======\n\nExample::\n\n    Not a title\n    -----------\n    #nor-tag\n\n\
                    text\n\nDeep\n----\n\n.. note::\n   text\n\nUse\n===\n\ntext\n\n----\n\nafter a transition\n";
        check("restructuredtext", text, &expect![[r#"
            documentation 1-6 heading `Guide`
            documentation 7-17 heading `Install` in `Guide`
            documentation 18-23 heading `Deep` in `Guide > Install`
            documentation 24-31 heading `Use` in `Guide`
              1-31 heading `Guide`: Guide
              7-22 heading `Install` in `Guide`: Install
              18-22 heading `Deep` in `Guide > Install`: Deep
              24-31 heading `Use` in `Guide`: Use
            tags tagged
        "#]]);
    }

    /// Each section has its own copy of the titles above it.
    #[test]
    fn titles_above_are_told_as_far_as_there_is_room() {
        let marks = (b'!'..=b'~').filter(u8::is_ascii_punctuation).map(char::from);
        let section = |mark: char| format!("{}\n{}\n\ntext\n\n", "t".repeat(119), mark.to_string().repeat(119));
        let above = marks.map(section).collect::<Vec<_>>().concat();
        let chunked = crate::Chunker::new().chunk(crate::Language::named("restructuredtext").unwrap(), "test", above.as_bytes());
        let longest = chunked.symbols.iter().filter_map(|symbol| symbol.container.as_ref()).map(|it| it.chars().count()).max();
        assert_eq!(longest, Some(300));
    }
}
