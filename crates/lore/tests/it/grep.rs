//! `lore grep` beside `git grep`, and what `lore search` shows in a terminal.

use std::{
    fs,
    io::Read as _,
    process::{Command, Output, Stdio},
};

use lore_testkit::Repo;

use crate::place::Place;

/// A project of code and prose, indexed, with another one beside it.
struct Shop {
    place: Place,
    repo: Repo,
}

impl Shop {
    fn new() -> Self {
        let place = Place::new();
        let repo = place.repo("shop");
        let long = format!(
            "    let connection_limit = open_{}(limit); // the limit of connections that are open",
            "x".repeat(80)
        );
        repo.write(
            "src/net/limit.rs",
            format!(
                "//! Limits.\n\npub fn connection_limit() -> usize {{\n{long}\n    limit\n}}\n\nfn unlimit() {{}}\n"
            ),
        )
        .write(
            "src/a[0].rs",
            "fn a() {\n    todo();\n    b();\n}\n// TODO a\n// ToDo b\nfn b() {}\nfn last() {\n    todo();\n}\n",
        )
        .write("tests/limit.rs", "fn test_limit() {\n    todo();\n}\n")
        .write("docs/guide.md", format!("# Connections\n\n{}\n", PROSE.repeat(3)));
        repo.commit("Begin");
        place.add(repo.path(), &[]);
        let other = place.repo("other");
        other.write("src/x.rs", "fn elsewhere_only() {}\n").commit("Begin");
        place.add(other.path(), &[]);
        Self { place, repo }
    }

    fn command(&self, args: &[&str], below: &str) -> Command {
        let mut command = self.place.lore.command(args);
        command.current_dir(self.repo.path().join(below));
        command
    }

    fn run(&self, args: &[&str], below: &str) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.command(args, below).output().expect("lore starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is UTF-8");
        (status.code(), text(stdout), text(stderr))
    }

    /// What a person sees at a terminal of so many columns and rows.
    fn at_terminal(&self, args: &[&str], (columns, rows): (u16, u16), variables: &[(&str, &str)]) -> String {
        let size = nix::pty::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = nix::pty::openpty(Some(&size), None).expect("a terminal can be opened");
        let output = || Stdio::from(terminal.slave.try_clone().expect("a descriptor can be doubled"));
        let mut command = self.command(args, "");
        command.env("NO_COLOR", "1").envs(variables.iter().copied());
        command.stdin(Stdio::null()).stdout(output()).stderr(output());
        let mut child = command.spawn().expect("lore starts");
        drop((command, terminal.slave));
        let (mut shown, mut piece) = (Vec::new(), [0; 4096]);
        let mut master = fs::File::from(terminal.master);
        while let Ok(count @ 1..) = master.read(&mut piece) {
            shown.extend_from_slice(&piece[..count]);
        }
        assert!(child.wait().expect("it ends").success());
        String::from_utf8(shown).expect("a terminal gets UTF-8").replace("\r\n", "\n")
    }
}

const PROSE: &str = "Whoever opens a connection holds one of the places that there are, and gives it back when the connection is closed again. ";

#[test]
fn its_lines_are_those_of_git_grep() {
    let shop = Shop::new();
    for args in [
        &["limit"][..],
        &["-i", "TODO"],
        &["-w", "limit"],
        &["-w", "-i", "todo"],
        &["-F", "todo()"],
        &["-F", "-w", "b()"],
        &["-e", "unlimit", "-e", "TODO"],
        &["-n", "fn [ab]\\("],
        &["-l", "fn "],
        &["-c", "fn "],
        &["-C", "1", "todo"],
        &["-A", "1", "fn "],
        &["-B", "2", "todo"],
        &["-A", "2", "-B", "1", "ToDo"],
        &["-C", "3", "fn b"],
    ] {
        let (code, out, err) = shop.run(&[&["grep"], args].concat(), "");
        // A line always has its number.
        let flags: &[&str] = if args.iter().any(|flag| ["-l", "-c"].contains(flag)) { &["-E"] } else { &["-E", "-n"] };
        let flags = if args.contains(&"-F") { &flags[1..] } else { flags };
        let expected = shop.repo.git(&[&["-c", "core.quotePath=false", "grep", "--no-color"], flags, args].concat());
        assert_eq!(out.trim_end(), expected.trim_end(), "{args:?}: {err}");
        assert_eq!(code, Some(0), "{args:?}");
    }
}

