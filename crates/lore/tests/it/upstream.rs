//! What the original of the `commitmux_*` tools gets wrong, each as a test of its own.

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use lore_testkit::{Git, Repo};
use serde_json::json;

use crate::{growing, place::Place};

/// What git itself prints as the patch of a commit.
fn git_patch(repo: &Path, commit: &str) -> Vec<u8> {
    let args = ["show", "--format=", "--diff-merges=first-parent", "-M", "-C", "--full-index", commit];
    Git::at(repo).bytes(&args).expect("git shows the commit")
}

#[test]
fn get_patch_returns_git_s_bytes_not_garbage() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.write("a.txt", "one\ntwo\nthree\n").write("crlf.txt", "one\r\ntwo\r\n");
    let first = repo.commit("First");
    repo.write("a.txt", "one\n2\nthree\n").write("latin.txt", b"caf\xe9\n").write("crlf.txt", "one\r\n2\r\n");
    let second = repo.commit("Second");
    place.add(repo.path(), &[]);
    for commit in [&first, &second] {
        assert_eq!(place.lore.ok(&["patch", "r", commit]), git_patch(repo.path(), commit));
    }
    let answer = place.serve(&["--no-refresh"]).call("commitmux_get_patch", &json!({"repo": "r", "sha": first}));
    let expected = String::from_utf8(git_patch(repo.path(), &first)).expect("the first patch is UTF-8");
    assert!(expected.contains("\n+two\n"), "{expected}");
    assert_eq!(answer.value, json!({"repo": "r", "sha": first, "patch_text": expected}));
}

#[test]
fn renames_are_found() {
    let place = Place::new();
    let repo = place.repo("r");
    let text = (0..30).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n") + "\n";
    repo.write("old.txt", &text).write("template.txt", text.to_uppercase());
    repo.commit("Both");
    repo.git(&["mv", "old.txt", "new.txt"]);
    repo.write("new.txt", text.clone() + "and more\n");
    repo.write("copy.txt", text.to_uppercase()).write("template.txt", text.to_uppercase() + "more\n");
    let moved = repo.commit("Move one, copy the other");
    place.add(repo.path(), &[]);
    let mut server = place.serve(&["--no-refresh"]);
    let commit = server.call("commitmux_get_commit", &json!({"repo": "r", "sha": moved})).value;
    assert_eq!(
        commit["changed_files"],
        json!([
            {"path": "copy.txt", "status": "C", "old_path": "template.txt"},
            {"path": "new.txt", "status": "R", "old_path": "old.txt"},
            {"path": "template.txt", "status": "M", "old_path": null},
        ])
    );
    let touches = server.call("commitmux_touches", &json!({"path_glob": "new.txt"})).value;
    assert_eq!(touches[0]["status"], "R");
    let patch = server.call("commitmux_get_patch", &json!({"repo": "r", "sha": moved})).value;
    let patch = patch["patch_text"].as_str().expect("a patch is text");
    assert!(patch.contains("rename from old.txt\nrename to new.txt\n"), "{patch}");
}

#[test]
fn tree_sitter_is_a_query_not_a_column() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.commit("Update tree-sitter to 0.22");
    repo.commit("Update trees");
    place.add(repo.path(), &[]);
    let mut server = place.serve(&["--no-refresh"]);
    for query in ["tree-sitter", "tree-sitter update", "subject: tree-sitter", "tree-sitter(", "tree\"sitter"] {
        let answer = server.call("commitmux_search", &json!({"query": query}));
        assert!(!answer.is_error, "{query}: {}", answer.text);
        // The column filter is no valid syntax here, so `subject:` is a word like any other.
        let expected = if query.starts_with("subject") { json!(null) } else { json!("Update tree-sitter to 0.22") };
        assert_eq!(answer.value[0]["subject"], expected, "{query}");
        assert!(answer.value[1].is_null() && answer.meta["lore/query_quoted"].is_string(), "{query}: {answer:?}");
    }
}

#[test]
fn paths_restrict_before_the_limit() {
    let place = Place::new();
    let repo = place.repo("r");
    // The one that is looked for is the least of all that match.
    repo.write("lib/part.c", "0\n");
    repo.commit("Change a part\n\nIt belongs to the widget.");
    for number in 1..=6 {
        repo.write("app/main.c", format!("{number}\n"));
        repo.commit("Change the widget");
    }
    place.add(repo.path(), &[]);
    let answer = place
        .serve(&["--no-refresh"])
        .call("commitmux_search", &json!({"query": "widget", "paths": ["lib/"], "limit": 2}));
    assert_eq!(answer.value[0]["matched_paths"], json!(["lib/part.c"]), "{}", answer.text);
    assert!(answer.value[1].is_null(), "{}", answer.text);
}

