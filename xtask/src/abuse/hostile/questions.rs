//! Any text as a question, a filter or a name; and databases that somebody prepared.

use std::{ffi::OsString, os::unix::ffi::OsStringExt as _, path::Path};

use anyhow::{Context as _, Result};
use lore_testkit::{Random, Repo, dump};
use serde_json::{Value, json};

use crate::abuse::{Bench, Outcome, trial::Trial};

/// Texts that a parser, a query language or a pattern has stumbled over somewhere.
const TEXTS: &[&str] = &[
    "",
    " ",
    "\0",
    "a\0b",
    "\"",
    "'",
    "\"a",
    "a*",
    "*",
    "^a",
    "NEAR(",
    "NEAR(a b, 5)",
    "AND",
    "a OR",
    "NOT a",
    "((",
    "{a b}: c",
    "subject : a",
    "-a",
    "--",
    "%",
    "_",
    "\\",
    "a\\",
    "[a",
    "'; DROP TABLE commits; --",
    "x' OR '1'='1",
    "?1",
    ":name",
    "@v",
    "$1",
    "commits_fts",
    "rowid:1",
    "\r\n",
    "\u{1b}[2J",
    "\u{202e}",
    "\u{feff}",
    "\u{ffff}",
    "\u{10ffff}",
    "日本語",
    "🦀",
    "e\u{301}",
    "../../etc/passwd",
    "$(id)",
    "`id`",
    "|id",
    "null",
    "-1",
    "99999999999999999999",
    "1e999",
    "NaN",
    "HEAD~1",
    "@{u}",
    ":/fix",
    "main..HEAD",
    "0000000000000000000000000000000000000000",
    "{\"a\":1}",
    "a,b;c|d&e",
    "\u{1}\u{2}\u{3}\u{7f}",
];

pub(super) fn ask(bench: &Bench) -> Result<Outcome> {
    let mut trial = Trial::new(bench)?.bound_memory(1_000_000_000);
    let repo = Repo::init(trial.path("asked"));
    repo.write("src/a.rs", "/// Adds.\npub fn add_two_numbers() {}\n").commit("Add numbers");
    let path = repo.path().to_string_lossy().into_owned();
    trial.ok(&["add", &path, "--name", "asked"])?;
    let mut texts: Vec<String> = TEXTS.iter().map(|&text| text.to_owned()).collect();
    texts.extend(["x".repeat(1 << 20), "a OR ".repeat(200_000), "%_".repeat(500_000), "\"".repeat(1_000_001)]);
    let mut random = Random::new(bench.seed);
    for _ in 0..bench.points / 4 {
        let length = random.below(40) + 1;
        texts.push(
            (0..length)
                .map(|_| char::from_u32(u32::try_from(random.below(0x250)).unwrap_or(0)).unwrap_or('x'))
                .collect(),
        );
    }
    let mut session = trial.serve(
        repo.path(),
        &["--no-refresh", "--toolsets", "history,context,why,messages,commands,code,repos,insight"],
    )?;
    for text in &texts {
        for (tool, arguments) in asked(text) {
            let answer = trial.call(&mut session, tool, &arguments)?;
            let said = answer.to_string();
            let leaks = ["SQL", "fts5", "syntax error near", "no such column", "database disk"];
            trial.check(answer["isError"] != true || !leaks.iter().any(|leak| said.contains(leak)), || {
                format!("{tool} tells of its storage: {said}")
            });
        }
    }
    let found = trial.call(&mut session, "commitmux_search", &json!({"query": "numbers"}))?;
    trial.check(found.to_string().contains("Add numbers"), || "afterwards nothing is found".to_owned());
    let ended = session.end()?;
    trial.check(ended.status.success(), || format!("the server ended with {}: {}", ended.status, ended.log));
    // What only a command line can carry: bytes that are no text.
    for bytes in [&b"\xff\xfe"[..], b"a\x80b", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"%\xff_"] {
        let odd = OsString::from_vec(bytes.to_vec());
        for before in [
            &["search", "--no-sync"][..],
            &["log", "--no-sync"],
            &["touches", "--no-sync"],
            &["search", "--no-sync", "a", "--path"],
            &["log", "--no-sync", "a", "--author"],
            &["show", "asked"],
            &["remove"],
            &["add"],
            &["why"],
            &["comment", "--file"],
            &["sync", "--repo"],
        ] {
            let args: Vec<OsString> = before.iter().map(Into::into).chain([odd.clone()]).collect();
            trial.run(&args)?;
        }
    }
    let kept = trial.ok(&["log", "numbers", "--no-sync"])?;
    trial.check(String::from_utf8_lossy(&kept.stdout).contains("Add numbers"), || {
        "the index is not as it was".to_owned()
    });
    trial.tell(format!("{} texts in every place of every question", texts.len()));
    Ok(trial.end())
}

