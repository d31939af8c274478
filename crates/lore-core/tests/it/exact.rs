//! Exact text: whatever `git grep` finds is among the candidates of the index, and what is found is that and nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    sync::Arc,
};

use crate::{add, open, sync};
use lore_core::LoreOptions;
use lore_core::search::{FileFilter, LinesAnswer, LinesRequest, LinesWanted, Search, When};
use lore_store::{CodeStore as _, CodeView, SnapshotSummary, TextPlan, ViewPart};
use lore_store_embedded::EmbeddedStore;
use lore_testkit::{Random, Repo, odd};

/// What was indexed of a repository.
struct Indexed {
    view: Arc<dyn CodeView>,
    summary: SnapshotSummary,
    search: Arc<Search>,
    repo: lore_model::Repo,
}

/// Indexes the repository and gives what was committed last.
fn index(home: &Path, folder: &Path) -> Indexed {
    let store = Arc::new(EmbeddedStore::new(home));
    let lore = open(home, LoreOptions::default());
    let repo = add(&lore, folder);
    sync(&lore, &repo);
    let state = store.code_state(repo.id).unwrap();
    let head = lore_testkit::Git::at(folder).text(&["rev-parse", "HEAD"]).unwrap();
    let snapshot = state.snapshots.iter().find(|snapshot| snapshot.commit.to_hex() == head).unwrap();
    let parts = vec![ViewPart::snapshot(snapshot.id)];
    Indexed {
        view: store.open_view(parts).unwrap(),
        summary: store.summarise(snapshot.id).unwrap(),
        search: Arc::clone(&lore.search),
        repo,
    }
}

/// The lines that `git grep` names, by path.
fn git_lines(folder: &Path, flags: &[&str], pattern: &[u8]) -> BTreeSet<(Vec<u8>, u32)> {
    let mut command = lore_testkit::Git::at(folder).command();
    command.env("LC_ALL", "C.UTF-8").args(["-c", "core.quotePath=false", "grep", "--no-color", "-n", "-z", "-I"]);
    let out = command.args(flags).arg("-e").arg(OsStr::from_bytes(pattern)).arg("HEAD").output().unwrap();
    assert!(out.status.code() < Some(2), "{}", String::from_utf8_lossy(&out.stderr));
    let mut found = BTreeSet::new();
    let mut rest = out.stdout.as_slice();
    // `HEAD:path`, NUL, number, NUL, the line with its end. A line may have NUL in it.
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        let (path, after) = (rest[..end].strip_prefix(b"HEAD:").unwrap(), &rest[end + 1..]);
        let end = after.iter().position(|byte| *byte == 0).unwrap();
        let number = std::str::from_utf8(&after[..end]).unwrap().parse().unwrap();
        found.insert((path.to_vec(), number));
        rest = after[end + 1..].iter().position(|byte| *byte == b'\n').map_or(&[], |line| &after[end + 2 + line..]);
    }
    found
}

/// The lines that Lore finds, by path.
fn lines(indexed: &Indexed, wanted: LinesWanted, case_sensitive: bool) -> BTreeSet<(Vec<u8>, u32)> {
    let request = LinesRequest {
        wanted,
        case_sensitive,
        files: FileFilter::default(),
        repos: vec![(indexed.repo.clone(), None)],
        when: When::Now,
        limit: 0,
        context: 0,
        once: false,
        best: false,
        time: std::time::Duration::from_mins(1),
    };
    let answer = indexed.search.query.find_lines(&request).unwrap();
    let found: BTreeSet<_> = answer.hits.iter().map(|hit| (hit.path.as_bytes().to_vec(), hit.line)).collect();
    assert_eq!((answer.lines, answer.unfinished), (found.len(), None), "each line is found once");
    found
}

/// The files that `git grep` names, by path.
fn git_grep(folder: &Path, literal: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut command = lore_testkit::Git::at(folder).command();
    command.args(["-c", "core.quotePath=false", "grep", "--no-color", "-l", "-z", "-I", "-F", "-e"]);
    let out = command.arg(OsStr::from_bytes(literal)).arg("HEAD").output().unwrap();
    assert!(out.status.code() < Some(2), "{}", String::from_utf8_lossy(&out.stderr));
    let names = out.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| name.strip_prefix(b"HEAD:").unwrap().to_vec()).collect()
}

/// Pieces of lines of the files, and some that are in none.
fn literals(folder: &Path, random: &mut Random, count: usize) -> Vec<Vec<u8>> {
    let tree = lore_testkit::Git::at(folder).bytes(&["ls-tree", "-r", "-z", "HEAD"]).unwrap();
    let blobs: BTreeSet<String> = tree
        .split(|byte| *byte == 0)
        .filter_map(|entry| {
            String::from_utf8_lossy(entry).strip_prefix("100")?.split(['\t', ' ']).nth(2).map(str::to_owned)
        })
        .collect();
    let mut lines = Vec::new();
    for blob in &blobs {
        let content = lore_testkit::Git::at(folder).bytes(&["cat-file", "blob", blob]).unwrap();
        let all: Vec<&[u8]> = content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        // As many of a small file as of a large one.
        lines.extend((0..all.len().min(6)).map(|_| all[random.below(all.len())].to_vec()));
    }
    let mut literals = vec![b"nothing of the kind".to_vec()];
    while literals.len() < count {
        let line = random.pick(&lines);
        let from = random.below(line.len());
        let piece = &line[from..(from + 1 + random.below(24)).min(line.len())];
        if !piece.contains(&0) {
            literals.push(piece.to_vec());
        }
    }
    literals
}

