//! Repositories and requests that mean harm.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use lore_testkit::{Git, dump, odd};
use serde_json::{Value, json};

use crate::place::Place;

/// No answer takes this long unless something is broken.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn nothing_that_a_repository_names_is_run() {
    let place = Place::new();
    let hostile = odd::hostile(Path::new(&place.path("trap"))).expect("git makes the repository");
    let path = hostile.path.to_str().expect("UTF-8").to_owned();
    let newest = hostile.commits.last().expect("it has commits").clone();
    let unharmed = |what: &str| {
        let ran = fs::read_to_string(&hostile.canary).unwrap_or_default();
        assert!(!hostile.canary.exists(), "{what} ran {ran}");
    };
    // A look at what is uncommitted is where filters and monitors would be asked.
    fs::write(hostile.path.join("src/b.txt"), "two and more\n").expect("the work tree is writable");
    for args in [
        &["add", &path, "--name", "trap", "--all-branches"][..],
        &["sync"],
        &["sync", "--retry-missing"],
        &["repos"],
        &["status"],
        &["log", "commit", "--path", "src", "--author", "a"],
        &["log", "commit", "--repo", "."],
        &["touches", "src"],
        &["show", "trap", &newest],
        &["show", ".", &newest],
        &["patch", "trap", &newest],
        &["search", "two"],
        &["search", "--literal", "two"],
        &["search", "two", "--at", "HEAD~1"],
        &["why", "src/b.txt:1"],
        &["related", "src/b.txt:1"],
        &["comment", "--file", "src/b.txt", "--line", "1", "What is this?"],
        &["comments", "list"],
        &["sync", "--temporal"],
        &["search", "two", "--evolution", "--removed"],
        &["reindex"],
        &["doctor", "--deep"],
        &["tools", "--cost"],
        &["setup", "cursor", "--project", "--print"],
        &["remove", "trap"],
        // Now through the other door.
        &["log", "commit"],
        &["remove", "."],
    ] {
        let output = place.lore.command(args).current_dir(&path).output().expect("lore starts");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        unharmed(&args.join(" "));
    }
    // It has no commands, which is told; nothing runs all the same.
    assert!(
        !place.lore.command(&["commands", "list"]).current_dir(&path).output().expect("lore starts").status.success()
    );
    unharmed("commands list");
    let mut server = place.serve(&["--project", &path]);
    server.wait_for("commitmux_search", &json!({"query": "commit"}), |answer| !answer.value[0].is_null());
    let sha = json!({"repo": "repo", "sha": newest});
    for (tool, arguments) in [
        ("commitmux_get_commit", &sha),
        ("commitmux_get_patch", &sha),
        ("commitmux_touches", &json!({"path_glob": "src"})),
    ] {
        assert!(!server.call(tool, arguments).is_error);
    }
    assert!(server.end().status.success());
    unharmed("serve");
    // A clone runs git's own server side in that repository.
    place.add(&format!("file://{path}"), &["--name", "clone"]);
    place.sync();
    unharmed("a clone");
    // The trap is a trap: git itself walks into it.
    Git::at(&hostile.path).bytes(&["show", "--ext-diff", "HEAD"]).expect("git shows the commit");
    assert!(hostile.canary.exists());
}