#[test]
fn files_and_folders_and_globs_choose_where_it_looks() {
    let shop = Shop::new();
    let files = |args: &[&str], below: &str| {
        let (code, out, err) = shop.run(&[&["grep", "-l", "fn "], args].concat(), below);
        assert!(matches!(code, Some(0 | 1)), "{args:?}: {err}");
        out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(files(&[], ""), ["src/a[0].rs", "src/net/limit.rs", "tests/limit.rs"]);
    assert_eq!(files(&["src"], ""), ["src/a[0].rs", "src/net/limit.rs"]);
    assert_eq!(files(&["."], "src/net"), ["limit.rs"]);
    assert_eq!(files(&["../a[0].rs"], "src/net"), ["../a[0].rs"]);
    assert_eq!(files(&["tests", "src/net/limit.rs"], ""), ["src/net/limit.rs", "tests/limit.rs"]);
    assert_eq!(files(&["-g", "limit.rs"], ""), ["src/net/limit.rs", "tests/limit.rs"]);
    assert_eq!(files(&["-g", "*.rs", "-g", "!tests/"], ""), ["src/a[0].rs", "src/net/limit.rs"]);
    assert_eq!(files(&["-g", "!src/net/*"], ""), ["src/a[0].rs", "tests/limit.rs"]);
    assert_eq!(files(&["-t", "markdown"], ""), Vec::<String>::new());
    assert_eq!(files(&["--repo", "other"], "").len(), 1);
    assert_eq!(files(&["--all-repos"], "").len(), 4);
    for (path, said) in [("nowhere", "cannot be searched"), ("/", "is not in a repository that is searched")] {
        let (code, _, err) = shop.run(&["grep", "fn ", path], "");
        assert!(code == Some(2) && err.contains(said), "{path}: {err}");
    }
}

#[test]
fn it_ends_like_grep_and_says_where_else_to_look() {
    let shop = Shop::new();
    let (code, out, err) = shop.run(&["grep", "elsewhere_only"], "");
    assert_eq!((code, out.as_str()), (Some(1), ""));
    expect_test::expect![[r#"
        no line matches; -i ignores case; 1 other repository was not searched: --all-repos searches it too
    "#]]
    .assert_eq(&err);
    let (code, _, err) = shop.run(&["grep", "todo(", "--no-sync"], "");
    assert!(code == Some(2) && err.contains("regular expression"), "{err}");
    // What cannot be done is refused: the lines that match are the opposite of what was asked for.
    let (code, out, err) = shop.run(&["grep", "-v", "elsewhere_only"], "");
    assert!(code == Some(2) && out.is_empty() && err.contains("-v cannot be used"), "{err}");
    for options in [["grep", "-E", "todo"], ["grep", "--include=*.rs", "todo"]] {
        let (code, _, err) = shop.run(&options, "");
        assert_eq!(code.map(|code| code < 2), Some(true), "{options:?}: {err}");
    }
    let (code, out, _) = shop.run(&["grep", "-i", "TODO", "--json"], "");
    let told: serde_json::Value = serde_json::from_str(&out).expect("it is JSON");
    assert_eq!((code, &told["lines"], &told["results"][0]["path"]), (Some(0), &5.into(), &"src/a[0].rs".into()));
}

#[test]
fn nothing_found_comes_with_what_to_try() {
    let shop = Shop::new();
    let said = |args: &[&str]| shop.run(&[&["search"], args].concat(), "").2;
    expect_test::expect![[r#"
        no line matches; --fuzzy=2 allows more letters to differ (two swapped letters count as two); 1 other repository was not searched: --all-repos searches it too
    "#]].assert_eq(&said(&["--fuzzy", "connetcion_limit"]));
    expect_test::expect![[r#"
        no line matches
    "#]]
    .assert_eq(&said(&["--fuzzy=3", "zzzzzzzzzzzz", "--all-repos"]));
    expect_test::expect![[r#"
        no line matches; try it without the options that choose files; 1 other repository was not searched: --all-repos searches it too
    "#]].assert_eq(&said(&["--literal", "Elsewhere", "--lang", "rust", "-s"]));
    expect_test::expect![[r#"
        9 results have a score below --min-score; 1 other repository was not searched: --all-repos searches it too
    "#]]
    .assert_eq(&said(&["zzzzzzzzzzzz", "--min-score", "0.9"]));
    assert!(!said(&["--fuzzy", "zzzzzzzz", "--repo", "."]).contains("--all-repos"), "it was said which");
    assert!(!said(&["connection"]).contains("--all-repos"), "something was found");
    assert!(said(&["x", "--lang", "nosuchlang"]).contains("nosuchlang"));
    assert!(!said(&["x", "--lang", "nosuchlang"]).contains("did you mean"));
}

/// The columns that a text takes; what is written here is narrow.
fn width(line: &str) -> usize {
    line.chars().count()
}

#[test]
fn no_line_of_an_answer_is_wider_than_the_terminal() {
    let shop = Shop::new();
    for args in [
        &["search", "connection limit"][..],
        &["search", "connection limit", "--explain"],
        &["search", "connection limit", "--compact"],
        &["search", "--literal", "limit of connections"],
        &["search", "--literal", "limit", "-C", "2"],
        &["search", "--literal", "connection", "--all-repos"],
    ] {
        for columns in [80, 60] {
            let shown = shop.at_terminal(args, (columns, 40), &[("PAGER", "cat")]);
            assert!(shown.contains("limit"), "{shown}");
            for line in shown.lines() {
                assert!(width(line) <= usize::from(columns), "{args:?} at {columns}: {line}");
            }
        }
    }
    // What was cut says so, and shows what was looked for.
    let shown = shop.at_terminal(&["search", "--literal", "limit of connections"], (80, 40), &[("PAGER", "cat")]);
    assert!(shown.lines().any(|line| line.contains('…') && line.contains("limit of connections")), "{shown}");
}

#[test]
fn prose_is_broken_between_words() {
    let shop = Shop::new();
    let shown = shop.at_terminal(
        &["search", "connection places given back", "--lang", "markdown"],
        (80, 40),
        &[("PAGER", "cat")],
    );
    let begin = shown.lines().position(|line| line.contains("Whoever opens")).unwrap_or_else(|| panic!("{shown}"));
    let rows: Vec<&str> = shown.lines().skip(begin).take(3).map(|line| line[9..].trim_end()).collect();
    assert_eq!(rows.join(" "), PROSE.repeat(3)[..rows.join(" ").len()], "{shown}");
    assert!(shown.lines().skip(begin + 1).take(2).all(|line| line.starts_with("         ")), "{shown}");
}

#[test]
fn a_pager_is_for_more_than_a_screen() {
    let shop = Shop::new();
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let less = dir.path().join("less");
    fs::write(&less, "#!/bin/sh\nsed 's/^/paged: /'\n").expect("a fresh directory is writable");
    fs::set_permissions(&less, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let less = less.to_str().expect("temporary paths are UTF-8");
    for (rows, is_paged) in [(200, false), (10, true)] {
        // Whatever options it has: without -F it would stay open.
        let shown = shop.at_terminal(&["search", "connection limit"], (80, rows), &[("PAGER", less), ("LESS", "R")]);
        assert_eq!(shown.contains("paged: "), is_paged, "{rows} rows: {shown}");
    }
}

#[test]
fn compact_is_one_line_for_each_result() {
    let shop = Shop::new();
    let (code, out, err) = shop.run(&["search", "connection_limit", "--compact", "-n", "2"], "");
    assert_eq!(code, Some(0), "{err}");
    let lines: Vec<&str> = out.lines().collect();
    let (first, rest) = lines[0].split_once("  ").expect("the place comes first");
    assert_eq!((first, lines.len()), ("src/net/limit.rs:1", 2), "{out}");
    let (score, title) = rest.split_once("  ").expect("the score comes next");
    assert!(score.parse::<f32>().is_ok() && title == "function connection_limit", "{out}");
    let shown = shop.at_terminal(&["search", "--literal", "limit", "--compact"], (80, 40), &[("PAGER", "cat")]);
    assert!(shown.lines().any(|line| line.starts_with("src/net/limit.rs:5:")), "{shown}");
}
