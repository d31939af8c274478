//! Registries and prompt files held against each other.

use super::*;

#[expect(clippy::needless_pass_by_value, reason = "expectations are written where they are checked")]
fn check(place: &Place, expected: Expect) {
    let checked = place.commands.check(&place.project(), None).unwrap();
    let line = |problem: &Problem| {
        let at = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!(
            "{:?} {}{at} {}\n",
            problem.severity,
            problem.file.trim_start_matches(".agent/climpt/"),
            problem.message
        )
    };
    expected.assert_eq(&checked.problems.iter().map(line).collect::<String>());
}

#[test]
fn what_does_not_fit_together_is_told_with_file_and_line() {
    let prompts = "project/.agent/climpt/prompts/git";
    let place = Place::new()
        .write("project/.agent/climpt/registry.json", "{\"tools\": {\"commands\": [\n{\"c1\": \"git\", \"c2\": \"gone\", \"c3\": \"x\", \"description\": \"d\"},\n{\"c1\": \"git\", \"c2\": \"a\", \"c3\": \"x\", \"description\": \"d\", \"options\": {\"edition\": [\"default\", \"bug\"], \"stdin\": false}, \"uv\": [{\"unused\": \"\"}]},\n{\"c1\": \"git\", \"c2\": \"a\", \"c3\": \"x\", \"description\": \"again\"},\n{\"c1\": \"git\", \"c2\": \"b/c\", \"c3\": \"x\"},\n{\"c1\": \"git\", \"c2\": \"bad\", \"c3\": \"x\", \"description\": \"d\"}\n]}}")
        .write("project/.agent/climpt/config/git-user.yml", "params: {two: {directiveType: {pattern: '^a$'}}}")
        .write(&format!("{prompts}/a/x/f_default.md"), "---\nc1: git\nc2: a\nc3: x\ndescription: other\n---\n\n{input_text}\n{uv-name} {input-text} {uv_name}\n")
        .write(&format!("{prompts}/a/x/f_short.md"), "short\n")
        .write(&format!("{prompts}/bad/x/f_default.md"), "---\nc1: git\nc2: [\n---\nText\n")
        .write(&format!("{prompts}/new/x/f_default.md"), "---\nc1: git\nc2: new\nc3: x\n---\nText\n")
        .write(&format!("{prompts}/wrong/x/f_default.md"), "---\nc1: git\nc2: right\nc3: x\n---\nText\n");
    check(
        &place,
        expect![[r#"
            Error prompts/git/bad/x/f_default.md:3 the frontmatter cannot be understood: unclosed bracket '['
            Error prompts/git/wrong/x/f_default.md:1 the frontmatter names `git right x`, the file lies where `git wrong x` does
            Error registry.json:2 `git gone x` has no prompt: .agent/climpt/prompts/git/gone/x/f_default.md is missing
            Error registry.json:5 this command is passed over: `c2` cannot be "b/c": names have letters, digits, `-`, `_` and `.`
            Warning config/git-user.yml the patterns leave out `git bad x`, which the registry lists: c2 `bad` does not match `^a$`
            Warning config/git-user.yml the patterns leave out `git gone x`, which the registry lists: c2 `gone` does not match `^a$`
            Warning prompts/git/a/x/f_default.md:1 description of `git a x` differ from .agent/climpt/registry.json: `lore commands build` takes them over
            Warning prompts/git/a/x/f_default.md:8 `{input_text}` is used, and the options say that there is none
            Warning prompts/git/a/x/f_default.md:9 `{input-text}` is no placeholder, though it looks like one
            Warning prompts/git/a/x/f_default.md:9 `{uv-name}` is used and not declared in `uv`
            Warning prompts/git/a/x/f_default.md:9 `{uv_name}` is no placeholder, though it looks like one
            Warning prompts/git/a/x/f_short.md `git a x` does not name the edition `short`
            Warning prompts/git/new/x/f_default.md:1 `git new x` is not in .agent/climpt/registry.json: `lore commands build` takes it in
            Warning registry.json:3 `git a x` declares the variable `unused`, which no prompt uses
            Warning registry.json:3 `git a x` names the edition `bug`, which has no prompt file
            Warning registry.json:4 `git a x` is there twice: the one on line 3 counts
        "#]],
    );
}

#[test]
fn a_registry_that_is_missing_or_broken_is_an_error() {
    let place = Place::new().write("project/.agent/climpt/prompts/git/a/x/f_default.md", "Text\n");
    check(
        &place,
        expect![[r#"
        Error registry.json the registry cannot be used: File not found (`lore commands build` makes it from the prompt files)
    "#]],
    );
    let place = place
        .write("project/.agent/climpt/registry.json", "{\n,}")
        .write("project/.agent/climpt/config/git-app.yml", "a: [\n");
    check(
        &place,
        expect![[r#"
            Error config/git-app.yml:1 unclosed bracket '['
            Error registry.json:2 the registry cannot be used: line 2, column 1: key must be a string
        "#]],
    );
}

#[test]
fn a_prompt_full_of_placeholders_is_checked_in_no_time_and_told_in_few_lines() {
    let many = (0..80_000).map(|number| format!("{{uv-{number}}}\n")).collect::<Vec<_>>().concat();
    let place = Place::with_prompt(&many);
    let checked = place.commands.check(&place.project(), None).unwrap();
    assert_eq!(checked.problems.len(), 101, "100 names, and how many there are besides");
    let place = Place::with_prompt(&"{".repeat(1 << 20));
    assert_eq!(place.commands.check(&place.project(), None).unwrap().problems.len(), 1);
}

#[test]
fn fields_of_a_wrong_kind_are_told() {
    let place = Place::with_prompt(
        "---\nc1: git\nc2: commit\nc3: changes\ndescription: 5\noptions: {file: sometimes}\n---\nText\n",
    )
    .write(
        "project/.agent/climpt/registry.json",
        r#"[{"c1": "git", "c2": "commit", "c3": "changes", "description": "d", "uv": 5}]"#,
    );
    check(
        &place,
        expect![[r#"
            Warning prompts/git/commit/changes/f_default.md:1 `description` is a text, and not 5
            Warning prompts/git/commit/changes/f_default.md:1 `file` is true or false, and not "sometimes"
            Warning prompts/git/commit/changes/f_default.md:1 options of `git commit changes` differ from .agent/climpt/registry.json: `lore commands build` takes them over
            Warning registry.json:1 `uv` is a list of variables, and not 5
        "#]],
    );
}
