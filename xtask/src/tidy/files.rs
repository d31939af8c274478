//! Tracked files: their size, what must not be in them, and which kinds of them there must not be.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

/// The largest file that may be tracked.
const LARGEST: u64 = 1_000_000;

/// Larger files that are there for a reason.
const LARGE: [&str; 2] = [
    // The built-in model: a program that needs no download carries its table.
    "crates/lore-embed/model/static.bin",
    // Every package that the model was trained on, with its licence and checksum.
    "tools/model/packages.jsonl",
];

/// Where bytes are kept that are no text: the built-in model, and what parsers are fuzzed with.
const BYTES: [&str; 2] = ["crates/lore-embed/model/", "fuzz/corpus/"];

/// The one shell script.
const CI: &str = ".ci/run";

/// User names that documents and tests may use in example paths.
const EXAMPLE_USERS: [&str; 7] = ["ada", "alice", "bob", "me", "user", "you", "zoë"];

/// Places that many machines have: a checkout below them gives nothing away.
const COMMON: [&str; 9] = ["/", "/build/", "/home/", "/opt/", "/src/", "/srv/", "/tmp/", "/usr/src/", "/Users/"];

/// Where this checkout and its user live; nobody else has these places.
pub(super) struct Machine {
    pub(super) places: Vec<String>,
}

/// What is wrong with the files.
pub(super) fn check(root: &Path, files: &[PathBuf], machine: &Machine) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for file in files {
        let full = root.join(file);
        let meta = full.symlink_metadata().with_context(|| format!("cannot look at {}", full.display()))?;
        if meta.is_file() {
            let bytes = fs::read(&full).with_context(|| format!("cannot read {}", full.display()))?;
            let said = problems_of(&file.to_string_lossy().replace('\\', "/"), &bytes, machine);
            problems.extend(said.into_iter().map(|problem| format!("{}: {problem}", file.display())));
        }
    }
    Ok(problems)
}

fn problems_of(path: &str, bytes: &[u8], machine: &Machine) -> Vec<String> {
    let mut problems = Vec::new();
    let size = bytes.len() as u64;
    if size > LARGEST && !LARGE.contains(&path) {
        problems.push(format!("{size} bytes; {LARGEST} are allowed"));
    }
    if path != CI && is_shell(path, bytes) {
        problems.push(format!("a shell script: automation is Rust, in xtask; the exception is {CI}"));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        if !BYTES.iter().any(|folder| path.starts_with(folder)) {
            problems.push("no text: what was downloaded or built does not belong here".to_owned());
        }
        return problems;
    };
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
        // Written in two parts so that this file passes.
        if line.contains(concat!("FIX", "ME")) {
            problems.push(format!("line {number}: {} means \"before merge\"", concat!("FIX", "ME")));
        }
        if let Some(place) = home_path(line, machine) {
            problems.push(format!("line {number}: `{place}` exists on one machine only"));
        }
    }
    problems
}

fn is_shell(path: &str, bytes: &[u8]) -> bool {
    let extension = Path::new(path).extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if ["sh", "bash", "zsh", "fish", "bat", "cmd", "ps1"].contains(&extension.as_str()) {
        return true;
    }
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let words = String::from_utf8_lossy(first);
    let program = words
        .strip_prefix("#!")
        .unwrap_or_default()
        .split(['/', ' '])
        .rfind(|word| !word.is_empty() && !word.starts_with('-'));
    program.is_some_and(|program| ["sh", "bash", "dash", "zsh", "ksh", "fish"].contains(&program))
}

/// A path below someone's home, or below this very checkout.
fn home_path(line: &str, machine: &Machine) -> Option<String> {
    let own = machine.places.iter().map(|place| format!("{}/", place.trim_end_matches('/')));
    let own = own.filter(|place| !COMMON.contains(&place.as_str()));
    if let Some(place) = own.into_iter().find(|place| begins_somewhere(line, place)) {
        return Some(place);
    }
    if begins_somewhere(line, &root_home()) {
        return Some(root_home());
    }
    ["/home/", "/Users/"].into_iter().find_map(|prefix| {
        line.match_indices(prefix).find_map(|(start, _)| {
            let rest = &line[start + prefix.len()..];
            let user = rest.split_once('/')?.0;
            let is_name = !user.is_empty() && user.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
            (is_name && !EXAMPLE_USERS.contains(&user)).then(|| format!("{prefix}{user}/"))
        })
    })
}

/// Whether an absolute path that begins with this is in the line; `src/tmp/x` does not begin with `/tmp/`.
fn begins_somewhere(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~*/}>".contains(c))
    })
}

/// Put together here so that this file passes.
fn root_home() -> String {
    ["", "root", ""].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_file(path: &str, content: impl AsRef<[u8]>) -> usize {
        let machine = Machine { places: ["/srv/build/lore", "/tmp", "/"].map(str::to_owned).into() };
        problems_of(path, content.as_ref(), &machine).len()
    }

    #[test]
    fn ordinary_files_pass() {
        assert_eq!(check_file("a.rs", "fn main() {}\n// see /home/ada/src and /home/{user}/x and /Users/you/y\n"), 0);
        assert_eq!(check_file("a.rs", "open(\"/tmp/x\"); glob(\"a/srv/build/lore/b\")"), 0);
        assert_eq!(check_file("a.py", "#!/usr/bin/env python3\n"), 0);
        assert_eq!(check_file(".ci/run", "#!/usr/bin/env bash\nset -eu\n"), 0);
    }

    #[test]
    fn only_the_model_and_what_is_fuzzed_are_no_text() {
        assert_eq!(check_file("package-1.1.tar.gz", b"\x1f\x8b\x08"), 1);
        assert_eq!(check_file("fuzz/corpus/wheel/whole", b"\x1f\x8b\x08"), 0);
        assert_eq!(check_file("crates/lore-embed/model/static.bin", b"\xff"), 0);
    }

    #[test]
    fn unfinished_work_is_told() {
        assert_eq!(check_file("a.rs", ["// FIX", "ME later\n"].concat()), 1);
    }

    #[test]
    fn shell_scripts_are_told() {
        for (path, text) in [
            ("x.sh", ""),
            ("x", "#!/bin/sh\n"),
            ("x", "#!/usr/bin/env bash\n"),
            ("x", "#! /bin/bash -e\n"),
            ("a/x.ps1", ""),
        ] {
            assert_eq!(check_file(path, text), 1, "{path} {text}");
        }
    }

    #[test]
    fn places_of_one_machine_are_told() {
        for user in ["kim", "j.doe"] {
            assert_eq!(check_file("a.md", format!("see /home/{user}/lore")), 1, "{user}");
        }
        assert_eq!(check_file("Cargo.lock", "path = \"/srv/build/lore/crates\""), 1);
        assert_eq!(check_file("a.txt", format!("{}.cargo", root_home())), 1);
    }

    #[test]
    fn large_files_are_told() {
        assert_eq!(check_file("a.bin", "x".repeat(1_000_001)), 1);
    }
}
