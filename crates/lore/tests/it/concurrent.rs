//! Many servers answer while a sync writes: no error, no half-written commit, no "database is locked".

use std::{
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use lore_testkit::{Lore, Random, Repo, Session};
use serde_json::{Value, json};

use crate::{
    growing::{grow, line_of, number_of, path_of, subject_of},
    switches,
};

const NAME: &str = "grower";
const SERVERS: usize = 4;
/// Commits that are added before each sync.
const STEP: usize = 60;

#[test]
fn four_servers_answer_while_a_sync_writes() {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let repo = Repo::init(dir.path().join("repo"));
    grow(&repo, 0..STEP);
    let lore = Lore::new(Path::new(env!("CARGO_BIN_EXE_lore")));
    lore.ok(&["add", repo.path().to_str().expect("the path is UTF-8"), "--name", NAME]);

    let queries = if switches::slow_tests() { 1_000 } else { 250 };
    // Commits that a sync has surely indexed.
    let indexed = AtomicUsize::new(STEP);
    std::thread::scope(|scope| {
        let servers: Vec<_> = (0..SERVERS)
            .map(|number| {
                let (lore, project, indexed) = (&lore, repo.path(), &indexed);
                scope.spawn(move || ask(lore, project, number, queries, indexed))
            })
            .collect();
        while !servers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            let known = indexed.load(Ordering::SeqCst);
            grow(&repo, known..known + STEP);
            lore.ok(&["sync", "--repo", NAME]);
            indexed.store(known + STEP, Ordering::SeqCst);
        }
    });
    assert!(indexed.into_inner() > STEP, "no sync ran beside the servers");
}

/// One server, asked so many questions. Every other one keeps the repository fresh by itself too, as agents' servers do.
fn ask(lore: &Lore, project: &Path, number: usize, queries: usize, indexed: &AtomicUsize) {
    let mut command = lore.command(&["serve", "--project"]);
    command.arg(project);
    if number.is_multiple_of(2) {
        command.arg("--no-refresh");
    }
    let session = Session::start(command).expect("the server starts");
    let mut reader = Reader { session, random: Random::new(number as u64), newest: 0 };
    reader.session.initialize().expect("the server shakes hands");
    let questions = [Reader::newest, Reader::by_word, Reader::whole_commit, Reader::by_path];
    for query in 0..queries {
        questions[query % questions.len()](&mut reader, indexed.load(Ordering::SeqCst));
    }
    let ended = reader.session.end().expect("the server ends");
    assert!(ended.status.success(), "server {number} ended with {}: {}", ended.status, ended.log);
    assert!(!ended.log.contains("locked"), "server {number} met a lock: {}", ended.log);
}

struct Reader {
    session: Session,
    random: Random,
    /// The newest commit seen so far: an index never goes back.
    newest: usize,
}

impl Reader {
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.session.call(tool, arguments).and_then(|answer| answer.value());
        answer.unwrap_or_else(|error| panic!("{tool} {arguments}: {error:#}"))
    }

    /// Commits of syncs that have ended are there without a gap, and never fewer than a moment ago. A sync that is under way
    /// stores what its readers give it, in any order.
    fn newest(&mut self, indexed: usize) {
        let found = self.call("commitmux_touches", &json!({"path_glob": "part", "limit": 40}));
        let numbers: Vec<usize> = rows(&found).iter().map(checked_number).collect();
        let newest = numbers[0];
        assert!(newest + 1 >= indexed, "{indexed} commits are indexed, and the newest found is {newest}");
        assert!(newest >= self.newest, "{} was seen before, now the newest is {newest}", self.newest);
        assert!(numbers.is_sorted_by(|a, b| a > b), "{numbers:?}");
        let ended: Vec<usize> = numbers.iter().copied().filter(|number| *number < indexed).collect();
        assert_eq!(ended, (0..indexed).rev().take(ended.len()).collect::<Vec<_>>());
        self.newest = newest;
    }

    /// A commit that is indexed is found by the word that it alone has.
    fn by_word(&mut self, indexed: usize) {
        let number = self.random.below(indexed);
        let asked = json!({"query": format!("tick{number}"), "paths": [path_of(number)]});
        let found = self.call("commitmux_search", &asked);
        let [row] = rows(&found) else { panic!("tick{number}: {found}") };
        assert_eq!(checked_number(row), number, "{row}");
        assert_eq!(row["matched_paths"], json!([path_of(number)]), "{row}");
        let excerpt = row["patch_excerpt"].as_str().unwrap_or_default();
        assert!(excerpt.starts_with("diff --git ") && excerpt.contains(&path_of(number)), "{row}");
    }

    /// A commit that was only just indexed is there with its files and its patch: none is seen in part.
    fn whole_commit(&mut self, _: usize) {
        let found = self.call("commitmux_touches", &json!({"path_glob": "part", "limit": 10}));
        let row = self.random.pick(rows(&found));
        let number = checked_number(row);
        let asked = json!({"repo": NAME, "sha": row["sha"]});
        let commit = self.call("commitmux_get_commit", &asked);
        assert_eq!(commit["subject"], subject_of(number), "{commit}");
        let [file] = rows(&commit["changed_files"]) else { panic!("{commit}") };
        assert_eq!(file["path"], path_of(number), "{commit}");
        let patch = self.call("commitmux_get_patch", &asked);
        let text = patch["patch_text"].as_str().unwrap_or_default();
        assert!(text.ends_with(&format!("+{}\n", line_of(number))), "{patch}");
    }

    /// Every touched file belongs to the commit that the row names.
    fn by_path(&mut self, indexed: usize) {
        let path = path_of(self.random.below(indexed));
        let found = self.call("commitmux_touches", &json!({"path_glob": path, "limit": 50}));
        assert!(!rows(&found).is_empty(), "{path}: nothing");
        for row in rows(&found) {
            assert_eq!(row["path"], path_of(checked_number(row)), "{row}");
        }
    }
}

fn rows(found: &Value) -> &[Value] {
    found.as_array().unwrap_or_else(|| panic!("not a list: {found}"))
}

/// The number of a row's commit, whose subject has to be whole.
fn checked_number(row: &Value) -> usize {
    let subject = row["subject"].as_str().unwrap_or_default();
    let number = number_of(subject).unwrap_or_else(|| panic!("not one of ours: {row}"));
    assert_eq!(subject, subject_of(number), "{row}");
    number
}
