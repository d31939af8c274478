//! The command line as a whole: help, JSON, exit codes, terminals, configuration.

use std::{fs, io::Read as _, process::Stdio};

use serde_json::{Value, json};

use crate::{growing, place::Place};

const COMMANDS: [&str; 16] = [
    "add",
    "remove",
    "repos",
    "sync",
    "status",
    "log",
    "touches",
    "show",
    "patch",
    "serve",
    "setup",
    "tools",
    "doctor",
    "import",
    "config",
    "completions",
];

/// A place with one indexed repository `r`, and its newest commit.
fn indexed() -> (Place, String) {
    let place = Place::new();
    let repo = place.repo("r");
    repo.write("a.txt", "one\n");
    repo.commit("Add one");
    repo.write("a.txt", "two \u{1b}[31m\n");
    let sha = repo.commit("Make it two");
    place.add(repo.path(), &[]);
    (place, sha)
}

#[test]
fn every_command_is_listed_and_has_help() {
    let place = Place::new();
    let all = String::from_utf8(place.lore.ok(&["--help"])).expect("help is UTF-8");
    assert!(all.contains("Examples:") && all.contains("Exit codes:"), "{all}");
    for command in COMMANDS {
        assert!(all.contains(&format!("\n  {command} ")), "{command} is not listed");
        let help = String::from_utf8(place.lore.ok(&[command, "--help"])).expect("help is UTF-8");
        assert!(help.contains(&format!("Usage: lore {command}")) && help.lines().count() > 10, "{help}");
        assert!(help.lines().next().is_some_and(|line| line.len() > 20), "{help}");
    }
    let version = String::from_utf8(place.lore.ok(&["--version"])).expect("it is UTF-8");
    assert_eq!(version, format!("lore {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_command_speaks_json() {
    let (place, sha) = indexed();
    place.repo("s").commit("One");
    fs::write(place.path("empty.db"), "").expect("a file can be written");
    for args in [
        &["add", &place.path("s"), "--no-sync"][..],
        &["repos"],
        &["sync"],
        &["status"],
        &["log", "one"],
        &["touches", "a"],
        &["show", "r", &sha],
        &["patch", "r", &sha],
        &["setup", "cursor", "--print"],
        &["setup", "cursor"],
        &["setup", "cursor", "--undo"],
        &["tools"],
        &["doctor"],
        &["config", "show"],
        &["config", "keys"],
        &["config", "path"],
        &["remove", "s"],
    ] {
        let answer = place.lore.json(&[args, &["--json"]].concat());
        assert!(answer.is_object() || answer.is_array(), "{args:?}: {answer}");
    }
    // Errors too, on standard error.
    for (args, code) in [
        (&["show", "r", "ffff"][..], "commit_not_found"),
        (&["show", "x", "ffff"], "repo_not_found"),
        (&["add", "/nowhere"], "not_a_repository"),
        (&["log", "x", "--since", "x"], "invalid_argument"),
        (&["import", "commitmux", "--db", "/nowhere"], "no_access"),
        (&["serve", "--toolsets", "x"], "invalid_argument"),
    ] {
        let output = place.lore.run(&[args, &["--json"]].concat());
        let error: Value =
            serde_json::from_str(&output.stderr).unwrap_or_else(|_| panic!("{args:?}: {}", output.stderr));
        assert_eq!((output.stdout.as_slice(), &error["error"]["code"]), (b"".as_slice(), &json!(code)), "{args:?}");
        assert!(error["error"]["message"].is_string(), "{error}");
    }
}

#[test]
fn exit_codes_are_those_of_the_help() {
    let (place, sha) = indexed();
    for (code, args) in [
        (0, &["show", "r", &sha][..]),
        (2, &["log"]),
        (2, &["frobnicate"]),
        (2, &["show", "r", "abc"]),
        (3, &["show", "r", "xyz"]),
        (2, &["setup", "emacs"]),
        (3, &["show", "nope", &sha]),
        (3, &["patch", "r", "ffffffff"]),
        (3, &["add", "/nowhere"]),
        (4, &["add", &place.path("r")]),
        (7, &["--home", "/dev/null/x", "add", &place.path("r")]),
    ] {
        let output = place.lore.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", output.stderr);
    }
    let broken = place.lore.command(&["sync"]).env("LORE_GIT", "/nowhere/git").output().expect("lore starts");
    assert_eq!(broken.status.code(), Some(0), "nothing to read needs no git");
    lore_testkit::Repo::init(place.path("r")).commit("Three");
    let broken = place.lore.command(&["sync"]).env("LORE_GIT", "/nowhere/git").output().expect("lore starts");
    let said = String::from_utf8_lossy(&broken.stderr);
    assert_eq!(broken.status.code(), Some(8), "{said}");
    assert!(said.contains("`git` program could not be started") && said.contains("install git"), "{said}");
    let none = Place::new();
    assert!(none.refused(3, &["sync"]).contains("lore add PATH"));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let place = Place::new();
    let repo = place.repo("r");
    growing::grow(&repo, 0..400);
    // More than a pipe holds.
    repo.git(&["reset", "--quiet", "--hard"]);
    repo.write("long.txt", "0123456789\n".repeat(50_000));
    let sha = repo.commit("Add a long file");
    place.add(repo.path(), &[]);
    for args in [
        &["patch", "r", &sha][..],
        &["show", "r", &sha],
        &["patch", "r", &sha, "--json"],
        &["log", "growth", "--limit", "500", "--json"],
    ] {
        let mut child =
            place.lore.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("lore starts");
        let mut first = [0; 10];
        let mut pipe = child.stdout.take().expect("piped");
        pipe.read_exact(&mut first).expect("it prints");
        drop(pipe);
        let ended = child.wait_with_output().expect("it ends");
        assert!(
            ended.status.success() && ended.stderr.is_empty(),
            "{args:?}: {}",
            String::from_utf8_lossy(&ended.stderr)
        );
    }
}

/// What a person at a terminal sees.
fn on_terminal(place: &Place, args: &[&str], variables: &[(&str, &str)]) -> String {
    let terminal = nix::pty::openpty(None, None).expect("a terminal can be opened");
    let output = || Stdio::from(terminal.slave.try_clone().expect("a descriptor can be doubled"));
    let mut command = place.lore.command(args);
    command.envs(variables.iter().copied()).stdin(Stdio::null()).stdout(output()).stderr(output());
    let mut child = command.spawn().expect("lore starts");
    drop((command, terminal.slave));
    let mut shown = Vec::new();
    // A terminal that nobody writes to any more ends with an error.
    let mut piece = [0; 4096];
    let mut master = fs::File::from(terminal.master);
    while let Ok(count @ 1..) = master.read(&mut piece) {
        shown.extend_from_slice(&piece[..count]);
    }
    assert!(child.wait().expect("it ends").success());
    String::from_utf8(shown).expect("a terminal gets UTF-8")
}

#[test]
fn colour_is_for_terminals() {
    let (place, sha) = indexed();
    let colour = "\u{1b}[";
    let cat = [("GIT_PAGER", "cat"), ("TERM", "xterm")];
    for args in [
        &["patch", "r", &sha][..],
        &["show", "r", &sha],
        &["log", "two"],
        &["touches", "a"],
        &["status"],
        &["repos"],
        &["config", "show"],
    ] {
        let piped = String::from_utf8(place.lore.ok(args)).expect("output is UTF-8");
        // The file itself holds one sequence, and elsewhere bytes are exact.
        assert!(!piped.replace("two \u{1b}[31m", "").contains(colour), "{args:?}");
        assert!(on_terminal(&place, args, &cat).contains(colour), "{args:?}");
        assert!(!on_terminal(&place, args, &[cat[0], ("NO_COLOR", "1")]).contains(colour), "{args:?}");
        assert!(!on_terminal(&place, args, &[cat[0], ("TERM", "dumb")]).contains(colour), "{args:?}");
        assert!(!on_terminal(&place, &[args, &["--color", "never"]].concat(), &cat).contains(colour), "{args:?}");
        let forced =
            String::from_utf8(place.lore.ok(&[args, &["--color", "always"]].concat())).expect("output is UTF-8");
        assert!(forced.contains(colour), "{args:?}");
        assert!(!on_terminal(&place, &[args, &["--json"]].concat(), &cat).contains(colour), "{args:?}");
    }
    let patch = on_terminal(&place, &["patch", "r", &sha], &cat);
    assert!(patch.contains("\u{1b}[32m+two <U+001B>[31m"), "{patch:?}");
}

#[test]
fn long_output_goes_through_the_pager() {
    let (place, sha) = indexed();
    let through = |variables: &[(&str, &str)]| on_terminal(&place, &["patch", "r", &sha], variables);
    let pager = "sed 's/^/paged: /'";
    assert!(through(&[("PAGER", pager)]).contains("paged: "));
    assert!(through(&[("GIT_PAGER", pager), ("PAGER", "false")]).contains("paged: "));
    assert!(through(&[("LORE_PAGER", pager), ("PAGER", "false")]).contains("paged: "));
    // One that is not there does not hide the answer.
    assert!(through(&[("PAGER", "/nowhere/pager")]).contains("diff --git"));
}

#[test]
fn later_settings_beat_earlier_ones_and_their_origin_is_told() {
    let place = Place::new();
    let file = place.lore.home().join("config.toml");
    let show = |variable: Option<&str>| -> (Value, String) {
        let mut command = place.lore.command(&["config", "show", "--json"]);
        command.envs(variable.map(|value| ("LORE_JOBS", value)));
        let output = command.output().expect("lore starts");
        let shown: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        (shown["jobs"]["value"].clone(), shown["jobs"]["from"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(show(None), (json!(0), "the default".to_owned()));
    fs::write(&file, "jobs = 3\n").expect("the home is writable");
    assert_eq!(show(None), (json!(3), file.display().to_string()));
    assert_eq!(show(Some("4")), (json!(4), "the environment (LORE_JOBS)".to_owned()));
    // A flag beats all of them: this one is wrong, and only it is complained about.
    let broken = place
        .lore
        .command(&["serve", "--toolsets", "flagged"])
        .env("LORE_TOOLSETS", "varied")
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&broken.stderr);
    assert!(said.contains("`flagged`") && !said.contains("varied"), "{said}");
    let listed = place
        .lore
        .command(&["config", "show", "--json"])
        .env("LORE_TOOLSETS", "history, history")
        .output()
        .expect("it starts");
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("it is JSON");
    assert_eq!(listed["toolsets"]["value"], json!(["history", "history"]));
    assert_eq!(place.lore.json(&["config", "show", "--json"])["home"]["from"], "the environment (LORE_HOME)");
    let other = place.path("other");
    assert_eq!(
        place.lore.json(&["config", "show", "--json", "--home", &other])["home"],
        json!({"value": other, "from": "a flag"})
    );
}

#[test]
fn a_wrong_configuration_names_the_file_and_the_key() {
    let place = Place::new();
    let file = place.lore.home().join("config.toml");
    for (text, key) in [
        ("jobs = \"many\"\n", "jobs"),
        ("jobz = 3\n", "jobz"),
        ("toolsets = 5\n", "toolsets"),
        ("register_project = 1\n", "register_project"),
    ] {
        fs::write(&file, text).expect("the home is writable");
        let said = place.refused(2, &["status"]);
        assert!(said.contains(&format!("`{key}`")) && said.contains(file.to_str().expect("UTF-8")), "{text}: {said}");
    }
    fs::write(&file, "jobs = \n").expect("the home is writable");
    let said = place.refused(2, &["status"]);
    assert!(said.contains(file.to_str().expect("UTF-8")), "{said}");
    fs::remove_file(&file).expect("it is there");
    let output = place.lore.command(&["status"]).env("LORE_JOBS", "many").output().expect("lore starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("jobs") && said.contains("the environment"), "{said}");
}

#[test]
fn shells_get_completions() {
    let place = Place::new();
    for (shell, word) in [("bash", "complete -F"), ("zsh", "#compdef lore"), ("fish", "complete -c lore")] {
        let script = String::from_utf8(place.lore.ok(&["completions", shell])).expect("a script is UTF-8");
        assert!(script.contains(word) && COMMANDS.iter().all(|command| script.contains(command)), "{shell}");
    }
    place.refused(2, &["completions", "cmd.exe"]);
    assert!(!place.lore.home().join("lore.db").exists());
}

#[test]
fn who_reads_only_the_beginning_of_a_script_has_it() {
    let place = Place::new();
    let mut child = place.lore.command(&["completions", "bash"]).stdout(Stdio::piped()).spawn().expect("lore starts");
    let mut first = [0_u8; 10];
    child.stdout.take().expect("it is piped").read_exact(&mut first).expect("there is a beginning");
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn what_there_is_to_set_is_told_whatever_is_set() {
    let place = Place::new();
    for command in ["keys", "path"] {
        let asked = place.lore.command(&["config", command]).env("LORE_JOBS", "abc").output().expect("lore starts");
        assert!(asked.status.success() && !asked.stdout.is_empty(), "{command}");
    }
    let wrong = place.lore.command(&["status"]).env("LORE_JOBS", "abc").output().expect("lore starts");
    assert!(!wrong.status.success());
    // A variable that is set to nothing is not set.
    let empty = place.lore.command(&["status"]).env("LORE_JOBS", "").output().expect("lore starts");
    assert!(empty.status.success(), "{}", String::from_utf8_lossy(&empty.stderr));
}

#[test]
fn asking_leaves_no_trace_where_nothing_is_registered() {
    let place = Place::new();
    let home = place.path("fresh");
    for args in
        [&["status"][..], &["repos"], &["log", "x"], &["touches", "x"], &["doctor"], &["tools"], &["config", "show"]]
    {
        place.lore.ok(&[&["--home", &home], args].concat());
    }
    assert!(!std::path::Path::new(&home).exists());
}
