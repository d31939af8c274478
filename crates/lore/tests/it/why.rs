//! Why lines are as they are, what changes together, and what is alike: compared with git, and kept from harm.

use std::{ffi::OsString, fmt::Write as _, os::unix::ffi::OsStringExt as _, path::Path};

use lore_testkit::{
    Git, Random, Repo, odd,
    oracle::{LineOrigin, Truth},
};
use serde_json::{Value, json};

use crate::{place::Place, stdio::Server};

/// Commits with more files do not count.
const MAX_FILES: usize = 50;

fn serve(place: &Place, repo: &Path) -> Server {
    place.serve(&["--no-refresh", "--project", repo.to_str().expect("UTF-8")])
}

/// Some lines that are worth to be moved: long enough for git to know them again.
fn block(name: &str, lines: usize) -> String {
    (0..lines).fold(String::new(), |mut text, line| {
        writeln!(text, "    let {name}_{line} = compute_the_{name}({line}, \"a text of some length {line}\");")
            .expect("a string");
        text
    })
}

/// A history with renames, moved and copied blocks, merges, line ends of both kinds and a last line without one.
fn shaped(place: &Place) -> Repo {
    let repo = place.repo("shaped");
    let (alpha, beta, gamma) = (block("alpha", 12), block("beta", 12), block("gamma", 12));
    repo.write("src/a.rs", format!("fn a() {{\n{alpha}}}\n\nfn b() {{\n{beta}}}\n"));
    repo.write("notes.txt", "one\r\ntwo\r\nthree");
    repo.commit("Begin");
    repo.git(&["mv", "src/a.rs", "src/moved.rs"]);
    repo.commit("Rename it");
    repo.write("src/moved.rs", format!("fn b() {{\n{beta}}}\n\nfn a() {{\n{alpha}}}\n"));
    repo.commit("Turn the two around");
    repo.write("src/copy.rs", format!("// A copy.\nfn c() {{\n{beta}}}\n"));
    repo.write("src/moved.rs", format!("fn b() {{\n{beta}}}\n\nfn a(x: u8) {{\n{alpha}}}\n"));
    repo.commit("Copy a part while its origin changes");
    repo.git(&["checkout", "--quiet", "-b", "side"]);
    repo.write("src/moved.rs", format!("// Side.\nfn b() {{\n{beta}}}\n\nfn a(x: u8) {{\n{alpha}}}\n"));
    repo.commit("On the side");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("src/moved.rs", format!("fn b() {{\n{beta}}}\n\nfn a(x: u8) {{\n{alpha}{gamma}}}\n"));
    repo.write("notes.txt", "one\r\n2\r\nthree\r\nfour");
    repo.commit("On the main line");
    repo.git(&["merge", "--quiet", "--no-ff", "--no-commit", "side"]);
    repo.write("src/copy.rs", format!("// A copy, touched by the merge.\nfn c() {{\n{beta}}}\n"));
    repo.commit("Merge the side");
    repo.write("-dash --output=x.txt", "dash one\ndash two\n").write(":(top)glob*", "a magic name\n");
    repo.write("ümläut \"quoted\"\t.txt", "odd\n");
    repo.commit("Odd names");
    repo
}

/// What `explain_lines` says of one line, as the oracle has it.
fn told(answer: &Value) -> (String, String) {
    assert_eq!(answer["commits"].as_array().map(Vec::len), Some(1), "one line is of one commit: {answer}");
    let commit = &answer["commits"][0];
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text in {answer}")).to_owned();
    (text(&commit["sha"]), text(&commit["then"][0]))
}

fn expected(origin: &LineOrigin) -> (String, String) {
    (origin.commit.clone(), format!("{}:{}", String::from_utf8_lossy(&origin.path), origin.line))
}

