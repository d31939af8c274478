//! lazygit's file when there is an entry already: ours from another place, the old program's, and what undoing leaves.

use std::{fs, path::Path};

use expect_test::expect;

use super::{
    super::lazygit::{Commenter, plan_undo},
    Desk,
    lazygit::{FILE, check, parsed, said, short},
};

#[test]
fn another_path_of_the_program_is_brought_up_to_date_and_the_rest_stays() {
    let desk = Desk::new();
    let old = Commenter::new(Path::new("/old/lore"), None).unwrap();
    desk.put(FILE, "gui: 1\n");
    desk.keyed(&old, None);
    let text = desk.now().replacen("key: '<c-y>'", "key: K # mine", 1).replacen("files, ", "files,", 1);
    desk.put(FILE, &text);
    desk.key(None);
    assert_eq!(desk.now(), text.replace("/old/lore", "/opt/bin/lore"));
    desk.key(Some("<c-k>"));
    assert_eq!(
        desk.now(),
        text.replace("/old/lore", "/opt/bin/lore")
            .replace("key: K # mine", "key: '<c-k>' # mine")
            .replace("<c-y>", "<c-k>")
    );
    desk.unkey();
    assert_eq!(desk.now(), "gui: 1\n");
}

#[test]
fn an_entry_pasted_by_hand_is_given_back_as_it_was() {
    let before = "customCommands:\n  - key: k\n    context: files\n    command: |-\n      lore comment --file={{ .SelectedPath | quote }} -- {{ .Form.Comment | quote }}\n";
    let desk = Desk::lazygit(before);
    desk.key(None);
    let entries = parsed(&desk.now())["customCommands"].clone();
    assert_eq!(
        (entries.as_array().unwrap().len(), &entries[0]["key"], &entries[1]["key"]),
        (2, &"k".into(), &"k".into())
    );
    assert!(entries[0]["command"].as_str().unwrap().starts_with("/opt/bin/lore comment"));
    desk.put(FILE, &format!("# new\n{}", desk.now()));
    desk.unkey();
    assert_eq!(desk.now(), format!("# new\n{before}"));
}

#[test]
fn what_somebody_wrote_himself_to_run_lore_is_his() {
    let before = "customCommands:\n  - key: L\n    context: commits\n    command: lore comment --file README.md -- {{ .SelectedCommit.Hash | quote }}\n";
    let desk = Desk::lazygit(before);
    desk.key(None);
    let entries = parsed(&desk.now())["customCommands"].clone();
    assert_eq!((entries.as_array().unwrap().len(), &entries[1]["key"]), (3, &"<c-y>".into()));
    assert!(desk.now().starts_with(before));
    desk.unkey();
    assert_eq!(desk.now(), before);
}

const OLD: &str = "customCommands:
- key: \"<c-y>\"
  context: \"staging\"
  prompts:
  - type: \"input\"
    title: \"Comment:\"
  command: |
    lazygit-mcp-bridge send \\
      --file \"{{ .SelectedPath }}\" \\
      --comment \"{{ index .PromptResponses 0 }}\"
";

#[test]
fn the_old_program_gives_way_and_comes_back() {
    let desk = Desk::lazygit(OLD);
    let notes = desk.key(None).notes.join("\n");
    expect![[r#"
        <c-y> ran `lazygit-mcp-bridge`; `lore setup lazygit --undo` brings that back
        start lazygit (0.44 or later) anew and press <c-y> on a file or in its lines"#]]
    .assert_eq(&notes);
    assert_eq!(short(&desk.now()), "customCommands:\n- OURS\n- OURS\n");
    desk.put(FILE, &format!("{}- key: z\n  command: z\n", desk.now()));
    desk.unkey();
    assert_eq!(desk.now(), format!("{OLD}- key: z\n  command: z\n"));
    check(
        &[OLD],
        &expect![[r#"
        customCommands:
        - OURS
        - OURS
    "#]],
    );
}

#[test]
fn the_old_program_on_another_key_is_left_alone() {
    let desk = Desk::lazygit(&OLD.replace("<c-y>", "<c-o>"));
    expect![[r#"
        <c-o> still runs `lazygit-mcp-bridge`, whose comments Lore takes over too
        start lazygit (0.44 or later) anew and press <c-y> on a file or in its lines"#]]
    .assert_eq(&desk.key(None).notes.join("\n"));
    assert!(desk.now().contains("lazygit-mcp-bridge send"));
}

#[test]
fn undo_leaves_what_others_did_since() {
    for (before, change, after) in [
        ("", ("customCommands:", "gui: 1\ncustomCommands:"), "gui: 1\n"),
        ("a: 1\n", ("a: 1", "a: 2"), "a: 2\n"),
        ("customCommands: # x\na: 1\n", ("a: 1", "a: 2"), "customCommands: # x\na: 2\n"),
        ("customCommands: [] # x\n", ("# x", "# y"), "customCommands: [] # y\n"),
        ("customCommands: ~\n", ("~", "~"), "customCommands: ~\n"),
        ("{a: 1}\n", ("a: 1", "a: 2"), "{a: 2}\n"),
        ("{}\n", ("}\n", "} # x\n"), "{} # x\n"),
        ("customCommands: [{key: q, command: w}]\n", ("key: q", "key: Q"), "customCommands: [{key: Q, command: w}]\n"),
        ("customCommands:\n- key: q\n  command: w\n", ("- key: q\n  command: w\n", ""), "customCommands: []\n"),
        (
            "customCommands:\n- key: q\n",
            ("loadingText: 'Keep", "# theirs\n  loadingText: 'Keep"),
            "customCommands:\n- key: q\n",
        ),
    ] {
        let desk = Desk::lazygit(before);
        desk.key(None);
        let changed = desk.now().replacen(change.0, change.1, 1);
        desk.put(FILE, &changed);
        desk.unkey();
        assert_eq!(desk.now(), after, "from {before:?} through {changed:?}");
    }
    let desk = Desk::lazygit("a: 1\n");
    desk.key(None);
    desk.put(FILE, "a: 1 # all gone\n");
    assert_eq!(desk.unkey().notes, ["there is no entry any more that runs Lore"]);
    assert_eq!(desk.now(), "a: 1 # all gone\n");
    let failure = plan_undo(&desk.place).unwrap_err();
    expect![[r#"
        nothing to undo: no entry in ~/.config/lazygit/config.yml runs Lore
        `lore setup lazygit` adds it; `lore doctor` shows where it is"#]]
    .assert_eq(&desk.shown(&said(&failure)));
}

#[test]
fn undo_without_a_record_takes_our_entries_out() {
    let desk = Desk::lazygit("a: 1\ncustomCommands:\n  - key: q\n    command: w\n");
    let before = desk.now();
    desk.key(None);
    fs::remove_dir_all(&desk.place.state_dir).unwrap();
    assert_eq!(desk.unkey().notes, ["there is no record of a setup; the entries that run Lore are taken out"]);
    assert_eq!(desk.now(), before);
}

#[test]
fn one_undo_takes_back_several_setups_to_the_byte() {
    let desk = Desk::lazygit("gui: 1 # no line end");
    desk.keyed(&Commenter::new(Path::new("/old/lore"), None).unwrap(), None);
    desk.key(None);
    desk.key(Some("<f5>"));
    desk.unkey();
    assert_eq!(desk.now(), "gui: 1 # no line end");
}