#[test]
fn a_sync_does_not_commit_for_every_statement() {
    let place = Place::new();
    let repo = place.repo("r");
    growing::grow(&repo, 0..397);
    place.lore.ok(&["add", &place.path("r"), "--no-sync"]);
    let generation =
        || -> u64 { place.sql("SELECT value AS one FROM meta WHERE key = 'generation'")[0].parse().expect("a number") };
    let before = generation();
    assert_eq!(place.sync()["added"], 397);
    // One transaction to begin, one to end, and one for each of a few batches: of the history, and of the code.
    let transactions = generation() - before;
    assert!(transactions <= 8, "397 commits took {transactions} transactions");
}

#[test]
fn the_clone_of_a_url_is_indexed_at_the_fetched_branch() {
    let place = Place::new();
    let origin = place.repo("origin");
    origin.commit("One");
    origin.commit("Two");
    place.add(&format!("file://{}", origin.path().display()), &["--name", "clone"]);
    assert_eq!(place.subjects(), ["One", "Two"]);
    origin.commit("Three");
    assert_eq!(place.sync()["added"], 1);
    assert_eq!(place.subjects(), ["One", "Three", "Two"]);
    // A force-push: two commits go, another one comes.
    origin.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    let head = origin.commit("Instead");
    let report = place.sync();
    assert_eq!((&report["added"], &report["removed"]), (&json!(1), &json!(2)));
    assert_eq!(place.subjects(), ["Instead", "One"]);
    assert_eq!(place.status("clone")["head"], head);
    // Another main branch.
    origin.git(&["checkout", "--quiet", "-b", "next"]);
    let head = origin.commit("On next");
    place.sync();
    assert_eq!(place.status("clone")["head"], head);
}

/// The documented line, as a user puts it into a hook.
fn install_hook(place: &Place, hooks: &Path, name: &str) {
    let hook = hooks.join(name);
    let script = format!(
        "#!/bin/sh\nLORE_HOME='{}' exec '{}' sync --repo hooked --quiet\n",
        place.lore.home().display(),
        env!("CARGO_BIN_EXE_lore")
    );
    std::fs::create_dir_all(hooks).expect("the folder of hooks can be made");
    std::fs::write(&hook, script).expect("a hook can be written");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("a hook can be made executable");
}

#[test]
fn the_git_hook_works() {
    let place = Place::new();
    let repo = place.repo("hooked");
    repo.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    repo.commit("Before");
    place.add(repo.path(), &[]);
    install_hook(&place, &repo.path().join(".git/hooks"), "post-commit");
    repo.write("a.txt", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n").git(&["add", "--all"]);
    // Git hands what it was told on to its hooks; none of it may reach the git that reads for Lore.
    repo.git(&["--literal-pathspecs", "-c", "diff.interHunkContext=9", "commit", "--quiet", "-m", "In a hook"]);
    assert_eq!(place.subjects(), ["Before", "In a hook"]);
    let head = repo.git(&["rev-parse", "HEAD"]);
    assert_eq!(place.lore.ok(&["patch", "hooked", &head]), git_patch(repo.path(), &head));
    repo.commit("Once more");
    let again = place.lore.run(&["sync", "--repo", "hooked", "--quiet"]);
    assert_eq!((again.stdout.as_slice(), again.stderr.as_str()), (b"".as_slice(), ""));
}

#[test]
fn the_git_hook_works_where_others_push() {
    let place = Place::new();
    let bare = place.path("hooked.git");
    let repo = place.repo("work");
    repo.commit("Before");
    repo.git(&["clone", "--quiet", "--bare", ".", &bare]);
    place.add(&bare, &["--name", "hooked"]);
    install_hook(&place, &Path::new(&bare).join("hooks"), "post-receive");
    repo.commit("Pushed");
    repo.git(&["push", "--quiet", &bare, "main"]);
    assert_eq!(place.subjects(), ["Before", "Pushed"]);
}

#[test]
fn an_empty_sha_is_an_error() {
    let place = Place::new();
    let repo: Repo = place.repo("r");
    repo.write("a", "a");
    repo.commit("The only one");
    place.add(repo.path(), &[]);
    let mut server = place.serve(&["--no-refresh"]);
    for tool in ["commitmux_get_commit", "commitmux_get_patch"] {
        for sha in ["", "  "] {
            let answer = server.call(tool, &json!({"repo": "r", "sha": sha}));
            assert!(answer.is_error && answer.text.contains("the commit SHA is empty"), "{tool}: {}", answer.text);
        }
    }
    assert!(place.refused(2, &["show", "r", ""]).contains("the commit SHA is empty"));
}

#[test]
fn an_unparsable_line_gets_an_answer() {
    let place = Place::new();
    let mut server = place.serve(&["--no-refresh"]);
    for line in [r#"{"jsonrpc": "2.0", "id": 7, "method""#, "hello", "{}}", "\u{0}"] {
        // The question behind it is answered in any case, so that nothing waits for ever here.
        let answer = server.raw(&format!("{line}\n{}", r#"{"jsonrpc": "2.0", "id": 8, "method": "ping"}"#));
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32700), &json!(null)), "{line}: {answer}");
        assert_eq!(server.raw("")["id"], 8);
    }
}
