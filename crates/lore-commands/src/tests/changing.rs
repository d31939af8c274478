//! What happens when files change, and that asking changes none.

use super::*;

fn found(place: &Place) -> Vec<String> {
    let listed = place.commands.list(&place.project()).into_iter().next().unwrap();
    listed
        .commands
        .map(|(_, commands)| commands.iter().map(|command| command.name.to_string()).collect())
        .unwrap_or_default()
}

#[test]
fn changes_on_disk_are_noticed_without_reload() {
    let place = Place::new().entries(&[("git", "a", "x")]);
    let stamp = place.commands.stamp(&place.project());
    assert_eq!(found(&place), ["git a x"]);
    assert_eq!(place.commands.stamp(&place.project()), stamp);
    // The same size, at once.
    let place = place.entries(&[("git", "b", "x")]);
    assert_eq!(found(&place), ["git b x"]);
    assert_ne!(place.commands.stamp(&place.project()), stamp);
    let place =
        place.write("project/.agent/climpt/config/registry_config.json", r#"{"registries": {"climpt": "other.json"}}"#);
    let place = place.write("project/other.json", &registry(&[("git", "c", "x")]));
    assert_eq!(found(&place), ["git c x"]);
}

#[test]
fn a_broken_registry_keeps_the_last_good_one_and_says_what_is_wrong() {
    let place = Place::new().entries(&[("git", "a", "x")]);
    assert_eq!(found(&place), ["git a x"]);
    let place = place.write("project/.agent/climpt/registry.json", "{\n  \"tools\": {\n    \"commands\": [,]\n}}");
    let (origin, hits) = place.commands.search(&place.project(), AGENT, "a x").unwrap();
    assert_eq!(hits.len(), 1);
    assert_eq!(
        origin.notes,
        [
            ".agent/climpt/registry.json cannot be understood (line 3, column 18: expected value): what it said before is used"
        ]
    );
    let reloaded = place.commands.reload(&place.project(), AGENT).map(|(origin, _)| origin.registry);
    assert_eq!(said(reloaded), "no registry .agent/climpt/registry.json: line 3, column 18: expected value");
    assert_eq!(found(&place), ["git a x"], "a failed reload takes nothing away");
    // A process that never saw it in order has nothing to show.
    let fresh = Commands::new(None).search(&place.project(), AGENT, "a").map(|_| String::new());
    assert_eq!(said(fresh), "no registry .agent/climpt/registry.json: line 3, column 18: expected value");
}

#[test]
fn a_broken_configuration_is_told_and_passed_over() {
    let place =
        Place::new().entries(&[("git", "a", "x")]).write("project/.agent/climpt/config/registry_config.json", "{");
    let (origin, _) = place.commands.search(&place.project(), AGENT, "a").unwrap();
    assert!(
        origin.notes[0].starts_with(".agent/climpt/config/registry_config.json cannot be understood (line 1, column 1"),
        "{:?}",
        origin.notes
    );
}

#[test]
fn reading_writes_nothing() {
    let place = Place::with_prompt("{input_text}{schema_file}");
    let before = snapshot(place.dir.path());
    let (commands, project) = (&place.commands, place.project());
    for agent in [AGENT, "other"] {
        drop(commands.search(&project, agent, "commit"));
        drop(commands.describe(&project, agent, &name("git", "commit", "changes")));
        drop(commands.execute(&project, agent, &name("git", "commit", "changes"), &ExecuteOptions::default()));
        drop(commands.reload(&project, agent));
        drop(commands.check(&project, Some(agent)));
        drop(commands.build(&project, agent, BuildOptions { dry_run: true, force: true }));
    }
    commands.list(&project);
    commands.stamp(&project);
    commands.complete_path(&project, "");
    assert_eq!(snapshot(place.dir.path()), before);
}