#[test]
fn text_cannot_steer_a_terminal_or_pretend_to_be_another_line() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.write("evil\u{1b}[2J\nM fake.txt", "x\n");
    repo.git(&["add", "--all"]);
    let message = "Clear\u{1b}[2J\u{9b}31m\u{7} it\n\nbody \u{1b}]0;owned\u{7}\r\nhidden\u{8}\u{8}";
    repo.git(&["commit", "--quiet", "--cleanup=verbatim", "--author=Ev\u{1b}[8mil <e@e>", "-m", message]);
    let sha = repo.git(&["rev-parse", "HEAD"]);
    place.add(repo.path(), &[]);
    for args in [&["log", "clear"][..], &["touches", "evil"], &["show", "r", &sha]] {
        let output = place.lore.run(args);
        let shown = String::from_utf8(output.stdout).expect("output is UTF-8");
        // Git itself ends a header line whose path holds a space with a tab.
        let steering = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        assert!(!shown.contains(steering), "{args:?}: {shown:?}");
        assert!(shown.contains("<U+001B>") && !shown.contains("\nM fake.txt"), "{args:?}: {shown:?}");
    }
    // The same in notes and warnings.
    let evil = place.repo("evil\u{1b}[2J");
    evil.write("a.rs", "pub fn a() {}\n").commit("Begin");
    let output = place.lore.command(&["search", "a"]).current_dir(evil.path()).output().expect("lore starts");
    let noted = String::from_utf8_lossy(&output.stderr);
    assert!(noted.contains("registered ") && noted.contains("<U+001B>") && !noted.contains('\u{1b}'), "{noted:?}");
    // The same in what is said about errors.
    let said = place.refused(3, &["show", "no\u{1b}[2Jsuch", "abcd"]);
    assert!(said.contains("no<U+001B>[2Jsuch"), "{said:?}");
    let said = place.refused(3, &["show", "no\rsuch", "abcd"]);
    assert!(said.contains("no<U+000D>such"), "{said:?}");
    let said = place.refused(2, &["comments", "show", "no\u{9b}31m\rsuch"]);
    assert!(said.contains("no<U+009B>31m<U+000D>such"), "{said:?}");
    // Programs get the exact text.
    assert!(
        place.lore.json(&["show", "r", &sha, "--json"])["subject"].as_str().is_some_and(|text| text.contains('\u{1b}'))
    );
}

/// Texts that somebody's parser, query or shell has stumbled over.
#[rustfmt::skip]
const NASTY: [&str; 101] = [
    "", " ", "\u{0}", "a\u{0}b", "\"", "'", "\"\"", "\"a", "a\"b", "*", "a*", "*a", "^a", "a^", "NEAR(",
    "NEAR(a b, 5)", "NEAR(a b, x)", "a AND", "AND", "OR", "NOT", "NOT a", "a NOT", "(a", "a)", "()", "((((",
    "a + b", "a -b", "-a", "--", "--help", "-a -b", "{a b}: c", "subject : a", "nocolumn: a", "- {subject}: a",
    "a:b", "a.b", "a,b", "a;b", "a/b", "a\\b", "%", "_", "%%", "\\", "[a]", "{}", "a{2}",
    "'; DROP TABLE commits; --", "1 OR 1=1", "x' OR '1'='1", "\") OR 1=1 --", "?1", ":name", "@var", "$1",
    "commits_fts", "rank", "rowid:1", "\r\n", "\t", "\u{1b}[2J", "\u{202e}", "\u{feff}", "\u{fffd}", "é", "日本語",
    "🦀", "e\u{301}", "../../etc/passwd", "/etc/passwd", ".", "..", "~", "$(touch x)", "`touch x`", "|touch x", "&",
    "<a>", "null", "true", "0", "-1", "99999999999999999999", "1e999", "NaN", "{\"a\": 1}", "[\"a\"]", "[", "HEAD",
    "HEAD~1", "@{u}", ":/fix", "main..HEAD", "abc", "abcd", "0000000000000000000000000000000000000000",
    "deadbeef%", "ABCD",
];

/// The same, and long ones.
fn nasty() -> Vec<String> {
    let long = [
        "x".repeat(1 << 20),
        "x ".repeat(4000),
        "a OR ".repeat(1500) + "a",
        "(".repeat(4000),
        "a NOT ".repeat(1000) + "a",
        "NEAR(".repeat(900),
        "\"".repeat(3001),
        "a".repeat(40),
        "f".repeat(64),
        "0".repeat(65),
        "-".repeat(8000),
        "é".repeat(4096),
        "%".repeat(8000),
        "_%".repeat(4000),
    ];
    NASTY.into_iter().map(str::to_owned).chain(long).collect()
}