#[test]
fn every_line_comes_from_where_git_blame_says() {
    let place = Place::new();
    let repo = shaped(&place);
    place.add(repo.path(), &[]);
    let truth = Truth::open(repo.path(), None).expect("git reads it");
    let mut server = serve(&place, repo.path());
    let (mut lines, mut elsewhere) = (0, 0);
    for path in truth.head_files().expect("a tree") {
        let file = String::from_utf8(path.clone()).expect("UTF-8");
        for (number, origin) in (1..).zip(truth.blame(&path).expect("git blames")) {
            let answer = server.call("explain_lines", &json!({"file": file, "lines": number.to_string()}));
            assert!(!answer.is_error, "{file}:{number}: {}", answer.text);
            assert_eq!(told(&answer.value), expected(&origin), "{file}:{number}");
            lines += 1;
            elsewhere += usize::from(origin.path != path);
        }
    }
    assert!(lines > 60 && elsewhere > 20, "{lines}, of which {elsewhere} were in another file");
    // All at once it is the same, each line with one commit and only those that are asked for.
    let path = b"src/moved.rs";
    let origins = truth.blame(path).expect("git blames");
    let all = place.lore.json(&["why", "src/moved.rs:3-30", "--repo", "shaped", "--json"]);
    let mut found = vec![String::new(); origins.len() + 1];
    for commit in all["commits"].as_array().expect("commits") {
        for run in commit["lines"].as_array().expect("lines") {
            let number = |at: usize| usize::try_from(run[at].as_u64().expect("a number")).expect("small");
            (number(0)..=number(1)).for_each(|line| found[line] = commit["sha"].as_str().expect("a name").to_owned());
        }
    }
    for (line, sha) in found.iter().enumerate() {
        let expected = if (3..=30).contains(&line) { origins[line - 1].commit.as_str() } else { "" };
        assert_eq!(sha, expected, "line {line}");
    }
    assert!(server.end().status.success());
}

