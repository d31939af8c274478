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
        ("commitmux_list_repos", QUERY, Nothing(none())),
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
        ("add_golden_repo", GOLDEN, Nothing(json!({"url": "https://no-such-host.invalid/x.git", "alias": "new"}))),
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
    check("root", "/mcp", &expect!["33 tools, 22614 bytes, b4dabbbd88f05d78"]);
    check("pow", "/mcp", &expect!["28 tools, 19907 bytes, ff0fca394c696a40"]);
    check("nor", "/mcp", &expect!["23 tools, 16723 bytes, ae420828b08c0e37"]);
    check("root", "/mcp/repos", &expect!["10 tools, 5629 bytes, 581d5ca0fd4ab792"]);
    check("nor", "/mcp/code", &expect!["6 tools, 7296 bytes, ff23b74c4496b52b"]);
}

/// Which repository or job a call names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// One that the caller has: activated by themselves, asked for by themselves, or golden where that is what a tool is about.
    Own,
    /// One that another user has.
    Others,
    /// One that nobody has.
    Nobodys,
}

/// What comes of a call.
#[derive(Debug, PartialEq, Eq)]
enum Comes {
    /// It is done.
    Done,
    /// The role does not allow it.
    Denied,
    /// There is no such thing for this caller.
    NotThere,
}

/// What ought to come of it.
fn expected(may: &[&str], permission: &str, about: &About, whose: Whose) -> Comes {
    match whose {
        _ if !may.contains(&permission) => Comes::Denied,
        Whose::Own => Comes::Done,
        // Those who keep the server see everybody's jobs.
        Whose::Others if matches!(about, Job) && may.contains(&GOLDEN) => Comes::Done,
        Whose::Others | Whose::Nobodys => Comes::NotThere,
    }
}

/// What has come of it.
fn came(answer: &Value, permission: &str, tool: &str) -> Comes {
    if answer["error"].is_null() && answer["result"]["isError"] != true {
        return Comes::Done;
    }
    let denied = format!("Permission denied: {permission} required for tool {tool}");
    if (&answer["error"]["code"], &answer["error"]["message"]) == (&json!(-32602), &json!(denied)) {
        assert!(answer["result"].is_null(), "{answer}");
        return Comes::Denied;
    }
    assert!(!answer.to_string().contains("Permission denied"), "{answer}");
    Comes::NotThere
}

/// A server on which every user has something.
struct Having {
    server: TeamServer,
    /// The job that gave each user their alias.
    jobs: BTreeMap<&'static str, Value>,
    /// Where `api` stands.
    head: String,
}

impl Having {
    /// Every user has an alias of their own: who may not activate could, before their role was changed.
    fn new() -> Self {
        let server = server();
        // Nobody has activated it.
        let repo = server.repo("spare");
        repo.write("src/heron.rs", "pub fn heron_spare() {}\n");
        repo.commit("The heron stands");
        server.add_golden("root", &repo, "spare", &json!({}));
        let mut jobs = BTreeMap::new();
        for (user, role, _) in ROLES {
            let data = server.data();
            let set = |role: &str| {
                let data = data.to_str().expect("the path is UTF-8");
                server.lore().ok(&["users", "set-role", user, role, "--data", data]);
            };
            if user == "nor" {
                set("power_user");
            }
            jobs.insert(user, activate(&server, user, &own_alias(user))["job_id"].clone());
            if user == "nor" {
                set(role);
            }
        }
        jobs.insert("eve", activate(&server, "eve", "eves-own")["job_id"].clone());
        let head = lore_testkit::Git::at(server.repos().join("api")).text(&["rev-parse", "HEAD"]);
        Self { head: head.expect("git knows"), jobs, server }
    }

