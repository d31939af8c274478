//! A team server that is killed keeps what it promised: users, tokens, jobs, activations, and an index that answers the same.
//! One that is stopped gives back what it was doing.

use std::{path::Path, time::Duration};

use lore_testkit::{
    TeamServer,
    team::kill::{Kills, Load, kill_and_compare},
};
use serde_json::{Value, json};

use crate::switches;

#[test]
fn a_killed_server_keeps_what_it_promised() {
    let times = if switches::slow_tests() { 8 } else { 3 };
    // A little of the load that `cargo xtask kill-server` makes.
    let load = Some(Load { users: 4, rate: 2.0, lines: 600 });
    let kills = Kills { times, most: Duration::from_secs(2), users: 2, lines: 600, load, seed: 3 };
    // Only the server itself is killed: what it has started may still run when the next one begins.
    let report = kill_and_compare(Path::new(env!("CARGO_BIN_EXE_lore")), kills, &mut |child| Ok(child.kill()?))
        .expect("every server starts, and every job ends");
    assert!(report.is_clean(), "{report:#?}");
    assert!(report.kills >= times && report.starts > 0 && report.compared > 0, "{report:#?}");
    assert!(report.logins > 0 && report.rotations > 0 && report.load > 0, "{report:#?}");
}

#[cfg(unix)]
#[test]
fn a_stopped_server_gives_back_the_job_it_was_doing() {
    use lore_store::HistoryStore as _;
    use nix::{
        sys::signal::{Signal, kill},
        unistd::Pid,
    };

    let mut server = TeamServer::start(Path::new(env!("CARGO_BIN_EXE_lore")));
    server.add_user("root", "admin");
    let repo = server.repo("api");
    repo.write("src/heron.rs", "pub fn heron() {}\n").commit("Begin");
    // Whoever writes the index makes the job wait.
    let store = lore_store_embedded::EmbeddedStore::new(server.data());
    let writer = store.try_writer().expect("nobody writes");
    let asked = server.ask("root", "add_golden_repo", &json!({"url": repo.path(), "alias": "api"}));
    let id = asked["job_id"].as_str().expect("a job").to_owned();
    let job = |server: &TeamServer| server.ask("root", "get_job_details", &json!({"job_id": id}))["job"].clone();
    while job(&server)["status"] != "running" {
        std::thread::yield_now();
    }
    kill(Pid::from_raw(server.process_id().cast_signed()), Signal::SIGTERM).expect("it can be told");
    assert!(server.wait().success(), "it ends by itself");
    let data = server.data();
    let data = data.to_str().expect("the path is UTF-8");
    let left = server.lore().json(&["jobs", "show", &id, "--data", data, "--json"]);
    let left = if left["job"].is_object() { left["job"].clone() } else { left };
    assert_eq!((&left["status"], &left["attempts"]), (&json!("pending"), &json!(0)), "it does not count: {left}");
    drop(writer);
    server.restart();
    let done = server.done("root", &asked);
    assert_eq!(done["job"]["attempts"], 1, "{done}");
    let found = server.ask("root", "search_code", &json!({"query_text": "heron", "search_mode": "fts"}));
    assert_eq!(found["results"]["results"].as_array().map(Vec::len), Some(1), "{found}");
}

#[test]
fn a_server_starts_when_a_killed_one_has_left_its_folder() {
    let server = lore_testkit::team::Server::new(Path::new(env!("CARGO_BIN_EXE_lore")), &[]);
    std::fs::create_dir_all(server.data()).expect("a fresh directory is writable");
    // As a program has it that a server was starting when it was killed.
    let lock = std::fs::File::create(server.data().join("server.lock")).expect("a fresh directory is writable");
    lock.lock().expect("nobody has it");
    let mut starting = server.spawn().expect("lore starts");
    let said = starting.line().expect("it says what it waits for");
    assert!(said.contains("another process has the folder"), "{said}");
    drop(lock);
    starting.listen().expect("it has the folder to itself");
}

#[test]
fn a_server_that_runs_keeps_its_folder() {
    if !switches::slow_tests() {
        return;
    }
    let server = TeamServer::start(Path::new(env!("CARGO_BIN_EXE_lore")));
    let data = server.data();
    let second =
        server.lore().run(&["server", "--listen", "127.0.0.1:0", "--data", data.to_str().expect("it is UTF-8")]);
    assert!(second.stderr.contains("another server has the folder"), "{}", second.stderr);
    assert_eq!(second.status.code(), Some(5), "{}", second.stderr);
    assert_eq!(server.http("GET", "/healthz", &[], b"").expect("the first one goes on").status, 200);
}

/// A git that waits before it fetches anything, until it may go on.
#[cfg(unix)]
struct Gate {
    dir: tempfile::TempDir,
}