#[test]
fn any_text_is_a_legal_question() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.write("src/a.txt", "a\n");
    repo.commit("Add a");
    place.add(repo.path(), &[]);
    let mut server = place.serve(&["--no-refresh"]);
    let mut ask = |tool: &str, arguments: Value| {
        let answer = server.call(tool, &arguments);
        let asked: String = arguments.to_string().chars().take(100).collect();
        if answer.is_error {
            let code = answer.meta["lore/error"]["code"].as_str().unwrap_or_default();
            let expected = ["invalid_argument", "repo_not_found", "commit_not_found", "patch_not_found"];
            assert!(expected.contains(&code), "{tool} {asked}: {code}: {}", answer.text);
            for word in ["SQL", "fts5", "syntax error", "no such column", "unterminated", "parser"] {
                assert!(!answer.text.contains(word) && !answer.more.contains(word), "{tool} {asked}: {}", answer.text);
            }
            let length = answer.text.len() + answer.more.len();
            assert!(length < 2000, "{tool} {asked}: {length} bytes of error");
        }
    };
    for text in nasty() {
        ask("commitmux_search", json!({"query": text}));
        ask("commitmux_search", json!({"query": "a", "paths": [text]}));
        ask("commitmux_search", json!({"query": "a", "repos": [text]}));
        ask("commitmux_search", json!({"query": "a", "since": text, "limit": text}));
        ask("commitmux_touches", json!({"path_glob": text}));
        ask("commitmux_get_commit", json!({"repo": text, "sha": "abcd"}));
        ask("commitmux_get_commit", json!({"repo": "r", "sha": text}));
        ask("commitmux_get_patch", json!({"repo": "r", "sha": text, "max_bytes": text}));
        ask("commitmux_get_patch", json!({"repo": "r", "sha": "abcd", text.as_str(): text}));
    }
    assert_eq!(server.call("commitmux_search", &json!({"query": "add"})).value[0]["subject"], "Add a");
    assert!(server.end().status.success());
}

#[test]
fn any_text_is_a_legal_question_about_code() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.write("src/a.rs", "/// Adds.\npub fn add() {}\n");
    repo.commit("Add a");
    place.add(repo.path(), &[]);
    let mut server = place.serve(&["--no-refresh", "--project", repo.path().to_str().expect("UTF-8")]);
    let mut ask = |arguments: Value| {
        let asked: String = arguments.to_string().chars().take(100).collect();
        let params = json!({"name": "cortex_search", "arguments": arguments});
        let started = Instant::now();
        let answer =
            server.raw(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string());
        assert!(started.elapsed() < PATIENCE, "{asked} took {:?}", started.elapsed());
        if let Some(error) = answer.get("error") {
            let (code, length) = (error["code"].as_i64(), error["message"].as_str().unwrap_or_default().len());
            assert!(code == Some(-32602) && length < 2000, "{asked}: {error}");
        }
        answer
    };
    let distinct = (0..150_000).map(|at| format!("w{at:x}")).collect::<Vec<_>>().join(" ");
    assert!(distinct.len() > 900_000);
    for text in nasty().into_iter().chain([distinct.clone(), "{".repeat(100_000), "{a,".repeat(300)]) {
        ask(json!({"query": text}));
        ask(json!({"query": "add", "path": text}));
        ask(json!({"query": "add", "repo": text}));
        ask(json!({"query": "add", "tags": [text], "limit": text, "max_tokens": text}));
        ask(json!({"query": "add", "chunk_types": [text]}));
    }
    // What does not count is told.
    let metadata = |answer: &Value| -> Value {
        let text = answer["result"]["content"][0]["text"].as_str().expect("an answer has a text");
        serde_json::from_str::<Value>(text).expect("the text is JSON")["metadata"].take()
    };
    let cut = metadata(&ask(json!({"query": distinct})));
    assert!(cut["query_cut"].as_str().is_some_and(|said| said.contains("64 words")), "{cut}");
    assert_eq!(metadata(&ask(json!({"query": "add"})))["query_cut"], Value::Null);
    let failed = ask(json!({"query": "add", "path": "{".repeat(100_000)}));
    assert!(failed["error"]["message"].as_str().is_some_and(|said| said.contains("not a valid glob")), "{failed}");
    assert!(server.end().status.success());
}

