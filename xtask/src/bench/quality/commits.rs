//! Questions from a history, each asked at the commit before: the indexes are made one after the other, oldest first, and
//! only what differs is read.

use std::path::Path;

use anyhow::{Result, ensure};
use lore_bench::{Commit, LOG_ARGS, Question, choose, read_log};
use lore_testkit::Git;

use super::{
    ask::{Asked, Place, ask},
    prepare::borrow,
    with::With,
};
use crate::program::say;

/// Commits among which the questions are chosen.
const AMONG: usize = 2_000;

/// What makes a question of a commit.
pub(crate) type Asks = fn(&Commit) -> Option<Question>;

/// Asks about `count` commits; nothing is asked where none of them asks anything.
pub(crate) fn ask_commits(with: &With, set: &str, repo: &Path, count: usize, asks: Asks) -> Result<Vec<Asked>> {
    let chosen = choose_from(&Git::at(repo), count, asks)?;
    let dir = tempfile::tempdir()?;
    let place = dir.path().join(set.replace('/', "+"));
    let git = borrow(repo, &place)?;
    let mut asked = Vec::new();
    for (number, (parent, question)) in chosen.iter().enumerate() {
        git.text(&["update-ref", "refs/heads/main", parent])?;
        let place = Place { repo: &place, root: "", history: true, folder: None };
        asked.extend(ask(with, set, place, std::slice::from_ref(question))?.1);
        if (number + 1) % 20 == 0 {
            say(&format!("  {} of {} commits", number + 1, chosen.len()));
        }
    }
    Ok(asked)
}

/// Parents and questions, oldest first, spread evenly over the newest commits.
fn choose_from(git: &Git, count: usize, asks: Asks) -> Result<Vec<(String, Question)>> {
    let most = format!("--max-count={AMONG}");
    let mut args = vec!["log", most.as_str()];
    args.extend(LOG_ARGS);
    let log = git.bytes(&args)?;
    let commits = read_log(&String::from_utf8_lossy(&log));
    ensure!(!commits.is_empty(), "{} has no commit with a parent", git.dir().display());
    let mut usable: Vec<(String, Question)> =
        commits.into_iter().filter_map(|(parent, commit)| Some((parent, asks(&commit)?))).collect();
    usable.reverse();
    Ok(choose(usable, count))
}

#[cfg(test)]
mod tests {
    use lore_bench::{Target, commit_question, document_commit_question};
    use lore_testkit::Repo;

    use super::*;

    #[test]
    fn subjects_ask_for_files_that_were_there() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::init(dir.path());
        repo.write("a", "1").write("b", "1").write("guide.md", "1");
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
        let told = |asks: Asks| -> Vec<(String, String, Vec<Target>)> {
            let chosen = choose_from(&Git::at(repo.path()), 10, asks).unwrap();
            chosen.into_iter().map(|(parent, asked)| (parent, asked.query, asked.relevant)).collect()
        };
        let target = |path: &str| vec![Target { path: path.to_owned(), lines: None }];
        assert_eq!(told(commit_question), [(parent, "change how a works (#12)".to_owned(), target("a"))]);
        assert_eq!(told(document_commit_question), []);
        let parent = repo.git(&["rev-parse", "HEAD"]);
        repo.write("guide.md", "2");
        repo.commit("docs: say how it works");
        assert_eq!(told(document_commit_question), [(parent, "say how it works".to_owned(), target("guide.md"))]);
    }
}
