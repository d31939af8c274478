//! Questions about the documents of a repository: what its headings ask, and what commits say that changed documents only.

use std::path::Path;

use anyhow::{Context as _, Result};
use lore_bench::{Question, choose, document_commit_question, is_document, section_questions};
use lore_testkit::Git;

use super::{
    super::semble::Content,
    Answered,
    ask::{Place, ask},
    commits::ask_commits,
    prepare,
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
}
