//! `lore commands`: what people type.

use std::{io::Write as _, process::Stdio};

use expect_test::expect;
use serde_json::json;

use crate::{commands::Team, place::Place};

/// Runs `lore commands …` in the team's project and gives what it prints.
#[track_caller]
fn run(team: &Team, args: &[&str]) -> String {
    let args = [&["commands"], args, &["--project", team.folder()]].concat();
    String::from_utf8(team.place.lore.ok(&args)).expect("the output is text")
}

#[track_caller]
fn refused(team: &Team, code: i32, args: &[&str]) -> String {
    team.place.refused(code, &[&["commands"], args, &["--project", team.folder()]].concat())
}

#[test]
fn commands_are_listed_found_and_shown() {
    let team = Team::new();
    let listed = run(&team, &["list"]);
    assert_eq!(listed.lines().count(), 8, "{listed}");
    let found = run(&team, &["search", "変更をグループ化してコミット"]);
    assert!(
        found.lines().next().is_some_and(|first| first.ends_with("climpt-git group-commit unstaged-changes")),
        "{found}"
    );
    expect![[r#"
        climpt-git group-commit unstaged-changes
          Group file changes by semantic proximity and execute multiple commits sequentially
          usage        climpt-git group-commit unstaged-changes
          editions     default, hotfix
          adaptations  default
          takes        a file (-f), a text (stdin), a destination (-o)
          variable     --uv topic=… What the changes are about
          prompt       .agent/climpt/prompts/git/group-commit/unstaged-changes/f_default.md
          prompt       .agent/climpt/prompts/git/group-commit/unstaged-changes/f_hotfix.md
    "#]]
    .assert_eq(&run(&team, &["show", "climpt-git", "group-commit", "unstaged-changes"]));
    let shown: serde_json::Value =
        serde_json::from_str(&run(&team, &["show", "climpt-git", "group-commit", "unstaged-changes", "--json"]))
            .expect("JSON");
    assert_eq!((&shown["agent"], &shown["options"]["file"]), (&json!("climpt"), &json!(true)));
    let unknown = refused(&team, 3, &["show", "climpt-git", "group-comit", "unstaged-changes"]);
    assert!(unknown.contains("did you mean `climpt-git group-commit unstaged-changes`"), "{unknown}");
}

#[test]
fn run_prints_the_prompt_with_values_and_standard_input() {
    let team = Team::new();
    let name = ["run", "climpt-git", "group-commit", "unstaged-changes"];
    let plain = run(&team, &name);
    assert!(
        plain.ends_with("Topic: {uv-topic}\nFile: {input_text_file}\nText: {input_text}\nTo: {destination_path}\n"),
        "{plain}"
    );
    let values = run(&team, &[&name[..], &["-f", "a.txt", "-o", "out/", "--uv", "topic=$& x=y", "given"]].concat());
    assert!(values.ends_with("Topic: $& x=y\nFile: a.txt\nText: given\nTo: out/\n"), "{values}");
    assert_eq!(run(&team, &[&name[..], &["-e", "hotfix"]].concat()), "Commit the hotfix first.\n");
    for last in [&["-"][..], &[]] {
        let args = [&["commands"], &name[..], &["--project", team.folder()], last].concat();
        let mut child =
            team.place.lore.command(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut pipe = child.stdin.take().expect("it was piped");
        pipe.write_all("$(touch pwned) `ls`\n".as_bytes()).expect("it reads");
        drop(pipe);
        let output = child.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("Text: $(touch pwned) `ls`\n"), "{last:?}: {text}");
    }
    let json: serde_json::Value = serde_json::from_str(&run(&team, &[&name[..], &["--json"]].concat())).expect("JSON");
    assert_eq!(json["open_variables"], json!(["uv-topic", "input_text_file", "input_text", "destination_path"]));
    refused(&team, 2, &[&name[..], &["--uv", "topic"]].concat());
    refused(&team, 2, &[&name[..], &["--edtion=hotfix"]].concat());
    refused(&team, 2, &[&name[..], &["-e", "../../x"]].concat());
    refused(&team, 3, &["run", "climpt-git", "..", ".."]);
}

#[test]
fn a_project_without_commands_is_told_how_to_begin_and_the_way_works() {
    let place = Place::new();
    let repo = place.repo("new");
    repo.write("sub/a.txt", "");
    let team = Team { place, repo };
    for args in [&["list"][..], &["search", "x"], &["show", "a", "b", "c"], &["run", "a", "b", "c"], &["check"]] {
        let said = refused(&team, 3, args);
        assert!(said.contains("lore commands new"), "{args:?}: {said}");
    }
    let new =
        ["new", "code", "review", "diff", "--description", "Review a diff", "--stdin", "--uv", "focus=What to look at"];
    let said = run(&team, &new);
    expect![[r#"
        wrote .agent/climpt/config/code-app.yml
        wrote .agent/climpt/config/code-user.yml
        wrote .agent/climpt/prompts/code/review/diff/f_default.md
        wrote .agent/climpt/registry.json
    "#]]
    .assert_eq(&said);
    assert_eq!(run(&team, &["check"]), "1 command, 1 prompt file: 0 errors, 0 warnings\n");
    assert!(
        run(&team, &["run", "code", "review", "diff", "--uv", "focus=errors", "+x"])
            .contains("What to look at: errors")
    );
    assert!(refused(&team, 4, &new).contains("is in .agent/climpt/registry.json already"));
    assert!(run(&team, &["build"]).contains("is as it should be (1 command)"));
}

/// The same, which can write no byte into a file.
#[expect(clippy::disallowed_methods, reason = "a shell starts lore here, in the environment that it was given")]
fn without_room(lore: &std::process::Command) -> std::process::Command {
    let mut command = std::process::Command::new("sh");
    // A signal would end it, but for the trap.
    command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"]);
    command.arg(lore.get_program()).args(lore.get_args()).env_clear();
    command.envs(lore.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

#[test]
fn a_command_that_could_not_be_written_is_not_in_the_way_of_the_next_attempt() {
    let team = Team::new();
    // The prompt is written first, or what says where the prompts of a new domain lie.
    for (c1, first) in [
        ("climpt-git", ".agent/climpt/prompts/git/review/diff/f_default.md"),
        ("code", ".agent/climpt/config/code-app.yml"),
    ] {
        let args = ["new", c1, "review", "diff", "--description", "Review a diff"];
        let lore = team.place.lore.command(&[&["commands"], &args[..], &["--project", team.folder()]].concat());
        let output = without_room(&lore).output().expect("there is a shell");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains(&format!("{first} cannot be written: File too large")),
            "{said}"
        );
        assert!(!team.repo.path().join(first).exists(), "nothing is left of it");
        run(&team, &args);
        assert!(refused(&team, 4, &args).contains("already"), "what is there is not overwritten");
    }
}

#[test]
fn check_and_build_hold_registry_and_prompts_against_each_other() {
    let team = Team::new();
    let missing = refused_check(&team);
    assert!(missing.contains("`climpt-git merge-up base-branch` has no prompt"), "{missing}");
    team.repo.write(
        ".agent/climpt/prompts/climpt-meta/name/thing/f_default.md",
        "---\nc1: climpt-meta\nc2: name\nc3: thing\ndescription: Names it\n---\nText\n",
    );
    let would = run(&team, &["build", "--dry-run"]);
    assert!(
        would.contains("+ climpt-meta name thing\n") && would.contains("- climpt-git merge-up base-branch\n"),
        "{would}"
    );
    assert!(refused_check(&team).contains("has no prompt"), "a dry run writes nothing");
    run(&team, &["build"]);
    let checked = run(&team, &["check"]);
    assert!(checked.contains("2 commands, 3 prompt files: 0 errors"), "{checked}");
    team.repo.write(".agent/climpt/prompts/climpt-meta/name/thing/f_default.md", "---\nc1: [\n---\n");
    assert!(refused(&team, 2, &["build"]).contains("f_default.md:"));
}

/// What `check` prints where it finds errors.
#[track_caller]
fn refused_check(team: &Team) -> String {
    let output = team.place.lore.run(&["commands", "check", "--project", team.folder()]);
    assert_eq!(output.status.code(), Some(2), "{}", output.stderr);
    String::from_utf8(output.stdout).expect("the output is text")
}

#[test]
fn what_files_say_cannot_steer_a_terminal() {
    let team = Team::new();
    let entry = json!({"c1": "a", "c2": "b", "c3": "c", "description": "red \u{1b}[31m\nnew line"});
    team.repo.write(".agent/climpt/registry.json", json!({"tools": {"commands": [entry]}}).to_string());
    for args in [&["list"][..], &["search", "red"], &["show", "a", "b", "c"]] {
        let said = run(&team, args);
        assert!(!said.contains('\u{1b}') && !said.contains("\nnew line"), "{args:?}: {said:?}");
    }
}

#[test]
fn a_broken_registry_is_told_beside_another_agents_commands() {
    let team = Team::new();
    let entry = json!({"c1": "dev", "c2": "start", "c3": "default", "description": "Review"});
    team.repo.write(".agent/reviewer/registry.json", json!({"tools": {"commands": [entry]}}).to_string());
    team.repo.write(".agent/climpt/registry.json", "{\n,");
    let output = team.place.lore.run(&["commands", "list", "--project", team.folder()]);
    assert!(
        output.status.success() && output.stderr.contains("registry.json cannot be used: line 2"),
        "{}",
        output.stderr
    );
    let listed: serde_json::Value = serde_json::from_str(&run(&team, &["list", "--json"])).expect("JSON");
    assert_eq!(listed["agents"].as_array().map(Vec::len), Some(2));
    assert!(listed["agents"][0]["notes"][0].as_str().is_some_and(|note| note.contains("line 2")), "{listed}");
}

#[test]
fn the_guides_registry_and_prompt_fit_together() {
    let guide = include_str!("../../../../docs/guides/commands.md");
    let block = |fence: &str| {
        let (_, rest) = guide.split_once(&format!("```{fence}\n")).expect("the guide has it");
        rest.split_once("\n```").expect("it ends").0.to_owned() + "\n"
    };
    let place = Place::new();
    let repo = place.repo("guide");
    repo.write(".agent/climpt/registry.json", block("json"));
    repo.write(".agent/climpt/prompts/code/review/diff/f_default.md", block("markdown"));
    let team = Team { place, repo };
    assert_eq!(run(&team, &["check"]), "1 command, 1 prompt file: 0 errors, 0 warnings\n");
    assert!(run(&team, &["build"]).contains("is as it should be"), "what the guide shows is what is built");
    let output = team.place.lore.run(&["commands", "run", "code", "review", "diff", "x", "--project", team.folder()]);
    assert_eq!(output.stderr, "note: no value was given for uv-focus\n");
}

#[test]
fn what_is_made_for_another_agent_is_run_for_it() {
    let team = Team::new();
    let args = ["commands", "new", "dev", "start", "x", "-d", "Start", "--agent", "bot", "--project", team.folder()];
    let output = team.place.lore.run(&args);
    assert!(output.stderr.contains("`lore commands run dev start x --agent bot` prints them"), "{}", output.stderr);
}
