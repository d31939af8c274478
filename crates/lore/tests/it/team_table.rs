//! Who may call what on a team server: every tool, every role, and repositories of one's own, of others and of nobody.

use std::{collections::BTreeMap, path::Path};

use expect_test::{Expect, expect};
use lore_testkit::TeamServer;
use lore_tools::Toolset;
use serde_json::{Value, json};

/// The toolsets that a server has.
const SERVED: [Toolset; 6] =
    [Toolset::Code, Toolset::Repos, Toolset::Insight, Toolset::Admin, Toolset::History, Toolset::Why];

const QUERY: &str = "query_repos";
const ACTIVATE: &str = "activate_repos";
const GOLDEN: &str = "manage_golden_repos";
const USERS: &str = "manage_users";

/// One user of each role, and one more.
const ROLES: [(&str, &str, &[&str]); 3] = [
    ("root", "admin", &[QUERY, ACTIVATE, GOLDEN, USERS]),
    ("pow", "power_user", &[QUERY, ACTIVATE]),
    ("nor", "normal_user", &[QUERY]),
];

/// What a call is about.
enum About {
    /// Nothing that belongs to somebody.
    Nothing(Value),
    /// What the caller can ask: an activation, a composite or a golden repository, by this argument.
    Asked(&'static str, Value),
    /// One of several that the caller can ask.
    AskedList(&'static str, Value),
    /// What the caller has activated.
    Own(&'static str, Value),
    /// A golden repository, which everybody sees.
    Golden(&'static str, Value),
    /// A job.
    Job,
}

use About::{Asked, AskedList, Golden, Job, Nothing, Own};

/// Every tool: what it needs, and what a call of it is about.
fn table() -> Vec<(&'static str, &'static str, About)> {
    let none = || json!({});
    vec![
        ("commitmux_search", QUERY, AskedList("repos", json!({"query": "heron"}))),
        ("commitmux_touches", QUERY, AskedList("repos", json!({"path_glob": "src/"}))),
        ("commitmux_get_commit", QUERY, Asked("repo", json!({"sha": "HEAD"}))),
        ("commitmux_get_patch", QUERY, Asked("repo", json!({"sha": "HEAD"}))),
        ("explain_lines", QUERY, Asked("repo", json!({"file": "src/heron.rs", "lines": "1"}))),
        ("co_changed", QUERY, Asked("repo", json!({"files": ["src/heron.rs"]}))),
        ("find_related", QUERY, Asked("repo", json!({"file": "src/heron.rs", "line": 1}))),
        ("was_tried", QUERY, Asked("repo", json!({"text": "heron"}))),
        ("search_code", QUERY, Asked("repository_alias", json!({"query_text": "heron", "search_mode": "fts"}))),
        ("list_files", QUERY, Asked("repository_alias", none())),
        ("get_file_content", QUERY, Asked("repository_alias", json!({"file_path": "src/heron.rs"}))),
        ("browse_directory", QUERY, Asked("repository_alias", none())),
        ("get_branches", QUERY, Asked("repository_alias", none())),
        ("check_health", QUERY, Nothing(none())),
        ("discover_repositories", QUERY, Nothing(none())),
        ("list_repositories", QUERY, Nothing(none())),
        ("activate_repository", ACTIVATE, Golden("golden_repo_alias", json!({"user_alias": "again"}))),
        ("deactivate_repository", ACTIVATE, Own("user_alias", none())),
        ("get_repository_status", QUERY, Asked("user_alias", none())),
        ("sync_repository", ACTIVATE, Own("user_alias", none())),
        ("switch_branch", ACTIVATE, Own("user_alias", json!({"branch_name": "main"}))),
        (
            "manage_composite_repository",
            ACTIVATE,
            Own("user_alias", json!({"operation": "update", "golden_repo_aliases": ["api"]})),
        ),
        ("get_job_details", QUERY, Job),
        ("cancel_job", QUERY, Job),
        ("add_golden_repo", GOLDEN, Nothing(json!({"url": "https://192.0.2.1/x.git", "alias": "new"}))),
        ("remove_golden_repo", GOLDEN, Golden("alias", none())),
        ("refresh_golden_repo", GOLDEN, Golden("alias", none())),
        ("list_users", USERS, Nothing(none())),
        (
            "create_user",
            USERS,
            Nothing(json!({"username": "dev", "password": "secure-password-here", "role": "normal_user"})),
        ),
        ("get_repository_statistics", QUERY, Asked("repository_alias", none())),
        ("get_job_statistics", QUERY, Nothing(none())),
        ("get_all_repositories_status", QUERY, Nothing(none())),
    ]
}

/// A server with a golden repository, a user of each role, and `eve`, who has activations and composites of her own.
fn server() -> TeamServer {
    let mut server = TeamServer::start(Path::new(env!("CARGO_BIN_EXE_lore")));
    for (name, role, _) in ROLES {
        server.add_user(name, role);
    }
    server.add_user("eve", "power_user");
    for name in ["api", "web"] {
        let repo = server.repo(name);
        repo.write("src/heron.rs", format!("pub fn heron_{name}() {{}}\n"));
        repo.commit("The heron stands");
        server.add_golden("root", &repo, name, &json!({}));
    }
    activate(&server, "eve", "eves-own");
    let both = json!({"operation": "create", "user_alias": "eves-all", "golden_repo_aliases": ["api", "web"]});
    server.done("eve", &server.ask("eve", "manage_composite_repository", &both));
    server
}

/// Gives a user an alias for `api`.
#[track_caller]
fn activate(server: &TeamServer, user: &str, alias: &str) -> Value {
    let asked = json!({"golden_repo_alias": "api", "user_alias": alias});
    let answer = server.ask(user, "activate_repository", &asked);
    server.done(user, &answer);
    answer
}

fn with(mut arguments: Value, name: &str, value: Value) -> Value {
    arguments[name] = value;
    arguments
}

/// The arguments of a call that names that repository, where it names one.
fn naming(about: &About, alias: &str) -> Option<Value> {
    match about {
        Asked(name, more) | Own(name, more) | Golden(name, more) => Some(with(more.clone(), name, alias.into())),
        AskedList(name, more) => Some(with(more.clone(), name, json!([alias]))),
        Nothing(_) | Job => None,
    }
}

fn listed(server: &TeamServer, user: &str) -> Vec<Value> {
    server.message(user, "tools/list", &json!({}))["result"]["tools"].as_array().expect("a list").clone()
}

#[test]
fn every_tool_has_a_row_and_every_role_is_shown_what_it_may_call() {
    let server = server();
    let rows: BTreeMap<&str, &str> = table().into_iter().map(|(tool, permission, _)| (tool, permission)).collect();
    let registry = lore_tools::server_tools(&SERVED);
    let registered: BTreeMap<&str, &str> = registry.iter().map(|tool| (tool.name, tool.permission.as_str())).collect();
    assert_eq!(rows, registered, "a tool without a row, or with another permission");
    for (user, _, may) in ROLES {
        let names: Vec<Value> = listed(&server, user).into_iter().map(|tool| tool["name"].clone()).collect();
        let expected: Vec<&str> =
            registry.iter().filter(|tool| may.contains(&tool.permission.as_str())).map(|tool| tool.name).collect();
        assert_eq!(names, expected, "{user}");
    }
}

/// FNV-1a: enough to see that something changed.
fn hash(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

/// A host approves tools once. Whoever changes one on purpose changes the hash here with it.
#[test]
fn the_list_of_tools_is_the_same_to_the_byte() {
    let server = server();
    let check = |user: &str, path: &str, expected: &Expect| {
        let list = || {
            let bearer = format!("Bearer {}", server.token(user));
            let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string();
            let headers = [("Authorization", bearer.as_str()), ("Accept", "application/json")];
            server.http("POST", path, &headers, asked.as_bytes()).expect("it answers").text
        };
        let first = list();
        assert_eq!(first, list());
        let list: Value = serde_json::from_str(&first).expect("it is JSON");
        let count = list["result"]["tools"].as_array().expect("there are tools").len();
        expected.assert_eq(&format!("{count} tools, {} bytes, {}", first.len(), hash(&first)));
    };
    check("root", "/mcp", &expect!["32 tools, 21484 bytes, 0a2e5f4f39ab019c"]);
    check("pow", "/mcp", &expect!["27 tools, 18821 bytes, 2340fd0c9a58ef34"]);
    check("nor", "/mcp", &expect!["22 tools, 15673 bytes, 1b116aeea7818cf0"]);
    check("root", "/mcp/repos", &expect!["10 tools, 5555 bytes, 5fa007d1f68d5935"]);
    check("nor", "/mcp/code", &expect!["6 tools, 6760 bytes, 4ad9667ef7c6ff65"]);
}

#[test]
fn each_role_may_call_what_its_permissions_say_and_nothing_else() {
    let server = server();
    for (user, _, may) in ROLES {
        let can_activate = may.contains(&ACTIVATE);
        for (tool, permission, about) in table() {
            // What is there for this user, and what is not.
            let mut own = "api".to_owned();
            if let (Own(..), true) = (&about, can_activate) {
                own = format!("{user}-own");
                let golden = json!({"operation": "create", "user_alias": own, "golden_repo_aliases": ["web"]});
                if tool == "manage_composite_repository" {
                    server.done(user, &server.ask(user, tool, &golden));
                } else {
                    activate(&server, user, &own);
                }
            }
            let job = if can_activate { activate(&server, user, "for-a-job")["job_id"].clone() } else { json!("none") };
            let others = activate(&server, "eve", "eves-own")["job_id"].clone();
            let mut calls: Vec<(Value, bool)> = match &about {
                Nothing(arguments) => vec![(arguments.clone(), true)],
                Job => vec![
                    (json!({"job_id": job}), can_activate),
                    (json!({"job_id": others}), may.contains(&GOLDEN)),
                    (json!({"job_id": "0".repeat(32)}), false),
                ],
                named => [(own.as_str(), true), ("eves-own", false), ("no-such", false)]
                    .into_iter()
                    .filter_map(|(alias, there)| Some((naming(named, alias)?, there)))
                    .collect(),
            };
            if tool.starts_with("commitmux_get") {
                let head = lore_testkit::Git::at(server.repos().join("api")).text(&["rev-parse", "HEAD"]);
                let head = head.expect("git knows");
                calls = calls.into_iter().map(|(asked, there)| (with(asked, "sha", json!(head)), there)).collect();
            }
            for (arguments, there) in calls {
                let answer = server.call(user, tool, &arguments);
                let shown = format!("{user} {tool} {arguments}: {answer}");
                if !may.contains(&permission) {
                    let denied = format!("Permission denied: {permission} required for tool {tool}");
                    assert_eq!(
                        (&answer["error"]["code"], &answer["error"]["message"]),
                        (&json!(-32602), &json!(denied))
                    );
                    assert!(answer["result"].is_null(), "{shown}");
                    continue;
                }
                let succeeded = answer["error"].is_null() && answer["result"]["isError"] != true;
                // What is activated, by whomever, is not simply taken away from everybody.
                let kept = tool == "remove_golden_repo";
                assert_eq!(succeeded, there && !kept, "{shown}");
                assert!(!answer.to_string().contains("Permission denied"), "{shown}");
            }
            if let (Own(..), true) = (&about, can_activate && tool != "deactivate_repository") {
                server.ask(user, "deactivate_repository", &json!({"user_alias": own}));
            }
        }
    }
}

/// What another user has is answered like what nobody has: nothing tells that it is there.
#[test]
fn what_others_have_is_as_little_there_as_what_nobody_has() {
    let server = server();
    let answer = |user: &str, tool: &str, arguments: &Value, alias: &str| {
        server.call(user, tool, arguments).to_string().replace(alias, "NAME")
    };
    for (user, _, _) in ROLES {
        for (tool, _, about) in table() {
            for (theirs, nobodys) in [("eves-own", "evex-own"), ("eves-all", "eves-xxx"), ("eves-own", "zzzzzzzz")] {
                let Some(asked) = naming(&about, theirs) else { continue };
                let missing = naming(&about, nobodys).expect("it names one");
                let (asked, missing) = (answer(user, tool, &asked, theirs), answer(user, tool, &missing, nobodys));
                assert_eq!(asked, missing, "{user} {tool}");
                assert!(!asked.contains("eve"), "{user} {tool}: {asked}");
            }
        }
    }
    // A name that another has is free.
    assert!(activate(&server, "pow", "eves-own").to_string().contains("eves-own"));
    let own = server.ask("pow", "list_repositories", &json!({}));
    assert_eq!((&own["total"], &own["repositories"][0]["activated_at"].is_string()), (&json!(1), &true));
}

/// Where nothing is named, a question about history is about what the caller has activated, as one about code is.
#[test]
fn history_without_a_name_is_about_what_the_caller_has() {
    let server = server();
    activate(&server, "pow", "mine");
    let repos = |user: &str, tool: &str, asked: &Value| -> Vec<String> {
        let rows = server.ask(user, tool, asked);
        let mut names: Vec<String> = rows
            .as_array()
            .expect("a list")
            .iter()
            .map(|row| row["repo"].as_str().expect("a name").to_owned())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    for (tool, asked) in
        [("commitmux_search", json!({"query": "heron"})), ("commitmux_touches", json!({"path_glob": "src/"}))]
    {
        assert_eq!(repos("pow", tool, &asked), ["mine"], "{tool}: as the caller calls it");
        assert_eq!(repos("eve", tool, &asked), ["api", "web"], "{tool}: members of a composite");
        assert_eq!(repos("nor", tool, &asked), ["api", "web"], "{tool}: whoever has nothing asks all");
    }
}

#[test]
fn jobs_tokens_and_counts_are_each_users_own() {
    let server = server();
    let job = activate(&server, "eve", "eves-own")["job_id"].as_str().expect("a job").to_owned();
    let nobodys = "0123456789abcdef0123456789abcdef";
    assert_eq!(job.len(), nobodys.len());
    for user in ["pow", "nor"] {
        for tool in ["get_job_details", "cancel_job"] {
            let ask = |id: &str| server.refused(user, tool, &json!({"job_id": id})).replace(id, "JOB");
            assert_eq!(ask(&job), ask(nobodys), "{user} {tool}");
        }
        for (method, rest) in [("GET", ""), ("POST", "/cancel")] {
            let ask = |id: &str| {
                let body = if method == "GET" { Value::Null } else { json!({}) };
                let answer = server.rest(user, method, &format!("/api/jobs/{id}{rest}"), &body);
                (answer.status, answer.text.replace(id, "JOB"))
            };
            assert_eq!(ask(&job), ask(nobodys), "{user} {method}");
            assert_eq!(ask(&job).0, 404, "{user} {method}");
        }
        let all = server.rest("root", "GET", "/api/tokens?all=true", &Value::Null).json();
        let eves = all["tokens"].as_array().expect("a list").iter().find(|token| token["username"] == "eve");
        let eves = eves.expect("eve has one")["id"].to_string().replace('"', "");
        let revoke = |id: &str| {
            let answer = server.rest(user, "DELETE", &format!("/api/tokens/{id}"), &Value::Null);
            (answer.status, answer.text.replace(id, "TOKEN"))
        };
        assert_eq!(revoke(&eves), revoke(&"9".repeat(eves.len())), "{user}");
        assert_eq!(revoke(&eves).0, 404);
        let own = server.rest(user, "GET", "/api/tokens", &Value::Null).json();
        assert_eq!(own["total"], 1, "{own}");
        assert_eq!(server.rest(user, "GET", "/api/tokens?all=true", &Value::Null).status, 403);
        let counted = server.ask(user, "get_job_statistics", &json!({}));
        assert_eq!(counted["statistics"]["total"], 0, "{user}: {counted}");
        let health = server.ask(user, "check_health", &json!({}));
        assert_eq!(health["health"]["system"]["active_jobs"], 0, "{user}: {health}");
        assert_eq!(server.rest(user, "GET", "/metrics", &Value::Null).status, 403, "{user}");
        assert_eq!(server.rest(user, "GET", "/api/jobs", &Value::Null).json(), json!({"jobs": [], "total": 0}));
        let own = server.ask(user, "list_repositories", &json!({}));
        assert_eq!((&own["repositories"], &own["total"]), (&json!([]), &json!(0)));
        let status = server.ask(user, "get_all_repositories_status", &json!({}));
        assert!(!status.to_string().contains("eve"), "{status}");
    }
    let counted = server.ask("eve", "get_job_statistics", &json!({}));
    assert_eq!((&counted["statistics"]["total"], &counted["statistics"]["completed"]), (&json!(3), &json!(3)));
    let counted = server.ask("root", "get_job_statistics", &json!({}));
    assert_eq!(counted["statistics"]["total"], 5, "two golden repositories and what eve did");
}
