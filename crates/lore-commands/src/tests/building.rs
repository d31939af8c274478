//! Registries made from prompt files.

use super::*;

fn front(c1: &str, c2: &str, c3: &str, more: &str) -> String {
    format!("---\nc1: {c1}\nc2: {c2}\nc3: {c3}\ntitle: T\ndescription: {c2} it\n{more}---\n\nText\n")
}

#[test]
fn a_registry_is_made_from_prompts_and_keeps_what_they_do_not_say() {
    let prompts = "project/.agent/climpt/prompts";
    let place = Place::new()
        .write(
            &format!("{prompts}/git/b/x/f_default.md"),
            &front("git", "b", "x", "options:\n  edition: [default, bug]\n  file: true\nuv:\n  - name: A name\n"),
        )
        .write(&format!("{prompts}/git/b/x/f_bug.md"), "No frontmatter\n")
        .write(&format!("{prompts}/git/a/x/f_default.md"), &front("git", "a", "x", ""))
        .write(&format!("{prompts}/git/kept/x/f_default.md"), "No frontmatter\n")
        .write(&format!("{prompts}/README.md"), "not a prompt")
        .write(
            "project/.agent/climpt/registry.json",
            r#"{"version": "2.0", "description": "Ours", "tools": {"availableConfigs": ["old"], "commands": [
            {"c1": "git", "c2": "gone", "c3": "x", "description": "gone"},
            {"c1": "git", "c2": "kept", "c3": "x", "description": "By hand"},
            {"c1": "git", "c2": "a", "c3": "x", "description": "Before", "team": "core"}]}}"#,
        );
    let built = place.commands.build(&place.project(), AGENT, BuildOptions::default()).unwrap();
    let names = |names: &[CommandName]| names.iter().map(|name| name.c2.clone()).collect::<Vec<_>>().join(" ");
    assert_eq!(
        (names(&built.added), names(&built.changed), names(&built.removed)),
        ("b".to_owned(), "a".to_owned(), "gone".to_owned())
    );
    let file = place.project().join(".agent/climpt/registry.json");
    expect![[r#"
        {
          "version": "2.0",
          "description": "Ours",
          "tools": {
            "availableConfigs": [
              "old",
              "git"
            ],
            "commands": [
              {
                "c1": "git",
                "c2": "kept",
                "c3": "x",
                "description": "By hand"
              },
              {
                "c1": "git",
                "c2": "a",
                "c3": "x",
                "description": "a it",
                "team": "core"
              },
              {
                "c1": "git",
                "c2": "b",
                "c3": "x",
                "description": "b it",
                "options": {
                  "edition": [
                    "default",
                    "bug"
                  ],
                  "file": true
                },
                "uv": [
                  {
                    "name": "A name"
                  }
                ]
              }
            ]
          }
        }
    "#]]
    .assert_eq(&fs::read_to_string(&file).unwrap());
    let again = place.commands.build(&place.project(), AGENT, BuildOptions::default()).unwrap();
    assert!(!again.written && again.added.is_empty() && again.changed.is_empty());
    let left: Vec<_> = fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("tmp")), "{left:?}");
}

#[test]
fn a_broken_prompt_stops_the_build_unless_it_is_left_out() {
    let prompts = "project/.agent/climpt/prompts/git";
    let place = Place::new()
        .write(&format!("{prompts}/good/x/f_default.md"), &front("git", "good", "x", ""))
        .write(&format!("{prompts}/bad/x/f_default.md"), "---\nc1: git\nc2: [\n---\nText\n")
        .write(&format!("{prompts}/moved/x/f_default.md"), &front("git", "other", "x", ""));
    let failure = place.commands.build(&place.project(), AGENT, BuildOptions::default()).unwrap_err();
    assert!(
        failure.message.contains("bad/x/f_default.md:") && failure.message.contains("moved/x/f_default.md:1:"),
        "{failure}"
    );
    assert!(!place.project().join(".agent/climpt/registry.json").exists());
    let built = place.commands.build(&place.project(), AGENT, BuildOptions { force: true, dry_run: false }).unwrap();
    assert_eq!((built.commands, built.problems.len()), (1, 2));
}

#[test]
fn without_prompts_there_is_nothing_to_build() {
    let place = Place::new();
    assert_eq!(
        place.commands.build(&place.project(), AGENT, BuildOptions::default()).unwrap_err().code,
        Code::CommandNotFound
    );
    assert_eq!(snapshot(&place.project()).len(), 1);
}

fn built(place: &Place, force: bool) -> (Built, serde_json::Value) {
    let built = place.commands.build(&place.project(), AGENT, BuildOptions { force, dry_run: false }).unwrap();
    let text = fs::read_to_string(place.project().join(".agent/climpt/registry.json")).unwrap();
    (built, serde_json::from_str(&text).unwrap())
}

