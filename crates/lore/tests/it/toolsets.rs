//! Which tools a server lists, and what can be called besides.

use lore_testkit::Repo;
use serde_json::{Value, json};

use crate::messages_agent::{Agent, Desk};

const REGISTRY: &str = r#"{"version": "1", "description": "", "tools": {"commands": [
    {"c1": "git", "c2": "tag", "c3": "release", "description": "Tag a release"}]}}"#;

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["tools"].as_array().expect("a list of tools");
    tools.iter().map(|tool| tool["name"].as_str().expect("a tool has a name")).collect()
}

fn ask(agent: &mut Agent, method: &str, params: &Value) -> Value {
    agent.request(method, params)["result"].take()
}

fn with_commands(repo: &Repo) {
    repo.write(".agent/climpt/registry.json", REGISTRY);
}

fn hello(agent: &mut Agent, capabilities: &Value) -> Value {
    let client = json!({"name": "t", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": client});
    let hello = agent.request("initialize", &params)["result"].take();
    agent.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    hello
}

#[test]
fn commands_are_listed_where_the_project_has_some() {
    let desk = Desk::new();
    let mut agent = Agent::start(desk.lore(&["serve"]));
    let told = hello(&mut agent, &json!({}));
    let listed = ask(&mut agent, "tools/list", &json!({}));
    assert!(names(&listed).contains(&"check_lazygit_messages") && !names(&listed).contains(&"execute"), "{listed}");
    assert!(!told["instructions"].as_str().expect("instructions are a text").contains("execute"));
    with_commands(&desk.repo);
    assert_eq!(ask(&mut agent, "tools/list", &json!({})), listed, "the list stays as it is");
    let mut agent = Agent::start(desk.lore(&["serve"]));
    let told = hello(&mut agent, &json!({}));
    let listed = ask(&mut agent, "tools/list", &json!({}));
    assert_eq!(names(&listed)[names(&listed).len() - 4..], ["search", "describe", "execute", "reload"]);
    assert!(told["instructions"].as_str().expect("instructions are a text").contains("execute"));
}

#[test]
fn what_is_not_listed_answers_all_the_same() {
    let desk = Desk::new();
    let mut agent = Agent::start(desk.lore(&["serve"]));
    hello(&mut agent, &json!({}));
    let call = json!({"name": "search", "arguments": {"query": "release"}});
    let answer = ask(&mut agent, "tools/call", &call);
    assert!(answer["content"].to_string().contains("lore commands new"), "it says how to begin: {answer}");
    assert_eq!(ask(&mut agent, "prompts/list", &json!({}))["prompts"], json!([]));
    with_commands(&desk.repo);
    let answer = ask(&mut agent, "tools/call", &call);
    assert!(answer["content"][0]["text"].as_str().expect("a text").contains("Tag a release"), "{answer}");
}

#[test]
fn a_client_that_says_where_it_works_is_listed_the_commands_of_that_project() {
    let desk = Desk::new();
    with_commands(&desk.repo);
    let mut agent = Agent::start(desk.lore_at(desk.place.lore.user_home(), &["serve"]));
    hello(&mut agent, &json!({"roots": {}}));
    // Before it has said so.
    let list = agent.send("tools/list", &json!({}));
    let asked = agent.notification();
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let roots = json!([{"uri": format!("file://{}", desk.repo.path().display())}]);
    agent.write(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}}).to_string());
    let listed = agent.answer_to(&json!(list)).expect("a list");
    let listed = listed.get("result").unwrap_or(&listed);
    assert!(names(listed).contains(&"execute"), "{listed}");
}

#[test]
fn chosen_toolsets_are_listed_whatever_the_project_has() {
    let desk = Desk::new();
    let mut agent = Agent::start(desk.lore(&["serve", "--toolsets", "commands"]));
    hello(&mut agent, &json!({}));
    assert_eq!(names(&ask(&mut agent, "tools/list", &json!({}))), ["search", "describe", "execute", "reload"]);
}

#[test]
fn a_client_is_told_that_there_are_other_commands() {
    let desk = Desk::new();
    let mut agent = Agent::start(desk.lore(&["serve"]));
    hello(&mut agent, &json!({}));
    assert_eq!(ask(&mut agent, "prompts/list", &json!({}))["prompts"], json!([]));
    with_commands(&desk.repo);
    assert_eq!(agent.notification()["method"], "notifications/prompts/list_changed");
    assert_eq!(ask(&mut agent, "prompts/list", &json!({}))["prompts"][0]["name"], "git_tag_release");
}
