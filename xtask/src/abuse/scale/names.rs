//! Paths of 4,000 bytes, names of 255, names with line ends, and names that are no text.

use std::{ffi::OsStr, fmt::Write as _, os::unix::ffi::OsStrExt as _};

use anyhow::Result;
use lore_testkit::{Git, Repo, oracle::Truth};
use serde_json::{Value, json};

use crate::abuse::{Bench, Outcome, trial::Trial};

/// A path of exactly this many bytes: folders of that name, and a file whose name is no longer than theirs and four.
fn path_of(bytes: usize, folder: &str) -> String {
    let end = ".rs";
    let mut path = String::new();
    while path.len() + folder.len() + "/f".len() + end.len() <= bytes {
        path.push_str(folder);
        path.push('/');
    }
    path.push_str(&"f".repeat(bytes - path.len() - end.len()));
    path + end
}

/// Two commits with all of these paths.
fn import(repo: &Repo, paths: &[String]) -> Result<()> {
    let mut stream = String::new();
    for version in 0..2 {
        write!(
            stream,
            "commit refs/heads/main\ncommitter A <a@b> {} +0000\ndata 8\nVersion\n",
            1_600_000_000 + version
        )?;
        for (number, path) in paths.iter().enumerate() {
            let content = format!("pub fn at_the_end_of_a_long_path_{number}() -> u32 {{ {version} }}\n");
            write!(stream, "M 100644 inline {path}\ndata {}\n{content}\n", content.len())?;
        }
    }
    stream.push_str("done\n");
    Git::at(repo.path()).feed(&["fast-import", "--quiet", "--done"], stream.as_bytes())?;
    Ok(())
}

pub(super) fn long(bench: &Bench) -> Result<Outcome> {
    let mut trial = Trial::new(bench)?.bound_memory(1_000_000_000);
    let paths = [
        path_of(4_000, "d"),
        path_of(4_000, "folder"),
        path_of(4_000, &"n".repeat(250)),
        format!("{}.rs", "m".repeat(252)),
        path_of(3_999, &"ü".repeat(120)),
        // The longest that the system takes, and one that only git can hold: no work tree has that.
        path_of(4_095, &"p".repeat(200)),
        path_of(20_000, &"q".repeat(200)),
    ];
    let repo = Repo::init(trial.path("long"));
    import(&repo, &paths[..6])?;
    Git::at(repo.path()).bytes(&["checkout", "--quiet", "--force", "main"])?;
    let over = Repo::init(trial.path("over"));
    import(&over, &paths)?;
    let bare = trial.path("bare").to_string_lossy().into_owned();
    Git::at(over.path()).bytes(&["clone", "--quiet", "--bare", ".", &bare])?;
    trial.tell(format!("{} paths of 255 to 20,000 bytes, all but the longest checked out", paths.len()));
    let path = repo.path().to_string_lossy().into_owned();
    trial.ok(&["add", &path, "--name", "long"])?;
    trial.ok(&["add", &bare, "--name", "bare"])?;
    trial.ok(&["sync", "--repo", "long", "--temporal"])?;
    for (number, file) in paths.iter().enumerate() {
        let name = format!("at_the_end_of_a_long_path_{number}");
        for (clone, there) in [("long", number < 6), ("bare", true)] {
            let found = trial.json(&["search", "--no-sync", "--repo", clone, &name])?;
            let known = found["results"].as_array().is_some_and(|found| found.iter().any(|hit| hit["path"] == **file));
            trial.check(known == there, || format!("{clone}, {} bytes: found {known}, there {there}", file.len()));
        }
        let touched = trial.json(&[
            "touches",
            "--no-sync",
            &file.chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect::<String>(),
        ])?;
        let commits = touched["results"].as_array().map_or(0, Vec::len);
        trial.check(commits >= 2, || format!("{} bytes: {commits} commits touched it", file.len()));
        trial.run_in(repo.path(), &["search", &name])?;
        trial.run_in(repo.path(), &["why", &format!("{file}:1")])?;
        trial.run_in(repo.path(), &["related", &format!("{file}:1")])?;
        trial.run_in(repo.path(), &["comment", "--file", file, "--line", "1", "Why so long?"])?;
    }
    trial.run_in(repo.path(), &["comments", "list"])?;
    let mut session = trial.serve(repo.path(), &["--toolsets", "history,context,why,code"])?;
    for file in &paths {
        for (tool, arguments) in [
            ("get_file_content", json!({"file_path": file})),
            ("explain_lines", json!({"file": file, "lines": "1"})),
            ("co_changed", json!({"files": [file]})),
            ("find_related", json!({"file": file, "line": 1})),
            ("browse_directory", json!({"path": file.rsplit_once('/').map_or("", |(folder, _)| folder)})),
            ("commitmux_touches", json!({"path_glob": file})),
            ("cortex_search", json!({"query": file, "path": file})),
        ] {
            trial.call(&mut session, tool, &arguments)?;
        }
    }
    trial.call(&mut session, "list_files", &json!({}))?;
    session.end()?;
    trial.run(&["status", "--left-out"])?;
    compare(&mut trial, &repo, "long")?;
    compare(&mut trial, &over, "bare")?;
    Ok(trial.end())
}

