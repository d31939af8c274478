//! Nothing outside the project is read or written, whatever names, links and configurations say.

use std::os::unix::fs::symlink;

use super::*;

const SECRET: &str = "the secret";

/// A project beside a secret, with everything in it that might lead there.
fn place() -> Place {
    let place =
        Place::with_prompt("Commit.\n").write("secret/f_default.md", SECRET).write("secret/x/y/f_default.md", SECRET);
    let place = place.write("project-evil/f_default.md", SECRET);
    let prompts = place.project().join(".agent/climpt/prompts/git");
    fs::create_dir_all(prompts.join("linked")).unwrap();
    symlink(place.dir.path().join("secret"), prompts.join("linked/folder")).unwrap();
    fs::create_dir_all(prompts.join("linked/file")).unwrap();
    symlink(place.dir.path().join("secret/f_default.md"), prompts.join("linked/file/f_default.md")).unwrap();
    place.entries(&[
        ("git", "commit", "changes"),
        ("git", "linked", "folder"),
        ("git", "linked", "file"),
        ("evil", "x", "y"),
    ])
}

#[test]
fn names_lead_nowhere() {
    let place = place();
    for (c1, c2, c3) in [
        ("git", "../../../../..", "secret"),
        ("git", "..", ".."),
        ("git", "commit", "../../../../../../secret"),
        ("../../..", "secret", "x"),
        ("git", "/", "etc"),
        ("git", "commit/changes", "."),
        ("git", "commit\0", "changes"),
        ("git", "", ""),
    ] {
        let answer = place.run_named(&name(c1, c2, c3), &ExecuteOptions::default());
        assert_eq!(answer, format!("not found: {c1} {c2} {c3}"));
    }
    for word in ["../../../../../../../secret/f", "..", "/etc/passwd", "x/y", "x\0y", "-", "..\\x"] {
        for options in [
            ExecuteOptions { edition: Some(word.to_owned()), ..ExecuteOptions::default() },
            ExecuteOptions { adaptation: Some(word.to_owned()), ..ExecuteOptions::default() },
        ] {
            let answer = place.run(&options);
            assert!(answer.starts_with("failed: `") && answer.contains("cannot be"), "{word}: {answer}");
        }
    }
    for agent in ["../secret", "", "a/b", "..", "x\0"] {
        let answer = said(place.commands.search(&place.project(), agent, "x").map(|_| String::new()));
        assert!(answer.starts_with("invalid: "), "{agent}: {answer}");
    }
}

#[test]
fn links_lead_nowhere() {
    let place = place();
    for c3 in ["folder", "file"] {
        let answer = place.run_named(&name("git", "linked", c3), &ExecuteOptions::default());
        assert!(answer.contains("it leads outside the project") && !answer.contains(SECRET), "{answer}");
    }
    // A registry that is a link to elsewhere.
    let registry = place.project().join(".agent/climpt/registry.json");
    fs::rename(&registry, place.dir.path().join("elsewhere.json")).unwrap();
    symlink(place.dir.path().join("elsewhere.json"), &registry).unwrap();
    let answer = said(Commands::new(None).search(&place.project(), AGENT, "commit").map(|_| String::new()));
    assert_eq!(answer, "no registry .agent/climpt/registry.json: it leads outside the project");
}

#[test]
fn profiles_and_configurations_lead_nowhere() {
    let place = place();
    let outside = place.dir.path().join("secret");
    for (working_dir, base_dir) in [
        ("..", "secret"),
        (".agent/climpt", "../../../secret"),
        ("/", "etc"),
        (".", outside.to_str().unwrap()),
        ("../project-evil", "."),
    ] {
        let text = format!("working_dir: \"{working_dir}\"\napp_prompt:\n  base_dir: \"{base_dir}\"\n");
        write(&place.project().join(".agent/climpt/config/evil-app.yml"), &text);
        let answer = place.run_named(&name("evil", "x", "y"), &ExecuteOptions::default());
        assert!(answer.contains("leads outside the project") && !answer.contains(SECRET), "{text}: {answer}");
    }
    for path in ["../elsewhere.json", "/etc/hosts", "a/../../elsewhere.json"] {
        let config = serde_json::json!({"registries": {"climpt": path}}).to_string();
        write(&place.project().join(".agent/climpt/config/registry_config.json"), &config);
        write(&place.dir.path().join("elsewhere.json"), &registry(&[("git", "a", "b")]));
        let answer = said(place.commands.search(&place.project(), AGENT, "a").map(|_| String::new()));
        assert_eq!(answer, format!("no registry {path}: it leads outside the project"));
    }
}

