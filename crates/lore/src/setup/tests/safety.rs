//! Files that must not be written, and what a write must leave as it is.

use std::{fmt::Write as _, fs};

use expect_test::expect;

use super::super::*;
use super::{Desk, lore};

#[test]
fn a_file_that_lore_cannot_change_safely_is_left_alone() {
    let mut shown = String::new();
    for (host, before) in [
        (Host::Cursor, &b"{\n  \"mcpServers\": {\n    \"a\": {}\n    \"b\": {}\n  }\n}"[..]),
        (Host::ClaudeCode, b"{\"a\": 1"),
        (Host::Zed, b"{'a': 1}"),
        (Host::VsCode, b"{} {}"),
        (Host::Codex, b"model = \"x\"\n[mcp_servers\n"),
        (Host::Codex, b"a = 1\na = 2\n"),
        // The list is something else.
        (Host::Cursor, b"{\n  \"mcpServers\": []\n}"),
        (Host::ClaudeDesktop, b"[1]"),
        (Host::ClaudeDesktop, b"{\"mcpServers\": {\"lore\": null}}"),
        (Host::Codex, b"mcp_servers = 1"),
        (Host::Codex, b"[[mcp_servers]]\nlore = 1"),
        // Not text.
        (Host::Cursor, b"{\n\"a\": \"\xff\"}"),
        // The user's own server on the network.
        (Host::Cursor, b"{\"mcpServers\": {\"lore\": {\"url\": \"https://lore.example/mcp\"}}}"),
        (Host::Codex, b"[mcp_servers.lore]\nurl = \"https://lore.example/mcp\"\n"),
    ] {
        let desk = Desk::new();
        desk.write(host, "");
        fs::write(desk.file(host), before).unwrap();
        let failure = plan(host, Scope::User, &desk.place, &lore()).unwrap_err();
        writeln!(shown, "{}", desk.shown(&failure.message)).unwrap();
        assert_eq!(failure.code, lore_model::Code::InvalidConfig);
        assert!(failure.hint.unwrap().contains(&format!("`lore setup {} --print`", host.name())));
        assert_eq!(fs::read(desk.file(host)).unwrap(), before);
        assert!(!desk.place.state_dir.exists());
    }
    expect![[r#"
        ~/.cursor/mcp.json:3:12: expected comma
        ~/.claude.json:1:1: unterminated object
        ~/.config/zed/settings.json:1:2: single-quoted strings are not allowed
        ~/.config/Code/User/mcp.json:1:4: text cannot contain more than one JSON value
        ~/.codex/config.toml:2:13: unclosed table, expected `]`
        ~/.codex/config.toml:2:1: duplicate key
        ~/.cursor/mcp.json:2:17: `mcpServers` is not an object
        ~/.config/Claude/claude_desktop_config.json:1:1: the configuration is not an object
        ~/.config/Claude/claude_desktop_config.json:1:25: `lore` is not an object
        ~/.codex/config.toml:1:15: `mcp_servers` is not a table
        ~/.codex/config.toml:1:1: `mcp_servers` is not a table
        ~/.cursor/mcp.json:2:7: the file is not UTF-8 text
        `lore` in ~/.cursor/mcp.json is a server on the network
        `lore` in ~/.codex/config.toml is a server on the network
    "#]]
    .assert_eq(&shown);
}

#[test]
fn claude_desktop_has_no_projects() {
    let desk = Desk::new();
    let failure = plan(Host::ClaudeDesktop, Scope::Project, &desk.place, &lore()).unwrap_err();
    expect![
        "Claude Desktop has no configuration inside a project / leave out `--project`: `lore setup claude-desktop`"
    ]
    .assert_eq(&format!("{failure} / {}", failure.hint.as_deref().unwrap()));
}

#[test]
fn a_change_in_the_meantime_is_not_overwritten() {
    let desk = Desk::new();
    desk.write(Host::ClaudeCode, "{}");
    let change = desk.plan(Host::ClaudeCode, &lore());
    desk.write(Host::ClaudeCode, "{\"a\": 1}");
    let failure = apply(&change).unwrap_err();
    expect!["busy: ~/.claude.json was changed by another program in the meantime"]
        .assert_eq(&desk.shown(&format!("{}: {failure}", failure.code.name())));
    assert_eq!(desk.text(Host::ClaudeCode), "{\"a\": 1}");
    assert!(!desk.place.state_dir.exists());

    let fresh = desk.plan(Host::Cursor, &lore());
    desk.write(Host::Cursor, "{}");
    assert!(apply(&fresh).is_err());
}

#[test]
fn no_temporary_file_is_left() {
    let desk = Desk::new();
    desk.write(Host::Cursor, "{}");
    desk.set_up(Host::Cursor, &lore());
    desk.undo(Host::Cursor, "lore");
    let folder = desk.file(Host::Cursor).parent().unwrap().to_path_buf();
    let names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["mcp.json"]);
}

#[test]
fn a_damaged_record_is_named() {
    let desk = Desk::new();
    fs::create_dir_all(&desk.place.state_dir).unwrap();
    fs::write(desk.place.state_dir.join("cursor-user-lore.json"), "{").unwrap();
    let failure = plan_undo(Host::Cursor, Scope::User, &desk.place, "lore").unwrap_err();
    assert!(failure.message.contains("cursor-user-lore.json"), "{failure}");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(file: &std::path::Path) -> u32 {
        fs::metadata(file).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn permissions_stay() {
        let desk = Desk::new();
        let file = desk.file(Host::ClaudeCode);
        for bits in [0o600, 0o640, 0o664] {
            desk.write(Host::ClaudeCode, "{}");
            fs::set_permissions(&file, fs::Permissions::from_mode(bits)).unwrap();
            desk.set_up(Host::ClaudeCode, &lore());
            assert_eq!(mode(&file), bits);
            desk.undo(Host::ClaudeCode, "lore");
            assert_eq!(mode(&file), bits);
        }
    }

    #[test]
    fn new_files_and_records_are_the_users_alone() {
        let desk = Desk::new();
        desk.set_up(Host::ClaudeCode, &lore());
        assert_eq!(mode(&desk.file(Host::ClaudeCode)), 0o600);
        assert_eq!(mode(&desk.place.state_dir.join("claude-code-user-lore.json")), 0o600);
        assert_eq!(mode(desk.place.state_dir.parent().unwrap()), 0o700);
    }

    #[test]
    fn a_link_stays_a_link() {
        let desk = Desk::new();
        let (link, real) = (desk.file(Host::Zed), desk.place.home.join("dotfiles").join("zed.json"));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        fs::create_dir_all(real.parent().unwrap()).unwrap();
        let between = desk.place.home.join("between.json");
        symlink("../../between.json", &link).unwrap();
        symlink(&real, &between).unwrap();
        fs::write(&real, "{}").unwrap();
        desk.set_up(Host::Zed, &lore());
        assert!(link.is_symlink() && between.is_symlink());
        assert!(fs::read_to_string(&real).unwrap().contains("lore"));
        desk.undo(Host::Zed, "lore");
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "{}");
    }

    #[test]
    fn a_link_to_a_missing_file_makes_that_file() {
        let desk = Desk::new();
        let (link, real) = (desk.file(Host::ClaudeCode), desk.place.home.join("dotfiles").join("claude.json"));
        symlink(&real, &link).unwrap();
        desk.set_up(Host::ClaudeCode, &lore());
        assert!(link.is_symlink() && real.is_file());
        desk.undo(Host::ClaudeCode, "lore");
        assert!(link.is_symlink() && !real.exists() && !real.parent().unwrap().exists());
    }

    #[test]
    fn links_in_a_circle_are_refused() {
        let desk = Desk::new();
        let (one, two) = (desk.file(Host::ClaudeCode), desk.place.home.join("two"));
        symlink(&two, &one).unwrap();
        symlink(&one, &two).unwrap();
        assert!(plan(Host::ClaudeCode, Scope::User, &desk.place, &lore()).is_err());
    }

    #[test]
    fn a_read_only_file_is_refused_and_the_record_taken_back() {
        let desk = Desk::new();
        desk.write(Host::ClaudeCode, "{}");
        fs::set_permissions(desk.file(Host::ClaudeCode), fs::Permissions::from_mode(0o444)).unwrap();
        let failure = apply(&desk.plan(Host::ClaudeCode, &lore())).unwrap_err();
        expect!["no_access: cannot write ~/.claude.json: it is read-only"]
            .assert_eq(&desk.shown(&format!("{}: {failure}", failure.code.name())));
        assert_eq!(desk.text(Host::ClaudeCode), "{}");
        assert!(fs::read_dir(&desk.place.state_dir).unwrap().next().is_none());
    }
}