fn check(folder: &Path, seed: u64) {
    let home = tempfile::tempdir().unwrap();
    let indexed = index(home.path(), folder);
    let Indexed { view, summary, .. } = &indexed;
    let files: BTreeMap<&[u8], u32> = view.files().iter().map(|file| file.path.as_bytes()).zip(0..).collect();
    let left_out: BTreeSet<&[u8]> = summary.left_out.iter().map(|left_out| left_out.path.as_bytes()).collect();
    let mut found = 0;
    for literal in literals(folder, &mut Random::new(seed), 150) {
        let chunks = view.chunks_with(&TextPlan::literal(&literal)).unwrap();
        let candidates: BTreeSet<u32> = chunks.iter().flat_map(|chunk| view.files_with(*chunk)).copied().collect();
        for path in git_grep(folder, &literal) {
            let shown = (literal.escape_ascii().to_string(), path.escape_ascii().to_string());
            // An attribute can make git look into a file with NUL. Lore goes by the content alone, and says so.
            match files.get(path.as_slice()).filter(|file| !view.chunks_of(**file as usize).is_empty()) {
                Some(file) => assert!(candidates.contains(file), "{shown:?}"),
                None => assert!(left_out.contains(path.as_slice()), "{shown:?}"),
            }
            found += 1;
        }
        if let Ok(text) = std::str::from_utf8(&literal) {
            for (case_sensitive, flags) in [(true, &["-F"][..]), (false, &["-F", "-i"])] {
                let expected = git_lines(folder, flags, &literal);
                let ours = lines(&indexed, LinesWanted::Literal(text.to_owned()), case_sensitive);
                assert_same(&ours, &expected, &left_out, text);
            }
        }
    }
    assert!(found > 50, "{found}");
    for pattern in PATTERNS {
        for (case_sensitive, flags) in [(true, &["-P"][..]), (false, &["-P", "-i"])] {
            let expected = git_lines(folder, flags, pattern.as_bytes());
            let ours = lines(&indexed, LinesWanted::Regex((*pattern).to_owned()), case_sensitive);
            assert_same(&ours, &expected, &left_out, pattern);
        }
    }
}

/// Expressions of every kind that both understand alike.
const PATTERNS: &[&str] = &[
    "a",
    "^",
    "$",
    "^$",
    "\\.",
    "\\s+$",
    "^\\s",
    "[^a-z ]",
    "\\bdef\\b",
    "handler_(1|22|3[0-9])\\b",
    "\\w+\\(",
    "(?i)TEXT",
    "e{2,}",
    "caf.",
    "na.ve",
    "one|two|three",
    "^(x|last).*(1|end)$",
    "\\d{3}",
    "\\W$",
    "r?e?q?u?e?s?t",
    "return '\\d+'",
    "(a|b)*c",
    "\\t",
    "é",
    "[àéî]",
    "\\p{L}+é",
    "f\\(x,y\\),f",
    "\\S\\s\\S",
    ".{80}",
    "\\r$",
    "ab?c",
];

/// Files that are left out on purpose do not count.
fn assert_same(
    ours: &BTreeSet<(Vec<u8>, u32)>,
    expected: &BTreeSet<(Vec<u8>, u32)>,
    left_out: &BTreeSet<&[u8]>,
    pattern: &str,
) {
    let shown = |(path, line): &(Vec<u8>, u32)| format!("{}:{line}", path.escape_ascii());
    let missing = expected.difference(ours).filter(|(path, _)| !left_out.contains(path.as_slice())).map(shown);
    let missing: Vec<String> = missing.take(5).collect();
    let added: Vec<String> = ours.difference(expected).map(shown).take(5).collect();
    assert!(missing.is_empty() && added.is_empty(), "{pattern}: missing {missing:?}, added {added:?}");
}

#[test]
fn what_git_grep_finds_is_among_the_candidates_in_the_odd_repository() {
    let folder = tempfile::tempdir().unwrap();
    odd::main_repo(folder.path()).unwrap();
    // Without a work tree, which may have other content.
    let bare = tempfile::tempdir().unwrap();
    lore_testkit::Git::at(folder.path()).text(&["clone", "-q", "--bare", ".", bare.path().to_str().unwrap()]).unwrap();
    check(bare.path(), 1);
}

