//! Questions that nobody had to write: the subject of a commit asks, and the files that it changed answer.
//!
//! What is searched is the tree before the commit. Parents are indexed one after the other, oldest first, in one index:
//! only what differs is read.

use std::path::Path;

use anyhow::{Result, ensure};
use lore_testkit::Git;

use super::{
    ask::{Asked, Program},
    data::Question,
    metric::Target,
    prepare::borrow,
};
use crate::program::say;

/// Commits among which the questions are chosen.
const AMONG: usize = 2_000;

/// A commit that changes more files is about something else than its subject says.
const MAX_FILES: usize = 10;

/// A shorter subject says nothing.
const MIN_WORDS: usize = 3;

/// Asks about `count` commits.
pub(crate) fn ask(program: &Program, set: &str, repo: &Path, count: usize) -> Result<Vec<Asked>> {
    let chosen = choose(&Git::at(repo), count)?;
    ensure!(!chosen.is_empty(), "{} has no commit that could be asked about", repo.display());
    let dir = tempfile::tempdir()?;
    let place = dir.path().join(set);
    let git = borrow(repo, &place)?;
    git.text(&["symbolic-ref", "HEAD", "refs/heads/main"])?;
    let mut asked = Vec::new();
    for (number, (parent, question)) in chosen.iter().enumerate() {
        git.text(&["update-ref", "refs/heads/main", parent])?;
        program.index(&place)?;
        asked.extend(program.ask(set, &place, std::slice::from_ref(question))?);
        if (number + 1) % 20 == 0 {
            say(&format!("  {} of {} commits", number + 1, chosen.len()));
        }
    }
    Ok(asked)
}

/// Parents and questions, oldest first, spread evenly over the newest commits.
fn choose(git: &Git, count: usize) -> Result<Vec<(String, Question)>> {
    let log = git.bytes(&[
        "log",
        "--no-merges",
        "--min-parents=1",
        "--no-renames",
        "--diff-filter=MD",
        "--name-only",
        "-z",
        &format!("--max-count={AMONG}"),
        "--format=%x01%P%x02%s%x02",
    ])?;
    let log = String::from_utf8_lossy(&log);
    let mut usable: Vec<(String, Question)> = log.split('\u{1}').filter_map(question).collect();
    usable.reverse();
    let (count, all) = (count.min(usable.len()), usable.len());
    Ok((0..count).map(|number| usable[number * all / count].clone()).collect())
}

/// A record of the log as a question, where it makes one.
fn question(record: &str) -> Option<(String, Question)> {
    let mut parts = record.splitn(3, '\u{2}');
    let (parent, subject, files) = (parts.next()?, parts.next()?.trim(), parts.next()?);
    let files: Vec<&str> =
        files.split('\0').map(|file| file.trim_start_matches('\n')).filter(|file| !file.is_empty()).collect();
    let first = subject.split_whitespace().next()?;
    // Such commits change the same few files, whatever their words are.
    let routine = ["Bump", "bump", "Revert", "Release", "release", "Merge", "chore(deps):"].contains(&first);
    let usable = !routine && subject.split_whitespace().count() >= MIN_WORDS && (1..=MAX_FILES).contains(&files.len());
    let target = |file: &&str| Target { path: (*file).to_owned(), lines: None };
    let question =
        Question { query: subject.to_owned(), category: String::new(), relevant: files.iter().map(target).collect() };
    usable.then(|| (parent.to_owned(), question))
}

#[cfg(test)]
mod tests {
    use lore_testkit::Repo;

    use super::*;

    #[test]
    fn subjects_ask_for_files_that_were_there() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::init(dir.path());
        repo.write("a", "1").write("b", "1");
        repo.commit("the first commit has no parent");
        repo.write("a", "2").write("new", "1");
        let parent = repo.git(&["rev-parse", "HEAD"]);
        repo.commit("change how a works (#12)");
        repo.write("b", "2");
        repo.commit("too short");
        repo.write("b", "3");
        repo.commit("Bump b to 3");
        repo.write("c", "only new files");
        repo.commit("add something that was not there");
        let chosen = choose(&Git::at(repo.path()), 10).unwrap();
        let told: Vec<_> =
            chosen.iter().map(|(parent, asked)| (parent, asked.query.as_str(), &asked.relevant)).collect();
        let target = Target { path: "a".to_owned(), lines: None };
        assert_eq!(told, [(&parent, "change how a works (#12)", &vec![target])]);
    }
}
