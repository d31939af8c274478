//! `AsciiDoc`: sections by `==` titles outside of delimited blocks.

use crate::{
    encoding::one_line,
    engine::{Heading, Page, hashtags},
    language::{Method, Row},
};

pub(crate) static ROW: Row =
    Row { name: "asciidoc", extensions: &["adoc", "asciidoc", "asc"], method: Method::Document(scan), ..Row::LINES };

const TITLE: usize = 120;
/// Lines that begin and end a block: of code, and of other things.
const CODE: &[&str] = &["----", "....", "```", "++++", "////"];

fn scan(text: &str) -> Page {
    let mut page = Page::default();
    let mut at = 0;
    let mut block: Option<(&str, usize)> = None;
    for full in text.split_inclusive('\n') {
        let range = at..at + full.len();
        at = range.end;
        let line = full.trim_end();
        if let Some((fence, start)) = block {
            if line == fence {
                page.code.push(start..range.end);
                block = None;
            }
            continue;
        }
        let fence = CODE.iter().find(|fence| line.starts_with(**fence));
        if let Some(fence) = fence.filter(|fence| fence.starts_with('`') || line.trim_matches(fence.chars().next().unwrap_or_default()).is_empty()) {
            block = Some((if fence.starts_with('`') { fence } else { line }, range.start));
            continue;
        }
        match title(line) {
            Some((level, title)) => page.headings.push(Heading { level, range, title: one_line(title, TITLE) }),
            None => hashtags(&mut page.tags, line, None),
        }
    }
    if let Some((_, start)) = block {
        page.code.push(start..text.len());
    }
    page
}

/// The level and the text of a title.
fn title(line: &str) -> Option<(usize, &str)> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '=' | '#'))?;
    let title = line.trim_start_matches(mark);
    let level = line.len() - title.len();
    (level <= 6 && title.starts_with([' ', '\t']) && !title.trim().is_empty()).then(|| (level, title.trim()))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn titles_inside_of_blocks_are_none() {
        let text = "= Guide\n:toc:\n\nIntro #tagged.\n\n== Install\n\n[source,sh]\n----\n== no title #no-tag\n----\n\ntext\n\n=== Deep\ntext\n\n====\nan example\n====\n";
        check("asciidoc", text, &expect![[r#"
            documentation 1-5 heading `Guide`
            documentation 6-14 heading `Install` in `Guide`
            documentation 15-20 heading `Deep` in `Guide > Install`
              1-20 heading `Guide`: Guide
              6-20 heading `Install` in `Guide`: Install
              15-20 heading `Deep` in `Guide > Install`: Deep
            tags tagged
        "#]]);
    }
}
