//! The examples of the contract's document, request by request.
//!
//! Its messages have times of their own, so they come in through the file that the original leaves them in.

use serde_json::{Value, json};

use crate::messages_agent::{Agent, Desk, NOTHING, TOOL, URI};

/// Whether all of the document's answer is in ours, which may say more.
#[track_caller]
fn assert_says(answer: &Value, documented: &Value) {
    fn holds(answer: &Value, documented: &Value) -> bool {
        match (answer, documented) {
            (Value::Object(answer), Value::Object(documented)) => {
                documented.iter().all(|(key, value)| answer.get(key).is_some_and(|told| holds(told, value)))
            }
            (Value::Array(answer), Value::Array(documented)) => {
                answer.len() == documented.len()
                    && answer.iter().zip(documented).all(|(told, value)| holds(told, value))
            }
            _ => answer == documented,
        }
    }
    assert!(holds(answer, documented), "the document says {documented:#}\nLore says {answer:#}");
}

/// A server of the project that has not been spoken to.
fn silent(desk: &Desk) -> Agent {
    Agent::start(desk.lore(&["serve", "--toolsets", "messages"]))
}

/// The document's `initialize`, without `clientInfo`.
fn initialized(desk: &Desk) -> Agent {
    let mut agent = silent(desk);
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2024-11-05", "capabilities": {}}});
    agent.raw(&request.to_string(), &json!(1));
    agent.write(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
    agent
}

/// Leaves messages one after the other; each is taken over before the next is written.
fn leave(desk: &Desk, agent: &mut Agent, messages: [(&str, u32, &str, &str); 2]) {
    for (file, line, comment, time) in messages {
        let root = desk.repo.path();
        let message =
            json!({"file": file, "line": line.to_string(), "comment": comment, "project_root": root, "time": time});
        desk.leave(&message.to_string());
        agent.read();
        assert!(!desk.inbox().exists(), "the old file is removed once its message is kept");
    }
}

#[test]
fn initialize_is_answered_as_documented() {
    let desk = Desk::new();
    let mut agent = silent(&desk);
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2024-11-05", "capabilities": {}}});
    let answer = agent.raw(&request.to_string(), &json!(1));
    // Its own name, as the contracts decide.
    let documented = json!({
        "jsonrpc": "2.0", "id": 1,
        "result": {
            "protocolVersion": "2024-11-05",
            "capabilities": {"resources": {"subscribe": true, "listChanged": true}, "tools": {"listChanged": false}},
            "serverInfo": {"name": "lore"},
        },
    });
    assert_says(&answer, &documented);
    assert!(answer["result"]["serverInfo"]["version"].as_str().is_some_and(|version| !version.is_empty()), "{answer}");
}

#[test]
fn tools_list_is_answered_as_documented() {
    let desk = Desk::new();
    let answer = initialized(&desk).raw(r#"{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}"#, &json!(2));
    let tool = json!({
        "name": TOOL, "description": "Check for new messages from lazygit", "inputSchema": {"type": "object", "properties": {}},
    });
    assert_says(&answer, &json!({"jsonrpc": "2.0", "id": 2, "result": {"tools": [tool]}}));
    assert_eq!(answer["result"]["tools"][0]["inputSchema"], json!({"type": "object", "properties": {}}));
}

const CALL: &str = r#"{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "check_lazygit_messages", "arguments": {}}}"#;

#[test]
fn a_call_with_two_messages_is_answered_as_documented_and_clears_them() {
    let desk = Desk::new();
    let mut agent = initialized(&desk);
    let messages = [
        ("src/main.go", 42, "This function needs error handling", "2025-07-01T10:30:00Z"),
        ("src/utils.go", 15, "Add input validation", "2025-07-01T10:32:00Z"),
    ];
    leave(&desk, &mut agent, messages);
    let documented = "Message 1:\nFile: src/main.go\nLine: 42\nComment: This function needs error handling\nTime: 2025-07-01T10:30:00Z\n\nPlease improve this code.\n\n--------------------------------------------------\n\nMessage 2:\nFile: src/utils.go\nLine: 15\nComment: Add input validation\nTime: 2025-07-01T10:32:00Z\n\nPlease improve this code.";
    let answer = agent.raw(CALL, &json!(3));
    // The second text says whose words the first one has.
    let label = json!({"type": "text", "text": lore_tools::Content::Review.label()});
    let content = json!([{"type": "text", "text": documented}, label]);
    assert_says(&answer, &json!({"jsonrpc": "2.0", "id": 3, "result": {"content": content}}));
    let answer = agent.raw(CALL, &json!(3));
    assert_says(
        &answer,
        &json!({"jsonrpc": "2.0", "id": 3, "result": {"content": [{"type": "text", "text": NOTHING}]}}),
    );
}

#[test]
fn a_call_without_messages_is_answered_as_documented() {
    let desk = Desk::new();
    let answer = initialized(&desk).raw(CALL, &json!(3));
    let documented = json!({"content": [{"type": "text", "text": "No new messages from lazygit"}]});
    assert_says(&answer, &json!({"jsonrpc": "2.0", "id": 3, "result": documented}));
}

#[test]
fn resources_list_is_answered_as_documented() {
    let desk = Desk::new();
    let answer = initialized(&desk).raw(r#"{"jsonrpc": "2.0", "id": 4, "method": "resources/list"}"#, &json!(4));
    let resource = json!({
        "uri": "lazygit://messages", "name": "Lazygit Messages",
        "description": "Messages from lazygit for code improvement", "mimeType": "text/plain",
    });
    assert_says(&answer, &json!({"jsonrpc": "2.0", "id": 4, "result": {"resources": [resource]}}));
}

#[test]
fn resources_read_with_two_messages_is_answered_as_documented_and_clears_nothing() {
    let desk = Desk::new();
    let mut agent = initialized(&desk);
    let messages = [
        ("src/main.go", 42, "Add validation here", "2025-07-01T10:30:00Z"),
        ("src/server.go", 89, "Handle timeout properly", "2025-07-01T10:33:00Z"),
    ];
    leave(&desk, &mut agent, messages);
    let documented = "Message 1:\nFile: src/main.go\nLine: 42\nComment: Add validation here\nTime: 2025-07-01T10:30:00Z\n\nPlease improve this code.\n\n--------------------------------------------------\n\nMessage 2:\nFile: src/server.go\nLine: 89\nComment: Handle timeout properly\nTime: 2025-07-01T10:33:00Z\n\nPlease improve this code.";
    let content = json!({"uri": URI, "mimeType": "text/plain", "text": documented});
    let request = r#"{"jsonrpc": "2.0", "id": 5, "method": "resources/read", "params": {"uri": "lazygit://messages"}}"#;
    for _ in 0..2 {
        let answer = agent.raw(request, &json!(5));
        assert_says(&answer, &json!({"jsonrpc": "2.0", "id": 5, "result": {"contents": [content]}}));
    }
    assert_eq!(agent.check().text, documented);
}

#[test]
fn resources_subscribe_is_accepted_as_documented() {
    let desk = Desk::new();
    let mut agent = initialized(&desk);
    let request =
        r#"{"jsonrpc": "2.0", "id": 6, "method": "resources/subscribe", "params": {"uri": "lazygit://messages"}}"#;
    assert_says(&agent.raw(request, &json!(6)), &json!({"jsonrpc": "2.0", "id": 6, "result": {}}));
    let other = r#"{"jsonrpc": "2.0", "id": 7, "method": "resources/subscribe", "params": {"uri": "lazygit://other"}}"#;
    let answer = agent.raw(other, &json!(7));
    assert!(answer["error"]["message"].as_str().is_some_and(|said| said.contains("lazygit://messages")), "{answer}");
}

#[test]
fn an_unknown_method_is_method_not_found() {
    let desk = Desk::new();
    let answer = initialized(&desk).raw(r#"{"jsonrpc": "2.0", "id": 1, "method": "lazygit/unknown"}"#, &json!(1));
    assert_says(&answer, &json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}));
}

#[test]
fn each_documented_error_code_has_its_case_and_the_server_goes_on() {
    let desk = Desk::new();
    let mut agent = initialized(&desk);
    let cases = [
        (r#"{"jsonrpc": "2.0", "id": 11, "method": "#, json!(null), -32700),
        ("not JSON at all", json!(null), -32700),
        (r#"{"jsonrpc": "2.0", "id": 12}"#, json!(12), -32600),
        (r#"{"jsonrpc": "1.0", "id": 13, "method": "tools/list"}"#, json!(13), -32600),
        ("[]", json!(null), -32600),
        (r#"{"jsonrpc": "2.0", "id": 14, "method": "nothing/of/this"}"#, json!(14), -32601),
        (
            r#"{"jsonrpc": "2.0", "id": 15, "method": "tools/call", "params": {"name": "check_messages"}}"#,
            json!(15),
            -32602,
        ),
        (r#"{"jsonrpc": "2.0", "id": 16, "method": "tools/call", "params": {}}"#, json!(16), -32602),
        (r#"{"jsonrpc": "2.0", "id": 17, "method": "tools/call", "params": [1]}"#, json!(17), -32602),
        (
            r#"{"jsonrpc": "2.0", "id": 18, "method": "resources/read", "params": {"uri": "file:///etc/passwd"}}"#,
            json!(18),
            -32602,
        ),
        (r#"{"jsonrpc": "2.0", "id": 19, "method": "resources/read", "params": {"uri": 5}}"#, json!(19), -32602),
    ];
    for (line, id, code) in cases {
        let answer = agent.raw(line, &id);
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert_eq!(answer["jsonrpc"], "2.0", "{line}: {answer}");
    }
    assert_eq!(agent.check().text, NOTHING);
}

#[test]
fn without_the_toolset_there_is_no_resource() {
    let desk = Desk::new();
    let mut agent = Agent::start(desk.lore(&["serve", "--toolsets", "history", "--no-refresh"]));
    let answer = agent.shake_hands();
    assert_eq!(answer["result"]["capabilities"].get("resources"), None, "{answer}");
    let answer = agent.request("resources/read", &json!({"uri": URI}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    let answer = agent.request("tools/call", &json!({"name": TOOL, "arguments": {}}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}