#[test]
fn odd_files_are_explained_as_git_does() {
    let place = Place::new();
    let odd = odd::main_repo(Path::new(&place.path("odd"))).expect("git makes the repository");
    place.add(&odd.path, &["--name", "odd"]);
    let truth = Truth::open(&odd.path, None).expect("git reads it");
    let mut random = Random::new(7);
    let mut compared = 0;
    for path in truth.head_files().expect("a tree") {
        let Ok(origins) = truth.blame(&path) else { continue };
        if origins.is_empty() {
            continue;
        }
        let line = random.below(origins.len());
        let mut target = path.clone();
        target.extend_from_slice(format!(":{}", line + 1).as_bytes());
        let args = ["why", "--json", "--no-sync", "--repo", "odd", "--"].map(OsString::from);
        let args: Vec<OsString> = args.into_iter().chain([OsString::from_vec(target)]).collect();
        let output = place.lore.run(&args);
        let shown = String::from_utf8_lossy(&path);
        if !output.status.success() {
            let is_refused = output.stderr.contains("is no text") || output.stderr.contains("more than 4 MB");
            assert!(is_refused && output.status.code() == Some(2), "{shown}: {}", output.stderr);
            continue;
        }
        let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let (commit, then) = (&told["commits"][0], &told["commits"][0]["then"][0]);
        assert_eq!(commit["sha"], origins[line].commit.as_str(), "{shown}:{line} {told}");
        assert_eq!(then["path"], *String::from_utf8_lossy(&origins[line].path), "{shown}");
        assert_eq!(then["lines"], json!([[origins[line].line, origins[line].line]]), "{shown}");
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn a_line_is_told_with_its_hunk_and_what_reviewers_said() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.write("src/a.rs", "fn a() {\n    one();\n    two();\n}\n").commit("Begin");
    repo.write("src/a.rs", "fn a() {\n    one();\n    two(2);\n}\n");
    let second = repo.commit("Give two a number (PROJ-7)");
    let other = place.repo("other");
    other.write("b.txt", "b\n");
    let there = other.commit("PROJ-7: the other half");
    other.write("b.txt", "c\n").commit("PROJ-70: something else");
    place.add(repo.path(), &[]);
    place.add(other.path(), &[]);
    let comment = ["comment", "--file", "src/a.rs", "--line", "3", "why two?"];
    assert!(place.lore.command(&comment).current_dir(repo.path()).output().expect("lore starts").status.success());
    let mut server = serve(&place, repo.path());
    let answer = server.call("explain_lines", &json!({"file": "src/a.rs", "lines": "3"}));
    let commit = &answer.value["commits"][0];
    assert_eq!(
        (&commit["sha"], &commit["lines"], &commit["author"]),
        (&json!(second), &json!("3"), &json!("Ada Author"))
    );
    assert_eq!(commit["date"], "2023-11-14");
    assert_eq!(commit["hunk"], "@@ -1,4 +1,4 @@\n fn a() {\n     one();\n-    two();\n+    two(2);\n }\n");
    assert_eq!(
        (&answer.value["comments"][0]["text"], &answer.value["comments"][0]["state"]),
        (&json!("why two?"), &json!("waiting"))
    );
    assert_eq!(answer.meta["lore/freshness"]["repos"][0]["state"], "current");
    let elsewhere = server.call("explain_lines", &json!({"file": "src/a.rs", "lines": "1"}));
    assert_eq!(elsewhere.value["comments"], Value::Null);
    // To list a comment is not to deliver it.
    let delivered = server.request("tools/call", &json!({"name": "check_lazygit_messages", "arguments": {}}));
    assert!(delivered["content"][0]["text"].as_str().is_some_and(|text| text.contains("why two?")), "{delivered}");
    // Lines are those on disk: what is not committed yet is told, and the rest is found.
    repo.write("src/a.rs", "// new\nfn a() {\n    one();\n    two(2);\n    three();\n}\n");
    let answer = server.call("explain_lines", &json!({"file": repo.path().join("src/a.rs"), "lines": "1-5"}));
    assert_eq!(answer.value["uncommitted"], "1,5");
    assert_eq!(
        (&answer.value["commits"][0]["lines"], &answer.value["commits"][1]["lines"]),
        (&json!("4"), &json!("2-3"))
    );
    repo.write("src/new.rs", "fn n() {}\n");
    let answer = server.call("explain_lines", &json!({"file": "src/new.rs", "lines": "1"}));
    assert_eq!((&answer.value["uncommitted"], &answer.value["commits"]), (&json!("1"), &json!([])));
    // A commit that the index does not have yet is read from git.
    repo.write("src/a.rs", "fn a() {\n    one();\n    two(22);\n}\n");
    let third = repo.commit("Give two another number");
    let answer = server.call("explain_lines", &json!({"file": "src/a.rs", "lines": "3"}));
    let commit = &answer.value["commits"][0];
    assert_eq!(commit["sha"], third);
    assert!(commit["hunk"].as_str().is_some_and(|hunk| hunk.contains("-    two(2);\n+    two(22);")), "{commit}");
    // The same work in another repository, by the key of its issue.
    let answer = server.call("co_changed", &json!({"files": ["src/a.rs"]}));
    let others = &answer.value["other_repositories"];
    assert_eq!(
        (&others[0]["repo"], &others[0]["key"], others.as_array().map(Vec::len)),
        (&json!("other"), &json!("PROJ-7"), Some(1))
    );
    assert_eq!(
        (&others[0]["commits"][0]["sha"], others[0]["commits"].as_array().map(Vec::len)),
        (&json!(there), Some(1))
    );
    assert!(server.end().status.success());
}

#[test]
fn a_number_of_an_issue_is_that_of_its_own_repository() {
    let place = Place::new();
    let commits = [
        ("tool", Some("https://forge.example/Acme/Tool.git"), "Fix the limit (#12)"),
        ("named", None, "acme/tool#12: the other half"),
        // The same repository once more, and a number of another one.
        ("copy", Some("git@forge.example:acme/tool.git"), "Again #12"),
        ("else", Some("https://forge.example/acme/else"), "Change #12"),
    ];
    for (name, origin, subject) in commits {
        let repo = place.repo(name);
        repo.write("a.txt", format!("{name}\n")).commit(subject);
        if let Some(url) = origin {
            repo.git(&["remote", "add", "origin", url]);
        }
        place.add(repo.path(), &[]);
    }
    let mut server = serve(&place, Path::new(&place.path("tool")));
    let answer = server.call("co_changed", &json!({"files": ["a.txt"]}));
    let others = answer.value["other_repositories"].as_array().expect("others");
    let told: Vec<_> = others.iter().map(|other| (&other["repo"], &other["key"])).collect();
    assert_eq!(told, [(&json!("named"), &json!("acme/tool#12"))]);
    assert!(server.end().status.success());
}

#[test]
fn what_a_copy_has_in_common_is_not_told_as_other_work() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.write("a.txt", "a\n").commit("PROJ-7: begin");
    let copy = Repo::clone_of(repo.path(), place.path("copy")).expect("a clone");
    for round in 0..5 {
        copy.write("a.txt", format!("{round}\n")).commit(&format!("PROJ-7: round {round}"));
    }
    place.add(repo.path(), &[]);
    place.add(copy.path(), &[]);
    let mut server = serve(&place, repo.path());
    let answer = server.call("co_changed", &json!({"files": ["a.txt"]}));
    let other = &answer.value["other_repositories"][0];
    let subjects: Vec<_> = other["commits"].as_array().into_iter().flatten().map(|commit| &commit["subject"]).collect();
    assert!(subjects.len() == 3 && subjects.iter().all(|subject| **subject != "PROJ-7: begin"), "{other}");
    assert_eq!(other["more"], 2, "{other}");
    assert!(server.end().status.success());
}

