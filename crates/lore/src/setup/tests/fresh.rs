//! Hosts that have no file yet, what the user is shown, and what can be pasted.

use expect_test::expect;

use super::super::*;
use super::{Desk, commitmux, lore};

#[test]
fn fresh_claude_code() {
    Desk::new().check(
        Host::ClaudeCode,
        &lore(),
        None,
        &expect![[r#"
        {
          "mcpServers": {
            "lore": {
              "type": "stdio",
              "command": "/opt/bin/lore",
              "args": ["serve"]
            }
          }
        }
    "#]],
    );
}

#[test]
fn fresh_claude_desktop() {
    Desk::new().check(
        Host::ClaudeDesktop,
        &lore(),
        None,
        &expect![[r#"
        {
          "mcpServers": {
            "lore": {
              "command": "/opt/bin/lore",
              "args": ["serve"]
            }
          }
        }
    "#]],
    );
}

#[test]
fn fresh_cursor() {
    Desk::new().check(
        Host::Cursor,
        &commitmux(),
        None,
        &expect![[r#"
        {
          "mcpServers": {
            "commitmux": {
              "command": "/opt/bin/lore",
              "args": ["serve", "--toolsets", "history"]
            }
          }
        }
    "#]],
    );
}

#[test]
fn fresh_zed() {
    Desk::new().check(
        Host::Zed,
        &lore(),
        None,
        &expect![[r#"
        {
          "context_servers": {
            "lore": {
              "command": "/opt/bin/lore",
              "args": ["serve"]
            }
          }
        }
    "#]],
    );
}

#[test]
fn fresh_vscode() {
    Desk::new().check(
        Host::VsCode,
        &lore(),
        None,
        &expect![[r#"
        {
          "servers": {
            "lore": {
              "type": "stdio",
              "command": "/opt/bin/lore",
              "args": ["serve"]
            }
          }
        }
    "#]],
    );
}

#[test]
fn fresh_codex() {
    Desk::new().check(
        Host::Codex,
        &commitmux(),
        None,
        &expect![[r#"
        [mcp_servers.commitmux]
        command = "/opt/bin/lore"
        args = ["serve", "--toolsets", "history"]
    "#]],
    );
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
        "{\"theme\": \"secret\"}",
    ] {
        let desk = Desk::new();
        desk.write(Host::Cursor, text);
        let shown = desk.plan(Host::Cursor, &lore()).diff();
        assert!(shown.contains("/opt/bin/lore") && !shown.contains("secret"), "{shown}");
    }
}

#[test]
fn a_snippet_touches_nothing() {
    let desk = Desk::new();
    for (host, expected) in [
        (
            Host::VsCode,
            expect![[r#"
        PROJECT/.vscode/mcp.json
        {
          "servers": {
            "commitmux": {
              "type": "stdio",
              "command": "/opt/bin/lore",
              "args": ["serve", "--toolsets", "history"]
            }
          }
        }
    "#]],
        ),
        (
            Host::Codex,
            expect![[r#"
        PROJECT/.codex/config.toml
        [mcp_servers.commitmux]
        command = "/opt/bin/lore"
        args = ["serve", "--toolsets", "history"]
    "#]],
        ),
    ] {
        let snippet = snippet(host, Scope::Project, &desk.place, &commitmux()).unwrap();
        expected.assert_eq(&format!("{}\n{}", desk.shown(&snippet.file.display().to_string()), snippet.text));
    }
    assert!(std::fs::read_dir(&desk.place.project).unwrap().next().is_none());
    assert!(!desk.place.state_dir.exists());
}
