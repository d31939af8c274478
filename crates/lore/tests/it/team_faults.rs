//! What users of a team server are told where something is wrong with it: never where its files are, and nothing to do on a
//! machine that is not theirs.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
};

use lore_testkit::TeamServer;
use serde_json::{Value, json};

const USERS: [(&str, &str); 3] = [("root", "admin"), ("pow", "power_user"), ("nor", "normal_user")];

/// Commands that only help where the server runs.
const LOCAL: [&str; 8] = [
    "`lore sync",
    "`lore add",
    "`lore remove ",
    "`lore repos",
    "`lore status",
    "`lore reindex",
    "`lore doctor",
    "`lore show",
];

fn server() -> TeamServer {
    // One job of a user may hang, and the next one runs.
    let options = ["--allow-http", "--allow-host", "127.0.0.1", "--jobs", "3"];
    let mut server = TeamServer::start_with(Path::new(env!("CARGO_BIN_EXE_lore")), &options);
    for (name, role) in USERS {
        server.add_user(name, role);
    }
    let repo = server.repo("api");
    repo.write("src/heron.rs", "pub fn heron() {}\n").write("README.md", "# Api\n");
    repo.commit("The heron stands");
    server.add_golden("root", &repo, "api", &json!({}));
    server
}

/// Every tool that asks about a repository, as somebody may who means no harm, and as somebody may who does.
fn calls(alias: &str) -> Vec<(&'static str, Value)> {
    let mut calls = vec![
        ("commitmux_search", json!({"query": "heron", "repos": [alias]})),
        ("commitmux_touches", json!({"path_glob": "src/", "repos": [alias]})),
        ("commitmux_get_commit", json!({"sha": "abcdef", "repo": alias})),
        ("commitmux_get_patch", json!({"sha": "abcdef", "repo": alias})),
        ("was_tried", json!({"text": "heron", "repo": alias})),
        ("list_files", json!({"repository_alias": alias})),
        ("browse_directory", json!({"repository_alias": alias})),
        ("get_branches", json!({"repository_alias": alias})),
        ("get_repository_status", json!({"user_alias": alias})),
        ("get_repository_statistics", json!({"repository_alias": alias})),
        ("get_all_repositories_status", json!({})),
        ("get_job_statistics", json!({})),
        ("check_health", json!({})),
        ("discover_repositories", json!({})),
        ("list_repositories", json!({})),
        ("activate_repository", json!({"golden_repo_alias": alias, "user_alias": "mine", "branch_name": "none"})),
    ];
    for mode in ["semantic", "fts", "hybrid"] {
        let asked = json!({"query_text": "heron", "search_mode": mode, "repository_alias": alias});
        calls.push(("search_code", asked));
    }
    calls.push(("search_code", json!({"query_text": "heron", "at_commit": "HEAD", "repository_alias": alias})));
    calls.push(("search_code", json!({"query_text": "heron", "time_range_all": true, "repository_alias": alias})));
    for file in ["src/heron.rs", "nothing.rs", "../x", "/etc/passwd", "/", "src/../../../x", ".git/config", ""] {
        calls.push(("get_file_content", json!({"repository_alias": alias, "file_path": file})));
        calls.push(("explain_lines", json!({"repo": alias, "file": file, "lines": "1"})));
        calls.push(("find_related", json!({"repo": alias, "file": file, "line": 1})));
        calls.push(("co_changed", json!({"repo": alias, "files": [file]})));
    }
    calls
}

/// Asks everything as everybody, and gives what was told, all together.
fn check(server: &TeamServer, what: &str, alias: &str) -> String {
    let (data, mut all) = (server.data(), String::new());
    let data = data.to_str().expect("the path is UTF-8");
    let mut hear = |who: &str, asked: String, told: &str| {
        assert!(!told.contains(data), "{what}: {who} {asked}: {told}");
        assert!(!LOCAL.iter().any(|command| told.contains(command)), "{what}: {who} {asked}: {told}");
        all.push_str(told);
    };
    for (user, _) in USERS {
        for (tool, arguments) in calls(alias) {
            let told = server.call(user, tool, &arguments).to_string();
            hear(user, format!("{tool} {arguments}"), &told);
        }
        for path in ["/api/jobs", "/api/golden"] {
            hear(user, path.to_owned(), &server.rest(user, "GET", path, &Value::Null).text);
        }
    }
    let jobs = server.rest("root", "GET", "/api/jobs", &Value::Null).json();
    for job in jobs["jobs"].as_array().expect("a list") {
        let told = server.call("root", "get_job_details", &json!({"job_id": job["job_id"]})).to_string();
        hear("root", "get_job_details".to_owned(), &told);
        let path = format!("/api/jobs/{}", job["job_id"].as_str().expect("a name"));
        hear("root", path.clone(), &server.rest("root", "GET", &path, &Value::Null).text);
    }
    all
}