#[test]
fn a_named_repository_is_looked_at_where_the_project_is() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.write("a.txt", "one\n").commit("Begin");
    place.add(repo.path(), &[]);
    let tree = place.path("second tree");
    repo.git(&["worktree", "add", "-q", "-b", "side", &tree]);
    std::fs::write(format!("{tree}/a.txt"), "one\ntwo\n").expect("a file");
    let uncommitted = |folder: &Path| {
        let mut server = serve(&place, folder);
        let answer = server.call("explain_lines", &json!({"file": "a.txt", "repo": "r"}));
        assert!(server.end().status.success());
        answer.value["uncommitted"].clone()
    };
    assert_eq!((uncommitted(Path::new(&tree)), uncommitted(repo.path())), (json!("2"), Value::Null));
}

#[test]
fn head_is_that_of_the_work_tree() {
    let place = Place::new();
    let repo = place.repo("r");
    let first = repo.write("a.txt", "one\n").commit("Begin");
    let second = repo.write("a.txt", "two\n").commit("Go on");
    place.add(repo.path(), &[]);
    let tree = place.path("second tree");
    repo.git(&["worktree", "add", "-q", "--detach", &tree, "HEAD~1"]);
    for (folder, expected) in [(Path::new(&tree), first), (repo.path(), second)] {
        let mut server = serve(&place, folder);
        let answer = server.call("commitmux_get_commit", &json!({"repo": "r", "sha": "HEAD"}));
        assert_eq!(answer.value["sha"], expected, "{}", answer.text);
        assert!(server.end().status.success());
        let patch =
            place.lore.command(&["patch", ".", "HEAD", "--json"]).current_dir(folder).output().expect("it starts");
        let patch: Value = serde_json::from_slice(&patch.stdout).expect("JSON");
        assert_eq!(patch["sha"], expected, "{patch}");
    }
}

#[test]
fn answers_have_room_and_say_what_they_leave_out() {
    let place = Place::new();
    let repo = place.repo("r");
    let mut lines: Vec<String> = (0..40).map(|line| format!("line number {line} of the file")).collect();
    for (number, at) in (0..40).enumerate() {
        lines[at] = format!("line number {at} as the commit {number} left it, which says a little more");
        repo.write("a.txt", lines.join("\n") + "\n").commit(&format!("Change line {at} of the file for a reason"));
    }
    place.add(repo.path(), &[]);
    let mut server = serve(&place, repo.path());
    let mut ask = |max_tokens: u64| {
        let answer = server.call("explain_lines", &json!({"file": "a.txt", "lines": "1-40", "max_tokens": max_tokens}));
        let shown = answer.value["commits"].as_array().map_or(0, Vec::len);
        let left_out = &answer.value["left_out"];
        let commits = usize::try_from(left_out["commits"].as_u64().unwrap_or(0)).expect("small");
        assert_eq!(shown + commits, 40, "{left_out}");
        assert!(u64::try_from(answer.text.len()).expect("small") < max_tokens * 5, "{} bytes", answer.text.len());
        let hunks = answer.value["commits"].as_array().into_iter().flatten().filter(|commit| !commit["hunk"].is_null());
        (shown, hunks.count(), left_out["hunks"].as_u64().unwrap_or(0))
    };
    assert_eq!(ask(100).0, 0);
    let (some, _, _) = ask(1500);
    assert!((5..40).contains(&some), "{some}");
    let (all, hunks, without) = ask(20_000);
    assert!(all == 40 && hunks == 20 && without == 0, "{all} {hunks} {without}: hunks of the newest twenty");
    assert!(server.end().status.success());
}

