//! Hosts that ask a team server, by themselves or by the bridge.

use expect_test::expect;

use super::super::*;
use super::{Desk, lore};

fn team(by_itself: bool) -> Registration {
    let server = TeamServer {
        url: "https://lore.example.com".to_owned(),
        endpoint: "https://lore.example.com/mcp/code".to_owned(),
        toolset: Some("code".to_owned()),
        options: Vec::new(),
    };
    Registration::lore(PathBuf::from("/opt/bin/lore")).of_server(&server, by_itself)
}

#[test]
fn claude_code_asks_itself() {
    Desk::new().check(
        Host::ClaudeCode,
        &team(true),
        None,
        &expect![[r#"
        {
          "mcpServers": {
            "lore": {
              "type": "http",
              "url": "https://lore.example.com/mcp/code",
              "headers": {
                "Authorization": "Bearer ${LORE_TOKEN}"
              }
            }
          }
        }
    "#]],
    );
}

#[test]
fn cursor_asks_itself() {
    Desk::new().check(
        Host::Cursor,
        &team(true),
        None,
        &expect![[r#"
        {
          "mcpServers": {
            "lore": {
              "url": "https://lore.example.com/mcp/code",
              "headers": {
                "Authorization": "Bearer ${env:LORE_TOKEN}"
              }
            }
          }
        }
    "#]],
    );
}

#[test]
fn codex_asks_itself() {
    let before = "model = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\"\n";
    Desk::new().check(
        Host::Codex,
        &team(true),
        Some(before),
        &expect![[r#"
        model = "x"

        [mcp_servers.other]
        command = "y"

        [mcp_servers.lore]
        url = "https://lore.example.com/mcp/code"
        bearer_token_env_var = "LORE_TOKEN"
    "#]],
    );
}

#[test]
fn others_are_given_the_bridge() {
    for host in [Host::ClaudeDesktop, Host::Zed, Host::VsCode] {
        assert!(!host.asks_by_itself());
    }
    Desk::new().check(
        Host::Zed,
        &team(false),
        None,
        &expect![[r#"
        {
          "context_servers": {
            "lore": {
              "command": "/opt/bin/lore",
              "args": ["bridge", "--url", "https://lore.example.com", "--toolset", "code"]
            }
          }
        }
    "#]],
    );
}

#[test]
fn a_program_becomes_an_address_and_back() {
    for (host, before) in [
        (
            Host::ClaudeCode,
            "{\"mcpServers\": {\"lore\": {\"command\": \"/old/lore\", \"args\": [\"serve\"], \"env\": {\"A\": \"b\"}}}}\n",
        ),
        (Host::Codex, "[mcp_servers.lore]\ncommand = \"/old/lore\"\nargs = [\"serve\"]\n"),
    ] {
        let desk = Desk::new();
        desk.write(host, before);
        desk.set_up(host, &team(true));
        let text = desk.text(host);
        assert!(text.contains("/mcp/code") && !text.contains("command"), "{text}");
        // From one to the other, whatever the order.
        desk.set_up(host, &lore());
        let text = desk.text(host);
        assert!(
            !text.contains("/mcp/code") && !text.contains("LORE_TOKEN") && text.contains("/opt/bin/lore"),
            "{text}"
        );
        desk.set_up(host, &team(true));
        desk.undo(host, "lore");
        assert_eq!(desk.text(host), before);
    }
}

#[test]
fn an_entry_is_no_program_and_address_at_once() {
    let desk = Desk::new();
    let before = "{\"mcpServers\": {\"lore\": {\"command\": \"/old/lore\", \"serverUrl\": \"https://a.example\", \"httpUrl\": \"https://b.example\"}}}\n";
    desk.write(Host::Cursor, before);
    desk.set_up(Host::Cursor, &lore());
    let text = desk.text(Host::Cursor);
    assert!(text.contains("/opt/bin/lore") && !text.contains("example"), "{text}");
    desk.undo(Host::Cursor, "lore");
    assert_eq!(desk.text(Host::Cursor), before);
}

#[test]
fn somebody_elses_address_is_left_alone() {
    // However their host calls the address.
    for key in ["url", "serverUrl", "httpUrl"] {
        let desk = Desk::new();
        let before = format!("{{\"mcpServers\": {{\"lore\": {{\"{key}\": \"https://other.example.com/lore\"}}}}}}");
        desk.write(Host::Cursor, &before);
        for registration in [team(true), team(false), lore()] {
            let refused = plan(Host::Cursor, Scope::User, &desk.place, &registration).expect_err("it is not ours");
            assert!(refused.message.contains("is a server on the network"), "{key}: {}", refused.message);
        }
    }
}

#[test]
fn no_secret_and_no_path_of_this_machine_is_written() {
    let desk = Desk::new();
    for host in Host::ALL.into_iter().filter(|host| host.asks_by_itself()) {
        let change = plan(host, Scope::Project, &desk.place, &team(true)).expect("it can be planned");
        let text = String::from_utf8(change.after.clone().expect("there is a file")).expect("it is text");
        assert!(!text.contains("/opt/bin") && text.contains("LORE_TOKEN"), "{text}");
        assert!(change.notes.iter().any(|note| note.contains("LORE_TOKEN")), "{:?}", change.notes);
        assert!(!change.notes.iter().any(|note| note.contains("path of this machine")), "{:?}", change.notes);
    }
}