fn segments(server: &TeamServer) -> Vec<PathBuf> {
    let files = std::fs::read_dir(server.data().join("segments")).expect("there is an index");
    files.map(|file| file.expect("it can be listed").path()).filter(|path| path.extension().is_some()).collect()
}

#[test]
fn nobody_is_told_where_the_server_keeps_its_files() {
    let mut server = server();
    let told = check(&server, "all is well", "api");
    assert!(told.contains("is not") && told.contains("heron"), "{told}");

    // A remote that takes the connection and says nothing: the clone goes on for as long as the test does.
    let silent = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let url = format!("http://{}/big.git", silent.local_addr().expect("it has an address"));
    server.ask("root", "add_golden_repo", &json!({"url": url, "alias": "big"}));
    silent.accept().expect("the clone begins");
    let told = check(&server, "being added", "big");
    assert!(told.contains("golden repository `big` is being added"), "{told}");

    let clone = server.data().join("clones/api.git");
    let aside = server.data().join("aside.git");
    std::fs::rename(&clone, &aside).expect("it is there");
    server.restart();
    let told = check(&server, "no clone", "api");
    assert!(told.contains("the clone of `api`"), "{told}");
    let refreshed = server.ask("root", "refresh_golden_repo", &json!({"alias": "api"}));
    server.job_of("root", &refreshed);
    check(&server, "no clone, refreshed", "api");

    std::fs::remove_dir_all(&clone).ok();
    std::fs::rename(&aside, &clone).expect("it is there");
    std::fs::write(clone.join("HEAD"), "nonsense\n").expect("it can be written");
    server.restart();
    check(&server, "a damaged clone", "api");
    std::fs::write(clone.join("HEAD"), "ref: refs/heads/main\n").expect("it can be written");
    std::fs::remove_dir_all(clone.join("objects")).expect("it is there");
    std::fs::create_dir(clone.join("objects")).expect("it can be made");
    server.restart();
    check(&server, "a clone without objects", "api");

    for segment in segments(&server) {
        std::fs::write(&segment, "nonsense").expect("it can be written");
    }
    server.restart();
    let told = check(&server, "a damaged segment", "api");
    assert!(told.contains("index_damaged") && told.contains("in the server's log under "), "{told}");
}

#[test]
fn a_long_message_is_cut_without_a_command_that_is_not_theirs() {
    let server = server();
    let repo = server.repo("long");
    repo.write("a.rs", "pub fn a() {}\n").commit(&format!("Subject\n\n{}", "word ".repeat(22_000)));
    let sha = repo.git(&["rev-parse", "HEAD"]).trim().to_owned();
    server.add_golden("root", &repo, "long", &json!({}));
    for (user, _) in USERS {
        let told = server.call(user, "commitmux_get_commit", &json!({"repo": "long", "sha": sha})).to_string();
        assert!(told.contains("the message has 110") && !told.contains("`lore "), "{user}: {}", &told[..2000]);
    }
}

#[test]
fn a_token_of_the_operator_is_shown_to_nobody() {
    // Whoever asks is to show a password first.
    let remote = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let host = remote.local_addr().expect("it has an address").to_string();
    std::thread::spawn(move || {
        for mut stream in remote.incoming().map_while(Result::ok) {
            let refused = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\
                           Connection: close\r\n\r\n";
            let mut asked = [0; 4096];
            drop(stream.read(&mut asked).and_then(|_| stream.write_all(refused.as_bytes())));
        }
    });
    let dir = tempfile::tempdir().expect("a folder can be made");
    let config = dir.path().join("gitconfig");
    let text = format!("[url \"http://ghp_SECRET@{host}/\"]\n\tinsteadOf = http://{host}/\n");
    std::fs::write(&config, text).expect("it can be written");
    let config = config.to_str().expect("the path is UTF-8");
    let options = ["--allow-http", "--allow-host", "127.0.0.1", "--git-config", config];
    let mut server = TeamServer::start_with(Path::new(env!("CARGO_BIN_EXE_lore")), &options);
    server.add_user("root", "admin");
    let asked = json!({"url": format!("http://{host}/api.git"), "alias": "api"});
    let told = server.refused("root", "add_golden_repo", &asked);
    assert!(told.contains(&format!("{host}/api.git cannot be cloned")) && !told.contains("SECRET"), "{told}");
}
