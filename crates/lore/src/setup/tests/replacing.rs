//! Entries that are there already: our own from another place, and those of the old program.

use expect_test::{Expect, expect};

use super::super::*;
use super::{Desk, check, commitmux, lore};

/// Compares the files and the notes of setups.
fn check_notes(cases: &[(Host, Registration, &str)], after: &Expect) {
    let shown = cases.iter().map(|(host, registration, before)| {
        let desk = Desk::new();
        desk.write(*host, before);
        let notes = desk.shown(&desk.plan(*host, registration).notes.join("\n-- "));
        format!("{}\n-- {notes}\n", desk.round_trip(*host, registration, before))
    });
    after.assert_eq(&shown.collect::<String>());
}

#[test]
fn an_entry_of_our_name_gets_the_new_path_and_keeps_what_the_user_added() {
    check_notes(
        &[
            (
                Host::Cursor,
                lore(),
                r#"{
  "mcpServers": {
    "lore": {
      "command": "/old/lore", // moved
      "args": [ "serve" ],
      "env": { "LORE_HOME": "/data" }
    },
    "b": {}
  }
}"#,
            ),
            (
                Host::Codex,
                lore(),
                "[mcp_servers.lore]\ncommand = \"/old/lore\" # moved\nstartup_timeout_sec = 20\n\n[mcp_servers.lore.env]\nLORE_HOME = \"/data\"\n\n[tui]\n",
            ),
            (Host::Codex, lore(), "[mcp_servers.lore]\nenabled = false\ncommand = \"/old/lore\"\nargs = [\"serve\"]\n"),
            (Host::Cursor, lore(), r#"{"mcpServers": {"lore": {"command": "npx", "args": ["-y", "lore-of-others"]}}}"#),
        ],
        &expect![[r#"
            {
              "mcpServers": {
                "lore": {
                  "command": "/opt/bin/lore", // moved
                  "args": [ "serve" ],
                  "env": { "LORE_HOME": "/data" }
                },
                "b": {}
              }
            }
            -- restart Cursor and see that the server is switched on in its MCP settings
            [mcp_servers.lore]
            command = "/opt/bin/lore" # moved
            startup_timeout_sec = 20
            args = ["serve"]

            [mcp_servers.lore.env]
            LORE_HOME = "/data"

            [tui]

            -- start a new Codex session to load it
            [mcp_servers.lore]
            enabled = false
            command = "/opt/bin/lore"
            args = ["serve"]

            -- `lore` is switched off in that file and stays so
            -- start a new Codex session to load it
            {"mcpServers": {"lore": {"command": "/opt/bin/lore", "args": ["serve"]}}}
            -- `lore` started `npx`; `lore setup cursor --undo` brings that back
            -- restart Cursor and see that the server is switched on in its MCP settings
        "#]],
    );
}

#[test]
fn the_old_program_is_replaced_and_its_database_named() {
    check_notes(
        &[
            (
                Host::ClaudeDesktop,
                commitmux(),
                r#"{"mcpServers": {"commitmux": {"command": "/Users/you/.cargo/bin/commitmux", "args": ["serve", "--db", "/Users/you/my repos/db.sqlite3"]}}}"#,
            ),
            (
                Host::Cursor,
                commitmux(),
                r#"{"mcpServers": {"commitmux": {"command": "commitmux", "args": ["serve"], "transport": "stdio"}}}"#,
            ),
            // The form that Zed had formerly.
            (
                Host::Zed,
                commitmux(),
                r#"{
  "context_servers": {
    "commitmux": {
      "command": {
        "path": "commitmux",
        "args": ["serve"],
        "env": { "COMMITMUX_DB": "/db" }
      },
      "settings": {}
    }
  }
}
"#,
            ),
            (
                Host::Codex,
                commitmux(),
                "[mcp_servers.commitmux]\r\ncommand = \"commitmux\"\r\nargs = [\"serve\", \"--db=/db\"]\r\n",
            ),
            (
                Host::VsCode,
                lore(),
                "{\n  \"servers\": {\n    \"commitmux\": {\"type\": \"stdio\", \"command\": \"commitmux\", \"args\": [\"serve\"]}\n  }\n}\n",
            ),
        ],
        &expect![[r#"
            {"mcpServers": {"commitmux": {"command": "/opt/bin/lore", "args": ["serve", "--toolsets", "history"]}}}
            -- run `lore import commitmux --db '/Users/you/my repos/db.sqlite3'` to take its repositories over
            -- `commitmux` started `/Users/you/.cargo/bin/commitmux`; `lore setup claude-desktop --as commitmux --undo` brings that back
            -- quit Claude Desktop completely and start it again to load it
            {"mcpServers": {"commitmux": {"command": "/opt/bin/lore", "args": ["serve", "--toolsets", "history"], "transport": "stdio"}}}
            -- run `lore import commitmux` to take its repositories over
            -- `commitmux` started `commitmux`; `lore setup cursor --as commitmux --undo` brings that back
            -- restart Cursor and see that the server is switched on in its MCP settings
            {
              "context_servers": {
                "commitmux": {
                  "command": "/opt/bin/lore",
                  "settings": {},
                  "args": ["serve", "--toolsets", "history"],
                  "env": {"COMMITMUX_DB": "/db"}
                }
              }
            }

            -- run `lore import commitmux --db /db` to take its repositories over
            -- `commitmux` started `commitmux`; `lore setup zed --as commitmux --undo` brings that back
            -- see that the server is switched on in Zed's agent settings
            [mcp_servers.commitmux]␍
            command = "/opt/bin/lore"␍
            args = ["serve", "--toolsets", "history"]␍

            -- run `lore import commitmux --db /db` to take its repositories over
            -- `commitmux` started `commitmux`; `lore setup codex --as commitmux --undo` brings that back
            -- start a new Codex session to load it
            {
              "servers": {
                "commitmux": {"type": "stdio", "command": "commitmux", "args": ["serve"]},
                "lore": {
                  "type": "stdio",
                  "command": "/opt/bin/lore",
                  "args": ["serve"]
                }
              }
            }

            -- run `lore import commitmux` to take its repositories over
            -- `commitmux` still starts the old program; `lore setup vscode --as commitmux` replaces it
            -- start it in VS Code with the command `MCP: List Servers`
        "#]],
    );
}

#[test]
fn codex_entries_in_every_form_are_changed_in_place() {
    check(
        Host::Codex,
        &[
            "[mcp_servers]\nlore = { command = \"/old/lore\", env = { A = \"b\" } } # one line\n",
            "mcp_servers.lore.command = \"/old/lore\"\nmcp_servers.lore.env.A = \"b\"\n",
            "[mcp_servers]\n  lore.command = \"/old/lore\"\n  other.command = \"o\"\n",
            "mcp_servers = { lore = { args = [], command = \"/old/lore\" } }",
            "[mcp_servers.lore.env]\nA = \"b\"\n",
            "[mcp_servers.lore]",
        ],
        &expect![[r#"
            [mcp_servers]
            lore = { command = "/opt/bin/lore", env = { A = "b" }, args = ["serve"] } # one line

            --
            mcp_servers.lore.command = "/opt/bin/lore"
            mcp_servers.lore.args = ["serve"]
            mcp_servers.lore.env.A = "b"

            --
            [mcp_servers]
              lore.command = "/opt/bin/lore"
              lore.args = ["serve"]
              other.command = "o"

            --
            mcp_servers = { lore = { args = ["serve"], command = "/opt/bin/lore" } }
            --
            [mcp_servers.lore.env]
            A = "b"

            [mcp_servers.lore]
            command = "/opt/bin/lore"
            args = ["serve"]

            --
            [mcp_servers.lore]
            command = "/opt/bin/lore"
            args = ["serve"]
        "#]],
    );
}

#[test]
fn hints_name_the_project() {
    let desk = Desk::new();
    let file = desk.place.project.join(".mcp.json");
    std::fs::write(file, r#"{"mcpServers": {"commitmux": {"command": "commitmux"}}}"#).unwrap();
    let change = plan(Host::ClaudeCode, Scope::Project, &desk.place, &commitmux()).unwrap();
    expect![[r#"
        run `lore import commitmux` to take its repositories over
        `commitmux` started `commitmux`; `lore setup claude-code --as commitmux --project --undo` brings that back
        the command is a path of this machine; mind that before you share PROJECT/.mcp.json
        Claude Code asks once before it starts a server from `.mcp.json`"#]]
    .assert_eq(&desk.shown(&change.notes.join("\n")));
}

#[test]
fn every_old_server_is_replaced_by_its_toolset() {
    for (name, program, toolset) in [
        ("commitmux", r#""command": "commitmux", "args": ["serve"]"#, "history"),
        ("cortex", r#""command": "cortex", "args": ["serve"]"#, "context"),
        ("climpt", r#""command": "deno", "args": ["run", "-A", "jsr:@aidevtool/climpt/mcp"]"#, "commands"),
        ("lazygit-mcp-bridge", r#""command": "lazygit-mcp-bridge", "args": ["server"]"#, "messages"),
        ("cidx", r#""command": "cidx-bridge", "args": []"#, "code,repos,insight"),
    ] {
        let before = format!(r#"{{"mcpServers": {{"{name}": {{{program}}}}}}}"#);
        let desk = Desk::new();
        desk.write(Host::ClaudeCode, &before);
        let beside = desk.plan(Host::ClaudeCode, &lore()).notes;
        let note = format!("`{name}` still starts the old program; `lore setup claude-code --as {name}` replaces it");
        assert!(beside.contains(&note), "{beside:?}");
        let registration = Registration::standing_in(name, "/opt/bin/lore".into()).unwrap();
        assert_eq!(registration.args, ["serve", "--toolsets", toolset]);
        desk.set_up(Host::ClaudeCode, &registration);
        let servers: serde_json::Value = serde_json::from_str(&desk.text(Host::ClaudeCode)).unwrap();
        let entry = &servers["mcpServers"][name];
        assert_eq!((&entry["command"], &entry["args"][2]), (&"/opt/bin/lore".into(), &toolset.into()));
        desk.undo(Host::ClaudeCode, name);
        assert_eq!(desk.text(Host::ClaudeCode), before);
    }
}

#[test]
fn doctor_learns_which_hosts_know_lore() {
    let desk = Desk::new();
    let program = desk.place.home.join("lore");
    for host in Host::ALL {
        assert_eq!(registered(host, &desk.place), None);
        desk.set_up(host, &Registration::standing_in("commitmux", program.clone()).unwrap());
        let entry = registered(host, &desk.place).unwrap();
        assert_eq!((entry.name.as_str(), entry.command_exists), ("commitmux", Some(false)));
        std::fs::write(&program, "").unwrap();
        desk.set_up(host, &Registration::lore(program.clone()));
        let entry = registered(host, &desk.place).unwrap();
        assert_eq!((entry.name.as_str(), entry.command_exists), ("lore", Some(true)));
        assert_eq!(entry.args, ["serve"]);
        std::fs::remove_file(&program).unwrap();
    }
    desk.write(Host::Cursor, r#"{"mcpServers": {"x": {"command": "lore"}}}"#);
    assert_eq!(registered(Host::Cursor, &desk.place).unwrap().command_exists, None);
    desk.write(Host::Cursor, "{");
    assert_eq!(registered(Host::Cursor, &desk.place), None);
}