    /// The arguments of a call about that; `None` where a tool is about nothing that belongs to somebody.
    fn arguments(&self, user: &str, tool: &str, about: &About, whose: Whose) -> Option<Value> {
        let (own, others, nobodys) = match about {
            Nothing(_) => return None,
            Job => {
                let job = match whose {
                    Whose::Own => self.jobs[user].clone(),
                    Whose::Others => self.jobs["eve"].clone(),
                    Whose::Nobodys => json!("0".repeat(32)),
                };
                return Some(json!({"job_id": job}));
            }
            // One is not simply taken away from those who have activated it.
            Golden(..) if tool == "remove_golden_repo" => ("spare".to_owned(), "eves-own", "no-such"),
            Golden(..) => ("api".to_owned(), "eves-own", "no-such"),
            Own(..) => (changed_alias(user), "eves-own", "no-such"),
            Asked(..) | AskedList(..) => (own_alias(user), "eves-own", "no-such"),
        };
        let alias = match whose {
            Whose::Own => own.as_str(),
            Whose::Others => others,
            Whose::Nobodys => nobodys,
        };
        let asked = naming(about, alias)?;
        Some(if tool.starts_with("commitmux_get") { with(asked, "sha", json!(self.head)) } else { asked })
    }

    /// Makes an alias that a call may change or take away.
    fn make_changed(&self, user: &str, tool: &str) {
        let alias = changed_alias(user);
        if tool == "manage_composite_repository" {
            let asked = json!({"operation": "create", "user_alias": alias, "golden_repo_aliases": ["web"]});
            self.server.done(user, &self.server.ask(user, tool, &asked));
        } else {
            activate(&self.server, user, &alias);
        }
    }
}

fn own_alias(user: &str) -> String {
    format!("{user}-own")
}

fn changed_alias(user: &str) -> String {
    format!("{user}-changed")
}

#[test]
fn each_role_may_call_what_its_permissions_say_and_nothing_else() {
    let having = Having::new();
    let server = &having.server;
    // The admin comes last: what they remove would be missing.
    for (user, _, may) in ROLES.into_iter().rev() {
        for (tool, permission, about) in table() {
            let check = |arguments: &Value, expected: &Comes| {
                let answer = server.call(user, tool, arguments);
                assert_eq!(came(&answer, permission, tool), *expected, "{user} {tool} {arguments}: {answer}");
                answer.to_string()
            };
            if let Nothing(arguments) = &about {
                let told = check(arguments, &expected(may, permission, &about, Whose::Own));
                assert!(!told.contains("eves-"), "{user} {tool}: {told}");
                continue;
            }
            let is_changed = matches!(about, Own(..)) && may.contains(&permission);
            if is_changed {
                having.make_changed(user, tool);
            }
            // What is not there is asked for first: what is there may be gone afterwards.
            for whose in [Whose::Nobodys, Whose::Others, Whose::Own] {
                let arguments = having.arguments(user, tool, &about, whose).expect("it names something");
                check(&arguments, &expected(may, permission, &about, whose));
            }
            if is_changed && tool != "deactivate_repository" {
                server.ask(user, "deactivate_repository", &json!({"user_alias": changed_alias(user)}));
            }
        }
    }
    // What is activated, by whomever, is not simply taken away from everybody.
    let kept = server.refused("root", "remove_golden_repo", &json!({"alias": "api"}));
    assert!(kept.contains("in use") && !kept.contains("eves-") && !kept.contains("`eve`"), "{kept}");
    let own = server.ask("eve", "list_repositories", &json!({}));
    assert_eq!(own["total"], 2, "eve has what she had: {own}");
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
fn the_repositories_of_history_are_those_that_the_caller_sees() {
    let server = server();
    activate(&server, "pow", "mine");
    let listed = |user: &str| server.ask(user, "commitmux_list_repos", &json!({}));
    for (user, expected) in [("pow", &["mine"][..]), ("eve", &["api", "eves-own", "web"]), ("nor", &["api", "web"])] {
        let rows = listed(user);
        let mut names: Vec<&str> =
            rows.as_array().expect("a list").iter().map(|row| row["name"].as_str().expect("a name")).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{user}: {rows}");
        for row in rows.as_array().expect("a list") {
            assert_eq!(row["path"], Value::Null, "where the server keeps it is told to nobody: {row}");
            assert!(row["url"].as_str().is_some_and(|url| url.starts_with("file://")), "{row}");
            let facts = (&row["state"], &row["commit_count"], &row["branches"]);
            assert_eq!(facts, (&json!("current"), &json!(1), &json!(["main"])), "{row}");
            // Each name is what the other tools take.
            server.ask(user, "commitmux_touches", &json!({"path_glob": "src/", "repos": [row["name"]]}));
        }
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