#[test]
fn any_argument_is_a_legal_argument() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.write("src/a.txt", "a\n");
    repo.commit("Add a");
    place.add(repo.path(), &[]);
    for text in
        ["", "\"", "NEAR(", "'; DROP TABLE commits; --", "-x", "--", "*", "%", "\u{1b}[2J", "a\nb", "..", "日本語"]
    {
        for args in [
            &["log", "--no-sync", "--", text][..],
            &["log", "--no-sync", "a", &format!("--path={text}"), &format!("--author={text}")],
            &["log", "--no-sync", "a", &format!("--since={text}")],
            &["touches", "--no-sync", "--", text],
            &["show", "--", text, "abcd"],
            &["patch", "--", "r", text],
            &["sync", &format!("--repo={text}")],
            &["search", "--no-sync", "--", text],
            &["search", "--no-sync", "a", &format!("--path={text}"), &format!("--tag={text}")],
            &["remove", "--", &format!("x{text}")],
        ] {
            let output = place.lore.run(args);
            let code = output.status.code().expect("it ends by itself");
            assert!([0, 2, 3].contains(&code), "{args:?} ended with {code}: {}", output.stderr);
            assert!(
                !output.stderr.contains("SQL") && !output.stderr.contains("syntax error"),
                "{args:?}: {}",
                output.stderr
            );
            assert!(!output.stderr.contains('\u{1b}'), "{args:?}: {:?}", output.stderr);
        }
    }
    for path in ["{".repeat(100_000), "*".repeat(2000)] {
        let said = place.refused(2, &["search", "--no-sync", "a", &format!("--path={path}")]);
        assert!(said.contains("not a valid glob") && said.len() < 1000, "{said}");
    }
    assert_eq!(place.subjects(), ["Add a"]);
}

/// How many results a command gives, each with this in its field.
fn found(place: &Place, args: &[&str], field: &str, value: &str) -> usize {
    let answer = place.lore.json(&[args, &["--json"]].concat());
    answer["results"].as_array().map_or(0, |hits| hits.iter().filter(|hit| hit[field] == value).count())
}

#[test]
fn a_commit_that_git_cannot_compare_keeps_no_other_out() {
    // A newer git refuses folders this deep; an older one reads them. Lore lists neither as code.
    for (name, place_of) in [("past", odd::Place::Past), ("tip", odd::Place::Tip)] {
        let place = Place::new();
        let repo = odd::bomb(odd::Bomb::Deep(3_000), place_of, Path::new(&place.path("deep"))).expect("git makes it");
        let output = place.lore.run(&["add", repo.to_str().expect("UTF-8"), "--name", "deep"]);
        assert!(output.status.success(), "{name}: {}", output.stderr);
        assert_eq!(found(&place, &["log", "begin OR bomb", "--no-sync"], "repo", "deep"), 2, "{name}");
        let code = found(&place, &["search", odd::ORDINARY, "--no-sync", "--repo", "deep"], "path", "lib.rs");
        assert_eq!(code > 0, place_of == odd::Place::Past, "{name}");
        let left_out = String::from_utf8(place.lore.ok(&["status", "--left-out"])).expect("it is text");
        assert_eq!(left_out.contains("too many folders"), place_of == odd::Place::Tip, "{name}: {left_out}");
    }
}

#[test]
fn ten_objects_that_name_ten_billion_paths_are_told_and_passed_over() {
    if !crate::switches::slow_tests() {
        return;
    }
    let place = Place::new();
    let repo = odd::bomb(odd::Bomb::Paths(10), odd::Place::Past, Path::new(&place.path("bomb"))).expect("git makes it");
    let added = place.add(&repo, &["--name", "bomb"]);
    assert_eq!((&added["commits"], &added["code"]["files"]), (&json!(3), &json!(1)), "{added}");
    assert!(added["left_out"][0]["reason"].as_str().is_some_and(|said| said.contains("too many paths")), "{added}");
    let bomb = place.sql("SELECT sha AS one FROM commits WHERE subject = 'Bomb'");
    assert_eq!(place.lore.json(&["show", "bomb", &bomb[0], "--json"])["patch"], "too_heavy");
}

