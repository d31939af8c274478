//! Files and keys of lazygit's that are left alone: nothing is written, and the place is named.

use expect_test::{Expect, expect};

use super::{super::lazygit::registered, Desk};

fn refuses(before: &str, what: &Expect) {
    let desk = Desk::lazygit(before);
    what.assert_eq(&desk.refused(None));
    assert_eq!(desk.now(), before);
}

#[test]
fn files_that_lazygit_or_lore_would_misread_are_left_alone() {
    let hint = "nothing was written; fix the file and try again, or paste what `lore setup lazygit --print` shows";
    for (before, what) in [
        ("gui: [1\n", expect!["~/.config/lazygit/config.yml:1:6: this is not YAML: unclosed bracket '['"]),
        (
            "- a\n",
            expect!["~/.config/lazygit/config.yml:1:1: lazygit's file is a list of `key: value`, and this is not"],
        ),
        ("~\n", expect!["~/.config/lazygit/config.yml:1:1: lazygit's file is a list of `key: value`, and this is not"]),
        (
            "a: 1\n---\nb: 1\n",
            expect!["~/.config/lazygit/config.yml:2:1: lazygit reads one document, and here begins another"],
        ),
        (
            "a:\n\tb: 1\n",
            expect![
                "~/.config/lazygit/config.yml:2:2: this is not YAML: tabs disallowed within this context (block indentation)"
            ],
        ),
        (
            "\ta: 1\n",
            expect!["~/.config/lazygit/config.yml:1:1: a tab cannot indent YAML; lazygit does not read this file"],
        ),
        ("customCommands: x\n", expect!["~/.config/lazygit/config.yml:1:1: `customCommands` is not a list"]),
        (
            "a: &a []\ncustomCommands: *a\n",
            expect!["~/.config/lazygit/config.yml:2:1: `customCommands` is an alias; Lore leaves it alone"],
        ),
        (
            "customCommands: &a\n  - key: b\n",
            expect!["~/.config/lazygit/config.yml:1:1: `customCommands` has an anchor or a tag; Lore leaves it alone"],
        ),
        (
            "customCommands: []\ncustomCommands: []\n",
            expect![
                "~/.config/lazygit/config.yml:2:1: `customCommands` is there twice; lazygit does not read this file"
            ],
        ),
        (
            "a: *nobody\n",
            expect!["~/.config/lazygit/config.yml:1:4: this is not YAML: while parsing node, found unknown anchor"],
        ),
    ] {
        let desk = Desk::lazygit(before);
        let refused = desk.refused(None);
        let (first, rest) = refused.split_once('\n').unwrap();
        what.assert_eq(first);
        assert_eq!((rest, desk.now().as_str()), (hint, before));
    }
}

#[test]
fn deep_nesting_is_an_ordinary_refusal() {
    for text in [format!("a: {}", "[".repeat(20_000)), "- ".repeat(20_000), "{a: ".repeat(20_000)] {
        let desk = Desk::lazygit(&text);
        assert!(desk.refused(None).contains("recursion limit"), "{}", desk.refused(None));
    }
}

#[test]
fn a_key_that_runs_something_else_is_not_taken() {
    refuses(
        "customCommands:\n  - key: <ctrl+y>\n    context: commits, files\n    command: |\n      make x\n",
        &expect![[r#"
            <c-y> runs `make x` already, says ~/.config/lazygit/config.yml
            nothing was written; choose another key: `lore setup lazygit --key '<c-k>'`"#]],
    );
    refuses(
        "customCommands: [{key: [x, <c-y>], commandMenu: [], description: Mine}]",
        &expect![[r#"
        <c-y> runs `Mine` already, says ~/.config/lazygit/config.yml
        nothing was written; choose another key: `lore setup lazygit --key '<c-k>'`"#]],
    );
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
