//! What holds of every answer of every tool: its payload is there once, and a model is told whose words they are.

use std::{collections::BTreeSet, path::Path};

use lore_testkit::TeamServer;
use lore_tools::{
    Content::{self, Own, Procedure, Repository, Review},
    Toolset,
};
use serde_json::{Value, json};

use crate::{commands::Team, stdio::Server};

/// The longer texts of an answer: what it was asked for.
fn payload(text: &str) -> Vec<String> {
    fn leaves(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
            Value::Object(fields) => fields.values().for_each(|value| leaves(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    match serde_json::from_str(text) {
        Ok(value) => leaves(&value, &mut found),
        Err(_) => found.extend(text.lines().map(|line| line.rsplit(": ").next().unwrap_or_default().to_owned())),
    }
    // A commit and a time say which of several it is.
    let names_one = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit() || b"-:.TZ".contains(&byte));
    found.retain(|text| text.len() > 12 && !names_one(text));
    found
}

/// Whether a result has its payload in its first text and nowhere else, and says whose words that is.
#[track_caller]
fn check(tool: &str, result: &Value, content: Content) {
    check_label(tool, result, content);
    let text = result["content"][0]["text"].as_str().expect("there is a text");
    let beside = json!([result["content"][1], result["_meta"]]).to_string();
    for text in payload(text) {
        let quoted = json!(text).to_string();
        assert!(!beside.contains(quoted.trim_matches('"')), "{tool}: {text:?} is in {beside} too");
    }
}

/// Whether a result says, exactly once, whose words it has.
#[track_caller]
fn check_label(tool: &str, result: &Value, content: Content) {
    assert!(result["structuredContent"].is_null(), "{tool}: {result}");
    let texts = result["content"].as_array().unwrap_or_else(|| panic!("{tool} has no content: {result}")).iter();
    let texts: Vec<&str> = texts.map(|content| content["text"].as_str().expect("all content is text")).collect();
    let (text, more) = match texts[..] {
        [text] => (text, ""),
        [text, more] => (text, more),
        _ => panic!("{tool}: {} texts", texts.len()),
    };
    assert_eq!(result["_meta"]["lore/content"], json!(content.label()), "{tool}: {result}");
    for other in [Repository, Review, Procedure] {
        let label = other.label().expect("it has one");
        let count = more.lines().filter(|line| *line == label).count();
        assert_eq!(count, usize::from(other == content), "{tool}: {more}");
        assert!(!text.contains(label), "{tool}: {text}");
    }
}

/// A project with everything that a tool can tell of, and a server that has every toolset.
fn project() -> (Team, Server) {
    let team = Team::new();
    let repo = &team.repo;
    repo.write("src/heron.rs", "/// Stands in the water and waits.\npub fn heron_stands() -> usize {\n    42\n}\n");
    repo.commit("Let the heron stand in the water");
    repo.write("src/heron.rs", "/// Stands in the water and waits.\npub fn heron_stands() -> usize {\n    43\n}\n");
    repo.write(
        "src/egret.rs",
        "/// Stands in the water and waits, too.\npub fn egret_stands() -> usize {\n    42\n}\n",
    );
    repo.commit("Let an egret stand beside the heron");
    repo.git(&["revert", "--no-edit", "HEAD"]);
    team.place.add(repo.path(), &["--name", "team"]);
    let mut said = team.place.lore.command(&["comment", "--file", "src/heron.rs", "--line", "2"]);
    let said = said.arg("Say what it is that the heron waits for").current_dir(repo.path()).output();
    assert!(said.expect("lore starts").status.success());
    let toolsets = Toolset::ALL.map(Toolset::name).join(",");
    let server = team.place.serve(&["--no-refresh", "--project", team.folder(), "--toolsets", &toolsets]);
    (team, server)
}

/// A call of each tool that is there on every machine, which finds something.
fn calls(head: &str) -> Vec<(&'static str, Value, Content)> {
    let command = json!({"c1": "climpt-git", "c2": "group-commit", "c3": "unstaged-changes"});
    vec![
        ("commitmux_search", json!({"query": "heron"}), Repository),
        ("commitmux_touches", json!({"path_glob": "src/"}), Repository),
        ("commitmux_get_commit", json!({"repo": "team", "sha": head}), Repository),
        ("commitmux_list_repos", json!({}), Repository),
        ("commitmux_get_patch", json!({"repo": "team", "sha": head}), Repository),
        ("cortex_search", json!({"query": "who stands in the water"}), Repository),
        ("explain_lines", json!({"file": "src/heron.rs", "lines": "1-3"}), Repository),
        ("co_changed", json!({"files": ["src/heron.rs"]}), Repository),
        ("find_related", json!({"file": "src/heron.rs", "line": 2}), Repository),
        ("was_tried", json!({"text": "egret"}), Repository),
        ("check_lazygit_messages", json!({}), Review),
        ("search", json!({"query": "group commits"}), Repository),
        ("describe", command.clone(), Repository),
        ("execute", command, Procedure),
        ("reload", json!({}), Own),
        ("search_code", json!({"query_text": "heron", "search_mode": "fts"}), Repository),
        ("list_files", json!({"path": "src"}), Repository),
        ("get_file_content", json!({"file_path": "src/heron.rs"}), Repository),
        ("browse_directory", json!({}), Repository),
        ("get_branches", json!({}), Repository),
        ("check_health", json!({}), Own),
        ("discover_repositories", json!({}), Repository),
        ("list_repositories", json!({}), Repository),
        ("get_repository_status", json!({"user_alias": "team"}), Repository),
        ("get_repository_statistics", json!({"repository_alias": "team"}), Repository),
        ("get_all_repositories_status", json!({}), Repository),
    ]
}

#[test]
fn a_payload_is_there_once_and_its_words_are_labelled() {
    let (team, mut server) = project();
    let head = team.repo.git(&["rev-parse", "HEAD"]);
    for (tool, arguments, content) in calls(head.trim()) {
        let result = server.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(result["isError"], false, "{tool}: {result}");
        check(tool, &result, content);
    }
}

#[test]
fn what_found_nothing_has_no_label() {
    let (_team, mut server) = project();
    let mut ask =
        |tool: &str, arguments: &Value| server.request("tools/call", &json!({"name": tool, "arguments": arguments}));
    ask("check_lazygit_messages", &json!({}));
    for (tool, arguments) in [
        ("commitmux_search", json!({"query": "flamingo"})),
        ("commitmux_touches", json!({"path_glob": "flamingo"})),
        ("cortex_search", json!({"query": "heron", "path": "flamingo/**"})),
        ("was_tried", json!({"text": "flamingo"})),
        ("check_lazygit_messages", json!({})),
        ("search_code", json!({"query_text": "flamingo", "search_mode": "fts"})),
    ] {
        let result = ask(tool, &arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        check(tool, &result, Own);
    }
}

#[test]
fn an_empty_answer_says_which_argument_leaves_everything_out() {
    let (team, mut server) = project();
    team.repo.write("src/new.rs", "pub fn new() {}\n");
    for (tool, arguments, why) in [
        (
            "search_code",
            json!({"query_text": "heron", "path_filter": "heron.rs"}),
            "no indexed path matches `heron.rs`; `*/heron.rs` matches some",
        ),
        (
            "search_code",
            json!({"query_text": "heron", "search_mode": "fts", "path_filter": "lib/**"}),
            "no indexed path matches `lib/**`",
        ),
        (
            "search_code",
            json!({"query_text": "heron", "file_extensions": ["rust"]}),
            "no indexed file ends with `rust`",
        ),
        (
            "search_code",
            json!({"query_text": "heron", "search_mode": "fts", "language": "go"}),
            "no indexed file is in the language `go`",
        ),
        (
            "search_code",
            json!({"query_text": "heron", "language": "rust", "file_extensions": [".md"]}),
            "no indexed file matches all of the filters",
        ),
        (
            "cortex_search",
            json!({"query": "heron", "path": "/home/me/team/src/heron.rs"}),
            "`src/heron.rs` matches some",
        ),
        ("commitmux_search", json!({"query": "flamingo"}), "no commit matches the query in the history of team"),
        (
            "commitmux_search",
            json!({"query": "heron", "paths": ["lib/"]}),
            "no commit matches the query with paths in the history of team",
        ),
        (
            "commitmux_touches",
            json!({"path_glob": "flamingo"}),
            "no commit changes a path that contains `flamingo` in the history of team",
        ),
        ("was_tried", json!({"text": "flamingo"}), "nothing like it was removed or reverted in the history of team"),
        (
            "co_changed",
            json!({"files": ["src/herom.rs"]}),
            "no indexed commit changes `src/herom.rs`, and no such file exists: did you mean `src/heron.rs`?",
        ),
        (
            "co_changed",
            json!({"files": ["src/heron.rs", "flamingo"]}),
            "no indexed commit changes `flamingo`, and no such file exists: pass the path of a file",
        ),
        (
            "co_changed",
            json!({"files": ["src/new.rs"]}),
            "no indexed commit changes `src/new.rs`, although the file exists",
        ),
        (
            "explain_lines",
            json!({"file": "src/heron.rs", "lines": "2-99"}),
            "the file ends before line 2-99: this is about 2-4",
        ),
    ] {
        let result = server.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
        let texts = format!("{} {}", result["content"][0]["text"], result["content"][1]["text"]);
        assert!(texts.contains(why), "{tool} {arguments}: {why:?} is not in {texts}");
    }
    for (tool, arguments, why) in [
        ("explain_lines", json!({"file": "herom.rs"}), "did you mean `src/heron.rs`?"),
        (
            "find_related",
            json!({"file": "lib/heron.rs", "line": 1}),
            "is not in the index; did you mean `src/heron.rs`?",
        ),
        ("commitmux_search", json!({"query": "heron", "repos": ["taem"]}), "did you mean `team`?"),
        ("commitmux_search", json!({"query": "heron", "paths": vec!["src"; 501]}), "`paths` names 501"),
    ] {
        let result = server.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        let texts = format!("{} {}", result["content"][0]["text"], result["content"][1]["text"]);
        assert!(texts.contains(why), "{tool} {arguments}: {why:?} is not in {texts}");
    }
}

#[test]
fn a_tool_of_a_toolset_that_is_off_is_told_with_its_toolset() {
    let (team, _) = project();
    let mut server = team.place.serve(&["--no-refresh", "--project", team.folder()]);
    let call = json!({"jsonrpc": "2.0", "id": "e", "method": "tools/call", "params": {"name": "search_code", "arguments": {}}});
    let error = server.raw(&call.to_string())["error"].take();
    assert_eq!(error["message"], "search_code is in the toolset `code`, which is off: start `lore serve` with it");
}

#[test]
fn errors_are_labelled_where_they_quote_a_repository() {
    let (_team, mut server) = project();
    let (named, other) = (json!({"c1": "git", "c2": "group-commit", "c3": "unstaged-change"}), "z".repeat(60));
    for (tool, arguments, content) in [
        ("get_file_content", json!({"file_path": "src/herom.rs"}), Repository),
        ("list_files", json!({"path": "srcs"}), Repository),
        ("describe", named, Repository),
        ("describe", json!({"c1": other, "c2": other, "c3": other}), Own),
        ("get_file_content", json!({"file_path": "../secret"}), Own),
        ("commitmux_get_patch", json!({"repo": "team", "sha": "ffffffff"}), Own),
        ("commitmux_search", json!({"query": ""}), Own),
        ("explain_lines", json!({"file": "src/heron.rs", "lines": "x"}), Own),
    ] {
        let result = server.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(result["isError"], true, "{tool}: {result}");
        check_label(tool, &result, content);
    }
}

#[test]
fn prompts_resources_and_errors_of_the_protocol_are_labelled() {
    let (team, mut server) = project();
    let name = "climpt-git_group-commit_unstaged-changes";
    let prompt = server.request("prompts/get", &json!({"name": name}));
    assert_eq!(prompt["_meta"]["lore/content"], json!(Procedure.label()));
    assert_eq!(prompt["messages"].as_array().map(Vec::len), Some(1), "a person's words are as they were chosen");
    let resource = server.request("resources/read", &json!({"uri": "lazygit://messages"}));
    let contents = resource["contents"].as_array().expect("a list of contents");
    assert_eq!(contents.len(), 1, "as documented: {resource}");
    assert_eq!(contents[0]["_meta"]["lore/content"], json!(Review.label()));
    assert!(contents[0]["text"].as_str().is_some_and(|text| text.contains("heron waits for")), "{resource}");
    assert!(!contents[0]["_meta"].to_string().contains("heron waits for"), "{resource}");
    let mut told = |method: &str, params: &Value| {
        let message = json!({"jsonrpc": "2.0", "id": "e", "method": method, "params": params}).to_string();
        server.raw(&message)["error"].take()
    };
    let label = Repository.label().expect("it has one");
    let near = told("prompts/get", &json!({"name": "climpt-git_group-commit_unstaged-change"}));
    assert_eq!(near["data"]["content"], label, "{near}");
    assert_eq!(
        near["message"],
        format!("there is no prompt `climpt-git_group-commit_unstaged-change` (did you mean `{name}`?; {label})")
    );
    let empty = told("tools/call", &json!({"name": "cortex_search", "arguments": {"query": ""}}));
    assert!(empty["data"]["content"].is_null() && !empty.to_string().contains(label), "{empty}");
    drop(team);
}

#[test]
fn what_a_team_server_says_of_itself_has_no_label() {
    let mut server = TeamServer::start(Path::new(env!("CARGO_BIN_EXE_lore")));
    server.add_user("root", "admin");
    for name in ["api", "web", "spare"] {
        let repo = server.repo(name);
        repo.write("src/heron.rs", "pub fn heron() {}\n").commit("The heron stands");
        repo.git(&["branch", "dev"]);
        server.add_golden("root", &repo, name, &json!({}));
    }
    let more = server.repo("more");
    more.write("src/egret.rs", "pub fn egret() {}\n").commit("The egret flies");
    let user = json!({"username": "dev", "password": "secure-password-here", "role": "normal_user"});
    let own = json!({"user_alias": "own"});
    let mut last_job = Value::Null;
    let mut covered: BTreeSet<&str> = calls("").into_iter().map(|(tool, ..)| tool).collect();
    for (tool, arguments, content) in [
        ("activate_repository", json!({"golden_repo_alias": "api", "user_alias": "own"}), Own),
        ("switch_branch", json!({"user_alias": "own", "branch_name": "dev"}), Own),
        ("sync_repository", own.clone(), Own),
        ("deactivate_repository", own, Own),
        (
            "manage_composite_repository",
            json!({"operation": "create", "user_alias": "all", "golden_repo_aliases": ["api", "web"]}),
            Own,
        ),
        ("refresh_golden_repo", json!({"alias": "web"}), Own),
        ("get_job_details", json!({"wait_seconds": 60}), Own),
        ("cancel_job", json!({}), Own),
        ("list_users", json!({}), Own),
        ("create_user", user, Own),
        ("get_job_statistics", json!({}), Own),
        ("list_repositories", json!({}), Repository),
        ("discover_repositories", json!({}), Repository),
        ("get_file_content", json!({"repository_alias": "all", "file_path": "web/src/heron.rs"}), Repository),
        ("add_golden_repo", json!({"url": more.path(), "alias": "more"}), Own),
        ("remove_golden_repo", json!({"alias": "spare"}), Own),
    ] {
        let mut arguments = arguments;
        if ["get_job_details", "cancel_job"].contains(&tool) {
            arguments["job_id"] = last_job.clone();
        }
        let answer = server.call("root", tool, &arguments);
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{tool}: {answer}");
        check(tool, result, content);
        let told = result["content"][0]["text"].as_str().expect("an answer has a text");
        let told: Value = serde_json::from_str(told).expect("the text is JSON");
        if told["job_id"].is_string() {
            server.job_of("root", &told);
            last_job = told["job_id"].clone();
        }
        covered.insert(tool);
    }
    let tools = lore_tools::server_tools(&Toolset::ALL);
    assert_eq!(covered, tools.iter().map(|tool| tool.name).collect(), "a tool without a call here");
}
