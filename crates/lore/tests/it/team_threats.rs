//! How a team server is attacked, tried with the real binary over plain HTTP.
//!
//! | class | tests |
//! |---|---|
//! | DNS rebinding | `foreign_hosts_and_origins_are_refused` here; each way in: lore-mcp `http/access.rs` |
//! | open localhost | `nothing_but_health_is_answered_without_a_token` |
//! | received URLs | the server opens no URL but those of golden repositories: `urls_that_lead_inside_are_not_cloned` |
//! | session hijack | `a_session_is_its_users_alone` here; streams and limits: lore-mcp `http/sessions.rs` |
//! | shared caches | `users_at_the_same_time_see_nothing_of_each_other` here; identities: lore-mcp `http/access.rs` |
//! | a request relaxes policy | `nothing_that_is_sent_widens_what_a_user_may` |
//! | tool poisoning | `team_table::the_list_of_tools_is_the_same_to_the_byte` |
//! | paths | `no_path_leads_out_of_a_golden_repository` here; work trees: `files::upstream_gets_this_wrong` |
//! | git server holes | `only_registered_repositories_are_there` |
//! | JSON-RPC abuse | `messages_that_are_no_messages_do_no_harm` here; each kind: lore-mcp `http/messages.rs`; floods: lore-server `sockets.rs` |
//! | option injection | `no_argument_is_an_option_of_git` |
//! | clone and checkout, SSRF | `urls_that_lead_inside_are_not_cloned` here; redirects and addresses: lore-git `it/policy.rs` |
//! | lists without end | `no_list_of_names_keeps_the_server_busy`, `no_answer_has_more_than_somebody_reads` |
//! | tokens | `tokens_that_were_tampered_with_are_refused` here; expiry and reuse: lore-core `team.rs` |

use std::{os::unix::fs::symlink, path::Path};

use lore_testkit::{HttpAnswer, PASSWORD, TeamServer};
use serde_json::{Value, json};

use crate::switches;

/// A server with an admin, a power user, a normal user and the golden repository `api`.
fn server() -> TeamServer {
    let mut server = TeamServer::start(Path::new(env!("CARGO_BIN_EXE_lore")));
    for (name, role) in [("root", "admin"), ("pow", "power_user"), ("nor", "normal_user")] {
        server.add_user(name, role);
    }
    let repo = server.repo("api");
    repo.write("src/heron.rs", "pub fn heron() {}\n").write("README.md", "# Api\n");
    repo.commit("The heron stands");
    server.add_golden("root", &repo, "api", &json!({}));
    server
}

fn bearer(server: &TeamServer, user: &str) -> String {
    format!("Bearer {}", server.token(user))
}