#[cfg(unix)]
impl Gate {
    /// For the commands of this home.
    fn new(home: &Path) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let (git, place) = (dir.path().join("git"), dir.path().display());
        let fetches = r#"*" clone "*|*" fetch "*"#;
        let waits = format!("echo $$ >> {place}/programs; until [ -e {place}/open ]; do sleep 0.02; done");
        let script = format!("#!/bin/sh\ncase \" $* \" in {fetches}) {waits};; esac\nexec git \"$@\"\n");
        std::fs::write(&git, script).expect("a fresh directory is writable");
        std::fs::set_permissions(&git, PermissionsExt::from_mode(0o755)).expect("it is ours");
        std::fs::write(home.join("config.toml"), format!("git = {:?}\n", git.display().to_string()))
            .expect("the home is writable");
        Self { dir }
    }

    /// Lets all of them go on.
    fn open(&self) {
        std::fs::write(self.dir.path().join("open"), "").expect("the directory is writable");
    }

    /// Waits until one of them waits.
    fn wait(&self) {
        while !self.has_programs() {
            std::thread::yield_now();
        }
    }

    /// Whether one of them runs.
    fn has_programs(&self) -> bool {
        let listed = std::fs::read_to_string(self.dir.path().join("programs")).unwrap_or_default();
        let mut pids = listed.lines().filter_map(|line| line.parse().ok());
        pids.any(|pid| nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_ok())
    }
}

/// Programs of a killed server may go on for as long as they like: none of them has its folder.
#[cfg(unix)]
#[test]
fn a_killed_server_can_be_started_again_while_its_programs_run() {
    let mut server = TeamServer::start(Path::new(env!("CARGO_BIN_EXE_lore")));
    let gate = Gate::new(server.lore().home());
    server.add_user("root", "admin");
    let repo = server.repo("api");
    repo.write("src/heron.rs", "pub fn heron() {}\n").commit("Begin");
    server.start_again();
    let asked = server.ask("root", "add_golden_repo", &json!({"url": repo.path(), "alias": "api"}));
    gate.wait();
    server.kill();
    assert!(gate.has_programs(), "a program of the killed server still runs");
    server.start_again();
    assert!(gate.has_programs() && !server.log().contains("another process"), "{}", server.log());
    gate.open();
    server.done("root", &asked);
}

#[test]
fn a_server_of_which_only_the_records_were_restored_is_ready_once_it_has_an_index() {
    use lore_store::HistoryStore as _;

    let mut server = TeamServer::start(Path::new(env!("CARGO_BIN_EXE_lore")));
    server.add_user("root", "admin");
    let repo = server.repo("api");
    repo.write("src/heron.rs", "pub fn heron() {}\n").commit("Begin");
    server.add_golden("root", &repo, "api", &json!({}));
    server.kill();
    for entry in std::fs::read_dir(server.data()).expect("it is there").map(|entry| entry.expect("it can be listed")) {
        if entry.file_name().to_string_lossy().starts_with("team.db") {
            continue;
        }
        let removed = if entry.path().is_dir() {
            std::fs::remove_dir_all(entry.path())
        } else {
            std::fs::remove_file(entry.path())
        };
        removed.expect("nobody has it");
    }
    // Whoever writes the index makes the job wait.
    let store = lore_store_embedded::EmbeddedStore::new(server.data());
    let writer = store.try_writer().expect("nobody writes");
    server.start_again();
    let readiness = || server.http("GET", "/readyz", &[], b"").expect("it answers");
    let told = readiness();
    assert_eq!(told.status, 503, "{told:?}");
    assert!(told.text.contains("the index of 1 golden repository is missing and is being built"), "{told:?}");
    assert_eq!(
        server.http("GET", "/healthz", &[], b"").expect("it answers").status,
        200,
        "it need not be started again"
    );
    assert!(server.log().contains("1 of 1 golden repositories have no index"), "{}", server.log());
    assert!(!server.log().contains("a request failed"), "that it is not ready is no fault: {}", server.log());
    // An answer does not pretend to come from an index.
    let told = |tool: &str, arguments: &Value| server.call("root", tool, arguments).to_string();
    for (tool, arguments) in [
        ("search_code", json!({"query_text": "heron"})),
        ("search_code", json!({"query_text": "heron", "repository_alias": "api"})),
        ("commitmux_search", json!({"query": "begin"})),
        ("get_all_repositories_status", json!({})),
    ] {
        let told = told(tool, &arguments);
        assert!(told.contains("has lost its index and is being read again"), "{tool} {arguments}: {told}");
    }
    assert!(told("discover_repositories", &json!({})).contains("indexing"));
    drop(writer);
    while readiness().status != 200 {
        std::thread::yield_now();
    }
    let found = server.ask("root", "search_code", &json!({"query_text": "heron", "search_mode": "fts"}));
    assert_eq!(found["results"]["results"].as_array().map(Vec::len), Some(1), "{found}");
}
