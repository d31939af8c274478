//! Faults that were found by using the program.

use std::{fs, path::Path};

use lore_testkit::{
    Git, Repo, odd,
    oracle::{self, Selection},
};
use rusqlite::Connection;
use serde_json::json;

use crate::place::Place;

fn commits(place: &Place, name: &str, subjects: &[&str]) -> Repo {
    let repo = place.repo(name);
    for subject in subjects {
        repo.write("file", format!("{subject}\n")).commit(subject);
    }
    repo
}

#[test]
fn a_server_notices_that_the_index_was_replaced() {
    let place = Place::new();
    commits(&place, "old", &["ancient words"]);
    commits(&place, "new", &["modern words"]);
    place.add(&place.path("old"), &[]);
    let mut server = place.serve(&["--no-refresh"]);
    let search = json!({"query": "words"});
    assert_eq!(server.call("commitmux_search", &search).value[0]["subject"], "ancient words");
    let home = place.lore.home();
    for name in ["lore.db", "lore.db-wal", "lore.db-shm"] {
        if home.join(name).exists() {
            fs::rename(home.join(name), home.join(format!("aside-{name}"))).unwrap();
        }
    }
    place.add(&place.path("new"), &[]);
    let answer = server.call("commitmux_search", &search).value;
    assert_eq!((answer.as_array().unwrap().len(), &answer[0]["subject"]), (1, &json!("modern words")));
}

#[test]
fn the_boundary_of_an_unfinished_sync_is_read_again() {
    let place = Place::new();
    let source = commits(&place, "source", &["One", "Two", "Three"]);
    source.git(&["clone", "--quiet", "--depth=2", &format!("file://{}", place.path("source")), &place.path("clone")]);
    place.add(&place.path("clone"), &[]);
    // What a kill before the end leaves: commits and the boundary, no tips.
    let index = Connection::open(place.lore.home().join("lore.db")).unwrap();
    index.execute_batch("UPDATE ingest_state SET partial = 1; DELETE FROM repo_tips WHERE shallow = 0").unwrap();
    drop(index);
    Git::at(place.path("clone")).bytes(&["fetch", "--quiet", "--unshallow"]).expect("git fetches");
    assert_eq!(place.status("clone")["state"], "partial");
    place.sync();
    let files = "SELECT status AS one FROM commit_files JOIN commits USING (repo_id, sha) WHERE subject = 'Two'";
    assert_eq!(place.sql(files), ["M"]);
}

#[test]
fn a_clone_that_was_unshallowed_is_stale() {
    let place = Place::new();
    let source = commits(&place, "source", &["One", "Two", "Three"]);
    source.git(&["clone", "--quiet", "--depth=1", &format!("file://{}", place.path("source")), &place.path("clone")]);
    place.add(&place.path("clone"), &[]);
    assert_eq!(place.status("clone")["state"], "current");
    Git::at(place.path("clone")).bytes(&["fetch", "--quiet", "--unshallow"]).expect("git fetches");
    assert_eq!(place.status("clone")["state"], "stale");
}

#[cfg(unix)]
#[test]
fn a_git_that_is_killed_is_an_error_not_a_missing_object() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    commits(&place, "repo", &["One", "Two"]);
    let wrapper = place.path("git-that-dies");
    fs::write(&wrapper, "#!/bin/sh\ncase \"$*\" in *' -p '*) kill -9 $$ ;; esac\nexec git \"$@\"\n").unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let output = place.lore.command(&["add", &place.path("repo")]).env("LORE_GIT", &wrapper).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(8), "{said}");
    assert!(said.contains("was cut off"), "{said}");
    let report = place.sync();
    assert_eq!((&report["commits"], &report["left_out"]), (&json!(2), &json!([])));
}

#[test]
fn a_branch_that_cannot_be_read_is_an_error_not_an_absence() {
    let place = Place::new();
    let repo = commits(&place, "repo", &["One", "Two"]);
    repo.git(&["branch", "feature"]);
    place.add(&place.path("repo"), &["--branch", "feature"]);
    fs::write(Path::new(&place.path("repo")).join(".git/refs/heads/feature"), "").unwrap();
    let said = place.refused(3, &["sync"]);
    assert!(said.contains("cannot read a branch"), "{said}");
    assert_eq!(place.subjects(), ["One", "Two"]);
}

#[test]
fn an_author_filter_understands_old_encodings() {
    let place = Place::new();
    let repo = commits(&place, "repo", &["One"]);
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let parent = repo.git(&["rev-parse", "HEAD"]);
    let mut commit = format!("tree {tree}\nparent {parent}\nauthor M").into_bytes();
    commit.push(0xfc);
    commit.extend(b"ller <m@x> 1700000000 +0000\ncommitter C <c@x> 1700000000 +0000\nencoding ISO-8859-1\n\nTwo\n");
    let id =
        Git::at(repo.path()).feed(&["hash-object", "-t", "commit", "-w", "--stdin"], &commit).expect("git takes it");
    let id = String::from_utf8(id).unwrap();
    repo.git(&["reset", "--quiet", "--hard", id.trim()]);
    place.add(&place.path("repo"), &["--author", "Müller"]);
    assert_eq!(place.subjects(), ["Two"]);
}

