//! lazygit's file in every form: what is added, what is refused, and that undoing gives it back.

use std::{fs, path::Path};

use expect_test::{Expect, expect};
use lore_model::Failure;

use super::super::{Os, apply, change::Change, lazygit::*};
use super::Desk;

/// The program where most tests have it.
pub(super) fn lore() -> Commenter {
    Commenter::new(Path::new("/opt/bin/lore"), None).unwrap()
}

pub(super) const FILE: &str = ".config/lazygit/config.yml";

impl Desk {
    pub(super) fn lazygit(text: &str) -> Self {
        let desk = Self::new();
        desk.put(FILE, text);
        desk
    }

    pub(super) fn put(&self, file: &str, text: &str) {
        let file = self.place.home.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    pub(super) fn rewrite(&self, text: &str) {
        self.put(FILE, text);
    }

    pub(super) fn now(&self) -> String {
        fs::read_to_string(self.place.home.join(FILE)).unwrap()
    }

    pub(super) fn key(&self, key: Option<&str>) -> Change {
        self.keyed(&lore(), key)
    }

    pub(super) fn keyed(&self, commenter: &Commenter, key: Option<&str>) -> Change {
        let change = plan(&self.place, commenter, key).unwrap_or_else(|failure| panic!("{failure}"));
        apply(&change).expect("the setup can be done");
        change
    }

    pub(super) fn unkey(&self) -> Change {
        let change = plan_undo(&self.place).unwrap_or_else(|failure| panic!("{failure}"));
        apply(&change).expect("the undo can be done");
        change
    }

    pub(super) fn refused(&self, key: Option<&str>) -> String {
        let failure = plan(&self.place, &lore(), key).expect_err("this is refused");
        self.shown(&said(&failure))
    }
}

pub(super) fn said(failure: &Failure) -> String {
    format!("{failure}\n{}", failure.hint.as_deref().unwrap_or_default())
}

/// Sets up, sets up again and undoes files with these texts; compares what they were in between.
pub(super) fn check(before: &[&str], after: &Expect) {
    let shown = before.iter().map(|before| {
        let desk = Desk::lazygit(before);
        desk.key(None);
        // Our entries are the same everywhere; what matters is where they are.
        let shown = short(&desk.now().replace('\r', "␍").replace('\u{feff}', "BOM"));
        assert!(plan(&desk.place, &lore(), None).unwrap().is_noop(), "a second setup changes something");
        desk.unkey();
        assert_eq!(desk.now(), *before);
        desk.assert_no_record();
        shown
    });
    after.assert_eq(&shown.collect::<Vec<_>>().join("--\n"));
}

/// Leaves out what is between the key and the end of an entry of ours.
pub(super) fn short(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut ours = false;
    for line in text.split('\n') {
        let end = if line.ends_with('␍') { "␍" } else { "" };
        if line.trim_start().starts_with("- key: '<c-y>'") {
            ours = true;
            out.push(format!("{}- OURS{end}", &line[..line.len() - line.trim_start().len()]));
        }
        if !ours {
            out.push(line.to_owned());
        }
        ours = ours && !line.trim_start().starts_with("command: ");
    }
    out.join("\n")
}

#[test]
fn a_fresh_file_holds_both_entries() {
    let desk = Desk::new();
    let change = desk.key(None);
    expect![[r#"
        customCommands:
          - key: '<c-y>'
            context: 'files, staging, stagingSecondary'
            description: 'Comment for the coding agent'
            loadingText: 'Keeping the comment'
            prompts:
              - type: 'input'
                title: 'Comment on {{ .SelectedPath }}'
                key: 'Comment'
            command: '/opt/bin/lore comment --encoded --file={{ .SelectedPath | urlquery | quote }} -- {{ .Form.Comment | urlquery | quote }}'
          - key: '<c-y>'
            context: 'commitFiles, patchBuilding'
            description: 'Comment for the coding agent'
            loadingText: 'Keeping the comment'
            prompts:
              - type: 'input'
                title: 'Comment on {{ .SelectedCommitFilePath }}'
                key: 'Comment'
            command: '/opt/bin/lore comment --encoded --file={{ .SelectedCommitFilePath | urlquery | quote }} -- {{ .Form.Comment | urlquery | quote }}'
    "#]]
    .assert_eq(&desk.now());
    expect![[r#"
        there is no folder ~/.config/lazygit yet: is lazygit installed?
        start lazygit (0.44 or later) anew and press <c-y> on a file or in its lines"#]]
    .assert_eq(&desk.shown(&change.notes.join("\n")));
    let printed = snippet(&desk.place, &lore(), None).unwrap();
    assert_eq!((printed.text, printed.file), (desk.now(), desk.place.home.join(FILE)));
    desk.unkey();
    assert!(!desk.place.home.join(".config").exists());
}

#[test]
fn words_that_a_shell_or_a_template_would_mind_are_left_to_lazygit() {
    for (program, home, command) in [
        ("/usr/bin/lore", None, "/usr/bin/lore comment"),
        ("/a b/lore", None, r#"{{ "/a b/lore" | quote }} comment"#),
        ("/it's $HOME/{{ x }}/lore", None, r#"{{ "/it's $HOME/{{ x }}/lore" | quote }} comment"#),
        (r"C:\Users\me\lore.exe", None, r#"{{ "C:\\Users\\me\\lore.exe" | quote }} comment"#),
        ("/日本/lore", Some("/a\tb"), r#"{{ "/日本/lore" | quote }} comment --home={{ "/a\tb" | quote }}"#),
        ("/bin/lore", Some("/data"), "/bin/lore comment --home=/data"),
        ("/x\u{85}\n\"/lore", None, "{{ \"/x\u{85}\\n\\\"/lore\" | quote }} comment"),
    ] {
        let desk = Desk::new();
        let commenter = Commenter::new(Path::new(program), home.map(Path::new)).unwrap();
        desk.keyed(&commenter, None);
        let file: serde_json::Value = serde_json::to_value(parsed(&desk.now())).unwrap();
        let written = file["customCommands"][0]["command"].as_str().unwrap();
        let rest = " --encoded --file={{ .SelectedPath | urlquery | quote }} -- {{ .Form.Comment | urlquery | quote }}";
        assert_eq!(written, format!("{command}{rest}"));
        assert_eq!(registered(&desk.place).unwrap().program, program);
        assert!(plan(&desk.place, &commenter, None).unwrap().is_noop());
    }
}

/// The file as another reader of YAML sees it.
pub(super) fn parsed(text: &str) -> serde_json::Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn entries_are_added_where_the_file_has_none() {
    check(
        &[
            "",
            "# only\n# comments\n",
            "gui: {a: 1} # x\ngit:\n    b: |+\n      c\n\n",
            "gui:\r\n  a: 1",
            "\u{feff}---\n  gui: |\n     x\n  git: &a 1\n...\n",
            "customCommands: ~ # none\n",
            "customCommands:\ngui: 1\n",
            "customCommands: # mine\n  # none yet\n",
        ],
        &expect![[r#"
            customCommands:
              - OURS
              - OURS
            --
            # only
            # comments
            customCommands:
              - OURS
              - OURS
            --
            gui: {a: 1} # x
            git:
                b: |+
                  c

            customCommands:
              - OURS
              - OURS
            --
            gui:␍
              a: 1␍
            customCommands:␍
              - OURS␍
              - OURS␍
            --
            BOM---
              gui: |
                 x
              git: &a 1
              customCommands:
                - OURS
                - OURS
            ...
            --
            customCommands: # none
              - OURS
              - OURS
            --
            customCommands:
              - OURS
              - OURS
            gui: 1
            --
            customCommands: # mine
              - OURS
              - OURS
              # none yet
        "#]],
    );
}

#[test]
fn entries_are_added_behind_those_of_others() {
    check(
        &[
            "customCommands:\n- key: a\n  command: b\n  # c\n# d\ngui: 1\n",
            "customCommands:\n    -   key: a\n        command: |+\n            b\n\n\ngui: 1\n",
            "x: &x {key: a, context: files, command: b}\ncustomCommands:\n  - *x\n  -\n    key: 'é'",
            "customCommands: &a # b\n  - key: c\n",
            "\"customCommands\":\n  - {key: a,\n     command: b}\n\n\n# end",
        ],
        &expect![[r#"
            customCommands:
            - key: a
              command: b
            - OURS
            - OURS
              # c
            # d
            gui: 1
            --
            customCommands:
                -   key: a
                    command: |+
                        b


                - OURS
                - OURS
            gui: 1
            --
            x: &x {key: a, context: files, command: b}
            customCommands:
              - *x
              -
                key: 'é'
              - OURS
              - OURS--
            customCommands: &a # b
              - key: c
              - OURS
              - OURS
            --
            "customCommands":
              - {key: a,
                 command: b}
              - OURS
              - OURS


            # end"#]],
    );
}

#[test]
fn lists_in_brackets_stay_in_brackets() {
    for (before, start, end) in [
        ("customCommands: [] # none\ngui: 1\n", "customCommands: [{key: '<c-y>', ", "}] # none\ngui: 1\n"),
        ("{}", "{customCommands: [{key: '<c-y>', ", "}]}"),
        ("{gui: 1}\n", "{gui: 1, customCommands: [{key: '<c-y>', ", "}]}\n"),
        (
            "customCommands: [{key: a, command: b}, ]\n",
            "customCommands: [{key: a, command: b}, {key: '<c-y>', ",
            "}, ]\n",
        ),
    ] {
        let desk = Desk::lazygit(before);
        desk.key(None);
        let now = desk.now();
        assert!(now.starts_with(start) && now.ends_with(end), "{now}");
        assert!(plan(&desk.place, &lore(), None).unwrap().is_noop());
        desk.unkey();
        assert_eq!(desk.now(), before);
    }
}

#[test]
fn the_file_is_the_one_that_lazygit_reads() {
    let legacy = ".config/jesseduffield/lazygit/config.yml";
    let file = |desk: &Desk| desk.shown(&snippet(&desk.place, &lore(), None).unwrap().file.to_string_lossy());
    let mut desk = Desk::new();
    assert_eq!(file(&desk), "~/.config/lazygit/config.yml");
    desk.put(legacy, "");
    assert_eq!(file(&desk), "~/.config/jesseduffield/lazygit/config.yml");
    desk.put(FILE, "");
    expect![[r#"
        lazygit reads ~/.config/jesseduffield/lazygit/config.yml and passes over ~/.config/lazygit/config.yml
        start lazygit (0.44 or later) anew and press <c-y> on a file or in its lines"#]]
    .assert_eq(&desk.shown(&desk.key(None).notes.join("\n")));
    desk.unkey();
    fs::remove_file(desk.place.home.join(legacy)).unwrap();
    assert_eq!(file(&desk), "~/.config/lazygit/config.yml");
    desk.place.config_home = Some(desk.place.home.join("xdg"));
    desk.place.lazygit.shared = Some(desk.place.home.join(".config"));
    assert_eq!(file(&desk), "~/.config/lazygit/config.yml");
    desk.put("xdg/lazygit/config.yml", "");
    assert_eq!(file(&desk), "~/xdg/lazygit/config.yml");
    desk.place.lazygit.folder = Some(desk.place.home.join("own"));
    assert_eq!(file(&desk), "~/own/config.yml");
    desk.place.lazygit.files = Some(desk.place.home.join("a.yml,/theme.yml"));
    assert_eq!(file(&desk), "~/a.yml");
    for (os, expected) in [
        (Os::Mac, "~/Library/Application Support/lazygit/config.yml"),
        (Os::Windows, "~/AppData/Local/lazygit/config.yml"),
    ] {
        let mut desk = Desk::new();
        desk.place.os = os;
        assert_eq!(file(&desk), expected);
    }
    let mut desk = Desk::new();
    (desk.place.os, desk.place.lazygit.shared) = (Os::Mac, None);
    desk.put(legacy, "");
    assert_eq!(file(&desk), "~/.config/jesseduffield/lazygit/config.yml");
}

#[test]
fn doctor_learns_which_key_runs_lore() {
    let desk = Desk::new();
    assert_eq!(registered(&desk.place), None);
    let program = desk.place.home.join("lore");
    desk.keyed(&Commenter::new(&program, None).unwrap(), Some("<f5>"));
    let keys = registered(&desk.place).unwrap();
    assert_eq!((keys.keys, keys.program_exists), (vec!["<f5>".to_owned()], Some(false)));
    fs::write(&program, "").unwrap();
    assert_eq!(registered(&desk.place).unwrap().program_exists, Some(true));
    let pasted = "lore comment --file={{ .SelectedPath | quote }} -- {{ .Form.Comment | quote }}";
    desk.put(FILE, &format!("customCommands:\n  - {{key: y, context: files, command: '{pasted}'}}\n"));
    assert_eq!(registered(&desk.place).unwrap().program_exists, None);
    desk.put(FILE, "customCommands: {");
    assert_eq!(registered(&desk.place), None);
}
