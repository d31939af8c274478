//! New commands.

use super::*;

pub(super) fn new_command() -> NewCommand {
    NewCommand {
        agent: AGENT.to_owned(),
        name: name("code", "review", "diff"),
        description: "Review a diff: \"quoted\" & #hash".to_owned(),
        title: None,
        file: false,
        stdin: true,
        destination: true,
        uv: vec![Variable { name: "focus".to_owned(), about: "What to look at".to_owned() }],
    }
}

#[test]
fn a_new_command_works_at_once_and_passes_the_check() {
    let place = Place::new();
    let project = place.project();
    fs::create_dir(project.join("sub")).unwrap();
    let created = place.commands.create(&project.join("sub"), &new_command()).unwrap();
    assert_eq!(
        created.files,
        [
            ".agent/climpt/config/code-app.yml",
            ".agent/climpt/config/code-user.yml",
            ".agent/climpt/prompts/code/review/diff/f_default.md",
            ".agent/climpt/registry.json",
        ]
    );
    let options = ExecuteOptions {
        stdin: Some("+ line".to_owned()),
        uv: BTreeMap::from([("focus".to_owned(), "errors".to_owned())]),
        ..ExecuteOptions::default()
    };
    let text = place.run_named(&name("code", "review", "diff"), &options);
    assert!(
        text.contains("Review a diff: \"quoted\" & #hash")
            && text.contains("+ line")
            && text.contains("What to look at: errors"),
        "{text}"
    );
    let checked = place.commands.check(&project, None).unwrap();
    assert_eq!((checked.commands, checked.prompts, checked.problems), (1, 1, Vec::new()));
    // What it wrote is what a build makes.
    let built = place.commands.build(&project, AGENT, BuildOptions::default()).unwrap();
    assert!(!built.written, "{built:?}");
}

#[test]
fn nothing_is_overwritten() {
    let place = Place::new();
    place.commands.create(&place.project(), &new_command()).unwrap();
    let before = snapshot(&place.project());
    let failure = place.commands.create(&place.project(), &new_command()).unwrap_err();
    assert_eq!(failure.code, Code::CommandExists);
    fs::remove_file(place.project().join(".agent/climpt/registry.json")).unwrap();
    assert_eq!(place.commands.create(&place.project(), &new_command()).unwrap_err().code, Code::CommandExists);
    assert!(!place.project().join(".agent/climpt/registry.json").exists());
    fs::write(place.project().join(".agent/climpt/registry.json"), "{broken").unwrap();
    let other = NewCommand { name: name("code", "review", "file"), ..new_command() };
    assert_eq!(place.commands.create(&place.project(), &other).unwrap_err().code, Code::InvalidConfig);
    assert_eq!(snapshot(&place.project()).len(), before.len());
}

#[test]
fn a_second_command_leaves_the_rest_of_the_registry_alone() {
    let place = Place::new().write("project/.agent/climpt/registry.json", "{\"version\": \"9\", \"x\": [1], \"tools\": {\"availableConfigs\": [\"git\"], \"commands\": [{\"c1\": \"git\", \"c2\": \"z\", \"c3\": \"a\", \"extra\": true}]}}");
    place.commands.create(&place.project(), &new_command()).unwrap();
    let text = fs::read_to_string(place.project().join(".agent/climpt/registry.json")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&value["version"], &value["x"][0], &value["tools"]["commands"][0]["extra"]),
        (&"9".into(), &1.into(), &true.into())
    );
    assert_eq!(value["tools"]["availableConfigs"], serde_json::json!(["git", "code"]));
    assert_eq!(value["tools"]["commands"][1]["c2"], "review");
}

#[test]
fn other_agents_have_their_own_folders() {
    let place = Place::new();
    let new = NewCommand { agent: "reviewer".to_owned(), ..new_command() };
    let created = place.commands.create(&place.project(), &new).unwrap();
    assert_eq!(created.prompt, ".agent/reviewer/prompts/code/review/diff/f_default.md");
    assert!(place.commands.execute(&place.project(), "reviewer", &new.name, &ExecuteOptions::default()).is_ok());
    assert_eq!(place.commands.agents(&place.project()), ["climpt", "reviewer"]);
}

