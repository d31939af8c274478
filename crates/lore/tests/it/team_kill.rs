//! A team server that is killed keeps what it promised: users, tokens, jobs, activations, and an index that answers the same.
//! One that is stopped gives back what it was doing.

use std::{path::Path, time::Duration};

use lore_testkit::team::kill::{Kills, Load, kill_and_compare};

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
    use lore_testkit::TeamServer;
    use nix::{
        sys::signal::{Signal, kill},
        unistd::Pid,
    };
    use serde_json::json;

    let mut server = TeamServer::start(Path::new(env!("CARGO_BIN_EXE_lore")));
    server.add_user("root", "admin");
    let repo = server.repo("api");
    repo.write("src/heron.rs", "pub fn heron() {}\n").commit("Begin");
    // Whoever writes the index makes the job wait.
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime can be made");
    let store = lore_store_embedded::EmbeddedStore::new(server.data());
    let writer = runtime.block_on(store.try_writer()).expect("nobody writes");
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
