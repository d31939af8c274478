//! Files and keys of lazygit's that are left alone: nothing is written, and the place is named.

use std::fmt::Write as _;

use expect_test::expect;

use super::{super::lazygit::registered, Desk};

/// Plans to set up and gives the reason for the refusal.
fn refusal(before: &str) -> String {
    let desk = Desk::lazygit(before);
    let refused = desk.refused(None);
    assert_eq!(desk.now(), before);
    refused
}

#[test]
fn files_that_lazygit_or_lore_would_misread_are_left_alone() {
    let mut shown = String::new();
    for before in [
        "gui: [1\n",
        "- a\n",
        "~\n",
        "a: 1\n---\nb: 1\n",
        "a:\n\tb: 1\n",
        "\ta: 1\n",
        "customCommands: x\n",
        "a: &a []\ncustomCommands: *a\n",
        "customCommands: &a\n  - key: b\nc: *a\n",
        "customCommands: []\ncustomCommands: []\n",
        "a: *nobody\n",
    ] {
        let refusal = refusal(before);
        let (what, hint) = refusal.split_once('\n').unwrap();
        writeln!(shown, "{before:?}\n    {}", what.trim_start_matches("~/.config/lazygit/")).unwrap();
        let paste = "nothing was written; fix the file and try again, or paste what `lore setup lazygit --print` shows";
        assert_eq!(hint, paste);
    }
    expect![[r#"
        "gui: [1\n"
            config.yml:1:6: cannot read this as YAML: unclosed bracket '['
        "- a\n"
            config.yml:1:1: lazygit's file is a list of `key: value`, and this is not
        "~\n"
            config.yml:1:1: Lore cannot change `customCommands` in a file written like this
        "a: 1\n---\nb: 1\n"
            config.yml:3:1: cannot read this as YAML: only single YAML document expected but multiple found
        "a:\n\tb: 1\n"
            config.yml:2:2: cannot read this as YAML: tabs disallowed within this context (block indentation)
        "\ta: 1\n"
            config.yml:1:1: a tab cannot indent YAML; lazygit does not read this file
        "customCommands: x\n"
            config.yml:1:1: `customCommands` is not a list
        "a: &a []\ncustomCommands: *a\n"
            config.yml:2:1: `customCommands` is an alias; Lore leaves it alone
        "customCommands: &a\n  - key: b\nc: *a\n"
            config.yml:1:1: Lore cannot change `customCommands` in a file written like this
        "customCommands: []\ncustomCommands: []\n"
            config.yml:2:1: cannot read this as YAML: duplicate mapping key: customCommands not allowed here
        "a: *nobody\n"
            config.yml:1:4: cannot read this as YAML: reference to unknown value
    "#]]
    .assert_eq(&shown);
}

#[test]
fn deep_nesting_is_an_ordinary_refusal() {
    for text in [format!("a: {}", "[".repeat(20_000)), "- ".repeat(20_000), "{a: ".repeat(20_000)] {
        let refused = refusal(&text);
        assert!(refused.contains("too complex") || refused.contains("recursion limit"), "{refused}");
    }
}

#[test]
fn a_key_that_runs_something_else_is_not_taken() {
    let refusals = [
        "customCommands:\n  - key: <ctrl+y>\n    context: commits, files\n    command: |\n      make x\n",
        "customCommands: [{key: [x, <c-y>], commandMenu: [], description: Mine}]",
    ];
    expect![[r#"
        <c-y> runs `make x` already, says ~/.config/lazygit/config.yml
        nothing was written; choose another key: `lore setup lazygit --key '<c-k>'`
        <c-y> runs `Mine` already, says ~/.config/lazygit/config.yml
        nothing was written; choose another key: `lore setup lazygit --key '<c-k>'`"#]]
    .assert_eq(&refusals.map(refusal).join("\n"));
    let desk = Desk::lazygit("customCommands:\n  - {key: <c-y>, context: localBranches, command: a}\n");
    desk.key(None);
    let desk = Desk::lazygit("customCommands:\n  - {key: <c-y>, context: files, command: a}\n");
    desk.key(Some("<a-c>"));
    assert_eq!(registered(&desk.place).unwrap().keys, ["<a-c>"]);
    expect![[r#"
        lazygit knows no key `ctrl-y`
        write it as lazygit does: `<c-y>`, `<a-c>`, `<f5>`, `C`"#]]
    .assert_eq(&desk.refused(Some("ctrl-y")));
}