#[test]
fn a_tree_with_too_many_paths_is_refused_with_a_reason_and_its_history_is_found() {
    if !crate::switches::slow_tests() {
        return;
    }
    let place = Place::new();
    let repo = odd::bomb(odd::Bomb::Paths(10), odd::Place::Tip, Path::new(&place.path("bomb"))).expect("git makes it");
    let said = place.refused(3, &["add", repo.to_str().expect("UTF-8"), "--name", "bomb"]);
    assert_eq!(said.matches("has more than 1000000 files and folders").count(), 1, "{said}");
    assert!(said.contains("the code of such a commit is not indexed") && !said.contains("git fsck"), "{said}");
    assert_eq!(found(&place, &["log", "begin OR bomb", "--no-sync"], "repo", "bomb"), 2);
    let why = "has more than 1000000 files and folders";
    let status = String::from_utf8(place.lore.ok(&["status"])).expect("it is text");
    assert!(status.contains("could not be indexed") && status.contains(why), "{status}");
    // An agent is told so, also in its first call in a new home, and not to ask again.
    let other = Place::new();
    let mut fresh = other.serve(&["--project", repo.to_str().expect("UTF-8")]);
    let answer = fresh.call("cortex_search", &json!({"query": "ordinary"}));
    assert!(answer.text.contains(why) && !answer.text.contains("ask again"), "{}", answer.text);
    let mut server = place.serve(&["--project", repo.to_str().expect("UTF-8")]);
    let answer = server.call("cortex_search", &json!({"query": "ordinary"}));
    assert!(answer.text.contains(why) && !answer.text.contains("ask again"), "{}", answer.text);
}

#[test]
fn a_file_that_is_too_large_is_named_and_the_others_are_searched() {
    let place = Place::new();
    let repo = place.repo("large");
    repo.write("src/ok.py", "def is_found():\n    return 1\n");
    // Zeros: large for Lore, and soon compressed by git.
    fs::File::create(repo.path().join("huge.py")).and_then(|file| file.set_len(65 << 20)).expect("it is sparse");
    repo.commit("Large");
    let path = repo.path().to_str().expect("UTF-8").to_owned();
    let said = String::from_utf8(place.lore.ok(&["add", &path, "--name", "large"])).expect("it is text");
    assert!(said.contains("huge.py is not searched: it is too large"), "{said}");
    assert!(found(&place, &["search", "is_found", "--no-sync", "--repo", "large"], "path", "src/ok.py") > 0);
    let lines =
        place.lore.command(&["grep", "no such line", "--repo", "large", "--no-sync"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&lines.stderr);
    assert!(said.contains("1 file is too large to be searched"), "{said}");
    // Once it is told, `status` tells it.
    assert_eq!(place.sync()["code"]["too_large"], json!([]));
    let status = String::from_utf8(place.lore.ok(&["status", "--left-out"])).expect("it is text");
    assert!(status.contains("huge.py  over 64 MiB"), "{status}");
}

#[test]
fn crafted_trees_are_read_without_following_or_writing_anything() {
    let place = Place::new();
    let repo = odd::crafted(Path::new(&place.path("deeper/crafted"))).expect("git makes the repository");
    place.add(&repo.path, &["--name", "crafted", "--all-branches"]);
    for (label, commit) in &repo.commits {
        let shown = place.lore.json(&["show", "crafted", commit, "--json"]);
        assert_eq!(shown["subject"], **label);
        let ended = place.lore.run(&["patch", "crafted", commit]).status.code();
        assert!(matches!(ended, Some(0 | 3)), "{label}: {ended:?}");
    }
    assert!(found(&place, &["search", odd::BESIDE_CRAFTED, "--no-sync", "--repo", "crafted"], "path", "lib.rs") > 0);
    let beside: Vec<_> = fs::read_dir(place.path("deeper")).expect("it is there").flatten().collect();
    assert_eq!(beside.len(), 1, "{beside:?}");
}

#[test]
fn what_is_planted_in_the_index_does_not_run() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.write("a.txt", "a\n").commit("Begin");
    place.add(repo.path(), &[]);
    let file = place.lore.home().join("lore.db");
    dump::plant(&file, "CREATE TRIGGER evil AFTER INSERT ON commits BEGIN UPDATE commits SET subject = 'Forged'; END")
        .expect("SQLite takes it");
    repo.write("a.txt", "b\n").commit("Go on");
    place.sync();
    assert_eq!(place.subjects(), ["Begin", "Go on"]);
    // A view could go on for ever.
    let endless = "DROP TABLE author_aliases; CREATE VIEW author_aliases AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 \
        FROM n) SELECT x AS repo_id, 'a' AS name, 'b' AS email, 'c' AS mapped_name, 'd' AS mapped_email FROM n";
    dump::plant(&file, endless).expect("SQLite takes it");
    for args in [&["log", "go", "--author", "x"][..], &["show", "r", &repo.git(&["rev-parse", "HEAD"])]] {
        let said = place.refused(6, args);
        assert!(said.contains("is damaged: ") && said.contains("hint: "), "{said}");
    }
}

