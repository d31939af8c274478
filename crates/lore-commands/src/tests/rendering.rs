//! Prompts with their values.

use super::*;

#[test]
fn placeholders_have_their_values() {
    let place = Place::with_prompt(
        "---\nc1: git\n---\n\nText: {input_text}\nFile: {input_text_file}\nTo: {destination_path}\nDir: {base_prompt_dir}\nSchema: {schema_file}\nName: {uv-name}\n",
    );
    let options = ExecuteOptions {
        stdin: Some("some text".to_owned()),
        file: Some("src/a.rs".to_owned()),
        destination: Some("out/".to_owned()),
        uv: BTreeMap::from([("name".to_owned(), "x".to_owned())]),
        ..ExecuteOptions::default()
    };
    assert_eq!(
        place.run(&options),
        "Text: some text\nFile: src/a.rs\nTo: out/\nDir: .agent/climpt/prompts/git/commit/changes\nSchema: {schema_file}\nName: x\n"
    );
    let place = place
        .write("project/.agent/climpt/schema/git/commit/changes/base.schema.md", "# Schema\n")
        .write("project/.agent/climpt/config/git-user.yml", "options:\n  destination:\n    prefix: output/git\n");
    assert_eq!(
        place.run(&options),
        "Text: some text\nFile: src/a.rs\nTo: output/git/out/\nDir: .agent/climpt/prompts/git/commit/changes\nSchema: .agent/climpt/schema/git/commit/changes/base.schema.md\nName: x\n"
    );
    let rendered = place
        .commands
        .execute(&place.project(), AGENT, &name("git", "commit", "changes"), &ExecuteOptions::default())
        .unwrap();
    assert_eq!(rendered.open, ["input_text", "input_text_file", "uv-name"]);
    assert_eq!(rendered.prompt, ".agent/climpt/prompts/git/commit/changes/f_default.md");
}

#[test]
fn the_nearest_variant_is_taken_and_the_answer_says_so() {
    let place = Place::with_prompt("default\n");
    let folder = "project/.agent/climpt/prompts/git/commit/changes";
    let place =
        place.write(&format!("{folder}/f_bug.md"), "bug\n").write(&format!("{folder}/f_bug_short.md"), "bug short\n");
    let run = |edition: &str, adaptation: &str| {
        let some = |word: &str| Some(word.to_owned()).filter(|word| !word.is_empty());
        let options =
            ExecuteOptions { edition: some(edition), adaptation: some(adaptation), ..ExecuteOptions::default() };
        let rendered =
            place.commands.execute(&place.project(), AGENT, &name("git", "commit", "changes"), &options).unwrap();
        let notes: Vec<String> = rendered.origin.notes.into_iter().filter(|note| note.contains("was taken")).collect();
        (rendered.text, notes.join(""))
    };
    assert_eq!(run("", ""), ("default\n".to_owned(), String::new()));
    assert_eq!(run("bug", ""), ("bug\n".to_owned(), String::new()));
    assert_eq!(run("bug", "short"), ("bug short\n".to_owned(), String::new()));
    assert_eq!(run("bug", "default"), ("bug\n".to_owned(), String::new()));
    assert_eq!(run("bug", "long"), ("bug\n".to_owned(), "there is no f_bug_long.md, so f_bug.md was taken".to_owned()));
    assert_eq!(
        run("none", ""),
        ("default\n".to_owned(), "there is no f_none.md, so f_default.md was taken".to_owned())
    );
    fs::remove_file(place.project().join(".agent/climpt/prompts/git/commit/changes/f_default.md")).unwrap();
    let options =
        ExecuteOptions { edition: Some("x".to_owned()), adaptation: Some("y".to_owned()), ..ExecuteOptions::default() };
    let folder = ".agent/climpt/prompts/git/commit/changes";
    assert_eq!(
        place.run(&options),
        format!(
            "failed: no prompt file; tried {folder}/f_x_y.md, {folder}/f_x.md, {folder}/f_default_y.md, {folder}/f_default.md"
        )
    );
}

#[test]
fn a_profile_says_where_prompts_lie() {
    let place = Place::new()
        .write("project/.agent/reviewer/registry.json", &registry(&[("dev", "start", "default")]))
        .write(
            "project/.agent/climpt/config/reviewer-dev-app.yml",
            "working_dir: \".agent/reviewer\"\napp_prompt:\n  base_dir: \"prompts/dev\"\n",
        )
        .write("project/.agent/reviewer/prompts/dev/start/default/f_default.md", "Review.\n");
    let rendered = place.commands.execute(
        &place.project(),
        "reviewer",
        &name("dev", "start", "default"),
        &ExecuteOptions::default(),
    );
    let rendered = rendered.unwrap();
    assert_eq!((rendered.text.as_str(), rendered.origin.notes.len()), ("Review.\n", 0));
}