#[test]
fn a_new_command_keeps_every_form_of_a_registry() {
    let two =
        r#"[{"c1": "git", "c2": "a", "c3": "x", "team": 1}, {"c1": "git", "c2": "b", "c3": "x"}, {"c1": "my domain"}]"#;
    for (text, rest) in [
        (format!(r#"{{"commands": {two}, "own": 1}}"#), Some(1)),
        (two.to_owned(), None),
        (format!(r#"{{"tools": null, "commands": {two}, "own": 1}}"#), Some(1)),
        (format!(r#"{{"tools": {{"commands": {two}, "x": 1}}, "own": 1}}"#), Some(1)),
    ] {
        let place = Place::new().write("project/.agent/climpt/registry.json", &text);
        place.commands.create(&place.project(), &new_command()).unwrap();
        let file = fs::read_to_string(place.project().join(".agent/climpt/registry.json")).unwrap();
        let value: serde_json::Value = serde_json::from_str(&file).unwrap();
        let actions: Vec<_> = value["tools"]["commands"].as_array().unwrap().iter().map(|entry| &entry["c2"]).collect();
        assert_eq!(actions, [&"a".into(), &"b".into(), &serde_json::Value::Null, &"review".into()], "{text}");
        assert_eq!((value["own"].as_i64(), &value["tools"]["commands"][0]["team"]), (rest, &1.into()), "{text}");
    }
    for text in [r#"{"tools": {"commands": {"a": 1}}}"#, r#"{"tools": {}}"#, "5", "{}"] {
        let place = Place::new().write("project/.agent/climpt/registry.json", text);
        let before = snapshot(&place.project());
        assert_eq!(place.commands.create(&place.project(), &new_command()).unwrap_err().code, Code::InvalidConfig);
        assert_eq!(snapshot(&place.project()), before, "{text}");
    }
}

#[test]
fn people_who_make_commands_at_once_lose_none() {
    let place = Place::new();
    let project = place.project();
    std::thread::scope(|scope| {
        let one = |number: usize| {
            let new = NewCommand { name: CommandName::new("code", "make", format!("n{number}")), ..new_command() };
            // Each has a view of its own, as processes have.
            Commands::new(None).create(&project, &new)
        };
        let made: Vec<_> = (0..12).map(|number| scope.spawn(move || one(number))).collect();
        for made in made {
            made.join().unwrap().unwrap();
        }
    });
    let checked = place.commands.check(&project, None).unwrap();
    assert_eq!((checked.commands, checked.prompts, checked.problems), (12, 12, Vec::new()));
}

#[test]
fn what_could_never_work_is_not_made() {
    let place = Place::new();
    let dotted = Variable { name: "a.b".to_owned(), about: String::new() };
    for new in
        [NewCommand { description: " ".to_owned(), ..new_command() }, NewCommand { uv: vec![dotted], ..new_command() }]
    {
        assert_eq!(place.commands.create(&place.project(), &new).unwrap_err().code, Code::InvalidArgument);
    }
    assert_eq!(snapshot(&place.project()).len(), 1);
}

#[test]
fn a_configuration_that_cannot_be_understood_stops_writers() {
    let place = Place::with_prompt("---\nc1: git\nc2: commit\nc3: changes\n---\nText\n")
        .write("project/.agent/climpt/config/registry_config.json", r#"{"registries": {"climpt": "team.json"}"#);
    let before = snapshot(&place.project());
    let made = place.commands.create(&place.project(), &new_command()).unwrap_err();
    let built =
        place.commands.build(&place.project(), AGENT, BuildOptions { force: true, dry_run: false }).unwrap_err();
    for failure in [made, built] {
        assert_eq!(failure.code, Code::InvalidConfig);
        assert!(failure.message.contains("registry_config.json"), "{failure}");
    }
    assert_eq!(snapshot(&place.project()), before);
}
