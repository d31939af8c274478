//! Questions about documents that nobody had to write: headings ask, and what stands below them answers.

use std::{collections::HashMap, path::Path};

use crate::{
    headings::ask,
    metric::{Question, Target},
    sections::sections,
};

/// A section that says less answers nothing.
const MIN_WORDS: usize = 30;

/// Names of files whose headings are versions and dates.
const LOGS: [&str; 8] =
    ["changelog", "changes", "history", "news", "releases", "release-notes", "release_notes", "authors"];

/// Whether a file is a document: Markdown, reStructuredText or `AsciiDoc`, or text in a folder of documents.
pub fn is_document(path: &str) -> bool {
    let extension = Path::new(path).extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let in_folder = || path.to_lowercase().split('/').rev().skip(1).any(|folder| ["doc", "docs"].contains(&folder));
    match extension.as_str() {
        "md" | "markdown" | "mdx" | "rst" | "adoc" | "asciidoc" => true,
        "txt" => in_folder(),
        _ => false,
    }
}

/// The questions that the documents of one tree ask, by path and line; each is of a path and its text.
pub fn section_questions(documents: &[(String, String)]) -> Vec<Question> {
    let mut times: HashMap<String, usize> = HashMap::new();
    let mut found = Vec::new();
    for (path, text) in documents.iter().filter(|(path, _)| is_document(path)) {
        for section in sections(path, text) {
            *times.entry(section.heading.to_lowercase()).or_default() += 1;
            found.push((path, section));
        }
    }
    let is_once = |heading: &str| times.get(&heading.to_lowercase()) == Some(&1);
    let mut questions: Vec<Question> = Vec::new();
    for (path, section) in found {
        let asks =
            section.words >= MIN_WORDS && is_once(&section.heading) && can_ask(&section.heading) && !is_log(path);
        if asks {
            let target = Target { path: path.clone(), lines: Some(section.lines) };
            questions.push(Question {
                query: ask(&section.heading),
                category: "section".to_owned(),
                relevant: vec![target],
            });
        }
    }
    questions
}

/// Whether a heading says enough, and is no version or date.
fn can_ask(heading: &str) -> bool {
    let words: Vec<&str> = heading.split_whitespace().collect();
    let is_number =
        |word: &&str| word.trim_start_matches(['v', 'V', '(', '[']).starts_with(|c: char| c.is_ascii_digit());
    (2..=12).contains(&words.len()) && !words.iter().any(is_number)
}

fn is_log(path: &str) -> bool {
    let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    LOGS.contains(&stem.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_known_by_their_names() {
        for path in ["README.md", "docs/a.rst", "a.MDX", "guide/x.adoc", "docs/ref/models.txt"] {
            assert!(is_document(path), "{path}");
        }
        for path in ["src/a.rs", "requirements.txt", "docs/conf.py", "docs"] {
            assert!(!is_document(path), "{path}");
        }
    }

    #[test]
    fn sections_ask_that_say_enough_and_are_the_only_one() {
        let words = "word ".repeat(MIN_WORDS);
        let file = |path: &str, text: String| (path.to_owned(), text);
        let documents = [
            file("docs/a.md", format!("# Using themes\n{words}\n## Short one\nfew\n## Getting started\n{words}\n")),
            file(
                "docs/b.md",
                format!("# getting Started\n{words}\n# Overview\n{words}\n# Version 2.1 is out\n{words}\n"),
            ),
            file("CHANGELOG.md", format!("# Unreleased changes\n{words}\n")),
            file("src/a.rs", format!("# Using sources\n{words}\n")),
        ];
        let asked = section_questions(&documents);
        let target = Target { path: "docs/a.md".to_owned(), lines: Some((1, 2)) };
        assert_eq!(
            asked,
            [Question {
                query: "how do I use themes".to_owned(),
                category: "section".to_owned(),
                relevant: vec![target]
            }]
        );
    }
}
