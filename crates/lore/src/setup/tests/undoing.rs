//! Undoing after others changed the file, after several setups, and when there is nothing to undo.

use std::fs;

use expect_test::{Expect, expect};

use super::super::*;
use super::{Desk, commitmux, lore};

type Case<'a> = (Host, Registration, &'a str, fn(&str) -> String);

/// Sets up, lets somebody change the file, undoes; compares the files and the notes.
fn check(cases: &[Case<'_>], after: &Expect) {
    let undone = cases.iter().map(|(host, registration, before, change)| {
        let desk = Desk::new();
        desk.write(*host, before);
        desk.set_up(*host, registration);
        desk.write(*host, &change(&desk.text(*host)));
        let undone = desk.undo(*host, &registration.name);
        desk.assert_no_record();
        format!("{}\n-- {}\n", desk.text(*host), undone.notes.join("\n-- "))
    });
    after.assert_eq(&undone.collect::<String>());
}

#[test]
fn what_others_changed_stays() {
    check(
        &[
            (Host::ClaudeCode, lore(), "{\n  \"numStartups\": 1\n}\n", |text| text.replace(": 1", ": 2")),
            (Host::ClaudeCode, lore(), "{\n  \"mcpServers\": {\n    \"a\": {} // a\n  }\n}\n", |text| {
                text.replace("\"a\": {}", "\"a\": {\"command\": \"a\"}")
            }),
            // A server that came after ours.
            (Host::Cursor, lore(), "{}", |text| {
                text.replace("]\n    }\n", "]\n    },\n    \"new\": { \"command\": \"n\" }\n")
            }),
            (Host::Codex, lore(), "model = \"x\"\n", |text| {
                format!("{text}# note\n\n[mcp_servers.lore.env]\nA = 'b'\n\n[mcp_servers.new]\ncommand = \"n\"\n")
            }),
            // A comment about our entry.
            (Host::Zed, lore(), "{\n  \"theme\": \"x\",\n}\n", |text| {
                text.replace("    \"lore\": {", "    // the team's\n    \"lore\": {")
            }),
        ],
        &expect![[r#"
            {
              "numStartups": 2
            }

            -- the file was changed since the setup; those changes stay
            {
              "mcpServers": {
                "a": {"command": "a"} // a
              }
            }

            -- the file was changed since the setup; those changes stay
            {
              "mcpServers": {
                "new": { "command": "n" }
              }
            }
            -- the file was changed since the setup; those changes stay
            model = "x"
            # note


            [mcp_servers.new]
            command = "n"

            -- the file was changed since the setup; those changes stay
            {
              "theme": "x",
              "context_servers": {
                // the team's
              },
            }

            -- the file was changed since the setup; those changes stay
        "#]],
    );
}

#[test]
fn the_old_program_comes_back_beside_what_others_changed() {
    let old = "{\n  \"mcpServers\": {\n    \"commitmux\": {\n      \"command\": \"commitmux\",\n      \"args\": [ \"serve\" ]\n    }\n  }\n}\n";
    check(
        &[
            (Host::ClaudeCode, commitmux(), old, |text| {
                text.replace("{\n  \"mcp", "{\n  \"numStartups\": 2,\n  \"mcp")
            }),
            (Host::Codex, commitmux(), "[mcp_servers.commitmux]\ncommand = 'commitmux'\n", |text| {
                format!("model = \"y\"\n{text}")
            }),
        ],
        &expect![[r#"
            {
              "numStartups": 2,
              "mcpServers": {
                "commitmux": {
                  "command": "commitmux",
                  "args": [ "serve" ]
                }
              }
            }

            -- the file was changed since the setup; those changes stay
            model = "y"
            [mcp_servers.commitmux]
            command = 'commitmux'

            -- the file was changed since the setup; those changes stay
        "#]],
    );
}

#[test]
fn an_entry_that_somebody_took_back_stays() {
    let old = "{\"mcpServers\": {\"commitmux\": {\"command\": \"commitmux\", \"args\": []}}}";
    check(
        &[
            (Host::ClaudeCode, commitmux(), old, |text| {
                text.replace("/opt/bin/lore", "commitmux")
                    .replace("\"serve\", \"--toolsets\", \"history\"", "\"serve\"")
            }),
            (Host::ClaudeCode, lore(), "{}", |_| "{\"a\": 1}".to_owned()),
        ],
        &expect![[r#"
            {"mcpServers": {"commitmux": {"command": "commitmux", "args": ["serve"], "type": "stdio"}}}
            -- the entry `commitmux` was changed since and starts another program; it stays
            {"a": 1}
            -- there is no entry `lore` any more that starts a program
        "#]],
    );
}

#[test]
fn a_file_we_made_goes_only_when_nothing_else_is_in_it() {
    let desk = Desk::new();
    desk.set_up(Host::VsCode, &lore());
    desk.write(Host::VsCode, &format!("{}\n\n", desk.text(Host::VsCode)));
    let change = desk.undo(Host::VsCode, "lore");
    assert!(change.after.is_none() && !desk.file(Host::VsCode).exists());
    assert!(!desk.place.home.join(".config").exists(), "the folders we made are gone too");

    desk.set_up(Host::VsCode, &lore());
    let text = desk.text(Host::VsCode).replacen('{', "{\n  \"inputs\": [],", 1);
    desk.write(Host::VsCode, &text);
    desk.undo(Host::VsCode, "lore");
    assert_eq!(desk.text(Host::VsCode), "{\n  \"inputs\": []\n}\n");
}

#[test]
fn two_setups_are_one_undo() {
    for host in Host::ALL {
        let desk = Desk::new();
        let original = if host == Host::Codex { "a = 1\r\n" } else { "{\r\n  \"a\": 1\r\n}" };
        desk.write(host, original);
        desk.set_up(host, &Registration::lore("/old/lore".into()));
        desk.set_up(host, &lore());
        desk.undo(host, "lore");
        assert_eq!(desk.text(host), original);
        // Somebody changes the file in between.
        desk.set_up(host, &Registration::lore("/old/lore".into()));
        desk.write(host, &desk.text(host).replace('1', "2"));
        desk.set_up(host, &lore());
        desk.undo(host, "lore");
        assert_eq!(desk.text(host).trim_end(), original.replace('1', "2").trim_end());
        // Somebody takes the entry out in between: a new record begins.
        desk.set_up(host, &lore());
        desk.write(host, original);
        desk.set_up(host, &lore());
        desk.undo(host, "lore");
        assert_eq!(desk.text(host), original);
    }
}

#[test]
fn both_names_are_undone_in_any_order() {
    for host in Host::ALL {
        for names in [["lore", "commitmux"], ["commitmux", "lore"]] {
            let desk = Desk::new();
            desk.set_up(host, &lore());
            desk.set_up(host, &commitmux());
            for name in names {
                desk.undo(host, name);
            }
            let left = fs::read_to_string(desk.file(host)).unwrap_or_default();
            // The list came with the first setup; out of turn it stays behind, empty.
            let expected = if names[0] == "commitmux" || host == Host::Codex { 0 } else { 2 };
            assert_eq!(left.matches(['{', '[']).count(), expected, "{} {names:?}: {left}", host.name());
        }
    }
}

#[test]
fn projects_are_remembered_apart() {
    let desk = Desk::new();
    let places = ["one", "two"].map(|name| {
        let project = desk.place.home.join(name);
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join(".mcp.json"), format!("{{\"{name}\": 1}}")).unwrap();
        Place { project, ..desk.place.clone() }
    });
    for place in &places {
        apply(&plan(Host::ClaudeCode, Scope::Project, place, &lore()).unwrap()).unwrap();
    }
    for (place, name) in places.iter().zip(["one", "two"]) {
        apply(&plan_undo(Host::ClaudeCode, Scope::Project, place, "lore").unwrap()).unwrap();
        let text = fs::read_to_string(place.project.join(".mcp.json")).unwrap();
        assert_eq!(text, format!("{{\"{name}\": 1}}"));
    }
}

#[test]
fn nothing_to_undo_is_said() {
    let desk = Desk::new();
    let failure = plan_undo(Host::Cursor, Scope::User, &desk.place, "lore").unwrap_err();
    expect![[r#"
        nothing to undo: Cursor does not start Lore as `lore` in ~/.cursor/mcp.json
        `lore setup cursor` registers it; `lore doctor` shows where it is registered"#]]
    .assert_eq(&desk.shown(&format!("{failure}\n{}", failure.hint.as_deref().unwrap())));
}

#[test]
fn a_pasted_entry_can_be_undone_too() {
    let desk = Desk::new();
    desk.write(
        Host::Cursor,
        "{\n  \"mcpServers\": {\n    \"a\": {},\n    \"lore\": {\"command\": \"/x/lore\"}\n  }\n}\n",
    );
    let change = desk.undo(Host::Cursor, "lore");
    expect![[r#"
        there is no record of a setup; the entry `lore` is taken out{
          "mcpServers": {
            "a": {}
          }
        }
    "#]]
    .assert_eq(&format!("{}{}", change.notes.join("\n"), desk.text(Host::Cursor)));
    desk.write(Host::Cursor, "{\"mcpServers\": {\"lore\": {\"command\": \"npx\"}}}");
    assert!(plan_undo(Host::Cursor, Scope::User, &desk.place, "lore").is_err());
}

#[test]
fn a_file_that_is_gone_is_undone_already() {
    let desk = Desk::new();
    desk.set_up(Host::ClaudeCode, &lore());
    fs::remove_file(desk.file(Host::ClaudeCode)).unwrap();
    let change = desk.undo(Host::ClaudeCode, "lore");
    assert!(change.is_noop());
    expect!["~/.claude.json is gone already"].assert_eq(&desk.shown(&change.notes.join("\n")));
}

#[test]
fn records_keep_their_format() {
    let desk = Desk::new();
    let lazygit = desk.place.home.join(".config/lazygit/config.yml");
    let name = format!("lazygit-{}.json", record::hash(&lazygit.to_string_lossy()));
    fs::create_dir_all(&desk.place.state_dir).unwrap();
    for (name, details) in [
        ("cursor-user-lore.json", r#""created_list": true, "previous": "Absent", "command": "x", "args": []"#),
        (&*name, r#""empty_list": "~", "previous": ["Absent", {"Fields": [["key", "q"]]}], "replaced": []"#),
    ] {
        let common = r#""version": 1, "file": "x", "created_file": false, "created_folders": [], "steps": []"#;
        fs::write(desk.place.state_dir.join(name), format!("{{{common}, {details}}}")).unwrap();
    }
    desk.write(Host::Cursor, r#"{"mcpServers": {"lore": {"command": "lore"}}, "a": 1}"#);
    desk.undo(Host::Cursor, "lore");
    assert_eq!(desk.text(Host::Cursor), r#"{"a": 1}"#);
    let entry = |file: &str| format!("  - key: K\n    command: lore comment {{{{ {file} | {{{{ .Form.Comment |\n");
    let (ours, other) = (entry(".SelectedPath"), entry(".SelectedCommitFilePath"));
    desk.put(".config/lazygit/config.yml", &format!("customCommands:\n{ours}{other}"));
    desk.unkey();
    assert_eq!(fs::read_to_string(lazygit).unwrap(), format!("customCommands:\n{}", other.replace('K', "q")));
    desk.assert_no_record();
}