#[test]
fn what_is_planted_in_a_database_to_import_does_not_run() {
    let place = Place::new();
    for (number, sql) in [
        "CREATE VIEW repos AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) \
         SELECT 'r' || x AS name, '/tmp' AS local_path FROM n",
        "CREATE TABLE repos (name TEXT, local_path TEXT AS (hex(zeroblob(400000000)))); INSERT INTO repos VALUES ('a')",
    ]
    .iter()
    .enumerate()
    {
        let file = place.path(&format!("{number}.sqlite3"));
        dump::plant(Path::new(&file), sql).expect("SQLite takes it");
        let output = place.lore.run(&["import", "commitmux", "--db", &file, "--no-sync"]);
        assert_eq!(output.status.code(), Some(7), "{}", output.stderr);
        assert!(output.stderr.contains("cannot be read as a commitmux database"), "{}", output.stderr);
    }
}

#[test]
fn a_message_of_any_length_is_kept_whole_and_told_in_bounds() {
    let place = Place::new();
    let repo = place.repo("r");
    let long = "s".repeat(300_000);
    repo.write("a.txt", "a\n");
    repo.git(&["add", "--all"]);
    let tree = repo.git(&["write-tree"]);
    let person = "A <a@b> 1700000000 +0000";
    let object = format!("tree {tree}\nauthor {person}\ncommitter {person}\n\n{long}\n\nbody {long}\n");
    let id = Git::at(repo.path()).feed(&["hash-object", "-t", "commit", "-w", "--stdin"], object.as_bytes());
    let id = String::from_utf8(id.expect("git writes it")).expect("names are ASCII").trim().to_owned();
    repo.git(&["reset", "--quiet", "--hard", &id]);
    place.add(repo.path(), &[]);
    let shown = place.lore.json(&["show", "r", &id, "--json"]);
    assert_eq!(shown["subject"], *long);
    let flags = ["--no-refresh", "--toolsets", "history,why,code", "--project", repo.path().to_str().expect("UTF-8")];
    let mut server = place.serve(&flags);
    for (tool, arguments) in [
        ("commitmux_search", json!({"query": "ss* OR body"})),
        ("commitmux_touches", json!({"path_glob": "a"})),
        ("commitmux_get_commit", json!({"repo": "r", "sha": id})),
        ("explain_lines", json!({"file": "a.txt", "lines": "1"})),
        ("get_branches", json!({})),
        ("search_code", json!({"query_text": "body", "chunk_type": "commit_message"})),
    ] {
        let answer = server.call(tool, &arguments);
        assert!(answer.text.len() < 150_000, "{tool} answers with {} bytes", answer.text.len());
        if tool == "commitmux_get_commit" {
            let said = answer.meta["lore/message_cut"].as_str().unwrap_or_default().to_owned();
            assert!(said.contains("600005 bytes"), "{said}");
        }
    }
    assert!(server.end().status.success());
    for args in [&["log", "body"][..], &["touches", "a"], &["why", "a.txt:1"]] {
        let output = place.lore.command(args).current_dir(repo.path()).output().expect("lore starts");
        assert!(output.status.success() && output.stdout.len() < 20_000, "{args:?}: {} bytes", output.stdout.len());
    }
}
