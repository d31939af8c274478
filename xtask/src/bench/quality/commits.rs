//! Questions from a history, each asked at the commit before: the indexes are made one after the other, oldest first, and
//! only what differs is read.

use std::path::Path;

use anyhow::{Result, ensure};
use lore_testkit::Git;

use super::{
    ask::{Asked, Place, ask},
    documents::is_document,
    metric::{Question, Target},
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

/// A commit that changes more files is about something else than its subject says.
const MAX_FILES: usize = 10;

/// A shorter subject says nothing.
const MIN_WORDS: usize = 3;

/// First words of subjects whose commits change the same few files, whatever the other words are.
const ROUTINE: [&str; 8] = ["bump", "bumps", "revert", "release", "merge", "chore(deps):", "build(deps):", "version"];

/// What `git log` has to be told so that [`read_log`] understands it.
pub(super) const LOG_ARGS: [&str; 6] =
    ["--no-merges", "--min-parents=1", "--no-renames", "--name-status", "-z", "--format=%x01%P%x02%s%x02"];

/// A commit with one parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commit {
    /// The first line of its message.
    pub(super) subject: String,
    /// What it changed.
    pub(super) files: Vec<Change>,
}

/// A file of a commit; a renamed one is two, the old path gone and the new one added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// Whether the file was there before.
    pub(super) was_there: bool,
    /// Its path.
    pub(super) path: String,
}

/// Commits of a log, each with its parent, in its order.
pub(super) fn read_log(log: &str) -> Vec<(String, Commit)> {
    let record = |record: &str| {
        let mut parts = record.splitn(3, '\u{2}');
        let (parent, subject, files) = (parts.next()?, parts.next()?, parts.next()?);
        let words: Vec<&str> =
            files.split('\0').map(|word| word.trim_start_matches('\n')).filter(|word| !word.is_empty()).collect();
        let files = words
            .chunks_exact(2)
            .map(|pair| Change { was_there: pair[0].starts_with(['M', 'D']), path: pair[1].to_owned() });
        Some((parent.to_owned(), Commit { subject: subject.to_owned(), files: files.collect() }))
    };
    log.split('\u{1}').filter_map(record).collect()
}

/// What a commit asks, where it asks anything: only files that were there before can be found.
pub(super) fn commit_question(commit: &Commit) -> Option<Question> {
    question(&commit.subject, commit)
}

/// What a commit asks that changed documents and nothing else.
pub(super) fn document_commit_question(commit: &Commit) -> Option<Question> {
    let only_documents = commit.files.iter().all(|file| is_document(&file.path));
    only_documents.then(|| question(without_prefix(&commit.subject), commit)).flatten()
}

fn question(subject: &str, commit: &Commit) -> Option<Question> {
    let subject = subject.trim();
    let first = subject.split_whitespace().next()?.to_lowercase();
    let relevant: Vec<Target> = commit
        .files
        .iter()
        .filter(|file| file.was_there)
        .map(|file| Target { path: file.path.clone(), lines: None })
        .collect();
    let usable = !ROUTINE.contains(&first.as_str())
        && subject.split_whitespace().count() >= MIN_WORDS
        && (1..=MAX_FILES).contains(&relevant.len());
    usable.then(|| Question { query: subject.to_owned(), category: String::new(), relevant })
}

/// A subject without the word that says that it is about documents: `docs:`, `doc(guide):`, `[docs]`.
fn without_prefix(subject: &str) -> &str {
    let subject = subject.trim();
    let is_docs = |word: &str| ["doc", "docs", "documentation"].contains(&word.trim().to_lowercase().as_str());
    if let Some((word, rest)) = subject.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        && is_docs(word)
    {
        return rest.trim_start_matches(':').trim();
    }
    match subject.split_once(':') {
        Some((kind, rest)) if is_docs(kind.split('(').next().unwrap_or_default().trim_end_matches('!')) => rest.trim(),
        _ => subject,
    }
}

/// So many of them, spread evenly, in their order.
pub(super) fn choose<T>(all: Vec<T>, count: usize) -> Vec<T> {
    let (length, count) = (all.len(), count.min(all.len()));
    let mut wanted = (0..count).map(|number| number * length / count).peekable();
    all.into_iter().enumerate().filter_map(|(at, one)| wanted.next_if_eq(&at).map(|_| one)).collect()
}

#[cfg(test)]
mod tests {
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

    fn commit(subject: &str, files: &[(bool, &str)]) -> Commit {
        let files = files.iter().map(|(was_there, path)| Change { was_there: *was_there, path: (*path).to_owned() });
        Commit { subject: subject.to_owned(), files: files.collect() }
    }

    fn asked(question: Option<Question>) -> Option<(String, Vec<String>)> {
        question.map(|asked| (asked.query, asked.relevant.into_iter().map(|target| target.path).collect()))
    }

    #[test]
    fn a_log_is_read_as_git_writes_it() {
        let log = "\u{1}aa\u{2}change how a works\u{2}\0\nM\0a b\0A\0new\0D\0gone\0\u{1}bb\u{2}nothing\u{2}";
        let read = read_log(log);
        assert_eq!(
            read[0],
            ("aa".to_owned(), commit("change how a works", &[(true, "a b"), (false, "new"), (true, "gone")]))
        );
        assert_eq!(read[1], ("bb".to_owned(), commit("nothing", &[])));
    }

    #[test]
    fn subjects_ask_that_say_enough() {
        let some = |subject: &str, files: &[(bool, &str)]| asked(commit_question(&commit(subject, files)));
        assert_eq!(
            some("change how a works (#12)", &[(true, "a"), (false, "new")]),
            Some(("change how a works (#12)".to_owned(), vec!["a".to_owned()]))
        );
        assert_eq!(some("too short", &[(true, "a")]), None);
        assert_eq!(some("Bump b to 3", &[(true, "a")]), None);
        assert_eq!(some("add something that was not there", &[(false, "a")]), None);
        let many: Vec<String> = (0..11).map(|at| at.to_string()).collect();
        let many: Vec<(bool, &str)> = many.iter().map(|path| (true, path.as_str())).collect();
        assert_eq!(some("change everything at once", &many), None);
        assert!(some("change nearly everything at once", &many[1..]).is_some());
    }

    #[test]
    fn commits_of_documents_ask_without_their_prefix() {
        let some = |subject: &str, files: &[(bool, &str)]| asked(document_commit_question(&commit(subject, files)));
        let files = [(true, "docs/a.md"), (false, "docs/new.rst")];
        for subject in [
            "docs: explain how themes work",
            "doc(guide): explain how themes work",
            "[Docs] explain how themes work",
            "explain how themes work",
        ] {
            let expected = ("explain how themes work".to_owned(), vec!["docs/a.md".to_owned()]);
            assert_eq!(some(subject, &files), Some(expected), "{subject}");
        }
        assert_eq!(some("fix: explain how themes work", &files).unwrap().0, "fix: explain how themes work");
        assert_eq!(some("docs: explain themes", &files), None, "too short without it");
        assert_eq!(some("explain how themes work", &[(true, "a.md"), (false, "a.rs")]), None);
        assert_eq!(some("explain how themes work", &[]), None);
    }

    #[test]
    fn what_is_chosen_is_spread_over_all() {
        assert_eq!(choose((0..10).collect(), 5), [0, 2, 4, 6, 8]);
        assert_eq!(choose(vec![1, 2], 5), [1, 2]);
        assert_eq!(choose(Vec::<u8>::new(), 5), Vec::<u8>::new());
        assert_eq!(choose(vec![1, 2], 0), Vec::<i32>::new());
    }
}
