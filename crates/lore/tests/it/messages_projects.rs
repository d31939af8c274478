//! A message belongs to one project, by whatever path its writer and its reader come to it.

use std::{fs, os::unix::fs::symlink, path::Path};

use lore_testkit::Repo;
use serde_json::json;

use crate::messages_agent::{Desk, NOTHING, json_of};

/// A second repository beside the desk's own.
fn another(desk: &Desk, name: &str) -> Repo {
    let repo = desk.place.repo(name);
    repo.write("src/main.rs", "fn main() {}\n");
    repo.commit("Begin");
    repo
}

#[test]
fn another_project_gets_nothing_not_even_one_whose_name_begins_alike() {
    let desk = Desk::new();
    let siblings = ["proj-2", "pro", "projx", "other"].map(|name| another(&desk, name));
    let below = another(&desk, "proj/vendored");
    desk.say("for proj");
    desk.say_at(below.path(), "src/main.rs", "for the one inside");
    for sibling in &siblings {
        let mut agent = desk.agent_at(sibling.path());
        assert_eq!(agent.check().text, NOTHING, "{}", sibling.path().display());
        assert_eq!(agent.read()["text"], NOTHING, "{}", sibling.path().display());
    }
    desk.say_at(siblings[0].path(), "src/main.rs", "for proj-2");
    assert_eq!(desk.agent_at(siblings[0].path()).check_all(), ["for proj-2"]);
    assert_eq!(desk.agent_at(below.path()).check_all(), ["for the one inside"]);
    assert_eq!(desk.agent().check_all(), ["for proj"]);
}

#[test]
fn a_subfolder_is_its_project() {
    let desk = Desk::new();
    let folder = desk.repo.path().join("src");
    // Written in the root and read in the folder, and the other way round; the file is named as seen from either.
    desk.say("from the root");
    assert_eq!(desk.agent_at(&folder).check_all(), ["from the root"]);
    desk.say_at(&folder, "main.rs", "from the folder");
    desk.say_at(&folder, "src/main.rs", "as seen from the root");
    let checked = desk.agent().check();
    assert_eq!(checked.comments(), ["from the folder", "as seen from the root"]);
    assert_eq!(
        (&checked.messages[0]["file"], &checked.messages[1]["file"]),
        (&json!("src/main.rs"), &json!("src/main.rs"))
    );
}

#[test]
fn a_file_is_the_one_that_its_writer_sees() {
    let desk = Desk::new();
    desk.repo.write("main.rs", "// at the root\n").write("docs/a.md", "# a\n");
    let folder = desk.repo.path().join("src");
    // Both are there: what counts is where the writer is.
    desk.say_at(&folder, "main.rs", "the inner one");
    desk.say("the inner one again");
    desk.say_at(desk.repo.path(), "main.rs", "the outer one");
    desk.say_at(&folder, "../main.rs", "the outer one again");
    desk.say_at(&folder, "docs/a.md", "only as seen from the root");
    desk.say_at(&folder, ".", "the folder");
    desk.say_at(desk.repo.path(), ".", "the project");
    let checked = desk.agent().check();
    let files: Vec<&str> =
        checked.messages.as_array().expect("a list").iter().map(|one| one["file"].as_str().expect("a file")).collect();
    assert_eq!(files, ["src/main.rs", "src/main.rs", "main.rs", "main.rs", "docs/a.md", "src", "."]);
}

#[test]
fn a_worktree_is_a_project_of_its_own() {
    let desk = Desk::new();
    let tree = desk.place.path("tree");
    desk.repo.git(&["worktree", "add", "--quiet", "-b", "topic", &tree]);
    desk.say("for the main one");
    let kept =
        json_of(desk.lore_at(
            Path::new(&tree),
            &["comment", "--json", "--file", "src/main.rs", "--line", "3", "for the worktree"],
        ));
    assert_eq!(kept["symbol"], "open", "{kept}");
    let checked = desk.agent_at(Path::new(&tree)).check();
    assert_eq!(checked.comments(), ["for the worktree"]);
    assert_eq!((&checked.messages[0]["branch"], &checked.messages[0]["commit"]), (&json!("topic"), &json!(desk.head)));
    assert_eq!(desk.agent().check_all(), ["for the main one"]);
}

#[test]
fn a_folder_without_a_repository_is_a_project_too() {
    let desk = Desk::new();
    let folder = desk.place.path("plain");
    fs::create_dir_all(format!("{folder}/sub")).expect("a folder can be made");
    fs::write(format!("{folder}/notes.md"), "# One\n\ntwo\n").expect("a file can be written");
    let kept =
        json_of(desk.lore_at(Path::new(&folder), &["comment", "--json", "--file", "notes.md", "--line", "3", "plain"]));
    assert_eq!(kept["notes"], json!([]), "{kept}");
    assert_eq!(desk.agent().check().text, NOTHING);
    // Nothing says that a folder in it belongs to it.
    assert_eq!(desk.agent_at(&Path::new(&folder).join("sub")).check().text, NOTHING);
    let checked = desk.agent_at(Path::new(&folder)).check();
    assert_eq!(checked.comments(), ["plain"]);
    let message = &checked.messages[0];
    assert_eq!((&message["file"], &message["line"], &message["code"]), (&json!("notes.md"), &json!(3), &json!("two")));
    assert!(message["commit"].is_null() && message["branch"].is_null(), "{message}");
}

#[test]
fn a_path_through_a_link_is_the_same_project() {
    let desk = Desk::new();
    let link = desk.place.path("link");
    symlink(desk.repo.path(), &link).expect("a link can be made");
    desk.say_at(Path::new(&link), "src/main.rs", "through the link");
    assert_eq!(desk.agent().check_all(), ["through the link"]);
    desk.say("straight");
    assert_eq!(desk.agent_at(Path::new(&link)).check_all(), ["straight"]);
    // The old file names the project as lazygit saw it.
    let left = json!({"file": "src/main.rs", "comment": "left", "project_root": link, "time": "2025-07-01T10:30:00Z"});
    desk.leave(&left.to_string());
    assert_eq!(desk.agent().check_all(), ["left"]);
}

#[test]
fn the_project_can_be_named_by_writer_and_reader() {
    let desk = Desk::new();
    let elsewhere = desk.place.lore.user_home();
    let project = desk.repo.path().to_str().expect("UTF-8");
    let file = format!("{project}/src/main.rs");
    // From a folder that has nothing to do with it: by `--project`, and by the file's own path.
    let args = ["comment", "--json", "--project", project, "--file", "src/main.rs", "named"];
    assert_eq!(json_of(desk.lore_at(elsewhere, &args))["project"], project);
    desk.say_at(elsewhere, &file, "by its path");
    let other = another(&desk, "other");
    let mut command = desk.lore_at(other.path(), &["serve", "--toolsets", "messages", "--project"]);
    command.arg(project);
    let mut agent = crate::messages_agent::Agent::start(command);
    agent.shake_hands();
    assert_eq!(agent.check_all(), ["named", "by its path"]);
}

#[test]
fn a_client_s_root_decides_where_no_project_is_named() {
    let desk = Desk::new();
    desk.say("for the root");
    let elsewhere = desk.place.lore.user_home();
    let mut agent = crate::messages_agent::Agent::start(desk.lore_at(elsewhere, &["serve", "--toolsets", "messages"]));
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": {"name": "t", "version": "1"}});
    agent.request("initialize", &params);
    agent.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let asked = agent.notification();
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let roots = json!([{"uri": format!("file://{}", desk.repo.path().display())}]);
    agent.write(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}}).to_string());
    assert_eq!(agent.check_all(), ["for the root"]);
}
