//! Markdown: sections by headings, as `CommonMark` reads them.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::{
    encoding::one_line,
    engine::{Heading, Page, frontmatter, hashtags},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "markdown",
    extensions: &["md", "markdown", "mdx", "mkd", "mdown", "qmd", "rmd"],
    method: Method::Document(scan),
    ..Row::LINES
};

const TITLE: usize = 120;

fn scan(text: &str) -> Page {
    let options = Options::ENABLE_YAML_STYLE_METADATA_BLOCKS | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    let mut page = Page::default();
    let mut depth = 0_usize;
    let mut heading: Option<Heading> = None;
    // How many elements around hold text that is not the author's prose.
    let mut apart = 0_usize;
    // Neighbouring pieces of prose are one: the parser begins a new one at every `_`.
    let mut words = 0..0;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                apart += usize::from(is_apart(tag.to_end()));
                match tag {
                    // Headings inside of quotes and lists are text of the section.
                    Tag::Heading { level, .. } if depth == 0 => {
                        heading = Some(Heading { level: level as usize, range, title: String::new() });
                    }
                    Tag::CodeBlock(_) => page.code.push(range),
                    Tag::MetadataBlock(_) if page.begins == 0 && page.headings.is_empty() => {
                        page.begins = range.end;
                        frontmatter(&mut page.tags, &text[range]);
                    }
                    _ => {}
                }
                depth += 1;
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                apart = apart.saturating_sub(usize::from(is_apart(tag)));
                if depth == 0 && let Some(mut done) = heading.take() {
                    done.title = one_line(&done.title, TITLE);
                    page.headings.push(done);
                }
            }
            Event::Text(piece) => {
                if let Some(heading) = &mut heading {
                    heading.title.push_str(&piece);
                } else if apart == 0 && range.start == words.end {
                    words.end = range.end;
                } else if apart == 0 {
                    tags_in(text, &words, &mut page);
                    words = range;
                }
            }
            Event::Code(piece) => {
                if let Some(heading) = &mut heading {
                    heading.title.push_str(&piece);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut heading {
                    heading.title.push(' ');
                }
            }
            _ => {}
        }
    }
    tags_in(text, &words, &mut page);
    page
}

/// Whether hashtags inside of an element are none.
fn is_apart(tag: TagEnd) -> bool {
    use TagEnd::{CodeBlock, Heading, HtmlBlock, Image, Link, MetadataBlock};
    matches!(tag, CodeBlock | Heading(_) | HtmlBlock | Image | Link | MetadataBlock(_))
}

fn tags_in(text: &str, words: &Range<usize>, page: &mut Page) {
    hashtags(&mut page.tags, &text[words.clone()], text[..words.start].chars().next_back());
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn sections_are_chunks_and_a_heading_in_a_fence_is_none() {
        let text = "---\ntitle: x\ntags: [guide, setup]\n---\n# Guide\n\nIntro #hello, see `#code` and [#link](x).\n\n\
                    ## Install\n\n```sh\n## not a heading #nor-tag\nmake\n```\n\nDone.\n\n\
                    Old style\n---------\n\ntext\n\n### Deep `code` *title*\n\ntext #snake_case_tag\n\n> # quoted\n";
        check("markdown", text, &expect![[r#"
            documentation 1-8 heading `Guide`
            documentation 9-17 heading `Install` in `Guide`
            documentation 18-22 heading `Old style` in `Guide`
            documentation 23-27 heading `Deep code title` in `Guide > Old style`
              5-27 heading `Guide`: Guide
              9-16 heading `Install` in `Guide`: Install
              18-27 heading `Old style` in `Guide`: Old style
              23-27 heading `Deep code title` in `Guide > Old style`: Deep code title
            tags guide setup hello snake_case_tag
        "#]]);
    }

    #[test]
    fn headings_without_text_go_with_what_is_below_or_before() {
        check("markdown", "# A\n\n## B\n\ntext\n\n## C\n## D\n\ntext\n\n# E\n", &expect![[r#"
            documentation 1-7 heading `B` in `A` names A B C
            documentation 8-12 heading `D` in `A` names D E
              1-10 heading `A`: A
              3-5 heading `B` in `A`: B
              7-7 heading `C` in `A`: C
              8-10 heading `D` in `A`: D
              12-12 heading `E`: E
        "#]]);
        check("markdown", "preamble\n\n# A\ntext\n", &expect![[r#"
            documentation 1-2
            documentation 3-4 heading `A`
              3-4 heading `A`: A
        "#]]);
        check("markdown", "no heading at all\n", &expect![[r#"
            documentation 1-1
        "#]]);
        check("markdown", "# only\n", &expect![[r#"
            documentation 1-1 heading `only`
              1-1 heading `only`: only
        "#]]);
    }

    #[test]
    fn long_sections_are_cut_at_paragraphs() {
        let paragraph = "A sentence of some length that is repeated.\n".repeat(12);
        let fence = format!("```\n{}```\n", "code\n\n".repeat(10));
        check("markdown", &format!("# Long\n\n{}", format!("{paragraph}\n{fence}\n").repeat(4)), &expect![[r#"
            documentation 1-38 heading `Long` part 1/4
            documentation 39-74 heading `Long` part 2/4 names 
            documentation 75-110 heading `Long` part 3/4 names 
            documentation 111-146 heading `Long` part 4/4 names 
              1-145 heading `Long`: Long
        "#]]);
    }
}
