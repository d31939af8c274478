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
              },
              {
                "c1": "git",
                "c2": "kept",
                "c3": "x",
                "description": "By hand"
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