#[track_caller]
fn http(server: &TeamServer, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> HttpAnswer {
    server.http(method, path, headers, body).unwrap_or_else(|error| panic!("{method} {path}: {error:#}"))
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let server = server();
    let token = bearer(&server, "nor");
    for (name, value) in [
        ("Host", "evil.example"),
        ("Host", "127.0.0.1.evil.example"),
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Origin", "::::"),
    ] {
        for (method, path) in [("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/api/golden"), ("POST", "/auth/login")] {
            let headers = [("Authorization", token.as_str()), (name, value)];
            let answer = http(&server, method, path, &headers, b"{}");
            assert_eq!(answer.status, 403, "{method} {path} {name}: {value}: {answer:?}");
        }
    }
}

#[test]
fn nothing_but_health_is_answered_without_a_token() {
    let server = server();
    let document = server.rest("nor", "GET", "/openapi.json", &Value::Null).json();
    let open = ["/healthz", "/readyz", "/auth/login", "/auth/refresh"];
    let mut tried = 0;
    for (path, operations) in document["paths"].as_object().expect("there are paths") {
        // Without an authorization server there is nothing at these.
        if open.contains(&path.as_str()) || path.starts_with("/.well-known/") {
            continue;
        }
        let place = path.replace("{toolset}", "code").replace("{id}", "1").replace("{name}", "nor");
        let place = place.replace("{alias}", "api");
        for method in operations.as_object().expect("there are methods").keys() {
            let method = method.to_uppercase();
            for headers in [
                &[][..],
                &[("Authorization", "Bearer ")],
                &[("Authorization", "Bearer nonsense")],
                &[("Authorization", "Basic cm9vdDpyb290")],
                &[("Cookie", "token=lore_pat_x")],
                &[("X-Forwarded-For", "127.0.0.1"), ("X-Forwarded-User", "root")],
            ] {
                let body: &[u8] = if method == "POST" || method == "PATCH" { b"{}" } else { b"" };
                let answer = http(&server, &method, &place, headers, body);
                assert_eq!(answer.status, 401, "{method} {place} {headers:?}: {answer:?}");
                let asks = answer.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer realm="));
                assert!(asks, "{method} {place}: {answer:?}");
                assert!(!answer.text.contains("heron") && !answer.text.contains("root"), "{answer:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 6 * 20, "only {tried}");
    let query = format!("/api/golden?access_token={}", server.token("root"));
    assert_eq!(http(&server, "GET", &query, &[], b"").status, 401, "no token in a URL");
}

#[test]
fn a_session_is_its_users_alone() {
    let server = server();
    let client = json!({"name": "it", "version": "1"});
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}});
    let (own, others) = (bearer(&server, "pow"), bearer(&server, "root"));
    let accept = ("Accept", "application/json, text/event-stream");
    let begun = http(&server, "POST", "/mcp", &[("Authorization", &own), accept], begin.to_string().as_bytes());
    let session = begun.header("mcp-session-id").expect("a session").to_owned();
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string();
    for (method, body) in [("POST", ask.as_bytes()), ("GET", b""), ("DELETE", b"")] {
        let headers = [("Authorization", others.as_str()), ("Mcp-Session-Id", &session), accept];
        let answer = http(&server, method, "/mcp", &headers, body);
        assert_eq!(answer.status, 404, "{method}: {answer:?}");
        let invented = session.chars().map(|c| if c.is_ascii_digit() { '7' } else { c }).rev().collect::<String>();
        let headers = [("Authorization", others.as_str()), ("Mcp-Session-Id", &invented), accept];
        let nobodys = http(&server, method, "/mcp", &headers, body);
        assert_eq!((nobodys.status, nobodys.text), (answer.status, answer.text), "{method}");
    }
    let headers = [("Authorization", own.as_str()), ("Mcp-Session-Id", &session), accept];
    assert_eq!(http(&server, "POST", "/mcp", &headers, ask.as_bytes()).status, 200, "it is still there for its user");
}

#[test]
fn users_at_the_same_time_see_nothing_of_each_other() {
    let mut server = server();
    let users: Vec<String> = (0..4).map(|number| format!("user{number}")).collect();
    for user in &users {
        server.add_user(user, "power_user");
        let repo = server.repo(user);
        repo.write("src/secret.rs", format!("pub fn secret_of_{user}() {{}}\n"));
        repo.commit("Secret");
        server.add_golden("root", &repo, &format!("repo-{user}"), &json!({}));
        let composite =
            json!({"operation": "create", "user_alias": "mine", "golden_repo_aliases": [format!("repo-{user}")]});
        server.done(user, &server.ask(user, "manage_composite_repository", &composite));
        let single = json!({"golden_repo_alias": format!("repo-{user}"), "user_alias": "one"});
        server.done(user, &server.ask(user, "activate_repository", &single));
    }
    let calls = if switches::slow_tests() { 100_000 } else { 2_000 };
    let (server, users) = (&server, &users);
    std::thread::scope(|scope| {
        for user in users {
            scope.spawn(move || {
                let asked = [
                    (
                        "search_code",
                        json!({"query_text": "secret_of", "search_mode": "fts", "repository_alias": "mine"}),
                    ),
                    ("search_code", json!({"query_text": "secret_of", "search_mode": "fts"})),
                    ("list_repositories", json!({})),
                    ("get_file_content", json!({"repository_alias": "one", "file_path": "src/secret.rs"})),
                    ("get_repository_status", json!({"user_alias": "one"})),
                ];
                for (tool, arguments) in asked.iter().cycle().take(calls / users.len()) {
                    let text = server.call(user, tool, arguments).to_string();
                    assert!(text.contains(user.as_str()), "{user} {tool}: {text}");
                    let foreign = users.iter().find(|other| *other != user && text.contains(other.as_str()));
                    assert!(foreign.is_none(), "{user} {tool} sees {foreign:?}: {text}");
                }
            });
        }
    });
}

#[test]
fn nothing_that_is_sent_widens_what_a_user_may() {
    let server = server();
    let root = server.token("root").to_owned();
    let plain = server.message("nor", "tools/list", &json!({}));
    for (name, value) in [
        ("X-Forwarded-For", "127.0.0.1"),
        ("X-Forwarded-User", "root"),
        ("X-Forwarded-Host", "localhost"),
        ("X-Forwarded-Proto", "https"),
        ("Forwarded", "for=127.0.0.1;by=root"),
        ("X-Real-IP", "127.0.0.1"),
        ("X-Original-URL", "/api/users"),
        ("X-Rewrite-URL", "/api/users"),
        ("X-HTTP-Method-Override", "DELETE"),
        ("X-Method-Override", "DELETE"),
        ("X-Remote-User", "root"),
        ("Lore-User", "root"),
        ("Lore-Role", "admin"),
        ("Lore-Toolsets", "admin"),
        ("X-Api-Key", root.as_str()),
        ("Cookie", "user=root; role=admin"),
        ("Proxy-Authorization", "Bearer x"),
    ] {
        let headers = [(name, value)];
        let list = server.message_with("nor", "tools/list", &json!({}), &headers);
        assert_eq!(list, plain, "{name}");
        let call = json!({"name": "list_users", "arguments": {}});
        let denied = server.message_with("nor", "tools/call", &call, &headers);
        assert_eq!(
            denied["error"]["message"], "Permission denied: manage_users required for tool list_users",
            "{name}"
        );
        let token = bearer(&server, "nor");
        let headers = [("Authorization", token.as_str()), (name, value)];
        assert_eq!(http(&server, "GET", "/api/users", &headers, b"").status, 403, "{name}");
        let me = http(&server, "GET", "/auth/me", &headers, b"").json();
        assert_eq!((&me["user"]["username"], &me["user"]["role"]), (&json!("nor"), &json!("normal_user")), "{name}");
    }
    // Two credentials are none.
    let (own, others) = (bearer(&server, "nor"), bearer(&server, "root"));
    for order in [[&own, &others], [&others, &own]] {
        let headers = [("Authorization", order[0].as_str()), ("Authorization", order[1])];
        let answer = http(&server, "GET", "/api/users", &headers, b"");
        assert!([400, 401, 403].contains(&answer.status), "{answer:?}");
    }
    for more in [
        json!({"username": "root"}),
        json!({"role": "admin"}),
        json!({"user": "root", "as": "root"}),
        json!({"_meta": {"role": "admin"}}),
        json!({"permissions": ["manage_users"]}),
    ] {
        let mut arguments = json!({"user_alias": "x", "golden_repo_alias": "api"});
        arguments.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        for tool in ["list_users", "activate_repository"] {
            let answer = server.call("nor", tool, &arguments);
            let said = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(said.starts_with("Permission denied: "), "{tool} {arguments}: {answer}");
        }
        let own = server.call("nor", "list_repositories", &more).to_string();
        assert!(!own.contains("user_alias\\\":\\\"root"), "{own}");
    }
    let made = server.rest("nor", "POST", "/api/tokens", &json!({"name": "x", "username": "root", "role": "admin"}));
    let all = server.rest("root", "GET", "/api/tokens?all=true", &Value::Null).json();
    let of_root = all["tokens"].as_array().expect("a list").iter().filter(|token| token["username"] == "root").count();
    assert_eq!(of_root, 1, "{made:?}");
}

#[test]
fn no_path_leads_out_of_a_golden_repository() {
    let server = server();
    let secret = "the canary outside";
    std::fs::write(server.repos().join("outside.txt"), secret).expect("a file beside the repository");
    let repo = server.repo("links");
    repo.write("inside.txt", "inside\n");
    symlink("../outside.txt", repo.path().join("link.txt")).expect("a link out of the repository");
    symlink(server.repos(), repo.path().join("linked")).expect("a link to a folder");
    symlink(server.data(), repo.path().join("server")).expect("a link to the server's folder");
    symlink("/etc/passwd", repo.path().join("passwd")).expect("a link to a file");
    repo.commit("Links");
    server.add_golden("root", &repo, "links", &json!({}));
    let data = server.data().join("team.db").display().to_string();
    for path in [
        "..",
        "../",
        "../api/HEAD",
        "../links.git/config",
        "../../team.db",
        "src/../../outside.txt",
        "./../outside.txt",
        "..\\outside.txt",
        "/etc/passwd",
        "//etc/passwd",
        "file:///etc/passwd",
        &data,
        ".git/config",
        ".git",
        ".GIT/config",
        "git~1/config",
        ".g\u{200c}it/config",
        "config",
        "HEAD",
        "objects",
        "refs/heads/main",
        "inside.txt\0.md",
        "inside.txt\0",
        "link.txt/x",
        "linked/outside.txt",
        "linked/api/README.md",
        "server/team.db",
        "passwd/x",
        "%2e%2e/outside.txt",
        "inside.txt/../../outside.txt",
        "--output=/tmp/x",
        ":/inside.txt",
        "HEAD:inside.txt",
    ] {
        for (tool, argument) in
            [("get_file_content", "file_path"), ("list_files", "path"), ("browse_directory", "path")]
        {
            let said = server.refused("nor", tool, &json!({"repository_alias": "links", argument: path}));
            let leaks = ["canary", "root:x:", "repositoryformatversion", "SQLite", "ref: refs"];
            assert!(!leaks.iter().any(|leak| said.contains(leak)), "{tool} {path}: {said}");
        }
    }
    for link in ["link.txt", "linked", "server", "passwd"] {
        let shown = server.ask("nor", "get_file_content", &json!({"repository_alias": "links", "file_path": link}));
        let target = std::fs::read_link(repo.path().join(link)).expect("it is a link");
        assert_eq!(shown["content"][0]["text"], json!(target), "its target is shown, not what is there");
    }
    let all = server.ask("nor", "browse_directory", &json!({"repository_alias": "links"}));
    assert_eq!(all["structure"]["total"], 5, "no link is walked into: {all}");
    let found = json!({"query_text": "canary", "search_mode": "fts", "repository_alias": "links"});
    assert_eq!(server.ask("nor", "search_code", &found)["results"]["total_results"], 0);
}

#[test]
fn only_registered_repositories_are_there() {
    let server = server();
    let other = server.repo("unregistered");
    other.write("src/canary.rs", "pub fn canary() {}\n");
    other.commit("Canary");
    let path = other.path().display().to_string();
    let clone = server.data().join("clones/api.git").display().to_string();
    let uri = format!("file://{path}");
    for alias in [
        path.as_str(),
        &uri,
        &clone,
        "../api",
        "./api",
        "api/",
        "api.git",
        "clones/api.git",
        "https://example.com/x.git",
        "*",
        "%",
        "api\0",
        "API\n",
        "api' OR 1=1",
    ] {
        for (tool, argument) in [
            ("search_code", "repository_alias"),
            ("list_files", "repository_alias"),
            ("get_file_content", "repository_alias"),
            ("browse_directory", "repository_alias"),
            ("get_branches", "repository_alias"),
            ("get_repository_status", "user_alias"),
            ("get_repository_statistics", "repository_alias"),
            ("explain_lines", "repo"),
            ("co_changed", "repo"),
            ("find_related", "repo"),
            ("was_tried", "repo"),
            ("commitmux_get_commit", "repo"),
            ("commitmux_get_patch", "repo"),
        ] {
            let mut arguments = json!({
                "query_text": "canary", "search_mode": "fts", "file_path": "src/canary.rs", "file": "src/canary.rs",
                "line": 1, "files": ["src/canary.rs"], "text": "canary", "sha": "HEAD",
            });
            let known =
                lore_tools::server_tools(&lore_tools::Toolset::ALL).into_iter().find(|known| known.name == tool);
            let schema = (known.expect("it is registered").input)();
            arguments.as_object_mut().expect("an object").retain(|name, _| schema["properties"].get(name).is_some());
            arguments[argument] = json!(alias);
            let said = server.refused("root", tool, &arguments);
            assert!(!said.contains("pub fn") && !said.contains("heron"), "{tool} {alias}: {said}");
        }
    }
}

#[test]
fn messages_that_are_no_messages_do_no_harm() {
    let server = server();
    let token = bearer(&server, "nor");
    let headers = [("Authorization", token.as_str()), ("Content-Type", "application/json")];
    let deep = "[".repeat(100_000);
    let nested = format!("{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000));
    let many = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":[{}0]}}}}"#, "0,".repeat(150_000));
    for (body, code) in [
        (deep.as_bytes(), -32700),
        (nested.as_bytes(), -32700),
        (many.as_bytes(), -32600),
        (br#"{"jsonrpc":"2.0","id":1e999,"method":"ping"}"#, -32700),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#, -32700),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#, -32700),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (b"\xff\xfe", -32700),
        (b"{", -32700),
        (b"", -32700),
    ] {
        let answer = http(&server, "POST", "/mcp", &headers, body);
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(code)), "{shown}: {answer:?}");
    }
    let large = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}", "x".repeat(20_000_000));
    // A server that has read enough may close the connection before everything was sent.
    if let Ok(answer) = server.http("POST", "/mcp", &headers, large.as_bytes()) {
        assert_eq!(answer.status, 413, "{answer:?}");
    }
    assert_eq!(http(&server, "GET", "/healthz", &[], b"").status, 200);
}

#[test]
fn no_argument_is_an_option_of_git() {
    let server = server();
    let canary = server.repos().join("canary");
    let touch = format!("touch {}", canary.display());
    let texts = [
        format!("--output={}", canary.display()),
        format!("--upload-pack={touch}"),
        format!("-u{touch}"),
        format!("--exec={touch}"),
        format!("-c core.sshCommand={touch}"),
        format!("ext::sh -c {touch}"),
        format!("ssh://-oProxyCommand={touch}/x"),
        format!("-oProxyCommand={touch}"),
        format!("$({touch})"),
        format!("`{touch}`"),
        format!("x;{touch}"),
        format!("x\n{touch}"),
    ];
    server.ask("pow", "activate_repository", &json!({"golden_repo_alias": "api", "user_alias": "mine"}));
    for text in &texts {
        let url = server.repos().join("api");
        for asked in [
            json!({"url": text, "alias": "new"}),
            json!({"url": url, "alias": text}),
            json!({"url": url, "alias": "new", "branch": text}),
        ] {
            server.refused("root", "add_golden_repo", &asked);
        }
        server.refused("root", "refresh_golden_repo", &json!({"alias": text}));
        server.refused("pow", "activate_repository", &json!({"golden_repo_alias": "api", "user_alias": text}));
        server.refused("pow", "switch_branch", &json!({"user_alias": "mine", "branch_name": text}));
        server.refused("nor", "get_file_content", &json!({"repository_alias": "api", "file_path": text}));
        server.refused("nor", "explain_lines", &json!({"repo": "api", "file": text}));
        for sha in ["commitmux_get_commit", "commitmux_get_patch"] {
            server.refused("nor", sha, &json!({"repo": "api", "sha": text}));
        }
        for name in ["at_commit", "author", "path_filter", "time_range", "query_text", "language"] {
            let mut asked = json!({"query_text": "heron", "search_mode": "fts", "repository_alias": "api"});
            asked[name] = json!(text);
            // Some of these are texts like others; none is anything to git.
            server.call("nor", "search_code", &asked);
        }
    }
    assert!(!canary.exists(), "something was run or written");
    let golden = server.ask("root", "discover_repositories", &json!({}));
    assert_eq!(golden["total"], 1, "{golden}");
}

#[test]
fn urls_that_lead_inside_are_not_cloned() {
    let server = server();
    let outside = tempfile::tempdir().expect("a temporary directory");
    let inside = lore_testkit::Repo::init(outside.path().join("secret"));
    inside.write("canary.txt", "canary\n").commit("Canary");
    symlink(inside.path(), server.repos().join("way-out")).expect("a link out of the allowed folder");
    let local = inside.path().display().to_string();
    let file = format!("file://{local}");
    let climbing = format!("{}/../../..{local}", server.repos().display());
    let linked = server.repos().join("way-out").display().to_string();
    for (url, option) in [
        (local.as_str(), "--allow-local"),
        (&file, "--allow-local"),
        (&climbing, "--allow-local"),
        (&linked, "--allow-local"),
        ("http://example.com/x.git", "--allow-http"),
        ("https://127.0.0.1/x.git", "--allow-host"),
        ("https://localhost/x.git", "--allow-host"),
        ("https://git.localhost/x.git", "--allow-host"),
        ("https://169.254.169.254/latest/meta-data", "--allow-host"),
        ("https://[::1]/x.git", "--allow-host"),
        ("https://[::ffff:127.0.0.1]/x.git", "--allow-host"),
        ("https://[::ffff:169.254.169.254]/x.git", "--allow-host"),
        ("https://10.0.0.1/x.git", "--allow-host"),
        ("ssh://git@127.0.0.1/x.git", "--allow-host"),
        ("git@127.0.0.1:x.git", "--allow-host"),
        // Numbers that some programs read as 127.0.0.1 are no hosts at all here.
        ("https://2130706433/x.git", ""),
        ("https://0x7f.0.0.1/x.git", ""),
        ("https://0177.0.0.1/x.git", ""),
        ("https://127.1/x.git", ""),
        ("git://example.com/x.git", ""),
        ("ftp://example.com/x.git", ""),
        ("javascript:alert(1)", "scheme of a URL"),
        ("data:text/html,x", "scheme of a URL"),
    ] {
        // None of them needs a job, or a look at the network.
        let told = server.refused("root", "add_golden_repo", &json!({"url": url, "alias": "new"}));
        assert!(told.contains(option), "{url}: {told}");
        assert_eq!(server.ask("root", "discover_repositories", &json!({}))["total"], 1, "{url} left something");
    }
}

#[test]
fn what_clients_choose_is_not_logged_and_leaving_is_no_error() {
    use std::io::Write as _;

    use lore_store::HistoryStore as _;

    let mut server = TeamServer::start_with(Path::new(env!("CARGO_BIN_EXE_lore")), &["-v"]);
    server.add_user("root", "admin");
    let repo = server.repo("api");
    repo.write("src/heron.rs", "pub fn heron() {}\n").commit("The heron stands");
    // Whoever writes the index makes the job wait, and so whoever waits for the job.
    let store = lore_store_embedded::EmbeddedStore::new(server.data());
    let writer = store.try_writer().expect("nobody writes");
    let job = server.ask("root", "add_golden_repo", &json!({"url": repo.path(), "alias": "api"}));
    let left = || {
        let counted = "lore_http_requests_total{method=\"POST\",route=\"/mcp\",status=\"499\"} ";
        let metrics = server.rest("root", "GET", "/metrics", &Value::Null).text;
        let line = metrics.lines().find_map(|line| line.strip_prefix(counted)).map(str::to_owned);
        line.map_or(0, |count| count.parse::<usize>().expect("a number"))
    };
    for accept in ["application/json", "application/json, text/event-stream"] {
        let before = left();
        // A client that is gone before its request was read has not asked for anything.
        while left() == before {
            let arguments = json!({"job_id": job["job_id"], "wait_seconds": 300});
            let params = json!({"name": "get_job_details", "arguments": arguments});
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
            let address = server.url().replace("http://", "");
            let mut stream = std::net::TcpStream::connect(&address).expect("it listens");
            let head = format!(
                "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: {}\r\nAccept: {accept}\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                bearer(&server, "root"),
                body.len()
            );
            stream.write_all((head + &body).as_bytes()).expect("it reads");
            left();
        }
    }
    server.message("root", "chosen/method", &json!({}));
    server.message("root", "tools/call", &json!({"name": "chosen_tool"}));
    drop(writer);
    server.done("root", &job);
    let log = server.log();
    assert!(log.contains("status=499"), "{log}");
    for word in ["ERROR", "WARN", "status=500", "chosen", "ErrorData"] {
        assert!(!log.contains(word), "{word} is in the log:\n{log}");
    }
}

#[test]
fn tokens_that_were_tampered_with_are_refused() {
    let server = server();
    let login = json!({"username": "nor", "password": PASSWORD}).to_string();
    let login = http(&server, "POST", "/auth/login", &[], login.as_bytes()).json();
    let access = login["access_token"].as_str().expect("a token").to_owned();
    let refresh = login["refresh_token"].as_str().expect("a token").to_owned();
    let parts: Vec<&str> = access.split('.').collect();
    let personal = server.token("nor").to_owned();
    let status = |token: &str| {
        let token = format!("Bearer {token}");
        http(&server, "GET", "/auth/me", &[("Authorization", &token)], b"").status
    };
    assert_eq!((status(&access), status(&personal)), (200, 200));
    // {"alg":"none"}, {"alg":"None","typ":"JWT"}, {"alg":"RS256"}, {"alg":"HS512","typ":"JWT"}
    let headers = [
        "eyJhbGciOiJub25lIn0",
        "eyJhbGciOiJOb25lIiwidHlwIjoiSldUIn0",
        "eyJhbGciOiJSUzI1NiJ9",
        "eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9",
    ];
    let mut forged: Vec<String> = vec![
        String::new(),
        refresh,
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}", parts[0], parts[1]),
        // {"iss":"lore","aud":"lore-server","sub":"1","login":1,"iat":0,"exp":9999999999}
        format!(
            "{}.eyJpc3MiOiJsb3JlIiwiYXVkIjoibG9yZS1zZXJ2ZXIiLCJzdWIiOiIxIiwibG9naW4iOjEsImlhdCI6MCwiZXhwIjo5OTk5OTk5OTk5fQ.{}",
            parts[0], parts[2]
        ),
        format!("{access}x"),
        format!("{access}.{}", parts[2]),
        access.to_uppercase(),
        format!("{personal}x"),
        personal[..personal.len() - 1].to_owned(),
        personal.to_uppercase(),
        format!("lore_pat_{}", "0".repeat(personal.len() - 9)),
        "lore_pat_".to_owned(),
        "lore_pat_' OR 1=1 --".to_owned(),
        "x".repeat(10_000),
    ];
    forged.extend(
        headers.iter().flat_map(|header| ["", parts[2]].map(|signature| format!("{header}.{}.{signature}", parts[1]))),
    );
    for place in [0, personal.len() / 2, personal.len() - 1] {
        let mut bytes = personal.clone().into_bytes();
        bytes[place] = if bytes[place] == b'a' { b'b' } else { b'a' };
        forged.push(String::from_utf8(bytes).expect("ASCII"));
    }
    for token in forged {
        assert!([400, 401].contains(&status(&token)), "{token} is let in");
    }
    // Nobody else on the machine reads what tokens are signed with.
    let mode = |name: &str| {
        let metadata = std::fs::metadata(server.data().join(name)).expect("it is there");
        std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777
    };
    assert_eq!((mode("team.db"), mode("team.db-wal")), (0o600, 0o600));
    // What ends, ends at once.
    let bearer = format!("Bearer {access}");
    assert_eq!(http(&server, "POST", "/auth/logout", &[("Authorization", &bearer)], b"{}").status, 200);
    assert_eq!(status(&access), 401, "the login is over");
    let own = server.rest("nor", "GET", "/api/tokens", &Value::Null).json();
    let id = own["tokens"][0]["id"].to_string().replace('"', "");
    assert_eq!(server.rest("nor", "DELETE", &format!("/api/tokens/{id}"), &Value::Null).status, 200);
    assert_eq!(status(&personal), 401, "it is revoked");
}