#[test]
fn work_in_a_linked_work_tree_is_found() {
    let place = Place::new();
    let repo = commits(&place, "main", &["One"]);
    place.add(&place.path("main"), &[]);
    repo.git(&["worktree", "add", "--quiet", "-b", "side", &place.path("linked")]);
    assert_eq!(place.status("main")["state"], "stale");
    repo.git(&["-C", &place.path("linked"), "commit", "--quiet", "--allow-empty", "--message=Side"]);
    // Asking inside the work tree brings its repository up to date, and registers nothing else.
    let asked = place.lore.command(&["log", "side", "--json"]).current_dir(place.path("linked")).output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(answer["results"][0]["subject"], "Side");
    assert_eq!(place.lore.json(&["repos", "--json"])["repos"].as_array().unwrap().len(), 1);
}

/// Where HEAD has no excluded folder, commits are read without pathspecs first, and those that touched one once more.
#[test]
fn excluded_paths_of_the_past_are_left_out_as_git_would() {
    let place = Place::new();
    let odd = odd::main_repo(Path::new(&place.path("odd"))).expect("git makes the repository");
    let git = Git::at(&odd.path);
    git.bytes(&["rm", "-r", "--quiet", "--cached", "dist", "node_modules", "vendor"]).expect("they are there");
    let git = git
        .with("GIT_AUTHOR_NAME", "Ann")
        .with("GIT_AUTHOR_EMAIL", "a@x")
        .with("GIT_COMMITTER_NAME", "Ann")
        .with("GIT_COMMITTER_EMAIL", "a@x");
    git.bytes(&["commit", "--quiet", "--message=Clean up"]).expect("git commits");
    place.add(&odd.path, &["--name", "odd"]);
    let report = oracle::compare(&place.lore, "odd", &odd.path, Selection::All).expect("git and lore answer");
    assert_eq!(report.differences, Vec::<String>::new());
    assert!(report.patches_compared > 150, "{report:?}");
}

#[test]
fn a_ref_that_leads_nowhere_is_passed_over_as_git_does() {
    let place = Place::new();
    let repo = commits(&place, "repo", &["One"]);
    repo.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/nowhere"]);
    place.add(&place.path("repo"), &["--all-branches"]);
    assert_eq!(place.subjects(), ["One"]);
}

#[test]
fn one_malformed_tree_does_not_keep_the_rest_out() {
    let place = Place::new();
    let repo = commits(&place, "repo", &["One"]);
    let git = Git::at(repo.path());
    let tree =
        git.feed(&["hash-object", "-t", "tree", "-w", "--literally", "--stdin"], b"100644").expect("git takes it");
    let tree = String::from_utf8(tree).unwrap();
    let parent = repo.git(&["rev-parse", "HEAD"]);
    let commit = format!("tree {tree}parent {parent}\nauthor A <a@x> 1 +0000\ncommitter A <a@x> 1 +0000\n\nBroken\n");
    let commit = git.feed(&["hash-object", "-t", "commit", "-w", "--stdin"], commit.as_bytes()).expect("git takes it");
    repo.git(&["update-ref", "refs/heads/broken", String::from_utf8(commit).unwrap().trim()]);
    place.add(&place.path("repo"), &["--all-branches"]);
    assert_eq!(place.subjects(), ["Broken", "One"]);
}

#[test]
fn a_call_that_fails_is_a_readable_line_of_the_log() {
    let place = Place::new();
    let repo = commits(&place, "shop", &["Begin"]);
    place.add(repo.path(), &[]);
    let mut server = place.serve(&["--no-refresh"]);
    for (tool, arguments) in [
        ("cortex_search", json!({"query": "x", "limit": "many"})),
        ("cortex_search", json!({"qeury": "x"})),
        ("commitmux_get_commit", json!({"repo": "other", "sha": "abcd"})),
        ("cortex_saerch", json!({"query": "x"})),
    ] {
        let params = json!({"name": tool, "arguments": arguments});
        server.raw(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string());
    }
    let log = server.end().log;
    // Without the time.
    let lines: Vec<&str> = log.lines().filter_map(|line| Some(line.split_once("Z  ")?.1)).collect();
    expect_test::expect![[r#"
        WARN `limit` cannot be "many" tool="cortex_search" code="invalid_argument"
        WARN `cortex_search` has no argument `qeury` tool="cortex_search" code="invalid_argument"
        WARN Repository other not found. Registered repositories: shop tool="commitmux_get_commit" code="repo_not_found"
        WARN Unknown tool: cortex_saerch (did you mean cortex_search?)"#]]
    .assert_eq(&lines.join("\n"));
}