#[test]
fn files_that_change_together_are_those_of_the_log() {
    let place = Place::new();
    let repo = place.repo("r");
    let mut random = Random::new(11);
    let mut files: Vec<String> = (0..14).map(|number| format!("src/file {number}.txt")).collect();
    for round in 0..90_u32 {
        if round % 17 == 16 {
            // A rename among other changes, now and then to a name that another one had.
            let at = random.below(files.len());
            let new = if round % 2 == 0 {
                format!("lib/renamed {round}.txt")
            } else {
                format!("src/file {}.txt", random.below(14))
            };
            if !files.contains(&new) && repo.path().join(&files[at]).exists() {
                std::fs::create_dir_all(repo.path().join("lib")).expect("a folder");
                repo.git(&["mv", &files[at], &new]);
                files[at] = new;
            }
        }
        let count = if round % 40 == 39 { 70 } else { 1 + random.below(4) };
        for number in 0..count {
            let file = if count > 50 { format!("many/{number}.txt") } else { random.pick(&files).clone() };
            // Enough that stays the same for git to know a renamed file again.
            repo.write(&file, format!("{}{file}\n{round}\n", block(&file.replace([' ', '/', '.'], "_"), 6)));
        }
        if count > 50 {
            repo.write(&files[0], format!("{round}\n"));
        }
        repo.commit(&format!("Change {round}"));
    }
    repo.git(&["checkout", "--quiet", "-b", "side", "HEAD~5"]);
    repo.write("src/side.txt", "side\n").commit("On the side");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.git(&["merge", "--quiet", "--no-ff", "-m", "Merge", "side"]);
    place.add(repo.path(), &[]);
    let truth = Truth::open(repo.path(), None).expect("git reads it");
    let log = truth.log().expect("git logs");
    let mut server = serve(&place, repo.path());
    let (mut pairs, mut renamed) = (0, 0);
    for path in truth.head_files().expect("a tree") {
        let file = String::from_utf8(path.clone()).expect("UTF-8");
        let answer = server.call("co_changed", &json!({"files": [file], "limit": 200})).value;
        let (commits, large, together) = log.together(&path, MAX_FILES);
        assert_eq!(answer["commits"], commits, "{file}: {answer}");
        assert_eq!(answer["left_out"]["commits_over_50_files"].as_u64().unwrap_or(0), large as u64, "{file}");
        let rows = answer["results"].as_array().expect("results");
        assert_eq!(rows.len(), together.len(), "{file}: {answer}");
        renamed += usize::from(!answer["earlier_names"].is_null());
        for (row, expected) in rows.iter().zip(&together) {
            let expected_row =
                (String::from_utf8_lossy(&expected.path).into_owned(), expected.support, &expected.newest);
            let path = row["path"].as_str().expect("a path").to_owned();
            let support = usize::try_from(row["support"].as_u64().expect("a number")).expect("small");
            assert_eq!(
                (path, support, row["newest"]["sha"].as_str()),
                (expected_row.0, expected_row.1, Some(expected_row.2.as_str())),
                "{file}"
            );
            pairs += 1;
        }
    }
    assert!(pairs > 100 && renamed > 1, "{pairs} {renamed}");
    assert!(server.end().status.success());
}

