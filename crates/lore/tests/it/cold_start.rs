//! The first calls of a first session: an index that does not exist yet is waited for, and never looks like an empty one.

use std::fs::File;

use lore_testkit::Repo;
use serde_json::{Value, json};

use crate::place::Place;

/// A repository that nobody has registered.
fn unknown(place: &Place) -> Repo {
    let repo = place.repo("shop");
    repo.write(
        "src/login.rs",
        "/// Checks the password of a user.\npub fn login(password: &str) -> bool {\n    true\n}\n",
    );
    repo.commit("Check passwords at login");
    repo.write(
        "src/login.rs",
        "/// Checks the password of a user.\npub fn login(password: &str) -> bool {\n    false\n}\n",
    );
    repo.write("src/store.rs", "pub struct Store;\n");
    repo.commit("Refuse every password");
    repo
}

fn questions() -> [(&'static str, Value); 6] {
    [
        ("commitmux_search", json!({"query": "password"})),
        ("cortex_search", json!({"query": "where is the password checked"})),
        ("commitmux_touches", json!({"path_glob": "src/login"})),
        ("co_changed", json!({"files": ["src/login.rs"]})),
        ("explain_lines", json!({"file": "src/login.rs", "lines": "2"})),
        ("find_related", json!({"file": "src/login.rs", "line": 2})),
    ]
}

#[test]
fn the_first_call_of_each_kind_waits_for_the_index_it_needs() {
    for (tool, arguments) in questions() {
        let place = Place::new();
        let repo = unknown(&place);
        let mut server = place.serve(&["--project", repo.path().to_str().expect("it is UTF-8")]);
        let answer = server.call(tool, &arguments);
        assert!(!answer.is_error, "{tool}: {}", answer.text);
        assert!(!answer.more.contains("yet") && !answer.more.contains("in part"), "{tool}: {}", answer.more);
        let is_empty = match &answer.value {
            Value::Array(results) => results.is_empty(),
            // One file is in both commits, and nothing is related to so little code.
            value => value["results"].as_array().is_some_and(Vec::is_empty) && tool == "cortex_search",
        };
        assert!(!is_empty, "{tool}: {}", answer.text);
        assert!(server.end().status.success());
    }
}

#[test]
fn where_nothing_is_indexed_the_model_reads_so() {
    let place = Place::new();
    let repo = unknown(&place);
    let path = repo.path().to_str().expect("it is UTF-8").to_owned();
    place.lore.json(&["add", &path, "--no-sync", "--json"]);
    let mut server = place.serve(&["--no-refresh", "--project", &path]);
    for (tool, what) in [
        ("commitmux_search", "the history of shop has not been read yet"),
        ("commitmux_touches", "the history of shop has not been read yet"),
        ("co_changed", "the history of shop has not been read yet"),
        ("cortex_search", "the code of shop has not been indexed yet"),
    ] {
        let arguments = questions().into_iter().find(|(name, _)| *name == tool).expect("it is asked").1;
        let answer = server.call(tool, &arguments);
        assert!(answer.more.contains(what) && answer.more.contains("may still exist"), "{tool}: {answer:?}");
    }
    let tried = server.call("was_tried", &json!({"text": "password"})).more;
    assert!(tried.contains("the code of shop") && tried.contains("the history of shop"), "{tried}");
    assert!(server.end().status.success());
}

#[test]
fn calls_that_need_no_index_never_wait() {
    let place = Place::new();
    let repo = unknown(&place);
    // Another process holds the index, so this server cannot make it.
    std::fs::create_dir_all(place.lore.home()).expect("it can be made");
    let held = File::create(place.lore.home().join("writer.lock")).expect("it can be made");
    held.lock().expect("nothing else writes");
    let mut server = place.serve(&["--project", repo.path().to_str().expect("it is UTF-8")]);
    let waiting = server.begin("tools/call", &json!({"name": "commitmux_search", "arguments": {"query": "password"}}));
    let messages = server.request("tools/call", &json!({"name": "check_lazygit_messages", "arguments": {}}));
    assert_eq!(messages["content"][0]["text"], "No new messages from lazygit");
    assert!(server.request("tools/list", &json!({}))["tools"].is_array());
    server.notify("notifications/cancelled", &json!({"requestId": waiting}));
    // The next call waits as well, and is answered once the index is there.
    drop(held);
    let answer = server.call("commitmux_search", &json!({"query": "password"}));
    assert_eq!(answer.value.as_array().map(Vec::len), Some(2), "{answer:?}");
    assert!(server.end().status.success());
}

#[test]
fn the_first_call_knows_the_project_that_is_registered_meanwhile() {
    let place = Place::new();
    let repo = unknown(&place);
    let project = repo.path().to_str().expect("it is UTF-8");
    for tool in
        ["list_repositories", "commitmux_list_repos", "get_all_repositories_status", "get_branches", "list_files"]
    {
        let other = Place::new();
        let mut server = other.serve(&["--project", project, "--toolsets", "history,code,repos,insight"]);
        let answer = server.call(tool, &json!({}));
        assert!(!answer.is_error && !answer.text.contains("registered"), "{tool}: {answer:?}");
        let rows = answer.value.as_array().or_else(|| answer.value["repositories"].as_array());
        assert!(rows.is_none_or(|rows| rows.len() == 1), "{tool}: {answer:?}");
    }
}
