//! `lore login`, `password`, `users`, `tokens`, `golden` and `jobs` against a server that a test stands in for, a real one, and
//! the data of one that does not run.

use std::{
    io::Write as _,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use lore_testkit::{Asked, Lore, Output, Reply, Repo, StandIn, TeamServer};
use serde_json::{Value, json};

use crate::{
    bridge::{TOKEN, lore},
    tiny_disk::TinyDisk,
};

fn user(name: &str) -> Value {
    json!({"username": name, "role": "admin", "created_at": "2026-01-01T00:00:00Z"})
}

fn job(status: &str, progress: u32) -> Value {
    let error = if status == "failed" { json!("no such host") } else { Value::Null };
    json!({
        "job_id": "j1", "operation_type": "add_golden_repo", "status": status, "created_at": "2026-01-01T00:00:00Z",
        "started_at": null, "completed_at": null, "progress": progress, "result": null, "error": error, "username": "ada",
    })
}

/// A server that takes one password and one token, and does what it is told.
fn server() -> StandIn {
    let looked = AtomicUsize::new(0);
    StandIn::start(move |asked: &Asked| answer(asked, &looked))
}

fn answer(asked: &Asked, looked: &AtomicUsize) -> Reply {
    let error = |status: u16, code: &str, message: &str| {
        Reply::json(status, &json!({"error": {"code": code, "message": message, "hint": "do something"}}))
    };
    if asked.path == "/auth/login" {
        if asked.body["password"] != "correct horse battery" {
            return error(401, "unauthenticated", "wrong name or password");
        }
        return Reply::json(
            200,
            &json!({
                "access_token": TOKEN, "token_type": "bearer", "expires_in": 900, "user": user("ada"),
                "refresh_token": "refresh-hunter2", "refresh_token_expires_in": 2_592_000,
            }),
        );
    }
    if asked.header("authorization") != Some(&format!("Bearer {TOKEN}")) {
        return error(401, "unauthenticated", "who are you?");
    }
    let started = json!({"success": true, "job_id": "j1", "message": "it is being done"});
    match (asked.method.as_str(), asked.path.as_str()) {
        ("POST", "/auth/logout") | ("DELETE", "/api/users/grace" | "/api/tokens/7") => {
            Reply::json(200, &json!({"success": true}))
        }
        ("GET", "/api/users?limit=1000") => {
            Reply::json(200, &json!({"users": [user("ada"), user("grace")], "total": 2}))
        }
        ("POST", "/api/users") if asked.body["username"] == "ada" => error(409, "user_exists", "there is `ada`"),
        ("POST", "/api/users") | ("PATCH", "/api/users/grace") => {
            Reply::json(200, &json!({"success": true, "user": user("grace"), "message": "done"}))
        }
        ("GET", "/api/audit?limit=2" | "/api/audit?limit=5000") => Reply::json(
            200,
            &json!({"entries": [{"at": "2026-01-01T00:00:00Z", "username": null, "address": "192.0.2.1", "act": "login", "subject": "ada", "outcome": "denied"}], "total": 3}),
        ),
        ("GET", "/api/tokens?limit=1000" | "/api/tokens?all=true&limit=1000") => Reply::json(
            200,
            &json!({"tokens": [{"id": 7, "name": "laptop", "username": "ada", "created_at": null, "expires_at": null, "last_used_at": null}], "total": 1}),
        ),
        ("POST", "/api/tokens") => Reply::json(
            200,
            &json!({"token": "lore_pat_new", "id": "8", "name": asked.body["name"], "expires_at": null}),
        ),
        ("GET", "/api/golden?limit=1000") => Reply::json(
            200,
            &json!({"repositories": [{"alias": "shop", "repo_url": "https://git.example.com/shop.git", "default_branch": "main", "created_at": null, "enable_temporal": true, "refresh_every": 21600, "clone_path": "/x"}], "total": 1200}),
        ),
        ("POST", "/api/golden" | "/api/golden/shop/refresh") | ("DELETE", "/api/golden/shop?force=true") => {
            Reply::json(200, &started)
        }
        ("PATCH", "/api/golden/shop") => Reply::json(200, &json!({"success": true, "message": "noted"})),
        ("GET", "/api/jobs?status=running&limit=50") => {
            Reply::json(200, &json!({"jobs": [job("running", 40)], "total": 1}))
        }
        ("GET", "/api/jobs/j1") => {
            let status = if looked.fetch_add(1, Ordering::SeqCst) < 2 { "running" } else { "completed" };
            let log = json!([{"at": "2026-01-01T00:00:00Z", "text": "cloning\u{1b}[31m"}]);
            Reply::json(200, &json!({"job": job(status, 50), "logs": log}))
        }
        ("GET", "/api/jobs/j3") => {
            let unwritten = json!({"code": "disk_full", "message": "no space is left for the team's records"});
            Reply::json(200, &json!({"job": job("running", 50), "logs": [], "unwritten": unwritten}))
        }
        ("GET", "/api/jobs/j2") => Reply::json(200, &json!({"job": job("failed", 50)})),
        ("POST", "/api/jobs/j1/cancel") => Reply::json(200, &json!({"success": true, "message": "it stops"})),
        ("GET", "/api/jobs/..%2Fusers") => error(404, "job_not_found", "there is no such job"),
        other => error(404, "of_the_future", &format!("{other:?}")),
    }
}

/// Runs with a text on standard input.
fn run(lore: &Lore, args: &[&str], input: &str) -> Output {
    let file = lore.user_home().join("input");
    std::fs::write(&file, input).expect("it goes well");
    let mut command = lore.command(args);
    command.stdin(std::fs::File::open(&file).expect("it goes well"));
    let output = command.output().expect("it goes well");
    Output {
        status: output.status,
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn logged_in(server: &StandIn) -> Lore {
    let lore = lore();
    let output =
        run(&lore, &["login", &server.url(), "--username", "Ada", "--password-stdin"], "correct horse battery\n");
    assert!(output.status.success(), "{}", output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("logged in at {} as ada (admin)\n", server.url()));
    lore
}

#[test]
fn a_login_is_kept_until_its_end() {
    let server = server();
    let lore = logged_in(&server);
    let file = lore.home().join("servers.json");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        for file in [&file, &lore.home().join("servers.json.lock")] {
            assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
    assert_eq!(server.asked()[0].body["username"], "ada");
    assert_eq!(lore.json(&["--json", "users", "list"])["total"], 2);
    lore.ok(&["logout"]);
    assert_eq!(server.asked_for("POST", "/auth/logout")[0].body["refresh_token"], "refresh-hunter2");
    assert!(!std::fs::read_to_string(&file).unwrap().contains("hunter2"));
    let output = lore.run(&["users", "list"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.contains("lore login URL"), "{}", output.stderr);
}

#[test]
fn a_wrong_login_leaves_nothing_behind() {
    let server = server();
    let lore = lore();
    let output = run(&lore, &["login", &server.url(), "--username", "ada", "--password-stdin"], "hunter2");
    assert_eq!(output.status.code(), Some(9));
    assert!(output.stderr.contains("wrong name or password") && output.stderr.contains("do something"));
    assert!(!output.stderr.contains("hunter2"));
    assert_eq!(std::fs::read_dir(lore.home()).unwrap().count(), 0);
    // Without a terminal nothing is asked.
    let output = run(&lore, &["login", &server.url(), "--username", "ada"], "hunter2");
    assert!(output.stderr.contains("--password-stdin"), "{}", output.stderr);
}

#[test]
fn a_server_is_administered() {
    let server = server();
    let lore = logged_in(&server);
    let check = |args: &[&str], input: &str, expected: &str| {
        let output = run(&lore, args, input);
        assert!(output.status.success(), "{args:?}: {}", output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{args:?}");
    };
    check(
        &["users", "list"],
        "",
        "user   role   since\nada    admin  2026-01-01T00:00:00Z\ngrace  admin  2026-01-01T00:00:00Z\n",
    );
    check(
        &["users", "add", "grace", "--role", "power_user", "--password-stdin"],
        "a long new password",
        "grace (admin) may use the server now\n",
    );
    check(&["users", "set-role", "grace", "admin"], "", "grace (admin) is set\n");
    check(&["users", "set-password", "grace", "--password-stdin"], "another", "grace (admin) has another password\n");
    check(&["users", "remove", "grace"], "", "grace may not use the server any more\n");
    check(
        &["users", "audit", "--limit", "2"],
        "",
        "when                  who  from       act    about  outcome\n2026-01-01T00:00:00Z  -    192.0.2.1  login  ada    denied\n",
    );
    check(&["tokens", "list", "--all"], "", "id  name    of   last used  ends\n7   laptop  ada  -          never\n");
    check(&["tokens", "create", "laptop", "--expires-in-days", "90"], "", "lore_pat_new\n");
    check(&["tokens", "revoke", "7"], "", "the token 7 is of no use any more\n");
    check(
        &["golden", "list"],
        "",
        "alias  branch  state  temporal  refresh  from\nshop   main    -      yes       6h       https://git.example.com/shop.git\n",
    );
    check(
        &[
            "golden",
            "add",
            "https://git.example.com/shop.git",
            "shop",
            "--branch",
            "main",
            "--temporal",
            "--refresh-every",
            "6h",
        ],
        "",
        "it is being done\n",
    );
    check(&["golden", "set", "shop", "--no-refresh"], "", "noted\n");
    check(&["golden", "refresh", "shop", "--wait"], "", "add_golden_repo completed\n");
    check(&["golden", "remove", "shop", "--force"], "", "it is being done\n");
    check(
        &["jobs", "list", "--status", "running"],
        "",
        "job  what             about  status   done  since                 for\nj1   add_golden_repo  -      running  40 %  2026-01-01T00:00:00Z  ada\n",
    );
    check(&["jobs", "cancel", "j1"], "", "it stops\n");
    check(&["jobs", "wait", "j1"], "", "add_golden_repo completed\n");
    let shown = String::from_utf8(lore.ok(&["jobs", "show", "j1"])).unwrap();
    assert!(shown.contains("cloning<U+001B>[31m"), "{shown}");
    let sent = |method: &str, path: &str| server.asked_for(method, path)[0].body.clone();
    assert_eq!(
        sent("POST", "/api/users"),
        json!({"username": "grace", "password": "a long new password", "role": "power_user"})
    );
    assert_eq!(sent("POST", "/api/tokens"), json!({"name": "laptop", "expires_in_days": 90}));
    assert_eq!(
        sent("POST", "/api/golden"),
        json!({"url": "https://git.example.com/shop.git", "alias": "shop", "enable_temporal": true, "branch": "main", "refresh_every": 21600})
    );
    assert_eq!(sent("PATCH", "/api/golden/shop"), json!({"refresh_every": null}));
}

#[test]
fn refusals_of_a_server_are_failures_like_others() {
    let server = server();
    let lore = logged_in(&server);
    let check = |args: &[&str], exit: i32, code: &str, message: &str| {
        let output = run(&lore, &[&["--json"], args].concat(), "a password");
        assert_eq!(output.status.code(), Some(exit), "{args:?}: {}", output.stderr);
        let failure: Value = serde_json::from_str(&output.stderr).unwrap();
        assert_eq!(failure["error"]["code"], code, "{args:?}: {failure}");
        assert!(failure["error"]["message"].as_str().unwrap().contains(message), "{failure}");
        assert!(output.stdout.is_empty());
    };
    check(&["users", "add", "ada", "--role", "admin", "--password-stdin"], 4, "user_exists", "there is `ada`");
    check(&["jobs", "show", "../users"], 3, "job_not_found", "no such job");
    check(&["golden", "refresh", "nope"], 8, "server_unreachable", "nope/refresh");
    check(&["jobs", "wait", "j2"], 4, "conflict", "no such host");
    check(&["jobs", "wait", "j3"], 7, "disk_full", "no space is left for the team's records");
    let absent = lore.home().join("no-server");
    let absent = absent.to_str().expect("the path is UTF-8");
    check(&["users", "list", "--data", absent], 2, "invalid_argument", "no data of a server");
    check(&["users", "list", "--data", absent, "--url", "http://localhost"], 2, "invalid_argument", "exclude");
    check(&["users", "list", "--url", "http://192.0.2.1"], 2, "invalid_argument", "in the clear");
    check(&["users", "list", "--token-env", "NO_SUCH_VARIABLE"], 9, "unauthenticated", "NO_SUCH_VARIABLE");
    check(&["users", "list", "--url", "http://127.0.0.1:1"], 9, "unauthenticated", "nobody is logged in");
    check(&["golden", "set", "shop"], 2, "invalid_argument", "nothing is to change");
    check(&["tokens", "create", "x", "--user", "grace"], 2, "invalid_argument", "their own tokens");
}

#[test]
fn a_token_of_the_environment_needs_no_login() {
    let server = server();
    let lore = lore();
    for (variable, option) in [("LORE_TOKEN", None), ("TEAM_TOKEN", Some("TEAM_TOKEN"))] {
        let mut args = vec!["--json", "users", "list", "--url"];
        let url = server.url();
        args.push(&url);
        args.extend(option.map(|_| "--token-env"));
        args.extend(option);
        let output = lore.command(&args).env(variable, TOKEN).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let output =
        lore.command(&["users", "list", "--url", &server.url()]).env("LORE_TOKEN", "wrong\u{e9}").output().unwrap();
    assert_eq!(output.status.code(), Some(9));
    assert_eq!(std::fs::read_dir(lore.home()).unwrap().count(), 0);
}

#[test]
fn a_list_that_is_cut_says_so() {
    let server = server();
    let lore = logged_in(&server);
    for (args, note) in [
        (&["golden", "list"][..], "1 of 1200 are shown; a server gives no more at a time\n"),
        (&["users", "audit", "--limit", "5000"], "1 of 3 are shown; a server gives no more at a time\n"),
        (&["users", "list"], ""),
    ] {
        let output = lore.run(args);
        assert!(output.status.success(), "{args:?}: {}", output.stderr);
        assert_eq!(output.stderr, note, "{args:?}");
    }
    let told = lore.json(&["--json", "golden", "list"]);
    assert_eq!((told["repositories"].as_array().unwrap().len(), &told["total"]), (1, &json!(1200)));
    assert_eq!(lore.json(&["--json", "users", "audit", "--limit", "2"])["total"], 3);
}

#[test]
fn a_login_counts_more_than_a_token_that_may_be_for_another_server() {
    let server = server();
    let lore = logged_in(&server);
    let url = server.url();
    let list = |args: &[&str]| {
        let args = [&["users", "list", "--url", &url], args].concat();
        lore.command(&args).env("LORE_TOKEN", "of_another_server").output().unwrap()
    };
    assert!(list(&[]).status.success());
    // Whoever names the variable means it.
    assert_eq!(list(&["--token-env", "LORE_TOKEN"]).status.code(), Some(9));
}

#[test]
fn the_authority_of_a_team_is_remembered() {
    let server = server();
    let lore = lore();
    let log_in = |more: &[&str]| {
        let url = server.url();
        let args = [&["login", &url, "--username", "ada", "--password-stdin"], more].concat();
        assert!(run(&lore, &args, "correct horse battery").status.success());
        std::fs::read_to_string(lore.home().join("servers.json")).unwrap()
    };
    assert!(log_in(&["--ca-file", "/etc/team.pem"]).contains("/etc/team.pem"));
    assert!(log_in(&[]).contains("/etc/team.pem"), "another login does not forget it");
    assert!(log_in(&["--ca-file", "/etc/new.pem"]).contains("/etc/new.pem"));
    // A host that asks by itself does not know it: the bridge does.
    let shown = String::from_utf8(lore.ok(&["setup", "claude-code", "--server", &server.url(), "--print"])).unwrap();
    assert!(shown.contains("\"bridge\"") && !shown.contains("LORE_TOKEN"), "{shown}");
}

#[test]
fn somebody_changes_their_own_password() {
    let server = TeamServer::start(Path::new(env!("CARGO_BIN_EXE_lore")));
    let lore = server.lore();
    let (url, old) = (server.url(), server.admin_password());
    let file = server.data().join("first-admin-password");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{old}\n"));
    let log_in = |password: &str| run(lore, &["login", &url, "--username", "admin", "--password-stdin"], password);
    assert!(log_in(old).status.success());
    let change = |input: &str| run(lore, &["password", "--password-stdin"], input);
    let refused = change("not it\na long new password 7\n");
    assert_eq!(refused.status.code(), Some(9), "{}", refused.stderr);
    let output = change(&format!("{old}\na long new password 7\n"));
    assert!(output.status.success(), "{}", output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("admin has another password at {url}\n"));
    assert_eq!(output.stderr, "", "nothing was left undone");
    // The login here goes on, and the old password is worth nothing.
    assert_eq!(lore.json(&["--json", "users", "list"])["total"], 1);
    assert_eq!(log_in(old).status.code(), Some(9));
}

/// A repository with one file.
fn shop(folder: &Path) -> Repo {
    let repo = Repo::init(folder.join("shop"));
    repo.write("till.rs", "fn till() {}\n");
    repo.commit("a till");
    repo
}

/// Makes the first user in the data of a server.
fn add_ada(lore: &Lore, more: &[&str]) {
    let args = [&["users", "add", "ada", "--role", "admin", "--password-stdin"], more].concat();
    let output = run(lore, &args, "tall green river 7");
    assert!(output.status.success(), "{}", output.stderr);
}

#[test]
fn the_server_of_this_machine_is_meant_where_none_is_named() {
    let lore = lore();
    let output = lore.run(&["users", "list"]);
    assert_eq!(output.status.code(), Some(2));
    for way in ["--data DIR", "--url URL", "lore login URL"] {
        assert!(output.stderr.contains(way), "{}", output.stderr);
    }
    assert!(!lore.home().join("server").exists(), "asking makes none");
    add_ada(&lore, &[]);
    assert!(lore.home().join("server/team.db").exists());
    assert_eq!(lore.json(&["--json", "users", "list"])["total"], 1);
}

#[test]
fn a_job_is_done_by_whoever_waits_for_it() {
    let lore = lore();
    let repo = shop(lore.user_home());
    let data = lore.user_home().join("its data");
    let data = data.to_str().unwrap();
    add_ada(&lore, &["--data", data]);
    let from = repo.path().to_str().unwrap();
    let output = lore.run(&["golden", "add", from, "shop", "--data", data]);
    assert!(output.status.success(), "{}", output.stderr);
    let jobs = lore.json(&["--json", "jobs", "list", "--data", data]);
    let id = jobs["jobs"][0]["job_id"].as_str().unwrap();
    assert_eq!(jobs["jobs"][0]["status"], "pending", "nobody has waited for it");
    // What is advised is about the same data.
    assert!(output.stderr.contains(&format!("`lore jobs wait {id} --data '{data}'`")), "{}", output.stderr);
    let waited = lore.ok(&["jobs", "wait", id, "--data", data]);
    assert_eq!(
        String::from_utf8_lossy(&waited),
        "add_golden_repo completed: shop: 1 commit read, 1 in the index; 1 file read, 1 searched\n"
    );
    lore.ok(&["golden", "refresh", "shop", "--data", data, "--wait"]);
}

#[test]
fn who_waits_beside_a_server_is_told_that_its_disk_is_full() {
    let lore = lore();
    let Some(disk) = TinyDisk::mount(lore.user_home().join("disk").to_str().unwrap()) else { return };
    let data = disk.home();
    add_ada(&lore, &["--data", &data]);
    let repo = shop(lore.user_home());
    lore.ok(&["golden", "add", repo.path().to_str().unwrap(), "shop", "--data", &data]);
    let jobs = lore.json(&["--json", "jobs", "list", "--data", &data]);
    let id = jobs["jobs"][0]["job_id"].as_str().unwrap();
    // As a server has it that runs there.
    let lock = std::fs::File::create(Path::new(&data).join("server.lock")).unwrap();
    lock.lock().unwrap();
    let mut filler = std::fs::File::create(format!("{}/filler", disk.0)).unwrap();
    while filler.write_all(&[0; 4096]).is_ok() {}
    let output = lore.run(&["--json", "jobs", "wait", id, "--data", &data]);
    assert_eq!(output.status.code(), Some(7), "{}", output.stderr);
    let failure: Value = serde_json::from_str(&output.stderr).unwrap();
    let (message, hint) = (failure["error"]["message"].as_str().unwrap(), failure["error"]["hint"].as_str().unwrap());
    assert!(message.starts_with("what becomes of jobs cannot be written down: no space is left"), "{failure}");
    assert!(hint.contains(&format!("lore jobs wait {id}")), "{failure}");
}

#[test]
fn jobs_that_no_server_does_keep_to_what_it_may_clone() {
    let lore = lore();
    let data = lore.user_home().join("data");
    let data = data.to_str().unwrap();
    add_ada(&lore, &["--data", data]);
    let refused = |lore: &Lore, url: &str, data: &str, why: &str| {
        let output = lore.run(&["golden", "add", url, "x", "--data", data, "--wait"]);
        assert!(!output.status.success() && output.stderr.contains(why), "{url}: {}", output.stderr);
    };
    // Where no server has decided it, only what is public, and the folder that is named.
    let repo = shop(lore.user_home());
    lore.ok(&["golden", "add", repo.path().to_str().unwrap(), "shop", "--data", data, "--wait"]);
    refused(&lore, "http://127.0.0.1:1/x.git", data, "--allow-http");
    refused(&lore, "https://127.0.0.1:1/x.git", data, "not on the public internet");
    let mut server = TeamServer::start_with(Path::new(env!("CARGO_BIN_EXE_lore")), &["--allow-http"]);
    server.kill();
    let data = server.data();
    refused(server.lore(), "http://127.0.0.1:1/x.git", data.to_str().unwrap(), "not on the public internet");
}