#[test]
fn code_that_is_alike_is_found_and_copies_are_named() {
    let place = Place::new();
    let repo = place.repo("r");
    let retry = "pub fn retry_with_backoff(attempts: u32, delay_ms: u64) -> Result<(), RetryError> {\n    for attempt in 0..attempts {\n        if send_request(attempt).is_ok() {\n            return Ok(());\n        }\n        sleep_ms(delay_ms << attempt);\n    }\n    Err(RetryError::Exhausted)\n}\n";
    repo.write("src/retry.rs", retry);
    repo.write("vendor_copy/retry.rs", retry);
    repo.write("src/upload.rs", "pub fn upload_with_backoff(parts: u32, delay_ms: u64) -> Result<(), RetryError> {\n    for part in 0..parts {\n        if send_part(part).is_err() {\n            sleep_ms(delay_ms << part);\n        }\n    }\n    Err(RetryError::Exhausted)\n}\n");
    repo.write("src/colour.rs", "pub struct Colour {\n    pub red: u8,\n    pub green: u8,\n}\n");
    repo.commit("Begin");
    place.add(repo.path(), &[]);
    let mut server = serve(&place, repo.path());
    let answer = server.call("find_related", &json!({"file": "src/retry.rs", "line": 4})).value;
    assert_eq!(
        (&answer["name"], &answer["copies"]),
        (&json!("retry_with_backoff"), &json!(["vendor_copy/retry.rs:1"]))
    );
    assert_eq!(answer["results"][0]["path"], "src/upload.rs", "{answer}");
    assert!(
        answer["results"][0]["shares"].as_array().is_some_and(|words| words.contains(&json!("retryerror"))),
        "{answer}"
    );
    let own = answer["results"].as_array().into_iter().flatten().filter(|hit| hit["path"] == "src/retry.rs");
    assert_eq!(own.count(), 0);
    let failed = server.call("find_related", &json!({"file": "src/retry.rs", "line": 400}));
    assert!(failed.is_error && failed.text.contains("has 9 lines"), "{}", failed.text);
    // A person is shown the same, with paths that can be opened from where they are.
    let output = place
        .lore
        .command(&["related", "retry.rs:4"])
        .current_dir(repo.path().join("src"))
        .output()
        .expect("lore starts");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(
        shown.starts_with(
            "Like retry.rs:1-9  retry_with_backoff\nThe same in ../vendor_copy/retry.rs:1\n\nupload.rs:1\n"
        ),
        "{shown}"
    );
    assert!(server.end().status.success());
}

#[test]
fn nothing_outside_the_repository_is_explained() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.write("src/a.txt", "a\n").commit("Begin");
    std::fs::write(place.path("secret.txt"), "secret\n").expect("a file");
    std::os::unix::fs::symlink(place.path("secret.txt"), repo.path().join("link.txt")).expect("a link");
    std::os::unix::fs::symlink(place.path(""), repo.path().join("folder")).expect("a link");
    place.add(repo.path(), &[]);
    let mut server = serve(&place, repo.path());
    let secret = place.path("secret.txt");
    for file in [
        "../secret.txt",
        "src/../../secret.txt",
        &secret,
        "/etc/passwd",
        ".git/config",
        "src/../.git/HEAD",
        ".GIT/config",
        "link.txt",
        "folder/secret.txt",
        "",
        ".",
        "src",
        "no such file",
        "--output=x",
        "-S/etc/passwd",
        "--contents=/etc/passwd",
        ":(top)x",
        "a\0b",
    ] {
        for (tool, arguments) in [
            ("explain_lines", json!({"file": file, "lines": "1"})),
            ("explain_lines", json!({"file": file})),
            ("find_related", json!({"file": file, "line": 1})),
        ] {
            let answer = server.call(tool, &arguments);
            assert!(
                answer.is_error && answer.meta["lore/error"]["code"] == "invalid_argument",
                "{tool} {file}: {}",
                answer.text
            );
            assert!(
                !answer.text.contains("secret\\n") && !answer.text.contains("root:"),
                "{tool} {file}: {}",
                answer.text
            );
        }
        let answer = server.call("co_changed", &json!({"files": [file]}));
        assert!(answer.is_error || answer.value["commits"] == 0, "{file}: {}", answer.text);
    }
    for (lines, said) in [
        ("0", "is not a range of lines"),
        ("x", "is not a range of lines"),
        ("5", "there is no line 5"),
        ("2-1", "there is no line"),
    ] {
        let answer = server.call("explain_lines", &json!({"file": "src/a.txt", "lines": lines}));
        assert!(answer.is_error == (lines != "2-1"), "{lines}: {}", answer.text);
        assert!(lines == "2-1" || answer.text.contains(said), "{lines}: {}", answer.text);
    }
    let answer = server.call("explain_lines", &json!({"file": "src/a.txt", "repo": "nope"}));
    assert_eq!(answer.meta["lore/error"]["code"], "repo_not_found");
    assert!(server.end().status.success());
}

