//! Plain text documents: cut at paragraphs.

use crate::{
    engine::{Page, hashtags},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "text",
    extensions: &["txt", "text", "log"],
    files: &[
        "AUTHORS", "CHANGELOG", "CHANGES", "CONTRIBUTING", "COPYING", "CREDITS", "HISTORY", "INSTALL", "LICENCE",
        "LICENSE", "LICENSE-APACHE", "LICENSE-MIT", "MAINTAINERS", "NEWS", "NOTICE", "README", "TODO",
    ],
    method: Method::Document(scan),
    ..Row::LINES
};

fn scan(text: &str) -> Page {
    let mut page = Page::default();
    hashtags(&mut page.tags, text, None);
    page
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn text_is_cut_at_paragraphs() {
        let paragraph = format!("{}\n", "some words about something\n".repeat(20));
        check("text", &paragraph.repeat(6), &expect![[r#"
            documentation 1-42 part 1/3
            documentation 43-84 part 2/3
            documentation 85-126 part 3/3
        "#]]);
    }
}