#[test]
fn what_git_grep_finds_is_among_the_candidates_whatever_the_bytes_are() {
    let folder = tempfile::tempdir().unwrap();
    let repo = Repo::init(folder.path());
    let late_nul = [b"text before\n".repeat(800).as_slice(), b"before\0after the NUL\n"].concat();
    let minified = format!("var a={};\n", "f(x,y),".repeat(5000));
    let function = |number: u32| format!("def handler_{number}(Request):\n    return '{number}'\n\n\n");
    repo.write("latin.txt", b"caf\xe9 cr\xe8me\nna\xefve\n")
        .write("utf16.txt", b"\xff\xfeh\0i\0\n\0")
        .write("late.txt", late_nul)
        .write("early.bin", b"early\0nul\n")
        .write("app.min.js", minified)
        .write("no_end.py", "x = 1\nlast line without an end")
        .write("short.txt", "a\nbc\n\n")
        .write("crlf.txt", "one\r\ntwo\r\n")
        .write("empty.txt", "")
        .write("many.py", (0..400).map(function).collect::<String>());
    repo.commit("odd bytes");
    check(folder.path(), 2);
}

/// A repository of these files, indexed.
fn index_of(folder: &Path, files: &[(&str, String)]) -> (Repo, Indexed) {
    let repo = Repo::init(folder.join("repo"));
    for (path, text) in files {
        repo.write(path, text);
    }
    repo.commit("begin");
    let indexed = index(&folder.join("home"), repo.path());
    (repo, indexed)
}

#[test]
fn a_word_that_is_too_long_for_the_dictionary_is_found_misspelt_in_every_script() {
    let folder = tempfile::tempdir().unwrap();
    // 33 letters of two bytes, and 21 of three.
    let (cyrillic, georgian) = ("рентгеноэлектрокардиографического", "ურთიერთდამოკიდებულებანი");
    let ascii = "pneumonoultramicroscopicsilicovolcanoconiosispneumonoultramicroscopic";
    let text = format!("first\n{cyrillic}\nthird\n{georgian}\nfifth\n{ascii}\n");
    let (_repo, indexed) = index_of(folder.path(), &[("words.txt", text)]);
    for (word, line) in [(cyrillic, 2), (georgian, 4), (ascii, 6)] {
        assert!(word.len() > 64, "{word} fits into the dictionary");
        let without_last: String = word.chars().take(word.chars().count() - 1).collect();
        for (text, changes) in
            [(word.to_owned(), 0), (word.to_owned(), 1), (without_last.clone(), 1), (format!("{word}я"), 1)]
        {
            let found = lines(&indexed, LinesWanted::Near { text: text.clone(), changes }, false);
            assert_eq!(found, BTreeSet::from([(b"words.txt".to_vec(), line)]), "{text} with {changes} changes");
        }
    }
}

/// Everything in a file, with so many lines around each.
fn surrounded(indexed: &Indexed, context: usize) -> LinesAnswer {
    let request = LinesRequest {
        wanted: LinesWanted::Regex(String::new()),
        case_sensitive: true,
        files: FileFilter::default(),
        repos: vec![(indexed.repo.clone(), None)],
        when: When::Now,
        limit: 0,
        context,
        once: false,
        best: false,
        time: std::time::Duration::from_mins(1),
    };
    indexed.search.query.find_lines(&request).unwrap()
}

#[test]
fn the_lines_around_those_that_are_found_are_held_once_and_not_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let function = |number: u32| format!("def handler_{number}(request):\n    return '{number}'\n\n\n");
    let text: String = (0..700).map(function).collect();
    let all: Vec<&str> = text.lines().collect();
    let (_repo, indexed) = index_of(folder.path(), &[("many.py", text.clone()), ("one.txt", "x\n".to_owned())]);
    let answer = surrounded(&indexed, 3);
    assert_eq!((answer.hits.len(), answer.without_context), (all.len() + 1, 0));
    for hit in answer.hits.iter().filter(|hit| hit.path.as_bytes() == b"many.py") {
        let at = hit.line as usize - 1;
        let said = |lines: &[Arc<str>]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(said(&hit.before), all[at.saturating_sub(3)..at], "before line {}", hit.line);
        assert_eq!(said(&hit.after), all[at + 1..(at + 4).min(all.len())], "after line {}", hit.line);
    }
    let at = |line: u32| answer.hits.iter().find(|hit| hit.line == line && !hit.before.is_empty()).unwrap();
    assert!(Arc::ptr_eq(&at(2).after[0], &at(4).before[2]), "line 3 is held once");

    // Four million lines around all of them are given at most: so many that 2,000 have them all.
    let answer = surrounded(&indexed, 1000);
    assert_eq!((answer.hits.len(), answer.without_context), (all.len() + 1, all.len() + 1 - 2000));
    let (with, without) = answer.hits.split_at(2000);
    assert!(with.iter().all(|hit| hit.before.len() + hit.after.len() >= 1000));
    assert!(without.iter().all(|hit| hit.before.is_empty() && hit.after.is_empty() && !hit.path.as_bytes().is_empty()));
}