/// Every place of a question where a text can stand.
fn asked(text: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("commitmux_search", json!({"query": text})),
        ("commitmux_search", json!({"query": "a", "paths": [text], "repos": [text], "since": text})),
        ("commitmux_touches", json!({"path_glob": text})),
        ("commitmux_get_commit", json!({"repo": text, "sha": text})),
        ("commitmux_get_patch", json!({"repo": "asked", "sha": text})),
        ("cortex_search", json!({"query": text})),
        ("cortex_search", json!({"query": "add", "path": text, "tags": [text], "chunk_types": [text]})),
        ("explain_lines", json!({"file": text, "lines": text})),
        ("co_changed", json!({"files": [text]})),
        ("find_related", json!({"file": text, "line": 1})),
        ("was_tried", json!({"text": text})),
        ("search_code", json!({"query_text": text})),
        ("search_code", json!({"query_text": text, "search_mode": "fts"})),
        ("search_code", json!({"query_text": text, "search_mode": "fts", "regex": true})),
        ("search_code", json!({"query_text": text, "search_mode": "fts", "fuzzy": true, "edit_distance": 3})),
        ("search_code", json!({"query_text": "add", "language": text, "path_filter": text, "author": text})),
        ("search_code", json!({"query_text": "add", "at_commit": text})),
        ("search_code", json!({"query_text": "add", "time_range": text, "diff_type": text})),
        ("search_code", json!({"query_text": text, "chunk_type": "commit_message"})),
        ("list_files", json!({"repository_alias": text, "path": text})),
        ("get_file_content", json!({"file_path": text})),
        ("browse_directory", json!({"path": text})),
        ("get_branches", json!({"repository_alias": text})),
        ("search", json!({"query": text, "agent": text})),
        ("describe", json!({"c1": text, "c2": text, "c3": text})),
        ("execute", json!({"agent": text, "c1": text, "c2": text, "c3": text, "options": {"x": text}})),
    ]
}

/// What somebody planted, in words and in SQL.
const PLANTED: &[(&str, &str)] = &[
    (
        "a trigger that deletes",
        "CREATE TRIGGER evil AFTER INSERT ON commits BEGIN DELETE FROM commits; DELETE FROM repos; END",
    ),
    (
        "a trigger that forges",
        "CREATE TRIGGER evil AFTER INSERT ON commits BEGIN UPDATE commits SET subject = 'forged'; END",
    ),
    (
        "a trigger that never ends",
        "CREATE TRIGGER evil AFTER UPDATE ON ingest_state BEGIN INSERT INTO paths (path) WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL \
         SELECT x + 1 FROM n) SELECT 'p' || x FROM n; END",
    ),
    (
        "a view in place of a table",
        "DROP TABLE author_aliases; CREATE VIEW author_aliases AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) \
         SELECT x AS repo_id, 'a' AS name, 'b' AS email, 'c' AS mapped_name, 'd' AS mapped_email FROM n",
    ),
    ("an index that calls a function", "CREATE INDEX evil ON commits (length(hex(zeroblob(1000))))"),
    ("a foreign virtual table", "CREATE VIRTUAL TABLE evil USING fts5(x); INSERT INTO evil VALUES ('y')"),
    ("names that are no names", "UPDATE repos SET name = '../../' || char(27) || '[2J' || char(0)"),
    ("a path that leads elsewhere", "UPDATE repos SET local_path = '/etc'"),
    ("numbers that are texts", "UPDATE commits SET author_time = 'soon', commit_time = x'00ff', parent_count = 'many'"),
    ("shas that are none", "UPDATE commits SET sha = 'nothing'"),
    ("a version of the future", "PRAGMA user_version = 99999"),
    ("no version at all", "PRAGMA user_version = 0"),
    ("no table at all", "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema; PRAGMA writable_schema = OFF"),
];

pub(super) fn open(bench: &Bench) -> Result<Outcome> {
    let mut trial = Trial::new(bench)?.bound_memory(1_000_000_000);
    let repo = Repo::init(trial.path("kept"));
    repo.write("src/a.rs", "pub fn kept_function() {}\n").commit("Begin");
    let path = repo.path().to_string_lossy().into_owned();
    trial.ok(&["add", &path, "--name", "kept"])?;
    trial.run_in(repo.path(), &["comment", "--file", "src/a.rs", "--line", "1", "Keep", "this"])?;
    let home = trial.lore.home().to_owned();
    let saved = trial.path("saved");
    copy(&home, &saved)?;
    for (number, (name, sql)) in PLANTED.iter().enumerate() {
        std::fs::remove_dir_all(&home)?;
        copy(&saved, &home)?;
        dump::plant(&home.join("lore.db"), sql)?;
        repo.write(format!("src/n{number}.rs"), "pub fn later_function() {}\n").commit(&format!("Later {number}"));
        for args in [
            &["sync"][..],
            &["search", "later_function"],
            &["log", "later"],
            &["touches", "src"],
            &["status"],
            &["repos"],
            &["doctor", "--deep"],
            &["comments", "list"],
            &["reindex"],
        ] {
            let ran = trial.run_in(repo.path(), args)?;
            let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
            trial.check(!printed.contains("forged"), || format!("{name}: `{}` tells what was forged", args.join(" ")));
            let refused = ran.code != Some(0) && args[0] != "doctor";
            trial.check(!refused || !ran.stderr.trim().is_empty(), || {
                format!("{name}: `{}` fails without a word", args.join(" "))
            });
        }
        // The way out that the message names: a fresh index.
        for file in ["lore.db", "lore.db-wal", "lore.db-shm"] {
            if home.join(file).exists() {
                std::fs::remove_file(home.join(file))?;
            }
        }
        trial.run_in(repo.path(), &["sync"])?;
        let found = trial.run_in(repo.path(), &["log", "later"])?;
        let known = String::from_utf8_lossy(&found.stdout).contains(&format!("Later {number}"));
        trial.check(known, || format!("{name}: nothing is found in a fresh index"));
    }
    std::fs::remove_dir_all(&home)?;
    copy(&saved, &home)?;
    messages(&mut trial, &repo, &home)?;
    imports(&mut trial)?;
    trial.tell(format!(
        "{} things planted in the index, 4 in messages, {} in databases to import",
        PLANTED.len(),
        IMPORTED.len()
    ));
    Ok(trial.end())
}

