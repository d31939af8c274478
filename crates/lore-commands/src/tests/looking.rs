//! Where commands are looked for.

use super::*;

#[test]
fn a_subfolder_has_the_commands_of_its_repository() {
    let place = Place::with_prompt("Commit.\n").write("project/src/deep/x.rs", "");
    let found = place.commands.describe(&place.project().join("src/deep"), AGENT, &name("git", "commit", "changes"));
    assert_eq!(found.unwrap().0.registry, ".agent/climpt/registry.json");
    // Another repository inside is another project.
    fs::create_dir_all(place.project().join("vendored/.git")).unwrap();
    let missing = place.commands.describe(&place.project().join("vendored"), AGENT, &name("git", "commit", "changes"));
    assert_eq!(said(missing.map(|_| String::new())), "no registry .agent/climpt/registry.json: File not found");
}

#[test]
fn outside_a_repository_only_the_folder_itself_counts() {
    let place = Place::with_prompt("Commit.\n");
    fs::remove_dir(place.project().join(".git")).unwrap();
    fs::create_dir(place.project().join("sub")).unwrap();
    assert!(place.commands.search(&place.project(), AGENT, "commit").is_ok());
    assert!(place.commands.search(&place.project().join("sub"), AGENT, "commit").is_err());
}

#[test]
fn the_home_directory_is_looked_in_after_the_project() {
    let place = Place::new()
        .write("home/.agent/climpt/registry.json", &registry(&[("git", "commit", "home")]))
        .write("home/.agent/climpt/prompts/git/commit/home/f_default.md", "From home.\n");
    assert_eq!(place.run_named(&name("git", "commit", "home"), &ExecuteOptions::default()), "From home.\n");
    let place = place.entries(&[("git", "commit", "project")]);
    assert_eq!(
        place.run_named(&name("git", "commit", "home"), &ExecuteOptions::default()),
        "not found: git commit home"
    );
}

#[test]
fn the_configuration_names_registries_and_agents_need_not_be_named() {
    let place = Place::new()
        .write(
            "project/.agent/climpt/config/registry_config.json",
            r#"{"registries": {"climpt": "team/commands.json", "inspector": ".agent/x.json"}}"#,
        )
        .write("project/team/commands.json", &registry(&[("git", "commit", "changes")]))
        .write("project/.agent/x.json", &registry(&[("code", "inspect", "module")]))
        .write("project/.agent/auditor/registry.json", &registry(&[("code", "audit", "module")]));
    let listed = place.commands.list(&place.project());
    let shown: Vec<String> = listed
        .iter()
        .map(|agent| match &agent.commands {
            Ok((origin, commands)) => format!("{} {} {}", agent.agent, origin.registry, commands[0].name),
            Err(_) => agent.agent.clone(),
        })
        .collect();
    assert_eq!(
        shown,
        [
            "climpt team/commands.json git commit changes",
            "auditor .agent/auditor/registry.json code audit module",
            "inspector .agent/x.json code inspect module",
        ]
    );
}

#[test]
fn a_project_without_commands_is_told_how_to_make_one() {
    let place = Place::new();
    let failure = Failure::from(place.commands.search(&place.project(), AGENT, "x").unwrap_err());
    assert_eq!(failure.code, Code::CommandNotFound);
    assert!(failure.hint.unwrap().contains("lore commands new"));
    assert_eq!(snapshot(&place.project()).len(), 1, "nothing was made");
}

#[test]
fn the_program_of_a_usage_is_taken_for_its_domain() {
    let place = Place::with_prompt("Commit.\n");
    assert_eq!(place.run_named(&name("climpt-git", "commit", "changes"), &ExecuteOptions::default()), "Commit.\n");
}

#[test]
fn a_profile_in_the_home_directory_does_not_take_over_a_project() {
    let place = Place::with_prompt("Of the project.\n")
        .write("project/.agent/climpt/prompts/git/commit/other/f_default.md", "Other.\n")
        .write("home/.agent/climpt/config/git-app.yml", "working_dir: .agent/climpt\n")
        .write("home/.agent/climpt/prompts/git/commit/changes/f_default.md", "From home.\n");
    let place = place.entries(&[("git", "commit", "changes"), ("git", "commit", "other")]);
    assert_eq!(place.run(&ExecuteOptions::default()), "Of the project.\n");
    assert_eq!(place.run_named(&name("git", "commit", "other"), &ExecuteOptions::default()), "Other.\n");
    let files = place.commands.prompt_files(&place.project(), AGENT, &name("git", "commit", "other"));
    assert_eq!(files, [".agent/climpt/prompts/git/commit/other/f_default.md"]);
}

#[test]
fn hints_name_what_works() {
    let config = r#"{"registries": {"climpt": "team.json", "bot": "bot.json"}}"#;
    let place = Place::new().write("project/.agent/climpt/config/registry_config.json", config);
    let hint = |agent: &str| {
        Failure::from(place.commands.search(&place.project(), agent, "x").unwrap_err()).hint.unwrap_or_default()
    };
    assert!(hint(AGENT).starts_with(".agent/climpt/config/registry_config.json names that file"), "{}", hint(AGENT));
    fs::write(place.project().join("bot.json"), "{").unwrap();
    assert!(hint("bot").ends_with("`lore commands build --agent bot --force`"), "{}", hint("bot"));
}

#[test]
fn a_long_name_is_not_looked_for_among_all() {
    let names: Vec<String> = (0..2000).map(|number| format!("target-number-{number}")).collect();
    let entries: Vec<_> = names.iter().map(|c3| ("git", "a", c3.as_str())).collect();
    let place = Place::new().entries(&entries);
    let long = CommandName::new("git", "a", format!("target-number-1{}", "x".repeat(20_000)));
    let near = match place.commands.describe(&place.project(), AGENT, &long) {
        Err(CommandError::NotFound { near, .. }) => near,
        other => panic!("{other:?}"),
    };
    assert_eq!(near, None);
}

#[test]
fn a_path_is_completed_as_it_was_typed() {
    let place = Place::new().write("project/a.txt", "").write("project/b/c.txt", "");
    let complete = |typed: &str| place.commands.complete_path(&place.project(), typed).values;
    assert_eq!(complete("./"), ["./a.txt", "./b/"]);
    assert_eq!(complete("./a"), ["./a.txt"]);
    assert_eq!(complete("b/"), ["b/c.txt"]);
    assert_eq!(complete("./b//"), ["./b//c.txt"]);
}