#[test]
fn nothing_is_written_outside() {
    let place = place();
    symlink(place.dir.path().join("secret"), place.project().join(".agent/out")).unwrap();
    let config = serde_json::json!({"registries": {"climpt": ".agent/out/registry.json"}}).to_string();
    write(&place.project().join(".agent/climpt/config/registry_config.json"), &config);
    let before = snapshot(&place.dir.path().join("secret"));
    let failure = place.commands.build(&place.project(), AGENT, BuildOptions::default()).unwrap_err();
    assert!(failure.message.contains("outside"), "{failure}");
    let new = NewCommand { name: name("git", "linked", "folder"), ..super::making::new_command() };
    assert!(place.commands.create(&place.project(), &new).is_err());
    assert_eq!(snapshot(&place.dir.path().join("secret")), before);
}

#[test]
fn completion_shows_nothing_hidden_or_outside() {
    let place = place().write("project/src/main.rs", "").write("project/src/lib.rs", "").write("project/.env", "");
    symlink(place.dir.path().join("secret"), place.project().join("src/out")).unwrap();
    let complete = |typed: &str| place.commands.complete_path(&place.project(), typed).values;
    assert_eq!(complete(""), ["src/"]);
    assert_eq!(complete("src/"), ["src/lib.rs", "src/main.rs", "src/out"]);
    assert_eq!(complete("src/m"), ["src/main.rs"]);
    for typed in [".", ".env", "../", "/", "/etc/", "src/../../", "src/out/", ".agent/", "x\0"] {
        assert!(complete(typed).is_empty(), "{typed}: {:?}", complete(typed));
    }
    for at in 0..300 {
        write(&place.project().join(format!("many/{at:03}.txt")), "");
    }
    let many = place.commands.complete_path(&place.project(), "many/");
    assert_eq!((many.values.len(), many.total), (100, 300));
}

#[test]
fn a_prompt_does_not_leave_its_base_directory_for_another_file_of_the_project() {
    let place = Place::with_prompt("Commit.\n")
        .write("project/.env", "SECRET=1")
        .write("project/.agent/climpt/private/f_default.md", SECRET)
        .write("home/.ssh/id", SECRET)
        .entries(&[("git", "commit", "env"), ("git", "commit", "folder")]);
    let prompts = place.project().join(".agent/climpt/prompts/git/commit");
    fs::create_dir_all(prompts.join("env")).unwrap();
    symlink("../../../../../../.env", prompts.join("env/f_default.md")).unwrap();
    symlink("../../../private", prompts.join("folder")).unwrap();
    for c3 in ["env", "folder"] {
        let answer = place.run_named(&name("git", "commit", c3), &ExecuteOptions::default());
        assert!(answer.ends_with("it leads outside .agent/climpt/prompts/git"), "{answer}");
    }
    let place = Place::new()
        .write("home/.ssh/id", SECRET)
        .write("home/.agent/climpt/registry.json", &registry(&[("git", "commit", "changes")]))
        .write("home/.agent/climpt/prompts/git/commit/changes/f_other.md", "Other.\n");
    let link = place.dir.path().join("home/.agent/climpt/prompts/git/commit/changes/f_default.md");
    symlink(place.dir.path().join("home/.ssh/id"), link).unwrap();
    let answer = place.run(&ExecuteOptions::default());
    assert!(answer.ends_with("it leads outside .agent/climpt/prompts/git"), "{answer}");
}
