//! The entry in each host's form: as a new file, as a snippet, and as the user sees the change.

use std::{fmt::Write as _, fs};

use expect_test::expect;
use serde_json::Value;

use super::super::*;
use super::{Desk, commitmux, lore};

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
fn every_host_gets_an_entry_in_its_own_form() {
    let mut shown = String::new();
    for host in Host::ALL {
        for registration in [commitmux(), team(host.asks_by_itself())] {
            let desk = Desk::new();
            let snippet = snippet(host, Scope::User, &desk.place, &registration).unwrap();
            assert!(!desk.file(host).exists() && !desk.place.state_dir.exists(), "a snippet touches nothing");
            desk.set_up(host, &registration);
            assert_eq!((snippet.file, snippet.text), (desk.file(host), desk.text(host)));
            let (file, text) = (desk.shown(&desk.file(host).display().to_string()), desk.text(host));
            // What a new file looks like is the same for every host.
            let entry = serde_json::from_str::<Value>(&text).map_or(text, |json| format!("{json}\n"));
            write!(shown, "{file}\n{entry}").unwrap();
            desk.undo(host, &registration.name);
            assert!(fs::read_dir(&desk.place.home).unwrap().next().is_none(), "the file and its folders are gone");
            desk.assert_no_record();
        }
    }
    expect![[r#"
        ~/.claude.json
        {"mcpServers":{"commitmux":{"type":"stdio","command":"/opt/bin/lore","args":["serve","--toolsets","history"]}}}
        ~/.claude.json
        {"mcpServers":{"lore":{"type":"http","url":"https://lore.example.com/mcp/code","headers":{"Authorization":"Bearer ${LORE_TOKEN}"}}}}
        ~/.config/Claude/claude_desktop_config.json
        {"mcpServers":{"commitmux":{"command":"/opt/bin/lore","args":["serve","--toolsets","history"]}}}
        ~/.config/Claude/claude_desktop_config.json
        {"mcpServers":{"lore":{"command":"/opt/bin/lore","args":["bridge","--url","https://lore.example.com","--toolset","code"]}}}
        ~/.cursor/mcp.json
        {"mcpServers":{"commitmux":{"command":"/opt/bin/lore","args":["serve","--toolsets","history"]}}}
        ~/.cursor/mcp.json
        {"mcpServers":{"lore":{"url":"https://lore.example.com/mcp/code","headers":{"Authorization":"Bearer ${env:LORE_TOKEN}"}}}}
        ~/.config/zed/settings.json
        {"context_servers":{"commitmux":{"command":"/opt/bin/lore","args":["serve","--toolsets","history"]}}}
        ~/.config/zed/settings.json
        {"context_servers":{"lore":{"command":"/opt/bin/lore","args":["bridge","--url","https://lore.example.com","--toolset","code"]}}}
        ~/.config/Code/User/mcp.json
        {"servers":{"commitmux":{"type":"stdio","command":"/opt/bin/lore","args":["serve","--toolsets","history"]}}}
        ~/.config/Code/User/mcp.json
        {"servers":{"lore":{"type":"stdio","command":"/opt/bin/lore","args":["bridge","--url","https://lore.example.com","--toolset","code"]}}}
        ~/.codex/config.toml
        [mcp_servers.commitmux]
        command = "/opt/bin/lore"
        args = ["serve", "--toolsets", "history"]
        ~/.codex/config.toml
        [mcp_servers.lore]
        url = "https://lore.example.com/mcp/code"
        bearer_token_env_var = "LORE_TOKEN"
    "#]].assert_eq(&shown);
}

#[test]
fn odd_paths_are_written_so_that_they_are_read_back() {
    for path in [r"C:\Program Files\Lore\lore.exe", "/home/zoë/\"q\" 'x'/lore", "/tab\there/lore"] {
        for host in Host::ALL {
            let desk = Desk::new();
            desk.set_up(host, &Registration::lore(path.into()));
            assert_eq!(registered(host, &desk.place).unwrap().command, path);
        }
    }
}

#[test]
fn the_change_is_shown() {
    let desk = Desk::new();
    desk.write(Host::Cursor, "{\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}\n");
    let change = desk.plan(Host::Cursor, &lore());
    expect![[r#"
        --- ~/.cursor/mcp.json
        +++ ~/.cursor/mcp.json
        @@ -3,0 +4,4 @@
        +    "lore": {
        +      "command": "/opt/bin/lore",
        +      "args": ["serve"]
        +    }
    "#]]
    .assert_eq(&desk.shown(&change.diff()));
    let fresh = desk.plan(Host::Codex, &lore());
    expect![[r#"
        --- /dev/null
        +++ ~/.codex/config.toml
        @@ -0,0 +1,3 @@
        +[mcp_servers.lore]
        +command = "/opt/bin/lore"
        +args = ["serve"]
    "#]]
    .assert_eq(&desk.shown(&fresh.diff()));
    expect![[r#"
        there is no folder ~/.codex yet: is Codex installed?
        start a new Codex session to load it"#]]
    .assert_eq(&desk.shown(&fresh.notes.join("\n")));
}

#[test]
fn what_other_servers_have_is_not_shown() {
    for text in [
        "{\n  \"mcpServers\": {\n    \"gh\": {\"env\": {\"TOKEN\": \"secret\"}},\n    \"b\": {}\n  }\n}\n",
        "{\n  \"mcpServers\": {\n    \"gh\": {\"env\": {\"TOKEN\": \"secret\"}}\n  }\n}\n",
        "{\"mcpServers\": {\"gh\": {\"env\": {\"TOKEN\": \"secret\"}}}, \"other\": \"secret\"}",
        "{\n  \"mcpServers\": {\n\n    \"gh\": {\"env\": {\"TOKEN\": \"secret\"}}\n\n  }\n}\n",
        "{\"theme\": \"secret\"}",
    ] {
        let desk = Desk::new();
        desk.write(Host::Cursor, text);
        let shown = desk.plan(Host::Cursor, &lore()).diff();
        assert!(shown.contains("/opt/bin/lore") && !shown.contains("secret"), "{shown}");
    }
}

#[test]
fn a_program_becomes_an_address_and_back() {
    for (host, before) in [
        (
            Host::ClaudeCode,
            "{\"mcpServers\": {\"lore\": {\"command\": \"/old/lore\", \"args\": [\"serve\"], \"env\": {\"A\": \"b\"}}}}\n",
        ),
        (Host::Codex, "[mcp_servers.lore]\ncommand = \"/old/lore\"\nargs = [\"serve\"]\n"),
        // However their host calls the address.
        (
            Host::Cursor,
            "{\"mcpServers\": {\"lore\": {\"command\": \"/old/lore\", \"serverUrl\": \"https://a.example\", \"httpUrl\": \"https://b.example\"}}}\n",
        ),
    ] {
        let desk = Desk::new();
        desk.write(host, before);
        desk.set_up(host, &team(true));
        let text = desk.text(host);
        assert!(text.contains("/mcp/code") && !text.contains("command"), "{text}");
        // From one to the other, whatever the order.
        desk.set_up(host, &lore());
        let text = desk.text(host);
        assert!(!text.contains("https") && !text.contains("LORE_TOKEN") && text.contains("/opt/bin/lore"), "{text}");
        desk.set_up(host, &team(true));
        desk.undo(host, "lore");
        assert_eq!(desk.text(host), before);
    }
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
        let text = change.after.clone().expect("there is a file");
        assert!(!text.contains("/opt/bin") && text.contains("LORE_TOKEN"), "{text}");
        assert!(change.notes.iter().any(|note| note.contains("LORE_TOKEN")), "{:?}", change.notes);
        assert!(!change.notes.iter().any(|note| note.contains("path of this machine")), "{:?}", change.notes);
    }
}
