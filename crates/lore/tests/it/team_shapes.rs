//! What the repository tools answer on a team server, field by field.

use std::path::Path;

use expect_test::{Expect, expect};
use lore_testkit::TeamServer;
use serde_json::{Value, json};

/// What differs from one run to the next is told by its kind alone.
fn plain(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::Number(_) if name.contains("index_size") => *field = "BYTES".into(),
                    // It is written now and then.
                    _ if name.starts_with("last_accessed") => *field = "TIME OR NULL".into(),
                    _ => plain(field),
                }
            }
        }
        Value::String(text) => {
            let is_time = text.len() == 20 && text.ends_with('Z') && text.as_bytes()[10] == b'T';
            let is_hex = |length: usize| text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_time {
                "TIME".clone_into(text);
            } else if is_hex(32) {
                "JOB".clone_into(text);
            } else if is_hex(40) {
                "COMMIT".clone_into(text);
            } else if let Some((_, name)) = text.strip_prefix("file://").and_then(|path| path.rsplit_once('/')) {
                *text = format!("file://REPOS/{name}");
            }
        }
        _ => {}
    }
}

#[track_caller]
fn check(mut told: Value, expected: &Expect) {
    plain(&mut told);
    expected.assert_eq(&serde_json::to_string_pretty(&told).expect("JSON can be written"));
}