#[test]
fn no_list_of_names_keeps_the_server_busy() {
    let server = server();
    let (many, same) = ((0..5001).map(|number| format!("r{number}")).collect::<Vec<_>>(), vec!["api"; 90_000]);
    for (tool, asked) in
        [("commitmux_search", json!({"query": "heron"})), ("commitmux_touches", json!({"path_glob": "src/"}))]
    {
        let with = |names: Value| {
            let mut asked = asked.clone();
            asked["repos"] = names;
            asked
        };
        let refused = server.refused("nor", tool, &with(json!(many)));
        assert!(refused.contains("`repos` names 5001"), "{tool}: {refused}");
        let told = server.call("nor", tool, &with(json!(same))).to_string();
        assert!(told.contains("The heron stands"), "{tool}: {told}");
    }
}

#[test]
fn no_answer_has_more_than_somebody_reads() {
    let server = server();
    let repo = server.repo("past");
    let files: Vec<String> = (0..12).map(|file| format!("{file}.rs")).collect();
    for step in 0..60 {
        for file in &files {
            repo.write(file, format!("pub fn heron() {{}}\n// {step} of {file} {}\n", step.to_string().repeat(1000)));
        }
        repo.commit("More");
    }
    server.add_golden("root", &repo, "past", &json!({"enable_temporal": true}));
    let asked = json!({"query_text": "heron", "search_mode": "fts", "regex": true, "repository_alias": "past", "limit": 100,
        "show_evolution": true, "evolution_limit": 1_000_000_000});
    let told = server.ask("nor", "search_code", &asked);
    let hits = told["results"]["results"].as_array().expect("a list");
    let steps: Vec<&Vec<Value>> =
        hits.iter().map(|hit| hit["temporal_context"]["evolution"].as_array().expect("a list")).collect();
    assert_eq!(steps.iter().map(|steps| steps.len()).collect::<Vec<_>>(), [60; 12], "every step is named");
    let diffs = steps.iter().flat_map(|steps| steps.iter()).filter_map(|step| step["diff"].as_str());
    let (count, bytes) = diffs.fold((0, 0), |(count, bytes), diff| (count + 1, bytes + diff.len()));
    assert!(bytes <= 1 << 20, "{bytes}");
    let warning = told["results"]["warning"].as_str().expect("it is announced");
    assert!(warning.contains(&format!("{} diffs of the evolution were left out", 720 - count)), "{warning}");
}