#[test]
fn patterns_name_commands_that_no_registry_lists_and_cannot_take_back_one_that_it_does() {
    let place = Place::with_prompt("Commit.\n")
        .write("project/.agent/climpt/config/git-user.yml", "params:\n  two:\n    directiveType:\n      pattern: \"^(step)$\"\n    layerType:\n      pattern: \"^(one|two)$\"\n")
        .write("project/.agent/climpt/prompts/git/step/one/f_default.md", "Step one.\n")
        .write("project/.agent/climpt/prompts/git/step/three/f_default.md", "Step three.\n");
    let run = |c2: &str, c3: &str| place.run_named(&name("git", c2, c3), &ExecuteOptions::default());
    assert_eq!(run("step", "one"), "Step one.\n");
    assert_eq!(run("step", "two"), "not found: git step two");
    assert_eq!(run("step", "three"), "not found: git step three");
    assert_eq!(run("commit", "changes"), "Commit.\n");
    let rendered =
        place.commands.execute(&place.project(), AGENT, &name("git", "commit", "changes"), &ExecuteOptions::default());
    assert!(rendered.unwrap().origin.notes.iter().any(|note| note.contains("does not name this command")));
}

#[test]
fn a_profile_that_cannot_be_used_is_told_with_its_file_and_line() {
    let place = Place::with_prompt("Commit.\n")
        .write("project/.agent/climpt/config/git-app.yml", "working_dir: x\napp_prompt: [\n");
    let answer = place.run(&ExecuteOptions::default());
    assert!(answer.starts_with("failed: .agent/climpt/config/git-app.yml:"), "{answer}");
}

#[test]
fn a_pattern_that_cannot_be_used_stops_no_command_that_the_registry_lists() {
    let place = Place::with_prompt("Commit.\n");
    let long = "a".repeat(900_000);
    for pattern in ["(", "^(?!test)[a-z]+$", "(((a{1000}){1000}){1000})", &long] {
        let text = format!("params: {{two: {{layerType: {{pattern: '{pattern}'}}}}}}");
        write(&place.project().join(".agent/climpt/config/git-user.yml"), &text);
        let name = name("git", "commit", "changes");
        let rendered = place.commands.execute(&place.project(), AGENT, &name, &ExecuteOptions::default()).unwrap();
        let note = &rendered.origin.notes[0];
        assert!(note.contains("git-user.yml: the pattern `") && note.len() < 500, "{note}");
        let checked = place.commands.check(&place.project(), None).unwrap();
        assert!(checked.errors() == 0 && checked.problems.iter().all(|problem| problem.message.len() < 500));
    }
}

#[test]
fn rules_may_stand_in_either_file_and_a_base_may_lie_beside() {
    let place = Place::with_prompt("To: {destination_path}\n")
        .write("project/.agent/prompts/a/commit/changes/f_default.md", "Beside: {destination_path}\n")
        .write(
            "project/.agent/climpt/config/git-app.yml",
            "working_dir: .agent/climpt\napp_prompt: {base_dir: ../prompts/a}\nparams: {two: {directiveType: {pattern: '^step$'}, layerType: {pattern: '^one$'}}}\noptions: {destination: {prefix: app}}\n",
        )
        .write("project/.agent/prompts/a/step/one/f_default.md", "Step.\n");
    assert_eq!(place.run(&ExecuteOptions::default()), "Beside: app\n");
    assert_eq!(place.run_named(&name("git", "step", "one"), &ExecuteOptions::default()), "Step.\n");
    let place = place.write("project/.agent/climpt/config/git-user.yml", "options: {destination: {prefix: user}}\n");
    assert_eq!(place.run(&ExecuteOptions::default()), "Beside: user\n");
}

#[test]
fn an_empty_value_leaves_its_placeholder_and_a_missing_profile_is_no_matter() {
    let place = Place::with_prompt("{input_text}{input_text_file}{destination_path}\n");
    let empty = || Some(String::new());
    let options = ExecuteOptions { stdin: empty(), file: empty(), destination: empty(), ..ExecuteOptions::default() };
    let name = name("git", "commit", "changes");
    let rendered = place.commands.execute(&place.project(), AGENT, &name, &options).unwrap();
    assert_eq!(rendered.text, "{input_text}{input_text_file}{destination_path}\n");
    assert_eq!(rendered.origin.notes, Vec::<String>::new());
    let options = ExecuteOptions { edition: Some("../x".to_owned()), ..ExecuteOptions::default() };
    let failed = place.commands.execute(&place.project(), AGENT, &name, &options).unwrap_err();
    assert_eq!(Failure::from(failed).code, Code::InvalidArgument);
}

#[test]
fn odd_files_are_ordinary_results() {
    let place = Place::with_prompt("\u{feff}---\r\nc1: git\r\n---\r\n\r\nA\r\n\r\n---\r\n\r\nB\r\n\r\n");
    assert_eq!(place.run(&ExecuteOptions::default()), "A\n\n---\n\nB\n");
    let prompt = place.project().join(".agent/climpt/prompts/git/commit/changes/f_default.md");
    fs::write(&prompt, b"a\n\xff").unwrap();
    assert_eq!(
        place.run(&ExecuteOptions::default()),
        "failed: .agent/climpt/prompts/git/commit/changes/f_default.md: it is not UTF-8 (line 2)"
    );
    fs::write(&prompt, "x".repeat(1_048_577)).unwrap();
    assert_eq!(
        place.run(&ExecuteOptions::default()),
        "failed: .agent/climpt/prompts/git/commit/changes/f_default.md: it is over 1 MiB"
    );
    fs::remove_file(&prompt).unwrap();
    fs::create_dir(&prompt).unwrap();
    assert_eq!(
        place.run(&ExecuteOptions::default()),
        "failed: .agent/climpt/prompts/git/commit/changes/f_default.md: it is not a regular file"
    );
}