/// The file of comments, which exists nowhere else: what is planted does nothing, and nothing that was said is lost.
fn messages(trial: &mut Trial, repo: &Repo, home: &Path) -> Result<()> {
    let file = home.join("messages.db");
    let saved = std::fs::read(&file).context("there is a comment")?;
    for sql in [
        "CREATE TRIGGER evil AFTER INSERT ON messages BEGIN DELETE FROM messages; END",
        "CREATE TRIGGER evil AFTER UPDATE ON messages BEGIN DELETE FROM messages; END",
        "CREATE VIEW evil AS SELECT * FROM messages",
        "PRAGMA user_version = 99999",
    ] {
        std::fs::write(&file, &saved)?;
        for more in ["messages.db-wal", "messages.db-shm"] {
            if home.join(more).exists() {
                std::fs::remove_file(home.join(more))?;
            }
        }
        dump::plant(&file, sql)?;
        let said = trial.run_in(repo.path(), &["comment", "--file", "src/a.rs", "--line", "1", "One", "more"])?;
        let listed = trial.run_in(repo.path(), &["comments", "list"])?;
        let shown = String::from_utf8_lossy(&listed.stdout).into_owned();
        if said.code == Some(0) {
            trial.check(shown.contains("Keep this") && shown.contains("One more"), || {
                format!("{sql}: comments are lost: {shown}")
            });
        } else {
            trial.check(!said.stderr.trim().is_empty(), || format!("{sql}: nothing is said"));
        }
    }
    Ok(())
}

const IMPORTED: &[&str] = &[
    "CREATE VIEW repos AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT 'r' || x AS name, '/tmp' AS local_path FROM n",
    "CREATE TABLE repos (name TEXT, local_path TEXT, remote_url TEXT AS (hex(zeroblob(400000000)))); INSERT INTO repos VALUES ('a', '/tmp')",
    "CREATE TABLE repos (name TEXT, local_path TEXT); WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 50000) \
     INSERT INTO repos SELECT 'r' || x, '/nonexistent/' || x FROM n",
    "CREATE TABLE repos (name BLOB, local_path BLOB); INSERT INTO repos VALUES (x'ff00', x'2e2e'), (NULL, NULL), (1, 2)",
    "CREATE TABLE repos (name TEXT, local_path TEXT); INSERT INTO repos VALUES ('--help', '/etc'), ('../../x', '/'), (char(27) || '[2J', '/tmp')",
    "CREATE TABLE repos (name TEXT, local_path TEXT, remote_url TEXT); INSERT INTO repos VALUES ('a', '/nonexistent', 'ext::touch /tmp/owned')",
    "CREATE VIRTUAL TABLE repos USING fts5(name, local_path); INSERT INTO repos VALUES ('a', '/nonexistent')",
    "CREATE TABLE other (x)",
];

fn imports(trial: &mut Trial) -> Result<()> {
    for (number, sql) in IMPORTED.iter().enumerate() {
        let file = trial.path(&format!("commitmux{number}.sqlite3"));
        dump::plant(&file, sql)?;
        let file = file.to_string_lossy().into_owned();
        trial.run(&["import", "commitmux", "--db", &file, "--no-sync"])?;
        let repos = trial.json(&["repos"])?;
        let known = repos["repos"].as_array().map_or(0, Vec::len);
        trial.check(known < 100, || format!("an import registers {known} repositories"));
    }
    let noise = trial.path("noise.sqlite3");
    std::fs::write(
        &noise,
        b"SQLite format 3\0"
            .iter()
            .copied()
            .chain((0..100_000_u32).map(|n| u8::try_from(n * 7 % 251).unwrap_or(0)))
            .collect::<Vec<u8>>(),
    )?;
    let noise = noise.to_string_lossy().into_owned();
    trial.run(&["import", "commitmux", "--db", &noise])?;
    Ok(())
}

/// Copies a folder of files.
fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
