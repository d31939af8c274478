//! Where each host keeps its file, on each system.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::super::*;
use super::Desk;

/// The files of every host, on one line each.
fn check(scope: Scope, change: impl Fn(&mut Place), expected: &Expect) {
    let mut desk = Desk::new();
    change(&mut desk.place);
    let mut shown = String::new();
    for host in Host::ALL {
        let file = host.file(&desk.place, scope);
        let file = file.map_or_else(|failure| failure.message, |file| file.display().to_string());
        writeln!(shown, "{:<15}{}", host.name(), desk.shown(&file).replace('\\', "/")).unwrap();
    }
    expected.assert_eq(&shown);
}

#[test]
fn on_every_system() {
    check(
        Scope::User,
        |_| {},
        &expect![[r#"
        claude-code    ~/.claude.json
        claude-desktop ~/.config/Claude/claude_desktop_config.json
        cursor         ~/.cursor/mcp.json
        zed            ~/.config/zed/settings.json
        vscode         ~/.config/Code/User/mcp.json
        codex          ~/.codex/config.toml
    "#]],
    );
    check(
        Scope::User,
        |place| place.os = Os::Mac,
        &expect![[r#"
        claude-code    ~/.claude.json
        claude-desktop ~/Library/Application Support/Claude/claude_desktop_config.json
        cursor         ~/.cursor/mcp.json
        zed            ~/.config/zed/settings.json
        vscode         ~/Library/Application Support/Code/User/mcp.json
        codex          ~/.codex/config.toml
    "#]],
    );
    check(
        Scope::User,
        |place| place.os = Os::Windows,
        &expect![[r#"
        claude-code    ~/.claude.json
        claude-desktop ~/AppData/Roaming/Claude/claude_desktop_config.json
        cursor         ~/.cursor/mcp.json
        zed            ~/AppData/Roaming/Zed/settings.json
        vscode         ~/AppData/Roaming/Code/User/mcp.json
        codex          ~/.codex/config.toml
    "#]],
    );
    check(
        Scope::Project,
        |_| {},
        &expect![[r#"
        claude-code    PROJECT/.mcp.json
        claude-desktop Claude Desktop has no configuration inside a project
        cursor         PROJECT/.cursor/mcp.json
        zed            PROJECT/.zed/settings.json
        vscode         PROJECT/.vscode/mcp.json
        codex          PROJECT/.codex/config.toml
    "#]],
    );
}

#[test]
fn the_environment_moves_them() {
    check(
        Scope::User,
        |place| {
            place.config_home = Some(place.home.join("xdg"));
            place.claude_config_dir = Some(place.home.join("claude"));
            place.codex_home = Some(place.home.join("codex"));
        },
        &expect![[r#"
            claude-code    ~/claude/.claude.json
            claude-desktop ~/xdg/Claude/claude_desktop_config.json
            cursor         ~/.cursor/mcp.json
            zed            ~/xdg/zed/settings.json
            vscode         ~/xdg/Code/User/mcp.json
            codex          ~/codex/config.toml
        "#]],
    );
    let mut desk = Desk::new();
    desk.place.config_home = Some("relative".into());
    let file = Host::Zed.file(&desk.place, Scope::User).unwrap();
    assert_eq!(file, desk.place.home.join(".config/zed/settings.json"), "the specification says to ignore it");
}

#[test]
fn a_packaged_claude_desktop_reads_its_own_folder() {
    let mut desk = Desk::new();
    desk.place.os = Os::Windows;
    let local = desk.place.home.join("Local");
    let package = local.join("Packages").join("Claude_pzs8sxrjxfjjc").join("LocalCache").join("Roaming");
    std::fs::create_dir_all(&package).unwrap();
    std::fs::create_dir_all(local.join("Packages").join("Other_1")).unwrap();
    desk.place.local_app_data = Some(local);
    let file = Host::ClaudeDesktop.file(&desk.place, Scope::User).unwrap();
    assert_eq!(file, package.join("Claude").join("claude_desktop_config.json"));
}

#[test]
fn hosts_are_found_by_name() {
    for host in Host::ALL {
        assert_eq!(Host::parse(host.name()).unwrap(), host);
    }
    let failure = Host::parse("emacs").unwrap_err();
    expect!["no host named `emacs` / use one of claude-code, claude-desktop, cursor, zed, vscode, codex"]
        .assert_eq(&format!("{failure} / {}", failure.hint.as_deref().unwrap()));
}

#[test]
fn only_old_servers_in_the_table_are_stood_in_for() {
    let failure = Registration::standing_in("ripgrep", "/opt/bin/lore".into()).unwrap_err();
    expect![
        "Lore does not stand in for `ripgrep` / `--as` takes one of commitmux, cortex, climpt, cidx, lazygit-mcp-bridge"
    ]
    .assert_eq(&format!("{failure} / {}", failure.hint.as_deref().unwrap()));
}