#[test]
fn an_entry_keeps_every_field_that_the_frontmatter_does_not_say() {
    let registry = serde_json::json!({"tools": {"availableConfigs": ["git", 5], "commands": [
        {"c1": "my domain"},
        {"c1": "git", "c2": "b", "c3": "x", "description": "D", "usage": "U", "uv": [{"v": "V"}],
            "options": {"edition": ["default"], "file": [true], "own": 1}},
        {"c1": "git", "c2": "a", "c3": "x", "description": "D", "uv": [{"v": "V"}], "options": {"stdin": true, "own": 1}},
    ]}});
    let prompts = "project/.agent/climpt/prompts/git";
    let place = Place::new()
        .write("project/.agent/climpt/registry.json", &registry.to_string())
        .write(&format!("{prompts}/b/x/f_default.md"), "---\nc1: git\nc2: b\nc3: x\n---\n{uv-v}\n")
        .write(
            &format!("{prompts}/a/x/f_default.md"),
            "---\nc1: git\nc2: a\nc3: x\noptions:\n  file: true\nuv: []\n---\nText\n",
        );
    assert_eq!(place.commands.check(&place.project(), None).unwrap().errors(), 1, "only the entry that makes no sense");
    let (done, made) = built(&place, false);
    assert_eq!((done.changed, done.removed, done.added), (vec![name("git", "a", "x")], Vec::new(), Vec::new()));
    let commands = &made["tools"]["commands"];
    assert_eq!((&commands[0], &commands[1]), (&registry["tools"]["commands"][0], &registry["tools"]["commands"][1]));
    assert_eq!(
        commands[2],
        serde_json::json!({"c1": "git", "c2": "a", "c3": "x", "description": "D", "uv": [], "options": {"stdin": true, "own": 1, "file": true}})
    );
    assert_eq!(made["tools"]["availableConfigs"], serde_json::json!(["git", 5]));
    assert!(!built(&place, false).0.written);
}

#[test]
fn many_prompts_of_one_folder_are_all_there() {
    let names: Vec<String> = (0..1100).map(|number| format!("t{number}")).collect();
    let place = Place::new();
    for c3 in &names {
        let file = format!(".agent/climpt/prompts/git/a/{c3}/f_default.md");
        write(&place.project().join(file), "Text\n");
    }
    let entries: Vec<_> = names.iter().map(|c3| ("git", "a", c3.as_str())).collect();
    let (done, _) = built(&place.entries(&entries), false);
    assert_eq!((done.commands, done.removed.len()), (1100, 0));
}

#[test]
fn force_keeps_the_commands_of_a_broken_profile_and_what_was_there() {
    let place = Place::with_prompt("Text\n").write("project/.agent/climpt/config/git-app.yml", "working_dir: [\n");
    let (done, _) = built(&place, true);
    assert_eq!((done.commands, done.removed.len(), done.problems.len()), (1, 0, 1));
    let mut backups = Vec::new();
    for broken in [&b"{\"tools\": "[..], b"\xff", &vec![b' '; (16 << 20) + 1]] {
        fs::write(place.project().join(".agent/climpt/registry.json"), broken).unwrap();
        let refused = place.commands.build(&place.project(), AGENT, BuildOptions::default()).unwrap_err();
        assert!(refused.hint.unwrap().contains("--force"));
        let (done, _) = built(&place, true);
        let backup = done.backup.unwrap();
        assert!(fs::read(place.project().join(&backup)).unwrap() == broken, "what was there is kept");
        backups.push(backup);
    }
    assert_eq!(backups, ["", "-1", "-2"].map(|end| format!(".agent/climpt/registry.json.bak{end}")), "each of them");
}

#[test]
fn all_registries_are_made_or_none() {
    let place = Place::new()
        .write("project/.agent/climpt/prompts/git/a/x/f_default.md", &front("git", "a", "x", ""))
        .write("project/.agent/iterator/registry.json", &registry(&[("dev", "a", "x")]))
        .write("project/.agent/iterator/prompts/dev/a/x/f_default.md", "---\nc1: [\n---\n");
    let before = snapshot(&place.project());
    let failure = place.commands.build_all(&place.project(), BuildOptions::default()).unwrap_err();
    assert!(failure.message.contains("iterator/prompts") && failure.hint.unwrap().contains("nothing was written"));
    assert_eq!(snapshot(&place.project()), before);
}

#[test]
fn domains_that_share_a_folder_keep_their_commands() {
    let place = Place::new()
        .entries(&[("git", "a", "x"), ("climpt-git", "a", "x")])
        .write("project/.agent/climpt/config/climpt-git-app.yml", "app_prompt: {base_dir: prompts/git}\n")
        .write("project/.agent/climpt/prompts/git/a/x/f_default.md", "Text\n");
    assert_eq!(built(&place, false).0.removed, []);
    assert_eq!(place.commands.check(&place.project(), None).unwrap().errors(), 0);
}