/// Two repositories; `pow` has one on a branch, and both as a composite.
fn server() -> TeamServer {
    let mut server = TeamServer::start(Path::new(env!("CARGO_BIN_EXE_lore")));
    server.add_user("root", "admin");
    server.add_user("pow", "power_user");
    for name in ["api", "web"] {
        let repo = server.repo(name);
        repo.write("src/heron.rs", "pub fn heron() {}\n").commit("Begin");
        repo.git(&["checkout", "-q", "-b", "dev"]);
        repo.write("src/owl.rs", "pub fn owl() {}\n").commit("Owl");
        repo.git(&["checkout", "-q", "main"]);
        let every = if name == "api" { json!({"refresh_every": "6h"}) } else { json!({"refresh_every": 3600}) };
        server.add_golden("root", &repo, name, &every);
    }
    let wanted = json!({"golden_repo_alias": "api", "branch_name": "dev", "user_alias": "mine"});
    server.done("pow", &server.ask("pow", "activate_repository", &wanted));
    let both = json!({"operation": "create", "user_alias": "all", "golden_repo_aliases": ["web", "api"]});
    server.done("pow", &server.ask("pow", "manage_composite_repository", &both));
    server
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table of what is told")]
fn repositories_are_told_field_by_field() {
    let server = server();
    let ask = |tool: &str, arguments: &Value| server.ask("pow", tool, arguments);
    check(
        ask("discover_repositories", &json!({})),
        &expect![[r#"
        {
          "success": true,
          "repositories": [
            {
              "alias": "api",
              "repo_url": "file://REPOS/api",
              "default_branch": "main",
              "clone_path": "clones/api.git",
              "created_at": "TIME",
              "enable_temporal": false,
              "temporal_options": null,
              "source_type": "golden",
              "state": "ready",
              "refresh_every": 21600,
              "last_refreshed_at": "TIME",
              "last_error": null
            },
            {
              "alias": "web",
              "repo_url": "file://REPOS/web",
              "default_branch": "main",
              "clone_path": "clones/web.git",
              "created_at": "TIME",
              "enable_temporal": false,
              "temporal_options": null,
              "source_type": "golden",
              "state": "ready",
              "refresh_every": 3600,
              "last_refreshed_at": "TIME",
              "last_error": null
            }
          ],
          "total": 2
        }"#]],
    );
    check(
        ask("list_repositories", &json!({})),
        &expect![[r#"
        {
          "success": true,
          "repositories": [
            {
              "user_alias": "all",
              "is_composite": true,
              "golden_repo_aliases": [
                "web",
                "api"
              ],
              "activated_at": "TIME",
              "last_accessed": "TIME OR NULL"
            },
            {
              "user_alias": "mine",
              "golden_repo_alias": "api",
              "current_branch": "dev",
              "activated_at": "TIME",
              "last_accessed": "TIME OR NULL"
            }
          ],
          "total": 2
        }"#]],
    );
    check(
        ask("get_repository_status", &json!({"user_alias": "mine"})),
        &expect![[r#"
        {
          "success": true,
          "status": {
            "alias": "mine",
            "repo_url": "file://REPOS/api",
            "default_branch": "main",
            "clone_path": "clones/api.git",
            "created_at": "TIME",
            "activation_status": "activated",
            "branches_list": [
              "dev",
              "main"
            ],
            "file_count": 2,
            "index_size": "BYTES",
            "last_updated": "TIME",
            "enable_temporal": false,
            "temporal_status": null,
            "golden_repo_alias": "api",
            "current_branch": "dev",
            "branch_count": 2,
            "history_state": "current",
            "code_state": "current",
            "commit": "COMMIT",
            "commit_count": 2,
            "uncommitted_files": 0,
            "health": {
              "score": 1.0,
              "issues": []
            }
          }
        }"#]],
    );
    check(
        ask("get_repository_statistics", &json!({"repository_alias": "mine"})),
        &expect![[r#"
        {
          "success": true,
          "statistics": {
            "repository_id": "mine",
            "files": {
              "total": 2,
              "indexed": 2,
              "by_language": {
                "rust": 2
              }
            },
            "storage": {
              "repository_size_bytes": 34,
              "index_size_bytes": "BYTES",
              "embedding_count": 4
            },
            "activity": {
              "created_at": "TIME",
              "last_sync_at": "TIME",
              "last_accessed_at": "TIME OR NULL",
              "sync_count": 2,
              "commit_count": 2
            },
            "health": {
              "score": 1.0,
              "issues": []
            }
          }
        }"#]],
    );
}

#[test]
fn every_alias_has_its_row_also_where_it_cannot_be_asked() {
    let server = server();
    let rows = |user: &str| {
        let told = server.ask(user, "get_all_repositories_status", &json!({}));
        let told = told["repositories"].as_array().cloned().unwrap_or_default();
        let text = |row: &Value, name: &str| row[name].as_str().unwrap_or("-").to_owned();
        let row = |row: &Value| {
            ["alias", "golden_repo_alias", "activation_status", "error"].map(|name| text(row, name)).join(" | ")
        };
        told.iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(rows("root"), ["api | api | not_activated | -", "web | web | not_activated | -"]);
    let own = ["all | - | activated | -", "mine | api | activated | -"];
    assert_eq!(rows("pow"), own);
    let all = server.ask("pow", "get_all_repositories_status", &json!({}));
    let (row, mine) = (&all["repositories"][0], &all["repositories"][1]);
    assert_eq!((&all["total"], &row["is_composite"]), (&json!(2), &json!(true)), "{all}");
    assert_eq!(row["golden_repo_aliases"], json!(["web", "api"]));
    let members = row["members"].as_array().expect("a list");
    let names: Vec<&Value> = members.iter().map(|member| &member["alias"]).collect();
    assert_eq!(names, ["web", "api"]);
    for counted in ["commit_count", "file_count", "index_size"] {
        let sum: u64 = members.iter().filter_map(|member| member[counted].as_u64()).sum();
        assert_eq!(row[counted], sum, "{counted}");
    }
    assert_eq!((&row["health"], &mine["health"]["score"]), (&json!({"score": 1.0, "issues": []}), &json!(1.0)));
    lore_testkit::Git::at(server.repos().join("api")).text(&["branch", "-q", "-D", "dev"]).expect("it goes");
    server.done("root", &server.ask("root", "refresh_golden_repo", &json!({"alias": "api"})));
    let gone = "mine | api | activated | its branch `dev` is not there any more; choose another with `switch_branch`";
    assert_eq!(rows("pow"), [own[0], gone]);
    // A composite has one row still when it has lost a member.
    server.done("root", &server.ask("root", "remove_golden_repo", &json!({"alias": "web", "force": true})));
    let all = server.ask("pow", "get_all_repositories_status", &json!({}));
    assert_eq!((&all["total"], &all["repositories"][0]["golden_repo_aliases"]), (&json!(2), &json!(["api"])), "{all}");
}

#[test]
fn users_and_jobs_are_told_field_by_field() {
    let server = server();
    check(
        server.ask("root", "list_users", &json!({})),
        &expect![[r#"
        {
          "success": true,
          "users": [
            {
              "username": "admin",
              "role": "admin",
              "created_at": "TIME"
            },
            {
              "username": "pow",
              "role": "power_user",
              "created_at": "TIME"
            },
            {
              "username": "root",
              "role": "admin",
              "created_at": "TIME"
            }
          ],
          "total": 3
        }"#]],
    );
    let asked = server.ask("pow", "sync_repository", &json!({"user_alias": "mine"}));
    let told = server.done("pow", &asked);
    let times = ["created_at", "started_at", "completed_at"].map(|name| told["job"][name].as_str().unwrap_or_default());
    assert!(times.is_sorted() && !times[0].is_empty(), "{told}");
    check(
        told["job"].clone(),
        &expect![[r#"
        {
          "job_id": "JOB",
          "operation_type": "sync_repository",
          "status": "completed",
          "created_at": "TIME",
          "started_at": "TIME",
          "completed_at": "TIME",
          "progress": 100,
          "result": "api: 0 commits read, 2 in the index; 0 files read, 2 searched",
          "error": null,
          "username": "pow",
          "repositories": [
            "api"
          ],
          "user_alias": "mine",
          "branch": "dev",
          "attempts": 1
        }"#]],
    );
    // What is removed from many says so.
    let asked = json!({"alias": "api", "force": true});
    let asked = server.ask("root", "remove_golden_repo", &asked);
    let message = "golden repository `api` is being removed, with 1 activation and from 1 composite";
    assert_eq!(asked["message"], message);
    let told = server.done("root", &asked);
    assert_eq!(told["job"]["result"], "`api` is removed, with 1 activation and from 1 composite");
}

#[test]
fn an_interval_is_taken_as_people_write_it() {
    let server = server();
    let told = server.ask("root", "discover_repositories", &json!({}));
    let every = |row: usize| told["repositories"][row]["refresh_every"].clone();
    assert_eq!((every(0), every(1)), (json!(21_600), json!(3600)), "{told}");
    let asked = json!({"url": "https://git.example/x.git", "alias": "x", "refresh_every": "often"});
    let unfit = server.refused("root", "add_golden_repo", &asked);
    assert!(unfit.contains("15m"), "{unfit}");
}

#[test]
fn beside_the_server_repositories_are_kept_and_told_as_on_it() {
    let server = server();
    let data = server.data();
    let data = data.to_str().expect("the path is UTF-8");
    let lore = |args: &[&str]| server.lore().json(&[args, &["--data", data, "--json"]].concat());
    // One that was added when that was not refused yet.
    let records = rusqlite::Connection::open(server.data().join("team.db")).expect("it is there");
    records
        .execute("UPDATE golden SET url = 'https://tok3n@192.0.2.1/api.git' WHERE alias = 'api'", [])
        .expect("it can be written");
    let listed = lore(&["golden", "list"]);
    assert!(listed.to_string().contains("https://192.0.2.1/api.git"), "{listed}");
    assert!(!listed.to_string().contains("tok3n"), "{listed}");
    for (option, kept) in [("--temporal", true), ("--no-temporal", false)] {
        lore(&["golden", "set", "web", option]);
        let listed = server.ask("root", "discover_repositories", &json!({}));
        let web = listed["repositories"].as_array().expect("a list").iter().find(|row| row["alias"] == "web");
        assert_eq!(web.expect("it is there")["enable_temporal"], kept, "{listed}");
    }
}
