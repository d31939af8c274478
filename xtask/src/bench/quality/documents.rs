//! Questions about the documents of a repository: what its headings ask, and what commits say that changed documents only.

use std::{collections::HashMap, path::Path};

use anyhow::{Context as _, Result};
use lore_testkit::Git;

use super::{
    super::semble::Content,
    Answered,
    ask::{Place, ask},
    commits::{ask_commits, choose, document_commit_question},
    headings::ask as ask_heading,
    metric::{Question, Target},
    prepare,
    sections::sections,
    with::With,
};
use crate::program::say;

/// Asks both kinds of questions, so many of each.
pub(crate) fn ask_documents(with: &With, name: &str, repo: &Path, count: usize, work: &Path) -> Result<Vec<Answered>> {
    let git = Git::at(repo);
    let head = git.text(&["rev-parse", "HEAD"])?;
    let questions = choose(sections_of(&git, &head)?, count);
    let mut answered = Vec::new();
    if !questions.is_empty() {
        let place = prepare::bare_at(name, &head, repo, work)?;
        let folder = with.peer.as_ref().map(|_| prepare::folder_at(name, &head, "", repo, work)).transpose()?;
        let place = Place {
            repo: &place,
            root: "",
            history: true,
            folder: folder.as_deref().map(|folder| (folder, Content::All)),
        };
        let set = format!("sections of {name}");
        let (index, asked) = ask(with, &set, place, &questions)?;
        say(&format!("{set}: {} questions", asked.len()));
        answered.push(Answered { name: set, index, asked });
    }
    let set = format!("document commits of {name}");
    say(&set);
    let asked = ask_commits(with, &set, repo, count, document_commit_question)?;
    if !asked.is_empty() {
        answered.push(Answered { name: set, index: serde_json::Value::Null, asked });
    }
    Ok(answered)
}

/// What the headings of a commit's documents ask.
fn sections_of(git: &Git, head: &str) -> Result<Vec<Question>> {
    let list = git.bytes(&["ls-tree", "-r", "-z", head])?;
    let list = String::from_utf8_lossy(&list);
    let mut documents = Vec::new();
    for entry in list.split('\0').filter(|entry| entry.starts_with("100")) {
        let (object, path) = entry.split_once('\t').context("git ls-tree prints a tab before the path")?;
        if is_document(path) {
            let blob = object.rsplit(' ').next().unwrap_or_default();
            let text = git.bytes(&["cat-file", "blob", blob])?;
            documents.push((path.to_owned(), String::from_utf8_lossy(&text).into_owned()));
        }
    }
    Ok(section_questions(&documents))
}

/// A section that says less answers nothing.
const MIN_WORDS: usize = 30;

/// Names of files whose headings are versions and dates.
const LOGS: [&str; 8] =
    ["changelog", "changes", "history", "news", "releases", "release-notes", "release_notes", "authors"];

/// Whether a file is a document: Markdown, reStructuredText or `AsciiDoc`, or text in a folder of documents.
pub(super) fn is_document(path: &str) -> bool {
    let extension = Path::new(path).extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let in_folder = || path.to_lowercase().split('/').rev().skip(1).any(|folder| ["doc", "docs"].contains(&folder));
    match extension.as_str() {
        "md" | "markdown" | "mdx" | "rst" | "adoc" | "asciidoc" => true,
        "txt" => in_folder(),
        _ => false,
    }
}

/// The questions that the documents of one tree ask, by path and line; each is of a path and its text.
pub(super) fn section_questions(documents: &[(String, String)]) -> Vec<Question> {
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
                query: ask_heading(&section.heading),
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
    use lore_testkit::Repo;

    use super::*;

    #[test]
    fn headings_of_tracked_documents_ask() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::init(dir.path());
        let words = "word ".repeat(40);
        repo.write("docs/a b.md", format!("# Using themes\n{words}\n")).write("a.rs", format!("# Using it\n{words}\n"));
        repo.commit("one");
        let asked = sections_of(&Git::at(repo.path()), "HEAD").unwrap();
        assert_eq!(asked.len(), 1);
        assert_eq!(
            (asked[0].query.as_str(), asked[0].relevant[0].path.as_str()),
            ("how do I use themes", "docs/a b.md")
        );
    }

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