#[test]
fn nothing_that_a_repository_names_is_run_to_explain_it() {
    let place = Place::new();
    let hostile = odd::hostile(Path::new(&place.path("trap"))).expect("git makes the repository");
    place.add(&hostile.path, &["--name", "trap"]);
    let truth = Truth::open(&hostile.path, None).expect("git reads it");
    let mut server = serve(&place, &hostile.path);
    for path in truth.head_files().expect("a tree") {
        let file = String::from_utf8(path).expect("UTF-8");
        server.call("explain_lines", &json!({"file": file, "lines": "1-3"}));
        server.call("co_changed", &json!({"files": [file]}));
        server.call("find_related", &json!({"file": file, "line": 1}));
        for command in ["why", "related"] {
            let target = format!("{file}:1");
            place.lore.command(&[command, &target]).current_dir(&hostile.path).output().expect("lore starts");
        }
        assert!(
            !hostile.canary.exists(),
            "{file} ran {}",
            std::fs::read_to_string(&hostile.canary).unwrap_or_default()
        );
    }
    assert!(server.end().status.success());
    // The trap is a trap: git itself walks into it.
    Git::at(&hostile.path).bytes(&["show", "--ext-diff", "HEAD"]).expect("git shows the commit");
    assert!(hostile.canary.exists());
}

#[test]
fn a_shallow_history_says_where_it_begins() {
    let place = Place::new();
    let repo = place.repo("full");
    repo.write("a.txt", "one\ntwo\n").commit("Begin");
    repo.write("a.txt", "one\ntwo\nthree\n").commit("Second");
    repo.write("b.txt", "b\n").commit("Third");
    let shallow = place.path("shallow");
    Git::at(place.path(""))
        .bytes(&["clone", "--quiet", "--depth=2", &format!("file://{}", repo.path().display()), &shallow])
        .expect("git clones");
    place.add(&shallow, &[]);
    let told = place.lore.json(&["why", "a.txt", "--repo", "shallow", "--json"]);
    assert_eq!((&told["commits"][0]["subject"], &told["commits"][0]["boundary"]), (&json!("Second"), &json!(true)));
    place.add(repo.path(), &[]);
    let told = place.lore.json(&["why", "a.txt", "--repo", "full", "--json"]);
    assert_eq!(
        (&told["commits"][0]["subject"], &told["commits"][0]["boundary"]),
        (&json!("Begin"), &json!(false)),
        "by number of lines"
    );
}

#[test]
fn people_ask_why_in_any_repository() {
    let place = Place::new();
    let repo = place.repo("shop");
    repo.write("src/limit.rs", "pub struct Limit;\npub fn open() {}\n")
        .write("README.md", "# Shop\n")
        .commit("Add a limiter");
    repo.write("src/limit.rs", "pub struct Limit;\npub fn open(door: u8) {}\n")
        .write("README.md", "# The shop\n")
        .commit("Open doors");
    let run = |args: &[&str]| {
        let output = place.lore.command(args).current_dir(repo.path().join("src")).output().expect("lore starts");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        let sha = repo.git(&["rev-parse", "HEAD"]);
        String::from_utf8_lossy(&output.stdout).replace(&sha[..12], "«open»").replace(&sha[..10], "«open»")
    };
    assert_eq!(
        run(&["why", "limit.rs:2"]),
        "limit.rs:2  shop at «open»\n\n«open» 2023-11-14 Ada Author  line 2\n  Open doors\n  @@ -1,2 +1,2 @@\n   pub struct Limit;\n  -pub fn open() {}\n  +pub fn open(door: u8) {}\n"
    );
    let whole = run(&["why", "limit.rs"]);
    assert!(
        whole.contains("1 line\n  Open doors\n")
            && whole.ends_with("Changes together with (2 commits):\n    2 (100 %)  ../README.md\n"),
        "{whole}"
    );
    let said = place.refused(3, &["why", "x.rs:1"]);
    assert!(said.contains("not a git repository") || said.contains("name a repository"), "{said}");
}