/// Names that are taken apart by whoever reads lines, words or text.
const NAMES: &[&[u8]] = &[
    b"new\nline.rs",
    b"\n.rs",
    b"trailing\n",
    b"car\rriage.rs",
    b"tab\tname.rs",
    b"nothing but \xff\xfe.rs",
    b"latin-\xe9.rs",
    b"cut \xe2\x82.rs",
    b"surrogate \xed\xa0\x80.rs",
    b"over long \xc0\xaf.rs",
    b"quote\".rs",
    b"back\\slash.rs",
    b"-dash.rs",
    b"--option=x.rs",
    b" space .rs",
    b"...rs",
    b"\x01\x1b[2J.rs",
    b"\xe2\x80\xae.rs",
    b"a:b.rs",
    b"*.rs",
    b"[a].rs",
    b"{a,b}.rs",
    b"$(id).rs",
    b"'single'.rs",
    b"M\tfake.rs",
    b":100644 100644 abc def M.rs",
    b"dir\nwith/new\nline.rs",
    b"dir\xff/file\xff.rs",
    "e\u{301} and \u{e9}.rs".as_bytes(),
    "\u{1f980}.rs".as_bytes(),
];

pub(super) fn odd(bench: &Bench) -> Result<Outcome> {
    let mut trial = Trial::new(bench)?;
    let repo = Repo::init(trial.path("odd"));
    for (number, name) in NAMES.iter().enumerate() {
        repo.write(OsStr::from_bytes(name), format!("pub fn oddly_named_{number}() {{}}\n"));
    }
    repo.commit("Begin");
    for (number, name) in NAMES.iter().enumerate() {
        repo.write(
            OsStr::from_bytes(name),
            format!("pub fn oddly_named_{number}() {{}}\npub fn later_{number}() {{}}\n"),
        );
    }
    repo.commit("Change all of them");
    let path = repo.path().to_string_lossy().into_owned();
    trial.ok(&["add", &path, "--name", "odd"])?;
    let mut session = trial.serve(repo.path(), &["--toolsets", "history,context,why,code,messages"])?;
    for (number, name) in NAMES.iter().enumerate() {
        let shown = String::from_utf8_lossy(name).into_owned();
        let word = format!("oddly_named_{number}");
        for args in [
            vec!["search", "--no-sync", "--repo", "odd", &word],
            vec!["search", "--no-sync", "--repo", "odd", "--literal", &word],
        ] {
            let found = trial.json(&args)?;
            let hits = found["results"].as_array().or(found["lines"].as_array()).cloned().unwrap_or_default();
            let known = hits.iter().any(|hit| is(hit, name)) || found.to_string().contains(&hex(name));
            trial.check(known, || format!("{shown:?} is not found by {args:?}: {found}"));
        }
        let place = [*name, b":1"].concat();
        for args in [
            vec![OsStr::new("why"), OsStr::from_bytes(&place)],
            vec![OsStr::new("related"), OsStr::from_bytes(&place)],
            vec![OsStr::new("touches"), OsStr::from_bytes(name)],
            vec![
                OsStr::new("comment"),
                OsStr::new("--line"),
                OsStr::new("1"),
                OsStr::new("--file"),
                OsStr::from_bytes(name),
                OsStr::new("Look"),
            ],
        ] {
            let options: Vec<&OsStr> =
                if args[0] == "touches" { vec![args[0], OsStr::new("--"), args[1]] } else { args };
            let ran = trial.run_in(repo.path(), &options)?;
            let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
            trial.check(!printed.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), || {
                format!("{options:?} prints control characters: {printed:?}")
            });
        }
        for (tool, arguments) in [
            ("get_file_content", json!({"file_path": shown})),
            ("explain_lines", json!({"file": shown, "lines": "1"})),
            ("find_related", json!({"file": shown, "line": 1})),
            ("commitmux_touches", json!({"path_glob": shown})),
        ] {
            let answer = trial.call(&mut session, tool, &arguments)?;
            let is_text = std::str::from_utf8(name).is_ok();
            if tool == "get_file_content" && is_text {
                trial.check(answer.to_string().contains(&word), || format!("{shown:?} cannot be read: {answer}"));
            }
        }
    }
    trial.call(&mut session, "list_files", &json!({}))?;
    trial.call(&mut session, "browse_directory", &json!({}))?;
    trial.call(&mut session, "check_lazygit_messages", &json!({}))?;
    session.end()?;
    trial.run_in(repo.path(), &["comments", "list"])?;
    trial.run(&["status", "--left-out"])?;
    trial.tell(format!("{} names", NAMES.len()));
    compare(&mut trial, &repo, "odd")?;
    Ok(trial.end())
}

fn hex(name: &[u8]) -> String {
    name.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// Whether a result is about the file of this name.
fn is(hit: &Value, name: &[u8]) -> bool {
    hit["path_hex"] == hex(name) || std::str::from_utf8(name).is_ok_and(|name| hit["path"] == name)
}

/// The history equals git's, file by file.
fn compare(trial: &mut Trial, repo: &Repo, name: &str) -> Result<()> {
    let truth = Truth::open(repo.path(), Some("main"))?;
    for commit in truth.commits()? {
        let shown = trial.json(&["show", name, &commit])?;
        let told = shown["changed_files"].as_array().map_or(0, Vec::len);
        let files = truth.files(&commit)?.len();
        trial.check(told == files, || format!("{commit} has {files} files, and {told} are told"));
    }
    Ok(())
}
